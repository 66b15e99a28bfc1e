"""big1e6: few operations on a large array, where memory traffic is all there is."""

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.adapters import gradient_builders
from benchmarks.workload import Step, Workload


def make_input() -> Any:
    """The input: float64 array, shape (1000000,)."""
    return np.random.default_rng(0).normal(size=1_000_000)


def bump(xp: Any, x: Any) -> Any:
    """sum(tanh(2x + 1) * exp(-x*x))."""
    return xp.sum(xp.tanh(2.0 * x + 1.0) * xp.exp(-x * x))


def value_and_gradient(x: Any) -> tuple[Any, Any]:
    """Value and gradient of `bump` by hand."""
    t = np.tanh(2.0 * x + 1.0)
    e = np.exp(-x * x)
    return np.sum(t * e), 2.0 * e * (1.0 - t * t - x * t)


def _hand_written() -> Step:
    x = make_input()
    return lambda: value_and_gradient(x)


def _on_two_threads() -> Step:
    import funcgrad
    from funcgrad.transforms.compile.threads import set_num_threads

    x = make_input()
    derivative = funcgrad.jit(funcgrad.value_and_grad(lambda x: bump(np, x)))

    def step() -> Any:
        set_num_threads(2)  # the other peers are held to one
        try:
            return derivative(x)
        finally:
            set_num_threads(1)

    return step


WORKLOAD = Workload(
    "big1e6",
    "sum(tanh(2x + 1) * exp(-x*x)) of 1e6 numbers, value and gradient",
    {
        peers.HAND_WRITTEN: _hand_written,
        peers.FUNCGRAD_JIT_2: _on_two_threads,
        **gradient_builders(bump, make_input, with_value=True),
    },
)
