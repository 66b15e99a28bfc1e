"""SciPy's interpolation in images and its linear filters.

Owns the primitives; the names that users call are in `funcgrad.scipy.ndimage`. Values are SciPy's; derivatives are those of the same
B-splines written out (Unser, Aldroubi and Eden, 1993), and of filters as a convolution of an array that is extended beyond its edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage

from funcgrad.errors import NoRuleError
from funcgrad.ops.scipy import signal as scipy_signal
from funcgrad.ops.scipy.edges import extended, folded
from funcgrad.ops.structural import normalized_axes
from funcgrad.primitive import Operation
from funcgrad.rules import composed, general, linear
from funcgrad.rules.values import raw, shape_of

# ------------------------------------------------------------------------------------------------ splines

_EXACT_UP_TO = 64
"""Below this size SciPy's recursion for "reflect" and "nearest" is not symmetric to rounding: there its matrix is transposed."""


def _filtered(x: Any, order: int, axis: int, mode: str) -> Any:
    if np.iscomplexobj(x):
        return _filtered(x.real, order, axis, mode) + 1j * _filtered(x.imag, order, axis, mode)
    return scipy.ndimage.spline_filter1d(x, order, axis, mode=mode)


def _filtered_transpose(ct: Any, shape: tuple[int, ...], order: int, axis: int, mode: str) -> Any:
    size = shape[axis]
    if mode == "grid-wrap" or (mode in ("reflect", "grid-mirror", "nearest") and size > _EXACT_UP_TO):
        return spline_filter1d(ct, order, axis, mode)
    if mode in ("reflect", "grid-mirror", "nearest"):
        matrix = scipy.ndimage.spline_filter1d(np.eye(size), order, 0, mode=mode)
        return np.moveaxis(np.matmul(np.moveaxis(ct, axis, -1), matrix), -1, axis)
    ends = np.ones(size)
    ends[[0, -1]] = 0.5 if size > 1 else 1.0  # a mirror has the elements at the ends once, the others twice
    along = ends.reshape((-1,) + (1,) * (len(shape) - 1 - axis))
    return along * spline_filter1d(ct / along, order, axis, mode)


spline_filter1d: Any = linear(_filtered, _filtered_transpose, name="scipy.ndimage.spline_filter1d")


def spline_filter(x: Any, order: int, mode: str) -> Any:
    """The coefficients of the spline through x."""
    for axis in range(len(shape_of(x))):
        x = spline_filter1d(x, order, axis, mode)
    return x


def _blending(u: Any, order: int) -> Any:
    """The weights of the order + 1 coefficients around a point, of which the place within its interval is u."""
    weights = [np.ones_like(raw(u))]
    for k in range(1, order + 1):
        before = [(k - j + u) * weights[j - 1] if j > 0 else 0.0 for j in range(k + 1)]
        after = [(1 - u + j) * weights[j] if j < k else 0.0 for j in range(k + 1)]
        weights = [(one + other) / k for one, other in zip(before, after, strict=True)]
    return np.stack(weights)


