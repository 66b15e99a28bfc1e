"""Distributions at special points: far tails, ends of the support, impossible values; and the ways to call them."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

from funcgrad import elementwise_grad, grad, hessian, jvp, vjp
from funcgrad.errors import NoRuleError
from tests.runs import each_run

scipy_stats = pytest.importorskip("scipy.stats")
from funcgrad.scipy import stats  # noqa: E402 - it needs SciPy
from tests.scipy.namespaces import assert_refuses_by_name, without_rule  # noqa: E402

try:
    import mpmath
except ImportError:
    mpmath = None
needs_mpmath = pytest.mark.skipif(mpmath is None, reason="without mpmath")

A = np.array
SHAPES: dict[str, tuple[float, ...]] = {
    "norm": (), "expon": (), "laplace": (), "logistic": (), "uniform": (), "cauchy": (),
    "t": (3.5,), "gamma": (2.3,), "chi2": (5.2,), "beta": (2.3, 1.7), "lognorm": (0.8,), "weibull_min": (1.7,),
}  # fmt: skip
CONTINUOUS = pytest.mark.parametrize("name", list(SHAPES))


def slope(function: Any, x: Any, *rest: Any) -> Any:
    """The derivative in x, by both modes."""
    x = np.asarray(x, float)
    value, tangent = jvp(lambda x: function(x, *rest), (x,), (np.ones_like(x),))
    np.testing.assert_allclose(elementwise_grad(lambda x: function(x, *rest))(x), tangent, rtol=1e-15)
    np.testing.assert_array_equal(value, function(x, *rest))
    return tangent


# ------------------------------------------------------------------------------------------------ independent densities

LOG_DENSITIES: dict[str, Any] = {
    "norm": lambda z: -z * z / 2 - mpmath.log(2 * mpmath.pi) / 2,
    "expon": lambda z: -z,
    "laplace": lambda z: -abs(z) - mpmath.log(2),
    "logistic": lambda z: -z - 2 * mpmath.log1p(mpmath.exp(-z)),
    "uniform": lambda z: mpmath.mpf(0) * z,
    "cauchy": lambda z: -mpmath.log(mpmath.pi * (1 + z * z)),
    "t": lambda z, v: mpmath.loggamma((v + 1) / 2) - mpmath.loggamma(v / 2) - mpmath.log(v * mpmath.pi) / 2
    - (v + 1) / 2 * mpmath.log1p(z * z / v),
    "gamma": lambda z, a: (a - 1) * mpmath.log(z) - z - mpmath.loggamma(a),
    "chi2": lambda z, k: (k / 2 - 1) * mpmath.log(z) - z / 2 - k / 2 * mpmath.log(2) - mpmath.loggamma(k / 2),
    "beta": lambda z, a, b: (a - 1) * mpmath.log(z) + (b - 1) * mpmath.log1p(-z) - mpmath.log(mpmath.beta(a, b)),
    "lognorm": lambda z, s: -((mpmath.log(z) / s) ** 2) / 2 - mpmath.log(s * z) - mpmath.log(2 * mpmath.pi) / 2,
    "weibull_min": lambda z, c: mpmath.log(c) + (c - 1) * mpmath.log(z) - z**c,
}  # fmt: skip
"""The logarithmic densities as mathematics has them, in mpmath's digits."""


@CONTINUOUS
@needs_mpmath
def test_scores_agree_with_fifty_digits(name: str):
    distribution, shapes = getattr(stats, name), SHAPES[name]
    x = [0.03, 0.4, 0.97] if name in ("uniform", "beta") else [0.01, 0.7, 5.0, 41.0]
    with mpmath.workdps(50):
        for place in range(1 + len(shapes)):
            for one in x:
                arguments = (one, *shapes)

                def of_one(value: Any, place: int = place, arguments: Any = arguments) -> Any:
                    return LOG_DENSITIES[name](*(value if n == place else mpmath.mpf(other) for n, other in enumerate(arguments)))

                wanted = float(mpmath.diff(of_one, mpmath.mpf(arguments[place])))
                got = grad(distribution.logpdf, place)(*arguments)
                assert got == pytest.approx(wanted, rel=2e-12, abs=1e-13), (place, one)


