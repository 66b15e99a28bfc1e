"""Elementwise primitives: NumPy's real ufuncs of one and two arguments, `where` and `clip`.

A partial multiplies its first argument, a tangent or a cotangent, by the derivative. The derivative comes first in the product: in a
recorded replay it is a tracer, the other may be an array, and array * tracer is a detour through NumPy. Partials call the operations of
this file rather than NumPy's functions or `/` and `**`: a Python float then stays one, and 1.0 / 0.0 is NumPy's inf instead of an error.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, is_any
from funcgrad.numbers import picked
from funcgrad.primitive import register
from funcgrad.rules import binary, elementwise, general, nondifferentiable, unary
from funcgrad.rules.elementwise import strongly
from funcgrad.rules.values import is_complex, keep_zero_factors, keep_zeros, raw, refuse_out
from funcgrad.staged import Staged, kind_of

LN2, LN10 = math.log(2.0), math.log(10.0)


def _pick(condition: Any, x: Any, y: Any) -> Any:
    """np.where, but a Python float stays one where all three are numbers."""
    if isinstance(condition, (bool, np.bool_)) and type(raw(x)) is float and type(raw(y)) is float:
        return x if condition else y
    return _where(condition, x, y)


def _where_value(condition: Any, x: Any, y: Any) -> Any:
    if [kind_of(x), kind_of(y)] == [float, float] and kind_of(condition) in (bool, np.bool_):
        return condition.recorded(picked, (condition, x, y), {}) if type(condition) is Staged else picked(condition, x, y)
    return np.where(condition, x, y)


_where = elementwise(_where_value, None, lambda t, c, x, y: _pick(c, t, 0.0), lambda t, c, x, y: _pick(c, 0.0, t), keeps=(0,), name="where")


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """np.where: the derivative flows to the operand that was picked."""
    if type(condition) is np.ndarray and type(x) is np.ndarray and type(y) not in TRACERS:  # plain values, as in most replays
        return np.where(condition, x, y)
    if x is None and y is None:
        return np.where(raw(condition))
    return _pick(raw(condition), x, y)


register(np.where, where)


# ------------------------------------------------------------------------------------------------ arithmetic

add = binary(np.add, None, None, call="x + y")
subtract = binary(np.subtract, None, "-t", call="x - y")
multiply = binary(np.multiply, "t * y", "t * x", call="x * y", strengthen=keep_zero_factors)


def _keep_zero_numerators(partial: Any) -> Any:
    """A partial of division that is exactly zero where t or the quotient is: 0 / y stays 0 however y changes."""
    strong = strongly(partial)
    return lambda t, *kept: keep_zeros(kept[-1], strong(t, *kept)) if len(kept) == 2 else strong(t, *kept)


divide: Any = binary(
    np.divide, lambda t, y: divide(t, y), lambda t, y, ans: -t * divide(ans, y), call="x / y", strengthen=_keep_zero_numerators
)
negative = unary(np.negative, lambda t: -t, "-x")
positive = unary(np.positive, lambda t: t, lambda x: x)
reciprocal = unary(np.reciprocal, lambda t, ans: -t * (ans * ans))
square = unary(np.square, lambda t, x: (2.0 * x) * t, "x * x")  # not 2.0 * t, which may be infinite where x is small
fabs = unary(np.fabs, lambda t, x: sign(x) * t, abs)


def _power_x(t: Any, x: Any, y: Any) -> Any:
    """y * x**(y - 1), and 0 where y is 0, whatever x. There it still depends on y, by 1/x, but where that is infinite."""
    if type(y) is int or type(y) is float:
        return (2.0 * x) * t if y == 2 else (y * power(x, y - 1)) * t if y != 0 else t * 0.0
    is_zero = raw(y) == 0
    exponent = y - 1.0  # not y - 1, which is 255 for an unsigned 0
    if is_any(is_zero):
        exponent = where(is_zero & ~np.isfinite(divide(1.0, raw(x))), 1.0, exponent)
    return t * (y * power(x, exponent))


def _power_y(t: Any, x: Any, ans: Any) -> Any:
    """x**y * log(x), and 0 at x = 0: the limit for y > 0."""
    base = where(raw(x) == 0, 1.0, x)
    return t * (ans * log(base + 0j if is_complex(ans) and not is_complex(x) else base))


def _python_power(x: float, y: float) -> float:
    answer = x**y
    return answer if type(answer) is float else float(np.power(x, y))  # (-8.0) ** 0.5 is complex to Python


power = binary(np.power, _power_x, _power_y, scalar=_python_power)
_power_operator = power.variant(operator.pow)


_HAS_WEAK_NUMBERS = np.__version__ >= "2"
"""In NumPy 1 a Python integer makes a double of a scalar of single precision."""


def power_operator(x: Any, y: Any) -> Any:
    """The operator **. Squares are the most frequent powers, and have a rule of their own."""
    if type(y) is int and y == 2 and (_HAS_WEAK_NUMBERS or not isinstance(raw(x), np.generic)):
        return square(x)
    return _power_operator(x, y)


float_power = binary(np.float_power, _power_x, _power_y, scalar=_python_power)
floor_divide = nondifferentiable(np.floor_divide)
remainder = binary(np.remainder, None, lambda t, x, y: -t * floor_divide(x, y))
fmod = binary(np.fmod, None, lambda t, x, y: -t * trunc(divide(x, y)))


def divmod_(x: Any, y: Any) -> tuple[Any, Any]:
    """np.divmod."""
    return floor_divide(x, y), remainder(x, y)


register(np.divmod, divmod_)

# ------------------------------------------------------------------------------------------------ roots, exponentials, logarithms

sqrt = unary(np.sqrt, lambda t, ans: divide(0.5 * t, ans), math.sqrt)
cbrt = unary(np.cbrt, lambda t, ans: divide(t, 3.0 * (ans * ans)))
exp = unary(np.exp, lambda t, ans: ans * t, math.exp)
exp2 = unary(np.exp2, lambda t, ans: t * (ans * LN2))
expm1 = unary(np.expm1, lambda t, x: t * exp(x), math.expm1)
log = unary(np.log, lambda t, x: divide(t, x), math.log)
log2 = unary(np.log2, lambda t, x: divide(t, x * LN2), math.log2)
log10 = unary(np.log10, lambda t, x: divide(t, x * LN10), math.log10)
log1p = unary(np.log1p, lambda t, x: divide(t, x + 1.0), math.log1p)


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # at most 1: no overflow on either side
    one = small.dtype.type(1)
    return np.where(np.asarray(x) >= 0, one, small)[()] / (one + small)


def _sigmoid_of_float(x: float) -> float:
    small = math.exp(-abs(x))
    return (1.0 if x >= 0 else small) / (1.0 + small)


sigmoid = unary(_sigmoid, lambda t, ans: t * (ans * (1.0 - ans)), _sigmoid_of_float, name="sigmoid")


def _log_weight(x: Any, y: Any, base: float = 1.0) -> Any:
    """e**x / (e**x + e**y), one half where both are the same infinity."""
    same = (raw(x) == raw(y)) & np.isinf(raw(x))
    return sigmoid(where(same, 0.0, x - y) * base)


logaddexp = binary(np.logaddexp, lambda t, x, y: t * _log_weight(x, y), lambda t, x, y: t * _log_weight(y, x))
logaddexp2 = binary(np.logaddexp2, lambda t, x, y: t * _log_weight(x, y, LN2), lambda t, x, y: t * _log_weight(y, x, LN2))

# ------------------------------------------------------------------------------------------------ trigonometric and hyperbolic

sin = unary(np.sin, lambda t, x: cos(x) * t, math.sin)
cos: Any = unary(np.cos, lambda t, x: -sin(x) * t, math.cos)
tan = unary(np.tan, lambda t, ans: t * (ans * ans + 1.0), math.tan)
arcsin = unary(np.arcsin, lambda t, x: divide(t, _cosine_of_arcsine(x)), math.asin)
arccos = unary(np.arccos, lambda t, x: -divide(t, _cosine_of_arcsine(x)), math.acos)
arctan = unary(np.arctan, lambda t, x: divide(t, x * x + 1.0), math.atan)
sinh = unary(np.sinh, lambda t, x: t * cosh(x), math.sinh)
cosh: Any = unary(np.cosh, lambda t, x: t * sinh(x), math.cosh)
tanh = unary(np.tanh, lambda t, ans: (ans * -ans + 1.0) * t, math.tanh)  # 1 - ans**2 with one temporary at a time
arcsinh = unary(np.arcsinh, lambda t, x: divide(t, sqrt(x * x - -1.0) if is_complex(x) else hypot(x, 1.0)), math.asinh)
arccosh = unary(np.arccosh, lambda t, x: divide(divide(t, sqrt(x - 1.0)), sqrt(x - -1.0)), math.acosh)
arctanh = unary(np.arctanh, lambda t, x: divide(t, (1.0 - x) * (1.0 + x)), math.atanh)
arctan2 = binary(np.arctan2, lambda t, x, y: t * _turn(y, x), lambda t, x, y: -t * _turn(x, y), scalar=math.atan2)
hypot: Any = binary(np.hypot, lambda t, x, ans: t * _cosine(x, ans), lambda t, y, ans: t * _cosine(y, ans), scalar=math.hypot)
deg2rad = unary(np.deg2rad, lambda t: t * (math.pi / 180.0))
rad2deg = unary(np.rad2deg, lambda t: t * (180.0 / math.pi))
radians = unary(np.radians, lambda t: t * (math.pi / 180.0))
degrees = unary(np.degrees, lambda t: t * (180.0 / math.pi))


def _cosine_of_arcsine(x: Any) -> Any:
    """sqrt(1 - x**2). Subtractions keep the sign of a zero imaginary part, which tells the sides of the branch cuts apart."""
    return sqrt(-((x - 1.0) * (x - -1.0))) if is_complex(x) else sqrt((1.0 - x) * (1.0 + x))


def _turn(x: Any, y: Any) -> Any:
    """x / (x**2 + y**2), without overflow; 0 at the origin, where there is no direction."""
    length = hypot(x, y)
    length = where(raw(length) == 0, 1.0, length)
    return divide(divide(x, length), length)


def _cosine(side: Any, length: Any) -> Any:
    """side / length, 0 where the length is."""
    return divide(side, where(raw(length) == 0, 1.0, length))


# ------------------------------------------------------------------------------------------------ choices


def same(x: Any, y: Any) -> Any:
    """Whether plain values are equal, or both NaN."""
    return (x == y) | ((x != x) & (y != y))


def _larger(t: Any, x: Any, y: Any) -> Any:
    """t where x is the larger or a NaN, as np.maximum picks; half of it at a tie."""
    x, y = raw(x), raw(y)
    return where(same(x, y), 0.5 * t, where((x > y) | ((x != x) & (y == y)), t, 0.0))


def _smaller(t: Any, x: Any, y: Any) -> Any:
    """t where x is the smaller or a NaN, as np.minimum picks; half of it at a tie."""
    x, y = raw(x), raw(y)
    return where(same(x, y), 0.5 * t, where((x < y) | ((x != x) & (y == y)), t, 0.0))


def _not_nan(partial: Any) -> Any:
    """The partial of fmax and fmin: an operand that is NaN loses."""
    return lambda t, x, y: where(np.isnan(raw(x)), 0.0, where(np.isnan(raw(y)), t, partial(t, x, y)))


maximum = binary(np.maximum, _larger, lambda t, x, y: _larger(t, y, x))
minimum = binary(np.minimum, _smaller, lambda t, x, y: _smaller(t, y, x))
fmax = binary(np.fmax, _not_nan(_larger), lambda t, x, y: _not_nan(_larger)(t, y, x))
fmin = binary(np.fmin, _not_nan(_smaller), lambda t, x, y: _not_nan(_smaller)(t, y, x))


def clip(a: Any, a_min: Any = None, a_max: Any = None, out: None = None, *, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """np.clip: at a bound the derivative is shared with it, as at a tie."""
    refuse_out("clip", out)
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    if low is not None:
        a = maximum(a, low)
    return a if high is None else minimum(a, high)


register(np.clip, clip)
_internal: Any = getattr(np, "core" if np.__version__ < "2" else "_core")
register(_internal.umath.clip, clip)  # what the method of arrays calls

# ------------------------------------------------------------------------------------------------ parts of a number

copysign = elementwise(np.copysign, lambda t, x, y: t * (sign(x) * np.copysign(1.0, y)), None)
nextafter = elementwise(np.nextafter, lambda t, x, y: t, None, keeps=())
heaviside = elementwise(np.heaviside, None, lambda t, x, h: where(x == 0, t, 0.0), keeps=(0,))
ldexp = elementwise(np.ldexp, lambda t, x, n: np.ldexp(t, n), None, keeps=(1,))


def _fraction(x: Any) -> Any:
    return np.modf(x)[0]


def _mantissa(x: Any) -> Any:
    return np.frexp(x)[0]


def direction(x: Any) -> Any:
    """The derivative of the absolute value: the sign, or conj(x) / |x|; 0 at 0."""
    return where(raw(x) == 0, 0.0, divide(conjugate(x), _length(x))) if is_complex(x) else sign(x)


def _length(x: Any) -> Any:
    """|x|, and 1 where that is 0."""
    length = absolute(x)
    return where(raw(length) == 0, 1.0, length)


absolute: Any = unary(np.absolute, lambda t, x: direction(x) * t, abs, is_real=True)
conjugate: Any = unary(np.conjugate, lambda t: conjugate(t) if is_complex(t) else t, lambda x: x)
_real = unary(np.real, lambda t: t, lambda x: x, name="real", is_real=True)
_imag = unary(np.imag, lambda t: (np.complex128(-1j) if isinstance(t, float) else -1j) * t, name="imag", is_real=True)


def real(val: Any) -> Any:
    """np.real."""
    return _real(val) if is_complex(val) else val


def imag(val: Any) -> Any:
    """np.imag; of a real number a constant."""
    return _imag(val) if is_complex(val) else np.imag(raw(val))


def angle(z: Any, deg: bool = False) -> Any:
    """np.angle, as NumPy computes it; its derivative at 0 counts as 0."""
    turn = arctan2(imag(z), real(z))
    return turn * (180 / math.pi) if deg else turn


register(np.real, real)
register(np.imag, imag)
register(np.angle, angle)

fraction = unary(_fraction, lambda t: t, name="modf")
mantissa = unary(_mantissa, lambda t, x: ldexp(t, -np.frexp(raw(x))[1]), name="frexp")
register(np.modf, lambda x: (fraction(x), trunc(x)))
register(np.frexp, lambda x: (mantissa(x), np.frexp(raw(x))[1]))

_sign_of_real = _sign_of_complex = nondifferentiable(np.sign)
if np.sign(3 + 4j) != 1:  # in NumPy 2 it is the direction on the unit circle, in NumPy 1 the sign of the real part
    _sign_of_complex = general(
        np.sign,
        jvps=[lambda t, ans, x: divide(1j * ans * imag(conjugate(ans) * t), _length(x))],  # only what turns it has an effect
        vjps=[lambda ct, ans, x: divide(1j * conjugate(ans) * imag(ct * ans), _length(x))],
        name="sign_of_complex",
    )


def sign(x: Any, /) -> Any:
    """np.sign."""
    return _sign_of_complex(x) if is_complex(x) else _sign_of_real(x)


register(np.sign, sign)
trunc: Any = nondifferentiable(np.trunc)
floor, ceil, rint, spacing, fix = map(nondifferentiable, (np.floor, np.ceil, np.rint, np.spacing, np.fix))
round = nondifferentiable(np.round)  # noqa: A001
register(np.around, round)
equal, not_equal, less, less_equal, greater, greater_equal = map(
    nondifferentiable, (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
)
logical_and, logical_or, logical_xor, logical_not, isnan, isinf, isfinite, signbit = map(
    nondifferentiable, (np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.isnan, np.isinf, np.isfinite, np.signbit)
)
