"""Polynomials by their coefficients, the highest power first: NumPy's poly functions, roots and vander.

Arithmetic is composed as NumPy composes it. Roots and characteristic polynomials have rules of their own that need no eigenvectors.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad.mapped import is_all, is_wrong
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.structural import reshape
from funcgrad.primitive import register_all
from funcgrad.rules import general, products
from funcgrad.rules.batching import by_examples, in_front
from funcgrad.rules.values import is_complex, keep_zeros, keep_zeros_in_sums, raw, real_part, shape_of
from funcgrad.staged import check_shape

_RankWarning: Any = getattr(np.exceptions, "RankWarning", None) or np.RankWarning  # type: ignore[attr-defined]


def _vector(p: Any) -> Any:
    """Coefficients as an array: of a list, also one that holds tracers, of a number, of a np.poly1d."""
    p = asarray(p)
    return p if shape_of(p) else reshape(p, (1,))


def _as_given(result: Any, *given: Any) -> Any:
    """A np.poly1d where one was given."""
    return np.poly1d(result) if any(isinstance(one, np.poly1d) for one in given) else result


# ------------------------------------------------------------------------------------------------ values and powers


def polyval(p: Any, x: Any) -> Any:
    """np.polyval: Horner's scheme, as NumPy computes it."""
    p = asarray(p)
    if isinstance(x, np.poly1d):
        value: Any = 0
    else:
        x = asarray(x)
        value = np.zeros_like(raw(x))
    for n in range(shape_of(p)[0]):
        value = value * (x if n else raw(x)) + p[n]
    return value


def _vander_slope(x: Any, N: int | None, increasing: bool) -> Any:
    """The derivative of each column: the one before it times its power."""
    size = shape_of(x)[0]
    columns = size if N is None else N
    if not columns:
        return np.zeros((size, 0))
    lower = vander(x, columns - 1, increasing) * (np.arange(1, columns) if increasing else np.arange(columns - 1, 0, -1))
    constant = np.zeros((size, 1), lower.dtype)
    return np.concatenate([constant, lower] if increasing else [lower, constant], 1)


def _vander_rules(times: Any) -> Any:
    def jvp(t: Any, ans: Any, x: Any, N: int | None, increasing: bool) -> Any:
        return times(np.expand_dims(t, 1), _vander_slope(x, N, increasing))

    def vjp(ct: Any, ans: Any, x: Any, N: int | None, increasing: bool) -> Any:
        return np.sum(times(ct, _vander_slope(x, N, increasing)), 1)

    return [jvp], [vjp]


def _vander_mapped(x: Any, N: int | None, increasing: bool) -> Any:
    x = x.astype(np.promote_types(x.dtype, int))
    size = x.shape[1]
    columns = size if N is None else N
    base = np.broadcast_to(np.expand_dims(x, -1), (*x.shape, max(columns - 1, 0)))
    ones = np.ones((*x.shape, min(columns, 1)), x.dtype)
    powers = np.concatenate([ones, np.multiply.accumulate(base, -1)], -1)
    return powers if increasing else powers[..., ::-1]


_vander = products(np.vander, _vander_rules, keeps="x", batch=in_front(_vander_mapped))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """np.vander."""
    return _vander(x, N, increasing)


# ------------------------------------------------------------------------------------------------ arithmetic


def _aligned(a1: Any, a2: Any) -> list[Any]:
    """Two vectors of coefficients with zeros in front of the shorter one."""
    given = _vector(a1), _vector(a2)
    size = max(len(one) for one in given)
    return [one if len(one) == size else np.concatenate([np.zeros(size - len(one), one.dtype), one]) for one in given]


def polyadd(a1: Any, a2: Any) -> Any:
    """np.polyadd."""
    one, other = _aligned(a1, a2)
    return _as_given(one + other, a1, a2)


def polysub(a1: Any, a2: Any) -> Any:
    """np.polysub."""
    one, other = _aligned(a1, a2)
    return _as_given(one - other, a1, a2)


def _padded(ct: Any, *factors: Any) -> Any:
    """The cotangent of a product with the leading zeros that NumPy drops: the coefficients that made them have an effect on the others."""
    size = sum(shape_of(one)[0] for one in factors) - 1
    return np.pad(ct, (size - shape_of(ct)[0], 0))


