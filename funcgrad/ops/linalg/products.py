"""Products of vectors and matrices beyond `contractions`: vdot, inner, vecdot, cross, kron, trace, chains and powers of matrices.

Conjugates appear only where the function has one: vdot, vecdot and vecmat conjugate their first argument.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.mapped import Mapped, lined_up
from funcgrad.ops.contractions import dot, matmul, outer, tensordot
from funcgrad.ops.linalg.matrices import conj, transposed
from funcgrad.ops.structural import along, matrix_transpose, normalized, unlisted
from funcgrad.primitive import register, register_all
from funcgrad.rules import multilinear
from funcgrad.rules.values import raw, refuse_out, shape_of, unbroadcast
from funcgrad.tape import Scope

# ------------------------------------------------------------------------------------------------ vectors

vdot = multilinear(
    np.vdot,
    lambda ct, a, b: np.reshape(conj(ct * np.ravel(b)), shape_of(a)),
    lambda ct, a, b: np.reshape(ct * conj(np.ravel(a)), shape_of(b)),
    batch=lambda scope, a, b: matmul(conj(np.ravel(a)), np.ravel(b)),
)


def _inner_transpose(ct: Any, other: Any, before: range) -> Any:
    """The axes `before` of the cotangent are those of the other operand but for its last."""
    return np.tensordot(ct, other, (tuple(before), tuple(range(len(before)))))


_inner = multilinear(
    np.inner,
    lambda ct, a, b: _inner_transpose(ct, b, range(len(shape_of(a)) - 1, len(shape_of(ct)))),
    lambda ct, a, b: _inner_transpose(ct, a, range(len(shape_of(a)) - 1)),
    batch=lambda scope, a, b: tensordot(a, b, (-1, -1)),
)


def inner(a: Any, b: Any, /) -> Any:
    """np.inner."""
    a, b = unlisted(a), unlisted(b)
    return dot(a, b) if shape_of(a) == () or shape_of(b) == () else _inner(a, b)


def _back(ct: Any, shape: tuple[int, ...], axis: int) -> Any:
    """A cotangent with its vectors along the last axis, for an operand of this shape that has them along `axis`."""
    axis = normalized(axis, len(shape))
    return np.moveaxis(unbroadcast(ct, (*shape[:axis], *shape[axis + 1 :], shape[axis])), -1, axis)


def _vecdot_part(ct: Any, other: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The cotangent of an operand of this shape."""
    return _back(np.expand_dims(ct, -1) * np.moveaxis(other, axis, -1), shape, axis)


def _from_the_end(axis: int, x: Any) -> int:
    """An axis of a value of one example, counted from the end: so it is the same where there are examples in front."""
    ndim = len(shape_of(x))
    return normalized(axis, ndim) - ndim


def _outer_part(rows: Any, columns: Any, shape: tuple[int, ...]) -> Any:
    return unbroadcast(rows[..., :, None] * columns[..., None, :], shape)


if hasattr(np, "vecdot"):  # NumPy 2.0
    _vecdot_of: Any = np.vecdot

    def _vecdot_mapped(scope: Scope, x1: Any, x2: Any, axis: int) -> Any:
        axes = _from_the_end(axis, x1), _from_the_end(axis, x2)
        return Mapped(_vecdot(*lined_up((x1, x2), scope), axes[0]), scope) if axes[0] == axes[1] else NotImplemented

    _vecdot: Any = multilinear(
        lambda x1, x2, axis: _vecdot_of(x1, x2, axis=axis),
        lambda ct, x1, x2, axis: conj(_vecdot_part(ct, x2, shape_of(x1), axis)),
        lambda ct, x1, x2, axis: _vecdot_part(ct, conj(x1), shape_of(x2), axis),
        name="vecdot",
        batch=_vecdot_mapped,
    )

    def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
        """np.vecdot, the conjugate of x1 times x2."""
        return _vecdot(x1, x2, axis)

    register(np.vecdot, vecdot)
    register(np.linalg.vecdot, vecdot)

