"""The steps of a loop as functions of lists of leaves, how they are run, and what is gathered of them.

Knows no tape. What a loop as one record keeps and computes again is `funcgrad.transforms.recurrence`'s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.rules.values import raw, shape_of
from funcgrad.transforms.calls import has_derivative

Leaves = list[Any]
Step = Callable[[Leaves, Leaves], "tuple[Leaves, Leaves, Leaves] | None"]


class Loop:
    """A loop by its step: `(carry, row of xs)` -> `(carry, ys, addends of sums)`, or None to end.

    Attributes:
        name: how messages call it.
        steps: how many steps are at least computed again together.
        budget: how many bytes of the inside of steps may be kept instead.
        is_measured: whether the size of the inside is to be found out in the first run.
        staged, mapped: the staged and mapped values that the step closes over.
        reaches: functions of the user's, whose arrays must stay what they are.
    """

    name: str
    steps = 1
    budget = 0.0
    is_measured = True
    staged: Sequence[Any] = ()
    mapped: Sequence[Any] = ()
    reaches: Sequence[Any] = ()

    def running(self, consts: Leaves) -> contextlib.AbstractContextManager[Step]:
        """The step, while what every step is given has those values."""
        raise NotImplementedError

    def first(self, consts: Leaves) -> contextlib.AbstractContextManager[Step]:
        """The step of a run on plain values."""
        return self.running(consts)

    def again(self) -> Loop:
        """The loop of a number of steps that is known to fit: the one to be run after the first."""
        return self

    def test(self) -> Loop | None:
        """The loop whose y says whether to go on, of a loop that ends itself."""
        return None

    def without_test(self) -> Loop:
        """The loop whose steps do not ask whether to go on."""
        return self

    def state(self) -> Any:
        """What is to be given to `restart`."""

    def restart(self, state: Any) -> None:
        """What was run since is run once more."""

    def run(
        self, consts: Leaves, carry: Leaves, xs: Sequence[Any], order: Iterable[int], gathered: Gathered, is_first: bool = False
    ) -> Leaves:
        """Run the steps of some numbers one after the other; returns the last carry."""
        with (self.first if is_first else self.running)(consts) as step:
            for i in order:
                found = step(carry, [x[i] for x in xs])
                if found is None:
                    break
                after, ys, addends = found
                gathered.take(i, carry, ys, addends)
                carry = after
        return carry


class Gathered:
    """What is gathered of the steps of a loop: ys, sums, and the carries before them, if these are asked for.

    Attributes:
        done: how many steps there were.
        count: how many there are to be; None if they end themselves.
        has_carries: whether the carries are asked for.
        sums: the sums.
    """

    def __init__(self, count: int | None, has_carries: bool) -> None:
        self.done, self.has_carries = 0, has_carries
        self.sums: Leaves = []
        self.count = count
        self._carries: list[Stack] = []
        self._ys: list[Stack] = []
        self._puts: list[Callable[[int, Any], None]] = []
        self._whole: tuple[Leaves, Leaves] | None = None

    def take(self, i: int, before: Leaves, ys: Leaves, addends: Leaves) -> None:
        """Take what step i gives."""
        if not self.done:
            self._begin(before, ys)
        for put, one in zip(self._puts, [*before, *ys] if ys else before):
            put(i, one)
        if addends:
            self.add(addends)
        self.done += 1

    def add(self, addends: Leaves) -> None:
        """Take addends of the sums."""
        self.sums = [one + two for one, two in zip(self.sums, addends, strict=True)] if self.sums else list(addends)

    def take_all(self, numbers: range, first: Leaves, befores: list[Leaves], of_steps: list[Leaves], addends: list[Leaves]) -> None:
        """Take the values of what some steps give that were run with records, but the first carry as it is."""
        if not befores:
            return
        if not self.done:
            self._begin(first, [raw(one) for one in of_steps[0]] if of_steps else [])
        for n, stack in enumerate(self._carries):
            stack.put_all(numbers, [first[n], *(raw(before[n]) for before in befores[1:])])
        for n, stack in enumerate(self._ys):
            stack.put_all(numbers, [raw(ys[n]) for ys in of_steps])
        for one in addends:
            self.add([raw(part) for part in one])
        self.done += len(befores)

    def take_whole(self, count: int, ys: Leaves, sums: Leaves, carries: Leaves) -> None:
        """Take what all steps give, stacked already."""
        self.done, self.sums, self._whole = count, sums, (ys, carries)

    def _begin(self, before: Leaves, ys: Leaves) -> None:
        self._carries = [Stack(self.count, "fc") for _ in before] if self.has_carries else []
        self._ys = [Stack(self.count, "biufc") for _ in ys]
        nowhere = [] if self.has_carries else [_nowhere] * len(before)
        self._puts = [*nowhere, *(stack.put for stack in (*self._carries, *self._ys))]

    def ys(self) -> Leaves:
        """The ys, stacked."""
        return self._whole[0] if self._whole else [one.array(self.done) for one in self._ys]

    def carries(self) -> Leaves:
        """The carries, stacked where they have a derivative, as lists elsewhere."""
        return self._whole[1] if self._whole else [one.array(self.done, is_exact=True) for one in self._carries]


def _nowhere(i: int, value: Any) -> None:
    """For what is not asked for."""


class Stack:
    """What a leaf is in each step, the steps in front: in one array, if it is made of plain numbers of some kinds."""

    __slots__ = ("_buffer", "_count", "_kinds", "_type", "_values")

    def __init__(self, count: int | None, kinds: str) -> None:
        self._count, self._kinds = count, kinds
        self._buffer: Any = None
        self._type: Any = Stack  # of the values that go into the buffer: of none
        self._values: list[Any] | None = None

    def put(self, i: int, value: Any) -> None:
        """Put in the value of a step. Where their number is not known they come in order."""
        if type(value) is self._type:
            try:
                self._buffer[i] = value
            except IndexError:
                self._buffer = np.concatenate([self._buffer, np.empty_like(self._buffer)])
                self._buffer[i] = value
        else:
            self._put(i, value)

    def put_all(self, numbers: range, values: list[Any]) -> None:
        """Put in the values of consecutive steps."""
        first = min(numbers[0], numbers[-1])
        if not {type(value) for value in values} <= {self._type} or first + len(values) > len(self._buffer):
            for i, value in zip(numbers, values):
                self.put(i, value)
            return
        if numbers.step < 0:
            values = values[::-1]
        rows = self._buffer[first : first + len(values)]
        if rows.ndim > 1:
            np.concatenate(values, out=rows.reshape((-1, *rows.shape[2:])))
        else:
            rows[:] = values

    def _put(self, i: int, value: Any) -> None:
        """Put in the first value, or one of another type than that before it."""
        if self._buffer is None and self._values is None:
            if isinstance(value, _PLAIN) and np.asarray(value).dtype.kind in self._kinds:
                self._buffer = np.empty((64 if self._count is None else self._count, *shape_of(value)), np.asarray(value).dtype)
            else:
                self._values = [] if self._count is None else [None] * self._count
        if self._values is None:
            if isinstance(value, _PLAIN):
                self._type = type(value)
                return self.put(i, value)
            self._values = [row.copy() for row in (self._buffer[:i] if self._count is None else self._buffer)]
            self._type = Stack
        if self._count is None:
            self._values.append(value)
        else:
            self._values[i] = value
        return None

    def array(self, count: int, is_exact: bool = False) -> Any:
        """The values of that many steps in one array; if `is_exact`, as they came, in a list, where they have no derivative."""
        if self._values is None:
            return self._buffer if len(self._buffer) == count else self._buffer[:count]
        values = self._values[:count]
        return values if is_exact and not has_derivative(values[0]) else np.stack(values)


_PLAIN = (np.ndarray, np.generic, float, int, complex)
