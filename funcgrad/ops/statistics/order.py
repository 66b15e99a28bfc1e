"""Medians and quantiles, with and without NaNs.

One rule serves them all. Where in its sorted row an answer lies, between which two elements and how near to either, NumPy says itself: its
function is asked again for a row 0, 1, 2, ... in place of the elements. So every method of interpolation, weights and missing values are
served without a second table. The elements at these places, and those that are tied with them, form groups as in `sorting`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.mapped import OPEN, TRACERS, Mapped, inmost
from funcgrad.ops.arrays.creation import ascontiguousarray
from funcgrad.ops.elementwise import same
from funcgrad.ops.indexing import scatter
from funcgrad.ops.statistics.averages import beside
from funcgrad.ops.statistics.sorting import groups_of
from funcgrad.ops.structural import moveaxis, normalized_axes, ravel, reshape
from funcgrad.primitive import register
from funcgrad.rules import general
from funcgrad.rules.batching import by_examples, hidden, inner_mapping, looped, unhidden
from funcgrad.rules.values import keep_zeros, raw, refuse_out, shape_of, unbroadcast
from funcgrad.tape import Scope

_MISSING: Any = np._NoValue
_MIXES_AXES = np.lib.NumpyVersion(np.__version__) < "2.0.0"

# ------------------------------------------------------------------------------------------------ places

_PLOTTING_POSITIONS = {
    "linear": (1.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "interpolated_inverted_cdf": (0.0, 1.0),
}
"""alpha and beta of the methods that are continuous in q (Hyndman & Fan, 1996): the place is n q + alpha + q (1 - alpha - beta) - 1."""


class _Statistic:
    """One of the functions: how NumPy calls it, and what it makes of q and of NaNs.

    Attributes:
        function: NumPy's, as `(rows, q, method, weights) -> answers`.
        skips_nan: whether NaNs do not count.
        scale: the q that stands for all of a row, 1 or 100.
    """

    def __init__(self, function: Any, skips_nan: bool, scale: float) -> None:
        self.function = function
        self.skips_nan = skips_nan
        self.scale = scale

    def places(self, x: np.ndarray, q: Any, method: str, weights: Any, count: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Where the answers lie in the sorted rows, counted from 0, with fractions."""
        row = np.arange(x.shape[-1]).astype(_dtype_of_places(x))
        if weights is not None:
            weights = np.take_along_axis(weights, np.argsort(x, -1, kind="stable"), -1)
            row = np.broadcast_to(row, x.shape)
        if missing.any() and self.skips_nan:  # they come last
            row = np.where((row < count[..., None]) | (count == 0)[..., None], row, row.dtype.type(np.nan))
        place = np.asarray(self.function(row, q, method, weights))
        if row.ndim == 1:
            place = np.broadcast_to(place.reshape(np.shape(q) + (1,) * (x.ndim - 1)), np.shape(q) + x.shape[:-1])
        if missing.any() and not self.skips_nan:
            place = np.where(missing.any(-1), count - 1, place)  # a NaN is the answer
        return place

    def slope(self, q: Any, method: str, count: np.ndarray) -> np.ndarray:
        """The derivative of the places by q."""
        if method not in _PLOTTING_POSITIONS:
            return np.zeros(count.shape)
        alpha, beta = _PLOTTING_POSITIONS[method]
        q = np.reshape(q, np.shape(q) + (1,) * count.ndim) / self.scale
        place = count * q + alpha + q * (1 - alpha - beta) - 1
        return np.where((place >= 0) & (place <= count - 1), (count + 1 - alpha - beta) / self.scale, 0.0)


def _dtype_of_places(x: np.ndarray) -> np.dtype[Any]:
    """That of the elements, as NumPy computes with it, if it has all the whole numbers that are needed."""
    if x.dtype.kind in "fc" and x.shape[-1] <= 2.0 ** np.finfo(x.dtype).nmant:
        return x.real.dtype
    return np.dtype(float)


_FEW = 16


