"""The singular value decomposition, and what is made of it: singular values, rank, condition.

Rules follow Giles (2008) and, for complex matrices, Wan & Zhang (2019), "Automatic differentiation for complex valued SVD". They are
written with 1 / (s_j - s_i) and 1 / (s_j + s_i) apart instead of with 1 / (s_j**2 - s_i**2): what turns U and V against each other, as in
the polar factor U V^H and the nuclear norm, then stays exact where singular values are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.mapped import is_any
from funcgrad.ops.linalg.matrices import (
    Shape,
    adjoint,
    answer_type,
    conj,
    diagonal_of,
    factorization,
    identity_like,
    inverse_gaps,
    keep_phases,
    keep_phases_adjoint,
    on_diagonal,
    rounding,
    row,
    safe_inverse,
    transposed,
    unpack,
)
from funcgrad.ops.linalg.repeated import SVD, are_repeated, are_used, pack_marked, unpack_marked, warn_of_second_order, warn_of_vectors
from funcgrad.primitive import register_all
from funcgrad.rules import nondifferentiable
from funcgrad.rules.values import raw, shape_of
from funcgrad.tracer import Tracer

_MISSING = np._NoValue


def _cores(a: Any, is_full: bool) -> list[Shape]:
    m, n = shape_of(a)[-2:]
    k = min(m, n)
    return [(m, m), (k,), (n, n)] if is_full else [(m, k), (k,), (k, n)]


def _inverses(s: Any, size: int) -> tuple[Any, Any, Any]:
    """1 / (s_j - s_i), 1 / (s_j + s_i) and 1 / s_j, guarded; the last as a row."""
    tolerance = rounding(s, size)
    return inverse_gaps(s, tolerance), safe_inverse(row(s) + s[..., None], row(tolerance)), row(safe_inverse(s, tolerance))


def _vectors(ans: Any, a: Any, is_full: bool) -> tuple[Any, ...]:
    """U and V without the columns that have no singular value, s, and those columns."""
    u, s, vh = unpack(ans, _cores(a, is_full), reals=(1,))
    v, k = adjoint(vh), shape_of(s)[-1]
    return u[..., :k], s, v[..., :k], u[..., k:], v[..., k:]


def _keep_both(keep: Any, du: Any, dv: Any, u: Any, v: Any) -> Any:
    """Apply `keep_phases` or its adjoint to pairs of vectors, which have one phase together."""
    both = keep(np.concatenate([du, dv], -2), np.concatenate([u, v], -2))
    m = shape_of(u)[-2]
    return both[..., :m, :], both[..., m:, :]


def svd_jvp(t: Any, ans: Any, a: Any, is_full: bool) -> Any:
    """The rule of svd, forwards."""
    u, s, v, other_u, other_v = _vectors(ans, a, is_full)
    gaps, sums, inverse = _inverses(s, max(shape_of(a)[-2:]))
    m, n, k = *shape_of(a)[-2:], shape_of(s)[-1]
    within = adjoint(u) @ t @ v
    together, against = gaps * (within + adjoint(within)), sums * (within - adjoint(within))
    du, dv = u @ (0.5 * (together + against)), v @ (0.5 * (together - against))
    if m > k:
        du = du + (t @ v - u @ within) * inverse
    if n > k:
        dv = dv + (adjoint(t) @ u - v @ adjoint(within)) * inverse
    du, dv = _keep_both(keep_phases, du, dv, u, v)
    if shape_of(other_u)[-1]:
        du = np.concatenate([du, -u @ adjoint(adjoint(other_u) @ du)], -1)
    if shape_of(other_v)[-1]:
        dv = np.concatenate([dv, -v @ adjoint(adjoint(other_v) @ dv)], -1)
    return pack_marked([du, np.real(diagonal_of(within)), adjoint(dv)], _cores(a, is_full))


def svd_vjp(ct: Any, ans: Any, a: Any, is_full: bool) -> Any:
    """The rule of svd, backwards."""
    u, s, v, other_u, other_v = _vectors(ans, a, is_full)
    gaps, sums, inverse = _inverses(s, max(shape_of(a)[-2:]))
    m, n, k = *shape_of(a)[-2:], shape_of(s)[-1]
    gu, gs, gv, other_gu, other_gv = _vectors(conj(ct), a, is_full)
    if shape_of(other_u)[-1]:
        gu = gu - other_u @ adjoint(other_gu) @ u
    if shape_of(other_v)[-1]:
        gv = gv - other_v @ adjoint(other_gv) @ v
    gu, gv = _keep_both(keep_phases_adjoint, gu, gv, u, v)
    along_u, along_v = adjoint(u) @ gu, adjoint(v) @ gv
    together, against = gaps * (0.5 * (along_u + along_v)), sums * (0.5 * (along_u - along_v))
    tolerance = rounding(s, max(shape_of(a)[-2:]))
    if are_repeated(s, tolerance):
        uses_u, uses_s, uses_v = are_used(ct, 3)
        warn_of_vectors(SVD, s, tolerance, gs, [gu, gv], along_u + along_v, uses_s, uses_u or uses_v)
        if type(ans) is Tracer:
            warn_of_second_order(SVD, s, tolerance, gs, np.abs(raw(together)) + np.abs(raw(against)), type(ct) is not Tracer)
    within = on_diagonal(gs) + together + adjoint(together) + against - adjoint(against)
    left = u @ within
    if m > k:
        left = left + (gu - u @ along_u) * inverse
    g = left @ adjoint(v)
    if n > k:
        g = g + (u * inverse) @ adjoint(gv - v @ along_v)
    return conj(g)


_svd = factorization(
    lambda a, is_full: pack_marked(np.linalg.svd(a, full_matrices=is_full), _cores(a, is_full)), svd_jvp, svd_vjp, name="svd"
)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """np.linalg.svd.

    Singular vectors are determined up to a sign, complex ones up to a phase that each pair has together, those of equal singular values up
    to a rotation, those that `full_matrices` adds up to a rotation among themselves. Functions that do not depend on that choice have a
    derivative; equal or zero singular values do not make it NaN (see `eigh`), and U V^H stays exact where they are equal.

    Warns:
        DegenerateWarning: singular values repeat, and a part of the derivative may have been lost: of U diag(g(s)) V^H, of single vectors
            of several, or where such a gradient is differentiated again. What `eigh` says of that holds.
    """
    if hermitian:
        return _svd_of_hermitian(a, compute_uv)
    if not compute_uv:
        return _singular_values(a)
    is_full = bool(full_matrices)
    return answer_type(np.linalg.svd)(*unpack_marked(_svd(a, is_full), _cores(a, is_full), reals=(1,)))


def _svd_of_hermitian(a: Any, compute_uv: bool) -> Any:
    """By NumPy's own steps, from the eigenvalues."""
    if not compute_uv:
        sizes = np.abs(np.linalg.eigvalsh(a))
        return np.take_along_axis(sizes, np.argsort(raw(sizes))[..., ::-1], -1)
    w, v = np.linalg.eigh(a)
    sizes, signs = np.abs(w), np.sign(w)
    order = np.argsort(raw(sizes))[..., ::-1]
    signs, sizes = np.take_along_axis(signs, order, -1), np.take_along_axis(sizes, order, -1)
    u = np.take_along_axis(v, row(order), -1)
    return answer_type(np.linalg.svd)(u, sizes, conj(transposed(u * row(signs))))


