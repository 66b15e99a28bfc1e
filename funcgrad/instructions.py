"""Variables and instructions: what programs consist of.

Owns their form. How they come about belongs to `funcgrad.staged`, what is made of them to `funcgrad.transforms.compile`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Line = tuple[str, int]
NUMBERS = (float, int, bool, complex)
"""Python's numbers: where all operands of an instruction are such, its result is one."""

_FLOAT64 = np.dtype(float)


class Trail(list[Any]):
    """What a value was before each step of a loop whose number of steps the program finds out.

    Attributes:
        example: a value of its kind, which is there even if there was no step.
    """

    __slots__ = ("example",)

    def __init__(self, example: Any) -> None:
        self.example = example


class Variable:
    """A value of a program.

    Attributes:
        kind: the type of the value: float, int, bool, complex, a scalar type of NumPy's, np.ndarray, or Trail.
        shape, dtype: NumPy's.
    """

    __slots__ = ("dtype", "kind", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, value: Any) -> None:
        self.kind: type = type(value)
        if self.kind is float:
            self.shape, self.dtype = (), _FLOAT64
            return
        if self.kind is Trail:
            self.shape, self.dtype = (), np.dtype(object)
            return
        self.shape = np.shape(value)
        self.dtype = value.dtype if isinstance(value, (np.ndarray, np.generic)) else np.result_type(value)

    def __str__(self) -> str:
        return self.kind.__name__ if self.is_number else f"{self.dtype}{list(self.shape)}"

    @property
    def is_number(self) -> bool:
        """Whether it is a number of Python's."""
        return self.kind in NUMBERS


def copied(variable: Variable, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Variable:
    """Another variable for values of the same kind."""
    made = Variable.__new__(Variable)
    made.kind = variable.kind
    made.shape = variable.shape if shape is None else shape
    made.dtype = variable.dtype if dtype is None else dtype
    return made


def variable_of(output: Any) -> Variable:
    """What an output of a program is like: a variable, or a constant."""
    return output if type(output) is Variable else Variable(output)


def type_of(value: Any) -> type:
    """The type that an argument or a result of a program has when it runs."""
    return value.kind if type(value) is Variable else type(value)


class Instruction:
    """A call in a program.

    Attributes:
        function: a ufunc or a function of NumPy's, or a pure function of funcgrad's own.
        args, options: its arguments, with variables where values of the program go, also in tuples, lists and dicts.
        output: a variable, or a tuple of variables, of None and of such tuples.
        line: where in the user's code it comes from: file and number.
    """

    __slots__ = ("_inputs", "args", "function", "line", "options", "output")

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], output: Any, line: Line | None
    ) -> None:
        self.function = function
        self.args = args
        self.options = options
        self.output = output
        self.line = line
        self._inputs: list[Variable] | None = None

    @property
    def inputs(self) -> list[Variable]:
        """The variables among its arguments."""
        if self._inputs is not None:
            return self._inputs
        found = self._inputs = []
        for one in self.args:
            if type(one) is Variable:
                found.append(one)
            elif type(one) is not float:
                _collect(one, found)
        if self.options:
            _collect(self.options, found)
        return found

    @property
    def outputs(self) -> list[Variable]:
        """The variables that it gives."""
        found: list[Variable] = []
        _collect(self.output, found)
        return found


def _collect(value: Any, found: list[Variable]) -> None:
    kind = type(value)
    if kind is Variable:
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for one in value:
            _collect(one, found)
    elif kind is dict:
        for one in value.values():
            _collect(one, found)


_ATOMS = frozenset({Variable, np.ndarray, np.float64, *NUMBERS, str, type(None), slice})
"""Types of values with nothing in them."""


def replaced(value: Any, by: Callable[[Any], Any], wanted: type) -> Any:
    """A structure of arguments with each value of a type replaced."""
    kind = type(value)
    if kind is wanted:
        return by(value)
    if kind is tuple or kind is list:
        found = [by(one) if type(one) is wanted else one if type(one) in _ATOMS else replaced(one, by, wanted) for one in value]
        return found if kind is list else tuple(found)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: replaced(one, by, wanted) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*(replaced(one, by, wanted) for one in value))
    return value
