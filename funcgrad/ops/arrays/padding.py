"""np.pad: an array grown along each axis in turn by what the mode puts at its two ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.mapped import Mapped, is_any
from funcgrad.ops.arrays.creation import asarray, laid_out
from funcgrad.ops.arrays.ranges import linspace
from funcgrad.ops.indexing import flip
from funcgrad.ops.structural import broadcast_to, concatenate, normalized, order_of
from funcgrad.ops.updates import in_dtype
from funcgrad.primitive import register
from funcgrad.rules import linear
from funcgrad.rules.batching import by_examples, in_front
from funcgrad.rules.values import holds_tracer, shape_of

Width = tuple[int, int]
Ends = Callable[[Any, int, Width], tuple[Any, Any]]
"""What comes before and after an array along an axis; of size 1 there, or of the width."""

_pad_zeros: Any = linear(
    np.pad,
    lambda ct, shape, widths: ct[tuple(slice(low, low + size) for (low, _), size in zip(widths, shape, strict=True))],
    batch=in_front(lambda x, widths: _pad_zeros(x, ((0, 0), *widths))),
)


def _widths(pad_width: Any, ndim: int) -> tuple[Width, ...]:
    if isinstance(pad_width, dict):
        found = {normalized(axis, ndim): (pair if isinstance(pair, (tuple, list)) else (pair, pair)) for axis, pair in pad_width.items()}
        pad_width = [found.get(n, (0, 0)) for n in range(ndim)] or 0
    if np.asarray(pad_width).dtype.kind not in "iu":
        raise TypeError(f"pad_width must be integers, got {pad_width!r}")
    widths = tuple((int(low), int(high)) for low, high in np.broadcast_to(pad_width, (ndim, 2)))
    if any(low < 0 or high < 0 for low, high in widths):
        raise ValueError(f"pad_width must not be negative, got {pad_width!r}")
    return widths


def _block(end: Any, array: Any, axis: int, size: int) -> Any:
    shape = (*array.shape[:axis], size, *array.shape[axis + 1 :])
    end = in_dtype(end, array.dtype, "np.pad")
    return end if end.shape == shape else broadcast_to(end, shape)


def _grown(array: Any, widths: tuple[Width, ...], ends: Ends) -> Any:
    order = order_of(array)  # which the last digits of means depend on
    for axis, width in enumerate(widths):
        if width != (0, 0):
            low, high = (_block(end, array, axis, size) for end, size in zip(ends(array, axis, width), width, strict=True))
            array = laid_out(concatenate([low, array, high], axis), order)
    return array


def _along(axis: int, *places: Any) -> tuple[Any, ...]:
    return (slice(None),) * axis + places


def _pairs(values: Any, ndim: int) -> Any:
    return broadcast_to(asarray(values), (ndim, 2))


def _constants(values: Any, ndim: int) -> Ends:
    pairs = _pairs(values, ndim)
    return lambda array, axis, width: (pairs[axis, 0], pairs[axis, 1])


def _ramps(values: Any, ndim: int) -> Ends:
    pairs = _pairs(values, ndim)

    def ends(array: Any, axis: int, width: Width) -> tuple[Any, Any]:
        low, high = (
            linspace(pairs[axis, side], array[_along(axis, -side)], width[side], False, dtype=array.dtype, axis=axis) for side in (0, 1)
        )
        return low, flip(high, axis)

    return ends


_STATISTICS: dict[str, Any] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def _statistics(mode: str, lengths: Any, ndim: int) -> Ends:
    def ends(array: Any, axis: int, width: Width) -> tuple[Any, Any]:
        size = array.shape[axis]
        low, high = (size, size) if lengths is None else (min(int(n), size) for n in np.broadcast_to(lengths, (ndim, 2))[axis])
        if not (low and high) and mode in ("maximum", "minimum"):
            raise ValueError("stat_length of 0 yields no value for padding")
        first, last = slice(0, low), slice(size - high, size)
        return tuple(_STATISTICS[mode](array[_along(axis, part)], axis=axis, keepdims=True) for part in (first, last))

    return ends


def _odd(array: Any, axis: int, width: Width, has_edge: bool, period: int) -> Any:
    """Point reflections at the two ends, one period after the other where the width asks for more."""
    low, high = width
    while low or high:
        size = array.shape[axis]
        length = size // period * period if has_edge else (size - 1) // (period - 1) * (period - 1)
        skip = 0 if has_edge else 1
        before, after = min(length, low), min(length, high)
        first, last = array[_along(axis, slice(0, 1))], array[_along(axis, slice(size - 1, size))]
        parts = [
            2 * first - flip(array[_along(axis, slice(skip, skip + before))], axis),
            array,
            2 * last - flip(array[_along(axis, slice(size - skip - after, size - skip))], axis),
        ]
        array = concatenate([part for part in parts if part.shape[axis]], axis)
        low, high = low - before, high - after
    return array


def _by_index(array: Any, widths: tuple[Width, ...], mode: str, options: dict[str, Any]) -> Any:
    """The modes that repeat elements of the array."""
    order = order_of(array)
    is_odd = options.get("reflect_type", "even") == "odd"
    for axis, width in enumerate(widths):
        size = array.shape[axis]
        if width == (0, 0):
            continue
        if is_odd and size > 1:
            array = _odd(array, axis, width, mode == "symmetric", size)
        else:
            array = np.take(array, np.pad(np.arange(size), width, mode, **options), axis)  # type: ignore[call-overload]
    return laid_out(array, order)


_OPTION = {
    "constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type", "symmetric": "reflect_type",
    "edge": "", "wrap": "", "empty": "", **dict.fromkeys(_STATISTICS, "stat_length"),
}  # fmt: skip


def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """numpy.pad that also takes tracers for what is put around a plain array.

    Args:
        array: an array or a tracer, of any shape.
        pad_width: how many elements to put before and after it along each axis, as for NumPy.
        mode: any of NumPy's modes.
        **options: NumPy's `constant_values`, `end_values`, `stat_length` or `reflect_type`.

    Returns:
        An array, or a tracer where a tracer is among the arguments. What mode "empty" puts there are zeros then.

    Raises:
        NoRuleError: the mode is a function, which would write into its argument.
        ValueError: there is no such mode, or it has no such option.

    Example:
        >>> import numpy
        >>> from funcgrad import grad
        >>> grad(lambda border: pad(numpy.ones(3), 2, constant_values=border).sum())(0.5)
        4.0
    """
    if not holds_tracer(array, options):
        return np.pad(array, pad_width, mode, **options)
    if callable(mode):
        raise NoRuleError("np.pad with a function for a mode has no derivative rule, for it writes into an array: use np.concatenate")
    if mode not in _OPTION or set(options) - {_OPTION[mode]}:
        raise ValueError(f"np.pad has no mode {mode!r} with the options {sorted(options)}; the modes and their options: {_OPTION}")
    array = asarray(array)
    if type(array) is Mapped and array.dtype.kind not in "fc":  # NumPy rounds what it puts there
        return by_examples(np.pad)(array, pad_width, mode, **options)
    ndim = len(shape_of(array))
    widths = _widths(pad_width, ndim)
    option = options.get(_OPTION[mode])
    if mode in _STATISTICS:
        return _grown(array, widths, _statistics(mode, option, ndim))
    if mode == "linear_ramp":
        return _grown(array, widths, _ramps(0 if option is None else option, ndim))
    if mode in ("constant", "empty"):
        is_zero = option is None or (not holds_tracer(option) and not is_any(option))
        return _pad_zeros(array, widths) if is_zero else _grown(array, widths, _constants(option, ndim))
    return _by_index(array, widths, mode, options)


register(np.pad, pad)