def _groups_at(x: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group of each element, and of the elements at some places of the sorted rows.

    Where these are few, no row is sorted as a whole, and the elements that are at none of them are in group 0 together.
    """
    wanted = np.unique(places)
    if wanted.size > _FEW:
        groups = groups_of(x)
        return groups, _rows_at(np.sort(groups, -1), places)
    found = np.partition(x, wanted, -1)[..., wanted]
    numbers = 1 + np.arange(found.size).reshape(found.shape)
    groups = np.zeros(x.shape, np.intp)
    for n in range(wanted.size):
        if n:
            np.copyto(numbers[..., n], numbers[..., n - 1], where=same(found[..., n], found[..., n - 1]))
        np.copyto(groups, numbers[..., n, None], where=same(x, found[..., n, None]))
    return groups, _rows_at(numbers, np.searchsorted(wanted, places))


def _rows_at(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The elements of each row at `places`, whose shape is that of q and then that of the rows."""
    ndim = rows.ndim - 1
    before = places.ndim - ndim
    flat = places.reshape(math.prod(places.shape[:before]), *places.shape[before:])
    return np.moveaxis(np.take_along_axis(rows, np.moveaxis(flat, 0, -1), -1), -1, 0).reshape(places.shape)


class _Neighbors:
    """The two elements that each answer lies between.

    Attributes:
        groups, sizes: the group of each element of x, and how many there are in each.
        below, above: the groups of the neighbors, of the shape of the answers.
        fraction: how far from below towards above; depends on q where that is a tracer.
        count: how many elements of each row count.
    """

    def __init__(self, statistic: _Statistic, x: Any, q: Any, method: str, weights: Any) -> None:
        x, plain = inmost(x), inmost(q)
        missing = np.isnan(x)
        count = np.sum(~missing, -1) if statistic.skips_nan else np.full(x.shape[:-1], x.shape[-1])
        place = statistic.places(x, plain, method, weights, count, missing)
        lower = np.clip(np.floor(place), 0, np.maximum(count - 2, 0)).astype(np.intp)
        both = np.stack([lower, np.minimum(lower + 1, np.maximum(count - 1, 0))])
        self.groups, (self.below, self.above) = _groups_at(x, both)
        self.sizes = np.maximum(np.bincount(self.groups.ravel(), minlength=int(self.above.max(initial=0)) + 1), 1).astype(x.real.dtype)
        self.count = count
        self.fraction: Any = place - lower
        if type(q) in TRACERS:
            self.fraction = self.fraction + statistic.slope(plain, method, count) * _lengthened(q - plain, count.ndim)

    def means(self, t: Any) -> Any:
        """The mean of t over each group."""
        return scatter(ravel(t), self.sizes.shape, self.groups.ravel()) / self.sizes

    def sides(self) -> list[tuple[np.ndarray, Any]]:
        """The groups of the neighbors with the weights that they have in the answers."""
        found = [(self.below, 1.0 - self.fraction), (self.above, self.fraction)]
        if self.count.all():
            return found
        return [(group, np.where(self.count > 0, weight, 0.0)) for group, weight in found]


def _lengthened(q: Any, ndim: int) -> Any:
    """A value of the shape of q with as many axes more as there are of rows."""
    return reshape(q, shape_of(q) + (1,) * ndim)


def _weighted(value: Any, weight: Any) -> Any:
    """The product; a neighbor whose weight is zero has no part, whatever its derivative."""
    product = value * weight if type(value) in TRACERS else weight * value
    return product if type(weight) in TRACERS else np.where(weight == 0, raw(product).dtype.type(0), product)


# ------------------------------------------------------------------------------------------------ the rule


def _examples_as_rows(rule: Any, is_pull: bool) -> Any:
    """A rule in x that takes the examples as one more axis of the rows: in answers it stands behind those of q."""

    def each(t: Any, ans: Any, x: Any, q: Any, method: str, weights: Any) -> Any:
        scope = inner_mapping(x, q, weights) if OPEN else None
        if scope is None:
            return rule(t, ans, x, q, method, weights)
        if type(q) in TRACERS or not scope.size:
            return looped(each, scope, (t, ans, x, q, method, weights), {})
        t, x, weights = (None if one is None else unhidden(one, scope) for one in (t, x, weights))
        found = each(np.moveaxis(t, 0, np.ndim(q)) if is_pull else t, None, x, q, method, weights)
        return hidden(found if is_pull else np.moveaxis(found, np.ndim(q), 0), scope)

    return each


def _order_statistic(function: Any, name: str, skips_nan: bool = False, scale: float = 1.0) -> Any:
    """A primitive `(x, q, method, weights)` over the rows of the last axis."""
    statistic = _Statistic(function, skips_nan, scale)

    def jvp_x(t: Any, ans: Any, *operands: Any) -> Any:
        neighbors = _Neighbors(statistic, *operands)
        means = neighbors.means(t)
        below, above = (_weighted(means[group], weight) for group, weight in neighbors.sides())
        return below + above

    def vjp_x(ct: Any, ans: Any, *operands: Any) -> Any:
        neighbors = _Neighbors(statistic, *operands)
        sizes = neighbors.sizes
        below, above = (scatter(ravel(_weighted(ct, weight)), sizes.shape, group.ravel()) for group, weight in neighbors.sides())
        return ((below + above) / sizes)[neighbors.groups]

    def by_q(x: Any, q: Any, method: str, weights: Any) -> Any:
        neighbors = _Neighbors(statistic, x, q, method, weights)
        means = neighbors.means(x)
        step = (means[neighbors.above] - means[neighbors.below]) * statistic.slope(raw(q), method, neighbors.count)
        return np.where(neighbors.count > 0, step, 0.0)

    def jvp_q(t: Any, ans: Any, x: Any, *operands: Any) -> Any:
        t = _lengthened(t, len(shape_of(x)) - 1)
        return keep_zeros(t, by_q(x, *operands) * t)

    def vjp_q(ct: Any, ans: Any, x: Any, q: Any, *operands: Any) -> Any:
        part = keep_zeros(ct, by_q(x, q, *operands) * ct)
        return reshape(unbroadcast(part, shape_of(q) + (1,) * (len(shape_of(x)) - 1)), shape_of(q))

    def batch(scope: Scope, x: Any, q: Any, method: str, weights: Any) -> Any:
        if type(q) in TRACERS or not scope.size:  # of no rows NumPy's answers have another shape
            return NotImplemented
        answer = primitive(unhidden(x, scope), q, method, None if weights is None else unhidden(weights, scope))
        return Mapped(np.moveaxis(answer, np.ndim(q), 0), scope)

    jvps = [_examples_as_rows(jvp_x, False), by_examples(jvp_q)]
    vjps = [_examples_as_rows(vjp_x, True), by_examples(vjp_q)]
    primitive = general(function, jvps, vjps, "x", name, batch=batch)
    return primitive


def _with_options(function: Any) -> Any:
    """NumPy's quantile or percentile, with weights only where they are given: NumPy 1 has none."""
    return lambda x, q, method, weights: function(x, q, -1, method=method, **({} if weights is None else {"weights": weights}))


_OF_ROWS = {
    np.median: _order_statistic(lambda x, q, method, weights: np.median(x, -1), "median"),
    np.nanmedian: _order_statistic(lambda x, q, method, weights: np.nanmedian(x, -1), "nanmedian", skips_nan=True),
    np.quantile: _order_statistic(_with_options(np.quantile), "quantile"),
    np.percentile: _order_statistic(_with_options(np.percentile), "percentile", scale=100.0),
    np.nanquantile: _order_statistic(_with_options(np.nanquantile), "nanquantile", skips_nan=True),
    np.nanpercentile: _order_statistic(_with_options(np.nanpercentile), "nanpercentile", skips_nan=True, scale=100.0),
}

# ------------------------------------------------------------------------------------------------ any axes


def _over_rows(function: Any, a: Any, axis: Any, keepdims: Any, q: Any = 0.5, method: str = "linear", weights: Any = None) -> Any:
    """The order statistic over any axes: they become the last axis."""
    a = np.asarray(a) if isinstance(a, (list, tuple, int, float)) else a
    q = np.asarray(q) if isinstance(q, (list, tuple)) else q
    shape = shape_of(a)
    axes = normalized_axes(None if axis in (0, -1) and not shape else axis, len(shape))
    kept = [size for n, size in enumerate(shape) if n not in axes]
    length = math.prod(shape[n] for n in axes)

    def as_rows(value: Any) -> Any:
        return reshape(moveaxis(value, axes, tuple(range(-len(axes), 0))), (*kept, length))

    if weights is not None:
        weights = raw(weights)  # an answer is an element, and the weights say which one: no derivative
        weights = ascontiguousarray(as_rows(np.broadcast_to(beside(weights, shape, axis), shape)))
    answer = _OF_ROWS[function](as_rows(a), q, method, weights)
    if keepdims is _MISSING or not keepdims:
        return answer
    whole = shape_of(q) + tuple(1 if n in axes else size for n, size in enumerate(shape))
    return reshape(answer if whole else reshape(answer, (1,)), whole)  # an array without axes, not a number


def _median_of(function: Any) -> Any:
    name = function.__name__

    def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
        refuse_out(name, out)
        return _over_rows(function, a, axis, keepdims) if np.size(raw(a)) else function(raw(a), axis, keepdims=keepdims)

    return median


def _quantile_of(function: Any) -> Any:
    name = function.__name__

    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Any:
        refuse_out(name, out)
        if _MIXES_AXES and name.startswith("nan") and np.ndim(raw(q)) > 1:
            raise NoRuleError(f"np.{name} of NumPy 1 mixes up the axes of a q that has two: use a vector, and np.reshape")
        if not np.size(raw(a)):
            return function(
                raw(a), raw(q), axis, method=method, keepdims=keepdims, **({} if weights is None else {"weights": raw(weights)})
            )
        return _over_rows(function, a, axis, keepdims, q, method, weights)

    return quantile


for _function in _OF_ROWS:
    register(_function, (_median_of if "median" in _function.__name__ else _quantile_of)(_function))
