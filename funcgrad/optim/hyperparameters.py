"""What is asked of hyperparameters: that they are numbers, or schedules that give numbers.

Owns the judging of learning rates, decays, bounds and the values of schedules. Must not know what a transformation does with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.optim.leaves import plain
from funcgrad.tracer import Tracer


def number(name: str, argument: str, value: Any, at_least: float = -math.inf, is_finite: bool = False) -> Any:
    """A hyperparameter as a Python float; a tracer of a number stays one, and its value is not judged.

    Args:
        name: of the transformation, for messages.
        argument: what the number is, for messages.
        value: what was given.
        at_least: the lower bound.
        is_finite: whether infinity is refused too.

    Raises:
        InputTypeError: no real number.
        InputValueError: an array with axes, NaN, or out of bounds.
    """
    value = plain(value)
    shape = getattr(value, "shape", ())
    if shape:
        raise InputValueError(f"{name}: {argument} has shape {shape}; wanted one number, of shape ().")
    if isinstance(value, Tracer):
        return value
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InputTypeError(f"{name}: {argument} is {repr(value)[:80]}, of type {type(value).__name__}; wanted a real number.")
    value = float(value)
    if not value >= at_least or (is_finite and value == math.inf):
        wanted = "a finite number" if is_finite else "a number"
        raise InputValueError(
            f"{name}: {argument} is {value}; wanted {wanted}{'' if at_least == -math.inf else f', at least {at_least:g}'}."
        )
    return value


def scheduled(name: str, what: str, schedule: Callable[[Any], Any], count: Any) -> Any:
    """The value of a schedule after some steps, which must be a number: errors as of `number`, which name the schedule."""
    label = getattr(schedule, "__qualname__", None) or repr(schedule)
    return number(name, f"the {what} that the schedule {label} gives at step {count}", schedule(count))


def is_schedule(name: str, what: str, value: Any) -> bool:
    """Whether a hyperparameter is a schedule; else it must be a learning rate or the like: a finite number that is not negative."""
    if callable(value):
        return True
    if value is None or isinstance(value, str):
        raise InputTypeError(
            f"{name}: {what} is {value!r}; wanted a number or a schedule, a function from the number of steps done to one."
        )
    number(name, what, value, 0.0, is_finite=True)
    return False
