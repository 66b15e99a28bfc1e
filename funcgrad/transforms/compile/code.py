"""Code generation: a program as one Python function of straight-line calls."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable
from funcgrad.numbers import on_numbers
from funcgrad.replay import has_nan
from funcgrad.silence import quietly
from funcgrad.transforms.captured import Own
from funcgrad.transforms.compile.blocks import with_blocked_regions
from funcgrad.transforms.compile.memory import Plan, is_view, planned
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.scalars import Scalars
from funcgrad.transforms.compile.writer import Writer


class Code(Own):
    """The generated function of a program.

    Attributes:
        text: its source.
    """

    def __init__(self, program: Program, is_checked: bool = False) -> None:
        self._program = program
        program = with_blocked_regions(program)
        self._plan = planned(program)
        self._namespace: dict[str, Any] = {
            "copy": np.array,
            "vdot": np.vdot,
            "are_clean": are_clean,
            "on_numbers": on_numbers,
            "again": self._again,
        }
        self._checked: Code | None = None
        self.text = self._source(program, is_checked)
        name = f"<program of {program.name}>"
        linecache.cache[name] = len(self.text), None, self.text.splitlines(True), name
        exec(compile(self.text, name, "exec"), self._namespace)
        parts = [one.function.text for one in program.instructions if hasattr(one.function, "text")]  # regions, loops, branches
        self.text = "".join([*(f"{one}\n" for one in parts), self.text])
        self._functions: list[Callable[..., Any]] = []

    def run(self, leaves: Sequence[Any]) -> Sequence[Any] | None:
        """The outputs; None where a watched derivative has a NaN. Without floating-point warnings."""
        function = self.take()
        found = quietly(function, *leaves)
        self.give_back(function)
        return found  # type: ignore[no-any-return]

    def take(self) -> Callable[..., Any]:
        """The function of the inputs. Nobody else has it until it is given back: programs run on many threads, on buffers of their own."""
        try:
            return self._functions.pop()
        except IndexError:
            return self._function()

    def give_back(self, function: Callable[..., Any]) -> None:
        """Let others have the function."""
        self._functions.append(function)

    def _function(self) -> Callable[..., Any]:
        """The function on buffers of its own, for one run at a time."""
        memories = [np.empty(size, np.uint8) for size in self._plan.sizes]
        buffers = [np.ndarray(shape, dtype, memories[n]) for n, shape, dtype in self._plan.layout]
        return self._namespace["make"](*buffers)  # type: ignore[no-any-return]

    def _again(self, *inputs: Any) -> Any:
        """The same where Python's functions of numbers raise: each such call is NumPy's."""
        if self._checked is None:
            self._checked = Code(self._program, is_checked=True)
        return self._checked._function()(*inputs)

    def _source(self, program: Program, is_checked: bool) -> str:
        plan = self._plan
        inputs, buffers = [f"x{n}" for n in range(len(program.inputs))], [f"t{n}" for n in range(len(plan.layout))]
        parameters = self._parameters(inputs)
        names = dict(zip(program.inputs, inputs, strict=True)) | {one: f"t{n}" for one, n in plan.buffers.items()}
        scalars = None if is_checked else Scalars(program)
        names |= scalars.names if scalars else {}
        writer = Writer(self._namespace, names, plan.buffers, scalars)
        views, rest = _parted(program.instructions, plan)
        made = [f"    {line}\n" for line in writer.lines(views) if not line.startswith("#")]
        lines = self._lines(writer, program.with_instructions(rest), inputs)
        if scalars:
            lines = [
                "try:",
                *(f"    {line}" for line in lines),
                "except (ArithmeticError, ValueError):",
                f"    return again({', '.join(parameters)})",
            ]
        body = "\n".join(f"        {line}" for line in lines)
        return f"def make({', '.join(buffers)}):\n{''.join(made)}    def program({', '.join(parameters)}):\n{body}\n    return program\n"

    def _parameters(self, inputs: list[str]) -> list[str]:
        """The names of the function's parameters."""
        return inputs

    def _lines(self, writer: Writer, program: Program, inputs: list[str]) -> list[str]:
        """The body of the function."""
        lines = [*writer.lines(program.instructions), *self._look(writer, program.watched)]
        returned = set[Any]()
        return [*lines, f"return ({''.join(self._output(writer, one, returned) + ', ' for one in program.outputs)})"]

    def _look(self, writer: Writer, watched: Sequence[Variable]) -> list[str]:
        """Whether derivatives are clean."""
        return _nan_check(writer, list(dict.fromkeys(watched)))

    def _output(self, writer: Writer, value: Any, returned: set[Any]) -> str:
        """An output, with memory of its own."""
        text = writer.text(value)
        if type(value) is not Variable:
            return f"copy({text})" if isinstance(value, np.ndarray) else text
        is_shared = value in self._plan.shared or value in returned
        returned.add(value)
        return f"copy({text})" if is_shared and value.kind is np.ndarray else text


def _nan_check(writer: Writer, watched: Sequence[Variable]) -> list[str]:
    """A sum of squares is NaN if a term is, and takes one pass without a temporary array."""
    plain = [one for one in watched if one.kind is np.ndarray and one.dtype.char in "fd"]
    others = [one for one in watched if one not in plain]
    lines = []
    if plain:
        lines = [f"s = {' + '.join(_square(writer.name(one), len(one.shape)) for one in plain)}", "if s != s:", "    return None"]
    if others:
        lines += [f"if not are_clean({', '.join(map(writer.name, others))}):", "    return None"]
    return lines


def _square(name: str, ndim: int) -> str:
    return f"{name}.dot({name})" if ndim == 1 else f"vdot({name}, {name})"


def _parted(instructions: Sequence[Instruction], plan: Plan) -> tuple[list[Instruction], list[Instruction]]:
    """The views of buffers, which are made once, and the other instructions."""
    parts: tuple[list[Instruction], list[Instruction]] = ([], [])
    fixed: set[Variable] = set()
    for one in instructions:
        source = one.args[0] if one.args and type(one.args[0]) is Variable else None
        is_whole = source in plan.buffers
        is_early = is_whole and one.function is np.reshape and len(one.args) == 2 and not one.options  # a view, of a whole buffer
        is_early = is_early or ((is_whole or source in fixed) and is_view(one))
        if is_early:
            fixed.add(one.output)
        parts[not is_early].append(one)
    return parts


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
