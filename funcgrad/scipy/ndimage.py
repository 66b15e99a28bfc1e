"""SciPy's image processing. On plain arrays all is SciPy's own; on tracers what stands here has derivatives, and the rest raises.

Interpolation has derivatives with respect to the array and the coordinates, of any order of spline and with every mode. A point that lies
exactly on a kink (on the grid, for order 1) counts as being just behind it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as _np
import scipy.ndimage as _ndimage

from funcgrad.errors import NoRuleError as _NoRuleError
from funcgrad.ops.arrays.creation import asarray as _asarray
from funcgrad.ops.scipy import ndimage as _ops
from funcgrad.rules.values import holds_tracer as _holds_tracer
from funcgrad.rules.values import raw as _raw
from funcgrad.rules.values import shape_of as _shape_of
from funcgrad.scipy.fallback import in_place_of as _in_place_of
from funcgrad.scipy.fallback import without_rules as _without_rules

# ------------------------------------------------------------------------------------------------ interpolation


@_in_place_of(_ndimage.map_coordinates, "input coordinates")
def map_coordinates(
    input: Any,  # noqa: A002
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """scipy.ndimage.map_coordinates, also with respect to the coordinates."""
    _ops.refuse_mode("map_coordinates", mode, output)
    return _ops.map_coordinates(_asarray(input), _asarray(coordinates), order, mode, cval, prefilter)


@_in_place_of(_ndimage.shift, "input shift")
def shift(
    input: Any,  # noqa: A002
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """scipy.ndimage.shift, also with respect to the shift."""
    _ops.refuse_mode("shift", mode, output)
    return _ops.shift(_asarray(input), _asarray(shift), order, mode, cval, prefilter)


@_in_place_of(_ndimage.affine_transform, "input matrix offset")
def affine_transform(
    input: Any,  # noqa: A002
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """scipy.ndimage.affine_transform, also with respect to matrix and offset."""
    _ops.refuse_mode("affine_transform", mode, output)
    x = _asarray(input)
    shape = _shape_of(x) if output_shape is None else tuple(output_shape)
    return _ops.affine_transform(x, _asarray(matrix), _asarray(offset), shape, order, mode, cval, prefilter)


@_in_place_of(_ndimage.spline_filter1d, "input")
def spline_filter1d(input: Any, order: int = 3, axis: int = -1, output: Any = _np.float64, mode: str = "mirror") -> Any:  # noqa: A002
    """scipy.ndimage.spline_filter1d, in double precision."""
    _ops.refuse_mode("spline_filter1d", mode, None if output is _np.float64 else output)
    return _ops.spline_filter1d(_asarray(input), order, axis % len(_shape_of(input)), mode)


@_in_place_of(_ndimage.spline_filter, "input")
def spline_filter(input: Any, order: int = 3, output: Any = _np.float64, mode: str = "mirror") -> Any:  # noqa: A002
    """scipy.ndimage.spline_filter, in double precision."""
    _ops.refuse_mode("spline_filter", mode, None if output is _np.float64 else output)
    return _ops.spline_filter(_asarray(input), order, mode)


# ------------------------------------------------------------------------------------------------ filters


def _filtering(function: Callable[..., Any], call: Callable[[Any, dict[str, Any]], Any]) -> Callable[..., Any]:
    """A filter with SciPy's own signature: `call(input, the other arguments)` without `output`."""
    signature = inspect.signature(function)

    def filtered(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        given = dict(bound.arguments)
        given.update(given.pop("kwargs", {}))
        _ops.refuse_mode(function.__name__, given["mode"], given.pop("output"))
        return call(_asarray(given.pop("input")), given)

    filtered.__name__ = filtered.__qualname__ = function.__name__
    filtered.__doc__ = f"scipy.ndimage.{function.__name__}."
    filtered.__signature__ = signature  # type: ignore[attr-defined]
    return _in_place_of(function, "input weights")(filtered)


def _with_static_weights(function: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, given: dict[str, Any]) -> Any:
        if _holds_tracer(given):
            raise _NoRuleError(f"scipy.ndimage.{function.__name__} has a derivative rule with respect to its input only")
        return operation(x, given.pop("mode"), given.pop("cval"), given)

    return _filtering(function, call)


gaussian_filter = _with_static_weights(_ndimage.gaussian_filter, _ops.gaussian_filter)
gaussian_filter1d = _with_static_weights(_ndimage.gaussian_filter1d, _ops.gaussian_filter1d)
gaussian_laplace = _with_static_weights(_ndimage.gaussian_laplace, _ops.gaussian_laplace)
uniform_filter = _with_static_weights(_ndimage.uniform_filter, _ops.uniform_filter)
uniform_filter1d = _with_static_weights(_ndimage.uniform_filter1d, _ops.uniform_filter1d)
laplace = _with_static_weights(_ndimage.laplace, _ops.laplace)
sobel = _with_static_weights(_ndimage.sobel, _ops.sobel)
prewitt = _with_static_weights(_ndimage.prewitt, _ops.prewitt)


def _with_weights(function: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, given: dict[str, Any]) -> Any:
        weights = _asarray(given["weights"])
        if given.get("axes") is not None:
            raise _NoRuleError(f"scipy.ndimage.{function.__name__} with axes has no derivative rule yet: give the weights axes of size 1")
        if _np.iscomplexobj(_raw(weights)):
            raise _NoRuleError(f"scipy.ndimage.{function.__name__} with complex weights has no derivative rule yet; with real ones it has")
        along = [given["axis"]] if "axis" in given else []
        return operation(x, weights, *along, given["mode"], given["cval"], given["origin"])

    return _filtering(function, call)


correlate = _with_weights(_ndimage.correlate, _ops.correlate)
convolve = _with_weights(_ndimage.convolve, _ops.convolve)
correlate1d = _with_weights(_ndimage.correlate1d, _ops.correlate1d)
convolve1d = _with_weights(_ndimage.convolve1d, _ops.convolve1d)


__getattr__, __dir__ = _without_rules(_ndimage)
