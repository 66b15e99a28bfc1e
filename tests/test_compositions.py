"""Functions times transforms: each composition of two, a random hundred of three and some of four, against the same one by hand.

`compositions/functions.py` has the functions, `compositions/transforms.py` each transform as funcgrad has it and by hand, and
`compositions/by_hand.py` the loops and differences. Nothing of funcgrad is in what is done by hand, however deep. Where a transform needs
one number to differentiate, the output is summed with fixed weights; tangents and cotangents are fixed too.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from funcgrad import tree
from tests.compositions import by_hand
from tests.compositions.functions import FUNCTIONS
from tests.compositions.transforms import TRANSFORMS

SEED = 1
HUNDRED, QUARTERS, SOME = 100, 4, 20
TOLERANCE = [1e-13, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]
"""By the order of the derivative, in units of the largest number of a leaf or 1: about ten times what differences were found wrong by."""

Names = tuple[str, ...]  # of the transforms, the outermost first


def order(names: Names) -> int:
    """Of the derivative."""
    return sum(TRANSFORMS[name].order for name in names)


def arguments(function: str, names: Names) -> tuple[Any, ...]:
    """The function's, with an axis of examples more where it is mapped."""
    args = FUNCTIONS[function][1]
    for name in reversed(names):
        args = TRANSFORMS[name].args(args)
    return args


def by_funcgrad(function: str, names: Names) -> list[Any]:
    """The leaves of the output."""
    f = FUNCTIONS[function][0]
    for name in reversed(names):
        f = TRANSFORMS[name].by_funcgrad(f)
    return tree.leaves(f(*arguments(function, names)))


@functools.lru_cache(maxsize=1)
def plain(function: str) -> by_hand.Function:
    """The function by hand. It remembers its values: the points of all compositions are much the same."""
    return by_hand.plain(*FUNCTIONS[function])


@functools.lru_cache(maxsize=400)
def found_by_hand(function: str, names: Names) -> list[np.ndarray]:
    """The leaves of the output."""
    f = plain(function)
    for name in reversed(names):
        f = TRANSFORMS[name].by_hand(f)
    point = np.concatenate([np.ravel(leaf) for leaf in tree.leaves(arguments(function, names))])
    return [leaf[0] for leaf in f.at(point[None])]


def fault(function: str, names: Names) -> str | None:
    """What is wrong with a composition, if anything."""
    wanted = found_by_hand(function, tuple(name for name in names if TRANSFORMS[name].by_hand))
    tolerance = TOLERANCE[order(names)]
    try:
        found = [np.asarray(leaf) for leaf in by_funcgrad(function, names)]
    except Exception as error:  # the other compositions are to be tried even so
        return f"{type(error).__name__}: {error}"
    if [leaf.shape for leaf in found] != [leaf.shape for leaf in wanted]:
        return f"shapes {[leaf.shape for leaf in found]} instead of {[leaf.shape for leaf in wanted]}"
    pairs = zip(found, wanted, strict=True)
    error = np.max([np.max(np.abs(one - other)) / max(1.0, np.max(np.abs(other))) for one, other in pairs])  # NaN if there is one
    return None if error <= tolerance else f"wrong by {error:.1e}, more than {tolerance:.0e}"


def faults(function: str, compositions: Iterable[Names]) -> list[str]:
    """One line for each composition with something wrong."""
    found = ((names, fault(function, names)) for names in compositions)
    return [f"{' of '.join(names)} of {function}: {what}" for names, what in found if what is not None]


# ------------------------------------------------------------------------------------------------ compositions

each_function = pytest.mark.parametrize("function", FUNCTIONS, scope="module")  # all tests of one together: what is done by hand is kept


@pytest.mark.parametrize("outer", TRANSFORMS)
@each_function
def test_every_composition_of_two(function: str, outer: str):
    wrong = faults(function, [(outer, inner) for inner in TRANSFORMS])
    assert not wrong, "\n".join(wrong)


def drawn(function: str, count: int, length: int, is_cheap: Callable[[Names], bool] = lambda names: True) -> tuple[list[int], list[Names]]:
    """The seed, and so many different compositions of that many transforms."""
    seed = [SEED, length, list(FUNCTIONS).index(function)]
    rng = np.random.default_rng(seed)
    found: dict[Names, None] = {}
    while len(found) < count:
        names = tuple(str(name) for name in rng.choice(list(TRANSFORMS), length))
        if is_cheap(names):
            found[names] = None
    return seed, list(found)


@pytest.mark.parametrize("quarter", range(QUARTERS))
@each_function
def test_a_random_hundred_of_three(function: str, quarter: int):
    seed, compositions = drawn(function, HUNDRED, 3)
    wrong = faults(function, compositions[quarter::QUARTERS])
    assert not wrong, f"drawn with seed {seed}:\n" + "\n".join(wrong)


@each_function
def test_some_of_four(function: str):
    seed, compositions = drawn(
        function, SOME, 4, lambda names: order(names) <= 3 and sum(bool(TRANSFORMS[name].axes) for name in names) <= 2
    )
    wrong = faults(function, compositions)
    assert not wrong, f"drawn with seed {seed}:\n" + "\n".join(wrong)


def test_there_are_enough_of_both():
    assert len(FUNCTIONS) >= 25
    assert {"grad", "vjp", "jvp", "linearize", "jacfwd", "jacrev", "hessian", "vmap of the first", "vmap of the last"} < set(TRANSFORMS)


# ------------------------------------------------------------------------------------------------ the witness itself


def test_what_is_done_by_hand_is_right():
    f = by_hand.over_examples(by_hand.plain(lambda x, y: np.sum(x**3) * y, (np.zeros(2), 0.0)), (0, None), 0)
    x, y, one = np.array([[1.0, 2.0], [-1.0, 0.5]]), 3.0, np.eye(2)
    first = np.einsum("ai,ab->abi", 3 * y * x**2, one)
    second = np.einsum("ai,ab,ac,ij->abicj", 6 * y * x, one, one, one)
    w, along, along_y = by_hand.weights((2,)), by_hand.direction((2, 2)), by_hand.direction(())

    def check(g: by_hand.Function, wanted: Any, tolerance: float) -> None:
        np.testing.assert_allclose(g.at(np.array([[*x.ravel(), y]]))[0][0], wanted, rtol=0, atol=tolerance)

    check(f, np.sum(x**3, 1) * y, 1e-14)
    check(by_hand.tangent(f), np.sum(first * along, (1, 2)) + np.sum(x**3, 1) * along_y, 1e-11)
    check(by_hand.jacobian(f, 0), first, 1e-11)
    check(by_hand.jacobian(by_hand.jacobian(f, 0), 0), second, 1e-9)
    check(by_hand.gradient(f, [0]), np.tensordot(w, first, 1), 1e-11)
    of_y = by_hand.gradient(f, [1])
    check(by_hand.gradient(by_hand.gradient(of_y, [0]), [0]), 6 * x * w[:, None] * by_hand.weights((2, 2)), 1e-7)


def test_a_wrong_derivative_is_seen(monkeypatch: pytest.MonkeyPatch):
    right = TRANSFORMS["grad"]
    wrong = dataclasses.replace(right, by_funcgrad=lambda f: lambda *args: right.by_funcgrad(f)(*args) * (1.0 + 1e-5))
    monkeypatch.setitem(TRANSFORMS, "wrong", wrong)
    assert faults("solve", [("vmap of all", "grad"), ("grad", "jvp")]) == []
    assert len(faults("solve", [("vmap of all", "wrong"), ("wrong", "jvp")])) == 2
