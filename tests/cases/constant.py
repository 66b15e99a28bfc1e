"""Functions with nothing to differentiate."""

from __future__ import annotations

import numpy as np

from tests.cases.case import Points, case

points = Points(26)
real = points.real

M = real(2, 3)

CONSTANT = [
    *(case(f, real(2, 3)) for f in (
        np.sign, np.floor, np.ceil, np.trunc, np.rint, np.spacing, np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not, np.argmax,
        np.argmin, np.round, np.around, np.all,
        np.any, np.count_nonzero, np.argsort, np.zeros_like, np.ones_like, np.shape, np.ndim, np.size,
        np.fix, np.common_type, np.iscomplex, np.isreal, np.iscomplexobj, np.isrealobj, np.isneginf, np.isposinf,
        np.array2string, np.array_repr, np.array_str)),
    *(case(f, real(2, 3), real(3)) for f in (
        np.floor_divide, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.logical_and,
        np.logical_or, np.logical_xor, np.isclose, np.allclose, np.array_equal,
        np.array_equiv, np.result_type, np.shares_memory, np.may_share_memory)),
    case(np.argmax, M, axis=1), case(np.argmin, M, axis=0, keepdims=True), case(np.argsort, M, axis=0), case(np.any, M, axis=1),
    case(np.searchsorted, np.array([-1.0, 0.0, 2.0]), real(4)), case(np.where, M, note="condition alone"),
    case(np.empty_like, M, call=lambda f, x: f(x).shape),
]  # fmt: skip
