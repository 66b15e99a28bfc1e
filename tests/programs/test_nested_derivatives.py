"""Random expressions with transforms inside transforms, to second order in all mixes, against differences of their values.

A program is a random expression of one input. Inside it stand derivatives of random expressions, taken at random points, that use the outer
input as well: whatever the engine may confuse (perturbations, scopes, residuals of inner and outer transforms) changes the number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp, linearize, nn, value_and_grad, vjp
from tests.witnesses import IS_EXTENDED, differences

Program = Callable[[dict[str, Any]], Any]  # from the values of variables to a value, of the shape of "x"

UNARY = [
    np.sin, np.cos, np.tanh, np.arctan, nn.sigmoid, np.negative, np.square, lambda x: np.log(x * x + 1.5), lambda x: np.sqrt(x * x + 0.5),
    lambda x: np.logaddexp(x, 0.3), lambda x: 1 / (2.0 + x * x), lambda x: np.tanh(x) ** 3,
]  # fmt: skip
BINARY = [
    np.add, np.multiply, np.subtract, lambda x, y: x / (1.7 + y * y), lambda x, y: np.hypot(x, y + 3.0),
    lambda x, y: np.arctan2(x, y * y + 1.0),
]  # fmt: skip
OF_ARRAYS = [
    lambda x: np.sum(x) * 0.3 + 0 * x, lambda x: x[::-1] * 1.0, lambda x: np.concatenate([x[1:], x[:1]]), np.cumsum,
    lambda x: x @ x * 0.2 + 0 * x, lambda x: np.outer(x, x) @ x * 0.2, lambda x: np.stack([x, x * x]).sum(0) * 0.5,
    lambda x: np.prod(x) * 0.5 + x, lambda x: x[[0, 1, 1]] * 0.7, lambda x: np.einsum("i,j->j", x, np.tanh(x)) * 0.5,
    lambda x: np.where(x > 0, x, 0.5 * x), lambda x: np.max(x) * x,
]  # fmt: skip


def expression(rng: np.random.Generator, depth: int, names: list[str], is_array: bool) -> Program:
    choice = rng.random()
    if depth == 0 or choice < 0.1:
        if rng.random() < 0.1:
            constant = float(rng.uniform(0.3, 1.5))
            return lambda values: constant + 0 * values["x"]
        name = names[rng.integers(len(names))]
        return lambda values: values[name]
    if choice < 0.35:
        f, inside = UNARY[rng.integers(len(UNARY))], expression(rng, depth - 1, names, is_array)
        return lambda values: f(inside(values))
    if choice < 0.6:
        g = BINARY[rng.integers(len(BINARY))]
        left, right = (expression(rng, depth - 1, names, is_array) for _ in range(2))
        return lambda values: g(left(values), right(values))
    if choice < 0.7 and is_array:
        f, inside = OF_ARRAYS[rng.integers(len(OF_ARRAYS))], expression(rng, depth - 1, names, is_array)
        return lambda values: f(np.tanh(inside(values)))
    return derivative(rng, depth, names, is_array)


def derivative(rng: np.random.Generator, depth: int, names: list[str], is_array: bool) -> Program:
    """The derivative of an expression of a new variable, by a random transform, at a point and in a direction that are expressions too."""
    name = f"y{len(names)}"
    body = expression(rng, depth - 1, [*names, name, name], is_array)
    at, towards = (expression(rng, max(depth - 2, 0), names, is_array) for _ in range(2))
    kind = rng.integers(5)

    def program(values: dict[str, Any]) -> Any:
        point, direction = np.tanh(at(values)), np.cos(towards(values))

        def f(y: Any) -> Any:
            return np.tanh(body({**values, name: y}))

        if kind == 0:
            return grad(lambda y: np.sum(f(y) * direction))(point)
        if kind == 1:
            return jvp(f, (point,), (direction,))[1]
        if kind == 2:
            value, pullback = vjp(f, point)
            return pullback(direction)[0] + 0.3 * pullback(value)[0]
        if kind == 3:
            _, f_jvp = linearize(f, point)
            return f_jvp(direction) + 0.5 * f_jvp(point)
        value, (of_y, of_z) = value_and_grad(lambda y, z: np.sum(f(y) * np.sin(z)), (0, 1))(point, direction)
        return value + of_y * of_z

    return program


@pytest.mark.skipif(not IS_EXTENDED, reason="differences of second derivatives need an extended precision, which this platform has not")
@pytest.mark.parametrize("is_array", [False, True], ids=["floats", "arrays"])
@pytest.mark.parametrize("seed", range(60))
def test_derivatives_of_random_programs(seed: int, is_array: bool):
    rng = np.random.default_rng(seed)
    program = expression(rng, 5, ["x"], is_array)
    x: Any = rng.uniform(-0.9, 0.9, 3) if is_array else float(rng.uniform(0.3, 0.9))
    weights, t = (rng.uniform(0.5, 1.5, 3) if is_array else float(rng.uniform(0.5, 1.5)) for _ in range(2))

    def f(x: Any) -> Any:
        return np.sum(weights * program({"x": x}))

    def forward(x: Any) -> Any:
        dtype = getattr(x, "dtype", np.float64)
        return jvp(f, (x,), (t if dtype == np.float64 else np.asarray(t, dtype)[()],))[1]

    def reverse(x: Any) -> Any:
        return np.sum(grad(f)(x) * t)

    first, second = float(differences(f, (x,), (t,))), float(differences(forward, (x,), (t,)))
    tolerance = 1e-8 * max(1.0, abs(first), abs(second))
    assert abs(forward(x) - first) <= tolerance
    assert abs(reverse(x) - first) <= tolerance
    for derivative in (forward, reverse):
        assert abs(jvp(derivative, (x,), (t,))[1] - second) <= 100 * tolerance, derivative.__name__
        assert abs(np.sum(grad(derivative)(x) * t) - second) <= 100 * tolerance, derivative.__name__
