"""Running results and differences: each number from those before it, or from its neighbors.

Running products and extremes follow y[k] = f(y[k-1], x[k]). Both directions of their derivative are linear recurrences, solved in log2(n)
steps of multiplications and additions (Kogge & Stone, 1973): exact where elements are zero, with no division.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.mapped import TRACERS
from funcgrad.ops.arrays.creation import asanyarray
from funcgrad.ops.elementwise import same
from funcgrad.ops.structural import along, concatenate, moveaxis, normalized, ravel, reshape, stack
from funcgrad.primitive import register_all
from funcgrad.rules import general, products
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import raw, refuse_out, shape_of

_MISSING: Any = np._NoValue

# ------------------------------------------------------------------------------------------------ recurrences


def _recurrence(a: Any, b: Any, product: Any) -> Any:
    """y[0] = b[0] and y[k] = a[k] y[k-1] + b[k] along the last axis: two steps make one of a recurrence of half the length."""
    size = shape_of(b)[-1]
    if size < 2:
        return b
    half = size // 2
    even_a, odd_a, even_b, odd_b = a[..., ::2], a[..., 1::2], b[..., ::2], b[..., 1::2]
    odd = _recurrence(odd_a * even_a[..., :half], product(even_b[..., :half], odd_a) + odd_b, product)
    rest = shape_of(even_b)[-1] - 1
    even = concatenate([even_b[..., :1], product(odd[..., :rest], even_a[..., 1:]) + even_b[..., 1:]], -1)
    if size % 2:
        odd = concatenate([odd, even[..., :1]], -1)
    return reshape(stack([even, odd], -1), (*shape_of(b)[:-1], 2 * rest + 2))[..., :size]


def _running(function: Any, steps: Callable[[Any, Any], tuple[Any, Any]], name: str) -> Any:
    """A primitive along the last axis; `steps(x, ans)` gives the derivatives of each y[k] in y[k-1] and in x[k]."""

    def rules(product: Any) -> Any:
        def jvp(t: Any, ans: Any, x: Any) -> Any:
            by_last, by_own = steps(x, ans)
            return _recurrence(by_last, product(t, by_own), product)

        def vjp(ct: Any, ans: Any, x: Any) -> Any:
            by_last, by_own = steps(x, ans)
            after = concatenate([by_last[..., :1], by_last[..., :0:-1]], -1)
            return product(_recurrence(after, ct[..., ::-1], product)[..., ::-1], by_own)

        return [jvp], [vjp]

    primitive: Any = products(function, rules, name=name, batch=in_front(lambda x: primitive(x)))
    return primitive


def _accumulation(operation: Any, name: str) -> Any:
    """The operation of a ufunc's accumulate, from a primitive along the last axis."""

    def accumulate(array: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        refuse_out(name, out)
        array = array if dtype is None else array.astype(dtype, copy=False)
        axis, last = normalized(axis, len(shape_of(array))), len(shape_of(array)) - 1
        return operation(array) if axis == last else moveaxis(operation(moveaxis(array, axis, -1)), -1, axis)

    return accumulate


# ------------------------------------------------------------------------------------------------ products and extremes


def _product_steps(x: Any, ans: Any) -> tuple[Any, Any]:
    before = concatenate([np.ones_like(raw(x)[..., :1]), ans], -1)
    return x, before[..., :-1]


_cumprod = _running(lambda x: np.cumprod(x, -1), _product_steps, "cumprod")
_multiply_accumulate = _accumulation(_cumprod, "multiply.accumulate")


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """np.cumprod; exact where elements are zero."""
    return _multiply_accumulate(ravel(a) if axis is None else a, 0 if axis is None else axis, dtype, out)


def _extreme_steps(x: Any, ans: Any) -> tuple[Any, Any]:
    """The derivative of a running extreme is the mean over the elements that are tied for it so far, here as a mean that grows."""
    x, ans = raw(x), raw(ans)
    is_tied = same(x, ans)
    is_new = concatenate([np.ones((*x.shape[:-1], 1), bool), ~same(ans[..., 1:], ans[..., :-1])], -1)
    total = np.cumsum(is_tied, -1)
    number = total - np.maximum.accumulate(np.where(is_new, total - is_tied, 0), -1)  # of tied elements, itself included
    own = np.where(is_tied, 1.0 / number, 0.0).astype(x.dtype)
    return np.where(is_tied, (number - 1.0) / number, 1.0).astype(x.dtype), own


def _running_extreme(ufunc: Any) -> Any:
    name = f"{ufunc.__name__}.accumulate"
    return _accumulation(_running(lambda x: ufunc.accumulate(x, -1), _extreme_steps, name), name)


maximum_accumulate, minimum_accumulate = _running_extreme(np.maximum), _running_extreme(np.minimum)


def _cumulative(operation: Any, identity: float) -> Any:
    """np.cumulative_sum or np.cumulative_prod."""

    def cumulative(x: Any, /, *, axis: int | None = None, dtype: Any = None, out: None = None, include_initial: bool = False) -> Any:
        x = x if shape_of(x) else reshape(x, (1,))
        if axis is None and len(shape_of(x)) > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = normalized(axis or 0, len(shape_of(x)))
        total = operation(x, axis, dtype, out)
        if not include_initial:
            return total
        first = tuple(1 if n == axis else size for n, size in enumerate(shape_of(total)))
        return concatenate([np.full(first, identity, total.dtype), total], axis)

    return cumulative


# ------------------------------------------------------------------------------------------------ differences


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = _MISSING, append: Any = _MISSING) -> Any:
    """np.diff, as slices."""
    a = asanyarray(a)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if not shape_of(a):
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalized(axis, a.ndim)
    edge = tuple(1 if k == axis else size for k, size in enumerate(a.shape))
    ends = [end if end is _MISSING or shape_of(asanyarray(end)) else np.broadcast_to(asanyarray(end), edge) for end in (prepend, append)]
    pieces = [piece for piece in (ends[0], a, ends[1]) if piece is not _MISSING]
    a = concatenate([asanyarray(piece) for piece in pieces], axis) if len(pieces) > 1 else a
    left, right = _neighbors(axis)
    for _ in range(n):
        a = a[right] != a[left] if a.dtype == bool else a[right] - a[left]
    return a


