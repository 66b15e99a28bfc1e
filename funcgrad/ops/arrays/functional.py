"""Functions of NumPy's that call a function of the user's: apply_along_axis, apply_over_axes, piecewise, vectorize."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError
from funcgrad.mapped import LAYERS, OPEN, Mapped, is_mapped
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.structural import broadcast_to, expand_dims, moveaxis, normalized, reshape, stack
from funcgrad.ops.updates import at
from funcgrad.primitive import register_all
from funcgrad.rule import Rule, accumulate
from funcgrad.rules.batching import inner_mapping, looped, unhidden
from funcgrad.rules.values import holds_tracer, raw, shape_of
from funcgrad.staged import Staged
from funcgrad.tape import Scope, thread
from funcgrad.tracer import Tracer, innermost_of


def _is_plain(*values: Any) -> bool:
    """Whether NumPy itself can do it: no tracers are about, not even in the closure of a function."""
    return thread.scope is None and not holds_tracer(*values)


def _looped_picking(scope: Scope, call: Callable[..., Any], *args: Any) -> Any:
    """`call(of_example, *args)` for each example: `of_example(function)` gives that example's of the mapped values a function makes."""
    size: Any = scope.size

    def one(n: Any, *args: Any) -> Any:
        def entered(value: Any) -> Any:
            if type(value) is not Tracer or value._scope.depth < scope.depth:
                return value
            inner, records = value._scope, value._scope.records
            records.append((_ENTER.key, value._index, scope))
            return inner.make(value._primal, inner, len(records) - 1)

        def picked(value: Any) -> Any:
            if not _differs(value, scope):
                return value
            return unhidden(value, scope)[int(n)] if size else np.zeros(value.shape, value.dtype)

        def of_example(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *args, **kw: tree.map(picked, function(*tree.map(entered, args), **tree.map(entered, kw)))

        return call(of_example, *args)

    return looped(one, scope, (Mapped(np.arange(size), scope), *args), {})


def _differs(value: Any, scope: Scope) -> bool:
    """Whether a value is another one for each example of a mapping."""
    while type(value) in LAYERS:
        if is_mapped(value, scope):
            return True
        value = value._primal
    return False


def _collapsed(cotangent: Any, scope: Scope) -> Any:
    return np.sum(unhidden(cotangent, scope), 0) if _differs(cotangent, scope) else cotangent


_ENTER = Rule(
    "enter",
    lambda record, tangents: tangents[record[1]],
    lambda cotangent, record, cotangents: accumulate(cotangents, record[1], _collapsed(cotangent, record[2])),
    lambda record, index, scope: record,
)
"""One example's value among mapped ones, as it is: all of these depend on it, so its cotangent is the sum of theirs."""


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """numpy.apply_along_axis that also takes a plain array and a function that has tracers in it.

    Args:
        func1d: takes an array of one axis; its results have one shape.
        axis: the axis along which these arrays lie.
        arr: an array or a tracer.
        *args: further arguments of `func1d`.
        **kwargs: further keyword arguments of `func1d`.

    Returns:
        The results; the axis is replaced by theirs.

    Raises:
        ValueError: there is nothing to apply the function to.

    Example:
        >>> import numpy
        >>> from funcgrad import grad
        >>> grad(lambda x: apply_along_axis(lambda row: x * row.max(), 1, numpy.eye(3)).sum())(2.0)
        3.0
    """
    if _is_plain(arr):
        return np.apply_along_axis(func1d, axis, arr, *args, **kwargs)
    arr = asarray(arr)
    axis = normalized(axis, arr.ndim)
    lines = moveaxis(arr, axis, -1)
    outer = lines.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [asarray(func1d(lines[place], *args, **kwargs)) for place in np.ndindex(*outer)]
    joined = stack([each.astype(results[0].dtype, copy=False) for each in results])
    inner = shape_of(results[0])
    joined = reshape(joined, outer + inner)
    return moveaxis(joined, tuple(range(len(outer), len(outer) + len(inner))), tuple(range(axis, axis + len(inner))))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """np.apply_over_axes."""
    result = a
    for axis in [axes] if np.ndim(axes) == 0 else axes:
        reduced = func(result, normalized(int(axis), a.ndim))
        reduced = reduced if reduced.ndim == result.ndim else expand_dims(reduced, axis)
        if reduced.ndim != result.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        result = reduced
    return result


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """numpy.piecewise that also takes a plain array and functions that have tracers in them, or tracers in their place.

    Args:
        x: an array, a number or a tracer.
        condlist: arrays of booleans, of the shape of `x`.
        funclist: for each condition a function of the elements of `x` for which it holds, or a number; one more is for all others. Where
            several conditions hold, the last one counts.
        *args: further arguments of the functions.
        **kw: further keyword arguments of the functions.

    Returns:
        An array of the shape and dtype of `x`, or a tracer.

    Raises:
        InputTypeError: `x` is of integers and a value a tracer: the derivative would be lost.
        ValueError: there are not as many functions as conditions, or one more.

    Example:
        >>> import numpy
        >>> from funcgrad import grad
        >>> x = numpy.array([-1.0, 2.0])
        >>> grad(lambda slope: piecewise(x, [x < 0], [lambda part: slope * part, 0.0]).sum())(3.0)
        -1.0
    """
    if _is_plain(x, condlist, funclist, args):
        return np.piecewise(x, condlist, funclist, *args, **kw)
    mapping = inner_mapping(x, condlist) if OPEN else None
    if mapping is not None:
        return _looped_picking(mapping, _piecewise_of_example, x, condlist, funclist, args, kw)
    x, condlist = asarray(x), raw(condlist)
    inside = innermost_of((raw(x), condlist)) if OPEN else None
    if type(inside) is Staged:
        raise ConcretizationError(
            f"{inside._scope.name}: np.piecewise calls its functions with another number of elements for other values: use "
            "np.where(condition, a, b) or np.select(conditions, values) of functions of all elements"
        )
    if np.isscalar(condlist) or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim != 0):
        condlist = [condlist]
    conditions = np.asarray(condlist, bool)
    if len(conditions) == len(funclist) - 1:
        conditions = np.concatenate([conditions, ~np.any(conditions, axis=0, keepdims=True)])
    if len(conditions) != len(funclist):
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected")
    result = np.zeros_like(raw(x))
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result = at(result)[condition].set(function)
        elif condition.any():
            result = at(result)[condition].set(function(x[condition], *args, **kw))
    return result


