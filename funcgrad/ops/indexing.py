"""Indexing: `x[index]` of every kind, its transpose, what is composed from them, and `x.at[index]`, which changes elements in a new array.

The transpose of picking elements is adding them back where they came from: elements that were picked twice add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import InputTypeError
from funcgrad.ops.elementwise import same
from funcgrad.ops.structural import broadcast_to, normalized, normalized_axes, ravel, reshape
from funcgrad.primitive import register_all
from funcgrad.rules import general, linear
from funcgrad.rules.values import raw, refuse_out, shape_of
from funcgrad.tape import Scope, protect
from funcgrad.tracer import Tracer

_NO_OPTIONS: dict[str, Any] = {}
_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def is_basic(index: Any) -> bool:
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


def _names_once(index: Any) -> bool:
    """Whether it is plain from the kind of index that no element occurs twice."""
    return type(index) in _BASIC or is_basic(index) or (type(index) is np.ndarray and index.dtype == bool)


def _scatter(x: Any, shape: tuple[int, ...], index: Any, is_unique: bool = False) -> Any:
    out = np.zeros(shape, x.dtype if isinstance(x, (np.ndarray, np.generic)) else np.float64)
    if is_unique or _names_once(index):
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
scatter: Any = linear(_scatter, lambda ct, _, shape, index, is_unique=False: _pick(ct, index), name="scatter")
"""Zeros of a shape, with each element of x added where the index says."""


def _settled(index: Any, scope: Scope | None) -> Any:
    """An index that cannot change any more: lists as arrays, arrays protected, tracers by their values."""
    if type(index) is tuple:
        return tuple(_settled(part, scope) for part in index)
    if type(index) in _BASIC:
        return index
    if isinstance(index, list):
        index = np.asarray(index) if index else np.empty(0, np.intp)
    index = raw(index)
    return protect(index, scope) if type(index) is np.ndarray and scope is not None else index


def getitem(x: Tracer, index: Any) -> Any:
    """x[index], basic or advanced.

    Raises:
        IndexError: the index does not fit the shape.
    """
    if type(index) not in _BASIC and not is_basic(index):
        index = _settled(index, x._scope)
    value, scope = x._primal, x._scope
    if type(value) is float:
        value = np.float64(value)
    answer = value[index]
    records = scope.records
    position = len(records)
    records.append((_pick.rule, x._index, (value.shape, (index,), _NO_OPTIONS)))
    return scope.make(answer, scope, position)


_take: Any = linear(
    lambda x, indices, axis: np.take(x, indices, axis),
    lambda ct, shape, indices, axis: scatter(ct, shape, (slice(None),) * axis + (indices,)),
    name="take",
)


def take(a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Any:
    """np.take."""
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
    return _take(a, _settled(indices, a._scope if type(a) is Tracer else None), axis)


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


# ------------------------------------------------------------------------------------------------ x.at


def _changed(x: Any, change: Callable[[np.ndarray], Any]) -> Any:
    out = np.array(x)
    change(out)
    return out if isinstance(x, np.ndarray) else out[()]


_put: Any = general(
    lambda x, values, index: _changed(x, lambda out: out.__setitem__(index, values)),
    jvps=[lambda t, ans, x, v, index: _put(t, 0.0, index), lambda t, ans, x, v, index: scatter(t, shape_of(x), index, True)],
    vjps=[lambda ct, ans, x, v, index: _put(ct, 0.0, index), lambda ct, ans, x, v, index: _pick(ct, index)],
    keeps="",
    name="at_set",
)
_add_at: Any = general(
    lambda x, values, index: _changed(x, lambda out: np.add.at(out, index, values)),
    jvps=[lambda t, ans, x, v, index: t, lambda t, ans, x, v, index: scatter(t, shape_of(x), index)],
    vjps=[lambda ct, ans, x, v, index: ct, lambda ct, ans, x, v, index: _pick(ct, index)],
    keeps="",
    name="at_add",
)


def _extreme_at(ufunc: Any, name: str) -> Any:
    """The extreme of each element and its new values; all that are tied for it share the derivative equally."""

    def shares(ans: Any, x: Any, v: Any, index: Any) -> tuple[Any, Any]:
        ans, x, v = (np.asarray(raw(each)) for each in (ans, x, v))
        top = ans[index]
        own, new = (same(a, b).astype(ans.dtype) for a, b in ((x, ans), (v, top)))
        tied = own + _scatter(new, ans.shape, index)
        return own / tied, new / tied[index]

    return general(
        lambda x, values, index: _changed(x, lambda out: ufunc.at(out, index, values)),
        jvps=[
            lambda t, ans, x, v, index: t * shares(ans, x, v, index)[0],
            lambda t, ans, x, v, index: scatter(t * shares(ans, x, v, index)[1], shape_of(x), index),
        ],
        vjps=[
            lambda ct, ans, x, v, index: ct * shares(ans, x, v, index)[0],
            lambda ct, ans, x, v, index: _pick(ct, index) * shares(ans, x, v, index)[1],
        ],
        name=name,
    )


_max_at, _min_at = _extreme_at(np.maximum, "at_max"), _extreme_at(np.minimum, "at_min")


def in_dtype(values: Any, dtype: np.dtype[Any], what: str) -> Any:
    """Values in the dtype of the array that they go into.

    Raises:
        InputTypeError: they would lose their derivative there.
    """
    if type(values) is not Tracer:
        return values if getattr(values, "dtype", None) == dtype else np.asarray(values, dtype)
    if not np.can_cast(values.dtype, dtype, "same_kind"):
        raise InputTypeError(
            f"{what} puts {values.dtype} into an array of {dtype}, where its derivative is lost: use x.astype({values.dtype})"
        )
    return values.astype(dtype, copy=False)


class Updates:
    """`x.at[index]`: x with some elements changed, as a new array; x stays as it is.

    The values are broadcast to the elements that the index picks, in x's dtype.
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: Any, index: Any) -> None:
        self._x = x
        self._index = index

    def get(self) -> Any:
        """x[index]."""
        return _pick(self._x, self._ready(self._x)[0])

    def set(self, values: Any) -> Any:
        """x with the elements replaced. An index that names an element twice is refused: which value wins would be chance."""
        index, values = self._ready(self._x, values)
        if not _names_once(index) and np.bincount(self._places(index)).max(initial=0) > 1:
            raise IndexError(f"x.at[index].set(v) with an index that names an element more than once: {self._index!r}")
        return _put(self._x, values, index)

    def add(self, values: Any) -> Any:
        """x with `values` added to the elements; an element that the index names twice gets both."""
        index, values = self._ready(self._x, values)
        return _add_at(self._x, values, index)

    def subtract(self, values: Any) -> Any:
        """x with `values` subtracted; an element that the index names twice loses both."""
        return self.add(-values if hasattr(values, "dtype") else np.negative(values))

    def multiply(self, values: Any) -> Any:
        """x with the elements multiplied by `values`; an element that the index names twice by both."""
        return self._in_turn(np.multiply, values)

    def divide(self, values: Any) -> Any:
        """x with the elements divided by `values`; an element that the index names twice by both."""
        return self._in_turn(np.divide, values)

    def power(self, values: Any) -> Any:
        """x with the elements raised to the powers `values`; an element that the index names twice to one after the other."""
        return self._in_turn(np.power, values)

    def max(self, values: Any) -> Any:
        """x with each element the largest of itself and its values; all that are tied share the derivative equally."""
        index, values = self._ready(self._x, values)
        return _max_at(self._x, values, index)

    def min(self, values: Any) -> Any:
        """x with each element the smallest of itself and its values; all that are tied share the derivative equally."""
        index, values = self._ready(self._x, values)
        return _min_at(self._x, values, index)

    def apply(self, function: Callable[[Any], Any]) -> Any:
        """x with the elements replaced by `function` of them."""
        return self.set(function(self.get()))

    def _ready(self, *operands: Any) -> tuple[Any, Any]:
        """The index, safe from changes while a tracer is among the operands; the values, one for each element that it picks."""
        scope = next((operand._scope for operand in operands if type(operand) is Tracer), None)
        index = self._index if is_basic(self._index) else _settled(self._index, scope)
        if len(operands) == 1:
            return index, None
        values = in_dtype(operands[1], np.asarray(raw(self._x)).dtype, "x.at[index]")
        picked = _getitem(raw(self._x), index).shape
        return index, values if shape_of(values) == picked else broadcast_to(values, picked)

    def _places(self, index: Any) -> Any:
        """For each element picked its place in x, counted through."""
        shape = shape_of(self._x)
        return np.arange(math.prod(shape)).reshape(shape)[index].ravel()

    def _turns(self, places: Any) -> Any:
        """For each element picked, how many before it have the same place."""
        order = np.argsort(places, kind="stable")
        firsts = np.flatnonzero(np.diff(places[order], prepend=-1))
        turns = np.empty_like(places)
        turns[order] = np.arange(places.size) - np.repeat(firsts, np.diff(firsts, append=places.size))
        return turns

    def _in_turn(self, function: Callable[[Any, Any], Any], values: Any) -> Any:
        """x with the elements `function(element, value)`: where an index names one more often, one value after the other."""
        index, values = self._ready(self._x, values)
        dtype = np.asarray(raw(self._x)).dtype
        if _names_once(index):
            return _put(self._x, in_dtype(function(_pick(self._x, index), values), dtype, "x.at[index]"), index)
        places = self._places(index)
        turns = self._turns(places)
        x, values = ravel(self._x), ravel(values)
        for turn in range(int(turns.max(initial=-1)) + 1):
            chosen = np.flatnonzero(turns == turn)
            at = places[chosen]
            x = _put(x, in_dtype(function(x[at], values[chosen]), dtype, "x.at[index]"), at)
        return reshape(x, shape_of(self._x))


class At:
    """The property `x.at`."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Updates:
        return Updates(self._x, index)


def at(x: Any) -> At:
    """`x.at` for tracers, plain arrays and numbers alike: `at(x)[index].set(v)` is x with some elements changed, as a new array.

    Args:
        x: an array, a number or a tracer; it stays as it is.

    Returns:
        What to index: `at(x)[index]` has the methods `get`, `set`, `add`, `subtract`, `multiply`, `divide`, `power`, `max`, `min` and
        `apply`. Where an index names an element more than once, all of its values count (for `set` and `apply` that is an error).

    Example:
        >>> import numpy
        >>> from funcgrad import grad
        >>> x = numpy.array([1.0, 2.0, 3.0])
        >>> at(x)[1:].set(0.0)
        array([1., 0., 0.])
        >>> at(x)[[0, 0]].add([10.0, 100.0])
        array([111.,   2.,   3.])
        >>> grad(lambda v: at(x)[0].multiply(v).sum())(5.0)
        1.0
    """
    return At(x if type(x) in (Tracer, float, int) else np.asarray(x))


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
