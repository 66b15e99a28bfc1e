"""scipy.linalg at special points, with values from closed forms, mpmath or SciPy itself; and the namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.linalg

from funcgrad import grad, hessian, jacfwd, jacrev, jvp, vjp
from funcgrad.errors import DegenerateWarning, NoRuleError
from funcgrad.scipy import linalg
from tests.scipy.namespaces import assert_refuses_by_name, assert_stands_for, with_rule, without_rule
from tests.witnesses import COARSE, assert_close, differences

A = np.array([[4.0, 1.0, -0.5], [0.7, 5.0, 0.3], [-0.2, 0.4, 3.0]])
B = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, 0.7]])


@pytest.mark.parametrize("name", without_rule(linalg, scipy.linalg))
def test_what_has_no_rule_says_so(name: str):
    assert_refuses_by_name(linalg, scipy.linalg, name)


@pytest.mark.parametrize("name", with_rule(linalg))
def test_what_has_a_rule_stands_for_scipys(name: str):
    assert_stands_for(linalg, scipy.linalg, name)


def test_plain_values_are_scipys_with_all_its_options():
    x = linalg.solve([[2.0, 0.0], [0.0, 4.0]], [1, 1], overwrite_a=True)
    np.testing.assert_array_equal(x, [0.5, 0.25])
    assert type(linalg.det([[2.0]])) is type(scipy.linalg.det([[2.0]]))
    assert linalg.lstsq(np.array([[2.0], [0.0]]), np.array([1.0, 0.0]))[2] == 1
    np.testing.assert_array_equal(linalg.logm(A), scipy.linalg.logm(A))


# ------------------------------------------------------------------------------------------------ systems of equations


def test_the_row_of_faults_on_batched_solve_holds():
    """One system a matrix of a stack, where SciPy takes stacks."""
    a, b = np.diag([2.0, 4.0]), np.ones((3, 2, 1))
    try:
        scipy.linalg.solve(a, b)
    except ValueError:
        pytest.skip("this SciPy solves no stacks")
    ga, gb = grad(lambda a, b: np.sum(linalg.solve(a, b)), (0, 1))(a, b)
    np.testing.assert_allclose(ga, [[-0.75, -0.375], [-0.375, -0.1875]], rtol=1e-15)
    np.testing.assert_allclose(gb, np.broadcast_to([[0.5], [0.25]], (3, 2, 1)), rtol=1e-15)


STACKED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "solve": (linalg.solve, (np.stack([A, A.T + 1]), B)),
    "solve vector": (linalg.solve, (np.stack([A, A.T + 1]), B[:, 0])),
    "solve_triangular": (linalg.solve_triangular, (A, np.stack([B, 2 * B]))),
    "solve_banded": (lambda ab, b: linalg.solve_banded((1, 1), ab, b), (np.stack([A, A + 1]), B[:, 0])),
    "cholesky": (linalg.cholesky, (np.stack([A, A + 1]),)),
    "cho_solve": (lambda c, b: linalg.cho_solve((c, True), b), (np.stack([A, A + 1]), B)),
    "lu": (lambda a: tuple(linalg.lu(a)[1:]), (np.stack([A[::-1], A + 1]),)),
    "lu_solve": (lambda lu, b: linalg.lu_solve((lu, np.array([2, 1, 2])), b), (np.stack([A, A + 1]), B)),
    "inv": (linalg.inv, (np.stack([A, A + 1]),)),
    "det": (linalg.det, (np.stack([A, A + 1]),)),
    "expm": (linalg.expm, (np.stack([A, A.T]) / 4,)),
    "sqrtm": (linalg.sqrtm, (np.stack([A, A.T]),)),
    "logm": (linalg.logm, (np.stack([A, A.T]),)),
    "solve_sylvester": (linalg.solve_sylvester, (np.stack([A, A.T]), A, A)),
    "eigvalsh": (linalg.eigvalsh, (np.stack([A, A + 1]),)),
}


@pytest.mark.parametrize("name", STACKED)
def test_a_stack_is_a_loop(name: str):
    f, args = STACKED[name]
    try:
        f(*args)
        if name == "lu":
            linalg.cholesky(np.stack([A, A]))  # old versions take stacks there, but not in what the derivative needs
    except ValueError:
        pytest.skip("this SciPy takes no stacks there")

    def total(value: Any) -> Any:
        return sum(total(each) for each in value) if type(value) is tuple else np.sum(value * value)

    core = [2 if np.ndim(arg) > 1 else 1 for arg in args]
    found = grad(lambda *args: total(f(*args)), tuple(range(len(args))))(*args)
    for n, (one, arg) in enumerate(zip(found, args, strict=True)):
        rows = [
            grad(lambda *args: total(f(*args)), n)(*(each[k] if each.ndim > size else each for each, size in zip(args, core, strict=True)))
            for k in range(2)
        ]
        wanted = np.stack(rows) if arg.ndim > core[n] else sum(rows)
        np.testing.assert_allclose(one, wanted, rtol=1e-10, atol=1e-12)


def test_entries_that_are_not_read_have_no_derivative_whatever_they_are():
    upper = np.triu(A) + np.tril(np.full((3, 3), 7.0), -1)
    for f in (linalg.solve_triangular, lambda a, b: linalg.solve(a, b, assume_a="upper triangular")):
        gradient = grad(lambda a, f=f: np.sum(f(a, B)))(upper)
        np.testing.assert_allclose(gradient, grad(lambda a: np.sum(linalg.solve(a, B)))(np.triu(A)) * (np.tri(3).T > 0), rtol=1e-12)
    unit = grad(lambda a: np.sum(linalg.solve_triangular(a, B, unit_diagonal=True)))(A)
    np.testing.assert_array_equal(np.diag(unit), 0.0)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("assume", ["pos", "her", "sym"])
def test_half_a_symmetric_matrix_has_the_whole_derivative(assume: str, lower: bool):
    a = A + A.T
    whole = grad(lambda a: np.sum(linalg.solve(a, B)))(a)
    half = grad(lambda a: np.sum(linalg.solve(a, B, assume_a=assume, lower=lower)))(a)
    wanted = whole + whole.T - np.diag(np.diag(whole))
    np.testing.assert_allclose(half, np.tril(wanted) if lower else np.triu(wanted), rtol=1e-12)


def test_the_assumed_structure_that_scipy_finds_itself_restricts_nothing():
    """A symmetric matrix is solved as one, but it is a general matrix that is differentiated."""
    a = A + A.T
    plain = np.linalg.inv(a)
    gradient = grad(lambda a: np.sum(linalg.solve(a, B)))(a)
    np.testing.assert_allclose(gradient, -np.outer(plain.T @ np.ones(3), (plain @ B).sum(1)), rtol=1e-12)


def test_a_tridiagonal_system_of_a_thousand():
    n = 1000
    rng = np.random.default_rng(0)
    ab = rng.uniform(-1, 1, (3, n)) + np.array([[0.0], [4.0], [0.0]])
    b, t, ct = rng.normal(size=n), rng.normal(size=(3, n)), rng.normal(size=n)
    f = lambda ab, b: linalg.solve_banded((1, 1), ab, b)
    h = 2.0**-14
    wanted = (f(ab + h * t, b) - f(ab - h * t, b)) / (2 * h)
    got = jvp(f, (ab, b), (t, 0 * b))[1]
    np.testing.assert_allclose(got, wanted, atol=1e-7)
    back = vjp(f, ab, b)[1](ct)
    assert np.sum(back[0] * t) == pytest.approx(np.sum(ct * got), rel=1e-12)
    assert back[0][0, 0] == back[0][2, -1] == 0.0  # what the corners hold is in no matrix


# ------------------------------------------------------------------------------------------------ factorizations


def test_factors_are_put_together_again():
    def again(a: Any) -> Any:
        return np.stack([
            linalg.cholesky(a, lower=True) @ linalg.cholesky(a, lower=True).T, linalg.cholesky(a.T).T @ linalg.cholesky(a.T),
        ])  # fmt: skip

    spd = A @ A.T
    lower = np.tri(3)
    jacobian = jacfwd(again)(spd)
    for one in jacobian:
        for i in range(3):
            for j in range(3):
                unit = np.zeros((3, 3))
                unit[i, j] = unit[j, i] = lower[i, j]
                np.testing.assert_allclose(one[:, :, i, j], unit, atol=1e-13)
    both = lambda a: np.matmul(*linalg.lu(a, permute_l=True))
    np.testing.assert_allclose(both(A[::-1]), A[::-1])
    np.testing.assert_allclose(jacrev(both)(A[::-1].copy()), np.eye(9).reshape(3, 3, 3, 3), atol=1e-13)


def test_the_other_triangle_of_cho_factor_is_what_scipy_makes_it():
    spd = A @ A.T
    jacobian = jacrev(lambda a: linalg.cho_factor(a, lower=True)[0])(spd)
    assert jacobian[0, 1, 0, 1] == (1.0 if scipy.linalg.cho_factor(spd, lower=True)[0][0, 1] else 0.0)
    assert jacobian[1, 0, 0, 1] == 0.0


def test_factors_solve():
    spd = A @ A.T
    for solve in (
        lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b),
        lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b),
    ):
        got = grad(lambda a, solve=solve: np.sum(solve(a, B) ** 2))(spd)
        got = got + got.T
        wanted = grad(lambda a: np.sum(linalg.solve(a, B) ** 2))(spd)
        np.testing.assert_allclose(got, wanted + wanted.T, rtol=1e-9)


def test_the_determinant_of_a_singular_matrix_has_its_cofactors():
    np.testing.assert_allclose(grad(linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]])), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-15)


def test_the_norm_of_zero_has_derivative_zero():
    np.testing.assert_array_equal(grad(linalg.norm)(np.zeros(3)), 0.0)
    np.testing.assert_allclose(grad(linalg.norm)(np.array([3.0, 4.0])), [0.6, 0.8])
    np.testing.assert_allclose(hessian(linalg.norm)(np.array([3.0, 4.0])), [[0.128, -0.096], [-0.096, 0.072]], rtol=1e-13)


def test_eigenvalues_that_are_equal():
    sums = lambda a: np.sum(linalg.eigh(a)[0] ** 2)
    np.testing.assert_allclose(grad(sums)(np.eye(3)), 2 * np.eye(3), atol=1e-14)
    for combined in (lambda a: (lambda w, v: v * w @ v.T)(*linalg.eigh(a)), lambda a: (lambda u, s, vh: u * s @ vh)(*linalg.svd(a))):
        with pytest.warns(DegenerateWarning, match="values repeat"):
            grad(lambda a, combined=combined: np.sum(combined(a)))(np.eye(3))


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_polar_factors_where_singular_values_are_equal(side: str):
    a, t = 2 * np.linalg.qr(A)[0], B @ B.T + A
    got = jvp(lambda a: linalg.polar(a, side), (a,), (t,))[1]
    assert_close(got, differences(lambda a: scipy.linalg.polar(a, side), (a,), (t,), False), COARSE)


# ------------------------------------------------------------------------------------------------ functions of matrices


def test_the_exponential_of_a_rotation():
    f = lambda angle: linalg.expm(angle * np.array([[0.0, -1.0], [1.0, 0.0]]))
    for n, derivative in enumerate((jacfwd(f), jacfwd(jacrev(f)), jacrev(jacrev(jacfwd(f)))), 1):
        angle = 0.7 + n * np.pi / 2
        np.testing.assert_allclose(
            np.asarray(derivative(np.float64(0.7))), [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], atol=1e-14
        )


def test_the_exponential_at_zero():
    """exp(A) = 1 + A + A A / 2 + ..."""
    np.testing.assert_allclose(jacfwd(linalg.expm)(np.zeros((2, 2))), np.eye(4).reshape(2, 2, 2, 2), atol=1e-15)
    e, f = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.3, -1.0], [0.5, 0.2]])
    along = lambda a: jvp(linalg.expm, (a,), (e,))[1]
    np.testing.assert_allclose(jvp(along, (np.zeros((2, 2)),), (f,))[1], (e @ f + f @ e) / 2, rtol=1e-13)


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1e8, 1e150])
def test_the_size_of_a_direction_does_not_matter(size: float):
    direction = np.array([[1.0, 2.0], [3.0, 4.0]])
    for f, a in ((linalg.expm, A[:2, :2] / 4), (linalg.logm, A[:2, :2]), (linalg.sqrtm, A[:2, :2]), (linalg.cosm, A[:2, :2])):
        one = jvp(f, (a,), (direction,))[1]
        np.testing.assert_allclose(jvp(f, (a,), (size * direction,))[1] / size, one, rtol=1e-12)
        np.testing.assert_array_equal(jvp(f, (a,), (0 * direction,))[1], 0.0)


INVERSES: dict[str, Callable[[Any], Any]] = {
    "logm": lambda a: linalg.expm(linalg.logm(a)),
    "expm": lambda a: linalg.logm(linalg.expm(a)),
    "sqrtm": lambda a: linalg.sqrtm(a) @ linalg.sqrtm(a),
    "power": lambda a: linalg.fractional_matrix_power(linalg.fractional_matrix_power(a, 0.4), 2.5),
    "sinm, cosm": lambda a: linalg.sinm(a) @ linalg.sinm(a) + linalg.cosm(a) @ linalg.cosm(a) + a,
    "sinhm, coshm": lambda a: linalg.coshm(a) @ linalg.coshm(a) - linalg.sinhm(a) @ linalg.sinhm(a) + a,
    "tanm": lambda a: linalg.tanm(a) @ linalg.cosm(a) - linalg.sinm(a) + a,
    "tanhm": lambda a: linalg.tanhm(a) @ linalg.coshm(a) - linalg.sinhm(a) + a,
}


@pytest.mark.parametrize("name", INVERSES)
def test_identities_between_functions_hold_for_their_derivatives(name: str):
    a = A / 4
    for jacobian in (jacfwd, jacrev):
        np.testing.assert_allclose(jacobian(INVERSES[name])(a), np.eye(9).reshape(3, 3, 3, 3), atol=1e-10)
    np.testing.assert_allclose(hessian(lambda a: np.sum(INVERSES[name](a)))(a), 0.0, atol=1e-8)


def test_real_matrices_with_negative_eigenvalues():
    """Their logarithms and roots are complex, on the branch cut: derivatives go along the real matrices."""
    for eigenvalue in (-2.0, 2.0):
        a = np.array([[eigenvalue]])
        logarithm, root = (jvp(f, (a,), (np.ones((1, 1)),))[1] for f in (linalg.logm, linalg.sqrtm))
        np.testing.assert_allclose(logarithm, [[1 / eigenvalue]], rtol=1e-13)
        np.testing.assert_allclose(root, [[0.5 / np.sqrt(complex(eigenvalue))]], rtol=1e-13)
    frame = np.array([[1.0, 0.4, 0.2], [0.1, 1.0, -0.3], [0.3, 0.2, 1.0]])
    f = lambda w: linalg.logm((frame * w) @ np.linalg.inv(frame))
    w = np.array([-1.0, 2.0, 3.0])
    jacobian = jacfwd(f)(w)
    second = jacfwd(jacfwd(f))(w)
    for n in range(3):
        projector = np.outer(frame[:, n], np.linalg.inv(frame)[n])
        np.testing.assert_allclose(jacobian[..., n], projector / w[n], atol=1e-12)
        np.testing.assert_allclose(second[..., n, n], -projector / w[n] ** 2, atol=1e-10)


def test_the_exponential_against_mpmath():
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 50
    a, e = A / 3, np.array([[0.3, -1.0, 2.0], [0.5, 0.2, -0.7], [1.0, 1.5, -0.4]])
    h = mpmath.mpf(10) ** -16
    ahead, behind = (mpmath.expm(mpmath.matrix(a) + s * h * mpmath.matrix(e)) for s in (1, -1))
    wanted = np.array(((ahead - behind) / (2 * h)).tolist(), float)
    np.testing.assert_allclose(jvp(linalg.expm, (a,), (e,))[1], wanted, rtol=1e-13)
    np.testing.assert_allclose(linalg.expm_frechet(a, e)[1], wanted, rtol=1e-13)


# ------------------------------------------------------------------------------------------------ refusals


def test_options_without_a_rule_are_refused_by_name():
    for call, words in (
        (lambda a: linalg.qr(a, pivoting=True), "qr with pivoting"),
        (lambda a: linalg.qr(a, mode="raw"), "qr with raw"),
        (lambda a: linalg.eigh(a, np.eye(3)), "eigh with b"),
        (lambda a: linalg.eigvalsh(a, subset_by_index=[0, 1]), "eigvalsh with subset_by_index"),
        (lambda a: linalg.eig(a, left=True), "eig with left"),
        (lambda a: linalg.eigvals(a, homogeneous_eigvals=True), "eigvals with homogeneous_eigvals"),
        (lambda a: linalg.lu_factor(a[:2]), r"lu_factor of a matrix that is not square \(2 x 3\)"),
        (lambda a: linalg.lu(a[:, :2]), r"lu of a matrix that is not square \(3 x 2\)"),
    ):
        with pytest.raises(NoRuleError, match=rf"scipy\.linalg\.{words}"):
            jacrev(call)(A)


def test_scipys_own_errors_come_out():
    with pytest.raises(np.linalg.LinAlgError):
        jacrev(linalg.cholesky)(-A)
    with pytest.raises(np.linalg.LinAlgError):
        jacrev(lambda a: linalg.solve_triangular(a, B))(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="infs or NaNs"):
        jacrev(linalg.inv)(A * np.nan)
    with pytest.raises(ValueError):
        jacrev(lambda a: linalg.solve(a, B))(A[:2])
    with pytest.raises(ValueError):
        jacrev(lambda a: linalg.qr(a, mode="nothing"))(A)


def test_lists_may_hold_tracers():
    f = lambda x: np.sum(linalg.solve([[x, 1.0], [0.0, 2.0]], [1.0, 1.0])) + linalg.block_diag(x, [[x]])[1, 1]
    assert grad(f)(4.0) == pytest.approx(1.0 - (1 - 0.5) / 16)
