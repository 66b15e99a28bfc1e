"""Activations: elementwise, or over an axis. Exact far out, without overflow; Python floats stay Python floats, float32 stays float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.errors import InputValueError, NoRuleError
from funcgrad.ops import extremes, neural
from funcgrad.ops.elementwise import exp, expm1, log, logaddexp, maximum, minimum, where
from funcgrad.rules.values import raw, shape_of

Axis = int | tuple[int, ...] | None

_GELU_SCALE = 0.7978845608028654  # sqrt(2 / pi)
_GELU_CUBIC = 0.044715
_GELU_FLAT = 30.0  # beyond it the sigmoid in gelu is 0 or 1 to the last digit


def relu(x: Any) -> Any:
    """max(x, 0); its derivative at 0 is 0.

    Args:
        x: float array of any shape, or a number.

    Returns:
        As x.

    Example:
        >>> relu(-2.0), relu(3.0)
        (0.0, 3.0)
    """
    return neural.relu(x)


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """X where positive, `negative_slope * x` elsewhere; its derivative at 0 is `negative_slope`.

    Args:
        x: float array of any shape, or a number.
        negative_slope: a number, or an array that broadcasts with x; may be differentiated too.

    Returns:
        As x.

    Example:
        >>> leaky_relu(-2.0), leaky_relu(3.0)
        (-0.02, 3.0)
    """
    return where(raw(x) > 0, x, negative_slope * x)


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """X where positive, `alpha * (exp(x) - 1)` elsewhere.

    Args:
        x: float array of any shape, or a number.
        alpha: minus the limit for x far below 0, a number or an array that broadcasts with x; may be differentiated too.

    Returns:
        As x.

    Example:
        >>> round(elu(-1.0), 6), elu(3.0)
        (-0.632121, 3.0)

    References:
        Clevert, Unterthiner & Hochreiter (2016), "Fast and accurate deep network learning by exponential linear units".
    """
    is_positive = raw(x) > 0
    return where(is_positive, x, alpha * expm1(where(is_positive, -x, x)))  # never of a positive number, which might overflow


def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the probability that a standard normal number is below x, by its tanh approximation (within 5e-4).

    Args:
        x: float array of any shape, or a number.
        approximate: must be True: the exact form needs erf, which NumPy has not.

    Returns:
        As x.

    Raises:
        NoRuleError: with `approximate=False`.

    Example:
        >>> round(gelu(1.0), 6), gelu(100.0), gelu(-100.0) == 0
        (0.841192, 100.0, True)

    References:
        Hendrycks & Gimpel (2016), "Gaussian error linear units".
    """
    if not approximate:
        raise NoRuleError(
            "gelu(approximate=False) needs the error function, which NumPy does not have: approximate=True differs from it by 5e-4 at most"
        )
    near = minimum(maximum(x, -_GELU_FLAT), _GELU_FLAT)  # the cube overflows no more, and nothing else changes
    return x * neural.sigmoid((2.0 * _GELU_SCALE) * near * (near * near * _GELU_CUBIC + 1.0))


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)).

    Args:
        x: float array of any shape, or a number.

    Returns:
        As x, between 0 and 1.

    Example:
        >>> sigmoid(0.0), sigmoid(-1000.0)
        (0.5, 0.0)
    """
    return neural.sigmoid(x)


def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), which is -softplus(-x).

    Args:
        x: float array of any shape, or a number.

    Returns:
        As x, at most 0.

    Example:
        >>> log_sigmoid(-1000.0)
        -1000.0
    """
    return -logaddexp(-x, 0.0)


def silu(x: Any) -> Any:
    """x * sigmoid(x), also called swish.

    Args:
        x: float array of any shape, or a number.

    Returns:
        As x.

    Example:
        >>> silu(0.0), silu(1000.0)
        (0.0, 1000.0)
    """
    return x * neural.sigmoid(x)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)).

    Args:
        x: float array of any shape, or a number.

    Returns:
        As x, at least 0.

    Example:
        >>> softplus(1000.0), softplus(-1000.0)
        (1000.0, 0.0)
    """
    return logaddexp(x, 0.0)


def _shifted(name: str, x: Any, axis: Axis) -> Any:
    """X less its maximum along the axis, which counts as a constant: it cancels in what follows."""
    if shape_of(x) == ():
        raise InputValueError(f"{name} needs an axis to run over, got a number: give an array, shape (..., classes)")
    return x - np.max(raw(x), axis=axis, keepdims=True)


def softmax(x: Any, axis: Axis = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        x: float array, shape (..., classes) for the default axis: unnormalized log-probabilities; -inf for a class that is out.
        axis: an axis or a tuple of them; None for all.

    Returns:
        As x, non-negative, adding up to 1 along the axis.

    Raises:
        InputValueError: x has no axes.

    Example:
        >>> print(softmax(np.array([1000.0, 1000.0, 0.0])))
        [0.5 0.5 0. ]
    """
    exponentials = exp(_shifted("softmax", x, axis))
    return exponentials / np.sum(exponentials, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Axis = -1) -> Any:
    """x - log(sum(exp(x))) along an axis: the logarithm of `softmax`, exact where that underflows.

    Args:
        x: float array, shape (..., classes) for the default axis: unnormalized log-probabilities; -inf for a class that is out.
        axis: an axis or a tuple of them; None for all.

    Returns:
        As x, at most 0.

    Raises:
        InputValueError: x has no axes.

    Example:
        >>> print(log_softmax(np.array([0.0, -1000.0])))
        [    0. -1000.]
    """
    shifted = _shifted("log_softmax", x, axis)
    return shifted - log(np.sum(exp(shifted), axis=axis, keepdims=True))


def logsumexp(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(a))) along an axis, without overflow.

    Args:
        a: float array of any shape.
        axis: an axis or a tuple of them; None for all.
        keepdims: keep the axes that are summed over, with size 1.

    Returns:
        The shape of a without the axes; -inf where all is -inf.

    Example:
        >>> print(round(float(logsumexp(np.array([1000.0, 1000.0]))), 6))
        1000.693147
    """
    return extremes.logsumexp(a, tuple(axis) if isinstance(axis, list) else axis, keepdims)
