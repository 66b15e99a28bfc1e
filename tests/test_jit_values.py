"""What a program must not take from the values that it was made with; what it looks at when it runs; threads; errors on the way."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import grad, jit, jvp, vmap
from funcgrad.errors import ConcretizationError

A = np.array
X = A([0.3, 0.5, 0.9])

# ------------------------------------------------------------------------------------------------ nothing is baked in

OF_NUMBERS: dict[str, Any] = {
    "power": lambda x, n: x**n,
    "base": lambda x, n: n**x,
    "sum": lambda x, n: x * n + n,
    "comparison": lambda x, n: np.where(x > n, x, n),
    "quotient": lambda x, n: x / n + n,
    "in an array": lambda x, n: np.sum(x) + np.stack([n * 1.0, n + 1.0]),
    "alone": lambda x, n: (n * n, n + 1, -n),
    "clip": lambda x, n: np.clip(x, 0.0, n),
}


@pytest.mark.parametrize("f", list(OF_NUMBERS.values()), ids=list(OF_NUMBERS))
@pytest.mark.parametrize("kind", [float, int, bool, np.float64, np.float32, np.int64, np.array])
def test_numbers_are_arguments(f: Any, kind: Any):
    program = jit(f)
    for n in (2, 1, 3, 1):
        n = kind(n)
        if kind is bool and f is OF_NUMBERS["alone"]:
            continue  # NumPy and Python have another -True
        for x in (X, -2.0 * X if f is not OF_NUMBERS["base"] else X):
            with np.errstate(all="ignore"):
                got, wanted = program(x, n), f(x, n)
            for one, other in zip(*(value if type(value) is tuple else (value,) for value in (got, wanted)), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-15)
                assert np.result_type(one) == np.result_type(other)


def test_exponents_are_arguments_of_derivatives_too():
    f = jit(grad(lambda x, n: np.sum(x**n)))
    for n in (2, 3, 0, 1):
        np.testing.assert_allclose(f(X, n), n * X ** (n - 1.0), rtol=1e-14)
        np.testing.assert_allclose(f(X, float(n)), n * X ** (n - 1.0), rtol=1e-14)
    of_exponent = jit(grad(lambda n: np.sum(X**n)))
    for n in (2.0, 0.0, -1.0):
        np.testing.assert_allclose(of_exponent(n), np.sum(X**n * np.log(X)), rtol=1e-14)


def test_complex_numbers_are_arguments():
    f = jit(lambda z, x: (z * x, np.abs(z), z.real + x))
    for z in (1 + 2j, -3j, 0j):
        product, size, real = f(z, X)
        np.testing.assert_array_equal(product, z * X)
        np.testing.assert_allclose(size, abs(z), rtol=1e-15)
        np.testing.assert_array_equal(real, z.real + X)


def test_ties_and_branches_are_decided_when_the_program_runs():
    largest = jit(grad(np.max))
    np.testing.assert_array_equal(largest(A([1.0, 2.0, 3.0])), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(largest(A([3.0, 3.0, 1.0])), [0.5, 0.5, 0.0])
    sort = jit(lambda x, t: jvp(np.sort, (x,), (t,))[1])
    np.testing.assert_array_equal(sort(A([1.0, 2.0, 3.0]), A([1.0, 2.0, 3.0])), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(sort(A([3.0, 2.0, 1.0]), A([1.0, 2.0, 3.0])), [3.0, 2.0, 1.0])
    product = jit(grad(np.prod))
    np.testing.assert_array_equal(product(A([2.0, 3.0, 4.0])), [12.0, 8.0, 6.0])
    np.testing.assert_array_equal(product(A([2.0, 0.0, 4.0])), [0.0, 8.0, 0.0])
    np.testing.assert_array_equal(product(A([2.0, 0.0, 0.0])), [0.0, 0.0, 0.0])


# ------------------------------------------------------------------------------------------------ what a program looks at


def test_results_of_another_form_raise():
    for f, first, second in (
        (np.roots, A([1.0, -3.0, 2.0]), A([0.0, 1.0, 2.0])),
        (np.polymul, A([1.0, 2.0]), A([0.0, 2.0])),
        (np.bincount, A([0, 1, 2]), A([0, 1, 5])),
    ):
        program = jit(lambda x, f=f: f(x, x) if f is np.polymul else f(x))
        wanted = f(first, first) if f is np.polymul else f(first)
        np.testing.assert_allclose(program(first), wanted, rtol=1e-14)
        with pytest.raises(ConcretizationError, match=rf"{f.__name__} gives .* for these values.*use it outside of jit"):
            program(second)
        np.testing.assert_allclose(program(first), wanted, rtol=1e-14)


def test_an_index_that_is_not_known():
    x = np.arange(4.0)
    for change in ("set", "multiply", "power", "divide"):
        f = lambda x, i: getattr(fnp.at(x)[i], change)(A([2.0, 3.0]))  # noqa: B023
        program = jit(f)
        for places in (A([0, 1]), A([3, 1]), A([-1, 0])):
            np.testing.assert_array_equal(program(x, places), f(x, places))
        with pytest.raises(IndexError, match="more than once"):
            program(x, A([1, 1]))
        one = jit(lambda x, i: getattr(fnp.at(x)[i], change)(2.0))  # noqa: B023
        for i in (0, 3, -1):
            np.testing.assert_array_equal(one(x, i), getattr(fnp.at(x)[i], change)(2.0))
    for change in ("add", "subtract", "max", "min"):
        f = lambda x, i: getattr(fnp.at(x)[i], change)(A([2.0, 3.0]))  # noqa: B023
        for places in (A([0, 1]), A([1, 1])):
            np.testing.assert_array_equal(jit(f)(x, places), f(x, places))
    picked = jit(grad(lambda x, i: np.sum(x[i] ** 2)))
    np.testing.assert_array_equal(picked(x, A([1, 1, 2])), [0.0, 4.0, 4.0, 0.0])
    np.testing.assert_array_equal(picked(x, A([3, 0, 0])), [0.0, 0.0, 0.0, 6.0])


def test_interpolants_made_in_a_program():
    witness = pytest.importorskip("scipy.interpolate")
    interpolate = pytest.importorskip("funcgrad.scipy.interpolate")
    x, y, at = np.arange(5.0), A([1.0, 3.0, 2.0, 5.0, 4.0]), A([0.5, 2.25, 3.75])
    for name in ("CubicSpline", "PchipInterpolator", "interp1d"):
        program = jit(lambda x, y, at, name=name: getattr(interpolate, name)(x, y)(at))
        for k in (1.0, 2.0):
            np.testing.assert_allclose(program(k * x, y, k * at), getattr(witness, name)(k * x, y)(k * at), rtol=1e-14)
        with pytest.raises(ValueError):
            program(x, y, at + 9.0) if name == "interp1d" else program(x[::-1], y, at)
    grid = jit(lambda x, y, at: interpolate.RegularGridInterpolator((x,), y)(at[:, None]))
    np.testing.assert_allclose(grid(x, y, at), np.interp(at, x, y), rtol=1e-14)
    np.testing.assert_allclose(grid(x[::-1].copy(), y[::-1].copy(), at), np.interp(at, x, y), rtol=1e-14)
    with pytest.raises(ValueError, match="out of bounds"):
        grid(x, y, at + 9.0)
    pieces = jit(grad(lambda c, x, at: np.sum(interpolate.PPoly(c, x)(at))))
    c = np.ones((2, 4))
    np.testing.assert_allclose(pieces(c, x, at), [[0.5, 0.0, 0.25, 0.75], [1.0, 0.0, 1.0, 1.0]], rtol=1e-14)
    with pytest.raises(ValueError, match="increasing"):
        pieces(c, x[::-1].copy(), at)


# ------------------------------------------------------------------------------------------------ threads and errors


def test_eight_threads_call_one_program():
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.tanh(x) * np.log(x), 0.0)) + np.sum(np.linalg.solve(np.eye(50) * 2.0, x))

    program, found = jit(grad(f)), [None] * 8
    points = [np.linspace(-1.0 + n % 2, 1.0 + n, 50) for n in range(8)]  # some of them need strong zeros
    with np.errstate(all="ignore"):
        wanted = [grad(f)(x) for x in points]
    start = threading.Barrier(8)

    def run(n: int) -> None:
        start.wait()
        found[n] = [program(points[n]) for _ in range(50)]  # type: ignore[call-overload]

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results, right in zip(found, wanted, strict=True):
        assert results is not None
        for one in results:
            np.testing.assert_allclose(one, right, rtol=1e-14)


def raising(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    "f",
    [
        lambda x: raising(KeyError("mine")),
        lambda x: raising(KeyError("mine")) if np.sin(x).shape else x,
        lambda x: grad(lambda y: raising(KeyError("mine")))(x),
        lambda x: jvp(lambda y: y * raising(KeyError("mine")), (x,), (x,)),
        lambda x: vmap(lambda y: raising(KeyError("mine")))(x),
        lambda x: jit(lambda y: raising(KeyError("mine")))(x * 2.0),
        lambda x: x @ np.ones(7),
        lambda x: x if x[0] > 0 else -x,
        lambda x: vmap(lambda y: y if y > 0 else -y)(x),
        lambda x: grad(lambda y: float(y[0]))(x),
    ],
)
def test_errors_leave_nothing_behind(f: Any):
    for _ in range(2):
        with pytest.raises((KeyError, ValueError, ConcretizationError)):
            jit(f)(X)
        np.testing.assert_allclose(grad(lambda x: np.sum(x**2))(X), 2.0 * X, rtol=1e-15)
        np.testing.assert_allclose(jit(grad(lambda x: np.sum(x**2)))(X), 2.0 * X, rtol=1e-15)
        np.testing.assert_allclose(vmap(grad(np.sin))(X), np.cos(X), rtol=1e-15)
    X.flags.writeable = True  # nobody holds it
    X[0] += 0.0
