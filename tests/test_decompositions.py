"""Decompositions at special points: repeated and vanishing values, the triangle that is read, phases, result types.

The right values are closed forms, or differences of NumPy's own functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, hvp, jacfwd, jacrev, jvp, vjp
from funcgrad.errors import DegenerateWarning, NoRuleError
from tests.witnesses import COARSE, NUMPY, assert_close, differences, inner, like

A = np.array
TWICE = A([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
"""Eigenvalues 1, 1 and 4, as far as rounding lets them be equal."""


def turned(values: Any, seed: int = 1, kind: Any = float) -> np.ndarray:
    """A Hermitian matrix with these eigenvalues."""
    q = np.linalg.qr(like(np.zeros((len(values), len(values)), kind), seed))[0]
    return q * A(values) @ q.conj().T


def lower(x: np.ndarray) -> np.ndarray:
    """The gradient in a symmetric matrix as one in the triangle that is read."""
    return np.tril(x + x.T, -1) + np.diag(np.diag(x))


# ------------------------------------------------------------------------------------------------ triangles


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize(
    ("function", "is_lower"),
    [
        (np.linalg.cholesky, True),
        (lambda x: np.linalg.eigvalsh(x), True),
        (lambda x: np.linalg.eigvalsh(x, "U"), False),
        (lambda x: np.linalg.eigh(x)[0], True),
        (lambda x: np.linalg.eigh(x, "U")[0], False),
        (lambda x: np.linalg.pinv(x, hermitian=True), True),
        (lambda x: np.linalg.svd(x, hermitian=True, compute_uv=False), True),
        *([(lambda x: np.linalg.cholesky(x, upper=True), False)] if NUMPY >= (2, 0) else []),
    ],
)
def test_what_is_not_read_has_no_gradient(function: Any, is_lower: bool, kind: Any):
    x = turned([1.0, 2.0, 4.0], kind=kind)
    (back,) = vjp(function, x)[1](like(function(x), 2))
    other, own = np.triu(back, 1), np.tril(back, -1)
    if not is_lower:
        other, own = own, other
    assert np.count_nonzero(own) == 3
    assert np.count_nonzero(other) == 0
    assert_close(np.imag(np.diag(back)), np.zeros(3), 0.0)


def test_what_is_not_read_may_be_anything():
    x = turned([1.0, 2.0, 4.0])
    x[np.triu_indices(3, 1)] = np.nan
    assert_close(grad(lambda x: np.sum(np.linalg.cholesky(x)))(x), grad(lambda x: np.sum(np.linalg.cholesky(x)))(np.tril(x)), 0.0)


def test_a_symmetrized_input_has_a_symmetric_gradient():
    x = turned([1.0, 2.0, 4.0])
    got = grad(lambda x: np.linalg.eigvalsh((x + x.T) / 2)[0])(x)
    v = np.linalg.eigh(x)[1][:, 0]
    assert_close(got, np.outer(v, v), 1e-13)


# ------------------------------------------------------------------------------------------------ repeated eigenvalues

REPEATED = {"identity": np.eye(3), "zero": np.zeros((3, 3)), "equal to rounding": TWICE, "diagonal": np.diag([2.0, -1.0, 2.0])}
each_repeated = pytest.mark.parametrize("x", list(REPEATED.values()), ids=list(REPEATED))


@each_repeated
def test_symmetric_functions_of_repeated_eigenvalues(x: np.ndarray):
    """The gradient of sum(w**3) is 3 X**2."""
    assert_close(grad(lambda x: np.sum(np.linalg.eigvalsh(x) ** 3))(x), lower(3 * x @ x), 1e-13)
    assert_close(grad(lambda x: np.sum(np.linalg.eigh(x)[0] ** 3))(x), lower(3 * x @ x), 1e-13)
    assert_close(jvp(lambda x: np.sum(np.linalg.eigh(x)[0] ** 3), (x,), (np.ones((3, 3)),))[1], np.sum(3 * x @ x), 1e-13)


@each_repeated
def test_functions_of_the_matrix_that_its_eigenvectors_put_together(x: np.ndarray):
    """|V diag(w) V^T|**2 and the trace of V diag(exp(w)) V^T."""

    def square(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return np.sum(((v * w) @ v.T) ** 2)

    def trace(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return np.trace((v * np.exp(w)) @ v.T)

    w, v = np.linalg.eigh(x)
    exponential = (v * np.exp(w)) @ v.T
    for f, wanted in ((square, 2 * x), (trace, exponential)):
        assert_close(grad(f)(x), lower(wanted), 1e-12)
        assert_close(jvp(f, (x,), (np.ones((3, 3)),))[1], np.sum(wanted), 1e-12)


@pytest.mark.parametrize("x", [TWICE, np.diag([1.0, 1.0, 4.0]), turned([1.0, 1.0, 4.0]), turned([1.0, 1.0, 4.0], kind=complex)])
def test_projections_onto_the_space_of_a_repeated_eigenvalue(x: np.ndarray):
    """dP = (P dX Q + Q dX P) / (1 - 4), with Q the projection onto the rest."""

    def projection(x: Any) -> Any:
        v = np.linalg.eigh(x)[1][:, :2]
        return v @ np.conj(v).T

    p = projection(x)
    q = np.eye(3) - p
    t = like(x, 3)
    t = t + t.conj().T
    wanted = (p @ t @ q + q @ t @ p) / (1.0 - 4.0)
    assert_close(jvp(projection, (x,), (t,))[1], wanted, 1e-13)
    cotangent = like(p, 4)
    assert float(inner(vjp(projection, x)[1](cotangent)[0], t)) == pytest.approx(float(inner(cotangent, wanted)), abs=1e-12)


def test_eigenvalues_of_a_matrix_without_an_order():
    x = np.diag([2.0, -1.0, 2.0])
    assert_close(grad(lambda x: np.sum(np.linalg.eigvals(x) ** 2).real)(x), 2 * x, 1e-13)
    assert_close(grad(lambda x: np.sum(np.linalg.eig(x)[0] ** 2).real)(x), 2 * x, 1e-13)
    rotation = A([[0.0, -1.0], [1.0, 0.0]])
    assert_close(grad(lambda x: np.sum(np.linalg.eigvals(x)).real)(rotation), np.eye(2), 1e-14)
    assert_close(grad(lambda x: np.prod(np.linalg.eigvals(x)).real)(rotation), A([[0.0, -1.0], [1.0, 0.0]]), 1e-14)


# ------------------------------------------------------------------------------------------------ what repeated values hide

W = A([[1.0, 2.0, 0.5], [2.0, 5.0, -1.0], [0.5, -1.0, 3.0]])


def rebuilt(x: Any, g: Any) -> Any:
    w, v = np.linalg.eigh(x)
    return (v * g(w)) @ np.conj(v).T


def rebuilt_by_svd(x: Any, g: Any) -> Any:
    u, s, vh = np.linalg.svd(x)
    return (u * g(s)) @ vh


def of_top(x: Any) -> Any:
    """The square of a component along the vector of the largest eigenvalue, which is not repeated."""
    return np.sum(np.linalg.eigh((x + x.T) / 2)[1][:, 2] * W[0]) ** 2


def symmetric(f: Any) -> Any:
    return lambda x: f((x + x.T) / 2)


LOST: dict[str, tuple[Any, Any]] = {
    "the matrix itself": (lambda x: np.sum(W * rebuilt(x, lambda w: w)), np.eye(3)),
    "equal to rounding": (lambda x: np.sum(W * rebuilt(x, np.exp)), TWICE),
    "complex": (lambda x: np.sum(W * rebuilt(x, np.exp)).real, turned([1.0, 1.0, 4.0], kind=complex)),
    "the other triangle": (lambda x: np.sum(W * (lambda w, v: (v * w**2) @ v.T)(*np.linalg.eigh(x, "U"))), np.eye(3)),
    "one entry, of cotangents of w that are zero": (lambda x: rebuilt(x, lambda w: w)[0, 1], np.eye(3)),
    "all entries, of cotangents of w that are equal": (lambda x: np.sum(rebuilt(x, np.exp)), np.eye(3)),
    "a function that is zero there": (lambda x: np.sum(W * rebuilt(x, np.log)), np.eye(3)),
    "the zero matrix": (lambda x: np.sum(W * rebuilt(x, np.sin)), np.zeros((3, 3))),
    "a stack": (lambda x: np.sum(W * np.stack([rebuilt(one, np.exp) for one in x])[1]), np.stack([np.diag([1.0, 2.0, 3.0]), np.eye(3)])),
    "one vector of several": (lambda x: np.linalg.eigh(x)[1][0, 1], np.eye(3)),
    "a hermitian svd": (lambda x: np.sum(W * (lambda u, s, vh: (u * s) @ vh)(*np.linalg.svd(x, hermitian=True))), np.eye(3)),
    "svd": (lambda x: np.sum(W * rebuilt_by_svd(x, np.exp)), np.eye(3)),
    "svd, the matrix itself": (lambda x: rebuilt_by_svd(x, lambda s: s)[0, 1], 2 * np.eye(3)),
}


@pytest.mark.parametrize("name", LOST)
def test_a_part_that_is_lost_is_warned_of(name: str):
    f, x = LOST[name]
    with pytest.warns(DegenerateWarning, match=r"values repeat.*funcgrad\.scipy\.linalg\.funm\(a") as caught:
        grad(f)(x)
    assert len(caught) == 1
    assert caught[0].filename == __file__


SECOND: dict[str, tuple[Any, Any]] = {
    "eigvalsh": (symmetric(lambda x: np.sum(np.log(np.linalg.eigvalsh(x)))), np.eye(3)),
    "eigh": (symmetric(lambda x: np.sum(np.log(np.linalg.eigh(x)[0]))), np.eye(3)),
    "a vector beside others": (of_top, np.diag([1.0, 1.0, 4.0])),
    "svdvals": (lambda x: np.sum(np.linalg.svd(x, compute_uv=False) ** 4), np.eye(3)),
    "the polar factor": (lambda x: np.sum(np.tril(W) * rebuilt_by_svd(x, lambda s: 1.0)), 2 * np.eye(3)),
}


@pytest.mark.parametrize("name", SECOND)
def test_a_part_of_a_second_derivative_that_is_lost_is_warned_of(name: str):
    f, x = SECOND[name]
    t = like(x, 3)
    right = differences(lambda x: differences(f, (x,), (t,), False), (x,), (t,), False)
    with pytest.warns(DegenerateWarning, match="differentiated again"):
        got = np.sum(t * hvp(f)(x, t))
    assert abs(got - right) > 1e-2  # else there would be nothing to warn of
    with pytest.warns(DegenerateWarning):
        assert float(np.sum(t * grad(lambda x: np.sum(t * grad(f)(x)))(x))) == pytest.approx(float(got))


RIGHT: dict[str, tuple[Any, Any]] = {
    "no repeated ones": (lambda x: np.sum(W * rebuilt(x, np.exp)), W),
    "eigenvalues": (lambda x: np.sum(np.log(np.linalg.eigh(x)[0])), np.eye(3)),
    "the trace of a function": (lambda x: np.trace(rebuilt(x, np.exp)), np.eye(3)),
    "all vectors": (lambda x: np.sum(W * rebuilt(x, lambda w: 1.0)), np.eye(3)),
    "a projection": (lambda x: np.sum(W * (lambda v: v @ v.T)(np.linalg.eigh(x)[1][:, :2])), np.diag([1.0, 1.0, 4.0])),
    "what is not repeated": (lambda x: np.sum(W * (lambda w, v: (v[:, 2:] * w[2:]) @ v[:, 2:].T)(*np.linalg.eigh(x))), TWICE),
    "nuclear norm": (lambda x: np.sum(np.linalg.svd(x)[1]), np.eye(3)),
    "the polar factor": (lambda x: np.sum(np.tril(W) * rebuilt_by_svd(x, lambda s: 1.0)), 2 * np.eye(3)),
    "the parts of rank 1": (lambda x: np.sum(W * (lambda u, s, vh: (u[:, :1] * s[:1]) @ vh[:1])(*np.linalg.svd(x))), np.ones((3, 3))),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not_warned_of(name: str):
    """Warnings are errors."""
    f, x = RIGHT[name]
    t = like(x, 5)
    assert float(np.sum(grad(f)(x) * t)) == pytest.approx(float(differences(f, (x,), (t,), False)), rel=1e-7, abs=1e-7)


def test_second_derivatives_that_are_right_are_not_warned_of():
    x = np.diag([1.0, 1.0, 4.0])
    np.testing.assert_array_equal(hessian(lambda x: np.sum(np.linalg.eigvalsh(x)))(x), np.zeros((3, 3, 3, 3)))
    t = like(x, 6)
    top = symmetric(lambda x: np.linalg.eigvalsh(x)[2])
    wanted = differences(lambda x: differences(top, (x,), (t,), False), (x,), (t,), False)
    assert float(np.sum(t * hvp(top)(x, t))) == pytest.approx(float(wanted), abs=1e-4)
    nuclear = lambda x: np.sum(np.linalg.svd(x)[1])
    wanted = differences(lambda x: differences(nuclear, (x,), (t,), False), (np.eye(3),), (t,), False)
    assert float(np.sum(t * hvp(nuclear)(np.eye(3), t))) == pytest.approx(float(wanted), abs=1e-4)


# ------------------------------------------------------------------------------------------------ singular values


def test_singular_values_that_are_equal_or_zero():
    x = np.zeros((3, 2))
    assert_close(grad(lambda x: np.sum(np.linalg.svd(x, compute_uv=False)))(x), x, 0.0)
    for x in (np.eye(3), A([[0.0, 2.0], [2.0, 0.0], [0.0, 0.0]]), np.ones((2, 3)), np.diag([2.0, 2.0, 0.0])):
        for values in (lambda x: np.linalg.svd(x, compute_uv=False), lambda x: np.linalg.svd(x)[1], lambda x: np.linalg.svd(x, False)[1]):
            assert_close(grad(lambda x, values=values: np.sum(values(x) ** 2))(x), 2 * x, 1e-14)
            assert_close(jvp(lambda x, values=values: np.sum(values(x) ** 4), (x,), (x,))[1], 4 * np.sum(values(x) ** 4), 1e-14)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("kind", [float, complex])
def test_the_polar_factor_where_singular_values_are_equal(shape: Any, kind: Any):
    """At a matrix Q with orthonormal columns (or rows) it grows by dX less what lies symmetrically along Q."""
    tall = (*shape[:-2], max(shape[-2:]), min(shape[-2:]))
    q = np.linalg.qr(like(np.zeros(tall, kind), 5))[0]
    t = like(q, 6)
    along = np.conj(np.swapaxes(q, -1, -2)) @ t
    wanted = t - q @ (along + np.conj(np.swapaxes(along, -1, -2))) / 2

    def polar(x: Any) -> Any:
        u, _, vh = np.linalg.svd(x, full_matrices=False)
        return u @ vh

    if shape[-1] > shape[-2]:
        q, t, wanted = (np.swapaxes(x, -1, -2) for x in (q, t, wanted))
    assert_close(jvp(polar, (2 * q,), (2 * t,))[1], wanted, 1e-14)
    cotangent = like(q, 7)
    assert float(inner(vjp(polar, 2 * q)[1](cotangent)[0], 2 * t)) == pytest.approx(float(inner(cotangent, wanted)), abs=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("full", [True, False])
def test_factors_put_together_are_the_matrix(shape: Any, full: bool):
    x, k = like(np.zeros(shape), 8), min(shape)

    def product(x: Any) -> Any:
        u, s, vh = np.linalg.svd(x, full_matrices=full)
        return (u[:, :k] * s) @ vh[:k]

    def unit(x: Any) -> Any:
        u, _, vh = np.linalg.svd(x, full_matrices=full)
        return u.T @ u, vh @ vh.T

    t = like(x, 9)
    assert_close(jvp(product, (x,), (t,))[1], t, 1e-13)
    assert_close(vjp(product, x)[1](t)[0], t, 1e-13)
    for part in jvp(unit, (x,), (t,))[1]:
        assert_close(part, np.zeros_like(part), 1e-13)


# ------------------------------------------------------------------------------------------------ vectors as NumPy computes them


@pytest.mark.parametrize("function", [np.linalg.eigh, np.linalg.eig, np.linalg.svd, np.linalg.qr], ids=lambda f: f.__name__)
def test_phases_are_those_of_numpy(function: Any):
    x = turned([1.0, 2.0, 4.0], 1, complex) + 0.1 * like(np.zeros((3, 3), complex), 2)
    t = like(x, 10)
    _, out = jvp(function, (x,), (t,))
    assert_close(out, differences(function, (x,), (t,), False), 10 * COARSE)


def test_phases_that_are_not_determined_do_not_hurt():
    """The first row, where LAPACK makes vectors real, is zero but for one of them."""
    x = np.zeros((3, 3), complex)
    x[0, 0], x[1:, 1:] = 5.0, turned([1.0, 2.0], 3, complex)

    def f(x: Any) -> Any:
        w, v = np.linalg.eigh(x)
        return np.sum(np.abs(v[1]) ** 2 * w)

    t = like(x, 11)
    assert_close(jvp(f, (x,), (t,))[1], t[1, 1].real, 1e-14)
    assert_close(grad(f)(x), np.diag([0.0, 1.0, 0.0]), 1e-14)


def test_eigenvectors_keep_their_length():
    x = A([[0.4, -1.3, 0.2], [1.1, 0.6, -0.3], [0.2, 0.5, 3.0]])
    back = grad(lambda x: np.sum(np.abs(np.linalg.eig(x)[1]) ** 2))(x)
    assert back.dtype == float
    assert_close(back, np.zeros((3, 3)), 1e-14)


# ------------------------------------------------------------------------------------------------ results and options


def test_results_come_as_numpys_own_types():
    calls = [np.linalg.eigh, np.linalg.eig, np.linalg.svd, np.linalg.qr, lambda x: np.linalg.svd(x, hermitian=True)]
    for call in calls:
        seen: list[Any] = []

        def f(x: Any, call: Any = call, seen: list[Any] = seen) -> Any:
            seen.append(call(x))
            return np.sum(np.real(seen[0][0]))  # eig is complex from NumPy 2.5 on

        grad(f)(TWICE + np.diag([1.0, 2.0, 3.0]))
        assert type(seen[0]) is type(call(np.eye(2)))


def test_a_matrix_that_is_not_positive_definite_raises_as_in_numpy():
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        grad(lambda x: np.sum(np.linalg.cholesky(x)))(-np.eye(2))


def test_modes_of_qr_without_a_rule_are_named():
    with pytest.raises(NoRuleError, match="mode='raw'"):
        vjp(lambda x: np.linalg.qr(x, "raw"), np.eye(2))
    with pytest.raises(ValueError, match="mode 'thin'"):
        vjp(lambda x: np.linalg.qr(x, "thin"), np.eye(2))


def test_both_triangles_of_any_name():
    x = turned([1.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="UPLO"):
        vjp(lambda x: np.linalg.eigh(x, "X"), x)
    np.testing.assert_array_equal(jacrev(lambda x: np.linalg.eigvalsh(x, "u"))(x), jacrev(lambda x: np.linalg.eigvalsh(x, "U"))(x))


def test_cholesky_of_a_stack_in_float32():
    x = np.stack([turned([1.0, 2.0, 4.0], seed) for seed in (1, 2)])
    exact = jacfwd(np.linalg.cholesky)(x)
    got = jacfwd(np.linalg.cholesky)(x.astype(np.float32))
    assert got.dtype == np.float32
    assert_close(got, exact, 1e-5)


def test_the_log_determinant_by_cholesky_is_that_of_slogdet():
    x = turned([1.0, 2.0, 4.0])

    def by_cholesky(x: Any) -> Any:
        return 2 * np.sum(np.log(np.linalg.cholesky(x)[np.arange(3), np.arange(3)]))

    assert_close(grad(by_cholesky)(x), lower(np.linalg.inv(x)), 1e-14)
