"""Signals: sinc, the modified Bessel function of np.i0 and Kaiser's window, interpolation, convolution and correlation.

NumPy has no names for the derivatives of sinc and of I_0. Here each of the two is a primitive with the order as an argument, and has the
next order for its derivative: so they are right to the last digits however often they are differentiated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, Mapped, is_all, is_mapped, is_wrong, lined_up
from funcgrad.ops.elementwise import where
from funcgrad.ops.indexing import pick, scatter
from funcgrad.ops.structural import reshape
from funcgrad.primitive import register_all
from funcgrad.rules import multilinear, products
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import as_array, is_complex, raw, shape_of, unbroadcast
from funcgrad.tape import Scope

# ------------------------------------------------------------------------------------------------ special functions


def _of_every_order(function: Any, derivative: Any, name: str) -> Any:
    """The primitive `(x, order)` of a function whose derivative is `derivative(x, order)`."""

    def rules(times: Any) -> Any:
        return ([lambda t, ans, x, order: times(t, derivative(x, order))],) * 2

    primitive: Any = products(function, rules, keeps="x", name=name, batch=in_front(lambda x, order: primitive(x, order)))
    return primitive


def _sinc_value(x: Any, order: int) -> Any:
    """A derivative of np.sinc.

    The derivatives f_k of f(u) = sin(u) / u have u f_k + k f_(k-1) = sin(u + k pi/2). Where u is small for the order, that is stable
    towards lower orders, where it is large towards higher ones.
    """
    if order == 0:
        return np.sinc(x)
    u = np.asarray(np.pi * np.asarray(x))
    is_small = np.abs(u) < order + 1
    answer = np.empty_like(u)
    answer[is_small] = _down_to(order, u[is_small])
    answer[~is_small] = _up_to(order, u[~is_small])
    return answer[()]


def _turns(u: np.ndarray) -> tuple[np.ndarray, ...]:
    """sin(u + k pi/2) for k = 0, 1, 2, 3."""
    sine, cosine = np.sin(u), np.cos(u)
    return sine, cosine, -sine, -cosine


def _down_to(order: int, u: np.ndarray) -> Any:
    turns, f = _turns(u), np.zeros_like(u)
    for k in range(2 * order + 30, order + 1, -1):  # what is neglected has shrunk below the last digit
        f = (turns[k % 4] - u * f) / k
    return np.pi**order * (turns[(order + 1) % 4] - u * f) / (order + 1)


def _up_to(order: int, u: np.ndarray) -> Any:
    turns = _turns(u)
    f = turns[0] / u
    for k in range(1, order):
        f = (turns[k % 4] - k * f) / u
    return np.pi**order * (turns[order % 4] - order * f) / u


def _bessel_value(x: Any, order: int) -> Any:
    """I_order, a modified Bessel function.

    From np.i0 by the ratios of neighbors, r_n = I_n / I_(n-1) = x / (2 n + x r_(n+1)): a recursion of positive numbers, started where the
    ratio no longer matters.
    """
    if order == 0:
        return np.i0(x)
    x = np.asarray(x)
    bounded = np.clip(x, -800.0, 800.0)  # I_0 overflows before
    largest = float(np.fmax.reduce(np.abs(bounded), axis=None, initial=0.0))
    ratio, product = np.zeros_like(bounded), np.ones_like(bounded)
    for n in range(order + 15 + int(8.0 * largest**0.5), 0, -1):
        ratio = bounded / (2 * n + bounded * ratio)
        if n <= order:
            product = product * ratio
    return np.i0(x) * product


_sinc: Any = _of_every_order(_sinc_value, lambda x, order: _sinc(x, order + 1), "sinc")
_bessel: Any = _of_every_order(
    _bessel_value, lambda x, order: 0.5 * (_bessel(x, abs(order - 1)) + _bessel(x, order + 1)) if order else _bessel(x, 1), "i0"
)


def sinc(x: Any) -> Any:
    """np.sinc."""
    return _sinc(x, 0)


def i0(x: Any) -> Any:
    """np.i0."""
    return _bessel(x, 0)


def kaiser(M: int, beta: Any) -> Any:
    """numpy.kaiser, the Kaiser window, for a shape parameter that may be a tracer.

    Args:
        M: how many points the window has; for none or fewer the result is empty.
        beta: the shape parameter, a number.

    Returns:
        The window, shape (M,), of largest value 1.

    Example:
        >>> from funcgrad import jvp
        >>> window, change = jvp(lambda beta: kaiser(3, beta), (2.0,), (1.0,))
        >>> print(window.round(4), change.round(4))
        [0.4387 1.     0.4387] [-0.3061  0.     -0.3061]
    """
    if type(beta) not in TRACERS:
        return np.kaiser(M, beta)
    dtype = np.promote_types(beta.dtype, float)
    if M == 1:
        return np.ones(1, dtype)
    size, beta = dtype.type(M), beta.astype(dtype)
    middle = (size - 1) / 2.0
    return i0(beta * np.sqrt(1 - ((np.arange(0, size) - middle) / middle) ** 2.0)) / i0(beta)


# ------------------------------------------------------------------------------------------------ interpolation


def _sides(x: Any, xp: Any, jumps: tuple[bool, bool]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each side of x the numbers of the two knots around it: the same number twice beyond the last knot.

    One pair where no x is at a knot. Where the function jumps at an end, only the side of the knots counts there.
    """
    x, xp = as_array(raw(x)), as_array(raw(xp))
    left, right = np.searchsorted(xp, x, "left"), np.searchsorted(xp, x, "right")
    if jumps[0]:
        left = np.maximum(left, right > 0)
    if jumps[1]:
        right = np.where(left < xp.size, np.minimum(right, xp.size - 1), right)
    segments = [left] if is_all(left == right) else [left, right]
    return [(np.maximum(one - 1, 0), np.minimum(one, xp.size - 1)) for one in segments]


