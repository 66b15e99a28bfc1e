"""SciPy's inverses, sizes and factorizations of matrices.

Owns the primitives; the names that users call are in `funcgrad.scipy.linalg`. SciPy calls LAPACK with other algorithms and layouts than
NumPy, hence other last bits, signs and phases: the values are SciPy's, the rules those of `funcgrad.ops.linalg`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from funcgrad.dependence import refuse_dtypes
from funcgrad.errors import NoRuleError
from funcgrad.ops.linalg import decompositions
from funcgrad.ops.linalg import svd as linalg_svd
from funcgrad.ops.linalg import systems as linalg
from funcgrad.ops.linalg.matrices import Shape, adjoint, pack, transposed, unpack
from funcgrad.ops.linalg.repeated import pack_marked, unpack_marked
from funcgrad.ops.scipy.linalg import lower_part, solve_triangular, upper_part
from funcgrad.primitive import Operation
from funcgrad.rules import composed, general
from funcgrad.rules.batching import as_instruction
from funcgrad.rules.values import is_complex, raw, shape_of
from funcgrad.staged import Staged

# ------------------------------------------------------------------------------------------------ inverses and sizes

inv = general(
    lambda a, **options: scipy.linalg.inv(a, check_finite=False, **options),
    [lambda t, ans, a, **options: -np.matmul(ans, np.matmul(t, ans))],
    [lambda ct, ans, a, **options: -np.matmul(transposed(ans), np.matmul(ct, transposed(ans)))],
    keeps="ans",
    name="scipy.linalg.inv",
)


det = composed(lambda a: scipy.linalg.det(a, check_finite=False), np.linalg.det, name="scipy.linalg.det")
norm = composed(
    lambda a, *how: scipy.linalg.norm(a, *how, check_finite=False), lambda a, *how: np.linalg.norm(a, *how), name="scipy.linalg.norm"
)

# ------------------------------------------------------------------------------------------------ least squares


def _least_squares(a: Any, b: Any, cond: float | None, driver: str | None) -> Any:
    return scipy.linalg.lstsq(a, b, cond, lapack_driver=driver, check_finite=False)


def _solution(a: Any, b: Any, cond: float | None, driver: str | None) -> Any:
    return np.linalg.lstsq(a, b, rcond=np.finfo(raw(a).dtype).eps if cond is None else cond)[0]


def _residues(a: Any, b: Any, *how: Any) -> Any:
    rest = b - np.matmul(a, _solution(a, b, *how))
    return np.sum(np.real(rest) ** 2 + np.imag(rest) ** 2 if np.iscomplexobj(raw(rest)) else rest**2, 0)


lstsq_solution = composed(lambda *given: _least_squares(*given)[0], _solution, arrays=2, name="scipy.linalg.lstsq")
lstsq_residues = composed(lambda *given: _least_squares(*given)[1], _residues, arrays=2, name="scipy.linalg.lstsq residues")
lstsq_values = composed(
    lambda *given: _least_squares(*given)[3],
    lambda a, b, *how: np.linalg.svd(a, compute_uv=False),
    arrays=2,
    name="scipy.linalg.lstsq singular values",
)

# ------------------------------------------------------------------------------------------------ NumPy's rules


def _alike(
    name: str, function: Callable[..., Any], jvp: Callable[..., Any], vjp: Callable[..., Any], told: Callable[..., Any]
) -> Operation:
    """The primitive of which NumPy has one alike: `told(*static)` is what the rules of that take after the operand."""
    return general(
        function,
        [lambda t, ans, a, *static: jvp(t, ans, a, *told(*static))],
        [lambda ct, ans, a, *static: vjp(ct, ans, a, *told(*static))],
        name=f"scipy.linalg.{name}",
    )


pinv = _alike(
    "pinv",
    lambda a, options: scipy.linalg.pinv(a, check_finite=False, **options),
    linalg.pinv_jvp,
    linalg.pinv_vjp,
    lambda options: (False, options),
)
cholesky = _alike(
    "cholesky",
    lambda a, lower: scipy.linalg.cholesky(a, lower, check_finite=False),
    decompositions.cholesky_jvp,
    decompositions.cholesky_vjp,
    lambda lower: (not lower,),
)
_qr = _alike(
    "qr",
    lambda a, mode: pack(scipy.linalg.qr(a, mode=mode, check_finite=False), _qr_cores(a, mode)),
    decompositions.qr_jvp,
    decompositions.qr_vjp,
    lambda mode: ("complete" if mode == "full" else "reduced",),
)
_svd = _alike(
    "svd",
    lambda a, is_full, driver: pack_marked(
        scipy.linalg.svd(a, full_matrices=is_full, check_finite=False, lapack_driver=driver), _svd_cores(a, is_full)
    ),
    linalg_svd.svd_jvp,
    linalg_svd.svd_vjp,
    lambda is_full, driver: (is_full,),
)
svdvals = _alike(
    "svdvals",
    lambda a: scipy.linalg.svdvals(a, check_finite=False),
    linalg_svd.singular_values_jvp,
    lambda ct, ans, a: linalg_svd.weigh_pairs(np.real(ct), a),
    tuple,
)
_eigh = _alike(
    "eigh",
    lambda a, lower, driver: pack_marked(scipy.linalg.eigh(a, lower=lower, driver=driver, check_finite=False), _eigen_cores(a)),
    decompositions.eigh_jvp,
    decompositions.eigh_vjp,
    lambda lower, driver: ("L" if lower else "U",),
)
eigvalsh = _alike(
    "eigvalsh",
    lambda a, lower, driver: scipy.linalg.eigvalsh(a, lower=lower, driver=driver, check_finite=False),
    decompositions.eigvalsh_jvp,
    decompositions.eigvalsh_vjp,
    lambda lower, driver: ("L" if lower else "U",),
)
_eig = _alike(
    "eig",
    lambda a: pack(scipy.linalg.eig(a, check_finite=False), _eigen_cores(a)),
    decompositions.eig_jvp,
    decompositions.eig_vjp,
    tuple,
)
eigvals = _alike(
    "eigvals",
    lambda a: scipy.linalg.eigvals(a, check_finite=False),
    decompositions.eigvals_jvp,
    decompositions.eigvals_vjp,
    tuple,
)


def _qr_cores(a: Any, mode: str) -> list[Shape]:
    m, n = shape_of(a)[-2:]
    k = m if mode == "full" else min(m, n)
    return [(m, k), (k, n)]


def _svd_cores(a: Any, is_full: bool) -> list[Shape]:
    m, n = shape_of(a)[-2:]
    k = min(m, n)
    return [(m, m), (k,), (n, n)] if is_full else [(m, k), (k,), (k, n)]


def _eigen_cores(a: Any) -> list[Shape]:
    n = shape_of(a)[-1]
    return [(n,), (n, n)]


def qr(a: Any, mode: str) -> list[Any]:
    """Q and R; `mode` is "full" or "economic"."""
    return unpack(_qr(a, mode), _qr_cores(a, mode))


def svd(a: Any, is_full: bool, driver: str) -> list[Any]:
    """U, the singular values, and V^H."""
    return unpack_marked(_svd(a, is_full, driver), _svd_cores(a, is_full), reals=(1,))


def eigh(a: Any, lower: bool, driver: str | None) -> list[Any]:
    """Eigenvalues and eigenvectors of the Hermitian matrix of which one triangle is read."""
    return unpack_marked(_eigh(a, lower, driver), _eigen_cores(a), reals=(0,))


def eig(a: Any) -> list[Any]:
    """Eigenvalues, which are complex always, and eigenvectors, which are real where all of them are."""
    packed = _eig(a)
    if type(raw(a)) is Staged:
        if not is_complex(a):
            refuse_dtypes("scipy.linalg.eig", raw(a)._scope.name)
        return unpack(packed, _eigen_cores(a))
    is_real = not np.iscomplexobj(raw(a)) and bool((unpack(raw(packed), _eigen_cores(a))[0].imag == 0).all())
    return unpack(packed, _eigen_cores(a), reals=(1,) if is_real else ())


def _polar_factors(a: Any, side: str) -> tuple[Any, Any]:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    unitary = u @ vh
    return unitary, adjoint(unitary) @ a if side == "right" else a @ adjoint(unitary)


polar_unitary, polar_positive = (
    composed(
        lambda a, side, n=n: scipy.linalg.polar(a, side)[n], lambda a, side, n=n: _polar_factors(a, side)[n], name=f"scipy.linalg.polar {n}"
    )
    for n in (0, 1)
)

# ------------------------------------------------------------------------------------------------ solving with factors

cho_solve = composed(
    lambda c, b, lower: scipy.linalg.cho_solve((c, lower), b, check_finite=False),
    lambda c, b, lower: solve_triangular(c, solve_triangular(c, b, 0 if lower else 2, lower, False), 2 if lower else 0, lower, False),
    arrays=2,
    name="scipy.linalg.cho_solve",
)


@as_instruction
def permutation(piv: np.ndarray) -> np.ndarray:
    """The order of the rows after LAPACK's interchanges."""
    orders = np.tile(np.arange(piv.shape[-1]), (*piv.shape[:-1], 1))
    for swaps, order in zip(piv.reshape(-1, piv.shape[-1]), orders.reshape(-1, piv.shape[-1]), strict=True):
        for one, other in enumerate(swaps):
            order[[one, other]] = order[[other, one]]
    return orders


