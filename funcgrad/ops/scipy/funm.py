"""The function of a matrix that a function of numbers makes of its eigenvalues, f(A) = V diag(f(w)) V^-1.

Its derivatives of any order, in A and in parameters of f, are of one form (Daleckii and Krein, 1951; Higham 2008, "Functions of Matrices",
chapter 3), and so are their adjoints: one primitive is closed under differentiation. It is

    T[X_1, ..., X_k] = sum over i_0, ..., i_k of f[w_i0, ..., w_ik] P_i0 X_1 P_i1 ... X_k P_ik

with f's divided differences, which have a value where eigenvalues are equal, and P_i = v_i u_i, the product of a column of V and a row of
V^-1. Its derivative along E is the sum of all T with E put before, between or behind the X; the adjoint of X_j -> T is T with the others
and the cotangent around in a circle; and in a parameter it is the T of f's derivative.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from funcgrad.errors import NoRuleError
from funcgrad.ops.linalg.matrices import adjoint, row, transposed
from funcgrad.ops.scipy.divided_differences import divided_differences
from funcgrad.rules import general
from funcgrad.rules.values import is_complex, raw, real_part, shape_of

Derivative = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


class MatrixFunction:
    """A function of numbers as one of matrices, with the eigenvalues of the matrix that it was last asked about.

    Args:
        derivative: `(x, parameters, order)` -> the derivative of that order in x at plain numbers x, shape (n,), of f at the parameters
            in the first row, differentiated along those in each further row.
    """

    def __init__(self, derivative: Derivative) -> None:
        self.derivative = derivative
        self._known: tuple[Any, ...] = (None, None)

    def spectrum(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """Eigenvalues, eigenvectors, the inverse of these, and whether the matrices are Hermitian."""
        known = self._known
        if known[0] is not a:
            known = self._known = (a, _spectrum(a))
        return known[1]  # type: ignore[no-any-return]

    def of_schur_form(self, a: np.ndarray, parameters: np.ndarray, disp: bool = True) -> Any:
        """SciPy's value of f, for a matrix that is not Hermitian; with an estimate of its error if disp is False."""
        return scipy.linalg.funm(a, lambda x: self.derivative(x, parameters[:1], 0), disp)


def is_hermitian(a: np.ndarray) -> bool:
    """Whether matrices are, to rounding."""
    difference = np.abs(a - adjoint(a)).max((-2, -1), initial=0.0)
    return bool((difference <= 8 * a.shape[-1] * np.finfo(a.dtype).eps * np.abs(a).max((-2, -1), initial=0.0)).all())


