"""scalar1000: the cost of a call of `grad`, on the smallest function there is."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Step, Workload

CALLS = 1000


def make_inputs() -> list[float]:
    """The points, `CALLS` Python floats."""
    points: list[float] = np.linspace(-2.0, 2.0, CALLS).tolist()
    return points


def parabola(x: Any) -> Any:
    """x**2 + x."""
    return x**2 + x


def _calls(derivative: Callable[[float], Any]) -> Step:
    points = make_inputs()
    return lambda: [derivative(x) for x in points]


def _hand_written() -> Step:
    return _calls(lambda x: 2.0 * x + 1.0)


def _funcgrad() -> Step:
    import funcgrad

    return _calls(funcgrad.grad(parabola))


def _autograd() -> Step:
    import autograd

    return _calls(autograd.grad(parabola))


def _mygrad() -> Step:
    import mygrad as mg

    def derivative(point: float) -> Any:
        x = mg.tensor(point)
        parabola(x).backward()
        return x.grad

    return _calls(derivative)


def _torch() -> Step:
    import torch

    def derivative(point: float) -> Any:
        x = torch.tensor(point, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(parabola(x), x)[0]

    return _calls(derivative)


def _jax(*, is_compiled: bool) -> Step:
    import jax

    gradient = jax.grad(parabola)
    calls = _calls(jax.jit(gradient) if is_compiled else gradient)
    return lambda: jax.block_until_ready(calls())


WORKLOAD = Workload(
    "scalar1000",
    "1,000 calls of grad(x**2 + x) on a Python float",
    {
        peers.HAND_WRITTEN: _hand_written,
        peers.FUNCGRAD: _funcgrad,
        peers.AUTOGRAD: _autograd,
        peers.MYGRAD: _mygrad,
        peers.TORCH: _torch,
        peers.JAX: lambda: _jax(is_compiled=False),
        peers.JAX_JIT: lambda: _jax(is_compiled=True),
    },
)
