"""Bessel, Hankel, Airy and Struve functions, differentiated in their argument: in the order there is no closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from funcgrad.mapped import is_any
from funcgrad.ops.elementwise import power
from funcgrad.ops.scipy.special.asymptotics import inverse_powers
from funcgrad.ops.scipy.special.gamma import rgamma
from funcgrad.ops.scipy.special.kinds import dtype_of, no_rule, own, ufunc, with_orders
from funcgrad.primitive import Operation, register
from funcgrad.rules import unary
from funcgrad.rules.values import is_complex


def _differences(name: str, sign: float, is_analytic: bool = True) -> Operation:
    """A function whose derivative is (f(v - 1) + sign f(v + 1)) / 2."""

    def slope(t: Any, v: Any, z: Any) -> Any:
        if not is_analytic and is_complex(z):
            raise no_rule(name, "the derivative at complex numbers, where the function is not analytic,")
        return ((operation(v - 1, z) + operation(v + 1, z) * sign) * 0.5) * t

    operation = with_orders(ufunc(name), v=None, z=slope)
    return operation


jv = _differences("jv", -1.0)
jve = _differences("jve", -1.0, is_analytic=False)
yv = _differences("yv", -1.0)
yve = _differences("yve", -1.0, is_analytic=False)
yn = _differences("yn", -1.0)
iv = _differences("iv", 1.0)
hankel1 = _differences("hankel1", -1.0)
hankel2 = _differences("hankel2", -1.0)
kv: Any = with_orders(ufunc("kv"), v=None, z=lambda t, v, z: ((kv(v - 1, z) + kv(v + 1, z)) * -0.5) * t)
kn: Any = with_orders(ufunc("kn"), n=None, x=lambda t, n, x: ((kn(abs(n - 1), x) + kn(n + 1, x)) * -0.5) * t)
hankel1e: Any = with_orders(
    ufunc("hankel1e"), v=None, z=lambda t, v, z: ((hankel1e(v - 1, z) - hankel1e(v + 1, z)) * 0.5 - hankel1e(v, z) * 1j) * t
)
hankel2e: Any = with_orders(
    ufunc("hankel2e"), v=None, z=lambda t, v, z: ((hankel2e(v - 1, z) - hankel2e(v + 1, z)) * 0.5 + hankel2e(v, z) * 1j) * t
)

j0: Any = unary(ufunc("j0"), lambda t, x: -j1(x) * t)
j1: Any = unary(ufunc("j1"), lambda t, x: ((j0(x) - jv(2, x)) * 0.5) * t)
y0: Any = unary(ufunc("y0"), lambda t, x: -y1(x) * t)
y1: Any = unary(ufunc("y1"), lambda t, x: ((y0(x) - yn(2, x)) * 0.5) * t)
i0: Any = unary(ufunc("i0"), lambda t, x: i1(x) * t, name="scipy_i0")
i1: Any = unary(ufunc("i1"), lambda t, x: ((i0(x) + iv(2, x)) * 0.5) * t)
k0: Any = unary(ufunc("k0"), lambda t, x: -k1(x) * t)
k1: Any = unary(ufunc("k1"), lambda t, x: ((k0(x) + kn(2, x)) * -0.5) * t)
register(ufunc("i0"), i0)  # not np.i0

# ------------------------------------------------------------------------------------------------ scaled exponentially

# Of exp(-|x|) I_v(x) and exp(x) K_v(x) the derivatives are differences in the order: with E f_v = f_(v+1) the n-th are, for x > 0,
# (E - 2 + 1/E)^n f_v / (+-2)^n. Far out these cancel, and the asymptotic series takes their place:
# f_v ~ c sum_k (-+1)^k a_k(v) / x^(k + 1/2), a_k = a_(k-1) (4 v^2 - (2 k - 1)^2) / (8 k).

_FAR = 30.0
_K = np.arange(17.0)


def _ive_near(n: int, v: Any, x: Any) -> Any:
    def weight(j: int) -> Any:
        """The mean of both sides where x is 0."""
        return np.where(x == 0, (j + 1.0) % 2.0, (-np.sign(x)) ** j)

    return sum(math.comb(2 * n, j) * weight(j) * special.ive(v + (n - j), x) for j in range(2 * n + 1)) * 0.5**n


def _kve_near(n: int, v: Any, x: Any) -> Any:
    return sum(math.comb(2 * n, j) * (-1.0) ** j * special.kve(v + (n - j), x) for j in range(2 * n + 1)) * (-0.5) ** n


def _far(n: int, v: Any, x: Any, sign: float, constant: float) -> Any:
    k = np.reshape(_K[1:], (-1,) + (1,) * np.ndim(v))
    ratios = (4.0 * v * v - (2.0 * k - 1.0) ** 2) * (sign / (8.0 * k))
    return inverse_powers(x, n, _K + 0.5, constant * np.cumprod(np.concatenate([np.ones_like(v)[None], ratios]), axis=0))


def _joined(near: Any, sign: float, constant: float) -> Any:
    """(n, v, x) -> the n-th derivative at real x."""

    def derivative(n: int, v: Any, x: Any) -> Any:
        dtype = dtype_of(v, x)
        v, x = np.asarray(v, np.float64), np.asarray(x, np.float64)
        found, size = near(n, v, x), abs(x) if sign < 0 else x
        is_far = size > np.maximum(_FAR, v * v)
        if is_any(is_far):
            side = np.where(x < 0, (-1.0) ** (v + n), 1.0)
            found = np.where(is_far, side * _far(n, v, np.where(is_far, size, 1.0), sign, constant), found)
        return np.asarray(found, dtype)[()]

    return derivative


_IVE = _joined(_ive_near, -1.0, 1.0 / math.sqrt(2.0 * math.pi))
_KVE = _joined(_kve_near, 1.0, math.sqrt(0.5 * math.pi))


ive_derivative: Any = own("ive_derivative", _IVE, None, None, lambda t, n, v, x: ive_derivative(n + 1, v, x) * t)
kve_derivative: Any = own("kve_derivative", _KVE, None, None, lambda t, n, v, x: kve_derivative(n + 1, v, x) * t)


def _ive_slope(t: Any, v: Any, z: Any) -> Any:
    if is_complex(z):
        raise no_rule("ive", "the derivative at complex numbers, where the function is not analytic,")
    return ive_derivative(1, v, z) * t


def _kve_slope(t: Any, v: Any, z: Any) -> Any:
    return (kve(v, z) - (kve(v - 1, z) + kve(v + 1, z)) * 0.5 if is_complex(z) else kve_derivative(1, v, z)) * t


ive = with_orders(ufunc("ive"), v=None, z=_ive_slope)
kve: Any = with_orders(ufunc("kve"), v=None, z=_kve_slope)
i0e = unary(ufunc("i0e"), lambda t, x: ive_derivative(1, 0.0, x) * t)
i1e = unary(ufunc("i1e"), lambda t, x: ive_derivative(1, 1.0, x) * t)
k0e = unary(ufunc("k0e"), lambda t, x: kve_derivative(1, 0.0, x) * t)
k1e = unary(ufunc("k1e"), lambda t, x: kve_derivative(1, 1.0, x) * t)

# ------------------------------------------------------------------------------------------------ Struve and Airy


def _struve(name: str, sign: float) -> Operation:
    def slope(t: Any, v: Any, x: Any) -> Any:
        power_term = power(x * 0.5, v) * (rgamma(v + 1.5) / math.sqrt(math.pi))
        return ((operation(v - 1.0, x) + operation(v + 1.0, x) * sign + power_term) * 0.5) * t

    operation = with_orders(ufunc(name), v=None, x=slope)
    return operation


struve = _struve("struve", -1.0)
modstruve = _struve("modstruve", 1.0)

_airy_a: Any = unary(lambda x: special.airy(x)[0], lambda t, x: _airy_a_slope(x) * t, name="airy_a")
_airy_a_slope: Any = unary(lambda x: special.airy(x)[1], lambda t, x: (_airy_a(x) * x) * t, name="airy_a_slope")
_airy_b: Any = unary(lambda x: special.airy(x)[2], lambda t, x: _airy_b_slope(x) * t, name="airy_b")
_airy_b_slope: Any = unary(lambda x: special.airy(x)[3], lambda t, x: (_airy_b(x) * x) * t, name="airy_b_slope")
register(ufunc("airy"), lambda x: (_airy_a(x), _airy_a_slope(x), _airy_b(x), _airy_b_slope(x)))