def _spectrum(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    if is_hermitian(a):
        w, v = np.linalg.eigh(a)
        return w, v, adjoint(v), True
    w, v = np.linalg.eig(a)
    condition = float(np.max(np.linalg.cond(v), initial=0.0))
    if not condition <= np.finfo(v.dtype).eps ** (-1 / 3):
        raise NoRuleError(
            "scipy.linalg.funm has no derivative rule for a matrix that is not Hermitian and whose eigenvectors are dependent, or almost "
            f"(condition number {condition:.1e}): if it should be Hermitian, symmetrize it, (a + a.conj().T) / 2"
        )
    return w, v, np.linalg.inv(v), False


def _value(a: np.ndarray, xs: np.ndarray, parameters: np.ndarray, f: MatrixFunction) -> Any:
    """A sum of T at plain values.

    Args:
        a: the matrices, shape (..., n, n).
        xs: for each T the k matrices that it is of, shape (terms, k, ..., n, n).
        parameters: those of f, and the directions of its derivative.
        f: the function.
    """
    k = xs.shape[1]
    if not k and len(parameters) == 1 and not is_hermitian(a):
        return f.of_schur_form(a, parameters)
    w, v, u, is_unitary = f.spectrum(a)

    def at(x: np.ndarray, order: int) -> np.ndarray:
        return f.derivative(x.ravel(), parameters, order).reshape(x.shape)

    found = v @ _contracted(divided_differences(at, w, k), u @ xs @ v) @ u if k else (v * row(at(w, 0))) @ u
    if not is_unitary and not any(map(np.iscomplexobj, (a, xs, parameters, f.of_schur_form(a, parameters, False)[0]))):
        found = found.real
    return found


def _contracted(differences: np.ndarray, xs: np.ndarray) -> Any:
    """The sum of the products of differences and matrices over all indices but the first and the last, and over the terms."""
    k = xs.shape[1]
    if k == 1:
        total = xs[:, 0].sum(0)
        product = differences * total
        return product if np.isfinite(product).all() else np.where(total == 0, 0.0, product)
    letters = string.ascii_lowercase[: k + 1]
    pairs = ",".join(f"Z...{one}{other}" for one, other in itertools.pairwise(letters))
    return np.einsum(f"...{letters},{pairs}->...{letters[0]}{letters[-1]}", differences, *np.moveaxis(xs, 1, 0))


def _everywhere(xs: Any, matrix: Any, is_turned: bool) -> Any:
    """A matrix put in each place among those of each term; `is_turned`: in front, with what was before that place behind."""
    terms, k = shape_of(xs)[:2]
    one = np.broadcast_to(matrix, (terms, 1, *shape_of(matrix)))
    found = []
    for n in range(k + 1):
        before, behind = xs[:, :n], xs[:, n:]
        found.append(np.concatenate([behind, one, before] if is_turned else [before, one, behind], 1))
    return np.concatenate(found)


def _along_matrix(t: Any, ans: Any, a: Any, xs: Any, parameters: Any, f: MatrixFunction) -> Any:
    return matrix_function(a, _everywhere(xs, t, False), parameters, f)


def _back_to_matrix(ct: Any, ans: Any, a: Any, xs: Any, parameters: Any, f: MatrixFunction) -> Any:
    return _in_space_of(a, transposed(matrix_function(a, _everywhere(xs, transposed(ct), True), parameters, f)))


def _along_others(t: Any, ans: Any, a: Any, xs: Any, parameters: Any, f: MatrixFunction) -> Any:
    terms = [np.concatenate([xs[:, :n], t[:, n : n + 1], xs[:, n + 1 :]], 1) for n in range(shape_of(xs)[1])]
    return matrix_function(a, np.concatenate(terms), parameters, f)


def _back_to_others(ct: Any, ans: Any, a: Any, xs: Any, parameters: Any, f: MatrixFunction) -> Any:
    terms, k = shape_of(xs)[:2]
    across = transposed(ct)[None, None]
    found = []
    for m in range(terms):
        own = xs[m : m + 1]
        turned = [np.concatenate([own[:, n + 1 :], across, own[:, :n]], 1) for n in range(k)]
        found.append(np.stack([transposed(matrix_function(a, one, parameters, f)) for one in turned]))
    return _in_space_of(xs, np.stack(found))


def _moved(parameters: Any, n: int, direction: Any) -> Any:
    """The parameters of the derivative in row n of them: f's own along a direction more, or another direction in place of one."""
    return np.concatenate([parameters[:n], direction[None], parameters[n + 1 :]] if n else [parameters, direction[None]])


def _along_parameters(t: Any, ans: Any, a: Any, xs: Any, parameters: Any, f: MatrixFunction) -> Any:
    parts = [matrix_function(a, xs, _moved(parameters, n, t[n]), f) for n in range(shape_of(parameters)[0])]
    return sum(parts[1:], parts[0])


def _back_to_parameters(ct: Any, ans: Any, a: Any, xs: Any, parameters: Any, f: MatrixFunction) -> Any:
    rows, count = shape_of(parameters)
    units = np.eye(count, dtype=raw(parameters).dtype)
    found = [np.sum(ct * matrix_function(a, xs, _moved(parameters, n, unit), f)) for n in range(rows) for unit in units]
    return _in_space_of(parameters, np.reshape(np.stack(found), (rows, count)))


def _in_space_of(operand: Any, g: Any) -> Any:
    return g if is_complex(operand) else real_part(g)


matrix_function = general(
    _value,
    [_along_matrix, _along_others, _along_parameters],
    [_back_to_matrix, _back_to_others, _back_to_parameters],
    keeps="x",
    name="scipy.linalg.funm",
)
"""A sum of T, from `(a, xs, parameters, f)`; of one term without matrices, and with one row of parameters, f(a) itself."""
