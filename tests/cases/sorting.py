"""Sorting, partial sorting, sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case

points = Points(31)
real, positive, other = points.real, points.positive, points.other

V, W, M, C = real(5), other(4), real(3, 4), real(2, 3, 4)
TIED = np.array([[0.5, 2.0, 0.5, 1.0], [2.0, 0.25, 0.5, 0.25], [0.5, 2.0, 0.5, 1.0]])


def of_two(function: Any, note: str, **options: Any) -> Case:
    """A function of two sets that have some elements in common, and keep them when both are moved."""
    x = real(6)

    def call(function: Any, x: Any) -> Any:
        return function(x, np.concatenate([x[1:4], x[1:3] + 5.0]), **options)

    return case(function, x, call=call, note=note, analytic=False)


def first(function: Any, note: str = "", **options: Any) -> Case:
    """A function whose other results are integers."""
    return case(function, V, call=lambda f, x: f(x, **options)[0], note=note or "values", analytic=False)


CASES = [
    *(case(np.sort, x, analytic=False, **options) for x, options in (
        (V, {}), (C, {}), (C, {"axis": 0}), (C, {"axis": -2, "kind": "stable"}), (M, {"axis": None}), (real(0), {}),
        (real(0, 3), {"axis": 0}), (real(2, 0), {}), (real(1), {}))),
    case(np.sort, M.T, axis=1, analytic=False, note="transposed"),
    *(case(np.partition, x, analytic=False, wide=False, **options) for x, options in (  # places left open are NumPy's choice, by dtype
        (V, {"kth": (1, 2, 3)}), (C, {"kth": 1, "axis": 1}), (M, {"kth": (1, -1)}),
        (M, {"kth": [0, 1], "axis": 0, "kind": "introselect"}))),
    case(np.partition, M, call=lambda f, x: f(x, 3, None)[3:4], note="flat", analytic=False),
    case(np.unique, V, analytic=False), case(np.unique, M, analytic=False), case(np.unique, M, axis=0, analytic=False),
    case(np.unique, C, axis=-1, analytic=False), case(np.unique, real(0), analytic=False),
    first(np.unique, "with index", return_index=True),
    first(np.unique, "with everything", return_index=True, return_inverse=True, return_counts=True),
    case(np.union1d, real(2, 2), other(3), analytic=False), of_two(np.union1d, "in common"),
    of_two(np.intersect1d, "in common"),
    case(np.intersect1d, V, call=lambda f, x: f(x, x[1:3], return_indices=True)[0], note="with indices", analytic=False),
    case(np.intersect1d, V, call=lambda f, x: f(x, x[1:3], assume_unique=True), note="unique", analytic=False),
    case(np.setxor1d, V, W, analytic=False), of_two(np.setxor1d, "in common"),
    case(np.setdiff1d, V, W, analytic=False), of_two(np.setdiff1d, "in common"),
    case(np.setdiff1d, V, call=lambda f, x: f(x, x[1:3], assume_unique=True), note="unique", analytic=False),
    case(np.sort_complex, V, note="real", analytic=False), case(np.sort_complex, points.complex(3), note="complex", analytic=False),
    case(np.sort, points.complex(2, 3), note="complex", analytic=False),
    case(np.partition, points.complex(3), kth=1, note="complex", analytic=False, wide=False),
    case(np.unique, points.complex(4), note="complex", analytic=False),
]  # fmt: skip
for _name in ("unique_all", "unique_counts", "unique_inverse"):
    if hasattr(np, _name):
        CASES += [case(getattr(np, _name), real(2, 3), call=lambda f, x: f(x).values, note="values", analytic=False)]
if hasattr(np, "unique_values"):
    CASES += [case(np.unique_values, real(2, 3), analytic=False)]

CONSTANT = [
    case(np.argpartition, M, kth=1), case(np.argpartition, M, kth=(0, 2), axis=0),
    case(np.lexsort, M, axis=0), case(np.lexsort, real(4), other(4), call=lambda f, *keys: f(keys), note="two keys"),
    case(np.isin, M, call=lambda f, x: f(x, M[0])), case(np.isin, V, W, invert=True),
]  # fmt: skip
if hasattr(np, "in1d"):
    CONSTANT += [case(np.in1d, V, W)]
