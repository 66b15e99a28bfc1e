"""digits_epoch: one epoch of gradient descent on the handwritten digits, from the batches to the new parameters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Builder, Step, Workload
from benchmarks.workloads import mlp_step

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "data" / "digits.npz"
BATCH = 32
RATE = 0.2


def make_batches() -> list[tuple[Any, Any]]:
    """The training rows in shuffled order: images, float64 in 0..1, shape (32, 64), and int64 labels, shape (32,).

    The last batch is shorter.

    Raises:
        FileNotFoundError: If the digits file of the examples is not there.
    """
    if not DIGITS.is_file():
        raise FileNotFoundError(f"the digits file of the examples is needed, but {DIGITS} is not there; restore it from the repository")
    with np.load(DIGITS) as data:
        images, labels, train = data["images"] / 16.0, data["labels"].astype(np.int64), data["train"]
    order = np.random.default_rng(2).permutation(train)
    starts = range(0, len(order), BATCH)
    return [(images[order[start : start + BATCH]], labels[order[start : start + BATCH]]) for start in starts]


def _numpy_epoch(make_derivative: Callable[[], mlp_step.ValueAndGradient]) -> Builder:
    def build() -> Step:
        derivative = make_derivative()
        batches, start = make_batches(), mlp_step.make_params()

        def step() -> Any:
            params = start
            for x, labels in batches:
                _, (g1, h1, g2, h2) = derivative(params, x, labels)
                w1, b1, w2, b2 = params
                params = (w1 - RATE * g1, b1 - RATE * h1, w2 - RATE * g2, b2 - RATE * h2)
            return params

        return step

    return build


def _funcgrad_jit() -> Step:
    from funcgrad import jit

    derivative = mlp_step.funcgrad_value_and_gradient(np)
    batches, start = make_batches(), mlp_step.make_params()

    @jit
    def update(params: Any, x: Any, labels: Any) -> Any:
        _, gradients = derivative(params, x, labels)
        return tuple(array - RATE * gradient for array, gradient in zip(params, gradients, strict=True))

    def step() -> Any:
        params: Any = start
        for x, labels in batches:
            params = update(params, x, labels)
        return params

    return step


def _torch() -> Step:
    import torch

    derivative = mlp_step.torch_value_and_gradient()
    batches = [(torch.from_numpy(x), torch.from_numpy(labels)) for x, labels in make_batches()]
    start = [torch.from_numpy(array) for array in mlp_step.make_params()]

    def step() -> Any:
        w1, b1, w2, b2 = params = tuple(array.clone().requires_grad_() for array in start)
        for x, labels in batches:
            _, gradients = derivative((w1, b1, w2, b2), x, labels)
            with torch.no_grad():
                for array, gradient in zip(params, gradients, strict=True):
                    array -= RATE * gradient
        return [array.detach() for array in params]

    return step


def _jax(*, is_compiled: bool) -> Step:
    import jax
    import jax.numpy as jnp

    derivative = mlp_step.jax_value_and_gradient()
    batches = [(jnp.asarray(x), jnp.asarray(labels)) for x, labels in make_batches()]
    start = tuple(jnp.asarray(array) for array in mlp_step.make_params())

    def update(params: Any, x: Any, labels: Any) -> Any:
        _, gradients = derivative(params, x, labels)
        return tuple(array - RATE * gradient for array, gradient in zip(params, gradients, strict=True))

    update = jax.jit(update) if is_compiled else update

    def step() -> Any:
        params: Any = start
        for x, labels in batches:
            params = update(params, x, labels)
        return jax.block_until_ready(params)

    return step


WORKLOAD = Workload(
    "digits_epoch",
    "one epoch of gradient descent of the digits network, 1,077 rows in batches of 32",
    {
        peers.HAND_WRITTEN: _numpy_epoch(lambda: mlp_step.value_and_gradient),
        peers.FUNCGRAD: _numpy_epoch(lambda: mlp_step.funcgrad_value_and_gradient(np)),
        peers.FUNCGRAD_NUMPY: _numpy_epoch(mlp_step.funcgrad_numpy_value_and_gradient),
        peers.FUNCGRAD_JIT: _funcgrad_jit,
        peers.AUTOGRAD: _numpy_epoch(mlp_step.autograd_value_and_gradient),
        peers.MYGRAD: _numpy_epoch(mlp_step.mygrad_value_and_gradient),
        peers.TORCH: _torch,
        peers.JAX: lambda: _jax(is_compiled=False),
        peers.JAX_JIT: lambda: _jax(is_compiled=True),
    },
)