def _piecewise_of_example(of_example: Any, x: Any, condlist: Any, funclist: Any, args: Any, kw: Any) -> Any:
    return piecewise(x, condlist, [of_example(function) if callable(function) else function for function in funclist], *args, **kw)


class vectorize(np.vectorize):  # noqa: N801 - NumPy's name
    """numpy.vectorize that also takes tracers, and functions that have tracers in them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of each element of the arguments, broadcast together; where a signature says so, of each sub-array."""
        if _is_plain(args, kwargs) or not callable(self.pyfunc):  # as a decorator it is called without
            return super().__call__(*args, **kwargs)
        mapping = inner_mapping(args, kwargs) if OPEN else None
        if mapping is not None:
            return _looped_picking(mapping, self._call_of_example, args, kwargs)
        excluded: Any = self.excluded
        names: list[Any] = [n for n in range(len(args)) if n not in excluded] + [name for name in kwargs if name not in excluded]
        looped = [asarray(args[name] if type(name) is int else kwargs[name]) for name in names]
        inner = _inner_axes(self.signature, len(looped))
        outers = [shape_of(each)[: len(shape_of(each)) - axes] for each, axes in zip(looped, inner, strict=True)]
        outer = np.broadcast_shapes(*outers)
        looped = [broadcast_to(each, outer + shape_of(each)[len(own) :]) for each, own in zip(looped, outers, strict=True)]

        def call(place: tuple[int, ...]) -> Any:
            positional, named = list(args), dict(kwargs)
            for name, each in zip(names, looped, strict=True):
                target: Any = positional if type(name) is int else named
                target[name] = each[place]
            return self.pyfunc(*positional, **named)

        results = [call(place) for place in np.ndindex(*outer)]
        if not results:
            raise ValueError("vectorize with tracers needs an element at least to call the function with")
        if isinstance(results[0], tuple):
            return tuple(self._collected(parts, outer, n) for n, parts in enumerate(zip(*results, strict=True)))
        return self._collected(results, outer, 0)

    def _call_of_example(self, of_example: Any, args: Any, kwargs: Any) -> Any:
        function = copy.copy(self)
        function.pyfunc = of_example(self.pyfunc)
        return function(*args, **kwargs)

    def _collected(self, parts: Any, outer: tuple[int, ...], n: int) -> Any:
        parts = [asarray(part) for part in parts]
        dtype = parts[0].dtype if self.otypes is None else np.dtype(self.otypes[n])
        return reshape(stack(parts), outer + shape_of(parts[0])).astype(dtype, copy=False)


def _inner_axes(signature: str | None, arguments: int) -> list[int]:
    """How many axes of each argument the function itself takes: "(n),(m,n)->()" gives 1 and 2."""
    if signature is None:
        return [0] * arguments
    cores = re.findall(r"\(([^)]*)\)", signature.split("->")[0])
    if len(cores) != arguments:
        raise TypeError(f"wrong number of positional arguments: expected {len(cores)}, got {arguments}")
    return [len([name for name in core.split(",") if name.strip()]) for core in cores]


_OPERATIONS: dict[Any, Any] = {
    np.apply_along_axis: apply_along_axis,
    np.apply_over_axes: apply_over_axes,
    np.piecewise: piecewise,
}
register_all(_OPERATIONS)
