"""`x.at[index]`: x with some elements changed, as a new array."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import InputTypeError
from funcgrad.mapped import OPEN, TRACERS, Mapped, mapping_of
from funcgrad.ops.elementwise import same
from funcgrad.ops.indexing import elements_of, is_basic, names_once, pick, scatter, settled_index, with_examples
from funcgrad.ops.structural import broadcast_to, ravel, reshape
from funcgrad.rules import general
from funcgrad.rules.batching import BatchRule, as_instruction, by_examples, inner_mapping, unhidden
from funcgrad.rules.values import as_array, placeholder, raw, shape_of
from funcgrad.staged import Staged
from funcgrad.tape import Scope
from funcgrad.tracer import Tracer


def _changed(x: Any, change: Callable[[np.ndarray], Any]) -> Any:
    out = np.array(x)
    change(out)
    return out if isinstance(x, np.ndarray) else out[()]


def _in_examples(operation: Callable[..., Any]) -> BatchRule:
    """The batch rule of `operation(x, values, index)`."""

    def batch(scope: Scope, x: Any, values: Any, index: Any) -> Any:
        moved, axes, places = with_examples(scope, index, len(shape_of(x)), True)
        picked = pick(placeholder(x), index).shape if mapping_of(index) is None else shape_of(values)
        values = unhidden(broadcast_to(values, picked), scope)
        return Mapped(operation(unhidden(x, scope), np.moveaxis(values, places, axes), moved), scope)

    return batch


_put: Any = general(
    lambda x, values, index: _changed(x, lambda out: out.__setitem__(index, values)),
    jvps=[lambda t, ans, x, v, index: _put(t, 0.0, index), lambda t, ans, x, v, index: scatter(t, shape_of(x), index, True)],
    vjps=[lambda ct, ans, x, v, index: _put(ct, 0.0, index), lambda ct, ans, x, v, index: pick(ct, index)],
    keeps="",
    name="at_set",
    batch=_in_examples(lambda *args: _put(*args)),
)
_add_at: Any = general(
    lambda x, values, index: _changed(x, lambda out: np.add.at(out, index, values)),
    jvps=[lambda t, ans, x, v, index: t, lambda t, ans, x, v, index: scatter(t, shape_of(x), index)],
    vjps=[lambda ct, ans, x, v, index: ct, lambda ct, ans, x, v, index: pick(ct, index)],
    keeps="",
    name="at_add",
    batch=_in_examples(lambda *args: _add_at(*args)),
)


def _extreme_at(ufunc: Any, name: str) -> Any:
    """The extreme of each element and its new values; all that are tied for it share the derivative equally."""

    def shares(ans: Any, x: Any, v: Any, index: Any) -> tuple[Any, Any]:
        ans, x, v = (as_array(raw(each)) for each in (ans, x, v))
        top = pick(ans, index)
        own, new = (same(a, b).astype(ans.dtype) for a, b in ((x, ans), (v, top)))
        tied = own + scatter(new, ans.shape, index)
        return own / tied, new / pick(tied, index)

    extreme = general(
        lambda x, values, index: _changed(x, lambda out: ufunc.at(out, index, values)),
        jvps=[
            lambda t, ans, x, v, index: t * shares(ans, x, v, index)[0],
            lambda t, ans, x, v, index: scatter(t * shares(ans, x, v, index)[1], shape_of(x), index),
        ],
        vjps=[
            lambda ct, ans, x, v, index: ct * shares(ans, x, v, index)[0],
            lambda ct, ans, x, v, index: pick(ct, index) * shares(ans, x, v, index)[1],
        ],
        name=name,
        batch=_in_examples(lambda *args: extreme(*args)),
    )
    return extreme


_max_at, _min_at = _extreme_at(np.maximum, "at_max"), _extreme_at(np.minimum, "at_min")


def _is_traced(value: Any) -> bool:
    """Whether a derivative is asked for of a value: not of one that is mapped and no more."""
    while type(value) is Mapped:
        value = value._primal
    return type(value) is Tracer


def in_dtype(values: Any, dtype: np.dtype[Any], what: str) -> Any:
    """Values in the dtype of the array that they go into.

    Raises:
        InputTypeError: they would lose their derivative there.
    """
    if type(values) not in TRACERS:
        return values if getattr(values, "dtype", None) == dtype else np.asarray(values, dtype)
    if not np.can_cast(values.dtype, dtype, "same_kind") and _is_traced(values):
        raise InputTypeError(
            f"{what} puts {values.dtype} into an array of {dtype}, where its derivative is lost: use x.astype({values.dtype})"
        )
    return values.astype(dtype, copy=False)


def _by_index(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of `Updates` that goes through the examples one by one where the index itself is mapped."""
    each = by_examples(lambda x, index, *values: method(Updates(x, index), *values))

    @functools.wraps(method)
    def update(self: Updates, *values: Any) -> Any:
        if OPEN and inner_mapping(self._index) is not None:
            return each(self._x, self._index, *values)
        return method(self, *values)

    return update


