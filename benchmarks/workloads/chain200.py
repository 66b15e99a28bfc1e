"""chain200: many small operations, where the overhead of each is all there is."""

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.adapters import gradient_builders
from benchmarks.workload import Step, Workload

LENGTH = 200


def make_input() -> Any:
    """The input: float64 array, shape (10,)."""
    return np.random.default_rng(0).normal(size=10)


def chain(xp: Any, x: Any) -> Any:
    """`LENGTH` times y = sin(y) * x + y from y = x, then the sum."""
    y = x
    for _ in range(LENGTH):
        y = xp.sin(y) * x + y
    return xp.sum(y)


def value_and_gradient(x: Any) -> tuple[Any, Any]:
    """Value and gradient of `chain` by hand."""
    y = x
    inputs, sines = [], []
    for _ in range(LENGTH):
        sine = np.sin(y)
        inputs.append(y)
        sines.append(sine)
        y = sine * x + y
    d_y = np.ones_like(y)
    d_x = np.zeros_like(x)
    for y_in, sine in zip(reversed(inputs), reversed(sines), strict=True):
        d_x += d_y * sine
        d_y = d_y * (np.cos(y_in) * x + 1.0)
    return y.sum(), d_x + d_y


def _hand_written() -> Step:
    x = make_input()
    return lambda: value_and_gradient(x)


WORKLOAD = Workload(
    "chain200",
    "200 x y = sin(y)*x + y on 10 numbers, value and gradient",
    {peers.HAND_WRITTEN: _hand_written, **gradient_builders(chain, make_input, with_value=True)},
)
