"""Derivatives of derivatives: each transform inside each other keeps its perturbation to itself.

The witnesses are closed forms. `test_scopes.py` has what happens to a tracer, a record or a scope that is left behind.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
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
    tape,
    tree,
    value_and_grad,
    vjp,
)
from funcgrad.debug import count_records
from funcgrad.tracer import Tracer

Function = Callable[[Any], Any]


def by_value_and_grad(f: Function) -> Function:
    return lambda x: value_and_grad(f)(x)[1]


def by_jvp(f: Function) -> Function:
    return lambda x: jvp(f, (x,), (1.0,))[1]


def by_vjp(f: Function) -> Function:
    return lambda x: vjp(f, x)[1](1.0)[0]


def by_linearize(f: Function) -> Function:
    return lambda x: linearize(f, x)[1](1.0)


def by_hvp(f: Function) -> Function:
    """f' as the second derivative of a function of v alone: v * f'(x) is linear in v, its slope in v at any v is f'(x)."""
    return lambda x: hvp(lambda p: p[0] * f(p[1]))((0.0, x), (0.0, 1.0))[0]


DERIVATIVES: dict[str, Callable[[Function], Function]] = {
    "grad": grad,
    "value_and_grad": by_value_and_grad,
    "vjp": by_vjp,
    "jacrev": jacrev,
    "elementwise_grad": elementwise_grad,
    "jvp": by_jvp,
    "linearize": by_linearize,
    "jacfwd": jacfwd,
    "hvp": by_hvp,
}
CORE = {name: DERIVATIVES[name] for name in ("grad", "vjp", "jvp", "linearize")}


