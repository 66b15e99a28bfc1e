"""numpy.emath inside and outside of the real domains, and np.real_if_close."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case

points = Points(37)
real, positive, unit, above_one, complex_ = points.real, points.positive, points.unit, points.above_one, points.complex
negative_and_positive = np.array([[-1.3, 0.6, -0.4], [2.1, 0.9, -2.2]])
around_one = np.array([[-1.6, 0.3, 1.4], [0.7, -0.8, 2.3]])


def _emath(function: Any, *args: Any, note: str, **options: Any) -> Case:
    return case(function, *args, note=f"emath {note}", analytic=False, **options)


CASES = [
    *(_emath(function, arg, note=note) for function in (np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10)
      for note, arg in (("inside", positive(2, 3)), ("outside", negative_and_positive), ("complex", complex_(3)), ("number", 0.7),
                        ("number outside", -0.7), ("0-d", positive()), ("empty", real(0, 2)))),
    *(_emath(function, arg, note=note) for function in (np.emath.arccos, np.emath.arcsin, np.emath.arctanh)
      for note, arg in (("inside", unit(2, 3)), ("outside", around_one), ("complex", complex_(3)), ("number", 0.7),
                        ("number outside", -1.7))),
    _emath(np.emath.logn, above_one(3), positive(2, 3), note="inside"), _emath(np.emath.logn, above_one(3), real(2, 3), note="outside"),
    _emath(np.emath.logn, -above_one(3), complex_(3), note="complex"), _emath(np.emath.logn, 3.1, 0.7, note="numbers"),
    _emath(np.emath.logn, positive(3), note="constant base", call=lambda f, x: f(2, x)),
    _emath(np.emath.power, positive(3), real(2, 3), note="inside"),
    _emath(np.emath.power, negative_and_positive, real(3), note="outside"),
    _emath(np.emath.power, complex_(3), complex_(3), note="complex"), _emath(np.emath.power, -0.7, 1.3, note="numbers"),
    _emath(np.emath.power, real(3), note="whole exponents", call=lambda f, x: f(x, [2, -1, 3])),
    _emath(np.emath.power, positive(3), note="constant exponent", call=lambda f, x: f(x, 2)),
    _emath(np.emath.power, positive(3), note="constant base", call=lambda f, x: f(-2.0, x)),
    _emath(np.real_if_close, real(2, 3), note="real"), _emath(np.real_if_close, complex_(3), note="not close"),
    _emath(np.real_if_close, real(3) + 1e-3j, note="close by a large tolerance", call=lambda f, z: f(z, tol=0.5)),
]  # fmt: skip
