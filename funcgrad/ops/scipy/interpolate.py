"""SciPy's interpolation: piecewise polynomials, the splines that give their coefficients, and linear interpolation on grids.

Owns the primitives; the names that users call are in `funcgrad.scipy.interpolate`. Coefficients have the shape (order, intervals, ...), the
highest power first, as SciPy's. At a breakpoint the derivative is that of the piece behind it; where there is no value (NaN), it is 0.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.interpolate

from funcgrad.mapped import Mapped, is_any, mapping_of
from funcgrad.ops.indexing import pick, scatter
from funcgrad.ops.scipy.examples import on_plain
from funcgrad.ops.scipy.linalg import solve_banded
from funcgrad.primitive import Operation
from funcgrad.rules import composed, general
from funcgrad.rules.batching import BatchRule, as_instruction
from funcgrad.rules.values import as_array, raw, shape_of
from funcgrad.staged import Staged
from funcgrad.tape import Scope

# ------------------------------------------------------------------------------------------------ piecewise polynomials


def _polynomial(c: Any, x: Any, extrapolate: bool = True) -> Any:
    c = np.ascontiguousarray(c, np.result_type(c, float))
    return scipy.interpolate.PPoly.construct_fast(c, np.ascontiguousarray(x, float), extrapolate)


def _intervals(x: Any, points: Any) -> Any:
    """The number of the piece that each point lies in; the nearest one for points beyond the ends."""
    breaks = as_array(raw(x))
    return np.clip(np.searchsorted(breaks, raw(points), "right") - 1, 0, breaks.size - 2)


def _beside(values: Any, c: Any) -> Any:
    """A number for each point, to be multiplied with what is interpolated there."""
    return np.reshape(values, shape_of(values) + (1,) * (len(shape_of(c)) - 2))


def _where_defined(values: Any, c: Any, x: Any, points: Any, extrapolate: bool) -> Any:
    if extrapolate:
        return values
    plain, breaks = as_array(raw(points)), as_array(raw(x))
    return np.where(_beside((plain >= breaks[0]) & (plain <= breaks[-1]), c), values, 0.0)


def _of_points(operation: Callable[..., Any]) -> BatchRule:
    """The batch rule of an operation that is told points third: those of all examples at once, where all else is one."""

    def batch(scope: Scope, *args: Any) -> Any:
        first, second, points, *how = args
        if mapping_of(first, second, how) is not None:
            return NotImplemented
        return Mapped(operation(first, second, points._primal, *how), scope)

    return batch


def _slope(c: Any, x: Any, points: Any, nu: int, extrapolate: bool) -> Any:
    return _where_defined(evaluate(c, x, points, nu + 1, True), c, x, points, extrapolate)


def _powers(x: Any, points: Any, order: int, nu: int) -> Any:
    """What the coefficients of a point's piece are multiplied with in the nu-th derivative."""
    u = points - pick(x, _intervals(x, points))
    powers = [np.ones_like(raw(u))]
    for _ in range(order - 1):
        powers.append(powers[-1] * u)
    return np.stack([math.perm(k, nu) * powers[max(k - nu, 0)] for k in range(order - 1, -1, -1)])


def _evaluate_vjp_c(ct: Any, ans: Any, c: Any, x: Any, points: Any, nu: int, extrapolate: bool) -> Any:
    order, pieces, *rest = shape_of(c)
    ct = _where_defined(ct, c, x, points, extrapolate)
    products = _beside(_powers(x, points, order, nu), np.empty((1, *shape_of(c)[1:]))) * ct
    count = int(np.prod(shape_of(points), dtype=int))
    return scatter(np.reshape(products, (order, count, *rest)), (order, pieces, *rest), (slice(None), _intervals(x, points).ravel()))


def _evaluate_vjp_points(ct: Any, ans: Any, c: Any, x: Any, points: Any, nu: int, extrapolate: bool) -> Any:
    axes = tuple(range(len(shape_of(points)), len(shape_of(ans))))
    return np.sum(_slope(c, x, points, nu, extrapolate) * ct, axes)


def _evaluate_vjp_x(ct: Any, ans: Any, c: Any, x: Any, points: Any, nu: int, extrapolate: bool) -> Any:
    back = np.reshape(_evaluate_vjp_points(ct, ans, c, x, points, nu, extrapolate), -1)
    return -scatter(back, shape_of(x), (_intervals(x, points).ravel(),))