@CONTINUOUS
def test_values_are_scipys_bit_for_bit(name: str):
    distribution, theirs, shapes = getattr(stats, name), getattr(scipy_stats, name), SHAPES[name]
    x = A([-1e300, -40.0, -1.0, 0.0, 1e-300, 0.3, 1.0, 2.5, 40.0, 1e5, 1e300, np.inf, -np.inf, np.nan])
    q = A([-0.1, 0.0, 1e-300, 0.3, 0.5, 1.0 - 1e-16, 1.0, 1.1, np.nan])
    for function in distribution.functions:
        at = q if function in ("ppf", "isf") else x
        for rest in (shapes, (*shapes, 0.3, 2.7), (*shapes, 0.0, A([[1.0], [-1.0], [0.0]]))):
            with np.errstate(all="ignore"):
                wanted = getattr(theirs, function)(at, *rest)
                for got in (
                    getattr(distribution, function)(at, *rest),
                    jvp(lambda at, f=function, rest=rest: getattr(distribution, f)(at, *rest), (at,), (at,))[0],
                ):
                    np.testing.assert_array_equal(got, wanted, err_msg=function)


@CONTINUOUS
def test_gradients_are_never_nan_where_the_value_is_a_number(name: str):
    distribution, shapes = getattr(stats, name), SHAPES[name]
    x = A([-np.inf, -1e300, -1e9, -40.0, -1.0, 0.0, 1e-300, 0.3, 1.0, 2.5, 40.0, 900.0, 1e9, 1e300, np.inf])
    q = A([0.0, 1e-300, 0.3, 0.5, 1.0 - 1e-16, 1.0])
    for function in distribution.functions:
        at = q if function in ("ppf", "isf") else x
        with np.errstate(all="ignore"):
            for rest in (shapes, (*shapes, 0.0, 2.0)):
                value, found = getattr(distribution, function)(at, *rest), slope(getattr(distribution, function), at, *rest)
                assert not np.any(np.isnan(found) & ~np.isnan(value)), (function, at[np.isnan(found)])


@CONTINUOUS
def test_outside_of_the_support_nothing_changes(name: str):
    distribution, shapes = getattr(stats, name), SHAPES[name]
    outside = A([-3.0, -0.1]) if distribution.a == 0.0 else A([])
    outside = np.append(outside, [1.1, 3.0]) if distribution.b == 1.0 else outside
    for function in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"):
        f = getattr(distribution, function)
        np.testing.assert_array_equal(slope(f, outside, *shapes), 0.0 * outside)
        np.testing.assert_array_equal(slope(lambda x, f=f: slope_of(f, x, shapes), outside), 0.0 * outside)
        if function in ("logpdf", "pdf"):
            for n in range(1, 1 + len(shapes)):
                assert np.all(grad(lambda *args, f=f: np.sum(f(*args)), n)(outside, *shapes) == 0.0)
    values = distribution.logpdf(np.append(outside, 0.5), *shapes)
    assert np.all(np.isneginf(values[:-1]))


def slope_of(f: Any, x: Any, shapes: Any) -> Any:
    return jvp(lambda x: f(x, *shapes), (x,), (np.ones(x.shape),))[1]


# ------------------------------------------------------------------------------------------------ tails


@needs_mpmath
def test_far_tails_of_the_normal_distribution():
    x = A([-1e8, -300.0, -40.0, -8.0, 0.0, 8.0])
    with mpmath.workdps(60):  # phi / Phi = -x (1 + x**-2 - 2 x**-4 + 10 x**-6 - ...) far out
        wanted = [
            float(mpmath.npdf(one) / mpmath.ncdf(one)) if one > -50 else -one * (1 + one**-2 - 2 * one**-4 + 10 * one**-6) for one in x
        ]
    np.testing.assert_allclose(slope(stats.norm.logcdf, x), wanted, rtol=1e-14)
    np.testing.assert_allclose(slope(stats.norm.logsf, -x), -A(wanted), rtol=1e-14)
    np.testing.assert_array_equal(slope(stats.norm.logpdf, x), -x)
    curvature = hessian(stats.norm.logcdf)(-40.0)
    with mpmath.workdps(60):
        ratio = mpmath.npdf(-40) / mpmath.ncdf(-40)
        assert curvature == pytest.approx(float(-ratio * (ratio - 40)), rel=1e-9)


