"""Initializers: random parameters from a NumPy Generator, scaled so that signals neither grow nor fade from layer to layer.

A shape is (..., n_in, n_out): the last two axes are what a layer sums over and what it gives; those before them (the window of a
convolution) count towards both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import InputTypeError, InputValueError


def _fans(name: str, rng: Any, shape: Sequence[int]) -> tuple[int, int]:
    """How many numbers each output is a sum of, and how many outputs each input goes into."""
    if not isinstance(rng, np.random.Generator):
        raise InputTypeError(f"{name}: rng must be a numpy.random.Generator (np.random.default_rng(seed)), got {type(rng).__name__}")
    if len(shape) < 2:
        raise InputValueError(f"{name}: shape must have two axes or more, (..., n_in, n_out), got {tuple(shape)}; a bias starts at zero")
    window = math.prod(shape[:-2])
    return shape[-2] * window, shape[-1] * window


def _normal(rng: np.random.Generator, shape: Sequence[int], dtype: Any, variance: float) -> Any:
    return (rng.normal(size=tuple(shape)) * math.sqrt(variance)).astype(dtype, copy=False)


def _uniform(rng: np.random.Generator, shape: Sequence[int], dtype: Any, variance: float) -> Any:
    bound = math.sqrt(3.0 * variance)
    return rng.uniform(-bound, bound, tuple(shape)).astype(dtype, copy=False)


def he_normal(rng: np.random.Generator, shape: Sequence[int], dtype: Any = float) -> Any:
    """Normal numbers of variance 2 / n_in, for layers before a relu.

    Args:
        rng: source of randomness.
        shape: (..., n_in, n_out).
        dtype: of the result.

    Returns:
        Array of that shape and dtype.

    Raises:
        InputTypeError: rng is no Generator.
        InputValueError: fewer than two axes.

    Example:
        >>> round(float(he_normal(np.random.default_rng(0), (1000, 200)).std()), 3)
        0.045

    References:
        He et al. (2015), "Delving deep into rectifiers".
    """
    n_in, _ = _fans("he_normal", rng, shape)
    return _normal(rng, shape, dtype, 2.0 / max(n_in, 1))


def he_uniform(rng: np.random.Generator, shape: Sequence[int], dtype: Any = float) -> Any:
    """Uniform numbers of variance 2 / n_in, for layers before a relu.

    Args:
        rng: source of randomness.
        shape: (..., n_in, n_out).
        dtype: of the result.

    Returns:
        Array of that shape and dtype.

    Raises:
        InputTypeError: rng is no Generator.
        InputValueError: fewer than two axes.

    Example:
        >>> abs(he_uniform(np.random.default_rng(0), (6, 50))).max() < 1.0
        np.True_

    References:
        He et al. (2015), "Delving deep into rectifiers".
    """
    n_in, _ = _fans("he_uniform", rng, shape)
    return _uniform(rng, shape, dtype, 2.0 / max(n_in, 1))


def glorot_normal(rng: np.random.Generator, shape: Sequence[int], dtype: Any = float) -> Any:
    """Normal numbers of variance 2 / (n_in + n_out), for layers before tanh or a sigmoid.

    Args:
        rng: source of randomness.
        shape: (..., n_in, n_out).
        dtype: of the result.

    Returns:
        Array of that shape and dtype.

    Raises:
        InputTypeError: rng is no Generator.
        InputValueError: fewer than two axes.

    Example:
        >>> glorot_normal(np.random.default_rng(0), (4, 3)).shape
        (4, 3)

    References:
        Glorot & Bengio (2010), "Understanding the difficulty of training deep feedforward neural networks".
    """
    fans = sum(_fans("glorot_normal", rng, shape))
    return _normal(rng, shape, dtype, 2.0 / max(fans, 1))


def glorot_uniform(rng: np.random.Generator, shape: Sequence[int], dtype: Any = float) -> Any:
    """Uniform numbers of variance 2 / (n_in + n_out), for layers before tanh or a sigmoid.

    Args:
        rng: source of randomness.
        shape: (..., n_in, n_out).
        dtype: of the result.

    Returns:
        Array of that shape and dtype.

    Raises:
        InputTypeError: rng is no Generator.
        InputValueError: fewer than two axes.

    Example:
        >>> glorot_uniform(np.random.default_rng(0), (4, 3), np.float32).dtype
        dtype('float32')

    References:
        Glorot & Bengio (2010), "Understanding the difficulty of training deep feedforward neural networks".
    """
    fans = sum(_fans("glorot_uniform", rng, shape))
    return _uniform(rng, shape, dtype, 2.0 / max(fans, 1))


def lecun_normal(rng: np.random.Generator, shape: Sequence[int], dtype: Any = float) -> Any:
    """Normal numbers of variance 1 / n_in, which keep the variance of a linear layer.

    Args:
        rng: source of randomness.
        shape: (..., n_in, n_out).
        dtype: of the result.

    Returns:
        Array of that shape and dtype.

    Raises:
        InputTypeError: rng is no Generator.
        InputValueError: fewer than two axes.

    Example:
        >>> lecun_normal(np.random.default_rng(0), (4, 3)).shape
        (4, 3)

    References:
        LeCun et al. (1998), "Efficient backprop".
    """
    n_in, _ = _fans("lecun_normal", rng, shape)
    return _normal(rng, shape, dtype, 1.0 / max(n_in, 1))


def mlp(
    rng: np.random.Generator, sizes: Sequence[int], weights: Callable[..., Any] = he_normal, dtype: Any = float
) -> list[dict[str, Any]]:
    """Parameters of a multilayer perceptron, for `funcgrad.nn.mlp`.

    Args:
        rng: source of randomness.
        sizes: how many numbers go into each layer, and how many come out of the last: `len(sizes) - 1` layers.
        weights: initializer of the weights, `(rng, shape, dtype) -> array`. Biases start at zero.
        dtype: of all parameters.

    Returns:
        A list with `{"w": (n_in, n_out), "b": (n_out,)}` for each layer.

    Raises:
        InputTypeError: rng is no Generator.
        InputValueError: fewer than two sizes, or one that is no positive integer.

    Example:
        >>> [(layer["w"].shape, layer["b"].shape) for layer in mlp(np.random.default_rng(0), [2, 8, 3])]
        [((2, 8), (8,)), ((8, 3), (3,))]
    """
    sizes = list(sizes)
    if len(sizes) < 2 or any(isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1 for size in sizes):
        raise InputValueError(f"init.mlp: sizes must be two or more positive integers, [n_in, ..., n_out], got {sizes}")
    return [{"w": weights(rng, pair, dtype), "b": np.zeros(pair[1], dtype)} for pair in itertools.pairwise(sizes)]
