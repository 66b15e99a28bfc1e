"""Order statistics, averages, covariances, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case
from tests.witnesses import NUMPY

points = Points(32)
real, positive, other = points.real, points.positive, points.other

V, W, M, C = real(5), other(5), real(3, 4), real(2, 3, 4)
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
SMOOTH = ["interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased"]


def over_axes(function: Any, *rest: Any, array: Any = C) -> list[Case]:
    """A reduction over all forms of axes."""
    forms: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"axis": (2, 1), "keepdims": True}]
    forms += [{"keepdims": True}, {"axis": 1}]
    found = [case(function, array, call=_called(*rest, **form), note=f"{rest} {form}", analytic=False) for form in forms]
    return [*found, case(function, real(), call=_called(*rest), note=f"{rest} 0d", analytic=False)]


def _called(*rest: Any, **form: Any) -> Any:
    return lambda f, x: f(x, *rest, **form)


def quantiles(function: Any, scale: float, array: Any = C) -> list[Case]:
    """Quantiles or percentiles of all kinds."""
    q, several = 0.3 * scale, np.array([0.1, 0.45, 0.77]) * scale  # no kinks near
    found = [
        *over_axes(function, q, array=array),
        case(function, array, call=_called(several, axis=1), note="several", analytic=False),
        case(function, array, call=_called(np.linspace(0.02, 0.95, 12) * scale), note="many", analytic=False),
        case(function, array, call=_called([0.0, scale], axis=(0, 1), keepdims=True), note="ends", analytic=False),
        case(function, array, call=lambda f, x: f(+x, q, overwrite_input=True), note="overwritten", analytic=False),
        case(function, array, several, call=lambda f, x, q: f(x, q, axis=2), note="q too", analytic=False),
        case(function, array, np.asarray(q), call=lambda f, x, q: f(x, q, axis=1, keepdims=True), note="one q too", analytic=False),
        case(function, several, call=lambda f, q: f(np.arange(7) ** 2, q), note="q of whole numbers", analytic=False),
    ]
    found += [case(function, M, call=_called(several, axis=1, method=name), note=name, analytic=False) for name in METHODS]
    found += [
        case(function, M, several, call=lambda f, x, q, name=name: f(x, q, axis=1, method=name), note=f"q too, {name}", analytic=False)
        for name in SMOOTH
    ]
    if NUMPY >= (2, 0):
        found += [case(function, array, call=_called(several.reshape(3, 1), axis=-1), note="a table of q", analytic=False)]
        weights = [(positive(2, 3, 4), None), (positive(2, 3, 4), 1)]
        if function in (np.quantile, np.percentile):
            weights += [(positive(3), 1), (positive(4, 2), (2, 0))][: 2 if NUMPY >= (2, 3) else 1]  # NumPy 2.2 mixes the weights up
        found += [
            case(
                function,
                array,
                call=_called(several, axis=axis, weights=w, method="inverted_cdf"),
                note=f"weights {w.shape} {axis}",
                analytic=False,
            )
            for w, axis in weights
        ]
    return found


def weighted(function: Any, note: str = "", **options: Any) -> Case:
    """A histogram of fixed elements as a function of their weights."""
    return case(function, real(6), call=lambda f, w: f(np.array([0.5, 2.0, -1.0, 0.75, 3.0, 9.0]), weights=w, **options)[0], note=note)


EDGES = np.array([-1.0, 0.0, 0.8, 3.0])
TIMES = [1, 2, 1, 3]
SAMPLE = np.stack([real(6), other(6)], 1)

CASES = [
    *over_axes(np.median), case(np.median, real(4), analytic=False), case(np.median, 0.7, analytic=False),
    case(np.median, real(6, 2), call=lambda f, x: f(+x, 0, overwrite_input=True), note="overwritten", analytic=False),
    case(np.median, real(0, 3), axis=1, analytic=False), case(np.median, points.complex(4), note="complex", analytic=False),
    *quantiles(np.quantile, 1.0), *quantiles(np.percentile, 100.0), case(np.quantile, 0.7, q=0.5, analytic=False),
    case(np.average, V), case(np.average, C, axis=(0, 2)), case(np.average, C, axis=1, keepdims=True), case(np.average, C, axis=-1),
    case(np.average, M, axis=0, returned=True), case(np.average, M, returned=True),
    case(np.average, V, positive(5), call=lambda f, x, w: f(x, weights=w), note="weights"),
    case(np.average, M, positive(4), call=lambda f, x, w: f(x, 1, w, True), note="weights of an axis"),
    case(np.average, M, positive(3, 4), call=lambda f, x, w: f(x, 0, w, keepdims=True), note="weights of all"),
    case(np.average, positive(3), call=lambda f, w: f(np.arange(6).reshape(2, 3), 1, w), note="of whole numbers"),
    case(np.average, M, call=lambda f, x: f(x, 0, [1, 2, 3]), note="plain weights"),
    case(np.average, points.complex(3), positive(3), call=lambda f, x, w: f(x, weights=w), note="complex", analytic=False),
    *(case(np.ptp, C, analytic=False, **options) for options in ({}, {"axis": 0}, {"axis": (0, 2), "keepdims": True})),
    *(case(np.cov, M, analytic=False, **options) for options in (
        {}, {"rowvar": False}, {"bias": True}, {"ddof": 0}, {"fweights": TIMES}, {"fweights": TIMES, "ddof": 0}, {"dtype": np.float64})),
    *(case(np.cov, *args, analytic=False) for args in ((V,), (M, other(3, 4)), (V, other(5)))),
    case(np.cov, M, other(3), rowvar=False, note="a column more", analytic=False),
    case(np.cov, real(3, 1), other(3, 2), rowvar=False, analytic=False),
    case(np.cov, M, positive(4), call=lambda f, x, w: f(x, aweights=w), note="aweights", analytic=False),
    *(case(np.cov, M, positive(4), call=lambda f, x, w, d=d: f(x, aweights=w, fweights=TIMES, ddof=d), note=f"both weights, ddof {d}",
           analytic=False) for d in (0, 1)),
    case(np.cov, points.complex(2, 4), note="complex", analytic=False),
    *(case(np.corrcoef, *args, analytic=False) for args in ((M,), (V,), (V, other(5)), (M, other(2, 4)))),
    case(np.corrcoef, M, rowvar=False, analytic=False), case(np.corrcoef, points.complex(2, 4), note="complex", analytic=False),
    weighted(np.histogram, "even", bins=4), weighted(np.histogram, "uneven", bins=EDGES),
    weighted(np.histogram, "list", bins=[-1, 0, 0.5, 2]), weighted(np.histogram, "range", bins=3, range=(0, 2.5)),
    weighted(np.histogram, "density", bins=EDGES, density=True),
    *(case(f, *args, call=call, note=note, analytic=False) for f, args, call, note in (
        (np.histogram, [V], lambda f, x: f(x, 4)[1], "edges"), (np.histogram, [V], lambda f, x: f(x, 4, density=True)[0], "density"),
        (np.histogram, [EDGES], lambda f, edges: f(np.array([0.5, 0.3, 1.0, -0.5]), edges, density=True), "edges given"),
        (np.histogram_bin_edges, [V], lambda f, x: f(x, 4), "a number"),
        (np.histogram_bin_edges, [M], lambda f, x: f(x, "sturges"), "a rule"),
        (np.histogram_bin_edges, [EDGES], lambda f, edges: f(np.ones(3), edges), "given"),
        (np.histogram2d, [V, W], lambda f, x, y: f(x, y, [2, 3])[1:], "edges"),
        (np.histogram2d, [V, W], lambda f, x, y: f(x, y, 2, density=True)[0], "density"),
        (np.histogramdd, [SAMPLE], lambda f, x: f(x, (2, 3))[1], "edges"),
        (np.histogramdd, [EDGES], lambda f, edges: f(SAMPLE, [edges, 2], density=True)[0], "edges given"))),
    *(case(f, real(5), call=call, note="weights", analytic=False, wide=False) for f, call in (
        (np.histogram2d, lambda f, w: f(V, W, EDGES, weights=w)[0]), (np.bincount, lambda f, w: f([0, 2, 2, 1, 0], w, 5)),
        (np.histogramdd, lambda f, w: f(SAMPLE[:5], [EDGES, 2], weights=w)[0]))),
]  # fmt: skip

CONSTANT = [
    case(np.digitize, M, call=lambda f, x: f(x, EDGES)), case(np.digitize, V, call=lambda f, x: f(x, EDGES, right=True), note="right"),
    case(np.histogram, V, call=lambda f, x: f(x, EDGES)), case(np.histogram, V, call=lambda f, x: f(x, 3, (0, 1)), note="range"),
    case(np.histogram2d, V, W, call=lambda f, x, y: f(x, y, 3)[0]),
]  # fmt: skip
