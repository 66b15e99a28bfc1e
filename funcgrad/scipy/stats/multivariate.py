"""Distributions of vectors: the normal one and Dirichlet's. SciPy computes every value."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as _stats

from funcgrad.errors import NoRuleError
from funcgrad.mapped import is_any
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.elementwise import divide, exp, log, where
from funcgrad.ops.scipy.examples import is_differentiated
from funcgrad.rules import general
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import holds_tracer, keep_zeros, raw, shape_of, unbroadcast
from funcgrad.scipy import special
from funcgrad.scipy.stats.family import Distribution, Function, double


def _squeezed(value: Any) -> Any:
    """Without axes of length 1, a number rather than an array without axes: as SciPy returns it."""
    return np.squeeze(value)[()]


# ------------------------------------------------------------------------------------------------ the normal distribution


def _exactly_double(value: Any) -> Any:
    value = double(value)
    return value if getattr(value, "dtype", np.float64) == np.float64 else value.astype(np.float64)


def _normal_value(x: Any, mean: Any, cov: Any, allow_singular: bool) -> Any:
    return np.reshape(_stats.multivariate_normal.logpdf(x, mean, cov, allow_singular), x.shape[:-1])[()]


def _precision(cov: Any, allow_singular: bool) -> Any:
    return np.linalg.pinv(cov, hermitian=True) if allow_singular else np.linalg.inv(cov)


def _pulled(ans: Any, x: Any, mean: Any, cov: Any, allow_singular: bool) -> tuple[Any, Any]:
    """The precision matrix, and its products with the deviations: 0 for points off the support of a singular distribution."""
    precision = _precision(cov, allow_singular)
    pulled = np.matmul(x - mean, precision)
    impossible = np.expand_dims(np.isneginf(raw(ans)), -1)
    return precision, where(impossible, 0.0, pulled) if is_any(impossible) else pulled


def _jvp_normal_x(t: Any, ans: Any, *operands: Any) -> Any:
    return -np.sum(_pulled(ans, *operands)[1] * t, -1)


def _jvp_normal_mean(t: Any, ans: Any, *operands: Any) -> Any:
    return np.sum(_pulled(ans, *operands)[1] * t, -1)


def _jvp_normal_cov(t: Any, ans: Any, *operands: Any) -> Any:
    """Half of y' t y - tr(P t), where P is the precision matrix and y = P (x - mean)."""
    precision, pulled = _pulled(ans, *operands)
    return 0.5 * (np.sum(np.matmul(pulled, t) * pulled, -1) - np.sum(precision.T * t))


def _vjp_normal_x(ct: Any, ans: Any, *operands: Any) -> Any:
    return -_pulled(ans, *operands)[1] * np.expand_dims(ct, -1)


def _vjp_normal_mean(ct: Any, ans: Any, *operands: Any) -> Any:
    return unbroadcast(_pulled(ans, *operands)[1] * np.expand_dims(ct, -1), shape_of(operands[1]))


def _vjp_normal_cov(ct: Any, ans: Any, *operands: Any) -> Any:
    precision, pulled = _pulled(ans, *operands)
    rows = np.reshape(pulled, (-1, shape_of(pulled)[-1]))
    weighed = rows * np.reshape(ct, (-1, 1))
    return 0.5 * (np.matmul(rows.T, weighed) - precision.T * np.sum(ct))


_normal_logpdf: Function = general(
    _normal_value,
    [_jvp_normal_x, _jvp_normal_mean, _jvp_normal_cov],
    [_vjp_normal_x, _vjp_normal_mean, _vjp_normal_cov],
    name="multivariate_normal.logpdf",
    batch=in_front(lambda *args: _normal_logpdf(*args)),
)


