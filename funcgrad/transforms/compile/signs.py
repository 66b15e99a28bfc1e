"""Signs: negatives moved behind products and into sums, where they cancel or become differences. No bit of a result changes.

(-a) b = -(a b) and (-a) / b = -(a / b), to the bit: rounding knows no sign. a + (-b) = a - b, a - (-b) = a + b, (-a) + (-a) = -(a + a).
But (-a) - b is not -(a + b) where both are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable, copied, replaced
from funcgrad.transforms.compile.dead import without_dead_code
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.subexpressions import with_common_subexpressions_merged

_LONGEST = 3000
"""Instructions of a program that is worth the time."""


def with_signs_moved(program: Program) -> Program:
    """The program with fewer negatives, if it is shorter for that."""
    count = sum(one.function is np.negative and _is_array(one.output) for one in program.instructions)
    if not count or len(program.instructions) > _LONGEST:
        return program
    before = without_dead_code(with_common_subexpressions_merged(program))
    after = without_dead_code(_moved(before))
    return after if len(after.instructions) < len(before.instructions) else before


def _is_array(output: Any) -> bool:
    return type(output) is Variable and output.kind is np.ndarray and output.dtype.kind == "f"


def _moved(program: Program) -> Program:
    moving = _Moving()
    for one in program.instructions:
        if not moving.instead.keys().isdisjoint(one.inputs):
            args, options = replaced((one.args, one.options), moving.now, Variable)
            one = Instruction(one.function, args, options, one.output, one.line)
        rule = _RULES.get(one.function)
        if rule is None or one.options or not _is_array(one.output):
            moving.made.append(one)
        else:
            rule(moving, one, *one.args)
    outputs, watched = replaced([program.outputs, program.watched], moving.now, Variable)
    return Program(program.name, program.inputs, moving.made, outputs, list(dict.fromkeys(watched)))


class _Moving:
    """A program while its negatives are moved.

    Attributes:
        made: its instructions.
        instead: values that others stand for.
    """

    def __init__(self) -> None:
        self.made: list[Instruction] = []
        self.instead: dict[Variable, Variable] = {}
        self._of: dict[Variable, Variable] = {}
        self._known: dict[Any, Variable] = {}

    def now(self, one: Variable) -> Variable:
        return self.instead.get(one, one)

    def bare(self, value: Any, output: Variable) -> Variable | None:
        """What a value is the negative of."""
        found = self._of.get(value) if type(value) is Variable else None
        return found if found is not None and found.dtype == output.dtype else None

    def add(self, function: Any, args: tuple[Any, ...], one: Instruction, output: Variable) -> Variable:
        """One more instruction, or an earlier one that is the same."""
        key = function, *(each if type(each) is Variable else id(each) for each in args), output.kind, output.dtype
        known = self._known.setdefault(key, output)
        if known is output:
            self.made.append(Instruction(function, args, {}, output, one.line))
        elif output is one.output:
            self.instead[output] = known
        return known

    def negative_of(self, x: Any, one: Instruction) -> None:
        """The result of an instruction is the negative of a value."""
        output = self.add(np.negative, (x,), one, one.output)
        if _is_array(x):
            self._of[output] = x

    def negative(self, one: Instruction, x: Any) -> None:
        bare = self.bare(x, one.output)
        if bare is not None and bare.shape == one.output.shape and bare.kind is one.output.kind:
            self.instead[one.output] = bare
        else:
            self.negative_of(x, one)

    def product(self, one: Instruction, x: Any, y: Any) -> None:
        """Of a product or a quotient the negatives cancel, or one is left."""
        a, b = self.bare(x, one.output), self.bare(y, one.output)
        args = (x if a is None else a, y if b is None else b)
        if (a is None) == (b is None):
            self.add(one.function, args, one, one.output)
        else:
            self.negative_of(self.add(one.function, args, one, copied(one.output)), one)

    def sum(self, one: Instruction, x: Any, y: Any) -> None:
        a, b = self.bare(x, one.output), self.bare(y, one.output)
        if b is not None and x is y:
            self.negative_of(self.add(np.add, (b, b), one, copied(one.output)), one)
        elif b is not None:
            self.add(np.subtract, (x, b), one, one.output)
        elif a is not None:
            self.add(np.subtract, (y, a), one, one.output)
        else:
            self.add(np.add, (x, y), one, one.output)

    def difference(self, one: Instruction, x: Any, y: Any) -> None:
        b = self.bare(y, one.output)
        self.add(np.subtract if b is None else np.add, (x, y if b is None else b), one, one.output)


_RULES: dict[Any, Any] = {
    np.negative: _Moving.negative,
    np.multiply: _Moving.product,
    np.divide: _Moving.product,
    np.add: _Moving.sum,
    np.subtract: _Moving.difference,
}
