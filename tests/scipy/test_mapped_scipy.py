"""SciPy's functions under `vmap` give what a loop over the examples does, and so do their derivatives: of three, of one and of none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp, vmap
from funcgrad.errors import ConcretizationError, NoRuleError, StaleTracerError
from funcgrad.rules import batching

pytest.importorskip("scipy")
from funcgrad.ops.scipy import examples
from funcgrad.scipy import integrate, interpolate, linalg, ndimage, optimize, signal, special, stats

rng = np.random.default_rng(17)
SIZE = 3


def uniform(low: float, high: float, *shape: int) -> np.ndarray:
    return rng.uniform(low, high, (SIZE, *shape))


def definite(n: int) -> np.ndarray:
    a = rng.normal(size=(SIZE, n, n))
    return a @ a.transpose(0, 2, 1) + n * np.eye(n)


def near_unit(n: int) -> np.ndarray:
    return 0.3 * rng.normal(size=(SIZE, n, n)) + 2.0 * np.eye(n)


def upper(n: int) -> np.ndarray:
    return np.triu(near_unit(n))


class Function:
    """A function of one example with arguments for three, all of which are differentiated, but for the first `orders` ones."""

    def __init__(self, name: str, f: Callable[..., Any], *args: np.ndarray, orders: int = 0, tolerance: float = 1e-9) -> None:
        self.name, self.f, self.args, self.orders, self.tolerance = name, f, args, orders, tolerance

    def __str__(self) -> str:
        return self.name

    def number(self, *args: Any) -> Any:
        """The result as one number that depends on all of it."""
        found = np.reshape(self.f(*args), -1)
        return np.sum(found * np.cos(np.arange(1.0, 1.0 + found.shape[0])))


X = np.array([0.3, 0.9, 1.7, 2.4, 3.8])


def solved(n: float) -> Callable[..., Any]:
    return lambda a: optimize.root(lambda x, a: np.stack([x[0] ** 2 - a[0], x[0] * x[1] - a[1]]), np.full(2, n), (a,)).x


def decayed(y0: Any, rate: Any) -> Any:
    return integrate.odeint(lambda y, t, rate: -rate * y, y0, np.array([0.0, 0.4, 1.0]), (rate,), rtol=1e-10, atol=1e-12)


def oscillated(y0: Any, rate: Any) -> Any:
    def rhs(t, y, rate):
        return np.stack([y[1], -rate * y[0]])

    return integrate.solve_ivp(rhs, (0.0, 1.0), y0, t_eval=np.array([0.3, 1.0]), args=(rate,), rtol=1e-9, atol=1e-10).y


FUNCTIONS = [
    Function("gamma", lambda x: special.gamma(x), uniform(0.5, 3.0, 2)),
    Function("jv", lambda v, x: special.jv(v, x), uniform(0.5, 3.0), uniform(0.5, 3.0, 2), orders=1),
    Function("ive", lambda v, x: special.ive(v, x), uniform(0.5, 3.0), uniform(0.5, 3.0), orders=1),
    Function("hyp2f1", lambda a, z: special.hyp2f1(a, 1.3, 2.1, z), uniform(0.5, 3.0), uniform(-0.5, 0.5, 2), orders=1),
    Function("eval_legendre", lambda n, x: special.eval_legendre(n, x), np.array([0, 2, 3]), uniform(-0.9, 0.9, 2), orders=1),
    Function("betainc", lambda a, x: special.betainc(a, 1.3, x), uniform(0.5, 3.0, 2), uniform(0.1, 0.9, 2), orders=1),
    Function("voigt_profile", special.voigt_profile, uniform(-1.0, 1.0, 2), uniform(0.5, 1.0), uniform(0.5, 1.0)),
    Function("polygamma", lambda n, x: special.polygamma(n, x), np.array([0, 1, 3]), uniform(0.5, 3.0, 2), orders=1),
    Function("zeta", lambda s, q: special.zeta(s, q), uniform(2.0, 3.0), uniform(0.5, 3.0, 2), orders=1),
    Function("spherical_jn", lambda n, x: special.spherical_jn(n, x), np.array([0, 1, 3]), uniform(0.5, 3.0, 2), orders=1),
    Function("jvp", lambda v, x: special.jvp(v, x, 2), uniform(0.5, 3.0), uniform(0.5, 3.0, 2), orders=1),
    Function("lambertw", lambda z: np.real(special.lambertw(z)), uniform(0.5, 3.0, 2)),
    Function("diric", lambda x: special.diric(x, 4), uniform(0.5, 3.0, 2)),
    Function("multigammaln", lambda a: special.multigammaln(a, 3), uniform(2.5, 4.0, 2)),
    Function("factorial", lambda a: special.factorial(a), uniform(0.5, 4.0, 2)),
    Function("comb", lambda n, k: special.comb(n, k), uniform(4.0, 6.0, 2), uniform(1.0, 2.0)),
    Function("perm", lambda n, k: special.perm(n, k), uniform(4.0, 6.0), uniform(1.0, 2.0, 2)),
    Function("ellipj", lambda m, u: np.stack(special.ellipj(u, m)), uniform(0.1, 0.8), uniform(0.5, 3.0, 2), orders=1),
    Function("logsumexp", lambda x: special.logsumexp(x, 0), uniform(-1.0, 1.0, 2, 3)),
    Function("logsumexp of a number", lambda x: special.logsumexp(x), uniform(-1.0, 1.0)),
    Function(
        "logsumexp with weights", lambda x, b: special.logsumexp(x, -1, b, keepdims=True), uniform(-1.0, 1.0, 3), uniform(0.5, 1.0, 2, 1)
    ),
    Function("softmax", lambda x: special.softmax(x, -1), uniform(-1.0, 1.0, 2, 3)),
    Function("softmax of all", lambda x: special.softmax(x), uniform(-1.0, 1.0, 2, 3)),
    Function("log_softmax", lambda x: special.log_softmax(x, 0), uniform(-1.0, 1.0, 2, 3)),
    # linalg
    Function("solve", linalg.solve, near_unit(3), uniform(-1.0, 1.0, 3)),
    Function("solve, matrix", lambda a, b: linalg.solve(a, b, assume_a="pos"), definite(3), uniform(-1.0, 1.0, 3, 2)),
    Function("solve_triangular", linalg.solve_triangular, upper(3), uniform(-1.0, 1.0, 3)),
    Function(
        "solve_banded",
        lambda ab, b: linalg.solve_banded((1, 1), ab, b),
        uniform(0.1, 0.5, 3, 4) + np.array([[0.0], [2.0], [0.0]]),
        uniform(-1.0, 1.0, 4),
    ),
    Function(
        "solveh_banded",
        lambda ab, b: linalg.solveh_banded(ab, b, lower=True),
        uniform(0.1, 0.3, 2, 4) + np.array([[2.0], [0.0]]),
        uniform(-1.0, 1.0, 4, 2),
    ),
    Function(
        "solve_toeplitz",
        lambda c, r, b: linalg.solve_toeplitz((c, r), b),
        uniform(0.1, 0.3, 3) + np.array([2.0, 0.0, 0.0]),
        uniform(0.1, 0.3, 3),
        uniform(-1.0, 1.0, 3),
    ),
    Function("matmul_toeplitz", lambda c, b: linalg.matmul_toeplitz(c, b), uniform(0.1, 0.3, 3), uniform(-1.0, 1.0, 3)),
    Function("toeplitz", linalg.toeplitz, uniform(0.1, 0.3, 3), uniform(0.1, 0.3, 2)),
    Function("block_diag", linalg.block_diag, uniform(0.1, 0.3, 2, 1), uniform(0.1, 0.3, 2)),
    Function("khatri_rao", linalg.khatri_rao, uniform(0.1, 0.3, 2, 3), uniform(0.1, 0.3, 2, 3)),
    Function("solve_sylvester", linalg.solve_sylvester, near_unit(2), near_unit(3), uniform(-1.0, 1.0, 2, 3)),
    Function("solve_continuous_lyapunov", linalg.solve_continuous_lyapunov, near_unit(2), near_unit(2)),
    Function("solve_discrete_lyapunov", linalg.solve_discrete_lyapunov, 0.2 * near_unit(2), near_unit(2)),
    Function("inv", linalg.inv, near_unit(3)),
    Function("pinv", lambda a: linalg.pinv(a), uniform(-1.0, 1.0, 3, 2)),
    Function("det", linalg.det, near_unit(3)),
    Function("norm", lambda a: linalg.norm(a, 1), uniform(-1.0, 1.0, 3, 2)),
    Function("lstsq", lambda a, b: linalg.lstsq(a, b)[0], uniform(-1.0, 1.0, 4, 2), uniform(-1.0, 1.0, 4)),
    Function("cholesky", lambda a: linalg.cholesky(a, lower=True), definite(3)),
    Function("cho_factor, cho_solve", lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), definite(3), uniform(-1.0, 1.0, 3)),
    Function("lu_factor, lu_solve", lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), near_unit(3)[:, ::-1], uniform(-1.0, 1.0, 3)),
    Function("lu", lambda a: np.stack(linalg.lu(a)[1:]), near_unit(3)),
    Function("qr", lambda a: np.stack(linalg.qr(a)), near_unit(3)),
    Function("svdvals", linalg.svdvals, near_unit(3)),
    Function("eigvalsh", linalg.eigvalsh, definite(3)),
    Function("eigh", lambda a: (lambda w, v: (v * np.sin(w)) @ v.T)(*linalg.eigh(a)), definite(3)),
    Function("svd", lambda a: (lambda u, s, vh: (u * s**2) @ vh)(*linalg.svd(a, full_matrices=False)), uniform(-1.0, 1.0, 3, 2)),
    Function("eig", lambda a: (lambda w, v: np.real((v * np.exp(w)) @ np.linalg.inv(v)))(*linalg.eig(a)), near_unit(3)),
    Function("eigvals", lambda a: np.real(np.sum(linalg.eigvals(a) ** 3)), near_unit(3)),
    Function("cosm", linalg.cosm, near_unit(3)),
    Function("fractional_matrix_power", lambda a: linalg.fractional_matrix_power(a, 0.3), definite(3)),
    Function("polar", lambda a: np.stack(linalg.polar(a)), near_unit(3)),
    Function("expm", linalg.expm, near_unit(3)),
    Function("expm_frechet", lambda a, e: linalg.expm_frechet(a, e)[1], near_unit(3), near_unit(3)),
    Function("logm", linalg.logm, near_unit(3)),
    Function("sqrtm", linalg.sqrtm, definite(3)),
    Function("funm", lambda a, p: linalg.funm(a + a.T, lambda w, p: np.exp(p * w), args=(p,)), near_unit(2), uniform(0.5, 1.0)),
    # stats
    Function("norm.logpdf", stats.norm.logpdf, uniform(-1.0, 1.0, 2), uniform(-1.0, 1.0), uniform(0.5, 2.0)),
    Function("norm, frozen", lambda x, loc: stats.norm(loc, 2.0).logcdf(x), uniform(-1.0, 1.0, 2), uniform(-1.0, 1.0)),
    Function("gamma.pdf", stats.gamma.pdf, uniform(0.5, 3.0, 2), uniform(0.5, 2.0)),
    Function("gamma.cdf", lambda a, x: stats.gamma.cdf(x, a), uniform(0.5, 3.0), uniform(0.5, 2.0, 2), orders=1),
    Function("weibull_min.sf", stats.weibull_min.sf, uniform(0.5, 1.5, 2), uniform(0.5, 2.0), uniform(0.1, 0.2), uniform(1.0, 2.0)),
    Function("beta.ppf", lambda a, q: stats.beta.ppf(q, a, 1.4), uniform(0.5, 3.0), uniform(0.2, 0.8, 2), orders=1, tolerance=1e-7),
    Function("poisson.logpmf", lambda k, mu: stats.poisson.logpmf(k, mu), np.array([[0, 2], [1, 4], [3, 0]]), uniform(0.5, 3.0), orders=1),
    Function(
        "binom.cdf", lambda k, n, p: stats.binom.cdf(k, n, p), np.array([0, 2, 3]), np.array([3, 4, 5]), uniform(0.2, 0.8, 2), orders=2
    ),
    Function("multivariate_normal.logpdf", stats.multivariate_normal.logpdf, uniform(-1.0, 1.0, 2), uniform(-1.0, 1.0, 2), definite(2)),
    Function("dirichlet.logpdf", stats.dirichlet.logpdf, np.array([[0.3], [0.5], [0.1]]), uniform(0.5, 2.0, 2)),
    # interpolate
    Function(
        "CubicSpline",
        lambda x, y, at: interpolate.CubicSpline(x, y)(at),
        X + uniform(-0.1, 0.1, 5),
        uniform(-1.0, 1.0, 5),
        uniform(0.5, 3.0, 2),
    ),
    Function("CubicSpline at points", lambda at: interpolate.CubicSpline(X, np.sin(X))(at, 1), uniform(0.5, 3.0, 2)),
    Function(
        "CubicSpline.integrate", lambda y, b: interpolate.CubicSpline(X, y).integrate(0.5, b), uniform(-1.0, 1.0, 5), uniform(1.0, 3.0)
    ),
    Function(
        "CubicSpline.derivative", lambda y, at: interpolate.CubicSpline(X, y).derivative()(at), uniform(-1.0, 1.0, 5), uniform(0.5, 3.0, 2)
    ),
    Function("CubicSpline.antiderivative", lambda y: interpolate.CubicSpline(X, y).antiderivative().c, uniform(-1.0, 1.0, 5)),
    Function(
        "PchipInterpolator", lambda y, at: interpolate.PchipInterpolator(X, y)(at), np.cumsum(uniform(0.1, 1.0, 5), 1), uniform(0.5, 3.0, 2)
    ),
    Function(
        "CubicHermiteSpline", lambda y, dydx: interpolate.CubicHermiteSpline(X, y, dydx)(1.1), uniform(-1.0, 1.0, 5), uniform(-1.0, 1.0, 5)
    ),
    Function("PPoly", lambda c, at: interpolate.PPoly(c, X)(at), uniform(-1.0, 1.0, 3, 4), uniform(0.5, 3.0, 2)),
    Function("interp1d", lambda y, at: interpolate.interp1d(X, y)(at), uniform(-1.0, 1.0, 5), uniform(0.5, 3.0, 2)),
    Function(
        "interp1d at points", lambda at: interpolate.interp1d(X, np.cos(X), bounds_error=False, fill_value=0.5)(at), uniform(0.0, 5.0, 2)
    ),
    Function(
        "RegularGridInterpolator",
        lambda v, at: interpolate.RegularGridInterpolator((X, X[:3]), v)(at),
        uniform(-1.0, 1.0, 5, 3),
        uniform(0.5, 1.5, 2, 2),
    ),
    Function(
        "interpn at points",
        lambda x, y: interpolate.interpn((X, X[:3]), np.outer(X, X[:3] ** 2), (x, y)),
        uniform(0.5, 3.0, 2),
        uniform(0.5, 1.5, 2),
    ),
    Function("pchip_interpolate", lambda y: interpolate.pchip_interpolate(X, y, 1.1), np.cumsum(uniform(0.1, 1.0, 5), 1)),
    # signal, ndimage
    Function("convolve", signal.convolve, uniform(-1.0, 1.0, 5), uniform(-1.0, 1.0, 3)),
    Function("fftconvolve", lambda x: signal.fftconvolve(x, np.ones(2), "same"), uniform(-1.0, 1.0, 5)),
    Function("convolve2d", lambda x: signal.convolve2d(x, np.eye(2), boundary="symm"), uniform(-1.0, 1.0, 4, 3)),
    Function("lfilter", signal.lfilter, uniform(-1.0, 1.0, 2), uniform(0.5, 1.0, 2), uniform(-1.0, 1.0, 6)),
    Function("gaussian_filter", lambda s, x: ndimage.gaussian_filter(x, s), uniform(0.5, 1.0), uniform(-1.0, 1.0, 4, 3), orders=1),
    Function(
        "map_coordinates",
        lambda x, at: ndimage.map_coordinates(x, at, order=2, mode="mirror"),
        uniform(-1.0, 1.0, 4, 3),
        uniform(0.1, 1.9, 2, 3),
    ),
    Function("correlate1d", lambda x, w: ndimage.correlate1d(x, w), uniform(-1.0, 1.0, 5), uniform(-1.0, 1.0, 3)),
    # integrate
    Function("trapezoid", lambda y, x: integrate.trapezoid(y, x), uniform(-1.0, 1.0, 2, 5), X + uniform(-0.1, 0.1, 5)),
    Function("trapezoid, dx", lambda y, dx: integrate.trapezoid(y, dx=dx, axis=0), uniform(-1.0, 1.0, 5, 2), uniform(0.1, 0.2)),
    Function("simpson", lambda y, x: integrate.simpson(y, x=x, axis=0), uniform(-1.0, 1.0, 4, 2), X[:4] + uniform(-0.1, 0.1, 4)),
    Function("simpson, dx", lambda y: integrate.simpson(y, dx=0.3, axis=0), uniform(-1.0, 1.0, 4, 2)),
    Function(
        "cumulative_trapezoid",
        lambda y, x: integrate.cumulative_trapezoid(y, x, initial=0),
        uniform(-1.0, 1.0, 5),
        X + uniform(-0.1, 0.1, 5),
    ),
    Function("cumulative_simpson", lambda y, x: integrate.cumulative_simpson(y, x=x), uniform(-1.0, 1.0, 5), X + uniform(-0.1, 0.1, 5)),
    Function("romb", lambda y: integrate.romb(y, 0.2), uniform(-1.0, 1.0, 2, 5)),
    Function(
        "quad", lambda a, p: integrate.quad(lambda x, p: np.exp(-p["k"] * x), a, 2.0, ({"k": p},))[0], uniform(0.1, 0.5), uniform(0.5, 1.0)
    ),
    Function("odeint", decayed, uniform(0.5, 1.0, 2), uniform(0.5, 1.0), tolerance=1e-6),
    Function("solve_ivp", oscillated, uniform(0.5, 1.0, 2), uniform(0.5, 1.0), tolerance=1e-6),
    # optimize
    Function("root", solved(1.0), uniform(0.5, 1.0, 2)),
    Function("fsolve", lambda a: optimize.fsolve(lambda x, a: x**3 - a, np.ones(2), (a,)), uniform(0.5, 1.0, 2)),
    Function("fixed_point", lambda a: optimize.fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, (a,)), uniform(0.5, 1.0)),
    Function("root_scalar", lambda a: optimize.root_scalar(lambda x, a: x**2 - a, (a,), bracket=(0.0, 3.0)).root, uniform(0.5, 1.0)),
    Function("brentq", lambda a: optimize.brentq(lambda x, a: x**2 - a, 0.0, 3.0, args=(a,)), uniform(0.5, 1.0)),
    Function("newton", lambda a: optimize.newton(lambda x, a: x**2 - a, 1.0, args=(a,)), uniform(0.5, 1.0)),
]


BY_NAME = {str(case): case for case in FUNCTIONS}


def looped(f: Callable[..., Any], args: Any) -> np.ndarray:
    return np.stack([f(*one) for one in zip(*args, strict=True)])


def gradients(case: Function) -> list[np.ndarray]:
    """In each argument that is differentiated, one for each example."""
    of_one = grad(case.number, tuple(range(case.orders, len(case.args))))
    return [np.stack(column) for column in zip(*(of_one(*one) for one in zip(*case.args, strict=True)), strict=True)]


@pytest.mark.parametrize("case", FUNCTIONS, ids=str)
def test_the_value_is_that_of_a_loop(case: Function):
    wanted = looped(case.f, case.args)
    for size in (SIZE, 1, 0):
        found = vmap(case.f)(*(arg[:size] for arg in case.args))
        assert found.dtype == wanted.dtype
        assert found.shape == (size, *wanted.shape[1:])
        np.testing.assert_allclose(found, wanted[:size], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", FUNCTIONS, ids=str)
def test_derivatives_through_vmap_and_vmap_of_derivatives_are_those_of_a_loop(case: Function):
    argnums = tuple(range(case.orders, len(case.args)))
    wanted = gradients(case)
    for size in (SIZE, 1, 0):
        args = [arg[:size] for arg in case.args]
        within = vmap(grad(case.number, argnums))(*args)
        through = grad(lambda *args: np.sum(vmap(case.number)(*args)), argnums)(*args)
        for one, other, right in zip(within, through, wanted, strict=True):
            assert one.shape == other.shape == right[:size].shape
            np.testing.assert_allclose(one, right[:size], rtol=case.tolerance, atol=case.tolerance)
            np.testing.assert_allclose(other, right[:size], rtol=case.tolerance, atol=case.tolerance)


@pytest.mark.parametrize("case", FUNCTIONS, ids=str)
def test_in_nested_maps_and_with_an_argument_that_is_the_same_for_all(case: Function):
    *others, last = case.args
    rows = [np.stack([arg, arg[::-1]]) for arg in case.args]
    wanted = np.stack([looped(case.f, [row[n] for row in rows]) for n in range(2)])
    np.testing.assert_allclose(vmap(vmap(case.f))(*rows), wanted, rtol=1e-12, atol=1e-14)
    if not others:
        return
    wanted = np.stack([looped(lambda *some: case.f(*some, one), others) for one in last])  # noqa: B023 - called at once
    found = vmap(lambda one: vmap(lambda *some: case.f(*some, one))(*others))(last)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    around = grad(lambda one: np.sum(vmap(lambda *some: case.number(*some, one))(*others)))(last[0])
    right = sum(grad(case.number, len(others))(*some, last[0]) for some in zip(*others, strict=True))
    np.testing.assert_allclose(around, right, rtol=case.tolerance, atol=case.tolerance)


SECOND = [
    "jv",
    "polygamma",
    "comb",
    "logsumexp",
    "solve",
    "solveh_banded",
    "solve_toeplitz",
    "solve_sylvester",
    "cholesky",
    "expm",
    "norm.logpdf",
]
SECOND += [
    "norm, frozen",
    "binom.cdf",
    "CubicSpline",
    "CubicSpline at points",
    "interp1d at points",
    "interpn at points",
    "simpson",
    "quad",
    "root",
]
SECOND += ["brentq", "odeint", "convolve", "map_coordinates"]


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name: str):
    case = BY_NAME[name]
    *others, last = case.args
    direction = np.sin(last)

    def second(x: Any, t: Any, *others: Any) -> Any:
        return jvp(lambda x: grad(case.number, len(others))(*others, x), (x,), (t,))[1]

    def through(x: Any) -> Any:
        return grad(lambda x: np.sum(vmap(case.number)(*others, x)))(x)

    wanted = looped(second, [last, direction, *others])
    tolerance = max(10.0 * case.tolerance, 1e-8)
    np.testing.assert_allclose(vmap(second)(last, direction, *others), wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(jvp(through, (last,), (direction,))[1], wanted, rtol=tolerance, atol=tolerance)


AT_ONCE = [
    "gamma",
    "jv",
    "ive",
    "hyp2f1",
    "betainc",
    "voigt_profile",
    "polygamma",
    "zeta",
    "spherical_jn",
    "jvp",
    "lambertw",
    "diric",
    "multigammaln",
]
AT_ONCE += [
    "factorial",
    "comb",
    "perm",
    "ellipj",
    "logsumexp",
    "logsumexp of a number",
    "logsumexp with weights",
    "softmax",
    "log_softmax",
    "solve",
]
AT_ONCE += [
    "solve, matrix",
    "solve_triangular",
    "solve_banded",
    "solveh_banded",
    "solve_toeplitz",
    "matmul_toeplitz",
    "toeplitz",
    "block_diag",
]
AT_ONCE += [
    "khatri_rao",
    "solve_sylvester",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "norm.logpdf",
    "norm, frozen",
    "gamma.pdf",
]
AT_ONCE += ["gamma.cdf", "weibull_min.sf", "beta.ppf", "poisson.logpmf", "binom.cdf", "CubicSpline at points", "interp1d at points"]
AT_ONCE += ["interpn at points", "trapezoid", "simpson", "simpson, dx", "cumulative_trapezoid", "cumulative_simpson", "romb"]


@pytest.mark.parametrize("name", AT_ONCE)
def test_all_examples_at_once(name: str, monkeypatch: pytest.MonkeyPatch):
    case = BY_NAME[name]
    wanted, right = looped(case.f, case.args), gradients(case)

    def refuse(*args: Any) -> Any:
        raise AssertionError("one example after the other")

    monkeypatch.setattr(batching, "call_of_one", refuse)
    monkeypatch.setattr(examples, "call_of_one", refuse)
    np.testing.assert_allclose(vmap(case.f)(*case.args), wanted, rtol=1e-12, atol=1e-14)
    argnums = tuple(range(case.orders, len(case.args)))
    for found in (
        vmap(grad(case.number, argnums))(*case.args),
        grad(lambda *args: np.sum(vmap(case.number)(*args)), argnums)(*case.args),
    ):
        for one, other in zip(found, right, strict=True):
            np.testing.assert_allclose(one, other, rtol=case.tolerance, atol=case.tolerance)


def test_one_example_after_the_other_is_seen(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(AssertionError, match="one example after the other"):
        test_all_examples_at_once("root", monkeypatch)
    with pytest.raises(AssertionError, match="one example after the other"):
        test_all_examples_at_once("convolve", monkeypatch)


# ------------------------------------------------------------------------------------------------ arguments without a derivative

ORDERS = np.array([0.5, 1.5, 2.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda v: special.jv(v, 1.0),
        lambda x: special.zeta(x, 2.0),
        lambda a: stats.gamma.cdf(1.0, a),
        lambda k: stats.poisson.logpmf(k, 1.0),
        lambda c: linalg.circulant(c * np.ones(2))[0, 0] * linalg.pascal(2)[0, 0] + special.ellipj(0.3, c)[0],
        lambda s: ndimage.gaussian_filter(np.ones(3), s)[0],
    ],
)
def test_what_has_no_derivative_is_refused_inside_and_around_a_map(f: Callable[..., Any]):
    vmap(f)(ORDERS)
    with pytest.raises(NoRuleError):
        vmap(grad(f))(ORDERS)
    with pytest.raises(NoRuleError):
        grad(lambda orders: np.sum(vmap(f)(orders)))(ORDERS)
    with pytest.raises(NoRuleError):
        grad(lambda order: np.sum(vmap(lambda x: f(order) * x)(ORDERS)))(0.5)


def test_whole_numbers_that_are_mapped():
    numbers = np.array([1, 2, 5])
    assert vmap(lambda n: special.comb(n, 2, exact=True))(numbers).tolist() == [0, 1, 10]
    assert vmap(lambda n: special.perm(n, 2, exact=True))(numbers).tolist() == [0, 2, 20]
    assert vmap(lambda n: special.factorial(n, exact=True))(numbers).tolist() == [1, 2, 120]
    np.testing.assert_allclose(vmap(lambda d: special.multigammaln(4.5, d))(numbers), [special.multigammaln(4.5, d) for d in numbers])
    np.testing.assert_allclose(vmap(lambda n: special.diric(0.3, n))(numbers), [special.diric(0.3, n) for n in numbers])
    np.testing.assert_allclose(vmap(lambda k: special.lambertw(0.3, k))(numbers), special.lambertw(0.3, numbers))
    np.testing.assert_allclose(vmap(lambda x: special.zeta(x))(ORDERS), special.zeta(ORDERS))


def test_the_sign_of_a_sum_is_one_of_each_example():
    weights = np.array([[1.0, -2.0, 0.3], [1.0, 1.0, 1.0]])
    found, signs = vmap(lambda b: special.logsumexp(np.arange(3.0), b=b, return_sign=True))(weights)
    sums = weights @ np.exp(np.arange(3.0))
    np.testing.assert_allclose(found, np.log(np.abs(sums)))
    np.testing.assert_array_equal(signs, np.sign(sums))


def test_functions_without_a_rule_are_called_for_each_example():
    a = near_unit(3)
    np.testing.assert_allclose(vmap(linalg.hessenberg)(a), looped(linalg.hessenberg, [a]))
    np.testing.assert_allclose(vmap(lambda s: stats.norm.entropy(0.0, s))(ORDERS), np.log(ORDERS) + 0.5 * np.log(2.0 * np.pi * np.e))
    np.testing.assert_allclose(vmap(lambda m: stats.norm(m, 2.0).mean())(ORDERS), ORDERS)
    with pytest.raises(NoRuleError, match=r"scipy\.linalg\.hessenberg has no derivative rule yet"):
        vmap(grad(lambda a: np.sum(linalg.hessenberg(a))))(a)
    with pytest.raises(ConcretizationError, match="gives a Akima1DInterpolator for each example, which cannot be mapped"):
        vmap(lambda y: interpolate.Akima1DInterpolator(X, y)(1.1))(np.ones((2, 5)))


def test_what_is_static_elsewhere_may_be_mapped():
    zi, fill = uniform(-1.0, 1.0, 1), uniform(-1.0, 1.0)
    filtered = lambda zi: signal.lfilter(np.ones(2), np.array([1.0, 0.5]), np.ones(4), zi=zi)[0]
    np.testing.assert_allclose(vmap(filtered)(zi), looped(filtered, [zi]))
    planar = lambda fill: signal.convolve2d(np.ones((3, 3)), np.ones((2, 2)), fillvalue=fill)
    np.testing.assert_allclose(vmap(planar)(fill), looped(planar, [fill]))
    sections = np.stack([np.array([[1.0, 0.5, 0.1, 1.0, 0.2, k]]) for k in (0.1, 0.2)])
    np.testing.assert_allclose(
        vmap(lambda sos: signal.sosfilt(sos, np.ones(4)))(sections), [signal.sosfilt(s, np.ones(4)) for s in sections]
    )


def test_numbers_that_are_not_finite_are_refused_in_any_example():
    a = near_unit(2)
    a[1, 0, 0] = np.nan
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        vmap(lambda a: linalg.solve(a, np.ones(2)))(a)


def test_systems_in_stacks_of_examples():
    a, b = rng.normal(size=(SIZE, 2, 3, 3)) + 3.0 * np.eye(3), rng.normal(size=(SIZE, 3, 1))
    np.testing.assert_allclose(vmap(linalg.solve)(a, b), np.linalg.solve(a, b[:, None]), rtol=1e-10)
    np.testing.assert_allclose(vmap(lambda b: linalg.solve(a[0], b))(b), np.linalg.solve(a[0], b[:, None]), rtol=1e-10)
    np.testing.assert_allclose(vmap(lambda a: linalg.solve(a, b[0]))(a), np.linalg.solve(a, b[0]), rtol=1e-10)


# ------------------------------------------------------------------------------------------------ interpolants


def test_an_interpolant_of_mapped_values_looks_like_one():
    values = uniform(-1.0, 1.0, 5)

    def look(y: Any) -> Any:
        spline = interpolate.CubicSpline(X, y)
        assert isinstance(spline, interpolate.CubicSpline)
        assert isinstance(spline, interpolate.PPoly)
        assert not isinstance(spline, interpolate.interp1d)
        assert spline.axis == 0
        assert repr(spline) == "<CubicSpline for each example>"
        return spline.c, spline.x, spline.antiderivative().derivative()(X)

    coefficients, places, found = vmap(look)(values)
    np.testing.assert_allclose(coefficients, [interpolate.CubicSpline(X, y).c for y in values])
    np.testing.assert_array_equal(places, np.broadcast_to(X, (SIZE, 5)))
    np.testing.assert_allclose(found, values)
    with pytest.raises(AttributeError):
        vmap(lambda y: interpolate.CubicSpline(X, y).no_such_thing)(values)


def test_other_methods_of_an_interpolant_are_scipys():
    lines = np.array([[-1.0, 1.0, 2.0], [-3.0, 1.0, 5.0]])
    roots = vmap(lambda y: interpolate.PchipInterpolator(X[:3], y).roots(extrapolate=False))(lines)
    np.testing.assert_allclose(roots, [interpolate.PchipInterpolator(X[:3], y).roots(extrapolate=False) for y in lines])
    with pytest.raises(NoRuleError, match="roots has no derivative rule yet"):
        vmap(grad(lambda y: interpolate.PchipInterpolator(X[:3], y).roots(extrapolate=False)[0]))(lines)


# ------------------------------------------------------------------------------------------------ results of solvers


def test_minimize_minimizes_each_example():
    ends = np.array([1.0, 2.0, 3.0])
    found = {}

    def minimum(a: Any) -> Any:
        result = optimize.minimize(lambda p, a: np.sum((p["u"] - a) ** 2) + p["v"] ** 2, {"u": np.zeros(2), "v": 1.0}, (a,))
        found["message"] = result.message
        return result.x, result.fun, result.success

    x, fun, success = vmap(minimum)(ends)
    np.testing.assert_allclose(x["u"], np.stack([ends, ends], 1), atol=1e-6)
    np.testing.assert_allclose(x["v"], np.zeros(3), atol=1e-6)
    np.testing.assert_allclose(fun, np.zeros(3), atol=1e-9)
    assert success.tolist() == [True, True, True]
    assert found["message"] == ["Optimization terminated successfully."] * 3
    with pytest.raises(NoRuleError, match=r"scipy\.optimize\.minimize of tracers has no derivative rule"):
        grad(lambda ends: np.sum(vmap(minimum)(ends)[1]))(ends)


def test_least_squares_and_curve_fit_fit_each_example():
    t = np.linspace(0.0, 1.0, 9)
    rates = np.array([1.0, 3.0])
    curves = 2.0 * np.exp(-rates[:, None] * t)
    fitted = vmap(lambda y: optimize.curve_fit(lambda t, size, rate: size * np.exp(-rate * t), t, y)[0])(curves)
    np.testing.assert_allclose(fitted, [[2.0, 1.0], [2.0, 3.0]], rtol=1e-6)
    residuals = lambda p, y: p[0] * np.exp(-p[1] * t) - y
    fitted = vmap(lambda y: optimize.least_squares(residuals, np.ones(2), args=(y,)).x)(curves)
    np.testing.assert_allclose(fitted, [[2.0, 1.0], [2.0, 3.0]], rtol=1e-6)


def test_what_solvers_tell_beside_the_solution():
    squares = np.array([1.0, 2.0, 3.0])

    def tell(a: Any) -> Any:
        scalar = optimize.root_scalar(lambda x, a: x**2 - a, (a,), bracket=(0.0, 3.0))
        x, told = optimize.brentq(lambda x, a: x**2 - a, 0.0, 3.0, args=(a,), full_output=True)
        y, info, flag, message = optimize.fsolve(lambda x, a: x**2 - a, 1.0, (a,), full_output=True)
        assert message == ["The solution converged."] * 3
        return scalar.root, scalar.converged, x, told.root, y[0], info["fvec"][0], flag

    root, converged, x, told, y, left, flag = vmap(tell)(squares)
    for one in (root, x, told, y):
        np.testing.assert_allclose(one, np.sqrt(squares), rtol=1e-8)
    np.testing.assert_allclose(left, np.zeros(3), atol=1e-8)
    assert converged.tolist() == [True, True, True]
    assert flag.tolist() == [1, 1, 1]


def test_where_a_solver_starts_may_be_mapped():
    starts = np.array([1.0, -1.0, 3.0])
    np.testing.assert_allclose(vmap(lambda x0: optimize.root(lambda x: x**2 - 2.0, x0).x)(starts)[:, 0], np.sqrt(2.0) * np.sign(starts))


def test_steps_that_differ_between_the_examples_need_times():
    decay = lambda t, y, rate: -rate * y
    with pytest.raises(ConcretizationError, match=r"solve_ivp\.t has another shape for each example .*give t_eval"):
        vmap(lambda rate: integrate.solve_ivp(decay, (0.0, 3.0), np.ones(1), args=(rate,)).y)(np.array([1.0, 30.0]))


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: optimize.root(lambda x: x - a, 1.0).x,
        lambda a: optimize.brentq(lambda x: x - a, 0.0, 5.0),
        lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(1)).x,
        lambda a: integrate.quad(lambda x: x * a, 0.0, 1.0)[0],
        lambda a: integrate.odeint(lambda y, t: -a * y, 1.0, np.array([0.0, 1.0])),
    ],
)
def test_mapped_values_must_come_through_args(solve: Callable[..., Any]):
    with pytest.raises(ConcretizationError, match=r"uses a value of the code around it that is mapped.*pass it through args"):
        vmap(solve)(np.array([1.0, 2.0]))


def test_no_example_for_a_solver_that_takes_none_of_those_made_up():
    def picky(x: Any, a: Any) -> Any:
        raise ValueError("not this one")

    with pytest.raises(ConcretizationError, match="of no example: what the shapes of its results are could not be found out"):
        vmap(lambda a: optimize.brentq(picky, 0.0, 1.0, args=(a,)))(np.zeros(0))


def test_a_mapped_value_is_stale_after_its_mapping_for_functions_without_a_rule_too():
    kept: list[Any] = []
    vmap(lambda x: kept.append(x) or x)(np.ones(3))
    with pytest.raises(StaleTracerError, match="after vmap of <lambda> had ended"):
        special.mathieu_a(1, kept[0])
