"""Systems of linear equations, inverses, determinants, least squares.

Rules follow Giles (2008), "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", and Golub &
Pereyra (1973), "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.linalg.matrices import (
    adjoint,
    answer_type,
    conj,
    identity_like,
    pack,
    per_matrix,
    put_back,
    read,
    row,
    transposed,
    unpack,
)
from funcgrad.ops.linalg.svd import singular_values_jvp, weigh_pairs
from funcgrad.ops.structural import unlisted
from funcgrad.primitive import register_all
from funcgrad.rules import general, products
from funcgrad.rules.values import is_complex, raw, shape_of, unbroadcast

_IS_NUMPY_2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"

# ------------------------------------------------------------------------------------------------ solve, inv


def _is_vector(a: Any, b: Any) -> bool:
    """Whether NumPy's solve takes b for a vector, or a stack of them, and not for a matrix."""
    return len(shape_of(b)) == (1 if _IS_NUMPY_2 else len(shape_of(a)) - 1)


def _solve_columns(a: Any, b: Any, is_vector: bool) -> Any:
    return np.linalg.solve(a, b[..., None])[..., 0] if is_vector else np.linalg.solve(a, b)


def _solve_jvp_a(t: Any, ans: Any, a: Any, b: Any) -> Any:
    is_vector = _is_vector(a, b)
    return -_solve_columns(a, (t @ ans[..., None])[..., 0] if is_vector else t @ ans, is_vector)


def _solve_vjp_a(ct: Any, ans: Any, a: Any, b: Any) -> Any:
    is_vector = _is_vector(a, b)
    back = _solve_columns(transposed(a), ct, is_vector)
    product = back[..., None] * row(ans) if is_vector else back @ transposed(ans)
    return unbroadcast(-product, shape_of(a))


def _solve_vjp_b(ct: Any, ans: Any, a: Any, b: Any) -> Any:
    return unbroadcast(_solve_columns(transposed(a), ct, _is_vector(a, b)), shape_of(b))


solve = general(
    np.linalg.solve,
    [_solve_jvp_a, lambda t, ans, a, b: _solve_columns(a, t, _is_vector(a, b))],
    [_solve_vjp_a, _solve_vjp_b],
)
inv = general(
    np.linalg.inv,
    [lambda t, ans, a: -(ans @ t @ ans)],
    [lambda ct, ans, a: -(transposed(ans) @ ct @ transposed(ans))],
    keeps="ans",
)


def _as_matrix(a: Any, axes: Any) -> Any:
    """The matrix of a tensor equation: `axes` go last, then there are as many rows as columns."""
    if axes is not None:
        ndim = len(shape_of(a))
        last = [int(axis) % ndim for axis in axes]
        a = np.transpose(a, [n for n in range(ndim) if n not in last] + last)
    side = math.isqrt(math.prod(shape_of(a)))
    return np.reshape(a, (side, side))


def _tensorsolve_vjp_a(ct: Any, ans: Any, a: Any, b: Any, axes: Any) -> Any:
    back = np.linalg.solve(transposed(_as_matrix(a, axes)), np.ravel(ct))
    product = -back[:, None] * np.ravel(ans)
    places = np.argsort(np.ravel(_as_matrix(np.arange(product.size).reshape(shape_of(a)), axes)))
    return np.reshape(np.ravel(product)[places], shape_of(a))


_tensorsolve = general(
    np.linalg.tensorsolve,
    [
        lambda t, ans, a, b, axes: np.reshape(-np.linalg.solve(_as_matrix(a, axes), _as_matrix(t, axes) @ np.ravel(ans)), shape_of(ans)),
        lambda t, ans, a, b, axes: np.linalg.tensorsolve(a, t, axes),
    ],
    [
        _tensorsolve_vjp_a,
        lambda ct, ans, a, b, axes: np.reshape(np.linalg.solve(transposed(_as_matrix(a, axes)), np.ravel(ct)), shape_of(b)),
    ],
)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """np.linalg.tensorsolve."""
    return _tensorsolve(a, b, axes)


def _between(left: Any, t: Any, shape: tuple[int, ...], turn: Any = lambda x: x) -> Any:
    inner = turn(_as_matrix(left, None))
    return np.reshape(-(inner @ np.reshape(t, shape_of(inner)) @ inner), shape)


_tensorinv = general(
    np.linalg.tensorinv,
    [lambda t, ans, a, ind: _between(ans, t, shape_of(ans))],
    [lambda ct, ans, a, ind: _between(ans, ct, shape_of(a), transposed)],
)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """np.linalg.tensorinv."""
    return _tensorinv(a, ind)


