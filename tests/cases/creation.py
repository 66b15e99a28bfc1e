"""Arrays made of given numbers, ranges between given ends, padding."""

from __future__ import annotations

import numpy as np

from funcgrad.ops.arrays import creation, padding, ranges
from tests.cases.case import Points, case

points = Points(33)
real, other, positive = points.real, points.other, points.positive

V, M, C = real(3), real(2, 3), real(2, 3, 4)

ARRAYS = [
    case(creation.array, real(), 0.7, call=lambda f, x, y: f([x, y, 1.0])),
    case(creation.array, real(), V, call=lambda f, x, y: f([[x, 2, y[0]], y]), note="nested"),
    case(creation.array, V, call=lambda f, x: f(x, ndmin=3), note="ndmin"),
    case(creation.asarray, V, call=lambda f, x: f((x, (1, 2, 3)))),
    case(creation.asarray, M, call=lambda f, x: f(x, order="F"), note="order"),
    case(creation.asarray, V, call=lambda f, x: f(_objects(x), x.dtype), note="objects", analytic=False),
    case(creation.asanyarray, V, call=lambda f, x: f([x, x])),
    case(creation.asarray_chkfinite, V), case(creation.asarray_chkfinite, V, call=lambda f, x: f([x, x]), note="list"),
    case(creation.ascontiguousarray, M, call=lambda f, x: f(x.T)), case(creation.ascontiguousarray, real()),
    case(creation.ascontiguousarray, 0.7),
    case(creation.asfortranarray, M), case(creation.asfortranarray, real(), note="0d"),
    case(creation.require, M, call=lambda f, x: f(x, None, "F")),
    case(creation.require, M, call=lambda f, x: f(x.T, None, ["C", "W"]), note="C"),
    case(creation.full, real(), call=lambda f, x: f((2, 3), x)),
    case(creation.full, V, call=lambda f, x: f((2, 3), x, order="F"), note="row"),
    case(creation.full, 0.7, call=lambda f, x: f(3, x)),
    case(creation.full, real(2), call=lambda f, x: f((2, 2), [1.0, x[0]]), note="list"),
    case(np.full_like, real(), M, call=lambda f, x, y: f(y * 2, 4.0) * x),
    case(creation.full_like, real(), call=lambda f, x: f(np.ones((2, 3)), x), analytic=False),
    case(creation.full_like, V, call=lambda f, x: f(np.arange(4), x, x.dtype, shape=(2, 3)), note="dtype and shape"),
    case(creation.full_like, real(), M, call=lambda f, x, y: f(y, x), note="both"),
    case(creation.r_, V, real(2), real(), call=lambda f, x, y, z: f[x, 0, y, z, [1.0, 2.0]]),
    case(creation.c_, V, real(3), call=lambda f, x, y: f[x, y, [1, 2, 3]], note="columns"),
    case(creation.c_, M, real(2), call=lambda f, x, y: f[x, y], note="2d"),
    case(creation.r_, M, real(1, 3), call=lambda f, x, y: f["0,2", x, y], note="directive"),
    case(creation.r_, V, real(3), call=lambda f, x, y: f["1,3,0", x, y], note="three numbers"),
    case(creation.r_, V, real(3), call=lambda f, x, y: f["-1", x, y], note="axis"),
    case(creation.r_, real(), real(), call=lambda f, x, y: f[x : y + 9.0 : 5j, 0:3], note="slices"),
    case(creation.c_, real(), call=lambda f, x: f[x : x + 2.4], note="slice", analytic=False),
    case(creation.array, points.complex(2), real(), call=lambda f, x, y: f([x[0], y, 1.0]), note="complex and real", analytic=False),
    case(creation.full, points.complex(), call=lambda f, x: f((2, 2), x), note="complex", analytic=False),
    case(creation.r_, points.complex(2), real(2),
         call=lambda f, x, y: f[x, y, 1j], note="complex and real", analytic=False),
    case(creation.asfortranarray, points.complex(2, 3), note="complex", analytic=False),
    case(np.fromfunction, real(), call=lambda f, x: f(lambda i, j: x * i + j, (2, 3)), analytic=False),
]  # fmt: skip
if hasattr(np, "astype"):
    ARRAYS += [case(np.astype, V, call=lambda f, x: f(x, x.dtype), note="same, function")]

