"""Loops of mapped values in programs: the same loop of all examples at once."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.instructions import Trail
from funcgrad.mapped import Mapped, inmost, is_mapped, mapping_scope
from funcgrad.rules.batching import unhidden
from funcgrad.staged import kind_of
from funcgrad.tape import Label, Scope
from funcgrad.transforms.captured import standing_for
from funcgrad.transforms.steps import Leaves, Loop, Step

_LABEL = Label("vmap of a loop")


class _WiderError(Exception):
    """Leaves of a loop's carry are mapped after a step that were not before it.

    Attributes:
        carry: which are mapped: the loop's own list.
    """

    def __init__(self, carry: list[bool]) -> None:
        super().__init__()
        self.carry = carry


class OfExamples(Loop):
    """A loop whose values have an axis of examples in front, those of them that are mapped.

    What mapped values the step closes over have inside is given to every step behind its own constants. A loop that ends itself goes on
    until all examples are done.
    """

    def __init__(self, loop: Loop, mapping: Scope, consts: list[bool], carry: list[bool], rows: list[bool]) -> None:
        self.name, self.reaches = loop.name, loop.reaches
        self.is_first = False
        self.captured = [one for one in loop.mapped if is_mapped(one, mapping)]
        self.mapped = [one for one in loop.mapped if not is_mapped(one, mapping)]
        self.staged = loop.staged
        self._loop, self._size, self._consts, self._rows = loop, mapping.size, consts, rows
        self._is_test = False
        self.carry, self.ys, self.sums = carry, list[bool](), list[bool]()  # which are mapped: the same lists in copies

    def _copy(self, loop: Loop) -> OfExamples:
        made = copy.copy(self)
        made._loop = loop
        return made

    def again(self) -> Loop:
        """The loop to be run after the first."""
        return self._copy(self._loop.again())

    def without_test(self) -> Loop:
        """The loop whose steps do not ask whether to go on."""
        return self._copy(self._loop.without_test())

    def test(self) -> Loop | None:
        """The loop that says whether any example goes on."""
        test = self._loop.test()
        if test is None:
            return None
        made = self._copy(test)
        made._is_test = True
        return made

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
                if self._is_test:
                    goes_on = found[1][0]
                    return carry, [np.any(unhidden(goes_on, scope)) if is_mapped(goes_on, scope) else goes_on], []
                after, self.ys[:], self.sums[:] = ([is_mapped(one, scope) for one in part] for part in found)
                wider = [one or other for one, other in zip(after, self.carry, strict=True)]
                if wider != self.carry:
                    self.carry[:] = wider
                    raise _WiderError(self.carry)
                return tuple(  # type: ignore[return-value]
                    [unhidden(one, scope) if flag else one for one, flag in zip(part, flags, strict=True)]
                    for part, flags in zip(found, (self.carry, self.ys, self.sums), strict=True)
                )

            yield step


def _hidden(values: Leaves, flags: Sequence[bool], scope: Scope) -> Leaves:
    return [Mapped(one, scope) if flag else one for one, flag in zip(values, flags, strict=True)]


def of_examples(
    run: Callable[..., Any], loop: Loop, parts: Sequence[Leaves], order: Any, has_carries: bool, is_first: bool, mapping: Scope
) -> list[Leaves]:
    """The last carry, ys, sums and carries of a loop of values of a mapping, by the loop of all examples, which `run` runs."""
    flags = [[is_mapped(one, mapping) for one in part] for part in parts]
    consts, init, xs = ([unhidden(one, mapping) if is_mapped(one, mapping) else one for one in part] for part in parts)
    xs = [_with_axes_swapped(one) if flag else one for one, flag in zip(xs, flags[2], strict=True)]
    inner = OfExamples(loop, mapping, flags[0], list(flags[1]), flags[2])
    inner.is_first = is_first
    consts += [one._primal for one in inner.captured]
    before = loop.state()
    while True:
        try:
            found = run(inner, consts, init, xs, order, has_carries)
            break
        except _WiderError as wider:
            if wider.carry is not inner.carry:
                raise  # it is that of a loop around this one, which is of other examples
            loop.restart(before)
            init = [one if flag == now else unhidden(one, mapping) for one, flag, now in zip(init, flags[1], inner.carry, strict=True)]
            flags[1] = list(inner.carry)
    stacked = [
        [Mapped(_with_axes_swapped(one), mapping) if flag else one for one, flag in zip(part, flags, strict=True)]
        for part, flags in ((found.ys, inner.ys), (found.carries if has_carries else [], inner.carry if has_carries else []))
    ]
    return [_hidden(found.carry, inner.carry, mapping), stacked[0], _hidden(found.sums, inner.sums, mapping), stacked[1]]


def _with_axes_swapped(x: Any) -> Any:
    """What has an axis of steps and one of examples, in the other order; a trail has no axis of steps."""
    return x if kind_of(inmost(x)) is Trail else np.moveaxis(x, 0, 1)
