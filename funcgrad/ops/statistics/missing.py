"""The nan* family: reductions in which a NaN does not count, and has derivative zero. Medians and quantiles are in `order_statistics`.

Most are NumPy's own steps, written with differentiable operations: NaNs are replaced, then reduced as anything else. A slice that has
nothing but NaNs gives what NumPy gives, with derivative zero.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad.errors import ConcretizationError
from funcgrad.mapped import Mapped, is_any, is_wrong
from funcgrad.ops.analysis.running import cumprod
from funcgrad.ops.elementwise import where as where_of
from funcgrad.ops.extremes import extreme_of, placed
from funcgrad.ops.reductions import root
from funcgrad.primitive import register_all
from funcgrad.rules import general
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import raw, refuse_out

_MISSING: Any = np._NoValue


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not _MISSING and value is not None}


def _filled(a: Any, fill: float) -> Any:
    """The array with a number in place of NaNs."""
    a = np.asarray(a) if isinstance(a, (list, tuple)) else a
    return where_of(np.isnan(raw(a)), a.dtype.type(fill), a)


def _reduction(function: Any, fill: float) -> Any:
    """nansum or nanprod."""

    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: Any = _MISSING,
        initial: Any = _MISSING,
        where: Any = _MISSING,
    ) -> Any:
        refuse_out(f"nan{function.__name__}", out)
        return function(_filled(a, fill), axis, **_given(dtype=dtype, keepdims=keepdims, initial=initial, where=where))

    return reduce


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """np.nancumsum."""
    refuse_out("nancumsum", out)
    return np.cumsum(_filled(a, 0.0), axis, **_given(dtype=dtype))


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """np.nancumprod; exact where elements are zero."""
    return cumprod(_filled(a, 1.0), axis, dtype, out)


# ------------------------------------------------------------------------------------------------ moments


def _has_no_nan(a: Any) -> bool:
    """Whether it is of integers or booleans, as mapped values may be."""
    return type(a) is Mapped and a.dtype.kind not in "fc"


def _divided(total: Any, count: Any) -> Any:
    """A total over a number of elements, which may be zero, in the total's dtype."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient = total / count
    return quotient.astype(raw(total).dtype, copy=False)


def _inexact(dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = _MISSING, *, where: Any = _MISSING) -> Any:
    """np.nanmean, by NumPy's own steps."""
    refuse_out("nanmean", out)
    if _has_no_nan(a):
        return np.mean(a, axis, **_given(dtype=dtype, keepdims=keepdims, where=where))
    _inexact(dtype)
    options = _given(keepdims=keepdims, where=raw(where))
    count = np.sum(~np.isnan(raw(a)), axis, np.intp, **options)
    total = np.sum(_filled(a, 0.0), axis, **_given(dtype=dtype), **options)
    mean = _divided(total, count)
    if is_wrong(count == 0):
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=3)
    return mean


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: Any = _MISSING,
    *,
    where: Any = _MISSING,
    mean: Any = _MISSING,
    correction: Any = _MISSING,
) -> Any:
    """np.nanvar, by NumPy's own steps."""
    refuse_out("nanvar", out)
    if _has_no_nan(a):
        return np.var(a, axis, ddof=ddof, **_given(dtype=dtype, keepdims=keepdims, where=where, mean=mean, correction=correction))
    _inexact(dtype)
    if correction is not _MISSING:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    chosen = _given(where=raw(where))
    missing, filled = np.isnan(raw(a)), _filled(a, 0.0)
    if mean is _MISSING:
        count = np.sum(~missing, axis, np.intp, keepdims=True, **chosen)
        mean = _divided(np.sum(filled, axis, **_given(dtype=dtype), keepdims=True, **chosen), count)
    deviation = filled - mean
    deviation = where_of(missing, filled.dtype.type(0), deviation.astype(filled.dtype, copy=False))
    squares = np.real(deviation * np.conj(deviation)) if deviation.dtype.kind == "c" else deviation * deviation
    total = np.sum(squares, axis, **_given(dtype=dtype, keepdims=keepdims), **chosen)
    freedom = np.sum(~missing, axis, np.intp, **_given(keepdims=keepdims), **chosen) - ddof
    var = _divided(total, freedom)
    if is_wrong(freedom <= 0):
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=3)
    if is_any(freedom <= 0):
        var = where_of(freedom <= 0, raw(var).dtype.type(np.nan), var)[()]
    return var


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: Any = _MISSING,
    *,
    where: Any = _MISSING,
    mean: Any = _MISSING,
    correction: Any = _MISSING,
) -> Any:
    """np.nanstd; its derivative is 0 where the spread is."""
    refuse_out("nanstd", out)
    return root(nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


# ------------------------------------------------------------------------------------------------ extremes


nanargmax, nanargmin = map(placed, (np.nanargmax, np.nanargmin))

# ------------------------------------------------------------------------------------------------ numbers in place of NaN


def _where_finite(t: Any, ans: Any, x: Any, *_: Any) -> Any:
    """t where x is an ordinary number, part by part where it is complex."""
    plain = raw(x)
    if np.iscomplexobj(plain):
        parts = where_of(np.isfinite(np.real(plain)), np.real(t), 0.0), where_of(np.isfinite(np.imag(plain)), np.imag(t), 0.0)
        return parts[0] + 1j * parts[1]
    return where_of(np.isfinite(plain), t, 0.0)


_nan_to_num: Any = general(
    lambda x, nan, posinf, neginf: np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf),
    jvps=[_where_finite],
    vjps=[_where_finite],
    keeps="x",
    name="nan_to_num",
    batch=in_front(lambda x, *replacements: _nan_to_num(x, *replacements)),
)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """np.nan_to_num: what was replaced has derivative zero."""
    if not copy:
        raise ConcretizationError("nan_to_num(..., copy=False) would change a tracer in place: use the value that nan_to_num(x) returns")
    return _nan_to_num(x, nan, posinf, neginf)


_OPERATIONS: dict[Any, Any] = {
    np.nansum: _reduction(np.sum, 0.0),
    np.nanprod: _reduction(np.prod, 1.0),
    np.nancumsum: nancumsum,
    np.nancumprod: nancumprod,
    np.nanmean: nanmean,
    np.nanvar: nanvar,
    np.nanstd: nanstd,
    np.nanmax: extreme_of(np.nanmax, "nanmax", np.equal),
    np.nanmin: extreme_of(np.nanmin, "nanmin", np.equal),
    np.nan_to_num: nan_to_num,
}
register_all(_OPERATIONS)