evaluate: Any = general(
    lambda c, x, points, nu, extrapolate: _polynomial(c, x, extrapolate)(points, nu),
    [
        lambda t, ans, c, x, points, nu, extrapolate: _where_defined(evaluate(t, x, points, nu, True), c, x, points, extrapolate),
        lambda t, ans, c, x, points, nu, extrapolate: -_slope(c, x, points, nu, extrapolate) * _beside(pick(t, _intervals(x, points)), c),
        lambda t, ans, c, x, points, nu, extrapolate: _slope(c, x, points, nu, extrapolate) * _beside(t, c),
    ],
    [_evaluate_vjp_c, _evaluate_vjp_x, _evaluate_vjp_points],
    name="scipy.interpolate.PPoly",
    batch=_of_points(lambda *args: evaluate(*args)),
)


def derived(c: Any, nu: int) -> Any:
    """The coefficients of the nu-th derivative."""
    order = shape_of(c)[0]
    if nu >= order:
        return np.zeros((1, *shape_of(c)[1:]), raw(c).dtype)
    factors = np.array([float(math.perm(k, nu)) for k in range(order - 1, nu - 1, -1)])
    return c[: order - nu] * factors.reshape((-1,) + (1,) * (len(shape_of(c)) - 1))


def _integrated(c: Any, x: Any) -> Any:
    """The coefficients of the integral from the first breakpoint on."""
    order = shape_of(c)[0]
    shape = (-1,) + (1,) * (len(shape_of(c)) - 1)
    higher = c / np.arange(order, 0, -1.0).reshape(shape)
    widths = _beside(np.diff(x), c)
    within: Any = 0.0
    for k in range(order):
        within = (within + higher[k]) * widths
    before = np.concatenate([np.zeros_like(raw(within)[:1]), np.cumsum(within, 0)[:-1]])
    return np.concatenate([higher, before[None]])


def _antiderived(c: Any, x: Any, nu: int) -> Any:
    for _ in range(nu):
        c = _integrated(c, x)
    return c


antiderived = composed(
    lambda c, x, nu: _polynomial(c, x).antiderivative(nu).c, _antiderived, arrays=2, name="scipy.interpolate.PPoly.antiderivative"
)


def _integral(c: Any, x: Any, a: Any, b: Any, extrapolate: bool) -> Any:
    whole = _integrated(c, x)
    return evaluate(whole, x, b, 0, extrapolate) - evaluate(whole, x, a, 0, extrapolate)


integral = composed(
    lambda c, x, a, b, extrapolate: _polynomial(c, x, extrapolate).integrate(a, b),
    _integral,
    arrays=4,
    name="scipy.interpolate.PPoly.integrate",
)

# ------------------------------------------------------------------------------------------------ splines


def _hermite(x: Any, y: Any, slopes: Any) -> Any:
    """The cubic of each interval through the values and slopes at its ends."""
    widths = _beside(np.diff(x), y[None])
    secants = np.diff(y, axis=0) / widths
    excess = (slopes[:-1] + slopes[1:] - 2 * secants) / widths
    return np.stack([excess / widths, (secants - slopes[:-1]) / widths - excess, slopes[:-1], y[:-1]])


hermite = composed(
    lambda x, y, slopes: scipy.interpolate.CubicHermiteSpline(x, y, slopes).c,
    _hermite,
    arrays=3,
    name="scipy.interpolate.CubicHermiteSpline",
)


def _end(x: Any, y: Any, condition: Any) -> tuple[Any, Any, Any]:
    """The equation of the slopes at the first two points: both coefficients, and the right side. For the end, all is given backwards."""
    h, k = x[1] - x[0], x[2] - x[1] if shape_of(x)[0] > 2 else None
    first = (y[1] - y[0]) / h
    if condition == "not-a-knot":
        if k is None:
            return 1.0, 0.0, first
        second = (y[2] - y[1]) / k
        return k, h + k, ((h + 2 * (h + k)) * k * first + h * h * second) / (h + k)
    order, value = {"clamped": (1, 0.0), "natural": (2, 0.0)}[condition] if isinstance(condition, str) else condition
    if order == 1:
        return 1.0, 0.0, np.zeros_like(raw(first)) + value
    return 2.0, 1.0, 3 * first - 0.5 * h * value


def _numbers(*values: Any) -> Any:
    return np.concatenate([np.reshape(np.asarray(value, float) if isinstance(value, float) else value, -1) for value in values])


