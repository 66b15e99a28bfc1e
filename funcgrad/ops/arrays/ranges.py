"""Evenly spaced numbers between traced ends: linspace, logspace, geomspace, arange."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, Mapped, lined_up
from funcgrad.ops.structural import expand_dims, is_constant, moveaxis, reshape
from funcgrad.primitive import register_all
from funcgrad.rules import general
from funcgrad.rules.batching import by_examples
from funcgrad.rules.values import raw, shape_of, unbroadcast
from funcgrad.tape import Scope

_numpys_arange: Any = np.arange
_numpys_linspace: Any = np.linspace


def _weights(start: Any, stop: Any, num: int, endpoint: bool) -> tuple[Any, Any]:
    """How much of either end is in each number, along a new axis in front of those of the ends."""
    dtype = np.finfo(np.result_type(raw(start), raw(stop), 0.0)).dtype
    ndim = len(np.broadcast_shapes(shape_of(start), shape_of(stop)))
    steps = np.arange(num, dtype=dtype).reshape((num,) + (1,) * ndim)
    steps = steps / dtype.type(max(num - 1 if endpoint else num, 1))
    return 1 - steps, steps


def _spaced(function: Any, partial: Any, keeps: str) -> Any:
    """A primitive in two ends; `partial(weight, ans, end)` is the derivative of its numbers in an end that has that weight in them."""

    def rules(n: int) -> tuple[Any, Any]:
        def jvp(t: Any, ans: Any, start: Any, stop: Any, num: int, endpoint: bool) -> Any:
            product = partial(_weights(start, stop, num, endpoint)[n], ans, (start, stop)[n]) * t
            return np.broadcast_to(product, (num, *np.broadcast_shapes(shape_of(start), shape_of(stop))))

        def vjp(ct: Any, ans: Any, start: Any, stop: Any, num: int, endpoint: bool) -> Any:
            product = partial(_weights(start, stop, num, endpoint)[n], ans, (start, stop)[n]) * ct
            return unbroadcast(np.sum(product, axis=0), shape_of((start, stop)[n]))

        return jvp, vjp

    def batch(scope: Scope, start: Any, stop: Any, num: int, endpoint: bool) -> Any:
        ends = lined_up((start, stop), scope)
        shape = np.broadcast_shapes(*map(shape_of, ends))  # NumPy 1 wants both of one shape
        ends = [one if shape_of(one) == shape else np.broadcast_to(one, shape) * 1.0 for one in ends]
        return Mapped(np.moveaxis(primitive(*ends, num, endpoint), 1, 0), scope)

    jvps, vjps = zip(rules(0), rules(1), strict=True)
    primitive = general(function, jvps, vjps, keeps, batch=batch)
    return primitive


_linspace = _spaced(np.linspace, lambda weight, ans, end: weight, keeps="")
_geomspace = _spaced(np.geomspace, lambda weight, ans, end: ans / end * weight, keeps="x ans")


def _placed(numbers: Any, dtype: Any, axis: int) -> Any:
    numbers = moveaxis(numbers, 0, axis) if axis else numbers
    return numbers if dtype is None else numbers.astype(dtype, copy=False)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, **device: Any
) -> Any:
    """np.linspace."""
    if is_constant(dtype):
        return _numpys_linspace(raw(start), raw(stop), num, endpoint, retstep, dtype, axis, **device)
    num = operator.index(num)
    numbers = _placed(_linspace(start, stop, num, bool(endpoint)), dtype, axis)
    if not retstep:
        return numbers
    intervals = num - 1 if endpoint else num
    return numbers, (stop - start) / intervals if intervals > 0 else np.nan


_BASE_MAY_BE_A_NUMBER = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
"""Before NumPy 2 it was made into an array always, and its dtype counted in full."""


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0) -> Any:
    """np.logspace, by NumPy's own steps."""
    if is_constant(dtype):
        return np.logspace(raw(start), raw(stop), num, endpoint, raw(base), dtype, axis)
    base = base if type(base) in TRACERS or type(base) in (float, int) else np.asarray(base)
    if shape_of(base) or not _BASE_MAY_BE_A_NUMBER:
        start, stop, base = (each if type(each) in TRACERS else np.asarray(each) for each in (start, stop, base))
        ndim = max(len(shape_of(each)) for each in (start, stop, base))
        start, stop, base = (reshape(each, (1,) * (ndim - len(shape_of(each))) + shape_of(each)) for each in (start, stop, base))
        base = expand_dims(base, axis)
    return _placed(np.power(base, linspace(start, stop, num, endpoint, axis=axis)), dtype, 0)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """np.geomspace."""
    if is_constant(dtype):
        return np.geomspace(raw(start), raw(stop), num, endpoint, dtype, axis)
    return _placed(_geomspace(start, stop, operator.index(num), bool(endpoint)), dtype, axis)


def _count(ans: Any) -> Any:
    return np.arange(ans.size, dtype=np.finfo(ans.dtype).dtype)


_arange = general(
    lambda start, step, stop, dtype: _numpys_arange(start, stop, step, dtype),
    jvps=[lambda t, ans, *_: np.broadcast_to(t, ans.shape), lambda t, ans, *_: _count(ans) * t],
    vjps=[lambda ct, ans, *_: np.sum(ct), lambda ct, ans, *_: np.sum(_count(ans) * ct)],
    keeps="ans",
    name="arange",
)


@by_examples
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, **options: Any) -> Any:
    """numpy.arange that also takes tracers: how many numbers there are has no derivative, the numbers have.

    Args:
        start: the first number, 0 if only one number is given.
        stop: the end, which does not belong to them.
        step: from one number to the next, 1 if not given.
        dtype: the result's; if None that which NumPy finds.
        **options: further ones of NumPy's, for plain numbers.

    Returns:
        An array, or a tracer where the start or the step is one.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda step: arange(0.0, 10.0, step).sum())(2.5)
        6.0
    """
    if not any(type(each) in TRACERS for each in (start, stop, step)):
        return _numpys_arange(start, stop, step, dtype, **options)
    start, stop = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    if is_constant(dtype):
        return _numpys_arange(raw(start), raw(stop), raw(step), dtype)
    return _arange(start, step, raw(stop), dtype)


_OPERATIONS: dict[Any, Any] = {np.linspace: linspace, np.logspace: logspace, np.geomspace: geomspace}
register_all(_OPERATIONS)
