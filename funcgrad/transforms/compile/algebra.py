"""Algebra: instructions that are other, cheaper ones, or nothing, whatever the values are.

Owns what changes no bit of any result: no rounding, no sign of a zero, no NaN, no kind, shape or dtype. The exception: the sums of a
matrix along an axis are made as products with ones, as those for a bias are outside of programs, and round as those.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable, copied, replaced
from funcgrad.ops.operators import in_kind
from funcgrad.transforms.compile.blocks import SMALLEST
from funcgrad.transforms.compile.program import Program, is_like
from funcgrad.transforms.compile.shapes import SHAPES

_COMMUTATIVE = frozenset({np.add, np.multiply, np.maximum, np.minimum, np.equal, np.not_equal})
_PAIRS = frozenset({*_COMMUTATIVE, np.subtract, np.divide, np.less, np.less_equal, np.greater, np.greater_equal})
"""Functions of two operands that both are converted to one dtype."""
_SMALL = 4096
"""Constants of at most so many numbers are looked at one by one."""

Given = Any


class _Simplified:
    """A program while it is rewritten from the first instruction to the last."""

    def __init__(self, program: Program) -> None:
        self.instructions: list[Instruction] = []
        self.makers: dict[Variable, Instruction] = {}
        self._instead: dict[Variable, Any] = {}
        watched = set(program.watched)
        for one in program.instructions:
            args, options = one.args, one.options
            if self._instead and not self._instead.keys().isdisjoint(one.inputs):
                args, options = self._now(args), self._now(options)
            found = self._simple(one, args, options)
            if found is not None and one.output in watched and type(found) is not Variable:
                found = None  # what is watched is a value of the program
            if found is None:
                self.add(one if args is one.args else Instruction(one.function, args, options, one.output, one.line))
            else:
                self._instead[one.output] = found
        outputs, self.watched = self._now(program.outputs), self._now(program.watched)
        self.outputs = list(outputs)

    def _now(self, value: Any) -> Any:
        return replaced(value, lambda one: self._instead.get(one, one), Variable) if self._instead else value

    def add(self, instruction: Instruction) -> None:
        """The next instruction."""
        self.instructions.append(instruction)
        if type(instruction.output) is Variable:
            self.makers[instruction.output] = instruction
            return
        for one in instruction.outputs:
            self.makers[one] = instruction

    def maker(self, value: Any, *functions: Any) -> Instruction | None:
        """The instruction that makes a value, if it is a call of one of some functions."""
        found = self.makers.get(value) if type(value) is Variable else None
        return found if found is not None and found.function in functions else None

    def _simple(self, one: Instruction, args: Any, options: Any) -> Any:
        """What stands for the output of an instruction: a variable, which a new instruction may make, or a constant; None for itself."""
        output, first = one.output, one
        for _ in range(8):  # each rule may open the way for another one
            if type(output) is not Variable:
                return None
            rule = _RULES.get(one.function)
            found = rule(self, one, args, options) if rule is not None else None
            if found is None:
                break
            if type(found) is not Instruction:
                return found
            one, args, options = found, found.args, found.options
        else:
            return None
        if one is first or one.output is not output or one.function is None:
            return None
        return self._made(one, args, options)

    def _made(self, one: Instruction, args: Any, options: Any) -> Any:
        self.add(Instruction(one.function, args, options, one.output, one.line))
        return one.output

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], like: Variable, of: Instruction) -> Variable:
        """The result of one more instruction, of the kind, shape and dtype of another value."""
        output = copied(like)
        self.add(Instruction(function, args, {}, output, of.line))
        return output


def simplified(program: Program) -> Program:
    """The program with simpler instructions."""
    done = _Simplified(program)
    return Program(program.name, program.inputs, done.instructions, done.outputs, list(dict.fromkeys(done.watched)))


def _instruction(one: Instruction, function: Any, args: tuple[Any, ...], **options: Any) -> Instruction:
    return Instruction(function, args, options, one.output, one.line)


def number_in(value: Any) -> Any:
    """The one number that a constant consists of, of its dtype; None for variables and other constants."""
    if isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
        return value
    if type(value) is not np.ndarray or not value.size or value.dtype.kind not in "biufc":
        return None
    first = value[(0,) * value.ndim]
    if all(step == 0 or length == 1 for step, length in zip(value.strides, value.shape, strict=True)):
        return first
    if value.size <= _SMALL and value.dtype.char not in "gG" and value.tobytes() == first.tobytes() * value.size:
        return first
    return None


def _is_zero(number: Any, is_negative: bool) -> bool:
    return bool(number == 0) and (math.copysign(1.0, number) < 0.0) == is_negative


# ------------------------------------------------------------------------------------------------ arithmetic


def _pair(done: _Simplified, one: Instruction, args: Given, options: Given) -> Any:
    """A function of two operands: a constant that is one number throughout is that number, and may have no effect."""
    if options or len(args) != 2:
        return None
    output, function = one.output, one.function
    if type(args[0]) is Variable and type(args[1]) is Variable:
        if output.kind is not np.ndarray:
            return None
        return _without_stretching(done, one, args) or _with_floats(done, one, args)
    for n in (0, 1):
        constant, other = args[n], args[1 - n]
        number = number_in(constant)
        if number is None or type(other) is not Variable:
            continue
        if is_like(other, output) and output.dtype.kind in "biuf" and _has_no_effect(function, number, n, output.dtype.kind):
            return other
        if (
            type(constant) is np.ndarray
            and constant.ndim
            and other.kind is np.ndarray
            and other.shape == output.shape
            and other.dtype == constant.dtype
        ):
            new = np.array(number, constant.dtype)
            return _instruction(one, function, (new, other) if n == 0 else (other, new))
    return _without_stretching(done, one, args)


def _has_no_effect(function: Any, number: Any, place: int, kind: str) -> bool:
    if isinstance(number, (complex, np.complexfloating)):
        return False
    if function is np.multiply or (function is np.divide and place == 1):
        return bool(number == 1)
    if function is np.add:
        return bool(number == 0) if kind in "iu" else _is_zero(number, is_negative=True)
    if function is np.subtract and place == 1:
        return bool(number == 0) if kind in "iu" else _is_zero(number, is_negative=False)
    return False


def _without_stretching(done: _Simplified, one: Instruction, args: Given) -> Any:
    """An operand that was stretched to the shape of the other one need not have been."""
    for n in (0, 1):
        maker = done.maker(args[n], np.broadcast_to)
        other = args[1 - n]
        if maker is None or maker.options or type(other) is not Variable or other.shape != one.output.shape:
            continue
        source = maker.args[0]
        if type(source) is Variable and source.kind is np.ndarray and source.dtype == args[n].dtype and source.shape:
            return _instruction(one, one.function, (source, other) if n == 0 else (other, source))
    return None


def _with_floats(done: _Simplified, one: Instruction, args: Given) -> Any:
    """Truth values that meet an array are converted first: NumPy takes twice the time to do it on the way. In blocks they are not."""
    output = one.output
    if one.function is not np.multiply or output.dtype.char not in "fd" or math.prod(output.shape) >= SMALLEST:
        return None
    for n in (0, 1):
        mask, other = args[n], args[1 - n]
        if mask.dtype == bool and mask.kind is np.ndarray and mask.shape == other.shape == output.shape != () and is_like(other, output):
            floats = copied(output)
            done.add(Instruction(AsFloats(output.dtype), (mask,), {}, floats, one.line))
            return _instruction(one, np.multiply, (floats, other) if n == 0 else (other, floats))
    return None


class AsFloats:
    """The function that makes floating-point numbers of truth values."""

    is_fresh = True
    takes_out = True
    __name__ = "as_floats"

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def __eq__(self, other: object) -> bool:
        return type(other) is AsFloats and other._dtype == self._dtype

    def __hash__(self) -> int:
        return hash((AsFloats, self._dtype))

    def __call__(self, mask: np.ndarray) -> np.ndarray:
        """The numbers."""
        return mask.astype(self._dtype)

    def statement(self, into: str, given: Sequence[str], index_text: Any) -> str:
        """The same, written out, on memory that is there."""
        return f"{into}[...] = {given[0]}"


def _negative(done: _Simplified, one: Instruction, args: Given, options: Given) -> Any:
    maker = done.maker(args[0], np.negative)
    if maker is not None and not options and is_like(maker.args[0], one.output):
        return maker.args[0]
    return None


def _choice(done: _Simplified, one: Instruction, args: Given, options: Given) -> Any:
    """np.where of a constant array that is one number."""
    if options or len(args) != 3 or one.output.kind is not np.ndarray:
        return None
    for n in (1, 2):
        other, constant = args[3 - n], args[n]
        if type(constant) is np.ndarray and constant.ndim and type(other) is Variable and other.dtype == constant.dtype:
            number = number_in(constant)
            others = [each for each in (args[0], other) if type(each) is Variable and each.shape == one.output.shape]
            if number is not None and others:
                new = np.array(number, constant.dtype)
                return _instruction(one, np.where, tuple(new if m == n else each for m, each in enumerate(args)))
    return None


# ------------------------------------------------------------------------------------------------ sums


def _sum(done: _Simplified, one: Instruction, args: Given, options: Given) -> Any:
    """np.sum and np.mean as what they call."""
    x, *rest = args
    named = dict(zip(("axis", "dtype", "out"), rest, strict=False)) | options
    keepdims = named.get("keepdims", False)
    if (
        type(x) is not Variable
        or x.kind is not np.ndarray
        or named.keys() - {"axis", "dtype", "out", "keepdims"}
        or named.get("dtype") is not None
        or named.get("out") is not None
        or type(keepdims) is not bool
    ):
        return None
    axis = named.get("axis")
    if one.function is np.sum:
        return _instruction(one, np.add.reduce, (x,), axis=axis, dtype=None, keepdims=keepdims)
    if x.dtype.char not in "fd" or one.output.dtype != x.dtype or not math.prod(x.shape):
        return None
    total = copied(one.output)
    done.add(Instruction(np.add.reduce, (x,), {"axis": axis, "dtype": None, "keepdims": keepdims}, total, one.line))
    count = math.prod(x.shape) // max(math.prod(one.output.shape), 1)
    number = x.dtype.type(count)
    return _instruction(one, np.divide, (total, number)) if number == count else None


def _reduced(done: _Simplified, one: Instruction, args: Given, options: Given) -> Any:
    """The sum of the rows of a matrix, or along them, as a product with ones, which takes half the time and less."""
    x = args[0]
    if len(args) != 1 or type(x) is not Variable or options.get("dtype") is not None or options.keys() - {"axis", "dtype", "keepdims"}:
        return None
    axis, keepdims = options.get("axis", 0), options.get("keepdims", False)
    if _is_matrix(x) and axis is not None and one.output.dtype == x.dtype:
        if axis in (0, (0,)) and x.shape[0] <= 1024:
            return _instruction(one, np.dot, (_ones(x.shape[0], x.dtype), x)) if not keepdims else None
        if axis in (1, (1,), -1, (-1,)) and x.shape[1] <= 1024:
            by = (x, _ones(x.shape[1], x.dtype))
            if not keepdims:
                return _instruction(one, np.dot, by)
            total = copied(one.output, x.shape[:1])
            done.add(Instruction(np.dot, by, {}, total, one.line))
            return _instruction(one, np.reshape, (total, one.output.shape))
    if "dtype" in options:
        kept = {name: value for name, value in options.items() if name != "dtype"}
        return Instruction(np.add.reduce, args, kept, one.output, one.line)
    return None


def _is_matrix(x: Variable) -> bool:
    return len(x.shape) == 2 and x.kind is np.ndarray and x.dtype.char in "fd" and 0 < math.prod(x.shape) < SMALLEST


@functools.lru_cache(maxsize=64)
def _ones(size: int, dtype: np.dtype[Any]) -> np.ndarray:
    """One for all sums of as many rows."""
    return np.ones(size, dtype)


def _kind(done: _Simplified, one: Instruction, args: Given, options: Given) -> Any:
    return args[0] if is_like(args[0], one.output) else None


_RULES: dict[Any, Callable[[_Simplified, Instruction, Given, Given], Any]] = {
    **dict.fromkeys(_PAIRS, _pair),
    np.negative: _negative,
    np.where: _choice,
    **SHAPES,
    **dict.fromkeys((np.sum, np.mean), _sum),
    np.add.reduce: _reduced,
    in_kind: _kind,
}
