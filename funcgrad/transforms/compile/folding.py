"""Constant folding: a call of which all arguments are constants is made once, when the program is."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.instructions import NUMBERS, Instruction, Variable, replaced
from funcgrad.silence import quietly
from funcgrad.transforms.compile.program import Program

_LARGEST = 1_000_000
"""Bytes of a constant: larger ones are cheaper to make than to keep."""


def with_constants_folded(program: Program) -> Program:
    """The program without the calls that depend on none of its inputs."""
    instead: dict[Variable, Any] = {}
    watched = set(program.watched)
    kept = []
    for one in program.instructions:
        args, options = one.args, one.options
        if instead:
            args, options = replaced((args, options), lambda each: instead.get(each, each), Variable)
        made = Instruction(one.function, args, options, one.output, one.line) if instead else one
        if not made.inputs and type(one.output) is Variable and one.output not in watched:
            found, constant = _constant(made)
            if found:
                instead[one.output] = constant
                continue
        kept.append(made)
    if not instead:
        return program
    outputs = replaced(program.outputs, lambda each: instead.get(each, each), Variable)
    return Program(program.name, program.inputs, kept, outputs, program.watched)


def _constant(instruction: Instruction) -> tuple[bool, Any]:
    """What an instruction gives, if it can be kept as a constant."""
    output: Variable = instruction.output
    if int(np.prod(output.shape, dtype=int)) * output.dtype.itemsize > _LARGEST:
        return False, None
    try:
        answer = quietly(lambda: instruction.function(*instruction.args, **instruction.options))
    except Exception:  # whoever runs the program is to see it
        return False, None
    if not isinstance(answer, (np.ndarray, np.generic, *NUMBERS)):
        return False, None
    if output.is_number and type(answer) is not output.kind and isinstance(answer, (np.generic, np.ndarray)):
        answer = output.kind(answer)
    found = Variable(answer)
    if found.kind is not output.kind or found.shape != output.shape or found.dtype != output.dtype:
        return False, None
    if type(answer) is np.ndarray and answer.base is not None:
        answer = answer.copy()  # no view of an array that might change
    return True, answer