def each(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("outer", list(table.values()), ids=list(table))


# ------------------------------------------------------------------------------------------------ orders


@each(DERIVATIVES)
def test_third_derivatives_in_all_mixes(outer: Any):
    x = 0.7
    wanted = -(x**2) * math.cos(x) - 6 * x * math.sin(x) + 6 * math.cos(x)
    for middle, inner in itertools.product(DERIVATIVES, repeat=2):
        third = outer(DERIVATIVES[middle](DERIVATIVES[inner](lambda x: np.sin(x) * x * x)))
        assert third(x) == pytest.approx(wanted, rel=1e-14), f"of {middle} of {inner}"


@each(CORE)
def test_fourth_derivatives_in_all_mixes(outer: Any):
    for names in itertools.product(CORE, repeat=3):
        f: Function = lambda x: np.exp(2 * x) / (1 + x * 0)
        for name in names:
            f = CORE[name](f)
        assert outer(f)(0.3) == pytest.approx(16 * math.exp(0.6), rel=1e-13), names


def test_tenth_derivative_by_recursion():
    def derivative(f: Function, order: int) -> Function:
        return f if order == 0 else derivative(by_jvp(f) if order % 2 else grad(f), order - 1)

    assert derivative(lambda x: np.exp(x) * x, 8)(0.5) == pytest.approx(math.exp(0.5) * 8.5, rel=1e-12)


X = np.array([0.3, -1.2, 2.0])


def two_sums(x: Any) -> Any:
    return np.sum(x * x) * np.sum(np.sin(x))


def test_hessians_of_arrays_in_all_mixes():
    a, b, slope = np.sum(X * X), np.sum(np.sin(X)), np.outer(2 * X, np.cos(X))
    wanted = 2 * b * np.eye(3) + slope + slope.T - a * np.diag(np.sin(X))
    jacobians = {"jacfwd": jacfwd, "jacrev": jacrev}
    for (outer, one), (inner, other) in itertools.product(jacobians.items(), (jacobians | {"grad": grad}).items()):
        np.testing.assert_allclose(one(other(two_sums))(X), wanted, rtol=1e-14, atol=1e-14, err_msg=f"{outer} of {inner}")
    np.testing.assert_allclose(hessian(two_sums)(X), wanted, rtol=1e-14, atol=1e-14)
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(hvp(two_sums)(X, v), wanted @ v, rtol=1e-14)


def along(f: Function, v: Any) -> list[Function]:
    """The derivative of f along v by each mode, as functions that can be differentiated again."""
    return [
        lambda x: jvp(f, (x,), (v,))[1],
        lambda x: linearize(f, x)[1](v),
        lambda x: np.sum(grad(f)(x) * v),
        lambda x: np.sum(vjp(f, x)[1](np.float64(1.0))[0] * v),
    ]


def test_third_order_of_arrays_in_all_mixes():
    u, v, w = np.array([1.0, 0.5, -2.0]), np.array([-1.0, 2.0, 0.25]), np.array([0.5, 0.5, 1.0])
    e, total = np.exp(X), np.sum(X)
    pairs = ((u * v, w), (u * w, v), (v * w, u))
    wanted = np.sum(e * u * v * w) * total + sum(np.sum(e * pair) * np.sum(one) for pair, one in pairs)
    for first in along(lambda x: np.sum(np.exp(x)) * np.sum(x), u):
        for second in along(first, v):
            for third in along(second, w):
                assert float(third(X)) == pytest.approx(float(wanted), rel=1e-13)


def test_a_hessian_inside_a_gradient():
    # det of [[6 x0, 1], [1, 2 x0]] = 12 x0**2 - 1
    def determinant(x: Any) -> Any:
        h = hessian(lambda y: y[0] ** 3 + y[0] * y[1] + y[1] ** 2 * x[0])(x)
        return h[0, 0] * h[1, 1] - h[0, 1] * h[1, 0]

    for derivative in (grad(determinant), jacfwd(determinant), jacrev(determinant)):
        np.testing.assert_allclose(derivative(np.array([2.0, 5.0])), [48.0, 0.0], rtol=1e-14)


# ------------------------------------------------------------------------------------------------ perturbation confusion


@each(DERIVATIVES)
def test_an_inner_derivative_does_not_see_the_outer_perturbation(outer: Any):
    for name, inner in DERIVATIVES.items():
        assert outer(lambda x: x * inner(lambda y: x + y)(3.0))(2.0) == 1.0, name  # noqa: B023
        assert outer(lambda x: x * inner(lambda y: x * y)(3.0))(2.0) == 4.0, name  # noqa: B023
        assert outer(lambda x: x * inner(lambda y: x * y)(x))(2.0) == 4.0, name  # noqa: B023
        assert outer(lambda x: inner(lambda y: x)(x))(2.0) == 0.0, name  # noqa: B023
        assert outer(lambda x: inner(lambda y: y * y * x)(x))(2.0) == 8.0, name  # noqa: B023


@each(DERIVATIVES)
def test_three_levels_that_all_see_one_another(outer: Any):
    # d/dz x y z**2 = 2 x y z at z = y; times y: 2 x y**3; d/dy: 6 x y**2 at y = x; times x: 6 x**4; d/dx: 24 x**3
    for middle, inner in itertools.product(DERIVATIVES.values(), repeat=2):

        def f(x: Any, middle: Any = middle, inner: Any = inner) -> Any:
            return x * middle(lambda y: y * inner(lambda z: x * y * z * z)(y))(x)

        assert outer(f)(2.0) == pytest.approx(192.0, rel=1e-15)


@each(DERIVATIVES)
def test_an_object_that_differentiates_itself_when_called(outer: Any):
    class Selfish:
        """x -> x**3 * (1 + the derivative of the same with scale 0)."""

        def __init__(self, scale: float) -> None:
            self.scale = scale

        def __call__(self, x: Any) -> Any:
            if self.scale == 0.0:
                return x * x * x
            return x * x * x * (1.0 + self.scale * outer(Selfish(0.0))(x))

    # x**3 + 3 x**5, its derivatives 3 x**2 + 15 x**4 and 6 x + 60 x**3
    assert outer(Selfish(1.0))(2.0) == 252.0
    for inner in DERIVATIVES.values():
        assert outer(inner(Selfish(1.0)))(2.0) == pytest.approx(492.0, rel=1e-15)


@each(DERIVATIVES)
def test_one_value_as_two_arguments(outer: Any):
    def f(x: Any) -> Any:
        one, other = grad(lambda y, z: y * y * z, (0, 1))(x, x)  # 2 x**2, x**2
        return one * 10.0 + other

    assert outer(f)(3.0) == 2 * 21.0 * 3.0


@each(DERIVATIVES)
def test_value_and_aux_of_an_inner_transform_go_on_depending_on_the_outer_input(outer: Any):
    def f(x: Any) -> Any:
        (value, aux), gradient = value_and_grad(lambda y: (y * y, {"a": y * x}), has_aux=True)(x)  # x**2, x**2, 2x
        return value * aux["a"] * gradient  # 2 x**5

    assert outer(f)(2.0) == 160.0

    def g(x: Any) -> Any:
        value, _, aux = vjp(lambda y: (y * x, y * y), x, has_aux=True)
        pushed, tangent, other = jvp(lambda y: (y * x, y * y), (x,), (x,), has_aux=True)  # x**2, x**2, x**2
        return value * aux + pushed * tangent * other  # x**4 + x**6

    assert outer(g)(2.0) == 4 * 8.0 + 6 * 32.0


@each(DERIVATIVES)
def test_stop_gradient_stops_every_order(outer: Any):
    assert outer(lambda x: x * stop_gradient(x * x))(3.0) == 9.0
    for inner in DERIVATIVES.values():
        assert outer(inner(lambda x: x * x * stop_gradient(x * x)))(3.0) == 18.0
        assert outer(lambda x: x * stop_gradient(inner(lambda y: x * y * y)(x)))(3.0) == 18.0  # noqa: B023


# ------------------------------------------------------------------------------------------------ programs with inner transforms


@each(DERIVATIVES)
def test_newtons_method_unrolled(outer: Any):
    for inner in DERIVATIVES.values():

        def root(a: Any, inner: Any = inner) -> Any:
            y = 1.0
            for _ in range(20):
                step = (y * y - a) / inner(lambda y: y * y - a)(y)
                y = y - step
                if abs(step) < 1e-13:
                    break
            return y

        assert root(2.0) == pytest.approx(math.sqrt(2.0), rel=1e-14)
        assert outer(root)(2.0) == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-12)