def _within(place: np.ndarray, size: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """How a place beyond the edges is taken back: (sign, shift), so that sign * place + shift lies within."""
    one, zero = np.ones_like(place), np.zeros_like(place)
    if mode == "grid-wrap":
        return one, -size * np.floor((place + 0.5) / size)
    if mode == "wrap":
        period = size - 1.0
        if period == 0:
            return zero, zero
        ahead, back = np.floor(-place / period) + 1, -np.floor(place / period)
        return one, period * np.where(place < 0, ahead, np.where(place > period, back, zero))
    if mode in ("mirror", "reflect", "grid-mirror"):
        first, period = (0.0, 2.0 * size - 2.0) if mode == "mirror" else (-0.5, 2.0 * size)
        if period == 0:
            return zero, zero
        turns = period * np.floor((place - first) / period)
        is_back = place - turns - first > period / 2
        return np.where(is_back, -one, one), np.where(is_back, 2 * first + period + turns, -turns)
    return one, zero


def _taken_back(index: np.ndarray, size: int, mode: str) -> Any:
    if mode == "nearest":
        return np.clip(index, 0, size - 1)
    edges = "mirror" if mode in ("constant", "wrap") else mode
    sign, shift = _within(index.astype(float), size, edges)
    return np.rint(sign * index + shift).astype(np.intp)


def _along(place: Any, size: int, order: int, mode: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Weights and indices of the coefficients along an axis, and whether they count."""
    plain = raw(place)
    is_inside = np.ones(plain.shape, bool)
    if mode == "constant":
        is_inside = (plain >= 0) & (plain <= size - 1)
        place = np.where(is_inside, place, 0.0)
    elif mode not in ("nearest", "grid-constant"):
        sign, shift = _within(plain, size, mode)
        place = sign * place + shift
    half = 0.0 if order % 2 else 0.5
    start = np.floor(raw(place) + half)
    index = np.stack([start.astype(np.intp) - order // 2 + n for n in range(order + 1)])
    if mode == "grid-constant":
        return _blending(place + half - start, order), np.clip(index, 0, size - 1), (index >= 0) & (index < size)
    return _blending(place + half - start, order), _taken_back(index, size, mode), np.broadcast_to(is_inside, index.shape)


def interpolated(x: Any, places: Sequence[Any], order: int, mode: str, cval: float, prefilter: bool) -> Any:
    """The spline through x at some places, a coordinate for each axis; in public operations."""
    margin = 0
    if prefilter and order > 1:
        margin = 12 if mode in ("nearest", "grid-constant") else 0  # as SciPy does
        if margin:
            widths = [(margin, margin)] * len(shape_of(x))
            x = extended(x - cval, widths, "constant") + cval if mode == "grid-constant" else extended(x, widths, "edge")
        x = spline_filter(x, order, mode)
    count = len(shape_of(x))
    found = [_along(place + float(margin), size, order, mode) for place, size in zip(places, shape_of(x), strict=True)]
    points = shape_of(found[0][0])[1:]
    index: list[Any] = []
    counts: Any = np.True_
    for n, (_, along, is_counted) in enumerate(found):
        shape = (1,) * n + (order + 1,) + (1,) * (count - 1 - n) + points
        index.append(along.reshape(shape))
        counts = counts & is_counted.reshape(shape)
    values = x[tuple(index)]
    if mode == "grid-constant":
        values = np.where(counts, values, cval)
    for n, (weights, _, _) in enumerate(found):
        values = np.sum(np.reshape(weights, (order + 1,) + (1,) * (count - 1 - n) + points) * values, 0)
    return np.where(counts.any(tuple(range(count))), values, cval) if mode == "constant" else values


_MODES = ("constant", "nearest", "mirror", "reflect", "grid-mirror", "grid-wrap", "grid-constant", "wrap")


def refuse_mode(name: str, mode: Any, output: Any = None) -> None:
    """Ways to call a function of this module that have no rule.

    Raises:
        NoRuleError: always for an array to write into, and for modes by axis.
    """
    if output is not None:
        raise NoRuleError(f"scipy.ndimage.{name} with output has no derivative rule yet; without it, it has")
    if not isinstance(mode, str):
        raise NoRuleError(f"scipy.ndimage.{name} with a mode for each axis has no derivative rule yet; one for all has")


map_coordinates = composed(
    lambda x, coordinates, order, mode, cval, prefilter: scipy.ndimage.map_coordinates(
        x, coordinates, order=order, mode=mode, cval=cval, prefilter=prefilter
    ),
    lambda x, coordinates, *how: interpolated(x, list(coordinates), *how),
    arrays=2,
    name="scipy.ndimage.map_coordinates",
)


def _grid(shape: Sequence[int]) -> list[np.ndarray]:
    return list(np.indices(tuple(shape), float))


def _shifted(x: Any, by: Any, *how: Any) -> Any:
    count = len(shape_of(x))
    by = np.broadcast_to(by, (count,))
    return interpolated(x, [place - by[n] for n, place in enumerate(_grid(shape_of(x)))], *how)


shift = composed(
    lambda x, by, order, mode, cval, prefilter: scipy.ndimage.shift(x, by, order=order, mode=mode, cval=cval, prefilter=prefilter),
    _shifted,
    arrays=2,
    name="scipy.ndimage.shift",
)


def _affine(x: Any, matrix: Any, offset: Any, shape: Sequence[int], *how: Any) -> Any:
    grid, count = _grid(shape), len(shape_of(x))
    offset = np.broadcast_to(offset, (count,))
    if len(shape_of(matrix)) == 1:
        return interpolated(x, [matrix[n] * place + offset[n] for n, place in enumerate(grid)], *how)
    if shape_of(matrix)[1] == count + 1:
        matrix, offset = matrix[:count, :count], matrix[:count, count]
    places = [sum((matrix[n, m] * place for m, place in enumerate(grid)), offset[n]) for n in range(count)]
    return interpolated(x, places, *how)


affine_transform = composed(
    lambda x, matrix, offset, shape, order, mode, cval, prefilter: scipy.ndimage.affine_transform(
        x, matrix, offset, shape, order=order, mode=mode, cval=cval, prefilter=prefilter
    ),
    _affine,
    arrays=3,
    name="scipy.ndimage.affine_transform",
)

# ------------------------------------------------------------------------------------------------ filters

EDGES = {
    **dict.fromkeys(("reflect", "grid-mirror"), "symmetric"),
    **dict.fromkeys(("constant", "grid-constant"), "constant"),
    **dict.fromkeys(("wrap", "grid-wrap"), "wrap"),
    "nearest": "edge",
    "mirror": "reflect",
}


def _filter(function: Callable[..., Any], reach: Callable[[Any], Any], is_along_axis: bool = False) -> Operation:
    """The primitive `function(x, mode, cval, options)` of a filter with static weights.

    `reach(options)` is how far it looks at most, along all axes or along `axis`. Between zeros a filter is a Toeplitz matrix: its
    transpose is the same filter of what is reversed along all axes.
    """

    def widths_of(shape: tuple[int, ...], options: Any) -> tuple[tuple[int, int], ...]:
        axes = normalized_axes(options["axis"] if is_along_axis else options.get("axes"), len(shape))
        reaches = dict(zip(axes, np.broadcast_to(reach(options), (len(axes),)).tolist(), strict=True))
        return tuple((int(reaches.get(n, 0)),) * 2 for n in range(len(shape)))

    def vjp(ct: Any, ans: Any, x: Any, mode: str, cval: float, options: Any) -> Any:
        shape = shape_of(x)
        widths = widths_of(shape, options)
        back = np.flip(operation(np.flip(np.pad(ct, widths)), "constant", 0.0, options))
        return folded(back, shape, widths, EDGES[mode])

    operation = general(
        lambda x, mode, cval, options: function(x, mode=mode, cval=cval, **options),
        [lambda t, ans, x, mode, cval, options: operation(t, mode, 0.0, options)],
        [vjp],
        keeps="",
        name=f"scipy.ndimage.{function.__name__}",
    )
    return operation


def _of_gaussian(options: Any) -> Any:
    radius = options.get("radius")
    return np.ceil(options.get("truncate", 4.0) * np.asarray(options["sigma"]) + 0.5) if radius is None else np.asarray(radius)


gaussian_filter = _filter(scipy.ndimage.gaussian_filter, _of_gaussian)
gaussian_filter1d = _filter(scipy.ndimage.gaussian_filter1d, _of_gaussian, is_along_axis=True)
gaussian_laplace = _filter(scipy.ndimage.gaussian_laplace, _of_gaussian)
uniform_filter = _filter(scipy.ndimage.uniform_filter, lambda options: np.asarray(options["size"]))
uniform_filter1d = _filter(scipy.ndimage.uniform_filter1d, lambda options: options["size"], is_along_axis=True)
laplace, sobel, prewitt = (
    _filter(function, lambda options: 1) for function in (scipy.ndimage.laplace, scipy.ndimage.sobel, scipy.ndimage.prewitt)
)


def _correlated(x: Any, weights: Any, mode: str, cval: float, origin: Any) -> Any:
    centers = [size // 2 + int(each) for size, each in zip(shape_of(weights), np.broadcast_to(origin, len(shape_of(x))), strict=True)]
    widths = [(center, size - 1 - center) for size, center in zip(shape_of(weights), centers, strict=True)]
    wide = extended(x - cval, widths, "constant") + cval if EDGES[mode] == "constant" else extended(x, widths, EDGES[mode])
    return scipy_signal.correlate(wide, weights, "valid", "direct")


correlate = composed(
    lambda x, weights, mode, cval, origin: scipy.ndimage.correlate(x, weights, mode=mode, cval=cval, origin=origin),
    _correlated,
    arrays=2,
    name="scipy.ndimage.correlate",
)


def _convolved(x: Any, weights: Any, mode: str, cval: float, origin: Any) -> Any:
    shape = shape_of(weights)
    turned = [-int(each) - (1 - size % 2) for size, each in zip(shape, np.broadcast_to(origin, len(shape)), strict=True)]
    return _correlated(x, np.flip(weights), mode, cval, turned)


convolve = composed(
    lambda x, weights, mode, cval, origin: scipy.ndimage.convolve(x, weights, mode=mode, cval=cval, origin=origin),
    _convolved,
    arrays=2,
    name="scipy.ndimage.convolve",
)


def _along_axis(whole: Callable[..., Any]) -> Callable[..., Any]:
    def filtered(x: Any, weights: Any, axis: int, mode: str, cval: float, origin: int) -> Any:
        count = len(shape_of(x))
        place = axis % count
        shape = tuple(shape_of(weights)[0] if n == place else 1 for n in range(count))
        return whole(x, np.reshape(weights, shape), mode, cval, [origin if n == place else 0 for n in range(count)])

    return filtered


correlate1d = composed(
    lambda x, weights, axis, mode, cval, origin: scipy.ndimage.correlate1d(x, weights, axis, mode=mode, cval=cval, origin=origin),
    _along_axis(_correlated),
    arrays=2,
    name="scipy.ndimage.correlate1d",
)
convolve1d = composed(
    lambda x, weights, axis, mode, cval, origin: scipy.ndimage.convolve1d(x, weights, axis, mode=mode, cval=cval, origin=origin),
    _along_axis(_convolved),
    arrays=2,
    name="scipy.ndimage.convolve1d",
)
