"""numpy.emath on both sides of the ends of the real domains, against closed forms; np.real_if_close."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp

ROOT3, LN2, LN10 = 3.0**0.5, float(np.log(2.0)), float(np.log(10.0))

OUTSIDE = [
    (np.emath.sqrt, -4.0, -0.25j),
    (np.emath.log, -2.0, -0.5),
    (np.emath.log2, -2.0, -0.5 / LN2),
    (np.emath.log10, -2.0, -0.5 / LN10),
    (np.emath.arctanh, 2.0, -1.0 / 3.0),
    (np.emath.arctanh, -2.0, -1.0 / 3.0),
    (lambda x: np.emath.logn(2, x), -2.0, -0.5 / LN2),
    (lambda x: np.emath.power(x, 2), -3.0, -6.0),
    (lambda x: np.emath.power(x, 0.5), -4.0, -0.25j),
    (lambda x: np.emath.power(x, -1), -2.0, -0.25),
    (lambda p: np.emath.power(-1.0, p), 1.0, -1j * np.pi),
    (np.emath.arcsin, 2.0, 1j / ROOT3),
    (np.emath.arcsin, -2.0, -1j / ROOT3),
    (np.emath.arccos, 2.0, -1j / ROOT3),
    (np.emath.arccos, -2.0, 1j / ROOT3),
]
"""A function, a point outside of the real domain, the derivative there."""


@pytest.mark.parametrize(("f", "x", "slope"), OUTSIDE)
def test_outside_of_the_real_domain(f: Any, x: float, slope: complex):
    value, out = jvp(f, (np.array([x]),), (np.array([1.0]),))
    assert value.dtype == out.dtype == np.complex128
    np.testing.assert_array_equal(value, f(np.array([x])))
    np.testing.assert_allclose(out, [slope], rtol=1e-15)
    for part, wanted in ((np.real, out[0].real), (np.imag, out[0].imag)):
        gradient = grad(lambda x, part=part: np.sum(part(f(x))))(np.array([x]))
        assert gradient.dtype == np.float64
        np.testing.assert_allclose(gradient, [wanted], rtol=1e-15)


INSIDE = [np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10, np.emath.arcsin, np.emath.arccos, np.emath.arctanh]


@pytest.mark.parametrize("f", INSIDE, ids=lambda f: f.__name__)
def test_inside_it_is_the_real_function(f: Any):
    x = np.array([0.25, 0.5])
    value, out = jvp(f, (x,), (np.ones(2),))
    assert value.dtype == out.dtype == np.float64
    np.testing.assert_array_equal(out, jvp(getattr(np, f.__name__), (x,), (np.ones(2),))[1])


def test_one_element_outside_makes_all_complex():
    weights, x = np.array([1.0, 10.0]), np.array([4.0, -4.0])
    np.testing.assert_allclose(grad(lambda x: np.sum(weights * np.real(np.emath.sqrt(x))))(x), [0.25, 0.0])
    np.testing.assert_allclose(grad(lambda x: np.sum(weights * np.imag(np.emath.sqrt(x))))(x), [0.0, -2.5])


def test_single_precision_stays_single():
    x = np.array([4.0, -4.0], np.float32)
    value, out = jvp(np.emath.sqrt, (x,), (x,))
    assert value.dtype == out.dtype == np.complex64
    assert grad(lambda x: np.sum(np.abs(np.emath.log(x))))(x).dtype == np.float32


def test_real_if_close():
    real, complex_ = np.array([1.0, 2.0]), np.array([1.0 + 1e-15j, 2.0])
    np.testing.assert_array_equal(jvp(np.real_if_close, (real,), (real,))[1], real)
    value, out = jvp(np.real_if_close, (complex_,), (np.array([1.0 + 5.0j, 2.0j]),))
    assert value.dtype == out.dtype == np.float64
    np.testing.assert_array_equal(out, [1.0, 0.0])
    np.testing.assert_array_equal(grad(lambda z: np.sum(np.real_if_close(z) ** 2))(complex_), [2.0, 4.0])
    np.testing.assert_array_equal(grad(lambda z: np.sum(np.real(np.real_if_close(z, tol=2) ** 2)))(complex_), 2.0 * complex_)
