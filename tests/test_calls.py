"""How transforms are called: argnums, keyword arguments, has_aux, functions of every kind, names."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest

from funcgrad import (
    elementwise_grad,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    make_tape,
    stop_gradient,
    value_and_grad,
    vjp,
)


def area(width: Any, height: Any, *, scale: Any = 1.0) -> Any:
    """The area of a rectangle."""
    return width * height**2 * scale


def test_argnums():
    assert grad(area)(2.0, 3.0) == grad(area, 0)(2.0, 3.0) == grad(area, -2)(2.0, 3.0) == 9.0
    assert grad(area, 1)(2.0, 3.0) == grad(area, -1)(2.0, 3.0) == grad(area, np.int64(1))(2.0, 3.0) == 12.0
    for argnums, wanted in (((0,), (9.0,)), ((1, 0), (12.0, 9.0)), ((-1, 0), (12.0, 9.0)), ([0, 1], (9.0, 12.0)), ((), ())):
        assert grad(area, argnums)(2.0, 3.0) == wanted
        assert value_and_grad(area, argnums)(2.0, 3.0) == (18.0, wanted)
        assert jacfwd(area, argnums)(2.0, 3.0) == jacrev(area, argnums)(2.0, 3.0) == wanted
    assert hessian(area, (0, 1))(2.0, 3.0) == ((0.0, 6.0), (6.0, 4.0))
    assert hessian(area, -1)(2.0, 3.0) == 4.0
    assert hvp(area, (1, 0))(2.0, 3.0, (1.0, 10.0)) == (4.0 + 60.0, 6.0)
    assert hvp(area, 1)(2.0, 3.0, 5.0) == 20.0
    assert elementwise_grad(area, 1)(2.0, 3.0) == elementwise_grad(area, -1)(2.0, 3.0) == 12.0


def test_arguments_that_are_not_differentiated_may_be_anything():
    def f(x: Any, table: Any, flag: Any, name: Any) -> Any:
        assert isinstance(table, dict) and flag is True and name is Ellipsis
        return x * table["k"][0]

    assert grad(f)(2.0, {"k": [3, "x"]}, True, ...) == 3.0
    assert jacfwd(f)(2.0, {"k": [3, "x"]}, True, ...) == 3.0
    assert hvp(f)(2.0, {"k": [3, "x"]}, True, ..., 1.0) == 0.0
    assert elementwise_grad(f)(2.0, {"k": [3, "x"]}, True, ...) == 3.0


def test_keyword_arguments_are_passed_on_undifferentiated():
    assert grad(area)(2.0, height=3.0, scale=np.int64(2)) == 18.0
    assert value_and_grad(area)(2.0, 3.0, scale=2) == (36.0, 18.0)
    assert grad(area)(2.0, 3.0, scale=np.array(2)) == jacfwd(area)(2.0, 3.0, scale=2) == jacrev(area)(2.0, 3.0, scale=2) == 18.0
    assert hessian(area, 1)(2.0, 3.0, scale=2) == hvp(area, 1)(2.0, 3.0, 1.0, scale=2) == 8.0
    assert elementwise_grad(area)(2.0, 3.0, scale=2) == 18.0
    assert make_tape(area)(2.0, 3.0, scale=2).value == 36.0


def test_aux_comes_out_of_every_transform_as_plain_values():
    def f(x: Any) -> Any:
        return np.sum(x * x), {"double": 2 * x, "none": None, "text": "t", "count": 3, "constant": np.arange(2)}

    x = np.array([1.0, 2.0])
    for result in (
        grad(f, has_aux=True)(x)[1],
        value_and_grad(f, has_aux=True)(x)[0][1],
        vjp(f, x, has_aux=True)[2],
        jvp(f, (x,), (x,), has_aux=True)[2],
        jvp(f, has_aux=True)((x,), (x,))[2],
        linearize(f, x, has_aux=True)[2],
        jacfwd(f, has_aux=True)(x)[1],
        jacrev(f, has_aux=True)(x)[1],
        hessian(f, has_aux=True)(x)[1],
    ):
        assert type(result["double"]) is np.ndarray
        np.testing.assert_array_equal(result["double"], [2.0, 4.0])
        np.testing.assert_array_equal(result["constant"], [0, 1])
        assert (result["none"], result["text"], result["count"]) == (None, "t", 3)
    np.testing.assert_array_equal(hessian(f, has_aux=True)(x)[0], 2 * np.eye(2))
    np.testing.assert_array_equal(value_and_grad(f, has_aux=True)(x)[1], [2.0, 4.0])
    assert value_and_grad(f, has_aux=True)(x)[0][0] == 5.0


@pytest.mark.parametrize("transform", [grad, value_and_grad, jacfwd, jacrev, hessian, hvp, elementwise_grad, make_tape, jvp])
def test_a_transformed_function_keeps_name_and_doc(transform: Any):
    found = transform(area)
    assert found.__name__ == "area"
    assert found.__qualname__ == "area"
    assert found.__module__ == __name__
    assert "The area of a rectangle." in found.__doc__
    if transform not in (jvp, hvp):
        assert inspect.signature(found) == inspect.signature(area)
    transform(functools.partial(area, scale=2.0))
    transform(np.sin)
    transform(type("Callable", (), {"__call__": lambda self, x: x})())


def test_functions_of_every_kind():
    class Scaled:
        def __init__(self, k: float) -> None:
            self.k = k

        def __call__(self, x: Any) -> Any:
            return self.k * x * x

        def method(self, x: Any) -> Any:
            return self.k * x * x

    for f in (Scaled(2.0), Scaled(2.0).method, functools.partial(lambda k, x: k * x * x, 2.0), lambda *xs, **options: 2.0 * xs[0] ** 2):
        assert grad(f)(3.0) == 12.0
        assert jvp(f, (3.0,), (1.0,))[1] == jacfwd(f)(3.0) == jacrev(f)(3.0) == elementwise_grad(f)(3.0) == 12.0
        assert hessian(f)(3.0) == hvp(f)(3.0, 1.0) == 4.0
    assert grad(np.sin)(0.0) == grad(np.multiply)(2.0, 5.0) / 5.0 == 1.0


def test_the_same_function_many_times_in_any_order():
    derivative = grad(lambda x: np.sum(x**3))
    for x in (2.0, np.array([1.0, 2.0]), np.float32(2.0), 2) * 2:
        np.testing.assert_array_equal(derivative(x), 3 * np.square(x))


def test_stop_gradient_gives_plain_values():
    def f(x: Any) -> Any:
        plain = stop_gradient({"x": [x, 1.0, None], "y": "text"})
        assert type(plain["x"][0]) is np.ndarray
        assert (plain["x"][1:], plain["y"]) == ([1.0, None], "text")
        return np.sum(x * plain["x"][0])

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 2.0])), [1.0, 2.0])
    assert stop_gradient(3.0) == 3.0
