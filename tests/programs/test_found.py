"""Faults that random programs found, each as small as it was shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import custom_jvp, custom_vjp, grad, jvp, stop_gradient, vjp, vmap
from funcgrad.numpy import at

X = np.array([0.4, -0.7, 1.3])


def over_all(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: np.sum(vmap(f)(*args))


def test_what_is_stopped_in_a_mapping_stops_for_derivatives_around_it():
    def f(x: Any) -> Any:
        return x * stop_gradient(x * x)

    np.testing.assert_array_equal(grad(over_all(f))(X), X * X)
    np.testing.assert_array_equal(grad(over_all(over_all(f)))(X[:, None]), (X * X)[:, None])
    np.testing.assert_allclose(jvp(vmap(f), (X,), (X,))[1], X**3, rtol=1e-15)
    np.testing.assert_array_equal(grad(lambda x: np.sum(vmap(grad(f))(x)))(X), np.zeros(3))
    np.testing.assert_array_equal(vmap(grad(f))(X), X * X)


def cubed(x: Any, y: Any) -> Any:
    return x**2 * y


BY_JVP = custom_jvp(cubed)
BY_JVP.defjvp(lambda primals, tangents: jvp(cubed, primals, tangents))
BY_VJP = custom_vjp(cubed)
BY_VJP.defvjp(lambda *primals: (cubed(*primals), primals), lambda primals, ct: vjp(cubed, *primals)[1](ct))


@pytest.mark.parametrize("f", [BY_JVP, BY_VJP])
def test_a_custom_function_takes_what_is_mapped_further_out_and_traced_around_that(f: Any):
    def total(x: Any, y: Any) -> Any:
        return np.sum(vmap(lambda one, row: vmap(lambda other: f(one, other) + f(other, one))(row))(x, y))

    y = np.arange(6.0).reshape(3, 2) * 0.3
    of_x, of_y = grad(total, (0, 1))(X, y)
    np.testing.assert_allclose(of_x, np.sum(2 * X[:, None] * y + y**2, 1), rtol=1e-14)
    np.testing.assert_allclose(of_y, X[:, None] ** 2 + 2 * y * X[:, None], rtol=1e-14)


def test_a_custom_function_that_asks_for_values_has_second_derivatives_around_a_mapping():
    def f(x: Any) -> Any:
        return x**2 if x > 0 else -(x**3)

    g = custom_jvp(f)
    g.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    second = np.where(X > 0, 2.0, -6 * X)
    np.testing.assert_allclose(jvp(grad(over_all(g)), (X,), (np.ones(3),))[1], second, rtol=1e-14)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(over_all(g))(x)))(X), second, rtol=1e-14)
    np.testing.assert_allclose(vmap(grad(grad(g)))(X), second, rtol=1e-14)


def test_an_update_at_a_mapped_index_has_derivatives_around_the_mapping():
    rows = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 6.0]])

    def f(x: Any) -> Any:
        return np.sum(at(x)[np.argmin(x)].multiply(0.0) ** 3)

    smallest = rows == rows.min(1, keepdims=True)
    np.testing.assert_allclose(grad(over_all(f))(rows), np.where(smallest, 0.0, 3 * rows**2))
    np.testing.assert_allclose(jvp(grad(over_all(f)), (rows,), (rows,))[1], np.where(smallest, 0.0, 6 * rows**2))


def test_an_average_of_a_python_float():
    assert vjp(np.average, -0.5)[0] == -0.5
    assert grad(lambda x: np.average(x) * x)(-0.5) == -1.0
    assert vjp(lambda x: np.average(x, returned=True)[0], 2.0)[1](3.0) == (3.0,)


def test_tiles_lie_in_memory_as_numpys():
    x = np.array([-1.8])
    matrix = np.array([[-1.06, 1.49], [0.58, -1.26]])
    np.testing.assert_array_equal(vjp(lambda x: np.tile(x, 2) @ matrix, x)[0], np.tile(x, 2) @ matrix)
