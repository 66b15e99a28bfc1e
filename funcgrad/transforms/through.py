"""Loops through the steps of other loops: with cotangents backwards, with tangents forwards.

Owns their steps. They are run as all loops (`funcgrad.transforms.recurrence`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.ops.operators import in_kind
from funcgrad.replay import is_large
from funcgrad.rules.values import raw
from funcgrad.staged import kind_of
from funcgrad.tape import thread
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import replaced, settled
from funcgrad.transforms.calls import on_behalf
from funcgrad.transforms.compile.loops import converted
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.segments import Call, Results, Segment, with_records
from funcgrad.transforms.steps import Gathered, Leaves, Loop, Step


class Pulled(Loop):
    """Cotangents through a loop, some steps at a time.

    Its carry are the cotangents of the carry. A row is what a block of steps started from, xs of these, and the cotangents of their ys and
    of the carries before them.
    """

    def __init__(self, call: Call, ys: list[int], sums: list[int], carries: list[int], numbers: range = range(0)) -> None:
        self.name, self.staged, self.mapped = call.loop.name, call.loop.staged, call.loop.mapped
        self.call, self.ys, self.sums, self.carries, self.numbers = call, ys, sums, carries, numbers

    @contextlib.contextmanager
    def running(self, consts: Leaves) -> Iterator[Step]:
        """The step through a block, whose steps have those numbers."""
        numbers, n_carry = self.numbers, self.call.sizes[1]

        def step(ct: Leaves, row: Leaves) -> tuple[Leaves, Leaves, Leaves]:
            rows = row[n_carry:]
            with self.recorded(consts, row[:n_carry], rows, numbers) as segment:
                ct, of_steps, of_consts = self.through(segment, consts, ct, rows, numbers)
            of_steps = of_steps if numbers.step > 0 else of_steps[::-1]
            return ct, [np.stack(column) for column in zip(*of_steps, strict=True)], of_consts

        yield step

    def recorded(
        self, consts: Leaves, carry: Leaves, rows: Leaves, numbers: range, record_size: float | None = 0.0
    ) -> contextlib.AbstractContextManager[Segment]:
        """The steps of those numbers, with records."""
        n_consts, _, n_xs = self.call.sizes
        for n in self.call.floats:
            if isinstance(carry[n], np.generic):
                carry[n] = float(carry[n])
            elif kind_of(raw(carry[n])) is np.float64:
                one = carry[n]
                carry[n] = in_kind(one, float, one.dtype) if type(one) is Tracer else converted(one, float, one.dtype)
        return with_records(self.call, consts[:n_consts], carry, rows[:n_xs], numbers, record_size, bool(self.carries))

    def through(self, segment: Segment, consts: Leaves, ct: Leaves, rows: Leaves, numbers: range) -> tuple[Leaves, list[Leaves], Leaves]:
        """The cotangents of the carry before some steps, of the rows of xs, and of consts."""
        call = self.call
        (n_consts, _, n_xs), (wanted, _, wanted_xs) = call.sizes, call.wanted
        seeds = list(zip([segment.carry[n] for n in call.active], ct, strict=True))
        for n, of_steps in zip(self.ys, rows[n_xs:]):
            seeds += [(ys[n], of_steps[i]) for ys, i in zip(segment.ys, numbers, strict=True)]
        for n, of_steps in zip(self.carries, rows[n_xs + len(self.ys) :], strict=True):
            seeds += [(before[n], of_steps[i]) for before, i in zip(segment.carries, numbers, strict=True)]
        for n, of_sum in zip(self.sums, consts[n_consts:], strict=True):
            seeds += [(sums[n], of_sum) for sums in segment.sums]
        seeds = [(index, seed) for index, seed in seeds if index is not None]
        is_frugal = thread.scope is None and not segment.is_kept and is_large(segment.values)
        found = settled(segment.piece.backward(seeds, is_frugal), segment.values)
        of_consts, of_carry, of_xs = found[: len(wanted)], found[len(wanted) : len(wanted) + len(ct)], iter(found[len(wanted) + len(ct) :])
        return of_carry, [[next(of_xs) for _ in wanted_xs] for _ in numbers], of_consts


class PulledOne(Pulled):
    """Cotangents through a loop step by step."""

    @contextlib.contextmanager
    def running(self, consts: Leaves) -> Iterator[Step]:
        """The step through one of the loop."""
        n_carry = self.call.sizes[1]

        def step(ct: Leaves, row: Leaves) -> tuple[Leaves, Leaves, Leaves]:
            rows = [[one] for one in row[n_carry:]]
            with self.recorded(consts, row[:n_carry], rows, range(1)) as segment:
                ct, of_steps, of_consts = self.through(segment, consts, ct, rows, range(1))
            return ct, of_steps[0], of_consts

        yield step


class Pushed(Loop):
    """A loop with the tangents of all that it has: of consts, the carry and xs, behind each of these."""

    is_measured = False

    def __init__(self, call: Call, is_on_behalf: bool) -> None:
        self.name, self.staged, self.mapped = call.loop.name, call.loop.staged, call.loop.mapped
        self._call, self._is_on_behalf = call, is_on_behalf

    def test(self) -> Loop | None:
        """That of the loop, on the carry without tangents."""
        test = self._call.loop.test()
        return None if test is None else Part(test, self._call.sizes)

    @contextlib.contextmanager
    def running(self, consts: Leaves) -> Iterator[Step]:
        """The step, with tangents."""

        def step(carry: Leaves, row: Leaves) -> tuple[Leaves, Leaves, Leaves]:
            def moved(consts: Leaves, carry: Leaves, row: Leaves) -> Results:
                gathered = Gathered(1, False)
                with self._call.loop.running(consts) as step:
                    found: Any = step(carry, row)
                gathered.take_whole(1, found[1], found[2], [])
                return Results(found[0], gathered)

            after, (t_carry, t_ys, t_sums, _) = self._moved(moved, consts, carry, row)
            return [*after.carry, *t_carry], t_ys, t_sums

        yield step

    def run(self, consts: Leaves, carry: Leaves, xs: Any, order: Any, gathered: Gathered, is_first: bool = False) -> Leaves:
        """All steps at once, in forward mode."""

        def moved(consts: Leaves, carry: Leaves, xs: Leaves) -> Results:
            inner = Gathered(gathered.count, gathered.has_carries)
            return Results(self._call.loop.run(consts, carry, xs, order, inner), inner)

        found, (t_carry, t_ys, t_sums, t_carries) = self._moved(moved, consts, carry, xs)
        gathered.take_whole(len(order), t_ys, t_sums, [*found.carries, *t_carries])
        return [*found.carry, *t_carry]

    def _moved(self, f: Callable[..., Results], consts: Leaves, carry: Leaves, xs: Leaves) -> tuple[Results, list[Leaves]]:
        """What f gives, and the tangents of the leaves of its carry, ys, sums and carries that have any."""
        call = self._call
        counts, wanted = call.sizes, [call.wanted[0], call.active, call.wanted[2]]
        plain = [part[:count] for part, count in zip((consts, carry, xs), counts, strict=True)]
        tangents = [part[count:] for part, count in zip((consts, carry, xs), counts, strict=True)]
        found: Any = None

        def moved(*some: Leaves) -> tuple[list[Any], list[Any]]:
            nonlocal found
            found = f(*(replaced(part, places, moving) for part, places, moving in zip(plain, wanted, some, strict=True)))
            return [leaves[n] for leaves, n in call.places(found)], [found.carry, found.carries]

        primals = [[part[n] for n in places] for part, places in zip(plain, wanted, strict=True)]
        with on_behalf(self._is_on_behalf):
            _, given, (found.carry, found.carries) = jvp(moved, primals, tangents, has_aux=True)
        left = iter(given)
        kinds = ((found.carry, call.active), (found.ys, call.ys), (found.sums, call.sums), (found.carries, call.hidden))
        return found, [[next(left) for _ in places] if leaves else [] for leaves, places in kinds]


class Part(Loop):
    """A loop of which more is known than it is to be told: behind consts and the carry there is something else."""

    def __init__(self, loop: Loop, sizes: Sequence[int]) -> None:
        self.name, self.staged = loop.name, loop.staged
        self._loop, self._sizes = loop, sizes

    @contextlib.contextmanager
    def running(self, consts: Leaves) -> Iterator[Step]:
        """The step of the loop."""
        with self._loop.first(consts[: self._sizes[0]]) as step:
            yield lambda carry, row: step(carry[: self._sizes[1]], row)
