"""Matrices in stacks: what the rules of linear algebra share.

Owns adjoints, diagonals and triangles; guarded inverses of differences; what kind of operation a factorization is; how several results of
one factorization are one value on the tape.
Everything works on plain arrays and on tracers.

A rule for a cotangent is derived in the inner product <x, y> = Re tr(x^H y), where adjoints of linear maps are what textbooks give, and a
cotangent `ct` stands for conj(ct) there: hence `np.conj` at the beginning and at the end of such a rule.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.ops.indexing import scatter
from funcgrad.rules import general, linear
from funcgrad.rules.batching import in_front, stacked
from funcgrad.rules.values import is_complex, raw, shape_of

Shape = tuple[int, ...]


def transposed(x: Any) -> Any:
    """The transpose of each matrix. No conjugate."""
    return np.swapaxes(x, -1, -2)


def conj(x: Any) -> Any:
    """The conjugate; a real value as it is, without a copy."""
    return np.conj(x) if is_complex(x) else x


def adjoint(x: Any) -> Any:
    """The conjugate transpose of each matrix."""
    return conj(transposed(x))


def row(x: Any) -> Any:
    """Vectors as rows, to scale the columns of matrices with."""
    return x[..., None, :]


def per_matrix(x: Any) -> Any:
    """A number for each matrix, to scale it with."""
    return np.reshape(x, (*shape_of(x), 1, 1))


def identity_like(x: Any) -> Any:
    """The identity of the size and dtype of square matrices."""
    return np.eye(shape_of(x)[-1], dtype=raw(x).dtype)


def diagonal_of(x: Any) -> Any:
    """The diagonal of each square matrix."""
    return np.einsum("...ii->...i", x)


def on_diagonal(x: Any) -> Any:
    """Vectors as diagonal matrices."""
    return np.where(np.eye(shape_of(x)[-1], dtype=bool), row(x), 0.0)


def below_diagonal(x: Any) -> Any:
    """What is strictly below the diagonal, whatever stands elsewhere."""
    m, n = shape_of(x)[-2:]
    return np.where(np.tri(m, n, -1, dtype=np.bool_), x, 0.0)


def above_diagonal(x: Any) -> Any:
    """What is strictly above the diagonal, whatever stands elsewhere."""
    m, n = shape_of(x)[-2:]
    return np.where(np.tri(m, n, dtype=np.bool_), 0.0, x)


def half_lower(x: Any) -> Any:
    """The lower triangle with half of the diagonal: a Hermitian matrix is this and its adjoint."""
    return below_diagonal(x) + on_diagonal(0.5 * np.real(diagonal_of(x)))


def read(x: Any, is_lower: bool = True) -> Any:
    """The Hermitian matrix that LAPACK sees in x: it reads one triangle, and the real part of the diagonal."""
    strict = below_diagonal(x) if is_lower else above_diagonal(x)
    return strict + adjoint(strict) + on_diagonal(np.real(diagonal_of(x)))


def put_back(g: Any, is_lower: bool = True) -> Any:
    """The adjoint of `read`: the triangle that is not read has no gradient."""
    both = g + adjoint(g)
    return (below_diagonal(both) if is_lower else above_diagonal(both)) + on_diagonal(np.real(diagonal_of(g)))


# ------------------------------------------------------------------------------------------------ guarded inverses


def rounding(values: Any, size: int) -> Any:
    """What counts as zero beside the largest of some eigenvalues or singular values of a matrix of this size."""
    plain = np.abs(raw(values))
    return size * np.finfo(plain.dtype).eps * plain.max(axis=-1, keepdims=True, initial=0.0)


def safe_inverse(x: Any, tolerance: Any) -> Any:
    """1 / x, and 0 where x is not larger than the tolerance."""
    is_large = np.abs(raw(x)) > tolerance
    return np.where(is_large, 1.0 / np.where(is_large, x, 1.0), 0.0)


def inverse_gaps(values: Any, tolerance: Any) -> Any:
    """1 / (values[j] - values[i]) in row i and column j, and 0 where the two are equal to rounding.

    Vectors that belong to equal values are held as they are among themselves: a function of the space that they span does not see it, and
    no other has a derivative there.
    """
    return safe_inverse(row(values) - values[..., None], row(tolerance))


def pins(vectors: Any) -> Any:
    """What keeps the phase of complex unit vectors (columns), which are determined only up to one: 1 / component in one row of each.

    LAPACK gives each vector a component that is real. It stays real in the derivative too, which makes it that of the vectors as NumPy
    computes them. Where there is none, or one so small that dividing by it would cost digits, vectors do not turn along themselves.
    """
    plain = raw(vectors)
    is_real = np.abs(plain.imag) <= 8 * np.finfo(plain.dtype).eps
    sizes = np.where(is_real & (np.abs(plain.real) > 0.01), np.abs(plain.real), 0.0)
    is_pin = (sizes > 0) & (sizes == sizes.max(-2, keepdims=True, initial=0.0))
    is_pin &= np.cumsum(is_pin, -2) == 1  # the first of equal ones
    return np.where(is_pin, 1.0 / np.where(is_pin, np.real(vectors), 1.0), 0.0)


def keep_phases(tangents: Any, vectors: Any) -> Any:
    """Tangents of complex unit vectors without what would turn their phases."""
    if not is_complex(vectors):
        return tangents
    angles = np.sum(np.imag(tangents) * pins(vectors), -2, keepdims=True)
    return tangents - vectors * (1j * angles)


def keep_phases_adjoint(g: Any, vectors: Any) -> Any:
    """The adjoint of `keep_phases` in the tangents."""
    if not is_complex(vectors):
        return g
    turns = np.imag(np.sum(conj(g) * vectors, -2, keepdims=True))
    return g + 1j * (pins(vectors) * turns)


# ------------------------------------------------------------------------------------------------ factorizations


def factorization(value: Callable[..., Any], jvp: Callable[..., Any], vjp: Callable[..., Any], keeps: str = "x ans", name: str = "") -> Any:
    """The operation `(a, *static)` on matrices in stacks, with rules that take stacks: mapped examples are one more axis of it."""
    operation: Any = general(
        value, [stacked(jvp, 3)], [stacked(vjp, 3)], keeps=keeps, name=name, batch=in_front(lambda *args: operation(*args))
    )
    return operation


# ------------------------------------------------------------------------------------------------ several results as one value


@functools.lru_cache(maxsize=16)
def answer_type(function: Any) -> Any:
    """The named tuple that a function of numpy.linalg answers with."""
    return type(function(np.eye(1)))


def pack(parts: Sequence[Any], cores: Sequence[Shape]) -> Any:
    """Arrays side by side in the last axis of one; `cores` are their shapes but for the axes of the stack."""
    flat = [np.reshape(x, (*shape_of(x)[: len(shape_of(x)) - len(core)], math.prod(core))) for x, core in zip(parts, cores, strict=True)]
    return np.concatenate(flat, -1)


def unpack(packed: Any, cores: Sequence[Shape], reals: Sequence[int] = ()) -> list[Any]:
    """The parts of a packed value; those with the numbers `reals` are real even if another is complex."""
    found, start = [], 0
    for n, core in enumerate(cores):
        found.append(_part(packed, start, core, n in reals))
        start += math.prod(core)
    return found


def take_part(packed: Any, start: int, core: Shape, is_real: bool) -> Any:
    """One part of a plain packed value."""
    part = packed[..., start : start + math.prod(core)]
    part = part.real if is_real else part
    return np.array(part.reshape(packed.shape[:-1] + core))[()]  # contiguous, as NumPy's own result


def part_transpose(ct: Any, shape: Shape, start: int, core: Shape, is_real: bool) -> Any:
    """The cotangent of a packed value of that shape for one of a part."""
    size = math.prod(core)
    ct = np.reshape(np.real(ct) if is_real else ct, (*shape[:-1], size))
    return scatter(ct, shape, (..., slice(start, start + size)))


_part: Any = linear(take_part, part_transpose, name="part", batch=in_front(lambda packed, *how: _part(packed, *how)))
