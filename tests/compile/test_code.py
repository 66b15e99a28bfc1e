"""Generated code: what its statements look like, and that they give what the calls give."""

import numpy as np
import pytest

from funcgrad import grad, jit
from funcgrad.transforms.compile.code import Code, are_clean
from tests.compile.programs import program_of, run
from tests.compile.test_algebra import assert_same_bits

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


def assert_written(statements, f, *leaves):
    program = program_of(f, *leaves)
    text = Code(program).text
    for one in statements:
        assert one in text, text
    wanted = f(*leaves)
    for got, right in zip(run(program, leaves), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert_same_bits(got, right)


def test_results_go_into_buffers():
    assert_written(["sin(x0, t0)", "exp(t0, t0)", "v1 = cos(t0)"], lambda x: np.cos(np.exp(np.sin(x))), X)
    assert_written(["maximum(t0, n0_0, out=t0)"], lambda x: np.exp(np.maximum(np.sin(x), 0.0)), X)
    assert_written(["add_reduce(x0, 1, None, t0, True)"], lambda x: x / np.add.reduce(x, axis=1, keepdims=True), X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_numbers_that_meet_arrays_are_arrays_of_their_dtype(dtype):
    assert_written(["multiply(n0_1, x0, t0)", "subtract(t0, nm3, t0)"], lambda x: np.exp(0.1 * x - -3), X.astype(dtype))


def test_numbers_that_an_array_cannot_hold_stay_numbers():
    with np.errstate(over="ignore"):
        assert_written(["multiply(x0, 1e+300)"], lambda x: x * 1e300, X.astype(np.float32))


def test_numbers_of_the_program_are_made_arrays_once():
    text = "b1 = array(x1)"
    f = lambda x, s: np.exp(x * s) + s
    assert_written([text, "multiply(x0, b1, t0)"], f, X, 1.7)
    assert Code(program_of(f, X, 1.7)).text.count("array(") == 1
    assert_written(["multiply(x0, x1, t0)"], f, X.astype(np.float32), 1.7)
    assert_written(["multiply(x0, x1, t0)"], f, X, 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_products_of_matrices_are_methods(dtype):
    x = X.astype(dtype)
    assert_written(["v1 = x0.dot(x1)"], lambda x, y: x @ y, x, x.T.copy())
    assert_written(["x0.dot(x1, t0)"], lambda x, y: np.exp(np.matmul(x, y)), x, x.T.copy())
    assert_written(["matmul(x0, x1)"], lambda x, y: x @ y, x, x[0])
    assert_written(["matmul(x0, x1)"], lambda x, y: x @ y, x[None], x.T.copy())


def test_products_of_other_matrices():
    assert_written(["matmul(x0, x1)"], lambda x, y: x @ y, X.astype(int), X.T.astype(int))
    assert_written(["matmul(x0, x1)"], lambda x, y: x @ y, X, X.T.astype(np.float32))
    assert_written(["x0.dot(x1)"], lambda x, y: np.dot(x, y), np.ones((0, 3)), np.ones((3, 2)))


def test_views_of_buffers_are_made_once():
    program = program_of(lambda x: np.exp(np.sin(x)[:, 1:3].T), X)
    head, _, body = Code(program).text.partition("    def program")
    assert "v1 = t0[:, 1:3]" in head and "v2 = v1.T" in head and "sin(x0, t0)" in body
    for _ in range(2):
        np.testing.assert_array_equal(run(program, [X])[0], np.exp(np.sin(X)[:, 1:3].T))


def test_views_of_inputs_are_made_at_every_call():
    f = jit(lambda x: (x[1:, ::-1].T * 2.0, x[..., None, 0] + 1.0, np.reshape(x, (4, 3)) * 2.0, np.transpose(x[None], (2, 0, 1)) - 1.0))
    for x in (X, X * 2.0, np.asfortranarray(X)):
        for got, wanted in zip(f(x), (x[1:, ::-1].T * 2.0, x[..., None, 0] + 1.0, x.reshape(4, 3) * 2.0, x[None].transpose(2, 0, 1) - 1.0)):
            np.testing.assert_array_equal(got, wanted)


def test_reshapes_of_views_that_copy_see_new_numbers():
    f = jit(lambda x: np.exp(np.reshape(np.sin(x).T, (12,))))
    for x in (X, X + 1.0):
        np.testing.assert_array_equal(f(x), np.exp(np.sin(x).T.reshape(12)))


def test_indices_of_arrays():
    assert_written(["x0[c]"], lambda x: x[np.array([2, 0])] * 2.0, X)
    assert_written(["x0[c, 1:]"], lambda x: x[np.array([2, 0]), 1:] * 2.0, X)
    assert_written(["x0[x1,]"], lambda x, n: x[n,] * 2.0, X, np.array([1, 1]))


def test_numpy_scalars_are_python_arithmetic():
    assert_written(["v1 - v2"], lambda x: np.add.reduce(x, axis=None) - np.maximum.reduce(x, axis=None), X)
    assert_written(["v1 / v2"], lambda x: np.add.reduce(x, axis=None) / np.maximum.reduce(x, axis=None), X.astype(np.float32))


def test_watched_derivatives():
    def check(x):
        found = jit(f)(x)
        (line,) = [line for line in jit(f).source(x).splitlines() if line.strip().startswith(("s = ", "if not "))]
        np.testing.assert_array_equal(found.ravel(), [0.0, 0.25])
        return line

    f = grad(lambda x: np.sum(np.where(x > 0.0, np.sqrt(x), 0.0)))
    x = np.array([0.0, 4.0])
    assert ".dot(" in check(x)
    assert "vdot(" in check(x[None])
    assert "are_clean(" in check(x.astype(np.float16))


@pytest.mark.parametrize("value", [X, X.T, X[0], X.astype(np.float16), X + 1j, np.float64(1.0), 2.0, np.arange(3)])
def test_are_clean(value):
    assert are_clean(value, 1.0)
    if np.asarray(value).dtype.kind != "i":
        assert not are_clean(1.0, value * np.nan)


def test_buffers_are_used_again():
    def chain(x):
        for _ in range(20):
            x = np.sin(x) * x + 1.0
        return x

    code = Code(program_of(chain, X))
    assert len(code._plan.sizes) <= 3


def test_outputs_share_nothing():
    f = jit(lambda x: (np.sin(x), np.sin(x).T, x, x[0], np.sin(x)[1:], np.sin(x)))
    found = f(X)
    for n, one in enumerate(found):
        assert one.flags.writeable and not np.shares_memory(one, X)
        assert not any(np.shares_memory(one, other) for other in found[:n])
