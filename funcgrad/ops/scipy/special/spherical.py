"""Spherical Bessel functions, and the n-th derivatives of Bessel functions: jvp, yvp, ivp, kvp, h1vp, h2vp."""

from __future__ import annotations

from typing import Any

from scipy import special

from funcgrad.mapped import TRACERS
from funcgrad.ops.scipy.special.kinds import below, own, refuse_traced
from funcgrad.primitive import Operation


def _spherical(function: Any, up: float, down: float) -> Operation:
    """A function whose derivative is (down n f(n - 1) + up (n + 1) f(n + 1)) / (2 n + 1), and so is its derivative's."""

    def slope(t: Any, n: Any, z: Any, derivative: Any) -> Any:
        lower, higher = each(below(n), z, derivative), each(n + 1, z, derivative)
        return ((lower * (down * n) + higher * (up * (n + 1))) / (2 * n + 1)) * t

    def value(n: Any, z: Any, derivative: Any) -> Any:
        return function(n, z, bool(derivative))

    each = own(function.__name__, value, None, slope, None)

    def operation(n: Any, z: Any, derivative: bool = False) -> Any:
        refuse_traced(function.__name__, n=n)
        return each(n, z, bool(derivative)) if type(z) in TRACERS or type(n) in TRACERS else function(n, z, derivative)

    operation.__name__ = operation.__qualname__ = function.__name__
    operation.__doc__ = f"scipy.special.{function.__name__}."
    return operation


spherical_jn = _spherical(special.spherical_jn, -1.0, 1.0)
spherical_yn = _spherical(special.spherical_yn, -1.0, 1.0)
spherical_in = _spherical(special.spherical_in, 1.0, 1.0)
spherical_kn = _spherical(special.spherical_kn, -1.0, -1.0)


def _derivative(function: Any) -> Operation:
    """A function of (v, z, n) that is the n-th derivative in z of another."""
    each: Any = own(f"scipy_{function.__name__}", function, None, lambda t, v, z, n: each(v, z, n + 1) * t, None)

    def operation(v: Any, z: Any, n: int = 1) -> Any:
        refuse_traced(function.__name__, v=v)
        return each(v, z, n) if type(z) in TRACERS or type(v) in TRACERS else function(v, z, n)

    operation.__name__ = operation.__qualname__ = function.__name__
    operation.__doc__ = f"scipy.special.{function.__name__}."
    return operation


jvp, yvp, ivp, kvp, h1vp, h2vp = map(_derivative, (special.jvp, special.yvp, special.ivp, special.kvp, special.h1vp, special.h2vp))
