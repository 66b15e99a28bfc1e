"""Programs for the tests of passes: recorded ones, and what they give before and after a pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.dead import without_dead_code
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.programs import recorded


def program_of(f: Callable[..., Any], *leaves: Any) -> Program:
    """What f does with leaves like these, as it was recorded."""
    return without_dead_code(recorded("f", f, leaves)[0])


def run(program: Program, leaves: Sequence[Any]) -> list[Any]:
    """The outputs."""
    found = Code(program).run(leaves)
    assert found is not None
    return list(found)


def names(program: Program) -> list[str]:
    """The functions that a program calls, in order."""
    return [getattr(one.function, "__name__", repr(one.function)) for one in program.instructions]
