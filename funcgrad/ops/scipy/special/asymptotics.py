"""Asymptotic series in inverse powers, and their derivatives of any order."""

from __future__ import annotations

import numpy as np


def inverse_powers(x: np.ndarray, n: int, exponents: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """The n-th derivative of the sum of coefficients[k] / x**exponents[k].

    Args:
        x: positive numbers.
        n: a whole number.
        exponents: at equal steps, shape (terms,).
        coefficients: shape (terms, ...) with further axes that broadcast with x.

    Returns:
        The sum, as x.

    Example:
        >>> inverse_powers(np.array([2.0]), 1, np.array([1.0, 2.0]), np.array([1.0, 3.0]))  # -1/x**2 - 6/x**3
        array([-1.])
    """
    rising = np.prod(exponents[:, None] + np.arange(n), axis=1)
    factors = np.reshape((-1.0) ** n * rising, (-1,) + (1,) * (coefficients.ndim - 1)) * coefficients
    step = x ** -(exponents[1] - exponents[0])
    total: np.ndarray = factors[-1] * np.ones_like(x)
    for factor in factors[-2::-1]:
        total = total * step + factor
    last: np.ndarray = total * x ** -(exponents[0] + n)
    return last
