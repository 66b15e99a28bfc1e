"""The methods of ufuncs of two arguments, by NumPy's own steps: `reduce`, `accumulate`, `reduceat`, `outer`.

Owns what holds for any ufunc. Those that are fast or exact in another way (add.reduce is a sum) are registered by their families, which
win. Going step by step may differ from NumPy in the last digit: its loop along one axis is another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, Mapped, one_example
from funcgrad.ops.elementwise import where as pick
from funcgrad.ops.indexing import scatter
from funcgrad.ops.structural import normalized, normalized_axes, unlisted
from funcgrad.primitive import OPERATIONS, PRIMITIVES, Operation, register
from funcgrad.rules import linear
from funcgrad.rules.batching import by_examples, in_front
from funcgrad.rules.values import raw, refuse_out, shape_of

_MISSING = np._NoValue


def _checked(name: str, a: Any, axis: Any, dtype: Any, out: Any) -> tuple[Any, int]:
    """The array in the dtype that is asked for, and its one axis counted from the front."""
    refuse_out(name, out)
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    return a if dtype is None else a.astype(dtype), normalized(0 if axis is None else axis, len(shape_of(a)))


def _in_front(a: Any, axes: tuple[int, ...]) -> Any:
    """An array with some axes made into one, which comes first."""
    a = np.moveaxis(a, axes, tuple(range(len(axes))))
    return np.reshape(a, (math.prod(shape_of(a)[: len(axes)]), *shape_of(a)[len(axes) :]))


def _rows(a: Any, axis: int) -> list[Any]:
    return [a[(slice(None),) * axis + (n,)] for n in range(a.shape[axis])]


def _reduced(ufunc: Any, operation: Operation) -> Operation:
    def reduce(
        array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = _MISSING, where: Any = True
    ) -> Any:
        axes = normalized_axes(axis, len(shape_of(array))) if axis is None or isinstance(axis, tuple) else (axis,)
        if len(axes) != 1:
            ufunc.reduce(one_example(array), axis)  # NumPy's check: the order must not matter
            if where is not True:
                where = _in_front(np.broadcast_to(raw(where), shape_of(array)), axes)
            answer = reduce(_in_front(array, axes), 0, dtype, out, False, initial, where)
            return np.expand_dims(answer, axes) if keepdims else answer
        array, axis = _checked(f"{ufunc.__name__}.reduce", array, axes[0], dtype, out)
        rows, masks = _rows(array, axis), None
        if where is not True:
            masks = _rows(np.broadcast_to(raw(where), array.shape), axis)
        if initial is _MISSING:
            initial = ufunc.identity
            if initial is None and (masks is not None or not rows):
                ufunc.reduce(
                    one_example(array), axis=axis, where=where if where is True else one_example(where)
                )  # NumPy says what is missing
        if initial is not _MISSING and initial is not None:
            rows.insert(0, np.broadcast_to(np.asarray(initial, array.dtype), shape_of(array)[:axis] + shape_of(array)[axis + 1 :]))
            masks = masks and [np.True_, *masks]
        answer = rows[0]
        for n in range(1, len(rows)):
            after = operation(answer, rows[n])
            answer = after if masks is None else pick(masks[n], after, answer)
        if keepdims:
            return np.expand_dims(answer, axis)
        return answer[()] if masks is not None and not shape_of(answer) else answer  # np.where makes an array of a number

    return reduce


def _accumulated(ufunc: Any, operation: Operation) -> Operation:
    def accumulate(array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        array, axis = _checked(f"{ufunc.__name__}.accumulate", array, axis, dtype, out)
        rows = _rows(array, axis)
        for n in range(1, len(rows)):
            rows[n] = operation(rows[n - 1], rows[n])
        return np.stack(rows, axis) if rows else array * 1.0

    return accumulate


def _segments(ufunc: Any) -> Operation:
    def reduceat(array: Any, places: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None, **indices: Any) -> Any:
        if type(raw(places)) is Mapped:
            return by_examples(reduceat)(array, places, axis, dtype, out, **indices)
        array, axis = _checked(f"{ufunc.__name__}.reduceat", array, axis, dtype, out)
        before = (slice(None),) * axis
        reduce = OPERATIONS[(ufunc, "reduce")]
        without: Any = {} if ufunc in (np.multiply, np.maximum, np.minimum) else {"initial": None}  # no identity comes first here
        segments = [(*before, slice(*ends)) for ends in _ends(raw(places), array.shape[axis])]
        return np.stack([reduce(array[segment], axis, **without) for segment in segments], axis)

    return reduceat


def _ends(indices: Any, size: int) -> list[tuple[int, int]]:
    """Where the segments of `reduceat` begin and end: one that does not rise is a single element.

    Raises:
        IndexError: an index is out of range.
    """
    np.add.reduceat(np.zeros(size), indices)  # NumPy's checks
    starts = [int(n) for n in indices]
    return [(n, after) if after > n else (n, n + 1) for n, after in zip(starts, [*starts[1:], size], strict=True)]


def _sum_segments_transpose(ct: Any, shape: tuple[int, ...], indices: Any, axis: int) -> Any:
    ends = _ends(indices, shape[axis])
    members = np.concatenate([np.arange(*one) for one in ends])
    owners = np.repeat(np.arange(len(ends)), [stop - start for start, stop in ends])
    return scatter(np.take(ct, owners, axis), shape, (slice(None),) * axis + (members,))


_sum_segments: Any = linear(
    lambda x, indices, axis: np.add.reduceat(x, indices, axis),
    _sum_segments_transpose,
    name="add.reduceat",
    batch=in_front(lambda x, indices, axis: _sum_segments(x, indices, axis + 1)),
)


def _add_reduceat(array: Any, places: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None, **indices: Any) -> Any:
    if type(raw(places)) is Mapped:
        return by_examples(_add_reduceat)(array, places, axis, dtype, out, **indices)
    array, axis = _checked("add.reduceat", array, axis, dtype, out)
    return _sum_segments(array, np.array(raw(places)), axis)


def outer_of(operation: Operation) -> Operation:
    """ufunc.outer: every element of x with every element of y, the axes of x first."""

    def outer(x: Any, y: Any, **options: Any) -> Any:
        x, y = _strong(x), _strong(y)
        return operation(np.reshape(x, shape_of(x) + (1,) * len(shape_of(y))), y, **options)

    return outer


def _strong(x: Any) -> Any:
    """A list as an array, and a Python number as NumPy's of double precision, which is what `outer` makes of it."""
    if type(raw(x)) in (int, float, complex):
        return x * np.ones(()) if type(x) in TRACERS else np.asarray(x)
    return unlisted(x)


