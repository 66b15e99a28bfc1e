"""Complex numbers: the convention, the corners, and real values on complex ways. Right answers by hand, from Wirtinger's calculus."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from funcgrad import elementwise_grad, grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp
from funcgrad.errors import CheckError, InputTypeError
from funcgrad.testing import check_grads, check_vjp, numerical_grad

A = np.array
Z = 1.0 + 0.5j
each_kind = pytest.mark.parametrize(
    "z", [Z, np.complex128(Z), A(Z), A([Z]), np.complex64(Z)], ids=lambda z: type(z).__name__ + str(np.shape(z))
)


@each_kind
def test_the_gradient_of_a_real_function(z: Any):
    right = 0.894427190999916 - 0.447213595499958j
    for f in (
        np.abs,
        lambda z: np.sqrt(z.real**2 + z.imag**2),
        lambda z: np.real(z * np.conj(z)) ** 0.5,
        lambda z: np.hypot(z.real, z.imag),
    ):
        found = grad(lambda z: np.sum(f(z)))(z)  # noqa: B023
        np.testing.assert_allclose(found, np.full(np.shape(z), right), rtol=1e-6 if np.asarray(z).dtype == np.complex64 else 1e-15)
        assert np.asarray(found).dtype == np.asarray(z).dtype
        assert isinstance(found, complex if type(z) is complex else type(z))


def test_the_derivative_of_a_holomorphic_function():
    np.testing.assert_allclose(grad(np.sin, holomorphic=True)(Z), np.cos(Z), rtol=1e-15)
    np.testing.assert_allclose(grad(grad(np.exp, holomorphic=True), holomorphic=True)(Z), np.exp(Z), rtol=1e-15)
    value, slope = value_and_grad(lambda z: z**3, holomorphic=True)(Z)
    np.testing.assert_allclose([value, slope], [Z**3, 3 * Z**2], rtol=1e-15)
    z = A([Z, 2.0 - 1.0j])
    for jacobian in (jacfwd, jacrev):
        np.testing.assert_allclose(jacobian(lambda z: z**2, holomorphic=True)(z), np.diag(2 * z), rtol=1e-15)
    np.testing.assert_allclose(hessian(lambda z: np.sum(z**3), holomorphic=True)(z), np.diag(6 * z), rtol=1e-15)
    np.testing.assert_allclose(elementwise_grad(np.log)(z), 1 / z, rtol=1e-15)


def test_directional_derivatives_are_real_linear():
    value, tangent = jvp(np.abs, (3.0 + 4.0j,), (1j,))
    assert (value, tangent) == (5.0, 0.8)
    assert jvp(np.conj, (Z,), (1j,))[1] == -1j
    np.testing.assert_allclose(jvp(np.angle, (Z,), (1j * Z,))[1], 1.0, rtol=1e-15)
    _, f_jvp = linearize(lambda z: z * np.conj(z), Z)
    np.testing.assert_allclose([f_jvp(1.0), f_jvp(1j)], [2.0, 1.0], rtol=1e-15)


def test_a_real_argument_among_complex_constants_has_a_real_gradient():
    k = A([1.0 + 2.0j, 3.0 - 1.0j])
    for f in (lambda x: np.real(np.dot(x, k)) + np.imag(np.sum(x * k)), lambda x: (x @ k).real + (x * k).imag.sum()):
        found = grad(f)(A([1.0, 2.0]))
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, [3.0, 2.0], rtol=1e-15)
    assert grad(lambda x: (1j * x * (2.0 + 1j)).real)(2.0) == -1.0
    assert type(grad(lambda x: (1j * x * (2.0 + 1j)).real)(2.0)) is float
    assert grad(lambda x: (1j * x).imag)(A([2.0], np.float32)[0]).dtype == np.float32


def test_real_values_between_complex_ones_cut_their_cotangents():
    # w = (Re z) * i: what flows back to Re z is the real part of ct * i alone.
    assert grad(lambda z: (z.real * 1j).imag + (z.real * 1j).real)(Z) == 1.0
    assert grad(lambda z: (np.abs(z) * (1.0 + 1j)).imag)(3.0 + 4.0j) == pytest.approx(0.6 - 0.8j, rel=1e-15)
    assert grad(lambda z: (z.imag * (2.0 + 3.0j)).imag)(Z) == -3.0j


def test_the_origin():
    for f in (np.abs, np.angle, lambda z: np.abs(z) + np.angle(z)):
        for z in (0j, A([0j])):
            np.testing.assert_array_equal(grad(lambda z: np.sum(f(z)))(z), np.zeros_like(z))  # noqa: B023
            np.testing.assert_array_equal(jvp(f, (z,), (np.ones_like(z),))[1], np.zeros_like(z, float))
    assert grad(np.arctan2, (0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert grad(lambda z: (z * z).real)(0j) == 0.0


def test_strong_zeros_hold_for_complex_numbers():
    with np.errstate(all="ignore"):
        found = grad(lambda z: np.sum(np.where(np.abs(z) > 0, np.log(z), 0.0).real))(A([0j, 2.0 + 0j]))
    np.testing.assert_array_equal(found, [0.0, 0.5])


def test_mixed_orders():
    def f(z: Any) -> Any:
        return np.sum(np.abs(z) ** 4)

    z, v = A([Z, 2.0j]), A([1.0j, 1.0 + 1.0j])
    by_hand = 4 * (2 * np.real(np.conj(z) * v) * np.conj(z) + np.abs(z) ** 2 * np.conj(v))
    np.testing.assert_allclose(hvp(f)(z, v), by_hand, rtol=1e-14)
    np.testing.assert_allclose(grad(lambda z: jvp(f, (z,), (v,))[1])(z), by_hand, rtol=1e-14)


def test_casts():
    x = A([1.0, 2.0])
    assert grad(lambda x: np.sum(x.astype(complex) * 1j).imag)(x).tolist() == [1.0, 1.0]
    with pytest.warns(np.exceptions.ComplexWarning):
        found = grad(lambda z: np.sum(z.astype(float)))(A([Z, 2j]))
    np.testing.assert_array_equal(found, [1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(grad(lambda z: np.sum(z.real.astype(float)))(A([Z, 2j])), [1.0, 1.0])


def test_pullbacks_take_what_the_output_is():
    _, pullback = vjp(lambda x: x * 1j, A([1.0, 2.0]))
    np.testing.assert_array_equal(pullback(A([1.0 + 2.0j, 3.0j]))[0], [-2.0, -3.0])
    _, pullback = vjp(np.abs, 3.0 + 4.0j)
    assert pullback(2.0)[0] == pytest.approx(1.2 - 1.6j, rel=1e-15)


def test_the_checkers_take_complex_numbers():
    z = A([Z, 2.0 - 1.0j, -0.5j])
    check_grads(lambda z: np.sum(np.abs(z) ** 3) + np.sin(z).real.sum(), (z,))
    check_grads(lambda z, x: np.conj(z) * x + np.exp(1j * x) * z, (z, A([0.5, 1.5, 2.5])))
    check_grads(lambda z: np.abs(z), (np.complex64(Z),), order=1)
    with pytest.raises(CheckError, match="expected"):
        check_vjp(np.abs, lambda z: (np.abs(z), lambda ct: (ct * z / np.abs(z),)), (z,))  # the conjugate is missing
    np.testing.assert_allclose(numerical_grad(np.abs)(Z), grad(np.abs)(Z), rtol=1e-9)
    with pytest.raises(InputTypeError, match="differences"):
        numerical_grad(np.abs, method="complex")(Z)


def test_the_second_derivative_of_the_absolute_value_at_the_origin():
    second = grad(lambda x: np.sum(grad(lambda z: np.sum(np.abs(z)))(x).real))
    np.testing.assert_array_equal(second(np.zeros(2, complex)), np.zeros(2))
