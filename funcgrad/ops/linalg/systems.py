"""Systems of linear equations, inverses, least squares.

Rules follow Giles (2008), "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", and Golub &
Pereyra (1973), "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.mapped import Mapped, is_all, is_any, is_mapped, lined_up
from funcgrad.ops.linalg.matrices import (
    adjoint,
    conj,
    pack,
    put_back,
    read,
    row,
    transposed,
    unpack,
)
from funcgrad.ops.linalg.svd import singular_values_jvp, weigh_pairs
from funcgrad.ops.structural import unlisted
from funcgrad.primitive import register_all
from funcgrad.rules import general
from funcgrad.rules.batching import by_examples, in_front
from funcgrad.rules.values import raw, shape_of, unbroadcast
from funcgrad.staged import Staged
from funcgrad.tape import Scope

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


def _solve_mapped(scope: Scope, a: Any, b: Any) -> Any:
    is_vector = _is_vector(a, b)
    if is_vector:
        b = np.expand_dims(b, -1)
    if len(shape_of(a)) == len(shape_of(b)) == 2 and not is_mapped(a, scope):  # all examples are columns beside one another
        columns = np.moveaxis(b._primal, 0, 1)
        flat = np.reshape(columns, (columns.shape[0], math.prod(columns.shape[1:])))
        answer = np.moveaxis(np.reshape(solve(a, flat), columns.shape), 1, 0)
    else:
        a, b = lined_up((a, b), scope)
        ndim = max(a.ndim, b.ndim)  # NumPy 1 takes b for vectors where it has an axis less
        answer = solve(*(np.reshape(one, (1,) * (ndim - one.ndim) + one.shape) for one in (a, b)))
    return Mapped(answer[..., 0] if is_vector else answer, scope)


solve = general(
    np.linalg.solve,
    [_solve_jvp_a, lambda t, ans, a, b: _solve_columns(a, t, _is_vector(a, b))],
    [_solve_vjp_a, _solve_vjp_b],
    batch=_solve_mapped,
)
inv: Any = general(
    np.linalg.inv,
    [lambda t, ans, a: -(ans @ t @ ans)],
    [lambda ct, ans, a: -(transposed(ans) @ ct @ transposed(ans))],
    keeps="ans",
    batch=in_front(lambda x: inv(x)),
)


def _in_order(a: Any, axes: Any) -> Any:
    """The tensor of an equation with `axes` last."""
    if axes is None:
        return a
    ndim = len(shape_of(a))
    last = [int(axis) % ndim for axis in axes]
    return np.transpose(a, [n for n in range(ndim) if n not in last] + last)


def _as_matrix(a: Any, axes: Any) -> Any:
    """The matrix of a tensor equation: there are as many rows as columns."""
    side = math.isqrt(math.prod(shape_of(a)))
    return np.reshape(_in_order(a, axes), (side, side))


def _tensorsolve_mapped(scope: Scope, a: Any, b: Any, axes: Any) -> Any:
    shape = shape_of(_in_order(a, axes))[len(shape_of(b)) :]
    return np.reshape(solve(_as_matrix(a, axes), np.ravel(b)), shape)


def _tensorinv_mapped(scope: Scope, a: Any, ind: int) -> Any:
    shape = shape_of(a)
    return np.reshape(inv(_as_matrix(a, None)), shape[ind:] + shape[:ind])


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
    batch=_tensorsolve_mapped,
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
    batch=_tensorinv_mapped,
)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """np.linalg.tensorinv."""
    return _tensorinv(a, ind)


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


_pinv: Any = general(
    lambda a, hermitian, options: np.linalg.pinv(a, hermitian=hermitian, **options),
    [pinv_jvp],
    [pinv_vjp],
    name="pinv",
    batch=in_front(lambda x, hermitian, options: _pinv(x, hermitian, options)),
)


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


def _lstsq_mapped(scope: Scope, a: Any, b: Any, rcond: Any) -> Any:
    if is_mapped(a, scope):
        return NotImplemented
    columns = np.moveaxis(b._primal, 0, 1)  # all examples beside one another
    flat = np.reshape(columns, (columns.shape[0], math.prod(columns.shape[1:])))
    x, residuals, rank, s = unpack(_lstsq(a, flat, rcond), _lstsq_cores(a, flat), reals=(1, 2, 3))
    x = np.moveaxis(np.reshape(x, (shape_of(x)[0], *columns.shape[1:])), 1, 0)
    cores, size = _lstsq_cores(a, b), columns.shape[1]
    residuals = np.reshape(residuals, (size, *cores[1]))
    rank, s = (np.broadcast_to(one, (size, *shape_of(one))) for one in (rank, s))
    return Mapped(pack([x, residuals, rank, s], cores), scope)


_lstsq: Any = general(_lstsq_parts, [_lstsq_jvp_a, _lstsq_jvp_b], [_lstsq_vjp_a, _lstsq_vjp_b], name="lstsq", batch=_lstsq_mapped)


def lstsq(a: Any, b: Any, rcond: Any = None if _IS_NUMPY_2 else "warn") -> Any:
    """np.linalg.lstsq, where the rank of the matrix stays what it is. The rank itself is a constant."""
    a, b = unlisted(a), unlisted(b)
    x, residuals, rank, s = unpack(_lstsq(a, b, raw(rcond)), _lstsq_cores(a, b), reals=(1, 2, 3))
    m, n = shape_of(a)
    found: Any = raw(rank)[0]
    if type(found) is Staged:  # a program has one shape: that of the residuals of a matrix of full rank
        return x, residuals if n < m else residuals[:0], found.astype(np.int32), s
    if type(found) is not Mapped:
        return x, residuals if int(found) == n < m else residuals[:0], np.int32(found), s
    is_full = np.equal(found, n)
    if n < m and is_any(is_full) and not is_all(is_full):
        return by_examples(lstsq)(a, b, rcond)  # which raises: some examples have residuals
    return x, residuals if n < m and is_all(is_full) else residuals[:0], found.astype(np.int32), s


_OPERATIONS: dict[Any, Any] = {
    np.linalg.solve: lambda a, b: solve(a, b),  # arrays may come by keyword
    np.linalg.inv: lambda a: inv(a),
    np.linalg.tensorsolve: tensorsolve,
    np.linalg.tensorinv: tensorinv,
    np.linalg.pinv: pinv,
    np.linalg.lstsq: lstsq,
}
register_all(_OPERATIONS)