RANGES = [
    case(np.linspace, real(), real(), num=5), case(np.linspace, real(), real(), num=4, endpoint=False), case(np.linspace, 0.7, 2.5, num=3),
    case(np.linspace, V, real(3), num=4), case(np.linspace, V, real(2, 1), num=3, axis=-1), case(np.linspace, V, real(), num=3, axis=1),
    case(np.linspace, real(), real(), num=5, retstep=True), case(np.linspace, V, real(3), num=5, endpoint=False, retstep=True),
    case(np.linspace, real(), real(), num=1), case(np.linspace, real(), real(), num=1, endpoint=False),
    case(np.linspace, real(), real(), num=0),
    case(np.linspace, V, call=lambda f, x: f(0, x), note="from a constant"),
    case(np.linspace, V, call=lambda f, x: f(x, [1, 2, 3], 3), note="to a list"),
    case(np.logspace, real(), real(), num=4), case(np.logspace, V, real(3), num=3, base=2.0, axis=-1), case(np.logspace, 0.7, 1.2, num=3),
    case(np.logspace, real(), real(), positive(), call=lambda f, x, y, base: f(x, y, 4, base=base), note="base"),
    case(np.logspace, real(), real(), positive(2), call=lambda f, x, y, base: f(x, y, 4, False, base=base, axis=-1), note="bases"),
    case(np.geomspace, positive(), positive(), num=5), case(np.geomspace, positive(3), positive(2, 1), num=3, axis=1),
    case(np.geomspace, 0.7, 2.5, num=3),
    case(np.geomspace, positive(), positive(), num=4, endpoint=False), case(np.geomspace, -positive(), -positive(), num=3, note="negative"),
    case(np.geomspace, positive(), positive(), num=1), case(np.geomspace, positive(), call=lambda f, x: f(1, x, 4), note="from a constant"),
    case(np.linspace, points.complex(), points.complex(2), num=4, axis=-1, note="complex", analytic=False),
    case(np.linspace, points.complex(), real(), num=3, note="complex and real", analytic=False),
    case(np.logspace, points.complex(), points.complex(), num=4, note="complex", analytic=False),
    case(np.geomspace, points.complex(), points.complex(2), num=4, note="complex", analytic=False),
    case(np.geomspace, positive(), points.complex(), num=4, endpoint=False, note="real and complex", analytic=False),
    case(ranges.arange, 0.7, 0.3, call=lambda f, x, y: f(x, 3.05, y), note="start and step", analytic=False),
    case(ranges.arange, real(), call=lambda f, x: f(x, x + 2.5), note="start and stop", analytic=False),
    case(ranges.arange, 0.35, call=lambda f, x: x * f(3.2), note="constants", analytic=False),
]  # fmt: skip

PADS = [
    case(np.pad, real(4), pad_width=2), case(np.pad, M, pad_width=((1, 0), (2, 3))), case(np.pad, M, pad_width=(1, 2)),
    case(np.pad, M, pad_width=1, constant_values=4.0), case(np.pad, M, pad_width=1, constant_values=((1, 2), (3, 4))),
    case(padding.pad, M, real(), call=lambda f, x, y: f(x, 2, constant_values=y), note="constant"),
    case(padding.pad, M, real(2), call=lambda f, x, y: f(x, (1, 2), constant_values=y), note="before and after"),
    case(padding.pad, M, real(2, 1), call=lambda f, x, y: f(x, 1, constant_values=y), note="by axis"),
    case(padding.pad, M, real(), 0.7, call=lambda f, x, y, z: f(x, 1, constant_values=[(y, z), (0, 1)]), note="list"),
    case(padding.pad, real(2, 2), call=lambda f, y: f(np.ones((2, 3)), ((1, 2), (0, 3)), constant_values=y), note="a constant array"),
    *(case(np.pad, x, pad_width=width, mode=mode) for mode in ("edge", "reflect", "symmetric", "wrap") for x, width in [
        (M, 1), (M, ((1, 1), (0, 2))), (V, 5), (C, ((0, 1), (2, 0), (1, 1)))]),
    *(case(np.pad, x, pad_width=width, mode=mode, reflect_type="odd") for mode in ("reflect", "symmetric") for x, width in [
        (M, 1), (M, ((3, 1), (0, 4))), (V, (7, 2)), (real(1, 2), 1)]),
    *(case(np.pad, x, pad_width=width, mode=mode, **options) for mode in ("maximum", "minimum", "mean", "median") for x, width, options in [
        (M, 1, {}), (M, ((1, 1), (0, 2)), {"stat_length": 2}), (C, ((2, 0), (0, 1), (1, 1)), {"stat_length": ((1, 2), (3, 1), (2, 9))})]),
    case(np.pad, M, pad_width=2, mode="linear_ramp"),
    case(np.pad, M, pad_width=((1, 0), (2, 3)), mode="linear_ramp", end_values=(5.0, -1.0)),
    case(padding.pad, M, real(2), call=lambda f, x, y: f(x, 2, "linear_ramp", end_values=y), note="ends"),
    case(np.pad, M, call=lambda f, x: f(x, 1, mode="empty")[1:-1, 1:-1], note="empty"),
    *(case(np.pad, points.complex(2, 3), pad_width=(1, 2), mode=mode, note=f"complex, {mode}", analytic=False)
      for mode in ("constant", "edge", "reflect", "linear_ramp", "mean")),
    case(np.pad, points.complex(4), pad_width=(5, 2), mode="symmetric", reflect_type="odd", note="complex, odd", analytic=False),
    case(padding.pad, points.complex(3), real(), call=lambda f, x, y: f(x, 1, constant_values=y), note="complex with real", analytic=False),
    case(np.pad, M, pad_width=0), case(np.pad, real(0), pad_width=2, constant_values=1.0),
]  # fmt: skip

CASES = [*ARRAYS, *RANGES, *PADS]


def _objects(x: object) -> np.ndarray:
    out = np.empty(2, object)
    out[0], out[1] = x[0], 2.0 * x[1]  # type: ignore[index]
    return out