def test_second_derivative_of_an_unrolled_newton():
    def root(a: Any) -> Any:
        y = 1.0
        for _ in range(8):
            y = y - (y * y - a) / grad(lambda y: y * y - a)(y)
        return y

    for one, other in itertools.product(CORE.values(), repeat=2):
        assert one(other(root))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-11)


def test_gradient_descent_inside_a_gradient():
    # w <- w - r (w - 1) from 0, ten times: 1 - (1 - r)**10; its derivative in r is 10 (1 - r)**9
    def trained(rate: Any) -> Any:
        w = np.zeros(2)
        for _ in range(10):
            w = w - rate * grad(lambda w: 0.5 * np.sum((w - 1.0) ** 2))(w)
        return np.sum(w)

    for derivative in DERIVATIVES.values():
        assert float(derivative(trained)(0.1)) == pytest.approx(20 * 0.9**9, rel=1e-13)


@each(DERIVATIVES)
def test_closures_and_generators_over_outer_tracers(outer: Any):
    def f(x: Any) -> Any:
        scaled = (x * k for k in (1.0, 2.0, 3.0))  # made while inner scopes are open, from an outer tracer

        def quadratic(y: Any) -> Any:
            return next(scaled) * y * y

        return grad(quadratic)(x) + by_jvp(quadratic)(x) + next(scaled)  # 2 x**2 + 4 x**2 + 3 x

    assert outer(f)(2.0) == 27.0


@each(DERIVATIVES)
def test_outer_values_that_die_inside_an_inner_scope(outer: Any):
    for inner in DERIVATIVES.values():

        def f(x: Any, inner: Any = inner) -> Any:
            values = [x * x, x * 3.0]
            point = values.pop()

            def body(y: Any) -> Any:
                if not values:
                    values.append(x * x)  # for transforms that call more than once
                square = values.pop()
                product = square * y
                del square
                return product * y + product

            found = inner(body)(point)  # d/dy x**2 (y**2 + y) at y = 3x: 6 x**3 + x**2
            del point
            return found

        assert outer(f)(2.0) == 76.0


