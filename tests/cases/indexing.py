"""Indexing."""

from __future__ import annotations

import numpy as np

from funcgrad.ops import indexing, updates
from tests.cases.case import Points, case

points = Points(22)
real, positive = points.real, points.positive

M, C = real(2, 3), real(2, 3, 4)

TRUTH = np.array([[True, False, True], [False, False, True]])


def other_positive(*shape: int) -> np.ndarray:
    return np.abs(points.other(*shape))


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
    case(np.take, M, indices=[5, 0], axis=1, mode="clip"), case(indexing.take, M, indices=[0, 4, 4], note="funcgrad.numpy's"),
    case(np.take_along_axis, M, indices=np.array([[0, 0, 1], [1, 0, 1]]), axis=0),
    case(np.take_along_axis, M, indices=np.array([[2], [2]]), axis=1),
    case(np.take_along_axis, C, indices=np.array([[[0, 2, 2, 1]]]), axis=-2),
    case(np.take_along_axis, M, indices=np.array([4, 4, 0]), axis=None),
    case(np.repeat, M, repeats=2), case(np.repeat, M, repeats=2, axis=0), case(np.repeat, M, repeats=[1, 0, 3], axis=1),
    case(np.repeat, 0.7, repeats=3),
    *(
        case(updates.at, args[0], args[1], call=lambda f, x, v, index=index, name=name: getattr(f(x)[index], name)(v),
             note=f"{name}, {note}", analytic=name not in ("max", "min"))
        for name in ("set", "add", "subtract", "multiply", "divide", "power", "max", "min")
        for note, index, args in [
            ("basic", (slice(None), 1), (positive(2, 3), other_positive(2))),
            ("broadcast", (0, slice(0, 2)), (positive(2, 3), other_positive())),
            ("mask", TRUTH, (positive(2, 3), other_positive(3))),
            ("arrays", ([0, 1], [2, 0]), (positive(2, 3), other_positive(2))),
            ("0d", (), (positive(), other_positive())),
            ("float", ..., (1.3, 0.7)),
            ("empty", slice(0, 0), (positive(3), other_positive())),
            *([] if name == "set" else [
                ("repeats", [1, 0, 1, 1], (positive(2), other_positive(4))),
                ("repeated rows", [0, 0], (positive(2, 3), other_positive(2, 3))),
                ("repeats, broadcast", ([0, 1, 0], slice(None)), (positive(2, 3), other_positive(3)))]),
        ]
    ),
    case(updates.at, M, call=lambda f, x: f(x)[0].get()), case(updates.at, M, call=lambda f, x: f(x)[[0, 0]].get(), note="get, repeats"),
    case(updates.at, M, call=lambda f, x: f(x)[:, 1].apply(np.sin), note="apply"),
    case(updates.at, real(2), call=lambda f, v: f(np.ones((2, 3)))[:, 0].set(v), note="set in a constant", analytic=False),
    case(updates.at, M, call=lambda f, x: f(x)[1].set(2), note="set a constant"),
    case(updates.at, M, call=lambda f, x: f(x)[1].multiply([1, 2, 3]), note="multiply by a list"),
    *(case(updates.at, points.complex(3), points.complex(3) if name != "power" else positive(3), analytic=False, note=f"{name}, complex",
           call=lambda f, x, v, name=name: getattr(f(x)[[0, 1, 0] if name != "set" else [0, 2, 1]], name)(v))
      for name in ("set", "add", "subtract", "multiply", "divide", "power")),
    case(updates.at, points.complex(3), real(2), call=lambda f, x, v: f(x)[:2].set(v), analytic=False, note="set real in complex"),
    case(updates.at, points.complex(3), real(2), call=lambda f, x, v: f(x)[[1, 1]].add(v), analytic=False, note="add real to complex"),
    case(indexing.getitem, points.complex(2, 3), call=lambda f, x: x[:, 1], analytic=False, note="complex"),
    case(indexing.getitem, points.complex(3), call=lambda f, x: x[[0, 0, 2]], analytic=False, note="complex, repeats"),
    case(np.take, points.complex(3), indices=[1, 1], analytic=False, note="complex"),
    case(np.repeat, points.complex(2), repeats=2, analytic=False, note="complex"),
]  # fmt: skip
