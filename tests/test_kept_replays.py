"""Pullbacks and linearized functions: they outlive their scope, and may be called anywhere, any number of times.

The witnesses are closed forms.
"""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import elementwise_grad, grad, hessian, jacfwd, jacrev, jvp, linearize, tape, value_and_grad, vjp
from funcgrad.tracer import Tracer

Function = Callable[[Any], Any]


def by_jvp(f: Function) -> Function:
    return lambda x: jvp(f, (x,), (1.0,))[1]


DERIVATIVES: dict[str, Callable[[Function], Function]] = {
    "grad": grad,
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "jvp": by_jvp,
    "linearize": lambda f: lambda x: linearize(f, x)[1](1.0),
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "elementwise_grad": elementwise_grad,
}


def by_pullback(f: Function, x: Any) -> tuple[Any, Function]:
    value, pullback = vjp(f, x)
    return value, lambda ct: pullback(ct)[0]


KEPT: dict[str, Callable[[Function, Any], tuple[Any, Function]]] = {"pullback": by_pullback, "linearized": linearize}
each_outer = pytest.mark.parametrize("outer", list(DERIVATIVES.values()), ids=list(DERIVATIVES))
each_kept = pytest.mark.parametrize("kept", list(KEPT.values()), ids=list(KEPT))


