"""Functions of the user's, applied by NumPy's."""

from __future__ import annotations

import numpy as np

from funcgrad.ops.arrays import functional
from tests.cases.case import Points, case

points = Points(34)
real, other, positive = points.real, points.other, points.positive

V, M, C = real(3), real(2, 3), real(2, 3, 4)

CASES = [
    case(np.apply_along_axis, M, call=lambda f, x: f(lambda row: row[0] * row[-1], 1, x), note="number"),
    case(np.apply_along_axis, C, call=lambda f, x: f(lambda row: row[:2] * row.sum(), 1, x), note="row"),
    case(np.apply_along_axis, C, call=lambda f, x: f(np.diag, -1, x), note="matrix"),
    case(np.apply_along_axis, M, call=lambda f, x: f(lambda row, k, power: k * row[::-1] ** power, 0, x, 3.0, power=2), note="arguments"),
    case(np.apply_along_axis, V, call=lambda f, x: f(np.cumsum, 0, x), note="1d"),
    case(functional.apply_along_axis, real(), call=lambda f, x: f(lambda row: x * row, 1, np.ones((2, 3))), note="closure"),
    case(np.apply_over_axes, C, call=lambda f, x: f(np.sum, x, [0, 2])),
    case(np.apply_over_axes, C, call=lambda f, x: f(np.mean, x, -1), note="one"),
    case(np.apply_over_axes, M, call=lambda f, x: f(lambda a, axis: np.cumsum(a * a, axis), x, (0, 1)), note="same shape"),
    case(np.piecewise, M, call=lambda f, x: f(x, [x < -0.5, x > 0.5], [lambda v: v * v, lambda v: v**3, 5.0]), note="default"),
    case(np.piecewise, V, call=lambda f, x: f(x, x > 0, [np.exp, np.sin]), note="one condition"),
    case(functional.piecewise, V, real(),
         call=lambda f, x, y: f(x, [x > 0, x > 1.0], [lambda v: y * v, y]), note="tracer for a value", analytic=False),
    case(np.piecewise, real(), call=lambda f, x: f(x, [x > 0, x <= 0], [lambda v: 2.0 * v, lambda v: v * v]), note="0d"),
    case(np.piecewise, V, call=lambda f, x: f(x, [x > 99.0], [np.sin, np.cos]), note="none"),
    case(np.piecewise, V, call=lambda f, x: f(x, [x > 0.0], [lambda v, k, p: k * v**p, lambda v, k, p: k * v], 3.0, p=2), note="arguments"),
    case(functional.piecewise, real(),
         call=lambda f, y: f(np.arange(3.0), [[True, False, True]], [lambda v: y * v, y * y]), note="closure", analytic=False),
    case(functional.vectorize, V, call=lambda f, x: f(lambda v: v * v if v > 0 else -v)(x), analytic=False),
    case(functional.vectorize, V, real(2, 1), call=lambda f, x, y: f(lambda a, b: a * b)(x, y), note="broadcast"),
    case(functional.vectorize, V,
         call=lambda f, x: f(lambda a, b=2.0: (a * b, a + b))(x, b=[1.0, 2.0, 3.0]), note="keyword and two results"),
    case(functional.vectorize, V, call=lambda f, x: f(lambda a, w: a * w.sum(), excluded=[1])(x, x * 2.0), note="excluded"),
    case(functional.vectorize, M, real(3), call=lambda f, x, y: f(lambda a, b: a @ b, signature="(n),(n)->()")(x, y), note="signature"),
    case(functional.vectorize, M, call=lambda f, x: f(lambda a: np.outer(a, a), signature="(n)->(n,n)")(x), note="signature, a matrix"),
    case(functional.vectorize, real(), call=lambda f, x: f(lambda a: a * x)(np.arange(3.0)), note="closure"),
    case(functional.vectorize, real(), call=lambda f, x: f(lambda a: a * a)(x), note="0d"),
    case(np.apply_along_axis, points.complex(2, 3), call=lambda f, x: f(lambda row: row * row[0], 1, x), note="complex", analytic=False),
    case(np.apply_over_axes, points.complex(2, 3), call=lambda f, x: f(np.sum, x, [0, 1]), note="complex", analytic=False),
    case(np.piecewise, points.complex(3), call=lambda f, x: f(x, [x.real > 0], [np.square, np.exp]), note="complex", analytic=False),
    case(functional.vectorize, points.complex(3), call=lambda f, x: f(lambda a: a * a)(x), note="complex", analytic=False),
]  # fmt: skip
