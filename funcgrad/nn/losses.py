"""Losses: the mean over all rows or numbers, in nats where they are log-likelihoods. Exact for predictions far out."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.errors import InputValueError
from funcgrad.mapped import TRACERS, inmost, is_wrong
from funcgrad.nn.activations import softplus
from funcgrad.ops.elementwise import maximum, minimum
from funcgrad.ops.neural import floating
from funcgrad.rules.values import as_array, raw, shape_of


def _mean(x: Any) -> Any:
    return np.mean(x) if shape_of(x) else x


def _fitting(name: str, what: str, values: Any, target_what: str, targets: Any) -> tuple[Any, Any]:
    """Values as floating-point numbers, and the targets (or labels) that they go with in their dtype: float32 stays.

    Raises:
        InputTypeError: they are no real numbers.
        InputValueError: the shapes differ. (n, 1) against (n,) would broadcast to an (n, n) of nonsense.
    """
    values, targets = floating(name, what, values), floating(name, target_what, targets)
    if shape_of(targets) != shape_of(values):
        raise InputValueError(
            f"{name}: {what} and {target_what} must be of one shape, got {shape_of(values)} and {shape_of(targets)}: reshape one of them"
        )
    if shape_of(targets) == ():
        return values, targets if type(targets) in TRACERS else float(targets)
    return values, targets.astype(values.dtype, copy=False)


def sigmoid_binary_cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean of -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)).

    Args:
        logits: float array of any shape, or a number: the log-odds of label 1.
        labels: array of the same shape: 0 or 1 (booleans will do), or probabilities between.

    Returns:
        A number, in nats.

    Raises:
        InputTypeError: labels that are no numbers.
        InputValueError: the shapes differ, or a label is not between 0 and 1.

    Example:
        >>> print(round(float(sigmoid_binary_cross_entropy(np.array([2.0, -1000.0]), np.array([1, 0]))), 6))
        0.063464
    """
    name = "sigmoid_binary_cross_entropy"
    logits, labels = _fitting(name, "logits", logits, "labels", labels)
    plain = raw(labels)
    if np.size(plain) and is_wrong(~((np.min(plain) >= 0) & (np.max(plain) <= 1))):
        known = inmost(plain)
        raise InputValueError(
            f"{name}: labels must lie between 0 and 1, got {np.min(known)} to {np.max(known)} (for -1 and 1: logistic_loss)"
        )
    return _mean(labels * softplus(-logits) + (1.0 - labels) * softplus(logits))


def logistic_loss(scores: Any, labels: Any) -> Any:
    """The mean of log(1 + exp(-labels * scores)).

    Args:
        scores: float array of any shape, or a number: the log-odds of label 1.
        labels: array of the same shape, each -1 or 1.

    Returns:
        A number, in nats.

    Raises:
        InputTypeError: labels that are no numbers.
        InputValueError: the shapes differ, or a label is neither -1 nor 1.

    Example:
        >>> print(round(float(logistic_loss(np.array([2.0, -1000.0]), np.array([1, -1]))), 6))
        0.063464
    """
    scores, labels = _fitting("logistic_loss", "scores", scores, "labels", labels)
    if is_wrong(np.abs(as_array(raw(labels))) != 1):
        known = np.asarray(inmost(labels))
        wrong = known[np.abs(known) != 1][0]
        raise InputValueError(f"logistic_loss: labels must be -1 or 1, got {wrong!s} (for 0 and 1: sigmoid_binary_cross_entropy)")
    return _mean(softplus(-labels * scores))


def mse(predictions: Any, targets: Any) -> Any:
    """The mean squared error.

    Args:
        predictions: float array of any shape, or a number.
        targets: array of the same shape.

    Returns:
        A number.

    Raises:
        InputTypeError: targets that are no numbers.
        InputValueError: the shapes differ.

    Example:
        >>> print(mse(np.array([1.0, 2.0]), np.array([1.0, 5.0])))
        4.5
    """
    predictions, targets = _fitting("mse", "predictions", predictions, "targets", targets)
    error = predictions - targets
    return _mean(error * error)


def huber(predictions: Any, targets: Any, delta: float = 1.0) -> Any:
    """The mean of error**2 / 2 where the error is at most delta, of delta * (|error| - delta / 2) where it is larger.

    Args:
        predictions: float array of any shape, or a number.
        targets: array of the same shape.
        delta: where the parabola goes over into lines, above 0; in the units of the predictions.

    Returns:
        A number.

    Raises:
        InputTypeError: targets that are no numbers.
        InputValueError: the shapes differ, or delta is not above 0.

    Example:
        >>> print(huber(np.array([1.0, 2.0]), np.array([1.5, 5.0])))
        1.3125

    References:
        Huber (1964), "Robust estimation of a location parameter".
    """
    if shape_of(floating("huber", "delta", delta)) != () or not delta > 0:
        raise InputValueError(f"huber: delta must be a number above 0, got {delta!r}")
    predictions, targets = _fitting("huber", "predictions", predictions, "targets", targets)
    error = predictions - targets
    near = minimum(maximum(error, -delta), delta)
    return _mean(near * (error - 0.5 * near))
