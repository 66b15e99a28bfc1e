"""Distribution functions that are incomplete gamma and beta functions of their argument, and Student's t."""

from __future__ import annotations

from typing import Any

from funcgrad.ops.elementwise import divide, exp, floor, log1p, sqrt, square
from funcgrad.ops.scipy.special.gamma import betaln
from funcgrad.ops.scipy.special.incomplete import beta_density, gamma_density
from funcgrad.ops.scipy.special.kinds import ufunc, with_orders


def _chi_square(v: Any, x: Any) -> Any:
    return gamma_density(0.5 * v, 0.5 * x) * 0.5


chdtr = with_orders(ufunc("chdtr"), v=None, x=lambda t, v, x: _chi_square(v, x) * t)
chdtrc = with_orders(ufunc("chdtrc"), v=None, x=lambda t, v, x: -_chi_square(v, x) * t)
chdtri: Any = with_orders(ufunc("chdtri"), v=None, p=lambda t, v, p: -divide(t, _chi_square(v, chdtri(v, p))))

gdtr = with_orders(  # a is the rate, b the shape
    ufunc("gdtr"),
    a=lambda t, a, b, x: (gamma_density(b, a * x) * x) * t,
    b=None,
    x=lambda t, a, b, x: (gamma_density(b, a * x) * a) * t,
)
gdtrc = with_orders(
    ufunc("gdtrc"),
    a=lambda t, a, b, x: -(gamma_density(b, a * x) * x) * t,
    b=None,
    x=lambda t, a, b, x: -(gamma_density(b, a * x) * a) * t,
)

pdtr = with_orders(ufunc("pdtr"), k=None, m=lambda t, k, m: -gamma_density(floor(k) + 1.0, m) * t)
pdtrc = with_orders(ufunc("pdtrc"), k=None, m=lambda t, k, m: gamma_density(floor(k) + 1.0, m) * t)


def _binomial(k: Any, n: Any, p: Any) -> Any:
    k = floor(k)
    return beta_density(n - k, k + 1.0, 1.0 - p)


bdtr = with_orders(ufunc("bdtr"), k=None, n=None, p=lambda t, k, n, p: -_binomial(k, n, p) * t)
bdtrc = with_orders(ufunc("bdtrc"), k=None, n=None, p=lambda t, k, n, p: _binomial(k, n, p) * t)
nbdtr = with_orders(ufunc("nbdtr"), k=None, n=None, p=lambda t, k, n, p: beta_density(n, floor(k) + 1.0, p) * t)
nbdtrc = with_orders(ufunc("nbdtrc"), k=None, n=None, p=lambda t, k, n, p: -beta_density(n, floor(k) + 1.0, p) * t)


def _f_density(dfn: Any, dfd: Any, x: Any) -> Any:
    total = dfn * x + dfd
    return beta_density(0.5 * dfn, 0.5 * dfd, divide(dfn * x, total)) * divide(dfn * dfd, square(total))


fdtr = with_orders(ufunc("fdtr"), dfn=None, dfd=None, x=lambda t, dfn, dfd, x: _f_density(dfn, dfd, x) * t)
fdtrc = with_orders(ufunc("fdtrc"), dfn=None, dfd=None, x=lambda t, dfn, dfd, x: -_f_density(dfn, dfd, x) * t)
fdtri: Any = with_orders(ufunc("fdtri"), dfn=None, dfd=None, p=lambda t, dfn, dfd, p: divide(t, _f_density(dfn, dfd, fdtri(dfn, dfd, p))))


def _t_density(df: Any, x: Any) -> Any:
    half = 0.5 * df
    return divide(exp(-betaln(0.5, half) - (half + 0.5) * log1p(divide(square(x), df))), sqrt(1.0 * df))


stdtr = with_orders(ufunc("stdtr"), df=None, x=lambda t, df, x: _t_density(df, x) * t)
stdtrit: Any = with_orders(ufunc("stdtrit"), df=None, p=lambda t, df, p: divide(t, _t_density(df, stdtrit(df, p))))