@each_kept
def test_it_is_called_any_number_of_times(kept: Any):
    value, replay = kept(lambda x: x**3, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(value, [1.0, 8.0])
    for scale in (1.0, -2.0, 0.0, 1e300, 1.0):
        np.testing.assert_array_equal(replay(np.full(2, scale)), np.array([3.0, 12.0]) * scale)


@each_kept
def test_results_are_fresh_each_time(kept: Any):
    _, replay = kept(lambda x: x + 1.0, np.array([1.0, 2.0]))
    direction = np.array([3.0, 4.0])
    first = replay(direction)
    first[:] = 0.0
    np.testing.assert_array_equal(direction, [3.0, 4.0])
    np.testing.assert_array_equal(replay(direction), [3.0, 4.0])


@each_kept
@each_outer
def test_inside_the_scope_that_it_depends_on(kept: Any, outer: Any):
    def f(x: Any) -> Any:
        _, replay = kept(lambda u: np.sin(u) * x, x)  # cos(x) x
        return replay(x) + replay(x * x)  # cos(x) (x**2 + x**3)

    assert outer(f)(2.0) == pytest.approx(-math.sin(2) * 12 + math.cos(2) * 16, rel=1e-14)


@each_kept
@each_outer
def test_inside_a_deeper_scope(kept: Any, outer: Any):
    wanted = 9 * 4 * math.cos(2) - 3 * 8 * math.sin(2)  # of 3 x**3 cos x
    for inner in DERIVATIVES.values():

        def f(x: Any, inner: Any = inner) -> Any:
            _, replay = kept(lambda u: np.sin(u) * x, x)
            return inner(lambda z: replay(z * z) * z)(x)  # x cos(x) z**3

        assert outer(f)(2.0) == pytest.approx(wanted, rel=1e-13)
        assert by_jvp(f)(2.0) == pytest.approx(wanted, rel=1e-13)


@each_kept
@each_outer
def test_a_traced_cotangent_for_a_constant_point(kept: Any, outer: Any):
    _, replay = kept(lambda u: u**3, 2.0)  # made before: 12
    assert outer(lambda x: replay(x * x))(3.0) == 72.0
    assert outer(lambda x: replay(replay(x * x)))(3.0) == 864.0
    assert outer(outer(lambda x: replay(x * x)))(3.0) == 24.0

    def f(x: Any) -> Any:
        _, made_inside = kept(lambda u: u**3, 2.0)
        return made_inside(x * x) * x

    assert outer(f)(3.0) == 12 * 27.0


@each_kept
@each_outer
def test_after_the_scope_that_it_depends_on(kept: Any, outer: Any):
    left = []

    def f(x: Any) -> Any:
        value, replay = kept(lambda u: u * u * x, x * 1.0)
        left.append(replay)
        return value

    assert outer(f)(3.0) == 27.0
    for replay in left:
        assert replay(1.0) == 18.0
        assert type(replay(1.0)) is not Tracer
        for later in DERIVATIVES.values():
            assert later(lambda c: replay(c * c))(2.0) == 72.0  # noqa: B023
            assert later(later(lambda c: replay(c * c)))(2.0) == 36.0  # noqa: B023


@each_kept
def test_after_an_inner_scope_inside_the_outer_one(kept: Any):
    for outer in DERIVATIVES.values():
        for inner in DERIVATIVES.values():

            def f(x: Any, inner: Any = inner) -> Any:
                left = []

                def body(y: Any) -> Any:
                    _, replay = kept(lambda u: u * u * y, x)  # 2 x y: y is the number 3 afterwards, x goes on being differentiated
                    left.append(replay)
                    return y

                slope = inner(body)(3.0)
                return slope * left[0](x)  # 6 x**2

            assert outer(f)(2.0) == 24.0


@each_kept
def test_after_an_inner_scope_that_was_cut_from_the_outer_one(kept: Any):
    nested = DERIVATIVES | {"grad of jvp": lambda f: grad(by_jvp(f)), "jvp of grad": lambda f: by_jvp(grad(f))}
    for outer in DERIVATIVES.values():
        for name, inner in nested.items():

            def f(x: Any, inner: Any = inner) -> Any:
                left = []

                def body(y: Any) -> Any:
                    left.append(kept(lambda u: u * u * y, 5.0)[1])  # 2 * 5 * 3, all of it constant to x
                    return y * y

                inner(body)(3.0)
                square = x * x  # records in the positions that the inner scope gave free
                cube = square * x
                return left[0](x) * square + 0.0 * cube

            assert outer(f)(2.0) == 90 * 4.0, name


@each_kept
def test_kept_while_its_neighbors_are_cut_and_recorded_anew(kept: Any):
    def f(x: Any) -> Any:
        _, free = kept(lambda u: u**3, 2.0)  # depends on nothing outside: its records leave the tape
        _, bound = kept(lambda u: u * u * x, x)  # 2 x**2
        total = 0.0
        for k in range(3):
            total = total + grad(lambda y: y * y)(float(k)) * x
            total = total + free(x) + bound(x)
        return total  # (0 + 2 + 4) x + 36 x + 6 x**3

    for outer in DERIVATIVES.values():
        assert outer(f)(2.0) == 6 + 36 + 72.0
        assert by_jvp(outer(f))(2.0) == 72.0


@each_kept
def test_differentiated_by_what_it_is_made_of(kept: Any):
    # the derivative of x -> (pullback at x)(ct) in both, by all
    for outer in DERIVATIVES.values():
        assert outer(lambda x: kept(lambda u: u**3, x)[1](5.0))(2.0) == 60.0
        assert outer(lambda c: kept(lambda u: u**3, 2.0)[1](c))(5.0) == 12.0
        assert outer(lambda x: kept(lambda u: u**3, x)[1](x))(2.0) == 36.0


def test_a_pullback_of_a_pullback():
    _, pullback = vjp(lambda x, y: x * x * y, 3.0, 5.0)
    value, twice = vjp(pullback, 2.0)
    assert value == (60.0, 18.0)
    assert twice((1.0, 10.0)) == (30.0 + 90.0,)
    value, tangent = jvp(pullback, (2.0,), (1.0,))
    assert value == (60.0, 18.0) and tangent == (30.0, 9.0)
    _, linear = linearize(pullback, 2.0)
    assert linear(3.0) == (90.0, 27.0)


def test_a_forward_scope_whose_inner_reverse_scopes_use_what_was_dropped():
    def f(x: Any) -> Any:
        held = [np.sin(x), np.cos(x), x * x]
        _, pullback = vjp(lambda u: u * held.pop(), held.pop(0))  # sin x and x**2: only the records hold them now
        gc.collect()
        first = pullback(held.pop())[0]  # cos x * x**2
        assert not held
        _, linear = linearize(lambda u: u * u, first)
        del first
        return linear(x)  # 2 cos(x) x**3

    for outer in DERIVATIVES.values():
        assert outer(f)(1.5) == pytest.approx(-2 * math.sin(1.5) * 1.5**3 + 6 * math.cos(1.5) * 1.5**2, rel=1e-14)


def test_trees_in_and_out():
    params = {"w": np.array([1.0, 2.0]), "b": 3.0}
    value, pullback = vjp(lambda p, x: (p["w"] * x + p["b"], {"square": x * x}), params, 2.0)
    assert float(value[1]["square"]) == 4.0
    for_params, for_x = pullback((np.array([1.0, 10.0]), {"square": 100.0}))
    np.testing.assert_array_equal(for_params["w"], [2.0, 20.0])
    assert for_params["b"] == 11.0
    assert for_x == 21.0 + 400.0
    _, linear = linearize(lambda p, x: (p["w"] * x + p["b"], {"square": x * x}), params, 2.0)
    first, second = linear({"w": np.array([1.0, 0.0]), "b": 0.5}, 1.0)
    np.testing.assert_array_equal(first, [2.0 + 0.5 + 1.0, 0.5 + 2.0])
    assert second == {"square": 4.0}


def test_an_output_that_does_not_depend_on_the_inputs():
    constant = np.array([7.0, 8.0])
    value, pullback = vjp(lambda x: (x * x, constant, 5), 3.0)
    np.testing.assert_array_equal(value[1], constant)
    assert value[2] == 5.0
    assert pullback((1.0, np.ones(2), 1.0)) == (6.0,)
    _, linear = linearize(lambda x: (x * x, constant, 5), 3.0)
    first, second, third = linear(1.0)
    assert (first, third) == (6.0, 0.0)
    np.testing.assert_array_equal(second, [0.0, 0.0])


def test_one_input_as_two_outputs():
    _, pullback = vjp(lambda x: (x, x, x * 2.0), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(pullback((np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.ones(2)))[0], [3.0, 3.0])


@each_kept
def test_it_frees_its_arrays_when_it_is_dropped(kept: Any):
    x = np.ones(1000)
    watch = weakref.ref(x)
    _, replay = kept(lambda x: np.sin(x) * x, x)
    del x
    assert watch() is not None
    replay(np.ones(1000))
    gc.disable()  # reference counts alone must do it
    try:
        del replay
        assert watch() is None
    finally:
        gc.enable()


@each_kept
def test_it_does_not_keep_the_outer_tape(kept: Any):
    left = []
    big = np.ones(1000)
    watch = weakref.ref(big)

    def f(x: Any, big: Any) -> Any:
        y = np.sum(x * big * big)
        left.append(kept(lambda u: u * u, 3.0)[1])
        return y

    grad(f, (0, 1))(2.0, big)
    del big
    assert watch() is None
    assert left[0](1.0) == 6.0


def test_values_of_a_kept_replay_may_be_changed():
    x = np.array([1.0, 2.0])
    value, pullback = vjp(np.exp, x)
    before = value.copy()
    value[:] = 0.0
    np.testing.assert_array_equal(pullback(np.ones(2))[0], before)
    value, linear = linearize(np.exp, x)
    value[:] = 0.0
    np.testing.assert_array_equal(linear(np.ones(2)), before)


def test_inside_other_transforms_with_arrays():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    _, pullback = vjp(lambda x: matrix @ x, np.ones(2))
    np.testing.assert_array_equal(jacfwd(lambda ct: pullback(ct)[0])(np.ones(3)), matrix.T)
    np.testing.assert_array_equal(jacrev(lambda ct: pullback(ct)[0])(np.ones(3)), matrix.T)
    np.testing.assert_array_equal(hessian(lambda ct: np.sum(pullback(ct * ct)[0]))(np.ones(3)), np.diag(2 * matrix.sum(1)))
    value, gradient = value_and_grad(lambda ct: np.sum(pullback(ct)[0] ** 2))(np.array([1.0, 0.0, 0.0]))
    assert float(value) == 5.0
    np.testing.assert_array_equal(gradient, 2 * matrix @ matrix[0])


def test_a_replay_leaves_no_scope_when_its_argument_is_refused():
    _, pullback = vjp(lambda x: x * x, np.ones(3))
    for bad in (np.ones(2), None, "ct", [np.ones(3)]):
        with pytest.raises((ValueError, TypeError)):
            pullback(bad)
        assert tape.thread.scope is None
    np.testing.assert_array_equal(pullback(np.ones(3))[0], [2.0, 2.0, 2.0])
