"""Integrals of samples: SciPy's values, differentiable in samples, abscissae and steps; the rules are compositions of other operations."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as _integrate

from funcgrad.errors import NoRuleError
from funcgrad.mapped import Mapped, inmost
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.structural import normalized
from funcgrad.primitive import Operation
from funcgrad.rules import composed
from funcgrad.rules.batching import in_front, unhidden
from funcgrad.rules.values import raw, shape_of
from funcgrad.scipy.fallback import in_place_of
from funcgrad.tape import Scope


def _along(axis: int, ndim: int, *parts: Any) -> list[tuple[Any, ...]]:
    """An index for each part of an axis."""
    return [tuple(part if n == axis % ndim else slice(None) for n in range(ndim)) for part in parts]


def _steps(x: Any, y: Any, axis: int) -> Any:
    """The differences of the abscissae, to be multiplied with those samples."""
    if len(shape_of(x)) == 1:
        return _beside_samples(np.diff(x), y, axis)
    return np.diff(np.broadcast_to(x, shape_of(y)), axis=axis)


def _means(y: Any, axis: int) -> Any:
    after, before = _along(axis, len(shape_of(y)), slice(1, None), slice(None, -1))
    return (y[after] + y[before]) / 2.0


def _trapezoid(y: Any, x: Any, dx: Any, axis: int) -> Any:
    steps = dx if x is None else _steps(x, y, axis)
    return np.sum(steps * _means(y, axis), axis)


def _cumulative_trapezoid(y: Any, x: Any, dx: Any, axis: int) -> Any:
    steps = dx if x is None else _steps(x, y, axis)
    return np.cumsum(steps * _means(y, axis), axis)


def _parabolas(y: Any, h0: Any, h1: Any) -> tuple[Any, Any]:
    """The integrals of the parabolas through three samples each, over their first and their second interval, along the last axis."""
    before, at, after = y[..., :-2], y[..., 1:-1], y[..., 2:]
    both = h0 + h1
    first = h0 / 6 * ((3 - h0 / both) * before + (3 + h0 * h0 / (both * h1) + h0 / both) * at - h0 * h0 / (both * h1) * after)
    second = h1 / 6 * ((3 - h1 / both) * after + (3 + h1 * h1 / (both * h0) + h1 / both) * at - h1 * h1 / (both * h0) * before)
    return first, second


def _by_parabolas(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The integrals over all intervals, the axis last: even ones by the parabola to the right, odd ones and the last by the one before."""
    y = np.moveaxis(y, axis, -1)
    size = shape_of(y)[-1]
    if x is None:
        dx = np.moveaxis(dx, axis, -1) if shape_of(dx) else dx
        steps = np.broadcast_to(dx, (*shape_of(y)[:-1], size - 1))
    else:
        steps = np.diff(x if len(shape_of(x)) == 1 else np.moveaxis(x, axis, -1))
    first, second = _parabolas(y, steps[..., :-1], steps[..., 1:])
    places = [n if n % 2 == 0 and n < size - 2 else size - 2 + n - 1 for n in range(size - 1)]
    return np.take(np.concatenate([first, second], -1), places, -1)


def _quotient(a: Any, b: Any) -> Any:
    """a / b, 0 where b is: so SciPy's Simpson rule goes about abscissae that are the same."""
    is_zero = raw(b) == 0
    return np.where(is_zero, 0.0, a / np.where(is_zero, 1.0, b))


