"""Functions of our own in parts: as the calls of NumPy's that they make, which other passes see through.

Owns what a program makes of relu, sigmoid and the cross-entropy of integer labels; their definitions are in `funcgrad.ops`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable, copied
from funcgrad.ops import elementwise, neural
from funcgrad.ops.indexing import elements_of
from funcgrad.transforms.compile.program import Program


class _Parts:
    """The instructions of a program, so far."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []

    def add(self, one: Instruction, function: Any, *args: Any, into: Variable, **options: Any) -> Variable:
        """One more call, for an instruction."""
        self.instructions.append(Instruction(function, args, options, into, one.line))
        return into


def in_parts(program: Program) -> Program:
    """The program with functions of our own as the calls that they make."""
    if not any(one.function in _RULES for one in program.instructions):
        return program
    parts = _Parts()
    for one in program.instructions:
        rule = _RULES.get(one.function)
        if rule is None or one.options or not rule(parts, one):
            parts.instructions.append(one)
    return program.with_instructions(parts.instructions)


def _is_array(x: Any) -> bool:
    return type(x) is Variable and x.kind is np.ndarray and x.shape != () and x.dtype.kind == "f" and x.dtype.isnative


def _relu(parts: _Parts, one: Instruction) -> bool:
    (x,) = one.args
    if not _is_array(x):
        return False
    parts.add(one, np.maximum, x, 0.0, into=one.output)
    return True


def _sigmoid(parts: _Parts, one: Instruction) -> bool:
    """1 / (1 + exp(-x))."""
    (x,) = one.args
    if not _is_array(x):
        return False
    size = parts.add(one, np.absolute, x, into=copied(x))
    small = parts.add(one, np.exp, parts.add(one, np.negative, size, into=copied(x)), into=copied(x))
    # exp(0) = 1 where x is positive, and `small` elsewhere: half of the time of np.where
    upper = parts.add(one, np.exp, parts.add(one, np.minimum, x, 0.0, into=copied(x)), into=copied(x))
    parts.add(one, np.divide, upper, parts.add(one, np.add, small, 1.0, into=copied(x)), into=one.output)
    return True


def _cross_entropy(parts: _Parts, one: Instruction) -> bool:
    """Value and slope, of logits with integer labels."""
    logits, labels = one.args
    value, slope = one.output
    if (
        not _is_array(logits)
        or type(labels) is not Variable
        or labels.kind is not np.ndarray
        or not labels.shape
        or labels.shape != logits.shape[:-1]
        or labels.dtype.kind not in "iu"
        or not math.prod(logits.shape)
        or value is None
        or slope is None
    ):
        return False
    classes, rows = logits.shape[-1], math.prod(labels.shape)
    column = (*logits.shape[:-1], 1)
    offsets = np.arange(0, rows * classes, classes)
    places = parts.add(one, neural.places_of, labels, offsets, classes, into=copied(labels, (rows,), np.intp))
    top = parts.add(one, np.maximum.reduce, logits, axis=-1, keepdims=True, into=copied(logits, column))
    shifted = parts.add(one, np.subtract, logits, top, into=copied(logits))
    exponentials = parts.add(one, np.exp, shifted, into=copied(logits))
    totals = parts.add(one, np.add.reduce, exponentials, axis=-1, keepdims=True, into=copied(logits, column))
    logs = parts.add(one, np.log, totals, into=copied(totals))
    logs_sum = parts.add(one, np.add.reduce, logs, axis=None, into=copied(value))
    flat = parts.add(one, np.reshape, shifted, (rows * classes,), into=copied(logits, (rows * classes,)))
    picked = parts.add(one, elements_of, flat, places, into=copied(logits, (rows,)))
    picked_sum = parts.add(one, np.add.reduce, picked, axis=None, into=copied(value))
    total = parts.add(one, np.subtract, logs_sum, picked_sum, into=copied(value))
    parts.add(one, np.divide, total, logits.dtype.type(rows), into=value)
    chances = parts.add(one, np.divide, exponentials, totals, into=copied(logits))
    parts.add(one, neural.slope_of, chances, places, np.array(rows, logits.dtype), into=slope)
    return True


_RULES: dict[Any, Callable[[_Parts, Instruction], bool]] = {
    neural._relu: _relu,
    elementwise._sigmoid: _sigmoid,
    neural._cross_entropy: _cross_entropy,
}