def _neighbors(axis: int) -> tuple[Any, Any]:
    """The indices of all elements but the last, and of all but the first, along an axis."""
    before = (slice(None),) * axis
    return (*before, slice(None, -1)), (*before, slice(1, None))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """np.ediff1d."""
    ary = ravel(asanyarray(ary))
    pieces = [_end(to_begin, "to_begin", ary.dtype), ary[1:] - ary[:-1], _end(to_end, "to_end", ary.dtype)]
    pieces = [piece for piece in pieces if piece is not None]
    return concatenate(pieces) if len(pieces) > 1 else pieces[0]


def _end(value: Any, name: str, dtype: np.dtype[Any]) -> Any:
    if value is None:
        return None
    value = ravel(asanyarray(value))
    if not np.can_cast(value.dtype, dtype, casting="same_kind"):
        raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return value.astype(dtype, copy=False)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """np.trapezoid, in the values and the places."""
    y = asanyarray(y)
    axis = normalized(axis, y.ndim)
    left, right = _neighbors(axis)
    width = dx
    if x is not None:
        x = asanyarray(x)
        width = reshape(diff(x), (-1, *(1,) * (y.ndim - 1 - axis))) if x.ndim == 1 else diff(x, axis=axis)
    return np.sum(width * (y[right] + y[left]) / 2.0, axis)


_unwrap: Any = general(
    lambda p, discont, axis, period: np.unwrap(p, discont, axis, period=period),
    jvps=[lambda t, ans, p, *_: t],
    vjps=[lambda ct, ans, p, *_: ct],
    keeps="",
    name="unwrap",
    batch=in_front(lambda p, discont, axis, period: _unwrap(p, discont, along(axis, p.ndim - 1), period)),
)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """np.unwrap: what is added is a multiple of the period, and constant."""
    if type(discont) in TRACERS or type(period) in TRACERS:
        raise NoRuleError("np.unwrap with a traced period or discont has no derivative rule")
    return _unwrap(p, discont, axis, period)


_OPERATIONS: dict[Any, Any] = {
    np.cumprod: cumprod,
    (np.multiply, "accumulate"): _multiply_accumulate,
    (np.maximum, "accumulate"): maximum_accumulate,
    (np.minimum, "accumulate"): minimum_accumulate,
    np.diff: diff,
    np.ediff1d: ediff1d,
    np.unwrap: unwrap,
    getattr(np, "cumulative_sum", None): _cumulative(np.cumsum, 0.0),
    getattr(np, "cumulative_prod", None): _cumulative(cumprod, 1.0),
    getattr(np, "trapezoid", None) or np.trapz: trapezoid,  # type: ignore[attr-defined]  # where NumPy has both, trapz calls this
}
register_all(_OPERATIONS)
