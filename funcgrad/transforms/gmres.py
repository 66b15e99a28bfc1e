"""GMRES: linear systems whose matrix is known by its products with vectors.

References: Saad & Schultz 1986, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import ConvergenceError

Vector = np.ndarray


def gmres(name: str, g: Callable[[Any], Any], b: Vector, at_once: int = 60) -> Vector:
    """The solution of g(x) = b, to rounding.

    Args:
        name: whom the error speaks of.
        g: the product of the matrix with a vector.
        b: the right hand side, a vector of floating-point numbers.
        at_once: how many vectors to hold at most.

    Raises:
        ConvergenceError: the matrix is singular.
    """
    x, residual = np.zeros_like(b), b
    eps, size = float(np.finfo(b.dtype).eps), np.sqrt(np.sum(b * b))
    norm = size
    if not np.isfinite(norm):
        return b * np.nan
    while norm > 4.0 * eps * size:
        x = x + _krylov(g, residual, norm, min(at_once, b.size), eps)
        residual, last = b - g(x), norm
        norm = np.sqrt(np.sum(residual * residual))
        if not norm <= 0.5 * last:
            if norm <= 1e4 * eps * (size + np.sqrt(np.sum(x * x))):
                break
            raise ConvergenceError(
                f"{name}: the linear system of the derivative, (I - df/dx) v = b, is singular, or too near to it to be solved (residual "
                f"{norm / size:.3g}): x is no isolated fixed point"
            )
    return x


def _krylov(g: Callable[[Any], Any], b: Vector, norm: Any, count: int, eps: float) -> Vector:
    """The vector of the Krylov space of some dimensions that makes g(x) - b smallest, by Givens rotations of the Hessenberg matrix."""
    basis, upper = np.zeros((count + 1, b.size), b.dtype), np.zeros((count + 1, count), b.dtype)
    right, cosines, sines = np.zeros(count + 1, b.dtype), np.zeros(count, b.dtype), np.zeros(count, b.dtype)
    basis[0], right[0] = b / norm, norm
    used = 0
    for k in range(count):
        vector = g(basis[k].copy())
        column = np.zeros(count + 1, b.dtype)
        before = np.sqrt(np.sum(vector * vector))
        for _ in range(2):  # the second time for what rounding left
            part = basis[: k + 1] @ vector
            vector = vector - part @ basis[: k + 1]
            column[: k + 1] += part
        column[k + 1] = left = np.sqrt(np.sum(vector * vector))
        for i in range(k):
            column[i], column[i + 1] = cosines[i] * column[i] + sines[i] * column[i + 1], cosines[i] * column[i + 1] - sines[i] * column[i]
        length = np.hypot(column[k], column[k + 1])
        if length <= 4.0 * eps * before or length == 0.0:
            break
        cosines[k], sines[k] = column[k] / length, column[k + 1] / length
        column[k], column[k + 1] = length, 0.0
        right[k], right[k + 1] = cosines[k] * right[k], -sines[k] * right[k]
        upper[:, k], used = column, k + 1
        if left <= 4.0 * eps * before or np.abs(right[k + 1]) <= eps * norm:
            break
        basis[k + 1] = vector / left
    y = np.zeros(used, b.dtype)
    for i in range(used - 1, -1, -1):
        y[i] = (right[i] - upper[i, i + 1 : used] @ y[i + 1 :]) / upper[i, i]
    return y @ basis[:used]
