"""Reductions and running sums: fewer numbers out than in, or each from those before it."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.mapped import OPEN, TRACERS, Mapped, is_any, is_mapped, mapping_of
from funcgrad.ops.elementwise import divide, where
from funcgrad.ops.structural import along, is_constant, normalized_axes, shifted
from funcgrad.primitive import register_all
from funcgrad.rules import general, linear, products, unary
from funcgrad.rules.batching import in_front, unhidden
from funcgrad.rules.values import is_complex, raw, refuse_out, shape_of
from funcgrad.tape import Scope

Axis = int | tuple[int, ...] | None
_add_reduce: Any = np.add.reduce  # as np.sum, without its Python
_multiply_reduce: Any = np.multiply.reduce
MISSING = np._NoValue  # what NumPy's own signatures have for "not given"


def checked(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> tuple[Axis, bool]:
    """The arguments that every reduction takes."""
    refuse_out(name, out)
    axis = tuple(axis) if type(axis) is list else axis
    if axis in (0, -1, (0,), (-1,)) and shape_of(a) == ():
        axis = None  # NumPy lets a number have the axis 0
    return axis, keepdims is True or (keepdims is not MISSING and bool(keepdims))


def settled(name: str, a: Any, dtype: Any, initial: Any = MISSING, where: Any = True) -> tuple[Any, Any, Any, Any]:
    """The options of a reduction as static arguments, and the array that they are for.

    Raises:
        NoRuleError: a traced `initial`.
    """
    if type(initial) in TRACERS:
        raise NoRuleError(f"np.{name}(initial=tracer) has no derivative rule: combine the result with it by np.add, np.maximum, ...")
    if dtype is not None:
        dtype = np.dtype(dtype)
        if dtype.kind == "f" and is_complex(a):
            a = a.astype(dtype)  # which warns, as NumPy does
    if where is not True and type(raw(where)) is not Mapped:
        where = np.array(raw(where))  # a copy: nothing else keeps it from changes
    return a, dtype, initial, raw(where)


def expand(value: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool = False) -> Any:
    """A reduced value repeated along the axes that were reduced: the transpose of a sum. Takes no memory."""
    if type(value) is float:
        value = np.float64(value)
    if type(value) not in TRACERS and value.shape == ():
        return np.ndarray(shape, value.dtype, value, 0, (0,) * len(shape))  # np.broadcast_to takes five times as long
    if not keepdims and axis is not None:
        axes = normalized_axes(axis, len(shape))
        value = value.reshape(tuple(1 if n in axes else size for n, size in enumerate(shape)))
    return np.broadcast_to(value, shape)


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """How many numbers go into each result."""
    return math.prod(shape[n] for n in normalized_axes(axis, len(shape)))


def _reducing(operation: Any) -> Any:
    """The batch rule of a reduction `(x, axis, keepdims, *options)`, of which `where` alone may be mapped."""

    def batch(scope: Scope, x: Any, axis: Axis, *options: Any) -> Any:
        shape = shape_of(x)
        options = tuple(unhidden(np.broadcast_to(one, shape), scope) if is_mapped(one, scope) else one for one in options)
        return Mapped(operation(unhidden(x, scope), shifted(axis, len(shape)), *options), scope)

    return batch


def _without_derivative(reduce: Any) -> Any:
    """The reduction `(x, axis, keepdims, *options)` of plain values by that of a ufunc, to a dtype that has no derivatives."""

    def operation(x: Any, axis: Axis, keepdims: bool, dtype: Any, where: Any = True, initial: Any = MISSING) -> Any:
        x, where = raw(x), raw(where)
        mapping = mapping_of(x, where) if OPEN else None
        if mapping is not None:
            return batch(mapping, x, axis, keepdims, dtype, where, initial)
        return reduce(x, axis, dtype, None, keepdims, initial, where)

    batch = _reducing(operation)
    return operation


_count_sum, _count_product = map(_without_derivative, (_add_reduce, _multiply_reduce))


def weighted(function: Any, weights: Any, keeps: str, name: str, strong: Any = None) -> Any:
    """A reduction whose tangent is the sum of the operand's tangent times `weights(x, ans, axis, keepdims, *options)`."""

    def rules(multiply: Any) -> Any:
        def jvp(t: Any, ans: Any, x: Any, axis: Axis, keepdims: bool, *options: Any) -> Any:
            return np.sum(multiply(t, weights(x, ans, axis, keepdims, *options)), axis, keepdims=keepdims)

        def vjp(ct: Any, ans: Any, x: Any, axis: Axis, keepdims: bool, *options: Any) -> Any:
            return multiply(expand(ct, shape_of(x), axis, keepdims), weights(x, ans, axis, keepdims, *options))

        return [jvp], [vjp]

    operation: Any
    batch = _reducing(lambda *args: operation(*args))
    if strong is None:
        operation = products(function, rules, keeps, name, batch)
    else:
        jvps, vjps = rules(lambda t, weight: weight * t)
        operation = general(function, jvps, vjps, keeps, name, rules(strong), batch)
    return operation


