"""Polynomials at special points, against closed forms: double roots, repeated eigenvalues, leading zeros, fits that are known."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jacrev, jvp, vjp
from funcgrad.errors import ConcretizationError
from funcgrad.ops.analysis import polynomials, series

A = np.array
P = A([2.0, -3.0, 0.5])


# ------------------------------------------------------------------------------------------------ values and powers


def test_horner_at_zero_and_infinity():
    assert grad(lambda x: np.polyval([2.0, 7.0, 5.0], x))(0.0) == 7.0
    assert hessian(lambda x: np.polyval([2.0, 7.0, 5.0], x))(0.0) == 4.0
    np.testing.assert_array_equal(grad(lambda p: np.polyval(p, 0.0))(P), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(grad(lambda p: np.polyval(p, -2.0))(P), [4.0, -2.0, 1.0])


def test_powers_at_zero_are_finite_to_any_order():
    x = A([0.0, 2.0])
    weights = A([1.0, 10.0, 100.0, 1000.0])  # of x**3, x**2, x, 1
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.vander(x, 4) @ weights))(x), [100.0, 12.0 + 40.0 + 100.0])
    np.testing.assert_array_equal(hessian(lambda x: np.sum(np.vander(x, 4) @ weights))(x), [[20.0, 0.0], [0.0, 32.0]])


def test_zeros_stay_zero_beside_infinities():
    x, p = A([2.0, np.inf]), A([np.inf, 1.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.vander(x, 3)[0]))(x), [5.0, 0.0])
    np.testing.assert_array_equal(grad(lambda q: np.polymul(p, q)[-1])(A([2.0, 3.0])), [0.0, 1.0])
    np.testing.assert_array_equal(jvp(lambda q: np.polymul(p, q), (A([2.0, 3.0]),), (A([0.0, 1.0]),))[1], [0.0, np.inf, 1.0])


def test_a_poly1d_holds_tracers():
    """np.poly1d is Python that calls NumPy's functions: (x p + q)'s coefficients are traced."""
    assert grad(lambda a: (np.poly1d(A([1.0, 0.0])) * np.poly1d(P * a))(2.0))(1.0) == 2.0 * np.polyval(P, 2.0)
    assert grad(lambda x: np.poly1d(P)(x))(2.0) == 5.0
    assert grad(lambda a: np.poly1d(P * a).deriv()(2.0))(1.0) == 5.0
    assert grad(lambda a: np.poly1d(P * a).integ()(1.0))(3.0) == pytest.approx(2 / 3 - 3 / 2 + 1 / 2)
    assert isinstance(jvp(lambda k: polynomials.polyint(np.poly1d(P), k=k)(0.0), (5.0,), (1.0,))[1], float)
    value = grad(lambda p: np.polyval(p, np.poly1d([1.0, 1.0]))(2.0))(P)  # p(x + 1) at 2
    np.testing.assert_array_equal(value, [9.0, 3.0, 1.0])


# ------------------------------------------------------------------------------------------------ arithmetic


def test_leading_zeros_that_numpy_drops_have_an_effect_on_what_stays():
    value, pullback = vjp(lambda p: np.polymul(p, [1.0, 2.0, 5.0]), A([0.0, 0.0, 3.0, 1.0]))
    np.testing.assert_array_equal(value, [3.0, 7.0, 17.0, 5.0])
    np.testing.assert_array_equal(pullback(A([1.0, 10.0, 100.0, 1000.0]))[0], [5.0, 52.0, 521.0, 5210.0])
    np.testing.assert_array_equal(grad(lambda p: np.polymul(p, P)[-1])(np.zeros(2)), [0.0, 0.5])
    np.testing.assert_array_equal(grad(lambda p: np.sum(np.polymul([], p)))(P), np.zeros(3))


def test_division_and_multiplication_undo_each_other():
    weights, divisor = A([1.0, -2.0, 3.0]), A([2.0, 1.0])

    def through(p: Any) -> Any:
        quotient, remainder = np.polydiv(p, divisor)
        return np.sum(weights * np.polyadd(np.polymul(quotient, divisor), remainder))

    np.testing.assert_allclose(grad(through)(P), weights, rtol=1e-14)
    np.testing.assert_allclose(hessian(through)(P), np.zeros((3, 3)), atol=1e-14)


def test_the_remainder_is_the_value_at_the_root_of_the_divisor():
    np.testing.assert_allclose(grad(lambda p: np.polydiv(p, [1.0, -3.0])[1][0])(P), [9.0, 3.0, 1.0])
    found = grad(lambda root: np.polydiv(P, np.concatenate([np.ones(1), -root]))[1][0])(A([3.0]))
    np.testing.assert_allclose(found, [2 * 2.0 * 3.0 - 3.0])


def test_integration_and_differentiation():
    np.testing.assert_array_equal(jacrev(lambda p: np.polyder(np.polyint(p)))(P), np.eye(3))
    np.testing.assert_array_equal(jacrev(lambda p: np.polyder(p, 2))(P), [[2.0, 0.0, 0.0]])
    np.testing.assert_array_equal(grad(lambda k: np.sum(polynomials.polyint(P, 3, k)[-3:]))(A([1.0, 1.0, 1.0])), [0.5, 1.0, 1.0])
    assert grad(lambda k: np.sum(polynomials.polyint(P, 3, k)[-3:]))(1.0) == 2.5
    for call, message in (
        (lambda p: np.polyder(p, -1), "positive"),
        (lambda p: np.polyint(p, -1), "positive"),
        (lambda p: np.polyint(p, 3, [1, 2]), "k must"),
    ):
        with pytest.raises(ValueError, match=message):
            grad(lambda p, call=call: np.sum(call(p)))(P)
    with pytest.raises(ConcretizationError):
        grad(lambda k: np.sum(np.polyint(P, 1, k)))(1.0)


# ------------------------------------------------------------------------------------------------ roots


def test_roots_of_a_quadratic():
    """x**2 - s x + q: the roots r have dr/ds = r / (2 r - s), dr/dq = -1 / (2 r - s)."""
    for s, q in ((3.0, 2.0), (2.0, 5.0)):  # two real roots; a pair of complex ones
        value, pullback = vjp(np.roots, A([1.0, -s, q]))
        for n, root in enumerate(value):
            unit = np.zeros(2, value.dtype)
            unit[n] = 1.0
            wanted = A([-root * root, -root, -1.0]) / (2 * root - s)
            np.testing.assert_allclose(pullback(unit)[0], wanted.real, rtol=1e-14, atol=1e-15)
            got = A([jvp(np.roots, (A([1.0, -s, q]),), (t,))[1][n] for t in np.eye(3)])
            np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-15)


def test_the_sum_and_the_product_of_roots_are_coefficients():
    p = A([2.0, -3.0, 0.5, 4.0, 1.0])
    np.testing.assert_allclose(grad(lambda p: np.real(np.sum(np.roots(p))))(p), [-3.0 / 4.0, -0.5, 0.0, 0.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(grad(lambda p: np.real(np.prod(np.roots(p))))(p), [-0.25, 0.0, 0.0, 0.0, 0.5], atol=1e-14)


def test_roots_at_zero_and_at_infinity():
    np.testing.assert_allclose(grad(lambda p: np.roots(p)[1])(A([1.0, -2.0, 0.0])), [0.0, 0.0, 0.5])  # x**2 - 2 x + q: q / 2
    np.testing.assert_allclose(grad(lambda p: np.roots(p)[0])(A([0.0, 2.0, -6.0])), [-9.0 / 2.0, -3.0 / 2.0, -1.0 / 2.0])
    assert grad(lambda p: np.sum(np.roots(p)))(A([5.0])) == [0.0]
    assert grad(lambda p: np.sum(np.roots(p)))(A([0.0])) == [0.0]


def test_a_double_root_leaves_the_others_alone():
    p = A([1.0, -4.0, 4.0, 0.0])  # 2, 2 and 0
    np.testing.assert_allclose(grad(lambda p: np.roots(p)[2])(p), [0.0, 0.0, 0.0, -0.25])
    exact = A([1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(grad(lambda p: np.sum(np.where([False] * 3, np.roots(p), 1.0)))(exact), np.zeros(4))


def test_a_characteristic_polynomial_where_eigenvalues_coincide():
    """The coefficients of det(z - A) are -trace(A), the sum of the principal minors, ..., -det(A) for three rows."""
    for a in (np.diag([2.0, 2.0, 2.0]), np.zeros((3, 3)), A([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])):
        first, second, third = (grad(lambda a, n=n: np.poly(a)[n])(a) for n in (1, 2, 3))
        np.testing.assert_allclose(first, -np.eye(3), atol=1e-14)
        np.testing.assert_allclose(second, np.trace(a) * np.eye(3) - a.T, atol=1e-14)
        minors = A([[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)] for i in range(3)])
        np.testing.assert_allclose(third, -minors, atol=1e-13)
        twice = hessian(lambda a: np.poly(a)[2])(a).reshape(9, 9)
        np.testing.assert_allclose(
            twice, np.outer(np.eye(3), np.eye(3)) - np.eye(9).reshape(3, 3, 9).swapaxes(0, 1).reshape(9, 9), atol=1e-13
        )


def test_poly_of_roots():
    np.testing.assert_array_equal(jacrev(np.poly)(A([2.0, 3.0])), [[0.0, 0.0], [-1.0, -1.0], [3.0, 2.0]])
    np.testing.assert_array_equal(jacrev(np.poly)(A([2.0, 2.0])), [[0.0, 0.0], [-1.0, -1.0], [2.0, 2.0]])
    value, out = jvp(np.poly, (A([1.0 + 2.0j, 1.0 - 2.0j]),), (A([1.0, 1.0j]),))
    assert value.dtype == out.dtype == np.float64  # a conjugate pair: NumPy makes the result real
    np.testing.assert_array_equal(out, [0.0, -1.0, -1.0])
    assert grad(lambda x: np.sum(np.poly([x, 2.0 * x])))(2.0) == 5.0
    assert jvp(lambda x: np.poly(x[:0]) * x[0], (P,), (P,))[1] == 2.0
    with pytest.raises(ValueError, match="square 2d"):
        grad(lambda a: np.sum(np.poly(a)))(np.ones((2, 3)))


# ------------------------------------------------------------------------------------------------ least squares


def test_a_line_through_points():
    """The slope is the covariance over the variance."""
    x, y = A([0.0, 1.0, 2.0, 3.0]), A([1.0, 3.0, 2.0, 5.0])
    away = x - np.mean(x)
    slope, intercept = jacrev(lambda y: np.polyfit(x, y, 1))(y)
    np.testing.assert_allclose(slope, away / np.sum(away**2), atol=1e-14)
    np.testing.assert_allclose(intercept, 0.25 - np.mean(x) * slope, atol=1e-14)
    fitted = np.sum(away * y) / np.sum(away**2)
    wanted = (y - np.mean(y) - 2.0 * fitted * away) / np.sum(away**2)
    np.testing.assert_allclose(grad(lambda x: np.polyfit(x, y, 1)[0])(x), wanted, atol=1e-14)


def test_a_fit_through_all_points_does_not_see_the_weights():
    x, y, w = A([0.0, 1.0, 3.0]), A([1.0, 3.0, 2.0]), A([1.0, 2.0, 0.5])
    np.testing.assert_allclose(jacrev(lambda w: np.polyfit(x, y, 2, w=w))(w), np.zeros((3, 3)), atol=1e-13)
    np.testing.assert_allclose(jacrev(lambda y: np.polyfit(x, y, 2, w=w))(y), np.linalg.inv(np.vander(x)), atol=1e-13)


def test_the_covariance_of_a_mean():
    y = A([1.0, 3.0, 2.0, 6.0])
    gradient = grad(lambda y: np.polyfit(np.arange(4.0), y, 0, cov=True)[1][0, 0])(y)
    np.testing.assert_allclose(gradient, 2.0 * (y - np.mean(y)) / 12.0, atol=1e-15)


def test_numpys_warning_and_errors_stay():
    with pytest.warns(match="poorly conditioned") as caught:
        gradient = grad(lambda y: np.sum(np.polyfit([1.0, 1.0, 1.0], y, 2)))(A([1.0, 2.0, 3.0]))
    assert caught[0].filename == __file__
    np.testing.assert_allclose(gradient, np.full(3, 1.0 / 3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad(lambda y: np.sum(np.polyfit([1.0, 1.0, 1.0], y, 2, full=True)[0]))(A([1.0, 2.0, 3.0]))
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda y: np.polyfit(P, y, -1), ValueError, "deg >= 0"),
        (lambda y: np.polyfit(np.ones((3, 1)), y, 1), TypeError, "1D vector for x"),
        (lambda y: np.polyfit([], y, 1), TypeError, "non-empty"),
        (lambda y: np.polyfit(P, y.reshape(1, 1, 3), 1), TypeError, "1D or 2D array for y"),
        (lambda y: np.polyfit(P, y[:2], 1), TypeError, "same length"),
        (lambda y: np.polyfit(P, y, 1, w=np.ones((3, 1))), TypeError, "1-d array for weights"),
        (lambda y: np.polyfit(P, y, 1, w=np.ones(2)), TypeError, "w and y to have the same length"),
        (lambda y: np.polyfit(P, y, 2, cov=True)[0], ValueError, "exceed order"),
    ]
    for call, kind, message in wrong:
        with pytest.raises(kind, match=message):
            grad(lambda y, call=call: np.sum(call(y)))(P)
        with pytest.raises(kind, match=message):
            call(P)


# ------------------------------------------------------------------------------------------------ numpy.polynomial


def test_the_plain_functions_of_numpy_polynomial_take_a_tracer_for_x():
    assert grad(lambda x: np.polynomial.polynomial.polyval(x, [5.0, 3.0, 2.0]))(1.0) == 7.0
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.polynomial.chebyshev.chebval(x, [0.0, 0.0, 1.0])))(P), 4.0 * P)


def test_they_refuse_one_for_the_coefficients():
    for plain, ours in ((np.polynomial.polynomial.polyval, series.polyval), (np.polynomial.chebyshev.chebval, series.chebval)):
        with pytest.raises(ConcretizationError, match=r"funcgrad\.numpy"):
            grad(lambda c, plain=plain: plain(2.0, c))(P)
        assert grad(lambda c, ours=ours: ours(2.0, c))(P)[0] == 1.0


def test_chebyshev_polynomials_are_cosines():
    angles = A([0.3, 1.2, 2.5])
    for n in range(5):
        gradient = grad(lambda x, n=n: np.sum(series.chebval(x, np.eye(5)[n])))(np.cos(angles))
        np.testing.assert_allclose(gradient, n * np.sin(n * angles) / np.sin(angles), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(jacrev(lambda c: series.chebval(np.cos(angles), c))(P), np.cos(np.outer(angles, [0, 1, 2])), atol=1e-15)
