"""Products and sums of products."""

from __future__ import annotations

import numpy as np

from tests.cases.case import Points, case

points = Points(24)
real = points.real

CASES = [
    *(case(np.matmul, real(*a), real(*b)) for a, b in [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 2)), ((5, 2, 3), (3, 2)), ((2, 3), (5, 3, 2)),
        ((5, 2, 3), (3,)), ((3,), (5, 3, 2)), ((4, 1, 2, 3), (5, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 2, 3), (2, 3, 2)),
        ((1, 3), (3, 1))]),
    *(case(np.dot, real(*a), real(*b)) for a, b in [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((4, 2, 3), (3,)), ((4, 2, 3), (3, 2)), ((2, 3), (5, 3, 2)),
        ((3,), (5, 3, 2)),
        ((4, 2, 3), (5, 3, 2)), ((), (2, 3)), ((2,), ()), ((), ())]),
    case(np.outer, real(3), real(2)), case(np.outer, real(2, 2), real(3)), case(np.outer, real(), real(3)),
    case(np.tensordot, real(2, 3, 4), real(3, 4, 5)), case(np.tensordot, real(2, 3, 4), real(4, 5), axes=1),
    case(np.tensordot, real(2, 3), real(2), axes=0),
    case(np.tensordot, real(2, 3, 4), real(4, 5, 3), axes=([1, 2], [2, 0])), case(np.tensordot, real(2, 3, 4), real(5, 2), axes=(0, 1)),
    case(np.tensordot, real(2, 3), real(2, 3), axes=((0, 1), (0, 1))), case(np.tensordot, real(2, 3, 4), real(4, 5), axes=(-1, 0)),
    *(case(np.einsum, *(real(*shape) for shape in shapes), call=lambda f, *args, s=subscripts: f(s, *args), note=subscripts)
      for subscripts, shapes in [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ii->", [(3, 3)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]),
        ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]), ("ij->j", [(2, 3)]), ("i,i->i", [(3,), (3,)]), ("i,i", [(3,), (1,)]), ("i,j->ij", [(2,), (3,)]),
        ("nd,nn->d", [(2, 3), (2, 2)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]), ("...ij,...jk->...ik", [(4, 2, 3), (3, 2)]),
        ("...i,...i", [(2, 3), (3,)]),
        ("i...->...", [(2, 3)]), ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 4)]), (",i->i", [(), (3,)]), ("iij->j", [(2, 2, 3)]),
        ("ba", [(2, 3)]),
        ("ij,kj->ki", [(2, 3), (4, 3)]), ("...,...", [(2, 1), (3,)]), ("i,i,i->", [(3,), (3,), (3,)]), ("ij,j", [(2, 3), (1,)]),
        ("aab,bc -> ac", [(2, 2, 3), (3, 2)])]),
    case(np.einsum, real(2, 3), real(3, 4), call=lambda f, x, y: f(x, [0, 1], y, [1, 2], [2, 0]), note="lists"),
    case(np.einsum, real(2, 3), real(3, 4), call=lambda f, x, y: f(x, [0, 1], y, [1, 2]), note="lists, implied"),
    case(np.einsum, real(4, 3), call=lambda f, x: f(x, [..., 1], [1, ...]), note="lists, ellipsis"),
    case(np.einsum, real(2, 3), real(3, 4), real(4, 2), call=lambda f, x, y, z: f("ij,jk,kl", x, y, z, optimize=True), note="optimized"),
    case(np.einsum, real(2, 3), call=lambda f, x: f("ij,kj->ik", x, x), note="one array twice"),
]  # fmt: skip

_Z = points.complex
CASES += [
    *(case(f, _Z(*a), _Z(*b), note="complex", analytic=False) for f in (np.matmul, np.dot)
      for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4))]),
    case(np.matmul, _Z(5, 2, 3), _Z(3, 2), note="complex", analytic=False), case(np.matmul, real(2, 3), _Z(3, 4), note="real and complex"),
    case(np.matmul, _Z(2, 3), real(3), note="complex and real", analytic=False),
    case(np.dot, _Z(2, 3), real(3, 2), note="complex and real", analytic=False),
    case(np.outer, _Z(3), real(2), note="complex and real", analytic=False),
    case(np.tensordot, _Z(2, 3, 4), _Z(3, 4, 5), note="complex", analytic=False),
    case(np.einsum, _Z(2, 3), _Z(3, 4), call=lambda f, x, y: f("ij,jk->ki", x, y), note="complex", analytic=False),
    case(np.einsum, _Z(2, 3), real(3), call=lambda f, x, y: f("ij,j", x, y), note="complex and real", analytic=False),
    case(np.einsum, _Z(3, 3), call=lambda f, x: f("ii", x), note="complex trace", analytic=False),
]  # fmt: skip
