"""Polynomials by their coefficients, the highest power first and the lowest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.analysis import polynomials, series
from tests.cases.case import Case, Points, case

points = Points(43)
real, other, positive, complex_ = points.real, points.other, points.positive, points.complex


def _first(f: Any, *args: Any) -> Any:
    return f(*args)[0]


def _of_kinds(function: Any, *sizes: tuple[int, ...], call: Any = None, note: str = "") -> list[Case]:
    return [
        case(function, *(make(*size) for size in sizes), call=call, note=f"{make.__name__} {note}".strip(), analytic=make is real)
        for make in (real, complex_)
    ]


U, V = np.array([1.5, -0.75, 2.25, -0.5, 1.25]), np.array([2.0, -1.5, 0.75])
"""Division leaves exact zeros in every precision: NumPy drops them, and would not drop what rounding leaves of them in float32."""

X, Y, WEIGHTS = np.array([-1.5, -0.7, 0.2, 0.9, 1.6]), real(5), positive(5)


def _polyfit(*args: Any, note: str, call: Any) -> Case:
    return case(np.polyfit, *args, note=note, call=call, wide=False, analytic=False)


def _roots(p: np.ndarray, note: str) -> Case:
    return case(np.roots, p, note=note, wide=False, analytic=False)


CASES = [
    *_of_kinds(np.polyval, (4,), (2, 3)), *_of_kinds(np.polyval, (3,), ()), *_of_kinds(np.polyval, (1,), (2,)),
    *_of_kinds(np.polyval, (3, 2), (2,)), case(np.polyval, real(3), 0.7), case(np.polyval, real(3), real(0)),
    case(np.polyval, real(2, 3), note="of a list", call=lambda f, x: f([1, 0, -2], x)),
    case(polynomials.polyval, real(), real(), note="in a list", call=lambda f, a, x: f([a, 2.0, a * a], x)),
    case(np.polyval, real(3), note="of a poly1d", call=lambda f, x: f(np.poly1d([1.0, 3.0, -2.0]), x)),
    *_of_kinds(np.vander, (4,)), *_of_kinds(np.vander, (3,), note="wide", call=lambda f, x: f(x, 5)),
    *_of_kinds(np.vander, (3,), note="increasing", call=lambda f, x: f(x, 4, increasing=True)),
    case(np.vander, real(3), N=1), case(np.vander, real(3), N=0), case(np.vander, real(3), N=2, increasing=True), case(np.vander, real(0)),
    *(one for function in (np.polyadd, np.polysub) for sizes in (((3,), (3,)), ((2,), (4,)), ((4,), (1,)), ((), (2,)))
      for one in _of_kinds(function, *sizes)),
    case(np.polyadd, real(2), note="list", call=lambda f, a: f(a, [1, 2, 3])),
    *(one for sizes in (((3,), (3,)), ((2,), (4,)), ((4,), (1,)), ((), (2,))) for one in _of_kinds(np.polymul, *sizes)),
    case(np.polymul, real(2), note="list", call=lambda f, a: f(a, [1, 2, 3])),
    case(np.polymul, real(3), note="constant with leading zeros", call=lambda f, a: f([0, 0, 1, 2], a)),
    *(case(np.polydiv, u * factor, v * factor, note=f"times {factor}", analytic=False)
      for u in (U[:3], U) for v in (V, V[:2], V[0]) for factor in (1, 1 - 1j)),
    case(np.polydiv, U[:2], V),
    case(np.polydiv, U, note="list", call=lambda f, u: f(u, [2, 1])),
    case(np.polydiv, V, note="of a list", call=lambda f, v: f([3, 2, 1], v)),
    *_of_kinds(np.polyder, (4,)), case(np.polyder, real(5), m=2), case(np.polyder, real(3), m=0), case(np.polyder, real(2), m=3),
    *_of_kinds(np.polyint, (3,)), case(np.polyint, real(2), m=3), case(np.polyint, real(2), m=0),
    *_of_kinds(polynomials.polyint, (2,), (), note="constant", call=lambda f, p, k: f(p, 2, k)),
    case(polynomials.polyint, real(2), real(3), note="constants", call=lambda f, p, k: f(p, 2, k)),
    case(polynomials.polyint, real(1), note="of a list", call=lambda f, k: f([1.0, 2.0], k=k)),

    *_of_kinds(np.poly, (4,)), case(np.poly, real(1)), case(np.poly, real(3, 3), wide=False, note="matrix", analytic=False),
    case(np.poly, complex_(3, 3), wide=False, note="complex matrix", analytic=False),
    case(np.poly, real(1, 1), wide=False, note="matrix", analytic=False),
    case(np.poly, np.array([[0.3, -1.2], [1.7, 0.5]]), wide=False, note="matrix with complex eigenvalues", analytic=False),
    _roots(np.array([2.0, -3.0, -11.0, 6.0]), "real"), _roots(np.array([1.0, 0.5, 2.0, -0.7]), "of real numbers, complex"),
    _roots(complex_(4), "complex"), _roots(real(2), "linear"), _roots(real(1), "none"),
    case(np.roots, np.array([1.3, -1.1]), wide=False, note="with zeros", analytic=False,
         call=lambda f, p: f(np.concatenate([p, np.zeros(1)]))),

    _polyfit(X, Y, note="line", call=lambda f, x, y: f(x, y, 1)), _polyfit(X, real(5, 2), note="two", call=lambda f, x, y: f(x, y, 2)),
    _polyfit(X, Y, WEIGHTS, note="weighted", call=lambda f, x, y, w: f(x, y, 2, w=w)),
    _polyfit(X, real(5, 2), WEIGHTS, note="two weighted", call=lambda f, x, y, w: f(x, y, 1, w=w)),
    _polyfit(Y, note="y alone", call=lambda f, y: f([0, 1, 2, 3, 5], y, 2)),
    _polyfit(X, note="x alone", call=lambda f, x: f(x, [0, 1, 3, 3, 5], 2)),
    _polyfit(X, Y, note="constant", call=lambda f, x, y: f(x, y, 0)),
    _polyfit(X, Y, note="residuals", call=lambda f, x, y: f(x, y, 2, full=True)[:2]),
    _polyfit(X, Y, note="covariance", call=lambda f, x, y: f(x, y, 1, cov=True)),
    _polyfit(X, real(5, 2), note="covariances", call=lambda f, x, y: f(x, y, 1, cov=True)),
    _polyfit(X, Y, WEIGHTS, note="unscaled covariance", call=lambda f, x, y, w: f(x, y, 1, w=w, cov="unscaled")),

    *(one for function in (series.polyval, series.chebval) for one in [
        *_of_kinds(function, (2, 2), (4,), note="series"), *_of_kinds(function, (2,), (3, 2), note="series"),
        *_of_kinds(function, (2,), (3, 2), note="series one by one", call=lambda f, x, c: f(x, c, tensor=False)),
        case(function, 0.7, real(5), note="series"), case(function, real(2), note="series list", call=lambda f, x: f(x, [1, 2, 3])),
        case(function, real(2), real(1), note="series"), case(function, real(2), real(2), note="series"),
        case(function, real(2), 0.7, note="series"),
        case(function, real(2), note="series in a list", call=lambda f, x: f([1.0, 2.0, 0.5], [x[0], x[1], 3.0]))]),
]  # fmt: skip