class MultivariateNormal(Distribution):
    """SciPy's `multivariate_normal`, differentiable in points, mean and covariance.

    The covariance counts as a symmetric matrix: of a gradient in it both triangles share what belongs to an entry.
    """

    functions = ("logpdf", "pdf")

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Logarithm of the density at the points x, shape (..., d).

        Raises:
            NoRuleError: a traced covariance with allow_singular=True, or a scipy.stats.Covariance beside tracers.
        """
        if not holds_tracer(x, mean, cov):
            return _stats.multivariate_normal.logpdf(x, mean, cov, allow_singular)
        if isinstance(cov, _stats.Covariance):
            raise NoRuleError("scipy.stats.multivariate_normal of tracers has a derivative rule for a matrix, none for a Covariance object")
        if allow_singular and is_differentiated(cov):
            self._refuse("logpdf(allow_singular=True)", "cov")
        x, cov = _exactly_double(x), _exactly_double(1.0 if cov is None else cov)
        mean = None if mean is None else np.ravel(_exactly_double(mean))
        dim = shape_of(mean)[0] if mean is not None else shape_of(cov)[0] if len(shape_of(cov)) == 2 else 1
        mean = np.zeros(dim) if mean is None else mean
        if len(shape_of(cov)) < 2:
            cov = np.eye(dim) * cov
        if len(shape_of(x)) < 2:
            x = np.reshape(x, (-1, 1) if dim == 1 else (1, -1))
        return _squeezed(_normal_logpdf(x, mean, cov, allow_singular))

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Density at the points x, shape (..., d)."""
        if not holds_tracer(x, mean, cov):
            return _stats.multivariate_normal.pdf(x, mean, cov, allow_singular)
        return exp(self.logpdf(x, mean, cov, allow_singular))


multivariate_normal = MultivariateNormal(_stats.multivariate_normal, "multivariate_normal")

# ------------------------------------------------------------------------------------------------ Dirichlet's distribution


def _columns(alpha: Any, x: Any) -> Any:
    """A parameter for each row of x."""
    return np.reshape(alpha, (-1,) + (1,) * (len(shape_of(x)) - 1))


def _completed(x: Any, alpha: Any, total: float) -> Any:
    """All coordinates, where the last may be left out: they sum to `total`."""
    if shape_of(x)[0] == shape_of(alpha)[0]:
        return x
    return np.concatenate([x, np.expand_dims(total - np.sum(x, 0), 0)])


def _slope_in_x(x: Any, alpha: Any) -> Any:
    """(alpha - 1) / x, 0 where alpha is 1, whatever x."""
    less = _columns(alpha, x) - 1.0
    idle = np.broadcast_to(raw(less) == 0, shape_of(x))
    return divide(where(idle, 0.0, less), where(idle, 1.0, x)) if is_any(idle) else divide(less, x)


def _slope_in_alpha(x: Any, alpha: Any) -> Any:
    return log(x) - _columns(special.psi(alpha) - special.psi(np.sum(alpha)), x)


def _dirichlet_rules(multiply: Function) -> tuple[list[Function], list[Function]]:
    def jvp_x(t: Any, ans: Any, x: Any, alpha: Any) -> Any:
        return np.sum(multiply(_completed(t, alpha, 0.0), _slope_in_x(_completed(x, alpha, 1.0), alpha)), 0)

    def vjp_x(ct: Any, ans: Any, x: Any, alpha: Any) -> Any:
        back = multiply(ct, _slope_in_x(_completed(x, alpha, 1.0), alpha))
        return back if shape_of(x)[0] == shape_of(alpha)[0] else back[:-1] - back[-1]

    def jvp_alpha(t: Any, ans: Any, x: Any, alpha: Any) -> Any:
        return np.sum(multiply(_columns(t, x), _slope_in_alpha(_completed(x, alpha, 1.0), alpha)), 0)

    def vjp_alpha(ct: Any, ans: Any, x: Any, alpha: Any) -> Any:
        back = multiply(ct, _slope_in_alpha(_completed(x, alpha, 1.0), alpha))
        return unbroadcast(np.moveaxis(back, 0, -1), shape_of(alpha))

    return [jvp_x, jvp_alpha], [vjp_x, vjp_alpha]


_dirichlet_logpdf = general(
    lambda x, alpha: np.reshape(_stats.dirichlet.logpdf(x, alpha), x.shape[1:])[()],
    *_dirichlet_rules(lambda t, factor: factor * t),
    name="dirichlet.logpdf",
    strong=_dirichlet_rules(lambda t, factor: keep_zeros(t, factor * t)),
)


class Dirichlet(Distribution):
    """SciPy's `dirichlet`, differentiable in points and parameters."""

    functions = ("logpdf", "pdf")

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """Logarithm of the density at points x of the simplex, shape (d,) or (d, n), the last coordinate of each given or not."""
        if not holds_tracer(x, alpha):
            return _stats.dirichlet.logpdf(x, alpha)
        return _squeezed(_dirichlet_logpdf(asarray(x), asarray(alpha)))

    def pdf(self, x: Any, alpha: Any) -> Any:
        """Density at points x of the simplex, as logpdf."""
        return exp(self.logpdf(x, alpha)) if holds_tracer(x, alpha) else _stats.dirichlet.pdf(x, alpha)


dirichlet = Dirichlet(_stats.dirichlet, "dirichlet")
