"""Arrays that functions reach beside their arguments: calls that run a function again later see them as they were, or the write raises."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import checkpoint, custom_root, fixed_point, grad, linearize, nothing_saved, scan, tape, value_and_grad, vjp, vmap
from funcgrad.errors import InputValueError

X = np.array([0.3, 0.5, 0.9])
GLOBAL = np.full(3, 2.0)


def refused() -> Any:
    return pytest.raises(ValueError, match="read-only")


class Holder:
    def __init__(self, z: Any) -> None:
        self.z = z

    def sine(self, c: Any) -> Any:
        return np.sin(c * self.z)


def by_default(z: Any) -> Any:
    return lambda c, z=z: np.sin(c * z)


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "closure": lambda z: lambda c: np.sin(c * z),
    "default": by_default,
    "method": lambda z: Holder(z).sine,
    "list": lambda z: (lambda some: lambda c: np.sin(c * some[0]))([z]),
    "deque": lambda z: (lambda some: lambda c: np.sin(c * some[0]))(deque([z])),
    "nested": lambda z: (lambda inner: lambda c: inner(c))(lambda c: np.sin(c * z)),
    "view": lambda z: (lambda part: lambda c: np.sin(c * part))(z[:]),
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "checkpoint": lambda f: lambda x: checkpoint(f)(x),
    "scan": lambda f: lambda x: scan(lambda c, _: (f(c), None), x, None, length=2, policy=nothing_saved)[0],
    "fixed_point": lambda f: lambda x: fixed_point(lambda y, x: 0.2 * f(y) + x, np.zeros(3), x),
    "custom_root": lambda f: (
        lambda x: custom_root(
            lambda y: y - f(x),
            np.zeros(3),
            lambda f, y: y - f(y),
            lambda g, y: y,
        )
    ),
}


@pytest.mark.parametrize("holder", list(HOLDERS.values()), ids=list(HOLDERS))
@pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))
def test_an_array_that_is_reached_cannot_be_changed_before_the_replay(call: Any, holder: Any):
    z = np.full(3, 2.0)
    f = call(holder(z))
    wanted = grad(lambda x: np.sum(f(x)))(X)
    step = 1e-6
    differences = [(np.sum(f(X + step * e)) - np.sum(f(X - step * e))) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(wanted, differences, rtol=1e-8)

    def writes(x: Any) -> Any:
        y = f(x)
        z[:] = 7.0
        return np.sum(y)

    with refused():
        grad(writes)(X)
    for keep in (lambda: vjp(lambda x: np.sum(f(x)), X)[1], lambda: linearize(lambda x: np.sum(f(x)), X)[1]):
        replay = keep()
        with refused():
            z[:] = 7.0
        found = replay(1.0)[0] if keep.__code__.co_names[0] == "vjp" else np.array([replay(e) for e in np.eye(3)])
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        del replay
        z[:] = 2.0  # nobody holds it any more
    assert tape.thread.scope is None


def test_global_arrays_and_indices_are_held_too():
    index = np.array([2, 1])
    for f in (lambda c: np.sin(c * GLOBAL), lambda c: (lambda d: np.sin(d * GLOBAL))(c)):
        back = vjp(checkpoint(f), X)[1]
        with refused():
            GLOBAL[:] = 7.0
        np.testing.assert_allclose(back(np.ones(3))[0], 2.0 * np.cos(2.0 * X), rtol=1e-14)
    back = vjp(checkpoint(lambda w: w[index] * 2.0), X)[1]
    with refused():
        index[:] = 0
    np.testing.assert_array_equal(back(np.array([1.0, 3.0]))[0], [0.0, 6.0, 2.0])


@pytest.mark.parametrize("size", [3, 6000])
def test_a_carry_of_integers_stays_what_it_was(size: int):
    index = np.arange(size)[::-1].copy()
    w = np.linspace(0.1, 1.0, size)

    def loop(w: Any) -> Any:
        return scan(lambda c, _: ((c[0] * w[c[1]][0], c[1]), None), (w, index), None, length=3, policy=nothing_saved)[0][0]

    back = vjp(loop, w)[1]
    with contextlib.suppress(ValueError):
        index[:] = 0
    wanted = np.full(size, w[-1] ** 3)  # of sum(w) w_n**3, n the last
    wanted[-1] += 3.0 * np.sum(w) * w[-1] ** 2
    np.testing.assert_allclose(back(np.ones(size))[0], wanted, rtol=1e-12)


def test_a_write_inside_of_what_is_run_again_raises():
    z = np.full(3, 2.0)

    def counts(c: Any) -> Any:
        z[0] += 1.0
        return np.sin(c * z)

    with refused():
        grad(lambda x: np.sum(checkpoint(counts)(x)))(X)
    np.testing.assert_array_equal(z, 2.0)


def test_a_pullback_inside_of_vmap_holds_what_it_reaches():
    z = np.full(3, 2.0)

    def writes(x: Any) -> Any:
        y = checkpoint(lambda c: np.sin(c * z))(x)
        z[:] = 7.0
        return np.sum(y)

    with refused():
        vmap(grad(writes))(np.stack([X, X]))
    with refused():
        grad(lambda rows: np.sum(vmap(writes)(rows)))(np.stack([X, X]))


# ------------------------------------------------------------------------------------------------ the form of the second run

SECOND: dict[str, tuple[Any, str]] = {
    "shape": (lambda c, first: c if first else np.sum(c), r"was of shape \(3,\) and dtype float64, and is of shape \(\) and"),
    "one more": (lambda c, first: (c, c) if first else (c, c, c), "another structure when it was run again"),
    "other names": (lambda c, first: {"a": c} if first else {"b": c}, "another structure when it was run again"),
    "shape in a tree": (lambda c, first: {"a": c, "b": c if first else c[:1]}, r"the output at \['b'\] was of shape \(3,\)"),
    "dtype": (lambda c, first: c if first else c.astype(np.float32), "dtype float64, and is of shape .* dtype float32"),
}


@pytest.mark.parametrize(("answer", "message"), list(SECOND.values()), ids=list(SECOND))
def test_another_output_in_the_second_run_is_told(answer: Any, message: str):
    for transform in (grad, value_and_grad):
        runs: list[int] = []

        def f(c: Any, runs: list[int] = runs) -> Any:
            runs.append(1)
            return answer(np.sin(c), len(runs) == 1)

        def loss(x: Any, f: Any = f) -> Any:
            found = checkpoint(f)(x)
            found = found[0] if isinstance(found, tuple) else found.get("b", found.get("a")) if isinstance(found, dict) else found
            return np.sum(found)

        with pytest.raises(InputValueError, match=rf"checkpoint of f: .*{message}"):
            transform(loss)(X)
        assert tape.thread.scope is None
