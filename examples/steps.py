"""The step that every training run repeats: value and gradient, the optimizer's update, the new parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad import jit, optim, value_and_grad


def make_step(
    loss: Callable[..., Any], optimizer: optim.Optimizer, *, has_aux: bool = False, is_compiled: bool = False
) -> Callable[..., Any]:
    """Make the function `(params, state, *data) -> (value, params, state)`; with aux the value is the pair `(value, aux)`.

    Args:
        loss: function of the parameters and the data.
        optimizer: the pair of functions (init, update).
        has_aux: the loss returns `(value, aux)`.
        is_compiled: run the whole step as one program.
    """

    def step(params: Any, state: Any, *data: Any) -> tuple[Any, Any, Any]:
        value, gradient = value_and_grad(loss, has_aux=has_aux)(params, *data)
        updates, state = optimizer.update(gradient, state, params)
        return value, optim.apply_updates(params, updates), state

    return jit(step) if is_compiled else step
