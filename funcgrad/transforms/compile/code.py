"""Code generation: a program as one Python function of straight-line calls."""

from __future__ import annotations

import keyword
import linecache
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable
from funcgrad.primitive import SCALARS
from funcgrad.replay import has_nan
from funcgrad.staged import on_numbers
from funcgrad.transforms.compile.memory import Plan, planned
from funcgrad.transforms.compile.program import Program


class Code:
    """The generated function of a program.

    Attributes:
        text: its source.
        function: takes the inputs and the buffers, and gives the outputs in a tuple; None where a watched derivative has a NaN.
    """

    def __init__(self, program: Program) -> None:
        self._plan = planned(program)
        self._namespace: dict[str, Any] = {"copy": np.array, "are_clean": are_clean}
        self._names: dict[Any, str] = {}
        self.text = self._source(program)
        name = f"<program of {program.name}>"
        linecache.cache[name] = len(self.text), None, self.text.splitlines(True), name
        exec(compile(self.text, name, "exec"), self._namespace)
        self.function: Callable[..., Any] = self._namespace["program"]

    def arena(self) -> list[np.ndarray]:
        """Buffers for one run at a time."""
        memories = [np.empty(size, np.uint8) for size in self._plan.sizes]
        return [np.ndarray(shape, dtype, memories[n]) for n, shape, dtype in self._plan.layout]

    def _source(self, program: Program) -> str:
        plan = self._plan
        for n, one in enumerate(program.inputs):
            self._names[one] = f"x{n}"
        for one, n in plan.buffers.items():
            self._names[one] = f"t{n}"
        given = [*(f"x{n}" for n in range(len(program.inputs))), *(f"t{n}" for n in range(len(plan.layout)))]
        lines = [f"def program({', '.join(given)}):"]
        line = None
        for instruction in program.instructions:
            if instruction.line != line and instruction.line is not None:
                line = instruction.line
                lines.append(f"    # {line[0].rpartition('/')[2]}:{line[1]}: {linecache.getline(*line).strip()}")
            lines.append("    " + self._statement(instruction, plan))
        if program.watched:
            lines.append(f"    if not are_clean({', '.join(map(self._name, dict.fromkeys(program.watched)))}):")
            lines.append("        return None")
        lines.append(f"    return ({''.join(self._output(one, plan) + ', ' for one in program.outputs)})")
        return "\n".join(lines) + "\n"

    def _statement(self, instruction: Instruction, plan: Plan) -> str:
        output = instruction.output
        call = self._call(instruction)
        return call if type(output) is Variable and output in plan.buffers else f"{self._target(output)} = {call}"

    def _target(self, output: Any) -> str:
        if type(output) is tuple:
            return f"({', '.join(map(self._target, output))}{',' * (len(output) == 1)})"
        return self._name(output)

    def _call(self, instruction: Instruction) -> str:
        function, output = instruction.function, instruction.output
        given = [self._text(one) for one in instruction.args]
        if type(output) is Variable and output.is_number:
            scalar = SCALARS.get(function)
            if scalar is not None and not instruction.options:
                self._namespace["on_numbers"] = on_numbers
                return f"on_numbers({self._constant(function)}, {self._constant(scalar)}, ({', '.join(given)},))"
            return f"{output.kind.__name__}({self._plain_call(function, given, instruction.options)})"
        if output in self._plan.buffers:
            if "axis" in instruction.options or "keepdims" in instruction.options:
                options = instruction.options
                given += [self._text(options.get("axis")), "None", self._name(output), self._text(options.get("keepdims", False))]
            else:
                is_named = function in (np.maximum, np.minimum)  # which warn of a third argument
                given.append(f"out={self._name(output)}" if is_named else self._name(output))
            return f"{self._constant(function)}({', '.join(given)})"
        return self._plain_call(function, given, instruction.options)

    def _plain_call(self, function: Any, given: list[str], options: dict[str, Any]) -> str:
        return f"{self._constant(function)}({', '.join([*given, *(f'{key}={self._text(one)}' for key, one in options.items())])})"

    def _output(self, value: Any, plan: Plan) -> str:
        text = self._text(value)
        is_array = value.kind is np.ndarray if type(value) is Variable else isinstance(value, np.ndarray)
        return f"copy({text})" if is_array and (type(value) is not Variable or value in plan.shared) else text

    def _text(self, value: Any) -> str:
        kind = type(value)
        if kind is Variable:
            return self._name(value)
        if kind is tuple or kind is list:
            inside = ", ".join(map(self._text, value))
            return f"[{inside}]" if kind is list else f"({inside}{',' * (len(value) == 1)})"
        if kind is dict:
            return "{" + ", ".join(f"{key!r}: {self._text(one)}" for key, one in value.items()) + "}"
        if kind in (int, bool, str, type(None)) or (kind is float and np.isfinite(value)):
            return repr(value) if kind is not float or value >= 0 else f"({value!r})"
        if kind is slice:
            return f"slice({self._text(value.start)}, {self._text(value.stop)}, {self._text(value.step)})"
        return self._constant(value)

    def _name(self, variable: Variable | None) -> str:
        return "_" if variable is None else self._names.setdefault(variable, f"v{len(self._names)}")

    def _constant(self, value: Any) -> str:
        """The name of a function or of another constant."""
        name = getattr(value, "__name__", type(value).__name__)
        owner = getattr(value, "__self__", None)
        if isinstance(owner, np.ufunc):
            name = f"{owner.__name__}_{name}"
        name = re.sub(r"\W", "_", name).strip("_") if callable(value) else "c"
        if keyword.iskeyword(name) or not name.isidentifier():
            name = "f"
        tried, n = name, 1
        while tried in self._namespace and self._namespace[tried] is not value and not _is_same_method(self._namespace[tried], value):
            n += 1
            tried = f"{name}_{n}"
        self._namespace[tried] = value
        return tried


def _is_same_method(one: Any, other: Any) -> bool:
    owner = getattr(one, "__self__", None)
    return isinstance(owner, np.ufunc) and owner is getattr(other, "__self__", None) and one.__name__ == other.__name__


def are_clean(*values: Any) -> bool:
    """Whether no value has a NaN."""
    squares = 0.0
    for value in values:
        if type(value) is np.ndarray and value.flags.c_contiguous and value.dtype.char in "fd":
            flat = value if value.ndim == 1 else value.ravel()
            squares += flat.dot(flat)
        elif has_nan(value):
            return False
    return bool(squares == squares)
