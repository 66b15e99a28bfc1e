"""Arrays that are out of the ordinary: memory layouts, zero axes, empty indices, float16, numbers where arrays are usual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jacfwd, jacrev, jvp, tape, value_and_grad, vjp
from funcgrad.errors import ConcretizationError

A = np.array
WEIGHTS = np.arange(6.0)


@pytest.mark.parametrize("flatten", [np.ravel, lambda x, order: np.reshape(x, 6, order=order), lambda x, order: x.flatten(order)])
@pytest.mark.parametrize("order", ["A", "C", "F"])
@pytest.mark.parametrize("x", [np.asfortranarray(WEIGHTS.reshape(2, 3)), WEIGHTS.reshape(3, 2).T, WEIGHTS.reshape(2, 3)])
def test_flattening_in_every_order(flatten: Callable[..., Any], order: str, x: Any):
    place = flatten(np.copy(x, order="K"), order=order)  # the elements of x are their own numbers in C order of their base
    wanted = np.empty(6)
    wanted[place.astype(int)] = WEIGHTS  # element k of the result came from the element whose value it has
    gradient = grad(lambda x: np.sum(flatten(x, order=order) * WEIGHTS))(x)
    np.testing.assert_array_equal(gradient.ravel()[np.argsort(x.ravel())], wanted)
    direction = np.ascontiguousarray(np.sin(x))  # a tangent of another layout than x
    value = jvp(lambda x: flatten(x, order=order), (x,), (direction,))[1]
    np.testing.assert_array_equal(value, np.sin(place))


@pytest.mark.parametrize("transform", [value_and_grad, lambda f: lambda x: vjp(f, x), lambda f: lambda x: jvp(f, (x,), (np.ones_like(x),))])
def test_values_of_strided_arguments_and_constants_are_numpys(transform: Any):
    rng = np.random.default_rng(3)
    for _ in range(30):
        x, y = rng.normal(size=9)[::-1], rng.normal(size=(9, 3))[:, 1]
        for f in (lambda x, y=y: x @ y, lambda x, y=y: np.einsum("i,i->", x, y), lambda x, y=y: np.sum(np.exp(x) * y)):
            assert transform(f)(x)[0] == f(x)


def test_padding_with_a_traced_constant_and_oddly():
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.pad(x, 1, constant_values=x[0])))(np.ones(3)), [3.0, 1.0, 1.0])
    odd = grad(lambda x: np.sum(np.pad(x, (2, 0), mode="reflect", reflect_type="odd")))  # 2 x[0] - x[2], 2 x[0] - x[1], x
    np.testing.assert_array_equal(odd(A([1.0, 2.0, 5.0, 10.0])), [5.0, 0.0, 0.0, 1.0])
    with pytest.raises(TypeError, match="integers"):
        grad(lambda x: np.sum(np.pad(x, 1.5)))(np.ones(3))


def test_means_of_many_half_precision_numbers():
    x = np.full(70_000, 0.5, np.float16)
    np.testing.assert_array_equal(grad(np.mean)(x), np.full(70_000, 1 / 70_000, np.float16))
    x[::2] = 0.25
    for f in (np.var, np.std):
        assert value_and_grad(f)(x)[0] == f(x)


def test_the_value_of_a_step_at_its_place():
    assert grad(lambda h: np.heaviside(0.0, h))(0.5) == 1.0
    np.testing.assert_array_equal(grad(lambda h: np.sum(np.heaviside(A([-1.0, 0.0, 2.0]), h)))(np.full(3, 0.5)), [0.0, 1.0, 0.0])


def test_indices_as_numpy_takes_them():
    x = A([5.0, 7.0, 9.0])
    np.testing.assert_array_equal(vjp(lambda x: np.take(x, [True, False, True]), x)[0], np.take(x, [True, False, True]))
    for f in (lambda x: x[[]], lambda x: np.take(x, []), lambda x: x.at[[]].set(1.0)[:0], lambda x: x.at[[]].add(1.0)[:0]):
        value, pullback = vjp(f, x)
        assert value.shape == (0,)
        np.testing.assert_array_equal(pullback(np.zeros(0))[0], np.zeros(3))
    with pytest.raises(IndexError):
        grad(lambda x: np.take_along_axis(x, A([True, False, True]), 0)[0])(x)
    with pytest.raises(np.exceptions.AxisError):
        grad(lambda x: np.take_along_axis(x, A([0]), 5)[0])(x)
    with pytest.raises(ValueError, match="mode"):
        grad(lambda x: np.take(x, 0, mode="bogus"))(x)
    with pytest.raises(ValueError, match="twice"):
        grad(lambda x: np.sum(np.expand_dims(x, (0, 0))))(x)
    with pytest.raises(ConcretizationError):
        vjp(lambda n: np.array_split(np.ones(4), n), 2.0)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("reduce", [np.sum, np.prod, np.max, np.min, np.mean, np.var])
@pytest.mark.parametrize("x", [0.7, np.float64(0.7), A(0.7)])
def test_numbers_may_have_the_axis_0(reduce: Callable[..., Any], axis: int, x: Any):
    def f(x: Any) -> Any:
        return reduce(x, axis) ** 2 + x * 0.0

    slope = 0.0 if reduce is np.var else 1.4
    assert grad(f)(x) == pytest.approx(slope, rel=1e-15)
    assert hessian(f)(x) == pytest.approx(0.0 if reduce is np.var else 2.0, rel=1e-15)


def test_numbers_can_be_indexed_and_summed_up():
    for f in (lambda x: x[None][0], lambda x: np.flip(x), lambda x: x[...], lambda x: x[()]):
        assert jvp(f, (0.7,), (1.0,))[1] == 1.0
        assert grad(f)(0.7) == 1.0
    gradient = grad(lambda x: np.cumsum(x, axis=0)[0])(A(0.7))
    assert gradient.shape == ()
    assert gradient == 1.0
    assert grad(lambda x: np.sum(np.cumsum(x, 0)))(0.7) == 1.0


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_updates_keep_the_dtype(dtype: Any):
    x = np.ones(3, dtype)
    for f in (lambda x: x.at[0].set(2.5), lambda x: x.at[0].add(2), lambda x: x.at[0].set(np.float64(2.5))):
        assert vjp(f, x)[0].dtype == dtype
    assert vjp(lambda x: np.dot(2.0, x), x)[0].dtype == np.dot(2.0, x).dtype


def test_a_view_of_a_frozen_array_is_writeable_again_and_let_go():
    base = np.ones((100, 100))
    view = base[:]
    base.flags.writeable = False
    for f in (lambda x: np.sum(x * x), lambda x: np.sum(x * view)):
        grad(f)(view)
        assert view.flags.writeable
        assert not tape._waiting


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_jacobians_of_flattening_are_permutations(jacobian: Any):
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    found = jacobian(lambda x: np.ravel(x, order="A"))(x).reshape(6, 6)
    np.testing.assert_array_equal(found @ x.ravel(), np.ravel(x, order="A"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4096, 3), (64, 64, 3), (1 << 17, 1)])
def test_the_gradient_of_a_bias_of_many_rows(shape: tuple[int, ...], dtype: Any):
    """Each row adds the same small number, and all of them 1: in float16 a plain sum stops growing long before."""
    rows = np.prod(shape[:-1])
    weight = np.dtype(dtype).type(1.0 / rows)
    gradient = grad(lambda b: np.sum((np.ones(shape, dtype) + b) * weight))(np.zeros(shape[-1], dtype))
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient.astype(float), np.ones(shape[-1]), rtol=2e-3 if dtype is np.float16 else 1e-6)


def test_squares_of_small_numbers_under_a_large_factor():
    """As with the scaled losses of float16: twice the factor would be infinite, twice the product is not."""
    x, scale = np.array([0.0, 0.001, 0.5], np.float16), np.float16(32768)
    for f in (np.square, lambda x: x**2):
        gradient = grad(lambda x, f=f: np.sum(f(x)) * scale)(x)
        np.testing.assert_allclose(gradient.astype(float), 2 * 32768 * x.astype(float), rtol=1e-3)
    gradient = vjp(lambda x: x**5, np.array([0.0, 0.1], np.float16))[1](np.full(2, 20000, np.float16))[0]
    np.testing.assert_allclose(gradient.astype(float), [0.0, 5 * 0.1**4 * 20000], rtol=2e-3)
