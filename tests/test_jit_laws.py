"""The law of `jit` for every case of every primitive: a program gives what the function gives, twice, and at other arguments.

The program is made at one point and asked at another of the same shapes, so that what it had read off the first would show.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import jit, jvp, tree, vjp
from funcgrad.errors import ConcretizationError
from tests.cases import CONSTANT, DIFFERENTIABLE, Case
from tests.witnesses import like

CLOSE = 1e-12

pytestmark = pytest.mark.filterwarnings("ignore:The behavior of affine_transform:UserWarning")  # of older SciPy's own function


def moved(args: list[Any]) -> list[Any]:
    """Points near those of a case: the functions are smooth there."""
    return [np.asarray(np.asarray(one) * (1.0 + 1e-4), one.dtype) if isinstance(one, np.ndarray) else one * (1.0 + 1e-4) for one in args]


def assert_same(got: Any, wanted: Any, tolerance: float, of_numbers: bool = False) -> None:
    """`of_numbers`: the arguments are Python's, and so may be a result that NumPy makes a scalar or an array without axes of."""
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert type(one) is type(other) or of_numbers, f"{type(one)}, {type(other)}"
        assert np.shape(one) == np.shape(other)
        assert np.result_type(one) == np.result_type(other)
        if np.asarray(other).dtype.kind in "fc":
            size = np.max(np.abs(other), initial=1.0, where=np.isfinite(other))
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * size)
        else:
            np.testing.assert_array_equal(one, other)


def assert_compiles(f: Callable[..., Any], points: list[Any], elsewhere: list[Any], tolerance: float) -> None:
    program, of_numbers = jit(f), all(isinstance(one, (float, int, complex)) for one in points)

    def run(args: list[Any]) -> Any:
        given = copy.deepcopy(args)
        result = program(*given)
        for one, before in zip(tree.leaves(given), tree.leaves(args), strict=True):
            np.testing.assert_array_equal(one, before)
        return result

    assert_same(run(points), f(*copy.deepcopy(points)), tolerance, of_numbers)
    assert_same(run(elsewhere), f(*copy.deepcopy(elsewhere)), tolerance, of_numbers)
    in_columns = [np.asfortranarray(one) if isinstance(one, np.ndarray) and one.ndim > 1 else one for one in points]
    assert_same(run(in_columns), f(*copy.deepcopy(points)), tolerance, of_numbers)
    larger = [np.concatenate([one, one[..., ::-1]]) if isinstance(one, np.ndarray) and one.ndim else one for one in elsewhere]
    try:
        wanted = f(*copy.deepcopy(larger))
    except Exception:  # no function of arguments twice as long
        return
    assert_same(run(larger), wanted, tolerance, of_numbers)


OF_VALUES = (
    {"unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "union1d", "intersect1d", "setxor1d", "setdiff1d"}
    | {"trim_zeros", "polydiv", "nonzero", "flatnonzero", "argwhere"}
)  # fmt: skip
"""Functions whose results have another shape for other values: no case of them compiles."""

REFUSED = {
    "extract-2x3": "np.extract",
    "where-2x3-condition alone": "np.where",
    "logn-3 3-emath complex": "np.emath.logn",
    "real_if_close-3-emath not close": "np.real_if_close",
    "real_if_close-3-emath close by a large tolerance": "np.real_if_close",
    "piecewise-3 0d-tracer for a value": "np.piecewise",
    **dict.fromkeys(["ravel-2x3x4-of a view, order A", "ravel-2x3x4-of a view, order K", "ravel-2x3x4-of a transpose, order K"], "ravel"),
    **dict.fromkeys(["reshape-2x3x4-of a transpose, order A", "reshape-2x3x4-of a view, order A"], "reshape"),
    "vectorize-3": "an if",
}
"""Cases that do not compile, and what the message names."""

OF_REAL_NUMBERS = {"emath real", "emath complex", "emath constant base"}

REFUSED_DERIVATIVES = {
    "eig-3x3-scipy d": "scipy.linalg.eig",
    "eig-2x2-scipy a pair d": "scipy.linalg.eig",
    **dict.fromkeys(
        [f"piecewise-{what}" for what in ("2x3-default", "3-one condition", "0d-0d", "3-none", "3-arguments", "3-complex")], "np.piecewise"
    ),
}
"""The same where derivatives are taken; there the values compile, and their form is looked at whenever the program runs."""


def refused_name(case: Case, is_differentiated: bool = False) -> str | None:
    """What the message names for a case that depends on values in a way that no program can; None for one that compiles."""
    name = case.function.__name__
    if name in OF_VALUES:
        return f"np.{name}"
    if case.note.startswith("emath") and name != "real_if_close" and case.note not in OF_REAL_NUMBERS:
        return f"np.emath.{name}"
    if case.note == "emath constant base" and name == "logn":
        return "np.emath.logn"
    return REFUSED.get(str(case)) or (REFUSED_DERIVATIVES.get(str(case)) if is_differentiated else None)


def assert_law(case: Case, f: Callable[..., Any], is_differentiated: bool = False) -> None:
    """A program gives what f gives, at another point too; or an error says by name what no program can do, and what can be done."""
    args, name = case.fresh(), refused_name(case, is_differentiated)
    if name is None:
        assert_compiles(f, args, moved(args), CLOSE)
        return
    with pytest.raises(ConcretizationError, match=rf"(?s)\b{re.escape(name)}\b.*\buse\b"):
        jit(f)(*args)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_values(case: Case):
    assert_law(case, lambda *xs: case(*xs))


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_gradients(case: Case):
    def pulled(*xs: Any) -> Any:
        value, pullback = vjp(case, *xs)
        return pullback(tree.map(lambda one: like(one, 1), value))

    assert_law(case, pulled, is_differentiated=True)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_forward_mode(case: Case):
    assert_law(case, lambda *xs: jvp(case, xs, tuple(like(one, n) for n, one in enumerate(xs))), is_differentiated=True)


@pytest.mark.parametrize("case", CONSTANT, ids=str)
def test_functions_with_nothing_to_differentiate(case: Case):
    args = list(case.args)
    places = [n for n, one in enumerate(args) if isinstance(one, np.ndarray)]
    if not places:
        return
    f = case.in_argument(places[0], args)
    result = f(args[places[0]])
    if result is None or not all(isinstance(leaf, (np.ndarray, np.generic, bool, int, float)) for leaf in tree.leaves(result)):
        return  # text, dtypes, nothing
    name = refused_name(case)
    if name is None:
        assert_compiles(f, [args[places[0]]], [args[places[0]]], CLOSE)
        return
    with pytest.raises(ConcretizationError, match=rf"\b{name}\b.*\buse\b"):
        jit(f)(args[places[0]])
