"""What the result of a call is like, found out by shapes and dtypes alone, without its arguments' values.

An elementwise function is asked with ones of one element in place of arrays; a function that moves or adds up elements with arrays whose
elements are one number in memory. Of other functions nothing is known here: they are to be called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.instructions import NUMBERS, Variable, copied, replaced
from funcgrad.numbers import as_kind, on_numbers, scalar_of
from funcgrad.primitive import ELEMENTWISE, is_elementwise

MOVING: set[Any] = {
    *(np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.broadcast_to, np.concatenate, np.stack),
    *(np.sum, np.mean, np.prod, np.max, np.min, np.zeros_like, np.ones_like, as_kind),
    *(ufunc.reduce for ufunc in (np.add, np.multiply, np.maximum, np.minimum)),
}
"""Functions whose results are like one another for all values of their first argument: they move or add up elements, and calling them
on made-up ones is cheap beside what it would take to find the real ones. Those of our own stay the calls that they are."""


def answer_of(function: Callable[..., Any], call: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    """What a call gives in a program: of Python numbers a Python number.

    Args:
        function: that is called.
        call: `(function, args, options)` -> what it gives, where it is no function of Python numbers.
        args: plain values.
        options: likewise, by keyword.
    """
    scalar = None if options else scalar_of(function, list(map(type, args)))
    if scalar is not None:
        return on_numbers(function, scalar, args)
    answer = call(function, args, options)
    if type(answer) in _SCALARS and function is not as_kind and not has_array(args):
        return answer.item()
    if function is np.where and type(answer) is np.ndarray and not answer.shape and all(type(one) in NUMBERS for one in args[1:]):
        return answer.item()
    return answer


_SCALARS = frozenset({np.float64, np.complex128, np.int64})


def has_array(values: Any) -> bool:
    """Whether an array or a scalar of NumPy's is among some arguments."""
    return any(isinstance(one, (np.ndarray, np.generic)) or (isinstance(one, (tuple, list)) and has_array(one)) for one in values)


class Forms:
    """What is known of results.

    Args:
        unknown: the type of values of which no more is known than their `_variable`.
    """

    def __init__(self, unknown: Any) -> None:
        self._unknown = unknown
        self._known: dict[Any, Variable] = {}

    def of(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """What the result is like: a variable, or a tuple of variables and values; None where only the call can tell, or it raises."""
        try:
            form = getattr(function, "form", None)
            if form is not None:
                return form(*args)
            if function in MOVING:
                return self._of_moved(function, args, options)
            if options:
                return None
            if function is np.matmul:
                return self._of_product(*args)
            is_known = is_elementwise(function) or function in ELEMENTWISE or (function is np.where and len(args) == 3)
            return self._of_elements(function, args) if is_known else None
        except Exception:  # whatever it is, the call itself says it better
            return None

    def _of_elements(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Variable | None:
        key, shapes = list[Any](), list[tuple[int, ...]]()
        for one in args:
            if type(one) is self._unknown:
                variable = one._variable
                shapes.append(variable.shape)
                key += variable.kind, variable.dtype, len(variable.shape)
            elif type(one) is np.ndarray:
                shapes.append(one.shape)
                key += np.ndarray, one.dtype, one.ndim
            elif type(one) in NUMBERS or isinstance(one, np.number):
                key += type(one), one, 0
            else:
                return None
        found = function, *key
        known = self._known.get(found)
        if known is None:
            answer = answer_of(function, _called, [self._one_like(one) for one in args], {})
            if getattr(answer, "size", 1) != 1:
                return None
            known = self._known[found] = Variable(answer)
        several = {*shapes} - {()}
        return copied(known, several.pop() if len(several) == 1 else np.broadcast_shapes(*shapes))

    def _one_like(self, value: Any) -> Any:
        if type(value) is self._unknown:
            variable = value._variable
            return np.ones((1,) * len(variable.shape), variable.dtype) if variable.kind is np.ndarray else variable.kind(1)
        return np.ones((1,) * value.ndim, value.dtype) if type(value) is np.ndarray else value

    def _of_moved(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Variable | None:
        if self._is_unknown_in(args[1:]) or self._is_unknown_in(options.values()):
            return None
        answer = answer_of(function, _called, replaced(args, stand_in, self._unknown), options)
        return Variable(answer) if isinstance(answer, (np.ndarray, np.generic, *NUMBERS)) else None

    def _is_unknown_in(self, values: Any) -> bool:
        return any(type(one) is self._unknown or (type(one) in (tuple, list) and self._is_unknown_in(one)) for one in values)

    def _of_product(self, x: Any, y: Any) -> Variable | None:
        before, after = x.shape, y.shape
        if min(len(before), len(after)) < 2 or before[-1] != after[-2]:
            return None
        shape = (*np.broadcast_shapes(before[:-2], after[:-2]), before[-2], after[-1])
        return copied(Variable(np.empty((0, 0))), shape, np.result_type(x.dtype, y.dtype))


def _called(function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    return function(*args, **options)


def stand_in(value: Any) -> Any:
    """What has the type, shape and dtype of a value of which no more is known, in the memory of one number."""
    variable = value._variable
    return _ones(variable.shape, variable.dtype) if variable.kind is np.ndarray else variable.kind(1)


@functools.lru_cache(256)
def _ones(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.broadcast_to(np.ones((), dtype), shape)
