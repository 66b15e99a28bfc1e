"""The building blocks of optimizers that treat every element alike: scaling, momentum, averaging, weight decay.

`g` is a gradient leaf, `t` the number of the step from 1 on. Leaves of states have the shapes and dtypes of the parameters, but float32 for
float16; counts are Python ints. A step of float16 leaves is computed in float32, and the update is float16.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.optim.base import EmptyState, Optimizer, Schedule, identity, stateless
from funcgrad.optim.hyperparameters import is_schedule, number, scheduled
from funcgrad.optim.leaves import aligned, average, check_params, check_state, computable, debiased, full_like, like


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

    Raises:
        InputTypeError: a factor that is no number; (init, update) a parameter or a gradient that is no real or complex number or array;
            the message names the path.
        InputValueError: a factor that is NaN or has axes; (update) a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> optim.scale(-0.5).update([2.0, 4.0], optim.EmptyState())[0]
        [-1.0, -2.0]
    """
    factor = number("scale", "step_size", step_size)
    return stateless("scale", lambda grads: _scaled("scale", factor, grads))


def _scaled(name: str, factor: Any, grads: Any) -> Any:
    leaves, treedef = tree.flatten(grads)
    gs = computable(name, "gradient", leaves, treedef)
    return tree.unflatten(treedef, [like(factor * g, leaf) for leaf, g in zip(leaves, gs, strict=True)])


