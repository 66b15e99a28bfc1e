"""The law of `vmap` for every case of every primitive: all examples at once are the examples one by one, in every transform.

The loop that it is held against is NumPy's own for values, and funcgrad without `vmap` for derivatives, which the other laws are about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp, linearize, tree, vjp, vmap
from tests.cases import CONSTANT, DIFFERENTIABLE, Case
from tests.witnesses import like

EXAMPLES = 2
FIRST, SECOND = 1e-9, 1e-7

ARGUMENTS = [pytest.param(case, n, id=f"{case}-{n}") for case in DIFFERENTIABLE for n in range(len(case.args))]
each_argument = pytest.mark.parametrize(("case", "n"), ARGUMENTS)


class Examples:
    """A case as a function of one argument, and points near that of the case: the functions are smooth there."""

    def __init__(self, case: Case, n: int) -> None:
        args = case.fresh()
        self.f = case.in_argument(n, args)
        self.points = np.stack([np.asarray(args[n]) * (1.0 + 1e-4 * k) for k in range(EXAMPLES)]).astype(np.asarray(args[n]).dtype)
        self.each = [point[()] for point in self.points]
        self.values = [self.f(point) for point in self.each]
        self.cotangents = [like(value, 10 + k) for k, value in enumerate(self.values)]
        self.tangents = [like(point, 20 + k) for k, point in enumerate(self.each)]

    def loop(self, f: Callable[..., Any], *columns: list[Any]) -> Any:
        return stacked([f(*row) for row in zip(*columns, strict=True)])


def stacked(trees: list[Any]) -> Any:
    return tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *trees)


def assert_same(got: Any, wanted: Any, tolerance: float) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        size = np.max(np.abs(other), initial=1.0, where=np.isfinite(other))
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * size)


@each_argument
def test_values(case: Case, n: int):
    examples = Examples(case, n)
    assert_same(vmap(examples.f)(examples.points), stacked(examples.values), FIRST)


@each_argument
def test_derivatives_of_each_example(case: Case, n: int):
    examples = Examples(case, n)
    points, cotangents, tangents = examples.points, stacked(examples.cotangents), stacked(examples.tangents)

    def pulled(x: Any, ct: Any) -> Any:
        return vjp(examples.f, x)[1](ct)[0]

    def pushed(x: Any, t: Any) -> Any:
        return jvp(examples.f, (x,), (t,))

    back = examples.loop(pulled, examples.each, examples.cotangents)
    assert_same(vmap(pulled)(points, cotangents), back, FIRST)
    assert_same(vjp(vmap(examples.f), points)[1](cotangents)[0], back, FIRST)
    assert_same(vmap(pushed)(points, tangents), examples.loop(pushed, examples.each, examples.tangents), FIRST)


@each_argument
def test_many_directions_at_one_point(case: Case, n: int):
    examples = Examples(case, n)
    point = examples.each[0]
    pullback, f_jvp = vjp(examples.f, point)[1], linearize(examples.f, point)[1]
    back = examples.loop(lambda ct: pullback(ct)[0], examples.cotangents)
    assert_same(vmap(lambda ct: pullback(ct)[0])(stacked(examples.cotangents)), back, FIRST)
    assert_same(vmap(f_jvp)(stacked(examples.tangents)), examples.loop(f_jvp, examples.tangents), FIRST)


@each_argument
def test_a_derivative_around_the_mapped_derivative(case: Case, n: int):
    examples = Examples(case, n)

    def of_one(x: Any, t: Any) -> Any:
        gradient = vjp(examples.f, x * t)[1](examples.cotangents[0])[0]
        return np.sum(np.real(gradient))

    got = grad(lambda t: np.sum(vmap(lambda x: of_one(x, t))(examples.points)))(1.0)
    wanted = grad(lambda t: sum(of_one(x, t) for x in examples.each))(1.0)
    np.testing.assert_allclose(got, wanted, rtol=SECOND, atol=SECOND)


@each_argument
def test_second_derivatives_of_each_example(case: Case, n: int):
    examples = Examples(case, n)

    def second(x: Any, ct: Any, t: Any) -> Any:
        return jvp(lambda y: vjp(examples.f, y)[1](ct)[0], (x,), (t,))[1]

    wanted = examples.loop(second, examples.each, examples.cotangents, examples.tangents)
    assert_same(vmap(second)(examples.points, stacked(examples.cotangents), stacked(examples.tangents)), wanted, SECOND)


@pytest.mark.parametrize("case", CONSTANT, ids=str)
def test_functions_with_nothing_to_differentiate(case: Case):
    for n, arg in enumerate(case.args):
        if not isinstance(arg, np.ndarray):
            continue
        f = case.in_argument(n, case.args)
        points = np.stack([arg, arg])
        results = [f(point[()]) for point in points]
        if not all(isinstance(leaf, (np.ndarray, np.generic, bool, int, float)) for leaf in tree.leaves(results[0])):
            continue  # text, dtypes
        assert_same(tree.map(np.asarray, vmap(f)(points)), stacked(results), FIRST)
