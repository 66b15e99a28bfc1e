"""Indexing: `x[index]` of every kind, its transpose, and what is composed from them.

The transpose of picking elements is adding them back where they came from: elements that were picked twice add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.structural import normalized, normalized_axes
from funcgrad.primitive import register
from funcgrad.rules import linear
from funcgrad.rules.values import raw, refuse_out, shape_of
from funcgrad.tape import protect
from funcgrad.tracer import Tracer

_NO_OPTIONS: dict[str, Any] = {}
_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def _is_basic(index: Any) -> bool:
    """Whether NumPy answers with a view, in which no element occurs twice."""
    if type(index) is tuple:
        return all(type(part) in _BASIC for part in index)
    return type(index) in _BASIC


def _getitem(x: Any, index: Any) -> Any:
    return np.float64(x)[index] if type(x) is float else x[index]


def _as_indices(indices: Any) -> Any:
    """Indices as NumPy's functions take them: an empty list names nothing, and booleans are 0 and 1."""
    indices = np.asarray(raw(indices))
    return indices.astype(np.intp) if indices.dtype == bool or not indices.size else indices


def _scatter(x: Any, shape: tuple[int, ...], index: Any) -> Any:
    out = np.zeros(shape, x.dtype if isinstance(x, (np.ndarray, np.generic)) else np.float64)
    if type(index) in _BASIC or _is_basic(index) or (type(index) is np.ndarray and index.dtype == bool):
        out[index] = x
    else:
        np.add.at(out, index, x)
    return out


def _getitem_transpose(ct: Any, shape: tuple[int, ...], index: Any) -> Any:
    if type(ct) is np.ndarray and type(index) in _BASIC:  # the hot path of _scatter
        out = np.zeros(shape, ct.dtype)
        out[index] = ct
        return out
    return scatter(ct, shape, index)


_pick: Any = linear(_getitem, _getitem_transpose, name="getitem")
scatter: Any = linear(_scatter, lambda ct, _, shape, index: ct[index], name="scatter")


def _settled(index: Any, x: Tracer) -> Any:
    """An index that cannot change any more: lists as arrays, arrays protected, tracers by their values."""
    if type(index) is tuple:
        return tuple(_settled(part, x) for part in index)
    if type(index) in _BASIC:
        return index
    if isinstance(index, list):
        index = np.asarray(index) if index else np.empty(0, np.intp)
    index = raw(index)
    return protect(index, x._scope) if type(index) is np.ndarray else index


def getitem(x: Tracer, index: Any) -> Any:
    """x[index], basic or advanced.

    Raises:
        IndexError: the index does not fit the shape.
    """
    if type(index) not in _BASIC and not _is_basic(index):
        index = _settled(index, x)
    value, scope = x._primal, x._scope
    if type(value) is float:
        value = np.float64(value)
    answer = value[index]
    records = scope.records
    position = len(records)
    records.append((_pick.rule, x._index, (value.shape, (index,), _NO_OPTIONS)))
    return scope.make(answer, scope, position)


def take(a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Any:
    """np.take, as indexing."""
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
    return a[(slice(None),) * axis + (indices,)]


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """np.take_along_axis, as indexing."""
    indices = np.asarray(raw(indices))
    if indices.dtype.kind not in "iu":
        raise IndexError(f"take_along_axis needs integer indices, got {indices.dtype}")
    if axis is None:
        return np.ravel(arr)[indices]
    axis = normalized(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError(f"take_along_axis needs indices with as many axes as the array: got {indices.ndim} and {arr.ndim}")
    grid = [np.arange(size).reshape((-1,) + (1,) * (arr.ndim - 1 - n)) for n, size in enumerate(arr.shape)]
    return arr[tuple(indices if n == axis else part for n, part in enumerate(grid))]


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


class _Updater:
    """`x.at[index]`: out-of-place changes of some elements."""

    __slots__ = ("_index", "_x")

    def __init__(self, x: Tracer, index: Any) -> None:
        self._x = x
        self._index = index if _is_basic(index) else _settled(index, x)

    def get(self) -> Any:
        """x[index]."""
        return _pick(self._x, self._index)

    def add(self, values: Any) -> Any:
        """x with `values` added to the elements; an element that the index names twice gets both."""
        return self._x + scatter(self._spread(values), self._x.shape, self._index)

    def set(self, values: Any) -> Any:
        """x with the elements replaced. An index that names an element twice is refused: which value wins would be chance."""
        hits = _scatter(np.ones(self.get().shape), self._x.shape, self._index)
        if (hits > 1).any():
            raise IndexError(f"x.at[index].set(v) with an index that names an element more than once: {self._index!r}")
        return np.where(hits == 1, scatter(self._spread(values), self._x.shape, self._index), self._x)

    def _spread(self, values: Any) -> Any:
        """One value for each element that the index picks, in x's dtype."""
        dtype = self._x.dtype
        values = (values if values.dtype == dtype else values.astype(dtype)) if type(values) is Tracer else np.asarray(values, dtype)
        return np.broadcast_to(values, self.get().shape)


class At:
    """The property `x.at`."""

    __slots__ = ("_x",)

    def __init__(self, x: Tracer) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> _Updater:
        return _Updater(self._x, index)


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
for _function, _operation in _OPERATIONS.items():
    register(_function, _operation)
