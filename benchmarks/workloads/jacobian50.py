"""jacobian50: the Jacobian of two matrix products with tanh between them, 50 numbers to 50."""

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Step, Workload

SIZE = 50


def make_inputs() -> tuple[Any, Any, Any]:
    """Two float64 matrices, shape (50, 50), and the point, shape (50,)."""
    rng = np.random.default_rng(0)
    scale = 1.0 / np.sqrt(SIZE)
    return rng.normal(size=(SIZE, SIZE)) * scale, rng.normal(size=(SIZE, SIZE)) * scale, rng.normal(size=SIZE)


def layers(xp: Any, first: Any, second: Any, x: Any) -> Any:
    """second @ tanh(first @ x), shape (50,)."""
    return xp.matmul(second, xp.tanh(xp.matmul(first, x)))


def jacobian(first: Any, second: Any, x: Any) -> Any:
    """Jacobian of `layers` with respect to x by hand, shape (50, 50)."""
    t = np.tanh(first @ x)
    return (second * (1.0 - t * t)) @ first


def _hand_written() -> Step:
    first, second, x = make_inputs()
    return lambda: jacobian(first, second, x)


def _funcgrad_plain() -> Step:
    import funcgrad

    first, second, x = make_inputs()
    derivative = funcgrad.jacrev(lambda x: layers(np, first, second, x))
    return lambda: derivative(x)


def _funcgrad_numpy() -> Step:
    import funcgrad
    import funcgrad.numpy as fnp

    first, second, x = make_inputs()
    derivative = funcgrad.jacrev(lambda x: layers(fnp, first, second, x))
    return lambda: derivative(x)


def _funcgrad_jit() -> Step:
    import funcgrad
    from funcgrad import jit

    first, second, x = make_inputs()
    derivative = jit(funcgrad.jacrev(lambda x, first, second: layers(np, first, second, x)))
    return lambda: derivative(x, first, second)


def _autograd() -> Step:
    import autograd
    import autograd.numpy as anp

    first, second, x = make_inputs()
    derivative = autograd.jacobian(lambda x: layers(anp, first, second, x))
    return lambda: derivative(x)


def _mygrad() -> Step:
    import mygrad as mg

    first, second, point = make_inputs()
    rows = np.eye(SIZE)

    def step() -> Any:
        gradients = []
        for row in rows:  # backward frees the graph, so every row needs its own
            x = mg.tensor(point, copy=False)
            layers(mg, first, second, x).backward(row)
            gradients.append(x.grad)
        return np.stack(gradients)

    return step


def _torch() -> Step:
    import torch

    first, second, x = (torch.from_numpy(array) for array in make_inputs())
    derivative = torch.func.jacrev(lambda x: layers(torch, first, second, x))
    return lambda: derivative(x)


def _jax(*, is_compiled: bool) -> Step:
    import jax
    import jax.numpy as jnp

    first, second, x = (jnp.asarray(array) for array in make_inputs())
    derivative = jax.jacrev(lambda x, first, second: layers(jnp, first, second, x))
    derivative = jax.jit(derivative) if is_compiled else derivative
    return lambda: jax.block_until_ready(derivative(x, first, second))


WORKLOAD = Workload(
    "jacobian50",
    "Jacobian of W2 @ tanh(W1 @ x), 50 numbers to 50, by reverse mode",
    {
        peers.HAND_WRITTEN: _hand_written,
        peers.FUNCGRAD: _funcgrad_plain,
        peers.FUNCGRAD_NUMPY: _funcgrad_numpy,
        peers.FUNCGRAD_JIT: _funcgrad_jit,
        peers.AUTOGRAD: _autograd,
        peers.MYGRAD: _mygrad,
        peers.TORCH: _torch,
        peers.JAX: lambda: _jax(is_compiled=False),
        peers.JAX_JIT: lambda: _jax(is_compiled=True),
    },
)
