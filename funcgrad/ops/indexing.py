"""Indexing: `x[index]` of every kind, its transpose, what is composed from them, and `x.at[index]`, which changes elements in a new array.

The transpose of picking elements is adding them back where they came from: elements that were picked twice add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.errors import ConcretizationError
from funcgrad.forms import MOVING
from funcgrad.mapped import OPEN, TRACERS, Mapped, is_mapped, lined_up, mapping_of
from funcgrad.ops.structural import normalized, normalized_axes
from funcgrad.primitive import register_all
from funcgrad.rules import linear
from funcgrad.rules.batching import unhidden
from funcgrad.rules.values import as_array, raw, refuse_out, shape_of
from funcgrad.staged import Staged
from funcgrad.tape import Scope, protect
from funcgrad.tracer import Tracer, innermost_of

_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def is_basic(index: Any) -> bool:
    """Whether NumPy answers with a view, in which no element occurs twice."""
    if type(index) is tuple:
        return all(type(part) in _BASIC for part in index)
    return type(index) in _BASIC


def elements_of(x: Any, index: Any) -> Any:
    """x[index] of a plain array or number."""
    return np.float64(x)[index] if type(x) is float else x[index]


def _as_indices(indices: Any) -> Any:
    """Indices as NumPy's functions take them: an empty list names nothing, and booleans are 0 and 1."""
    indices = as_array(raw(indices))
    return indices.astype(np.intp) if indices.dtype == bool or not indices.size else indices


def with_examples(scope: Scope, index: Any, ndim: int, is_in_front: bool) -> tuple[tuple[Any, ...], list[int], list[int]]:
    """An index for an array that has the axis of the examples in front (`is_in_front`), or an index that has mapped parts.

    Args:
        scope: the mapping.
        index: the index of one example.
        ndim: the number of axes of one example.
        is_in_front: whether the array has that axis.

    Returns:
        The index, and the axes of its result with the places that they are to be moved to: the axis of the examples is in front then.

    Raises:
        ConcretizationError: a mapped mask: how many elements it picks is another number for each example.
    """
    parts = list(index) if type(index) is tuple else [index]
    if any(type(part) is Mapped and part.dtype == bool for part in parts):
        raise ConcretizationError(
            f"a boolean mask that {scope.name} maps picks another number of elements from each example: use np.where(mask, x, 0.0)"
        )
    parts = [one for part in parts for one in _of_numbers(part)]
    has_arrays = any(type(part) in (np.ndarray, Mapped) for part in parts)
    picks = [has_arrays and not (part is None or part is Ellipsis or type(part) is slice) for part in parts]
    arrays = [part for part, picked in zip(parts, picks, strict=True) if picked]
    axes = max(map(np.ndim, arrays), default=0)
    first = picks.index(True) if arrays else 0
    is_split = bool(arrays) and not all(picks[first : len(picks) - picks[::-1].index(True)])
    if mapping_of(arrays) is not scope:
        return (slice(None), *parts), [axes if is_split else 0], [0]
    hidden = ndim - sum(not (part is None or part is Ellipsis) for part in parts)  # axes that an ellipsis stands for
    before = 0 if is_split else sum(hidden if part is Ellipsis else 1 for part in parts[:first])
    numbers = iter(lined_up(arrays, scope))
    found = [next(numbers) if picked else part for part, picked in zip(parts, picks, strict=True)]
    if not is_in_front:
        return tuple(found), [before], [0]
    examples = np.arange(scope.size).reshape((-1,) + (1,) * axes)
    return (examples, *found), list(range(1, 1 + axes)), list(range(1 + before, 1 + before + axes))


def _of_numbers(part: Any) -> tuple[Any, ...]:
    """A part of an index with arrays of integers for lists and masks."""
    if isinstance(part, list):
        part = np.asarray(part) if part else np.empty(0, np.intp)
    return part.nonzero() if type(part) is np.ndarray and part.dtype == bool and part.ndim else (part,)


