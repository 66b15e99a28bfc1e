"""Choosing elements: by conditions, choices, diagonals and triangles, windows, with some deleted or inserted."""

from __future__ import annotations

import copy
import math
import operator
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, Mapped, is_wrong, one_example
from funcgrad.ops.arrays.creation import asarray, laid_out
from funcgrad.ops.arrays.joining import broadcast_arrays
from funcgrad.ops.elementwise import where
from funcgrad.ops.indexing import flip, pick, scatter, take
from funcgrad.ops.structural import (
    along,
    broadcast_to,
    concatenate,
    moveaxis,
    normalized,
    normalized_axes,
    order_of,
    ravel,
    reshape,
    stack,
    swapaxes,
)
from funcgrad.ops.updates import in_dtype
from funcgrad.primitive import register_all
from funcgrad.rules import linear, nondifferentiable
from funcgrad.rules.batching import by_examples, in_front
from funcgrad.rules.constant import of_shapes
from funcgrad.rules.values import as_array, holds_tracer, raw, refuse_out, shape_of, unbroadcast
from funcgrad.staged import check_shape

# ------------------------------------------------------------------------------------------------ by conditions and choices

for _function in (np.nonzero, np.flatnonzero, np.argwhere):
    nondifferentiable(_function)
for _of_shape in (np.tril_indices_from, np.triu_indices_from, np.diag_indices_from):
    nondifferentiable(_of_shape, of_shapes(_of_shape))


def compress(condition: Any, a: Any, axis: int | None = None, out: None = None) -> Any:
    """np.compress."""
    refuse_out("compress", out)
    check_shape("compress", condition)
    condition = as_array(raw(condition))
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return take(asarray(a), np.flatnonzero(condition), axis)


def extract(condition: Any, arr: Any) -> Any:
    """np.extract."""
    check_shape("extract", condition)
    return take(asarray(arr), np.flatnonzero(raw(condition)))


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """np.choose."""
    refuse_out("choose", out)
    number, *arrays = broadcast_arrays(_number_of_choice(raw(a), len(choices), mode), *choices)
    index = (number, *np.ix_(*map(range, number.shape)))
    return pick(stack(arrays), index).astype(_common_dtype(choices), copy=False)


def _number_of_choice(number: Any, choices: int, mode: str) -> Any:
    """Which choice is meant: numbers from 0 on."""
    is_mapped = type(number) is Mapped
    if not is_mapped:
        return np.choose(number, np.arange(choices), mode=mode)  # type: ignore[call-overload]
    if mode == "raise" and is_wrong((number < 0) | (number >= choices)):
        raise ValueError("invalid entry in choice array")
    return np.remainder(number, choices) if mode == "wrap" else np.clip(number, 0, choices - 1)


def _common_dtype(values: Any) -> np.dtype[Any]:
    """The dtype that NumPy finds for all values together, in which Python numbers count for less."""
    return np.result_type(*(each if type(each) in (int, float, complex) else one_example(each) for each in map(raw, values)))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """numpy.select that also takes a tracer for the default alone.

    Args:
        condlist: arrays of booleans.
        choicelist: as many arrays, numbers or tracers: where a condition holds and none before it, its choice is taken.
        default: what is taken where no condition holds.

    Returns:
        An array, or a tracer where a choice is one; all is broadcast together.

    Raises:
        TypeError: a condition is not of booleans.
        ValueError: there are no conditions, or not as many as choices.

    Example:
        >>> import numpy
        >>> from funcgrad import grad
        >>> x = numpy.array([1.0, 2.0, 3.0])
        >>> grad(lambda y: select([x > 2], [x], y).sum())(0.0)
        2.0
    """
    if not holds_tracer(condlist, choicelist, default):
        return np.select(condlist, choicelist, default)
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(f"select needs a choice for each condition, one at least: got {len(choicelist)} for {len(condlist)}")
    conditions = [as_array(raw(condition)) for condition in condlist]
    for n, condition in enumerate(conditions):
        if condition.dtype != bool:
            raise TypeError(f"invalid entry {n} in condlist: should be boolean ndarray")
    dtype = _common_dtype([*choicelist, default])
    result, *choices = (
        each.astype(dtype, copy=False) if type(each) in TRACERS else np.asarray(each, dtype) for each in (default, *choicelist)
    )
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        result = where(condition, choice, result)
    return result


