"""What the kinds do with single values: plain constants, shapes, summing back, exact zeros.

Owns the conversions between operands, residuals and cotangents. Knows no kind and no primitive.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy import ndarray

from funcgrad.errors import ConcretizationError, InputTypeError
from funcgrad.mapped import TRACERS, Mapped
from funcgrad.numbers import picked
from funcgrad.staged import Staged
from funcgrad.tape import Scope, protect
from funcgrad.tracer import Tracer, plain_array

NUMBERS = frozenset({float, int, np.float64})
"""Types of constants that need no look: they hold no memory that could change."""


def raw(value: Any) -> Any:
    """The plain value of a tracer; anything else as it is. Where the examples of a mapping are gone through, it may be in another one."""
    while type(value) is Tracer:
        value = value._primal
    return value


def holds_tracer(*values: Any) -> bool:
    """Whether a tracer is among the values, or in lists, tuples, dicts and arrays of objects of them."""
    waiting: list[Any] = list(values)
    while waiting:
        value = waiting.pop()
        if type(value) in TRACERS:
            return True
        if isinstance(value, (list, tuple)):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, np.ndarray) and value.dtype == object:
            waiting.extend(value.flat)
    return False


def plain_constant(value: Any, other: Any = None) -> Any:
    """A constant operand as NumPy will take it. `other` is the operand that it meets: with a float a complex number must be NumPy's.

    Raises:
        InputTypeError: it is no number and no array of numbers.
    """
    if type(value) is ndarray and value.dtype.kind == "f":
        return value
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    elif isinstance(value, (bool, int, float)) or type(value) in _VALUES:
        return value
    elif type(value) is complex:
        return np.complex128(value) if isinstance(other, float) else value
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "biufc":
        what = f"an array of dtype {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise InputTypeError(f"a tracer meets {what}: operands must be numbers, arrays of numbers or tracers")
    return plain_array(value) if isinstance(value, np.ndarray) else value


def as_array(value: Any) -> Any:
    """A plain value as an array; a mapped one as it is, and a tracer of the code around a mapping, which one example of it may be."""
    return value if type(value) in TRACERS else np.asarray(value)


def is_array(value: Any) -> bool:
    """Whether a plain value is an array or a scalar of NumPy's, or a mapped value."""
    return isinstance(value, (np.ndarray, np.generic)) or type(value) in _VALUES


def is_numeric(value: Any) -> bool:
    """Whether a value is a number or an array, be it plain, traced or mapped."""
    return type(value) in TRACERS or isinstance(value, (np.ndarray, np.generic, bool, int, float, complex))


def is_complex(value: Any) -> bool:
    """Whether a tracer, an array or a number is complex."""
    return getattr(value, "dtype", _FLOAT).kind == "c" or type(value) is complex


def real_part(value: Any) -> Any:
    """The real part of a tracer, an array or a number; of a real one itself."""
    return value.real if is_complex(value) else value


_FLOAT = np.dtype(float)


def keep(value: Any, scope: Scope) -> Any:
    """A constant for a record to keep, protected from changes meanwhile: a mapped value may stand for another one for a time."""
    if type(value) is ndarray:
        return protect(value, scope)
    return Mapped(value._primal, value._scope) if type(value) is Mapped else value