def names_once(index: Any) -> bool:
    """Whether it is plain from the kind of index that no element occurs twice."""
    if type(index) is tuple:
        return all(type(part) in _BASIC or (type(part) is Staged and not part.shape) for part in index)
    return type(index) in _BASIC or (index.dtype == bool if type(index) is np.ndarray else type(index) is Staged and not index.shape)


def scattered(x: Any, shape: tuple[int, ...], index: Any, is_unique: bool = False) -> Any:
    """Zeros of a shape, with each element of a plain x added where the index says."""
    out = np.zeros(shape, x.dtype if isinstance(x, (np.ndarray, np.generic)) else np.float64)
    if type(index) in _BASIC or is_unique or names_once(index):
        out[index] = x
    else:
        np.add.at(out, index, x)
    return out


MOVING.update((elements_of, scattered))


def _getitem_transpose(ct: Any, shape: tuple[int, ...], index: Any) -> Any:
    return scattered(ct, shape, index) if type(ct) is np.ndarray and type(index) in _BASIC else scatter(ct, shape, index)


def _pick_mapped(scope: Scope, x: Any, index: Any) -> Any:
    array = x._primal if is_mapped(x, scope) else x
    index, axes, places = with_examples(scope, index, len(shape_of(x)), is_mapped(x, scope))
    return Mapped(np.moveaxis(pick(array, _kept_with(array, index)), axes, places), scope)


def _scatter_mapped(scope: Scope, x: Any, shape: tuple[int, ...], index: Any, is_unique: bool = False) -> Any:
    index, axes, places = with_examples(scope, index, len(shape), True)
    array = np.moveaxis(unhidden(x, scope), places, axes)
    return Mapped(scatter(array, (scope.size, *shape), _kept_with(array, index), is_unique), scope)


def _kept_with(x: Any, index: Any) -> Any:
    """An index as a record of x, if it makes one, is to keep it."""
    return settled_index(index, x._scope) if type(x) is Tracer else index


pick: Any = linear(elements_of, _getitem_transpose, name="getitem", batch=_pick_mapped)
PICK = pick.rule.key
"""What stands for its rule in records."""
scatter: Any = linear(scattered, lambda ct, _, shape, index, is_unique=False: pick(ct, index), name="scatter", batch=_scatter_mapped)
"""Zeros of a shape, with each element of x added where the index says."""


def settled_index(index: Any, scope: Scope | None) -> Any:
    """An index that cannot change any more: lists as arrays, arrays protected, tracers by their values."""
    if type(index) is tuple:
        return tuple(settled_index(part, scope) for part in index)
    if type(index) in _BASIC or type(index) is Mapped:
        return index
    if isinstance(index, list):
        index = np.asarray(index) if index else np.empty(0, np.intp)
    index = raw(index)
    return protect(index, scope) if type(index) is np.ndarray and scope is not None else index


def _pick_traced(x: Tracer, index: Any) -> Any:
    """x[index] where x or the index is mapped, inside of what x is traced for."""
    scope, answer = x._scope, pick(x._primal, index)
    scope.records.append((PICK, x._index, (x.shape, (index,), None)))
    return scope.make(answer, scope, len(scope.records) - 1)


def getitem(x: Tracer, index: Any) -> Any:
    """x[index], basic or advanced.

    Raises:
        IndexError: the index does not fit the shape.
    """
    if type(index) not in _BASIC and not is_basic(index):
        index = settled_index(index, x._scope)
    if OPEN:
        if type(innermost_of((x, index))) is not Tracer:
            return pick(x, index)
        if innermost_of((x._primal, index)) is not None:
            return _pick_traced(x, index)
    value, scope = x._primal, x._scope
    if type(value) is float:
        value = np.float64(value)
    answer = value[index]
    records = scope.records
    position = len(records)
    records.append((PICK, x._index, (value.shape, (index,), None)))
    return scope.make(answer, scope, position)


