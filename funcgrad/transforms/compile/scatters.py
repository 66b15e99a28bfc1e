"""Scatters: sums of arrays of zeros with something in a part of each, made in one array.

Slices of a value have such cotangents, one a slice. Where the parts are apart, they are written side by side: what was a sum with zero is
one still, so that no -0.0 stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable, copied
from funcgrad.ops.indexing import scattered
from funcgrad.transforms.compile.program import Program

_LARGEST = 10_000_000


class Assembled:
    """The function that writes parts side by side into one array, zero elsewhere."""

    is_fresh = True
    takes_out = True
    __name__ = "assembled"

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], indices: Sequence[Any], is_full: bool) -> None:
        self._shape, self._dtype, self._indices, self._is_full = shape, dtype, indices, is_full

    def __call__(self, *parts: Any) -> np.ndarray:
        """The array."""
        out = (np.empty if self._is_full else np.zeros)(self._shape, self._dtype)
        for index, part in zip(self._indices, parts, strict=True):
            out[index] = part
        return np.add(out, 0.0, out)

    def statement(self, into: str, parts: Sequence[str], index_text: Callable[[Any], str]) -> str:
        """The same, written out, on memory that is there."""
        lines = [] if self._is_full else [f"{into}.fill(0.0)"]
        lines += [f"{into}[{index_text(index)}] = {part}" for index, part in zip(self._indices, parts, strict=True)]
        return "; ".join([*lines, f"add_zero({into}, {into})"])


def add_zero(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """X + 0.0."""
    return np.add(x, _ZERO, out)  # type: ignore[no-any-return]


_ZERO = np.array(0.0, np.float16)  # of the smallest type: no other dtype becomes of it


class _Part:
    """A scatter: an array, and where it stands."""

    def __init__(self, one: Instruction) -> None:
        self.x: Variable = one.args[0]
        self.index = one.args[2]


def with_scatters_joined(program: Program) -> Program:
    """The program with sums of scatters as one call each."""
    if sum(one.function is scattered for one in program.instructions) < 2:
        return program
    used: dict[Variable, int] = {}
    for one in program.instructions:
        for each in one.inputs:
            used[each] = used.get(each, 0) + 1
    for value in (*program.outputs, *program.watched):
        if type(value) is Variable:
            used[value] = used.get(value, 0) + 2
    parts: dict[Variable, list[_Part]] = {}
    kept: list[Instruction] = []
    inside: set[Variable] = set()
    for one in program.instructions:
        if _is_scatter(one):
            parts[one.output] = [_Part(one)]
        elif (
            one.function is np.add
            and not one.options
            and all(type(each) is Variable and each in parts and used[each] == 1 for each in one.args)
        ):
            joined = _joined(one, parts[one.args[0]], parts[one.args[1]], kept)
            if joined is not None:
                parts[one.output] = joined
                inside.update(one.args)
        kept.append(one)
    made = []
    for one in kept:
        found = parts.get(one.output) if type(one.output) is Variable else None
        if found is None or (one.function is scattered and one.output not in inside):
            made.append(one)
        elif one.output not in inside:
            made.append(_assembled(one, found))
    return program.with_instructions(made)


def _is_scatter(one: Instruction) -> bool:
    if one.function is not scattered or one.options or type(one.args[0]) is not Variable or one.inputs != [one.args[0]]:
        return False
    x, output = one.args[0], one.output
    index = one.args[2] if type(one.args[2]) is tuple else (one.args[2],)
    is_basic = all(each is None or each is Ellipsis or type(each) in (int, slice) for each in index)
    is_real = x.kind is np.ndarray and output.dtype == x.dtype and x.dtype.char in "efdg"
    return is_basic and is_real and math.prod(output.shape) <= _LARGEST


def _joined(one: Instruction, left: list[_Part], right: list[_Part], kept: list[Instruction]) -> list[_Part] | None:
    """The parts of a sum; None where they overlap. Two that stand in the same place are added first."""
    if len(left) == len(right) == 1 and left[0].index == right[0].index and left[0].x.shape == right[0].x.shape:
        total = copied(left[0].x)
        kept.append(Instruction(np.add, (left[0].x, right[0].x), {}, total, one.line))
        whole = Instruction(scattered, (total, one.output.shape, left[0].index), {}, one.output, one.line)
        return [_Part(whole)]
    places = np.zeros(one.output.shape, np.int8)
    for part in (*left, *right):
        places[part.index] += 1
    return [*left, *right] if places.max(initial=0) <= 1 else None


def _assembled(one: Instruction, parts: list[_Part]) -> Instruction:
    output = one.output
    if len(parts) == 1:
        return Instruction(scattered, (parts[0].x, output.shape, parts[0].index), {}, output, one.line)
    places = np.zeros(output.shape, bool)
    for part in parts:
        places[part.index] = True
    function = Assembled(output.shape, output.dtype, [part.index for part in parts], bool(places.all()))
    return Instruction(function, tuple(part.x for part in parts), {}, output, one.line)
