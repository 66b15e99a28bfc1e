"""Loops of staged values: their step is recorded once, and runs in a loop of Python's when the program does.

Owns the program of a step, what runs it, and the instruction that this is in the program around. What a step is, and what derivatives of
loops are, belongs to `funcgrad.transforms.recurrence`: its loops through steps, backwards and forwards, are compiled as all others.

The step is recorded inside of the recording around. Staged values of that which the step uses become further inputs of its program; what is
computed from them alone stays outside of the loop.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import ConcretizationError
from funcgrad.instructions import NUMBERS, Trail, Variable, copied, variable_of
from funcgrad.mapped import LAYERS, traced_in
from funcgrad.numbers import as_kind
from funcgrad.samples import sample_of
from funcgrad.staged import Recording, Staged, kind_of
from funcgrad.tape import Label, close_scope, open_scope, thread
from funcgrad.tracer import Tracer
from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.loop_code import LoopCode
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.programs import constant, passed
from funcgrad.transforms.steps import Leaves, Loop

# ------------------------------------------------------------------------------------------------ recording


class Inner(Recording):
    """The recording of a part of a program that runs many times, or perhaps not at all.

    Attributes:
        outer: the recording around.
        around: staged values of the recordings around that it uses, by their variables.
    """

    is_supposed = True

    def __init__(self, outer: Recording, scope: Any) -> None:
        super().__init__(scope, outer.is_careful)
        self.outer = outer
        self.holds = outer.holds
        self.around: dict[Variable, Staged] = {}

    def input(self, value: Any) -> Staged:
        """What the part is given.

        Raises:
            ConcretizationError: it is no number and no array.
        """
        return super().input(constant(f"{self.scope.name}: an operand", value, ConcretizationError))

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Record a call, and what it uses of the code around."""
        self._note(args)
        self._note(options.values())
        return super().call(function, args, options)

    def _note(self, values: Any) -> None:
        for one in traced_in(values):
            if type(one) is Staged and one._recording is not self:
                self.around[one._variable] = one

    def result(self, name: str, value: Any) -> Any:
        """A result as a variable or a constant."""
        if type(value) is Staged:
            self._note((value,))
            return value._variable
        return constant(f"{name}: a result", value, ConcretizationError)


@contextlib.contextmanager
def inside(outer: Recording, name: str, is_branch: bool = False) -> Iterator[Inner]:
    """Record inside of another recording. All that a branch computes is to be computed there, as it may not be asked for."""
    before = thread.scope
    if before is None or before.records is not outer.scope.records or before.depth < outer.scope.depth:
        thread.scope = outer.scope
    scope = open_scope(Label(name), Tracer)
    scope.is_recorded = False
    inner = Inner(outer, scope)
    others: list[tuple[Recording, Recording | None]] = []
    recording: Recording | None = outer
    while is_branch and recording is not None:
        others.append((recording, recording.instead))
        recording.instead = inner
        recording = recording.outer if isinstance(recording, Inner) else None
    try:
        yield inner
    finally:
        for recording, instead in others:
            recording.instead = instead
        close_scope(scope)
        thread.scope = before


def closed(inner: Inner, name: str, inputs: Sequence[Variable], outputs: Sequence[Any]) -> tuple[Program, list[Staged]]:
    """The program of what was recorded inside, after all passes, and the values around that are its first inputs."""
    watched = [one._variable for one in inner.watched]
    program = passed(Program(name, list(inputs), inner.instructions, list(outputs), watched))
    known = set(inputs)
    free: dict[Variable, Staged] = {}
    for instruction in program.instructions:
        free |= {one: inner.around[one] for one in instruction.inputs if one not in known}
        known.update(instruction.outputs)
    free |= {one: inner.around[one] for one in (*program.outputs, *program.watched) if type(one) is Variable and one not in known}
    return Program(name, [*free, *inputs], program.instructions, program.outputs, program.watched), list(free.values())


def staged_in(values: Any) -> Staged | None:
    """A staged value of the innermost recording among some values, and inside tracers and mapped values among them."""
    found: Staged | None = None
    for one in traced_in(values):
        while type(one) in LAYERS:
            one = one._primal
        if type(one) is Staged and (found is None or one._scope.depth > found._scope.depth):
            found = one
    return found


