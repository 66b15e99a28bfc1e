"""Blocked regions: elementwise instructions on large arrays run together, block after block, so that what lies between stays in cache.

A region is a maximal group of elementwise instructions of one shape, and of reductions of what they make, that no other instruction lies
between. It reads its inputs and writes its outputs once; everything else lives in buffers of one block, on each of several threads.

Sums are those of the blocks' sums: they differ in rounding from those of the whole.
"""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable, replaced
from funcgrad.primitive import is_elementwise
from funcgrad.transforms.compile.memory import planned, takes_out
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.threads import on_all
from funcgrad.transforms.compile.writer import Writer

SMALLEST = 100_000
"""Numbers of an array from which on a region pays: smaller arrays stay in cache as they are."""

BLOCK = 32_768
"""Numbers of a block at most."""

CACHE = 2_500_000
"""Bytes that the buffers of a block, inputs and outputs may take together; more where blocks would be smaller than `_LEAST`."""

_LEAST = 4_096
Shape = tuple[int, ...]


_REDUCTIONS = frozenset({np.add.reduce, np.maximum.reduce, np.minimum.reduce})


def with_blocked_regions(program: Program) -> Program:
    """The program with regions in place of their instructions."""
    keys = [_key(one) for one in program.instructions]
    if not any(keys):
        return program
    levels, groups = _levels(program, keys)
    order: dict[int, tuple[list[Instruction], dict[Shape, list[Instruction]]]] = {}
    for instruction, key, level in zip(program.instructions, keys, levels, strict=True):
        others, regions = order.setdefault(level, ([], {}))
        if key is None or groups[level, key] < 2:
            others.append(instruction)
        else:
            regions.setdefault(key, []).append(instruction)
    used: dict[Variable, int] = {}
    for one in (*(each for instruction in program.instructions for each in instruction.inputs), *program.outputs, *program.watched):
        if type(one) is Variable:
            used[one] = used.get(one, 0) + 1
    made: list[Instruction] = []
    watched: dict[Variable, Variable] = {one: one for one in program.watched}
    for level in sorted(order):
        others, regions = order[level]
        made += others
        made += [_region(program.name, instructions, key, dict(used), watched) for key, instructions in regions.items()]
    return Program(program.name, program.inputs, made, program.outputs, list(dict.fromkeys(watched.values())))


# ------------------------------------------------------------------------------------------------ which instructions


def _rows(shape: Shape) -> bool:
    """Whether blocks are rows of the arrays; pieces of what is one long row else."""
    return math.prod(shape[1:]) <= BLOCK


def _key(instruction: Instruction) -> Shape | None:
    """The shape of the region that an instruction may belong to."""
    function, output = instruction.function, instruction.output
    if type(output) is not Variable or output.is_number:
        return None
    if function in _REDUCTIONS:
        return _key_of_reduction(instruction, output)
    shape = output.shape
    if not shape or math.prod(shape) < SMALLEST or instruction.options or not (is_elementwise(function) or _is_choice(instruction)):
        return None
    for one in instruction.args:
        if not (type(one) is Variable or isinstance(one, (int, float, complex, np.number, np.bool_, np.ndarray))):
            return None
        own = np.shape(one) if type(one) is not Variable else one.shape
        if own not in ((), shape) and not _rows(shape):
            return None
    return shape


def _is_choice(instruction: Instruction) -> bool:
    return instruction.function is np.where and len(instruction.args) == 3


def _key_of_reduction(instruction: Instruction, output: Variable) -> Shape | None:
    (x, *rest), options = instruction.args, instruction.options
    if type(x) is not Variable or rest or options.keys() - {"axis", "dtype", "keepdims"} or options.get("dtype") is not None:
        return None
    if (
        not x.shape
        or math.prod(x.shape) < SMALLEST
        or output.dtype != x.dtype
        or (instruction.function is np.add.reduce and not _is_summed(x.dtype))
    ):
        return None
    is_whole = len(_axes(instruction)) == len(x.shape)
    return x.shape if is_whole or _rows(x.shape) else None


def _is_summed(dtype: np.dtype[Any]) -> bool:
    """Whether sums are made in the dtype itself."""
    return dtype.kind in "fc" and dtype.char != "e"


def _axes(instruction: Instruction) -> tuple[int, ...]:
    axis, ndim = instruction.options.get("axis", 0), len(instruction.args[0].shape)
    if axis is None:
        return tuple(range(ndim))
    return tuple(one % ndim for one in (axis if isinstance(axis, tuple) else (axis,)))


