"""forward1e5: forward mode through 20 x (0.5 y + sin y) on 1e5 numbers, pushed once (`jvp1e5`) or again and again (`linearize1e5`)."""

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Step, Workload

SIZE, STEPS = 100_000, 20


def make_inputs() -> tuple[Any, Any]:
    """The point and the tangent: float64 arrays, shape (100000,)."""
    rng = np.random.default_rng(0)
    return rng.normal(size=SIZE), rng.normal(size=SIZE)


def half_sin(xp: Any, x: Any) -> Any:
    """20 times y = 0.5 y + sin(y)."""
    for _ in range(STEPS):
        x = 0.5 * x + xp.sin(x)
    return x


def value_and_tangent(x: Any, t: Any) -> tuple[Any, Any]:
    """`half_sin` and its derivative along t by hand."""
    for _ in range(STEPS):
        x, t = 0.5 * x + np.sin(x), (0.5 + np.cos(x)) * t
    return x, t


def _function() -> Step:
    x, _ = make_inputs()
    return lambda: half_sin(np, x)


def _hand_written() -> Step:
    x, t = make_inputs()
    return lambda: value_and_tangent(x, t)


def _hand_written_tangent() -> Step:
    x, t = make_inputs()
    return lambda: value_and_tangent(x, t)[1]


def _funcgrad() -> Step:
    import funcgrad

    x, t = make_inputs()
    return lambda: funcgrad.jvp(lambda x: half_sin(np, x), (x,), (t,))


def _funcgrad_linearized() -> Step:
    import funcgrad

    x, t = make_inputs()
    f_jvp = funcgrad.linearize(lambda x: half_sin(np, x), x)[1]
    return lambda: f_jvp(t)


def _torch() -> Step:
    import torch

    primals, tangents = ((torch.from_numpy(array),) for array in make_inputs())
    return lambda: torch.func.jvp(lambda x: half_sin(torch, x), primals, tangents)


def _torch_linearized() -> Step:
    import torch

    x, t = map(torch.from_numpy, make_inputs())
    f_jvp = torch.func.linearize(lambda x: half_sin(torch, x), x)[1]
    return lambda: f_jvp(t)


JVP = Workload(
    "jvp1e5",
    "jvp through 20 x (0.5 y + sin y) on 1e5 numbers",
    {peers.HAND_WRITTEN: _hand_written, peers.YARDSTICK: _function, peers.FUNCGRAD: _funcgrad, peers.TORCH: _torch},
)
LINEARIZED = Workload(
    "linearize1e5",
    "a further call of the linearized 20 x (0.5 y + sin y) on 1e5 numbers",
    {
        peers.HAND_WRITTEN: _hand_written_tangent,
        peers.YARDSTICK: _function,
        peers.FUNCGRAD: _funcgrad_linearized,
        peers.TORCH: _torch_linearized,
    },
)