def as_python(answer: Any, operands: Any) -> Any:
    """Python numbers give a Python float, not a NumPy scalar."""
    if type(answer) is np.float64 and not any(isinstance(operand, (np.ndarray, np.generic)) for operand in operands):
        return float(answer)
    return answer


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a tracer, an array, a number or a list of them."""
    if isinstance(value, (list, tuple)):
        return (len(value), *(shape_of(value[0]) if value else ()))
    return getattr(value, "shape", ())


def placeholder(value: Any) -> Any:
    """Shape and dtype of an operand that a rule does not need the values of, in next to no memory."""
    if type(value) in _WITH_SHAPE:
        return np.ndarray(value.shape, value.dtype, np.zeros((), value.dtype), strides=(0,) * value.ndim)
    return value


_VALUES = frozenset({Mapped, Staged})
_WITH_SHAPE = frozenset({np.ndarray, Mapped, Staged, Tracer})


def unbroadcast(cotangent: Any, shape: tuple[int, ...]) -> Any:
    """Sum a cotangent over the axes along which an operand of this shape was stretched. The one place where that is done."""
    own = cotangent.shape if type(cotangent) is ndarray else shape_of(cotangent)
    if own == shape:
        return cotangent
    extra = len(own) - len(shape)
    if own[extra:] == shape and type(cotangent) is ndarray:  # a bias
        return total(cotangent if extra == 1 else cotangent.reshape(math.prod(own[:extra]), *shape))
    axes = (*range(extra), *(extra + axis for axis, size in enumerate(shape) if size == 1 and own[extra + axis] != 1))
    part = cotangent.sum(axis=axes) if type(cotangent) in TRACERS else np.add.reduce(cotangent, axis=axes)
    return part if part.shape == shape else part.reshape(shape)


_FEW = 1024
"""Up to so many rows the ones are kept; and up to so many numbers a sum by a product is as exact as NumPy's, which adds pairwise."""


def total(array: np.ndarray) -> Any:
    """The sum over the first axis. Of few numbers, or of the rows of a matrix, as a product: half of the time of np.add.reduce, or less."""
    rows = len(array)
    if rows <= _FEW and array.ndim <= 2:
        return cached_ones(rows, array.dtype).dot(array)
    if array.ndim == 2 and array.shape[1] > 1:
        return np.ones(rows, array.dtype).dot(array)
    return np.add.reduce(array, 0)


@functools.lru_cache(maxsize=64)
def cached_ones(size: int, dtype: np.dtype[Any]) -> np.ndarray:
    """What an array is multiplied with to be summed."""
    ones = np.ones(size, dtype)
    ones.setflags(write=False)
    return ones


def stretch(value: Any, shape: tuple[int, ...]) -> Any:
    """A tangent in the shape of the result that it belongs to."""
    return value if shape_of(value) == shape else np.broadcast_to(value, shape)


def keep_zeros(factor: Any, product: Any) -> Any:
    """The product of a cotangent (or tangent) with a partial, exactly zero where the cotangent is, be the partial infinite or NaN.

    Only where the product is NaN: elsewhere it must go on depending on both factors.
    """
    plain, zero = raw(product), raw(factor) == 0
    if type(plain) is float:
        return 0.0 if plain != plain and zero else product
    if type(plain) is Staged and plain.kind is float:
        operands = np.isnan(plain) & zero, 0.0, product
        return plain.recorded(picked, operands, {}) if product is plain else np.where(*operands)
    return np.where(np.isnan(plain) & zero, plain.dtype.type(0), product)


def keep_zero_factors(product: Any) -> Any:
    """A product `(t, factor)` that is exactly zero where either is: the rule of multiplication itself.

    Its factor may be a cotangent of an inner replay: exactly zero, while the tangent of the other operand is infinite or NaN.
    """

    def strong(t: Any, factor: Any) -> Any:
        return keep_zeros(factor, keep_zeros(t, product(t, factor)))

    return strong


def keep_zeros_in_sums(product: Any) -> Any:
    """A contraction `(t, *operands)` without its products of an exactly zero t and an operand that is not finite."""

    def strong(t: Any, *operands: Any) -> Any:
        plain = product(t, *operands)
        finite = [np.isfinite(raw(operand)) for operand in operands]
        clean = product(t, *(np.where(good, operand, 0.0) for good, operand in zip(finite, operands, strict=True)))
        at_fault = product(np.where(raw(t) == 0, 0.0, 1.0), *(np.where(good, 0.0, 1.0) for good in finite))
        return np.where(raw(at_fault) == 0, clean, plain)

    return strong


def refuse_out(name: str, out: Any) -> None:
    """An operation on tracers makes new values; it writes into nothing.

    Raises:
        ConcretizationError: an `out` array was given.
    """
    if out is not None:
        raise ConcretizationError(f"{name}(..., out=array) would write a tracer into an array: use the value that {name} returns")
