"""Reductions and running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops import reductions
from tests.cases.case import Case, Points, case

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
    *(case(reductions.logsumexp, real(2, 3, 4), call=lambda f, x, axis=axis, keep=keep: f(x, axis, keep), note=f"axis {axis} {keep}")
      for axis, keep in [(None, False), (None, True), (0, False), (-1, True), ((0, 2), False), ((1, 2), True)]),
]  # fmt: skip