# ------------------------------------------------------------------------------------------------ diagonals and triangles


def _diagonal_transpose(ct: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    axes = normalized_axes((axis1, axis2), len(shape))
    rows = np.arange(shape_of(ct)[-1]) + max(-offset, 0)
    others = tuple(size for n, size in enumerate(shape) if n not in axes)
    last = scatter(ct, (*others, shape[axes[0]], shape[axes[1]]), (..., rows, rows + offset), True)
    return moveaxis(last, (-2, -1), axes)


def _diag_mapped(x: Any, k: int) -> Any:
    if x.ndim != 2:
        return _diagonal(x, k, 1, 2)
    size = x.shape[1] + abs(k)
    rows = np.arange(x.shape[1]) + max(-k, 0)
    return scatter(x, (x.shape[0], size, size), (slice(None), rows, rows + k), True)


def _triangle(function: Any) -> Any:
    """np.tril or np.triu; of a vector NumPy makes a matrix of equal rows first."""

    def of_examples(x: Any, k: int) -> Any:
        if x.ndim == 2:
            x = np.broadcast_to(np.expand_dims(x, 1), (x.shape[0], x.shape[1], x.shape[1]))
        return primitive(x, k)

    primitive = linear(function, lambda ct, shape, k: unbroadcast(function(ct, k), shape), batch=in_front(of_examples))
    return primitive


_diagonal: Any = linear(
    np.diagonal,
    _diagonal_transpose,
    batch=in_front(lambda x, offset, axis1, axis2: _diagonal(x, offset, along(axis1, x.ndim - 1), along(axis2, x.ndim - 1))),
)
_diag = linear(
    np.diag,
    lambda ct, shape, k: np.diagonal(ct, k) if len(shape) == 1 else _diagonal_transpose(ct, shape, k, 0, 1),
    batch=in_front(_diag_mapped),
)
_tril, _triu = _triangle(np.tril), _triangle(np.triu)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """np.diagonal."""
    return _diagonal(a, offset, axis1, axis2)


def diag(v: Any, k: int = 0) -> Any:
    """np.diag."""
    return _diag(v, k)


def diagflat(v: Any, k: int = 0) -> Any:
    """np.diagflat."""
    return _diag(ravel(v), k)


def tril(m: Any, k: int = 0) -> Any:
    """np.tril."""
    return _tril(m, k)


def triu(m: Any, k: int = 0) -> Any:
    """np.triu."""
    return _triu(m, k)


# ------------------------------------------------------------------------------------------------ more or fewer elements


def _kept(size: int, obj: Any) -> np.ndarray:
    return np.delete(np.arange(size), obj)


_delete: Any = linear(
    np.delete,
    lambda ct, shape, obj, axis: scatter(ct, shape, (slice(None),) * axis + (_kept(shape[axis], obj),), True),
    batch=in_front(lambda x, obj, axis: _delete(x, obj, axis + 1)),
)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """np.delete."""
    if axis is None:
        arr, axis = ravel(arr), 0
    axis, obj = normalized(axis, len(shape_of(arr))), raw(obj)
    return _delete(arr, obj if isinstance(obj, (int, slice)) else copy.copy(obj), axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """np.insert."""
    arr, values, obj = asarray(arr), asarray(values), raw(obj)
    if axis is None:
        arr, axis = ravel(arr), 0
    shape = shape_of(arr)
    axis = normalized(axis, len(shape))
    values = in_dtype(values, arr.dtype, "np.insert")
    missing = len(shape) - len(shape_of(values))
    values = reshape(values, (1,) * missing + shape_of(values)) if missing > 0 else values
    if not isinstance(obj, slice) and np.ndim(obj) == 0:
        values = moveaxis(values, 0, axis)
    elif missing < 0 and math.prod(shape_of(values)[:-missing]) == 1:  # axes of size 1 in front, as in any assignment
        values = reshape(values, shape_of(values)[-missing:])
    # NumPy inserts the numbers that the new elements have among all: that says where each of them goes.
    size = shape[axis]
    new = np.insert(np.arange(size), obj, np.arange(size, size + max(shape_of(values)[axis], 1)))
    values = broadcast_to(values, (*shape[:axis], len(new) - size, *shape[axis + 1 :]))
    return laid_out(take(concatenate([arr, values], axis), new, axis), order_of(arr))


@by_examples
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """np.trim_zeros."""
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    ndim = len(shape_of(filt))
    axes = normalized_axes(axis, ndim)
    check_shape("trim_zeros", filt)
    kept = np.argwhere(raw(filt))
    first, last = (kept.min(0), kept.max(0) + 1) if len(kept) else (np.zeros(ndim, int), np.zeros(ndim, int))
    starts, stops = "f" in trim or not len(kept), "b" in trim or not len(kept)
    whole = slice(None)
    return filt[tuple(slice(first[n] if starts else None, last[n] if stops else None) if n in axes else whole for n in range(ndim))]


def resize(a: Any, new_shape: Any) -> Any:
    """np.resize."""
    new_shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
    if any(size < 0 for size in new_shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat = ravel(a)
    size = shape_of(flat)[0]
    if not size:
        return np.resize(raw(a), new_shape)
    return reshape(take(flat, np.arange(math.prod(new_shape)) % size), new_shape)


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    """np.rot90."""
    one, two = normalized_axes(tuple(axes), len(shape_of(m)))
    k = (operator.index(k) if type(k) in TRACERS else k) % 4
    if k % 2 == 0:
        return flip(m, (one, two)) if k else m[...]
    return swapaxes(flip(m, two), one, two) if k == 1 else flip(swapaxes(m, one, two), two)


def ix_(*args: Any) -> tuple[Any, ...]:
    """np.ix_."""
    return tuple(
        reshape(asarray(part), (1,) * n + shape_of(part) + (1,) * (len(args) - n - 1)) for n, part in enumerate(map(_cross_index, args))
    )


def _cross_index(new: Any) -> Any:
    new = asarray(new)
    if len(shape_of(new)) != 1:
        raise ValueError("Cross index must be 1 dimensional")
    if new.dtype == bool:
        return np.flatnonzero(new)
    return new if new.size else raw(new).astype(np.intp)


# ------------------------------------------------------------------------------------------------ windows

_windows_of: Any = np.lib.stride_tricks.sliding_window_view


def _overlap(windows: Any, shape: tuple[int, ...], window: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Windows added up where they overlap: the loop goes over the places in a window."""
    out = np.zeros(shape, windows.dtype)
    counts = windows.shape[: len(shape)]
    for place in np.ndindex(*window):
        starts = [0] * len(shape)
        for axis, n in zip(axes, place, strict=True):
            starts[axis] += n
        target = tuple(slice(start, start + count) for start, count in zip(starts, counts, strict=True))
        out[target] += windows[(slice(None),) * len(shape) + place]
    return out


_windows: Any = linear(
    _windows_of,
    lambda ct, shape, window, axes: overlapped(ct, shape, window, axes),
    batch=in_front(lambda x, window, axes: _windows(x, window, tuple(n + 1 for n in axes))),
)
overlapped: Any = linear(
    _overlap,
    lambda ct, _, shape, window, axes: _windows(ct, window, axes),
    name="overlapping_windows",
    batch=in_front(lambda x, shape, window, axes: overlapped(x, (x.shape[0], *shape), window, tuple(n + 1 for n in axes))),
)


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Any:
    """np.lib.stride_tricks.sliding_window_view."""
    window = (window_shape,) if isinstance(window_shape, (int, np.integer)) else tuple(window_shape)
    ndim = len(shape_of(x))
    axes = (
        tuple(range(ndim)) if axis is None else tuple(normalized(n, ndim) for n in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    )
    return _windows(x, window, axes)


_OPERATIONS: dict[Any, Any] = {
    np.choose: choose,
    np.compress: compress,
    np.delete: delete,
    np.diag: diag,
    np.diagflat: diagflat,
    np.diagonal: diagonal,
    np.extract: extract,
    np.insert: insert,
    np.ix_: ix_,
    np.resize: resize,
    np.rot90: rot90,
    np.select: select,
    np.tril: tril,
    np.triu: triu,
    np.trim_zeros: trim_zeros,
    _windows_of: sliding_window_view,
}
register_all(_OPERATIONS)