def test_inner_solves_on_constants_leave_nothing():
    def cube(y: Any) -> Any:
        return y * y * y

    inner: dict[str, Callable[[], Any]] = {
        "grad": lambda: grad(cube)(3.0),
        "value_and_grad": lambda: value_and_grad(cube)(3.0),
        "vjp": lambda: (vjp(cube, 3.0)[0], vjp(cube, 3.0)[1](1.0)),
        "jvp": lambda: jvp(cube, (3.0,), (1.0,)),
        "linearize": lambda: (linearize(cube, 3.0)[0], linearize(cube, 3.0)[1](1.0)),
        "jacfwd": lambda: jacfwd(cube)(3.0),
        "jacrev": lambda: jacrev(cube)(3.0),
        "hessian": lambda: hessian(cube)(3.0),
        "hvp": lambda: hvp(cube)(3.0, 1.0),
        "elementwise_grad": lambda: elementwise_grad(cube)(3.0),
        "grad of grad": lambda: grad(grad(cube))(3.0),
        "grad of jvp": lambda: grad(by_jvp(cube))(3.0),
        "jvp of grad": lambda: jvp(grad(cube), (3.0,), (1.0,)),
        "jvp of jvp": lambda: jvp(by_jvp(cube), (3.0,), (1.0,)),
        "make_tape": lambda: make_tape(cube)(3.0).value,
        "count_records": lambda: count_records(cube, 3.0),
    }

    def f(x: Any) -> Any:
        y = x * x
        scope: Any = tape.thread.scope
        for name, call in inner.items():
            before = len(scope.records)
            found = [call() for _ in range(3)][-1]
            assert len(scope.records) == before, f"{name} left records"
            assert not any(type(leaf) is Tracer for leaf in tree.leaves(found)), f"{name} gave a tracer"
        return y * x

    for derivative in DERIVATIVES.values():
        assert derivative(f)(2.0) == 12.0
    assert grad(by_jvp(f))(2.0) == jvp(grad(f), (2.0,), (1.0,))[1] == 12.0


def test_inner_solves_that_depend_on_outer_values_stay():
    def f(x: Any) -> Any:
        free = grad(lambda y: y * y)(5.0)  # its positions are given free and used again
        kept = grad(lambda y: y * y * x)(x)
        return free * kept + grad(lambda y: y)(1.0) * x  # 10 * 2 x**2 + x

    for derivative in DERIVATIVES.values():
        assert derivative(f)(3.0) == 121.0
        assert by_jvp(derivative(f))(3.0) == 40.0


PERMUTATIONS: dict[str, Function] = {"v": lambda v: v, "+v": lambda v: +v, "v[::-1]": lambda v: v[::-1], "v + 1": lambda v: v + 1.0}


@pytest.mark.parametrize(("name", "f"), list(PERMUTATIONS.items()), ids=list(PERMUTATIONS))
def test_traced_directions_at_constant_points(name: str, f: Function):
    point, x, weights = np.array([2.0, 3.0]), np.array([5.0, 7.0]), np.array([1.0, 10.0])
    permutation = np.eye(2)[::-1] if name == "v[::-1]" else np.eye(2)
    inner: dict[str, tuple[Function, Any]] = {
        "jvp": (lambda x: jvp(f, (point,), (x,))[1], permutation),
        "jvp in jvp": (lambda x: jvp(lambda v: jvp(f, (point,), (v,))[1], (point,), (x,))[1], permutation),
        "jvp with aux": (lambda x: jvp(lambda v: (f(v), v), (point,), (x,), has_aux=True)[1], permutation),
        "two outputs": (lambda x: jvp(lambda v: (f(v), 2.0), (point,), (x,))[1][0], permutation),
        "linearize": (lambda x: linearize(f, point)[1](x), permutation),
        "vjp": (lambda x: vjp(f, point)[1](x)[0], permutation),
        "vjp of jvp": (lambda x: vjp(lambda t: jvp(f, (point,), (t,))[1], point)[1](x)[0], permutation),
        "hvp": (lambda x: hvp(lambda v: 0.5 * np.sum(f(v) ** 2))(point, x), np.eye(2)),
    }
    for case, (direction, jacobian) in inner.items():

        def weighed(x: Any, direction: Function = direction) -> Any:
            return np.sum(direction(x) * weights)

        for found in (jacrev(direction)(x), jacfwd(direction)(x)):
            np.testing.assert_array_equal(found, jacobian, err_msg=case)
        for found in (grad(weighed)(x), vjp(weighed, x)[1](np.float64(1.0))[0], jacfwd(weighed)(x), vjp(direction, x)[1](weights)[0]):
            np.testing.assert_array_equal(found, jacobian.T @ weights, err_msg=case)
        np.testing.assert_array_equal(jvp(direction, (x,), (weights,))[1], jacobian @ weights, err_msg=case)


def test_trees_and_keywords_through_nested_transforms():
    def loss(params: Any, *, scale: Any) -> Any:
        return scale * np.sum(params["w"] ** 2) * params["b"]

    def f(scale: Any) -> Any:
        gradient = grad(loss)({"w": np.array([1.0, 2.0]), "b": scale}, scale=scale)
        return np.sum(gradient["w"]) + gradient["b"]  # scale * 2 (1 + 2) * scale + scale * 5

    for derivative in DERIVATIVES.values():
        assert float(derivative(f)(2.0)) == pytest.approx(12 * 2.0 + 5, rel=1e-15)
