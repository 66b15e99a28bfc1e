"""The building blocks of optimizers that treat every element alike: scaling, momentum, averaging, clipping, weight decay.

`g` is a gradient leaf, `t` the number of the step from 1 on. Leaves of states have the shapes of the parameters; counts are Python ints.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.optim.base import EmptyState, Optimizer, Schedule, identity, stateless
from funcgrad.optim.leaves import absolute_square, aligned, average, debiased, full_like, is_complex, like, plain, sqrt


class CountState(NamedTuple):
    """The state of a transformation that only counts its steps."""

    count: Any  # int, shape ()


class TraceState(NamedTuple):
    """The state of `trace`."""

    trace: Any  # tree like the parameters


class EmaState(NamedTuple):
    """The state of `ema`."""

    count: Any  # int, shape ()
    ema: Any  # tree like the parameters


def scale(step_size: Any) -> Optimizer:
    """Multiply by a number: `step_size * g`.

    Args:
        step_size: a number, shape ().

    Returns:
        The optimizer; its state is an `EmptyState`.

    Example:
        >>> from funcgrad import optim
        >>> optim.scale(-0.5).update([2.0, 4.0], optim.EmptyState())[0]
        [-1.0, -2.0]
    """
    factor = plain(step_size)
    return stateless(lambda grads: _scaled(factor, grads))


def _scaled(factor: Any, grads: Any) -> Any:
    leaves, treedef = tree.flatten(grads)
    return tree.unflatten(treedef, [like(factor * leaf, leaf) for leaf in leaves])


def scale_by_schedule(step_size_fn: Schedule) -> Optimizer:
    """Multiply by a number that depends on the step: `step_size_fn(t - 1) * g`.

    Args:
        step_size_fn: number of steps done, int -> factor.

    Returns:
        The optimizer; its state is a `CountState`.

    Example:
        >>> from funcgrad import optim
        >>> halving = optim.scale_by_schedule(lambda count: 0.5**count)
        >>> state = halving.init(0.0)
        >>> for _ in range(3):
        ...     update, state = halving.update(8.0, state)
        ...     print(update)
        8.0
        4.0
        2.0
    """

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return _scaled(plain(step_size_fn(state.count)), grads), CountState(state.count + 1)

    return Optimizer(lambda params: CountState(0), update)


def scale_by_learning_rate(learning_rate: Any, *, flip_sign: bool = True) -> Optimizer:
    """Multiply by the learning rate, and turn the gradient into a step downhill: `-learning_rate * g`.

    Args:
        learning_rate: a number, a schedule (steps done -> number), or None for no scaling at all.
        flip_sign: whether to change the sign.

    Returns:
        The optimizer; its state is a `CountState` for a schedule, else an `EmptyState`.

    Example:
        >>> from funcgrad import optim
        >>> optim.scale_by_learning_rate(0.1).update(5.0, optim.EmptyState())[0]
        -0.5
    """
    if learning_rate is None:
        return identity()
    sign = -1 if flip_sign else 1
    if callable(learning_rate):
        return scale_by_schedule(lambda count: sign * learning_rate(count))
    return scale(sign * learning_rate)


def trace(decay: Any, nesterov: bool = False) -> Optimizer:
    """Momentum: the decaying sum `m = g + decay * m` of the gradients, or with Nesterov's look ahead `g + decay * m`.

    Args:
        decay: what is kept of the sum at each step, in [0, 1).
        nesterov: whether to look ahead.

    Returns:
        The optimizer; its state is a `TraceState`.

    Raises:
        InputTypeError: (init) a parameter that is no real or complex number or array; the message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path.

    Example:
        >>> from funcgrad import optim
        >>> momentum = optim.trace(0.5)
        >>> update, state = momentum.update(1.0, momentum.init(0.0))
        >>> momentum.update(1.0, state)[0]
        1.5

    References:
        Sutskever, Martens, Dahl and Hinton, On the importance of initialization and momentum in deep learning, 2013.
    """
    decay = plain(decay)

    def init(params: Any) -> TraceState:
        return TraceState(full_like("trace", params, 0.0))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        leaves, treedef, (old,) = aligned("trace", "gradients", grads, state=state.trace)
        new = [like(g + decay * m, m) for g, m in zip(leaves, old, strict=True)]
        ahead = [like(g + decay * m, g) for g, m in zip(leaves, new, strict=True)] if nesterov else new
        return tree.unflatten(treedef, ahead), TraceState(tree.unflatten(treedef, new))

    return Optimizer(init, update)


def ema(decay: Any, debias: bool = True) -> Optimizer:
    """The exponential average `m = decay * m + (1 - decay) * g`, divided by `1 - decay**t` where the start at zero is to be made up for.

    Args:
        decay: weight of the past, in [0, 1).
        debias: whether to divide.

    Returns:
        The optimizer; its state is an `EmaState`.

    Raises:
        InputTypeError: (init) a parameter that is no real or complex number or array; the message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path.

    Example:
        >>> from funcgrad import optim
        >>> average = optim.ema(0.5, debias=False)
        >>> update, state = average.update(4.0, average.init(0.0))
        >>> update, average.update(4.0, state)[0]
        (2.0, 3.0)
    """
    decay = plain(decay)

    def init(params: Any) -> EmaState:
        return EmaState(0, full_like("ema", params, 0.0))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        leaves, treedef, (old,) = aligned("ema", "gradients", grads, state=state.ema)
        count = state.count + 1
        new = average(decay, old, leaves)
        found = debiased(new, decay, count) if debias else new
        return tree.unflatten(treedef, found), EmaState(count, tree.unflatten(treedef, new))

    return Optimizer(init, update)


def clip(max_delta: Any) -> Optimizer:
    """Bring every element into [-max_delta, max_delta].

    Args:
        max_delta: the bound, a positive number.

    Returns:
        The optimizer; its state is an `EmptyState`.

    Raises:
        InputTypeError: (update) a complex gradient, which has no order.

    Example:
        >>> from funcgrad import optim
        >>> optim.clip(1.0).update([3.0, -0.2], optim.EmptyState())[0]
        [1.0, -0.2]
    """
    bound = plain(max_delta)

    def transform(grads: Any) -> Any:
        leaves, treedef = tree.flatten(grads)
        for i, leaf in enumerate(leaves):
            if is_complex(leaf):
                path = treedef.paths()[i] or "the root"
                raise InputTypeError(f"clip: the gradient at {path} is complex and has no order: use clip_by_global_norm.")
        return tree.unflatten(treedef, [_clipped(leaf, bound) for leaf in leaves])

    return stateless(transform)


def _clipped(value: Any, bound: Any) -> Any:
    if type(value) is not float:
        return like(np.clip(value, -bound, bound), value)
    return bound if value > bound else -bound if value < -bound else value


def clip_by_global_norm(max_norm: Any) -> Optimizer:
    """Shorten all gradients by one factor, `min(1, max_norm / norm)`, where norm is the Euclidean norm over all leaves.

    Args:
        max_norm: the bound, a positive number.

    Returns:
        The optimizer; its state is an `EmptyState`.

    Example:
        >>> from funcgrad import optim
        >>> optim.clip_by_global_norm(1.0).update({"a": 3.0, "b": 4.0}, optim.EmptyState())[0]
        {'a': 0.6000000000000001, 'b': 0.8}

    References:
        Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, 2013.
    """
    bound = plain(max_norm)

    def transform(grads: Any) -> Any:
        square: Any = 0.0
        for leaf in tree.leaves(grads):
            part = absolute_square(leaf)
            square = square + (part if type(part) is float else plain(np.sum(part)))
        factor = plain(bound / np.maximum(sqrt(square), bound))
        return grads if type(factor) is float and factor == 1.0 else _scaled(factor, grads)

    return stateless(transform)


def add_decayed_weights(weight_decay: Any = 0.0, mask: Any = None) -> Optimizer:
    """Add a part of the parameters: `g + weight_decay * p`.

    Args:
        weight_decay: a number, or a schedule (steps done -> number).
        mask: which parameters decay: a tree of bools of the structure of the parameters or a prefix of it, or a function from the
            parameters to such a tree; None for all.

    Returns:
        The optimizer; its state is a `CountState` for a schedule, else an `EmptyState`. Its update needs the parameters.

    Raises:
        InputValueError: (update) no parameters given, or gradients of another shape.
        TreeError: (update) gradients or mask of another structure.

    Example:
        >>> from funcgrad import optim
        >>> decay = optim.add_decayed_weights(0.1, mask={"w": True, "b": False})
        >>> decay.update({"w": 1.0, "b": 1.0}, optim.EmptyState(), {"w": 20.0, "b": 20.0})[0]
        {'b': 1.0, 'w': 3.0}

    References:
        Loshchilov and Hutter, Decoupled weight decay regularization, 2019.
    """
    is_schedule = callable(weight_decay)

    def init(params: Any) -> Any:
        return CountState(0) if is_schedule else EmptyState()

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        if params is None:
            raise InputValueError("add_decayed_weights needs the parameters: call update(grads, state, params).")
        leaves, treedef, (weights,) = aligned("add_decayed_weights", "gradients", grads, parameters=params)
        factor = plain(weight_decay(state.count) if is_schedule else weight_decay)
        decays = [True] * len(leaves) if mask is None else _spread(mask(params) if callable(mask) else mask, params)
        updates = [like(g + factor * p, g) if decay else g for g, p, decay in zip(leaves, weights, decays, strict=True)]
        return tree.unflatten(treedef, updates), CountState(state.count + 1) if is_schedule else state

    return Optimizer(init, update)


def _spread(mask: Any, params: Any) -> list[bool]:
    """The mask's answer for each leaf of the parameters."""
    flags, treedef = tree.flatten(mask)
    below = treedef.flatten_up_to(params, "add_decayed_weights: the tree of parameters, beside the mask,")
    return [bool(flag) for flag, part in zip(flags, below, strict=True) for _ in tree.leaves(part)]
