"""Decompositions of matrices.

Vectors that are determined up to more than a sign are tried in functions that do not depend on the choice: projections onto what they span.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case
from tests.witnesses import NUMPY

points = Points(42)
real, complex_ = points.real, points.complex


def coarse(function: Any, *args: Any, **options: Any) -> Case:
    """What LAPACK computes: in double precision, and real functions by conjugates where the complex step would need none."""
    return case(function, *args, wide=False, analytic=False, **options)


def definite(*shape: int, kind: Any = real) -> np.ndarray:
    """Matrices whose lower and upper triangles are two Hermitian positive definite matrices."""
    return 0.3 * kind(*shape) + 3.0 * np.eye(shape[-1])


def unitary(*shape: int, kind: Any = real) -> np.ndarray:
    return np.linalg.qr(kind(*shape))[0]


def hermitian(*shape: int, kind: Any = real) -> np.ndarray:
    """Matrices whose lower and upper triangles are two Hermitian matrices with eigenvalues well apart in size."""
    values = np.array([1.0, -2.6, 4.1])[: shape[-1]]
    one, other = (q * values @ np.conj(np.swapaxes(q, -1, -2)) for q in (unitary(*shape, kind=kind), unitary(*shape, kind=kind)))
    return np.tril(one) + np.triu(other, 1)


def spread(*shape: int, kind: Any = real) -> np.ndarray:
    """Square matrices with eigenvalues well apart."""
    vectors = unitary(*shape, kind=kind) + 0.1 * kind(*shape)
    return np.linalg.solve(vectors, np.array([1.0, -2.6, 4.1])[: shape[-1], None] * vectors)


def _phases(vectors: Any) -> Any:
    """The sign or the phase of each vector's product with a fixed one: multiplied by its conjugate, a vector is the same by any LAPACK."""
    fixed = np.cos(np.arange(1.0, 1.0 + vectors.shape[-2]))[:, None]
    product = np.sum(fixed * vectors, -2, keepdims=True)
    return product / np.abs(product)


def _aligned(f: Any, x: Any, *args: Any) -> Any:
    values, vectors = f(x, *args)
    return values, vectors * np.conj(_phases(vectors))


def _aligned_eig(f: Any, x: Any) -> Any:
    values, vectors = _aligned(f, x)
    order = _order(values)
    return np.take_along_axis(values, order, -1), np.take_along_axis(vectors, order[..., None, :], -1)


def _ordered(f: Any, x: Any) -> Any:
    values = f(x)
    return np.take_along_axis(values, _order(values), -1)


def _order(values: Any) -> Any:
    """LAPACK puts them in no order that one could rely on."""
    return np.argsort(np.real(values) + 0.1 * np.imag(values), -1)


def _aligned_svd(f: Any, x: Any, *args: Any) -> Any:
    u, s, vh = f(x, *args)
    phases = _phases(u)
    return u * np.conj(phases), s, vh * np.swapaxes(phases, -1, -2)


def rectangular(*shape: int, kind: Any = real) -> np.ndarray:
    """Matrices with singular values well apart."""
    *stack, m, n = shape
    k = min(m, n)
    left, right = unitary(*stack, m, m, kind=kind)[..., :k], unitary(*stack, n, n, kind=kind)[..., :k, :]
    return left * np.array([4.1, 2.6, 1.0])[:k] @ right


def independent(*shape: int, kind: Any = real) -> np.ndarray:
    """Matrices whose first columns are far from dependent."""
    return kind(*shape) + 3.0 * np.eye(*shape[-2:])


def projection(vectors: Any) -> Any:
    """Onto what some columns span."""
    return vectors @ np.conj(np.swapaxes(vectors, -1, -2))