def _average(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else 0.5 * (values[0] + values[1])


def _width(xp: Any, low: Any, high: Any) -> Any:
    return where(low == high, 1.0, pick(xp, high) - pick(xp, low))


def _slope(x: Any, xp: Any, fp: Any, jumps: tuple[bool, bool]) -> Any:
    """The derivative of the interpolated function; the mean of both sides at a knot."""
    return _average([(pick(fp, high) - pick(fp, low)) / _width(xp, low, high) for low, high in _sides(x, xp, jumps)])


def _to_knots(ct: Any, x: Any, xp: Any, jumps: tuple[bool, bool]) -> Any:
    """The transpose of interpolation as a linear map of fp."""
    parts, size = [], shape_of(xp)
    for low, high in _sides(x, xp, jumps):
        share = where(low == high, 0.0, (x - pick(xp, low)) / _width(xp, low, high))
        parts.append(scatter((1.0 - share) * ct, size, (low,)) + scatter(share * ct, size, (high,)))
    return _average(parts)


def _interp_rules(times: Any) -> Any:
    """An x that moves is worth the slope, a knot that moves away the slope backwards, as far as the knot has a say there."""
    jvps = [
        lambda t, ans, x, xp, fp, jumps: times(t, _slope(x, xp, fp, jumps)),
        lambda t, ans, x, xp, fp, jumps: -times(_interp(x, xp, t, jumps), _slope(x, xp, fp, jumps)),
        lambda t, ans, x, xp, fp, jumps: _interp(x, xp, t, jumps),
    ]
    vjps = [
        jvps[0],
        lambda ct, ans, x, xp, fp, jumps: -_to_knots(times(ct, _slope(x, xp, fp, jumps)), x, xp, jumps),
        lambda ct, ans, x, xp, fp, jumps: _to_knots(ct, x, xp, jumps),
    ]
    return jvps, vjps


def _interp_mapped(scope: Scope, x: Any, xp: Any, fp: Any, jumps: tuple[bool, bool]) -> Any:
    is_of_x_alone = not (is_mapped(xp, scope) or is_mapped(fp, scope))
    return Mapped(_interp(x._primal, xp, fp, jumps), scope) if is_of_x_alone else NotImplemented


_interp: Any = products(lambda x, xp, fp, jumps: np.interp(x, xp, fp), _interp_rules, keeps="x", name="interp", batch=_interp_mapped)


def _double(x: Any, dtype: Any = np.float64) -> Any:
    """In double precision, as np.interp computes."""
    if type(x) not in TRACERS:
        return np.asarray(x, dtype)
    return x.astype(dtype, copy=False)


def _repeating(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """The arguments of interpolation reduced to one period, with a knot more on either side."""
    if is_wrong(raw(period) == 0):
        raise ValueError("period must be a non-zero value")
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape[0] != fp.shape[0]:
        raise ValueError("fp and xp are not of the same length")
    period = np.abs(period)
    x, xp = np.remainder(x, period), np.remainder(xp, period)
    order = np.argsort(raw(xp))
    xp, fp = pick(xp, order), pick(fp, order)
    return x, np.concatenate([xp[-1:] - period, xp, xp[:1] + period]), np.concatenate([fp[-1:], fp, fp[:1]])


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """numpy.interp, for `left`, `right` and `period` that may be tracers too: numpy.interp itself sees tracers in the first three only.

    Args:
        x: float array of any shape: where to interpolate.
        xp: float array, shape (n,), increasing: the knots.
        fp: float or complex array, shape (n,): the values at the knots.
        left: the value before the first knot; if None that of the first knot.
        right: the value after the last knot; if None that of the last knot.
        period: the period of a periodic function, whose knots need not be sorted; `left` and `right` count for nothing then.

    Returns:
        The values at x, shape of x, in double precision. At a knot the derivative is the mean of those on both sides.

    Raises:
        ValueError: knots and values that are not of one length, or a period of zero.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda left: 5.0 * interp(-1.0, [0.0, 1.0], [2.0, 3.0], left))(7.0)
        5.0
    """
    number: Any = complex if np.iscomplexobj(raw(fp)) else float
    x, xp, fp = _double(x), _double(xp), _double(fp, number)
    if period is not None:
        x, xp, fp = _repeating(x, xp, fp, period)
        left = right = None
    left, right = (side if side is None else _double(side, number) if type(side) in TRACERS else number(side) for side in (left, right))
    answer = _interp(x, xp, fp, (left is not None, right is not None))
    if left is not None:
        answer = where(raw(x) < raw(xp)[0], left, answer)
    return answer if right is None else where(raw(x) > raw(xp)[-1], right, answer)


# ------------------------------------------------------------------------------------------------ convolution


def _whole(ct: Any, a: Any, v: Any, start_of_same: int) -> Any:
    """The cotangent of a result of mode "full", of which the other modes give the middle."""
    long, short = sorted((shape_of(a)[-1], shape_of(v)[-1]), reverse=True)
    own, full = shape_of(ct)[-1], long + short - 1
    start = 0 if own == full else start_of_same if own == long else short - 1
    return np.pad(ct, [*[(0, 0)] * (len(shape_of(ct)) - 1), (start, full - own - start)])


def _of_convolution(ct: Any, a: Any, v: Any) -> Any:
    return _whole(ct, a, v, (min(shape_of(a)[-1], shape_of(v)[-1]) - 1) // 2)


def _of_correlation(ct: Any, a: Any, v: Any) -> Any:
    first, second = shape_of(a)[0], shape_of(v)[0]
    return _whole(ct, a, v, (second - 1) // 2 if first >= second else first // 2)


def _convolved(a: Any, v: Any, mode: str) -> Any:
    """np.convolve; of stacks along the last axis."""
    if getattr(a, "ndim", 1) < 2 and getattr(v, "ndim", 1) < 2:
        return np.convolve(a, v, mode)  # type: ignore[call-overload]
    long, short = (a, v) if a.shape[-1] >= v.shape[-1] else (v, a)
    size, others = long.shape[-1], short.shape[-1]
    outer = np.broadcast_shapes(a.shape[:-1], v.shape[:-1])
    if 0 < math.prod(outer) < others:
        rows = (np.broadcast_to(one, (*outer, one.shape[-1])).reshape(math.prod(outer), -1) for one in (a, v))
        found = np.stack([np.convolve(one, other, mode) for one, other in zip(*rows, strict=True)])  # type: ignore[call-overload]
        return found.reshape(*outer, -1)
    whole = np.zeros((*outer, size + others - 1), np.result_type(a, v))
    for n in range(others):
        whole[..., n : n + size] += long * short[..., n : n + 1]
    start = {"full": 0, "same": (others - 1) // 2, "valid": others - 1}[mode]
    return whole[..., start : start + {"full": size + others - 1, "same": size, "valid": size - others + 1}[mode]]


def _convolve_mapped(scope: Scope, a: Any, v: Any, mode: str) -> Any:
    is_usual = mode in ("full", "same", "valid") and shape_of(a) != (0,) != shape_of(v)  # else NumPy says what is wrong
    return Mapped(_convolve(*lined_up((a, v), scope), mode), scope) if is_usual else NotImplemented


_convolve: Any = multilinear(
    _convolved,
    lambda ct, a, v, mode: unbroadcast(_convolve(_of_convolution(ct, a, v), v[..., ::-1], "valid"), shape_of(a)),
    lambda ct, a, v, mode: unbroadcast(_convolve(_of_convolution(ct, a, v), a[..., ::-1], "valid"), shape_of(v)),
    name="convolve",
    batch=_convolve_mapped,
)


def _correlate_mapped(scope: Scope, a: Any, v: Any, mode: str) -> Any:
    first, second = shape_of(a)[0], shape_of(v)[0]
    if mode != "same" or first >= second:
        return convolve(a, v[::-1], mode)
    return convolve(a, v[::-1])[first // 2 : first // 2 + second]


_correlate: Any = multilinear(
    lambda a, v, mode: np.correlate(a, np.conj(v) if is_complex(v) else v, mode),
    lambda ct, a, v, mode: np.convolve(_of_correlation(ct, a, v), v, "valid"),
    lambda ct, a, v, mode: _correlate(_of_correlation(ct, a, v), a, "valid")[::-1],
    name="correlate",
    batch=_correlate_mapped,
)
"""np.correlate of a and conj(v), which is linear in both."""


def _vector(x: Any) -> Any:
    return reshape(x, (1,)) if shape_of(x) == () and not isinstance(x, list | tuple) else x


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """np.convolve."""
    a, v = _vector(a), _vector(v)
    if len(shape_of(a)) > 1 or len(shape_of(v)) > 1:
        np.convolve(np.empty(shape_of(a)), np.empty(shape_of(v)))  # NumPy says that it takes vectors
    return _convolve(a, v, mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """np.correlate, which conjugates v."""
    v = v if type(v) in TRACERS else np.asanyarray(v)
    return _correlate(a, np.conj(v) if is_complex(v) else v, mode)


_OPERATIONS: dict[Any, Any] = {
    np.sinc: sinc,
    np.i0: i0,
    np.interp: interp,
    np.convolve: convolve,
    np.correlate: correlate,
}
register_all(_OPERATIONS)
