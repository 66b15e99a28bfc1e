"""per_example128: the gradient of the digits network's loss for each of 128 examples by itself."""

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Step, Workload
from benchmarks.workloads.mlp_step import CLASSES, Params, make_params

EXAMPLES = 128


def make_batch() -> tuple[Any, Any]:
    """Images, float64 in 0..1, shape (128, 64), and integer labels, shape (128,)."""
    rng = np.random.default_rng(1)
    return rng.integers(0, 17, (EXAMPLES, 64)) / 16.0, rng.integers(0, CLASSES, EXAMPLES)


def gradients(params: Params, x: Any, labels: Any) -> Params:
    """The gradient of each example's cross-entropy by hand: shapes (128, 64, 128), (128, 128), (128, 128, 10), (128, 10)."""
    w1, b1, w2, b2 = params
    before = x @ w1 + b1
    hidden = np.maximum(before, 0.0)
    logits = hidden @ w2 + b2
    d_logits = np.exp(logits - logits.max(axis=1, keepdims=True))
    d_logits /= d_logits.sum(axis=1, keepdims=True)
    d_logits[np.arange(len(labels)), labels] -= 1.0
    d_before = (d_logits @ w2.T) * (before > 0.0)
    return x[:, :, None] * d_before[:, None, :], d_before, hidden[:, :, None] * d_logits[:, None, :], d_logits


def _hand_written() -> Step:
    params, (x, labels) = make_params(), make_batch()
    return lambda: gradients(params, x, labels)


def _loss(xp: Any) -> Any:
    from funcgrad import nn

    def loss(params: Params, x: Any, label: Any) -> Any:
        w1, b1, w2, b2 = params
        hidden = nn.relu(xp.matmul(x, w1) + b1)
        return nn.softmax_cross_entropy(xp.matmul(hidden, w2) + b2, label)

    return loss


def _funcgrad(xp: Any) -> Step:
    from funcgrad import grad, vmap

    derivative = vmap(grad(_loss(xp)), in_axes=(None, 0, 0))
    params, (x, labels) = make_params(), make_batch()
    return lambda: derivative(params, x, labels)


def _funcgrad_numpy() -> Step:
    import funcgrad.numpy as fnp

    return _funcgrad(fnp)


def _funcgrad_jit() -> Step:
    from funcgrad import grad, jit, vmap

    derivative = jit(vmap(grad(_loss(np)), in_axes=(None, 0, 0)))
    params, (x, labels) = make_params(), make_batch()
    return lambda: derivative(params, x, labels)


def _loop() -> Step:
    from funcgrad import grad

    derivative = grad(_loss(np))
    params, (x, labels) = make_params(), make_batch()

    def step() -> Any:
        found = [derivative(params, image, label) for image, label in zip(x, labels, strict=True)]
        return tuple(np.stack(column) for column in zip(*found, strict=True))

    return step


def _torch() -> Step:
    import torch
    from torch.nn import functional

    def loss(params: Any, x: Any, label: Any) -> Any:
        w1, b1, w2, b2 = params
        return functional.cross_entropy(functional.relu(x @ w1 + b1) @ w2 + b2, label)

    derivative = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    params = tuple(map(torch.from_numpy, make_params()))
    x, labels = map(torch.from_numpy, make_batch())
    return lambda: derivative(params, x, labels)


def _jax(*, is_compiled: bool) -> Step:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any, label: Any) -> Any:
        w1, b1, w2, b2 = params
        logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        return jax.nn.logsumexp(logits) - logits[label]

    derivative = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))
    derivative = jax.jit(derivative) if is_compiled else derivative
    params, (x, labels) = tuple(map(jnp.asarray, make_params())), map(jnp.asarray, make_batch())
    return lambda: jax.block_until_ready(derivative(params, x, labels))


WORKLOAD = Workload(
    "per_example128",
    "gradient of the 64-128-10 network's cross-entropy for each of 128 examples by itself",
    {
        peers.HAND_WRITTEN: _hand_written,
        peers.FUNCGRAD: lambda: _funcgrad(np),
        peers.FUNCGRAD_NUMPY: _funcgrad_numpy,
        peers.FUNCGRAD_JIT: _funcgrad_jit,
        peers.FUNCGRAD_LOOP: _loop,
        peers.TORCH: _torch,
        peers.JAX: lambda: _jax(is_compiled=False),
        peers.JAX_JIT: lambda: _jax(is_compiled=True),
    },
)
