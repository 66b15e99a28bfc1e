"""Running products and extremes, differences, slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Points, case

points = Points(34)
real, positive, other = points.real, points.positive, points.other

V, M, C = real(7), real(3, 4), real(2, 3, 4)
PLACES = np.cumsum(positive(4))


def at(*spacings: Any, **options: Any) -> Any:
    return lambda f, x: f(x, *spacings, **options)


CASES = [
    *(case(np.cumprod, x, **options) for x, options in (
        (V, {}), (M, {}), (C, {"axis": 0}), (C, {"axis": 1}), (C, {"axis": -1}), (real(1), {}), (real(0), {}), (real(2, 0), {"axis": 1}),
        (real(), {}),
        )),
    case(np.cumprod, real(8), dtype=np.float64, analytic=False),
    case(np.cumprod, np.array([0.0, 2.0, 0.0, 3.0]), note="zeros"), case(np.cumprod, np.array([1.5, 0.0, -2.0]), note="one zero"),
    case(np.cumprod, points.complex(4), note="complex", analytic=False),
    *(case(f, x, analytic=False, **options) for f in (np.multiply.accumulate, np.maximum.accumulate, np.minimum.accumulate)
      for x, options in ((V, {}), (C, {}), (C, {"axis": 1}), (C, {"axis": -1}), (real(0, 2), {}))),
    case(np.maximum.accumulate, real(16), analytic=False),
    case(np.diff, V), case(np.diff, C), case(np.diff, C, axis=1), case(np.diff, V, n=3), case(np.diff, V, n=0), case(np.diff, real(1)),
    case(np.diff, V, n=8), case(np.diff, M, other(3, 1), call=lambda f, x, y: f(x, prepend=y, append=1.5), note="ends"),
    case(np.diff, M, 0.7, call=lambda f, x, y: f(x, n=2, axis=0, append=y), note="a number at the end"),
    case(np.diff, 0.7, call=lambda f, y: f(np.arange(3.0), prepend=y), note="a number alone"),
    case(np.diff, points.complex(3), note="complex", analytic=False),
    case(np.ediff1d, V), case(np.ediff1d, M), case(np.ediff1d, V, other(2), 0.7, call=lambda f, x, y, z: f(x, y, z), note="ends"),
    case(np.ediff1d, V, to_begin=[1.0, 2.0]), case(np.ediff1d, other(1), to_end=99.0),
    case(np.gradient, V), case(np.gradient, C), case(np.gradient, C, axis=1), case(np.gradient, C, axis=(2, 0)), case(np.gradient, real(2)),
    case(np.gradient, V, edge_order=2), case(np.gradient, M, edge_order=2), case(np.gradient, real(3), edge_order=2),
    case(np.gradient, M, call=at(0.3), note="distance"), case(np.gradient, M, call=at(0.3, np.float64(2.0)), note="distances"),
    *(case(np.gradient, M, call=at(PLACES, axis=1, edge_order=order), note=f"places, order {order}") for order in (1, 2)),
    case(np.gradient, M, call=at(2, [0, 1, 2, 3]), note="even places"),
    case(np.gradient, M, call=at(np.array([0, 1, 3]), PLACES, edge_order=2), note="whole places"),
    *(case(np.gradient, x, places, call=lambda f, x, places, order=order: f(x, places, axis=-1, edge_order=order), analytic=False,
           note=f"{note} too, {order}") for order in (1, 2) for x, places, note in (
        (M, PLACES, "places"), (real(5), np.arange(5.0), "even places"))),
    *(case(np.gradient, M, 0.7, call=lambda f, x, step, order=order: f(x, step, edge_order=order), note=f"distance too, {order}")
      for order in (1, 2)),
    case(np.gradient, PLACES, call=lambda f, places: f(np.arange(4) ** 2, places), note="places alone", analytic=False),
    case(np.gradient, points.complex(4), note="complex", analytic=False),
    case(np.unwrap, np.array([0.1, 3.0, 6.5, 13.5, 5.0]), analytic=False), case(np.unwrap, 3 * C, axis=1, discont=3.5, analytic=False),
    case(np.unwrap, 3 * M, period=3.0, analytic=False),
]  # fmt: skip

for _name in ("trapezoid", "trapz"):
    if hasattr(np, _name):
        trapezoid = getattr(np, _name)
        CASES += [
            case(trapezoid, V), case(trapezoid, C, axis=1, dx=0.3), case(trapezoid, M, PLACES), case(trapezoid, M, other(3), axis=0),
            case(trapezoid, M, other(3, 4)), case(trapezoid, M, 0.7, call=lambda f, y, dx: f(y, dx=dx), note="dx"),
            case(trapezoid, PLACES, call=lambda f, x: f(np.arange(4), x), note="places alone"),
            case(trapezoid, M, call=lambda f, y: f(y, [0, 1, 3, 4]), note="a list"),
            case(trapezoid, points.complex(3), note="complex", analytic=False),
        ]  # fmt: skip
for _name in ("cumulative_sum", "cumulative_prod"):
    if hasattr(np, _name):
        CASES += [
            case(getattr(np, _name), x, **options)
            for x, options in ((V, {}), (C, {"axis": 1}), (C, {"axis": -1, "include_initial": True}), (real(3), {"include_initial": True}))
        ]