def weigh_pairs(weights: Any, a: Any) -> Any:
    """The sum of weights[i] times what the i-th singular value of a grows by: its vectors u v^H, conjugated for a cotangent.

    A singular value that is zero to rounding has a kink there, as the absolute value: its derivative counts as 0.
    """
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    tolerance = rounding(s, max(shape_of(a)[-2:]))
    if type(a) is Tracer and type(weights) is Tracer and are_repeated(s, tolerance):
        warn_of_second_order(SVD, s, tolerance, weights, None, False)
    is_positive = raw(s) > tolerance
    return conj((u * row(np.where(is_positive, weights, 0.0))) @ vh)


def singular_values_jvp(t: Any, ans: Any, a: Any) -> Any:
    """The tangents of singular values: what the matrix grows by along their vectors."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    is_positive = raw(s) > rounding(s, max(shape_of(a)[-2:]))
    return np.where(is_positive, np.sum(np.real(conj(u) * (t @ adjoint(vh))), -2), 0.0)


_singular_values = factorization(
    lambda a: np.linalg.svd(a, compute_uv=False),
    singular_values_jvp,
    lambda ct, ans, a: weigh_pairs(np.real(ct), a),
    name="singular_values",
)


def svdvals(x: Any, /) -> Any:
    """np.linalg.svdvals: the derivative of a singular value that is zero counts as 0."""
    return _singular_values(x)


matrix_rank = nondifferentiable(np.linalg.matrix_rank)


def cond(x: Any, p: Any = None) -> Any:
    """np.linalg.cond. Of a singular matrix it is infinite, and a constant."""
    plain = np.linalg.cond(raw(x), p)
    if p is None or p in (2, -2):
        with np.errstate(all="ignore"):
            s = _singular_values(x)
            ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        return ratio if not is_any(np.isnan(raw(ratio))) else np.where(np.isnan(raw(ratio)), plain, ratio)[()]
    is_singular = ~np.isfinite(plain)
    if is_any(is_singular):
        x = np.where(is_singular[..., None, None], identity_like(x), x)
    inverse = np.linalg.inv(x.astype(np.promote_types(x.dtype, np.float64), copy=False))  # as NumPy
    product = np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(inverse, p, axis=(-2, -1))
    product = np.where(is_singular, plain, product)[()] if is_any(is_singular) else product
    return product.astype(plain.dtype, copy=False)  # complex in NumPy 1


_OPERATIONS: dict[Any, Any] = {
    np.linalg.svd: svd,
    np.linalg.cond: cond,
    getattr(np.linalg, "svdvals", None): svdvals,
}
register_all(_OPERATIONS)
