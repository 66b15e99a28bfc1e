"""The incomplete gamma and beta functions and their inverses: their derivatives are densities.

Only the last argument has one; those in the parameters of shape are no closed forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.mapped import is_all
from funcgrad.ops.elementwise import divide, exp, power, where
from funcgrad.ops.scipy.special.entropy import xlog1py, xlogy
from funcgrad.ops.scipy.special.gamma import betaln, gammaln
from funcgrad.ops.scipy.special.kinds import ufunc, with_orders
from funcgrad.rules.values import raw

_LARGEST = 700.0  # its exponential is finite


def gamma_density(a: Any, x: Any) -> Any:
    """x**(a - 1) exp(-x) / gamma(a). At 0 as a power, so that its derivatives are right there too."""
    plain = raw(x)
    is_inside = (plain > 0) & (plain < np.inf)
    inside = where(is_inside, x, 1.0)
    density = exp(xlogy(a - 1.0, inside) - inside - gammaln(1.0 * a))
    if is_all(is_inside):
        return density
    is_zero = plain == 0
    zero = where(is_zero, x, 0.0)
    at_zero = power(zero, a - 1.0) * exp(-zero - gammaln(1.0 * a))
    outside = where((plain < 0) | (plain != plain), np.nan, 0.0)
    return where(is_inside, density, where(is_zero, at_zero, outside))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x**(a - 1) (1 - x)**(b - 1) / beta(a, b). At 0 and 1 as powers, so that its derivatives are right there too."""
    plain = raw(x)
    is_inside = (plain > 0) & (plain < 1)
    inside = where(is_inside, x, 0.5)
    size = betaln(1.0 * a, 1.0 * b)
    density = exp(xlogy(a - 1.0, inside) + xlog1py(b - 1.0, -inside) - size)
    if is_all(is_inside):
        return density
    is_end = (plain == 0) | (plain == 1)
    end = where(is_end, x, 0.0)
    scale = exp(where(raw(size) < -_LARGEST, _LARGEST, -size))  # the powers that are not zero are small ones
    at_end = power(end, a - 1.0) * power(1.0 - end, b - 1.0) * scale
    return where(is_inside, density, where(is_end, at_end, np.nan))


gammainc = with_orders(ufunc("gammainc"), a=None, x=lambda t, a, x: gamma_density(a, x) * t)
gammaincc = with_orders(ufunc("gammaincc"), a=None, x=lambda t, a, x: -gamma_density(a, x) * t)
gammaincinv: Any = with_orders(ufunc("gammaincinv"), a=None, y=lambda t, a, y: divide(t, gamma_density(a, gammaincinv(a, y))))
gammainccinv: Any = with_orders(ufunc("gammainccinv"), a=None, y=lambda t, a, y: -divide(t, gamma_density(a, gammainccinv(a, y))))

betainc = with_orders(ufunc("betainc"), a=None, b=None, x=lambda t, a, b, x: beta_density(a, b, x) * t)
betaincc = with_orders(ufunc("betaincc"), a=None, b=None, x=lambda t, a, b, x: -beta_density(a, b, x) * t)
betaincinv: Any = with_orders(ufunc("betaincinv"), a=None, b=None, y=lambda t, a, b, y: divide(t, beta_density(a, b, betaincinv(a, b, y))))
betainccinv: Any = with_orders(
    ufunc("betainccinv"), a=None, b=None, y=lambda t, a, b, y: -divide(t, beta_density(a, b, betainccinv(a, b, y)))
)
