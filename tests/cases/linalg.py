"""Linear algebra: products, solves, inverses, determinants, norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case
from tests.witnesses import NUMPY

points = Points(44)
real, complex_ = points.real, points.complex


def regular(*shape: int, kind: Any = real) -> np.ndarray:
    """Square matrices that are far from singular ones."""
    return 0.3 * kind(*shape) + 3.0 * np.eye(shape[-1])


def graded(*shape: int, kind: Any = real) -> np.ndarray:
    """Matrices whose rows, columns and singular values differ much in size."""
    return kind(*shape) + np.eye(*shape[-2:]) * np.array([40.0, 25.0, 12.0, 0.0, 0.0])[: shape[-1]]


def coarse(function: Any, *args: Any, **options: Any) -> Case:
    """What LAPACK computes: in double precision only."""
    return case(function, *args, wide=False, **options)


def newer(name: str, *args: Any, module: Any = np, **options: Any) -> list[Case]:
    """A case of a function that not every NumPy has."""
    return [case(getattr(module, name), *args, **options)] if hasattr(module, name) else []


def _norms() -> list[Case]:
    found: list[Case] = []
    for make in (real, complex_):
        note = "" if make is real else "complex "
        for ord_ in (None, 1, 2, 3, 2.5, 0.5, -1, -2, np.inf, -np.inf):
            found.append(case(np.linalg.norm, make(5), note=f"{note}ord {ord_}", call=lambda f, x, o=ord_: f(x, o)))
            for axis, keepdims in ((1, False), (-1, True), (0, False)):
                found.append(
                    case(np.linalg.norm, make(2, 3, 2), note=f"{note}ord {ord_} axis {axis} {keepdims}",
                         call=lambda f, x, o=ord_, a=axis, k=keepdims: f(x, o, a, k))
                )  # fmt: skip
        for ord_ in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            is_wide = ord_ not in ("nuc", 2, -2)
            x = graded(3, 2, kind=make)
            found.append(case(np.linalg.norm, x, note=f"{note}matrix ord {ord_}", call=lambda f, x, o=ord_: f(x, o), wide=is_wide))
            for axis, keepdims in (((0, 1), False), ((-1, 0), True), ((2, 1), False)):
                x = np.moveaxis(graded(2, 4, 3, kind=make), (-2, -1), axis)
                found.append(
                    case(np.linalg.norm, x, note=f"{note}ord {ord_} axes {axis} {keepdims}", wide=is_wide,
                         call=lambda f, x, o=ord_, a=axis, k=keepdims: f(x, o, a, k))
                )  # fmt: skip
    found += [case(np.linalg.norm, real(2, 3, 2)), case(np.linalg.norm, real(2, 3), keepdims=True), case(np.linalg.norm, real())]
    found += [case(np.linalg.norm, 0.7), case(np.linalg.norm, real(0)), case(np.linalg.norm, real(0, 3), axis=1)]
    found += [case(np.linalg.norm, real(3, 0), axis=1)]
    if NUMPY >= (2, 3):  # NumPy takes no maximum of nothing before
        found.append(case(np.linalg.norm, np.zeros((2, 0, 3)), axis=(1, 2), ord=np.inf))
    for options in ({}, {"axis": 1}, {"axis": (0, 2)}, {"axis": (2, 0), "keepdims": True, "ord": 1}, {"keepdims": True, "ord": np.inf}):
        found += newer("vector_norm", real(2, 3, 2), module=np.linalg, **options)
    for options in ({}, {"ord": 1, "keepdims": True}):
        found += newer("matrix_norm", real(2, 3, 2), module=np.linalg, **options)
    found += newer("matrix_norm", real(2, 3, 2), module=np.linalg, ord="nuc", wide=False)
    return found


def _products() -> list[Case]:
    found: list[Case] = []
    for make in (real, complex_):
        note = "" if make is real else "complex"
        found += [case(np.vdot, make(3), make(3), note=note, analytic=False), case(np.vdot, make(2, 3), make(6), note=note, analytic=False)]
        shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 4, 3), (5, 3))]
        found += [case(np.inner, make(*a), make(*b), note=note) for a, b in shapes]
        found += [case(np.kron, make(*a), make(*b), note=note) for a, b in [((2, 3), (3, 2)), ((2,), (2, 3)), ((2, 2, 3), (2,))]]
        found += [
            case(np.cross, make(*a), make(*b), note=note, exact=make is real)
            for a, b in [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))]
        ]
        found += [case(np.trace, make(3, 3), note=note), case(np.trace, make(2, 4), offset=1, note=note and "complex offset")]
        for axes, a, b in [(-1, (2, 3), (3,)), (0, (3, 2), (3, 2)), (-2, (3, 2), (4, 3, 2))]:
            found += newer("vecdot", make(*a), make(*b), note=f"{note} axis {axes}", module=np.linalg, axis=axes, analytic=False)
        for a, b in [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))]:
            found += newer("vecdot", make(*a), make(*b), note=note, analytic=False)
        found += newer("matvec", make(2, 3), make(3), note=note) + newer("matvec", make(4, 2, 3), make(5, 1, 3), note=note)
        found += newer("vecmat", make(3), make(3, 2), note=note, analytic=False)
        found += newer("vecmat", make(5, 1, 3), make(4, 3, 2), note=note, analytic=False)
    found += [case(np.vdot, real(3), complex_(3), note="mixed"), case(np.vdot, complex_(3), real(3), note="mixed, complex first")]
    found += [case(np.inner, real(), real(2, 3)), case(np.inner, real(3), 0.7), case(np.kron, real(), real(2))]
    found.append(case(np.cross, real(3, 2), real(3, 2), axis=0, note="axis"))
    found.append(case(np.cross, real(3, 2), real(2, 3), axisa=0, axisb=1, axisc=0))
    found.append(case(np.trace, real(2, 3, 4), axis1=2, axis2=0, offset=-1))
    found.append(coarse(np.trace, real(2, 3, 4), axis1=1, axis2=-1, dtype=np.float64, analytic=False))
    return found


def _chains() -> list[Case]:
    shapes = [[(2, 3), (3, 4)], [(2, 3), (3, 4), (4, 2)], [(3,), (3, 4), (4,)], [(2, 3), (3, 1), (1, 5), (5, 2)], [(3,), (3, 2)]]
    return [
        case(np.linalg.multi_dot, *(make(*shape) for shape in each), call=lambda f, *args: f(args), note=make.__name__)
        for make in (real, complex_)
        for each in shapes
    ]


def _aliases() -> list[Case]:
    """Functions of numpy.linalg that the main namespace has too."""
    calls: list[tuple[str, list[np.ndarray], dict[str, Any]]] = [
        ("outer", [real(3), real(2)], {}), ("matmul", [real(2, 3), real(3, 4)], {}),
        ("cross", [real(2, 3), real(2, 3)], {}), ("cross", [real(3, 2), real(3, 2)], {"axis": 0}),
        ("tensordot", [real(2, 3, 4), real(4, 3)], {"axes": ([1, 2], [1, 0])}),
        ("trace", [real(2, 3, 3)], {}), ("trace", [real(2, 3, 4)], {"offset": 1}),
        ("diagonal", [real(2, 3, 4)], {"offset": -1}), ("diagonal", [complex_(3, 3)], {}), ("matrix_transpose", [real(2, 3, 4)], {}),
    ]  # fmt: skip
    return [
        one for name, args, options in calls for one in newer(name, *args, module=np.linalg, note=f"of linalg {options or ''}", **options)
    ]


def _solves() -> list[Case]:
    found: list[Case] = []
    for kind in (real, complex_):
        note = "" if kind is real else "complex"
        for a, b in [((3, 3), (3,)), ((3, 3), (3, 2)), ((4, 3, 3), (4, 3, 2)), ((3, 3), (4, 3, 1)), ((4, 1, 3, 3), (1, 2, 3, 1))]:
            found.append(coarse(np.linalg.solve, regular(*a, kind=kind), kind(*b), note=note))
        for shape in [(3, 3), (2, 3, 3), (1, 1), (2, 1, 2, 2)]:
            found.append(coarse(np.linalg.inv, regular(*shape, kind=kind), note=note))
            found.append(coarse(np.linalg.det, regular(*shape, kind=kind), note=note))
            found.append(coarse(np.linalg.slogdet, regular(*shape, kind=kind), note=note))
        found.append(coarse(np.linalg.tensorinv, regular(6, 6, kind=kind).reshape(2, 3, 6), ind=2, note=note))
        found.append(coarse(np.linalg.tensorinv, regular(4, 4, kind=kind).reshape(4, 2, 2), ind=1, note=note))
        a = regular(6, 6, kind=kind)
        found.append(coarse(np.linalg.tensorsolve, a.reshape(2, 3, 6), kind(2, 3), note=note))
        turned = np.moveaxis(a.reshape(6, 2, 3), 1, 0)
        found.append(coarse(np.linalg.tensorsolve, turned, kind(6), axes=(0, 2), note=note or "axes"))
        powers = (1, 2, 3, 4, 5, -1, -3)
        found += [coarse(np.linalg.matrix_power, regular(2, 2, kind=kind), n=power, note=f"{note}{power}") for power in powers]
    found += [coarse(np.linalg.solve, regular(3, 3), complex_(3), note="mixed"), coarse(np.linalg.inv, real(0, 2, 2))]
    found += [coarse(np.linalg.inv, real(0, 0)), coarse(np.linalg.det, real(0, 2, 2)), coarse(np.linalg.det, real(0, 0))]
    found += [coarse(np.linalg.solve, real(0, 2, 2), real(0, 2, 3)), coarse(np.linalg.solve, real(0, 0), real(0, 3))]
    found += [coarse(np.linalg.slogdet, real(0, 2, 2)), coarse(np.linalg.matrix_power, real(2, 3, 3), n=7)]
    vectors = real(2, 3)
    found.append(coarse(np.linalg.solve, regular(2, 3, 3), vectors[0] if NUMPY >= (2, 0) else vectors, note="vectors"))
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        for kind in (real, complex_):
            found.append(coarse(np.linalg.cond, graded(3, 3, kind=kind), p=p, note=f"{p} {kind.__name__}", analytic=False))
    return [*found, coarse(np.linalg.cond, graded(2, 4, 3)), coarse(np.linalg.cond, graded(2, 3, 3), p=1, analytic=False)]


def _least_squares() -> list[Case]:
    found: list[Case] = []
    for kind in (real, complex_):
        note = "" if kind is real else "complex"
        shapes = [(4, 3), (3, 4), (3, 3), (2, 4, 2), (1, 3)]
        found += [coarse(np.linalg.pinv, graded(*shape, kind=kind), note=note, analytic=False) for shape in shapes]
        found.append(coarse(np.linalg.pinv, graded(3, 3, kind=kind), hermitian=True, note=note and "complex hermitian", analytic=False))
        for (m, n), b in [((5, 3), (5,)), ((5, 3), (5, 2)), ((3, 5), (3,)), ((3, 5), (3, 2)), ((3, 3), (3, 2))]:
            found.append(
                coarse(np.linalg.lstsq, graded(m, n, kind=kind), kind(*b), note=f"{note} {m}x{n} {b}",
                       call=lambda f, a, b: [f(a, b, rcond=None)[k] for k in (0, 1, 3)])
            )  # fmt: skip
    a, b = graded(5, 3), complex_(5)
    found.append(coarse(np.linalg.lstsq, a, b, note="mixed", call=lambda f, a, b: f(a, b, rcond=None)[:2]))
    found.append(coarse(np.linalg.pinv, graded(3, 4), call=lambda f, x: f(x, 1e-10), note="rcond", analytic=False))
    return found


CASES = [*_products(), *_chains(), *_aliases(), *_solves(), *_least_squares(), *_norms()]
CONSTANT = [case(np.linalg.matrix_rank, real(3, 2)), case(np.linalg.matrix_rank, real(2, 3, 3))]