def _stays(instruction: Instruction) -> bool:
    """Whether each block has its part of the result: all but reductions along the rows."""
    return instruction.function not in _REDUCTIONS or (
        0 not in _axes(instruction) and bool(instruction.options.get("keepdims")) and _rows(instruction.args[0].shape)
    )


def _levels(program: Program, keys: Sequence[Shape | None]) -> tuple[list[int], dict[tuple[int, Shape], int]]:
    """For each instruction how many regions lie before it at most, and how many instructions each region has.

    A way out of a region leads to a higher level: no instruction between two of a region is outside it.
    """
    levels: list[int] = []
    groups: dict[tuple[int, Shape], int] = {}
    known: dict[Variable, tuple[int, Shape | None, bool]] = {}
    for instruction, key in zip(program.instructions, keys, strict=True):
        level = 0
        for one in instruction.inputs:
            if one in known:
                before, its_key, stays = known[one]
                is_inside = its_key is None or (its_key == key and stays)
                level = max(level, before if is_inside else before + 1)
        levels.append(level)
        if key is not None:
            groups[level, key] = groups.get((level, key), 0) + 1
        for one in instruction.outputs:
            known[one] = level, key, _stays(instruction) if key is not None else True
    return levels, groups


# ------------------------------------------------------------------------------------------------ one region


def _region(
    name: str, instructions: Sequence[Instruction], shape: Shape, used: dict[Variable, int], watched: dict[Variable, Variable]
) -> Instruction:
    """The instruction that runs a region."""
    for instruction in instructions:
        for one in instruction.inputs:
            used[one] -= 1
    inside, constants = list[Instruction](), dict[int, tuple[Variable, np.ndarray]]()

    def as_input(array: np.ndarray) -> Any:
        if not array.ndim:
            return array
        return constants.setdefault(id(array), (Variable(array), array))[0]

    for each in instructions:
        inside.append(Instruction(each.function, replaced(each.args, as_input, np.ndarray), each.options, each.output, each.line))
    for each in instructions:
        found = each.output
        if found in watched and found.shape == shape and _is_summed(found.dtype):
            # a NaN makes the sum one; infinities of both signs do too, and the careful program is right then as well
            clean = Variable(found.dtype.type(0))
            inside.append(Instruction(np.add.reduce, (found,), {"axis": None}, clean, None))
            watched[found] = clean
            used[found] -= 1
            used[clean] = 1
    outputs = [each.output for each in inside if used.get(each.output)]
    known = {each.output for each in inside}
    inputs = list(dict.fromkeys(one for instruction in inside for one in instruction.inputs if one not in known))
    region = Region(Program(name, inputs, inside, outputs, []), shape)
    given = dict(constants.values())
    return Instruction(region, tuple(given.get(one, one) for one in inputs), {}, tuple(outputs), instructions[0].line)


