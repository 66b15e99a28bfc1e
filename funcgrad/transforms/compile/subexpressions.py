"""Common subexpressions: the same call of the same values is made once."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable, replaced
from funcgrad.transforms.compile.program import Program

_COMMUTATIVE = frozenset({np.add, np.multiply})
"""The order of their operands changes no bit of a result, but of a NaN's payload."""


def with_common_subexpressions_merged(program: Program) -> Program:
    """The program with each call made once. All its functions are pure."""
    known: dict[Any, Instruction] = {}
    instead: dict[Variable, Variable] = {}

    def now(one: Variable) -> Variable:
        return instead.get(one, one)

    kept = []
    for instruction in program.instructions:
        args, options = instruction.args, instruction.options
        if instead and not instead.keys().isdisjoint(instruction.inputs):
            args, options = replaced(args, now, Variable), replaced(options, now, Variable)
        output = instruction.output
        kinds = output.kind if type(output) is Variable else tuple([one.kind for one in instruction.outputs])
        if instruction.function in _COMMUTATIVE and type(args[0]) is type(args[1]) is Variable and id(args[0]) > id(args[1]):
            keys: tuple[Any, ...] = args[::-1]
        else:
            keys = tuple(map(_key, args))
        key = (instruction.function, kinds, *keys, _key(options) if options else None)
        first = known.get(key)
        if first is not None:
            instead.update(zip(instruction.outputs, first.outputs, strict=True))
            continue
        if args is not instruction.args:
            instruction = Instruction(instruction.function, args, options, output, instruction.line)
        kept.append(instruction)
        known[key] = instruction
    outputs, watched = replaced([program.outputs, program.watched], now, Variable)
    return dataclasses.replace(program, instructions=kept, outputs=outputs, watched=list(dict.fromkeys(watched)))


def _key(value: Any) -> Any:
    """What two equal arguments have in common, and different ones not."""
    kind = type(value)
    if kind is Variable:
        return value
    if kind is np.ndarray:
        return (kind, value.shape, value.dtype, value.tobytes()) if value.nbytes <= 1024 else (kind, id(value))
    if isinstance(value, (tuple, list)):
        return (kind, *map(_key, value))
    if kind is dict:
        return (kind, *((key, _key(one)) for key, one in sorted(value.items())))
    if kind is slice:
        return kind, value.start, value.stop, value.step
    if isinstance(value, (float, complex, np.generic)):
        return kind, repr(value)  # 0.0 is not -0.0
    try:
        hash(value)
    except TypeError:
        return kind, id(value)
    return kind, value