@needs_mpmath
def test_hazards_in_the_tails_are_those_of_the_mathematics():
    np.testing.assert_array_equal(slope(stats.expon.logsf, A([1.0, 1e5])), [-1.0, -1.0])
    np.testing.assert_array_equal(slope(stats.laplace.logsf, A([1.0, 800.0])), [-1.0, -1.0])
    np.testing.assert_array_equal(slope(stats.laplace.logcdf, A([-1.0, -800.0])), [1.0, 1.0])
    np.testing.assert_array_equal(slope(stats.laplace.logpdf, A([-800.0, 0.0, 800.0])), [1.0, 0.0, -1.0])
    np.testing.assert_allclose(slope(stats.weibull_min.logsf, A([0.5, 1e3]), 1.7), -1.7 * A([0.5, 1e3]) ** 0.7, rtol=1e-14)
    np.testing.assert_allclose(slope(stats.logistic.logsf, A([-50.0, 0.0, 800.0])), [-math.exp(-50.0), -0.5, -1.0], rtol=1e-14)
    np.testing.assert_allclose(slope(stats.uniform.logcdf, A([1e-3, 0.5])), [1e3, 2.0], rtol=1e-14)
    np.testing.assert_allclose(slope(stats.cauchy.logpdf, A([1e200])), [-2e-200], rtol=1e-14)
    with mpmath.workdps(40):  # exp(-x) * x**1.3 / Gamma(2.3, x)
        wanted = [
            float(-mpmath.exp(-x) * mpmath.mpf(x) ** mpmath.mpf(1.3) / mpmath.gammainc(mpmath.mpf(2.3), x)) for x in (0.1, 5.0, 600.0)
        ]
    np.testing.assert_allclose(slope(stats.gamma.logsf, A([0.1, 5.0, 600.0]), 2.3), wanted, rtol=1e-12)
    # where SciPy's value underflows to -inf the slope is still the limit of the mathematics
    assert slope(stats.gamma.logsf, 1e4, 2.3) == pytest.approx(-1.0, abs=2e-4)


def test_student_with_infinitely_many_degrees_is_normal():
    x = A([-2.0, 0.5])
    np.testing.assert_allclose(slope(stats.t.logpdf, x, np.inf), -x, rtol=1e-15)
    assert grad(lambda df: stats.t.logpdf(0.5, df))(np.inf) == 0.0


def test_ends_of_the_support_have_one_sided_slopes():
    assert slope(stats.expon.logpdf, 0.0) == -1.0
    assert slope(stats.expon.cdf, 0.0) == 1.0
    assert slope(stats.uniform.cdf, 1.0) == 1.0
    assert slope(stats.gamma.logpdf, 0.0, 2.0) == 0.0  # the value is -inf
    assert slope(stats.beta.logpdf, 1.0, 1.0, 1.0) == 0.0


