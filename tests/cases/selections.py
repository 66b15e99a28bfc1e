"""Elements chosen by conditions, choices, diagonals, triangles and windows."""

from __future__ import annotations

import numpy as np

from funcgrad.ops.arrays import selections
from tests.cases.case import Points, case
from tests.witnesses import NUMPY

points = Points(32)
real, other = points.real, points.other

V, M, C, S = real(4), real(2, 3), real(2, 3, 4), real(3, 3)
WHICH = np.array([[0, 1, 2], [2, 1, 0]])
TRUTH = np.array([[True, False, True], [False, False, True]])
SPARSE = np.array([0.0, 0.0, 1.5, 0.0, -2.0, 0.0])
BOX = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 1.5, 0.0, 0.0], [0.0, -0.5, 2.0, 0.0]])
window = np.lib.stride_tricks.sliding_window_view

CASES = [
    case(np.compress, M, call=lambda f, x: f([0, 1], x, axis=0), note="rows"),
    case(np.compress, M, call=lambda f, x: f([True, False, True], x, 1), note="columns"),
    case(np.compress, M, call=lambda f, x: f([False, True, True, False], x), note="flat"),
    case(np.extract, M, call=lambda f, x: f(x > 0, x)), case(np.extract, M, call=lambda f, x: f([[0, 1, 0], [1, 1, 0]], x), note="numbers"),
    case(np.choose, M, real(2, 3), real(2, 3), call=lambda f, x, y, z: f(WHICH, [x, y, z])),
    case(np.choose, real(3), real(2, 1), call=lambda f, x, y: f(WHICH % 2, (x, y)), note="broadcast"),
    case(np.choose, S, call=lambda f, x: f([2, 0, 1], x), note="rows of an array"),
    case(np.choose, V, call=lambda f, x: f([4, -1, 0, 7], [x, 2.0 * x, 5.0], mode="wrap"), note="wrap"),
    case(np.choose, V, call=lambda f, x: f([4, -1, 0, 7], [x, 2.0 * x, 5.0], mode="clip"), note="clip"),
    case(np.choose, real(), 0.7, call=lambda f, x, y: f(1, [x, y]), note="numbers"),
    case(np.select, M, real(2, 3), call=lambda f, x, y: f([TRUTH, x > 0], [x * x, y])),
    case(selections.select, M, real(), call=lambda f, x, y: f([TRUTH, ~TRUTH & (x > 0)], [x, 2.0], default=y), note="default"),
    case(np.select, real(3), real(2, 1), call=lambda f, x, y: f([TRUTH, x > 9.0], [x, y], 5), note="broadcast"),
    case(np.select, real(), call=lambda f, x: f([np.True_, np.False_], [x, 1.0]), note="0d"),
    case(np.delete, V, obj=1), case(np.delete, M, obj=1, axis=1), case(np.delete, M, obj=[0, -1], axis=1),
    case(np.delete, M, obj=slice(0, 4, 2)),
    case(np.delete, V, obj=np.array([True, False, True, False])), case(np.delete, C, obj=[], axis=-1),
    case(np.insert, V, real(), call=lambda f, x, y: f(x, 1, y), note="a number"),
    case(np.insert, V, 0.7, call=lambda f, x, y: f(x, -1, y), note="a float"),
    case(np.insert, V, real(2), call=lambda f, x, y: f(x, [1, 3], y), note="several"),
    case(np.insert, V, real(3), call=lambda f, x, y: f(x, [2, 2, 0], y), note="several in one place"),
    case(np.insert, V, real(3), call=lambda f, x, y: f(x, 2, y), note="a row in one place"),
    case(np.insert, M, real(), call=lambda f, x, y: f(x, 4, y), note="flat"),
    case(np.insert, M, real(2), call=lambda f, x, y: f(x, 1, y, axis=1), note="a column"),
    case(np.insert, M, real(3), call=lambda f, x, y: f(x, 1, y, axis=0), note="a row"),
    case(np.insert, M, real(2, 1), call=lambda f, x, y: f(x, [1, 2], y, axis=1), note="columns"),
    case(np.insert, M, real(3, 2), call=lambda f, x, y: f(x, 1, y, axis=1), note="columns in one place"),
    case(np.insert, M, real(), call=lambda f, x, y: f(x, slice(0, 2), y, axis=-1), note="slice"),
    case(np.insert, V, real(), call=lambda f, x, y: f(x, [1], y), note="a list of one"),
    case(np.insert, V, call=lambda f, x: f(x, [], []), note="nothing"),
    case(np.insert, V, call=lambda f, x: f(x, 2, [1, 2]), note="constants"),
    case(np.insert, V, call=lambda f, x: f([1.0, 2.0], 1, x), note="into a constant", analytic=False),
    case(np.trim_zeros, SPARSE, call=lambda f, x: f(x * (SPARSE != 0))),
    case(np.trim_zeros, SPARSE, call=lambda f, x: f(x * (SPARSE != 0), "f"), note="front"),
    case(np.trim_zeros, SPARSE, call=lambda f, x: f(x * (SPARSE != 0), trim="B"), note="back"),
    case(np.trim_zeros, SPARSE, call=lambda f, x: f(x * 0.0), note="all"),
    case(np.diag, V), case(np.diag, V, k=1), case(np.diag, V, k=-2), case(np.diag, S), case(np.diag, M, k=1), case(np.diag, M, k=-1),
    case(np.diag, real(3, 2), k=-1), case(np.diag, real(0)),
    case(np.diagflat, V), case(np.diagflat, M, k=1), case(np.diagflat, real(1, 1)),
    case(np.diagonal, real(4, 4)), case(np.diagonal, M, offset=1), case(np.diagonal, real(3, 2), offset=-1), case(np.diagonal, C),
    case(np.diagonal, C, offset=1, axis1=1, axis2=-1), case(np.diagonal, C, axis1=2, axis2=0),
    case(np.diagonal, C, offset=-1, axis1=2, axis2=1),
    *(case(function, x, **options) for function in (np.tril, np.triu) for x, options in [
        (S, {}), (M, {"k": 1}), (C, {"k": -1}), (real(3), {})]),
    case(np.resize, M, new_shape=(3, 4)), case(np.resize, M, new_shape=4), case(np.resize, V, new_shape=(2, 0)),
    case(np.resize, real(), new_shape=3),
    *(case(np.rot90, M, k=k) for k in (0, 1, 2, 3, -1)), case(np.rot90, C, axes=(1, 2)), case(np.rot90, C, k=3, axes=(2, 0)),
    *(case(function, S, call=lambda f, x: x[f(3)]) for function in (np.diag_indices, np.tril_indices, np.triu_indices)),
    case(np.ix_, V), case(np.ix_, V, real(2), real(3)), case(np.ix_, V, call=lambda f, x: f(x, [True, False, True])[0], note="with a mask"),
    case(window, real(6), window_shape=3), case(window, C, window_shape=(2, 2), axis=(0, 2)), case(window, M, window_shape=(2, 2)),
    case(window, real(5), window_shape=(2, 3), axis=(0, 0)), case(window, M, window_shape=2, axis=-1),
    case(window, real(4), window_shape=4),
    case(selections.overlapped, real(4, 3), call=lambda f, x: f(x, (6,), (3,), (0,))),
    *(case(function, points.complex(3, 3), note="complex", analytic=False)
         for function in (np.diag, np.diagflat, np.diagonal, np.tril, np.triu, np.rot90)),
    case(window, points.complex(5), window_shape=2, note="complex", analytic=False),
    case(np.insert, points.complex(3), real(), call=lambda f, x, y: f(x, 1, y), note="real into complex", analytic=False),
    case(np.choose, points.complex(3), real(3), call=lambda f, x, y: f([0, 1, 1], [x, y]), note="complex and real", analytic=False),
    case(selections.select, points.complex(2, 3), real(3),
         call=lambda f, x, y: f([TRUTH], [x], y), note="complex and real", analytic=False),
    case(np.compress, points.complex(3), call=lambda f, x: f([1, 0, 1], x), note="complex", analytic=False),
    case(np.delete, points.complex(3), obj=1, note="complex", analytic=False),
    case(np.resize, points.complex(3), new_shape=5, note="complex", analytic=False),
]  # fmt: skip
if NUMPY >= (2, 2):
    CASES += [
        case(np.trim_zeros, BOX, call=lambda f, x: f(x * (BOX != 0)), note="2d"),
        case(np.trim_zeros, BOX, call=lambda f, x: f(x * (BOX != 0), "b", axis=1), note="2d, one axis"),
        case(np.trim_zeros, BOX, call=lambda f, x: f(x * 0.0, axis=-1), note="2d, all"),
    ]

CONSTANT = [
    *(case(function, M) for function in (np.nonzero, np.flatnonzero, np.argwhere)),
    *(case(function, S) for function in (np.tril_indices_from, np.triu_indices_from, np.diag_indices_from)),
    case(np.tril_indices_from, M, k=1), case(np.triu_indices_from, M, k=-1),
]  # fmt: skip
