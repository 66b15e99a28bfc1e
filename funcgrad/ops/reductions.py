"""Reductions and running sums: fewer numbers out than in, or each from those before it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.ops.elementwise import divide, exp, where
from funcgrad.ops.structural import normalized_axes
from funcgrad.primitive import register
from funcgrad.rules import general, linear, nondifferentiable, unary
from funcgrad.rules.values import keep_zeros, raw, refuse_out, shape_of
from funcgrad.tracer import Tracer

Axis = int | tuple[int, ...] | None
_add_reduce: Any = np.add.reduce  # as np.sum, without its Python
_multiply_reduce: Any = np.multiply.reduce
_max_reduce: Any = np.maximum.reduce
_MISSING = np._NoValue  # what NumPy's own signatures have for "not given"


def _checked(
    name: str, a: Any, axis: Any, out: Any, keepdims: Any, dtype: Any = None, initial: Any = _MISSING, where: Any = True
) -> tuple[Axis, bool]:
    """The arguments that every reduction takes; those that have no rule are refused by name."""
    refuse_out(name, out)
    if dtype is not None or initial is not _MISSING or where is not True:
        option = "dtype" if dtype is not None else "initial" if initial is not _MISSING else "where"
        raise NoRuleError(f"np.{name}({option}=...) has no derivative rule yet: apply np.where or astype to the array instead")
    axis = tuple(axis) if type(axis) is list else axis
    if axis in (0, -1, (0,), (-1,)) and shape_of(a) == ():
        axis = None  # NumPy lets a number have the axis 0
    return axis, keepdims is True or (keepdims is not _MISSING and bool(keepdims))


def expand(value: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool = False) -> Any:
    """A reduced value repeated along the axes that were reduced: the transpose of a sum. Takes no memory."""
    if type(value) is float:
        value = np.float64(value)
    if type(value) is not Tracer and value.shape == ():
        return np.ndarray(shape, value.dtype, value, 0, (0,) * len(shape))  # np.broadcast_to takes five times as long
    if not keepdims and axis is not None:
        axes = normalized_axes(axis, len(shape))
        value = value.reshape(tuple(1 if n in axes else size for n, size in enumerate(shape)))
    return np.broadcast_to(value, shape)


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """How many numbers go into each result."""
    return math.prod(shape[n] for n in normalized_axes(axis, len(shape)))


def _weighted(function: Any, weights: Any, keeps: str, name: str) -> Any:
    """A reduction whose tangent is the sum of the operand's tangent times `weights(x, ans, axis, keepdims)`."""

    def rules(multiply: Any) -> Any:
        def jvp(t: Any, ans: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
            return np.sum(multiply(t, weights(x, ans, axis, keepdims)), axis, keepdims=keepdims)

        def vjp(ct: Any, ans: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
            return multiply(expand(ct, shape_of(x), axis, keepdims), weights(x, ans, axis, keepdims))

        return [jvp], [vjp]

    jvps, vjps = rules(lambda t, weight: t * weight)
    return general(function, jvps, vjps, keeps, name, strong=rules(lambda t, weight: keep_zeros(t, t * weight)))


def _over(total: Any, number: float) -> Any:
    """A total over a number, in the total's dtype: by NumPy's way for float16, which the number may be too large for."""
    dtype = getattr(total, "dtype", None)
    if dtype is None or type(raw(total)) is float:
        return divide(total, float(number))
    if dtype == np.float16:
        return (total.astype(np.float64) / number).astype(dtype)
    return divide(total, dtype.type(number))


# ------------------------------------------------------------------------------------------------ sums

_sum = linear(
    lambda x, axis, keepdims: _add_reduce(x, axis, None, None, keepdims),
    lambda ct, shape, axis, keepdims: expand(ct, shape, axis, keepdims),
    name="sum",
)
_mean = linear(
    lambda x, axis, keepdims: np.mean(x, axis, keepdims=keepdims),
    lambda ct, shape, axis, keepdims: expand(_over(ct, count(shape, axis)), shape, axis, keepdims),
    name="mean",
)
_cumsum = linear(np.cumsum, lambda ct, shape, axis: np.reshape(np.flip(np.cumsum(np.flip(ct, axis), axis), axis), shape))


def sum(  # noqa: A001
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, initial: Any = _MISSING, where: Any = True
) -> Any:
    """np.sum."""
    if axis is not None or out is not None or dtype is not None or initial is not _MISSING or where is not True or keepdims is not False:
        axis, keepdims = _checked("sum", a, axis, out, keepdims, dtype, initial, where)
    return _sum(a, axis, keepdims)


def mean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, *, where: Any = True) -> Any:
    """np.mean."""
    return _mean(a, *_checked("mean", a, axis, out, keepdims, dtype, where=where))


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """np.cumsum."""
    _checked("cumsum", a, axis, out, False, dtype)
    return _cumsum(np.ravel(a), 0) if axis is None else _cumsum(a, axis)


def var(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: Any = False, *, where: Any = True) -> Any:
    """np.var, by NumPy's own steps."""
    axis, keepdims = _checked("var", a, axis, out, keepdims, dtype, where=where)
    number = count(shape_of(a), axis)
    deviation = a - _over(_sum(a, axis, True), number)
    return _over(_sum(deviation * deviation, axis, keepdims), number - ddof if number > ddof else 0)


_root = unary(np.sqrt, lambda t, ans: t * where(raw(ans) == 0, 0.0, divide(0.5, where(raw(ans) == 0, 1.0, ans))), name="root")
"""The square root at the end of a length or a spread, whose derivative at 0 counts as 0."""


def std(a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: Any = False, *, where: Any = True) -> Any:
    """np.std; its derivative is 0 where the spread is."""
    return _root(var(a, axis, dtype, out, ddof, keepdims, where=where))


# ------------------------------------------------------------------------------------------------ products


def _all_but_one(x: Any) -> Any:
    """Along the last axis, the product of all elements but the one at hand: exact with zeros, in log2(n) steps of multiplications."""
    size = shape_of(x)[-1]
    if size == 1:
        return np.ones_like(raw(x))
    if size % 2:
        x = np.concatenate([x, np.ones_like(raw(x)[..., :1])], -1)
    even, odd = x[..., ::2], x[..., 1::2]
    others = _all_but_one(even * odd)
    pairs = np.stack([others * odd, others * even], -1)
    return np.reshape(pairs, shape_of(x))[..., :size]


def _prod_partials(x: Any, axis: Axis) -> Any:
    shape = shape_of(x)
    axes = normalized_axes(axis, len(shape))
    if not axes or 0 in shape:
        return np.ones_like(raw(x))
    ends = tuple(range(-len(axes), 0))
    last = np.moveaxis(x, axes, ends)
    partials = _all_but_one(np.reshape(last, (*shape_of(last)[: len(shape) - len(axes)], -1)))
    return np.moveaxis(np.reshape(partials, shape_of(last)), ends, axes)


_prod = _weighted(
    lambda x, axis, keepdims: _multiply_reduce(x, axis, None, None, keepdims),
    lambda x, ans, axis, keepdims: _prod_partials(x, axis),
    keeps="x",
    name="prod",
)


def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, initial: Any = _MISSING, where: Any = True
) -> Any:
    """np.prod; exact where elements are zero."""
    return _prod(a, *_checked("prod", a, axis, out, keepdims, dtype, initial, where))