if hasattr(np, "matvec"):  # NumPy 2.2
    matvec = multilinear(
        np.matvec,
        lambda ct, x1, x2: _outer_part(ct, x2, shape_of(x1)),
        lambda ct, x1, x2: unbroadcast(np.matmul(transposed(x1), ct[..., None])[..., 0], shape_of(x2)),
        batch=lambda scope, x1, x2: matmul(x1, np.expand_dims(x2, -1))[..., 0],
    )
    vecmat = multilinear(
        np.vecmat,
        lambda ct, x1, x2: conj(unbroadcast(np.matmul(x2, ct[..., None])[..., 0], shape_of(x1))),
        lambda ct, x1, x2: _outer_part(conj(x1), ct, shape_of(x2)),
        batch=lambda scope, x1, x2: matmul(np.expand_dims(conj(x1), -2), x2)[..., 0, :],
    )
    register(np.matvec, matvec)
    register(np.vecmat, vecmat)

# ------------------------------------------------------------------------------------------------ cross


def _in_space(x: Any, axis: int) -> Any:
    """Vectors along the last axis, with a third component."""
    x = np.moveaxis(x, axis, -1)
    return x if shape_of(x)[-1] == 3 else np.concatenate([x, np.zeros((*shape_of(x)[:-1], 1), raw(x).dtype)], -1)


