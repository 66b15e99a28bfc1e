"""What the values of a program are for the arguments of its first call: found out when somebody asks, and kept.

Owns the order in which the calls are made, and what stands for a value where any will do. Of staged values it
knows `_sample`, which is the value or pending, and `_variable`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.dependence import evaluated
from funcgrad.forms import answer_of
from funcgrad.instructions import replaced


class Pending:
    """The value that a call gives, which nobody has made yet."""

    __slots__ = ("args", "function", "options")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.function, self.args, self.options = function, args, options

    def answer(self, kind: type) -> Any:
        """What the call gives. The samples of its arguments, of a type, are there."""
        args, options = (replaced(one, lambda staged: staged._sample, kind) for one in (self.args, self.options))
        return answer_of(self.function, evaluated, args, options)


def sample_of(staged: Any) -> Any:
    """The value at the first call."""
    if type(staged._sample) is not Pending:
        return staged._sample
    kind, waiting = type(staged), [staged]
    while waiting:  # a long chain of calls is no deep recursion
        one = waiting[-1]
        pending = one._sample
        if type(pending) is not Pending:
            waiting.pop()
            continue
        before: list[Any] = []
        replaced((pending.args, pending.options), before.append, kind)
        before = [each for each in before if type(each._sample) is Pending]
        if before:
            waiting += before
            continue
        one._sample = pending.answer(kind)
    return staged._sample


def made_up_for(staged: Any) -> Any:
    """Some value of its kind, shape and dtype; the one at the first call if nothing must be computed for that."""
    if type(staged._sample) is not Pending:
        return staged._sample
    variable = staged._variable
    if math.prod(variable.shape) > _MANY:
        return np.broadcast_to(_PATTERN[0].astype(variable.dtype), variable.shape)
    return usual_for(staged, 1)


def usual_for(staged: Any, integer: int) -> Any:
    """A value of its kind, shape and dtype that functions of linear algebra take; of integers the one that is given."""
    variable = staged._variable
    is_whole = variable.dtype.kind not in "fc"
    if variable.kind is not np.ndarray:
        return variable.kind(integer if is_whole else 1)
    if is_whole:
        return np.full(variable.shape, integer, variable.dtype)
    made = np.resize(_PATTERN, variable.shape).astype(variable.dtype)
    if len(variable.shape) > 1 and variable.shape[-1] == variable.shape[-2]:
        made += 4 * variable.shape[-1] * np.eye(variable.shape[-1], dtype=variable.dtype)
    return made


_MANY = 50_000
"""Numbers: where there are more, one value stands for all."""
_PATTERN = 1.0 + 0.5 * np.sin(np.arange(1009.0))
"""Positive numbers that no row or column of an array is likely to repeat."""
