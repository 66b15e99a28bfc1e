"""The functions whose derivatives are taken, one or more of each family, and where.

Their points keep a distance of 0.8 from ties, kinks and the ends of domains: differences of differences go 0.3 away from where they are
asked for, and examples differ by 0.25. Numbers are multiples of 1/64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import funcgrad
from funcgrad import nn

Args = tuple[Any, ...]
FUNCTIONS: dict[str, tuple[Callable[..., Any], Args]] = {}


def at(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function to the table, with the arguments to try it at; lists are arrays."""

    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[f.__name__] = f, tuple(np.round(np.array(arg) * 64) / 64 if isinstance(arg, list) else arg for arg in args)
        return f

    return add


U, V = [0.5, -0.75], [1.25, 0.375]
COLUMN = [[0.5], [-0.75]]
APART = [1.0, -1.5]
MATRIX = [[2.0, 0.5], [-0.25, 1.5]]

# ------------------------------------------------------------------------------------------------ elementwise


@at(COLUMN, V)
def broadcasting(x, y):
    return np.sin(x) * np.exp(0.5 * y) + x / (2.0 + y * y)


@at([1.5, 2.0], V)
def powers(x, y):
    return x**y + np.sqrt(x) * y**3 - np.log(x)


@at(U, V)
def angles(x, y):
    return np.arctan2(x, y + 3.0) * np.hypot(x, y) + np.tanh(x - y)


@at([1.0, -1.25], [-0.25, 0.5])
def where(x, y):
    return np.where(x > y, x * y, np.sin(y)) + np.maximum(x, y) ** 2 + np.abs(x) * y


@at(0.5, 1.25)
def of_floats(x, y):
    return np.sin(x * y) + x / y - 2.0 * x * x


@at(0.5)
def of_one_float(x):
    return x * np.tanh(x) ** 2


# ------------------------------------------------------------------------------------------------ products and sums


@at([[0.5, 0.25], [-0.75, 1.0]], V)
def matmul(x, y):
    return np.tanh(x @ y) * y


@at(U, [[0.5], [1.0]])
def einsum(x, y):
    return np.einsum("i,jk,j,i->ik", x, y, x, np.cos(x))


@at(U, V)
def outer(x, y):
    return np.outer(x, y) @ np.sin(y) + np.tensordot(x, y, 1) * np.kron(x, y)[1:3] + np.vdot(x, x)


@at(COLUMN, V)
def reductions(x, y):
    z = x + y * y
    return np.sum(z * z, axis=0) * np.mean(z, axis=-1, keepdims=True) + np.var(np.sin(z), axis=1, ddof=1) + z.max()


@at([1.5, -0.75], V)
def prods(x, y):
    return np.prod(x) * y + np.cumprod(x * y) + np.cumsum(np.cos(y))[::-1]


@at([1.0, -1.25, 2.5])
def sort(x):
    return np.sort(np.stack([x, x[::-1] ** 3]), axis=-1) * np.array([1.0, 2.0, -1.0]) + np.max(x) * np.median(x) * np.ptp(x)


@at(U, V)
def norm(x, y):
    return np.linalg.norm(x - y) * x + np.linalg.norm(np.outer(x, y), "fro")


@at([0.25, -0.75, 1.25])
def softmax(x):
    shifted = np.exp(x - np.max(x))
    return shifted / np.sum(shifted) + np.logaddexp.reduce(x) * nn.softmax(2.0 * x)


# ------------------------------------------------------------------------------------------------ arrays in and out of shape


@at(U, COLUMN)
def indexing(x, y):
    return x[[1, 0, 1]] * y[..., 0][::-1][np.array([[0, 1, 1]])] + x[-1] ** 2 * y[1:, None]


@at(U, V)
def take(x, y):
    table = np.outer(x, y)
    return np.take(table, np.array([1, 1, 0]), axis=1) * np.take_along_axis(table, np.array([[0], [1]]), axis=1) + x[:, None]


@at(U, V)
def joining(x, y):
    both = np.concatenate([x * y, np.stack([y[0], x[1]])])
    return np.roll(both, 1) * np.pad(x, (1, 1)) + np.diff(both, append=1.0).reshape(2, 2).T.ravel() ** 2


@at(U, V)
def updates(x, y):
    at = funcgrad.numpy.at
    return at(at(x * x)[0].add(y[1] * x[0]))[np.array([1, 1])].multiply(np.sin(y))


# ------------------------------------------------------------------------------------------------ linear algebra, signals


@at(MATRIX, V)
def solve(x, y):
    return np.linalg.solve(x, y) * y


@at(MATRIX)
def inv_and_det(x):
    return np.linalg.inv(x) @ x.T * np.linalg.det(x) + np.trace(x)


@at([[2.0, 0.5], [0.25, 1.5]], V)
def cholesky(x, y):
    factor = np.linalg.cholesky(x @ x.T + np.diag(y * y))
    return factor @ y + np.linalg.slogdet(factor)[1]


@at([2.5, 0.5], V)
def eigh(x, y):
    values, vectors = np.linalg.eigh(np.diag(x) + 0.25 * np.outer(y, y))
    return values * np.sum(vectors**2 * y, axis=1)


@at(U, V)
def fft(x, y):
    spectrum = np.fft.fft(np.concatenate([x, y]))
    return np.abs(spectrum[1]) ** 2 + np.fft.irfft(np.fft.rfft(x * y) * np.exp(1j * y), 2)


@at(U, V)
def complex_inside(x, y):
    z = np.exp(1j * x) * (y + 1j * x) ** 2
    return np.real(z) * np.imag(z) + np.abs(z) - np.angle(2.5 + 1j * y)


@at([0.5, -0.75, 1.0], V)
def convolve(x, y):
    return np.convolve(x, y, "same") * np.correlate(x, y * y, "same")


# ------------------------------------------------------------------------------------------------ programs


@at({"w": np.array([0.5, -0.75]), "b": 0.25}, V)
def trees(params, x):
    hidden = params["w"] * x + params["b"]
    return {"sum": np.sum(hidden * x), "all": (np.sin(hidden), params["b"] ** 2 * x)}


@at([[0.5, -0.25], [0.75, 1.0]], U)
def control_flow(x, y):
    for n in range(x.shape[0]):
        y = np.sin(x[n]) * y if x.ndim == 2 and n % 2 else y + x[n] * len(y)
    while y.ndim < 2:
        y = y[None] * y[-1]
    return y


@at([[0.5], [-0.75]], [[1.0, -0.25]])
def perceptron(w, v):
    inputs, targets = np.array([[0.5, 1.0], [-1.0, 0.25], [0.75, -0.5]]), np.array([[0.5, 1.0], [0.0, -1.0], [1.0, 0.25]])
    return np.mean((np.tanh(inputs @ w) @ v - targets) ** 2)


def _scaled(x, y, *, axis, power=2, bias):
    return np.sum(x**power * y, axis=axis, keepdims=True) + bias


@at(COLUMN, V)
def keywords(x, y):
    return partial(_scaled, axis=-1, power=3, bias=0.5)(x, y) * y


@at(U, V)
def one_unused(x, y):
    return 2.0 * x[::-1]


@at(U, V)
def one_linear(x, y):
    return np.sin(x) * y


def _step(carry, x):
    carry = np.tanh(carry + x)
    return carry, carry * x


@at(U, V)
def scan(x, y):
    carry, ys = funcgrad.scan(lambda carry, row: _step(carry, row), x[0] * 1.0, y)
    return carry * x + ys