def _simpson(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """Parabolas over pairs of intervals; over the last one, if it is left over, the parabola that ends there (Cartwright, 2017)."""
    size = shape_of(y)[axis]
    if x is None or size < 3:
        return _trapezoid(y, x, dx, axis) if size < 3 else np.sum(_by_parabolas(y, x, dx, axis), -1)
    y = np.moveaxis(y, axis, -1)
    steps = np.diff(x if len(shape_of(x)) == 1 else np.moveaxis(x, axis, -1))
    end = size - 1 - (size - 1) % 2
    h0, h1 = steps[..., 0:end:2], steps[..., 1:end:2]
    both, ratio = h0 + h1, _quotient(h0, h1)
    before = (2.0 - _quotient(1.0, ratio)) * y[..., 0:end:2]
    at, after = both * _quotient(both, h0 * h1) * y[..., 1:end:2], (2.0 - ratio) * y[..., 2 : end + 1 : 2]
    total = np.sum(both / 6.0 * (before + at + after), -1)
    if end == size - 1:
        return total
    h0, h1 = steps[..., -2], steps[..., -1]
    last = _quotient(2.0 * h1**2 + 3.0 * h0 * h1, 6.0 * (h0 + h1)) * y[..., -1]
    middle = _quotient(h1**2 + 3.0 * h0 * h1, 6.0 * h0) * y[..., -2]
    return total + last + middle - _quotient(h1**3, 6.0 * h0 * (h0 + h1)) * y[..., -3]


def _cumulative_simpson(y: Any, x: Any, dx: Any, axis: int) -> Any:
    if shape_of(y)[axis] < 3:
        return _cumulative_trapezoid(y, x, dx, axis)
    return np.moveaxis(np.cumsum(_by_parabolas(y, x, dx, axis), -1), -1, axis)


def _romb(y: Any, dx: Any, axis: int) -> Any:
    """Romberg's rule: Richardson's extrapolation of trapezoidal sums over every 1st, 2nd, 4th, ... sample."""
    y = np.moveaxis(y, axis, -1)
    step, table = 1, []
    while step < shape_of(y)[-1]:
        table.append(np.sum(_means(y[..., ::step], -1), -1) * (dx * step))
        step *= 2
    for order in range(1, len(table)):
        table = [fine + (fine - coarse) / (4**order - 1) for fine, coarse in itertools.pairwise(table)]
    return table[0]


def _from_behind(y: Any, axis: int) -> int:
    """The axis of an example's samples, which have one more in front, counted from the last on."""
    ndim = len(shape_of(y)) - 1
    return normalized(axis, ndim) - ndim


def _all_samples(y: Any, x: Any, axis: int, scope: Scope) -> tuple[Any, Any, int]:
    """Samples and abscissae of all examples, and their axis."""
    x = np.broadcast_to(_beside_samples(x, y, axis), shape_of(y))
    y, x = unhidden(y, scope), unhidden(x, scope)
    return y, x, _from_behind(y, axis)


def _beside_samples(x: Any, y: Any, axis: int) -> Any:
    """Abscissae with the axes of the samples."""
    if len(shape_of(x)) != 1:
        return x
    shape = [1] * len(shape_of(y))
    shape[axis] = -1
    return np.reshape(x, tuple(shape))


def _samples(function: Callable[..., Any], composition: Callable[..., Any]) -> Callable[..., Any]:
    """The operation on samples, abscissae and steps, of which SciPy takes one."""
    name = str(function.__name__)
    of_steps: Operation = composed(
        lambda y, dx, axis: function(y, dx=dx, axis=axis),
        lambda y, dx, axis: composition(y, None, dx, axis),
        arrays=2,
        name=f"integrate.{name}",
        batch=in_front(lambda y, dx, axis: of_steps(y, dx, _from_behind(y, axis))),
    )

    def at_once(scope: Scope, y: Any, x: Any, axis: int) -> Any:
        if scope.size:
            return Mapped(of_abscissae(*_all_samples(y, x, axis, scope)), scope)
        samples = unhidden(y, scope)  # of none SciPy's Simpson rule with abscissae makes other shapes
        none = of_steps(samples, 1.0, _from_behind(samples, axis))
        return Mapped(none.astype(np.result_type(inmost(y), inmost(x))), scope)

    of_abscissae: Operation = composed(
        lambda y, x, axis: function(y, x=x, axis=axis),
        lambda y, x, axis: composition(y, x, None, axis),
        arrays=2,
        name=f"integrate.{name}.x",
        batch=at_once,
    )

    def operation(y: Any, x: Any, dx: Any, axis: int) -> Any:
        y = asarray(y)
        return of_steps(y, dx, axis) if x is None else of_abscissae(y, asarray(x), axis)

    return operation


_operation = {
    function: _samples(function, composition)
    for function, composition in (
        (_integrate.trapezoid, _trapezoid),
        (_integrate.cumulative_trapezoid, _cumulative_trapezoid),
        (_integrate.simpson, _simpson),
        (_integrate.cumulative_simpson, _cumulative_simpson),
    )
}
_of_romb: Operation = composed(
    _integrate.romb, _romb, 2, "integrate.romb", batch=in_front(lambda y, dx, axis: _of_romb(y, dx, _from_behind(y, axis)))
)


@in_place_of(_integrate.trapezoid, "y x dx")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """scipy.integrate.trapezoid."""
    return _operation[_integrate.trapezoid](y, x, dx, axis)


@in_place_of(_integrate.simpson, "y x dx")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """scipy.integrate.simpson."""
    return _operation[_integrate.simpson](y, x, dx, axis)


def _after(initial: Any, sums: Any, axis: int) -> Any:
    """Running sums after the value that they start from."""
    shape = list(shape_of(sums))
    shape[axis] = 1
    return np.concatenate([np.broadcast_to(initial, shape), sums], axis)


@in_place_of(_integrate.cumulative_trapezoid, "y x dx")
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """scipy.integrate.cumulative_trapezoid."""
    sums = _operation[_integrate.cumulative_trapezoid](y, x, dx, axis)
    if initial is None:
        return sums
    if not np.isscalar(raw(initial)) or raw(initial) != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    return _after(np.zeros((), sums.dtype), sums, axis)


@in_place_of(_integrate.cumulative_simpson, "y x dx initial")
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """scipy.integrate.cumulative_simpson."""
    sums = _operation[_integrate.cumulative_simpson](y, x, dx, axis)
    return sums if initial is None else _after(asarray(initial), sums + initial, axis)


@in_place_of(_integrate.romb, "y dx")
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: Any = False) -> Any:
    """scipy.integrate.romb.

    Raises:
        NoRuleError: a table is to be shown.
    """
    if show:
        raise NoRuleError("scipy.integrate.romb(show=...) of tracers has no derivative rule: leave it out")
    return _of_romb(asarray(y), dx, axis)
