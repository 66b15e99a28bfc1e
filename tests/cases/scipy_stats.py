"""SciPy's distributions: each function of each, in points, shapes, location and scale. No cases where SciPy is not installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case

points = Points(83)
CASES: list[Case] = []


def sp(function: Any, *args: Any, **options: Any) -> Case:
    """A case of what SciPy computes in double precision only, and not of complex numbers."""
    return case(function, *args, analytic=False, wide=False, **options)


if importlib.util.find_spec("scipy"):
    from funcgrad.scipy import stats

    SHAPES: dict[str, tuple[Any, ...]] = {
        "norm": (), "expon": (), "laplace": (), "logistic": (), "uniform": (), "cauchy": (), "t": (np.array([3.5, 1.2, 8.0]),),
        "gamma": (np.array([2.3, 0.7, 4.1]),), "chi2": (np.array([5.2, 1.3, 3.4]),), "lognorm": (np.array([0.8, 1.1, 0.6]),),
        "beta": (np.array([2.3, 1.4, 0.8]), np.array(1.7)), "weibull_min": (np.array([1.7, 0.9, 2.4]),),
    }  # fmt: skip
    WITHOUT_SHAPE_RULE = {"t", "gamma", "chi2", "beta"}
    LOC, SCALE = np.array(0.3), np.array([[1.9], [0.8]])

    def _in_support(name: str) -> np.ndarray:
        """Points of the standard form, moved by LOC and SCALE: away from the ends of the support, and from kinks."""
        standard = np.array([[0.31, 0.72, 0.55], [0.44, 0.26, 0.63]])
        if name not in ("uniform", "beta"):
            standard = 2.1 * standard
        if name in ("norm", "laplace", "logistic", "cauchy", "t"):
            standard = standard * np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
        return LOC + SCALE * standard

    def _continuous(name: str, function: str) -> Case:
        shapes = SHAPES[name]
        x = np.array([[0.38, 0.61, 0.47], [0.55, 0.42, 0.52]]) if function in ("ppf", "isf") else _in_support(name)
        method = getattr(getattr(stats, name), function)
        if name in WITHOUT_SHAPE_RULE and function not in ("logpdf", "pdf"):
            return sp(method, x, LOC, SCALE, call=lambda f, x, loc, scale: f(x, *shapes, loc, scale), note=name)
        return sp(method, x, *shapes, LOC, SCALE, note=name)

    CASES += [_continuous(name, function) for name in SHAPES for function in getattr(stats, name).functions]
    CASES += [
        sp(stats.norm.logpdf, 0.7, note="norm of a number"),
        sp(stats.norm.logpdf, points.real(3), note="norm standard"),
        sp(stats.gamma.pdf, points.positive(3), np.array(2.5), note="gamma standard"),
        sp(stats.norm.ppf, np.array([0.4, 0.57]), note="norm standard"),
    ]

    K, N = np.array([[0, 1, 4], [2, 7, 3]]), np.array([7, 9, 8])
    MU, P = np.array([1.7, 3.2, 0.8]), np.array([0.3, 0.7, 0.55])
    for name in stats.poisson.functions:
        CASES.append(sp(getattr(stats.poisson, name), MU, call=lambda f, mu: f(K, mu), note="poisson"))
        CASES.append(sp(getattr(stats.binom, name), P, call=lambda f, p: f(K, N, p), note="binom"))

    def _with_covariance(f: Any, x: Any, mean: Any, root: Any) -> Any:
        return f(x, mean, np.matmul(root, root.T) + np.eye(root.shape[0]))

    normal = stats.multivariate_normal
    ALPHA, IN_SIMPLEX = np.array([1.4, 0.8, 2.5]), np.array([[0.25, 0.375], [0.375, 0.25]])
    for name in ("logpdf", "pdf"):
        vectors = points.real(2, 4, 3), points.real(3), points.real(3, 3)
        CASES.append(sp(getattr(normal, name), *vectors, call=_with_covariance, note="multivariate normal"))
        CASES.append(sp(getattr(stats.dirichlet, name), IN_SIMPLEX, ALPHA, note="dirichlet"))
    CASES += [
        sp(normal.logpdf, points.real(2), points.real(2), points.real(2, 2), call=_with_covariance, note="multivariate normal, one point"),
        sp(normal.logpdf, points.real(4), np.array(1.7), call=lambda f, x, variance: f(x, cov=variance), note="normal of one dimension"),
        sp(stats.dirichlet.logpdf, IN_SIMPLEX[0], ALPHA, note="dirichlet, one point"),
    ]
