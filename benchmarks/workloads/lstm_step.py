"""lstm_step: value and gradient of an LSTM unrolled over 30 steps."""

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Step, Workload

Params = tuple[Any, Any, Any]

STEPS, BATCH, INPUTS, HIDDEN = 30, 16, 20, 32


def make_params() -> Params:
    """Weights of the input, (20, 128), and of the state, (32, 128), and the bias, (128,), float64; gates in the order i, f, g, o."""
    rng = np.random.default_rng(0)
    w_x = rng.normal(0.0, 1.0 / np.sqrt(INPUTS), (INPUTS, 4 * HIDDEN))
    w_h = rng.normal(0.0, 1.0 / np.sqrt(HIDDEN), (HIDDEN, 4 * HIDDEN))
    return w_x, w_h, np.zeros(4 * HIDDEN)


def make_data() -> tuple[list[Any], Any, Any]:
    """The inputs, an array (16, 20) a step, the target (16, 32) of the last state, and the first state, zeros (16, 32)."""
    rng = np.random.default_rng(1)
    sequence = [rng.normal(size=(BATCH, INPUTS)) for _ in range(STEPS)]
    return sequence, rng.uniform(-0.5, 0.5, (BATCH, HIDDEN)), np.zeros((BATCH, HIDDEN))


def loss(xp: Any, sigmoid: Any, params: Params, sequence: list[Any], target: Any, state: Any) -> Any:
    """Mean squared distance of the last hidden state from the target."""
    w_x, w_h, b = params
    h = c = state
    for x in sequence:
        gates = xp.matmul(x, w_x) + xp.matmul(h, w_h) + b
        i = sigmoid(gates[:, :HIDDEN])
        f = sigmoid(gates[:, HIDDEN : 2 * HIDDEN])
        g = xp.tanh(gates[:, 2 * HIDDEN : 3 * HIDDEN])
        o = sigmoid(gates[:, 3 * HIDDEN :])
        c = f * c + i * g
        h = o * xp.tanh(c)
    return xp.mean((h - target) ** 2)


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def value_and_gradient(params: Params, sequence: list[Any], target: Any, state: Any) -> tuple[Any, Params]:
    """Value and gradient of `loss` by hand: backpropagation through time."""
    w_x, w_h, b = params
    h = c = state
    saved = []
    for x in sequence:
        gates = x @ w_x + h @ w_h + b
        i = _sigmoid(gates[:, :HIDDEN])
        f = _sigmoid(gates[:, HIDDEN : 2 * HIDDEN])
        g = np.tanh(gates[:, 2 * HIDDEN : 3 * HIDDEN])
        o = _sigmoid(gates[:, 3 * HIDDEN :])
        c_next = f * c + i * g
        t = np.tanh(c_next)
        saved.append((x, h, c, i, f, g, o, t))
        c, h = c_next, o * t
    error = h - target
    d_h = 2.0 * error / error.size
    d_c = np.zeros_like(c)
    d_w_x, d_w_h, d_b = np.zeros_like(w_x), np.zeros_like(w_h), np.zeros_like(b)
    for x, h, c, i, f, g, o, t in reversed(saved):
        d_c = d_c + d_h * o * (1.0 - t * t)
        d_i = d_c * g * i * (1.0 - i)
        d_f = d_c * c * f * (1.0 - f)
        d_g = d_c * i * (1.0 - g * g)
        d_o = d_h * t * o * (1.0 - o)
        d_gates = np.concatenate((d_i, d_f, d_g, d_o), axis=1)
        d_w_x += x.T @ d_gates
        d_w_h += h.T @ d_gates
        d_b += d_gates.sum(axis=0)
        d_h = d_gates @ w_h.T
        d_c = d_c * f
    return (error * error).mean(), (d_w_x, d_w_h, d_b)


def _hand_written() -> Step:
    params, data = make_params(), make_data()
    return lambda: value_and_gradient(params, *data)


