"""Shapes: operations that move numbers about and change none. All are linear; most are composed from reshape, transpose and indexing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.dependence import refuse_layout
from funcgrad.errors import NoRuleError
from funcgrad.mapped import OPEN, TRACERS, Mapped, crossed, inmost, mapping_of, one_example
from funcgrad.primitive import Operation, declare, register_all
from funcgrad.rule import Rule, accumulate
from funcgrad.rules import linear
from funcgrad.rules.batching import by_examples, in_front, unhidden
from funcgrad.rules.values import plain_constant, raw, real_part, refuse_out, shape_of, unbroadcast
from funcgrad.staged import Staged
from funcgrad.tape import Record, innermost
from funcgrad.tracer import Tracer


def normalized(axis: int, ndim: int) -> int:
    """An axis counted from the front.

    Raises:
        numpy.exceptions.AxisError: there is no such axis.
    """
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def normalized_axes(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(normalized(int(one), ndim) for one in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError(f"an axis is named twice: {axis}")
    return axes


def shifted(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """The same axes where there is one more in front of all others; all but that for None."""
    return tuple(n + 1 for n in normalized_axes(axis, ndim))


def in_rows(x: Any) -> Any:
    """An array with the axis of the examples in front of one axis for all others."""
    return np.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


def along(axis: int, ndim: int) -> int:
    """One axis of an array of `ndim` axes, where there is one more in front of all others."""
    return normalized(axis, ndim) + 1


def _reshape_mapped(x: Any, shape: Any, order: Any = "C") -> Any:
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if -1 in shape:
        known = math.prod(size for size in shape if size != -1)
        shape = tuple(math.prod(x.shape[1:]) // (known or 1) if size == -1 else size for size in shape)
    if order == "C":
        return np.reshape(x, (x.shape[0], *shape))
    return np.moveaxis(np.reshape(np.moveaxis(x, 0, -1), (*shape, x.shape[0]), order=order), -1, 0)


def _broadcast_mapped(x: Any, shape: tuple[int, ...]) -> Any:
    own = x.shape
    return np.broadcast_to(np.reshape(x, (own[0], *(1,) * (len(shape) + 1 - len(own)), *own[1:])), (own[0], *shape))


def _roll_mapped(x: Any, shift: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)  # np.roll takes an axis twice
    return np.roll(x, shift, tuple(along(one, x.ndim - 1) for one in axes))


_reshape = linear(np.reshape, lambda ct, shape, _, order="C": np.reshape(ct, shape, order=order), batch=in_front(_reshape_mapped))
_transpose = linear(
    np.transpose,
    lambda ct, shape, axes: np.transpose(ct, tuple(int(n) for n in np.argsort(axes))),
    batch=in_front(lambda x, axes: np.transpose(x, (0, *(n + 1 for n in axes)))),
)
_broadcast_to = linear(np.broadcast_to, lambda ct, shape, _: unbroadcast(ct, shape), batch=in_front(_broadcast_mapped))
_roll = linear(
    np.roll,
    lambda ct, shape, shift, axis: np.roll(ct, tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, axis),
    batch=in_front(_roll_mapped),
)
_copy = linear(
    lambda x, order: np.array(x, order=order), lambda ct, shape, order: ct, name="copy", batch=in_front(lambda x, order: copy(x))
)


def order_of(a: Any) -> str:
    """The layout of an array in memory, "F" or "C"."""
    return "F" if one_example(a).flags.fnc else "C"


def _check_layout(name: str, order: str, a: Any) -> None:
    inside = inmost(a) if order in ("A", "K") else None
    if type(inside) is Staged:
        refuse_layout(name, order, inside._scope.name)


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """np.reshape."""
    _check_layout("reshape", order, a)
    if order == "A":  # settled by the layout of the array itself, which its cotangent need not share
        order = order_of(a)
    return _reshape(a, shape, order=order) if order != "C" else _reshape(a, shape)


def ravel(a: Any, order: str = "C") -> Any:
    """np.ravel."""
    _check_layout("ravel", order, a)
    return reshape(a, -1, order) if order != "K" else reshape(transpose(a, _axes_in_memory(one_example(a))), -1)


def _axes_in_memory(array: np.ndarray) -> Sequence[int]:
    """The axes of an array, that of the longest step in memory first, as NumPy's order "K" goes along them."""
    if not array.size or array.flags.c_contiguous:
        return range(array.ndim)
    along: Any = np.nditer(array, ["multi_index"], order="K")

    def place(axis: int) -> int:
        along.multi_index = tuple(int(n == axis and size > 1) for n, size in enumerate(array.shape))
        return int(along.iterindex)

    return sorted(range(array.ndim), key=lambda axis: -abs(place(axis) - place(-1)))


