"""rosen100: gradient, Hessian and Hessian-vector product of the 100-dimensional Rosenbrock function."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.adapters import gradient_builders
from benchmarks.workload import Builder, Step, Workload


def make_input() -> Any:
    """The point: float64 array, shape (100,)."""
    return np.random.default_rng(0).normal(size=100)


def make_vector() -> Any:
    """The vector that the Hessian is multiplied with: float64 array, shape (100,)."""
    return np.random.default_rng(1).normal(size=100)


def rosen(xp: Any, x: Any) -> Any:
    """sum(100 (x[i+1] - x[i]**2)**2 + (1 - x[i])**2)."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def gradient(x: Any) -> Any:
    """Gradient of `rosen` by hand, shape (n,)."""
    head = x[:-1]
    valley = x[1:] - head * head
    result = np.zeros_like(x)
    result[:-1] = -400.0 * head * valley - 2.0 * (1.0 - head)
    result[1:] += 200.0 * valley
    return result


def _bands(x: Any) -> tuple[Any, Any]:
    """Diagonal, shape (n,), and off-diagonal, shape (n - 1,), of the Hessian of `rosen`."""
    head = x[:-1]
    diagonal = np.zeros_like(x)
    diagonal[:-1] = 1200.0 * head * head - 400.0 * x[1:] + 2.0
    diagonal[1:] += 200.0
    return diagonal, -400.0 * head


def hessian(x: Any) -> Any:
    """Hessian of `rosen` by hand, shape (n, n)."""
    diagonal, off = _bands(x)
    return np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)


def hessian_vector_product(x: Any, v: Any) -> Any:
    """Hessian of `rosen` times v by hand, without the matrix, shape (n,)."""
    diagonal, off = _bands(x)
    result = diagonal * v
    result[:-1] += off * v[1:]
    result[1:] += off * v[:-1]
    return result


def _hand_written_gradient() -> Step:
    x = make_input()
    return lambda: gradient(x)


def _hand_written_hessian() -> Step:
    x = make_input()
    return lambda: hessian(x)


def _hand_written_product() -> Step:
    x, v = make_input(), make_vector()
    return lambda: hessian_vector_product(x, v)


def _numpy_like(import_peer: Callable[[], tuple[Any, Any]], product: str) -> tuple[Builder, Builder]:
    """Hessian and product of a library whose transforms take a function of arrays and whose names are NumPy's."""

    def build_hessian() -> Step:
        library, xp = import_peer()
        x = make_input()
        derivative = library.hessian(lambda x: rosen(xp, x))
        return lambda: derivative(x)

    def build_product() -> Step:
        library, xp = import_peer()
        x, v = make_input(), make_vector()
        derivative = getattr(library, product)(lambda x: rosen(xp, x))
        return lambda: derivative(x, v)

    return build_hessian, build_product


def _import_funcgrad() -> tuple[Any, Any]:
    import funcgrad

    return funcgrad, np


def _import_funcgrad_numpy() -> tuple[Any, Any]:
    import funcgrad
    import funcgrad.numpy as fnp

    return funcgrad, fnp


def _funcgrad_jit_hessian() -> Step:
    import funcgrad
    from funcgrad import jit

    x = make_input()
    derivative = jit(funcgrad.hessian(lambda x: rosen(np, x)))
    return lambda: derivative(x)


def _funcgrad_jit_product() -> Step:
    import funcgrad
    from funcgrad import jit

    x, v = make_input(), make_vector()
    derivative = jit(funcgrad.hvp(lambda x: rosen(np, x)))
    return lambda: derivative(x, v)


def _import_autograd() -> tuple[Any, Any]:
    import autograd
    import autograd.numpy as anp

    return autograd, anp


def _torch_hessian() -> Step:
    import torch

    x = torch.from_numpy(make_input())
    derivative = torch.func.hessian(lambda x: rosen(torch, x))
    return lambda: derivative(x)


def _torch_product() -> Step:
    import torch

    x, v = torch.from_numpy(make_input()).requires_grad_(), torch.from_numpy(make_vector())

    def step() -> Any:
        (first,) = torch.autograd.grad(rosen(torch, x), x, create_graph=True)
        return torch.autograd.grad(first, x, v)[0]

    return step


def _jax(*, is_compiled: bool) -> tuple[Builder, Builder]:
    def build_hessian() -> Step:
        import jax
        import jax.numpy as jnp

        x = jnp.asarray(make_input())
        derivative = jax.hessian(lambda x: rosen(jnp, x))
        derivative = jax.jit(derivative) if is_compiled else derivative
        return lambda: jax.block_until_ready(derivative(x))

    def build_product() -> Step:
        import jax
        import jax.numpy as jnp

        x, v = jnp.asarray(make_input()), jnp.asarray(make_vector())

        def product(x: Any, v: Any) -> Any:
            return jax.jvp(jax.grad(lambda x: rosen(jnp, x)), (x,), (v,))[1]

        derivative = jax.jit(product) if is_compiled else product
        return lambda: jax.block_until_ready(derivative(x, v))

    return build_hessian, build_product


_PAIRS: dict[str, tuple[Builder, Builder]] = {
    peers.HAND_WRITTEN: (_hand_written_hessian, _hand_written_product),
    peers.FUNCGRAD: _numpy_like(_import_funcgrad, "hvp"),
    peers.FUNCGRAD_NUMPY: _numpy_like(_import_funcgrad_numpy, "hvp"),
    peers.FUNCGRAD_JIT: (_funcgrad_jit_hessian, _funcgrad_jit_product),
    peers.AUTOGRAD: _numpy_like(_import_autograd, "hessian_vector_product"),
    peers.TORCH: (_torch_hessian, _torch_product),
    peers.JAX: _jax(is_compiled=False),
    peers.JAX_JIT: _jax(is_compiled=True),
}

GRADIENT = Workload(
    "rosen100_grad",
    "gradient of the 100-dimensional Rosenbrock function",
    {peers.HAND_WRITTEN: _hand_written_gradient, **gradient_builders(rosen, make_input, with_value=False)},
)
HESSIAN = Workload(
    "rosen100_hessian",
    "Hessian of the 100-dimensional Rosenbrock function",
    {name: pair[0] for name, pair in _PAIRS.items()},
)
PRODUCT = Workload(
    "rosen100_hvp",
    "Hessian-vector product of the 100-dimensional Rosenbrock function",
    {name: pair[1] for name, pair in _PAIRS.items()} | {peers.YARDSTICK: GRADIENT.builders[peers.FUNCGRAD]},
)