def _cross_part(a: Any, b: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The product of vectors in space, as the cotangent of an operand of this shape with its vectors along `axis`."""
    return _back(np.cross(a, b)[..., : shape[axis]], shape, axis)


def _normal(ct: Any, a: Any, b: Any, axes: tuple[int, int, int]) -> Any:
    """The cotangent of the product of a and b, as vectors in space along the last axis."""
    if shape_of(a)[axes[0]] == shape_of(b)[axes[1]] == 2:
        return np.stack([np.zeros_like(raw(ct)), np.zeros_like(raw(ct)), ct], -1)
    return np.moveaxis(ct, axes[2], -1)


def _cross_mapped(scope: Scope, a: Any, b: Any, axes: tuple[int, int, int]) -> Any:
    is_plane = shape_of(a)[axes[0]] == shape_of(b)[axes[1]] == 2
    place = 0 if is_plane else along(axes[2], max(len(shape_of(a)), len(shape_of(b))))
    return Mapped(_cross(*lined_up((a, b), scope), (_from_the_end(axes[0], a), _from_the_end(axes[1], b), place)), scope)


_cross: Any = multilinear(
    lambda a, b, axes: np.cross(a, b, *axes),
    lambda ct, a, b, axes: _cross_part(_in_space(b, axes[1]), _normal(ct, a, b, axes), shape_of(a), axes[0]),
    lambda ct, a, b, axes: _cross_part(_normal(ct, a, b, axes), _in_space(a, axes[0]), shape_of(b), axes[1]),
    name="cross",
    batch=_cross_mapped,
)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """np.cross."""
    return _cross(a, b, (axisa, axisb, axisc) if axis is None else (axis, axis, axis))


# ------------------------------------------------------------------------------------------------ matrices


def kron(a: Any, b: Any) -> Any:
    """np.kron, as a product of every element of a with every element of b."""
    a, b = unlisted(a), unlisted(b)
    ndim = max(len(shape_of(a)), len(shape_of(b)))
    shape_a, shape_b = ((1,) * (ndim - len(shape)) + shape for shape in (shape_of(a), shape_of(b)))
    apart_a = np.reshape(a, tuple(size for n in shape_a for size in (n, 1)))
    apart_b = np.reshape(b, tuple(size for n in shape_b for size in (1, n)))
    return np.reshape(apart_a * apart_b, tuple(n * m for n, m in zip(shape_a, shape_b, strict=True)))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    """np.trace, by NumPy's own steps."""
    refuse_out("trace", out)
    return np.sum(np.diagonal(a, offset, axis1, axis2), -1, dtype)


def _chain_transpose(n: int, ct: Any, *arrays: Any) -> Any:
    """The cotangent of link n of a chain: between the links before and after it, each transposed, stands that of the product."""
    matrices = [np.reshape(x, (1, -1) if m == 0 else (-1, 1)) if len(shape_of(x)) == 1 else x for m, x in enumerate(arrays)]
    ct = np.reshape(ct, (shape_of(matrices[0])[0], shape_of(matrices[-1])[1]))
    turned = [transposed(x) for x in matrices]
    return np.reshape(np.linalg.multi_dot([*turned[:n][::-1], ct, *turned[n + 1 :][::-1]]), shape_of(arrays[n]))


def _chain_mapped(scope: Scope, *arrays: Any) -> Any:
    """The product in the order of the fewest multiplications for one example."""
    shapes = list(map(shape_of, arrays))
    if len(arrays) < 2 or any(len(shape) != 2 for shape in shapes[1:-1]):
        return NotImplemented  # NumPy says what is wrong
    sizes = [
        1 if len(shapes[0]) == 1 else shapes[0][0],
        *(shape[-1] for shape in shapes[:-1]),
        1 if len(shapes[-1]) == 1 else shapes[-1][1],
    ]

    @functools.cache
    def best(first: int, last: int) -> tuple[int, int]:
        """The number of multiplications, and the link after which the part is to be cut in two."""
        if first == last:
            return 0, first
        return min(
            (best(first, cut)[0] + best(cut + 1, last)[0] + sizes[first] * sizes[cut + 1] * sizes[last + 1], cut)
            for cut in range(first, last)
        )

    def product(first: int, last: int) -> Any:
        cut = best(first, last)[1]
        return arrays[first] if first == last else matmul(product(first, cut), product(cut + 1, last))

    return product(0, len(arrays) - 1)


_multi_dot = multilinear(lambda *arrays: np.linalg.multi_dot(arrays), each=_chain_transpose, name="multi_dot", batch=_chain_mapped)


def multi_dot(arrays: Sequence[Any], *, out: None = None) -> Any:
    """np.linalg.multi_dot."""
    refuse_out("multi_dot", out)
    return _multi_dot(*arrays)


def matrix_power(a: Any, n: int) -> Any:
    """np.linalg.matrix_power, by NumPy's own products; a negative power is one of the inverse.

    Raises:
        TypeError: the power is no integer.
        numpy.linalg.LinAlgError: the matrix is not square, or singular with a negative power.
    """
    is_square = len(shape_of(a)) > 1 and shape_of(a)[-1] == shape_of(a)[-2]
    if not isinstance(n, (int, np.integer)) or n == 0 or not is_square:
        return np.linalg.matrix_power(raw(a), raw(n))  # a constant, or an error
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 3:
        return matmul(matmul(a, a), a)
    square, result = a, None
    while True:
        n, is_odd = divmod(n, 2)
        if is_odd:
            result = square if result is None else matmul(result, square)
        if not n:
            return result
        square = matmul(square, square)


def _linalg_outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = unlisted(x1), unlisted(x2)
    if len(shape_of(x1)) != 1 or len(shape_of(x2)) != 1:
        raise ValueError(f"np.linalg.outer needs vectors, got the shapes {shape_of(x1)} and {shape_of(x2)}")
    return outer(x1, x2)


def _linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = unlisted(x1), unlisted(x2)
    if shape_of(x1)[axis] != 3 or shape_of(x2)[axis] != 3:
        raise ValueError(f"np.linalg.cross needs vectors in space, got the shapes {shape_of(x1)} and {shape_of(x2)} along axis {axis}")
    return cross(x1, x2, axis=axis)


_OPERATIONS: dict[Any, Any] = {
    np.vdot: vdot,
    np.inner: inner,
    np.cross: cross,
    np.kron: kron,
    np.trace: trace,
    np.linalg.multi_dot: multi_dot,
    np.linalg.matrix_power: matrix_power,
    getattr(np.linalg, "cross", None): _linalg_cross,
    getattr(np.linalg, "outer", None): _linalg_outer,
    getattr(np.linalg, "matmul", None): matmul,
    getattr(np.linalg, "matrix_transpose", None): matrix_transpose,
    getattr(np.linalg, "tensordot", None): lambda x1, x2, /, *, axes=2: tensordot(x1, x2, axes),
    getattr(np.linalg, "trace", None): lambda x, /, *, offset=0, dtype=None: trace(x, offset, -2, -1, dtype),
    getattr(np.linalg, "diagonal", None): lambda x, /, *, offset=0: np.diagonal(x, offset, -2, -1),
}
register_all(_OPERATIONS)
