"""Sorting, sets and running results at special points: ties, zeros, infinities, NaNs. Right values are closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jacfwd, jacrev, jvp, vjp
from funcgrad.errors import ConcretizationError, NoRuleError

A = np.array
gradients = pytest.mark.parametrize("gradient", [grad, jacfwd, jacrev])
jacobians = pytest.mark.parametrize("jacobian", [jacfwd, jacrev])


def weighed(f: Callable[..., Any], weights: Any, **options: Any) -> Callable[..., Any]:
    return lambda *args: np.sum(f(*args, **options) * A(weights))


# ------------------------------------------------------------------------------------------------ ties


@gradients
def test_tied_elements_share_their_places(gradient: Any):
    x = A([1.0, 3.0, 3.0, 2.0])  # sorted: 1 2 3 3
    np.testing.assert_array_equal(gradient(weighed(np.sort, [1.0, 10.0, 100.0, 1000.0]))(x), [1.0, 550.0, 550.0, 10.0])
    np.testing.assert_array_equal(gradient(weighed(np.sort, [1.0, 10.0, 100.0, 1000.0], kind="stable"))(x), [1.0, 550.0, 550.0, 10.0])
    np.testing.assert_array_equal(gradient(lambda x: np.partition(x, 2)[2])(x), [0.0, 0.5, 0.5, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sort(x, None)[0])(np.zeros((2, 2))), np.full((2, 2), 0.25))
    rows = A([[2.0, 2.0, 2.0], [2.0, 1.0, 2.0]])  # a tie ends with its row
    np.testing.assert_allclose(gradient(weighed(np.sort, [3.0, 6.0, 12.0]))(rows), [[7.0, 7.0, 7.0], [9.0, 3.0, 9.0]], rtol=1e-15)
    np.testing.assert_array_equal(gradient(weighed(np.sort, [[1.0], [4.0]], axis=0))(rows), [[2.5, 4.0, 2.5], [2.5, 1.0, 2.5]])


@gradients
def test_infinities_zeros_and_nans_are_sorted_and_tied_as_numpy_does(gradient: Any):
    x = A([np.inf, -np.inf, 0.0, -0.0, np.inf])
    for place, wanted in enumerate([[0, 1, 0, 0, 0], [0, 0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5, 0], [0.5, 0, 0, 0, 0.5], [0.5, 0, 0, 0, 0.5]]):
        np.testing.assert_array_equal(gradient(lambda x: np.sort(x)[place])(x), wanted)  # noqa: B023
    x = A([np.nan, 1.0, np.nan])
    np.testing.assert_array_equal(gradient(lambda x: np.sort(x)[0])(x), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sort(x)[2])(x), [0.5, 0.0, 0.5])  # as np.max


@jacobians
def test_equal_elements_share_in_sets(jacobian: Any):
    x = A([3.0, 1.0, 3.0])
    np.testing.assert_array_equal(jacobian(np.unique)(x), [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    np.testing.assert_array_equal(jacobian(lambda x: np.unique(x, axis=0))(A([[1.0], [1.0]])), [[[[0.5], [0.5]]]])
    np.testing.assert_array_equal(jacobian(lambda x: np.unique(x, return_counts=True)[0])(x), [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    one, other = A([1.0, 2.0, 2.0]), A([2.0, 3.0])
    np.testing.assert_allclose(jacobian(np.union1d)(one, other), [[1.0, 0.0, 0.0], [0.0, 1 / 3, 1 / 3], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(jacobian(np.union1d, 1)(one, other), [[0.0, 0.0], [1 / 3, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(jacobian(np.intersect1d)(one, other), [[0.0, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(jacobian(np.intersect1d, 1)(one, other), [[1 / 3, 0.0]])
    np.testing.assert_array_equal(jacobian(np.setxor1d)(one, other), [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(jacobian(np.setdiff1d)(A([2.0, 5.0, 5.0]), A([2.0])), [[0.0, 0.5, 0.5]])
    np.testing.assert_array_equal(jacobian(lambda x: np.setdiff1d(x, A([2.0]), True))(A([5.0, 2.0, 5.0])), [[0.5, 0.0, 0.5]] * 2)
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.setdiff1d(one, x)))(other), [0.0, 0.0])


def test_integers_beside_unique_values_are_numpys():
    x = A([3.0, 1.0, 3.0])
    found = vjp(lambda x: (x, np.unique(x, return_index=True, return_inverse=True, return_counts=True)), x, has_aux=True)[2]
    for one, wanted in zip(found, np.unique(x, True, True, True), strict=True):
        np.testing.assert_array_equal(one, wanted)
    if hasattr(np, "unique_all"):
        found = vjp(lambda x: (x, np.unique_all(x)), x, has_aux=True)[2]
        assert type(found) is type(np.unique_all(x))
        np.testing.assert_array_equal(found.counts, [1, 2])


@jacobians
def test_running_extremes_share(jacobian: Any):
    x = A([1.0, 3.0, 3.0, 2.0, 3.0])
    wanted = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 1 / 3, 1 / 3, 0, 1 / 3]]
    np.testing.assert_allclose(jacobian(np.maximum.accumulate)(x), wanted, rtol=1e-15)
    np.testing.assert_allclose(jacobian(np.minimum.accumulate)(-x), wanted, rtol=1e-15)
    np.testing.assert_allclose(jacobian(np.minimum.accumulate)(A([2.0, -np.inf, -np.inf])), [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]])
    np.testing.assert_allclose(jacobian(np.maximum.accumulate)(A([2.0, np.nan, 5.0])), [[1, 0, 0], [0, 1, 0], [0, 1, 0]])


# ------------------------------------------------------------------------------------------------ running products


@jacobians
def test_running_products_with_zeros_are_exact(jacobian: Any):
    for product in (np.cumprod, np.multiply.accumulate, getattr(np, "cumulative_prod", np.cumprod)):
        np.testing.assert_array_equal(jacobian(product)(A([2.0, 0.0, 3.0, 0.0])), [[1, 0, 0, 0], [0, 2, 0, 0], [0, 6, 0, 0], [0, 0, 0, 0]])
    table = A([[0.0, 2.0], [5.0, 0.0], [0.0, 7.0]])
    by_rows = jacobian(lambda x: np.cumprod(x, 0))(table)
    np.testing.assert_array_equal(by_rows[2, 0], [[0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(by_rows[2, 1], [[0, 0], [0, 14], [0, 0]])


def test_second_derivatives_of_running_products_with_zeros_are_exact():
    wanted = [[0.0, 1.0, 5.0], [1.0, 0.0, 0.0], [5.0, 0.0, 0.0]]  # of x + xy + xyz at (0, 5, 0)
    for second in (hessian, lambda f: jacrev(grad(f)), lambda f: jacfwd(jacfwd(f)), lambda f: jacrev(jacfwd(f))):
        np.testing.assert_array_equal(second(lambda x: np.sum(np.cumprod(x)))(A([0.0, 5.0, 0.0])), wanted)


def test_long_running_products_agree_with_their_logarithms():
    x = np.random.default_rng(0).uniform(0.9, 1.1, 1001)
    weights = np.linspace(-1.0, 1.0, 1001)
    wanted = np.cumsum((weights * np.cumprod(x))[::-1])[::-1] / x
    np.testing.assert_allclose(grad(weighed(np.cumprod, weights))(x), wanted, rtol=1e-11)


# ------------------------------------------------------------------------------------------------ strong zeros


def test_places_that_are_not_used_have_no_part():
    x = A([0.0, 4.0, 9.0])
    with np.errstate(divide="ignore"):
        for root in (lambda x: np.sort(np.sqrt(x))[1], lambda x: np.partition(np.sqrt(x), 1)[1], lambda x: np.unique(np.sqrt(x))[1]):
            np.testing.assert_array_equal(grad(root)(x), [0.0, 0.25, 0.0])
            assert jvp(root, (x,), (np.ones(3),))[1] == 0.25
        np.testing.assert_array_equal(grad(lambda x: np.maximum.accumulate(np.sqrt(x))[2])(x), [0.0, 0.0, 1 / 6])


# ------------------------------------------------------------------------------------------------ differences and slopes


@gradients
def test_slopes_in_places_that_lie_evenly(gradient: Any):
    # The slope at the middle is ((f1 - f0) h2 / h1 + (f2 - f1) h1 / h2) / (h1 + h2), with h1 = x1 - x0 and h2 = x2 - x1.
    f = A([1.0, 4.0, 2.0])
    wanted = A([-(-2.0 - 3 * 3.0), (-2.0 - 3 * 3.0) - (3.0 - 3 * -2.0), 3.0 - 3 * -2.0]) / 4.0
    np.testing.assert_allclose(gradient(lambda x: np.gradient(f, x)[1])(A([0.0, 1.0, 2.0])), wanted, rtol=1e-14)


@gradients
def test_differences_of_angles_unwrap(gradient: Any):
    x = A([0.0, 3.0, 6.5, 13.0, -4.0])
    np.testing.assert_array_equal(gradient(weighed(np.unwrap, [1.0, 2.0, 3.0, 4.0, 5.0]))(x), [1.0, 2.0, 3.0, 4.0, 5.0])


# ------------------------------------------------------------------------------------------------ refusals


def test_a_traced_period_is_refused():
    with pytest.raises(NoRuleError, match="period"):
        grad(lambda x: np.sum(np.unwrap(x, period=x[0])))(A([1.0, 2.0]))


x = A([1.0, 3.0, 2.0])


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: np.sort(x, axis=1), np.exceptions.AxisError),
        (lambda x: np.sort(x, kind="none"), ValueError),
        (lambda x: np.sort(x, order="a"), ValueError),
        (lambda x: np.partition(x, 3), ValueError),
        (lambda x: np.unique(x, axis=2), np.exceptions.AxisError),
        (lambda x: np.cumprod(x, 3), np.exceptions.AxisError),
        (lambda x: np.cumprod(x, out=np.zeros(3)), ConcretizationError),
        (lambda x: np.maximum.accumulate(x, out=np.zeros(3)), ConcretizationError),
        (lambda x: np.diff(x, -1), ValueError),
        (lambda x: np.diff(x[0]), ValueError),
        (lambda x: np.ediff1d(x, to_end=1j), TypeError),
        (lambda x: np.unwrap(x, axis=1), np.exceptions.AxisError),
        (lambda x: np.gradient(x, edge_order=3), ValueError),
        (lambda x: np.gradient(x[:1]), ValueError),
        (lambda x: np.gradient(x, [0.0, 1.0]), ValueError),
        (lambda x: np.gradient(x, np.ones((3, 3))), ValueError),
        (lambda x: np.gradient(x, 1.0, 2.0), TypeError),
        (lambda x: np.cumulative_sum(x.reshape(1, 3)) if hasattr(np, "cumulative_sum") else x.reshape(2), ValueError),
    ],
)
def test_what_numpy_refuses_is_refused(f: Any, error: Any):
    with pytest.raises(error):
        f(x) if error is not ConcretizationError else grad(lambda x: np.sum(f(x)))(x)
    with pytest.raises(error):
        grad(lambda x: np.sum(f(x)))(x)
