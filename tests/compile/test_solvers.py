"""Roots and fixed points in programs: iterations that end by values, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import custom_root, fixed_point, fori_loop, grad, jit, jvp, scan, value_and_grad, while_loop
from funcgrad.errors import ConvergenceError, InputValueError

W = np.linspace(-1.0, 1.0, 9).reshape(3, 3) / 2.0


def assert_compiles(f: Callable[..., Any], *points: tuple[Any, ...]) -> None:
    program = jit(f)
    for given in (*points, *points):
        got, wanted = program(*given), f(*given)
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-9, atol=1e-11)


def kepler(e: Any, m: Any) -> Any:
    return fixed_point(lambda x, e, m: m + e * np.sin(x), 0.0, e, m)


def equilibrium(w: Any, b: Any) -> Any:
    return np.sum(fixed_point(lambda x: np.tanh(w @ x + b) * 0.5, np.zeros(3)) ** 2)


def in_a_loop(w: Any, b: Any) -> Any:
    return scan(lambda c, i: (c + equilibrium(w * (1.0 + 0.1 * i), b + 0.1 * c), None), 0.5, np.arange(3.0))[0]


def newton(f: Any, x: Any) -> Any:
    return fori_loop(0, 30, lambda i, x: x - f(x) / grad(f)(x), x)


def root(a: Any, b: Any) -> Any:
    return custom_root(lambda x: x * x * b - a, 1.0, newton, lambda g, y: y / g(1.0))


POINTS: dict[Any, list[Any]] = {
    kepler: [(0.5, 1.0), (0.1, 2.0), (0.0, 0.3)],
    equilibrium: [(W, 1.0), (W.T * 1.3, 0.2)],
    in_a_loop: [(W, 1.0), (W.T * 1.3, 0.2)],
    root: [(4.0, 1.0), (3.0, 0.5)],
}


@pytest.mark.parametrize("f", POINTS, ids=lambda f: f.__name__)
def test_roots(f: Any):
    points = POINTS[f]
    assert_compiles(f, *points)
    assert_compiles(grad(f), *points)
    assert_compiles(lambda x, y: value_and_grad(f, 1)(x, y)[1], *points)
    assert_compiles(lambda x, y: jvp(f, (x, y), (np.cos(x), 1.0))[1], *points)
    if f is not in_a_loop:
        assert_compiles(grad(lambda x, y: np.sum(grad(f)(x, y) ** 2)), *points)


def test_what_does_not_converge_is_told_when_it_runs():
    program = jit(lambda a: fixed_point(lambda x: a * x, 1.0))
    assert program(0.5) < 1e-10
    with pytest.raises(ConvergenceError, match="fixed_point"):
        program(3.0)
    wrong = jit(grad(lambda a: custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y)))
    with pytest.raises(InputValueError, match="does not solve"):
        wrong(4.0)


def test_a_solver_that_ends_by_itself():
    def bisect(f: Any, x: Any) -> Any:
        def step(c: Any) -> Any:
            low, high = c
            middle = 0.5 * (low + high)
            is_low = f(middle) < 0.0
            return np.where(is_low, middle, low), np.where(is_low, high, middle)

        return while_loop(lambda c: c[1] - c[0] > 1e-13, step, (np.float64(0.0), np.float64(10.0)))[0]

    f = lambda a: custom_root(lambda x: x * x - a, 1.0, bisect, lambda g, y: y / g(1.0))
    assert_compiles(f, (4.0,), (2.0,))
    assert_compiles(grad(f), (4.0,), (2.0,))
