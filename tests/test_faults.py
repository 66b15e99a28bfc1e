"""Small inputs that other libraries answered wrongly, with their right answers; each stands for its whole kind.

The answers were checked by arithmetic in 50 digits. Arrays are float64 unless their name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import elementwise_grad, grad, hessian, jacfwd, jacrev, jvp, linearize, nn, vjp
from funcgrad.errors import FuncgradError

A = np.array


def reverse(f: Callable[..., Any], *args: Any, argnum: int = 0) -> Any:
    return grad(f, argnum)(*args)


def forward(f: Callable[..., Any], *args: Any, argnum: int = 0) -> Any:
    return jacfwd(f, argnum)(*args)


def rows(f: Callable[..., Any], *args: Any, argnum: int = 0) -> Any:
    return jacrev(f, argnum)(*args)


both = pytest.mark.parametrize("gradient", [reverse, forward, rows])


@both
def test_guarded_singularity(gradient: Any):
    def f(x: Any) -> Any:
        s = np.where(x > 0, x, 1.0)
        return np.sum(np.where(x > 0, np.sqrt(s) + np.log(s), 0.0))

    x = A([-3.0, 0.0, 4.0])
    np.testing.assert_allclose(gradient(f, x), [0.0, 0.0, 0.5], rtol=1e-15)
    assert float(jvp(f, (x,), (np.ones(3),))[1]) == 0.5
    np.testing.assert_allclose(np.diag(hessian(f)(x)), [0.0, 0.0, -0.09375], rtol=1e-15)
    np.testing.assert_allclose(gradient(lambda x: np.sum(grad(f)(x)), x), [0.0, 0.0, -0.09375], rtol=1e-15)


@both
def test_unguarded_singularity(gradient: Any):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gradient(lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), A([0.0, 2.0])), [0.0, 0.5])
        np.testing.assert_allclose(
            gradient(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), A([0.0, 2.0])), [0.0, 0.5 / math.sqrt(2.0)], rtol=1e-15
        )
        for x in (0.0, A(0.0), np.float64(0.0)):
            assert gradient(lambda x: np.where(x > 0, x / x, 1.0), x) == 0.0
        np.testing.assert_array_equal(gradient(lambda x: np.sum(np.where(x > 0, x / x, 1.0)), A([0.0])), [0.0])


@both
def test_powers_at_zero(gradient: Any):
    c, k = A([5.0, 7.0, 2.0]), np.arange(3)
    for z in (0.0, 0, A(0.0), np.float64(0.0)):
        assert gradient(lambda z: np.sum(c * z**k), z) == 7.0
        assert gradient(lambda z: np.sum(c * z ** k.astype(float)), z) == 7.0
        assert gradient(lambda z: sum(float(c[n]) * z**n for n in range(3)), z) == 7.0
        assert gradient(lambda z: sum(float(c[n]) * z ** float(n) for n in range(3)), z) == 7.0
        assert gradient(lambda z: np.sum(c * np.power(z, k)), z) == 7.0
        assert gradient(lambda z: gradient(lambda z: sum(float(c[n]) * z**n for n in range(3)), z), z) == 4.0
        assert gradient(lambda z: gradient(lambda z: np.sum(c * z**k), z), z) == 4.0
    np.testing.assert_array_equal(gradient(lambda z: np.sum(z**0), A([0.0, 2.0])), [0.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda y: np.sum(A([0.0, 0.0]) ** y), A([1.0, 2.0])), [0.0, 0.0])
    assert gradient(lambda y: 0.0**y, 2.0) == 0.0


@both
def test_products_with_zeros(gradient: Any):
    np.testing.assert_array_equal(gradient(np.prod, A([2.0, 0.0, 3.0, 4.0])), [0.0, 24.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(np.prod, A([2.0, 0.0, 3.0, 0.0])), [0.0, 0.0, 0.0, 0.0])
    table = A([[2.0, 0.0, 3.0], [1.0, 2.0, 3.0], [0.0, 0.0, 7.0]])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.prod(x, axis=1)), table), [[0, 6, 0], [6, 3, 2], [0, 0, 0]])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.prod(x, axis=0)), table.T), A([[0, 6, 0], [6, 3, 2], [0, 0, 0]]).T)
    wanted = np.zeros((3, 3))
    wanted[0, 2] = wanted[2, 0] = 5.0
    for second in (hessian(np.prod), jacrev(grad(np.prod)), jacfwd(lambda x: gradient(np.prod, x))):
        np.testing.assert_array_equal(second(A([0.0, 5.0, 0.0])), wanted)


@both
def test_ties_share(gradient: Any):
    for largest in (np.max, lambda x: x.max(), lambda x: -np.min(-x), lambda x: np.sum(np.max(x, axis=0, keepdims=True)), np.amax):
        np.testing.assert_array_equal(gradient(largest, A([1.0, 3.0, 3.0, 2.0])), [0.0, 0.5, 0.5, 0.0])
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(np.max(x, axis=1)), A([[1.0, 1.0], [2.0, 3.0], [5.0, 5.0]])), [[0.5, 0.5], [0, 1], [0.5, 0.5]]
    )
    for choice in (np.maximum, np.minimum, np.fmax, np.fmin):
        for a in (2.0, A(2.0), A([2.0, 2.0])):
            for argnum in (0, 1):
                np.testing.assert_array_equal(gradient(lambda a, b: np.sum(choice(a, b)), a, a, argnum=argnum), 0.5 * np.ones_like(a))  # noqa: B023
        assert gradient(lambda x: choice(x, 2.0), 2.0) == gradient(lambda x: choice(2.0, x), 2.0) == 0.5  # noqa: B023
        assert gradient(lambda x: choice(x, x), 2.0) == 1.0  # noqa: B023
    for clip in (lambda x: np.clip(x, 0.0, 1.0), lambda x: x.clip(0, 1), lambda x: np.clip(x, A([0.0]), A(1))):
        np.testing.assert_array_equal(gradient(lambda x: np.sum(clip(x)), A([-1.0, 0.0, 0.5, 1.0, 2.0])), [0, 0.5, 1, 0.5, 0])  # noqa: B023


@both
def test_corners(gradient: Any):
    for x in (0.0, A([0.0]), A([[0.0]], np.float32)):
        for f in (np.abs, np.fabs, abs, nn.relu, lambda x: np.std(x * np.ones(3)), lambda x: np.hypot(x, 0.0)):
            np.testing.assert_array_equal(gradient(lambda x: np.sum(f(x)), x), np.zeros_like(x))  # noqa: B023
    np.testing.assert_array_equal(gradient(lambda x: np.sum(nn.relu(x)), A([-1.0, 0.0, 2.0])), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(gradient(np.std, A([3.0, 3.0, 3.0])), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(np.var, A([3.0, 3.0, 3.0])), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.std(x, axis=1)), A([[3.0, 3.0], [1.0, 3.0]])), [[0.0, 0.0], [-0.5, 0.5]])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.hypot(x, A([0.0, 4.0]))), A([0.0, 3.0])), [0.0, 0.6])


@both
def test_einsum(gradient: Any):
    x, second = A([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), A([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(gradient(lambda x: np.einsum("ii->", x), second), np.eye(2))
    np.testing.assert_array_equal(gradient(lambda y: np.sum(np.einsum("nd,nn->d", x, y)), second, argnum=0), np.diag([6.0, 15.0]))
    np.testing.assert_array_equal(gradient(lambda a, b: np.einsum("i,i", a, b), A([2.0, 5.0]), A([3.0])), [3.0, 3.0])
    np.testing.assert_array_equal(gradient(lambda a, b: np.einsum("i,i", a, b), A([2.0, 5.0]), A([3.0]), argnum=1), [7.0])
    stack = np.arange(24.0).reshape(2, 3, 4)
    weights = np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(
        gradient(lambda w: np.sum(np.einsum("...j,jk->...k", stack, w) ** 2), weights),
        2 * np.einsum("abj,abl,lk->jk", stack, stack, weights),
    )
    np.testing.assert_allclose(
        gradient(lambda s: np.sum(np.einsum("...j,jk->k...", s, weights) ** 2), stack), 2 * stack @ weights @ weights.T, rtol=1e-14
    )
    np.testing.assert_array_equal(gradient(lambda s: np.sum(np.einsum("...ii->...i", s) ** 2), second[None]), [[[2, 0], [0, 8]]])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.einsum("ij->j", x) * A([1.0, 2.0, 3.0])), x), [[1, 2, 3], [1, 2, 3]])


@both
def test_repeated_indices_accumulate(gradient: Any):
    x = A([2.0, 3.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(x[[0, 0, 1]] ** 2), x), [8.0, 6.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(x[A([0, 0, 1])] ** 2), x), [8.0, 6.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(x[[[0, -2], [0, 1]]]), x), [3.0, 1.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.take(x, [1, 1, 1]) * A([1.0, 2.0, 3.0])), x), [0.0, 6.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(x.take([1, 1, 1]) * A([1.0, 2.0, 3.0])), x), [0.0, 6.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.take_along_axis(x, A([1, 1, 0]), 0) * A([1.0, 2.0, 3.0])), x), [3.0, 3.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.repeat(x, [3, 2])), x), [3.0, 2.0])
    table = A([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(x[[0, 0], [1, 1]]), table), [[0.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(x[:, [1, 1, -1]]), table), [[0.0, 3.0], [0.0, 3.0]])


@both
def test_where_that_broadcasts(gradient: Any):
    condition, weights = A([[True], [False]]), A([1.0, 2.0, 3.0])

    def f(x: Any, y: Any) -> Any:
        return np.sum(np.where(condition, x, y) * weights)

    for x in (2.0, A(2.0)):
        found = gradient(f, x, np.ones(3))
        assert found == 6.0 and np.shape(found) == ()
        np.testing.assert_array_equal(gradient(f, x, np.ones(3), argnum=1), [1.0, 2.0, 3.0])


@both
def test_reductions_of_some_elements(gradient: Any):
    m, x = A([True, False, True]), A([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(x * x, where=m), x), [2.0, 0.0, 6.0])
    np.testing.assert_array_equal(gradient(lambda x: np.mean(x * x, where=m), x), [1.0, 0.0, 3.0])
    np.testing.assert_array_equal(gradient(lambda x: np.prod(x, where=m), x), [3.0, 0.0, 1.0])
    np.testing.assert_array_equal(gradient(lambda x: np.max(x, initial=0.0), x), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(gradient(lambda x: np.max(x, initial=3.0), x), [0.0, 0.0, 0.5])  # a tie with `initial`
    np.testing.assert_array_equal(gradient(lambda x: np.max(x, initial=9.0), x), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.min(x, where=[False, True, True], initial=9.0), x), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: np.prod(x * 0.0 + A([0.0, 5.0, 2.0]) * x, where=m), A([1.0, 2.0, 0.0])), [0.0] * 3)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(gradient(lambda x: np.sum(np.log(x), where=m), A([1.0, 0.0, 2.0])), [1.0, 0.0, 0.5])
        np.testing.assert_array_equal(gradient(lambda x: np.sum(np.log(x, where=m)), A([1.0, 0.0, 2.0])), [1.0, 0.0, 0.5])


def nothing_but_y(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda y: jvp(f, (y,), (1.0,))[1]


@pytest.mark.parametrize("outer", [grad, nothing_but_y, jacfwd, jacrev, elementwise_grad])
@pytest.mark.parametrize("inner", [grad, nothing_but_y, jacfwd, jacrev, elementwise_grad])
def test_perturbation_confusion(outer: Any, inner: Any):
    for x in (1.0, 3.0):
        assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(x) == 1.0
        assert outer(lambda x: x * inner(lambda y: x * y)(1.0))(x) == 2 * x


class Tree(NamedTuple):
    """A namedtuple with None inside."""

    w: Any
    none: Any
    rest: Any


def test_trees_come_back_as_they_are():
    params = Tree(A([1.0, 2.0]), None, {"used": 3.0, "unused": A([[1.0]])})
    found = grad(lambda p: np.sum(p.w**2) * p.rest["used"])(params)
    assert type(found) is Tree and found.none is None and type(found.rest) is dict
    np.testing.assert_array_equal(found.w, [6.0, 12.0])
    assert found.rest["used"] == 5.0
    np.testing.assert_array_equal(found.rest["unused"], [[0.0]], strict=True)


@both
def test_softplus_far_out(gradient: Any):
    for softplus in (lambda x: np.logaddexp(x, 0.0), lambda x: np.logaddexp(0.0, x)):
        for x, wanted in ((-1000.0, 0.0), (0.0, 0.5), (1000.0, 1.0), (math.inf, 1.0), (-math.inf, 0.0)):
            for kind in (float, np.float64, lambda x: A([x])):
                assert gradient(lambda x: np.sum(softplus(x)), kind(x)) == wanted  # noqa: B023
        for second in (grad(grad(softplus)), jacfwd(grad(softplus)), elementwise_grad(elementwise_grad(softplus)), hessian(softplus)):
            assert float(second(0.0)) == 0.25


@both
def test_float32_stays(gradient: Any):
    x = A([[0.5, 2.0], [3.0, 1.0]], np.float32)
    for f in (
        lambda x: np.sum(np.max(x, axis=1)),
        lambda x: np.sum(x**2) * 0.5,
        np.mean,
        np.std,
        lambda x: np.sum(np.where(x > 1, x, 0)),
        lambda x: np.sum(np.where(x > 1, x, 0.0)),
        lambda x: np.sum(2 * x - 1.0) / 3,
    ):
        found = gradient(f, x)
        assert found.dtype == (f(x).dtype if gradient is forward else np.float32)  # NumPy 1: np.float32(1) * 0.5 is a float64
        assert found.shape == x.shape
        assert type(f(x)) is type(vjp(f, x)[0])
        np.testing.assert_allclose(found, gradient(f, x.astype(float)), rtol=3e-7)


def test_deep_and_wide():
    def deep(x: Any) -> Any:
        for _ in range(5000):
            x = x + 0.001 * np.sin(x)
        return x

    assert grad(deep)(0.1) == pytest.approx(2.653236534184312, rel=1e-12)
    assert jvp(deep, (0.1,), (1.0,))[1] == pytest.approx(2.653236534184312, rel=1e-12)
    assert linearize(deep, A([0.1]))[1](A([1.0]))[0] == pytest.approx(2.653236534184312, rel=1e-12)

    def wide(y: Any) -> Any:
        for _ in range(100):
            y = 0.5 * (y + y)
        return y * y

    for value in (3.0, A(3.0)):
        assert grad(wide)(value) == jvp(wide, (value,), (1.0,))[1] == jacfwd(wide)(value) == 6.0


# ------------------------------------------------------------------------------------------------ never a number


def write_into_slice(x: Any) -> Any:
    buffer = np.zeros(3)
    buffer[0:1] = x
    return np.sum(buffer)


def write_element(x: Any) -> Any:
    buffer = np.zeros(3)
    buffer[0] = x[0]
    return np.sum(buffer)


def write_into_tracer(x: Any) -> Any:
    y = x * x
    y[0] = 5.0
    return np.sum(y)


each_run = pytest.mark.parametrize(
    "run", [reverse, forward, rows, lambda f, x: jvp(f, (x,), (x,)), lambda f, x: vjp(f, x)], ids=["grad", "jacfwd", "jacrev", "jvp", "vjp"]
)


@each_run
def test_what_must_raise(run: Any):
    for f in (
        lambda x: math.sin(float(x[0])),
        lambda x: math.sin(x[0]),
        write_into_slice,
        write_into_tracer,
        lambda x: np.sum(np.array([x[0], 1.0])),
    ):
        with pytest.raises(FuncgradError):
            run(f, A([1.0]))


@each_run
def test_writing_a_tracer_into_one_element_must_raise(run: Any):
    with pytest.raises(ValueError, match="setting an array element") as caught:  # NumPy's own words, with ours as the reason
        run(write_element, A([1.0]))
    assert isinstance(caught.value.__cause__, FuncgradError)


def test_what_must_raise_at_the_edges():
    with pytest.raises(TypeError, match="jacrev"):
        grad(lambda x: x * x)(A([1.0, 2.0]))
    with pytest.raises(TypeError, match="int64"):
        grad(np.sum)(A([1, 2], np.int64))
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(3,\)"):
        vjp(lambda x: x * x, np.ones((2, 3)))[1](np.ones(3))


@both
def test_arrays_made_of_tracers(gradient: Any):
    np.testing.assert_array_equal(gradient(lambda x: np.sum(fnp.array([x[0], x[1] * x[1], 5.0]) ** 2), A([3.0, 2.0])), [6.0, 32.0])
    assert gradient(lambda x: np.sum(fnp.asarray([[x, 1.0], [2.0, x * x]]) * A([[1.0, 2.0], [3.0, 4.0]])), 3.0) == 1 + 24.0
