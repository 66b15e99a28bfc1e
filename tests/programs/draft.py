"""A program in the making: its steps so far, with the values of all variables at all points that it will be tried at.

Each expression is computed when it is drafted, at every point, and taken only if the numbers are moderate. So operations can keep away
from their kinks and the ends of their domains: they are asked for values that they can be sure of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.programs.program import NAMESPACE, Program, Step
from tests.witnesses import NUMPY

Values = dict[str, Any]
LARGEST, MOST = 20.0, 48
"""What a value and the number of elements of a variable may be."""
HAS_NARROW = NUMPY >= (2, 0)
"""Whether there is float32 in programs: in NumPy 1 a number of it becomes float64 where it meets a Python float, but an array does not."""


class Draft:
    """Steps, and what they compute.

    Attributes:
        rng: the source of all choices.
        points: the values of all variables at each point.
        steps: the steps.
        names: the variables that an operation may use, those defined last at the end.
        used: the variables that a step has used.
        depth: how many functions and loops it is inside of.
        is_smooth: whether only operations may be used that are smooth everywhere: values are not known, inside loops.
        is_mapped: whether it is inside of a mapped function.
        is_narrow: whether constants are float32.
        has_floats: whether an argument is a Python float.
    """

    def __init__(self, rng: np.random.Generator, points: Sequence[Values], names: Sequence[str], around: Draft | None = None) -> None:
        self.rng = rng
        self.points = [{**NAMESPACE, **point} for point in points]
        self.steps: list[Step] = []
        self.names = list(names)
        self.depth = 0 if around is None else around.depth + 1
        self.used: set[str] = set()
        self.is_smooth = around is not None and around.is_smooth
        self.is_mapped = around is not None and around.is_mapped
        self.is_narrow = around is not None and around.is_narrow
        self.has_floats = around is not None and around.has_floats
        self.numbers: Any = itertools.count(1) if around is None else around.numbers

    # -------------------------------------------------------------------------------------------- choices

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one(self, things: Sequence[Any]) -> Any:
        return things[self.rng.integers(len(things))]

    def number(self, low: float, high: float) -> float:
        """A number with two digits."""
        return round(float(self.rng.uniform(low, high)), 2)

    def array(self, *shape: int) -> str:
        """The text of a constant array."""
        numbers = np.round(self.rng.uniform(0.3, 1.5, shape) * self.rng.choice([-1.0, 1.0], shape), 2)
        return f"{'float32' if self.is_narrow else 'np.array'}({numbers.tolist()})"

    def new(self, letter: str) -> str:
        return f"{letter}{next(self.numbers)}"

    # -------------------------------------------------------------------------------------------- values

    def at_all(self, name: str) -> list[Any]:
        """The values of a variable."""
        return [point[name] for point in self.points]

    def shape(self, name: str) -> tuple[int, ...]:
        return np.shape(self.points[0][name])

    def is_complex(self, name: str) -> bool:
        return np.iscomplexobj(self.points[0][name])

    def is_true(self, name: str, condition: Callable[[Any], Any]) -> bool:
        """Whether a condition holds for all numbers of a variable."""
        return all(bool(np.all(condition(np.asarray(value)))) for value in self.at_all(name))

    def pick(self, condition: Callable[[str], bool] = lambda name: True, complex_too: bool = False) -> str | None:
        """A variable of which a condition holds, more often one that nothing uses yet, or one of the last; None if there is none."""
        found = [name for name in self.names if (complex_too or not self.is_complex(name)) and condition(name)]
        if not found:
            return None
        preferred = [name for name in found if name not in self.used] if self.chance(0.5) else found[-3:] if self.chance(0.6) else found
        return str(self.one(preferred or found))

    def shaped(self, *ndims: int, complex_too: bool = False, least: int = 0) -> str | None:
        """A variable with so many axes, none shorter than `least`."""
        return self.pick(lambda name: len(self.shape(name)) in ndims and min(self.shape(name), default=least) >= least, complex_too)

    # -------------------------------------------------------------------------------------------- steps

    def add(self, expression: str, *traits: str) -> str | None:
        """A step for an expression, if it can be computed at all points and is moderate there; its variable."""
        name = self.new("v")
        return self.accept(Step(name, f"{name} = {expression}", traits=frozenset(traits)))

    def accept(self, step: Step, is_sure: bool = False) -> str | None:
        """Take a step if it works; its variable then.

        Raises:
            BrokenStepError: it is sure to work, but it raised, or did not make finite numbers: a fault to be found.
        """
        code = compile("\n".join(step.lines(False)), "<step>", "exec")
        for point in self.points:
            scope = dict(point)
            try:
                with np.errstate(all="ignore"):
                    exec(code, scope)
            except Exception:
                if is_sure:
                    raise BrokenStepError(step) from None
                return None
            value = scope[step.name]
            if is_sure and not np.all(np.isfinite(value)):
                raise BrokenStepError(step)
            if not is_moderate(value):
                return None
            point[step.name] = value
        shapes = {np.shape(value) for value in self.at_all(step.name)}
        if len(shapes) > 1:
            return None
        self.used |= step.names() - {step.name}
        self.steps.append(step)
        self.names.append(step.name)
        return step.name

    def gather(self, last: str, most: int) -> str:
        """Steps that make the last variable depend on all variables that nothing uses yet (or on `most` of them); the last of these."""
        made = {step.name for step in self.steps}
        loose = [name for name in self.names if name in made and name not in self.used and name != last]
        for name in loose[:most]:
            part = f"np.sum({name})" if self.chance(0.5) or not self.shape(name) else f"np.sum({name} * {name})"
            text = str(self.one(("{x} + 0.3 * {y}", "{x} * {y} * 0.5", "0.2 * {y} * {x} - {x}"))).format(x=last, y=part)
            last = self.add(text) or last
        return last


class BrokenStepError(Exception):
    """A step of a program raised, or made no numbers, that was to work."""

    def __init__(self, step: Step) -> None:
        super().__init__(step.name)
        self.step = step


def is_moderate(value: Any) -> bool:
    """Whether it is a float or complex number or array of them, not too large in any sense."""
    if isinstance(value, (bool, int)) or not isinstance(value, (float, complex, np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    return array.dtype.kind in "fc" and array.size <= MOST and array.ndim <= 4 and bool(np.all(np.abs(array) <= LARGEST))


def finished(draft: Draft, inputs: Sequence[str], outputs: Sequence[str]) -> Program:
    """The program of a draft, with the steps that count."""
    return Program(tuple(inputs), tuple(draft.steps), tuple(outputs)).trimmed()
