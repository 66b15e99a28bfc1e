"""Indexing."""

from __future__ import annotations

import numpy as np

from funcgrad.ops import indexing
from tests.cases.case import Points, case

points = Points(22)
real = points.real

M, C = real(2, 3), real(2, 3, 4)

CASES = [
    *(
        case(indexing.getitem, C, call=lambda f, x, index=index: x[index], note=note)
        for note, index in {
            "number": 1,
            "negative": -1,
            "slice": slice(None, None, -1),
            "steps": (slice(None), slice(0, 3, 2)),
            "ellipsis": (..., 1),
            "new axis": (None, 0, ..., None),
            "one element": (1, 2, 3),
            "list with repeats": [1, 0, 1],
            "array with repeats": np.array([[0, 1], [1, 1]]),
            "arrays": (np.array([0, 1, 1]), np.array([2, 0, 0])),
            "array and slice": (slice(None), np.array([2, 0, 2])),
            "arrays apart": (np.array([0, 1, 1]), slice(1, 3), np.array([3, 0, 3])),
            "negative array": np.array([-1, 0, -2]),
            "mask": np.abs(C) > 1.0,
            "mask of an axis": (slice(None), np.array([True, False, True])),
            "empty": slice(0, 0),
            "empty array": np.array([], int),
            "numpy integer": np.int64(1),
            "0d array": np.array(1),
            "array and new axis": (None, np.array([1, 1])),
        }.items()
    ),
    case(indexing.scatter, M, call=lambda f, x: f(x, (4, 3), np.array([0, 0])), note="repeats", analytic=False),
    case(np.take, M, indices=[0, 4, 4]), case(np.take, M, indices=[0, 0], axis=0), case(np.take, M, indices=[[2, -1], [2, 0]], axis=-1),
    case(np.take, M, indices=1), case(np.take, M, indices=2, axis=1), case(np.take, M, indices=[5, -4, 7], axis=1, mode="wrap"),
    case(np.take, M, indices=[5, 0], axis=1, mode="clip"),
    case(np.take_along_axis, M, indices=np.array([[0, 0, 1], [1, 0, 1]]), axis=0),
    case(np.take_along_axis, M, indices=np.array([[2], [2]]), axis=1),
    case(np.take_along_axis, C, indices=np.array([[[0, 2, 2, 1]]]), axis=-2),
    case(np.take_along_axis, M, indices=np.array([4, 4, 0]), axis=None),
    case(np.repeat, M, repeats=2), case(np.repeat, M, repeats=2, axis=0), case(np.repeat, M, repeats=[1, 0, 3], axis=1),
    case(np.repeat, 0.7, repeats=3),
]  # fmt: skip
