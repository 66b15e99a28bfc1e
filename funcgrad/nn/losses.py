"""Losses: the mean over all rows or numbers, in nats where they are log-likelihoods. Exact for predictions far out."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.mapped import TRACERS, is_wrong
from funcgrad.nn.activations import softplus
from funcgrad.ops.elementwise import maximum, minimum
from funcgrad.rules.values import as_array, raw, shape_of


def _mean(x: Any) -> Any:
    return np.mean(x) if shape_of(x) else x


def _fitting(name: str, what: str, values: Any, target_what: str, targets: Any) -> Any:
    """The targets (or labels) in the dtype of the values that they go with: unsigned and boolean ones can be negated then, float32 stays.

    Raises:
        InputTypeError: they are no real numbers.
        InputValueError: the shapes differ. (n, 1) against (n,) would broadcast to an (n, n) of nonsense.
    """
    if type(targets) not in TRACERS:
        plain = np.asarray(targets)
        if plain.dtype.kind not in "biuf":
            raise InputTypeError(f"{name}: {target_what} must be real numbers, got {plain.dtype}")
        dtype = getattr(values, "dtype", np.dtype(float))
        targets = (
            float(plain) if shape_of(plain) == shape_of(values) == () else plain.astype(dtype if dtype.kind == "f" else float, copy=False)
        )
    if shape_of(targets) != shape_of(values):
        raise InputValueError(
            f"{name}: {what} and {target_what} must be of one shape, got {shape_of(values)} and {shape_of(targets)}: reshape one of them"
        )
    return targets


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
    labels = _fitting(name, "logits", logits, "labels", labels)
    plain = raw(labels)
    if np.size(plain) and is_wrong(~((np.min(plain) >= 0) & (np.max(plain) <= 1))):
        raise InputValueError(
            f"{name}: labels must lie between 0 and 1, got {np.min(plain)} to {np.max(plain)} (for -1 and 1: logistic_loss)"
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
    labels = _fitting("logistic_loss", "scores", scores, "labels", labels)
    plain = as_array(raw(labels))
    if is_wrong(np.abs(plain) != 1):
        wrong = plain[np.abs(plain) != 1][0]
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
    error = predictions - _fitting("mse", "predictions", predictions, "targets", targets)
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
    if not delta > 0:
        raise InputValueError(f"huber: delta must be above 0, got {delta!r}")
    error = predictions - _fitting("huber", "predictions", predictions, "targets", targets)
    near = minimum(maximum(error, -delta), delta)
    return _mean(near * (error - 0.5 * near))
