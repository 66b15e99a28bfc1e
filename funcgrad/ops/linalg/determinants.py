"""Determinants: exact at singular matrices too, and differentiable to any order there.

The derivative of the determinant is the matrix of cofactors. It follows Giles (2008), "Collected matrix derivative results for forward and
reverse mode algorithmic differentiation", where a matrix is well conditioned, and a block form of its own elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.mapped import inmost, is_any
from funcgrad.ops.linalg.matrices import adjoint, answer_type, identity_like, pack, per_matrix, transposed, unpack
from funcgrad.primitive import register_all
from funcgrad.rules import general, products
from funcgrad.rules.batching import in_front, stacked
from funcgrad.rules.values import is_complex, raw, shape_of


def cofactors(a: Any) -> Any:
    """The derivative of the determinant, exact at singular matrices too, and itself differentiable to any order there.

    det(A) inv(A)^T where A is well conditioned; else from a block form (`_cofactors_in_frame`).
    """
    return _cofactors(None, a)


def _cofactors_of(_: None, a: Any) -> Any:
    plain = inmost(a)
    limit = np.finfo(plain.dtype).eps ** -0.5
    try:
        inverse = np.linalg.inv(plain)
        lengths = [np.sqrt(np.sum(np.abs(x) ** 2, (-2, -1))) for x in (plain, inverse)]
        is_good = lengths[0] * lengths[1] < limit
        is_regular = bool(is_good.all()) or bool((is_good | ~np.isfinite(plain).all((-2, -1))).all())
    except np.linalg.LinAlgError:
        is_regular = False
    if is_regular:
        return _regular_cofactors(a)
    n = plain.shape[-1]
    stack = np.reshape(a, (math.prod(plain.shape[:-2]), n, n))
    matrices = inmost(stack)
    u, s, vh = np.linalg.svd(np.where(per_matrix(np.isfinite(matrices).all((-2, -1))), matrices, np.eye(n)))
    small = np.sum(s * limit <= s[:, :1], -1)
    groups = [np.flatnonzero(small == k) for k in np.unique(small)]
    parts = [_cofactors_in_frame(stack[rows], u[rows], vh[rows], int(small[rows[0]])) for rows in groups]
    return np.reshape(np.concatenate(parts)[np.argsort(np.concatenate(groups))], plain.shape)


_cofactors = stacked(_cofactors_of, 2)


def _regular_cofactors(a: Any) -> Any:
    return per_matrix(np.linalg.det(a)) * transposed(np.linalg.inv(a))


def _cofactors_in_frame(a: Any, u: Any, vh: Any, small: int) -> Any:
    """Cofactors of matrices with so many small singular values.

    In the frame of its singular vectors, which are constants here, a matrix is B = U^H A V. With S = B22 - B21 inv(B11) B12 for the block
    of the small values, det(B) = det(B11) det(S), and the adjugate of B is a polynomial in S, inv(B11), B12 and B21: nothing is divided
    by what may be zero.
    """
    if not small:
        return _regular_cofactors(a)
    b = adjoint(u) @ a @ adjoint(vh)
    rank = shape_of(a)[-1] - small
    inverse = np.linalg.inv(b[:, :rank, :rank])
    left, right = inverse @ b[:, :rank, rank:], b[:, rank:, :rank] @ inverse
    adjugate, det = _adjugate(b[:, rank:, rank:] - b[:, rank:, :rank] @ left)
    upper = np.concatenate([per_matrix(det) * inverse + left @ adjugate @ right, -(left @ adjugate)], -1)
    lower = np.concatenate([-(adjugate @ right), adjugate], -1)
    whole = per_matrix(np.linalg.det(b[:, :rank, :rank]) * np.linalg.det(u @ vh)) * np.concatenate([upper, lower], -2)
    return transposed(adjoint(vh) @ whole @ adjoint(u))


def _adjugate(x: Any) -> tuple[Any, Any]:
    """Adjugate and determinant of small matrices by the algorithm of Faddeev and LeVerrier: products and sums only."""
    size = shape_of(x)[-1]
    one = np.broadcast_to(identity_like(x), shape_of(x))
    product = one
    coefficient = -_trace(x)
    for k in range(2, size + 1):
        product = x @ product + per_matrix(coefficient) * one
        coefficient = -_trace(x @ product) / k
    return (product, -coefficient) if size % 2 else (-product, coefficient)


def _trace(x: Any) -> Any:
    return np.einsum("...ii->...", x)


det: Any = general(
    np.linalg.det,
    [lambda t, ans, a: np.sum(cofactors(a) * t, (-2, -1))],
    [lambda ct, ans, a: cofactors(a) * per_matrix(ct)],
    keeps="x",
    batch=in_front(lambda x: det(x)),
)


def _log_derivative(a: Any) -> Any:
    """inv(A)^T, the derivative of log(det(A)); infinite where A is singular."""
    is_singular = np.linalg.slogdet(raw(a))[0] == 0
    if not is_any(is_singular):
        return transposed(np.linalg.inv(a))
    is_singular = per_matrix(is_singular)
    regular = transposed(np.linalg.inv(np.where(is_singular, identity_like(a), a)))
    return np.where(is_singular, cofactors(a) / np.zeros((), raw(a).dtype), regular)


def _slogdet_parts(a: Any) -> Any:
    return pack([x[..., None] for x in np.linalg.slogdet(a)], [(1,), (1,)])


def _slogdet_rules(times: Any) -> Any:
    def jvp(t: Any, ans: Any, a: Any) -> Any:
        growth = np.sum(times(t, _log_derivative(a)), (-2, -1))
        sign = ans[..., 0]
        turn = 1j * (sign * np.imag(growth)) if is_complex(a) else np.zeros_like(raw(growth))
        return pack([turn[..., None], np.real(growth)[..., None]], [(1,), (1,)])

    def vjp(ct: Any, ans: Any, a: Any) -> Any:
        along = np.real(ct[..., 1])
        if is_complex(a):
            along = along + 1j * np.imag(ct[..., 0] * ans[..., 0])
        return times(per_matrix(along), _log_derivative(a))

    return [jvp], [vjp]


_slogdet: Any = products(_slogdet_parts, _slogdet_rules, name="slogdet", batch=in_front(lambda x: _slogdet(x)))


def slogdet(a: Any) -> Any:
    """np.linalg.slogdet. The sign of a real determinant has no derivative, the phase of a complex one has."""
    sign, logabsdet = unpack(_slogdet(a), [(), ()], reals=(1,))
    return answer_type(np.linalg.slogdet)(sign, logabsdet)


_OPERATIONS: dict[Any, Any] = {
    np.linalg.det: lambda a: det(a),  # arrays may come by keyword
    np.linalg.slogdet: slogdet,
}
register_all(_OPERATIONS)
