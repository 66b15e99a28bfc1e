"""The methods of ufuncs: one or more cases for each that is registered."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad.numpy  # noqa: F401 - registers them
from funcgrad.primitive import OPERATIONS, PRIMITIVES
from tests.cases.case import Case, Points, case

points = Points(27)
real, positive = points.real, points.positive

CASES: list[Case] = []
CONSTANT: list[Case] = []
_EXACT = {np.add, np.multiply, np.maximum, np.minimum, np.subtract}
_BROKEN = {np.power, np.float_power, np.arctan2}
"""Along an axis of three or more neighbors NumPy's vector loops for these reduce wrongly: power.reduce([1.3, 0.4, 2.1]) gives 1.3**2.1."""
_POSITIVE = {np.power, np.float_power}


def _array(ufunc: Any) -> np.ndarray:
    if ufunc in (np.remainder, np.fmod):
        return np.array([[9.7, 4.1, 1.23], [8.9, 3.3, 1.31]])
    return positive(2, 3) if ufunc in _POSITIVE else real(2, 3)


for _key in OPERATIONS:
    if type(_key) is tuple:
        _ufunc, _method = _key
        _function = getattr(_ufunc, _method)
        if PRIMITIVES.get(_ufunc.__name__) == "nondifferentiable":
            _found, _wide = CONSTANT, {}
        else:
            _found, _wide = CASES, {"analytic": _ufunc not in (np.copysign, np.heaviside, np.nextafter), "exact": _ufunc in _EXACT}
        if _method == "outer":
            _found.append(case(_function, positive(3) if _ufunc in _POSITIVE else real(3), points.other(2, 2), **_wide))
        elif _method == "reduceat":
            _found.append(case(_function, _array(_ufunc), call=lambda f, x: f(x, [0, 2, 1], 1), **_wide))
        else:
            _found += [case(_function, _array(_ufunc), axis=axis, **_wide) for axis in ((0,) if _ufunc in _BROKEN else (0, 1))]

_SOME = np.array([[True, False, True], [False, True, True]])
for _ufunc in (np.hypot, np.logaddexp, np.subtract, np.maximum, np.multiply, np.add):
    CASES += [
        case(_ufunc.reduce, real(2, 3), axis=-1, keepdims=True, exact=_ufunc in _EXACT),
        case(_ufunc.reduce, real(4), exact=_ufunc in _EXACT),
    ]
CASES += [
    case(np.hypot.reduce, real(2, 3), axis=1, initial=0.5, exact=False),
    case(np.divide.reduce, positive(3, 2), axis=0, initial=1.5, exact=False),
    case(np.hypot.reduce, real(2, 3), call=lambda f, x: f(x, 1, where=_SOME), note="where", exact=False),
    case(np.add.reduceat, real(5), call=lambda f, x: f(x, [1, 3, 2])),
    *(case(f, real(3), call=lambda f, x: np.where(_SOME[0], f(x, where=_SOME[0], out=None), 0.0), note="where")
      for f in (np.sin, np.exp)),
]  # fmt: skip
CASES += [
    *(case(np.hypot.reduce, real(2, 3, 2), axis=axis, exact=False) for axis in (None, (0, 2), (1,))),
    case(np.logaddexp.reduce, real(2, 3, 2), axis=(0, -1), keepdims=True, exact=False),
    case(np.hypot.reduce, real(2, 3), axis=None, where=_SOME, initial=0.5, exact=False),
]