def _funcgrad(xp: Any) -> Step:
    from funcgrad import nn, value_and_grad

    params, data = make_params(), make_data()
    derivative = value_and_grad(lambda params: loss(xp, nn.sigmoid, params, *data))
    return lambda: derivative(params)


def _funcgrad_numpy() -> Step:
    import funcgrad.numpy as fnp

    return _funcgrad(fnp)


def _funcgrad_jit() -> Step:
    from funcgrad import jit, nn, value_and_grad

    params, data = make_params(), make_data()
    derivative = jit(value_and_grad(lambda params: loss(np, nn.sigmoid, params, *data)))
    return lambda: derivative(params)


def _autograd() -> Step:
    import autograd
    import autograd.numpy as anp
    from autograd.scipy.special import expit

    params, data = make_params(), make_data()
    derivative = autograd.value_and_grad(lambda params: loss(anp, expit, params, *data))
    return lambda: derivative(params)


def _mygrad() -> Step:
    import mygrad as mg
    from mygrad.nnet.activations import sigmoid

    arrays, data = make_params(), make_data()

    def step() -> Any:
        w_x, w_h, b = params = tuple(mg.tensor(array, copy=False) for array in arrays)
        value = loss(mg, sigmoid, (w_x, w_h, b), *data)
        value.backward()
        return value.item(), [leaf.grad for leaf in params]

    return step


def _torch() -> Step:
    import torch

    w_x, w_h, b = params = tuple(torch.from_numpy(array).requires_grad_() for array in make_params())
    arrays, target, state = make_data()
    sequence = [torch.from_numpy(array) for array in arrays]
    target, state = torch.from_numpy(target), torch.from_numpy(state)

    def step() -> Any:
        value = loss(torch, torch.sigmoid, (w_x, w_h, b), sequence, target, state)
        return value.detach(), torch.autograd.grad(value, params)

    return step


def _jax_arrays() -> tuple[Any, tuple[Any, Any, Any]]:
    import jax.numpy as jnp

    sequence, target, state = make_data()
    params = tuple(jnp.asarray(array) for array in make_params())
    return params, ([jnp.asarray(x) for x in sequence], jnp.asarray(target), jnp.asarray(state))


def _jax() -> Step:
    import jax
    import jax.numpy as jnp

    params, data = _jax_arrays()
    derivative = jax.value_and_grad(lambda params: loss(jnp, jax.nn.sigmoid, params, *data))
    return lambda: jax.block_until_ready(derivative(params))


def _jax_jit() -> Step:
    """The steps as a `scan`: it runs in a third of the unrolled loop's time and compiles in a sixth."""
    import jax
    import jax.numpy as jnp

    params, (steps, target, state) = _jax_arrays()

    def scanned_loss(params: Params, sequence: Any, target: Any, state: Any) -> Any:
        w_x, w_h, b = params

        def cell(carry: tuple[Any, Any], x: Any) -> tuple[tuple[Any, Any], None]:
            h, c = carry
            i, f, g, o = jnp.split(x @ w_x + h @ w_h + b, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        (h, _), _ = jax.lax.scan(cell, (state, state), sequence)
        return jnp.mean((h - target) ** 2)

    derivative = jax.jit(jax.value_and_grad(scanned_loss))
    sequence = jnp.stack(steps)
    return lambda: jax.block_until_ready(derivative(params, sequence, target, state))


WORKLOAD = Workload(
    "lstm_step",
    "LSTM, 30 steps, batch 16, 20 in, 32 hidden, value and gradient",
    {
        peers.HAND_WRITTEN: _hand_written,
        peers.FUNCGRAD: lambda: _funcgrad(np),
        peers.FUNCGRAD_NUMPY: _funcgrad_numpy,
        peers.FUNCGRAD_JIT: _funcgrad_jit,
        peers.AUTOGRAD: _autograd,
        peers.MYGRAD: _mygrad,
        peers.TORCH: _torch,
        peers.JAX: _jax,
        peers.JAX_JIT: _jax_jit,
    },
)