def at_first(value: Any) -> Any:
    """A value as it is at the first call."""
    return sample_of(value) if type(value) is Staged else value


def rank_of(kind: type) -> int:
    """How far a type of a number is from Python's: arrays without axes are farthest."""
    return 0 if kind in NUMBERS else 2 if kind is np.ndarray else 1


def converted(value: Any, kind: type, dtype: Any) -> Any:
    """A number as another type has it."""
    given = value, kind, dtype
    return value.recorded(as_kind, given, {}) if type(value) is Staged else as_kind(*given)


# ------------------------------------------------------------------------------------------------ loops


class LoopRun:
    """A compiled step with the loop that it runs in: `(values around, those of the test, first carry, xs)` -> what the loop gives.

    That is a number that is NaN where strong zeros are needed (if derivatives are watched), the last carry, ys, sums and carries.

    Args:
        step: the program of a step.
        test: the program that says whether to go on; None where the number of steps is known.
        counts: how many leaves of the carry, ys and sums there are.
        rows: how many xs.
        order: the numbers of the steps; None where there is a test, or where it is as many steps back as the first of xs says.
        has_carries: whether the carries are asked for.
    """

    is_fresh = True

    def __init__(
        self, step: Program, test: Program | None, counts: tuple[int, int, int], rows: int, order: range | None, has_carries: bool
    ) -> None:
        self.__name__ = "loop" if test is None else "while_loop"
        self.step, self.test, self.counts, self.rows, self.order, self.has_carries = step, test, counts, rows, order, has_carries
        self._is_watched = bool(step.watched)
        n_carry, n_ys, _ = counts
        outputs = step.outputs
        self._ys = [variable_of(one) for one in outputs[n_carry : n_carry + n_ys]]
        self._carries = [variable_of(one) for one in outputs[:n_carry]] if has_carries else []
        self._code = LoopCode(step, counts, rows, has_carries, test is not None)
        self._test = None if test is None else Code(test)

    @property
    def text(self) -> str:
        """The code."""
        codes = [("condition", self._test)] if self._test is not None else []
        return "\n".join(f"# {self.step.name}, {what}\n{one.text}" for what, one in [*codes, ("steps", self._code)])

    @property
    def programs(self) -> list[tuple[str, Program]]:
        """What it consists of."""
        return [("the step", self.step)] if self.test is None else [("the condition", self.test), ("the step", self.step)]

    def form(self, around: Sequence[Any], around_test: Sequence[Any], init: Sequence[Any], xs: Sequence[Any]) -> tuple[Any, ...] | None:
        """What results are like. As samples, trails are those of no steps."""
        n_carry, n_ys, _ = self.counts
        outputs = [*map(variable_of, self.step.outputs)]
        count = None if self.order is None else len(self.order)
        if count is None and n_ys:
            return None
        kept: list[Any] = []
        if self.has_carries:
            kept = [Trail(one) for one in init] if count is None else [_stack_of(one, count) for one in outputs[:n_carry]]
        ys = [_stack_of(one, count or 0) for one in outputs[n_carry : n_carry + n_ys]]
        flag = [Variable(0.0)] if self._is_watched else []
        return (*flag, *map(copied, outputs[:n_carry]), *ys, *map(copied, outputs[n_carry + n_ys :]), *kept)

    def __call__(self, around: Sequence[Any], around_test: Sequence[Any], init: Sequence[Any], xs: Sequence[Any]) -> tuple[Any, ...]:
        """Run the loop."""
        order: Any = range(len(xs[0]))[::-1] if self.order is None and self._test is None else self.order
        kept: list[Any]
        if self._test is None:
            kept = [np.empty((len(order), *one.shape), one.dtype) for one in self._carries]
            go_on = None
        else:
            order, go_on = itertools.count(), self._test.take()
            kept = [Trail(one) for one in init] if self.has_carries else []
        ys = [np.empty((len(order), *one.shape), one.dtype) for one in self._ys]
        function = self._code.take()
        found = function(*around, *init, *xs, *ys, *kept, order, go_on, around_test)
        self._code.give_back(function)
        if self._test is not None and go_on is not None:
            self._test.give_back(go_on)
        if found is None:
            found = (*init, *(zero_of(one) for one in self.step.outputs[self.counts[0] + self.counts[1] :]))
            return (np.nan, *found[: self.counts[0]], *ys, *found[self.counts[0] :], *kept)
        sums = [zero_of(self.step.outputs[n - len(found)]) if one is None else one for n, one in enumerate(found) if n >= self.counts[0]]
        return (*([0.0] if self._is_watched else []), *found[: self.counts[0]], *ys, *sums, *kept)


