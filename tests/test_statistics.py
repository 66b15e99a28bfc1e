"""Statistics at special points: ties, NaNs, empty and all-NaN slices, weights. Right values are closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jacfwd, jacrev, jvp, vjp
from funcgrad.errors import ConcretizationError, NoRuleError
from tests.witnesses import NUMPY

A = np.array
NAN = np.nan
gradients = pytest.mark.parametrize("gradient", [grad, jacfwd, jacrev])


# ------------------------------------------------------------------------------------------------ order statistics


@gradients
def test_medians_and_quantiles_of_tied_elements(gradient: Any):
    x = A([1.0, 3.0, 3.0, 2.0])  # sorted: 1 2 3 3
    for median in (np.median, np.nanmedian, lambda x: np.quantile(x, 0.5), lambda x: np.nanpercentile(x, 50)):
        np.testing.assert_array_equal(gradient(median)(x), [0.0, 0.25, 0.25, 0.5])
        np.testing.assert_array_equal(gradient(median)(A([2.0, 2.0, 2.0])), A([1.0, 1.0, 1.0]) / 3)
        np.testing.assert_array_equal(gradient(median)(A([[5.0, 7.0], [7.0, 9.0]])), [[0.0, 0.5], [0.5, 0.0]])
        assert gradient(median)(4.0) == 1.0
    np.testing.assert_allclose(gradient(lambda x: np.quantile(x, 0.3))(x), [0.1, 0.0, 0.0, 0.9], rtol=1e-14)  # at place 0.9
    np.testing.assert_array_equal(gradient(lambda x: np.quantile(x, 0.3, method="higher"))(x), [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(gradient(lambda x: np.percentile(x, 100))(x), [0.0, 0.5, 0.5, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.quantile(x, [0.0, 1.0])))(x), [1.0, 0.5, 0.5, 0.0])
    rows = A([[1.0, 1.0, 4.0], [3.0, 2.0, 2.0]])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.median(x, axis=1)))(rows), [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])


def test_quantiles_in_the_place():
    x = A([1.0, 2.0, 4.0, 8.0])
    for q, wanted in ((0.0, 3.0), (0.5, 6.0), (0.9, 12.0), (1.0, 12.0)):  # three times the step between the neighbors
        assert grad(lambda q: np.quantile(x, q))(q) == wanted
        assert jvp(lambda q: np.quantile(x, q), (q,), (1.0,))[1] == wanted
        assert grad(lambda q: np.percentile(x, q))(100 * q) == pytest.approx(wanted / 100)
    np.testing.assert_array_equal(grad(lambda q: np.sum(np.quantile(x, q, method="weibull")))(A([0.1, 0.3, 0.9])), [0.0, 5.0, 0.0])
    np.testing.assert_array_equal(grad(lambda q: np.sum(np.quantile(x, q, method="nearest")))(A([0.1, 0.3])), [0.0, 0.0])
    with_nan = A([NAN, 1.0, 3.0, NAN, 9.0])
    assert grad(lambda q: np.nanquantile(with_nan, q))(0.75) == 12.0
    assert grad(lambda q: np.nanquantile(with_nan, q))(1.0) == 12.0


@pytest.mark.skipif(NUMPY < (2, 0), reason="NumPy 1 has no weights here")
def test_weighted_quantiles():
    x, weights = A([5.0, 1.0, 3.0]), A([1.0, 2.0, 4.0])

    def f(x: Any, weights: Any) -> Any:
        return np.quantile(x, 0.5, weights=weights, method="inverted_cdf")

    np.testing.assert_array_equal(grad(f)(x, weights), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(grad(f, 1)(x, weights), [0.0, 0.0, 0.0])  # a step function of the weights
    with pytest.raises(ValueError, match="inverted_cdf"):
        grad(lambda x: np.quantile(x, 0.5, weights=weights))(x)
    with pytest.raises(ValueError, match="Shape of weights"):
        grad(lambda x: np.quantile(x, 0.5, axis=0, weights=weights[:2], method="inverted_cdf"))(x)


@gradients
def test_nans_in_order_statistics(gradient: Any):
    x = A([2.0, NAN, 8.0, NAN])
    for f in (np.median, lambda x: np.quantile(x, 0.3), lambda x: np.percentile(x, 80)):
        assert np.isnan(f(x))
        np.testing.assert_array_equal(gradient(f)(x), gradient(np.max)(x))  # the answer is a NaN of the input
    np.testing.assert_array_equal(gradient(np.nanmedian)(x), [0.5, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.nanquantile(x, 0.25))(x), [0.75, 0.0, 0.25, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.nanpercentile(x, 100))(x), [0.0, 0.0, 1.0, 0.0])


def test_the_input_of_a_median_is_never_overwritten():
    x = A([3.0, 1.0, 2.0])
    for f in (np.median, np.nanmedian, lambda x, **options: np.quantile(x, 0.3, **options)):
        grad(lambda x: f(x, overwrite_input=True))(x)  # noqa: B023
        np.testing.assert_array_equal(x, [3.0, 1.0, 2.0])


def test_the_median_of_more_elements_than_the_precision_can_count():
    x = np.random.default_rng(0).permutation(np.arange(1000, 6001, dtype=np.uint16)).view(np.float16)  # 5001 of them, no ties
    for median in (np.median, np.nanmedian):
        (place,) = np.nonzero(grad(median)(x))
        assert x[place] == np.median(x)


def test_infinite_neighbors_without_weight_have_no_part():
    x = A([0.0, 1.0, 4.0])
    for f in (lambda x: np.median(np.sqrt(x)), lambda x: np.quantile(np.sqrt(x), 0.5), lambda x: np.nanmedian(np.sqrt(x))):
        np.testing.assert_array_equal(grad(f)(x), [0.0, 0.5, 0.0])
        assert jvp(f, (x,), (np.ones(3),))[1] == 0.5


# ------------------------------------------------------------------------------------------------ the nan* family

REDUCTIONS: dict[Any, list[float]] = {
    np.nansum: [1.0, 0.0, 1.0, 0.0],
    np.nanprod: [6.0, 0.0, 2.0, 0.0],
    np.nanmean: [0.5, 0.0, 0.5, 0.0],
    np.nanvar: [-2.0, 0.0, 2.0, 0.0],
    np.nanstd: [-0.5, 0.0, 0.5, 0.0],
    np.nanmax: [0.0, 0.0, 1.0, 0.0],
    np.nanmin: [1.0, 0.0, 0.0, 0.0],
    np.nanmedian: [0.5, 0.0, 0.5, 0.0],
}


@gradients
@pytest.mark.parametrize("f", REDUCTIONS)
def test_a_nan_has_derivative_zero(f: Any, gradient: Any):
    np.testing.assert_array_equal(gradient(f)(A([2.0, NAN, 6.0, NAN])), REDUCTIONS[f])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(f(x, axis=0)))(A([[2.0], [NAN], [6.0], [NAN]])), np.transpose([REDUCTIONS[f]]))
    second = hessian(f)(A([2.0, NAN, 6.0, NAN]))
    assert np.all(second[1] == 0.0)
    assert np.all(second[:, 3] == 0.0)


@pytest.mark.parametrize("f", REDUCTIONS)
def test_a_slice_of_nothing_but_nans_has_derivative_zero(f: Any):
    x = A([[NAN, NAN], [1.0, 4.0]])
    is_silent = f in (np.nansum, np.nanprod)

    def quiet(call: Callable[[], Any]) -> Any:
        if is_silent:
            return call()
        with pytest.warns(RuntimeWarning):
            return call()

    plain = quiet(lambda: f(x, axis=1))
    value, pullback = quiet(lambda: vjp(lambda x: f(x, axis=1), x))
    np.testing.assert_array_equal(value, plain)
    (back,) = pullback(np.ones(2))
    np.testing.assert_array_equal(back[0], [0.0, 0.0])
    assert np.isfinite(back[1]).all()
    assert np.any(back[1] != 0.0) or f is np.nanvar
    out = quiet(lambda: jvp(lambda x: f(x, axis=1), (x,), (np.ones((2, 2)),)))[1]
    assert out[0] == 0.0
    np.testing.assert_array_equal(quiet(lambda: grad(f)(x * NAN)), np.zeros((2, 2)))


@gradients
def test_ties_and_zero_spread_without_the_nans(gradient: Any):
    x = A([3.0, NAN, 3.0])
    np.testing.assert_array_equal(gradient(np.nanmax)(x), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(gradient(lambda x: np.nanmin(x, initial=3.0))(x), A([1.0, 0.0, 1.0]) / 3)
    np.testing.assert_array_equal(gradient(lambda x: np.nanmax(x, initial=9.0))(x), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.nanmax(x, where=[True, True, False], initial=0.0))(x), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(np.nanstd)(x), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.nanprod(x, initial=2.0))(A([0.0, NAN, 5.0])), [10.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.nancumprod(x)[-1])(A([0.0, NAN, 5.0])), [5.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.nancumsum(x)[-1])(A([0.0, NAN, 5.0])), [1.0, 0.0, 1.0])


def test_a_derivative_behind_a_nan_is_dropped():
    x = A([-1.0, 0.0, 4.0])
    with np.errstate(invalid="ignore"):
        for f, wanted in ((np.nansum, [0.0, np.inf, 0.25]), (np.nanmax, [0.0, 0.0, 0.25]), (np.nanmean, [0.0, np.inf, 0.125])):
            np.testing.assert_array_equal(grad(lambda x: f(np.sqrt(x)))(x), wanted)  # noqa: B023


@gradients
def test_replaced_numbers_have_derivative_zero(gradient: Any):
    x = A([NAN, np.inf, -np.inf, 2.0, -0.0])
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0) * 5.0))(x), [0, 0, 0, 5.0, 5.0]
    )


# ------------------------------------------------------------------------------------------------ averages and covariances


@gradients
def test_averages(gradient: Any):
    x, weights = A([1.0, 3.0, 8.0]), A([1.0, 1.0, 2.0])  # average 5
    np.testing.assert_array_equal(gradient(lambda x: np.average(x, weights=weights))(x), [0.25, 0.25, 0.5])
    np.testing.assert_array_equal(gradient(lambda w: np.average(x, weights=w))(weights), [-1.0, -0.5, 0.75])
    np.testing.assert_array_equal(gradient(lambda w: np.average(x, weights=w, returned=True)[1])(weights), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(gradient(np.ptp)(A([4.0, 1.0, 4.0])), [0.5, -1.0, 0.5])


@gradients
def test_covariances(gradient: Any):
    x, y = A([1.0, 2.0, 6.0]), A([2.0, 0.0, 4.0])
    np.testing.assert_allclose(gradient(np.cov)(x), (x - 3.0), rtol=1e-15)
    np.testing.assert_allclose(gradient(lambda x: np.cov(x, y)[0, 1])(x), (y - 2.0) / 2.0, rtol=1e-15)
    r = np.corrcoef(x, y)[0, 1]
    u, v = (x - 3.0) / np.linalg.norm(x - 3.0), (y - 2.0) / np.linalg.norm(y - 2.0)
    np.testing.assert_allclose(gradient(lambda x: np.corrcoef(x, y)[0, 1])(x), (v - r * u) / np.linalg.norm(x - 3.0), rtol=1e-13)
    np.testing.assert_allclose(gradient(lambda x: np.corrcoef(x, y)[0, 0])(x), [0.0, 0.0, 0.0], atol=1e-15)


# ------------------------------------------------------------------------------------------------ histograms


def test_histograms_with_weights_take_them_where_they_fall():
    a, edges = A([0.0, 1.0, 2.5, 3.0, 9.0, NAN, -1.0]), A([0.0, 1.0, 2.0, 3.0])
    weights = A([1.0, 10.0, 100.0])
    for bins, ends in ((edges, None), (3, (0.0, 3.0))):
        found = grad(lambda w: np.sum(np.histogram(a, bins, ends, weights=w)[0] * weights))(np.ones(7))  # noqa: B023
        np.testing.assert_array_equal(found, [1.0, 10.0, 100.0, 100.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(grad(lambda w: np.sum(np.bincount([2, 0, 2], w) * A([1.0, 2.0, 3.0])))(np.ones(3)), [3.0, 1.0, 3.0])
    counts = vjp(lambda a: np.histogram(a, 3, (0.0, 3.0))[1], a)[0]
    np.testing.assert_array_equal(counts, edges)


def test_edges_follow_the_ends_of_the_data():
    x = A([1.0, 5.0, 2.0, 5.0])
    for edges in (lambda x: np.histogram_bin_edges(x, 4), lambda x: np.histogram(x, 4)[1]):
        wanted = [[1.0, 0.0, 0.0, 0.0], [0.75, 0.125, 0.0, 0.125], [0.5, 0.25, 0.0, 0.25], [0.25, 0.375, 0.0, 0.375], [0.0, 0.5, 0.0, 0.5]]
        np.testing.assert_array_equal(jacrev(edges)(x), wanted)
        np.testing.assert_array_equal(jacfwd(edges)(x), wanted)
    np.testing.assert_array_equal(jacrev(lambda x: np.histogram_bin_edges(x, 1))(A([2.0, 2.0])), [[0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.histogram_bin_edges(x, 4, (0, 1))))(x), [0.0, 0.0, 0.0, 0.0])


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: np.quantile(x, 1.5), ValueError),
        (lambda x: np.quantile(x, 0.5, method="none"), ValueError),
        (lambda x: np.median(x, axis=1), np.exceptions.AxisError),
        (lambda x: np.median(x, axis=(0, 0)), ValueError),
        (lambda x: np.average(x, weights=[1.0, -1.0, 0.0]), ZeroDivisionError),
        (lambda x: np.average(x, weights=[1.0]), TypeError),
        (lambda x: np.average(x, axis=0, weights=[1.0]), ValueError),
        (lambda x: np.cov(x, ddof=0.5), ValueError),
        (lambda x: np.cov(x, fweights=[1.5, 1.0, 1.0]), TypeError),
        (lambda x: np.cov(x, fweights=[1, 1]), RuntimeError),
        (lambda x: np.cov(x, aweights=[-1.0, 1.0, 1.0]), ValueError),
        (lambda x: np.cov(x.reshape(1, 1, 3)), ValueError),
        (lambda x: np.nanvar(x, dtype=int), TypeError),
        (lambda x: np.histogram(x, 0)[1], ValueError),
        (lambda x: np.histogram([1.0], 3, weights=x)[0], ValueError),
        (lambda x: np.histogram2d(x, x[:2])[1], ValueError),
        (lambda x: np.bincount([0, 1], x), ValueError),
    ],
)
def test_what_numpy_refuses_is_refused(f: Any, error: Any):
    x = A([1.0, 3.0, 2.0])
    with pytest.raises(error):
        f(x)
    with pytest.raises(error):
        grad(lambda x: np.sum(f(x)))(x)


@pytest.mark.parametrize("f", [np.median, np.nanmedian, np.nansum, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.ptp, np.nancumsum])
def test_out_is_refused(f: Any):
    with pytest.raises(ConcretizationError, match="out"):
        grad(lambda x: np.sum(f(x, out=np.zeros(()))))(A([1.0, 2.0]))


@pytest.mark.parametrize("f", [np.nansum, np.nanprod, np.nanmax, np.nanmin])
def test_a_traced_start_is_refused(f: Any):
    with pytest.raises(NoRuleError, match="initial"):
        grad(lambda x: f(x, initial=x[0]))(A([1.0, 2.0]))


def test_nan_to_num_in_place_is_refused():
    with pytest.raises(ConcretizationError, match="copy=False"):
        grad(lambda x: np.sum(np.nan_to_num(x, copy=False)))(A([1.0, 2.0]))
