"""A program: the calls of NumPy's functions that a function makes for arguments of some shapes and dtypes, in order."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from funcgrad.instructions import Instruction, Variable


@dataclasses.dataclass
class Program:
    """Instructions with inputs and outputs.

    Attributes:
        name: the function's, for messages and the generated code.
        inputs: a variable for each leaf of the arguments.
        instructions: in an order in which each finds its inputs computed.
        outputs: a variable, or a constant, for each leaf of the result.
        watched: derivatives by plain rules: a NaN in one means that the careful program must answer.
        holds: constants that nobody may write into as long as the program lives.
    """

    name: str
    inputs: list[Variable]
    instructions: list[Instruction]
    outputs: list[Any]
    watched: list[Variable]
    holds: Any = None

    def with_instructions(self, instructions: Sequence[Instruction]) -> Program:
        """The same inputs and outputs from other instructions."""
        return dataclasses.replace(self, instructions=list(instructions))

    def __str__(self) -> str:
        names: dict[Variable, str] = {}

        def name(value: Any) -> str:
            if type(value) is Variable:
                if value not in names:
                    names[value] = f"v{len(names)}"
                return names[value]
            if isinstance(value, (tuple, list)):
                inside = ", ".join(map(name, value))
                return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
            return f"{type(value).__name__}{list(value.shape)}" if getattr(value, "shape", ()) else repr(value)

        lines = [f"{self.name}({', '.join(f'{name(one)}: {one}' for one in self.inputs)}):"]
        for one in self.instructions:
            called = getattr(one.function, "__name__", repr(one.function))
            given = [*map(name, one.args), *(f"{key}={name(value)}" for key, value in one.options.items())]
            lines.append(f"    {name(one.output)}: {_described(one.output)} = {called}({', '.join(given)})")
        lines.append(f"    return {', '.join(map(name, self.outputs))}")
        inside = [f"{what} of {each}" for one in self.instructions for what, each in getattr(one.function, "programs", ())]
        return "\n\n".join(["\n".join(lines), *inside])


def _described(output: Any) -> str:
    """What a result is like, or each of several."""
    return f"({', '.join(map(_described, output))}{',' * (len(output) == 1)})" if type(output) is tuple else str(output)


def is_like(value: Any, output: Variable) -> bool:
    """Whether a variable may stand for another one."""
    return type(value) is Variable and value.kind is output.kind and value.shape == output.shape and value.dtype == output.dtype
