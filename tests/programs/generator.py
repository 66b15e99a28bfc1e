"""From a seed to a program, and the points that it is tried at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.programs.draft import HAS_NARROW, BrokenStepError, Draft, finished
from tests.programs.flow import extend
from tests.programs.program import Program, needed

Point = tuple[Any, ...]

WIDE = {"float64": 0.85, "complex128": 0.08, "float": 0.07}
NARROW = {"float32": 0.8, "float64": 0.1, "complex64": 0.1}
"""What arguments are, and how often. Python floats do not meet float32: np.sin of one is float64 to NumPy, and a Python float here."""


@dataclass(frozen=True)
class Trial:
    """A program with what it is run on.

    Attributes:
        seed: what it was made of.
        program: the program.
        points: two or three tuples of arguments, the examples where it is mapped; the first is where its derivatives are taken.
        shared: for each argument whether it is the same at all points, and is not mapped.
    """

    seed: int
    program: Program
    points: tuple[Point, ...]
    shared: tuple[bool, ...]


def trial(seed: int) -> Trial:
    """The trial of a seed."""
    rng = np.random.default_rng([seed, 1973])
    n, m = (int(k) for k in rng.choice([1, 2, 3, 4], 2, p=[0.1, 0.35, 0.4, 0.15]))
    count, examples = int(rng.choice([1, 2, 3], p=[0.35, 0.45, 0.2])), int(rng.integers(2, 4))
    shared = [bool(rng.random() < 0.2) for _ in range(count)]
    shared[int(rng.integers(count))] = False
    is_narrow = bool(rng.random() < 0.15) and HAS_NARROW
    kinds = NARROW if is_narrow else WIDE
    columns = [_argument(rng, n, m, kinds, 1) * examples if is_shared else _argument(rng, n, m, kinds, examples) for is_shared in shared]
    names = [f"x{k}" for k in range(count)]
    points = list(zip(*columns, strict=True))
    draft = Draft(rng, [dict(zip(names, point, strict=True)) for point in points], names)
    draft.is_narrow, draft.has_floats = is_narrow, float in map(type, points[0])
    try:
        extend(draft, int(rng.integers(2, 10)))
        last = draft.gather(draft.names[-1], 9)
        outputs = [last] if rng.random() < 0.85 or last == draft.names[0] else [draft.names[int(rng.integers(len(draft.names)))], last]
        program = finished(draft, names, outputs)
    except BrokenStepError as error:
        program = Program(tuple(names), needed((*draft.steps, error.step), {error.step.name}), (error.step.name,))
    return Trial(seed, program, tuple(points), tuple(shared))


def _argument(rng: np.random.Generator, n: int, m: int, kinds: dict[str, float], examples: int) -> list[Any]:
    """The values of one argument at some points."""
    shapes: list[tuple[int, ...]] = [(), (n,), (m,), (n, m), (m, n), (n, n), (1, m), (n, 1), (1,), (2, n, m), (0,), (0, m), (3,), (3, 3)]
    chances = np.array([2, 5, 4, 6, 3, 3, 1, 1, 0.7, 1.5, 0.25, 0.25, 2, 1])
    shape = shapes[int(rng.choice(len(shapes), p=chances / chances.sum()))]
    kind = str(rng.choice(list(kinds), p=list(kinds.values())))
    values = []
    for _ in range(examples):
        value = rng.uniform(0.3, 1.9, shape) * rng.choice([1.0, -1.0], shape, p=[0.7, 0.3])
        if kind.startswith("complex"):
            value = value + 1j * rng.uniform(0.3, 1.5, shape) * rng.choice([1.0, -1.0], shape)
        values.append(float(value) if kind == "float" and not shape else np.asarray(value, "float64" if kind == "float" else kind)[()])
    if rng.random() < 0.1:
        values = [np.asfortranarray(value) if np.ndim(value) > 1 else value for value in values]
    return values
