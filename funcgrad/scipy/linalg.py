"""SciPy's linear algebra. On plain arrays each function is SciPy's own; on tracers those that stand here have derivatives, the rest raise.

Where SciPy reads one triangle of a matrix only, the derivative is with respect to that triangle, and zero for the other. `overwrite_`
options are without effect on tracers, whose arrays are never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as _np
import scipy.linalg as _linalg

from funcgrad.errors import NoRuleError as _NoRuleError
from funcgrad.ops.arrays.creation import asarray as _asarray
from funcgrad.ops.arrays.creation import check_finite as _check_finite
from funcgrad.ops.scipy import decompositions as _factors
from funcgrad.ops.scipy import linalg as _ops
from funcgrad.ops.scipy import matrix_functions as _functions
from funcgrad.rules.batching import as_instruction as _as_instruction
from funcgrad.rules.values import raw as _raw
from funcgrad.rules.values import shape_of as _shape_of
from funcgrad.scipy.fallback import in_place_of as _in_place_of
from funcgrad.scipy.fallback import without_rules as _without_rules
from funcgrad.scipy.matrix_functions import funm as funm


def _arrays(check_finite: bool, *values: Any) -> list[Any]:
    """Operands as arrays or tracers, refused where SciPy refuses them for what is not finite."""
    arrays = [_asarray(value) for value in values]
    if check_finite:
        for array in arrays:
            _check_finite(array)
    return arrays


def _refuse(name: str, **options: Any) -> None:
    """Options that have no rule.

    Raises:
        NoRuleError: one of them is given.
    """
    harmless = {"overwrite_a", "overwrite_b", "type" if options.get("type") == 1 else ""}
    given = [option for option, value in options.items() if value is not None and value is not False and option not in harmless]
    if given:
        raise _NoRuleError(f"scipy.linalg.{name} with {', '.join(given)} has no derivative rule yet; without it, it has")


def _alike(function: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays and nothing else, whose operation is told nothing else."""

    @_in_place_of(function)
    def of_arrays(*arrays: Any) -> Any:
        return operation(*map(_asarray, arrays))

    of_arrays.__name__ = of_arrays.__qualname__ = function.__name__
    of_arrays.__doc__ = f"scipy.linalg.{function.__name__}."
    return of_arrays


def _trans(trans: int | str) -> int:
    return {"N": 0, "T": 1, "C": 2}.get(trans, trans)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ systems of equations


@_in_place_of(_linalg.solve, "a b")
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """scipy.linalg.solve. Of a matrix of which a structure is assumed, the derivative is in the entries that SciPy reads."""
    a, b = _arrays(check_finite, a, b)
    return _ops.solve(_ops.assumed(a, assume_a, lower), b, assume_a, lower, transposed)


@_in_place_of(_linalg.solve_triangular, "a b")
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """scipy.linalg.solve_triangular."""
    return _ops.solve_triangular(*_arrays(check_finite, a, b), _trans(trans), lower, unit_diagonal)


@_in_place_of(_linalg.solve_banded, "ab b")
def solve_banded(
    l_and_u: tuple[int, int], ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """scipy.linalg.solve_banded."""
    return _ops.solve_banded(*_arrays(check_finite, ab, b), *l_and_u)


@_in_place_of(_linalg.solveh_banded, "ab b")
def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """scipy.linalg.solveh_banded."""
    return _ops.solveh_banded(*_arrays(check_finite, ab, b), lower)


def _column_and_row(c_or_cr: Any) -> tuple[Any, Any]:
    if isinstance(c_or_cr, tuple):
        column, row = c_or_cr
        return _asarray(column), _asarray(row)
    column = _asarray(c_or_cr)
    return column, _np.conj(column) if _np.iscomplexobj(_raw(column)) else column


@_in_place_of(_linalg.solve_toeplitz, "c_or_cr b")
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """scipy.linalg.solve_toeplitz."""
    return _ops.solve_toeplitz(*_arrays(check_finite, *_column_and_row(c_or_cr), b))


@_in_place_of(_linalg.matmul_toeplitz, "c_or_cr x")
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: int | None = None) -> Any:
    """scipy.linalg.matmul_toeplitz."""
    return _ops.matmul_toeplitz(*_arrays(check_finite, *_column_and_row(c_or_cr), x), workers)


@_in_place_of(_linalg.solve_discrete_lyapunov, "a q")
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """scipy.linalg.solve_discrete_lyapunov."""
    return _ops.solve_discrete_lyapunov(a, q, method)


solve_sylvester = _alike(_linalg.solve_sylvester, _ops.solve_sylvester)
solve_continuous_lyapunov = solve_lyapunov = _alike(_linalg.solve_continuous_lyapunov, _ops.solve_continuous_lyapunov)


# ------------------------------------------------------------------------------------------------ inverses and sizes


@_in_place_of(_linalg.inv, "a")
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True, **structure: Any) -> Any:
    """scipy.linalg.inv, also with `assume_a` and `lower` where SciPy has them."""
    (a,) = _arrays(check_finite, a)
    return _factors.inv(_ops.assumed(a, structure.get("assume_a"), structure.get("lower", False)), **structure)


