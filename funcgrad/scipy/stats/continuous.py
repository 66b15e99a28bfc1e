"""The continuous distributions: the derivatives of each one's standard form. What follows from them is in `family`.

References: Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions (1994, 1995), for the densities.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats as _stats

from funcgrad.mapped import is_any
from funcgrad.ops.elementwise import divide, exp, expm1, hypot, log, log1p, sign, where
from funcgrad.rules.values import raw
from funcgrad.scipy import special
from funcgrad.scipy.stats.family import Continuous


def _normal_reversed_hazard(z: Any) -> Any:
    """phi(z) / Phi(z), to all digits however far out."""
    return divide(math.sqrt(2.0 / math.pi), special.erfcx(-z / math.sqrt(2.0)))


def _log_or_zero(z: Any) -> Any:
    """z * log(z), 0 at 0."""
    return z * log(where(raw(z) == 0, 1.0, z))


norm = Continuous(
    _stats.norm,
    score=lambda z: -z,
    reversed_hazard=_normal_reversed_hazard,
    hazard=lambda z: _normal_reversed_hazard(-z),
    density=lambda z: exp(-0.5 * z * z) * (1.0 / math.sqrt(2.0 * math.pi)),
)

expon = Continuous(_stats.expon, score=lambda z: z * 0.0 - 1.0, hazard=lambda z: z * 0.0 + 1.0)


def _laplace_hazard(z: Any) -> Any:
    """1 on the right, where both tails fall as exp(-z)."""
    left = exp(where(raw(z) > 0, 0.0, z))
    return where(raw(z) > 0, 1.0, divide(left, 2.0 - left))


laplace = Continuous(
    _stats.laplace,
    score=lambda z: -sign(z),
    reversed_hazard=lambda z: _laplace_hazard(-z),
    hazard=_laplace_hazard,
)


def _logistic_score(z: Any) -> Any:
    """-tanh(z / 2), written so that its derivatives are to all digits both at 0 and far out."""
    side = np.where(raw(z) < 0, -1.0, 1.0)
    size = z * side
    return side * expm1(-size) * special.expit(size)


logistic = Continuous(
    _stats.logistic,
    score=_logistic_score,
    reversed_hazard=lambda z: special.expit(-z),
    hazard=special.expit,
    density=lambda z: special.expit(z) * special.expit(-z),
)

uniform = Continuous(
    _stats.uniform,
    score=lambda z: z * 0.0,
    reversed_hazard=lambda z: divide(1.0, z),
    hazard=lambda z: divide(1.0, 1.0 - z),
)


def _cauchy_score(z: Any) -> Any:
    """-2z / (1 + z**2), without overflow."""
    length = hypot(z, 1.0)
    return divide(divide(-2.0 * z, length), length)


cauchy = Continuous(_stats.cauchy, score=_cauchy_score)


def _t_score(z: Any, df: Any) -> Any:
    return divide(-z * (1.0 + divide(1.0, df)), 1.0 + z * divide(z, df))


def _t_shape_score(z: Any, df: Any) -> Any:
    """0 in the limit df = inf, where the distribution is the normal one."""
    infinite = np.isinf(raw(df))
    df = where(infinite, 1.0, df) if is_any(infinite) else df
    square = z * divide(z, df)
    digammas = special.psi(0.5 * (df + 1.0)) - special.psi(0.5 * df) - divide(1.0, df)
    found = 0.5 * (digammas - log1p(square) + divide((1.0 + divide(1.0, df)) * square, 1.0 + square))
    return where(infinite, 0.0, found) if is_any(infinite) else found


t = Continuous(_stats.t, score=_t_score, shape_scores=[_t_shape_score], along=[None])

gamma = Continuous(
    _stats.gamma,
    score=lambda z, a: divide(a - 1.0, z) - 1.0,
    shape_scores=[lambda z, a: log(z) - special.psi(a)],
    along=[None],
)

chi2 = Continuous(
    _stats.chi2,
    score=lambda z, df: divide(0.5 * df - 1.0, z) - 0.5,
    shape_scores=[lambda z, df: 0.5 * (log(0.5 * z) - special.psi(0.5 * df))],
    along=[None],
)

beta = Continuous(
    _stats.beta,
    score=lambda z, a, b: divide(a - 1.0, z) - divide(b - 1.0, 1.0 - z),
    shape_scores=[
        lambda z, a, b: log(z) - special.psi(a) + special.psi(a + b),
        lambda z, a, b: log1p(-z) - special.psi(b) + special.psi(a + b),
    ],
    along=[None, None],
)

lognorm = Continuous(  # z = exp(s * u) with a normal u
    _stats.lognorm,
    score=lambda z, s: -divide(divide(log(z), s * s) + 1.0, z),
    shape_scores=[lambda z, s: divide(divide(log(z), s) ** 2 - 1.0, s)],
    along=[lambda z, s: -divide(_log_or_zero(z), s)],
    reversed_hazard=lambda z, s: divide(_normal_reversed_hazard(divide(log(z), s)), s * z),
    hazard=lambda z, s: divide(_normal_reversed_hazard(-divide(log(z), s)), s * z),
)

weibull_min = Continuous(  # z = e**(1 / c) with an exponential e
    _stats.weibull_min,
    score=lambda z, c: divide(c - 1.0, z) - c * z ** (c - 1.0),
    shape_scores=[lambda z, c: divide(1.0, c) + log(z) * (1.0 - z**c)],
    along=[lambda z, c: divide(_log_or_zero(z), c)],
    hazard=lambda z, c: c * z ** (c - 1.0),
)
