"""The gamma function and its relatives: psi and polygamma, zeta, beta, and what counts: binom, comb, perm, factorial.

The derivatives of psi are Hurwitz zeta functions: psi'(x) = zeta(2, x), and zeta(s, x)' = -s zeta(s + 1, x).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from funcgrad.mapped import TRACERS, Mapped, is_all, is_any
from funcgrad.ops.elementwise import cos, rint, sin, where
from funcgrad.ops.scipy.examples import is_differentiated, on_plain, over_examples
from funcgrad.ops.scipy.special.kinds import no_rule, own, refuse_traced, ufunc
from funcgrad.primitive import Operation, register
from funcgrad.rules import binary, general, products, unary
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import as_array, is_complex, raw

# ------------------------------------------------------------------------------------------------ gamma and psi


def _rgamma_slope(t: Any, x: Any) -> Any:
    """-psi(x) / gamma(x); left of 1/2 by reflection, where it is exact at the poles: 1 / gamma(x) = gamma(1 - x) sin(pi x) / pi."""
    if is_complex(x):
        return -(rgamma(x) * psi(x)) * t
    is_right = raw(x) > 0.5
    right, left = where(is_right, x, 1.0), where(is_right, 0.0, x)
    nearest = rint(raw(left))
    angle = (left - nearest) * math.pi
    sign = 1.0 - 2.0 * (nearest % 2)
    reflected = (cos(angle) - psi(1.0 - left) * sin(angle) / math.pi) * gamma(1.0 - left) * sign
    return where(is_right, -(rgamma(right) * psi(right)), reflected) * t


gamma: Any = unary(ufunc("gamma"), lambda t, x: (gamma(x) * psi(x)) * t)
gammaln: Any = unary(ufunc("gammaln"), lambda t, x: psi(x) * t)
loggamma: Any = unary(ufunc("loggamma"), lambda t, x: psi(x) * t)
rgamma: Any = unary(ufunc("rgamma"), _rgamma_slope)
psi: Any = unary(ufunc("psi"), lambda t, x: hurwitz(2.0, x) * t)
register(ufunc("gammasgn"), lambda x: special.gammasgn(raw(x)))  # constant between its jumps


_BERNOULLI = special.bernoulli(16)[2::2]
_TOO_FAR = 10_000  # as many terms as units left of 0


def _hurwitz(x: Any, q: Any) -> Any:
    """Hurwitz's zeta function; of complex q, which SciPy's is not for, by Euler and Maclaurin's sum beyond the first terms."""
    if not is_complex(q):
        return special.zeta(x, q)
    left = -np.min(np.where(np.isfinite(q), np.real(q), 0.0), initial=0.0)
    if left > _TOO_FAR:
        raise no_rule("psi", f"the derivative at complex numbers left of -{_TOO_FAR}")
    terms = 12 + math.ceil(left)
    total = sum((q + k) ** -x for k in range(terms))
    rest = q + terms
    total = total + rest ** (1.0 - x) / (x - 1.0) + 0.5 * rest**-x
    for j, number in enumerate(_BERNOULLI, 1):
        total = total + number / math.factorial(2 * j) * special.poch(x, 2 * j - 1) * rest ** (1.0 - x - 2 * j)
    return total


hurwitz: Any = own("zeta", _hurwitz, None, lambda t, x, q: (hurwitz(x + 1, q) * -x) * t)


def zeta(x: Any, q: Any = None, out: None = None) -> Any:
    """scipy.special.zeta: Hurwitz's zeta function can be differentiated in q."""
    refuse_traced("zeta", x=x)
    return hurwitz(x, q) if type(q) in TRACERS else special.zeta(x, q, out)


def polygamma(n: Any, x: Any) -> Any:
    """scipy.special.polygamma, by SciPy's own steps."""
    refuse_traced("polygamma", n=n)
    if type(x) not in TRACERS and type(n) not in TRACERS:
        return special.polygamma(n, x)
    n = as_array(n)
    factor = (-1.0) ** (n + 1) * special.gamma(n + 1.0)
    is_psi = n == 0
    return where(is_psi, psi(x if is_any(is_psi) else raw(x)), factor * hurwitz(n + 1, x))


# ------------------------------------------------------------------------------------------------ beta and other quotients