_PRODUCT_JVPS: list[Any] = [
    lambda t, ans, a1, a2: np.convolve(t, a2)[-shape_of(ans)[0] :],
    lambda t, ans, a1, a2: np.convolve(a1, t)[-shape_of(ans)[0] :],
]
_PRODUCT_VJPS: list[Any] = [
    lambda ct, ans, a1, a2: np.convolve(_padded(ct, a1, a2), a2[::-1], "valid"),
    lambda ct, ans, a1, a2: np.convolve(_padded(ct, a1, a2), a1[::-1], "valid"),
]


def _strong_sum(rule: Any) -> Any:
    return lambda t, ans, *factors: keep_zeros_in_sums(lambda t, *factors: rule(t, ans, *factors))(t, *factors)


_STRONG_PRODUCTS = list(map(_strong_sum, _PRODUCT_JVPS)), list(map(_strong_sum, _PRODUCT_VJPS))
_polymul = general(np.polymul, _PRODUCT_JVPS, _PRODUCT_VJPS, strong=_STRONG_PRODUCTS)


def polymul(a1: Any, a2: Any) -> Any:
    """np.polymul."""
    factors = [one if len(one) else np.zeros(1, one.dtype) for one in (_vector(a1), _vector(a2))]
    return _as_given(_polymul(*factors), a1, a2)


@by_examples
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """np.polydiv: long division, as NumPy does it."""
    rest, divisor = _vector(u) + 0.0, _vector(v) + 0.0
    dtype = (raw(rest)[0] + raw(divisor)[0]).dtype
    rest, size, scale = rest.astype(dtype, copy=False), len(divisor), 1.0 / divisor[0]
    quotient, done = [], []
    for _ in range(len(rest) - size + 1):
        factor = scale * rest[0]
        top = (rest[:size] - factor * divisor).astype(dtype, copy=False)
        quotient.append(factor.astype(dtype, copy=False))
        done.append(top[:1])
        rest = np.concatenate([top[1:], rest[size:]])
    remainder = np.concatenate([*done, rest])
    check_shape("polydiv", remainder)
    is_zero = np.isclose(raw(remainder)[:-1], 0, rtol=1e-14)
    start = int(np.argmin(np.append(is_zero, False)))
    return _as_given(np.stack(quotient) if quotient else np.zeros(1, dtype), u, v), _as_given(remainder[start:], u, v)


