"""How each peer takes the gradient of a function of one array, for the workloads where that is all there is to say.

The function is written once, `f(xp, x)`, on a namespace `xp` that holds NumPy's names.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Builder, Step

ArrayFunction = Callable[[Any, Any], Any]


def gradient_builders(f: ArrayFunction, make_input: Callable[[], Any], *, with_value: bool) -> dict[str, Builder]:
    """Builders of the gradient of `f(xp, x)` for every library.

    Args:
        f: Function of a namespace and a float64 array of any shape, returning a scalar.
        make_input: Makes the array; called once for each peer.
        with_value: Whether the step returns `(value, gradient)` or the gradient alone.

    Returns:
        A builder for each peer but the hand-written one.
    """

    def funcgrad_plain() -> Step:
        import funcgrad

        return _transformed(funcgrad, np)

    def funcgrad_numpy() -> Step:
        import funcgrad
        import funcgrad.numpy as fnp

        return _transformed(funcgrad, fnp)

    def funcgrad_jit() -> Step:
        import funcgrad
        from funcgrad import jit

        x = make_input()
        transform = funcgrad.value_and_grad if with_value else funcgrad.grad
        derivative = jit(transform(lambda x: f(np, x)))
        return lambda: derivative(x)

    def autograd() -> Step:
        import autograd as ag
        import autograd.numpy as anp

        return _transformed(ag, anp)

    def _transformed(library: Any, xp: Any) -> Step:
        x = make_input()
        transform = library.value_and_grad if with_value else library.grad
        derivative = transform(lambda x: f(xp, x))
        return lambda: derivative(x)

    def mygrad() -> Step:
        import mygrad as mg

        array = make_input()

        def step() -> Any:
            x = mg.tensor(array, copy=False)
            value = f(mg, x)
            value.backward()
            return (value.item(), x.grad) if with_value else x.grad

        return step

    def torch() -> Step:
        import torch as th

        x = th.from_numpy(make_input()).requires_grad_()

        def step() -> Any:
            value = f(th, x)
            (gradient,) = th.autograd.grad(value, x)
            return (value.detach(), gradient) if with_value else gradient

        return step

    def jax() -> Step:
        return _jax(is_compiled=False)

    def jax_jit() -> Step:
        return _jax(is_compiled=True)

    def _jax(*, is_compiled: bool) -> Step:
        import jax as jx
        import jax.numpy as jnp

        x = jnp.asarray(make_input())
        transform = jx.value_and_grad if with_value else jx.grad
        derivative = transform(lambda x: f(jnp, x))
        derivative = jx.jit(derivative) if is_compiled else derivative
        return lambda: jx.block_until_ready(derivative(x))

    return {
        peers.FUNCGRAD: funcgrad_plain,
        peers.FUNCGRAD_NUMPY: funcgrad_numpy,
        peers.FUNCGRAD_JIT: funcgrad_jit,
        peers.AUTOGRAD: autograd,
        peers.MYGRAD: mygrad,
        peers.TORCH: torch,
        peers.JAX: jax,
        peers.JAX_JIT: jax_jit,
    }
