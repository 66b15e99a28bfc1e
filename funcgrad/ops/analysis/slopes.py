"""np.gradient: the slope at each point of a line, from the points beside it (Fornberg, 1988)."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS
from funcgrad.ops.arrays.creation import asanyarray
from funcgrad.ops.structural import concatenate, expand_dims, normalized_axes, reshape
from funcgrad.primitive import register
from funcgrad.rules import general
from funcgrad.rules.values import raw, shape_of

_COLLECTION: Any = type(np.gradient(np.zeros((2, 2))))  # of the slopes along several axes: a list to NumPy 1, a tuple to NumPy 2

# NumPy takes a shorter formula where points happen to lie at equal distances. Its derivative in the places of the points is not that of the
# slope, so with traced places the derivative is that of the long formula; the value is NumPy's own all the same.
_as_numpy = general(
    lambda slope, f, x, axis, edge_order: np.gradient(f, x, axis=axis, edge_order=edge_order),
    jvps=[lambda t, *_: t, *[lambda t, ans, slope, *_: np.zeros(shape_of(slope), slope.dtype)] * 2],
    vjps=[
        lambda ct, *_: ct,
        lambda ct, ans, slope, f, *_: np.zeros(shape_of(f), f.dtype),
        lambda ct, ans, slope, f, x, *_: np.zeros(shape_of(x), x.dtype),
    ],
    keeps="",
    name="gradient",
)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """np.gradient, in the values and in the distances or places of the points."""
    f = asanyarray(f)
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    axes = normalized_axes(axis, f.ndim)
    spacings = _spacings(f.shape, varargs, axes)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if any(f.shape[n] <= edge_order for n in axes):
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required.")
    slopes = [_slope(f, n, spacing, edge_order) for n, spacing in zip(axes, spacings, strict=True)]
    return slopes[0] if len(axes) == 1 else _COLLECTION(slopes)


def _spacings(shape: tuple[int, ...], varargs: tuple[Any, ...], axes: tuple[int, ...]) -> list[Any]:
    """For each axis the distance between neighbors, if that is a number, or the places of the points."""
    if not varargs:
        return [1.0] * len(axes)
    if len(varargs) == 1 and np.ndim(raw(varargs[0])) == 0:
        return list(varargs) * len(axes)
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    spacings = [one if np.ndim(raw(one)) == 0 else asanyarray(one) for one in varargs]
    for one, n in zip(spacings, axes, strict=True):
        if len(shape_of(one)) > 1:
            raise ValueError("distances must be either scalars or 1d")
        if shape_of(one) and one.shape[0] != shape[n]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    return spacings


def _slope(f: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """The slopes along one axis."""
    if not shape_of(spacing):
        parts = _even(f, axis, spacing, edge_order)
    else:
        x = spacing.astype(np.float64) if spacing.dtype.kind in "iu" else spacing
        step = x[1:] - x[:-1]
        if type(x) not in TRACERS and (step == step[0]).all():
            parts = _even(f, axis, step[0], edge_order)
        else:
            parts = _uneven(f, axis, step, edge_order)
    inner, first, last = (part if f.dtype == bool else part.astype(f.dtype, copy=False) for part in parts)
    slope = concatenate([expand_dims(first, axis), inner, expand_dims(last, axis)], axis)
    return _as_numpy(slope, f, spacing, axis, edge_order) if type(spacing) in TRACERS and spacing.shape else slope


def _picker(f: Any, axis: int) -> Any:
    def at(index: Any) -> Any:
        where = (*(slice(None),) * axis, index)
        return f[where]

    return at


_BELOW, _MIDDLE, _ABOVE = slice(None, -2), slice(1, -1), slice(2, None)


def _even(f: Any, axis: int, step: Any, edge_order: int) -> tuple[Any, Any, Any]:
    """Slopes inside, at the first and at the last point, all neighbors at one distance."""
    at = _picker(f, axis)
    inner = (at(_ABOVE) - at(_BELOW)) / (2.0 * step)
    if edge_order == 1:
        return inner, (at(1) - at(0)) / step, (at(-1) - at(-2)) / step
    first = (-1.5 / step) * at(0) + (2.0 / step) * at(1) + (-0.5 / step) * at(2)
    return inner, first, (0.5 / step) * at(-3) + (-2.0 / step) * at(-2) + (1.5 / step) * at(-1)


def _uneven(f: Any, axis: int, steps: Any, edge_order: int) -> tuple[Any, Any, Any]:
    """Slopes inside, at the first and at the last point; the steps are the distances of neighbors."""
    at = _picker(f, axis)
    before, after = (reshape(step, (-1, *(1,) * (f.ndim - 1 - axis))) for step in (steps[:-1], steps[1:]))
    both = before + after
    inner = -after / (before * both) * at(_BELOW) + (after - before) / (before * after) * at(_MIDDLE)
    inner = inner + before / (after * both) * at(_ABOVE)
    if edge_order == 1:
        return inner, (at(1) - at(0)) / steps[0], (at(-1) - at(-2)) / steps[-1]
    near, far = steps[0], steps[1]
    first = -(2.0 * near + far) / (near * (near + far)) * at(0) + (near + far) / (near * far) * at(1)
    first = first + -near / (far * (near + far)) * at(2)
    far, near = steps[-2], steps[-1]
    last = near / (far * (far + near)) * at(-3) + -(near + far) / (far * near) * at(-2)
    return inner, first, last + (2.0 * near + far) / (near * (far + near)) * at(-1)


register(np.gradient, gradient)