def polyder(p: Any, m: int = 1) -> Any:
    """np.polyder."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    result = asarray(p)
    for _ in range(int(m)):
        result = result[:-1] * np.arange(len(result) - 1, 0, -1)
    return _as_given(result, p)


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """numpy.polyint, for constants k that may be tracers too: numpy.polyint itself sees tracers in p only.

    Args:
        p: float or complex array, shape (n,): the coefficients, the highest power first; or a numpy.poly1d.
        m: how often to integrate.
        k: the constants of integration, shape (m,), that of the first integration first; one number counts for all; if None zeros.

    Returns:
        The coefficients of the integral, shape (n + m,); a numpy.poly1d if p is one.

    Raises:
        ValueError: m is negative, or there are fewer constants than m.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda k: polyint([6.0, 2.0], k=k)[2] * 5.0)(3.0)
        5.0
    """
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    result, constants = asarray(p), np.zeros(m) if k is None else _vector(k)
    if len(constants) == 1 and m > 1:
        constants = constants[0] * np.ones(m)
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for n in range(int(m)):
        result = np.concatenate([result / np.arange(len(result), 0, -1), constants[n : n + 1]])
    return _as_given(result, p)


# ------------------------------------------------------------------------------------------------ roots


def _adjugate(a: Any, p: Any) -> list[Any]:
    """The matrices B of adj(z - A) = B_0 z^(n-1) + ... + B_(n-1), p being det(z - A): by Faddeev and LeVerrier (Gantmacher 1959, IV.5)."""
    one = np.eye(shape_of(a)[0], dtype=raw(a).dtype)
    parts = [one]
    for n in range(1, len(one)):
        parts.append(a @ parts[-1] + p[n] * one)
    return parts


def _characteristic_jvp(t: Any, ans: Any, a: Any) -> Any:
    """The derivative of det(z - A) is -trace(adj(z - A) dA)."""
    parts = [-np.sum(part.T * t) for part in _adjugate(a, ans)]
    changes = np.stack([np.zeros((), raw(parts[0]).dtype), *parts])
    return changes if is_complex(ans) else real_part(changes)


def _characteristic_vjp(ct: Any, ans: Any, a: Any) -> Any:
    ct = ct if is_complex(ans) else real_part(ct)
    return -sum(ct[n + 1] * part.T for n, part in enumerate(_adjugate(a, ans)))


_characteristic = general(np.poly, [_characteristic_jvp], [_characteristic_vjp])


def poly(seq_of_zeros: Any) -> Any:
    """np.poly: the product of (z - zero), or the characteristic polynomial of a matrix."""
    zeros = _vector(seq_of_zeros)
    shape = shape_of(zeros)
    if len(shape) == 2 and shape[0] == shape[1] != 0:
        return _characteristic(zeros)
    if len(shape) != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not shape[0]:
        return 1.0
    zeros = zeros.astype(np.mintypecode(zeros.dtype.char), copy=False)
    one = np.ones(1, zeros.dtype)
    result = one
    for n in range(shape[0]):
        result = np.convolve(result, np.concatenate([one, -zeros[n : n + 1]]))
    plain = raw(zeros).astype(complex)
    return real_part(result) if is_all(np.sort(plain) == np.sort(plain.conj())) else result


def _root_rules(divide: Any) -> Any:
    """Where p changes by some amount, a root moves by minus that over the slope of p."""

    def jvp(t: Any, ans: Any, p: Any) -> Any:
        moves = -divide(polyval(t, ans), polyval(polyder(p), ans))
        return (moves if is_complex(ans) else real_part(moves)).astype(raw(ans).dtype, copy=False)

    def vjp(ct: Any, ans: Any, p: Any) -> Any:
        weights = divide(ct if is_complex(ans) else real_part(ct), polyval(polyder(p), ans))
        return -np.matmul(weights, vander(ans, shape_of(p)[0]))

    return [jvp], [vjp]


_ROOT_JVPS, _ROOT_VJPS = _root_rules(lambda t, slope: t / slope)
_STRONG_ROOTS = _root_rules(lambda t, slope: keep_zeros(t, t / slope))
_roots = general(np.roots, _ROOT_JVPS, _ROOT_VJPS, strong=_STRONG_ROOTS)


def roots(p: Any) -> Any:
    """np.roots. The derivative of a double root is infinite."""
    return _roots(_vector(p))


# ------------------------------------------------------------------------------------------------ least squares


def _weighted(x: Any, w: Any) -> Any:
    return (x * (np.expand_dims(w, 1) if x.ndim == 2 else w)).astype(x.dtype, copy=False)


def _check_points(x: Any, y: Any, deg: int, w: Any) -> None:
    """NumPy's checks."""
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if len(x) != len(y):
        raise TypeError("expected x and y to have same length")
    if w is not None and w.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if w is not None and len(w) != len(y):
        raise TypeError("expected w and y to have the same length")


def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """np.polyfit, as NumPy composes it from np.vander and np.linalg.lstsq."""
    x, y = asarray(x) + 0.0, asarray(y) + 0.0
    w = w if w is None else asarray(w) + 0.0
    order = int(deg) + 1
    _check_points(x, y, deg, w)
    if rcond is None:
        rcond = len(x) * np.finfo(x.dtype).eps
    matrix = vander(x, order)
    if w is not None:
        matrix, y = _weighted(matrix, w), _weighted(y, w)
    scale = np.sqrt(np.sum(matrix * matrix, 0))
    matrix = matrix / scale
    found, residuals, rank, values = np.linalg.lstsq(matrix, y, rcond)
    found = (found.T / scale).T
    if is_wrong(rank != order) and not full:
        warnings.warn("Polyfit may be poorly conditioned", _RankWarning, stacklevel=3)
    if full:
        return found, residuals, rank, values, rcond
    if not cov:
        return found
    return found, _covariance(matrix, scale, 1 if cov == "unscaled" else residuals, y.ndim)


def _covariance(matrix: Any, scale: Any, residuals: Any, ndim: int) -> Any:
    """The covariance of the coefficients; `residuals` is 1 where it is not to be scaled."""
    points, order = matrix.shape
    base = np.linalg.inv(np.dot(matrix.T, matrix)) / np.outer(scale, scale)
    if type(residuals) is not int:
        if points <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        residuals = residuals / (points - order)
    return base * residuals if ndim == 1 else np.expand_dims(base, 2) * residuals


_OPERATIONS: dict[Any, Any] = {
    np.polyval: polyval,
    np.vander: vander,
    np.polyadd: polyadd,
    np.polysub: polysub,
    np.polymul: polymul,
    np.polydiv: polydiv,
    np.polyder: polyder,
    np.polyint: polyint,
    np.poly: poly,
    np.roots: roots,
    np.polyfit: polyfit,
}
register_all(_OPERATIONS)
