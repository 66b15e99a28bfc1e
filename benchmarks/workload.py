"""What a workload is: one computation, implemented once for each peer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Step = Callable[[], Any]
"""The timed call. It returns a tree (tuples, lists) of numbers and arrays, equal for every peer."""

Builder = Callable[[], Step]
"""Imports the peer, makes the inputs in the peer's own type, and returns the step; none of that is timed."""


@dataclass(frozen=True)
class Workload:
    """A computation to time.

    Attributes:
        name: What `--only` and the tables call it.
        summary: One line for the reader.
        builders: The implementation for each peer that has one; `hand-written` always does.
        tolerance: How far a result may be from the hand-written one, relative to its largest number.
        minor: Peers that a smoke run leaves out of this workload only, for their slowness.
    """

    name: str
    summary: str
    builders: Mapping[str, Builder]
    tolerance: float = 1e-10
    minor: frozenset[str] = frozenset()
