"""Extremes, soft and hard, and questions about elements: which is the largest, do all, in which order."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.mapped import Mapped, is_mapped
from funcgrad.ops.elementwise import divide, exp, same, where
from funcgrad.ops.reductions import MISSING, Axis, checked, expand, settled, sum, weighted  # noqa: A004
from funcgrad.ops.structural import along, in_rows, normalized_axes, shifted
from funcgrad.primitive import register_all
from funcgrad.rules import nondifferentiable
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import as_array, raw
from funcgrad.tape import Scope

_add_reduce: Any = np.add.reduce
_max_reduce: Any = np.maximum.reduce


def extreme_of(function: Any, name: str, is_hit: Any = same) -> Any:
    """The operation of max, min or their like, `function(x, axis, out, keepdims, initial, where)`; `is_hit(x, extreme)` says who won."""

    def shares(x: Any, ans: Any, axis: Axis, keepdims: bool, initial: Any = MISSING, where: Any = True) -> Any:
        """1 for the extreme element of each group, 1/n where n are tied; `initial` is one of them."""
        x, ans = as_array(raw(x)), as_array(raw(ans))
        hits = (is_hit(x, expand(ans[()], x.shape, axis, keepdims)) & where).astype(x.real.dtype)
        number = _add_reduce(hits, axis, None, None, True)
        if initial is not MISSING:
            number = number + np.reshape(ans == initial, np.shape(number))
        return hits / np.maximum(number, hits.dtype.type(1))  # 1: nobody, or nobody but `initial`

    extreme = weighted(
        lambda x, axis, keepdims, initial=MISSING, where=True: function(np.asarray(x), axis, None, keepdims, initial, where),
        shares,
        "x ans",
        name,
        strong=lambda t, weight: np.where(weight == 0, 0.0, t * weight),  # an element that loses has no effect, be its tangent infinite
    )

    def operation(a: Any, axis: Any = None, out: None = None, keepdims: Any = False, initial: Any = MISSING, where: Any = True) -> Any:
        axis, keepdims = checked(name, a, axis, out, keepdims)
        if initial is MISSING and where is True:
            return extreme(a, axis, keepdims)
        _, _, initial, where = settled(name, a, None, initial, where)
        return extreme(a, axis, keepdims, initial, where)

    operation.__doc__ = f"np.{name}; tied elements share the derivative equally."
    return operation


def _reduce(extreme: Any) -> Any:
    """The method `reduce` of the ufunc."""
    return lambda a, axis=0, dtype=None, **options: extreme(a if dtype is None else a.astype(dtype), axis, **options)


def _of_ufunc(reduce: Any) -> Any:
    return lambda x, axis, out, keepdims, initial, where: reduce(x, axis, None, out, keepdims, initial, where)


max, min = extreme_of(_of_ufunc(_max_reduce), "max"), extreme_of(_of_ufunc(np.minimum.reduce), "min")  # noqa: A001


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
    """exp(x) over its sum. Not exp(x - ans), which loses digits where x is large; infinities that are tied share."""
    plain = as_array(raw(x))
    top = _max_reduce(plain, axis, None, None, True)
    exponentials = exp(where((plain == top) & np.isinf(plain), 0.0, x - top))
    return divide(exponentials, sum(exponentials, axis, keepdims=True))


logsumexp = weighted(_logsumexp_value, _softmax_of, "x", "logsumexp")


def _asked(function: Any) -> Any:
    """The operation of a question about elements, `function(x, axis=None, ...)`."""
    return nondifferentiable(
        function, in_front(lambda x, axis=None, *args, **options: function(x, shifted(axis, x.ndim - 1), *args, **options))
    )


def placed(function: Any) -> Any:
    """The operation that finds the place of an extreme, `function(x, axis=None, ...)`: counted through all axes for None."""

    def of_examples(x: Any, axis: Any = None, out: None = None, *, keepdims: Any = False) -> Any:
        if axis is None:
            places = function(in_rows(x), 1)
            return np.reshape(places, (-1, *(1,) * (x.ndim - 1))) if keepdims is True else places
        return function(x, along(axis, x.ndim - 1), keepdims=keepdims is True)

    return nondifferentiable(function, in_front(of_examples))


def _order(x: Any, axis: Any = -1, *args: Any, **options: Any) -> Any:
    if axis is None:
        x, axis = in_rows(x), 0
    return np.argsort(x, along(axis, x.ndim - 1), *args, **options)


def _search(scope: Scope, a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    is_of_v_alone = not (is_mapped(a, scope) or is_mapped(sorter, scope))
    return Mapped(np.searchsorted(a, v._primal, side, sorter), scope) if is_of_v_alone else NotImplemented


all_, any_, count_nonzero = map(_asked, (np.all, np.any, np.count_nonzero))
argmax, argmin = map(placed, (np.argmax, np.argmin))
argsort = nondifferentiable(np.argsort, in_front(_order))
searchsorted = nondifferentiable(np.searchsorted, _search)

_OPERATIONS: dict[Any, Any] = {
    np.max: max,
    np.amax: max,
    np.min: min,
    np.amin: min,
    (np.maximum, "reduce"): _reduce(max),
    (np.minimum, "reduce"): _reduce(min),
}
register_all(_OPERATIONS)