_take: Any = linear(
    lambda x, indices, axis: np.take(x, indices, axis),
    lambda ct, shape, indices, axis: scatter(ct, shape, (slice(None),) * axis + (indices,)),
    name="take",
    batch=lambda scope, x, indices, axis: pick(x, (slice(None),) * axis + (indices,)),
)


def take(a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Any:
    """numpy.take that also takes tracers, and an index that `vmap` maps where the array is plain.

    Args:
        a: an array or a tracer.
        indices: integers, of any shape.
        axis: the axis to pick along; None for the array raveled.
        out: must be None.
        mode: "raise", "wrap" or "clip": what is done with indices beyond the end.

    Returns:
        The elements, with the axes of `indices` in place of the axis.

    Raises:
        IndexError: with mode "raise", an index is beyond the end.
        ValueError: there is no such mode.
        ConcretizationError: `out` is an array, and something is traced.

    Example:
        >>> from funcgrad import vmap
        >>> vmap(lambda n: take(np.array([1.0, 2.0, 5.0]), n))(np.array([2, 0]))
        array([5., 1.])
    """
    refuse_out("take", out)
    indices = _as_indices(indices)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normalized(axis, len(shape_of(a)))
    size = shape_of(a)[axis]
    if mode == "wrap":
        indices = indices % size
    elif mode == "clip":
        indices = np.clip(indices, 0, size - 1)
    return _take(a, settled_index(indices, a._scope if type(a) is Tracer else None), axis)


def _indexed(x: Any, index: Any) -> Any:
    """x[index] of a tracer, or of a plain array with an index that may be mapped."""
    return x[index] if type(x) in TRACERS else pick(x, index)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """np.take_along_axis, as indexing."""
    indices = as_array(raw(indices))
    if indices.dtype.kind not in "iu":
        raise IndexError(f"take_along_axis needs integer indices, got {indices.dtype}")
    if axis is None:
        return _indexed(np.ravel(arr), indices)
    axis = normalized(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError(f"take_along_axis needs indices with as many axes as the array: got {indices.ndim} and {arr.ndim}")
    grid = [np.arange(size).reshape((-1,) + (1,) * (arr.ndim - 1 - n)) for n, size in enumerate(arr.shape)]
    return _indexed(arr, tuple(indices if n == axis else part for n, part in enumerate(grid)))


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """np.repeat, as taking rows more than once."""
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normalized(axis, len(shape_of(a)))
    return take(a, np.repeat(np.arange(shape_of(a)[axis]), raw(repeats)), axis)


def flip(m: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """np.flip, as slices that run backwards."""
    ndim = len(shape_of(m))
    axes = normalized_axes(axis, ndim)
    return m[tuple(slice(None, None, -1) if n in axes else slice(None) for n in range(ndim))]


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """np.array_split, as slices."""
    axis = normalized(axis, len(shape_of(ary)))
    if type(indices_or_sections) is Tracer:
        indices_or_sections.__index__()  # raises: places to split at must be plain
    parts = np.array_split(np.arange(shape_of(ary)[axis]), indices_or_sections)
    before = (slice(None),) * axis
    along = [slice(int(part[0]), int(part[-1]) + 1) if part.size else slice(0, 0) for part in parts]
    pieces = [(*before, piece) for piece in along]
    return [ary[piece] for piece in pieces]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """np.split, as slices."""
    axis = normalized(axis, len(shape_of(ary)))
    size = shape_of(ary)[axis]
    if isinstance(indices_or_sections, (int, np.integer)) and size % indices_or_sections:
        raise ValueError(f"split needs equal parts: an axis of {size} does not divide into {indices_or_sections}; use np.array_split")
    return array_split(ary, indices_or_sections, axis)


_OPERATIONS: dict[Any, Any] = {
    np.take: take,
    np.take_along_axis: take_along_axis,
    np.repeat: repeat,
    np.flip: flip,
    np.fliplr: lambda m: flip(m, 1),
    np.flipud: lambda m: flip(m, 0),
    np.split: split,
    np.array_split: array_split,
}
register_all(_OPERATIONS)
