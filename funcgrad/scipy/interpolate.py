"""SciPy's interpolation. On plain arrays all is SciPy's own; on tracers what stands here has derivatives, and the rest raises.

Splines have derivatives with respect to the values, the places of the data, and the points where they are evaluated. Made of values that
`vmap` maps, an interpolant is one for each example, one after the other; the points of all examples are taken at once.
"""

from __future__ import annotations

from typing import Any

import numpy as _np
import scipy.interpolate as _interpolate

from funcgrad.errors import NoRuleError as _NoRuleError
from funcgrad.mapped import OPEN as _OPEN
from funcgrad.mapped import inmost as _inmost
from funcgrad.ops.arrays.creation import asarray as _asarray
from funcgrad.ops.scipy import interpolate as _ops
from funcgrad.ops.scipy.examples import over_examples as _over_examples
from funcgrad.rules.batching import as_instruction as _as_instruction
from funcgrad.rules.batching import inner_mapping as _inner_mapping
from funcgrad.rules.values import holds_tracer as _holds_tracer
from funcgrad.rules.values import raw as _raw
from funcgrad.rules.values import shape_of as _shape_of
from funcgrad.scipy.fallback import guarded as _guarded
from funcgrad.scipy.fallback import in_place_of as _in_place_of
from funcgrad.scipy.fallback import without_rules as _without_rules
from funcgrad.staged import Staged as _Staged


def _plain(value: Any) -> Any:
    """The plain value of a tracer. While a program is recorded nothing is read off it but its shape."""
    found = _raw(_asarray(value)) if _holds_tracer(value) else value
    return _np.zeros(found.shape, found.dtype) if type(found) is _Staged else found


def _places(value: Any) -> Any:
    """The same for what must increase. That it does is looked at wherever the program runs, by SciPy."""
    found = _plain(value)
    return _np.arange(float(len(found))) if type(_raw(value)) is _Staged else found


@_as_instruction
def _zero_if_increasing(x: Any) -> float:
    """0.0, which is added to breakpoints lest a program leave out to look at them.

    Raises:
        ValueError: they do not increase.
    """
    if (_np.diff(x) <= 0).any():
        raise ValueError("a program takes PPoly with increasing breakpoints")
    return 0.0


class _Named(type):
    """Classes whose instances SciPy's of the same name count for, and whose other attributes are SciPy's (`PPoly.from_spline`).

    Of mapped values an interpolant is made for each example.
    """

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if _OPEN and _inner_mapping(args, options) is not None:
            return _Each(cls, super().__call__, *args, **options)
        return super().__call__(*args, **options)

    def __getattr__(cls, name: str) -> Any:
        found = getattr(getattr(_interpolate, cls.__name__, None), name) if not name.startswith("_") else None
        if found is None:
            raise AttributeError(f"{cls.__name__} has no attribute {name!r}")
        return _guarded(found, f"scipy.interpolate.{cls.__name__}.{name}")

    def __instancecheck__(cls, value: Any) -> bool:
        if type(value) is _Each:
            return issubclass(value._kind, cls)
        kind = getattr(_interpolate, cls.__name__, None)
        return super().__instancecheck__(value) or (kind is not None and isinstance(value, kind))


_SAME = ("axis", "extrapolate", "method", "bounds_error", "fill_value")
"""Attributes that are no numbers of the interpolant's."""


class _Each:
    """An interpolant for each example of mapped values; what it is asked, each is asked. `_which` is the number of the example's."""

    def __init__(self, kind: Any, make: Any, *args: Any, **options: Any) -> None:
        self._kind = kind
        self._all: list[Any] = []
        self._which = self._asked(lambda *args, **options: self._numbered(make(*args, **options)), *args, **options)

    def _numbered(self, one: Any) -> Any:
        self._all.append(one)
        return _np.intp(len(self._all) - 1)

    def _asked(self, ask: Any, *args: Any, **options: Any) -> Any:
        ask.__name__ = self._kind.__name__
        return _over_examples(ask)(*args, **options)

    def _one(self, which: Any) -> Any:
        return self._all[int(which)]  # number 0 where there is no example: one that was made up

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._asked(lambda which, *args, **options: self._one(which)(*args, **options), self._which, *args, **options)

    def derivative(self, nu: int = 1) -> _Each:
        return _Each(PPoly, lambda which: self._one(which).derivative(nu), self._which)

    def antiderivative(self, nu: int = 1) -> _Each:
        return _Each(PPoly, lambda which: self._one(which).antiderivative(nu), self._which)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        first = getattr(self._all[0], name)
        if name in _SAME:
            return first
        if not callable(first):
            return self._asked(lambda which: getattr(self._one(which), name), self._which)

        def method(*args: Any, **options: Any) -> Any:
            return self._asked(
                lambda which, *args, **options: getattr(self._one(which), name)(*args, **options), self._which, *args, **options
            )

        return method

    def __repr__(self) -> str:
        return f"<{self._kind.__name__} for each example>"


