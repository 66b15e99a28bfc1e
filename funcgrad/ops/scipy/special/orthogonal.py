"""Orthogonal polynomials, differentiated in their argument: derivatives of classical ones are classical ones again."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.mapped import is_any
from funcgrad.ops.elementwise import where
from funcgrad.ops.scipy.special.kinds import ufunc, with_orders
from funcgrad.primitive import Operation


def _lowered(n: Any, polynomial: Any) -> Any:
    """A polynomial of degree n - 1, which is nothing where n is 0."""
    is_constant = np.equal(n, 0)
    if not is_any(is_constant):
        return polynomial(n - 1)
    return where(is_constant, 0.0, polynomial(where(is_constant, 0, n - 1)))


def _polynomial(name: str, slope: Any) -> Operation:
    """`slope(n, x)`, the derivative."""
    return with_orders(ufunc(name), n=None, x=lambda t, n, x: slope(n, x) * t)


jacobi: Any = with_orders(
    ufunc("eval_jacobi"),
    n=None,
    alpha=None,
    beta=None,
    x=lambda t, n, alpha, beta, x: (_lowered(n, lambda k: jacobi(k, alpha + 1, beta + 1, x)) * (0.5 * (n + alpha + beta + 1))) * t,
)
gegenbauer: Any = with_orders(
    ufunc("eval_gegenbauer"),
    n=None,
    alpha=None,
    x=lambda t, n, alpha, x: (_lowered(n, lambda k: gegenbauer(k, alpha + 1, x)) * (2.0 * alpha)) * t,
)
genlaguerre: Any = with_orders(
    ufunc("eval_genlaguerre"), n=None, alpha=None, x=lambda t, n, alpha, x: -_lowered(n, lambda k: genlaguerre(k, alpha + 1, x)) * t
)
chebyt = _polynomial("eval_chebyt", lambda n, x: _lowered(n, lambda k: chebyu(k, x)) * n)
chebyu: Any = _polynomial("eval_chebyu", lambda n, x: _lowered(n, lambda k: gegenbauer(k, 2.0, x)) * 2.0)
chebyc = _polynomial("eval_chebyc", lambda n, x: _lowered(n, lambda k: chebyu(k, x * 0.5)) * n)
chebys = _polynomial("eval_chebys", lambda n, x: _lowered(n, lambda k: gegenbauer(k, 2.0, x * 0.5)))
sh_chebyt = _polynomial("eval_sh_chebyt", lambda n, x: _lowered(n, lambda k: chebyu(k, x * 2.0 - 1.0)) * (2.0 * n))
sh_chebyu = _polynomial("eval_sh_chebyu", lambda n, x: _lowered(n, lambda k: gegenbauer(k, 2.0, x * 2.0 - 1.0)) * 4.0)
legendre = _polynomial("eval_legendre", lambda n, x: _lowered(n, lambda k: gegenbauer(k, 1.5, x)))
sh_legendre = _polynomial("eval_sh_legendre", lambda n, x: _lowered(n, lambda k: gegenbauer(k, 1.5, x * 2.0 - 1.0)) * 2.0)
laguerre = _polynomial("eval_laguerre", lambda n, x: -_lowered(n, lambda k: genlaguerre(k, 1.0, x)))
hermite: Any = _polynomial("eval_hermite", lambda n, x: _lowered(n, lambda k: hermite(k, x)) * (2.0 * n))
hermitenorm: Any = _polynomial("eval_hermitenorm", lambda n, x: _lowered(n, lambda k: hermitenorm(k, x)) * n)
