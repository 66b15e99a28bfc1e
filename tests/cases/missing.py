"""The nan* family."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case
from tests.cases.statistics import over_axes, quantiles
from tests.witnesses import NUMPY

points = Points(33)
real, positive, other = points.real, points.positive, points.other

C = real(2, 3, 4)
HOLES, MASK = np.zeros(C.shape, bool), np.ones(C.shape, bool)
HOLES[0, 1, 2] = HOLES[1, 0, 1] = HOLES[1, 2, 3] = HOLES[0, 2, 0] = True  # no line has nothing but holes
MASK[0, 1, 0] = MASK[1, 0, 3] = MASK[1, 1, 1] = MASK[0, 2, 0] = False


def held(function: Any, array: Any = C, holes: Any = HOLES, note: str = "", **options: Any) -> Case:
    """The function of an array with NaNs at fixed places: differences cannot move a NaN."""

    def call(function: Any, x: Any) -> Any:
        return function(np.where(holes, np.nan, x), **options)

    return case(function, array, call=call, note=f"holes {note or options}", analytic=False)


def _reduction(function: Any, *more: dict[str, Any]) -> list[Case]:
    forms: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"axis": (1, -1), "keepdims": True}]
    return [
        *(held(function, **form) for form in [*forms, *more]),
        case(function, real(3), analytic=False),
        case(function, C.T, axis=1, analytic=False),
    ]


FROM: list[dict[str, Any]] = [{"initial": 0.3}, {"where": MASK, "initial": 0.3, "axis": 1}]
SOME: list[dict[str, Any]] = [{"where": MASK}, {"where": MASK, "axis": 2, "keepdims": True}, {"dtype": np.float64}]

CASES = [
    *_reduction(np.nansum, *FROM, *SOME), *_reduction(np.nanprod, *FROM, *SOME),
    *_reduction(np.nanmean, *SOME), *_reduction(np.nanvar, *SOME, {"ddof": 1}, {"ddof": 1, "axis": 1}),
    *_reduction(np.nanstd, *SOME, {"ddof": 1}), *_reduction(np.nanmax, *FROM), *_reduction(np.nanmin, *FROM),
    held(np.nancumsum), held(np.nancumsum, axis=0), held(np.nancumsum, axis=-1, dtype=np.float64),
    held(np.nancumprod), held(np.nancumprod, axis=1),
    *over_axes(np.nanmedian), *(held(np.nanmedian, **form) for form in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True})),
    *quantiles(np.nanquantile, 1.0), *quantiles(np.nanpercentile, 100.0),
    *(held(np.nanquantile, note=f"{q} {form}", q=q, **form)
      for q in (0.3, [0.0, 0.6, 1.0]) for form in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True, "method": "hazen"})),
    case(np.nanquantile, C, np.array([0.2, 0.7]), call=lambda f, x, q: f(np.where(HOLES, np.nan, x), q, axis=2), note="holes, q too",
         analytic=False),
    held(np.nanpercentile, q=40.0, axis=-1),
    case(np.nan_to_num, real(2, 3), analytic=False), held(np.nan_to_num), held(np.nan_to_num, nan=1.5, posinf=2.0, neginf=-2.0),
    case(np.nan_to_num, points.complex(3), note="complex", analytic=False), case(np.nan_to_num, 0.7, analytic=False),
    *(held(f, points.complex(2, 3, 4), note="complex") for f in (np.nansum, np.nanmean, np.nanprod, np.nanvar, np.nanstd, np.nancumsum)),
    *(case(f, 0.7, analytic=False) for f in (np.nansum, np.nanmax, np.nanmean)),
]  # fmt: skip
if NUMPY >= (2, 0):
    CASES += [
        case(np.nanvar, real(3, 4), call=lambda f, x: f(x, 1, mean=np.mean(x, 1, keepdims=True)), note="mean", analytic=False),
        held(np.nanstd, correction=1),
    ]

CONSTANT = [case(np.nanargmax, real(2, 3)), case(np.nanargmax, real(2, 3), axis=1), case(np.nanargmin, real(2, 3), axis=0, keepdims=True)]
