"""A natural cubic spline through values at free knots, fitted to noisy points with a roughness penalty."""

import numpy as np


def make_data():
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0.02, 0.98, 40))
    y = np.sin(7 * x) + x + 0.1 * rng.normal(size=40)
    y[17] += 3.0
    return x, y


def start():
    values = np.array([0.1, 0.9, 0.7, -0.2, 0.3, 1.6])
    widths = np.array([0.0, 0.1, -0.1, 0.2, 0.05])
    return values, widths, -6.0


def knots(widths):
    """From 0 to 1, with gaps in proportion to exp(widths)."""
    share = np.exp(widths - np.max(widths))
    return np.concatenate([[0.0], np.cumsum(share / np.sum(share))])


def second_derivatives(t, v):
    h = np.diff(t)
    slope = np.diff(v) / h
    A = np.diag(2 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
    inner = np.linalg.solve(A, 6 * np.diff(slope))
    return np.pad(inner, 1)


def evaluate(t, v, m, x):
    i = np.clip(np.searchsorted(t, x) - 1, 0, len(t) - 2)
    h = t[i + 1] - t[i]
    a = (t[i + 1] - x) / h
    b = (x - t[i]) / h
    return a * v[i] + b * v[i + 1] + ((a**3 - a) * m[i] + (b**3 - b) * m[i + 1]) * h**2 / 6


def roughness(t, m):
    """The integral of the squared second derivative, which is linear between the knots."""
    return np.sum(np.diff(t) * (m[:-1] ** 2 + m[:-1] * m[1:] + m[1:] ** 2)) / 3


def objective(params, data):
    """The trimmed mean of the squared residuals, a penalty, and the prior of the penalty's weight."""
    values, widths, log_weight = params
    x, y = data
    t = knots(widths)
    m = second_derivatives(t, values)
    squares = np.sort((y - evaluate(t, values, m, x)) ** 2)
    kept = squares[: int(0.9 * len(squares))]
    return kept.mean() + np.exp(log_weight) * roughness(t, m) - 0.01 * log_weight + 0.1 * np.var(widths)
