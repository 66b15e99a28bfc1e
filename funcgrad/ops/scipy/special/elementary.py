"""Logistic, exponential and trigonometric functions that NumPy has not, or that SciPy computes in its own way; Box and Cox's transforms."""

from __future__ import annotations

import math
from typing import Any

from scipy import special

from funcgrad.mapped import TRACERS
from funcgrad.ops.elementwise import LN2, LN10, divide, exp, log, log1p, logaddexp, power, sin, where
from funcgrad.ops.scipy.special.hypergeometric import hyp1f1, hyp2f1
from funcgrad.ops.scipy.special.kinds import ufunc, wide
from funcgrad.primitive import register
from funcgrad.rules import binary, elementwise, unary
from funcgrad.rules.values import raw

# ------------------------------------------------------------------------------------------------ logistic

expit: Any = unary(ufunc("expit"), lambda t, x: (expit(x) * expit(-x)) * t)
log_expit = unary(ufunc("log_expit"), lambda t, x: expit(-x) * t)
logit = unary(ufunc("logit"), lambda t, x: divide(t, x * (1.0 - x)))


def softplus(x: Any, **options: Any) -> Any:
    """scipy.special.softplus."""
    return logaddexp(0.0, x) if type(x) in TRACERS and not options else special.softplus(x, **options)


# ------------------------------------------------------------------------------------------------ exponentials and logarithms

exp2 = unary(ufunc("exp2"), lambda t, ans: (ans * LN2) * t, name="scipy_exp2")
exp10 = unary(ufunc("exp10"), lambda t, ans: (ans * LN10) * t)
expm1 = unary(ufunc("expm1"), lambda t, x: exp(x) * t, name="scipy_expm1")
log1p_ = unary(ufunc("log1p"), lambda t, x: divide(t, x + 1.0), name="scipy_log1p")
cbrt = unary(ufunc("cbrt"), lambda t, ans: divide(t, ans * ans * 3.0), name="scipy_cbrt")
for _name, _operation in {"exp2": exp2, "expm1": expm1, "log1p": log1p_, "cbrt": cbrt}.items():
    register(ufunc(_name), _operation)  # not NumPy's: other last bits

exprel = unary(ufunc("exprel"), lambda t, x: (hyp1f1(2.0, 3.0, x) * 0.5) * t)


def _log_of(x: Any) -> Any:
    return log(where(raw(x) == 0, 1.0, x))


powm1 = binary(
    ufunc("powm1"),
    lambda t, x, y: (y * power(x, where(raw(y) == 0, 1.0, y - 1.0))) * t,
    lambda t, x, y: (power(x, y) * _log_of(x)) * t,
)

# ------------------------------------------------------------------------------------------------ trigonometric

_DEGREE = math.pi / 180.0

cosm1 = unary(ufunc("cosm1"), lambda t, x: -sin(x) * t)
sindg: Any = unary(ufunc("sindg"), lambda t, x: (cosdg(x) * _DEGREE) * t)
cosdg: Any = unary(ufunc("cosdg"), lambda t, x: (sindg(x) * -_DEGREE) * t)
tandg = unary(ufunc("tandg"), lambda t, ans: ((ans * ans + 1.0) * _DEGREE) * t)
cotdg = unary(ufunc("cotdg"), lambda t, ans: ((ans * ans + 1.0) * -_DEGREE) * t)
radian = elementwise(
    ufunc("radian"),
    lambda t, d, m, s: t * _DEGREE,
    lambda t, d, m, s: t * (_DEGREE / 60.0),
    lambda t, d, m, s: t * (_DEGREE / 3600.0),
    keeps=(),
)
register(ufunc("round"), lambda x: special.round(raw(x)))  # constant between its jumps

# ------------------------------------------------------------------------------------------------ Box and Cox

# With L = log x, (x**p - 1) / p is L exprel(p L): its derivatives are exact at p = 0 too.


def _exprel_slope(x: Any) -> Any:
    return hyp1f1(2.0, 3.0, x) * 0.5


def _log1p_ratio_slope(x: Any) -> Any:
    """The derivative of log(1 + x) / x."""
    return hyp2f1(2.0, 2.0, 3.0, -x) * -0.5


def _boxcox_power(logarithm: Any, y: Any) -> Any:
    return (logarithm * logarithm) * _exprel_slope(y * logarithm)


def _inverse_power(ans: Any, x: Any, y: Any) -> Any:
    """The derivative of exp(log(1 + p x) / p) in p: of a log(1 + p x) / (p x) in the exponent."""
    x = wide(x)
    return ans * (x * x) * _log1p_ratio_slope(x * y)


boxcox = binary(ufunc("boxcox"), lambda t, x, y: power(x, wide(y) - 1.0) * t, lambda t, x, y: _boxcox_power(log(wide(x)), y) * t)
boxcox1p = binary(
    ufunc("boxcox1p"), lambda t, x, y: power(x + 1.0, wide(y) - 1.0) * t, lambda t, x, y: _boxcox_power(log1p(wide(x)), y) * t
)
inv_boxcox = binary(
    ufunc("inv_boxcox"),
    lambda t, x, y, ans: divide(ans, x * y + 1.0) * t,
    lambda t, x, y, ans: _inverse_power(ans, x, y) * t,
)
inv_boxcox1p = binary(
    ufunc("inv_boxcox1p"),
    lambda t, x, y, ans: divide(ans + 1.0, x * y + 1.0) * t,
    lambda t, x, y, ans: _inverse_power(ans + 1.0, x, y) * t,
)
