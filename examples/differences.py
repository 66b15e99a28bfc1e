"""Derivatives by central differences: the independent answer that the examples hold the rules against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def difference(f: Callable[[float], Any], x: float, step: float = 1e-4) -> float:
    """The derivative of f at x from four values around it; the error falls with the fourth power of the step.

    Args:
        f: a function of one number.
        x: where.
        step: the distance between two values.
    """
    return float((8.0 * (f(x + step) - f(x - step)) - (f(x + 2.0 * step) - f(x - 2.0 * step))) / (12.0 * step))


def gradient_by_differences(f: Callable[[NDArray[np.float64]], Any], x: NDArray[np.float64], step: float = 1e-4) -> NDArray[np.float64]:
    """The gradient of a number with respect to an array, one `difference` for each element.

    Args:
        f: a function of one array that gives a number.
        x: where; it is not changed.
        step: the distance between two values.
    """

    def moved(index: tuple[int, ...], value: float) -> NDArray[np.float64]:
        copy: NDArray[np.float64] = x.copy()
        copy[index] = value
        return copy

    gradient = np.empty_like(x)
    for index in np.ndindex(x.shape):
        gradient[index] = difference(lambda value, index=index: f(moved(index, value)), float(x[index]), step)  # type: ignore[misc]
    return gradient