def reordered(x: Any, order: np.ndarray) -> Any:
    """The rows of matrices, or the elements of a vector, in another order."""
    if len(shape_of(x)) == 1 and order.ndim == 1:
        return x[order]
    shape = np.broadcast_shapes(shape_of(x)[:-2], order.shape[:-1]) + shape_of(x)[-2:]
    return np.take_along_axis(np.broadcast_to(x, shape), np.broadcast_to(order[..., None], shape), -2)


def refuse_rectangular(name: str, a: Any) -> None:
    """Factorizations whose rule is for square matrices.

    Raises:
        NoRuleError: it is another.
    """
    rows, columns = shape_of(a)[-2:]
    if rows != columns:
        raise NoRuleError(f"scipy.linalg.{name} of a matrix that is not square ({rows} x {columns}) has no derivative rule yet")


def _lu_jvp(t: Any, ans: Any, a: Any, order: np.ndarray) -> Any:
    left = solve_triangular(ans, reordered(t, order), 0, True, True)
    both = transposed(solve_triangular(ans, transposed(left), 1, False, False))
    strict = lower_part(both, -1)
    return strict + np.matmul(lower_part(ans, -1), strict) + np.matmul(upper_part(both), upper_part(ans))


def _lu_vjp(ct: Any, ans: Any, a: Any, order: np.ndarray) -> Any:
    below, above = lower_part(ct, -1), upper_part(ct)
    both = lower_part(below + np.matmul(transposed(lower_part(ans, -1)), below), -1) + upper_part(
        np.matmul(above, transposed(upper_part(ans)))
    )
    left = solve_triangular(ans, both, 1, True, True)
    return reordered(transposed(solve_triangular(ans, transposed(left), 0, False, False)), np.argsort(order, -1))


