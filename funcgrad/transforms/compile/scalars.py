"""Scalar programs: instructions on Python numbers as Python's own expressions.

Where all operands are Python numbers, arithmetic of Python's and the functions of `math` give what NumPy gives, thirty times faster. Where
they raise instead (a division by zero, an overflow, the logarithm of 0), NumPy has an answer: then the whole program is run again by
careful code, which asks for it (`on_numbers`).

A value that is used once is written where it is used. In a long program other values share names as soon as they are done with: Python
finds the first 256 variables of a function faster than the others.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable, type_of
from funcgrad.numbers import as_kind, picked
from funcgrad.primitive import EXPRESSIONS, SCALARS
from funcgrad.transforms.compile.program import Program

_REALS = (float, int, bool)
_MOST_OPERATIONS = 12
"""In one expression."""
_MOST_NAMES = 200
"""Without sharing."""
_OTHERS = {
    operator.gt: "x > y",
    operator.ge: "x >= y",
    operator.lt: "x < y",
    operator.le: "x <= y",
    operator.eq: "x == y",
    operator.ne: "x != y",
    picked: "y if x else z",
    np.maximum: "x if x >= y or x != x else y",
    np.minimum: "x if x <= y or x != x else y",
}


class _Form:
    """How a function of numbers is written.

    Attributes:
        is_once: whether each operand comes once, so that an expression may stand there.
    """

    __slots__ = ("_order", "_template", "is_once")

    def __init__(self, text: str) -> None:
        pieces = re.split(r"\b([xyz])\b", text)
        self._template = "%s".join(one.replace("%", "%%") for one in pieces[::2])
        self._order = ["xyz".index(one) for one in pieces[1::2]]
        self.is_once = len(set(self._order)) == len(self._order)

    def written(self, operands: list[str]) -> str:
        """With operands."""
        return self._template % tuple([operands[n] for n in self._order])


class Scalars:
    """The instructions of a program that are written as expressions of Python's.

    Args:
        program: the program.

    Attributes:
        names: for values that share names.
        inside: values that are written where they are used: their instructions have no line.
    """

    def __init__(self, program: Program) -> None:
        self.names: dict[Variable, str] = {}
        self.inside: set[Variable] = set()
        self._texts: dict[Variable, str] = {}
        self._open: set[Variable] = set()
        self._forms: dict[Any, _Form | None] = {}
        self._form_of: dict[Variable, _Form] = {}
        self._calls: dict[_Form, Any] = {}
        self._used: set[Variable] = set()
        self._plan(program)
        if len(self._used) > _MOST_NAMES:
            self._share_names(program)

    def __bool__(self) -> bool:
        return bool(self._used) or bool(self.inside)

    def _form(self, instruction: Instruction) -> _Form | None:
        """How it is written; None where it is no expression of real numbers."""
        output = instruction.output
        if type(output) is not Variable or output.kind not in _REALS or instruction.options:
            return None
        for one in instruction.args:
            if type_of(one) not in _REALS:
                return None
        function = instruction.function
        if function not in self._forms:
            text = _OTHERS.get(function) or EXPRESSIONS.get(function)
            scalar = SCALARS.get(function)
            if text is None and scalar is not None:
                made = _Form(f"({', '.join('xyz'[: len(instruction.args)])})")
                self._calls[made] = scalar
                self._forms[function] = made
            else:
                self._forms[function] = None if text is None else _Form(text)
        return self._forms[function]

    def _plan(self, program: Program) -> None:
        """Which values are written where they are used."""
        uses: dict[Variable, int] = {}
        for one in (*program.outputs, *program.watched):
            if type(one) is Variable:
                uses[one] = 2
        for instruction in program.instructions:
            form = self._form(instruction)
            if form is None:
                for one in instruction.inputs:
                    uses[one] = 2  # it has a name
                continue
            self._form_of[instruction.output] = form
            for one in instruction.args:
                if type(one) is Variable:
                    uses[one] = uses.get(one, 0) + 1
        sizes: dict[Variable, int] = {}
        for instruction in program.instructions:
            form = self._form_of.get(instruction.output) if type(instruction.output) is Variable else None
            if form is None:
                continue
            size = 1
            if form.is_once:
                for one in instruction.args:
                    if type(one) is Variable and uses[one] == 1 and one in sizes and size + sizes[one] <= _MOST_OPERATIONS:
                        self.inside.add(one)
                        size += sizes[one]
            sizes[instruction.output] = size
        self._used = sizes.keys() - self.inside

    def _share_names(self, program: Program) -> None:
        """Names for values, free again after their last use."""
        inside, used = self.inside, self._used
        leaves: dict[Variable, list[Variable]] = {}
        last: dict[Variable, int] = {}
        for n, instruction in enumerate(program.instructions):
            found: list[Variable] = []
            output: Any = instruction.output
            is_ours = type(output) is Variable and output in self._form_of
            for one in instruction.args if is_ours else instruction.inputs:
                if type(one) is not Variable:
                    continue
                if one in inside:
                    found += leaves.pop(one)
                elif one in used:
                    found.append(one)
            if is_ours and output in inside:
                leaves[output] = found
            else:
                last.update(dict.fromkeys(found, n))
        for one in (*program.outputs, *program.watched):
            last.pop(one, None)
        ending: dict[int, list[Variable]] = {}
        for one, n in last.items():
            ending.setdefault(n, []).append(one)
        free: list[str] = []
        count = 0
        for n, instruction in enumerate(program.instructions):
            free += [self.names[one] for one in ending.get(n, ())]
            if type(instruction.output) is Variable and instruction.output in used:
                if not free:
                    free.append(f"s{count}")
                    count += 1
                self.names[instruction.output] = free.pop()

    def text(self, instruction: Instruction, text: Callable[[Any], str], constant: Callable[[Any], str]) -> str | None:
        """An instruction as an expression; None where it is none.

        Args:
            instruction: of the program, in its order.
            text: writes an argument.
            constant: gives a function a name.
        """
        output = instruction.output
        form = self._form_of.get(output) if type(output) is Variable else None
        if instruction.function is as_kind and output.kind in _REALS:
            return f"{output.kind.__name__}({text(instruction.args[0])})"
        if form is None:
            return None
        is_call = form in self._calls
        operands = [self._inner(one, is_call) if one in self.inside else text(one) for one in instruction.args]
        found = form.written(operands)
        if is_call:
            found = constant(self._calls[form]) + found
        if output in self.inside:
            self._texts[output] = found
            if not is_call:
                self._open.add(output)
        return found

    def _inner(self, value: Variable, is_alone: bool) -> str:
        """A value that is written where it is used, in brackets where other operands are beside it."""
        text = self._texts.pop(value)
        return f"({text})" if value in self._open and not is_alone else text
