"""Averages and covariances, by NumPy's own steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, is_any, is_wrong
from funcgrad.ops.extremes import max as max_of
from funcgrad.ops.extremes import min as min_of
from funcgrad.ops.structural import concatenate, normalized_axes, reshape, transpose
from funcgrad.primitive import register_all
from funcgrad.rules.values import raw, refuse_out, shape_of
from funcgrad.tracer import Tracer

_MISSING: Any = np._NoValue
_KEEPS_ONE_ROW = np.lib.NumpyVersion(np.__version__) < "2.2.0"  # np.cov of a table of one row, whatever `rowvar`

# ------------------------------------------------------------------------------------------------ averages


def beside(weights: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Weights, given for all elements or along some axes, in a shape that broadcasts against the elements'."""
    weights = np.asarray(weights) if isinstance(weights, (list, tuple, int, float)) else weights
    if shape_of(weights) == shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalized_axes(axis, len(shape))
    if shape_of(weights) != tuple(shape[n] for n in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    weights = transpose(weights, tuple(int(n) for n in np.argsort(axes)))
    return reshape(weights, tuple(size if n in axes else 1 for n, size in enumerate(shape)))


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = _MISSING) -> Any:
    """np.average, of elements and weights."""
    a = a if type(a) in TRACERS else np.asarray(a)
    options = {} if keepdims is _MISSING else {"keepdims": keepdims}
    if weights is None:
        mean = np.mean(a, axis, **options)
        total = mean.dtype.type(a.size / mean.size)
    else:
        weights = beside(weights, shape_of(a), axis)
        dtype = np.result_type(a.dtype, weights.dtype, *(("f8",) if a.dtype.kind in "iub" else ()))
        weights = weights.astype(dtype, copy=False)
        total = np.sum(weights, axis, **options)
        if is_wrong(raw(total) == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        mean = np.sum(a * weights, axis, **options) / total
    if not returned:
        return mean
    return mean, total if shape_of(total) == mean.shape else +np.broadcast_to(total, mean.shape)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: Any = False) -> Any:
    """np.ptp: elements tied for an end share."""
    refuse_out("ptp", out)
    return max_of(a, axis, keepdims=keepdims) - min_of(a, axis, keepdims=keepdims)


# ------------------------------------------------------------------------------------------------ covariances


def _variables(m: Any, rowvar: bool, dtype: np.dtype[Any], keeps_one_row: bool) -> Any:
    """A matrix with a row for each variable."""
    table = (m if len(m.shape) == 2 else reshape(m, (1, -1))).astype(dtype, copy=False)
    return table if rowvar or m.ndim == 1 or (keeps_one_row and table.shape[0] == 1) else transpose(table)


def _checked_weights(weights: Any, name: str, count: int) -> Any:
    weights = weights.astype(float) if isinstance(weights, (np.ndarray, Tracer)) else np.asarray(weights, float)
    if name == "fweights" and is_wrong(raw(weights) != np.around(raw(weights))):
        raise TypeError("fweights must be integer")
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if is_wrong(raw(weights) < 0):
        raise ValueError(f"{name} cannot be negative")
    return weights


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """np.cov, by NumPy's own steps; `aweights` may be traced too."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    given = [one if isinstance(one, (np.ndarray, Tracer)) else np.asarray(one) for one in (m, y) if one is not None]
    for name, one in zip(("m", "y"), given):
        if one.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    dtype = np.dtype(dtype or np.result_type(*map(raw, given), np.float64))
    x = _variables(given[0], rowvar, dtype, _KEEPS_ONE_ROW)
    if x.shape[0] == 0:
        return np.array([]).reshape(0, 0)
    if y is not None:
        x = concatenate([x, _variables(given[1], rowvar, dtype, True)])
    if ddof is None:
        ddof = 0 if bias else 1
    frequencies = None if fweights is None else _checked_weights(fweights, "fweights", x.shape[1])
    weights = importance = None if aweights is None else _checked_weights(aweights, "aweights", x.shape[1])
    if frequencies is not None:
        weights = frequencies if weights is None else frequencies * weights
    mean, total = average(x, 1, weights, True)
    freedom = _degrees_of_freedom(x.shape[1], ddof, weights, importance, total[0])
    x = x - mean[:, None]
    other = transpose(x if weights is None else x * weights)
    if dtype.kind == "c":
        other = np.conj(other)
    found = np.dot(x, other) * np.true_divide(1, freedom)
    return np.squeeze(found.astype(dtype, copy=False))


def _degrees_of_freedom(count: int, ddof: int, weights: Any, importance: Any, total: Any) -> Any:
    if weights is None:
        freedom: Any = count - ddof
    elif ddof == 0:
        freedom = total
    elif importance is None:
        freedom = total - ddof
    else:
        freedom = total - ddof * sum(weights * importance) / total
    is_used_up = raw(freedom) <= 0
    if is_any(is_used_up):
        if is_wrong(is_used_up):
            warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=4)
        return np.where(is_used_up, 0.0, freedom) if type(is_used_up) in TRACERS else 0.0
    return freedom


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """np.corrcoef, by NumPy's own steps."""
    table = cov(x, y, rowvar, dtype=dtype)
    if table.ndim == 0:
        return table / table
    every = np.arange(table.shape[0])
    spread = np.sqrt(np.real(table[every, every]) if table.dtype.kind == "c" else table[every, every])
    table = table / spread[:, None] / spread[None, :]
    if table.dtype.kind == "c":
        return np.clip(np.real(table), -1, 1) + 1j * np.clip(np.imag(table), -1, 1)
    return np.clip(table, -1, 1)


_OPERATIONS: dict[Any, Any] = {
    np.average: average,
    np.ptp: ptp,
    np.cov: cov,
    np.corrcoef: corrcoef,
}
register_all(_OPERATIONS)
