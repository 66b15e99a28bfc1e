"""Programs and other transforms, over the table of cases: each function is held to each law at one of its cases at least.

Second order, what is mapped, derivatives of programs, single precision, results that share no memory with anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from funcgrad import jit, jvp, tree, vjp, vmap
from tests.cases import DIFFERENTIABLE, Case
from tests.test_jit_laws import CLOSE, assert_compiles, assert_same, moved, refused_name
from tests.witnesses import like


def cotangent(case: Case, args: Any) -> Any:
    return tree.map(lambda one: like(one, 1), case(*args))


def directions(args: Any) -> tuple[Any, ...]:
    return tuple(like(one, n) for n, one in enumerate(args))


def of_numbers(args: Any) -> bool:
    return all(isinstance(one, (float, int, complex)) for one in args)


def forward_over_reverse(case: Case) -> None:
    args = case.fresh()
    ct, tangents = cotangent(case, args), directions(args)
    assert_compiles(lambda *xs: jvp(lambda *ys: vjp(case, *ys)[1](ct), xs, tangents)[1], args, moved(args), CLOSE)


def reverse_over_forward(case: Case) -> None:
    args = case.fresh()
    ct, tangents = cotangent(case, args), directions(args)
    assert_compiles(lambda *xs: vjp(lambda *ys: jvp(case, ys, tangents)[1], *xs)[1](ct), args, moved(args), CLOSE)


def examples(args: Any) -> list[Any]:
    return [np.stack([np.asarray(one), np.asarray(other)]) for one, other in zip(args, moved(args), strict=True)]


def mapped(case: Case) -> None:
    """The program of a mapped function, and the mapped program."""
    batch = examples(case.fresh())
    if not str(case).startswith("piecewise"):  # which asks for values where it is mapped
        wanted = vmap(lambda *xs: case(*xs))(*batch)
        assert_same(jit(vmap(lambda *xs: case(*xs)))(*batch), wanted, CLOSE, True)
        assert_same(vmap(jit(lambda *xs: case(*xs)))(*batch), wanted, CLOSE, True)


def mapped_gradients(case: Case) -> None:
    args = case.fresh()
    ct, batch = cotangent(case, args), examples(args)

    def pulled(*xs: Any) -> Any:
        return vjp(case, *xs)[1](ct)

    assert_same(jit(vmap(pulled))(*batch), vmap(pulled)(*batch), CLOSE, True)


def derivatives_of_programs(case: Case) -> None:
    args = case.fresh()
    ct, tangents, program = cotangent(case, args), directions(args), jit(lambda *xs: case(*xs))
    for point in (args, moved(args), args):
        assert_same(vjp(program, *point)[1](ct), vjp(case, *point)[1](ct), CLOSE, of_numbers(args))
        assert_same(jvp(program, tuple(point), tangents), jvp(case, tuple(point), tangents), CLOSE, of_numbers(args))


def results_are_fresh(case: Case) -> None:
    """They are written into: no other one changes, no argument, and nothing of the next call."""
    args = case.fresh()
    ct, before = cotangent(case, args), [np.copy(one) for one in args]
    program = jit(lambda *xs: (case(*xs), vjp(case, *xs)[1](ct)))
    found = tree.leaves(program(*args))
    kept = [np.copy(one) for one in found]
    for n, one in enumerate(found):
        if isinstance(one, np.ndarray):
            one[...] = n + 3
    for n, one in enumerate(found):
        assert not isinstance(one, np.ndarray) or np.all(one == n + 3)
    for one, old in zip(args, before, strict=True):
        np.testing.assert_array_equal(one, old)
    for one, old in zip(tree.leaves(program(*args)), kept, strict=True):
        np.testing.assert_array_equal(one, old)


def single_precision_is_kept(case: Case) -> None:
    args = case.fresh()
    if not all(isinstance(one, np.ndarray) and one.dtype == np.float64 for one in args):
        return
    narrow = [one.astype(np.float32) for one in args]
    try:
        value = case(*narrow)
        ct = tree.map(lambda one: like(one, 1), value)
        gradient = vjp(case, *narrow)[1](ct)
    except (TypeError, ValueError, np.linalg.LinAlgError):
        return  # NumPy has it in double precision only
    program = jit(lambda *xs: case(*xs))
    program(*args)  # another program
    assert_same(program(*narrow), value, 2e-5)
    assert_same(jit(lambda *xs: vjp(case, *xs)[1](ct))(*narrow), gradient, 1e-4)


LAWS: tuple[Callable[[Case], None], ...] = (
    forward_over_reverse,
    reverse_over_forward,
    mapped,
    mapped_gradients,
    derivatives_of_programs,
    results_are_fresh,
    single_precision_is_kept,
)


def pairs() -> Iterator[Any]:
    """Each function with each law, at one case after the other."""
    families: dict[Any, list[Case]] = {}
    for case in DIFFERENTIABLE:
        if refused_name(case, is_differentiated=True) is None:
            families.setdefault(case.function, []).append(case)
    for cases in families.values():
        for n, law in enumerate(LAWS):
            case = cases[n * len(cases) // len(LAWS)]
            yield pytest.param(law, case, id=f"{law.__name__}-{case}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("law", "case"), list(pairs()))
def test_programs_under_other_transforms(law: Any, case: Case):
    law(case)