def _parts(index: Any) -> tuple[Any, ...]:
    return index if type(index) is tuple else (index,)


def _looked_at(index: Any, shape: tuple[int, ...], unknown: Any) -> Any:
    """An index that is not known while a program is recorded: the program sees to it that no element is named twice."""
    part = _once(unknown, index, shape)
    return tuple(part if one is unknown else one for one in index) if type(index) is tuple else part


@as_instruction
def _once(part: np.ndarray, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A part of an index that names no element twice.

    Raises:
        IndexError: it does.
    """
    places = np.arange(math.prod(shape)).reshape(shape)[index].ravel()
    if np.bincount(places).max(initial=0) > 1:
        raise IndexError(
            "a program has x.at[index] with an index that names an element more than once, of which add, max and min alone know"
        )
    return part


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
        return pick(self._x, self._ready(self._x)[0])

    @_by_index
    def set(self, values: Any) -> Any:
        """x with the elements replaced. An index that names an element twice is refused: which value wins would be chance."""
        index, values = self._ready(self._x, values)
        unknown = [part for part in _parts(index) if type(part) is Staged and part.shape]
        if unknown:
            index = _looked_at(index, shape_of(self._x), unknown[0])
        elif not names_once(index) and np.bincount(self._places(index)).max(initial=0) > 1:
            raise IndexError(f"x.at[index].set(v) with an index that names an element more than once: {self._index!r}")
        return _put(self._x, values, index)

    @_by_index
    def add(self, values: Any) -> Any:
        """x with `values` added to the elements; an element that the index names twice gets both."""
        index, values = self._ready(self._x, values)
        return _add_at(self._x, values, index)

    def subtract(self, values: Any) -> Any:
        """x with `values` subtracted; an element that the index names twice loses both."""
        return self.add(-values if hasattr(values, "dtype") else np.negative(values))

    @_by_index
    def multiply(self, values: Any) -> Any:
        """x with the elements multiplied by `values`; an element that the index names twice by both."""
        return self._in_turn(np.multiply, values)

    @_by_index
    def divide(self, values: Any) -> Any:
        """x with the elements divided by `values`; an element that the index names twice by both."""
        return self._in_turn(np.divide, values)

    @_by_index
    def power(self, values: Any) -> Any:
        """x with the elements raised to the powers `values`; an element that the index names twice to one after the other."""
        return self._in_turn(np.power, values)

    @_by_index
    def max(self, values: Any) -> Any:
        """x with each element the largest of itself and its values; all that are tied share the derivative equally."""
        index, values = self._ready(self._x, values)
        return _max_at(self._x, values, index)

    @_by_index
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
        index = self._index if is_basic(self._index) else settled_index(self._index, scope)
        if len(operands) == 1:
            return index, None
        values = in_dtype(operands[1], as_array(raw(self._x)).dtype, "x.at[index]")
        picked = as_instruction(elements_of)(raw(self._x), index).shape
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
        dtype = as_array(raw(self._x)).dtype
        unknown = [part for part in _parts(index) if type(part) is Staged and part.shape]
        if unknown:
            index = _looked_at(index, shape_of(self._x), unknown[0])
        if unknown or names_once(index):
            return _put(self._x, in_dtype(function(pick(self._x, index), values), dtype, "x.at[index]"), index)
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
    return At(x if type(x) in TRACERS or type(x) in (float, int) else np.asarray(x))