def scale_by_schedule(step_size_fn: Schedule) -> Optimizer:
    """Multiply by a number that depends on the step: `step_size_fn(t - 1) * g`.

    Args:
        step_size_fn: number of steps done, int -> factor.

    Returns:
        The optimizer; its state is a `CountState`.

    Raises:
        InputTypeError: no function; (init, update) a parameter or a gradient that is no real or complex number or array, and the message
            names the path; (update) a schedule that gives no number.
        InputValueError: (update) a schedule that gives NaN or an array with axes, or a state that another transformation made.

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
    if not callable(step_size_fn):
        raise InputTypeError(
            f"scale_by_schedule: step_size_fn is {step_size_fn!r}; wanted a function from the number of steps done to a factor: for a "
            "fixed factor use scale."
        )
    return _by_schedule("scale_by_schedule", "factor", 1, step_size_fn)


def _by_schedule(name: str, what: str, sign: int, schedule: Schedule) -> Optimizer:
    def init(params: Any) -> CountState:
        check_params(name, params)
        return CountState(0)

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state(name, state, CountState)
        return _scaled(name, sign * scheduled(name, what, schedule, state.count), grads), CountState(state.count + 1)

    return Optimizer(init, update)


def scale_by_learning_rate(learning_rate: Any, *, flip_sign: bool = True) -> Optimizer:
    """Multiply by the learning rate, and turn the gradient into a step downhill: `-learning_rate * g`.

    Args:
        learning_rate: a finite number, at least 0; a schedule (steps done -> number); or None for no scaling at all.
        flip_sign: whether to change the sign.

    Returns:
        The optimizer; its state is a `CountState` for a schedule, else an `EmptyState`.

    Raises:
        InputTypeError: a learning rate that is neither a number nor a function; (init, update) a parameter or a gradient that is no real
            or complex number or array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a learning rate that is negative, infinite, NaN or has axes; (update) a schedule that gives NaN or an array with
            axes, or a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> optim.scale_by_learning_rate(0.1).update(5.0, optim.EmptyState())[0]
        -0.5
    """
    if learning_rate is None:
        return identity()
    return by_learning_rate("scale_by_learning_rate", learning_rate, -1 if flip_sign else 1)


def by_learning_rate(name: str, learning_rate: Any, sign: int = -1) -> Optimizer:
    """What `scale_by_learning_rate` gives, for the optimizer that messages are to name."""
    if is_schedule(name, "learning_rate", learning_rate):
        return _by_schedule(name, "learning rate", sign, learning_rate)
    factor = sign * number(name, "learning_rate", learning_rate)
    return stateless(name, lambda grads: _scaled(name, factor, grads))


def trace(decay: Any, nesterov: bool = False) -> Optimizer:
    """Momentum: the decaying sum `m = g + decay * m` of the gradients, or with Nesterov's look ahead `g + decay * m`.

    Args:
        decay: what is kept of the sum at each step, in [0, 1).
        nesterov: whether to look ahead.

    Returns:
        The optimizer; its state is a `TraceState`.

    Raises:
        InputTypeError: a decay that is no number; (init, update) a parameter or a gradient that is no real or complex number or array; the
            message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path. Or a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> momentum = optim.trace(0.5)
        >>> update, state = momentum.update(1.0, momentum.init(0.0))
        >>> momentum.update(1.0, state)[0]
        1.5

    References:
        Sutskever, Martens, Dahl and Hinton, On the importance of initialization and momentum in deep learning, 2013.
    """
    decay = number("trace", "decay", decay)

    def init(params: Any) -> TraceState:
        return TraceState(full_like("trace", params, 0.0))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state("trace", state, TraceState)
        leaves, treedef, (old,) = aligned("trace", "gradients", grads, state=state.trace)
        gs = computable("trace", "gradient", leaves, treedef)
        new = [like(g + decay * m, m) for g, m in zip(gs, old, strict=True)]
        ahead = [g + decay * m for g, m in zip(gs, new, strict=True)] if nesterov else new
        updates = [like(m, leaf) for leaf, m in zip(leaves, ahead, strict=True)]
        return tree.unflatten(treedef, updates), TraceState(tree.unflatten(treedef, new))

    return Optimizer(init, update)


def ema(decay: Any, debias: bool = True) -> Optimizer:
    """The exponential average `m = decay * m + (1 - decay) * g`, divided by `1 - decay**t` where the start at zero is to be made up for.

    Args:
        decay: weight of the past, in [0, 1).
        debias: whether to divide.

    Returns:
        The optimizer; its state is an `EmaState`.

    Raises:
        InputTypeError: a decay that is no number; (init, update) a parameter or a gradient that is no real or complex number or array; the
            message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path. Or a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> average = optim.ema(0.5, debias=False)
        >>> update, state = average.update(4.0, average.init(0.0))
        >>> update, average.update(4.0, state)[0]
        (2.0, 3.0)
    """
    decay = number("ema", "decay", decay)

    def init(params: Any) -> EmaState:
        return EmaState(0, full_like("ema", params, 0.0))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state("ema", state, EmaState)
        leaves, treedef, (old,) = aligned("ema", "gradients", grads, state=state.ema)
        count = state.count + 1
        new = average(decay, old, computable("ema", "gradient", leaves, treedef))
        found = debiased(new, decay, count) if debias else new
        return tree.unflatten(treedef, [like(m, leaf) for leaf, m in zip(leaves, found, strict=True)]), EmaState(
            count, tree.unflatten(treedef, new)
        )

    return Optimizer(init, update)


def add_decayed_weights(weight_decay: Any = 0.0, mask: Any = None) -> Optimizer:
    """Add a part of the parameters: `g + weight_decay * p`.

    Args:
        weight_decay: a number, or a schedule (steps done -> number).
        mask: which parameters decay: a tree of bools of the structure of the parameters or a prefix of it, or a function from the
            parameters to such a tree; None for all.

    Returns:
        The optimizer; its state is a `CountState` for a schedule, else an `EmptyState`. Its update needs the parameters.

    Raises:
        InputTypeError: a decay that is neither a number nor a function; (init, update) a parameter or a gradient that is no real or complex
            number or array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a decay that is negative, infinite, NaN or has axes; (update) no parameters given, gradients of another shape, a
            schedule that gives NaN or an array with axes, or a state that another transformation made.
        TreeError: (update) gradients or mask of another structure.

    Example:
        >>> from funcgrad import optim
        >>> decay = optim.add_decayed_weights(0.1, mask={"w": True, "b": False})
        >>> decay.update({"w": 1.0, "b": 1.0}, optim.EmptyState(), {"w": 20.0, "b": 20.0})[0]
        {'b': 1.0, 'w': 3.0}

    References:
        Loshchilov and Hutter, Decoupled weight decay regularization, 2019.
    """
    name = "add_decayed_weights"
    counts = is_schedule(name, "weight_decay", weight_decay)
    fixed = None if counts else number(name, "weight_decay", weight_decay)

    def init(params: Any) -> Any:
        check_params(name, params)
        return CountState(0) if counts else EmptyState()

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        if params is None:
            raise InputValueError("add_decayed_weights needs the parameters: call update(grads, state, params).")
        check_state(name, state, CountState if counts else EmptyState)
        leaves, treedef, (weights,) = aligned(name, "gradients", grads, parameters=params)
        gs, weights = computable(name, "gradient", leaves, treedef), computable(name, "parameter", weights, treedef)
        factor = scheduled(name, "weight decay", weight_decay, state.count) if counts else fixed
        decays = [True] * len(leaves) if mask is None else _spread(mask(params) if callable(mask) else mask, params)
        updates = [like(g + factor * p, leaf) if decay else leaf for leaf, g, p, decay in zip(leaves, gs, weights, decays, strict=True)]
        return tree.unflatten(treedef, updates), CountState(state.count + 1) if counts else state

    return Optimizer(init, update)


def _spread(mask: Any, params: Any) -> list[bool]:
    """The mask's answer for each leaf of the parameters."""
    flags, treedef = tree.flatten(mask)
    below = treedef.flatten_up_to(params, "add_decayed_weights: the tree of parameters, beside the mask,")
    return [bool(flag) for flag, part in zip(flags, below, strict=True) for _ in tree.leaves(part)]
