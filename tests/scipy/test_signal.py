"""scipy.signal: identities of convolutions and filters, refusals; and the namespace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.signal

from funcgrad import grad, hessian, jacfwd, jacrev
from funcgrad.errors import NoRuleError
from funcgrad.scipy import signal
from tests.scipy.namespaces import assert_refuses_by_name, assert_stands_for, with_rule, without_rule

X, Y = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.3, 0.7, -1.1])


@pytest.mark.parametrize("name", without_rule(signal, scipy.signal))
def test_what_has_no_rule_says_so(name: str):
    assert_refuses_by_name(signal, scipy.signal, name)


@pytest.mark.parametrize("name", with_rule(signal))
def test_what_has_a_rule_stands_for_scipys(name: str):
    assert_stands_for(signal, scipy.signal, name)


def test_plain_values_are_scipys_with_all_its_options():
    np.testing.assert_array_equal(signal.convolve([1, 2], [3, 4]), [3, 10, 8])
    y, state = signal.lfilter([1.0], [1.0, -0.5], X, zi=[0.0])
    assert y.shape == X.shape and state.shape == (1,)
    assert signal.convolve2d([[1.0]], np.ones((2, 2)), fillvalue=3).shape == (2, 2)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [signal.convolve, signal.fftconvolve, signal.oaconvolve])
def test_the_jacobian_of_a_convolution_is_a_matrix_of_toeplitz(function: Any, mode: str):
    """Written out from the definition: the k-th output is the sum of x[i] y[k - i]."""
    start, size = {"full": (0, 6), "same": (1, 4), "valid": (2, 2)}[mode]
    matrix = np.zeros((6, 4))
    for i in range(4):
        matrix[i : i + 3, i] = Y
    for jacobian in (jacfwd, jacrev):
        np.testing.assert_allclose(jacobian(lambda x: function(x, Y, mode))(X), matrix[start : start + size], atol=1e-15)


def test_the_correlation_of_complex_signals_conjugates_the_second():
    x, y = X + 1j * X[::-1], Y - 0.5j
    f = lambda x, y: np.sum(np.abs(signal.correlate(x, y)) ** 2)
    gx, gy = grad(f, (0, 1))(x, y)
    energy = scipy.signal.correlate(x, y)
    np.testing.assert_allclose(gx, 2 * scipy.signal.convolve(energy, y, "valid").conj(), rtol=1e-12)
    wanted = [sum(np.conj(energy[k]) * x[i] for k in range(6) for i in range(4) if i - k + 2 == j) for j in range(3)]
    np.testing.assert_allclose(gy, 2 * np.conj(wanted), rtol=1e-12)


def test_arrays_without_elements():
    assert grad(lambda x: np.sum(signal.fftconvolve(x, Y)))(np.zeros(0)).shape == (0,)
    with pytest.raises(ValueError, match="cannot be empty"):
        grad(lambda y: np.sum(signal.convolve(np.zeros(0), y)))(Y)
    np.testing.assert_array_equal(grad(lambda y: np.sum(signal.fftconvolve(np.zeros(0), y)))(Y), 0.0)


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_kernels_that_are_larger_than_the_image(boundary: str):
    image, kernel = np.arange(6.0).reshape(2, 3), np.arange(20.0).reshape(5, 4) / 7
    for function in (signal.convolve2d, signal.correlate2d):
        f = lambda image, kernel, function=function: function(image, kernel, "same", boundary)
        for n, size in ((0, 6), (1, 20)):
            jacobian = jacrev(f, n)(image, kernel).reshape(6, size)
            np.testing.assert_allclose(jacobian @ (image, kernel)[n].ravel(), f(image, kernel).ravel(), rtol=1e-13)
            np.testing.assert_allclose(jacobian, jacfwd(f, n)(image, kernel).reshape(6, size), atol=1e-13)


def test_correlations_whose_second_image_is_the_larger():
    """SciPy exchanges the two, and conjugates the one that then comes second."""
    image, kernel = np.arange(4.0).reshape(2, 2) * (1 + 0.3j), np.arange(12.0).reshape(4, 3) * (0.2 - 1j)
    f = lambda image: signal.correlate2d(image, kernel, "valid")
    np.testing.assert_array_equal(jacrev(lambda x: np.real(f(x * image)))(1.0), f(image).real)
    np.testing.assert_array_equal(jacfwd(lambda x: np.imag(f(x * image)))(1.0), f(image).imag)


def test_the_impulse_response_of_a_recursive_filter():
    """y[n] = b a**n: the derivatives are a**n and n b a**(n - 1)."""
    n, b, a = np.arange(6), 0.7, 0.9
    impulse = (n == 0).astype(float)
    f = lambda b, a: signal.lfilter(np.stack([b]), np.stack([1.0, -a]), impulse)
    for jacobian in (jacfwd, jacrev):
        by_b, by_a = jacobian(f, (0, 1))(b, a)
        np.testing.assert_allclose(by_b, a**n, rtol=1e-14)
        np.testing.assert_allclose(by_a, n * b * a ** (n - 1.0), rtol=1e-14)
    second = hessian(lambda a: f(b, a)[5])(a)
    assert second == pytest.approx(20 * b * a**3, rel=1e-13)


def test_a_filter_is_the_same_for_coefficients_times_a_number():
    gradients = grad(lambda s: np.sum(signal.lfilter(s * Y, s * np.array([2.0, 0.3]), X)))(1.3)
    assert gradients == pytest.approx(0.0, abs=1e-14)


def test_more_coefficients_than_samples():
    b, a = np.arange(1.0, 8.0), np.array([1.0, 0.5, 0.2, 0.1, 0.3, 0.4])
    by_b, by_a = grad(lambda b, a: np.sum(signal.lfilter(b, a, X[:2])), (0, 1))(b, a)
    np.testing.assert_array_equal(by_b[2:], 0.0)
    np.testing.assert_array_equal(by_a[2:], 0.0)
    assert by_b[1] == pytest.approx(X[0])


def test_a_straight_line_has_no_derivative_left():
    jacobian = jacrev(signal.detrend)(np.arange(5.0))
    np.testing.assert_allclose(jacobian @ np.arange(5.0), 0.0, atol=1e-14)
    np.testing.assert_allclose(jacobian, jacobian.T, atol=1e-15)
    np.testing.assert_allclose(jacobian @ jacobian, jacobian, atol=1e-15)


def test_options_without_a_rule_are_refused_by_name():
    image, sections = np.ones((3, 3)), np.array([[1.0, 0.0, 0.0, 1.0, 0.5, 0.0]])
    for call, words in (
        (lambda x: signal.lfilter([1.0], [1.0, 0.5], x * X, zi=[0.0]), "lfilter with zi"),
        (lambda x: signal.sosfilt(x * sections, X), "sosfilt has a derivative rule with respect to x only"),
        (lambda x: signal.sosfilt(sections, x * X, zi=np.zeros((1, 2))), "sosfilt has a derivative rule with respect to x only"),
        (lambda x: signal.convolve2d(x * image, image, fillvalue=1.0), "convolutions in the plane with fillvalue"),
    ):
        with pytest.raises(NoRuleError, match=rf"scipy\.signal.*{words}"):
            jacrev(call)(2.0)


def test_scipys_own_errors_come_out():
    with pytest.raises(ValueError, match="same number of dimensions"):
        jacrev(lambda x: signal.convolve(x, np.ones((2, 2))))(X)
    with pytest.raises(ValueError, match="cceptable mode flags"):
        jacrev(lambda x: signal.convolve(x, Y, "most"))(X)
    with pytest.raises(ValueError):
        jacrev(lambda x: signal.lfilter([1.0], [0.0, 1.0], x))(X)
