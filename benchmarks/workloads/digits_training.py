"""digits_momentum, digits_adam: one epoch of training on the handwritten digits, gradient, optimizer and new parameters in one step.

By hand the optimizers write into their arrays, as one would for speed; the libraries' are those that their users call.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Builder, Step, Workload
from benchmarks.workloads import mlp_step
from benchmarks.workloads.digits_epoch import make_batches

MOMENTUM, MOMENTUM_RATE = 0.9, 0.05
ADAM_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def momentum_epoch(batches: list[tuple[Any, Any]], start: Any) -> list[Any]:
    """The parameters after an epoch of gradient descent with momentum, by hand."""
    params = [array.copy() for array in start]
    velocities = [np.zeros_like(array) for array in params]
    for x, labels in batches:
        w1, b1, w2, b2 = params
        _, gradients = mlp_step.value_and_gradient((w1, b1, w2, b2), x, labels)
        for array, velocity, gradient in zip(params, velocities, gradients, strict=True):
            velocity *= MOMENTUM
            velocity += gradient
            array -= MOMENTUM_RATE * velocity
    return params


def adam_epoch(batches: list[tuple[Any, Any]], start: Any) -> list[Any]:
    """The parameters after an epoch of Adam, by hand."""
    params = [array.copy() for array in start]
    firsts, seconds = [np.zeros_like(array) for array in params], [np.zeros_like(array) for array in params]
    for n, (x, labels) in enumerate(batches, 1):
        w1, b1, w2, b2 = params
        _, gradients = mlp_step.value_and_gradient((w1, b1, w2, b2), x, labels)
        scale_1, scale_2 = 1.0 / (1.0 - BETA_1**n), 1.0 / (1.0 - BETA_2**n)
        for array, first, second, gradient in zip(params, firsts, seconds, gradients, strict=True):
            first *= BETA_1
            first += (1.0 - BETA_1) * gradient
            second *= BETA_2
            second += (1.0 - BETA_2) * gradient * gradient
            root = np.sqrt(second * scale_2)
            root += EPSILON
            step = first * (ADAM_RATE * scale_1)
            step /= root
            array -= step
    return params


def _by_hand(epoch: Callable[[Any, Any], Any]) -> Step:
    batches, start = make_batches(), mlp_step.make_params()
    return lambda: epoch(batches, start)


def _funcgrad(name: str, *, is_compiled: bool) -> Step:
    from funcgrad import jit, optim

    derivative = mlp_step.funcgrad_value_and_gradient(np)
    optimizer = optim.sgd(MOMENTUM_RATE, momentum=MOMENTUM) if name == "momentum" else optim.adam(ADAM_RATE)
    batches, start = make_batches(), mlp_step.make_params()

    def update(params: Any, state: Any, x: Any, labels: Any) -> Any:
        _, gradients = derivative(params, x, labels)
        updates, state = optimizer.update(gradients, state, params)
        return optim.apply_updates(params, updates), state

    update = jit(update) if is_compiled else update

    def step() -> Any:
        params, state = start, optimizer.init(start)
        for x, labels in batches:
            params, state = update(params, state, x, labels)
        return params

    return step


def _torch(name: str) -> Step:
    import torch

    derivative = mlp_step.torch_value_and_gradient()
    batches = [(torch.from_numpy(x), torch.from_numpy(labels)) for x, labels in make_batches()]
    start = [torch.from_numpy(array) for array in mlp_step.make_params()]

    def step() -> Any:
        params = [array.clone().requires_grad_() for array in start]
        if name == "momentum":
            optimizer: Any = torch.optim.SGD(params, MOMENTUM_RATE, MOMENTUM)
        else:
            optimizer = torch.optim.Adam(params, ADAM_RATE, (BETA_1, BETA_2), EPSILON)
        w1, b1, w2, b2 = params
        for x, labels in batches:
            _, gradients = derivative((w1, b1, w2, b2), x, labels)
            for array, gradient in zip(params, gradients, strict=True):
                array.grad = gradient
            optimizer.step()
        return [array.detach() for array in params]

    return step


def _jax(name: str) -> Step:
    import jax
    import jax.numpy as jnp

    derivative = mlp_step.jax_value_and_gradient()
    batches = [(jnp.asarray(x), jnp.asarray(labels)) for x, labels in make_batches()]
    start = tuple(jnp.asarray(array) for array in mlp_step.make_params())

    def with_momentum(params: Any, state: Any, x: Any, labels: Any) -> Any:
        _, gradients = derivative(params, x, labels)
        state = jax.tree.map(lambda v, g: MOMENTUM * v + g, state, gradients)
        return jax.tree.map(lambda array, v: array - MOMENTUM_RATE * v, params, state), state

    def with_adam(params: Any, state: Any, x: Any, labels: Any) -> Any:
        _, gradients = derivative(params, x, labels)
        n, firsts, seconds = state
        firsts = jax.tree.map(lambda m, g: BETA_1 * m + (1.0 - BETA_1) * g, firsts, gradients)
        seconds = jax.tree.map(lambda v, g: BETA_2 * v + (1.0 - BETA_2) * g * g, seconds, gradients)
        rate, scale = ADAM_RATE / (1.0 - BETA_1**n), 1.0 / (1.0 - BETA_2**n)
        params = jax.tree.map(lambda array, m, v: array - rate * m / (jnp.sqrt(scale * v) + EPSILON), params, firsts, seconds)
        return params, (n + 1, firsts, seconds)

    update = jax.jit(with_momentum if name == "momentum" else with_adam)

    def step() -> Any:
        params: Any = start
        zeros = jax.tree.map(jnp.zeros_like, start)
        state: Any = zeros if name == "momentum" else (1, zeros, zeros)
        for x, labels in batches:
            params, state = update(params, state, x, labels)
        return jax.block_until_ready(params)

    return step


def _workload(name: str, summary: str, epoch: Callable[[Any, Any], Any]) -> Workload:
    builders: dict[str, Builder] = {
        peers.HAND_WRITTEN: lambda: _by_hand(epoch),
        peers.FUNCGRAD: lambda: _funcgrad(name, is_compiled=False),
        peers.FUNCGRAD_JIT: lambda: _funcgrad(name, is_compiled=True),
        peers.TORCH: lambda: _torch(name),
        peers.JAX_JIT: lambda: _jax(name),
    }
    return Workload(f"digits_{name}", summary, builders)


WITH_MOMENTUM = _workload("momentum", "one epoch of the digits network by gradient descent with momentum, 34 steps", momentum_epoch)
WITH_ADAM = _workload("adam", "one epoch of the digits network by Adam, 34 steps", adam_epoch)