def _of_kind(kind: Any) -> list[Case]:
    note = "" if kind is real else "complex"
    found: list[Case] = []
    for shape in [(3, 3), (2, 3, 3), (1, 1)]:
        found.append(coarse(np.linalg.cholesky, definite(*shape, kind=kind), note=note))
        x = definite(*shape, kind=kind)
        if NUMPY >= (2, 0):
            found.append(coarse(np.linalg.cholesky, x, upper=True, note=note and "complex upper"))
        for triangle in ((), ("U",), ("l",)):
            call = lambda f, x, triangle=triangle: _aligned(f, x, *triangle)
            found.append(coarse(np.linalg.eigh, hermitian(*shape, kind=kind), note=f"{note} {triangle}", call=call))
            call = lambda f, x, triangle=triangle: f(x, *triangle)
            found.append(coarse(np.linalg.eigvalsh, hermitian(*shape, kind=kind), note=f"{note} {triangle}", call=call))
        found.append(coarse(np.linalg.eig, spread(*shape, kind=kind), note=note, call=_aligned_eig))
        found.append(coarse(np.linalg.eigvals, spread(*shape, kind=kind), note=note, call=_ordered))
    for shape in [(3, 3), (4, 2), (2, 4), (2, 4, 3), (2, 3, 4), (1, 3)]:
        found.append(coarse(np.linalg.qr, independent(*shape, kind=kind), note=note))
        found.append(coarse(np.linalg.qr, independent(*shape, kind=kind), mode="r", note=note and "complex r"))
        found.append(coarse(np.linalg.svd, rectangular(*shape, kind=kind), note=note, call=lambda f, x: _aligned_svd(f, x, False)))
        found.append(coarse(np.linalg.svd, rectangular(*shape, kind=kind), compute_uv=False, note=note and "complex values"))
        x = rectangular(*shape, kind=kind)
        if NUMPY >= (2, 0):
            found.append(coarse(np.linalg.svdvals, x, note=note))
    for shape in [(3, 3), (2, 4), (2, 4, 2)]:
        found.append(coarse(np.linalg.qr, independent(*shape, kind=kind), note=f"{note} complete", call=_complete_qr))
        found.append(coarse(np.linalg.svd, rectangular(*shape, kind=kind), note=f"{note} full", call=_full_svd))
    call = lambda f, x: _aligned_svd(f, x, True, True, True)
    found.append(coarse(np.linalg.svd, hermitian(3, 3, kind=kind), note=f"{note} hermitian", call=call))
    note = note and "complex hermitian values"
    return [*found, coarse(np.linalg.svd, hermitian(2, 3, 3, kind=kind), hermitian=True, compute_uv=False, note=note)]


def _complete_qr(f: Any, x: Any) -> Any:
    q, r = f(x, "complete")
    k = min(x.shape[-2:])
    return q[..., :k], projection(q[..., k:]), r


def _full_svd(f: Any, x: Any) -> Any:
    u, s, vh = f(x)
    k = min(x.shape[-2:])
    v = np.conj(np.swapaxes(vh, -1, -2))
    return projection(u[..., k:]), s, projection(v[..., k:]), (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]


def _rotation_like() -> np.ndarray:
    return np.array([[0.4, -1.3, 0.2], [1.1, 0.6, -0.3], [0.2, 0.5, 3.0]])


_linalg = np.linalg
CASES = [
    *_of_kind(real), *_of_kind(complex_),
    coarse(_linalg.eig, _rotation_like(), note="complex pair", call=_aligned_eig),
    coarse(_linalg.eigvals, _rotation_like(), note="complex pair", call=_ordered),
    coarse(_linalg.eig, np.stack([_rotation_like(), spread(3, 3)]), note="complex pair in a stack", call=_aligned_eig),
    *(coarse(function, real(0, 2, 2)) for function in (_linalg.cholesky, _linalg.eigh, _linalg.eigvalsh, _linalg.qr, _linalg.svd)),
    *(coarse(function, real(0, 0)) for function in (_linalg.cholesky, _linalg.eigh, _linalg.eigvalsh, _linalg.eig, _linalg.eigvals)),
    coarse(_linalg.svd, real(0, 3), full_matrices=False), coarse(_linalg.qr, real(3, 0)),
    coarse(_linalg.svd, np.zeros((3, 0)), compute_uv=False),
]  # fmt: skip
