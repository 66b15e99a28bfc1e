"""Steps of a loop that are run with records: what is known of the loop's call, and segments of some steps each.

Owns how a segment is run and when its records are kept. What is done with them is `funcgrad.transforms.recurrence`'s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import StaleTracerError
from funcgrad.mapped import OPEN, across
from funcgrad.replay import Slice, end_keeping, new_leaves, open_keeping
from funcgrad.rules.values import raw
from funcgrad.staged import kind_of
from funcgrad.tape import Label, Scope, close_scope, thread
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import replaced
from funcgrad.transforms.calls import closed_over, has_derivative
from funcgrad.transforms.steps import Gathered, Leaves, Loop

SEGMENT_BYTES = 1 << 18
"""Steps are recorded together as long as their inside is smaller than that: a scope for each would cost more than the step."""
SEGMENT_STEPS = 256

_LABEL = Label("a loop")


class Results:
    """What a loop gives, in lists of leaves: the last carry, the stacked ys, the sums, and the stacked carries if they were asked for."""

    __slots__ = ("carries", "carry", "sums", "ys")

    def __init__(self, carry: Leaves, gathered: Gathered) -> None:
        self.carry, self.ys, self.sums, self.carries = carry, gathered.ys(), gathered.sums, gathered.carries()


class Call:
    """A loop that is run: what its replays must know.

    Attributes:
        loop: to be run again.
        order: the numbers of its steps.
        sizes: how many consts, leaves of the carry, and xs there are.
        traced: which of all these are operands; `wanted` the same, for each of the three.
        active: which leaves of the carry have a derivative; likewise `ys` and `sums`.
        floats: which leaves of the carry are Python floats.
        first: the position from which on leaves are those of the scope that the call was made in.
        together: how many steps are to be recorded together.
        ends_itself: whether it is the program that finds out how many steps there are.
    """

    __slots__ = ("active", "ends_itself", "first", "floats", "loop", "order", "sizes", "sums", "together", "traced", "wanted", "ys")

    order: range

    def __init__(self, loop: Loop, parts: list[Leaves], first: int) -> None:
        self.loop, self.first, self.together = loop, first, loop.steps
        self.ends_itself = False
        self.sizes = [len(part) for part in parts]
        self.wanted = [_places(part, lambda one: type(one) is Tracer) for part in parts]
        self.traced = _places([one for part in parts for one in part], lambda one: type(one) is Tracer)
        self.active = _places(parts[1], has_derivative)
        self.floats = self.ys = self.sums = _places([], has_derivative)

    def gave(self, found: Results, order: range, init: Leaves) -> None:
        """The loop was run for the first time."""
        self.loop, self.order = self.loop.again(), order
        self.ys, self.sums = _places(found.ys, has_derivative), _places(found.sums, has_derivative)
        self.floats = [n for n in self.active if kind_of(found.carry[n]) is float and kind_of(init[n]) is float]

    def split(self, flat: Sequence[Any]) -> list[Leaves]:
        """A flat list as consts, carry and xs."""
        a, b, c = self.sizes
        return [list(flat[:a]), list(flat[a : a + b]), list(flat[a + b : a + b + c])]

    @property
    def hidden(self) -> list[int]:
        """Which leaves of the stacked carries are outputs of the record: a replay that is itself recorded takes them as tracers."""
        return [] if self.ends_itself else self.active

    def places(self, found: Results) -> list[tuple[Leaves, int]]:
        """Where in the results those leaves are that have derivatives."""
        kinds = ((found.carry, self.active), (found.ys, self.ys), (found.sums, self.sums), (found.carries, self.hidden))
        return [(leaves, n) for leaves, places in kinds if leaves for n in places]


def _places(leaves: Sequence[Any], has_property: Callable[[Any], bool]) -> list[int]:
    return [n for n, one in enumerate(leaves) if has_property(one)]


# ------------------------------------------------------------------------------------------------ steps with records


class Segment:
    """Steps that were run one after the other with records. What depends on those is known by its position, all else as None.

    Attributes:
        numbers: of the steps.
        values: what they started from, the traced ones: consts, the carry, rows of xs.
        ys, sums, carries: of each step its ys and addends, and the carry before it where that is asked for.
        carry: the last carry.
        plain: its values.
        size: how many bytes the records keep, estimated from those of one record if they are given.
        piece, count, is_kept: the records, how many there are, and whether they are kept.
    """

    __slots__ = ("carries", "carry", "count", "is_kept", "numbers", "piece", "plain", "size", "sums", "values", "ys")

    piece: Slice

    def __init__(self, call: Call, consts: Leaves, carry: Leaves, xs: Sequence[Any], numbers: range) -> None:
        self.numbers = numbers
        self.values = [consts[n] for n in call.wanted[0]] + [carry[n] for n in call.active]
        self.values += [xs[n][i] for i in numbers for n in call.wanted[2]]
        self.ys: list[Leaves] = []
        self.sums: list[Leaves] = []
        self.carries: list[Leaves] = []
        self.carry: Leaves = []
        self.plain: Leaves = []
        self.size, self.count, self.is_kept = 0.0, 0, False

    def run(self, call: Call, scope: Scope, consts: Leaves, carry: Leaves, xs: Sequence[Any]) -> None:
        """Run the steps on leaves of a scope."""
        wanted, active, wanted_xs = call.wanted[0], call.active, call.wanted[2]
        left = iter(new_leaves(scope, self.values))
        consts = replaced(consts, wanted, [next(left) for _ in wanted])
        carry = replaced(carry, active, [next(left) for _ in active])
        keep_carry, keep_ys, keep_sums = self.carries.append, self.ys.append, self.sums.append
        with call.loop.running(consts) as step:
            for i in self.numbers:
                row = [x[i] for x in xs]
                for n in wanted_xs:
                    row[n] = next(left)
                found = step(carry, row)
                if found is None:
                    break
                keep_carry(carry)
                carry, ys, sums = found
                if ys:
                    keep_ys(ys)
                if sums:
                    keep_sums(sums)
        self.carry, self.numbers = carry, self.numbers[: len(self.carries)]

    def by_position(self, name: str, scope: Scope, has_carries: bool) -> None:
        """Let go of the values."""
        self.carry = _positions(self.carry, scope, name)
        self.ys = [_positions(ys, scope, name) for ys in self.ys]
        self.sums = [_positions(sums, scope, name) for sums in self.sums]
        self.carries = [_positions(carry, scope, name) for carry in self.carries] if has_carries else []


def _positions(leaves: Leaves, scope: Scope, name: str) -> Leaves:
    if any(type(one) is Tracer and one._scope is not scope for one in leaves):
        raise closed_over(name)
    return [one._index if type(one) is Tracer else None for one in leaves]


def plain(leaves: Leaves) -> Leaves:
    """The values of leaves."""
    return [raw(one) for one in leaves]


@contextlib.contextmanager
def with_records(
    call: Call,
    consts: Leaves,
    carry: Leaves,
    xs: Sequence[Any],
    numbers: range,
    record_size: float | None = None,
    has_carries: bool = False,
    gathered: Gathered | None = None,
    budget: float = -1.0,
) -> Iterator[Segment]:
    """Run steps with records, which go afterwards; but they are kept where that is within the budget."""
    segment, kept = Segment(call, consts, carry, xs, numbers), None
    scope = open_keeping(_LABEL)
    try:
        try:
            if OPEN:
                segment.values = [across(scope, one) for one in segment.values]
            records, start = scope.records, len(scope.records)
            segment.run(call, scope, consts, carry, xs)
        except StaleTracerError as error:
            raise closed_over(call.loop.name) from error
        finally:
            close_scope(scope)
        if gathered is not None:
            segment.plain = plain(segment.carry)
            gathered.take_all(segment.numbers, carry, segment.carries, segment.ys, segment.sums)
        segment.by_position(call.loop.name, scope, has_carries)
        segment.piece = Slice(records, start, len(segment.values), thread.scope)
        segment.count = len(records) - start
        if record_size is None:
            segment.size = _size_of((record[-1] for record in records[start:]), {id(one) for one in segment.values})
        else:
            segment.size = segment.count * record_size
        if segment.size <= budget:
            segment.piece.keep()
            segment.is_kept, kept = True, segment.piece
        yield segment
    finally:
        end_keeping(scope, kept)


def _size_of(values: Iterable[Any], seen: set[int]) -> float:
    """About how many bytes records need for what they keep, beside arrays that were seen before."""
    size = 0.0
    for value in values:
        size += 100.0
        if isinstance(value, (tuple, list)):
            size += _size_of(value, seen)
        elif isinstance(value, np.ndarray) and id(value) not in seen and 0 not in value.strides:
            seen.add(id(value))
            size += value.nbytes
    return size


def steps_together(segment: Segment, at_least: int = 1, budget: float = SEGMENT_BYTES) -> int:
    """How many steps like those of a segment are to be recorded together."""
    size = segment.size / (len(segment.numbers) or 1) + 1.0
    return max(at_least, int(min(SEGMENT_STEPS, min(budget, SEGMENT_BYTES) // size)))
