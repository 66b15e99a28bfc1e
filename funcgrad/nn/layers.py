"""Layers as pure functions of parameters and inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.mapped import is_wrong
from funcgrad.nn.activations import relu
from funcgrad.rules.values import as_array, raw, shape_of


def _weights(params: Any) -> tuple[Any, Any]:
    """The weights and the bias (or None) of a dense layer."""
    if isinstance(params, Mapping):
        if "w" in params and set(params) <= {"w", "b"}:
            return params["w"], params.get("b")
        got = f"a mapping with the keys {sorted(map(str, params))}"
    elif isinstance(params, tuple | list):
        if len(params) == 2:
            return params[0], params[1]
        got = f"a {type(params).__name__} of {len(params)}"
    else:
        got = type(params).__name__
    raise InputTypeError(f'dense: params must be {{"w": w, "b": b}} or (w, b), got {got}')


def dense(params: Any, x: Any) -> Any:
    """A fully connected layer, x @ w + b.

    Args:
        params: `{"w": w, "b": b}` or `(w, b)`: w of shape (n_in, n_out), b of shape (n_out,); without "b", or with None for it, no bias.
        x: float array, shape (..., n_in).

    Returns:
        Float array, shape (..., n_out).

    Raises:
        InputTypeError: params of another form.
        InputValueError: shapes that do not fit.

    Example:
        >>> print(dense({"w": np.array([[1.0], [2.0]]), "b": np.array([0.5])}, np.array([[1.0, 1.0], [0.0, 1.0]])))
        [[3.5]
         [2.5]]
    """
    w, b = _weights(params)
    shape, inputs = shape_of(w), shape_of(x)
    if len(shape) != 2 or not inputs or inputs[-1] != shape[0]:
        raise InputValueError(f"dense: x of shape (..., n_in) goes with w of shape (n_in, n_out), got {inputs} and {shape}")
    if b is None:
        return x @ w
    if shape_of(b) != shape[1:]:
        raise InputValueError(f"dense: w of shape {shape} goes with b of shape {shape[1:]}, got {shape_of(b)}")
    return x @ w + b


def mlp(params: Sequence[Any], x: Any, activation: Callable[[Any], Any] = relu) -> Any:
    """A multilayer perceptron: dense layers with an activation after each but the last.

    Args:
        params: the layers' parameters in order, each as for `dense`; `init.mlp` makes them.
        x: float array, shape (..., n_in).
        activation: elementwise function.

    Returns:
        Float array, shape (..., n_out of the last layer).

    Raises:
        InputTypeError, InputValueError: as `dense`; params that are no list.

    Example:
        >>> from funcgrad import nn
        >>> params = nn.init.mlp(np.random.default_rng(0), [2, 8, 3])
        >>> nn.mlp(params, np.ones((5, 2))).shape
        (5, 3)
    """
    if not isinstance(params, tuple | list) or not params:
        raise InputTypeError(f"mlp: params must be a list with an entry for each layer, got {type(params).__name__}")
    *hidden, last = params
    for layer in hidden:
        x = activation(dense(layer, x))
    return dense(last, x)


def dropout(rng: np.random.Generator, x: Any, rate: float) -> Any:
    """X with each number zero with probability `rate`, and the others scaled up so that the mean stays.

    Args:
        rng: source of randomness; every call advances it.
        x: float array of any shape.
        rate: probability to drop a number, 0 <= rate < 1; at 0 x is returned as it is.

    Returns:
        As x.

    Raises:
        InputTypeError: rng is no Generator.
        InputValueError: rate out of range.

    Example:
        >>> print(dropout(np.random.default_rng(0), np.ones(5), 0.5))
        [2. 0. 0. 0. 2.]

    References:
        Srivastava et al. (2014), "Dropout: a simple way to prevent neural networks from overfitting".
    """
    if not isinstance(rng, np.random.Generator):
        raise InputTypeError(f"dropout: rng must be a numpy.random.Generator (np.random.default_rng(seed)), got {type(rng).__name__}")
    if not 0 <= rate < 1:
        raise InputValueError(f"dropout: rate must be at least 0 and below 1, got {rate!r}")
    if rate == 0:
        return x
    kept = rng.random(shape_of(x)) >= rate
    if isinstance(kept, bool | np.bool_):
        return x * (float(kept) / (1.0 - rate))
    return x * (kept / (1.0 - rate)).astype(x.dtype)


def layer_norm(x: Any, scale: Any = None, bias: Any = None, axis: int | tuple[int, ...] = -1, eps: float = 1e-5) -> Any:
    """X shifted and scaled to mean 0 and variance 1 along an axis, then times `scale` plus `bias`.

    Args:
        x: float array, shape (..., features) for the default axis.
        scale: float array that broadcasts with x, shape (features,) as a rule; None for 1.
        bias: likewise; None for 0.
        axis: the axis, or a tuple of them, to normalize over.
        eps: added to the variance, so that equal numbers give 0 and finite derivatives.

    Returns:
        As x.

    Raises:
        InputValueError: scale or bias would stretch x.

    Example:
        >>> print(layer_norm(np.array([1.0, 2.0, 3.0])).round(4))
        [-1.2247  0.      1.2247]

    References:
        Ba, Kiros & Hinton (2016), "Layer normalization".
    """
    shape = shape_of(x)
    for what, value in (("scale", scale), ("bias", bias)):
        own = shape_of(value)
        if len(own) > len(shape) or any(a not in (1, b) for a, b in zip(own[::-1], shape[::-1], strict=False)):
            raise InputValueError(f"layer_norm: {what} must broadcast to x's shape {shape}, got {own}")
    centered = x - np.mean(x, axis=axis, keepdims=True)
    result = centered / np.sqrt(np.mean(centered * centered, axis=axis, keepdims=True) + eps)
    if scale is not None:
        result = result * scale
    return result if bias is None else result + bias


def one_hot(labels: Any, num_classes: int, dtype: Any = float) -> Any:
    """Class numbers as rows with a 1 at that place and zeros elsewhere.

    Args:
        labels: integer array of any shape, each from 0 to num_classes - 1.
        num_classes: how many classes there are.
        dtype: of the result.

    Returns:
        Array of shape `labels.shape + (num_classes,)`.

    Raises:
        InputTypeError: labels that are no integers.
        InputValueError: a label out of range.

    Example:
        >>> print(one_hot(np.array([0, 2]), 3))
        [[1. 0. 0.]
         [0. 0. 1.]]
    """
    classes = as_array(raw(labels))
    if classes.dtype.kind not in "iu" and classes.size:
        raise InputTypeError(f"one_hot: labels must be integers, got {classes.dtype}")
    if classes.size and is_wrong((classes.min() < 0) | (classes.max() >= num_classes)):
        raise InputValueError(f"one_hot: labels must lie in 0..{num_classes - 1}, got {classes.min()} to {classes.max()}")
    return (classes[..., None] == np.arange(num_classes)).astype(dtype)