@_in_place_of(_linalg.pinv, "")
def pinv(a: Any, *, return_rank: bool = False, check_finite: bool = True, **tolerances: Any) -> Any:
    """scipy.linalg.pinv; the rank counts as constant."""
    (a,) = _arrays(check_finite, a)
    inverse = _factors.pinv(a, tolerances)
    return (inverse, _as_instruction(_linalg.pinv)(_raw(a), return_rank=True, **tolerances)[1]) if return_rank else inverse


@_in_place_of(_linalg.lstsq, "")
def lstsq(
    a: Any,
    b: Any,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Any, Any, int, Any]:
    """scipy.linalg.lstsq of one matrix, whose rank counts as constant."""
    a, b = _arrays(check_finite, a, b)
    _refuse("lstsq", stacks=len(_shape_of(a)) > 2)
    _, residues, rank, values = _as_instruction(_linalg.lstsq)(_raw(a), _raw(b), cond, lapack_driver=lapack_driver)
    given = a, b, cond, lapack_driver
    return (
        _factors.lstsq_solution(*given),
        _factors.lstsq_residues(*given) if _np.size(residues) else residues,
        rank,
        None if values is None else _factors.lstsq_values(*given),
    )


@_in_place_of(_linalg.det, "a")
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.det."""
    return _factors.det(*_arrays(check_finite, a))


@_in_place_of(_linalg.norm, "a")
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:  # noqa: A002
    """scipy.linalg.norm; 0 at 0."""
    return _factors.norm(*_arrays(check_finite, a), ord, axis, keepdims)


# ------------------------------------------------------------------------------------------------ factorizations


@_in_place_of(_linalg.cholesky, "a")
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.cholesky."""
    return _factors.cholesky(*_arrays(check_finite, a), lower)


_KEEPS_THE_OTHER_TRIANGLE = bool(_linalg.cho_factor(_np.array([[1.0, 7.0], [0.0, 1.0]]), lower=True)[0][0, 1] == 7.0)


@_in_place_of(_linalg.cho_factor, "a")
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """scipy.linalg.cho_factor. The other triangle is what SciPy makes it: what it was, or, in newer versions, zero."""
    (a,) = _arrays(check_finite, a)
    factor = _factors.cholesky(a, lower)
    if not _KEEPS_THE_OTHER_TRIANGLE:
        return factor, lower
    own = _np.tri(_shape_of(a)[-1], dtype=bool)
    return _np.where(own if lower else own.T, factor, a.astype(factor.dtype)), lower


@_in_place_of(_linalg.cho_solve, "c_and_lower b")
def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.cho_solve."""
    return _factors.cho_solve(*_arrays(check_finite, c_and_lower[0], b), c_and_lower[1])


@_in_place_of(_linalg.lu_factor, "")
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, _np.ndarray]:
    """scipy.linalg.lu_factor of square matrices; the pivots count as constant."""
    (a,) = _arrays(check_finite, a)
    _factors.refuse_rectangular("lu_factor", a)
    pivots = _as_instruction(_linalg.lu_factor)(_raw(a), check_finite=False)[1]
    return _factors.lu_factor(a, _factors.permutation(pivots)), pivots


@_in_place_of(_linalg.lu_solve, "")
def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.lu_solve."""
    factors, pivots = lu_and_piv
    return _factors.lu_solve(*_arrays(check_finite, factors, b), _asarray(pivots), trans)


@_in_place_of(_linalg.lu, "")
def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False) -> tuple[Any, ...]:
    """scipy.linalg.lu of square matrices; the permutation counts as constant."""
    (a,) = _arrays(check_finite, a)
    _factors.refuse_rectangular("lu", a)
    order = _as_instruction(_linalg.lu)(_raw(a), p_indices=True, check_finite=False)[0]
    lower, upper = _factors.lu_lower(a), _factors.lu_upper(a)
    if permute_l:
        return _factors.reordered(lower, order), upper
    return order if p_indices else _as_instruction(_linalg.lu)(_raw(a), check_finite=False)[0], lower, upper


@_in_place_of(_linalg.qr, "")
def qr(
    a: Any, overwrite_a: bool = False, lwork: int | None = None, mode: str = "full", pivoting: bool = False, check_finite: bool = True
) -> Any:
    """scipy.linalg.qr, of matrices whose first columns are independent, as many as R has rows."""
    (a,) = _arrays(check_finite, a)
    _refuse("qr", pivoting=pivoting, raw=mode == "raw")
    if mode not in ("full", "r", "economic"):
        _linalg.qr(_raw(a), mode=mode)  # raises where there is no such mode
    q, r = _factors.qr(a, "economic" if mode == "economic" else "full")
    return (r,) if mode == "r" else (q, r)


