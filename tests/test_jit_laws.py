"""The law of `jit` for every case of every primitive: a program gives what the function gives, twice, and at other arguments.

The program is made at one point and asked at another of the same shapes, so that what it had read off the first would show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import jit, jvp, tree, vjp
from tests.cases import CONSTANT, DIFFERENTIABLE, Case
from tests.witnesses import like

CLOSE = 1e-12
SECOND = 1e-9


def moved(args: list[Any]) -> list[Any]:
    """Points near those of a case: the functions are smooth there."""
    return [
        (np.asarray(one) * (1.0 + 1e-4)).astype(np.asarray(one).dtype) if isinstance(one, np.ndarray) else one * (1.0 + 1e-4)
        for one in args
    ]


def assert_same(got: Any, wanted: Any, tolerance: float) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert type(one) is type(other) or isinstance(one, float), f"{type(one)}, {type(other)}"
        assert np.shape(one) == np.shape(other)
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype
        if np.asarray(other).dtype.kind in "fc":
            size = np.max(np.abs(other), initial=1.0, where=np.isfinite(other))
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * size)
        else:
            np.testing.assert_array_equal(one, other)


def assert_compiles(f: Callable[..., Any], points: list[Any], elsewhere: list[Any], tolerance: float) -> None:
    program = jit(f)
    assert_same(program(*points), f(*points), tolerance)
    assert_same(program(*elsewhere), f(*elsewhere), tolerance)
    assert_same(program(*points), f(*points), tolerance)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_values(case: Case):
    args = case.fresh()
    assert_compiles(lambda *xs: case(*xs), args, moved(args), CLOSE)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_gradients(case: Case):
    args = case.fresh()
    ct = tree.map(lambda one: like(one, 1), case(*args))
    assert_compiles(lambda *xs: vjp(case, *xs)[1](ct), args, moved(args), CLOSE)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_forward_mode(case: Case):
    args = case.fresh()
    tangents = tuple(like(one, n) for n, one in enumerate(args))
    assert_compiles(lambda *xs: jvp(case, xs, tangents), args, moved(args), CLOSE)


@pytest.mark.parametrize("case", CONSTANT, ids=str)
def test_functions_with_nothing_to_differentiate(case: Case):
    args = list(case.args)
    places = [n for n, one in enumerate(args) if isinstance(one, np.ndarray)]
    if not places:
        return
    f = case.in_argument(places[0], args)
    result = f(args[places[0]])
    if not all(isinstance(leaf, (np.ndarray, np.generic, bool, int, float)) for leaf in tree.leaves(result)):
        return  # text, dtypes
    assert_compiles(f, [args[places[0]]], [args[places[0]]], CLOSE)
