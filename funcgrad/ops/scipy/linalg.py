"""SciPy's systems of linear equations, matrix equations and special matrices.

Owns the primitives; the names that users call are in `funcgrad.scipy.linalg`. Rules follow Giles (2008). Derivatives are those of the
function as SciPy computes it: where it reads one triangle of a matrix only, the gradient is in that triangle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from funcgrad.ops.linalg.matrices import adjoint, conj, read, transposed
from funcgrad.ops.scipy.examples import over_stacks, stacking
from funcgrad.rules import composed, general
from funcgrad.rules.values import is_complex, raw, shape_of, unbroadcast

# ------------------------------------------------------------------------------------------------ parts of matrices


def _is_below(x: Any, k: int) -> np.ndarray:
    """Where the places of a matrix lie on the k-th diagonal or below."""
    rows, columns = shape_of(x)[-2:]
    return np.arange(rows)[:, None] >= np.arange(columns) - k


def lower_part(x: Any, k: int = 0) -> Any:
    """np.tril, but zero beyond the diagonal whatever stands there."""
    return np.where(_is_below(x, k), x, 0)


def upper_part(x: Any, k: int = 0) -> Any:
    """np.triu, but zero beyond the diagonal whatever stands there."""
    return np.where(_is_below(x, k - 1), 0, x)


def _diagonal_part(x: Any) -> Any:
    return np.where(_is_below(x, 0) & ~_is_below(x, -1), x, 0)


def _symmetric(a: Any, lower: bool) -> Any:
    strict = lower_part(a, -1) if lower else upper_part(a, 1)
    return strict + transposed(strict) + _diagonal_part(a)


_STRUCTURES: dict[str, Callable[[Any, bool], Any]] = {
    **dict.fromkeys(("sym", "symmetric"), _symmetric),
    **dict.fromkeys(("her", "hermitian", "pos", "positive definite"), read),
    "diagonal": lambda a, lower: _diagonal_part(a),
    "tridiagonal": lambda a, lower: lower_part(upper_part(a, -1), 1),
    "upper triangular": lambda a, lower: upper_part(a),
    "lower triangular": lambda a, lower: lower_part(a),
}


def assumed(a: Any, assume_a: str | None, lower: bool) -> Any:
    """The matrix that SciPy sees where it is told to assume a structure: with what it reads, and the rest as that implies."""
    structure = _STRUCTURES.get(assume_a or "general")
    return structure(a, lower) if structure else a


# ------------------------------------------------------------------------------------------------ systems of equations


def _solver(
    name: str, solve: Callable[..., Any], turned: Callable[..., Any], applied: Callable[..., Any], entries: Callable[..., Any]
) -> Any:
    """The primitive `solve(a, b, *how)` of a system M x = b with M linear in a. b is a vector, or a stack of matrices.

    Args:
        name: the primitive's.
        solve: gives the value.
        turned: `(a, *how)` -> a and *how of the system whose matrix is the transpose of M.
        applied: `(t, x, *how)` -> the tangent of M, for one of a, times x.
        entries: `(y, x, *how)` -> the cotangent of a for the cotangent y x^T of M.
    """

    def columns(solution: Any, b: Any) -> Any:
        return solution[..., None] if len(shape_of(b)) == 1 else solution

    def solved(a: Any, right: Any, b: Any, how: Any) -> Any:
        solution = operation(a, right, *how)
        return solution[..., 0] if len(shape_of(b)) == 1 else solution

    def jvp_a(t: Any, ans: Any, a: Any, b: Any, *how: Any) -> Any:
        return -solved(a, applied(t, columns(ans, b), *how), b, how)

    def jvp_b(t: Any, ans: Any, a: Any, b: Any, *how: Any) -> Any:
        return operation(a, t, *how)

    def pulled(ct: Any, a: Any, b: Any, how: Any) -> Any:
        other, *other_how = turned(a, *how)
        return solved(other, columns(ct, b), b, other_how)

    def vjp_a(ct: Any, ans: Any, a: Any, b: Any, *how: Any) -> Any:
        return -unbroadcast(entries(columns(pulled(ct, a, b, how), b), columns(ans, b), *how), shape_of(a))

    def vjp_b(ct: Any, ans: Any, a: Any, b: Any, *how: Any) -> Any:
        return unbroadcast(pulled(ct, a, b, how), shape_of(b))

    batch = stacking(lambda *args: operation(*args), 2, 2)
    operation = general(over_stacks(solve, 2, 2), [jvp_a, jvp_b], [vjp_a, vjp_b], name=name, batch=batch)
    return operation


_TURNED = {"upper triangular": "lower triangular", "lower triangular": "upper triangular"}

solve = _solver(
    "scipy.linalg.solve",
    lambda a, b, assume_a, lower, turn: scipy.linalg.solve(
        a, b, lower, transposed=turn, check_finite=False, **({} if assume_a is None else {"assume_a": assume_a})
    ),
    turned=lambda a, assume_a, lower, turn: (
        a if turn else transposed(a),
        assume_a if turn else _TURNED.get(assume_a, assume_a),
        lower,
        False,
    ),
    applied=lambda t, x, assume_a, lower, turn: np.matmul(transposed(t) if turn else t, x),
    entries=lambda y, x, assume_a, lower, turn: np.matmul(x, transposed(y)) if turn else np.matmul(y, transposed(x)),
)
"""With `turn`, of the transpose of a."""


def _triangle(x: Any, lower: bool, unit_diagonal: bool) -> Any:
    return lower_part(x, -1 if unit_diagonal else 0) if lower else upper_part(x, 1 if unit_diagonal else 0)


def _as_said(x: Any, trans: int) -> Any:
    return x if trans == 0 else transposed(x) if trans == 1 else adjoint(x)


solve_triangular = _solver(
    "scipy.linalg.solve_triangular",
    lambda a, b, trans, lower, unit: scipy.linalg.solve_triangular(a, b, trans, lower, unit, check_finite=False),
    turned=lambda a, trans, lower, unit: (np.conj(a), 0, lower, unit) if trans == 2 else (a, 1 - trans, lower, unit),
    applied=lambda t, x, trans, lower, unit: np.matmul(_as_said(_triangle(t, lower, unit), trans), x),
    entries=lambda y, x, trans, lower, unit: _triangle(_as_said(np.matmul(y, transposed(x)), trans), lower, unit),
)
"""With `trans` a number: 0 for a itself, 1 for its transpose, 2 for its conjugate transpose."""


def _moved(rows: Any, places: int) -> Any:
    """Rows moved up by a number of places (down if it is negative); zeros follow."""
    if places == 0:
        return rows
    stay = rows[..., places:, :] if places > 0 else rows[..., :places, :]
    widths = [(0, 0)] * (len(shape_of(rows)) - 2) + [(0, places) if places > 0 else (-places, 0), (0, 0)]
    return np.pad(stay, widths)


def _band_applied(ab: Any, x: Any, below: int, above: int) -> Any:
    """The matrix with the diagonals ab, the highest first, times x."""
    terms = [_moved(ab[..., row, :, None] * x, above - row) for row in range(below + above + 1)]
    return sum(terms[1:], terms[0])


def _band_entries(y: Any, x: Any, below: int, above: int) -> Any:
    """The diagonals of the matrix y x^T."""
    rows = [np.sum(_moved(y, row - above) * x, -1) for row in range(below + above + 1)]
    return np.stack(rows, -2)


def _band_turned(ab: Any, below: int, above: int) -> tuple[Any, int, int]:
    rows = [_moved(ab[..., above + below - row, :, None], row - below)[..., 0] for row in range(below + above + 1)]
    return np.stack(rows, -2), above, below


solve_banded = _solver(
    "scipy.linalg.solve_banded",
    lambda ab, b, below, above: scipy.linalg.solve_banded((below, above), ab, b, check_finite=False),
    turned=_band_turned,
    applied=_band_applied,
    entries=_band_entries,
)


def _whole_band(ab: Any, lower: bool) -> Any:
    """All diagonals of the Hermitian matrix of which those of one side are given; its other side is their conjugate."""
    size = shape_of(ab)[-2] - 1
    main = ab[..., :1, :] if lower else ab[..., size:, :]
    given = ab[..., 1:, :] if lower else ab[..., :size, :]
    empty = np.zeros_like(raw(ab))
    strict = np.concatenate([empty, given] if lower else [given, empty], -2)
    other = conj(_band_turned(strict, size, size)[0])
    main = np.real(main) if is_complex(ab) else main
    return np.concatenate([other[..., :size, :], main, given] if lower else [given, main, other[..., size + 1 :, :]], -2)


solveh_banded: Any = composed(
    over_stacks(lambda ab, b, lower: scipy.linalg.solveh_banded(ab, b, lower=lower, check_finite=False), 2, 2),
    lambda ab, b, lower: solve_banded(_whole_band(ab, lower), b, shape_of(ab)[-2] - 1, shape_of(ab)[-2] - 1),
    arrays=2,
    name="scipy.linalg.solveh_banded",
    batch=stacking(lambda *args: solveh_banded(*args), 2, 2),
)

# ------------------------------------------------------------------------------------------------ matrix equations


def _sylvester_left(ct: Any, x: Any, a: Any, b: Any, q: Any) -> Any:
    return solve_sylvester(transposed(a), transposed(b), ct)


solve_sylvester: Any = general(
    over_stacks(scipy.linalg.solve_sylvester, 2, 2, 2),
    [
        lambda t, x, a, b, q: -solve_sylvester(a, b, np.matmul(t, x)),
        lambda t, x, a, b, q: -solve_sylvester(a, b, np.matmul(x, t)),
        lambda t, x, a, b, q: solve_sylvester(a, b, t),
    ],
    [
        lambda ct, x, *given: -unbroadcast(np.matmul(_sylvester_left(ct, x, *given), transposed(x)), shape_of(given[0])),
        lambda ct, x, *given: -unbroadcast(np.matmul(transposed(x), _sylvester_left(ct, x, *given)), shape_of(given[1])),
        lambda ct, x, *given: unbroadcast(_sylvester_left(ct, x, *given), shape_of(given[2])),
    ],
    name="scipy.linalg.solve_sylvester",
    batch=stacking(lambda *args: solve_sylvester(*args), 2, 2, 2),
)


def _continuous_vjp_a(ct: Any, x: Any, a: Any, q: Any) -> Any:
    y = solve_continuous_lyapunov(transposed(a), ct)
    return -unbroadcast(np.matmul(y, transposed(x)) + adjoint(np.matmul(transposed(x), y)), shape_of(a))


solve_continuous_lyapunov: Any = general(
    over_stacks(scipy.linalg.solve_continuous_lyapunov, 2, 2),
    [
        lambda t, x, a, q: -solve_continuous_lyapunov(a, np.matmul(t, x) + np.matmul(x, adjoint(t))),
        lambda t, x, a, q: solve_continuous_lyapunov(a, t),
    ],
    [_continuous_vjp_a, lambda ct, x, a, q: unbroadcast(solve_continuous_lyapunov(transposed(a), ct), shape_of(q))],
    name="scipy.linalg.solve_continuous_lyapunov",
    batch=stacking(lambda *args: solve_continuous_lyapunov(*args), 2, 2),
)


def _discrete_vjp_a(ct: Any, x: Any, a: Any, q: Any, method: Any) -> Any:
    y = solve_discrete_lyapunov(transposed(a), ct, method)
    ahead = np.matmul(a, x)
    return unbroadcast(np.matmul(y, transposed(np.matmul(x, adjoint(a)))) + adjoint(np.matmul(transposed(ahead), y)), shape_of(a))


solve_discrete_lyapunov: Any = general(
    over_stacks(scipy.linalg.solve_discrete_lyapunov, 2, 2),
    [
        lambda t, x, a, q, method: solve_discrete_lyapunov(
            a, np.matmul(t, np.matmul(x, adjoint(a))) + np.matmul(np.matmul(a, x), adjoint(t)), method
        ),
        lambda t, x, a, q, method: solve_discrete_lyapunov(a, t, method),
    ],
    [_discrete_vjp_a, lambda ct, x, a, q, method: unbroadcast(solve_discrete_lyapunov(transposed(a), ct, method), shape_of(q))],
    name="scipy.linalg.solve_discrete_lyapunov",
    batch=stacking(lambda *args: solve_discrete_lyapunov(*args), 2, 2),
)

# ------------------------------------------------------------------------------------------------ special matrices


def arranged(function: Callable[..., Any], *parts: Any) -> Any:
    """A matrix that SciPy makes by placing numbers and zeros: their places are found by giving the function the positions."""
    sizes = [int(np.prod(shape_of(part), dtype=int)) for part in parts]
    starts = np.cumsum([1, *sizes])
    positions = [np.arange(start, start + size).reshape(shape_of(part)) for part, start, size in zip(parts, starts, sizes, strict=False)]
    zero = np.zeros(1, np.result_type(*map(raw, parts)))
    return np.concatenate([zero, *(np.reshape(part, -1) for part in parts)])[function(*positions)]


def toeplitz(column: Any, row: Any) -> Any:
    """The Toeplitz matrix of a first column and row."""
    return arranged(scipy.linalg.toeplitz, column, row)


def _toeplitz_matrices(column: Any, row: Any) -> Any:
    """The same of stacks of columns and rows."""
    rows, columns = shape_of(column)[-1], shape_of(row)[-1]
    stack = np.broadcast_shapes(shape_of(column)[:-1], shape_of(row)[:-1])
    numbers = np.concatenate([np.broadcast_to(column, (*stack, rows)), np.broadcast_to(row, (*stack, columns))], -1)
    return np.take(numbers, scipy.linalg.toeplitz(np.arange(rows), np.arange(rows, rows + columns)), -1)


solve_toeplitz: Any = composed(
    over_stacks(lambda column, row, b: scipy.linalg.solve_toeplitz((column, row), b, check_finite=False), 1, 1, 2),
    lambda column, row, b: solve(_toeplitz_matrices(column, row), b, "general", False, False),
    arrays=3,
    name="scipy.linalg.solve_toeplitz",
    batch=stacking(lambda *args: solve_toeplitz(*args), 1, 1, 2),
)
matmul_toeplitz: Any = composed(
    over_stacks(
        lambda column, row, x, workers: scipy.linalg.matmul_toeplitz((column, row), x, workers=workers),
        *(1, 1, 2),
        shape=lambda column, row, x: column + x[1:],
    ),
    lambda column, row, x, workers: np.matmul(_toeplitz_matrices(column, row), x),
    arrays=3,
    name="scipy.linalg.matmul_toeplitz",
    batch=stacking(lambda *args: matmul_toeplitz(*args), 1, 1, 2),
)


def khatri_rao(a: Any, b: Any) -> Any:
    """Each column of a with each of b, by SciPy's own steps."""
    scipy.linalg.khatri_rao(np.empty(shape_of(a)), np.empty(shape_of(b)))  # refuses shapes that do not fit
    products = a[..., :, None, :] * b[..., None, :, :]
    *stack, rows, columns, width = shape_of(products)
    return np.reshape(products, (*stack, rows * columns, width))