@_in_place_of(_linalg.svd, "")
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """scipy.linalg.svd; of equal singular values, and of zero ones, as `numpy.linalg.svd`."""
    (a,) = _arrays(check_finite, a)
    return tuple(_factors.svd(a, bool(full_matrices), lapack_driver)) if compute_uv else _factors.svdvals(a)


@_in_place_of(_linalg.svdvals, "a")
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """scipy.linalg.svdvals."""
    return _factors.svdvals(*_arrays(check_finite, a))


@_in_place_of(_linalg.polar, "a")
def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """scipy.linalg.polar, of matrices of full rank."""
    a = _asarray(a)
    return _factors.polar_unitary(a, side), _factors.polar_positive(a, side)


@_in_place_of(_linalg.eigh, "")
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    driver: str | None = None,
    check_finite: bool = True,
    **options: Any,
) -> Any:
    """scipy.linalg.eigh of one matrix, all eigenvalues. Of equal ones what `numpy.linalg.eigh` says holds: `funm` is exact there."""
    _refuse("eigh", b=b, **options)
    (a,) = _arrays(check_finite, a)
    return _factors.eigvalsh(a, lower, driver) if eigvals_only else tuple(_factors.eigh(a, lower, driver))


@_in_place_of(_linalg.eigvalsh, "a")
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, driver: str | None = None, check_finite: bool = True, **options: Any) -> Any:
    """scipy.linalg.eigvalsh of one matrix, all eigenvalues. Equal ones: right for functions that are symmetric in them."""
    _refuse("eigvalsh", b=b, **options)
    return _factors.eigvalsh(*_arrays(check_finite, a), lower, driver)


@_in_place_of(_linalg.eig, "")
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """scipy.linalg.eig of one matrix with a full set of eigenvectors, the right ones."""
    _refuse("eig", b=b, left=left, homogeneous_eigvals=homogeneous_eigvals)
    (a,) = _arrays(check_finite, a)
    return tuple(_factors.eig(a)) if right else _factors.eigvals(a)


@_in_place_of(_linalg.eigvals, "a")
def eigvals(a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False) -> Any:
    """scipy.linalg.eigvals of one matrix with a full set of eigenvectors."""
    _refuse("eigvals", b=b, homogeneous_eigvals=homogeneous_eigvals)
    return _factors.eigvals(*_arrays(check_finite, a))


# ------------------------------------------------------------------------------------------------ functions of matrices


expm, logm = _alike(_linalg.expm, _functions.expm), _alike(_linalg.logm, _functions.logm)
cosm, sinm, tanm = _alike(_linalg.cosm, _functions.cosm), _alike(_linalg.sinm, _functions.sinm), _alike(_linalg.tanm, _functions.tanm)
coshm, sinhm, tanhm = (_alike(getattr(_linalg, name), getattr(_functions, name)) for name in ("coshm", "sinhm", "tanhm"))


@_in_place_of(_linalg.expm_frechet, "A E")
def expm_frechet(A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True) -> Any:
    """scipy.linalg.expm_frechet."""
    A, E = _arrays(check_finite, A, E)
    derivative = _functions.expm_frechet(A, E, method)
    return (_functions.expm_beside(A, E, method), derivative) if compute_expm else derivative


@_in_place_of(_linalg.sqrtm, "A")
def sqrtm(A: Any) -> Any:
    """scipy.linalg.sqrtm; not for matrices that have opposite eigenvalues, or two of zero, in their root."""
    return _functions.sqrtm(_asarray(A))


@_in_place_of(_linalg.fractional_matrix_power, "A")
def fractional_matrix_power(A: Any, t: float) -> Any:
    """scipy.linalg.fractional_matrix_power; the exponent is static."""
    return _functions.fractional_matrix_power(_asarray(A), t)


# ------------------------------------------------------------------------------------------------ special matrices


@_in_place_of(_linalg.toeplitz, "c r")
def toeplitz(c: Any, r: Any = None) -> Any:
    """scipy.linalg.toeplitz."""
    return _ops.toeplitz(*_column_and_row(c if r is None else (c, r)))


@_in_place_of(_linalg.hankel, "c r")
def hankel(c: Any, r: Any = None) -> Any:
    """scipy.linalg.hankel."""
    c = _asarray(c)
    return _ops.arranged(_linalg.hankel, c, _np.zeros_like(_raw(c)) if r is None else _asarray(r))


circulant = _alike(_linalg.circulant, lambda c: _ops.arranged(_linalg.circulant, c))
leslie = _alike(_linalg.leslie, lambda f, s: _ops.arranged(_linalg.leslie, f, s))
khatri_rao = _alike(_linalg.khatri_rao, _ops.khatri_rao)
block_diag = _alike(_linalg.block_diag, lambda *arrs: _ops.arranged(_linalg.block_diag, *arrs))


@_in_place_of(_linalg.convolution_matrix, "a")
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """scipy.linalg.convolution_matrix."""
    return _ops.arranged(lambda a: _linalg.convolution_matrix(a, n, mode), _asarray(a))


__getattr__, __dir__ = _without_rules(_linalg)