def _over(total: Any, number: Any) -> Any:
    """A total over a number, in the total's dtype: by NumPy's way for float16, which the number may be too large for."""
    dtype = getattr(total, "dtype", None)
    if isinstance(number, np.ndarray):
        return (total / number).astype(dtype)
    if dtype is None or type(raw(total)) is float:
        return divide(total, float(number))
    if dtype == np.float16:
        return (total.astype(np.float64) / number).astype(dtype)
    return divide(total, dtype.type(number))


# ------------------------------------------------------------------------------------------------ sums


def _spread(ct: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool, where: Any) -> Any:
    """A cotangent of a sum given to each of the elements that are in it."""
    ct = expand(ct, shape, axis, keepdims)
    return ct if where is True else np.where(where, ct, 0.0)


_sum: Any = linear(
    lambda x, axis, keepdims: _add_reduce(x, axis, None, None, keepdims),
    lambda ct, shape, axis, keepdims: expand(ct, shape, axis, keepdims),
    name="sum",
    batch=_reducing(lambda *args: _sum(*args)),
)
_sum_with: Any = linear(
    lambda x, axis, keepdims, dtype, where: _add_reduce(x, axis, dtype, None, keepdims, where=where),
    lambda ct, shape, axis, keepdims, dtype, where: _spread(ct, shape, axis, keepdims, where),
    name="sum_with",
    batch=_reducing(lambda *args: _sum_with(*args)),
)
"""The sum of some elements, or in another dtype."""
_sum_from: Any = general(
    lambda x, axis, keepdims, dtype, where, initial: _add_reduce(x, axis, dtype, None, keepdims, initial, where),
    jvps=[lambda t, ans, x, axis, keepdims, dtype, where, initial: np.sum(t, axis, dtype, keepdims=keepdims, where=where)],
    vjps=[lambda ct, ans, x, axis, keepdims, dtype, where, initial: _spread(ct, shape_of(x), axis, keepdims, where)],
    keeps="",
    name="sum_from",
    batch=_reducing(lambda *args: _sum_from(*args)),
)
"""The sum that starts from a number."""
_mean: Any = linear(
    lambda x, axis, keepdims: np.mean(x, axis, keepdims=keepdims),
    lambda ct, shape, axis, keepdims: expand(_over(ct, count(shape, axis)), shape, axis, keepdims),
    name="mean",
    batch=_reducing(lambda *args: _mean(*args)),
)
_mean_with: Any = linear(
    lambda x, axis, keepdims, dtype, where: np.mean(x, axis, dtype, keepdims=keepdims, where=where),
    lambda ct, shape, axis, keepdims, dtype, where: _spread(
        divide(ct, _number(shape, axis, where, keepdims)), shape, axis, keepdims, where
    ),
    name="mean_with",
    batch=_reducing(lambda *args: _mean_with(*args)),
)
_cumsum: Any = linear(
    np.cumsum,
    lambda ct, shape, axis, dtype: np.reshape(np.flip(np.cumsum(np.flip(ct, axis), axis), axis), shape),
    name="cumsum",
    batch=in_front(lambda x, axis, dtype: _cumsum(x, along(axis, x.ndim - 1), dtype)),
)


def _number(shape: tuple[int, ...], axis: Axis, where: Any, keepdims: bool) -> Any:
    """How many elements go into each result, as an array where some are left out."""
    return count(shape, axis) if where is True else _count_sum(np.broadcast_to(where, shape), axis, keepdims, np.intp)


def sum(  # noqa: A001
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, initial: Any = MISSING, where: Any = True
) -> Any:
    """np.sum."""
    if axis is None and out is None and dtype is None and initial is MISSING and where is True and keepdims is False:
        return _sum(a, axis, keepdims)
    axis, keepdims = checked("sum", a, axis, out, keepdims)
    if dtype is None and initial is MISSING and where is True:
        return _sum(a, axis, keepdims)
    if is_constant(dtype):
        return _count_sum(a, axis, keepdims, dtype, where, initial)
    a, dtype, initial, where = settled("sum", a, dtype, initial, where)
    if initial is MISSING:
        return _sum_with(a, axis, keepdims, dtype, where)
    return _sum_from(a, axis, keepdims, dtype, where, initial)


