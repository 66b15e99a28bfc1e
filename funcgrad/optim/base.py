"""The protocol of an optimizer, and how updates are applied and optimizers are put in a row.

An optimizer is a pair of pure functions; everything it remembers is in a state that is handed in and out, and nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.optim.leaves import aligned, check_params, check_state, computable, is_real_or_complex, like, refused

Schedule: TypeAlias = Callable[[Any], Any]


class Update(Protocol):
    """The signature of an optimizer's update function."""

    def __call__(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        """Gradients and state in, updates and the next state out."""


class Optimizer(NamedTuple):
    """A transformation of gradients into updates.

    Parameters and gradients are real or complex floating-point arrays, Python numbers (ints count as floats) or tracers. States of float16
    parameters are float32, and their steps are computed in float32.

    Attributes:
        init: params -> state.
        update: (grads, state, params=None) -> (updates, state). The updates have the structure, shapes and dtypes of the gradients, and
            are to be added to the parameters; params are needed by those that look at them (weight decay).

    Example:
        >>> from funcgrad import optim
        >>> optimizer = optim.sgd(0.1, momentum=0.9)
        >>> params = {"w": 1.0}
        >>> state = optimizer.init(params)
        >>> for _ in range(3):
        ...     grads = {"w": 2 * params["w"]}
        ...     updates, state = optimizer.update(grads, state, params)
        ...     params = optim.apply_updates(params, updates)
        ...     print(f"{params['w']:.3f}")
        0.800
        0.460
        0.062
    """

    init: Callable[[Any], Any]
    update: Update


class EmptyState(NamedTuple):
    """The state of a transformation that remembers nothing."""


def identity() -> Optimizer:
    """The transformation that leaves gradients as they are.

    Returns:
        The optimizer; its state is an `EmptyState`.

    Example:
        >>> from funcgrad import optim
        >>> optim.identity().update([2.0, -4.0], optim.EmptyState())
        ([2.0, -4.0], EmptyState())
    """
    return stateless("identity", lambda grads: grads)


def stateless(name: str, transform: Callable[[Any], Any]) -> Optimizer:
    """An optimizer out of a function of the gradients alone."""

    def init(params: Any) -> EmptyState:
        check_params(name, params)
        return EmptyState()

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state(name, state, EmptyState)
        return transform(grads), state

    return Optimizer(init, update)


def chain(*optimizers: Optimizer) -> Optimizer:
    """Several transformations one after the other, each fed with what the one before makes of the gradients.

    Args:
        *optimizers: the transformations, first to last.

    Returns:
        The optimizer of them all; its state is the tuple of their states.

    Raises:
        InputTypeError: something that is no optimizer.
        InputValueError: (update) a state that is no tuple of as many states as there are transformations.

    Example:
        >>> from funcgrad import optim
        >>> clipped = optim.chain(optim.clip(1.0), optim.sgd(0.1))
        >>> updates, state = clipped.update([5.0, -0.5], clipped.init([0.0, 0.0]))
        >>> updates
        [-0.1, 0.05]
    """
    for number, optimizer in enumerate(optimizers, 1):
        if not isinstance(optimizer, tuple) or len(optimizer) != 2:
            raise InputTypeError(f"chain: argument {number} is {optimizer!r}; wanted an Optimizer, a pair (init, update).")
    inits = [init for init, _ in optimizers]
    steps = [update for _, update in optimizers]

    def init(params: Any) -> tuple[Any, ...]:
        return tuple([start(params) for start in inits])

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        if type(state) is not tuple or len(state) != len(steps):
            got = f"{len(state)} states" if type(state) is tuple else f"a {type(state).__name__}"
            raise InputValueError(
                f"chain: wanted a state of {len(steps)} states, one a transformation, got {got}: make it with init(params)."
            )
        states = []
        for step, old in zip(steps, state, strict=True):
            grads, new = step(grads, old, params)
            states.append(new)
        return grads, tuple(states)

    return Optimizer(init, update)


def apply_updates(params: Any, updates: Any) -> Any:
    """Add updates to parameters.

    Args:
        params: tree of real or complex arrays or Python numbers.
        updates: tree of the same structure and shapes.

    Returns:
        New parameters of the structure, shapes and dtypes of `params`; Python numbers stay Python floats (or complex).

    Raises:
        TreeError: the structures differ.
        InputValueError: a shape differs; the message names the path.
        InputTypeError: a parameter of an integer or another dtype that cannot hold an update, or an update that is no real or complex
            number or array; the message names the path.

    Example:
        >>> from funcgrad import optim
        >>> optim.apply_updates({"w": 1.0, "b": [2.0]}, {"w": 0.5, "b": [-1.0]})
        {'b': [1.0], 'w': 1.5}
    """
    changes, treedef, (old,) = aligned("apply_updates", "updates", updates, parameters=params)
    for i, leaf in enumerate(old):
        if type(leaf) is not float and not is_real_or_complex(leaf):
            raise refused("apply_updates", "parameter", treedef.paths()[i], leaf)
    changes = computable("apply_updates", "update", changes, treedef)
    return tree.unflatten(treedef, [like(leaf + change, leaf) for leaf, change in zip(old, changes, strict=True)])
