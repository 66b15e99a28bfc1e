"""The optimizers by name. Each is a chain of transformations that ends with the learning rate.

`g` is the gradient, `p` the parameter, `a` the learning rate at this step (a number, or a schedule: steps done -> number), `t` the number
of the step from 1 on. The update is what is added to the parameter. A number as a learning rate is finite and at least 0. Steps of float16
parameters are computed in float32, which is also what their states are; the update is float16.
"""

from __future__ import annotations

from typing import Any

from funcgrad.optim.adaptive import scale_by_adam, scale_by_lion, scale_by_rms, scale_by_rss, scale_by_stddev
from funcgrad.optim.base import Optimizer, chain, stateless
from funcgrad.optim.transforms import add_decayed_weights, by_learning_rate, trace


def sgd(learning_rate: Any, momentum: Any = None, nesterov: bool = False) -> Optimizer:
    """Gradient descent: `-a * g`; with momentum `m = g + momentum * m` and `-a * m`; with Nesterov's `-a * (g + momentum * m)`.

    Args:
        learning_rate: a number or a schedule.
        momentum: what is kept of the past at each step, in [0, 1), or None.
        nesterov: whether the momentum looks ahead.

    Returns:
        The optimizer. Its state is a pair: a `TraceState` (without momentum an `EmptyState`), and that of the learning rate (a `CountState`
        for a schedule, else an `EmptyState`).

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a learning rate that is negative, infinite or NaN; (update) the state of another optimizer.
        TreeError, InputValueError: (update) with momentum, gradients of another structure or shape than the parameters given to `init`.

    Example:
        >>> from funcgrad import optim
        >>> optimizer = optim.sgd(0.1)
        >>> optimizer.update([2.0, -4.0], optimizer.init([0.0, 0.0]))[0]
        [-0.2, 0.4]

    References:
        Sutskever, Martens, Dahl and Hinton, On the importance of initialization and momentum in deep learning, 2013.
    """
    return chain(_momentum("sgd", momentum, nesterov), by_learning_rate("sgd", learning_rate))


def _momentum(name: str, momentum: Any, nesterov: bool) -> Optimizer:
    return stateless(name, lambda grads: grads) if momentum is None else trace(momentum, nesterov)