def mean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, *, where: Any = True) -> Any:
    """np.mean."""
    axis, keepdims = checked("mean", a, axis, out, keepdims)
    if dtype is None and (where is True or where is MISSING):
        return _mean(a, axis, keepdims)
    if is_constant(dtype):
        return np.mean(raw(a), axis, dtype, keepdims=keepdims, where=where)
    a, dtype, _, where = settled("mean", a, dtype, where=True if where is MISSING else where)
    return _mean_with(a, axis, keepdims, dtype, where)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """np.cumsum."""
    refuse_out("cumsum", out)
    if is_constant(dtype):
        return np.cumsum(raw(a), axis, dtype)
    a, dtype, _, _ = settled("cumsum", a, dtype)
    return _cumsum(np.ravel(a), 0, dtype) if axis is None else _cumsum(a, axis, dtype)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = MISSING,
    correction: Any = MISSING,
) -> Any:
    """np.var, by NumPy's own steps."""
    axis, keepdims = checked("var", a, axis, out, keepdims)
    if is_constant(dtype):
        raise TypeError(f"np.var(dtype=...) of floating-point numbers needs a floating-point dtype, got {dtype}")
    a, dtype, _, where = settled("var", a, dtype, where=True if where is MISSING else where)
    if correction is not MISSING:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if dtype is None and type(a) is Mapped and a.dtype.kind in "biu":  # mapped values may be whole numbers
        dtype = np.dtype(float)
    number = _number(shape_of(a), axis, where, True)
    if mean is MISSING:
        mean = _over(sum(a, axis, dtype, None, True, where=where), number)
    deviation = a - mean
    squares = _squares(deviation)
    total = sum(squares, axis, dtype, None, keepdims, where=where)
    left = number - ddof
    if is_any(left <= 0):
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=3)
    left = np.maximum(left, 0)
    return _over(total, left if where is True else np.reshape(left, shape_of(total)))


def _squares(x: Any) -> Any:
    """|x|**2 for each element."""
    if not is_complex(x):
        return x * x
    real, imag = x.real, x.imag
    return real * real + imag * imag


root = unary(np.sqrt, lambda t, ans: t * where(raw(ans) == 0, 0.0, divide(0.5, where(raw(ans) == 0, 1.0, ans))), name="root")
"""The square root at the end of a length or a spread, whose derivative at 0 counts as 0."""


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = MISSING,
    correction: Any = MISSING,
) -> Any:
    """np.std; its derivative is 0 where the spread is."""
    return root(var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction))


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


def _prod_weights(x: Any, ans: Any, axis: Axis, keepdims: bool, dtype: Any = None, initial: Any = MISSING, where: Any = True) -> Any:
    if where is not True:
        x = np.where(where, x, 1.0)
    partials = _prod_partials(x, axis)
    if initial is not MISSING:
        partials = partials * initial
    return partials if where is True else np.where(where, partials, 0.0)


_prod = weighted(
    lambda x, axis, keepdims, dtype=None, initial=MISSING, where=True: _multiply_reduce(x, axis, dtype, None, keepdims, initial, where),
    _prod_weights,
    keeps="x",
    name="prod",
)


def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, initial: Any = MISSING, where: Any = True
) -> Any:
    """np.prod; exact where elements are zero."""
    axis, keepdims = checked("prod", a, axis, out, keepdims)
    if is_constant(dtype):
        return _count_product(a, axis, keepdims, dtype, where, initial)
    return (
        _prod(a, axis, keepdims)
        if dtype is None and initial is MISSING and where is True
        else _prod_of(a, axis, keepdims, dtype, initial, where)
    )


def _prod_of(a: Any, axis: Axis, keepdims: bool, *options: Any) -> Any:
    a, dtype, initial, where = settled("prod", a, *options)
    return _prod(a, axis, keepdims, dtype, initial, where)


_OPERATIONS: dict[Any, Any] = {
    np.sum: sum,
    np.mean: mean,
    np.cumsum: cumsum,
    np.var: var,
    np.std: std,
    np.prod: prod,
    (np.add, "reduce"): lambda a, axis=0, **options: sum(a, axis, **options),
    (np.add, "accumulate"): lambda a, axis=0, **options: cumsum(a, axis, **options),
    (np.multiply, "reduce"): lambda a, axis=0, **options: prod(a, axis, **options),
}
register_all(_OPERATIONS)
