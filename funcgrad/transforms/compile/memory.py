"""Buffers by liveness: which instructions write into memory that is used again, and which values may share memory.

An instruction gets a buffer where NumPy lets it say where the result goes (`out`), its result is an array, and the program does not return
it: what it returns is fresh. A buffer is free again after the last use of all values that may lie in it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable
from funcgrad.ops.indexing import elements_of
from funcgrad.primitive import is_elementwise
from funcgrad.transforms.compile.program import Program

_REDUCTIONS = frozenset(ufunc.reduce for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or))
_ACCUMULATIONS = frozenset((np.add.accumulate, np.multiply.accumulate))
_FRESH = frozenset(
    {np.concatenate, np.stack, np.where, np.take, np.take_along_axis, np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.cumsum}
    | {np.sort, np.argsort, np.argmax, np.argmin, np.outer, np.tensordot, np.zeros_like, np.ones_like, np.full_like, np.roll, np.repeat}
)
"""Functions whose results share no memory with their arguments, beside ufuncs and their methods."""
_VIEWS = frozenset({np.transpose, np.swapaxes, np.moveaxis, np.expand_dims})


def is_fresh(instruction: Instruction) -> bool:
    """Whether the results are known to share no memory with the arguments."""
    function = instruction.function
    return (
        isinstance(function, np.ufunc)
        or function in _FRESH
        or function in _REDUCTIONS
        or function in _ACCUMULATIONS
        or function is np.dot
        or getattr(function, "is_fresh", False)
    )


def takes_out(instruction: Instruction) -> bool:
    """Whether the result can be written into a buffer."""
    output, function = instruction.output, instruction.function
    if (
        type(output) is not Variable
        or output.kind is not np.ndarray
        or not output.shape
        or instruction.options.keys() - {"axis", "keepdims"}
    ):
        return False
    if function is np.matmul or function is np.dot:
        return not instruction.options and all(
            isinstance(one, (Variable, np.ndarray)) and one.dtype == output.dtype for one in instruction.args
        )
    if getattr(function, "takes_out", False):
        return True
    return (is_elementwise(function) and not instruction.options) or (function in _REDUCTIONS and len(instruction.args) == 1)


def is_view(instruction: Instruction) -> bool:
    """Whether the result lies in the memory of the first argument, and is the same part of it whatever the values are."""
    function, args = instruction.function, instruction.args
    if type(instruction.output) is not Variable or instruction.output.kind is not np.ndarray or instruction.inputs != [args[0]]:
        return False
    if function is elements_of:
        parts = args[1] if type(args[1]) is tuple else (args[1],)
        return all(one is None or one is Ellipsis or type(one) in (int, slice) for one in parts)
    return function in _VIEWS


@dataclasses.dataclass
class Plan:
    """Where values are.

    Attributes:
        buffers: for each variable that is written into a buffer, which.
        layout: of each buffer the number of its memory, the shape and the dtype.
        sizes: of each memory, in bytes.
        shared: outputs that may lie in the memory of an argument, of a buffer or of another output: they are to be copied.
    """

    buffers: dict[Variable, int]
    layout: list[tuple[int, tuple[int, ...], np.dtype[Any]]]
    sizes: list[int]
    shared: set[Variable]


def planned(program: Program) -> Plan:
    """A plan for the memory of a program."""
    sources = _sources(program)
    last: dict[Variable, int] = {}
    for n, instruction in enumerate(program.instructions):
        for one in instruction.inputs:
            if one.kind is np.ndarray:
                for source in sources[one]:
                    last[source] = n
    kept = {source for one in (*program.outputs, *program.watched) if type(one) is Variable for source in sources.get(one, (one,))}
    returned = {one for one in program.outputs if type(one) is Variable}
    plan = Plan({}, [], [], {one for one in returned if sources.get(one, {one}) != {one} or one in program.inputs})
    free: list[int] = []
    dying: dict[int, list[Variable]] = {}
    for one, n in last.items():
        dying.setdefault(n, []).append(one)
    memory_of: dict[Variable, int] = {}
    slots: dict[Any, int] = {}
    for n, instruction in enumerate(program.instructions):
        ended = [one for one in dying.get(n, ()) if one in memory_of and one not in kept]
        if takes_out(instruction) and instruction.output not in returned:
            output: Variable = instruction.output
            memory = None
            if is_elementwise(instruction.function):
                for one in ended:
                    if any(one is each for each in instruction.args) and one.shape == output.shape and one.dtype == output.dtype:
                        memory = memory_of.pop(one)
                        ended.remove(one)
                        break
            if memory is None:
                memory = _memory(plan, free, math.prod(output.shape) * output.dtype.itemsize)
            memory_of[output] = memory
            slot = (memory, output.shape, output.dtype)
            if slot not in slots:
                slots[slot] = len(plan.layout)
                plan.layout.append(slot)
            plan.buffers[output] = slots[slot]
            if output not in last and output not in kept:
                free.append(memory_of.pop(output))
        free += [memory_of.pop(one) for one in ended]
    return plan


def _sources(program: Program) -> dict[Variable, set[Variable]]:
    """For each variable that is an array those whose memory it may lie in: itself, where it has its own."""
    sources = {one: {one} for one in program.inputs}
    for instruction in program.instructions:
        if type(instruction.output) is Variable and instruction.output.kind is not np.ndarray:
            continue
        if is_fresh(instruction):
            sources.update((one, {one}) for one in instruction.outputs)
            continue
        is_view = instruction.function is np.broadcast_to  # of numbers too, and read-only
        found = {source for one in instruction.inputs if is_view or one.kind is np.ndarray for source in sources.get(one, (one,))}
        several = len(instruction.outputs) > 1
        for output in instruction.outputs:
            sources[output] = {output} if output.kind is not np.ndarray or not (found or several) else found | {output}
    return sources


def _memory(plan: Plan, free: list[int], size: int) -> int:
    """A free memory of that size, or the smallest that is larger by half at most, or a new one."""
    best = -1
    for place in range(len(free) - 1, -1, -1):  # of equal ones the last that was given free: it is in the cache
        found = plan.sizes[free[place]]
        if found == size:
            return free.pop(place)
        if size < found <= size + size // 2 and (best < 0 or found < plan.sizes[free[best]]):
            best = place
    if best >= 0:
        return free.pop(best)
    plan.sizes.append(size)
    return len(plan.sizes) - 1
