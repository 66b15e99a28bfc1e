"""Statements: how an instruction is written as a line of Python."""

from __future__ import annotations

import keyword
import linecache
import math
import re
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable, type_of
from funcgrad.numbers import INTEGERS, scalar_of, whole
from funcgrad.ops.indexing import elements_of
from funcgrad.transforms.compile.scalars import Scalars
from funcgrad.transforms.compile.scatters import add_zero

_REDUCTIONS = frozenset({np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce})
_SIGNS = {np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/"}
_NUMPY_NUMBERS = frozenset({np.float64, np.float32})
_ARITHMETIC = frozenset(
    {np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin}
    | {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
)
"""Functions of two operands of one dtype."""


class Writer:
    """Writes instructions as statements.

    Attributes:
        namespace: what the names of constants and functions stand for.
        names: of variables.
        targets: the variables that are written into memory that is there: those with a buffer.
    """

    def __init__(
        self, namespace: dict[str, Any], names: dict[Variable, str], targets: Container[Variable], scalars: Scalars | None = None
    ) -> None:
        self.namespace = namespace
        self.names = names
        self._targets = targets
        self._scalars = scalars
        self._count = 0
        self._line: Any = None
        self._boxes: dict[Variable, str] = {}
        self._numbers: dict[Any, str | None] = {}
        self._functions: dict[Any, str] = {}
        self._before: list[str] = []

    def lines(self, instructions: Iterable[Instruction]) -> list[str]:
        """The statements, the user's lines between them as comments."""
        lines = []
        for instruction in instructions:
            line = instruction.line
            if line is not None and line != self._line:
                self._line = line
                lines.append(f"# {line[0].rpartition('/')[2]}:{line[1]}: {linecache.getline(*line).strip()}")
            statement = self._statement(instruction)
            lines += self._before
            self._before.clear()
            if statement:
                lines.append(statement)
        return lines

    def _statement(self, instruction: Instruction) -> str:
        output = instruction.output
        expression = self._scalars.text(instruction, self.text, self._constant) if self._scalars else None
        if self._scalars and output in self._scalars.inside:
            return ""
        if expression is not None:
            return f"{self.name(output)} = {expression}"
        if type(output) is not Variable:
            given = [self.text(one) for one in instruction.args]
            call = self._plain_call(instruction.function, given, instruction.options)
            return f"{self._target(output)} = {call}"
        if output in self._targets:
            return self._call_into(instruction)
        return f"{self.name(output)} = {self._call(instruction)}"

    def _target(self, output: Any) -> str:
        if type(output) is tuple:
            return f"({', '.join(map(self._target, output))}{',' * (len(output) == 1)})"
        return self.name(output)

    def _call_into(self, instruction: Instruction) -> str:
        """A call that writes its result into memory that is there. Positional arguments take half the time of `out=`."""
        function, options, into = instruction.function, instruction.options, self.name(instruction.output)
        if hasattr(function, "statement"):
            self.namespace["add_zero"] = add_zero
            return str(function.statement(into, [self.text(one) for one in instruction.args], self._index))
        given = self._operands(instruction)
        if _is_dot(instruction):  # the method finds its way to the same product sooner
            return f"{given[0]}.dot({given[1]}, {into})"
        if "axis" in options or "keepdims" in options:
            given += [self.text(options.get("axis")), "None", into, self.text(options.get("keepdims", False))]
        elif function is np.maximum or function is np.minimum:  # of these the third argument alone is deprecated
            given.append(f"out={into}")
        else:
            given.append(into)
        return f"{self._constant(function)}({', '.join(given)})"

    def _call(self, instruction: Instruction) -> str:
        function, output = instruction.function, instruction.output
        if output.kind in _NUMPY_NUMBERS and function in _SIGNS and all(type_of(one) is output.kind for one in instruction.args):
            return f" {_SIGNS[function]} ".join(map(self.text, instruction.args))  # a fifth of the time of the function
        method = self._method(instruction)
        if method is not None:
            return method
        if not output.is_number:
            options = instruction.options
            if function in _REDUCTIONS and len(instruction.args) == 1 and options.keys() <= {"axis", "keepdims"}:
                given = [*self._operands(instruction), self.text(options.get("axis", 0))]
                given += ["None", "None", self.text(options["keepdims"])] if options.get("keepdims") else []
                return f"{self._constant(function)}({', '.join(given)})"
            return self._plain_call(function, self._operands(instruction), options)
        given = [self.text(one) for one in instruction.args]
        scalar = scalar_of(function, [type_of(one) for one in instruction.args])
        if scalar is None or instruction.options:
            kind = self._constant(whole) if function is INTEGERS["pow"] and output.kind is int else output.kind.__name__
            return f"{kind}({self._plain_call(function, given, instruction.options)})"
        return f"on_numbers({self._constant(function)}, {self._constant(scalar)}, ({', '.join(given)},))"

    def _operands(self, instruction: Instruction) -> list[str]:
        """The arguments; numbers that meet an array of floating-point numbers as arrays of its dtype, which take half the time."""
        args = instruction.args
        if instruction.function in _ARITHMETIC and len(args) == 2:
            for one, other in (args, args[::-1]):
                if type(other) is Variable and other.kind is np.ndarray and other.dtype.kind == "f":
                    boxed = self._boxed_constant(one, other) if type(one) in (float, int) else self._boxed(one, other)
                    if boxed is not None:
                        return [boxed if each is one else self.text(each) for each in args]
        return [self.text(one) for one in args]

    def _boxed_constant(self, number: float, other: Variable) -> str | None:
        key = repr(number), other.dtype
        if key not in self._numbers:
            constant = _as_array(number, other.dtype)
            self._numbers[key] = None if constant is None else self._constant(constant, number)
        return self._numbers[key]

    def _boxed(self, number: Any, other: Variable) -> str | None:
        """The name of a number of the program as an array: made once, for all that it meets."""
        if type(number) is not Variable or number.kind is not float or other.dtype != np.float64 or not other.shape:
            return None
        name = self._boxes.get(number)
        if name is None:
            name = self._boxes[number] = f"b{len(self._boxes) + 1}"
            self.namespace["array"] = np.array
            self._before.append(f"{name} = array({self.text(number)})")
        return name

    def _method(self, instruction: Instruction) -> str | None:
        """A view as Python writes it: that takes a quarter of the time of the function."""
        function, args = instruction.function, instruction.args
        if _is_dot(instruction):
            return f"{self.text(args[0])}.dot({self.text(args[1])})"
        if instruction.options or not args or type(args[0]) is not Variable or args[0].kind is not np.ndarray:
            return None
        x = self.name(args[0])
        if function is elements_of:
            return f"{x}[{self._index(args[1])}]"
        if function is np.reshape and len(args) == 2:
            return f"{x}.reshape({self.text(args[1])})"
        if function is np.swapaxes and len(args[0].shape) == 2 and {args[1] % 2, args[2] % 2} == {0, 1}:
            return f"{x}.T"
        if function is np.transpose and len(args) == 2 and args[1] is not None:
            return f"{x}.T" if tuple(args[1]) == (1, 0) else f"{x}.transpose({self.text(args[1])})"
        return None

    def _index(self, index: Any) -> str:
        if type(index) is tuple and index:
            return ", ".join(map(self._index, index)) + "," * (len(index) == 1)
        if type(index) is slice:
            parts = ["" if one is None else self.text(one) for one in (index.start, index.stop, index.step)]
            return ":".join(parts if index.step is not None else parts[:2])
        return "..." if index is Ellipsis else self.text(index)

    def _plain_call(self, function: Any, given: list[str], options: dict[str, Any]) -> str:
        return f"{self._constant(function)}({', '.join([*given, *(f'{key}={self.text(one)}' for key, one in options.items())])})"

    def text(self, value: Any) -> str:
        """A variable, a constant, or a container of them."""
        kind = type(value)
        if kind is Variable:
            return self.name(value)
        if kind is tuple or kind is list:
            inside = ", ".join(map(self.text, value))
            return f"[{inside}]" if kind is list else f"({inside}{',' * (len(value) == 1)})"
        if kind is dict:
            return "{" + ", ".join(f"{key!r}: {self.text(one)}" for key, one in value.items()) + "}"
        if kind in (int, bool, str, type(None)) or (kind is float and np.isfinite(value)):
            return repr(value) if kind not in (int, float) or math.copysign(1.0, value) > 0.0 else f"({value!r})"
        if kind is slice:
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        return self._constant(value)

    def name(self, variable: Variable | None) -> str:
        """The name of a variable."""
        if variable is None:
            return "_"
        name = self.names.get(variable)
        if name is None:
            self._count += 1
            name = self.names[variable] = f"v{self._count}"
        return name

    def _constant(self, value: Any, number: float | None = None) -> str:
        """The name of a function or of another constant."""
        if isinstance(value, np.ufunc):
            if value not in self._functions:
                self._functions[value] = self._named(value, number)
            return self._functions[value]
        return self._named(value, number)

    def _named(self, value: Any, number: float | None) -> str:
        name = getattr(value, "__name__", type(value).__name__)
        owner = getattr(value, "__self__", None)
        if isinstance(owner, np.ufunc):
            name = f"{owner.__name__}_{name}"
        if number is not None:
            name = "n" + re.sub(r"\W", "_", repr(number).replace("-", "m"))
        else:
            name = re.sub(r"\W", "_", name).strip("_") if callable(value) else "c"
        if keyword.iskeyword(name) or not name.isidentifier():
            name = "f"
        tried, n = name, 1
        while tried in self.namespace and not _is_same(self.namespace[tried], value, number):
            n += 1
            tried = f"{name}_{n}"
        self.namespace.setdefault(tried, value)
        return tried


def _is_dot(instruction: Instruction) -> bool:
    """Whether a product is what the method `dot` gives."""
    if instruction.function not in (np.matmul, np.dot) or instruction.options or len(instruction.args) != 2:
        return False
    if not all(type(one) is np.ndarray or (type(one) is Variable and one.kind is np.ndarray) for one in instruction.args):
        return False
    x, y = instruction.args
    are_matrices = len(x.shape) == 2 and len(y.shape) == 2 and x.dtype == y.dtype and x.dtype.char in "fdFD"
    return bool(are_matrices or (instruction.function is np.dot and x.shape != () != y.shape))


def _as_array(number: float, dtype: np.dtype[Any]) -> np.ndarray | None:
    """A number as an array of a dtype; None where that is not what NumPy makes of it without a word."""
    with np.errstate(all="ignore"):
        made = np.array(number, dtype)
    return made if np.isfinite(made) and abs(number) <= 2**53 else None


def _is_same(known: Any, value: Any, number: float | None) -> bool:
    """Whether a constant is known already: as itself, as the same number, as another object for the same method of a ufunc."""
    if number is not None:
        return isinstance(known, np.ndarray) and known.ndim == 0 and known.dtype == value.dtype and known.tobytes() == value.tobytes()
    return known is value or _is_same_method(known, value)


def _is_same_method(one: Any, other: Any) -> bool:
    owner = getattr(one, "__self__", None)
    return isinstance(owner, np.ufunc) and owner is getattr(other, "__self__", None) and one.__name__ == other.__name__
