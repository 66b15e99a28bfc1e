"""mlp_step: value and gradient of the digits network on one batch; `digits_epoch` trains with the same functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Builder, Step, Workload

Params = tuple[Any, Any, Any, Any]
ValueAndGradient = Callable[[Params, Any, Any], tuple[Any, Any]]

CLASSES = 10


def make_params() -> Params:
    """Weights and biases of the 64-128-10 network: float64, shapes (64, 128), (128,), (128, 10), (10,)."""
    rng = np.random.default_rng(0)
    w1 = rng.normal(0.0, np.sqrt(2.0 / 64.0), (64, 128))
    w2 = rng.normal(0.0, np.sqrt(2.0 / 128.0), (128, 10))
    return w1, np.zeros(128), w2, np.zeros(10)


def make_batch() -> tuple[Any, Any]:
    """Images, float64 in 0..1, shape (32, 64), and integer labels, shape (32,)."""
    rng = np.random.default_rng(1)
    return rng.integers(0, 17, (32, 64)) / 16.0, rng.integers(0, CLASSES, 32)


def value_and_gradient(params: Params, x: Any, labels: Any) -> tuple[Any, Params]:
    """Mean softmax cross-entropy of the network and its gradient by hand."""
    w1, b1, w2, b2 = params
    n = len(labels)
    rows = np.arange(n)
    before = x @ w1 + b1
    hidden = np.maximum(before, 0.0)
    logits = hidden @ w2 + b2
    shifted = logits - logits.max(axis=1, keepdims=True)
    exps = np.exp(shifted)
    sums = exps.sum(axis=1, keepdims=True)
    value = (np.log(sums).sum() - shifted[rows, labels].sum()) / n
    d_logits = exps / sums
    d_logits[rows, labels] -= 1.0
    d_logits /= n
    d_before = (d_logits @ w2.T) * (before > 0.0)
    return value, (x.T @ d_before, d_before.sum(axis=0), hidden.T @ d_logits, d_logits.sum(axis=0))


def funcgrad_value_and_gradient(xp: Any) -> ValueAndGradient:
    """The same by funcgrad, the products written as calls of the namespace `xp`."""
    from funcgrad import nn, value_and_grad

    def loss(params: Params, x: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = params
        hidden = nn.relu(xp.matmul(x, w1) + b1)
        return nn.softmax_cross_entropy(xp.matmul(hidden, w2) + b2, labels)

    derivative: ValueAndGradient = value_and_grad(loss)
    return derivative


def funcgrad_jit_value_and_gradient() -> ValueAndGradient:
    """The same by funcgrad, compiled."""
    from funcgrad import jit

    return jit(funcgrad_value_and_gradient(np))


def funcgrad_numpy_value_and_gradient() -> ValueAndGradient:
    """The same by funcgrad through its own namespace."""
    import funcgrad.numpy as fnp

    return funcgrad_value_and_gradient(fnp)


def autograd_value_and_gradient() -> ValueAndGradient:
    """The same by autograd, in the fastest of the ways tried: logits picked by one-hot rows, log-sum-exp composed."""
    import autograd
    import autograd.numpy as anp

    one_hot = np.eye(CLASSES)

    def loss(params: Params, x: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = params
        hidden = anp.maximum(anp.matmul(x, w1) + b1, 0.0)
        logits = anp.matmul(hidden, w2) + b2
        shifted = logits - anp.max(logits, axis=1, keepdims=True)
        picked = anp.sum(shifted * one_hot[labels])
        return (anp.sum(anp.log(anp.sum(anp.exp(shifted), axis=1))) - picked) / len(labels)

    derivative: ValueAndGradient = autograd.value_and_grad(loss)
    return derivative


def mygrad_value_and_gradient() -> ValueAndGradient:
    """The same by mygrad."""
    import mygrad as mg
    from mygrad.nnet.activations import relu
    from mygrad.nnet.losses import softmax_crossentropy

    def derivative(params: Params, x: Any, labels: Any) -> tuple[Any, Params]:
        w1, b1, w2, b2 = leaves = tuple(mg.tensor(array, copy=False) for array in params)
        hidden = relu(mg.matmul(x, w1) + b1)
        value = softmax_crossentropy(mg.matmul(hidden, w2) + b2, labels)
        value.backward()
        g1, h1, g2, h2 = (leaf.grad for leaf in leaves)
        return value.item(), (g1, h1, g2, h2)

    return derivative


def torch_value_and_gradient() -> ValueAndGradient:
    """The same by PyTorch; the parameters are leaves that require a gradient."""
    import torch
    from torch.nn import functional

    def derivative(params: Params, x: Any, labels: Any) -> tuple[Any, Any]:
        w1, b1, w2, b2 = params
        hidden = functional.relu(x @ w1 + b1)
        value = functional.cross_entropy(hidden @ w2 + b2, labels)
        return value.detach(), torch.autograd.grad(value, params)

    return derivative


def jax_value_and_gradient() -> ValueAndGradient:
    """The same by JAX, not compiled."""
    import jax
    import jax.numpy as jnp

    def loss(params: Params, x: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = params
        hidden = jax.nn.relu(x @ w1 + b1)
        logits = hidden @ w2 + b2
        picked = jnp.take_along_axis(logits, labels[:, None], axis=1)
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - picked[:, 0])

    derivative: ValueAndGradient = jax.value_and_grad(loss)
    return derivative


def _numpy_step(make_derivative: Callable[[], ValueAndGradient]) -> Builder:
    def build() -> Step:
        derivative = make_derivative()
        params, (x, labels) = make_params(), make_batch()
        return lambda: derivative(params, x, labels)

    return build


def _torch() -> Step:
    import torch

    derivative = torch_value_and_gradient()
    w1, b1, w2, b2 = (torch.from_numpy(array).requires_grad_() for array in make_params())
    x, labels = (torch.from_numpy(array) for array in make_batch())
    return lambda: derivative((w1, b1, w2, b2), x, labels)


def _jax(*, is_compiled: bool) -> Step:
    import jax
    import jax.numpy as jnp

    derivative = jax_value_and_gradient()
    derivative = jax.jit(derivative) if is_compiled else derivative
    w1, b1, w2, b2 = (jnp.asarray(array) for array in make_params())
    x, labels = (jnp.asarray(array) for array in make_batch())
    return lambda: jax.block_until_ready(derivative((w1, b1, w2, b2), x, labels))


WORKLOAD = Workload(
    "mlp_step",
    "digits network 64-128-10, ReLU, softmax cross-entropy, batch 32, value and gradient",
    {
        peers.HAND_WRITTEN: _numpy_step(lambda: value_and_gradient),
        peers.FUNCGRAD: _numpy_step(lambda: funcgrad_value_and_gradient(np)),
        peers.FUNCGRAD_NUMPY: _numpy_step(funcgrad_numpy_value_and_gradient),
        peers.FUNCGRAD_JIT: _numpy_step(funcgrad_jit_value_and_gradient),
        peers.AUTOGRAD: _numpy_step(autograd_value_and_gradient),
        peers.MYGRAD: _numpy_step(mygrad_value_and_gradient),
        peers.TORCH: _torch,
        peers.JAX: lambda: _jax(is_compiled=False),
        peers.JAX_JIT: lambda: _jax(is_compiled=True),
    },
)
