"""The building blocks of optimizers that adapt the step to each element's past gradients.

`g` is a gradient leaf, `t` the number of the step from 1 on. Leaves of states have the shapes and dtypes of the parameters, but float32 for
float16; counts are Python ints. A step of float16 leaves is computed in float32, and the update is float16.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.optim.base import Optimizer
from funcgrad.optim.hyperparameters import number
from funcgrad.optim.leaves import absolute_square, aligned, average, check_state, computable, debiased, divide, full_like, like, sqrt


class ScaleByAdamState(NamedTuple):
    """The state of `scale_by_adam`."""

    count: Any  # int, shape ()
    mu: Any  # tree like the parameters: average of the gradients
    nu: Any  # tree like the parameters, real: average of the squared magnitudes


class ScaleByLionState(NamedTuple):
    """The state of `scale_by_lion`."""

    mu: Any  # tree like the parameters: average of the gradients


class ScaleByRmsState(NamedTuple):
    """The state of `scale_by_rms`."""

    count: Any  # int, shape ()
    nu: Any  # tree like the parameters, real: average of the squared magnitudes


class ScaleByStddevState(NamedTuple):
    """The state of `scale_by_stddev`."""

    count: Any  # int, shape ()
    mu: Any  # tree like the parameters: average of the gradients
    nu: Any  # tree like the parameters, real: average of the squared magnitudes


class ScaleByRssState(NamedTuple):
    """The state of `scale_by_rss`."""

    sum_of_squares: Any  # tree like the parameters, real


def scale_by_adam(b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, eps_root: Any = 0.0, *, nesterov: bool = False) -> Optimizer:
    """Divide the average gradient by the root of the average squared gradient, both freed of their start at zero.

    `mu = b1 * mu + (1 - b1) * g`, `nu = b2 * nu + (1 - b2) * |g|**2`, and the update is `mu_hat / (sqrt(nu_hat + eps_root) + eps)` with
    `nu_hat = nu / (1 - b2**t)` and `mu_hat = mu / (1 - b1**t)`; with Nesterov's momentum
    `mu_hat = b1 * mu / (1 - b1**(t + 1)) + (1 - b1) * g / (1 - b1**t)`.

    Args:
        b1: weight of the past in the average of gradients, in [0, 1).
        b2: the same for squared gradients.
        eps: added to the root.
        eps_root: added under the root; to differentiate through the update where a gradient is zero, it must be positive.
        nesterov: whether to look ahead.

    Returns:
        The optimizer; its state is a `ScaleByAdamState`.

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array; the message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path. Or a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> adam = optim.scale_by_adam(eps=0.0)
        >>> [round(u, 12) for u in adam.update([3.0, -0.2], adam.init([0.0, 0.0]))[0]]
        [1.0, -1.0]

    References:
        Kingma and Ba, Adam: a method for stochastic optimization, 2015. Dozat, Incorporating Nesterov momentum into Adam, 2016.
    """
    b1, b2 = number("adam", "b1", b1), number("adam", "b2", b2)
    eps, eps_root = number("adam", "eps", eps), number("adam", "eps_root", eps_root)
    has_eps_root = not (isinstance(eps_root, float) and eps_root == 0.0)

    def init(params: Any) -> ScaleByAdamState:
        return ScaleByAdamState(0, full_like("adam", params, 0.0), full_like("adam", params, 0.0, is_real=True))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state("adam", state, ScaleByAdamState)
        leaves, treedef, (old_mu,) = aligned("adam", "gradients", grads, state=state.mu)
        gs = computable("adam", "gradient", leaves, treedef)
        count = state.count + 1
        mu = average(b1, old_mu, gs)
        nu = average(b2, tree.leaves(state.nu), [absolute_square(g) for g in gs])
        c1, c2 = 1 - b1**count, 1 - b2**count
        weight = 1.0 if nesterov else c1  # mu / c1 / (sqrt(nu / c2) + eps) with one division of arrays
        scale, added = weight / sqrt(c2), weight * eps
        updates = []
        for leaf, g, m, n in zip(leaves, gs, mu, nu, strict=True):
            ahead = b1 / (1 - b1 ** (count + 1)) * m + (1 - b1) / c1 * g if nesterov else m
            square = n + eps_root * c2 if has_eps_root else n
            updates.append(like(divide(ahead, sqrt(square) * scale + added), leaf))
        return tree.unflatten(treedef, updates), ScaleByAdamState(count, tree.unflatten(treedef, mu), tree.unflatten(treedef, nu))

    return Optimizer(init, update)


def scale_by_lion(b1: Any = 0.9, b2: Any = 0.99) -> Optimizer:
    """The sign of a mean of gradient and momentum: `sign(b1 * mu + (1 - b1) * g)`, and then `mu = b2 * mu + (1 - b2) * g`.

    Args:
        b1: weight of the momentum in the update, in [0, 1).
        b2: weight of the past in the momentum, in [0, 1).

    Returns:
        The optimizer; its state is a `ScaleByLionState`.

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array; the message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path. Or a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> lion = optim.scale_by_lion()
        >>> lion.update([3.0, -0.2, 0.0], lion.init([0.0, 0.0, 0.0]))[0]
        [1.0, -1.0, 0.0]

    References:
        Chen et al., Symbolic discovery of optimization algorithms, 2023.
    """
    b1, b2 = number("lion", "b1", b1), number("lion", "b2", b2)

    def init(params: Any) -> ScaleByLionState:
        return ScaleByLionState(full_like("lion", params, 0.0))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state("lion", state, ScaleByLionState)
        leaves, treedef, (old,) = aligned("lion", "gradients", grads, state=state.mu)
        gs = computable("lion", "gradient", leaves, treedef)
        updates = [like(_sign(b1 * m + (1 - b1) * g), leaf) for leaf, g, m in zip(leaves, gs, old, strict=True)]
        return tree.unflatten(treedef, updates), ScaleByLionState(tree.unflatten(treedef, average(b2, old, gs)))

    return Optimizer(init, update)


def _sign(value: Any) -> Any:
    if type(value) is not float:
        return np.sign(value)
    return math.copysign(1.0, value) if value < 0.0 or value > 0.0 else value


def scale_by_rms(
    decay: Any = 0.9, eps: Any = 1e-8, initial_scale: float = 0.0, eps_in_sqrt: bool = True, bias_correction: bool = False
) -> Optimizer:
    """Divide by the root of the average squared gradient: `nu = decay * nu + (1 - decay) * |g|**2`, update `g / sqrt(nu + eps)`.

    Args:
        decay: weight of the past, in [0, 1).
        eps: keeps the denominator from zero.
        initial_scale: where `nu` starts.
        eps_in_sqrt: False for `g / (sqrt(nu) + eps)`.
        bias_correction: whether to divide `nu` by `1 - decay**t`.

    Returns:
        The optimizer; its state is a `ScaleByRmsState`.

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array; the message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path. Or a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> rms = optim.scale_by_rms(decay=0.75, eps=0.0)
        >>> rms.update([3.0, -0.2], rms.init([0.0, 0.0]))[0]
        [2.0, -2.0]

    References:
        Hinton, Overview of mini-batch gradient descent, lecture notes, 2012.
    """
    decay, eps = number("rmsprop", "decay", decay), number("rmsprop", "eps", eps)
    start = number("rmsprop", "initial_scale", initial_scale, 0.0)

    def init(params: Any) -> ScaleByRmsState:
        return ScaleByRmsState(0, full_like("rmsprop", params, start, is_real=True))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state("rmsprop", state, ScaleByRmsState)
        leaves, treedef, (old,) = aligned("rmsprop", "gradients", grads, state=state.nu)
        gs = computable("rmsprop", "gradient", leaves, treedef)
        count = state.count + 1
        nu = average(decay, old, [absolute_square(g) for g in gs])
        squares = debiased(nu, decay, count) if bias_correction else nu
        updates = [like(_over_root(g, n, eps, eps_in_sqrt), leaf) for leaf, g, n in zip(leaves, gs, squares, strict=True)]
        return tree.unflatten(treedef, updates), ScaleByRmsState(count, tree.unflatten(treedef, nu))

    return Optimizer(init, update)


def _over_root(g: Any, square: Any, eps: Any, eps_in_sqrt: bool) -> Any:
    return divide(g, sqrt(square + eps) if eps_in_sqrt else sqrt(square) + eps)


def scale_by_stddev(
    decay: Any = 0.9, eps: Any = 1e-8, initial_scale: float = 0.0, eps_in_sqrt: bool = True, bias_correction: bool = False
) -> Optimizer:
    """Like `scale_by_rms`, with the variance `nu - |mu|**2` instead of the mean square; `mu = decay * mu + (1 - decay) * g`.

    Args:
        decay: weight of the past, in [0, 1).
        eps: keeps the denominator from zero.
        initial_scale: where `nu` starts.
        eps_in_sqrt: whether eps is added under the root.
        bias_correction: whether to divide `mu` and `nu` by `1 - decay**t`.

    Returns:
        The optimizer; its state is a `ScaleByStddevState`.

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array; the message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path. Or a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> stddev = optim.scale_by_stddev(decay=0.5, eps=0.0)
        >>> stddev.update([3.0, -0.25], stddev.init([0.0, 0.0]))[0]
        [2.0, -2.0]

    References:
        Graves, Generating sequences with recurrent neural networks, 2013.
    """
    decay, eps = number("rmsprop", "decay", decay), number("rmsprop", "eps", eps)
    start = number("rmsprop", "initial_scale", initial_scale, 0.0)

    def init(params: Any) -> ScaleByStddevState:
        return ScaleByStddevState(0, full_like("rmsprop", params, 0.0), full_like("rmsprop", params, start, is_real=True))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state("rmsprop", state, ScaleByStddevState)
        leaves, treedef, (old_mu,) = aligned("rmsprop", "gradients", grads, state=state.mu)
        gs = computable("rmsprop", "gradient", leaves, treedef)
        count = state.count + 1
        mu = average(decay, old_mu, gs)
        nu = average(decay, tree.leaves(state.nu), [absolute_square(g) for g in gs])
        means, squares = (debiased(mu, decay, count), debiased(nu, decay, count)) if bias_correction else (mu, nu)
        variances = [n - absolute_square(m) for m, n in zip(means, squares, strict=True)]
        updates = [like(_over_root(g, n, eps, eps_in_sqrt), leaf) for leaf, g, n in zip(leaves, gs, variances, strict=True)]
        return tree.unflatten(treedef, updates), ScaleByStddevState(count, tree.unflatten(treedef, mu), tree.unflatten(treedef, nu))

    return Optimizer(init, update)


def scale_by_rss(initial_accumulator_value: float = 0.1, eps: Any = 1e-7) -> Optimizer:
    """Divide by the root of the sum of squared gradients so far: `s = s + |g|**2`, update `g / sqrt(s + eps)`, 0 where s is 0.

    Args:
        initial_accumulator_value: where `s` starts, at least 0.
        eps: keeps the denominator from zero.

    Returns:
        The optimizer; its state is a `ScaleByRssState`.

    Raises:
        InputValueError: a negative start.
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array; the message names the path.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`; the message names
            the path. Or a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> rss = optim.scale_by_rss(initial_accumulator_value=7.0, eps=0.0)
        >>> rss.update([3.0], rss.init([0.0]))[0]
        [0.75]

    References:
        Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic optimization, 2011.
    """
    start = number("adagrad", "initial_accumulator_value", initial_accumulator_value, 0.0)
    eps = number("adagrad", "eps", eps)

    def init(params: Any) -> ScaleByRssState:
        return ScaleByRssState(full_like("adagrad", params, start, is_real=True))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        check_state("adagrad", state, ScaleByRssState)
        leaves, treedef, (old,) = aligned("adagrad", "gradients", grads, state=state.sum_of_squares)
        gs = computable("adagrad", "gradient", leaves, treedef)
        sums = [like(absolute_square(g) + s, s) for g, s in zip(gs, old, strict=True)]
        updates = [like(_over_positive_root(g, s, eps), leaf) for leaf, g, s in zip(leaves, gs, sums, strict=True)]
        return tree.unflatten(treedef, updates), ScaleByRssState(tree.unflatten(treedef, sums))

    return Optimizer(init, update)


def _over_positive_root(g: Any, total: Any, eps: Any) -> Any:
    if type(total) is float:
        return g / sqrt(total + eps) if total > 0.0 else 0.0 * g
    return np.where(total > 0.0, g / sqrt(np.where(total > 0.0, total, 1.0) + eps), 0.0)
