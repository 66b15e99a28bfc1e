"""Arrays put together and taken apart."""

from __future__ import annotations

import numpy as np

from tests.cases.case import Case, Points, case

points = Points(31)
real, other = points.real, points.other

V, M, C = real(3), real(2, 3), real(2, 3, 4)


def _of_several(function: object, *rows: tuple[tuple[int, ...], ...]) -> list[Case]:
    return [case(function, *(real(*shape) for shape in shapes), call=lambda f, *args: f(args)) for shapes in rows]


CASES = [
    *(case(function, real(*shape))
         for function in (np.atleast_1d, np.atleast_2d, np.atleast_3d) for shape in ((), (3,), (2, 3), (2, 3, 2))),
    *(case(function, V, real(), 0.7, note="several") for function in (np.atleast_1d, np.atleast_2d, np.atleast_3d)),
    *_of_several(np.hstack, ((3,), (2,)), ((2, 3), (2, 1)), ((), (3,)), ((2, 3, 4), (2, 1, 4))),
    *_of_several(np.vstack, ((3,), (3,)), ((2, 3), (3,)), ((), ()), ((2, 3, 2), (1, 3, 2))),
    *_of_several(np.dstack, ((3,), (3,)), ((2, 3), (2, 3)), ((), ()), ((2, 3, 1), (2, 3, 2))),
    *_of_several(np.column_stack, ((3,), (3,)), ((2, 3), (2,)), ((2,), (2, 0))),
    case(np.vstack, M, call=lambda f, x: f([x, [1, 2, 3], 2 * x]), note="with a list"),
    case(np.hstack, V, call=lambda f, x: f([x, 1.0, [2.0, x[0]]]), note="with numbers and a list of tracers"),
    case(np.vstack, C, call=lambda f, x: f(x), note="rows of an array"),
    case(np.append, V, real(2)), case(np.append, M, real(1, 3), axis=0), case(np.append, M, real(2), note="flat"),
    case(np.append, M, real(2, 2), axis=-1), case(np.append, V, call=lambda f, x: f([1.0, 2.0], x), note="to a constant"),
    case(np.append, V, 0.7, note="a float"),
    case(np.block, M, real(2, 1), call=lambda f, x, y: f([x, y]), note="row"),
    case(np.block, M, real(1, 2), real(), call=lambda f, x, y, z: f([[x], [y, z]]), note="nested"),
    case(np.block, V, real(2), call=lambda f, x, y: f([[x, y], [y, x]]), note="rows"),
    case(np.block, C, real(2, 3, 1), call=lambda f, x, y: f([[x, y], [np.ones((2, 3, 5))]]), note="more axes than levels"),
    case(np.block, V, call=lambda f, x: f(x), note="no list"), case(np.block, real(), call=lambda f, x: f([[[x]]]), note="three levels"),
    case(np.block, M, call=lambda f, x: f([[1.0, x[:1]], [np.ones((2, 1)), x]]), note="with constants"),
    case(np.broadcast_arrays, V, real(2, 1)), case(np.broadcast_arrays, V, call=lambda f, x: f(x, np.ones((2, 1)), 2.0), note="constants"),
    case(np.broadcast_arrays, M, note="one"), case(np.broadcast_arrays, 0.7, real(2)),
    case(np.meshgrid, V, real(2)), case(np.meshgrid, V, real(2), indexing="ij"), case(np.meshgrid, V, real(2), sparse=True),
    case(np.meshgrid, V, real(2), real(4)), case(np.meshgrid, V, real(2), real(1), indexing="ij", sparse=True, copy=False),
    case(np.meshgrid, V), case(np.meshgrid, V, call=lambda f, x: f(x, [1.0, 2.0]), note="with a constant"),
    case(np.meshgrid, real(), real(2)),
    case(np.hsplit, real(4), indices_or_sections=2), case(np.hsplit, M, indices_or_sections=[1]),
    case(np.vsplit, M, indices_or_sections=2), case(np.vsplit, C, indices_or_sections=[1, 1]),
    case(np.dsplit, C, indices_or_sections=2), case(np.dsplit, C, indices_or_sections=(1, 3)),
    *(case(function, points.complex(3), real(3), call=lambda f, x, y: f([x, y]), note="complex and real", analytic=False)
      for function in (np.hstack, np.vstack, np.dstack, np.column_stack, np.block)),
    *(case(function, points.complex(3), real(2), note="complex and real", analytic=False)
      for function in (np.append, np.meshgrid, np.atleast_2d, np.atleast_3d)),
    case(np.broadcast_arrays, points.complex(3), real(2, 1), note="complex and real", analytic=False),
]  # fmt: skip
if hasattr(np, "unstack"):
    CASES += [case(np.unstack, M), case(np.unstack, C, axis=1), case(np.unstack, C, axis=-1)]
