"""Shapes."""

from __future__ import annotations

import numpy as np

from funcgrad.ops import operators
from tests.cases.case import Points, case

points = Points(21)
real = points.real

V, M, C = real(3), real(2, 3), real(2, 3, 4)

CASES = [
    case(np.reshape, M, call=lambda f, x: f(x, (3, 2))),
    case(np.reshape, C, call=lambda f, x: f(x, (-1, 4))),
    case(np.reshape, M, call=lambda f, x: f(x, 6, order="F"), note="order F"),
    case(np.reshape, real(), call=lambda f, x: f(x, (1, 1)), note="0d"),
    case(np.reshape, 0.7, call=lambda f, x: f(x, (1,)), note="float"),
    case(np.ravel, C), case(np.ravel, C, order="F"), case(np.ravel, real()),
    case(np.transpose, M), case(np.transpose, C), case(np.transpose, C, axes=(1, 2, 0)), case(np.transpose, C, axes=(-1, 0, 1)),
    case(np.transpose, real(3)),
    case(np.swapaxes, C, axis1=0, axis2=-1), case(np.moveaxis, C, source=0, destination=-1),
    case(np.moveaxis, C, source=(0, 1), destination=(-1, -2)), case(np.moveaxis, C, source=[2, 0], destination=[0, 1]),
    case(np.squeeze, real(1, 3, 1)), case(np.squeeze, real(1, 3, 1), axis=0), case(np.squeeze, real(1, 3, 1), axis=(0, -1)),
    case(np.expand_dims, M, axis=0), case(np.expand_dims, M, axis=-1), case(np.expand_dims, M, axis=(0, -1)),
    case(np.broadcast_to, real(3), shape=(2, 3)), case(np.broadcast_to, real(2, 1), shape=(4, 2, 3)),
    case(np.broadcast_to, real(), shape=(2,)),
    case(np.broadcast_to, real(1), shape=3), case(np.broadcast_to, 0.7, shape=(2, 2)),
    case(np.roll, M, shift=2), case(np.roll, M, shift=1, axis=1), case(np.roll, M, shift=(1, -2), axis=(0, 1)),
    case(np.roll, C, shift=1, axis=(0, 2)),
    case(np.tile, real(3), reps=2), case(np.tile, M, reps=(2, 1)), case(np.tile, real(3), reps=(2, 2)), case(np.tile, C, reps=2),
    case(np.tile, 0.7, reps=3),
    case(np.rollaxis, C, axis=2), case(np.rollaxis, C, axis=0, start=2), case(np.rollaxis, C, axis=-1, start=1),
    case(np.rollaxis, C, axis=1, start=-1), case(np.rollaxis, C, axis=0, start=3),
    case(np.copy, M), case(np.copy, M, order="F"), case(np.copy, real()), case(np.copy, 0.7),
    *(case(np.ravel, C, call=lambda f, x, order=order: f(x[:, ::-1, ::2].transpose(2, 0, 1), order=order), note=f"of a view, order {order}")
      for order in "CFAK"),
    case(np.ravel, C, call=lambda f, x: f(np.transpose(x, (2, 0, 1)), "K"), note="of a transpose, order K"),
    case(np.reshape, C, call=lambda f, x: f(np.transpose(x), (6, 4), order="A"), note="of a transpose, order A"),
    case(np.reshape, C, call=lambda f, x: f(x[:, ::-1], (6, 4), order="A"), note="of a view, order A"),
    case(np.broadcast_to, V, shape=np.int64(3)),
    case(np.concatenate, M, real(2, 2), call=lambda f, x, y: f([x, y], 1), note="axis 1"),
    case(np.concatenate, M, real(1, 3), call=lambda f, x, y: f((x, y)), note="axis 0"),
    case(np.concatenate, M, call=lambda f, x: f([x, np.ones((2, 2)), 2.0 * x], axis=-1), note="with a constant"),
    case(np.concatenate, M, real(4), call=lambda f, x, y: f([x, y], axis=None), note="axis None"),
    case(np.concatenate, M, call=lambda f, x: f(x), note="rows of an array"),
    case(np.concatenate, M, real(0, 3), call=lambda f, x, y: f([x, y]), note="with an empty one"),
    case(np.stack, real(3), real(3), call=lambda f, x, y: f([x, y])),
    case(np.stack, M, real(2, 3), call=lambda f, x, y: f((x, y, x), axis=-1), note="axis -1"),
    case(np.stack, real(), 0.7, call=lambda f, x, y: f([x, y, 1.0]), note="numbers"),
    case(np.flip, M), case(np.flip, M, axis=0), case(np.flip, C, axis=(0, -1)), case(np.fliplr, M), case(np.flipud, M),
    case(np.split, real(6), indices_or_sections=3), case(np.split, M, indices_or_sections=[1], axis=1),
    case(np.split, M, indices_or_sections=2),
    case(np.split, real(4, 2), indices_or_sections=[1, 3], axis=0, note="uneven"), case(np.array_split, real(5), indices_or_sections=3),
    case(np.array_split, M, indices_or_sections=2, axis=-1), case(np.split, real(4), indices_or_sections=[2, 2], note="an empty part"),
    case(operators.astype, real(3), call=lambda f, x: x.astype(np.float64), note="same", analytic=False),
    case(operators.in_kind, real(), call=lambda f, x: f(x, np.ndarray, x.dtype), note="as an array"),
    case(operators.in_kind, real(), call=lambda f, x: f(x, x.dtype.type, x.dtype), note="as a scalar"),
    case(operators.astype, real(3), call=lambda f, x: x.astype(np.longdouble), note="wider", analytic=False),
    *(case(f, points.complex(2, 3), note="complex", analytic=False) for f in (np.ravel, np.transpose, np.squeeze, np.flip, np.copy)),
    case(np.concatenate, points.complex(3), real(2), call=lambda f, x, y: f([x, y]), note="complex and real", analytic=False),
    case(np.stack, points.complex(3), real(3), call=lambda f, x, y: f([x, y]), note="complex and real", analytic=False),
    case(np.broadcast_to, points.complex(3), shape=(2, 3), note="complex", analytic=False),
    case(np.roll, points.complex(3), shift=1, note="complex", analytic=False),
    case(np.tile, points.complex(2), reps=2, note="complex", analytic=False),
]  # fmt: skip
if hasattr(np, "matrix_transpose"):
    CASES += [case(np.matrix_transpose, M), case(np.matrix_transpose, real(3, 2, 2))]
