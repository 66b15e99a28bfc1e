"""Elementwise functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops import neural
from tests.cases.case import Case, Points, case
from tests.witnesses import NUMPY

points = Points(20)
real, other, positive, unit, above_one, divisor = points.real, points.other, points.positive, points.unit, points.above_one, points.divisor

_SHAPES: dict[int, list[Any]] = {
    1: [((2, 3),), ((),), ((0,),)],
    2: [((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 1), (3,)), ((), (4,)), ((3,), ()), ((0, 2), (2,)), ((), ())],
}


def _elementwise(*rows: tuple[Any, ...]) -> list[Case]:
    """For each (function, a maker for each argument): arguments of one shape, of several, without axes, without elements, and floats."""
    found = []
    for function, *makers in rows:
        args: list[Any] = [[np.asarray(make(*one)) for make, one in zip(makers, shapes, strict=True)] for shapes in _SHAPES[len(makers)]]
        args.append([float(make(1)[0]) for make in makers])
        found += [Case(function, tuple(each), is_analytic=function is not np.conjugate, is_elementwise=True) for each in args]
    return found


CASES = _elementwise(
    (np.add, real, other), (np.subtract, real, other), (np.multiply, real, other), (np.divide, real, other), (np.negative, real),
    (np.positive, real), (np.reciprocal, real), (np.square, real), (np.absolute, real), (np.fabs, real), (np.conjugate, real),
    (np.power, positive, other), (np.float_power, positive, other), (np.remainder, real, divisor), (np.fmod, real, divisor),
    (np.sqrt, positive), (np.cbrt, real), (np.exp, real), (np.exp2, real), (np.expm1, real), (np.log, positive), (np.log2, positive),
    (np.log10, positive), (np.log1p, positive), (np.logaddexp, real, other), (np.logaddexp2, real, other),
    (np.sin, real), (np.cos, real), (np.tan, unit), (np.arcsin, unit), (np.arccos, unit), (np.arctan, real),
    (np.sinh, real), (np.cosh, real), (np.tanh, real), (np.arcsinh, real), (np.arccosh, above_one), (np.arctanh, unit),
    (np.arctan2, real, other), (np.hypot, real, other),
    (np.deg2rad, real), (np.rad2deg, real), (np.radians, real), (np.degrees, real),
    (np.maximum, real, other), (np.minimum, real, other), (np.fmax, real, other), (np.fmin, real, other),
    (np.copysign, real, other), (np.nextafter, real, other), (np.heaviside, real, other), (np.divmod, real, divisor), (np.modf, real),
    (neural.relu, real), (neural.sigmoid, real),
)  # fmt: skip

TRUTH = np.array([[True, False, True], [False, False, True]])

CASES += [
    case(np.where, real(2, 3), real(2, 3), call=lambda f, x, y: f(TRUTH, x, y), note="array"),
    case(np.where, real(3), real(2, 1), call=lambda f, x, y: f(TRUTH, x, y), note="broadcast"),
    case(np.where, real(), real(), call=lambda f, x, y: f(TRUTH, x, y), note="both stretched"),
    case(np.where, real(3), call=lambda f, x: f(x > 0, x * x, 2.0), note="constant"),
    case(np.where, 0.7, 0.4, call=lambda f, x, y: f(x > 0, x, y), note="floats"),
    case(np.ldexp, real(3), call=lambda f, x: f(x, np.array([2, -1, 3]))),
    case(np.ldexp, real(2, 1), call=lambda f, x: f(x, np.array([2, -1, 3])), note="broadcast"),
    case(np.frexp, real(3) * 8.0, call=lambda f, x: f(x)[0]),
    case(np.clip, np.array([-1.5, -0.4, 0.3, 1.7]), call=lambda f, x: f(x, -1.0, 1.0), note="numbers"),
    case(np.clip, np.array([-1.5, -0.4, 0.3, 1.7]), real(2, 1) - 3.0, call=lambda f, x, low: f(x, low, 0.5), note="bound"),
    case(np.clip, np.array([-1.5, -0.4, 0.3, 1.7]), call=lambda f, x: f(x, None, 1.0), note="above only"),
    case(np.clip, np.array([-1.5, -0.4, 0.3, 1.7]), call=lambda f, x: f(x, a_min=-1.0, a_max=None), note="below only"),
    case(np.ldexp, 0.7, call=lambda f, x: f(x, 3)), case(np.frexp, 5.7, call=lambda f, x: f(x)[0]),
    case(np.clip, 0.7, call=lambda f, x: f(x, 0.0, 1.0), note="float"), case(np.power, -1.7, call=lambda f, x: f(x, 3), note="float"),
    case(np.power, real(3), call=lambda f, x: f(x, 3), note="whole exponent"),
    case(np.power, real(3), call=lambda f, x: f(x, np.array([0, 1, 3])), note="whole exponents"),
    case(np.power, real(2, 1), call=lambda f, x: f(x, -2.0), note="negative exponent"),
    case(np.power, positive(3), np.array([0.0, 1.0, 2.0]), note="exponents 0, 1, 2"),
    case(np.power, np.array(0.7), np.array(0.0), note="exponent 0"),
    case(np.power, real(3), call=lambda f, y: f(2.5, y), note="constant base"),
]  # fmt: skip

for _shape in ((2, 3), ()):
    CASES += [
        *(case(f, np.asarray(points.complex(*_shape)), note="complex", analytic=False) for f in (
            np.negative, np.positive, np.reciprocal, np.square, np.absolute, np.conjugate, np.sqrt, np.exp, np.exp2, np.expm1, np.log,
            np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh,
            np.arcsinh, np.arccosh, np.arctanh, np.real, np.imag, np.angle)),
        *(case(f, np.asarray(points.complex(*_shape)), np.asarray(points.complex(*_shape)), note="complex", analytic=False) for f in (
            np.add, np.subtract, np.multiply, np.divide, np.power, np.float_power)),
        *(case(f, np.asarray(positive(*_shape)), np.asarray(points.complex(*_shape)), note="real and complex", analytic=False) for f in (
            np.add, np.subtract, np.multiply, np.divide, np.power)),
        *(case(f, np.asarray(points.complex(*_shape)), np.asarray(other(*_shape)), note="complex and real", analytic=False) for f in (
            np.add, np.subtract, np.multiply, np.divide, np.power)),
    ]  # fmt: skip
CASES += [
    case(np.multiply, real(3), call=lambda f, x: f(x, 2.0 - 1.5j), note="a complex number", analytic=False),
    case(np.multiply, 0.7, call=lambda f, x: f(1.5j, x), note="a complex number and a float", analytic=False),
    case(np.power, points.complex(3), call=lambda f, z: f(z, 2), note="complex, whole exponent", analytic=False),
    case(np.power, points.complex(3), call=lambda f, z: f(z, np.array([0, 1, 3])), note="complex, whole exponents", analytic=False),
    case(np.where, points.complex(3), real(2, 1), call=lambda f, x, y: f(TRUTH, x, y), note="complex and real", analytic=False),
    case(np.angle, real(3), note="real", analytic=False), case(np.angle, points.complex(3), deg=True, analytic=False),
    case(np.real, real(3), note="real", analytic=False),
]  # fmt: skip
if np.sign(3 + 4j) != 1:
    CASES += [case(np.sign, points.complex(2, 3), note="complex", analytic=False)]

_CLIP = (np.core if NUMPY < (2, 0) else np._core).umath.clip
CASES += [
    case(_CLIP, np.array([-1.5, -0.4, 0.3, 1.7]), call=lambda f, x: f(x, -1.0, 1.0), note="the ufunc"),
    case(_CLIP, real(2, 1), real(3) - 4.0, call=lambda f, x, low: f(x, low, 0.5), note="the ufunc, bound"),
]
