"""Functions of Hermitian matrices: values by closed forms, by SciPy's functions and by mpmath, most of all where eigenvalues are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.linalg

from funcgrad import grad, hessian, hvp, jacfwd, jacrev, jvp, vjp
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, NoRuleError
from funcgrad.ops.scipy.divided_differences import divided_differences
from funcgrad.scipy import special
from funcgrad.scipy.linalg import expm, funm
from tests.witnesses import assert_close, differences, inner, like

W = np.array([[1.0, 2.0], [2.0, 5.0]])
GENERAL = np.array([[4.0, 1.0, -0.5], [0.7, 5.0, 0.3], [-0.2, 0.4, 3.0]])


def turned(values: Any, seed: int = 1, kind: Any = float) -> np.ndarray:
    """A Hermitian matrix with these eigenvalues."""
    q = np.linalg.qr(like(np.zeros((len(values), len(values)), kind), seed))[0]
    found = q * np.array(values) @ q.conj().T
    return (found + found.conj().T) / 2


MATRICES = {
    "simple": turned([0.5, 1.0, 2.0]),
    "repeated": turned([2.0, 0.5, 2.0]),
    "identity": np.eye(3),
    "diagonal": np.diag([2.0, 0.5, 2.0]),
    "complex": turned([0.5, 1.0, 2.0], 2, complex),
    "complex repeated": turned([0.5, 2.0, 2.0], 2, complex),
}
each_matrix = pytest.mark.parametrize("a", list(MATRICES.values()), ids=list(MATRICES))
FUNCTIONS = [(np.exp, scipy.linalg.expm), (np.sqrt, scipy.linalg.sqrtm), (np.log, scipy.linalg.logm)]


# ------------------------------------------------------------------------------------------------ first derivatives


@pytest.mark.parametrize("a", [np.eye(2), np.zeros((2, 2)), 3 * np.eye(2)])
def test_the_gradient_where_all_eigenvalues_are_equal(a: np.ndarray):
    weights = np.array([[1.0, 2.0], [7.0, 5.0]])

    def f(a: Any) -> Any:
        return np.sum(weights * funm(a, lambda w: w))

    def by_lower_triangle(a: Any) -> Any:
        return f(np.tril(a) + np.tril(a, -1).T)

    np.testing.assert_array_equal(grad(f)(a), weights)
    np.testing.assert_array_equal(grad(by_lower_triangle)(a), [[1.0, 0.0], [9.0, 5.0]])
    np.testing.assert_array_equal(jvp(lambda a: funm(a, lambda w: w), (a,), (W,))[1], W)


@each_matrix
@pytest.mark.parametrize(("f", "scipys"), FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives_are_blocks_of_scipys_functions(a: np.ndarray, f: Any, scipys: Any):
    """In any direction, also one that is not Hermitian (Mathias, 1996)."""
    t, c = like(a, 3), like(a, 4)
    wanted = scipys(np.block([[a, t], [np.zeros_like(a), a]]))[:3, 3:]
    value, got = jvp(lambda a: funm(a, f), (a,), (t,))
    assert_close(value, scipys(a), 1e-13)
    assert_close(got, wanted, 1e-12)
    assert value.dtype == got.dtype == a.dtype
    (back,) = vjp(lambda a: funm(a, f), a)[1](c)
    assert back.dtype == a.dtype
    assert float(inner(back, t)) == pytest.approx(float(inner(c, wanted)), rel=1e-11)


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-8, 1e-4, 1e-2, 0.5])
@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin"])
def test_eigenvalues_that_are_almost_equal_against_mpmath(name: str, gap: float):
    mpmath = pytest.importorskip("mpmath")
    f, exact = getattr(np, name), getattr(mpmath, name)
    a, t = turned([0.7, 0.7 + gap, 0.7 + 2.5 * gap, 3.0]), turned([1.0, -2.0, 0.3, 0.5], 5)

    def of(matrix: Any) -> Any:
        w, v = mpmath.eigsy(matrix)
        return v * mpmath.diag([exact(x) for x in w]) * v.T

    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -20
        x, direction = mpmath.matrix(a), mpmath.matrix(t)
        first = (of(x + h * direction) - of(x - h * direction)) / (2 * h)
        second = (of(x + h * direction) - 2 * of(x) + of(x - h * direction)) / h**2
        wanted, curvature = (np.array(part.tolist(), float) for part in (first, second))
    along = lambda a: jvp(lambda a: funm(a, f), (a,), (t,))[1]
    assert_close(along(a), wanted, 1e-14)
    assert_close(jvp(along, (a,), (t,))[1], curvature, 1e-13)
    got = grad(lambda a: np.sum(t * funm(a, f)))(a)
    assert float(np.sum(got * t)) == pytest.approx(float(np.sum(wanted * t)), rel=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_divided_differences_against_mpmath(order: int):
    mpmath = pytest.importorskip("mpmath")
    for gap in (0.0, 1e-16, 1e-12, 1e-8, 1e-4, 1e-2, 0.1, 1.0):
        points = 0.7 + gap * np.array([0.0, 1.0, 0.37, 2.1])[: order + 1]
        got = divided_differences(lambda x, m: 3.0**m * np.exp(3.0 * x), points, order)
        with mpmath.workdps(120):
            apart = [mpmath.mpf(x) + n * mpmath.mpf(10) ** -25 for n, x in enumerate(points)]
            table = [mpmath.exp(3 * x) for x in apart]
            for k in range(1, order + 1):
                table = [(table[n + 1] - table[n]) / (apart[n + k] - apart[n]) for n in range(len(table) - 1)]
        np.testing.assert_allclose(got[tuple(range(order + 1))], float(table[0]), rtol=[0, 1e-15, 3e-14, 1e-12][order])
        np.testing.assert_array_equal(got, np.swapaxes(got, 0, -1))


def test_a_kink_between_eigenvalues_is_not_smoothed():
    """(|2| - |-1.99|) / (2 + 1.99)."""
    for near in (-1.99, -2.0, -1e-9):
        got = jvp(lambda a: funm(a, np.abs), (np.diag([2.0, near]),), (np.ones((2, 2)),))[1]
        np.testing.assert_allclose(got, [[1.0, (2 + near) / (2 - near)], [(2 + near) / (2 - near), -1.0]], atol=1e-15)


def test_functions_that_are_inexact_or_oscillate():
    """The derivative is good to what the function is good to."""
    x = 0.7 + np.array([0.0, 1e-12, 1e-6, 1e-3])
    for f, wanted in (
        (lambda w: np.log(1 + (w - 0.7)), lambda w: 1 / (1 + (w - 0.7))),
        (lambda w: np.sin(50 * w), lambda w: 50 * np.cos(50 * w)),
        (lambda w: 1e6 + np.sin(w), np.cos),
    ):
        got = jvp(lambda a, f=f: funm(a, f), (np.diag(x),), (np.ones((4, 4)),))[1]
        np.testing.assert_allclose(got, wanted((x + x[:, None]) / 2), rtol=1e-3)
        np.testing.assert_allclose(got[:2, :2], wanted((x + x[:, None]) / 2)[:2, :2], rtol=1e-11)


def test_an_infinite_derivative_leaves_zeros_alone():
    a = np.diag([0.0, 0.0, 4.0])
    np.testing.assert_array_equal(grad(lambda a: funm(a, np.sqrt)[2, 2])(a), np.diag([0.0, 0.0, 0.25]))
    np.testing.assert_array_equal(grad(lambda a: 0.0 * np.sum(funm(a, np.sqrt)))(a), np.zeros((3, 3)))
    assert np.isinf(grad(lambda a: funm(a, np.sqrt)[0, 0])(a)[0, 0])


# ------------------------------------------------------------------------------------------------ higher orders


@each_matrix
def test_second_order_by_differences(a: np.ndarray):
    first, second, c = like(a, 6), like(a, 7), like(a, 8)
    first, second = first + first.conj().T, second + second.conj().T

    def along(a: Any) -> Any:
        return jvp(lambda a: funm(a, np.log), (a,), (first,))[1]

    wanted = float(inner(c, differences(along, (a,), (second,), False)))
    scale = abs(wanted) + 1.0

    def weighed(a: Any) -> Any:
        return inner(c, funm(a, np.log))

    got = {
        "forward over forward": inner(c, jvp(along, (a,), (second,))[1]),
        "forward over reverse": inner(hvp(weighed)(a, second), first) if a.dtype == float else wanted,
        "reverse over forward": inner(grad(lambda a: inner(c, along(a)))(a), second),
        "reverse over reverse": inner(grad(lambda a: inner(grad(weighed)(a), first))(a), second),
    }
    for name, found in got.items():
        assert abs(float(found) - wanted) < 1e-6 * scale, name


def test_the_second_derivative_of_the_log_determinant():
    """-tr(A^-1 E A^-1 F), where all eigenvalues are equal; that of a trace of powers, at a matrix of rank 0."""
    got = hessian(lambda a: np.trace(funm(a, np.log)))(2 * np.eye(2))
    np.testing.assert_allclose(got, -np.einsum("il,jk->ijkl", np.eye(2), np.eye(2)) / 4, atol=1e-15)
    got = hessian(lambda a: np.trace(funm(a, lambda w: w**2 + w**3)))(np.zeros((2, 2)))
    np.testing.assert_allclose(got, 2 * np.einsum("il,jk->ijkl", np.eye(2), np.eye(2)), atol=1e-15)


@each_matrix
def test_the_third_derivative_is_that_of_expm(a: np.ndarray):
    first, second, third = (like(a, seed) for seed in (1, 2, 3))

    def derivative(f: Callable[[Any], Any]) -> Any:
        one = lambda a: jvp(f, (a,), (first,))[1]
        two = lambda a: jvp(one, (a,), (second,))[1]
        return jvp(two, (a,), (third,))[1]

    assert_close(derivative(lambda a: funm(a, np.exp)), derivative(expm), 1e-11)


# ------------------------------------------------------------------------------------------------ parameters


def test_parameters_of_the_function():
    """The powers of a matrix with repeated eigenvalues: d/dp = log(A) A^p, d2/dp2 = log(A)^2 A^p, in closed form and mixed."""
    a, p = MATRICES["repeated"], 0.7
    log, power = scipy.linalg.logm(a), scipy.linalg.fractional_matrix_power(a, p)
    f = lambda a, p: funm(a, lambda w, p: w**p, args=(p,))
    assert_close(jacfwd(f, 1)(a, p), log @ power, 1e-13)
    assert_close(jacrev(f, 1)(a, p), log @ power, 1e-13)
    assert_close(jacfwd(jacrev(f, 1), 1)(a, p), log @ log @ power, 1e-13)
    t = like(a, 2)
    mixed = differences(lambda p: jvp(lambda a: f(a, p), (a,), (t,))[1], (p,), (1.0,), False)
    assert_close(jvp(lambda p: jvp(lambda a: f(a, p), (a,), (t,))[1], (p,), (1.0,))[1], mixed, 1e-7)
    weighed = lambda p: np.sum(t * grad(lambda a: np.sum(t * f(a, p)))(a))
    assert grad(weighed)(p) == pytest.approx(float(differences(weighed, (p,), (1.0,), False)), rel=1e-7)


def test_parameters_may_be_trees():
    f = lambda q: np.sum(W * funm(W, lambda w, q, k: q["c"] * w**k + np.sum(q["b"]), args=(q, 2)))
    got = grad(f)({"b": np.array([1.0, 2.0]), "c": 3.0})
    assert got["c"] == pytest.approx(np.sum(W * (W @ W)))
    np.testing.assert_allclose(got["b"], [6.0, 6.0])
    assert grad(lambda s: funm(W, lambda w, s: s * w, args=s)[0, 1])(1.0) == pytest.approx(2.0)


def test_values_of_the_code_around_must_come_through_args():
    calls = (lambda p: np.sum(funm(W, lambda w: p * w)), lambda p: np.sum(funm(p * W, lambda w: p * w)))
    for call in (*calls, lambda p: np.sum(funm(p * W, lambda w: w * 0.0 + p))):
        with pytest.raises(ConcretizationError, match="function given to funm uses a traced value"):
            grad(call)(1.0)


# ------------------------------------------------------------------------------------------------ kinds of matrices and functions


def test_matrices_that_are_not_hermitian():
    np.testing.assert_array_equal(funm(GENERAL, np.exp), scipy.linalg.funm(GENERAL, np.exp))
    t, c = like(GENERAL, 1), like(GENERAL, 2)
    rotation = np.array([[0.3, -1.0], [1.0, 0.2]])
    for a, along, across in ((GENERAL, t, c), (rotation, W, W + 1), (GENERAL + 0.5j * t, t + 1j * c, c - 1j * t)):
        f = lambda a: funm(a, np.exp)
        got, wanted = jvp(f, (a,), (along,))[1], jvp(expm, (a,), (along,))[1]
        assert got.dtype == a.dtype
        assert_close(got, wanted, 1e-13)
        assert_close(vjp(f, a)[1](across)[0], vjp(expm, a)[1](across)[0], 1e-13)
        twice = [jvp(lambda a, g=g, c=across: vjp(g, a)[1](c)[0], (a,), (along,))[1] for g in (f, expm)]
        assert_close(*twice, 1e-12)


def test_dependent_eigenvectors_are_refused(capsys: Any):
    with pytest.raises(NoRuleError, match=r"eigenvectors are dependent.*symmetrize it"):
        grad(lambda a: np.sum(funm(a, np.exp)))(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert "may be inaccurate" in capsys.readouterr().out  # SciPy says so of the value


def test_rounding_does_not_make_a_matrix_another():
    a = MATRICES["repeated"].copy()
    a[0, 1] *= 1 + 1e-15
    assert_close(jvp(lambda a: funm(a, np.exp), (a,), (np.eye(3),))[1], scipy.linalg.expm(a), 1e-14)


def test_stacks():
    stack = np.stack([MATRICES["simple"], MATRICES["repeated"], np.eye(3)])
    c = like(stack, 1)
    f = lambda a, c: np.sum(c * funm(a, np.exp))
    np.testing.assert_allclose(funm(stack, np.exp), np.stack([funm(a, np.exp) for a in stack]), rtol=1e-15)
    np.testing.assert_allclose(grad(f)(stack, c), np.stack([grad(f)(*one) for one in zip(stack, c, strict=True)]), rtol=1e-13)
    v = like(stack, 2)
    wanted = np.stack([hvp(lambda a, c=c: f(a, c))(a, t) for a, c, t in zip(stack, c, v, strict=True)])
    np.testing.assert_allclose(hvp(lambda a: f(a, c))(stack, v), wanted, rtol=1e-12, atol=1e-13)


def test_complex_functions_of_real_matrices():
    """exp(1j A), the evolution of a state, where energies are equal."""
    a, t = MATRICES["repeated"], like(np.eye(3), 4)
    value, got = jvp(lambda a: funm(a, lambda w: np.exp(1j * w)), (a,), (t,))
    assert_close(value, scipy.linalg.expm(1j * a), 1e-14)
    assert_close(got, scipy.linalg.expm_frechet(1j * a, 1j * t)[1], 1e-14)
    back = grad(lambda a: np.abs(funm(a, lambda w: np.exp(1j * w))[0, 1]) ** 2)(a)
    assert back.dtype == float
    along = differences(lambda a: np.abs(scipy.linalg.expm(1j * a)[0, 1]) ** 2, (a,), (t,), False)
    assert float(np.sum(back * t)) == pytest.approx(float(along), rel=1e-7)


def test_small_and_plain_matrices():
    assert funm([[4, 0], [0, 9]], np.sqrt).tolist() == [[2.0, 0.0], [0.0, 3.0]]
    assert grad(lambda a: np.sum(funm(a, np.exp)))(np.zeros((0, 0))).shape == (0, 0)
    np.testing.assert_allclose(grad(lambda a: funm(a, np.sqrt)[0, 0])(np.array([[4.0]])), [[0.25]])
    single = MATRICES["repeated"].astype(np.float32)
    got = grad(lambda a: np.sum(funm(a, np.exp)))(single)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, grad(lambda a: np.sum(funm(a, np.exp)))(MATRICES["repeated"]), rtol=1e-5)


def test_the_estimate_of_the_error():
    value, error = funm(W, np.exp, disp=False)
    np.testing.assert_array_equal(value, funm(W, np.exp))
    assert 0 < error < 1e-14
    assert funm(GENERAL, np.exp, disp=False)[1] == scipy.linalg.funm(GENERAL, np.exp, disp=False)[1]
    assert grad(lambda s: funm(s * W, np.exp, False)[0][0, 0])(0.0) == pytest.approx(1.0)


def test_what_does_not_fit_is_said():
    for a, func, error, words in (
        (np.ones((2, 3)), np.exp, InputValueError, r"square matrices.*got shape \(2, 3\)"),
        (W, np.sum, InputValueError, r"shape \(2,\) it gave \(\)"),
        (W, lambda w: w > 0, InputTypeError, "dtype bool"),
    ):
        with pytest.raises(error, match=words):
            grad(lambda s, a=a, func=func: np.sum(funm(s * a, func)))(1.0)
    with pytest.raises(NoRuleError, match="kolmogorov"):
        grad(lambda s: np.sum(funm(s * W, special.kolmogorov)))(1.0)
