"""Loops of mapped values in programs: the same loop of all examples at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.mapped import Mapped, is_mapped, mapping_scope
from funcgrad.rules.batching import unhidden
from funcgrad.tape import Label, Scope
from funcgrad.transforms.captured import standing_for
from funcgrad.transforms.steps import Leaves, Loop, Step

_LABEL = Label("vmap of a loop")


class _WiderError(Exception):
    """Leaves of the carry are mapped after a step that were not before it."""


class OfExamples(Loop):
    """A loop whose values have an axis of examples in front, those of them that are mapped.

    What mapped values the step closes over have inside is given to every step behind its own constants.
    """

    def __init__(self, loop: Loop, mapping: Scope, consts: list[bool], carry: list[bool], rows: list[bool]) -> None:
        self.name, self.reaches = loop.name, loop.reaches
        self.is_first = False
        self.captured = [one for one in loop.mapped if is_mapped(one, mapping)]
        self.mapped = [one for one in loop.mapped if not is_mapped(one, mapping)]
        self.staged = loop.staged
        self._loop, self._size, self._consts, self.carry, self._rows = loop, mapping.size, consts, carry, rows
        self.ys: list[bool] = []
        self.sums: list[bool] = []

    def state(self) -> Any:
        """That of the loop."""
        return self._loop.state()

    def restart(self, state: Any) -> None:
        """That of the loop."""
        self._loop.restart(state)

    def first(self, consts: Leaves) -> contextlib.AbstractContextManager[Step]:
        """The step of a run on plain values."""
        return self._entered(consts, self._loop.first)

    def running(self, consts: Leaves) -> contextlib.AbstractContextManager[Step]:
        """The step."""
        return self._entered(consts, self._loop.first if self.is_first else self._loop.running)

    @contextlib.contextmanager
    def _entered(self, consts: Leaves, enter: Callable[[Leaves], Any]) -> Iterator[Step]:
        count = len(self._consts)
        with (
            mapping_scope(_LABEL, self._size) as scope,
            standing_for(self.captured, [Mapped(one, scope) for one in consts[count:]]),
            enter(_hidden(consts[:count], self._consts, scope)) as inner,
        ):

            def step(carry: Leaves, row: Leaves) -> tuple[Leaves, Leaves, Leaves]:
                found: Any = inner(_hidden(carry, self.carry, scope), _hidden(row, self._rows, scope))
                after, self.ys, self.sums = ([is_mapped(one, scope) for one in part] for part in found)
                wider = [one or other for one, other in zip(after, self.carry, strict=True)]
                if wider != self.carry:
                    self.carry = wider
                    raise _WiderError
                return tuple(  # type: ignore[return-value]
                    [unhidden(one, scope) if flag else one for one, flag in zip(part, flags, strict=True)]
                    for part, flags in zip(found, (self.carry, self.ys, self.sums), strict=True)
                )

            yield step


def _hidden(values: Leaves, flags: Sequence[bool], scope: Scope) -> Leaves:
    return [Mapped(one, scope) if flag else one for one, flag in zip(values, flags, strict=True)]


def of_examples(
    run: Callable[..., Any], loop: Loop, parts: Sequence[Leaves], order: range, has_carries: bool, is_first: bool, mapping: Scope
) -> list[Leaves]:
    """The last carry, ys, sums and carries of a loop of values of a mapping, by the loop of all examples, which `run` runs."""
    flags = [[is_mapped(one, mapping) for one in part] for part in parts]
    consts, init, xs = ([unhidden(one, mapping) if is_mapped(one, mapping) else one for one in part] for part in parts)
    xs = [np.moveaxis(one, 1, 0) if flag else one for one, flag in zip(xs, flags[2], strict=True)]
    inner = OfExamples(loop, mapping, *flags)
    inner.is_first = is_first
    consts += [one._primal for one in inner.captured]
    before = loop.state()
    while True:
        try:
            found = run(inner, consts, init, xs, order, has_carries)
            break
        except _WiderError:
            loop.restart(before)
            init = [one if flag == now else unhidden(one, mapping) for one, flag, now in zip(init, flags[1], inner.carry, strict=True)]
            flags[1] = list(inner.carry)
    stacked = [
        [Mapped(np.moveaxis(one, 0, 1), mapping) if flag else one for one, flag in zip(part, flags, strict=True)]
        for part, flags in ((found.ys, inner.ys), (found.carries if has_carries else [], inner.carry if has_carries else []))
    ]
    return [_hidden(found.carry, inner.carry, mapping), stacked[0], _hidden(found.sums, inner.sums, mapping), stacked[1]]
