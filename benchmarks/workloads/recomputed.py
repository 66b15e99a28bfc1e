"""Gradients that compute values again instead of keeping them: `checkpoint100` in pieces of a chain, `scan10000` step by step."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Step, Workload

SIZE, LENGTH = 1_000_000, 100
STATE, STEPS = 100, 10_000


def make_input(size: int = SIZE) -> Any:
    """The point: float64 array."""
    return np.random.default_rng(0).normal(size=size)


def chain_gradient(x: Any) -> Any:
    """Gradient of the sum of 100 x tanh by hand, keeping every value."""
    kept = []
    for _ in range(LENGTH):
        x = np.tanh(x)
        kept.append(x)
    gradient = np.ones_like(x)
    while kept:
        y = kept.pop()
        gradient = gradient * (1.0 - y * y)
    return gradient


def chain(x: Any) -> Any:
    """The sum of 100 x tanh, keeping every value for the gradient."""
    for _ in range(LENGTH):
        x = np.tanh(x)
    return np.sum(x)


def chain_in_pieces(x: Any) -> Any:
    """The same in 10 pieces."""
    from funcgrad import checkpoint_sequential

    return np.sum(checkpoint_sequential([np.tanh] * LENGTH, x))


def of_chain(f: Callable[[Any], Any], size: int = SIZE) -> Step:
    """The gradient of a form of the chain."""
    import funcgrad

    x, derivative = make_input(size), funcgrad.grad(f)
    return lambda: derivative(x)


def _hand_written_chain() -> Step:
    x = make_input()
    return lambda: chain_gradient(x)


CHECKPOINT = Workload(
    "checkpoint100",
    "gradient of 100 x tanh on 1e6 numbers in 10 checkpointed pieces (beside: all values kept)",
    {
        peers.HAND_WRITTEN: _hand_written_chain,
        peers.YARDSTICK: lambda: of_chain(chain),
        peers.FUNCGRAD: lambda: of_chain(chain_in_pieces),
    },
)

# ------------------------------------------------------------------------------------------------ scan


def make_recurrence() -> tuple[Any, Any]:
    """The start, shape (100,), and the inputs, shape (10000, 100), float64."""
    rng = np.random.default_rng(0)
    return rng.normal(size=STATE), rng.normal(size=(STEPS, STATE))


def advance(state: Any, x: Any) -> Any:
    """One step of the recurrence: a small one, so that 10,000 slopes multiply to something."""
    return state + 0.001 * np.tanh(x * state)


def recurrence_gradient(state: Any, xs: Any) -> Any:
    """Gradient of the sum of the last state in the first, by hand."""
    kept = []
    for x in xs:
        y = np.tanh(x * state)
        kept.append((x, y))
        state = state + 0.001 * y
    gradient = np.ones_like(state)
    while kept:
        x, y = kept.pop()
        gradient = gradient + gradient * 0.001 * (1.0 - y * y) * x
    return gradient


def looped(state: Any, xs: Any) -> Any:
    """The sum of the last state, by a Python loop."""
    for x in xs:
        state = advance(state, x)
    return np.sum(state)


def scanned(state: Any, xs: Any) -> Any:
    """The same by `scan`."""
    from funcgrad import scan

    return np.sum(scan(lambda state, x: (advance(state, x), None), state, xs)[0])


def of_recurrence(f: Callable[[Any, Any], Any]) -> Step:
    """The gradient of a form of the recurrence in the first state."""
    import funcgrad

    state, xs = make_recurrence()
    derivative = funcgrad.grad(f)
    return lambda: derivative(state, xs)


def _hand_written_recurrence() -> Step:
    state, xs = make_recurrence()
    return lambda: recurrence_gradient(state, xs)


def _jax_scan() -> Step:
    import jax
    import jax.numpy as jnp

    def loss(state: Any, xs: Any) -> Any:
        return jnp.sum(jax.lax.scan(lambda state, x: (state + 0.001 * jnp.tanh(x * state), None), state, xs)[0])

    state, xs = map(jnp.asarray, make_recurrence())
    derivative = jax.jit(jax.grad(loss))
    return lambda: jax.block_until_ready(derivative(state, xs))


SCAN = Workload(
    "scan10000",
    "gradient through 10,000 steps of a 100-number state by scan (beside: a Python loop)",
    {
        peers.HAND_WRITTEN: _hand_written_recurrence,
        peers.FUNCGRAD: lambda: of_recurrence(scanned),
        peers.FUNCGRAD_LOOP: lambda: of_recurrence(looped),
        peers.JAX_JIT: _jax_scan,
    },
)