# ------------------------------------------------------------------------------------------------ determinants


def cofactors(a: Any) -> Any:
    """The derivative of the determinant, exact at singular matrices too, and itself differentiable to any order there.

    det(A) inv(A)^T where A is well conditioned; else from a block form (`_cofactors_in_frame`).
    """
    plain = raw(a)
    limit = np.finfo(plain.dtype).eps ** -0.5
    try:
        inverse = np.linalg.inv(plain)
        lengths = [np.sqrt(np.sum(np.abs(x) ** 2, (-2, -1))) for x in (plain, inverse)]
        is_regular = bool((lengths[0] * lengths[1] < limit).all()) or not np.isfinite(plain).all()
    except np.linalg.LinAlgError:
        is_regular = False
    if is_regular:
        return _regular_cofactors(a)
    n = plain.shape[-1]
    stack = np.reshape(a, (math.prod(plain.shape[:-2]), n, n))
    u, s, vh = np.linalg.svd(raw(stack))
    small = np.sum(s * limit <= s[:, :1], -1)
    groups = [np.flatnonzero(small == k) for k in np.unique(small)]
    parts = [_cofactors_in_frame(stack[rows], u[rows], vh[rows], int(small[rows[0]])) for rows in groups]
    return np.reshape(np.concatenate(parts)[np.argsort(np.concatenate(groups))], plain.shape)


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


det = general(
    np.linalg.det,
    [lambda t, ans, a: np.sum(cofactors(a) * t, (-2, -1))],
    [lambda ct, ans, a: cofactors(a) * per_matrix(ct)],
    keeps="x",
)


def _log_derivative(a: Any) -> Any:
    """inv(A)^T, the derivative of log(det(A)); infinite where A is singular."""
    is_singular = np.linalg.slogdet(raw(a))[0] == 0
    if not np.any(is_singular):
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


_slogdet = products(_slogdet_parts, _slogdet_rules, name="slogdet")


def slogdet(a: Any) -> Any:
    """np.linalg.slogdet. The sign of a real determinant has no derivative, the phase of a complex one has."""
    sign, logabsdet = unpack(_slogdet(a), [(), ()], reals=(1,))
    return answer_type(np.linalg.slogdet)(sign, logabsdet)


# ------------------------------------------------------------------------------------------------ pseudoinverse, least squares


def pinv_jvp(t: Any, ans: Any, a: Any, hermitian: bool, options: Any) -> Any:
    """The rule of pinv, forwards."""
    if hermitian:
        a, t = read(a), read(t)
    inward = ans @ adjoint(ans) @ adjoint(t)
    outward = adjoint(t) @ adjoint(ans) @ ans
    return -(ans @ t @ ans) + (inward - inward @ a @ ans) + (outward - ans @ a @ outward)


def pinv_vjp(ct: Any, ans: Any, a: Any, hermitian: bool, options: Any) -> Any:
    """The rule of pinv, backwards."""
    if hermitian:
        a = read(a)
    g, back = adjoint(conj(ct)), adjoint(ans)
    inward = (g - a @ (ans @ g)) @ ans @ back
    outward = back @ ans @ (g - (g @ ans) @ a)
    g = -(back @ adjoint(g) @ back) + inward + outward
    return conj(put_back(g) if hermitian else g)


_pinv = general(lambda a, hermitian, options: np.linalg.pinv(a, hermitian=hermitian, **options), [pinv_jvp], [pinv_vjp], name="pinv")


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, **rtol: Any) -> Any:
    """np.linalg.pinv, where the rank of the matrix stays what it is."""
    options = {**rtol, **({} if rcond is None else {"rcond": rcond})}
    return _pinv(a, bool(hermitian), {key: raw(value) for key, value in options.items()})


def _lstsq_cores(a: Any, b: Any) -> Any:
    """Of the solution, the residuals, the rank and the singular values."""
    (m, n), columns = shape_of(a), shape_of(b)[1:]
    return [(n, *columns), columns or (1,), (1,), (min(m, n),)]


def _lstsq_parts(a: Any, b: Any, rcond: Any) -> Any:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=rcond)
    cores = _lstsq_cores(a, b)
    if residuals.shape != cores[1]:
        residuals = np.zeros(cores[1], residuals.dtype)  # NumPy gives none
    return pack([x, residuals, np.array([rank], s.dtype), s], cores)