class _Interpolant(metaclass=_Named):
    """An interpolant that may depend on tracers, beside SciPy's own of the same plain values.

    What is not defined here is SciPy's, where nothing is traced, and has no rule elsewhere.
    """

    def __init__(self, plain: Any, is_traced: bool) -> None:
        self._plain = plain
        self._is_traced = is_traced

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_plain", "_is_traced"):
            raise AttributeError(name)
        value = getattr(self._plain, name)
        if self._is_traced and name not in _SAME:
            raise _NoRuleError(f"scipy.interpolate.{type(self._plain).__name__}.{name} has no derivative rule yet")
        return value

    def __repr__(self) -> str:
        return f"<{'traced' if self._is_traced else 'plain'} {type(self._plain).__name__}>"


# ------------------------------------------------------------------------------------------------ piecewise polynomials


class PPoly(_Interpolant):
    """scipy.interpolate.PPoly with increasing breakpoints."""

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        plain = _interpolate.PPoly(_plain(c), _places(x), extrapolate, axis)
        c = _asarray(c)
        if type(_raw(x)) is _Staged:
            x = x + _zero_if_increasing(_raw(x))
        self._set(plain, _np.moveaxis(_np.moveaxis(c, axis + 1, 0), axis + 1, 0) if axis else c, x)

    def _set(self, plain: Any, c: Any, x: Any) -> None:
        super().__init__(plain, _holds_tracer(c, x))
        self._c = c if self._is_traced else plain.c
        self._x = _asarray(x) if self._is_traced else plain.x

    @property
    def c(self) -> Any:
        """The coefficients, the highest power first."""
        return self._c

    @property
    def x(self) -> Any:
        """The breakpoints."""
        return self._x

    def _check_increasing(self) -> None:
        if self._plain.x[0] > self._plain.x[-1]:
            raise _NoRuleError("scipy.interpolate.PPoly with decreasing breakpoints has no derivative rule yet: turn it round")

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the nu-th derivative, at some points."""
        if not self._is_traced and not _holds_tracer(x):
            return self._plain(x, nu, extrapolate)
        self._check_increasing()
        points, c, breaks = _asarray(x), self._c, self._x
        extrapolate = self._plain.extrapolate if extrapolate is None else extrapolate
        if isinstance(extrapolate, str) and extrapolate == "periodic":
            points = breaks[0] + (points - breaks[0]) % (breaks[-1] - breaks[0])
            extrapolate = False
        found = _ops.evaluate(c, breaks, points, nu, bool(extrapolate))
        axis, ndim = self._plain.axis, len(_shape_of(points))
        return _np.moveaxis(found, list(range(ndim, ndim + axis)), list(range(axis))) if axis else found

    def _like(self, plain: Any, c: Any) -> PPoly:
        made = object.__new__(type(self))
        made._set(plain, c, self._x)
        return made

    def derivative(self, nu: int = 1) -> PPoly:
        """The interpolant's nu-th derivative, as another."""
        plain = self._plain.derivative(nu)
        if not self._is_traced:
            return self._like(plain, plain.c)
        return self.antiderivative(-nu) if nu < 0 else self._like(plain, _ops.derived(self._c, nu))

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The interpolant's nu-th antiderivative, as another."""
        plain = self._plain.antiderivative(nu)
        if not self._is_traced:
            return self._like(plain, plain.c)
        self._check_increasing()
        return self.derivative(-nu) if nu < 0 else self._like(plain, _ops.antiderived(self._c, self._x, nu))

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b, also with respect to these."""
        if not self._is_traced and not _holds_tracer(a, b):
            return self._plain.integrate(a, b, extrapolate)
        self._check_increasing()
        extrapolate = self._plain.extrapolate if extrapolate is None else extrapolate
        if isinstance(extrapolate, str):
            raise _NoRuleError("scipy.interpolate.PPoly.integrate with periodic extrapolation has no derivative rule yet")
        return _ops.integral(self._c, self._x, a, b, bool(extrapolate))


def _in_front(y: Any, axis: int) -> Any:
    y = _asarray(y)
    return _np.moveaxis(y, axis, 0) if axis else y


class CubicSpline(PPoly):
    """scipy.interpolate.CubicSpline; values of derivatives in bc_type are static."""

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        if _holds_tracer(bc_type):
            raise _NoRuleError("scipy.interpolate.CubicSpline has no derivative rule with respect to the values in bc_type yet")
        plain = _interpolate.CubicSpline(_places(x), _plain(y), axis, bc_type, extrapolate)
        is_traced = _holds_tracer(x, y)
        self._set(plain, _ops.cubic(_asarray(x), _in_front(y, axis), bc_type) if is_traced else plain.c, x)


class CubicHermiteSpline(PPoly):
    """scipy.interpolate.CubicHermiteSpline."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        plain = _interpolate.CubicHermiteSpline(_places(x), _plain(y), _plain(dydx), axis, extrapolate)
        is_traced = _holds_tracer(x, y, dydx)
        self._set(plain, _ops.hermite(_asarray(x), _in_front(y, axis), _in_front(dydx, axis)) if is_traced else plain.c, x)


