"""Primitives with a value of their own and the derivatives of a composition: in every nesting, with arguments from any scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

from funcgrad import grad, hessian, jacfwd, jacrev, jvp, linearize, tape, vjp
from funcgrad.primitive import _OWNERS, PRIMITIVES
from funcgrad.rules.composed import composed

X, Y = np.array([1.0, 2.0]), np.array([0.3, 0.4])


def composition(x: Any, y: Any, power: int) -> Any:
    return np.sqrt(x * x + y) * x**power


@pytest.fixture
def f() -> Any:
    """Of a value that is 1 larger than the composition's."""
    made = composed(lambda x, y, power: 1.0 + composition(x, y, power), composition, 2, name="test_composed")
    yield lambda x, y: np.sum(made(x, y, 2))
    PRIMITIVES.pop("test_composed")
    _OWNERS.pop("test_composed")


def g(x: Any, y: Any) -> Any:
    return np.sum(composition(x, y, 2))


NESTINGS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(f, (0, 1)),
    "jacfwd": lambda f: jacfwd(f, (0, 1)),
    "hessian": lambda f: hessian(f, (0, 1)),
    "forward over forward": lambda f: jacfwd(jacfwd(f), 1),
    "reverse over forward": lambda f: jacrev(jacfwd(f, 1)),
    "forward over reverse": lambda f: jacfwd(grad(f), 1),
    "reverse over reverse": lambda f: jacrev(grad(f, 1)),
    "third order": lambda f: jacrev(jacfwd(jacrev(f))),
    "arguments of two scopes": lambda f: grad(lambda x, y: np.sum(grad(lambda y: f(x, y) * np.sum(x))(y))),
    "tangents of an outer scope": lambda f: grad(lambda x, y: jvp(lambda u: f(u, Y), (X,), (x * y,))[1]),
    "cotangents of an outer scope": lambda f: grad(lambda x, y: np.sum(vjp(lambda u: f(u, Y) * X, X)[1](x * y)[0])),
}


@pytest.mark.parametrize("nesting", list(NESTINGS.values()), ids=list(NESTINGS))
def test_every_nesting_is_that_of_the_composition(f: Any, nesting: Callable[[Any], Any]):
    wanted = nesting(g)(X, Y)
    got = nesting(f)(X, Y)
    pairs = zip(got, wanted, strict=True) if type(wanted) is tuple else [(got, wanted)]
    for one, other in pairs:
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-13)


def test_the_value_is_its_own(f: Any):
    assert jvp(f, (X, Y), (X, Y))[0] == f(X, Y) == pytest.approx(g(X, Y) + 2.0)


def test_a_kept_replay_works_later(f: Any):
    _, pullback = vjp(f, X, Y)
    _, f_jvp = linearize(f, X, Y)
    wanted = grad(g)(X, Y)
    for _ in range(2):
        np.testing.assert_allclose(pullback(np.float64(1.0))[0], wanted, rtol=1e-14)
        np.testing.assert_allclose(f_jvp(np.array([1.0, 0.0]), 0 * Y), wanted[0], rtol=1e-14)
    inside = grad(lambda c: np.sum(pullback(c)[0]))(2.0)
    assert inside == pytest.approx(np.sum(wanted), rel=1e-14)


def test_an_error_in_the_composition_leaves_nothing_open():
    def broken(x: Any) -> Any:
        raise ValueError("broken")

    made = composed(lambda x: x * 1.0, broken, name="test_broken")
    try:
        for transform in (grad, jacfwd):
            with pytest.raises(ValueError, match="broken"):
                transform(lambda x: np.sum(made(x)))(X)
            assert tape.thread.scope is None
    finally:
        PRIMITIVES.pop("test_broken")
        _OWNERS.pop("test_broken")


def test_inputs_stay_writeable(f: Any):
    x = X.copy()
    grad(f)(x, Y)
    jvp(f, (x, Y), (x, Y))
    assert x.flags.writeable
