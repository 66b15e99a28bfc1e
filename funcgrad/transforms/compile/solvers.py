"""Solvers in programs: code that decides by values, such as an iteration, calls functions that are programs, and is one instruction.

Owns the instruction. The solvers belong to `funcgrad.transforms.roots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.staged import Staged
from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.loops import at_first, closed, inside
from funcgrad.transforms.compile.program import Program

Function = Callable[..., Sequence[Any]]
"""Of leaves."""


class _UncleanError(Exception):
    """A derivative has a NaN that strong zeros would not have."""


class SolverRun:
    """A solver with its functions as programs: `(values around of each, leaves)` -> leaves.

    Before those there is a number that is NaN where strong zeros are needed, if derivatives are watched.
    """

    is_fresh = True

    def __init__(self, name: str, solve: Callable[..., Sequence[Any]], programs: Sequence[Program]) -> None:
        self.__name__ = name
        self._solve = solve
        self._codes = [Code(one) for one in programs]
        self.is_watched = any(one.watched for one in programs)
        self._like: list[Any] = []

    @property
    def text(self) -> str:
        """The code of the functions."""
        return "\n".join(f"# {self.__name__}\n{one.text}" for one in self._codes)

    def __call__(self, around: Sequence[Sequence[Any]], leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Run the solver."""
        functions = [_on_values(code, given) for code, given in zip(self._codes, around, strict=True)]
        flag = [0.0] if self.is_watched else []
        try:
            found = [np.array(one) if type(one) is np.ndarray else one for one in self._solve(functions, leaves)]
        except _UncleanError:
            return (np.nan, *(one * 0 for one in self._like))
        if not self._like:
            self._like = found
        return (*flag, *found)


def _on_values(code: Code, around: Sequence[Any]) -> Function:
    def function(*leaves: Any) -> Sequence[Any]:
        run = code.take()
        found = run(*around, *leaves)
        code.give_back(run)
        if found is None:
            raise _UncleanError
        return found  # type: ignore[no-any-return]

    return function


def solved_by(
    name: str,
    solve: Callable[[Sequence[Function], Sequence[Any]], Sequence[Any]],
    functions: Sequence[Function],
    leaves: Sequence[Any],
    of: Staged,
    follows: bool = False,
) -> list[Any]:
    """Record a solver of staged values as one instruction.

    Args:
        name: how code calls it.
        solve: `(functions, leaves)` -> leaves, of plain values.
        functions: of leaves, which may depend on staged values of the code around.
        leaves: plain and staged values, for the solver, and examples of what the functions get.
        of: a staged value of the innermost recording among all these.
        follows: whether each function gets what the one before it gives, instead.

    Returns:
        The leaves that the solver gives.
    """
    outer = of._recording
    programs, around = [], []
    examples = [at_first(one) for one in leaves]
    for f in functions:
        with inside(outer, name) as inner:
            given = [inner.input(one) for one in examples]
            found = list(f(*given))
            outputs = [inner.result(name, one) for one in found]
        program, used = closed(inner, name, [one._variable for one in given], outputs)
        programs.append(program)
        around.append(used)
        if follows:
            examples = [at_first(one) for one in found]
    run = SolverRun(name, solve, programs)
    made = list(outer.call(run, (around, list(leaves)), {}))
    if run.is_watched:
        made.pop(0).watch()
    return made
