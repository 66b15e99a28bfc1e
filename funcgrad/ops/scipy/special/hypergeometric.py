"""Hypergeometric functions, differentiated in their argument, and elliptic integrals and functions."""

from __future__ import annotations

import math
from typing import Any

from scipy import special

from funcgrad.ops.elementwise import divide, sin, sqrt, where
from funcgrad.ops.scipy.special.kinds import own, refuse_traced, ufunc, with_orders
from funcgrad.primitive import register
from funcgrad.rules import unary
from funcgrad.rules.values import raw

hyp0f1: Any = with_orders(ufunc("hyp0f1"), v=None, z=lambda t, v, z: (hyp0f1(v + 1.0, z) / v) * t)
hyp1f1: Any = with_orders(ufunc("hyp1f1"), a=None, b=None, x=lambda t, a, b, x: (hyp1f1(a + 1.0, b + 1.0, x) * (a / b)) * t)
hyp2f1: Any = with_orders(
    ufunc("hyp2f1"),
    a=None,
    b=None,
    c=None,
    z=lambda t, a, b, c, z: (hyp2f1(a + 1.0, b + 1.0, c + 1.0, z) * (a * b / c)) * t,
)
hyperu: Any = with_orders(ufunc("hyperu"), a=None, b=None, x=lambda t, a, b, x: (hyperu(a + 1.0, b + 1.0, x) * -a) * t)

# ------------------------------------------------------------------------------------------------ elliptic integrals

# The complete ones are hypergeometric functions of the parameter m, which are exact at m = 0 and near 1 alike.


def _ellipkm1_slope(t: Any, x: Any) -> Any:
    """-K'(1 - p): near p = 0 by the differential equation, which has no 1 - p in it."""
    is_small = raw(x) < 0.5
    small, other = where(is_small, x, 0.25), where(is_small, 1.0, x)
    near = divide(ellipe(1.0 - small) - small * ellipkm1(small), small * (1.0 - small)) * 0.5
    return -where(is_small, near, hyp2f1(1.5, 1.5, 2.0, 1.0 - other) * (math.pi / 8.0)) * t


ellipk = unary(ufunc("ellipk"), lambda t, x: (hyp2f1(1.5, 1.5, 2.0, x) * (math.pi / 8.0)) * t)
ellipkm1: Any = unary(ufunc("ellipkm1"), _ellipkm1_slope)
ellipe: Any = unary(ufunc("ellipe"), lambda t, x: (hyp2f1(0.5, 1.5, 2.0, x) * (-math.pi / 8.0)) * t)


def _delta(phi: Any, m: Any) -> Any:
    sine = sin(phi)
    return sqrt(1.0 - sine * sine * m)


ellipkinc = with_orders(ufunc("ellipkinc"), phi=lambda t, phi, m: divide(t, _delta(phi, m)), m=None)
ellipeinc = with_orders(ufunc("ellipeinc"), phi=lambda t, phi, m: _delta(phi, m) * t, m=None)

# ------------------------------------------------------------------------------------------------ Jacobi's elliptic functions


def _jacobi(n: int) -> Any:
    return lambda u, m: special.ellipj(u, m)[n]


_sn: Any = own("ellipj_sn", _jacobi(0), lambda t, u, m: (_cn(u, m) * _dn(u, m)) * t, None)
_cn: Any = own("ellipj_cn", _jacobi(1), lambda t, u, m: -(_sn(u, m) * _dn(u, m)) * t, None)
_dn: Any = own("ellipj_dn", _jacobi(2), lambda t, u, m: (_sn(u, m) * _cn(u, m) * -m) * t, None)
_phi: Any = own("ellipj_phi", _jacobi(3), lambda t, u, m: _dn(u, m) * t, None)


def ellipj(u: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """scipy.special.ellipj."""
    refuse_traced("ellipj", m=m)
    return _sn(u, m), _cn(u, m), _dn(u, m), _phi(u, m)


register(ufunc("ellipj"), ellipj)
