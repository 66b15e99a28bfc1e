"""The error function and its relatives: the normal distribution, Dawson's function, Voigt's profile, Owen's T.

Where a derivative is the small difference of large numbers far out (of erfcx and dawsn, and so of log_ndtr), it comes from the asymptotic
series there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from funcgrad.ops.elementwise import cos, divide, exp, sin, square
from funcgrad.ops.scipy.special.asymptotics import inverse_powers
from funcgrad.ops.scipy.special.kinds import dtype_of, own, ufunc, wide
from funcgrad.primitive import register
from funcgrad.rules import binary, elementwise, unary
from funcgrad.rules.values import is_complex

_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
_ROOT_TWO = math.sqrt(2.0)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
_FAR = 7.0  # from here on the series below is good to all digits

# ------------------------------------------------------------------------------------------------ erf


def _bell(x: Any) -> Any:
    """The derivative of erf."""
    return exp(-(x * x)) * _TWO_OVER_ROOT_PI


erf = unary(ufunc("erf"), lambda t, x: _bell(x) * t)
erfc = unary(ufunc("erfc"), lambda t, x: -_bell(x) * t)
erfi = unary(ufunc("erfi"), lambda t, x: (exp(x * x) * _TWO_OVER_ROOT_PI) * t)
erfinv = unary(ufunc("erfinv"), lambda t, ans: (exp(ans * ans) / _TWO_OVER_ROOT_PI) * t)
erfcinv = unary(ufunc("erfcinv"), lambda t, ans: (exp(ans * ans) / -_TWO_OVER_ROOT_PI) * t)

# erfcx and dawsn are solutions of f' = s (2 x f - c), so that f'' and all later ones follow from the two before; far out, where these
# cancel, both are c times the sum of (-s)^k (2k - 1)!! / (2^(k + 1) x^(2k + 1)).

_K = np.arange(26.0)
_EXPONENTS = 2.0 * _K + 1.0
_COEFFICIENTS = np.cumprod(np.concatenate([[0.5], _K[1:] - 0.5]))


def _derivatives(function: Any, sign: float, constant: float) -> Any:
    """(n, x) -> the n-th derivative of such a function, n > 0, for real x."""
    series = constant * _COEFFICIENTS * (-sign) ** _K

    def derivative(n: int, x: Any) -> Any:
        dtype = dtype_of(x)
        x = np.asarray(x, np.float64)
        before, last = function(x), sign * (2.0 * x * function(x) - constant)
        for k in range(1, n):
            before, last = last, (2.0 * sign) * (x * last + k * before)
        is_far = x > _FAR if sign > 0 else abs(x) > _FAR
        far = inverse_powers(np.where(is_far, abs(x), 1.0), n, _EXPONENTS, series)
        odd = np.where(x < 0, (-1.0) ** (n + 1), 1.0)
        return np.where(is_far, odd * far, last).astype(dtype)[()]

    return derivative


_ERFCX = _derivatives(special.erfcx, 1.0, _TWO_OVER_ROOT_PI)
_DAWSN = _derivatives(special.dawsn, -1.0, 1.0)
erfcx_derivative: Any = own("erfcx_derivative", _ERFCX, None, lambda t, n, x: erfcx_derivative(n + 1, x) * t)
dawsn_derivative: Any = own("dawsn_derivative", _DAWSN, None, lambda t, n, x: dawsn_derivative(n + 1, x) * t)


def _erfcx_slope(t: Any, x: Any) -> Any:
    return (x * erfcx(x) * 2.0 - _TWO_OVER_ROOT_PI if is_complex(x) else erfcx_derivative(1, x)) * t


def _dawsn_slope(t: Any, x: Any) -> Any:
    return (1.0 - x * dawsn(x) * 2.0 if is_complex(x) else dawsn_derivative(1, x)) * t


erfcx: Any = unary(ufunc("erfcx"), _erfcx_slope)
dawsn: Any = unary(ufunc("dawsn"), _dawsn_slope)
wofz: Any = unary(ufunc("wofz"), lambda t, x: (_TWO_OVER_ROOT_PI * 1j - x * wofz(x) * 2.0) * t)

# ------------------------------------------------------------------------------------------------ the normal distribution


def normal_density(x: Any) -> Any:
    """The derivative of ndtr."""
    return exp(x * x * -0.5) / _ROOT_TWO_PI


def _upper_mills(x: Any) -> Any:
    """ndtr(x) over its density, exact far out on the left, where both vanish."""
    return erfcx(x * (-1.0 / _ROOT_TWO)) * (0.5 * _ROOT_TWO_PI)


ndtr = unary(ufunc("ndtr"), lambda t, x: normal_density(x) * t)
log_ndtr = unary(ufunc("log_ndtr"), lambda t, x: divide(t, _upper_mills(x)))
ndtri = unary(ufunc("ndtri"), lambda t, ans: (exp(square(ans) * 0.5) * _ROOT_TWO_PI) * t)
ndtri_exp = unary(ufunc("ndtri_exp"), lambda t, ans: _upper_mills(ans) * t)


def _owens_h(t: Any, x: Any, y: Any) -> Any:
    y = wide(y)
    return (normal_density(x) * erf(x * y * (1.0 / _ROOT_TWO)) * -0.5) * t


def _owens_a(t: Any, x: Any, y: Any) -> Any:
    x, spread = wide(x), y * y + 1.0
    return divide(exp(x * x * spread * -0.5), spread * (2.0 * math.pi)) * t


owens_t = binary(ufunc("owens_t"), _owens_h, _owens_a)


# Voigt's profile is the real part of w(z) / (sigma sqrt(2 pi)), z = (x + i gamma) / (sigma sqrt 2).


def _faddeeva(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any, Any]:
    """z, w(z) and the derivative of w."""
    z = divide(x + gamma * 1j, sigma * _ROOT_TWO)
    value = wofz(z)
    return z, value, _TWO_OVER_ROOT_PI * 1j - z * value * 2.0


def _voigt_x(t: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    _, _, slope = _faddeeva(x, sigma, gamma)
    return divide(slope.real, square(1.0 * sigma) * (_ROOT_TWO * _ROOT_TWO_PI)) * t


def _voigt_sigma(t: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    z, value, slope = _faddeeva(x, sigma, gamma)
    return -divide((value + z * slope).real, square(1.0 * sigma) * _ROOT_TWO_PI) * t


def _voigt_gamma(t: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    _, _, slope = _faddeeva(x, sigma, gamma)
    return -divide(slope.imag, square(1.0 * sigma) * (_ROOT_TWO * _ROOT_TWO_PI)) * t


voigt_profile = elementwise(ufunc("voigt_profile"), _voigt_x, _voigt_sigma, _voigt_gamma)

# ------------------------------------------------------------------------------------------------ Fresnel

_fresnel_s: Any = unary(lambda x: special.fresnel(x)[0], lambda t, x: sin(x * x * (0.5 * math.pi)) * t, name="fresnel_s")
_fresnel_c: Any = unary(lambda x: special.fresnel(x)[1], lambda t, x: cos(x * x * (0.5 * math.pi)) * t, name="fresnel_c")
register(ufunc("fresnel"), lambda x: (_fresnel_s(x), _fresnel_c(x)))