def test_quantiles():
    q = A([1e-300, 1e-9, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(slope(stats.norm.ppf, q), 1.0 / scipy_stats.norm.pdf(scipy_stats.norm.ppf(q)), rtol=1e-13)
    np.testing.assert_allclose(slope(stats.expon.ppf, q), 1.0 / (1.0 - q), rtol=1e-13)
    np.testing.assert_allclose(slope(stats.expon.isf, q), -1.0 / q, rtol=1e-13)
    np.testing.assert_allclose(slope(stats.logistic.ppf, q), 1.0 / (q * (1.0 - q)), rtol=1e-13)
    np.testing.assert_array_equal(slope(stats.norm.ppf, A([0.0, 1.0])), [0.0, 0.0])
    # x = (-log(1 - q)) ** (1 / c)
    assert grad(stats.weibull_min.ppf, 1)(0.3, 1.7) == pytest.approx(
        (-math.log(0.7)) ** (1 / 1.7) * math.log(-math.log(0.7)) * -1 / 1.7**2, rel=1e-13
    )


# ------------------------------------------------------------------------------------------------ ways to call


def test_arguments_as_scipy_takes_them():
    x = A([0.5, 1.5])
    wanted = scipy_stats.gamma.logpdf(x, 2.0, loc=0.1, scale=3.0)
    for call in (
        lambda a: stats.gamma.logpdf(x, a, 0.1, 3.0),
        lambda a: stats.gamma.logpdf(x, a=a, loc=0.1, scale=3.0),
        lambda a: stats.gamma.logpdf(x=x, scale=3.0, a=a, loc=0.1),
        lambda a: stats.gamma(a, 0.1, scale=3.0).logpdf(x),
        lambda a: stats.gamma(a=a, loc=0.1, scale=3.0).logpdf([0.5, 1.5]),
        lambda a: stats.gamma(a, 0.1, 3.0).logpdf(x=x),
        lambda a: stats.gamma.logpdf([0.5, 1.5], a, 0.1, 3),
    ):
        value, tangent = jvp(call, (2.0,), (1.0,))
        np.testing.assert_array_equal(value, wanted)
        np.testing.assert_allclose(tangent, np.log((x - 0.1) / 3.0) - (1.0 - np.euler_gamma), rtol=1e-13)
    assert grad(lambda m: np.sum(stats.norm.ppf(q=A([0.2, 0.7]), loc=m)))(0.3) == 2.0
    assert grad(lambda m: stats.norm.logpdf(2, m))(0) == 2.0
    np.testing.assert_array_equal(grad(lambda m: np.sum(stats.norm.logpdf([1, 2], [m[0], m[1]])))(A([0.0, 0.5])), [1.0, 1.5])
    with pytest.raises(TypeError, match="'a'"):
        grad(stats.gamma.logpdf)(1.0)


def test_gradients_of_a_sample_and_its_shape():
    data = A([1.0, 2.0, 6.0])
    mean, scale = grad(lambda m, s: np.sum(stats.norm.logpdf(data, m, s)), (0, 1))(2.0, 2.0)
    assert mean == pytest.approx(np.sum(data - 2.0) / 4.0, rel=1e-15)
    assert scale == pytest.approx(-3.0 / 2.0 + np.sum((data - 2.0) ** 2) / 8.0, rel=1e-15)
    back = vjp(stats.norm.logpdf, data[:, np.newaxis], A([0.0, 1.0]), A(2.0))[1](np.ones((3, 2)))
    assert [one.shape for one in back] == [(3, 1), (2,), ()]


def test_numbers_that_are_no_scale_give_nan_as_scipy_does():
    value, tangent = jvp(lambda s: stats.norm.logpdf(1.0, 0.0, s), (A([2.0, 0.0, -1.0]),), (np.ones(3),))
    np.testing.assert_array_equal(np.isnan(value), [False, True, True])
    np.testing.assert_allclose(tangent[0], -1.0 / 2.0 + 1.0 / 8.0, rtol=1e-15)
    value, tangent = jvp(lambda x: stats.gamma.logpdf(x, -1.0), (1.0,), (1.0,))
    assert math.isnan(value)
    assert math.isnan(tangent)


@each_run
def test_what_has_no_closed_form_says_so(run: Any):
    for call, name in (
        (lambda a: stats.gamma.cdf(1.0, a), r"scipy\.stats\.gamma\.cdf has no derivative in a"),
        (lambda a: stats.gamma.logsf(1.0, a), r"gamma\.logsf has no derivative in a"),
        (lambda df: stats.t.cdf(1.0, df), r"t\.cdf has no derivative in df"),
        (lambda df: stats.chi2.ppf(0.3, df), r"chi2\.ppf has no derivative in df"),
        (lambda b: stats.beta.sf(0.3, 2.0, b), r"beta\.sf has no derivative in b"),
        (lambda k: stats.poisson.pmf(k, 2.0), r"poisson\.pmf has no derivative in k"),
        (lambda n: stats.binom.logpmf(2, n, 0.5), r"binom\.logpmf has no derivative in n"),
        (lambda loc: stats.poisson.cdf(2, 1.0, loc), r"poisson\.cdf has no derivative in loc"),
        (lambda m: stats.norm.mean(m), r"scipy\.stats\.norm\.mean has no derivative rule"),
        (lambda m: stats.norm(m).entropy(), r"scipy\.stats\.norm\.entropy has no derivative rule"),
        (lambda m: stats.norm(0.0).moment(m), r"scipy\.stats\.norm\.moment has no derivative rule"),
        (lambda m: stats.multivariate_normal.cdf(A([0.0]), m), r"scipy\.stats\.multivariate_normal\.cdf has no derivative rule"),
        (lambda c: stats.multivariate_normal.logpdf(A([0.0, 0.0]), None, np.eye(2) * c, True), r"allow_singular=True\) has no derivative"),
        (lambda x: stats.skewnorm.logpdf(x, 1.0), r"scipy\.stats\.skewnorm\.logpdf has no derivative rule"),
        (lambda x: stats.zscore([x, 1.0]), r"scipy\.stats\.zscore has no derivative rule"),
    ):
        with pytest.raises(NoRuleError, match=name):
            run(call, 2.0)


def test_everything_else_is_scipys():
    assert stats.norm.mean(2.0, 3.0) == 2.0
    assert stats.norm(2.0, 3.0).std() == 3.0
    assert stats.norm(2.0, scale=3.0).interval(0.5) == scipy_stats.norm(2.0, 3.0).interval(0.5)
    assert stats.gamma.rvs(2.0, size=3, random_state=1).shape == (3,)
    assert stats.norm(0.0, 1.0).rvs(5, random_state=1).shape == (5,)
    assert stats.poisson(2.0).rvs(random_state=1) == scipy_stats.poisson(2.0).rvs(random_state=1)
    assert stats.zscore([1.0, 2.0, 3.0])[1] == 0.0
    assert isinstance(stats.linregress([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]).slope, float)
    assert stats.norm.logpdf(2.0) == scipy_stats.norm.logpdf(2.0)
    assert "norm" in dir(stats)
    assert "norm(0.0, scale=2.0)" in repr(stats.norm(0.0, scale=2.0))
    with pytest.raises(AttributeError):
        stats.norm.nonsense  # noqa: B018
    assert copy.copy(stats.norm).logpdf(2.0) == copy.deepcopy(stats.norm(0.0, 1.0)).logpdf(2.0) == stats.norm.logpdf(2.0)


# ------------------------------------------------------------------------------------------------ counts


def test_probabilities_of_counts_at_the_ends_of_their_parameter():
    k = np.arange(4)
    value, tangent = jvp(lambda mu: stats.poisson.pmf(k, mu), (0.0,), (1.0,))
    np.testing.assert_array_equal(value, [1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(tangent, [-1.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(jvp(lambda p: stats.binom.pmf(k, 3, p), (0.0,), (1.0,))[1], [-3.0, 3.0, 0.0, 0.0])
    np.testing.assert_array_equal(jvp(lambda p: stats.binom.pmf(k, 3, p), (1.0,), (1.0,))[1], [0.0, 0.0, -3.0, 3.0])
    np.testing.assert_array_equal(jvp(lambda p: stats.binom.cdf(k, 3, p), (0.0,), (1.0,))[1], [-3.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(jvp(lambda p: stats.binom.logpmf(k, 3, p), (0.0,), (1.0,))[1], [-3.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(jvp(lambda p: stats.binom.pmf(k, 0, p), (0.3,), (1.0,))[1], [0.0, 0.0, 0.0, 0.0])


def test_impossible_counts_have_no_slope():
    k = A([-1.0, 0.5, 2.0, 9.0])
    for function in ("logpmf", "pmf"):
        np.testing.assert_array_equal(jvp(lambda p, f=function: getattr(stats.binom, f)(k, 7, p), (0.3,), (1.0,))[1][[0, 1, 3]], 0.0)
        np.testing.assert_array_equal(jvp(lambda m, f=function: getattr(stats.poisson, f)(k, m), (0.3,), (1.0,))[1][:2], 0.0)
    for function in ("cdf", "sf", "logcdf", "logsf"):
        np.testing.assert_array_equal(jvp(lambda p, f=function: getattr(stats.binom, f)(k, 7, p), (0.3,), (1.0,))[1][[0, 3]], 0.0)


@needs_mpmath
def test_tails_of_counts():
    # P(k >= 3001) is mu**3001 / 3001! (1 + ...): its logarithm rises by 3001 / mu - 1
    assert grad(lambda mu: stats.poisson.logsf(3000, mu))(1.0) == 3000.0
    assert grad(lambda mu: stats.poisson.logcdf(3, mu))(1000.0) == pytest.approx(3 / 1000.0 - 1.0, rel=1e-12)
    with mpmath.workdps(40):
        mu = mpmath.mpf(2)
        wanted = float(mu**12 / mpmath.factorial(12) / mpmath.gammainc(13, 0, mu) * mpmath.factorial(12) * mpmath.exp(-mu))
    assert grad(lambda mu: stats.poisson.logsf(12, mu))(2.0) == pytest.approx(wanted, rel=1e-12)


# ------------------------------------------------------------------------------------------------ vectors


def test_the_normal_distribution_of_vectors_against_its_formula():
    rng = np.random.default_rng(5)
    root, x, mean = rng.normal(size=(3, 3)), rng.normal(size=(4, 3)), rng.normal(size=3)
    cov = root @ root.T + np.eye(3)
    dx, dmean, dcov = grad(lambda x, m, c: np.sum(stats.multivariate_normal.logpdf(x, m, c)), (0, 1, 2))(x, mean, cov)
    precision = np.linalg.inv(cov)
    pulled = (x - mean) @ precision
    np.testing.assert_allclose(dx, -pulled, rtol=1e-11)
    np.testing.assert_allclose(dmean, pulled.sum(0), rtol=1e-11)
    np.testing.assert_allclose(dcov, 0.5 * (pulled.T @ pulled - 4 * precision), rtol=1e-10)
    np.testing.assert_allclose(hessian(lambda m: stats.multivariate_normal.logpdf(x[0], m, cov))(mean), -precision, rtol=1e-10)


def test_shapes_of_the_normal_distribution_of_vectors_are_scipys():
    ours, theirs = stats.multivariate_normal, scipy_stats.multivariate_normal
    for x, mean, cov in (
        (0.3, None, 1.0), (A([0.3, 0.4]), None, 2.0), (A([0.3, 0.4]), A([0.0, 1.0]), 2.0), (A([[0.3, 0.4]]), None, A([1.0, 2.0])),
        (A([[0.3], [0.4]]), 0.5, 2.0), (A([0.3, 0.4]), None, np.diag([1.0, 2.0])), (np.ones((2, 1, 2)), A([0.0, 1.0]), A([1.0, 2.0])),
    ):  # fmt: skip
        for function in ("logpdf", "pdf"):
            try:
                wanted = getattr(theirs, function)(x, mean, cov)
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error)[:20]):
                    jvp(lambda x, f=function, m=mean, c=cov: getattr(ours, f)(x, m, c), (x,), (x,))
                continue
            got, _ = jvp(lambda x, f=function, m=mean, c=cov: getattr(ours, f)(x, m, c), (x,), (x,))
            assert np.shape(got) == np.shape(wanted)
            np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(ours.logpdf(A([0.3]), cov=scipy_stats.Covariance.from_diagonal([2.0])), theirs.logpdf(A([0.3]), cov=2.0))
    frozen = ours(A([0.0, 1.0]), 2.0)
    np.testing.assert_array_equal(grad(frozen.logpdf)(A([1.0, 1.0])), [-0.5, 0.0])
    assert frozen.rvs(random_state=0).shape == (2,)
    with pytest.raises(NoRuleError, match="Covariance"):
        grad(lambda x: ours.logpdf(x, cov=scipy_stats.Covariance.from_diagonal([2.0, 1.0])))(A([1.0, 1.0]))


def test_a_singular_covariance():
    f = stats.multivariate_normal.logpdf
    line = np.diag([2.0, 0.0])
    np.testing.assert_allclose(grad(lambda x: f(x, None, line, True))(A([1.0, 0.0])), [-0.5, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(grad(lambda x: f(x, None, line, True))(A([1.0, 1.0])), [0.0, 0.0])  # off its support
    with pytest.raises(np.linalg.LinAlgError):
        grad(lambda x: f(x, None, line))(A([1.0, 0.0]))


@needs_mpmath
def test_dirichlet():
    alpha, x = A([1.0, 2.0, 3.5]), A([0.2, 0.3, 0.5])
    dx, dalpha = grad(stats.dirichlet.logpdf, (0, 1))(x, alpha)
    np.testing.assert_allclose(dx, (alpha - 1.0) / x, rtol=1e-14)
    with mpmath.workdps(30):
        digammas = A([float(mpmath.digamma(one) - mpmath.digamma(6.5)) for one in alpha])
    np.testing.assert_allclose(dalpha, np.log(x) - digammas, rtol=1e-13)
    np.testing.assert_allclose(grad(stats.dirichlet.logpdf)(x[:2], alpha), dx[:2] - dx[2], rtol=1e-14)
    np.testing.assert_array_equal(grad(stats.dirichlet.logpdf)(A([0.0, 0.5, 0.5]), alpha), [0.0, 2.0, 5.0])
    np.testing.assert_allclose(grad(stats.dirichlet(alpha).pdf)(x), dx * scipy_stats.dirichlet.pdf(x, alpha), rtol=1e-14)
    with pytest.raises(ValueError, match="simplex"):
        grad(stats.dirichlet.logpdf)(A([0.2, 0.3, 0.6]), alpha)


@CONTINUOUS
def test_single_precision_is_scipys_too(name: str):
    """SciPy standardizes in the precision that is given, and computes in double precision from there."""
    x, loc, scale = np.array([0.37, 0.7], np.float32), np.float32(0.1), np.float32(1.9)
    shapes = tuple(np.float32(shape) for shape in SHAPES[name])
    for function in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"):
        ours, scipys = getattr(getattr(stats, name), function), getattr(getattr(scipy_stats, name), function)
        for args in ((x, *shapes), (x, *shapes, loc), (x, *shapes, loc, scale), (x, *shapes, 0.1, scale)):
            value, pullback = vjp(lambda x, ours=ours, rest=args[1:]: ours(x, *rest), x)
            np.testing.assert_array_equal(value, scipys(*args))
            (gradient,) = pullback(np.ones(2))
            assert gradient.dtype == np.float32
            wanted = slope(ours, x, *map(float, args[1:]))
            np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-6)


def test_second_derivatives_of_the_logistic_distribution_far_out():
    """-2 e / (1 + e)**2 and -e / (1 + e)**2 with e = exp(-30)."""
    e = math.exp(-30.0)
    for function, wanted in ((stats.logistic.logpdf, -2.0 * e), (stats.logistic.logcdf, -e)):
        assert grad(grad(function))(-30.0) == pytest.approx(wanted / (1.0 + e) ** 2, rel=1e-14)


def test_an_impossible_scale_has_no_derivative():
    for function in (stats.norm.logpdf, stats.norm.cdf, stats.norm.ppf):
        assert math.isnan(grad(lambda scale, function=function: function(0.1, 0.0, scale))(-1.0))


def test_distributions_are_pickled_by_name():
    assert pickle.loads(pickle.dumps([stats.norm, stats.poisson, stats.dirichlet])) == [stats.norm, stats.poisson, stats.dirichlet]
    assert copy.deepcopy(stats.norm) is stats.norm
    assert grad(pickle.loads(pickle.dumps(stats.norm(0.0, 2.0))).logpdf)(1.0) == -0.25


@pytest.mark.parametrize("name", without_rule(stats, scipy_stats))
def test_what_else_scipy_has_refuses_tracers_by_name(name: str):
    assert_refuses_by_name(stats, scipy_stats, name)