def _pseudoinverse(a: Any, rcond: Any) -> Any:
    """With the singular values cut off where lstsq does."""
    eps = np.finfo(np.float64).eps
    cut = eps * max(shape_of(a)) if rcond is None else eps if isinstance(rcond, str) or rcond < 0 else rcond
    return np.linalg.pinv(a, cut)


def _lstsq_matrices(packed: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The solution as a matrix, and the residuals and singular values beside it."""
    x, residuals, _, s = unpack(packed, _lstsq_cores(a, b), reals=(1, 2, 3))
    return _columns(x), residuals, s


def _columns(x: Any) -> Any:
    return x[:, None] if len(shape_of(x)) == 1 else x


def _lstsq_packed(x: Any, residuals: Any, s: Any, a: Any, b: Any) -> Any:
    cores = _lstsq_cores(a, b)
    return pack([np.reshape(x, cores[0]), residuals, np.zeros(1, residuals.dtype), s], cores)


def _lstsq_jvp_a(t: Any, ans: Any, a: Any, b: Any, rcond: Any) -> Any:
    x, _, s = _lstsq_matrices(ans, a, b)
    inverse, rest = _pseudoinverse(a, rcond), _columns(b) - a @ x
    outward = adjoint(t) @ (adjoint(inverse) @ x)
    tangent = inverse @ (adjoint(inverse) @ (adjoint(t) @ rest) - t @ x) + (outward - inverse @ (a @ outward))
    residuals = -2.0 * np.sum(np.real(conj(rest) * (t @ x)), 0)
    return _lstsq_packed(tangent, residuals, singular_values_jvp(t, s, a), a, b)


def _lstsq_jvp_b(t: Any, ans: Any, a: Any, b: Any, rcond: Any) -> Any:
    x, _, s = _lstsq_matrices(ans, a, b)
    rest = _columns(b) - a @ x
    residuals = 2.0 * np.sum(np.real(conj(rest) * _columns(t)), 0)
    return _lstsq_packed(_pseudoinverse(a, rcond) @ _columns(t), residuals, np.zeros_like(raw(s)), a, b)


def _lstsq_vjp_a(ct: Any, ans: Any, a: Any, b: Any, rcond: Any) -> Any:
    x, _, _ = _lstsq_matrices(ans, a, b)
    gx, gr, gs = _lstsq_matrices(conj(ct), a, b)
    inverse, rest = _pseudoinverse(a, rcond), _columns(b) - a @ x
    back = adjoint(inverse) @ gx
    g = rest @ (adjoint(back) @ adjoint(inverse)) - (back + 2.0 * rest * gr) @ adjoint(x)
    g = g + adjoint(inverse) @ x @ (adjoint(gx) - (adjoint(gx) @ inverse) @ a)
    return conj(g) + weigh_pairs(gs, a)


def _lstsq_vjp_b(ct: Any, ans: Any, a: Any, b: Any, rcond: Any) -> Any:
    x, _, _ = _lstsq_matrices(ans, a, b)
    gx, gr, _ = _lstsq_matrices(conj(ct), a, b)
    rest = _columns(b) - a @ x
    return np.reshape(conj(adjoint(_pseudoinverse(a, rcond)) @ gx + 2.0 * rest * gr), shape_of(b))


_lstsq = general(_lstsq_parts, [_lstsq_jvp_a, _lstsq_jvp_b], [_lstsq_vjp_a, _lstsq_vjp_b], name="lstsq")


def lstsq(a: Any, b: Any, rcond: Any = None if _IS_NUMPY_2 else "warn") -> Any:
    """np.linalg.lstsq, where the rank of the matrix stays what it is. The rank itself is a constant."""
    a, b = unlisted(a), unlisted(b)
    x, residuals, rank, s = unpack(_lstsq(a, b, raw(rcond)), _lstsq_cores(a, b), reals=(1, 2, 3))
    m, n = shape_of(a)
    is_determined = int(raw(rank)[0]) == n < m
    return x, residuals if is_determined else residuals[:0], np.int32(raw(rank)[0]), s


_OPERATIONS: dict[Any, Any] = {
    np.linalg.solve: lambda a, b: solve(a, b),  # arrays may come by keyword
    np.linalg.inv: lambda a: inv(a),
    np.linalg.tensorsolve: tensorsolve,
    np.linalg.tensorinv: tensorinv,
    np.linalg.det: lambda a: det(a),
    np.linalg.slogdet: slogdet,
    np.linalg.pinv: pinv,
    np.linalg.lstsq: lstsq,
}
register_all(_OPERATIONS)
