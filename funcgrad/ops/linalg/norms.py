"""Norms of vectors and matrices. A norm has derivative 0 where it is 0; tied elements, rows or singular values share equally."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, Mapped
from funcgrad.ops.elementwise import direction
from funcgrad.ops.linalg.matrices import conj, rounding
from funcgrad.ops.linalg.svd import weigh_pairs
from funcgrad.ops.structural import along, in_rows, normalized_axes
from funcgrad.primitive import register_all
from funcgrad.rules import products
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import raw, shape_of

# A norm's tangent is the sum of the real part of t times weights, which are the same in both directions. They are made here, by order, of
# x, of the norm with its axes kept, and of those axes.


def _inverse(x: Any) -> Any:
    """1 / x, and 0 where x is 0."""
    is_zero = raw(x) == 0
    if not isinstance(raw(x), (np.ndarray, Mapped)):
        return 0.0 if is_zero else 1.0 / x
    return np.where(is_zero, 0.0, 1.0 / np.where(is_zero, 1.0, x))


def _shares(hits: Any, axes: tuple[int, ...]) -> Any:
    """Which elements are the extreme one, as numbers that add up to 1."""
    return hits / np.maximum(np.sum(hits, axes, keepdims=True), 1)


def _of_sum(x: Any, norm: Any, axes: tuple[int, ...]) -> Any:
    return direction(x)


def _of_extreme(x: Any, norm: Any, axes: tuple[int, ...]) -> Any:
    return direction(x) * _shares(np.abs(raw(x)) == raw(norm), axes).astype(raw(norm).dtype)


def _of_power(p: float) -> Callable[..., Any]:
    def weights(x: Any, norm: Any, axes: tuple[int, ...]) -> Any:
        ratio = np.abs(x) * _inverse(norm)
        is_zero = raw(ratio) == 0
        return direction(x) * np.where(is_zero, 0.0, np.where(is_zero, 1.0, ratio) ** (p - 1))

    return weights


def _of_lines(summed: int) -> Callable[..., Any]:
    """Of the largest or smallest sum of absolute values along rows or columns."""

    def weights(x: Any, norm: Any, axes: tuple[int, ...]) -> Any:
        along, across = axes[summed], axes[1 - summed]
        lines = np.add.reduce(np.abs(raw(x)), axis=along, keepdims=True)
        return direction(x) * _shares(lines == raw(norm), (across,)).astype(lines.dtype)

    return weights


def _of_singular_values(weigh: Callable[[Any], Any]) -> Callable[..., Any]:
    def weights(x: Any, norm: Any, axes: tuple[int, ...]) -> Any:
        matrices = np.moveaxis(x, axes, (-2, -1))
        return np.moveaxis(weigh_pairs(weigh(raw(matrices)), matrices), (-2, -1), axes)

    return weights


def _all_pairs(matrices: Any) -> Any:
    return np.ones(min(matrices.shape[-2:]), matrices.real.dtype)


def _extreme_pairs(find: Any) -> Callable[[Any], Any]:
    def weigh(matrices: Any) -> Any:
        s = np.linalg.svd(matrices, compute_uv=False)
        if not s.size:
            return s
        is_tied = np.abs(s - find(s, axis=-1, keepdims=True)) <= rounding(s, max(matrices.shape[-2:]))
        return _shares(is_tied, (-1,)).astype(s.dtype)

    return weigh


_VECTOR: dict[Any, Callable[..., Any]] = {1: _of_sum, np.inf: _of_extreme, -np.inf: _of_extreme}
_MATRIX: dict[Any, Callable[..., Any]] = {
    1: _of_lines(0),
    -1: _of_lines(0),
    np.inf: _of_lines(1),
    -np.inf: _of_lines(1),
    2: _of_singular_values(_extreme_pairs(np.max)),
    -2: _of_singular_values(_extreme_pairs(np.min)),
    "nuc": _of_singular_values(_all_pairs),
}


def _kept(value: Any, x: Any, axis: Any) -> Any:
    """A value for each vector or matrix of x, with axes of size 1 where theirs were."""
    if axis is None and shape_of(value) == ():
        return value
    axes = normalized_axes(axis, len(shape_of(x)))
    return np.reshape(value, tuple(1 if n in axes else size for n, size in enumerate(shape_of(x))))


def _weights(x: Any, ans: Any, ord: Any, axis: Any) -> tuple[Any, Any]:  # noqa: A002
    axes = normalized_axes(axis, len(shape_of(x)))
    of_order = _MATRIX[ord] if len(axes) == 2 else _VECTOR.get(ord) or _of_power(ord)
    return of_order(x, _kept(ans, x, axis), axes), 1.0


def _rules(weights: Callable[..., Any], times: Callable[[Any, Any], Any]) -> Any:
    def jvp(t: Any, ans: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:  # noqa: A002
        weight, factor = weights(x, ans, ord, axis)
        return times(np.sum(np.real(times(t, weight)), axis, keepdims=keepdims), factor)

    def vjp(ct: Any, ans: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:  # noqa: A002
        weight, factor = weights(x, ans, ord, axis)
        return times(_kept(times(np.real(ct), factor), x, axis), weight)

    return [jvp], [vjp]


def _norm_by(weights: Callable[..., Any], name: str) -> Any:
    """A norm whose tangent is a factor for each vector or matrix times the sum of the real parts of t times a weight for each element."""

    def of_examples(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:  # noqa: A002
        ndim = x.ndim - 1
        if axis is not None:
            axis = tuple(along(one, ndim) for one in axis) if isinstance(axis, tuple) else along(axis, ndim)
        elif ord is None:  # of all elements, however many axes there are
            found = primitive(in_rows(x), None, 1, False)
            return np.reshape(found, (x.shape[0], *(1,) * ndim)) if keepdims else found
        else:
            axis = tuple(range(1, ndim + 1))
        return primitive(x, ord, axis, keepdims)

    primitive = products(
        lambda x, *options: np.linalg.norm(x, *options), lambda times: _rules(weights, times), name=name, batch=in_front(of_examples)
    )
    return primitive


_norm = _norm_by(_weights, "norm")
_length = _norm_by(lambda x, ans, order, axis: (conj(x), _inverse(ans)), "length")
"""The square root of a sum of squares: by far the most frequent norm."""


def _is_length(x: Any, ord: Any, axis: Any) -> bool:  # noqa: A002
    if ord is None or isinstance(ord, str):
        return ord in (None, "fro", "f")
    is_vector = len(shape_of(x)) < 2 if axis is None else not isinstance(axis, tuple) or len(axis) == 1
    return bool(ord == 2) and is_vector


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """np.linalg.norm: its derivative is 0 where it is 0; what is tied shares equally, zero singular values count as a kink."""
    if type(ord) in TRACERS:
        ord.__float__()  # raises: the order must be plain
    if ord == 0:  # the number of nonzero elements
        return np.linalg.norm(raw(x), ord, axis, keepdims)
    return (_length if _is_length(x, ord, axis) else _norm)(x, ord, axis, bool(keepdims))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:  # noqa: A002
    """np.linalg.matrix_norm."""
    return norm(x, ord, (-2, -1), keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:  # noqa: A002
    """np.linalg.vector_norm, by NumPy's own steps: all axes of a norm become one."""
    shape = shape_of(x)
    over = normalized_axes(axis, len(shape))
    if axis is None:
        flat, along = np.ravel(x), 0
    elif isinstance(axis, tuple):
        rest = tuple(n for n in range(len(shape)) if n not in over)
        flat, along = np.reshape(np.transpose(x, (*axis, *rest)), (math.prod(shape[n] for n in over), *(shape[n] for n in rest))), 0
    else:
        flat, along = x, axis
    found = norm(flat, ord, along)
    return np.reshape(found, tuple(1 if n in over else size for n, size in enumerate(shape))) if keepdims else found


_OPERATIONS: dict[Any, Any] = {
    np.linalg.norm: norm,
    getattr(np.linalg, "matrix_norm", None): matrix_norm,
    getattr(np.linalg, "vector_norm", None): vector_norm,
}
register_all(_OPERATIONS)
