"""Primitives of networks that NumPy has no name for: worth a rule of their own, being both faster and more exact than composed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.ops.elementwise import exp
from funcgrad.ops.reductions import logsumexp
from funcgrad.rules import general, unary
from funcgrad.rules.values import raw, shape_of


def _relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # at most 1: no overflow on either side
    return np.where(np.asarray(x) >= 0, 1.0, small) / (1.0 + small)


def _sigmoid_of_float(x: float) -> float:
    small = math.exp(-abs(x))
    return (1.0 if x >= 0 else small) / (1.0 + small)


relu = unary(_relu, lambda t, ans: t * (raw(ans) > 0), lambda x: x if x > 0.0 else 0.0 * x, name="relu")
sigmoid = unary(_sigmoid, lambda t, ans: t * (ans * (1.0 - ans)), _sigmoid_of_float, name="sigmoid")


def _targets(logits: Any, labels: Any) -> tuple[Any, int]:
    """Labels as rows of weights, and the number of rows."""
    classes = logits.shape[-1]
    if labels.ndim == logits.ndim:
        return labels, math.prod(logits.shape[:-1])
    flat = labels.ravel()
    hot = np.zeros((flat.size, classes), logits.dtype)
    hot[np.arange(flat.size), flat] = 1.0
    return hot.reshape(logits.shape), flat.size


def _cross_entropy_value(logits: Any, labels: Any) -> Any:
    top = np.maximum.reduce(logits, -1, None, None, True)
    shifted = logits - top
    targets, rows = _targets(logits, labels)
    total = np.log(np.add.reduce(np.exp(shifted), -1, None, None, True))
    return np.add.reduce(targets * (total - shifted), None) / rows


def _cross_entropy_slope(logits: Any, labels: Any) -> Any:
    """(softmax - targets) / rows."""
    targets, rows = _targets(logits, labels)
    softmax = exp(logits - logsumexp(logits, -1, True))
    if labels.ndim == logits.ndim:
        softmax = softmax * np.add.reduce(labels, -1, None, None, True)
    return (softmax - targets) / rows


_softmax_cross_entropy = general(
    _cross_entropy_value,
    [lambda t, ans, logits, labels: np.sum(t * _cross_entropy_slope(logits, labels))],
    [lambda ct, ans, logits, labels: ct * _cross_entropy_slope(logits, labels)],
    keeps="x",
    name="softmax_cross_entropy",
)


def softmax_cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean over all rows of -sum(labels * log(softmax(logits))).

    Args:
        logits: float array, shape (..., classes): unnormalized log-probabilities.
        labels: constant; integers of shape (...), the right class of each row, or weights of shape (..., classes), one-hot or soft.

    Returns:
        A number, in nats.

    Raises:
        InputTypeError: integer-shaped labels that are not integers.
        InputValueError: the shapes do not fit, or a label is no class.

    Example:
        >>> import numpy as np
        >>> print(round(float(softmax_cross_entropy(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1]))), 6))
        0.220095
    """
    labels = np.asarray(raw(labels))
    shape = shape_of(logits)
    if labels.shape == shape[:-1] and shape:
        if labels.dtype.kind not in "iu":
            raise InputTypeError(f"softmax_cross_entropy: labels of shape {labels.shape} must be integers, got {labels.dtype}")
        if labels.size and not (0 <= labels.min() and labels.max() < shape[-1]):
            raise InputValueError(
                f"softmax_cross_entropy: labels must lie in 0..{shape[-1] - 1}, got {labels.min()} to {labels.max()}"
            )
    elif labels.shape != shape or not shape:
        raise InputValueError(
            f"softmax_cross_entropy: logits of shape {shape} go with labels of shape {shape[:-1]} (classes) or {shape} (weights), "
            f"got {labels.shape}"
        )
    return _softmax_cross_entropy(logits, labels)