def _constant(method: Callable[..., Any]) -> Operation:
    return lambda *args, **options: method(*map(raw, args), **{key: raw(value) for key, value in options.items()})


def _of_inexact(method: Callable[..., Any], operation: Operation) -> Operation:
    """The operation; mapped values that are whole numbers, and have no derivatives, are NumPy's own."""
    each = by_examples(method)

    def either(array: Any, /, *args: Any, **options: Any) -> Any:
        is_whole = type(array) is Mapped and array.dtype.kind not in "fc"
        return (each if is_whole else operation)(array, *args, **options)

    return either


_COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})
"""They have only `outer` for numbers."""

register((np.add, "reduceat"), _add_reduceat)
for _ufunc in dict.fromkeys(value for value in vars(np).values() if isinstance(value, np.ufunc) and value in OPERATIONS):  # not SciPy's
    if _ufunc.nin == 2 and _ufunc.nout == 1 and _ufunc.signature is None and _ufunc is not np.ldexp:
        _methods: dict[str, Operation] = {
            "reduce": _of_inexact(_ufunc.reduce, _reduced(_ufunc, OPERATIONS[_ufunc])),
            "accumulate": _of_inexact(_ufunc.accumulate, _accumulated(_ufunc, OPERATIONS[_ufunc])),
            "reduceat": _of_inexact(_ufunc.reduceat, _segments(_ufunc)),
            "outer": outer_of(OPERATIONS[_ufunc]),
        }
        for _name, _method in _methods.items():
            if PRIMITIVES.get(_ufunc.__name__) == "nondifferentiable":
                _method = _constant(getattr(_ufunc, _name))
            if (_ufunc, _name) not in OPERATIONS and (_name == "outer" or _ufunc not in _COMPARISONS):
                register((_ufunc, _name), _method)
