"""Histograms: counts are constants; sums of weights are linear in the weights; edges follow the least and the largest element."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, Mapped, is_any
from funcgrad.ops.arrays.ranges import linspace
from funcgrad.ops.extremes import max as max_of
from funcgrad.ops.extremes import min as min_of
from funcgrad.ops.structural import concatenate, ravel, reshape
from funcgrad.primitive import register_all
from funcgrad.rules import multilinear, nondifferentiable
from funcgrad.rules.batching import by_examples, in_front
from funcgrad.rules.values import as_array, raw, shape_of
from funcgrad.tape import Scope

digitize = nondifferentiable(np.digitize, in_front(np.digitize))

# ------------------------------------------------------------------------------------------------ edges


def _is_number(bins: Any) -> bool:
    """Whether bins are given by their number, or the name of a way to choose it."""
    return not isinstance(bins, (list, tuple)) and shape_of(bins) == ()


def _edges(a: Any, bins: Any, ends: Any, found: np.ndarray) -> Any:
    """The edges that NumPy found, as they follow from the elements or from the edges given."""
    if type(bins) in TRACERS and bins.shape:
        return bins
    if type(a) not in TRACERS or ends is not None or not _is_number(bins) or not a.size:
        return found
    first, last = min_of(a), max_of(a)
    is_one = raw(first) == raw(last)
    if is_any(is_one):
        half = np.where(is_one, 0.5, 0.0)
        first, last = first - half, last + half
    return linspace(first, last, found.size, dtype=found.dtype)


@by_examples
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """np.histogram_bin_edges."""
    return _edges(a, bins, range, np.histogram_bin_edges(raw(a), raw(bins), range, raw(weights)))


# ------------------------------------------------------------------------------------------------ weights


def _bins_of(a: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The number of the bin of each element; one more than there are, for those outside."""
    number = len(edges) - 1
    found = np.searchsorted(edges, a, "right") - 1
    found[a == edges[-1]] = number - 1
    found[(found < 0) | (found > number)] = number
    return found


def _pick_bins(ct: Any, w: Any, a: np.ndarray, bins: Any, ends: Any) -> Any:
    places = _bins_of(a, np.histogram_bin_edges(a, bins, ends))
    return concatenate([ct, np.zeros(1, raw(ct).dtype)])[places]


_weigh = multilinear(lambda w, a, bins, ends: np.histogram(a, bins, ends, weights=w)[0], _pick_bins, name="histogram")


def _pick_boxes(ct: Any, w: Any, sample: np.ndarray, *edges: np.ndarray) -> Any:
    shape = shape_of(ct)
    places = [_bins_of(column, one) for column, one in zip(sample.T, edges, strict=True)]
    is_outside = np.any([place == size for place, size in zip(places, shape, strict=True)], axis=0)
    flat = np.ravel_multi_index([np.minimum(place, size - 1) for place, size in zip(places, shape, strict=True)], shape)
    flat[is_outside] = ct.size
    return concatenate([ravel(ct), np.zeros(1, raw(ct).dtype)])[flat]


_weigh_boxes = multilinear(lambda w, sample, *edges: np.histogramdd(sample, edges, weights=w)[0], _pick_boxes, name="histogramdd")


def _bincount_mapped(scope: Scope, w: Any, x: Any, minlength: int) -> Any:
    """The examples of the weights count in bins of their own."""
    if not scope.size or x.ndim != 1 or shape_of(w) != x.shape or x.dtype.kind not in "iu" or (x < 0).any():
        return NotImplemented  # NumPy says what is wrong, and of no weights it counts integers
    size = max(minlength, int(x.max(initial=-1)) + 1)
    bins = np.arange(scope.size).reshape(-1, 1) * size + x.astype(np.intp)
    counts = _bincount(np.reshape(w._primal, (bins.size,)), bins.ravel(), scope.size * size)
    return Mapped(np.reshape(counts, (scope.size, size)), scope)


_bincount: Any = multilinear(
    lambda w, x, minlength: np.bincount(x, w, minlength), lambda ct, w, x, minlength: ct[x], name="bincount", batch=_bincount_mapped
)


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """np.bincount, linear in the weights."""
    x = as_array(raw(x))
    if type(x) is Mapped:
        return by_examples(bincount)(x, weights, minlength)
    return np.bincount(x, weights, minlength) if type(weights) not in TRACERS else _bincount(weights, x, minlength)


# ------------------------------------------------------------------------------------------------ histograms


@by_examples
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None) -> Any:  # noqa: A002
    """np.histogram, of elements, weights and edges."""
    plain = as_array(raw(a))
    counts, found = np.histogram(plain, raw(bins), range, weights=raw(weights))
    edges = _edges(a, bins, range, found)
    if type(weights) in TRACERS:
        counts = _weigh(ravel(weights), plain.ravel(), bins if _is_number(bins) else found, range)
    if not density:
        return counts, edges
    widths = (edges[1:] - edges[:-1]).astype(float, copy=False)
    return counts / widths / np.sum(counts), edges


@by_examples
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None) -> Any:  # noqa: A002
    """np.histogramdd, of elements, weights and edges."""
    is_table = not isinstance(sample, (list, tuple)) and len(shape_of(sample)) == 2
    plain = raw(sample) if is_table else np.stack([as_array(raw(column)) for column in sample], -1)
    columns = [sample[:, n] for n in np.arange(plain.shape[1])] if is_table else list(sample)
    given = [bins] * len(columns) if _is_number(bins) else list(bins)
    counts, found = np.histogramdd(plain, bins if _is_number(bins) else list(map(raw, given)), range, weights=raw(weights))
    ends = [None] * len(columns) if range is None else range
    edges = type(found)(_edges(*one) for one in zip(columns, given, ends, found, strict=True))
    if type(weights) in TRACERS:
        counts = _weigh_boxes(weights, plain, *found)
    if not density:
        return counts, edges
    total = np.sum(counts)
    for n, one in enumerate(edges):
        counts = counts / reshape(one[1:] - one[:-1], (1,) * n + (-1,) + (1,) * (len(edges) - 1 - n))
    return counts / total, edges


@by_examples
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None) -> Any:  # noqa: A002
    """np.histogram2d, of elements, weights and edges."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if not _is_number(bins) and len(bins) not in (1, 2):  # the edges of both
        bins = [np.asarray(bins) if isinstance(bins, (list, tuple)) else bins] * 2
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]


_OPERATIONS: dict[Any, Any] = {
    np.histogram_bin_edges: histogram_bin_edges,
    np.histogram: histogram,
    np.histogram2d: histogram2d,
    np.histogramdd: histogramdd,
    np.bincount: bincount,
}
register_all(_OPERATIONS)
