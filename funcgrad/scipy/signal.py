"""SciPy's signal processing. On plain arrays all is SciPy's own; on tracers what stands here has derivatives, and the rest raises."""

from __future__ import annotations

import functools as _functools
from typing import Any

import numpy as _np
import scipy.signal as _signal

from funcgrad.errors import NoRuleError as _NoRuleError
from funcgrad.ops.arrays.creation import asarray as _asarray
from funcgrad.ops.scipy import signal as _ops
from funcgrad.ops.structural import normalized_axes as _normalized_axes
from funcgrad.rules.values import raw as _raw
from funcgrad.rules.values import shape_of as _shape_of
from funcgrad.scipy.fallback import in_place_of as _in_place_of
from funcgrad.scipy.fallback import without_rules as _without_rules


def _pair(in1: Any, in2: Any) -> tuple[Any, Any, tuple[int, ...]]:
    x, y = _asarray(in1), _asarray(in2)
    if len(_shape_of(x)) != len(_shape_of(y)):
        raise ValueError(f"the two inputs should have the same number of dimensions, got {len(_shape_of(x))} and {len(_shape_of(y))}")
    return x, y, tuple(range(len(_shape_of(x))))


def _conjugate(x: Any) -> Any:
    return _np.conj(x) if _np.iscomplexobj(_raw(x)) else x


@_in_place_of(_signal.convolve, "in1 in2")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """scipy.signal.convolve."""
    x, y, axes = _pair(in1, in2)
    return _ops.convolve(x, y, mode, method, axes)


@_in_place_of(_signal.correlate, "in1 in2")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """scipy.signal.correlate."""
    x, y, _ = _pair(in1, in2)
    return _ops.correlate(x, _conjugate(y), mode, method)


@_in_place_of(_signal.fftconvolve, "in1 in2")
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """scipy.signal.fftconvolve."""
    x, y, all_axes = _pair(in1, in2)
    return _ops.fftconvolve(x, y, mode, None, all_axes if axes is None else _normalized_axes(axes, len(all_axes)))


@_in_place_of(_signal.oaconvolve, "in1 in2")
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """scipy.signal.oaconvolve."""
    x, y, all_axes = _pair(in1, in2)
    return _ops.oaconvolve(x, y, mode, None, all_axes if axes is None else _normalized_axes(axes, len(all_axes)))


def _is_swapped(x: Any, y: Any, mode: str, boundary: str, fillvalue: Any) -> bool:
    """Whether SciPy exchanges the inputs, for the second to be the smaller.

    Raises:
        NoRuleError: what lies beyond the edges is not zero.
    """
    if mode != "valid" and boundary == "fill" and _np.any(_raw(fillvalue) != 0):
        raise _NoRuleError("scipy.signal: convolutions in the plane with fillvalue have no derivative rule yet: pad the array before")
    return mode == "valid" and all(n < m for n, m in zip(_shape_of(x), _shape_of(y), strict=True))


@_in_place_of(_signal.convolve2d, "in1 in2")
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """scipy.signal.convolve2d."""
    x, y, _ = _pair(in1, in2)
    if _is_swapped(x, y, mode, boundary, fillvalue):
        x, y = y, x
    return _ops.convolve2d(x, y, mode, boundary)


@_in_place_of(_signal.correlate2d, "in1 in2")
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """scipy.signal.correlate2d."""
    x, y, _ = _pair(in1, in2)
    if _is_swapped(x, y, mode, boundary, fillvalue):
        return _ops.correlate2d(y, _conjugate(x), mode, boundary)[::-1, ::-1]
    return _ops.correlate2d(x, _conjugate(y), mode, boundary)


@_in_place_of(_signal.lfilter, "b a x")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """scipy.signal.lfilter, from rest; with respect to the coefficients too."""
    if zi is not None:
        raise _NoRuleError("scipy.signal.lfilter with zi has no derivative rule yet; without it, it has")
    return _ops.lfilter(_np.atleast_1d(_asarray(b)), _np.atleast_1d(_asarray(a)), _asarray(x), axis)


@_functools.wraps(_signal.sosfilt)
def _sosfilt(sos: Any, *args: Any, **options: Any) -> Any:
    """SciPy's wants to be allowed to write into the sections, which may be held (`funcgrad.tape.Holds`)."""
    return _signal.sosfilt(_np.array(sos), *args, **options)


@_in_place_of(_sosfilt, "x")
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """scipy.signal.sosfilt, from rest; the coefficients are static."""
    if zi is not None or _raw(sos) is not sos:
        raise _NoRuleError("scipy.signal.sosfilt has a derivative rule with respect to x only, without zi")
    return _ops.sosfilt(_asarray(x), _np.asarray(sos), axis)


@_in_place_of(_signal.detrend, "data")
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:  # noqa: A002
    """scipy.signal.detrend."""
    return _ops.detrend(_asarray(data), axis, type, bp)


__getattr__, __dir__ = _without_rules(_signal)