class Region:
    """A function that runs a program block by block.

    Attributes:
        text: the source of what is done with one block.
    """

    is_fresh = True
    __name__ = "blocks"

    def __init__(self, program: Program, shape: Shape) -> None:
        self._by_rows = _rows(shape)
        self._count = shape[0] if self._by_rows else math.prod(shape)
        row = math.prod(shape[1:]) if self._by_rows else 1
        self._plan = planned(program)
        self._outputs = program.outputs
        self._reductions = {one.output: one for one in program.instructions if one.function in _REDUCTIONS and not _stays(one)}
        # a reduction along other axes than the rows whose result stays with its rows is one more output of the block
        for one in program.instructions:
            if one.output in self._reductions and 0 not in _axes(one) and self._by_rows:
                del self._reductions[one.output]
        self._sliced = [self._is_sliced(one, shape) for one in program.inputs]
        arrays = sum(self._sliced) + sum(one not in self._reductions for one in program.outputs) + len(self._plan.sizes)
        numbers = min(BLOCK, max(CACHE // (8 * max(arrays, 1)), _LEAST))
        self._length = max(numbers // max(row, 1), 1)
        self._blocks = -(-self._count // self._length)
        self._free: list[list[np.ndarray]] = []
        self._row = shape[1:] if self._by_rows else ()
        self.text, self._block = self._code(program)

    def _is_sliced(self, one: Variable, shape: Shape) -> bool:
        if one.kind is not np.ndarray:
            return False
        return one.shape == shape or (self._by_rows and len(one.shape) == len(shape) and one.shape[0] == shape[0])

    def _code(self, program: Program) -> tuple[str, Callable[..., None]]:
        inputs, outputs = [f"x{n}" for n in range(len(program.inputs))], [f"o{n}" for n in range(len(program.outputs))]
        buffers = [f"t{n}" for n in range(len(self._plan.layout))]
        names = dict(zip(program.inputs, inputs, strict=True)) | {one: f"t{n}" for one, n in self._plan.buffers.items()}
        targets, after = {*self._plan.buffers}, list[str]()
        makers = {one.output: one for one in program.instructions}
        for name, one in zip(outputs, program.outputs, strict=True):
            if one in self._reductions:
                continue
            if takes_out(makers[one]):
                names[one] = name
                targets.add(one)
            else:
                after.append(f"copyto({name}, {{}})")
        namespace: dict[str, Any] = {"copyto": np.copyto}
        writer = Writer(namespace, names, targets)
        body = []
        for instruction in program.instructions:
            if instruction.output in self._reductions:
                into = outputs[program.outputs.index(instruction.output)]
                axis = writer.text(instruction.options.get("axis", 0)) if self._by_rows else "None"
                keeps = self._by_rows and bool(instruction.options.get("keepdims"))
                call = writer.text(instruction.function)
                body.append(f"{call}({writer.text(instruction.args[0])}, {axis}, None, {into}, {keeps})")
            else:
                body += writer.lines([instruction])
        copied = [one for one in program.outputs if one not in self._reductions and not takes_out(makers[one])]
        body += [line.format(writer.name(one)) for line, one in zip(after, copied, strict=True)]
        lines = [f"def block({', '.join([*inputs, *outputs, *buffers])}):", *(f"    {line}" for line in body)]
        text = "\n".join(lines) + "\n"
        name = f"<block of {program.name}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"), namespace)
        return text, namespace["block"]

    def _buffers(self) -> list[np.ndarray]:
        """Memory for one block."""
        layout, length = self._plan.layout, self._length
        shapes = [(length, *shape[1:]) if self._by_rows else (length,) for _, shape, _ in layout]
        sizes = [0] * len(self._plan.sizes)
        for (n, _, dtype), shape in zip(layout, shapes, strict=True):
            sizes[n] = max(sizes[n], math.prod(shape) * dtype.itemsize)
        memories = [np.empty(size, np.uint8) for size in sizes]
        return [np.ndarray(shape, dtype, memories[n]) for (n, _, dtype), shape in zip(layout, shapes, strict=True)]

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """The outputs, fresh."""
        arrays = [
            (one if self._by_rows else one.reshape(-1)) if is_sliced else one for one, is_sliced in zip(inputs, self._sliced, strict=True)
        ]
        outputs, results = list[np.ndarray](), list[np.ndarray]()
        for one in self._outputs:
            shape = (self._blocks, *(one.shape if self._by_rows else ())) if one in self._reductions else one.shape
            results.append(np.empty(shape, one.dtype))
            outputs.append(results[-1] if self._by_rows or one in self._reductions else results[-1].reshape(-1))
        places = itertools.count()
        on_all(lambda: self._work(places, arrays, outputs), self._blocks)
        return tuple(self._result(one, found) for one, found in zip(self._outputs, results, strict=True))

    def _work(self, places: Iterable[int], inputs: Sequence[Any], outputs: Sequence[np.ndarray]) -> None:
        """Blocks, until none is left."""
        try:
            buffers = self._free.pop()
        except IndexError:
            buffers = self._buffers()
        length, sliced = self._length, self._sliced
        partial = [one in self._reductions for one in self._outputs]
        for n in places:
            if n >= self._blocks:
                break
            start, stop = n * length, min((n + 1) * length, self._count)
            given = [one[start:stop] if is_sliced else one for one, is_sliced in zip(inputs, sliced, strict=True)]
            into = [one[n, ...] if is_partial else one[start:stop] for one, is_partial in zip(outputs, partial, strict=True)]
            scratch = buffers if stop - start == length else [one[: stop - start] for one in buffers]
            self._block(*given, *into, *scratch)
        self._free.append(buffers)

    def _result(self, one: Variable, found: np.ndarray) -> Any:
        if one not in self._reductions:
            return found
        whole = self._reductions[one].function(found, 0)
        return whole.reshape(one.shape) if one.kind is np.ndarray and whole.shape != one.shape else whole
