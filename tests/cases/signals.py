"""Sinc, I_0 and Kaiser's window, interpolation, convolution and correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.analysis import signals
from tests.cases.case import Case, Points, case
from tests.witnesses import NUMPY

points = Points(41)
real, positive, complex_ = points.real, points.positive, points.complex

KNOTS = np.array([-1.7, -0.6, 0.45, 1.3, 2.2])
INSIDE = np.array([[-1.2, 0.1], [0.9, 2.0]])
EVERYWHERE = np.array([-2.3, -1.1, -0.2, 0.8, 1.9, 2.9])


def _interp(*args: Any, note: str, **options: Any) -> Case:
    """NumPy interpolates in double precision only."""
    return case(np.interp, *args, note=note, wide=False, analytic=False, call=lambda f, *args: f(*args, **options))


def _between(first: int, second: int, make: Any) -> list[Case]:
    return [
        case(function, make(first), make(second), mode=mode, note=f"{mode} {make.__name__}", analytic=False)
        for function in (np.convolve, np.correlate)
        for mode in ("full", "same", "valid")
    ]


CASES = [
    # In NumPy 1 the sinc of a float32 scalar was a float64.
    *(Case(np.sinc, (x,), is_elementwise=NUMPY >= (2, 0)) for x in (real(2, 3), np.asarray(real()), real(0), 0.7)),
    case(np.sinc, np.array([2e-3, -1e-3, 0.3, -2.0, 5.5]), note="near zero and far", analytic=False),
    case(np.sinc, complex_(3), note="complex", analytic=False),
    case(np.sinc, 1e-3 * complex_(2, 2), note="complex near zero", analytic=False),
    *(case(np.i0, x, note="numpy") for x in (real(2, 3), np.asarray(real()), real(0), 0.7)),
    case(np.i0, np.array([0.0, -3.0, 11.0, 7.9, 8.1]), note="near zero and far"),
    case(signals.kaiser, np.asarray(positive()), call=lambda f, beta: f(5, beta), note="5", analytic=False),
    case(signals.kaiser, 8.6, call=lambda f, beta: f(4, beta), note="4", analytic=False),
    case(signals.kaiser, 8.6, call=lambda f, beta: beta * f(1, beta), note="1", analytic=False),

    _interp(INSIDE, KNOTS, real(5), note="inside"),
    _interp(EVERYWHERE, KNOTS, real(5), note="everywhere"),
    _interp(EVERYWHERE, KNOTS, real(5), note="left and right", left=-3.0, right=7),
    _interp(EVERYWHERE, KNOTS, real(5), note="period", period=3.1),
    _interp(EVERYWHERE, KNOTS, real(5), note="negative period", period=-5.0),
    _interp(EVERYWHERE, KNOTS, complex_(5), note="complex"),
    _interp(EVERYWHERE, KNOTS, complex_(5), note="complex sides", left=1 - 1j, right=2.0),
    _interp(0.7, KNOTS, real(5), note="number"),
    _interp(np.asarray(0.7), KNOTS, real(5), note="0-d"),
    _interp(real(0), KNOTS, real(5), note="empty"),
    _interp(np.array([-0.3, 0.8]), np.array([0.2]), real(1), note="one knot"),
    case(np.interp, EVERYWHERE, note="lists", wide=False, analytic=False, call=lambda f, x: f(x, [-2, 0, 1], [3, 1, 2])),
    case(np.interp, real(5), note="data alone", wide=False, analytic=False, call=lambda f, fp: f([-3, 0.2, 1], KNOTS, fp)),
    case(signals.interp, EVERYWHERE, KNOTS, real(5), real(1)[0], real(1)[0], note="traced sides", wide=False, analytic=False),
    case(signals.interp, EVERYWHERE, KNOTS, real(5), np.array(3.7), note="traced period", wide=False, analytic=False,
         call=lambda f, x, xp, fp, period: f(x, xp, fp, period=period)),

    *(one for make in (real, complex_) for sizes in ((5, 3), (3, 5), (4, 2), (2, 5), (3, 3), (4, 4), (1, 3), (6, 4), (4, 6))
      for one in _between(*sizes, make)),
    case(np.convolve, real(3), complex_(4), note="mixed", analytic=False),
    case(np.correlate, real(4), complex_(3), note="mixed", analytic=False),
    case(np.correlate, complex_(3), real(4), note="mixed", analytic=False),
    case(np.convolve, np.asarray(real()), real(3)), case(np.convolve, 0.7, real(3)), case(np.convolve, real(3), np.asarray(real())),
    case(np.convolve, real(3), call=lambda f, a: f(a, [1, -2]), note="list"),
    case(np.convolve, real(3), call=lambda f, v: f([1, -2], v), note="of a list"),
    case(np.correlate, real(3), call=lambda f, a: f(a, [1, -2j]), note="list", analytic=False),
    case(np.correlate, complex_(3), call=lambda f, v: f([1, -2j], v, "full"), note="of a list", analytic=False),
]  # fmt: skip
