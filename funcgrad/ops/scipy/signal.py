"""SciPy's convolutions and linear filters.

Owns the primitives; the names that users call are in `funcgrad.scipy.signal`. A convolution is linear in each operand, and its transpose is
the valid part of another: of the cotangent, put back into the full result, with the other operand reversed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from funcgrad.ops.scipy.edges import extended, folded
from funcgrad.primitive import Operation
from funcgrad.rules import general, linear, multilinear
from funcgrad.rules.values import raw, shape_of, unbroadcast

Axes = tuple[int, ...]


def _reversed(x: Any, axes: Axes | None = None) -> Any:
    return np.flip(x, tuple(range(len(shape_of(x)))) if axes is None else axes)


def _in_full(ct: Any, shape_x: Axes, shape_y: Axes, mode: str, axes: Axes) -> Any:
    """A cotangent with zeros around it where the full convolution has elements that the mode leaves out."""
    widths = [(0, 0)] * len(shape_of(ct))
    for axis in axes:
        n, m, size = shape_x[axis], shape_y[axis], shape_of(ct)[axis]
        start = {"full": 0, "same": (m - 1) // 2, "valid": min(n, m) - 1}[mode]
        widths[axis] = (start, n + m - 1 - start - size)
    return np.pad(ct, tuple(widths)) if any(map(any, widths)) else ct


def _convolution(name: str, function: Callable[..., Any]) -> Operation:
    """The primitive `function(x, y, mode, how, axes)`."""

    def transposed(mine: Any, other: Any, ct: Any, x: Any, y: Any, mode: str, how: str | None, axes: Axes) -> Any:
        if 0 in shape_of(x) or 0 in shape_of(y):
            return np.zeros(shape_of(mine))
        whole = _in_full(ct, shape_of(x), shape_of(y), mode, axes)
        return unbroadcast(operation(whole, _reversed(other, axes), "valid", how, axes), shape_of(mine))

    operation = multilinear(
        function,
        lambda ct, x, y, *how: transposed(x, y, ct, x, y, *how),
        lambda ct, x, y, *how: transposed(y, x, ct, x, y, *how),
        name=name,
    )
    return operation


convolve = _convolution("scipy.signal.convolve", lambda x, y, mode, how, axes: scipy.signal.convolve(x, y, mode, how))
fftconvolve = _convolution("scipy.signal.fftconvolve", lambda x, y, mode, how, axes: scipy.signal.fftconvolve(x, y, mode, axes))
oaconvolve = _convolution("scipy.signal.oaconvolve", lambda x, y, mode, how, axes: scipy.signal.oaconvolve(x, y, mode, axes))


def _correlated(mine: int, ct: Any, x: Any, y: Any, mode: str, method: str) -> Any:
    axes = tuple(range(len(shape_of(ct))))
    if 0 in shape_of(x) or 0 in shape_of(y):
        return np.zeros(shape_of((x, y)[mine]))
    whole = _in_full(ct, shape_of(x), shape_of(y), mode, axes)
    if mine == 0:
        return convolve(whole, y, "valid", method, axes)
    return _reversed(convolve(whole, _reversed(x), "valid", method, axes))


correlate = multilinear(
    lambda x, y, mode, method: scipy.signal.correlate(x, np.conj(y), mode, method),
    lambda ct, x, y, *how: _correlated(0, ct, x, y, *how),
    lambda ct, x, y, *how: _correlated(1, ct, x, y, *how),
    name="scipy.signal.correlate",
)
"""The correlation of x with the conjugate of y, which makes it linear in y."""

# ------------------------------------------------------------------------------------------------ in the plane

EDGES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def _planar(name: str, function: Callable[..., Any], turn: Callable[[Any], Any], half: Callable[[int], int]) -> Operation:
    """The primitive `function(x, y, mode, boundary)`: x, extended beyond its edges, convolved with turn(y), which is not the larger one.

    `half(m)` is where "same" begins, in the full result of a kernel of m.
    """

    def widths_of(y: Any, mode: str) -> list[tuple[int, int]]:
        return [(0, 0) if mode == "valid" else (m - 1, m - 1) for m in shape_of(y)]

    def in_full(ct: Any, x: Any, y: Any, mode: str) -> Any:
        if mode != "same":
            return ct
        return np.pad(ct, tuple((half(m), m - 1 - half(m)) for m in shape_of(y)))

    def transposed_x(ct: Any, x: Any, y: Any, mode: str, boundary: str) -> Any:
        whole = convolve(in_full(ct, x, y, mode), _reversed(turn(y)), "full", "auto", (0, 1))
        return folded(whole, shape_of(x), widths_of(y, mode), EDGES[boundary])

    def transposed_y(ct: Any, x: Any, y: Any, mode: str, boundary: str) -> Any:
        wide = extended(x, widths_of(y, mode), EDGES[boundary])
        return turn(convolve(_reversed(wide), in_full(ct, x, y, mode), "valid", "auto", (0, 1)))

    return multilinear(function, transposed_x, transposed_y, name=name)


convolve2d = _planar("scipy.signal.convolve2d", scipy.signal.convolve2d, lambda y: y, lambda m: (m - 1) // 2)
correlate2d = _planar(
    "scipy.signal.correlate2d",
    lambda x, y, mode, boundary: scipy.signal.correlate2d(x, np.conj(y), mode, boundary),
    _reversed,
    lambda m: m // 2,
)
"""The correlation of x with the conjugate of y."""

# ------------------------------------------------------------------------------------------------ recursive filters


def _taps(ct: Any, x: Any, count: int, axis: int) -> Any:
    """For each delay the sum of the products of ct with x delayed by so much."""
    ct, x = np.moveaxis(ct, axis, -1), np.moveaxis(x, axis, -1)
    size = shape_of(ct)[-1]
    return np.stack([np.sum(ct[..., k:] * x[..., : max(size - k, 0)]) for k in range(count)])


lfilter: Any = general(
    lambda b, a, x, axis: scipy.signal.lfilter(b, a, x, axis),
    [
        lambda t, ans, b, a, x, axis: lfilter(t, a, x, axis),
        lambda t, ans, b, a, x, axis: -lfilter(t, a, ans, axis),
        lambda t, ans, b, a, x, axis: lfilter(b, a, t, axis),
    ],
    [
        lambda ct, ans, b, a, x, axis: _taps(ct, lfilter(np.ones(1, raw(a).dtype), a, x, axis), shape_of(b)[0], axis),
        lambda ct, ans, b, a, x, axis: -_taps(ct, lfilter(np.ones(1, raw(a).dtype), a, ans, axis), shape_of(a)[0], axis),
        lambda ct, ans, b, a, x, axis: np.flip(lfilter(b, a, np.flip(ct, axis), axis), axis),
    ],
    name="scipy.signal.lfilter",
)
"""The output is (B / A) x, B and A being polynomials in the delay: its tangent is (B' x - A' output) / A. The transpose runs backwards."""

sosfilt: Any = linear(
    lambda x, sos, axis: scipy.signal.sosfilt(np.array(sos), x, axis),  # as `funcgrad.scipy.signal`
    lambda ct, shape, sos, axis: np.flip(sosfilt(np.flip(ct, axis), sos, axis), axis),
    name="scipy.signal.sosfilt",
)
detrend: Any = linear(
    lambda x, axis, kind, breaks: scipy.signal.detrend(x, axis, kind, breaks),
    lambda ct, shape, *how: detrend(ct, *how),
    name="scipy.signal.detrend",
)
"""A projection, and so its own transpose."""
