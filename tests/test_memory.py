"""Long chains, and what derivatives leave in memory: nothing.

Sizes come from `tracemalloc`, which counts NumPy's arrays as well; no test asks the clock.
"""

from __future__ import annotations

import contextlib
import gc
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hvp, jvp, linearize, nn, tape, value_and_grad, vjp
from funcgrad.rule import RULES
from tests.runs import Run, each_run


def test_a_chain_of_a_million_operations():
    def chain(x: Any) -> Any:
        for _ in range(1_000_000):
            x = x * 0.999999
        return x

    wanted = chain(1.0)
    assert value_and_grad(chain)(1.0) == (pytest.approx(wanted, rel=1e-15), pytest.approx(wanted, rel=1e-9))
    value, tangent = jvp(chain, (1.0,), (1.0,))
    assert value == wanted and tangent == pytest.approx(wanted, rel=1e-9)


MATRIX = [[0.1, 0.2, 0.3], [0.2, 0.1, 0.0], [0.0, 0.0, 0.1]]


@pytest.mark.parametrize("x", [0.5, np.full(3, 0.5)], ids=["float", "array"])
def test_a_tape_is_nothing_to_the_garbage_collector(x: Any):
    """It passes over tuples of nothing but numbers and arrays, and would else go through long tapes again and again."""

    def f(x: Any) -> Any:
        y = x
        for _ in range(10):
            y = nn.relu(np.sin(y) * x + y) / 2.0 - x**2
            if np.ndim(y):
                y = np.where(y > 0.0, y, np.sum(y) * y[0])
                y = np.max(np.stack([y.reshape(3, 1), np.concatenate([y, x])[3:, None]]), 0)[:, 0] + np.array(MATRIX) @ y
        records = tape.thread.scope.records
        assert len(records) > 70
        for _ in range(5):  # what is inside of records first
            gc.collect()
        found = {RULES[record[0]].name for record in records if gc.is_tracked(record)}
        assert found <= {"getitem"}  # where an index has slices
        return np.sum(y)

    grad(f)(x)


def test_a_long_chain_to_second_order():
    def chain(x: Any) -> Any:
        for _ in range(20_000):
            x = x / (1.0 + 1e-5 * x)  # after n steps x / (1 + n 1e-5 x)
        return x

    # with c = 0.2: 1 / (1 + c x)**2 and -2 c / (1 + c x)**3
    assert grad(chain)(1.0) == pytest.approx(1.2**-2, rel=1e-10)
    for second in (grad(grad(chain))(1.0), jvp(grad(chain), (1.0,), (1.0,))[1]):
        assert second == pytest.approx(-0.4 * 1.2**-3, rel=1e-10)


def peak_of(call: Callable[[], Any]) -> int:
    gc.collect()
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def sines(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.sin(x)
    return x


def gradients(x: Any, n: int) -> Any:
    for _ in range(n):
        x = grad(lambda y: np.sum(np.cos(y)))(x)
    return x


@pytest.mark.parametrize("steps", [sines, gradients])
def test_forward_mode_keeps_no_graph(steps: Callable[[Any, int], Any]):
    x = np.ones(10_000)
    peaks = [peak_of(lambda n=n: jvp(lambda x: steps(x, n), (x,), (x,))) for n in (5, 100)]
    assert peaks[1] - peaks[0] < 200_000  # of 95 steps of 80 kB each


INNER: dict[str, Callable[[Any], Any]] = {
    "grad": grad(lambda z: np.sum(np.sin(z) * z)),
    "vjp": lambda z: vjp(lambda z: np.sin(z) * z, z)[1](z)[0],
    "jvp": lambda z: jvp(lambda z: np.sin(z) * z, (z,), (z,))[1],
    "linearize": lambda z: linearize(lambda z: np.sin(z) * z, z)[1](z),
    "hvp": lambda z: hvp(lambda z: np.sum(np.sin(z) * z))(z, z),
}


@pytest.mark.parametrize("inner", list(INNER.values()), ids=list(INNER))
@pytest.mark.parametrize("outer", [grad, lambda f: lambda y: jvp(f, (y,), (1.0,))], ids=["grad", "jvp"])
def test_inner_solves_on_constants_take_no_memory(outer: Any, inner: Callable[[Any], Any]):
    def f(y: Any, n: int) -> Any:
        for k in range(n):
            y = y * float(np.sum(inner(np.full(10_000, k + 1.0))) != 0.5)
        return y

    peaks = [peak_of(lambda n=n: outer(lambda y: f(y, n))(1.0)) for n in (3, 40)]
    assert peaks[1] - peaks[0] < 200_000  # of 37 more solves on new arrays of 80 kB


@pytest.mark.parametrize(
    "once",
    [
        lambda: grad(lambda x: x * x + x)(3.0),
        lambda: grad(lambda x: np.sum(x * x))(np.ones(3)),
        lambda: jvp(lambda x: np.sin(x) * x, (3.0,), (1.0,)),
        lambda: vjp(lambda x: np.sin(x) * x, np.ones(3))[1](np.ones(3)),
        lambda: hvp(lambda x: np.sum(x**3))(np.ones(3), np.ones(3)),
        lambda: grad(lambda p: np.sum(p["w"]) * p["b"])({"w": np.ones(3), "b": 2.0}),
    ],
    ids=["float", "array", "jvp", "vjp", "hvp", "tree"],
)
def test_two_thousand_small_gradients_leave_nothing(once: Callable[[], Any]):
    for _ in range(50):
        once()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        once()
    gc.collect()
    growth = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert growth < 20_000  # ten bytes a gradient: less than one object each


@each_run
def test_no_reference_cycle_keeps_an_array_alive(run: Run):
    def failing(x: Any) -> Any:
        return np.sum(np.sin(x) * x)[0]

    gc.collect()
    gc.disable()
    try:
        x = np.ones(3)
        watch = weakref.ref(x)
        run(lambda x: np.sum(np.sin(x) * x), x)
        del x
        assert watch() is None
        x = np.ones(3)
        watch = weakref.ref(x)
        with contextlib.suppress(IndexError):
            run(failing, x)
        del x
        assert watch() is None
    finally:
        gc.enable()