def adam(learning_rate: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, eps_root: Any = 0.0, *, nesterov: bool = False) -> Optimizer:
    """Adam: `mu = b1 * mu + (1 - b1) * g`, `nu = b2 * nu + (1 - b2) * |g|**2`, and `-a * mu_hat / (sqrt(nu_hat + eps_root) + eps)`.

    `mu_hat = mu / (1 - b1**t)` and `nu_hat = nu / (1 - b2**t)` make up for the start at zero.

    Args:
        learning_rate: a number or a schedule.
        b1: weight of the past in the average of gradients, in [0, 1).
        b2: the same for squared gradients.
        eps: added to the root.
        eps_root: added under the root; to differentiate through the update where a gradient is zero, it must be positive.
        nesterov: as in `nadam`.

    Returns:
        The optimizer. Its state is a pair: a `ScaleByAdamState`, and that of the learning rate (a `CountState` for a schedule, else an
        `EmptyState`).

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a learning rate that is negative, infinite or NaN; (update) the state of another optimizer.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`.

    Example:
        >>> from funcgrad import optim
        >>> optimizer, params = optim.adam(0.1), 1.0
        >>> state = optimizer.init(params)
        >>> for _ in range(3):
        ...     updates, state = optimizer.update(2 * params, state)
        ...     params = optim.apply_updates(params, updates)
        ...     print(f"{params:.4f}")
        0.9000
        0.8004
        0.7016

    References:
        Kingma and Ba, Adam: a method for stochastic optimization, 2015.
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov), by_learning_rate("adam", learning_rate))


def nadam(learning_rate: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, eps_root: Any = 0.0) -> Optimizer:
    """Adam with Nesterov's momentum: `mu_hat = b1 * mu / (1 - b1**(t + 1)) + (1 - b1) * g / (1 - b1**t)`.

    Args:
        learning_rate: a number or a schedule.
        b1: as in `adam`.
        b2: as in `adam`.
        eps: as in `adam`.
        eps_root: as in `adam`.

    Returns:
        The optimizer; its state is that of `adam`.

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a learning rate that is negative, infinite or NaN; (update) the state of another optimizer.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`.

    Example:
        >>> from funcgrad import optim
        >>> optimizer = optim.nadam(0.1)
        >>> round(optimizer.update(2.0, optimizer.init(0.0))[0], 6)
        -0.147368

    References:
        Dozat, Incorporating Nesterov momentum into Adam, 2016.
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root, nesterov=True), by_learning_rate("nadam", learning_rate))


def adamw(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    *,
    weight_decay: Any = 1e-4,
    mask: Any = None,
    nesterov: bool = False,
) -> Optimizer:
    """Adam with decoupled weight decay: `-a * (mu_hat / (sqrt(nu_hat + eps_root) + eps) + weight_decay * p)`.

    Args:
        learning_rate: a number or a schedule; it multiplies the decay too.
        b1: as in `adam`.
        b2: as in `adam`.
        eps: as in `adam`.
        eps_root: as in `adam`.
        weight_decay: a number or a schedule.
        mask: which parameters decay, as in `add_decayed_weights`.
        nesterov: as in `nadam`.

    Returns:
        The optimizer, whose update needs the parameters. Its state is a tuple: a `ScaleByAdamState`, that of the weight decay and that of
        the learning rate (each a `CountState` for a schedule, else an `EmptyState`).

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a learning rate that is negative, infinite or NaN; (update) the state of another optimizer.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`, or no
            parameters.

    Example:
        >>> from funcgrad import optim
        >>> optimizer = optim.adamw(0.1, weight_decay=0.5)
        >>> round(optimizer.update(3.0, optimizer.init(1.0), 1.0)[0], 6)
        -0.15

    References:
        Loshchilov and Hutter, Decoupled weight decay regularization, 2019.
    """
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov),
        add_decayed_weights(weight_decay, mask),
        by_learning_rate("adamw", learning_rate),
    )


def lion(learning_rate: Any, b1: Any = 0.9, b2: Any = 0.99, *, weight_decay: Any = 1e-3, mask: Any = None) -> Optimizer:
    """Lion: `-a * (sign(b1 * mu + (1 - b1) * g) + weight_decay * p)`, and then `mu = b2 * mu + (1 - b2) * g`.

    Args:
        learning_rate: a number or a schedule; a third to a tenth of what Adam wants.
        b1: weight of the momentum in the update, in [0, 1).
        b2: weight of the past in the momentum, in [0, 1).
        weight_decay: a number or a schedule.
        mask: which parameters decay, as in `add_decayed_weights`.

    Returns:
        The optimizer, whose update needs the parameters. Its state is a tuple: a `ScaleByLionState`, that of the weight decay and that of
        the learning rate (each a `CountState` for a schedule, else an `EmptyState`).

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a learning rate that is negative, infinite or NaN; (update) the state of another optimizer.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`, or no
            parameters.

    Example:
        >>> from funcgrad import optim
        >>> optimizer = optim.lion(0.1, weight_decay=0.5)
        >>> round(optimizer.update(3.0, optimizer.init(1.0), 1.0)[0], 6)
        -0.15

    References:
        Chen et al., Symbolic discovery of optimization algorithms, 2023.
    """
    return chain(scale_by_lion(b1, b2), add_decayed_weights(weight_decay, mask), by_learning_rate("lion", learning_rate))


def rmsprop(
    learning_rate: Any,
    decay: Any = 0.9,
    eps: Any = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: Any = None,
    nesterov: bool = False,
    bias_correction: bool = False,
) -> Optimizer:
    """RMSProp: `nu = decay * nu + (1 - decay) * |g|**2`, and `-a * g / sqrt(nu + eps)`, with momentum over these updates if wanted.

    Args:
        learning_rate: a number or a schedule.
        decay: weight of the past in the average of squared gradients, in [0, 1).
        eps: keeps the denominator from zero.
        initial_scale: where `nu` starts.
        eps_in_sqrt: False for `g / (sqrt(nu) + eps)`, as PyTorch has it.
        centered: whether to divide by the root of the variance, `nu - |mu|**2`.
        momentum: as in `sgd`.
        nesterov: as in `sgd`.
        bias_correction: whether the averages are divided by `1 - decay**t`.

    Returns:
        The optimizer. Its state is a tuple: a `ScaleByRmsState` (`ScaleByStddevState` if centered), that of the learning rate
        (a `CountState` for a schedule, else an `EmptyState`), and a `TraceState` (without momentum an `EmptyState`).

    Raises:
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a learning rate that is negative, infinite or NaN; (update) the state of another optimizer.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`.

    Example:
        >>> from funcgrad import optim
        >>> optimizer = optim.rmsprop(0.1, decay=0.75, eps=0.0)
        >>> optimizer.update(3.0, optimizer.init(0.0))[0]
        -0.2

    References:
        Hinton, Overview of mini-batch gradient descent, lecture notes, 2012.
        Graves, Generating sequences with recurrent neural networks, 2013.
    """
    scaling = scale_by_stddev if centered else scale_by_rms
    return chain(
        scaling(decay, eps, initial_scale, eps_in_sqrt, bias_correction),
        by_learning_rate("rmsprop", learning_rate),
        _momentum("rmsprop", momentum, nesterov),
    )


def adagrad(learning_rate: Any, initial_accumulator_value: float = 0.1, eps: Any = 1e-7) -> Optimizer:
    """AdaGrad: `s = s + |g|**2`, and `-a * g / sqrt(s + eps)`.

    Args:
        learning_rate: a number or a schedule.
        initial_accumulator_value: where `s` starts, at least 0.
        eps: keeps the denominator from zero.

    Returns:
        The optimizer. Its state is a pair: a `ScaleByRssState`, and that of the learning rate (a `CountState` for a schedule, else an
        `EmptyState`).

    Raises:
        InputValueError: a negative start.
        InputTypeError: a hyperparameter that is no number; (init, update) a parameter or a gradient that is no real or complex number or
            array, and the message names the path; (update) a schedule that gives no number.
        InputValueError: a learning rate that is negative, infinite or NaN; (update) the state of another optimizer.
        TreeError, InputValueError: (update) gradients of another structure or shape than the parameters given to `init`.

    Example:
        >>> from funcgrad import optim
        >>> optimizer = optim.adagrad(0.5, initial_accumulator_value=7.0, eps=0.0)
        >>> optimizer.update(3.0, optimizer.init(0.0))[0]
        -0.375

    References:
        Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic optimization, 2011.
    """
    return chain(scale_by_rss(initial_accumulator_value, eps), by_learning_rate("adagrad", learning_rate))
