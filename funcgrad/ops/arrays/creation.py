"""Arrays made of given numbers, which may be tracers: array, asarray and their like, full, r_ and c_.

NumPy hands few of these over to tracers, for none of their arguments is an array: `funcgrad.numpy` has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.mapped import TRACERS, inmost, one_example
from funcgrad.ops.arrays.ranges import arange, linspace
from funcgrad.ops.structural import broadcast_to, concatenate, copy, ravel, reshape, stack
from funcgrad.ops.updates import in_dtype
from funcgrad.primitive import register_all
from funcgrad.rules.values import holds_tracer, raw, shape_of
from funcgrad.staged import Staged


def laid_out(x: Any, order: str | None) -> Any:
    """x in C or F order in memory, if that is asked for and it is not."""
    if order not in ("C", "F") or not shape_of(x):
        return x
    flags = one_example(x).flags
    return x if (flags.c_contiguous if order == "C" else flags.f_contiguous) else copy(x, order)


def asarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    """numpy.asarray that also takes a tracer, and nested lists with tracers among their elements.

    Args:
        a: an array, a number, a tracer, or nested lists or tuples of these, of one shape at each level.
        dtype: the result's; if None that which NumPy finds.
        order: how it is to lie in memory, as NumPy's.
        **options: further ones of NumPy's; they make no difference for tracers, which are never changed in place.

    Returns:
        An array, or a tracer where a tracer is in it.

    Raises:
        ValueError: the elements of a list differ in shape.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: asarray([x, 2.0 * x, 5.0]).sum())(1.0)
        3.0
    """
    if not holds_tracer(a):
        return np.asarray(a, dtype, order, **options)
    if type(a) not in TRACERS:
        a = stack([asarray(element) for element in (a.tolist() if isinstance(a, np.ndarray) else a)])
    if dtype is not None:
        a = a.astype(dtype, copy=False)
    return laid_out(a, order)


def asanyarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    """numpy.asanyarray that also takes tracers, as `asarray` does.

    Args:
        a: as for `asarray`.
        dtype: the result's; if None that which NumPy finds.
        order: how it is to lie in memory, as NumPy's.
        **options: further ones of NumPy's.

    Returns:
        An array, or a tracer where a tracer is in it.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: asanyarray([x, 2.0 * x]).sum())(1.0)
        3.0
    """
    return asarray(a, dtype, order, **options) if holds_tracer(a) else np.asanyarray(a, dtype, order, **options)


def check_finite(x: Any) -> None:
    """Refuse what is infinite or NaN, where that can be known.

    Raises:
        ValueError: an element is.
    """
    plain = inmost(x)
    if type(plain) is not Staged:
        np.asarray_chkfinite(plain)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """numpy.asarray_chkfinite that also takes tracers, as `asarray` does.

    Args:
        a: as for `asarray`.
        dtype: the result's; if None that which NumPy finds.
        order: how it is to lie in memory, as NumPy's.

    Returns:
        An array, or a tracer where a tracer is in it.

    Raises:
        ValueError: an element is infinite or NaN.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: asarray_chkfinite([x, 2.0 * x]).sum())(1.0)
        3.0
    """
    result = asarray(a, dtype, order)
    check_finite(result)
    return result


def _contiguous(function: Any, a: Any, dtype: Any, order: str) -> Any:
    if not holds_tracer(a):
        return function(a, dtype)
    result = asarray(a, dtype, order)
    return result if shape_of(result) else reshape(result, np.shape(function(0.0)))


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """numpy.ascontiguousarray that also takes tracers, as `asarray` does.

    Args:
        a: as for `asarray`.
        dtype: the result's; if None that which NumPy finds.

    Returns:
        An array of one axis at least, or a tracer where a tracer is in it; row after row in memory.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: ascontiguousarray([x, 2.0 * x]).sum())(1.0)
        3.0
    """
    return _contiguous(np.ascontiguousarray, a, dtype, "C")


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """numpy.asfortranarray that also takes tracers, as `asarray` does.

    Args:
        a: as for `asarray`.
        dtype: the result's; if None that which NumPy finds.

    Returns:
        An array, or a tracer where a tracer is in it; column after column in memory.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: asfortranarray([x, 2.0 * x]).sum())(1.0)
        3.0
    """
    return _contiguous(np.asfortranarray, a, dtype, "F")


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """numpy.require that also takes tracers, as `asarray` does.

    Args:
        a: as for `asarray`.
        dtype: the result's; if None that which NumPy finds.
        requirements: NumPy's: "C", "F", "A", "W", "O", "E" or a list of these. A tracer is never written into, so "W" is met.

    Returns:
        An array, or a tracer where a tracer is in it.

    Raises:
        ValueError: both "C" and "F" are required.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: require([x, 2.0 * x], requirements="F").sum())(1.0)
        3.0
    """
    if not holds_tracer(a):
        return np.require(a, dtype, requirements)
    result = asarray(a, dtype)
    flags = np.require(one_example(result), None, requirements).flags
    return laid_out(result, "C" if flags.c_contiguous else "F" if flags.f_contiguous else None)


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", ndmin: int = 0, **options: Any) -> Any:  # noqa: A002
    """numpy.array that also takes a tracer, and nested lists with tracers among their elements.

    Args:
        object: as for `asarray`.
        dtype: the result's; if None that which NumPy finds.
        copy: as NumPy's; tracers are never changed in place, so it makes no difference for them.
        order: how it is to lie in memory, as NumPy's.
        ndmin: the least number of axes: axes of size 1 come in front.
        **options: further ones of NumPy's.

    Returns:
        An array, or a tracer where a tracer is in it.

    Raises:
        ValueError: the elements of a list differ in shape.

    Example:
        >>> import numpy
        >>> from funcgrad import grad
        >>> grad(lambda x: (array([x, x]) * numpy.array([2.0, 3.0])).sum())(1.0)
        5.0
    """
    if not holds_tracer(object):
        return np.array(object, dtype, copy=copy, order=order, ndmin=ndmin, **options)
    result = asarray(object, dtype, order)
    missing = ndmin - result.ndim
    return reshape(result, (1,) * missing + result.shape) if missing > 0 else result


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **options: Any) -> Any:
    """numpy.full that also takes a tracer to fill the array with.

    Args:
        shape: the result's.
        fill_value: a number, an array, a tracer, or a list of these, that broadcasts to that shape.
        dtype: the result's; if None that of `fill_value`.
        order: how it is to lie in memory, as NumPy's.
        **options: further ones of NumPy's.

    Returns:
        An array, or a tracer where `fill_value` is one.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: full((2, 3), x).sum())(1.0)
        6.0
    """
    if not holds_tracer(fill_value):
        return np.full(shape, fill_value, dtype, order, **options)
    filled = asarray(fill_value, dtype)
    return copy(broadcast_to(filled, shape), order) if type(filled) in TRACERS else np.full(shape, filled, dtype, order)


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **options: Any) -> Any:
    """numpy.full_like that also takes a tracer to fill the array with.

    Args:
        a: an array, a number or a tracer.
        fill_value: a number, an array, a tracer, or a list of these, that broadcasts to the shape.
        dtype: the result's; if None that of `a`.
        order: how it is to lie in memory, as NumPy's.
        subok: as NumPy's.
        shape: the result's; if None that of `a`.
        **options: further ones of NumPy's.

    Returns:
        An array, or a tracer where `fill_value` is one.

    Raises:
        InputTypeError: `fill_value` is a tracer, `a` of integers, and no dtype is given: the derivative would be lost.

    Example:
        >>> import numpy
        >>> from funcgrad import grad
        >>> grad(lambda x: full_like(numpy.ones(3), x).sum())(1.0)
        3.0
    """
    plain = raw(a)
    if type(plain) in TRACERS:
        plain = one_example(plain)
    if not holds_tracer(fill_value):
        return np.full_like(plain, fill_value, dtype, order, subok, shape, **options)
    like = np.empty_like(plain, dtype, order, subok, shape)
    filled = in_dtype(asarray(fill_value), like.dtype, "np.full_like") if dtype is None else asarray(fill_value, dtype)
    return full(like.shape, filled, None, "F" if like.flags.fnc else "C")


class Joiner:
    """numpy.r_ or numpy.c_ that also takes tracers: `r_[x, 0.0, y]` joins along the first axis, `c_[x, y]` columns side by side."""

    def __init__(self, joiner: Any, name: str) -> None:
        self._joiner = joiner
        self.__name__ = name

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not holds_tracer([[item.start, item.stop, item.step] if isinstance(item, slice) else item for item in items]):
            return self._joiner[key]
        if isinstance(items[0], str) and items[0] in ("r", "c"):
            raise NoRuleError('the directives "r" and "c" of r_ make a np.matrix, which cannot hold tracers: use np.concatenate')
        pieces = [item if isinstance(item, str) else _as_piece(item) for item in items]
        numbers = [piece for piece in pieces if not isinstance(piece, str)]
        ends = np.cumsum([0, *(np.size(raw(piece)) for piece in numbers)]).tolist()
        places = (_places(start, one_example(piece)) for start, piece in zip(ends, numbers, strict=False))
        # NumPy joins the places at which the numbers stand: that says where each of them goes.
        joined = self._joiner[tuple(piece if isinstance(piece, str) else next(places) for piece in pieces)]
        plain = [one_example(piece) if shape_of(piece) else raw(piece) for piece in numbers]
        dtype = np.result_type(*(value.dtype if hasattr(value, "dtype") else value for value in plain))
        whole = concatenate([ravel(piece if type(piece) in TRACERS else np.asarray(piece)) for piece in numbers])
        return whole.astype(dtype, copy=False)[joined]

    def __len__(self) -> int:
        return 0


def _places(start: int, like: Any) -> np.ndarray:
    """The numbers from `start` on, in the shape and the memory layout of an array."""
    places = np.empty_like(like, np.intp)
    places[...] = np.arange(start, start + places.size).reshape(places.shape)
    return places


def _as_piece(item: Any) -> Any:
    if not isinstance(item, slice):
        return item if type(item) in TRACERS or np.isscalar(item) else asarray(item)
    start, step = 0 if item.start is None else item.start, 1 if item.step is None else item.step
    return linspace(start, item.stop, int(abs(step))) if isinstance(step, complex) else arange(start, item.stop, step)


r_, c_ = Joiner(np.r_, "r_"), Joiner(np.c_, "c_")

_OPERATIONS: dict[Any, Any] = {
    np.full_like: full_like,
    getattr(np, "astype", None): lambda x, dtype, /, *, copy=True, device=None: x.astype(dtype),
}
register_all(_OPERATIONS)
