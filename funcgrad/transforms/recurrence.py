"""Records of whole loops: steps that hand a carry on, as one record of the tape.

Owns what is kept of a loop (the carry before each step, and the inside of as many as a budget allows) and its replays, which compute the
inside of the others again. The call is one record (`funcgrad.transforms.calls`), whose outputs are the last carry, the stacked ys, the sums
over all steps, and, hidden, the stacked carries: a replay that is itself recorded takes those as tracers. Both replays are loops of the
same kind, so that derivatives of any order keep a carry a step. In reverse mode the loop runs the other way round: xs change places with
ys, and what is given to every step changes places with sums.

References: Griewank & Walther 2008, Evaluating Derivatives, chapter 12 (computing again from checkpoints instead of keeping).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import ConcretizationError
from funcgrad.mapped import OPEN, mapping_of
from funcgrad.replay import follow
from funcgrad.rule import Rule
from funcgrad.rules.scopes import in_scope_of, scope_of
from funcgrad.rules.values import keep, raw, shape_of
from funcgrad.tape import Record, Scope, thread
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import replaced, settled
from funcgrad.transforms.calls import first_own, hand_on, is_own, joined, lifted, owned, parts_of, recorded, tangents_of
from funcgrad.transforms.captured import held_in
from funcgrad.transforms.closures import underived_value
from funcgrad.transforms.compile.examples import of_examples
from funcgrad.transforms.compile.loops import compiled_loop, staged_in
from funcgrad.transforms.segments import Call, Results, Segment, steps_together, with_records
from funcgrad.transforms.steps import Gathered, Leaves, Loop
from funcgrad.transforms.through import Pulled, PulledOne, Pushed


def scanned(loop: Loop, consts: Leaves, init: Leaves, xs: Leaves, order: Any, has_carries: bool = False) -> Results:
    """Run a loop; where its operands are traced and records are kept, as one record.

    Args:
        loop: the loop.
        consts: what every step is given.
        init: the first carry.
        xs: what the steps are given one by one, anything that can be indexed by their numbers.
        order: the numbers of the steps; a loop that ends itself counts from 0; None for as many steps back as it made in a program.
        has_carries: whether the carries are asked for.

    Returns:
        The results, tracers where they depend on the operands.
    """
    parts = [consts, init, xs]
    flat = [one for part in parts for one in part]
    operands = [one for one in flat if type(one) is Tracer]
    count = len(order) if isinstance(order, range) else None
    is_staged = bool(OPEN) and staged_in((*flat, *loop.staged, *loop.mapped)) is not None
    if is_staged and mapping_of(*flat, *loop.mapped) is not None:
        compiled = _of_examples(loop, parts, order, has_carries, False)
        if compiled is not None:
            return Results(*compiled)
        is_staged = False
    scope = _staged_scope(operands) if is_staged else _kept_scope(operands)
    if is_staged and scope is None:
        compiled = _compiled(loop, [[underived_value(one) for one in part] for part in parts], order, has_carries, bool(operands))
        if compiled is not None:
            return Results(*compiled)
    if scope is None:
        gathered = Gathered(count, has_carries)
        return Results(loop.run(consts, init, xs, order, gathered), gathered)
    constants = [None if type(one) is Tracer else keep(one, scope) for one in flat]
    call, gathered = Call(loop, parts, first_own(scope)), Gathered(count, True)
    held = held_in(loop.reaches, scope)
    with in_scope_of(()):
        plain = call.split([raw(one) if kept is None else kept for one, kept in zip(flat, constants, strict=True)])
        compiled = _compiled(loop, plain, order, True, True) if is_staged else None
        if compiled is None:
            carry, segments = _first_run(call, plain, order, gathered)
        else:
            (carry, gathered), segments = compiled, []
            call.ends_itself = gathered.count is None
    if not gathered.done:
        return Results(init, gathered)
    found = Results([owned(one, scope) if n in call.active else one for n, one in enumerate(carry)], gathered)
    call.gave(found, order if isinstance(order, range) else range(gathered.done), plain[1])
    places = call.places(found)
    if not places:
        return found
    hidden: list[int] = []
    residual = (call, tuple(one._primal for one in operands), constants, list(found.carries), hidden, segments, held)
    made = recorded(_RULE, scope, operands, residual, [leaves[n] for leaves, n in places])
    if not call.ends_itself:
        hidden += [one._index for one in made[len(made) - len(call.active) :]]
    if scope.watched is not None:
        for index in hidden:
            scope.watched.pop(index, None)
    for (leaves, n), one in zip(places, made, strict=True):
        leaves[n] = one
    return found


def _kept_scope(values: Iterable[Any]) -> Scope | None:
    """The scope of tracers whose records somebody replays; None also inside of `vmap`, where loops are run as they stand."""
    scope = scope_of(one for one in values if type(one) is Tracer)
    around = thread.scope
    if around is not None and around.mapping is not None:
        return None
    one = scope
    while one is not None and one.forwards and one.forwards[-1] is one:
        one = one.parent
    return None if one is None or not one.is_recorded else scope


def _staged_scope(operands: Sequence[Tracer]) -> Scope | None:
    """The scope of tracers of staged values; None where it is there to make plain values."""
    scope = scope_of(operands)
    is_forward = scope is not None and scope.forwards and scope.forwards[-1] is scope
    return scope if scope is not None and (scope.make is follow or not is_forward) else None


def _of_examples(loop: Loop, parts: list[Leaves], order: Any, has_carries: bool, is_first: bool) -> tuple[Leaves, Gathered] | None:
    """What a loop of mapped values gives, as one of all examples; None where it is to be run step by step."""
    values = [*(one for part in parts for one in part), *loop.mapped]
    mapping = mapping_of(*values)
    count = _count_of(loop, order)
    if mapping is None or (count is not None and count < 2):
        return None
    return _as_one(loop, count, has_carries, lambda: of_examples(scanned, loop, parts, order, has_carries, is_first, mapping))


def _count_of(loop: Loop, order: Any) -> int | None:
    """How many steps there are; None where a program finds that out."""
    return len(order) if isinstance(order, range) and loop.test() is None else None


def _compiled(loop: Loop, parts: list[Leaves], order: Any, has_carries: bool, is_first: bool) -> tuple[Leaves, Gathered] | None:
    """What a loop of staged values gives; None where it is to be run step by step, as its steps depend on values."""
    consts, init, xs = parts
    if mapping_of(*consts, *init, *xs, *loop.mapped) is not None:
        return _of_examples(loop, parts, order, has_carries, is_first)
    count = _count_of(loop, order)
    if count is not None and count < 2:
        return None
    numbers = None if count is None else order
    return _as_one(loop, count, has_carries, lambda: compiled_loop(loop, consts, init, xs, numbers, has_carries, is_first))


def _as_one(loop: Loop, count: int | None, has_carries: bool, run: Callable[[], Sequence[Leaves]]) -> tuple[Leaves, Gathered] | None:
    """What a loop gives as one instruction; None where its steps depend on values, and their number does not."""
    before = loop.state()
    try:
        carry, ys, sums, carries = run()
    except ConcretizationError:
        if count is None:
            raise
        loop.restart(before)
        return None
    gathered = Gathered(count, has_carries)
    gathered.take_whole(1 if count is None else count, ys, sums, carries)  # of which is not known how many, there may be one
    return carry, gathered


def _first_run(call: Call, plain: list[Leaves], order: Any, gathered: Gathered) -> tuple[Leaves, list[Segment]]:
    """The last carry, and the segments of the first steps whose inside is kept. A step is recorded in any case: to see how large it is."""
    loop, (consts, carry, xs) = call.loop, plain
    segments: list[Segment] = []
    budget, record_size, steps = loop.budget, None, loop.steps
    while (budget > 0.0 or not gathered.done) and loop.is_measured:
        done = gathered.done
        numbers = order[done : done + steps] if isinstance(order, range) else range(done, done + steps)
        with with_records(call, consts, carry, xs, numbers, record_size, False, gathered, budget) as segment:
            carry = segment.plain
        if segment.size <= budget and segment.numbers:
            segments.append(segment)
        if not gathered.done:
            return carry, []
        if not done:
            record_size, call.together = segment.size / (segment.count or 1), steps_together(segment, loop.steps)
        if gathered.done - done < len(numbers) or gathered.done == gathered.count:
            return carry, segments
        budget -= segment.size
        steps = steps_together(segment, loop.steps, budget)
    rest = order[gathered.done :] if isinstance(order, range) else itertools.count(gathered.done)
    return loop.run(consts, carry, xs, rest, gathered, is_first=True), segments


# ------------------------------------------------------------------------------------------------ backwards


def _pull(cotangent: Any, record: Record, cotangents: Any) -> None:
    call, operands, constants, carries, _, segments, _ = record[-1]
    parts = parts_of(cotangent)
    with in_scope_of([*operands, *carries, *parts]):
        hand_on(_pulled(call, operands, constants, carries, segments, parts), record, cotangents)


def _pulled(
    call: Call, operands: Sequence[Any], constants: Leaves, carries: Leaves, segments: list[Segment], parts: Sequence[Any]
) -> Leaves:
    """The cotangents of the operands (None: zero), by a loop that runs the other way round."""
    consts, init, xs = call.split(replaced(constants, call.traced, operands))
    left = iter(parts)
    ct = settled([next(left) for _ in call.active], [init[n] for n in call.active])
    cts = [{n: next(left) for n in places} for places in (call.ys, call.sums, call.hidden)]
    ct_ys, ct_sums, ct_carries = ({n: one for n, one in of_kind.items() if one is not None} for of_kind in cts)
    consts, rows = [*consts, *ct_sums.values()], [*xs, *ct_ys.values(), *ct_carries.values()]
    known = list(ct_ys), list(ct_sums), list(ct_carries)
    if OPEN and staged_in((*consts, *ct, *carries, *rows, *call.loop.staged)) is not None:
        if call.ends_itself and any(type(one) is Tracer for one in (*operands, *ct, *rows)):
            raise ConcretizationError(
                f"{call.loop.name}: in a program of jit, the gradient of a loop that ends by values has no derivatives: "
                "take those of forward mode (grad(jacfwd(f)) instead of grad(grad(f))), give a plain number of steps to scan or fori_loop "
                "(static_argnums, or as many as suffice and np.where(done, val, next)), or leave jit out"
            )
        found = scanned(PulledOne(call, *known), consts, ct, [*carries, *rows], None if call.ends_itself else call.order[::-1])
        ct, of_xs, of_consts = found.carry, found.ys, found.sums
    elif _kept_scope([*consts, *ct, *carries, *rows]) is None:
        ct, of_xs, of_consts = _pulled_plainly(Pulled(call, *known), consts, ct, carries, rows, segments)
    else:
        ct, of_xs, of_consts = _pulled_by_blocks(call, known, consts, ct, carries, rows)
    of_carry = dict(zip(call.active, ct, strict=True))
    return [*of_consts, *(of_carry.get(n) for n in call.wanted[1]), *of_xs]


def _pulled_plainly(
    loop: Pulled, consts: Leaves, ct: Leaves, carries: Leaves, rows: Leaves, segments: list[Segment]
) -> tuple[Leaves, Leaves, Leaves]:
    """The cotangents of the first carry, of xs and consts, where nobody asks for those of all carries."""
    call = loop.call
    gathered = Gathered(len(call.order), False)

    def pull(segment: Segment) -> Leaves:
        numbers: Any = segment.numbers
        before, of_steps, of_consts = loop.through(segment, consts, ct, rows, numbers)
        for i, of_step in zip(numbers, of_steps, strict=True) if call.wanted[2] else ():
            gathered.take(i, [], of_step, [])
        gathered.add(of_consts)
        return before

    if loop.carries:  # those of a step's own carry are known by position in steps that are run again only
        segments = []
    order, steps, record_size = call.order[sum(len(segment.numbers) for segment in segments) :], call.together, None
    while order:
        numbers, order = order[-steps:], order[:-steps]
        with loop.recorded(consts, [one[numbers[0]] for one in carries], rows, numbers, record_size) as segment:
            ct = pull(segment)
        record_size = record_size or segment.size / (segment.count or 1)
        steps = steps_together(segment, call.loop.steps)
    for segment in reversed(segments):
        ct = pull(segment)
    return ct, gathered.ys(), gathered.sums


def _pulled_by_blocks(
    call: Call, known: tuple[list[int], list[int], list[int]], consts: Leaves, ct: Leaves, carries: Leaves, rows: Leaves
) -> tuple[Leaves, Leaves, Leaves]:
    """The same as a loop that is a record itself, whose steps are blocks of those of the loop: so many as are recorded together."""
    count, size = len(call.order), call.together
    is_reversed = call.order.step < 0
    blocks = [
        (start, n, length) for start, n, length in ((0, count // size, size), (count - count % size, 1, count % size)) if n and length
    ]
    gathered = Gathered(None, False)
    of_xs: list[Leaves] = [[] for _ in call.wanted[2]]
    for start, n, length in blocks if is_reversed else blocks[::-1]:
        numbers = range(length)[::-1] if is_reversed else range(length)
        starts = [one[start + numbers[0] : start + n * length : length] for one in carries]
        parts = [_in_blocks(one, start, n, length) for one in rows]
        order = range(n) if is_reversed else range(n)[::-1]
        found = scanned(Pulled(call, *known, numbers), consts, ct, [*starts, *parts], order)
        ct = found.carry
        gathered.add(found.sums)
        for so_far, one in zip(of_xs, found.ys, strict=True):
            part = np.reshape(one, (n * length, *shape_of(one)[2:]))
            so_far.insert(len(so_far) if is_reversed else 0, part)
    return ct, [one[0] if len(one) == 1 else np.concatenate(one) for one in of_xs], gathered.sums


def _in_blocks(x: Any, start: int, count: int, length: int) -> Any:
    """Rows from one on, as that many blocks of some length."""
    part = x[start : start + count * length]
    if hasattr(x, "shape"):
        return np.reshape(part, (count, length, *x.shape[1:]))
    return [part[n * length : (n + 1) * length] for n in range(count)]


# ------------------------------------------------------------------------------------------------ forwards


def _push(record: Record, tangents: Any) -> Any:
    call, operands, constants, *_ = record[-1]
    given = tangents_of(record, tangents, operands)
    consts, init, xs = call.split(replaced(constants, call.traced, operands))
    t_consts, t_init, t_xs = call.split(replaced([None] * len(constants), call.traced, given))
    t_carry = settled([t_init[n] for n in call.active], [init[n] for n in call.active])
    t_consts, t_xs = ([one for one in part if one is not None] for part in (t_consts, t_xs))
    loop = Pushed(call, not is_own(tangents, call.first))
    with in_scope_of([*operands, *given]):
        found = scanned(loop, [*consts, *t_consts], [*init, *t_carry], [*xs, *t_xs], call.order, has_carries=True)
    carries = [] if call.ends_itself else found.carries[len(init) :]
    return joined([*found.carry[len(init) :], *found.ys, *found.sums, *carries])


def _lift(record: Record, index: int, scope: Scope) -> Record:
    call, operands, constants, carries, hidden, _, held = record[-1]
    if hidden:  # its own push comes before its outputs have positions, and does without
        carries = replaced(carries, call.active, [Tracer(carries[n], scope, place) for n, place in zip(call.active, hidden, strict=True)])
    return (*record[:-1], (call, lifted(operands, record, scope), constants, carries, hidden, [], held))


_RULE = Rule("loop", _push, _pull, _lift)
