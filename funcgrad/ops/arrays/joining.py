"""Putting arrays together and taking them apart: stacks, blocks, grids, splits. All is composed from concatenation, shapes and slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.indexing import split
from funcgrad.ops.structural import broadcast_to, concatenate, moveaxis, ravel, reshape
from funcgrad.primitive import register_all
from funcgrad.rules.values import shape_of

_SEVERAL: Any = type(np.broadcast_arrays(0.0, 0.0))
"""What NumPy returns several arrays in: tuples, lists before NumPy 2."""


def _with_axes(array: Any, ndim: int, behind: int = 0) -> Any:
    """An array of `ndim` axes at least: new ones of size 1 come in front, but for the last `behind` of those there are to be."""
    shape = shape_of(array)
    missing = ndim - len(shape)
    last = min(missing, behind) if len(shape) else 0
    return reshape(array, (1,) * (missing - last) + shape + (1,) * last) if missing > 0 else array


def _at_least(ndim: int, behind: int) -> Any:
    def operation(*arys: Any) -> Any:
        found = [_with_axes(asarray(array), ndim, behind) for array in arys]
        return found[0] if len(found) == 1 else _SEVERAL(found)

    return operation


atleast_1d, atleast_2d, atleast_3d = _at_least(1, 0), _at_least(2, 0), _at_least(3, 1)


def _joined(arrays: Any, ndim: int, behind: int, axis: int, options: dict[str, Any]) -> Any:
    return concatenate([_with_axes(asarray(array), ndim, behind) for array in arrays], axis, **options)


def hstack(tup: Any, **options: Any) -> Any:
    """np.hstack."""
    arrays = [_with_axes(asarray(array), 1) for array in tup]
    return concatenate(arrays, 0 if arrays and len(shape_of(arrays[0])) == 1 else 1, **options)


def vstack(tup: Any, **options: Any) -> Any:
    """np.vstack."""
    return _joined(tup, 2, 0, 0, options)


def dstack(tup: Any) -> Any:
    """np.dstack."""
    return _joined(tup, 3, 1, 2, {})


def column_stack(tup: Any) -> Any:
    """np.column_stack."""
    arrays = [asarray(array) for array in tup]
    return concatenate([reshape(array, (-1, 1)) if len(shape_of(array)) < 2 else array for array in arrays], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """np.append."""
    arr, values = asarray(arr), asarray(values)
    return concatenate([ravel(arr), ravel(values)]) if axis is None else concatenate([arr, values], axis)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(each) for each in arrays}
    if not depths:
        raise ValueError("np.block: a list without arrays in it")
    if len(depths) > 1:
        raise ValueError("np.block: the lists are nested to different depths")
    return 1 + depths.pop()


def block(arrays: Any) -> Any:
    """np.block."""
    depth = _depth(arrays)

    def innermost(nested: Any) -> int:
        return max(map(innermost, nested)) if isinstance(nested, list) else len(shape_of(asarray(nested)))

    ndim = max(depth, innermost(arrays))

    def joined(nested: Any, level: int) -> Any:
        if isinstance(nested, list):
            return concatenate([joined(each, level - 1) for each in nested], -level)
        return _with_axes(asarray(nested), ndim)

    return joined(arrays, depth)


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """np.broadcast_arrays."""
    arrays = [asarray(array) for array in args]
    shape = np.broadcast_shapes(*map(shape_of, arrays))
    return _SEVERAL(array if shape_of(array) == shape else broadcast_to(array, shape) for array in arrays)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """np.meshgrid."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    axes = list(range(len(xi)))
    if indexing == "xy":
        axes[:2] = axes[:2][::-1]
    grids = [reshape(asarray(x), tuple(-1 if n == axis else 1 for n in range(len(xi)))) for axis, x in zip(axes, xi, strict=True)]
    grids = grids if sparse else list(broadcast_arrays(*grids))
    several: Any = type(np.meshgrid(*[0.0] * len(xi), copy=copy, sparse=sparse))
    return several(grid if type(grid) in TRACERS or not copy else grid.copy() for grid in grids)


def _splitting(name: str, least: int, axis: int) -> Any:
    def operation(ary: Any, indices_or_sections: Any) -> Any:
        ndim = len(shape_of(ary))
        if ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, min(axis, ndim - 1))

    return operation


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """np.unstack."""
    if not shape_of(x):
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(x, axis, 0))


_OPERATIONS: dict[Any, Any] = {
    np.append: append,
    np.atleast_1d: atleast_1d,
    np.atleast_2d: atleast_2d,
    np.atleast_3d: atleast_3d,
    np.block: block,
    np.broadcast_arrays: broadcast_arrays,
    np.column_stack: column_stack,
    np.dsplit: _splitting("dsplit", 3, 2),
    np.dstack: dstack,
    np.hsplit: _splitting("hsplit", 1, 1),
    np.hstack: hstack,
    np.meshgrid: meshgrid,
    np.vsplit: _splitting("vsplit", 2, 0),
    np.vstack: vstack,
    getattr(np, "unstack", None): unstack,
}
register_all(_OPERATIONS)
