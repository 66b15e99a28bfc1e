"""SciPy's integrals of samples. No cases where SciPy is not installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case

points = Points(73)
CASES: list[Case] = []


def sp(function: Any, *args: Any, **options: Any) -> Case:
    """A case of what SciPy computes in double precision only, and not of complex numbers."""
    return case(function, *args, analytic=False, wide=False, **options)


if importlib.util.find_spec("scipy"):
    from funcgrad.scipy import integrate

    X = np.array([0.1, 0.7, 1.1, 1.9, 2.4])
    ALL_X = np.stack([X[:3], X[1:4] + 0.3], -1)
    for f in (integrate.trapezoid, integrate.simpson, integrate.cumulative_trapezoid, integrate.cumulative_simpson):
        CASES += [
            sp(f, points.real(2, 5), X, call=lambda f, y, x: f(y, x=x), note="x"),
            sp(f, points.real(3, 2), ALL_X, call=lambda f, y, x: f(y, x=x, axis=0), note="x of each sample"),
            sp(f, points.real(4, 2), np.array(0.3), call=lambda f, y, dx: f(y, dx=dx, axis=0), note="dx"),
            sp(f, points.real(2, 2)),
        ]
    CASES += [
        sp(integrate.cumulative_trapezoid, points.real(2, 4), initial=0),
        sp(
            integrate.cumulative_simpson, points.real(2, 4), np.array(0.7), call=lambda f, y, initial: f(y, initial=initial), note="initial"
        ),
        sp(integrate.romb, points.real(2, 5), np.array(0.3), call=lambda f, y, dx: f(y, dx), note="dx"),
        sp(integrate.romb, points.real(3, 2), axis=0),
    ]
