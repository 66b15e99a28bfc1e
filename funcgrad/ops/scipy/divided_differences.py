"""Divided differences of a function, also where points coincide or almost do.

f[x, y] = (f(x) - f(y)) / (x - y), f[x, y, z] = (f[x, y] - f[y, z]) / (x - z), ...: what derivatives of functions of matrices are made of.
The quotient loses digits as the points come together. There an integral of derivatives takes its place (Hermite and Genocchi):
f[x_0, ..., x_k] is that of the k-th derivative over all weighted means of the points, by Gauss's rule. See de Boor (2005), "Divided
differences".
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
import scipy.special

_ULPS = 16.0
"""How many units in the last place a value of the function, or a difference of lower order, may be off."""
_COARSE = 64.0
"""From this many of them on, a quotient is worth an integral."""


_COUNTS = {1: (6, 5), 2: (4, 3)}
"""How many nodes an integral has in each direction, and how many a coarser one, which says how good it is; from order 3 on 3 and 2. One of
the two has a node in the middle, where that of a kink between equal slopes would deceive both.
"""


@functools.cache
def _rule(order: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (in each column the weights of all points but the first) and weights for the integral of a function over a simplex.

    Products of Gauss's rules for a cube, folded into the simplex (Stroud); the weights add up to its volume, 1 / order!.
    """
    nodes, weights, rest = np.zeros((order, 1)), np.ones(1), np.ones(1)
    for n in range(order):
        power = order - 1 - n
        x, w = scipy.special.roots_jacobi(count, power, 0.0)
        x, w = (1.0 + x) / 2.0, w / 2.0 ** (power + 1)
        nodes = np.repeat(nodes, count, 1)
        nodes[n] = np.outer(rest, x).ravel()
        weights, rest = np.outer(weights, w).ravel(), np.outer(rest, 1.0 - x).ravel()
    return nodes, weights


def _along(points: np.ndarray, axis: int, count: int) -> np.ndarray:
    """The last axis of an array as the given one of `count` axes."""
    return points.reshape(*points.shape[:-1], *(-1 if n == axis else 1 for n in range(count)))


def divided_differences(f: Callable[[np.ndarray, int], np.ndarray], points: np.ndarray, order: int) -> np.ndarray:
    """f[x_0, ..., x_k] for all choices of k + 1 points out of some, k being the order.

    Where f's derivative is analytic within some 20 times the distance of the points, the error is one of rounding, whatever that distance:
    of exp, log and sqrt between 0.3 and 3 it is at most 1e-15, 3e-14 and 1e-12 of the k-th derivative for k = 1, 2 and 3. Elsewhere (a kink
    between the points, an oscillation) it is that of a quotient: f's own, divided by the distance.

    Args:
        f: `(x, m)` -> the m-th derivative at plain numbers x, shape (...).
        points: shape (..., n), real or complex.
        order: k.

    Returns:
        Shape (..., n, ..., n), with k + 1 axes of size n.

    Example:
        >>> f = lambda x, m: np.exp(x)
        >>> print(divided_differences(f, np.array([0.0, 0.0, 1.0]), 1).round(6))
        [[1.       1.       1.718282]
         [1.       1.       1.718282]
         [1.718282 1.718282 2.718282]]
    """
    eps = float(np.finfo(points.dtype).eps)
    table = f(points, 0)
    errors = _ULPS * eps * np.abs(table)
    for k in range(1, order + 1):
        with np.errstate(all="ignore"):
            noise = _ULPS * eps * np.abs(points * f(points, k))  # what rounding of the points does to differences of order k - 1
            errors = errors + _along(np.where(np.isfinite(noise), noise, 0.0), 0, k)
            table, errors = _widest_quotients(table, errors, points, k)
            _refine(f, table, errors, points, k, eps)
    return table


def _widest_quotients(table: np.ndarray, errors: np.ndarray, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The differences of order k from those of order k - 1, by the two points that are farthest from each other, and their errors.

    NaN where all points are equal.
    """
    first = points.ndim - 1
    shape = points.shape[:-1] + points.shape[-1:] * (k + 1)
    widest = np.zeros(shape, errors.dtype)
    quotients, bounds = np.full(shape, np.nan, np.result_type(table, points)), np.full(shape, np.inf, errors.dtype)
    for a, b in itertools.combinations(range(k + 1), 2):
        gap = np.broadcast_to(_along(points, a, k + 1) - _along(points, b, k + 1), shape)
        size = np.abs(gap)
        is_wider = size > widest
        difference = np.expand_dims(table, first + b) - np.expand_dims(table, first + a)
        bound = np.expand_dims(errors, first + b) + np.expand_dims(errors, first + a)
        np.divide(difference, gap, out=quotients, where=is_wider)
        np.divide(bound, size, out=bounds, where=is_wider)
        widest = np.maximum(widest, size)
    return quotients, bounds


def _refine(
    f: Callable[[np.ndarray, int], np.ndarray], table: np.ndarray, errors: np.ndarray, points: np.ndarray, k: int, eps: float
) -> None:
    """Put integrals in place of quotients that have lost more digits."""
    stack, count = points.shape[:-1], points.shape[-1]
    places = [_along(np.arange(count), n, k + 1) for n in range(k + 1)]
    is_sorted = functools.reduce(np.logical_and, (one <= other for one, other in itertools.pairwise(places)))
    index = np.nonzero(is_sorted & ~(errors <= _COARSE * eps * np.abs(table)))
    if not index[0].size:
        return
    which, chosen = index[: len(stack)], index[len(stack) :]
    x = np.stack([points[which + (one,)] for one in chosen], -1)  # noqa: RUF005 - mypy takes a star here for Python 3.11's
    fine, coarse = (_integral(f, x, k, count) for count in _COUNTS.get(k, (3, 2)))
    means, bounds = fine[0], _ULPS * eps * fine[1]
    is_better = (np.abs(means - coarse[0]) <= np.maximum(errors[index], bounds)) | ~np.isfinite(table[index])
    means, bounds = np.where(is_better, means, table[index]), np.where(is_better, bounds, errors[index])
    for order in itertools.permutations(chosen):
        place = which + order
        table[place], errors[place] = means, bounds


def _integral(f: Callable[[np.ndarray, int], np.ndarray], x: np.ndarray, k: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """That of the k-th derivative over the means of the k + 1 points in each row of x, and of its absolute value."""
    nodes, weights = (one.astype(x.real.dtype) for one in _rule(k, count))
    values = f(x[:, :1] + (x[:, 1:] - x[:, :1]) @ nodes, k)
    first = np.where(np.isfinite(values[:, :1]), values[:, :1], 0.0)  # beside it rounding of the weights does not count
    return (values - first) @ weights + first[:, 0] / math.factorial(k), np.abs(values) @ weights
