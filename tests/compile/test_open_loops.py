"""Loops in programs whose number of steps depends on values: on arguments, and on the example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import fori_loop, grad, jacfwd, jit, jvp, scan, tree, value_and_grad, vmap, while_loop
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError

XS = np.array([20.0, 3.0, 0.5])


def assert_compiles(f: Callable[..., Any], *cases: tuple[Any, ...]) -> None:
    """One program, recorded for the first arguments, gives what the function gives for all of them."""
    program: Any = jit(f)
    for args in (*cases, *cases):
        got, wanted = program(*args), f(*args)
        assert tree.structure(got) == tree.structure(wanted)
        for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
            assert np.shape(one) == np.shape(other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=0.0)


def halved(x: Any, limit: Any) -> Any:
    return while_loop(lambda y: y > limit, lambda y: y / 2.0, x)


def with_factor(x: Any, limit: Any) -> Any:
    return while_loop(lambda c: c[0] > limit, lambda c: (c[0] / 2.0, c[1] * x + limit), (x, 1.0))[1]


def counted(x: Any, limit: Any) -> Any:
    return while_loop(lambda c: c[1] < 4, lambda c: (c[0] * x + limit, c[1] + 1), (1.0, 0))[0]


each_function = pytest.mark.parametrize("f", [halved, with_factor, counted], ids=lambda f: f.__name__)
LIMITS = np.array([1.0, 2.5, 0.1])


@each_function
def test_another_number_of_steps_for_each_example(f: Any):
    for axes in ((0, 0), (0, None), (None, 0)):
        of = lambda given, axes=axes: tuple(one if axis == 0 else one[0] for one, axis in zip(given, axes, strict=True))
        cases = [of(given) for given in ((XS, LIMITS), (XS[::-1].copy(), LIMITS * 0.3), (XS * 0.01, LIMITS))]
        assert_compiles(vmap(f, axes), *cases)
        assert_compiles(vmap(value_and_grad(f, (0, 1)), axes), *cases)
        assert_compiles(grad(lambda x, limit, axes=axes: np.sum(vmap(f, axes)(x, limit) ** 2), (0, 1)), *cases)
        assert_compiles(vmap(jacfwd(f, (0, 1)), axes), *cases)
        assert_compiles(vmap(jacfwd(jacfwd(f)), axes), *cases)


@each_function
def test_several_mappings(f: Any):
    for g in (f, lambda x, limit: f(limit, x)):
        for h in (g, grad(g), grad(g, 1), lambda x, limit, g=g: jvp(g, (x, limit), (limit, x))):
            assert_compiles(
                lambda x, limit, h=h: vmap(lambda x: vmap(lambda limit: h(x, limit))(limit))(x), (XS, LIMITS), (XS * 0.1, LIMITS)
            )
    both = lambda x, limit: vmap(lambda x: vmap(lambda limit: f(x, limit))(limit))(x)
    assert_compiles(grad(lambda x, limit: np.sum(np.sin(both(x, limit))), (0, 1)), (XS, LIMITS), (XS * 0.1, LIMITS))


def test_scans_of_several_mappings():
    f = lambda a, b: scan(lambda c, x: (c * b + a * x, c + a), b, XS)
    both = lambda x: vmap(lambda a: vmap(lambda b: f(a, b))(x))(x)
    assert_compiles(both, (XS / 20.0,), (LIMITS,))
    assert_compiles(grad(lambda x: np.sum(both(x)[0] ** 2) + np.sum(both(x)[1])), (XS / 20.0,), (LIMITS,))


def test_matrices():
    rng = np.random.default_rng(0)
    f = lambda m: while_loop(lambda m: np.sum(m * m) < 50.0, lambda m: m @ m.T * 1.5 + 0.1, m)
    cases = [(rng.normal(size=(4, 3, 3)) * scale,) for scale in (2.0, 1.0, 10.0)]
    for g in (vmap(f), vmap(jacfwd(f)), vmap(grad(lambda m: np.sum(np.sin(f(m)))))):
        assert_compiles(g, *cases)


def test_integers():
    longer = lambda n: while_loop(lambda c: c[0] != 1, lambda c: (np.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1), (n, 0))[1]
    program = jit(vmap(longer))
    np.testing.assert_array_equal(program(np.array([1, 6, 7, 27])), [0, 8, 16, 111])  # the Collatz sequences' known lengths
    np.testing.assert_array_equal(program(np.array([97, 2, 3, 1])), [118, 1, 7, 0])


def test_no_examples():
    assert jit(vmap(lambda x: halved(x, 1.0)))(np.zeros(0)).shape == (0,)


def power(n: Any, x: Any) -> Any:
    return fori_loop(0, n, lambda i, y: y * x + i, 1.0)


def test_bounds_that_are_arguments():
    numbers = [(5, 2.0), (0, 2.0), (-3, 1.5), (11, 0.5)]
    for f in (power, grad(power, 1), lambda n, x: jvp(lambda x: power(n, x), (x,), (1.0,))):
        assert_compiles(f, *numbers)
    of_rows = lambda first, last, x: fori_loop(first, last, lambda i, y: np.sin(y * x[i]), 1.0)
    for kind in (int, np.int32, np.array):
        bounds = [(kind(a), kind(b), XS) for a, b in ((0, 3), (1, 3), (2, 1))]
        assert_compiles(of_rows, *bounds)
        assert_compiles(grad(of_rows, 2), *bounds)
    rows = lambda n, x: fori_loop(0, n, lambda i, y: fori_loop(0, i, lambda j, z: z * x + j, y), 1.0)
    assert_compiles(rows, (4, 2.0), (1, 2.0), (6, 0.5))
    assert_compiles(grad(rows, 1), (4, 2.0), (1, 2.0), (6, 0.5))


def test_bounds_that_differ_between_examples():
    n = np.array([1, 2, 5])
    from_there = lambda n, x: fori_loop(n, 4, lambda i, y: y * x + i, x)
    for f in (power, from_there):
        for g in (f, grad(f, 1)):
            assert_compiles(vmap(g), (n, XS), (n[::-1].copy(), XS), (n * 0, XS))


def test_the_number_of_a_step_is_a_number_of_pythons():
    f = lambda lower, upper, x: fori_loop(lower, upper, lambda i, v: v * 1.5 + i, x)
    for kind in (int, np.int64, np.int8, np.array):
        for x in (np.ones(2, np.float32), 1.0):
            assert_compiles(f, (kind(0), kind(3), x), (kind(1), kind(5), x))
    bounds = np.array([1, 2, 3])
    for x in (np.ones(2, np.float32), 1.0):
        assert_compiles(vmap(f, (None, 0, None)), (0, bounds, x), (0, bounds[::-1].copy(), x))
    both = lambda n: vmap(lambda n: vmap(lambda m: f(m, n, 1.0))(np.array([0, 2])))(n)
    assert_compiles(both, (bounds,), (bounds * 0,))


def test_misuse():
    with pytest.raises(InputTypeError, match="upper must be an integer, got a value of dtype float64"):
        jit(power)(2.0, 2.0)
    with pytest.raises(ConcretizationError, match="upper must be one integer"):
        jit(power)(np.array([2, 3]), 2.0)
    with pytest.raises(ConcretizationError, match="length must be one integer"):
        jit(lambda n: scan(lambda c, _: (c, None), 1.0, None, length=n))(3)
    with pytest.raises(InputValueError, match=r"fori_loop of .*must keep its shape"):
        jit(lambda n: fori_loop(0, n, lambda i, y: np.ones(3) * y, 1.0))(3)
    with pytest.raises(ConcretizationError, match="fori_loop"):
        jit(vmap(grad(grad(lambda x: while_loop(lambda y: y < 100.0, lambda y: y * y, x)))))(XS + 2.0)
