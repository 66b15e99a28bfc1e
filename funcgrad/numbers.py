"""Functions of Python numbers: what stands for NumPy's in programs, and gives Python numbers again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import ConcretizationError
from funcgrad.primitive import FUNCTIONS, SCALARS

OPERATORS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "divmod": np.divmod,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "pow": np.power,
}
COMPARISONS: dict[str, Any] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
SIGNS: dict[str, Any] = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
"""By the names of Python's methods: NumPy's functions, of two operands, of two compared ones, and of one."""

COMPARED: dict[str, Any] = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
"""By the names of Python's methods: what gives a boolean of Python's."""


_AS_NAMED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "xor", "neg", "pos", "abs", "invert")
INTEGERS: dict[str, Any] = {name: getattr(operator, name) for name in _AS_NAMED}
INTEGERS |= {"and": operator.and_, "or": operator.or_, "divmod": divmod}
"""By the names of Python's methods: Python's operators on integers."""

_OF_INTEGERS = frozenset(
    {np.add, np.subtract, np.multiply, np.negative, np.positive, np.absolute, np.maximum, np.minimum, np.square}
    | {np.divide, np.floor_divide, np.remainder}
)
"""Functions that Python has for integers as NumPy has."""

_REALS = frozenset({float, int, bool})


def scalar_of(function: Any, kinds: Sequence[type]) -> Callable[..., Any] | None:
    """The function of Python's that gives the same as an elementwise one for numbers of these kinds; None where there is none."""
    if float in kinds:
        return SCALARS.get(function) if all(kind in _REALS for kind in kinds) else None
    return SCALARS.get(function) if function in _OF_INTEGERS and all(kind is int for kind in kinds) else None


def on_numbers(function: Any, scalar: Callable[..., Any], values: Sequence[Any]) -> Any:
    """An elementwise function of Python numbers: by Python, or by NumPy where Python raises."""
    try:
        return scalar(*values)
    except (ArithmeticError, ValueError):
        answer = function(*values)
        return answer.item() if isinstance(answer, (np.generic, np.ndarray)) else answer


def as_kind(x: Any, kind: Any, dtype: Any) -> Any:
    """A number as one of Python's, one of NumPy's, or an array without axes."""
    return np.asarray(x, dtype) if kind is np.ndarray else kind(x)


def whole(x: Any) -> int:
    """A power of integers that was an integer when a program was recorded.

    Raises:
        ConcretizationError: the exponent is negative now.
    """
    if type(x) is float:
        raise ConcretizationError(
            "an integer to a negative power is a float, and this program was recorded with an exponent for which it is an integer: make "
            "the base or the exponent a float"
        )
    return int(x)


def picked(condition: bool, x: float, y: float) -> float:
    """np.where of numbers."""
    return x if condition else y


FUNCTIONS.update({"number_picked": picked, "number_as": as_kind})
FUNCTIONS.update({f"number_{name}": function for name, function in (COMPARED | INTEGERS).items()})