beta: Any = binary(
    ufunc("beta"),
    lambda t, x, y, ans: (ans * (psi(x) - psi(x + y))) * t,
    lambda t, x, y, ans: (ans * (psi(y) - psi(x + y))) * t,
)
betaln: Any = binary(ufunc("betaln"), lambda t, x, y: (psi(x) - psi(x + y)) * t, lambda t, x, y: (psi(y) - psi(x + y)) * t)
poch: Any = binary(ufunc("poch"), lambda t, x, y, ans: (ans * (psi(x + y) - psi(x))) * t, lambda t, x, y, ans: (ans * psi(x + y)) * t)
binom: Any = binary(
    ufunc("binom"),
    lambda t, x, y, ans: (ans * (psi(x + 1.0) - psi(x - y + 1.0))) * t,
    lambda t, x, y, ans: (ans * (psi(x - y + 1.0) - psi(y + 1.0))) * t,
)


def _exactly(function: Any, *args: Any, **options: Any) -> Any:
    """SciPy's function of whole numbers, which are mapped."""
    if is_differentiated(args):
        raise no_rule(function.__name__, "exact=True, of whole numbers,")
    return over_examples(function)(*args, exact=True, **options)


def _as_scipy(value: Any, other: Any) -> Any:
    """A constant as an array, whose dtype counts, unless it meets a Python float."""
    return value if type(value) in TRACERS or type(raw(other)) is float else np.asarray(value)


def _where_scipy_agrees(number: Any, wanted: Any) -> Any:
    """A number of ways, or SciPy's constant where it says otherwise: there are 0 ways to take 3 of 2."""
    is_counted = (raw(number) == wanted) & (wanted != 0)
    return number if is_all(is_counted) else where(is_counted, number, wanted)


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """scipy.special.comb."""
    if type(N) not in TRACERS and type(k) not in TRACERS:
        return special.comb(N, k, exact=exact, repetition=repetition)
    if exact:
        return _exactly(special.comb, N, k, repetition=repetition)
    wanted = on_plain(lambda N, k: special.comb(N, k, repetition=repetition), N, k)
    N, k = _as_scipy(N, k), _as_scipy(k, N)
    return _where_scipy_agrees(binom(N + k - 1, k) if repetition else binom(N, k), wanted)


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """scipy.special.perm."""
    if type(N) not in TRACERS and type(k) not in TRACERS:
        return special.perm(N, k, exact)
    if exact:
        return _exactly(special.perm, N, k)
    wanted = on_plain(special.perm, N, k)
    N, k = _as_scipy(N, k), _as_scipy(k, N)
    return _where_scipy_agrees(poch(N - k + 1, k), wanted)


def _factorial_rules(times: Any) -> Any:
    def slope(t: Any, ans: Any, n: Any, **options: Any) -> Any:
        is_possible = raw(n) >= 0
        shifted = where(is_possible, n, 0.0) + 1.0
        return times(t, where(is_possible, gamma(shifted) * psi(shifted), 0.0))

    return [slope], [slope]


_factorial: Operation = products(special.factorial, _factorial_rules, "x", batch=in_front(lambda n, **options: _factorial(n, **options)))


def factorial(n: Any, exact: bool = False, **options: Any) -> Any:
    """scipy.special.factorial: 0 where n is negative."""
    if type(n) in TRACERS:
        if exact:
            return _exactly(special.factorial, n, **options)
        if options.get("extend", "zero") != "zero" and is_differentiated(n):
            raise no_rule("factorial", f"extend={options['extend']!r}")
    return _factorial(n, exact=exact, **options)


def _multigammaln_slope(t: Any, ans: Any, a: Any, d: Any) -> Any:
    return sum(psi(a - 0.5 * j) for j in range(int(d))) * t


_multigammaln: Operation = general(
    special.multigammaln, [_multigammaln_slope], [_multigammaln_slope], "x", batch=in_front(lambda a, d: _multigammaln(a, d))
)


def multigammaln(a: Any, d: Any) -> Any:
    """scipy.special.multigammaln."""
    refuse_traced("multigammaln", d=d)
    return _multigammaln(a, d) if type(d) is not Mapped else over_examples(multigammaln)(a, d)