lu_factor = general(
    lambda a, order: scipy.linalg.lu_factor(a, check_finite=False)[0], [_lu_jvp], [_lu_vjp], keeps="ans", name="scipy.linalg.lu_factor"
)
"""Both factors of the square matrix in one, for rows in that order (de Hoog, Anderssen and Lukas, 2011)."""


@as_instruction
def _pivots(a: np.ndarray) -> Any:
    return scipy.linalg.lu_factor(a, check_finite=False)[1]


def _factored(a: Any) -> Any:
    return lu_factor(a, permutation(_pivots(raw(a))))


lu_lower = composed(
    lambda a: scipy.linalg.lu(a, p_indices=True, check_finite=False)[1],
    lambda a: lower_part(_factored(a), -1),
    name="scipy.linalg.lu lower",
)
lu_upper = composed(
    lambda a: scipy.linalg.lu(a, p_indices=True, check_finite=False)[2], lambda a: upper_part(_factored(a)), name="scipy.linalg.lu upper"
)


def _lu_solved(lu: Any, b: Any, piv: np.ndarray, trans: int) -> Any:
    order = permutation(piv)
    is_stack_of_vectors = len(shape_of(b)) == 1 and order.ndim > 1
    b = b[:, None] if is_stack_of_vectors else b
    if trans == 0:
        found = solve_triangular(lu, solve_triangular(lu, reordered(b, order), 0, True, True), 0, False, False)
    else:
        found = solve_triangular(lu, solve_triangular(lu, b, trans, False, False), trans, True, True)
        found = reordered(found, np.argsort(order, -1))
    return found[..., 0] if is_stack_of_vectors else found


lu_solve = composed(
    lambda lu, b, piv, trans: scipy.linalg.lu_solve((lu, piv), b, trans, check_finite=False),
    _lu_solved,
    arrays=2,
    name="scipy.linalg.lu_solve",
)