# ------------------------------------------------------------------------------------------------ extremes


def _shares(x: Any, ans: Any, axis: Axis, keepdims: bool) -> Any:
    """1 for the extreme element of each group, 1/n where n are tied."""
    x, ans = np.asarray(raw(x)), raw(ans)
    extreme = expand(ans, x.shape, axis, keepdims)
    hits = ((x == extreme) | ((x != x) & (extreme != extreme))).astype(x.dtype)
    return hits / _add_reduce(hits, axis, None, None, True)


def _extreme(function: Any, name: str) -> Any:
    return _weighted(lambda x, axis, keepdims: function(np.asarray(x), axis, None, None, keepdims), _shares, "x ans", name)


_max, _min = _extreme(_max_reduce, "max"), _extreme(np.minimum.reduce, "min")


def max(a: Any, axis: Any = None, out: None = None, keepdims: Any = False, initial: Any = _MISSING, where: Any = True) -> Any:  # noqa: A001
    """np.max; tied elements share the derivative equally."""
    return _max(a, *_checked("max", a, axis, out, keepdims, initial=initial, where=where))


def min(a: Any, axis: Any = None, out: None = None, keepdims: Any = False, initial: Any = _MISSING, where: Any = True) -> Any:  # noqa: A001
    """np.min; tied elements share the derivative equally."""
    return _min(a, *_checked("min", a, axis, out, keepdims, initial=initial, where=where))


def _logsumexp_value(x: Any, axis: Axis, keepdims: bool) -> Any:
    x = np.asarray(x)
    top = _max_reduce(x, axis, None, None, True)
    top = np.where(np.isfinite(top), top, 0.0).astype(top.dtype)
    with np.errstate(divide="ignore"):
        answer = np.log(_add_reduce(np.exp(x - top), axis, None, None, True)) + top
    if keepdims:
        return answer
    axes = normalized_axes(axis, x.ndim)
    return answer.reshape([size for n, size in enumerate(answer.shape) if n not in axes])[()]


def _softmax_of(x: Any, ans: Any, axis: Axis, keepdims: bool) -> Any:
    top = expand(ans, shape_of(x), axis, keepdims)
    return exp(where(raw(x) == raw(top), 0.0, x - top))


logsumexp = _weighted(_logsumexp_value, _softmax_of, "x ans", "logsumexp")

argmax, argmin, all_, any_, count_nonzero, argsort, searchsorted = map(
    nondifferentiable, (np.argmax, np.argmin, np.all, np.any, np.count_nonzero, np.argsort, np.searchsorted)
)
zeros_like, ones_like, empty_like, shape, ndim, size, result_type = map(
    nondifferentiable, (np.zeros_like, np.ones_like, np.empty_like, np.shape, np.ndim, np.size, np.result_type)
)
isclose, allclose, array_equal = map(nondifferentiable, (np.isclose, np.allclose, np.array_equal))
round = nondifferentiable(np.round)  # noqa: A001
register(np.around, round)

_OPERATIONS: dict[Any, Any] = {
    np.sum: sum,
    np.mean: mean,
    np.cumsum: cumsum,
    np.var: var,
    np.std: std,
    np.prod: prod,
    np.max: max,
    np.amax: max,
    np.min: min,
    np.amin: min,
    (np.add, "reduce"): lambda a, axis=0, **options: sum(a, axis, **options),
    (np.add, "accumulate"): lambda a, axis=0, **options: cumsum(a, axis, **options),
    (np.multiply, "reduce"): lambda a, axis=0, **options: prod(a, axis, **options),
    (np.maximum, "reduce"): lambda a, axis=0, **options: max(a, axis, **options),
    (np.minimum, "reduce"): lambda a, axis=0, **options: min(a, axis, **options),
}
for _function, _operation in _OPERATIONS.items():
    register(_function, _operation)
