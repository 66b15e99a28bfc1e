"""A kept slice replayed forwards again and again: what is the same each time is done once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.replay import Slice, if_clean
from funcgrad.rule import RULES
from funcgrad.silence import quietly


class _Step:
    """A record of the slice: its tangent is a factor times that of its parent, or what its rule pushes.

    Attributes:
        drops: positions whose tangents nothing after this step needs.
    """

    __slots__ = ("drops", "factor", "index", "record")

    def __init__(self, index: int, record: tuple[Any, ...], drops: list[int]) -> None:
        self.index = index
        self.record = record
        self.drops = drops
        self.factor: Any = None


class Linearized:
    """The derivative that a slice stands for, as a linear function of its leaves: only the records between them and the outputs are used.

    A tangent lives until its last use. Partial derivatives of elementwise functions of arrays are kept after the first call, for the later
    ones to multiply with.
    """

    def __init__(self, piece: Slice, outputs: Sequence[int]) -> None:
        self._piece = piece
        self._outputs = outputs
        self._steps: list[_Step] | None = None

    def __call__(self, directions: Sequence[Any]) -> list[Any]:
        """The tangents of the outputs (None: zero) for those of the leaves."""
        if self._piece.recording() is None:
            result = quietly(if_clean, self._run, directions)
            if result is not None:
                return result  # type: ignore[no-any-return]
        return self._piece.forward(directions, self._outputs)

    def _run(self, directions: Sequence[Any]) -> list[Any]:
        if self._steps is None:
            self._steps = self._planned()
        start = self._piece.start
        tangents = {start + n: direction for n, direction in enumerate(directions)}
        for step in self._steps:
            record, factor = step.record, step.factor
            rule = RULES[record[0]]
            if factor is None and rule.factor is not None:
                factor = step.factor = rule.factor(record)
            tangents[step.index] = rule.push(record, tangents) if factor is None else factor * tangents[record[1]]
            for index in step.drops:
                del tangents[index]
        return [tangents.get(index) for index in self._outputs]

    def _planned(self) -> list[_Step]:
        piece = self._piece
        reached = set(range(piece.start, piece.first))
        found = []
        for k in range(piece.first, max(self._outputs, default=-1) + 1):
            record = piece.records[k - piece.offset]
            if any(parent in reached for parent in record[1:-1]):
                reached.add(k)
                found.append((k, record))
        live = set(self._outputs)
        steps = []
        for k, record in reversed(found):
            if k in live:
                parents = {parent for parent in record[1:-1] if parent in reached}
                # those of the leaves stay: rules ask whose they are, and the caller holds them anyway
                steps.append(_Step(k, record, [parent for parent in parents if parent not in live and parent >= piece.first]))
                live |= parents
        steps.reverse()
        return steps
