"""Dead code: instructions whose results nothing needs."""

from __future__ import annotations

from funcgrad.instructions import Variable
from funcgrad.transforms.compile.program import Program


def without_dead_code(program: Program) -> Program:
    """The program without the instructions that no output depends on."""
    needed = {one for one in (*program.outputs, *program.watched) if type(one) is Variable}
    kept = []
    for instruction in reversed(program.instructions):
        output = instruction.output
        if output in needed if type(output) is Variable else not needed.isdisjoint(instruction.outputs):
            needed.update(instruction.inputs)
            kept.append(instruction)
    return program.with_instructions(kept[::-1])
