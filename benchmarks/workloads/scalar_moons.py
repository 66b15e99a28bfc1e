"""scalar_moons: a full-batch step of a small network whose every number is a Python float, about 20,000 operations.

It has no compiled JAX: XLA needs more than five minutes to compile the 20,000 scalar operations.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import peers, scalar_engine
from benchmarks.workload import Step, Workload

WIDTHS = (2, 8, 8, 1)
POINTS = 100

Points = list[tuple[list[float], float]]


def make_params() -> list[float]:
    """The 105 parameters in one list, neuron by neuron, layer by layer: the weights, then the bias."""
    rng = np.random.default_rng(0)
    params: list[float] = []
    for fan_in, fan_out in pairwise(WIDTHS):
        for _ in range(fan_out):
            params += rng.normal(0.0, math.sqrt(2.0 / fan_in), fan_in).tolist()
            params.append(0.0)
    return params


def make_points() -> Points:
    """Two interleaving half circles with noise: each point's coordinates and its label, -1 or 1."""
    rng = np.random.default_rng(1)
    angles = np.linspace(0.0, math.pi, POINTS // 2)
    upper = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    lower = np.stack((1.0 - np.cos(angles), 0.5 - np.sin(angles)), axis=1)
    where = np.concatenate((upper, lower)) + rng.normal(0.0, 0.1, (POINTS, 2))
    labels = [-1.0] * (POINTS // 2) + [1.0] * (POINTS // 2)
    return list(zip(where.tolist(), labels, strict=True))


def _layers(params: Sequence[Any]) -> list[list[tuple[list[Any], Any]]]:
    """The parameters as layers of neurons, each its weights and its bias."""
    position = 0
    layers = []
    for fan_in, fan_out in pairwise(WIDTHS):
        layer = []
        for _ in range(fan_out):
            stop = position + fan_in
            layer.append(([params[k] for k in range(position, stop)], params[stop]))
            position = stop + 1
        layers.append(layer)
    return layers


def loss(relu: Any, exp: Any, log: Any, params: Sequence[Any], points: Points) -> Any:
    """Mean over the points of log(1 + exp(-label * output)), the network 2-8-8-1 with ReLU between its layers."""
    *hidden_layers, output_layer = _layers(params)
    total: Any = 0.0
    for point, label in points:
        values: list[Any] = point
        for layer in hidden_layers:
            values = [relu(_neuron(weights, bias, values)) for weights, bias in layer]
        ((weights, bias),) = output_layer
        total = total + log(exp(_neuron(weights, bias, values) * -label) + 1.0)
    return total * (1.0 / len(points))


def _neuron(weights: list[Any], bias: Any, values: list[Any]) -> Any:
    total = bias
    for weight, value in zip(weights, values, strict=True):
        total = total + weight * value
    return total


def value_and_gradient(params: list[float], points: Points) -> tuple[float, list[float]]:
    """Value and gradient of `loss` by hand, in plain Python."""
    first, second, ((w3, b3),) = _layers(params)
    g1, h1 = [[0.0] * len(w) for w, _ in first], [0.0] * len(first)
    g2, h2 = [[0.0] * len(w) for w, _ in second], [0.0] * len(second)
    g3, h3 = [0.0] * len(w3), 0.0
    total = 0.0
    scale = 1.0 / len(points)
    for (x, y), label in points:
        a1 = [max(w[0] * x + w[1] * y + b, 0.0) for w, b in first]
        a2 = [max(sum([p * q for p, q in zip(w, a1, strict=True)], b), 0.0) for w, b in second]
        score = sum([p * q for p, q in zip(w3, a2, strict=True)], b3)
        e = math.exp(-label * score)
        total += math.log(1.0 + e)
        d_score = -label * e / (1.0 + e) * scale
        h3 += d_score
        d_a1 = [0.0] * len(a1)
        for k, active in enumerate(a2):
            g3[k] += d_score * active
            if active > 0.0:
                d = d_score * w3[k]
                h2[k] += d
                weights, row = second[k][0], g2[k]
                for j, value in enumerate(a1):
                    row[j] += d * value
                    d_a1[j] += d * weights[j]
        for k, d in enumerate(d_a1):
            if a1[k] > 0.0:
                h1[k] += d
                row = g1[k]
                row[0] += d * x
                row[1] += d * y
    gradient: list[float] = []
    for rows, biases in ((g1, h1), (g2, h2), ([g3], [h3])):
        for row, bias in zip(rows, biases, strict=True):
            gradient += [*row, bias]
    return total * scale, gradient


def _hand_written() -> Step:
    params, points = make_params(), make_points()
    return lambda: value_and_gradient(params, points)


def _engine() -> Step:
    floats, points = make_params(), make_points()

    def step() -> Any:
        params = [scalar_engine.Node(value) for value in floats]
        total = loss(scalar_engine.relu, scalar_engine.exp, scalar_engine.log, params, points)
        total.backward()
        return total.value, [node.gradient for node in params]

    return step


def _funcgrad(xp: Any) -> Step:
    from funcgrad import nn, value_and_grad

    params, points = make_params(), make_points()
    derivative = value_and_grad(lambda params: loss(nn.relu, xp.exp, xp.log, params, points))
    return lambda: derivative(params)


def _funcgrad_numpy() -> Step:
    import funcgrad.numpy as fnp

    return _funcgrad(fnp)


def _funcgrad_jit() -> Step:
    from funcgrad import jit, nn, value_and_grad

    params, points = make_params(), make_points()
    derivative = jit(value_and_grad(lambda params: loss(nn.relu, np.exp, np.log, params, points)))
    return lambda: derivative(params)


def _autograd() -> Step:
    import autograd
    import autograd.numpy as anp

    params, points = make_params(), make_points()
    derivative = autograd.value_and_grad(lambda params: loss(lambda x: anp.maximum(x, 0.0), anp.exp, anp.log, params, points))
    return lambda: derivative(params)


def _mygrad() -> Step:
    import mygrad as mg
    from mygrad.nnet.activations import relu

    floats, points = make_params(), make_points()

    def step() -> Any:
        params = [mg.tensor(value) for value in floats]
        total = loss(relu, mg.exp, mg.log, params, points)
        total.backward()
        return total.item(), [tensor.grad for tensor in params]

    return step


def _torch() -> Step:
    import torch

    params = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in make_params()]
    points = make_points()

    def step() -> Any:
        total = loss(torch.relu, torch.exp, torch.log, params, points)
        return total.detach(), list(torch.autograd.grad(total, params))

    return step


def _jax() -> Step:
    import jax
    import jax.numpy as jnp

    params, points = make_params(), make_points()
    derivative = jax.value_and_grad(lambda params: loss(jax.nn.relu, jnp.exp, jnp.log, params, points))
    return lambda: jax.block_until_ready(derivative(params))


WORKLOAD = Workload(
    "scalar_moons",
    "a step of the 2-8-8-1 ReLU network on 100 points, every number a Python float, value and gradient",
    {
        peers.HAND_WRITTEN: _hand_written,
        peers.FUNCGRAD: lambda: _funcgrad(np),
        peers.FUNCGRAD_NUMPY: _funcgrad_numpy,
        peers.FUNCGRAD_JIT: _funcgrad_jit,
        peers.AUTOGRAD: _autograd,
        peers.MYGRAD: _mygrad,
        peers.TORCH: _torch,
        peers.JAX: _jax,
        peers.ENGINE: _engine,
    },
    minor=frozenset({peers.AUTOGRAD}),
)
