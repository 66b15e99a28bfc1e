"""Exponential and trigonometric integrals, Spence's function, Lambert's W and Wright's omega, Dirichlet's kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from funcgrad.mapped import TRACERS, Mapped, is_all
from funcgrad.ops.elementwise import cos, cosh, divide, exp, log, sin, sinh, where
from funcgrad.ops.scipy.examples import is_differentiated, over_examples
from funcgrad.ops.scipy.special.elementary import exprel
from funcgrad.ops.scipy.special.hypergeometric import hyp2f1
from funcgrad.ops.scipy.special.kinds import below, no_rule, own, refuse_traced, ufunc, with_orders
from funcgrad.ops.scipy.special.spherical import spherical_jn
from funcgrad.primitive import Operation, register
from funcgrad.rules import general, unary
from funcgrad.rules.batching import broadcasting, in_front
from funcgrad.rules.values import is_complex

expi = unary(ufunc("expi"), lambda t, x: divide(exp(x), x) * t)
exp1 = unary(ufunc("exp1"), lambda t, x: -divide(exp(-x), x) * t)


def _expn_slope(t: Any, n: Any, x: Any) -> Any:
    """-expn(n - 1, x); expn(0, x) is exp(-x) / x."""
    if is_all(n > 0):
        return -expn(n - 1, x) * t
    zeroth = divide(exp(-x) * (x + 1.0), x * x)
    return -where(n == 0, zeroth, expn(below(n), x)) * t


expn: Any = with_orders(ufunc("expn"), n=None, x=_expn_slope)


def _sinc(x: Any) -> Any:
    """sin(x) / x, which is 1 at 0."""
    return divide(sin(x), x) if is_complex(x) else spherical_jn(0, x)


def _sinhc(x: Any) -> Any:
    """sinh(x) / x, which is 1 at 0."""
    return divide(sinh(x), x) if is_complex(x) else (exprel(x) + exprel(-x)) * 0.5


_sine_integral = unary(lambda x: special.sici(x)[0], lambda t, x: _sinc(x) * t, name="sine_integral")
_cosine_integral = unary(lambda x: special.sici(x)[1], lambda t, x: divide(cos(x), x) * t, name="cosine_integral")
_sinh_integral = unary(lambda x: special.shichi(x)[0], lambda t, x: _sinhc(x) * t, name="sinh_integral")
_cosh_integral = unary(lambda x: special.shichi(x)[1], lambda t, x: divide(cosh(x), x) * t, name="cosh_integral")
register(ufunc("sici"), lambda x: (_sine_integral(x), _cosine_integral(x)))
register(ufunc("shichi"), lambda x: (_sinh_integral(x), _cosh_integral(x)))


def _spence_slope(t: Any, x: Any) -> Any:
    """log(z) / (1 - z), which is -1 at z = 1."""
    return (divide(log(x), 1.0 - x) if is_complex(x) else -hyp2f1(1.0, 1.0, 2.0, 1.0 - x)) * t


spence = unary(ufunc("spence"), _spence_slope)

# ------------------------------------------------------------------------------------------------ Lambert's W


def _lambertw_slope(t: Any, ans: Any, z: Any, k: Any, tol: float) -> Any:
    return divide(exp(-ans), ans + 1.0) * t


wrightomega = unary(ufunc("wrightomega"), lambda t, ans: divide(ans, ans + 1.0) * t)
_lambertw: Operation = general(
    special.lambertw, [_lambertw_slope], [_lambertw_slope], "ans", batch=broadcasting(lambda z, k, tol: _lambertw(z, k, tol))
)


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """scipy.special.lambertw: complex, for real numbers too."""
    refuse_traced("lambertw", k=k)
    return _lambertw(z, k, tol) if type(z) in TRACERS or type(k) in TRACERS else special.lambertw(z, k, tol)


# ------------------------------------------------------------------------------------------------ Dirichlet's kernel


def _diric_derivative(m: int, x: Any, n: int) -> Any:
    """The m-th derivative of the kernel, the mean of n cosines whose frequencies are one apart."""
    frequencies = np.arange(n) - 0.5 * (n - 1)
    angles = np.multiply.outer(x, frequencies)
    waves = (np.cos(angles), -np.sin(angles), -np.cos(angles), np.sin(angles))[m % 4]
    return np.mean(frequencies**m * waves, axis=-1).astype(x.dtype if isinstance(x, (np.ndarray, np.generic)) else float, copy=False)[()]


diric_derivative: Any = own("diric_derivative", _diric_derivative, None, lambda t, m, x, n: diric_derivative(m + 1, x, n) * t, None)


def _diric_value(x: Any, n: int) -> Any:
    answer = special.diric(x, n)
    return float(answer) if type(x) is float else answer


def _diric_slope(t: Any, ans: Any, x: Any, n: int) -> Any:
    return diric_derivative(1, x, n) * t


_diric: Operation = general(_diric_value, [_diric_slope], [_diric_slope], "x", name="diric", batch=in_front(lambda x, n: _diric(x, n)))


def diric(x: Any, n: Any) -> Any:
    """scipy.special.diric."""
    refuse_traced("diric", n=n)
    if type(n) is Mapped:
        return over_examples(diric)(x, n)
    if type(x) not in TRACERS:
        return special.diric(x, n)
    if np.ndim(n) or n != int(n) or n < 1:
        if not is_differentiated(x):
            return over_examples(special.diric)(x, n)
        raise no_rule("diric", "an n that is not one positive whole number")
    return _diric(x, int(n))
