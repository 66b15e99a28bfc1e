"""Shapes: operations that move numbers about and change none. All are linear; most are composed from reshape, transpose and indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.primitive import declare, register
from funcgrad.rule import Rule, accumulate
from funcgrad.rules import linear
from funcgrad.rules.values import plain_constant, raw, refuse_out, shape_of, unbroadcast
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


_reshape = linear(np.reshape, lambda ct, shape, _, order="C": np.reshape(ct, shape, order=order))
_transpose = linear(np.transpose, lambda ct, shape, axes: np.transpose(ct, tuple(int(n) for n in np.argsort(axes))))
_broadcast_to = linear(np.broadcast_to, lambda ct, shape, _: unbroadcast(ct, shape))
_roll = linear(np.roll, lambda ct, shape, shift, axis: np.roll(ct, tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, axis))
_pad_zeros = linear(
    np.pad, lambda ct, shape, widths: ct[tuple(slice(low, low + size) for (low, _), size in zip(widths, shape, strict=True))]
)


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """np.reshape."""
    if order != "C":
        order = _settled_order(a, order)
    return _reshape(a, shape, order=order) if order != "C" else _reshape(a, shape)


def _settled_order(a: Any, order: str) -> str:
    """C or F for A and K, by the layout of the array itself, which its cotangent need not share."""
    value = np.asarray(raw(a))
    if order == "K" and not (value.flags.c_contiguous or value.flags.f_contiguous):
        raise NoRuleError('order="K" of an array that is not contiguous has no derivative rule: use "C" or "F"')
    if order in ("A", "K"):
        return "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    return order


def ravel(a: Any, order: str = "C") -> Any:
    """np.ravel."""
    return reshape(a, -1, order)


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
    return _broadcast_to(array, (shape,) if isinstance(shape, int) else tuple(shape))


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """np.roll."""
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), shape_of(a))
    shift = raw(shift)
    return _roll(a, tuple(shift) if isinstance(shift, (tuple, list, np.ndarray)) and np.ndim(shift) else int(shift), axis)


def tile(a: Any, reps: Any) -> Any:
    """np.tile, as a broadcast along new axes."""
    counts = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    shape = shape_of(a)
    ndim = max(len(counts), len(shape))
    counts, shape = (1,) * (ndim - len(counts)) + counts, (1,) * (ndim - len(shape)) + shape
    apart = reshape(a, tuple(size for n in shape for size in (1, n)))
    spread = broadcast_to(apart, tuple(size for pair in zip(counts, shape, strict=True) for size in pair))
    return reshape(spread, tuple(math.prod(pair) for pair in zip(counts, shape, strict=True)))


def pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """np.pad with constants, or with elements of the array ("edge", "reflect", "symmetric", "wrap")."""
    shape = shape_of(array)
    if options.get("reflect_type", "even") != "even":
        raise NoRuleError("np.pad(reflect_type='odd') has no derivative rule yet; 'even' has")
    if not isinstance(pad_width, dict) and np.asarray(pad_width).dtype.kind not in "iu":
        raise TypeError(f"pad_width must be integers, got {pad_width!r}")
    pairs = pad_width.items() if isinstance(pad_width, dict) else enumerate(np.broadcast_to(pad_width, (len(shape), 2)).tolist())
    found = {normalized(axis, len(shape)): (pair if isinstance(pair, (tuple, list)) else (pair, pair)) for axis, pair in pairs}
    widths = tuple((int(found.get(n, (0, 0))[0]), int(found.get(n, (0, 0))[1])) for n in range(len(shape)))
    if mode == "constant":
        values = options.pop("constant_values", 0)
        padded = _pad_zeros(array, widths, **options)
        if type(values) is Tracer:
            if values.shape:
                raise NoRuleError("np.pad with several traced constant_values has no derivative rule yet: a single one has")
            padded = np.where(np.pad(np.ones(shape, bool), widths), padded, values)
        elif np.any(np.asarray(values) != 0):
            padded = padded + np.pad(np.zeros(shape, array.dtype), widths, constant_values=values)
        return padded
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise NoRuleError(f"np.pad(mode={mode!r}) has no derivative rule yet; constant, edge, reflect, symmetric and wrap have")
    for axis, width in enumerate(widths):
        if width != (0, 0):
            array = np.take(array, np.pad(np.arange(shape[axis]), width, mode, **options), axis)  # type: ignore[call-overload]
    return array


# Concatenation is linear in a list of operands: one record with a parent for each that is traced.


def _pieces(residual: Any) -> list[tuple[int, Any]]:
    """For each traced operand its number and the index of its part in the whole."""
    traced, shapes, axis = residual
    ends = np.cumsum([shape[axis] for shape in shapes]).tolist()
    return [(n, (slice(None),) * axis + (slice(ends[n] - shapes[n][axis], ends[n]),)) for n in traced]


def _push_concatenate(record: Record, tangents: Any) -> Any:
    traced, shapes, axis = record[-1]
    parts: list[Any] = [None] * len(shapes)
    for parent, n in zip(record[1:-1], traced, strict=True):
        parts[n] = tangents.get(parent)
    dtype = next(part.dtype for part in parts if part is not None)
    return np.concatenate([np.zeros(shape, dtype) if part is None else part for part, shape in zip(parts, shapes, strict=True)], axis)


def _pull_concatenate(cotangent: Any, record: Record, cotangents: Any) -> None:
    for parent, (_, index) in zip(record[1:-1], _pieces(record[-1]), strict=True):
        accumulate(cotangents, parent, cotangent[index])


_CONCATENATE = Rule("concatenate", _push_concatenate, _pull_concatenate, lambda record, index, scope: record)
declare("concatenate", "linear", np.concatenate)


def concatenate(arrays: Any, axis: int | None = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """np.concatenate."""
    refuse_out("concatenate", out)
    arrays = list(arrays)
    if axis is None:
        arrays, axis = [ravel(array) for array in arrays], 0
    traced = [n for n, array in enumerate(arrays) if type(array) is Tracer]
    options: Any = {"casting": casting} if dtype is None else {"casting": casting, "dtype": dtype}
    if not traced:
        return np.concatenate(arrays, axis, **options)
    scope = arrays[traced[0]]._scope
    for n in traced:
        scope = innermost(scope, arrays[n]._scope)
    values = [array._primal if type(array) is Tracer else plain_constant(array) for array in arrays]
    answer = np.concatenate(values, axis, **options)
    index = len(scope.records)
    residual = (traced, [value.shape for value in values], normalized(axis, answer.ndim))
    scope.records.append((_CONCATENATE, *(arrays[n]._index for n in traced), residual))
    return scope.make(answer, scope, index)


def stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """np.stack, as a concatenation along a new axis."""
    refuse_out("stack", out)
    arrays = list(arrays)
    shapes = {shape_of(array) for array in arrays}
    if len(shapes) > 1:
        raise ValueError(f"stack needs arrays of one shape, got {sorted(shapes)}")
    return concatenate([expand_dims(array, axis) for array in arrays], axis, dtype=dtype, casting=casting)


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
    np.pad: pad,
    np.concatenate: concatenate,
    np.stack: stack,
}
for _function, _operation in _OPERATIONS.items():
    register(_function, _operation)