def _spline_slopes(x: Any, y: Any, start: Any, stop: Any) -> Any:
    h = np.diff(x)
    secants = np.diff(y, axis=0) / _beside(h, y[None])
    if shape_of(x)[0] == 3 and start == stop == "not-a-knot":  # both say the same there: the parabola
        middle = (h[1] * secants[0] + h[0] * secants[1]) / (h[0] + h[1])
        return np.stack([2 * secants[0] - middle, middle, 2 * secants[1] - middle])
    inner = 3 * (_beside(h[1:], y[None]) * secants[:-1] + _beside(h[:-1], y[None]) * secants[1:])
    first, second, begin = _end(x, y, start)
    if not isinstance(stop, str) and stop[0] == 2:
        stop = (2, -np.asarray(stop[1]))  # seen from behind: slopes stay, second derivatives turn
    last, before, end = _end(-x[::-1], -y[::-1], stop)
    bands = [_numbers(0.0, second, h[:-1]), _numbers(first, 2 * (h[:-1] + h[1:]), last), _numbers(h[1:], before, 0.0)]
    right = np.concatenate([begin[None], inner, end[None]])
    count = shape_of(right)[0]
    return np.reshape(solve_banded(np.stack(bands), np.reshape(right, (count, -1)), 1, 1), shape_of(right))


def _periodic_slopes(x: Any, y: Any) -> Any:
    """The slopes at all points but the last, which has that of the first."""
    h = np.diff(x)
    secants = np.diff(y, axis=0) / _beside(h, y[None])
    previous, count = np.roll(h, 1), shape_of(h)[0]
    if count == 1:
        return np.concatenate([secants, secants])
    one = np.eye(count)
    matrix = one * (2 * (h + previous))[:, None] + np.roll(one, 1, 1) * previous[:, None] + np.roll(one, -1, 1) * h[:, None]
    right = 3 * (_beside(h, y[None]) * np.roll(secants, 1, 0) + _beside(previous, y[None]) * secants)
    slopes = np.reshape(np.linalg.solve(matrix, np.reshape(right, (count, -1))), shape_of(right))
    return np.concatenate([slopes, slopes[:1]])


def _ends(condition: Any) -> tuple[Any, Any]:
    return (condition, condition) if isinstance(condition, str) else tuple(condition)


def _cubic(x: Any, y: Any, condition: Any) -> Any:
    is_periodic = isinstance(condition, str) and condition == "periodic"
    return _hermite(x, y, _periodic_slopes(x, y) if is_periodic else _spline_slopes(x, y, *_ends(condition)))


cubic = composed(
    lambda x, y, condition: scipy.interpolate.CubicSpline(x, y, bc_type=condition).c, _cubic, arrays=2, name="scipy.interpolate.CubicSpline"
)


def _pchip_end(h: Any, k: Any, first: Any, second: Any) -> Any:
    """The slope at an end, of three points, kept in bounds that keep the interpolant monotonic."""
    slope = ((2 * h + k) * first - h * second) / (h + k)
    plain, near, far = raw(slope), raw(first), raw(second)
    is_steep = (np.sign(near) != np.sign(far)) & (np.abs(plain) > 3 * np.abs(near))
    return np.where(np.sign(plain) != np.sign(near), 0.0, np.where(is_steep, 3 * first, slope))


def _pchip(x: Any, y: Any) -> Any:
    """Fritsch and Butland (1984): a weighted harmonic mean of the secants where they have one sign, else 0."""
    h = _beside(np.diff(x), y[None])
    secants = np.diff(y, axis=0) / h
    if shape_of(x)[0] == 2:
        return _hermite(x, y, np.concatenate([secants, secants]))
    before, behind = secants[:-1], secants[1:]
    is_flat = np.sign(raw(before)) * np.sign(raw(behind)) <= 0
    left, right = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    inverse = (left / np.where(is_flat, 1.0, before) + right / np.where(is_flat, 1.0, behind)) / (left + right)
    inner = np.where(is_flat, 0.0, 1.0 / np.where(is_flat, 1.0, inverse))
    start, stop = _pchip_end(h[0], h[1], secants[0], secants[1]), _pchip_end(h[-1], h[-2], secants[-1], secants[-2])
    return _hermite(x, y, np.concatenate([start[None], inner, stop[None]]))


pchip = composed(lambda x, y: scipy.interpolate.PchipInterpolator(x, y).c, _pchip, arrays=2, name="scipy.interpolate.PchipInterpolator")

# ------------------------------------------------------------------------------------------------ linear interpolation


