"""Mapped values that functions reach by other ways than their arguments: the value of a closure, or an error; never mixed examples."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import checkpoint, custom_root, custom_vjp, fixed_point, grad, hvp, jacfwd, jacrev, jvp, scan, tape, vmap
from funcgrad.errors import ConcretizationError, FuncgradError, StaleTracerError

K = np.array([1.0, 2.0, 3.0])


class Kept:
    k: Any = None


def by_class(k: Any) -> Callable[[], Any]:
    Kept.k = k
    return lambda: Kept.k


def by_global(k: Any) -> Callable[[], Any]:
    globals()["GLOBAL"] = k
    return lambda: globals()["GLOBAL"]


def by_closure(k: Any) -> Callable[[], Any]:
    return lambda: k


def by_deque(k: Any) -> Callable[[], Any]:
    some = deque([k])
    return lambda: some[0]


def by_array_of_objects(k: Any) -> Callable[[], Any]:
    some = np.empty(1, object)
    some[0] = k
    return lambda: some[0]


SEEN = {"closure": by_closure, "deque": by_deque, "array of objects": by_array_of_objects}
UNSEEN = {"class attribute": by_class, "global": by_global}

# of k, by y at 1; the closed form of the derivative
CALLS: dict[str, tuple[Callable[[Callable[[], Any], Any], Any], Callable[[Any], Any]]] = {
    "fixed_point": (lambda k, y: fixed_point(lambda z, y: 0.1 * z + y * k(), 0.0, y), lambda k: k / 0.9),
    "custom_root": (lambda k, y: custom_root(lambda z: z - y * k(), 0.0, lambda f, x: x - f(x), lambda g, y: y), lambda k: k),
    "fixed_point in checkpoint": (
        lambda k, y: checkpoint(lambda y: fixed_point(lambda z, y: 0.1 * z + y * k(), 0.0, y))(y),
        lambda k: k / 0.9,
    ),
    "checkpoint in checkpoint": (
        lambda k, y: checkpoint(lambda y: checkpoint(lambda z: np.cos(z * k()))(y) * k())(y),
        lambda k: -np.sin(k) * k * k,
    ),
    "checkpoint in scan": (
        lambda k, y: scan(lambda c, _: (checkpoint(lambda z: np.cos(z * k()))(c), None), y, None, length=2)[0],
        lambda k: np.sin(np.cos(k) * k) * np.sin(k) * k * k,
    ),
    "checkpoint": (lambda k, y: checkpoint(lambda z: np.cos(k() * z))(y), lambda k: -np.sin(k) * k),
}


def each(of: dict[str, Any], name: str) -> Any:
    return pytest.mark.parametrize(name, list(of.values()), ids=list(of))


@each(SEEN, "way")
@each(CALLS, "call")
def test_what_is_seen_counts_as_in_a_closure(call: Any, way: Any):
    f, wanted = call
    slope = lambda k: grad(lambda y: f(way(k), y))(1.0)
    np.testing.assert_allclose(vmap(slope)(K), wanted(K), rtol=1e-12)
    step = 1e-6
    for transform in (jacfwd, jacrev):
        found = transform(vmap(slope))(K)
        np.testing.assert_allclose(found, np.diag((wanted(K + step) - wanted(K - step)) / (2 * step)), rtol=1e-8, atol=1e-8)


@each(UNSEEN, "way")
@each(CALLS, "call")
def test_what_is_not_seen_gives_the_right_values_or_an_error(call: Any, way: Any):
    f, wanted = call
    slope = lambda k: grad(lambda y: f(way(k), y))(1.0)
    try:
        np.testing.assert_allclose(vmap(slope)(K), wanted(K), rtol=1e-12)
    except ConcretizationError as error:
        assert "uses a traced value of the code around it" in str(error)
    for outer in (
        lambda: jvp(vmap(slope), (K,), (K,)),
        lambda: jacfwd(vmap(slope))(K),
        lambda: jacrev(vmap(slope))(K),
        lambda: hvp(lambda k: np.sum(vmap(slope)(k) ** 2))(K, K),
    ):
        with pytest.raises(ConcretizationError, match="uses a traced value of the code around it"):
            outer()
        assert tape.thread.scope is None


def test_a_tracer_kept_from_a_checkpointed_function_is_told_by_name():
    def loss(x: Any) -> Any:
        kept: list[Any] = []
        checkpoint(lambda y: kept.append(y) or y * 2.0)(x)
        return np.sum(kept[0] * x)

    with pytest.raises(StaleTracerError, match="a tracer of checkpoint was used after checkpoint had ended"):
        grad(loss)(K)


def test_a_value_that_is_not_known_where_it_is_used_is_not_blamed_on_threads_alone():
    def slope(k: Any) -> Any:
        Kept.k = k
        f = custom_vjp(lambda x: x * Kept.k)
        f.defvjp(lambda x: (x * Kept.k, None), lambda r, ct: (ct * Kept.k,))
        return grad(lambda y: checkpoint(lambda y: f(y))(y))(1.0)

    with pytest.raises(FuncgradError, match=r"or around a function that is run by itself.*pass the value as an argument"):
        vmap(slope)(K)
