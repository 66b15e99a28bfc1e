"""Fourier transforms against the matrices that they stand for, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp, vjp
from funcgrad.errors import ConcretizationError, NoRuleError
from tests.witnesses import NUMPY

NORMS: dict[Any, float] = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}
A = np.array
POINTS = A([0.3, -1.2, 0.8, 2.0, -0.4])
EVEN, ODD = np.arange(1.0, 7.0), np.arange(1.0, 6.0)


def matrix(n: int, norm: str | None, sign: int) -> np.ndarray:
    """The transform of n numbers; sign 1 makes it the inverse."""
    j = np.arange(n)
    exponent = NORMS[norm] if sign < 0 else 1.0 - NORMS[norm]
    return np.exp(sign * 2j * np.pi * np.outer(j, j) / n) / n**exponent


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("size", "n"), [(4, 4), (5, 5), (5, 3), (3, 6), (4, 7), (3, 1), (1, 4), (2, 2)])
class TestAgainstMatrices:
    def held_to(self, function: Any, wanted: np.ndarray, x: np.ndarray, n: int, norm: Any) -> None:
        """The function is the matrix; its transpose is the transpose, for what is real the real part."""
        value, pullback = vjp(lambda x: function(x, n, norm=norm), x)
        ct = np.arange(1.0, len(value) + 1)
        ct = ct + 0.5j * ct[::-1] if np.iscomplexobj(value) else ct
        image, back = wanted @ x, wanted.T @ ct
        np.testing.assert_allclose(value, image if np.iscomplexobj(value) else image.real, atol=1e-14)
        np.testing.assert_allclose(pullback(ct)[0], back if np.iscomplexobj(x) else back.real, atol=1e-13)

    def test_of_complex_numbers(self, size: int, n: int, norm: Any):
        for function, sign in ((np.fft.fft, -1), (np.fft.ifft, 1)):
            for x in (POINTS[:size], POINTS[:size] + 1j * ODD[:size]):
                self.held_to(function, matrix(n, norm, sign) @ np.eye(n, size), x, n, norm)

    def test_of_real_numbers(self, size: int, n: int, norm: Any):
        for function, sign in ((np.fft.rfft, -1), (np.fft.ihfft, 1)):
            self.held_to(function, (matrix(n, norm, sign) @ np.eye(n, size))[: n // 2 + 1], POINTS[:size], n, norm)

    def test_to_real_numbers(self, size: int, n: int, norm: Any):
        weights = A([1.0 if k == 0 or 2 * k == n else 2.0 for k in range(n // 2 + 1)])
        for function, sign in ((np.fft.irfft, 1), (np.fft.hfft, -1)):
            half = (matrix(n, norm, sign)[:, : n // 2 + 1] * weights) @ np.eye(n // 2 + 1, size)
            for x in (POINTS[:size], POINTS[:size] + 1j * ODD[:size]):
                self.held_to(function, half, x, n, norm)


@pytest.mark.parametrize("x", [EVEN, ODD, EVEN + 1j * EVEN[::-1], EVEN.reshape(2, 3)], ids=str)
def test_parseval(x: np.ndarray):
    for norm, factor in ((None, x.size), ("ortho", 1.0), ("forward", 1.0 / x.size)):
        gradient = grad(lambda x, norm=norm: np.sum(np.abs(np.fft.fftn(x, norm=norm)) ** 2))(x)
        np.testing.assert_allclose(gradient, 2.0 * factor * x.conj(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("x", [EVEN, ODD, EVEN.reshape(2, 3), np.arange(24.0).reshape(2, 3, 4)], ids=str)
def test_transforms_there_and_back_are_the_identity(x: np.ndarray):
    weights = np.cos(x)
    for there, back in (
        (lambda x: np.fft.fftn(x), lambda z: np.real(np.fft.ifftn(z))),
        (lambda x: np.fft.rfftn(x), lambda z: np.fft.irfftn(z, x.shape, range(x.ndim))),
        (lambda x: np.fft.fftshift(x), lambda z: np.fft.ifftshift(z)),
    ):
        np.testing.assert_allclose(grad(lambda x, there=there, back=back: np.sum(weights * back(there(x))))(x), weights, atol=1e-14)


def test_the_spectral_derivative_is_antisymmetric():
    frequencies, weights = 2j * np.pi * np.fft.rfftfreq(5, 0.2), np.cos(ODD)

    def derivative(u: Any) -> Any:
        return np.fft.irfft(frequencies * np.fft.rfft(u), 5)

    np.testing.assert_allclose(grad(lambda u: np.sum(weights * derivative(u)))(ODD), -derivative(weights), rtol=1e-13)


def test_convolution_by_transforms_has_the_derivatives_of_the_direct_one():
    def by_transforms(a: Any, v: Any) -> Any:
        return np.sum(np.fft.irfft(np.fft.rfft(a, 8) * np.fft.rfft(v, 8), 8)[:7] ** 3)

    direct = grad(lambda a, v: np.sum(np.convolve(a, v) ** 3), (0, 1))(POINTS, A([1.0, -2.0, 0.5]))
    for one, other in zip(grad(by_transforms, (0, 1))(POINTS, A([1.0, -2.0, 0.5])), direct, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_imaginary_parts_of_frequencies_that_are_their_own_mirror_image_count_for_nothing():
    weights, z = A([1.0, -2.0, 0.5, 3.0]), A([1.0 + 2.0j, 0.3 - 1.0j, 2.0 + 1.0j])
    gradient = grad(lambda z: np.sum(weights * np.fft.irfft(z)))(z)
    assert gradient[0].imag == 0.0
    assert gradient[2].imag == 0.0
    np.testing.assert_allclose(gradient, [0.625, 0.25 - 2.5j, 0.125], atol=1e-15)


def test_a_tangent_is_transformed_as_the_value():
    x, t = EVEN.reshape(2, 3), np.cos(EVEN).reshape(2, 3)
    for function in (np.fft.fft2, np.fft.rfft, np.fft.rfft2, np.fft.irfft, np.fft.hfft, np.fft.ifftn, np.fft.fftshift):
        np.testing.assert_array_equal(jvp(function, (x,), (t,))[1], function(t))


def test_precision_is_kept():
    for kind in (np.float32, np.complex64):
        x = EVEN.astype(kind)
        gradient = grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x)
        assert gradient.dtype == kind
        np.testing.assert_allclose(gradient, 12.0 * x, rtol=1e-5)


def _sum(function: Any, **options: Any) -> Any:
    return grad(lambda x: np.sum(np.abs(function(x, **options))))


@pytest.mark.parametrize("function", [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft])
def test_numpys_errors_stay(function: Any):
    with pytest.raises(ValueError, match="norm"):
        _sum(function, norm="sideways")(EVEN)
    with pytest.raises(ValueError, match="FFT data points"):
        _sum(function, n=0)(EVEN)
    with pytest.raises(IndexError):
        _sum(function, axis=1)(EVEN)
    with pytest.raises(IndexError):
        _sum(function)(1.0)


def test_real_transforms_refuse_complex_numbers_as_numpy_does():
    with pytest.raises((TypeError, np.exceptions.ComplexWarning)):
        _sum(np.fft.rfft)(EVEN + 1j)


def test_several_axes_that_do_not_fit():
    with pytest.raises(ValueError, match="different lengths"):
        _sum(np.fft.fftn, s=(2,), axes=(0, 1))(EVEN.reshape(2, 3))
    with pytest.raises(NoRuleError, match=r"np\.fft\.rfftn\(axes=\(0, -2\)\)"):
        _sum(np.fft.rfft2, axes=(0, -2))(EVEN.reshape(2, 3))


@pytest.mark.skipif(NUMPY < (2, 0), reason="NumPy 1 has no out=")
def test_out_is_refused():
    with pytest.raises(ConcretizationError, match="out=array"):
        _sum(np.fft.fft, out=np.zeros(6, complex))(EVEN)
    with pytest.raises(ConcretizationError, match="out=array"):
        _sum(np.fft.irfft2, out=np.zeros((2, 4)))(EVEN.reshape(2, 3))
