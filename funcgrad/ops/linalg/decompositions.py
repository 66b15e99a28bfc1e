"""Decompositions of square matrices: Cholesky, QR, eigenvalues and eigenvectors. The singular value decomposition is `svd`'s.

Rules follow Giles (2008), "Collected matrix derivative results for forward and reverse mode algorithmic differentiation"; Murray (2016),
"Differentiation of the Cholesky decomposition"; Walter & Lehmann (2010), "Algorithmic differentiation of linear algebra functions with
application in optimum experimental design" (QR); and, for complex matrices, Boeddeker et al. (2017), "On the computation of complex-valued
gradients with application to statistically optimum beamforming".

Derivatives are those of the function as NumPy computes it. Where it reads one triangle of a matrix only, the gradient is in that triangle;
symmetrize the input, (A + A.T) / 2, to have it in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.ops.linalg.matrices import (
    Shape,
    above_diagonal,
    adjoint,
    answer_type,
    below_diagonal,
    conj,
    diagonal_of,
    factorization,
    half_lower,
    inverse_gaps,
    keep_phases,
    keep_phases_adjoint,
    on_diagonal,
    pack,
    put_back,
    read,
    rounding,
    row,
    transposed,
    unpack,
)
from funcgrad.ops.linalg.repeated import (
    EIGH,
    are_repeated,
    are_used,
    pack_marked,
    unpack_marked,
    warn_of_second_order,
    warn_of_vectors,
)
from funcgrad.primitive import register_all
from funcgrad.rules.values import is_complex, raw, shape_of
from funcgrad.tracer import Tracer

# ------------------------------------------------------------------------------------------------ Cholesky


def cholesky_jvp(t: Any, ans: Any, a: Any, upper: bool) -> Any:
    """The rule of cholesky, forwards."""
    factor = adjoint(ans) if upper else ans
    inverse = np.linalg.inv(factor)
    tangent = factor @ half_lower(inverse @ read(t, not upper) @ adjoint(inverse))
    return adjoint(tangent) if upper else tangent


def cholesky_vjp(ct: Any, ans: Any, a: Any, upper: bool) -> Any:
    """The rule of cholesky, backwards."""
    factor, g = (adjoint(ans), transposed(ct)) if upper else (ans, conj(ct))
    inverse = np.linalg.inv(factor)
    return conj(put_back(adjoint(inverse) @ half_lower(adjoint(factor) @ g) @ inverse, not upper))


_cholesky = factorization(
    lambda a, upper: np.linalg.cholesky(a, upper=True) if upper else np.linalg.cholesky(a), cholesky_jvp, cholesky_vjp, "ans", "cholesky"
)


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """np.linalg.cholesky. It reads the lower triangle (the upper one with `upper`), and there the gradient is."""
    return _cholesky(a, bool(upper))


# ------------------------------------------------------------------------------------------------ QR


def _qr_cores(a: Any, mode: str) -> list[Shape]:
    m, n = shape_of(a)[-2:]
    k = m if mode == "complete" else min(m, n)
    return [(m, k), (k, n)]


def _turn(x: Any) -> Any:
    """The skew-Hermitian matrix with the lower triangle of x, and the imaginary part of its diagonal."""
    strict = below_diagonal(x)
    turn = strict - adjoint(strict)
    return turn + on_diagonal(1j * np.imag(diagonal_of(x))) if is_complex(x) else turn


def _turn_adjoint(w: Any) -> Any:
    lower = below_diagonal(w - adjoint(w))
    return lower + on_diagonal(1j * np.imag(diagonal_of(w))) if is_complex(w) else lower


def qr_jvp(t: Any, ans: Any, a: Any, mode: str) -> Any:
    """With dA = dQ R + Q dR: Q^H dQ is skew, and dR R^-1 is upper triangular with a real diagonal."""
    m, n = shape_of(a)[-2:]
    k = min(m, n)
    whole_q, whole_r = unpack(ans, _qr_cores(a, mode))
    q, r = whole_q[..., :k], whole_r[..., :k, :]
    columns = t[..., :k] @ np.linalg.inv(r[..., :k])
    within = adjoint(q) @ columns
    turn = _turn(within)
    dq, dr = q @ turn, (above_diagonal(within - turn) + on_diagonal(np.real(diagonal_of(within)))) @ r[..., :k]
    if m > k:
        dq = dq + (columns - q @ within)
    if n > k:
        dr = np.concatenate([dr, adjoint(q) @ t[..., k:] - turn @ r[..., k:]], -1)
    if shape_of(whole_q)[-1] > k:
        dq = np.concatenate([dq, -q @ adjoint(adjoint(whole_q[..., k:]) @ dq)], -1)
        dr = np.concatenate([dr, np.zeros_like(raw(whole_r)[..., k:, :])], -2)
    return pack([dq, dr], _qr_cores(a, mode))


def qr_vjp(ct: Any, ans: Any, a: Any, mode: str) -> Any:
    """The rule of qr, backwards."""
    m, n = shape_of(a)[-2:]
    k = min(m, n)
    whole_q, whole_r = unpack(ans, _qr_cores(a, mode))
    whole_gq, whole_gr = unpack(conj(ct), _qr_cores(a, mode))
    q, r, gq, gr = whole_q[..., :k], whole_r[..., :k, :], whole_gq[..., :k], whole_gr[..., :k, :]
    if shape_of(whole_q)[-1] > k:
        gq = gq - whole_q[..., k:] @ adjoint(whole_gq[..., k:]) @ q
    along, upper = adjoint(q) @ gq, gr[..., :k] @ adjoint(r[..., :k])
    turned = along - upper - gr[..., k:] @ adjoint(r[..., k:]) if n > k else along - upper
    g_columns = q @ (upper + _turn_adjoint(turned))
    if m > k:
        g_columns = g_columns + (gq - q @ along)
    g = g_columns @ adjoint(np.linalg.inv(r[..., :k]))
    if n > k:
        g = np.concatenate([g, q @ gr[..., k:]], -1)
    return conj(g)


_qr = factorization(lambda a, mode: pack(np.linalg.qr(a, mode), _qr_cores(a, mode)), qr_jvp, qr_vjp, name="qr")


def qr(a: Any, mode: Any = "reduced") -> Any:
    """np.linalg.qr, of matrices whose first columns are independent, as many as R has rows.

    The columns that `complete` adds span what the others do not; within that space they are held as they are.

    Raises:
        NoRuleError: a mode that gives what LAPACK makes of the matrix: "raw", or the deprecated ones.
    """
    if mode not in ("reduced", "complete", "r"):
        np.linalg.qr(np.eye(1), mode)  # raises where there is no such mode
        raise NoRuleError(f"np.linalg.qr(mode={mode!r}) has no derivative rule: reduced, complete and r have")
    kept = "complete" if mode == "complete" else "reduced"
    q, r = unpack(_qr(a, kept), _qr_cores(a, kept))
    return r if mode == "r" else answer_type(np.linalg.qr)(q, r)


# ------------------------------------------------------------------------------------------------ Hermitian matrices


def _square_cores(a: Any) -> list[Shape]:
    n = shape_of(a)[-1]
    return [(n,), (n, n)]


def _is_lower(UPLO: Any) -> bool:
    return bool(UPLO.upper() == "L")


def eigh_jvp(t: Any, ans: Any, a: Any, UPLO: Any) -> Any:
    """The rule of eigh, forwards."""
    w, v = unpack(ans, _square_cores(a), reals=(0,))
    within = adjoint(v) @ read(t, _is_lower(UPLO)) @ v
    turned = v @ (inverse_gaps(w, rounding(w, shape_of(a)[-1])) * within)
    return pack_marked([np.real(diagonal_of(within)), keep_phases(turned, v)], _square_cores(a))


def eigh_vjp(ct: Any, ans: Any, a: Any, UPLO: Any) -> Any:
    """The rule of eigh, backwards."""
    w, v = unpack(ans, _square_cores(a), reals=(0,))
    gw, gv = unpack(conj(ct), _square_cores(a), reals=(0,))
    tolerance = rounding(w, shape_of(a)[-1])
    along = adjoint(v) @ keep_phases_adjoint(gv, v)
    turns = inverse_gaps(w, tolerance) * along
    if are_repeated(w, tolerance):
        warn_of_vectors(EIGH, w, tolerance, gw, [gv], along, *are_used(ct, 2))
        if type(ans) is Tracer:
            warn_of_second_order(EIGH, w, tolerance, gw, turns, type(ct) is not Tracer)
    return conj(put_back((v @ turns + v * row(gw)) @ adjoint(v), _is_lower(UPLO)))


_eigh = factorization(lambda a, UPLO: pack_marked(np.linalg.eigh(a, UPLO), _square_cores(a)), eigh_jvp, eigh_vjp, name="eigh")


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """np.linalg.eigh. It reads the triangle UPLO only, and there the gradient is.

    Eigenvectors are determined up to a sign, complex ones up to a phase, those of equal eigenvalues up to a rotation among themselves.
    Functions that do not depend on that choice have a derivative. Eigenvalues that are equal to rounding do not make it NaN: their vectors
    are held as they are among themselves. That is exact for functions of the eigenvalues alone that are symmetric in equal ones, and of
    the spaces that vectors of one eigenvalue span (projections). It is not for V diag(g(w)) V^H: between vectors of one eigenvalue its
    derivative is g', which a rule of eigh cannot see, and that part is lost. `funcgrad.scipy.linalg.funm(a, g)` has it. So it is with most
    second derivatives where eigenvalues repeat, that of sum(g(w)) too (the trace of funm); those of the sum of equal eigenvalues are right.

    Warns:
        DegenerateWarning: something may have been lost, in reverse mode: vectors of one eigenvalue are used one by one, or together with
            the eigenvalues; or a gradient is differentiated again. It is a false alarm where a function takes eigenvalues and projections
            from one call and does not combine them, as sum(w) + sum(c * P), and where a gradient is differentiated with respect to
            something else than the matrix, or depends on the sum of equal eigenvalues only, as that of exp(sum(w)). What is lost is not
            seen where g is 0 at the repeated eigenvalue and the cotangents of that eigenvalue are all equal, and never in forward mode,
            which cannot know what becomes of the vectors: take the gradient once.
    """
    found = unpack_marked(_eigh(a, UPLO), _square_cores(a), reals=(0,))
    return answer_type(np.linalg.eigh)(*found)


def eigvalsh_jvp(t: Any, ans: Any, a: Any, UPLO: Any) -> Any:
    """The rule of eigvalsh, forwards."""
    v = np.linalg.eigh(a, UPLO)[1]
    return np.sum(np.real(conj(v) * (read(t, _is_lower(UPLO)) @ v)), -2)


def eigvalsh_vjp(ct: Any, ans: Any, a: Any, UPLO: Any) -> Any:
    """The rule of eigvalsh, backwards."""
    v = np.linalg.eigh(a, UPLO)[1]
    if type(a) is Tracer and type(ct) is Tracer:
        tolerance = rounding(ans, shape_of(a)[-1])
        if are_repeated(ans, tolerance):
            warn_of_second_order(EIGH, ans, tolerance, ct, None, False)
    return conj(put_back((v * row(np.real(ct))) @ adjoint(v), _is_lower(UPLO)))


_eigvalsh = factorization(lambda a, UPLO: np.linalg.eigvalsh(a, UPLO), eigvalsh_jvp, eigvalsh_vjp, name="eigvalsh")


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """np.linalg.eigvalsh. Equal eigenvalues: first derivatives of functions symmetric in them are right; for second ones see `eigh`."""
    return _eigvalsh(a, UPLO)


# ------------------------------------------------------------------------------------------------ any square matrix


def _keep_unit(tangents: Any, vectors: Any) -> Any:
    """Tangents of unit vectors without what would make them longer."""
    return keep_phases(tangents - vectors * np.sum(np.real(conj(vectors) * tangents), -2, keepdims=True), vectors)


def _keep_unit_adjoint(g: Any, vectors: Any) -> Any:
    return keep_phases_adjoint(g, vectors) - vectors * np.sum(np.real(conj(g) * vectors), -2, keepdims=True)


def eig_jvp(t: Any, ans: Any, a: Any) -> Any:
    """The rule of eig, forwards."""
    w, v = unpack(ans, _square_cores(a))
    within = np.linalg.inv(v) @ t @ v
    turned = v @ (inverse_gaps(w, rounding(w, shape_of(a)[-1])) * within)
    return pack([diagonal_of(within), _keep_unit(turned, v)], _square_cores(a))


def eig_vjp(ct: Any, ans: Any, a: Any) -> Any:
    """The rule of eig, backwards."""
    w, v = unpack(ans, _square_cores(a))
    gw, gv = unpack(conj(ct), _square_cores(a))
    gaps = inverse_gaps(w, rounding(w, shape_of(a)[-1]))
    within = on_diagonal(gw) + conj(gaps) * (adjoint(v) @ _keep_unit_adjoint(gv, v))
    g = adjoint(np.linalg.inv(v)) @ within @ adjoint(v)
    return conj(g) if is_complex(a) else np.real(g)


_eig = factorization(lambda a: pack(np.linalg.eig(a), _square_cores(a)), eig_jvp, eig_vjp, name="eig")


def eig(a: Any) -> Any:
    """np.linalg.eig, of matrices with a full set of eigenvectors: others (Jordan blocks) have no derivative.

    Eigenvectors have length 1; complex ones are determined up to a phase, for which LAPACK makes the largest component real: the derivative
    is that of the vectors as computed. Where an eigenvalue is repeated, what `eigh` says holds, but nothing warns.
    """
    return answer_type(np.linalg.eig)(*unpack(_eig(a), _square_cores(a)))


def _in_order_of(values: Any, a: Any) -> tuple[Any, Any]:
    """The eigenvectors of a and the inverse of their matrix, in the order of `values`, which another algorithm found."""
    found, v = np.linalg.eig(a)
    distances = np.abs(raw(values)[..., :, None] - raw(found)[..., None, :])
    order = distances.argmin(-1) if distances.size else np.zeros(shape_of(values), int)
    in_place = np.arange(order.shape[-1])
    order = np.where((np.sort(order, -1) == in_place).all(-1, keepdims=True), order, in_place)
    if (order != in_place).any():
        v = np.take_along_axis(v, row(order), -1)
    return v, np.linalg.inv(v)


def eigvals_jvp(t: Any, ans: Any, a: Any) -> Any:
    """The rule of eigvals, forwards."""
    v, inverse = _in_order_of(ans, a)
    tangent = np.sum((inverse @ t) * transposed(v), -1)
    return tangent if is_complex(ans) else np.real(tangent)


def eigvals_vjp(ct: Any, ans: Any, a: Any) -> Any:
    """The rule of eigvals, backwards."""
    v, inverse = _in_order_of(ans, a)
    part = transposed(inverse) @ (transposed(v) * ct[..., None])
    return part if is_complex(a) else np.real(part)


eigvals = factorization(lambda a: np.linalg.eigvals(a), eigvals_jvp, eigvals_vjp, name="eigvals")
"""np.linalg.eigvals, of matrices with a full set of eigenvectors."""

_OPERATIONS: dict[Any, Any] = {
    np.linalg.cholesky: cholesky,
    np.linalg.qr: qr,
    np.linalg.eigh: eigh,
    np.linalg.eigvalsh: eigvalsh,
    np.linalg.eig: eig,
    np.linalg.eigvals: eigvals,
}
register_all(_OPERATIONS)