def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """np.copy, and a tracer in another memory layout."""
    return _copy(a, order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """np.transpose."""
    ndim = len(shape_of(a))
    if axes is None:
        return a if ndim < 2 else _transpose(a, tuple(range(ndim - 1, -1, -1)))
    return _transpose(a, normalized_axes(tuple(axes), ndim))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """np.swapaxes."""
    axes = list(range(a.ndim))
    one, two = normalized(axis1, a.ndim), normalized(axis2, a.ndim)
    axes[one], axes[two] = two, one
    return transpose(a, axes)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """np.moveaxis."""
    sources, destinations = normalized_axes(source, a.ndim), normalized_axes(destination, a.ndim)
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis needs as many destinations as sources: got {source} and {destination}")
    order = [n for n in range(a.ndim) if n not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """np.rollaxis."""
    ndim = len(shape_of(a))
    axis = normalized(axis, ndim)
    start = normalized(start, ndim + 1) if start >= 0 else normalized(start, ndim)
    order = [n for n in range(ndim) if n != axis]
    order.insert(start - (axis < start), axis)
    return transpose(a, order)


def matrix_transpose(x: Any, /) -> Any:
    """np.matrix_transpose."""
    if len(shape_of(x)) < 2:
        raise ValueError(f"matrix_transpose needs two axes at least: the array has the shape {shape_of(x)}")
    return swapaxes(x, -1, -2)


def squeeze(a: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """np.squeeze."""
    shape = shape_of(a)
    axes = tuple(n for n, size in enumerate(shape) if size == 1) if axis is None else normalized_axes(axis, len(shape))
    if any(shape[n] != 1 for n in axes):
        raise ValueError(f"squeeze can drop axes of size 1 only: axis {axis} of shape {shape}")
    return reshape(a, tuple(size for n, size in enumerate(shape) if n not in axes))


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """np.expand_dims."""
    added = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = normalized_axes(tuple(added), len(shape_of(a)) + len(added))
    sizes = iter(shape_of(a))
    return reshape(a, tuple(1 if n in axes else next(sizes) for n in range(len(shape_of(a)) + len(axes))))


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """np.broadcast_to."""
    return _broadcast_to(array, (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape))


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """np.roll."""
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), shape_of(a))
    shift = raw(shift)
    if type(shift) is Mapped:
        return _roll_each(a, shift, axis)
    return _roll(a, tuple(shift) if isinstance(shift, (tuple, list, np.ndarray)) and np.ndim(shift) else int(shift), axis)


_roll_each = by_examples(roll)


def tile(A: Any, reps: Any) -> Any:
    """np.tile, as a broadcast along new axes."""
    a = A
    counts = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    shape = shape_of(a)
    ndim = max(len(counts), len(shape))
    counts, shape = (1,) * (ndim - len(counts)) + counts, (1,) * (ndim - len(shape)) + shape
    apart = reshape(a, tuple(size for n in shape for size in (1, n)))
    spread = broadcast_to(apart, tuple(size for pair in zip(counts, shape, strict=True) for size in pair))
    return reshape(copy(spread, "C"), tuple(math.prod(pair) for pair in zip(counts, shape, strict=True)))  # in memory as NumPy's lies


# Joining is linear in a list of operands: one record with a parent for each that is traced.


def _joining(function: Any, places: Callable[[list[tuple[int, ...]], int], list[Any]]) -> Operation:
    """The operation for np.concatenate or np.stack; `places(shapes, axis)` are the indices of the operands' parts in the whole."""

    def push(record: Record, tangents: Any) -> Any:
        traced, shapes, axis = record[-1]
        parts: list[Any] = [None] * len(shapes)
        for parent, n in zip(record[1:-1], traced, strict=True):
            parts[n] = tangents.get(parent)
        dtype = next(np.result_type(raw(part)) for part in parts if part is not None)
        return function([np.zeros(shape, dtype) if part is None else part for part, shape in zip(parts, shapes, strict=True)], axis)

    def pull(cotangent: Any, record: Record, cotangents: Any) -> None:
        traced, shapes, axis = record[-1]
        indices = places(shapes, axis)
        for parent, n in zip(record[1:-1], traced, strict=True):
            accumulate(cotangents, parent, cotangent[indices[n]])

    name = function.__name__
    key = Rule(name, push, pull, lambda record, index, scope: record).key
    declare(name, "linear", function)

    def operation(arrays: Any, axis: int, **options: Any) -> Any:
        arrays = [_of_list(array) for array in arrays]
        mapping = mapping_of(arrays) if OPEN else None
        if mapping is not None:
            place = normalized(axis, len(shape_of(arrays[0])) + (name == "stack")) + 1
            return Mapped(operation([unhidden(unlisted(array), mapping) for array in arrays], place, **options), mapping)
        arrays = (crossed(arrays) if OPEN else None) or arrays
        traced = [n for n, array in enumerate(arrays) if type(array) is Tracer]
        if not traced:
            return function(arrays, axis, **options)
        scope = arrays[traced[0]]._scope
        for n in traced:
            if arrays[n]._scope is not scope:
                scope = innermost(scope, arrays[n]._scope)
        values = [array._primal if type(array) is Tracer else plain_constant(array) for array in arrays]
        answer = (operation if OPEN else function)(values, axis, **options)
        if is_constant(answer.dtype):  # that dtype was asked for
            return answer
        if options.get("dtype") is not None and answer.dtype.kind == "f":  # it has nothing to do with imaginary parts
            arrays = [real_part(array) if type(array) is Tracer else array for array in arrays]
        index = len(scope.records)
        residual = tuple(traced), tuple([shape_of(value) for value in values]), normalized(axis, answer.ndim)
        scope.records.append((key, *(arrays[n]._index for n in traced), residual))
        return scope.make(answer, scope, index)

    return operation


def is_constant(dtype: Any) -> bool:
    """Whether a result of this dtype has nothing to differentiate; None is the dtype of the operands.

    Raises:
        NoRuleError: it is an array of objects, in which numbers would go on without their derivatives.
    """
    kind = "f" if dtype is None else np.dtype(dtype).kind
    if kind == "O":
        raise NoRuleError("a tracer in an array of dtype object would lose its derivative: leave dtype=object out, or use lists")
    return kind not in "fc"


def _of_list(array: Any) -> Any:
    """A list with tracers among its elements as a tracer, which NumPy cannot make of it."""
    if not isinstance(array, (list, tuple)):
        return array
    elements = [_of_list(element) for element in array]
    return stack(elements) if any(type(element) in TRACERS for element in elements) else array


def unlisted(value: Any) -> Any:
    """A list as an array, or as a tracer if one is in it; all else as it is."""
    if not isinstance(value, (list, tuple)):
        return value
    value = _of_list(value)
    return value if type(value) in TRACERS else np.asarray(value)


def _slices(shapes: list[tuple[int, ...]], axis: int) -> list[Any]:
    ends = itertools.accumulate((shape[axis] for shape in shapes), initial=0)
    return [(slice(None),) * axis + (slice(start, stop),) for start, stop in itertools.pairwise(ends)]


_concatenate = _joining(np.concatenate, _slices)
_stack = _joining(np.stack, lambda shapes, axis: [(slice(None),) * axis + (n,) for n in range(len(shapes))])


def concatenate(arrays: Any, axis: int | None = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """np.concatenate."""
    refuse_out("concatenate", out)
    if axis is None:
        arrays, axis = [ravel(_of_list(array)) for array in arrays], 0
    return _concatenate(arrays, axis, casting=casting, **({} if dtype is None else {"dtype": dtype}))


def stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """np.stack."""
    refuse_out("stack", out)
    return _stack(arrays, axis, casting=casting, **({} if dtype is None else {"dtype": dtype}))


_OPERATIONS: dict[Any, Any] = {
    np.reshape: reshape,
    np.ravel: ravel,
    np.transpose: transpose,
    np.swapaxes: swapaxes,
    np.moveaxis: moveaxis,
    np.squeeze: squeeze,
    np.expand_dims: expand_dims,
    np.broadcast_to: broadcast_to,
    np.roll: roll,
    np.tile: tile,
    np.copy: copy,
    np.rollaxis: rollaxis,
    np.concatenate: concatenate,
    np.stack: stack,
    getattr(np, "matrix_transpose", None): matrix_transpose,
}
register_all(_OPERATIONS)
