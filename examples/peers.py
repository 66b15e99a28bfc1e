"""The expressions of `examples.engine` written in PyTorch's and in JAX's own operations, so that their gradients can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

PEERS = ("torch", "jax")


def expressions(xp: Any, relu: Callable[[Any], Any], sigmoid: Callable[[Any], Any]) -> dict[str, Callable[..., Any]]:
    """Every expression, by its text.

    Args:
        xp: the peer's array namespace, with exp, log, sin and tanh.
        relu: the peer's relu.
        sigmoid: the peer's sigmoid.
    """

    def branching(a: Any, b: Any) -> Any:
        c = a * b + b**3
        d = xp.tanh(c / a) + 0.001 * xp.exp(c)
        return relu(d - a) + xp.log(b * d) if b * d > 0 else relu(d - a)

    return {
        "3x**2 - 4x + 5": lambda x: 3 * x**2 - 4 * x + 5,
        "(x*y + x)**2": lambda x, y: (x * y + x) ** 2,
        "a*b + a": lambda a, b: a * b + a,
        "a + a": lambda a: a + a,
        "a*a": lambda a: a * a,
        "(x*x)*(x*x)": lambda x: (x * x) * (x * x),
        "relu(a*b - c) + a**2": lambda a, b, c: relu(a * b - c) + a**2,
        "tanh(x**3 + 3x)": lambda x: xp.tanh(x**3 + 3 * x),
        "g(a, b) with a Python if": branching,
        "sin(x)exp(x) + x**2": lambda x: xp.sin(x) * xp.exp(x) + x**2,
        "sigmoid(x)": sigmoid,
        "(tanh(w1 + 2w2 + b) - 1)**2": lambda w1, w2, b: (xp.tanh(w1 + 2 * w2 + b) - 1) ** 2,
    }


def gradients(peer: str, points: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    """Take the gradient of each expression in double precision.

    Args:
        peer: one of `PEERS`.
        points: expression's text -> where to take it.

    Raises:
        ImportError: if the peer is not installed.
    """
    return {"torch": _by_torch, "jax": _by_jax}[peer](points)


def _by_torch(points: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    import torch

    functions = expressions(torch, torch.relu, torch.sigmoid)
    found = {}
    for text, at in points.items():
        leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in at]
        found[text] = tuple(float(slope) for slope in torch.autograd.grad(functions[text](*leaves), leaves))
    return found


def _by_jax(points: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    functions = expressions(jax.numpy, jax.nn.relu, jax.nn.sigmoid)
    found = {}
    for text, at in points.items():
        slopes = jax.grad(functions[text], argnums=tuple(range(len(at))))(*map(float, at))
        found[text] = tuple(map(float, slopes))
    return found