class PchipInterpolator(PPoly):
    """scipy.interpolate.PchipInterpolator."""

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        plain = _interpolate.PchipInterpolator(_places(x), _plain(y), axis, extrapolate)
        self._set(plain, _ops.pchip(_asarray(x), _in_front(y, axis)) if _holds_tracer(x, y) else plain.c, x)


# ------------------------------------------------------------------------------------------------ linear interpolation


class interp1d(_Interpolant):  # noqa: N801 - SciPy's name
    """scipy.interpolate.interp1d; of kind "linear" on tracers."""

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: Any = None,
        fill_value: Any = _np.nan,
        assume_sorted: bool = False,
    ) -> None:
        plain = _interpolate.interp1d(_places(x), _plain(y), kind, axis, copy, bounds_error, fill_value, assume_sorted)
        super().__init__(plain, _holds_tracer(x, y))
        self._kind = kind
        self._options = {"bounds_error": bounds_error, "fill_value": fill_value}
        self._axis = axis % len(_shape_of(_asarray(y)))
        self._data = _asarray(x), _in_front(y, self._axis)
        if not assume_sorted:
            order = _np.argsort(_raw(self._data[0]), kind="mergesort")
            self._data = self._data[0][order], self._data[1][order]

    def __call__(self, x: Any) -> Any:
        """The value at some points."""
        if not self._is_traced and not _holds_tracer(x):
            return self._plain(x)
        if self._kind not in ("linear", 1):
            raise _NoRuleError(f"scipy.interpolate.interp1d of kind {self._kind!r} has no derivative rule yet; CubicSpline and linear have")
        points = _asarray(x)
        found = _ops.on_line(*self._data, points, self._options)
        ndim = len(_shape_of(points))
        return _np.moveaxis(found, list(range(ndim, ndim + self._axis)), list(range(self._axis))) if self._axis else found


def _coordinates(xi: Any, count: int) -> Any:
    """Points as an array whose last axis has their coordinates."""
    if isinstance(xi, tuple):
        parts = [_asarray(part) for part in xi]
        shape = _np.broadcast_shapes(*map(_shape_of, parts))
        return _np.stack([_np.broadcast_to(part, shape) for part in parts], -1)
    xi = _asarray(xi)
    if len(_shape_of(xi)) > 1:
        return xi
    return _np.reshape(xi, (-1, 1) if count == 1 else (1, -1))


class RegularGridInterpolator(_Interpolant):
    """scipy.interpolate.RegularGridInterpolator; by the method "linear" on tracers."""

    def __init__(
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = _np.nan, **solver: Any
    ) -> None:
        grids = [_asarray(grid) for grid in points]
        plain = _interpolate.RegularGridInterpolator(tuple(map(_places, grids)), _plain(values), method, bounds_error, fill_value, **solver)
        super().__init__(plain, _holds_tracer(grids, values))
        self._fill = fill_value
        self._values = _asarray(values)
        self._sizes = [_shape_of(grid)[0] for grid in grids]
        self._grids = _np.concatenate(grids)

    def __call__(self, xi: Any, method: str | None = None, **options: Any) -> Any:
        """The value at some points, whose coordinates are in the last axis."""
        if not self._is_traced and not _holds_tracer(xi):
            return self._plain(xi, method, **options)
        method = self._plain.method if method is None else method
        if method != "linear" or options.get("nu") is not None:
            raise _NoRuleError(f"scipy.interpolate.RegularGridInterpolator by the method {method!r} has no derivative rule yet; linear has")
        points = _coordinates(xi, len(self._sizes))
        if self._plain.bounds_error:
            plain = _inmost(points)
            if any(type(one) is _Staged for one in (plain, _raw(self._values), _raw(self._grids))):
                return _ops.on_grid(self._values, self._grids, points, self._sizes, "raise")
            self._plain(plain)
        return _ops.on_grid(self._values, self._grids, points, self._sizes, None if self._plain.bounds_error else self._fill)


@_in_place_of(_interpolate.interpn, "points values xi")
def interpn(points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = _np.nan) -> Any:
    """scipy.interpolate.interpn."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


@_in_place_of(_interpolate.pchip_interpolate, "xi yi x")
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """scipy.interpolate.pchip_interpolate."""
    interpolant = PchipInterpolator(xi, yi, axis)
    return interpolant.derivative(der)(x) if isinstance(der, int) else [interpolant.derivative(nu)(x) for nu in der]


__getattr__, __dir__ = _without_rules(_interpolate)