def _split(grids: Any, sizes: Sequence[int]) -> list[Any]:
    ends = list(itertools.accumulate(sizes))
    return [grids[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _on_grid(values: Any, grids: Any, points: Any, sizes: Sequence[int], fill: Any) -> Any:
    """Multilinear interpolation, from the corners of the cell that each point lies in.

    Points outside give `fill`; None is for extrapolation, and "raise" for an error of the value.
    """
    count = len(sizes)
    outside: Any = np.zeros(shape_of(points)[:-1], bool)
    cells, shares = [], []
    for n, grid in enumerate(_split(grids, sizes)):
        place, plain = points[..., n], as_array(raw(grid))
        is_turned = plain[-1] < plain[0]
        cell = np.searchsorted(np.where(is_turned, plain[::-1], plain), raw(place), "right") - 1
        outside = outside | (raw(place) < plain.min()) | (raw(place) > plain.max())
        cell = np.clip(cell, 0, sizes[n] - 2)
        low, high = np.where(is_turned, sizes[n] - 1 - cell, cell), np.where(is_turned, sizes[n] - 2 - cell, cell + 1)
        start = pick(grid, low)
        share = (place - start) / (pick(grid, high) - start)
        cells.append((low, high))
        shares.append((1 - share, share))
    found: Any = 0.0
    for corner in itertools.product((0, 1), repeat=count):
        weight = shares[0][corner[0]]
        for n in range(1, count):
            weight = weight * shares[n][corner[n]]
        at_corner = pick(values, tuple(cells[n][side] for n, side in enumerate(corner)))
        found = found + np.reshape(weight, shape_of(weight) + (1,) * (len(shape_of(values)) - count)) * at_corner
    if fill is None or isinstance(fill, str):
        return found
    outside = outside.reshape(outside.shape + (1,) * (len(shape_of(values)) - count))
    return np.where(outside, np.zeros_like(raw(found)) + fill, found)


def _grid_value(values: Any, grids: Any, points: Any, sizes: Sequence[int], fill: Any) -> Any:
    values = np.array(values)  # SciPy goes another way, to other last bits, where it may not write
    is_bounded = isinstance(fill, str)
    fill = None if is_bounded else fill
    return scipy.interpolate.RegularGridInterpolator(_split(grids, sizes), values, bounds_error=is_bounded, fill_value=fill)(points)


on_grid: Operation = composed(
    _grid_value,
    _on_grid,
    arrays=3,
    name="scipy.interpolate.RegularGridInterpolator",
    batch=_of_points(lambda *args: on_grid(*args)),
)


def _on_line(x: Any, y: Any, points: Any, options: Any) -> Any:
    """Along the first axis of y."""
    fill = options["fill_value"]
    is_extrapolated = isinstance(fill, str) and fill == "extrapolate"
    is_before = len(shape_of(y)) > 1 or is_extrapolated  # at a jump, where a place is given twice, SciPy has the value before it
    is_left = is_before & np.any(np.diff(raw(x)) == 0)
    cell = np.where(is_left, np.searchsorted(raw(x), raw(points)), np.searchsorted(raw(x), raw(points), "right"))
    cell = np.clip(cell, 1, shape_of(x)[0] - 1)
    low, high = cell - 1, cell
    start, first = pick(x, low), pick(y, low)
    width = pick(x, high) - start
    is_jump = (raw(width) == 0) & ~is_left  # at the last place of all: the last value
    share = np.where(is_jump, 1.0, (points - start) / np.where(is_jump, 1.0, width))
    found = (pick(y, high) - first) * _beside(share, y[None]) + first
    plain = as_array(raw(points))
    is_outside = (plain < raw(x)[0]) | (plain > raw(x)[-1])
    if is_extrapolated or not is_any(is_outside):
        return found
    of_points = functools.partial(scipy.interpolate.interp1d, axis=0, **options)
    if any(type(raw(one)) is Staged for one in (x, y, points)):
        beyond = as_instruction(lambda x, y, points: of_points(x, y)(points))(raw(x), raw(y), raw(points))
    else:
        beyond = on_plain(of_points(raw(x), raw(y)), points)
    return np.where(_beside(is_outside, y[None]), beyond, found)


on_line: Operation = composed(
    lambda x, y, points, options: scipy.interpolate.interp1d(x, y, axis=0, **options)(points),
    _on_line,
    arrays=3,
    name="scipy.interpolate.interp1d",
    batch=_of_points(lambda *args: on_line(*args)),
)
