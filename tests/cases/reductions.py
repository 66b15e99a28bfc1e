"""Reductions and running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops import extremes
from tests.cases.case import Case, Points, case
from tests.witnesses import NUMPY

points = Points(23)
real = points.real

M, C = real(2, 3), real(2, 3, 4)


def _reduction(function: Any, make: Any = real) -> list[Case]:
    axes: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": (0, 2)}, {"axis": ()}]
    axes += [{"axis": -1, "keepdims": True}, {"keepdims": True}, {"axis": (1, -1), "keepdims": True}]
    found = [case(function, make(2, 3, 4), **options) for options in axes]
    return [*found, case(function, make(5)), case(function, make()), case(function, make(1, 1), axis=1)]


CASES = [
    *_reduction(np.sum), *_reduction(np.mean), *_reduction(np.prod), *_reduction(np.max), *_reduction(np.min),
    *_reduction(np.var), *(one for one in _reduction(np.std) if one.options.get("axis") != () and one.args[0].size > 1),
    *(case(function, make(2, 3), **options) for function in (np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce)
      for make in (real,) for options in ({}, {"axis": 1, "keepdims": True}, {"axis": None}, {"axis": (0, 1)})),
    case(np.add.accumulate, M), case(np.add.accumulate, M, axis=-1),
    case(np.amax, M, axis=1), case(np.amin, M, axis=1),
    case(np.var, M, axis=0, ddof=1), case(np.std, M, axis=1, ddof=1), case(np.var, M, ddof=1, keepdims=True),
    case(np.sum, real(0, 3), axis=0), case(np.sum, real(0)), case(np.prod, real(0, 3), axis=0), case(np.max, real(0, 3), axis=1),
    case(np.mean, real(3, 0), axis=0), case(np.sum, 0.7), case(np.mean, 0.7), case(np.max, 0.7), case(np.prod, 0.7),
    case(np.cumsum, real(4)), case(np.cumsum, M), case(np.cumsum, M, axis=0), case(np.cumsum, C, axis=-2), case(np.cumsum, real(0)),
    case(np.cumsum, real()),
    *(case(extremes.logsumexp, real(2, 3, 4), call=lambda f, x, axis=axis, keep=keep: f(x, axis, keep), note=f"axis {axis} {keep}")
      for axis, keep in [(None, False), (None, True), (0, False), (-1, True), ((0, 2), False), ((1, 2), True)]),
]  # fmt: skip

_SOME = np.array([[True, False, True], [False, False, True]])
CASES += [
    *(case(f, real(2, 3), where=_SOME, **options) for f in (np.sum, np.mean, np.prod, np.var, np.std)
      for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}) if f in (np.sum, np.prod) or options.get("axis") != 0
      if f is not np.std or not options),
    case(np.sum, real(2, 3), where=np.array([True, False, True]), axis=1),
    case(np.mean, real(2, 3), where=np.array([[True], [True]]), axis=1),
    case(np.sum, real(2, 3), initial=1.5), case(np.sum, real(2, 3), axis=1, initial=1.5, where=_SOME),
    case(np.prod, real(2, 3), axis=0, initial=1.5),
    case(np.prod, real(2, 3), initial=-2.0, where=_SOME), case(np.prod, real(2, 3), axis=(0, 1), keepdims=True, initial=2.0),
    *(case(f, real(2, 3), initial=start, **options) for f, start in ((np.max, -9.0), (np.min, 9.0))
      for options in ({"where": _SOME}, {"axis": 1, "where": _SOME}, {"axis": 0, "keepdims": True}, {"axis": 0, "where": _SOME})),
    case(np.max, real(2, 3), axis=1, initial=1.01), case(np.max, real(0), initial=1.0), case(np.min, real(2, 0), axis=1, initial=1.0),
    case(np.sum, 0.7, initial=2.0), case(np.max, 0.7, initial=-1.0), case(np.sum, 0.7, where=True), case(np.mean, real(), where=True),
    *(case(f, real(2, 3), call=lambda f, x, axis=axis: f(x, axis=axis, dtype=np.longdouble).astype(x.dtype), note=f"dtype, axis {axis}",
           analytic=False)
      for f in (np.sum, np.mean, np.prod, np.var, np.std, np.cumsum) for axis in (None, 0)),
    case(np.add.reduce, real(2, 3), where=_SOME, initial=1.0), case(np.var, real(2, 3), where=_SOME, ddof=1),
]  # fmt: skip
if NUMPY >= (2, 0):
    CASES += [
        case(np.var, real(2, 3), real(2, 1), call=lambda f, x, m: f(x, axis=1, mean=m), note="mean"),
        case(np.std, real(2, 3), axis=0, correction=1), case(np.std, real(2, 3), call=lambda f, x: f(x, mean=x.mean()), note="own mean"),
    ]  # fmt: skip

_Z = points.complex(2, 3)
CASES += [
    *(case(f, _Z, note=f"complex, {options}", analytic=False, call=lambda f, x, options=options: f(x, **options))
      for f in (np.sum, np.mean, np.prod, np.var, np.std, np.cumsum) for options in ({}, {"axis": 0}, {"axis": -1})),
    case(np.sum, _Z, where=_SOME, note="complex, where", analytic=False),
    case(np.var, _Z, where=_SOME, note="complex, where", analytic=False),
    case(np.max, _Z, analytic=False),
    case(np.sum, real(3), call=lambda f, x: f(x, dtype=np.result_type(x.dtype, np.complex64)), note="to complex"),
]  # fmt: skip