def _stack_of(output: Variable, count: int) -> Variable:
    made = copied(output, (count, *output.shape))
    made.kind = np.ndarray
    return made


def zero_of(output: Any) -> Any:
    """A value like an output of a program."""
    like = variable_of(output)
    return np.zeros(like.shape, like.dtype) if like.kind is np.ndarray else like.kind(0)


def compiled_loop(
    loop: Loop, consts: Leaves, init: Leaves, xs: Sequence[Any], order: range | None, has_carries: bool, is_first: bool
) -> tuple[Leaves, Leaves, Leaves, Leaves]:
    """Record a loop of staged values as one instruction.

    Args:
        loop: the loop; if it ends itself, it says by what test.
        consts: what every step is given; plain and staged values, as in the others.
        init: the first carry.
        xs: what is given to the steps one by one.
        order: the numbers of the steps, at least one; None where there is a test, or a trail among xs to be followed back.
        has_carries: whether the carries are asked for.
        is_first: whether the loop has not been run before.

    Returns:
        The last carry, ys, sums, and the carries before the steps.

    Raises:
        ConcretizationError: the step depends on a value.
    """
    found = staged_in((*consts, *init, *xs, *loop.staged))
    assert found is not None
    outer = found._recording
    init, before, test = list(init), loop.state(), loop.test()
    step_alone = loop if test is None else loop.without_test()
    while True:
        with inside(outer, loop.name) as inner:
            carry = [inner.input(at_first(one)) for one in init]
            row = [inner.input(_row_of(x, order[0] if order else 0)) for x in xs]
            with (step_alone.first if is_first else step_alone.running)(consts) as step:
                given: Any = step(list(carry), list(row))
            after, ys, sums = given
            wider = [n for n, (one, other) in enumerate(zip(after, carry, strict=True)) if rank_of(kind_of(one)) > rank_of(other.kind)]
            if not wider:
                pairs = zip(after, carry, strict=True)
                after = [one if kind_of(one) is other.kind else converted(one, other.kind, other.dtype) for one, other in pairs]
                outputs = [inner.result(loop.name, one) for one in (*after, *ys, *sums)]
                break
        for n in wider:
            init[n] = converted(init[n], kind_of(after[n]), after[n].dtype)
        loop.restart(before)
    inputs = [one._variable for one in (*carry, *row)]
    program, around = closed(inner, loop.name, inputs, outputs)
    test_program, around_test = (None, []) if test is None else _tested(test, outer, consts, init, is_first)
    run = LoopRun(program, test_program, (len(after), len(ys), len(sums)), len(row), order, has_carries)
    made = list(outer.call(run, (list(around), around_test, init, list(xs)), {}))
    if program.watched:
        made.pop(0).watch()
    a, b, c = len(after), len(after) + len(ys), len(after) + len(ys) + len(sums)
    return made[:a], made[a:b], made[b:c], made[c:]


def _tested(test: Loop, outer: Recording, consts: Leaves, init: Leaves, is_first: bool) -> tuple[Program, list[Staged]]:
    """The program of the test of a loop, and what it uses of the code around."""
    with inside(outer, test.name) as inner:
        carry = [inner.input(at_first(one)) for one in init]
        with (test.first if is_first else test.running)(consts) as step:
            given: Any = step(list(carry), [])
        output = inner.result(test.name, given[1][0])
    return closed(inner, test.name, [one._variable for one in carry], [output])


def _row_of(x: Any, i: int) -> Any:
    """A row at the first call."""
    x = at_first(x)
    return at_first(x.example) if type(x) is Trail else x[i]
