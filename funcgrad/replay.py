"""Replays of the tape, forwards and backwards: the whole autodiff engine.

Owns the walks over records, the leaves that they start from, and the strong zeros. What a record does with a tangent or a cotangent is its
rule's (`funcgrad.rules`); what a transform does with the result is its own (`funcgrad.transforms`).

The worked example of nesting. In `grad(lambda x: x * grad(lambda y: x * y)(3.0))(2.0)` the tape is

    0 leaf      x = 2, of the outer grad
    1 leaf      y = 3, of the inner grad (a constant: no parent)
    2 multiply  x * y, parents 0 and 1

when the inner function returns. Its slice, 1 to 2, has a record with a parent before it: it depends on the outer leaf. So the inner replay
runs on tracers ("lifted" residuals: 2.0 becomes the tracer at position 0), and what it computes, d(x*y)/dy = x, is a tracer of the outer
scope with records of its own. The outer replay walks over those; cotangents that reach position 1 stop there. No level tells the two
derivatives apart: positions and leaves do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy import ndarray

from funcgrad.mapped import TRACERS, inmost
from funcgrad.rule import CONSTANT_LEAF, LEAF, RULES, accumulate
from funcgrad.silence import quietly
from funcgrad.staged import Staged
from funcgrad.tape import Holds, Label, Record, Scope, Tangent, check_open, close_scope, depends_on_outer, open_scope
from funcgrad.tracer import Tracer

FRUGAL_BYTES = 1 << 20
"""Where a leaf is at least this large, residuals are given free while the walk goes on."""

_FLOAT64 = np.dtype(np.float64)


class Sparse(dict[int, Any]):
    """Cotangents by position where a slice is a small part of a long tape."""

    def __missing__(self, key: int) -> None:
        return None


def has_nan(value: Any) -> bool:
    """Whether a replayed value holds a NaN."""
    if type(value) in TRACERS:
        value = inmost(value)
        if type(value) is Staged:  # a program has strong zeros throughout, or watches its results
            return value.is_careful
    if type(value) is not np.ndarray:
        return bool(value != value)
    if value.flags.c_contiguous and value.dtype.char in "fd":
        flat = value if value.ndim == 1 else value.ravel()
        square = flat.dot(flat)  # no pass but this one, no temporary
        return bool(square != square)
    return bool(np.isnan(value).any())


# ------------------------------------------------------------------------------------------------ scopes


def open_keeping(label: Label) -> Scope:
    """A scope whose records are kept for a replay after the function has returned."""
    scope = open_scope(label, Tracer)
    scope.root.keepers += 1
    return scope


def watch(scope: Scope) -> dict[int, Any]:
    """The values of all records that a scope and those inside it will make, by position: for people to read."""
    scope.make = follow
    scope.watched = {}
    return scope.watched


def open_forward(label: Label) -> Scope:
    """A scope whose tangents follow each record as it comes; the records need not be kept."""
    scope = open_scope(label, Tracer)
    scope.make = follow
    scope.forwards = (*scope.forwards, scope)
    scope.tangents = {}
    return scope


def end_keeping(scope: Scope, kept: Slice | None = None) -> None:
    """The records of a keeping scope have been replayed, or go on living as a kept slice: let go of what waited for their replay."""
    root = scope.root
    if kept is None:
        root.keepers -= 1
    elif root is scope:
        kept.holds = root.holds
        root.holds = Holds()
    else:
        kept.holds = Holds()
        kept.holds.take_over(root.holds, (record[-1] for record in kept.records))
    if root is scope:
        scope.root = scope.label
        root.keepers = 0  # slices that are kept replay plain values from here on
    if not root.keepers:
        for tangent in root.orphans:
            tangent.drop()
        root.orphans.clear()
        if root.holds:
            root.holds.release(scope.held)
        if root.forwards and root is not scope:  # nothing is replayed any more: what was kept for it goes
            records = root.records
            records[scope.start :] = [None] * (len(records) - scope.start)


def end_forward(scope: Scope, given: Sequence[Any]) -> Scope | None:
    """The function of a forward scope has ended, and its tangents were read off. `given` are those that it started from.

    Returns:
        The scope that the results belong to: None if they are plain values.
    """
    records, parent, root = scope.records, scope.around, scope.root
    close_scope(scope)
    scope.tangents.clear()
    if root is scope:
        scope.root = scope.label
        scope.keepers = 0
        scope.orphans.clear()
        scope.holds.release()
    elif not root.keepers:
        root.holds.release(scope.held)
    else:
        root.orphans[:] = [tangent for tangent in root.orphans if tangent.tangents is not scope.tangents]
        if not depends_on_outer(records, scope.start) and not any(type(one) is Tracer for one in given):
            return None
    return parent


def new_leaf(scope: Scope, value: Any) -> Tracer:
    """An input of a transform, at a position of its own. A tracer of an outer transform becomes the leaf's parent."""
    if type(value) is float:
        records = scope.records
        records.append(CONSTANT_LEAF)
        return scope.make(value, scope, len(records) - 1)  # type: ignore[no-any-return]
    return new_leaves(scope, (value,))[0]


def new_leaves(scope: Scope, values: Sequence[Any]) -> list[Tracer]:
    """The inputs of a transform, each at a position of its own, one behind the other. They are as `across` gives them."""
    records, make = scope.records, scope.make
    index = len(records)
    hold = scope.root.holds.add
    tracers = []
    for value in values:
        if type(value) is Tracer:
            check_open(value._scope, scope, scope.name)
            records.append((LEAF.key, value._index, None))
            value = value._primal
        else:
            records.append(CONSTANT_LEAF)
            if type(value) is ndarray:
                value = hold(value)  # in a forward scope too: an inner transform may keep it
        tracers.append(make(value, scope, index))
        index += 1
    return tracers


def outward(value: Any, scope: Scope, parent: Scope | None) -> Any:
    """A result of a closed scope as the code around it is to see it: a tracer of the scope around, or a plain value where that is None."""
    if type(value) is not Tracer:
        return value
    if value._scope is not scope:
        check_open(value._scope, scope.parent, scope.name)
        return value
    if parent is None:
        return value._primal
    tracer = Tracer(value._primal, parent, value._index)
    if parent.forwards:
        tracer._tangents = getattr(value, "_tangents", [])
    return tracer


def follow(answer: Any, scope: Scope, index: int) -> Tracer:
    """Make the tracer of a new record and push the tangents of all enclosing forward scopes through it, the outermost first."""
    tracer = Tracer(answer, scope, index)
    if scope.watched is not None:
        scope.watched[index] = answer
    record = scope.records[index]
    root = scope.root
    held = []
    for forward in scope.forwards:
        tangents = forward.tangents
        for parent in record[1:-1]:
            if parent in tangents:
                if type(answer) is float and forward.around is None:  # on plain Python floats rules make no warnings
                    tangent = _push_one(record, index, tangents, forward.around, True)
                else:
                    tangent = quietly(_push_one, record, index, tangents, forward.around, True)
                tangents[index] = tangent
                held.append(Tangent(root, tangents, index, tangent))
                break
    tracer._tangents = held
    if not root.keepers:
        scope.records[index] = None
    return tracer


def _push_one(record: Record, index: int, tangents: Any, scope: Scope | None, careful: bool) -> Any:
    rule = RULES[record[0]]
    if scope is not None:
        record = rule.lift(record, index, scope)
    tangent = rule.push(record, tangents)
    if careful and rule.strong is not None and has_nan(tangent):
        tangent = rule.strong.push(record, tangents)
    return tangent


# ------------------------------------------------------------------------------------------------ slices


class Slice:
    """The records of one transform, from its first leaf on, ready to be replayed.

    Attributes:
        records: the list, whose entry 0 is the record of position `offset`.
        start: position of the first leaf; the leaves follow one another.
        first: position of the first record after the leaves.
        stop: position of the last record.
        holds: the arrays that must not change while a kept slice lives.
        scope: the scope that the replay is recorded in; None if it runs on plain values.
    """

    __slots__ = ("first", "holds", "offset", "records", "scope", "start", "stop")

    def __init__(self, records: list[Record], start: int, leaves: int, scope: Scope | None) -> None:
        self.records = records
        self.offset = 0
        self.start = start
        self.first = start + leaves
        self.stop = len(records) - 1
        self.scope = scope if scope is not None and scope.is_recorded and depends_on_outer(records, start) else None
        self.holds: Holds | None = None

    def keep(self) -> None:
        """Take the records along: the list may be cut or go on growing."""
        self.records = self.records[self.start :]
        self.offset = self.start

    def recording(self) -> Scope | None:
        """The scope to lift residuals to: the innermost around the slice that is open still. Once all have ended they are plain values."""
        scope = self.scope
        while scope is not None and type(scope.records) is not list:
            scope = scope.parent
        return scope if scope is None or scope.is_recorded else None

    def backward(self, seeds: Sequence[tuple[int, Any]], frugal: bool = False) -> list[Any]:
        """The cotangents of the leaves (None: zero), given those of some positions.

        `frugal` gives each record free once it is done: nothing can be replayed afterwards, and memory falls as the walk goes on.
        """
        if not frugal:
            if self.offset or self.recording() is not None:
                result = quietly(if_clean, self._pull, seeds)
            else:
                result = quietly(if_clean, _pull_plainly, self.records, self.start, self.first, seeds)
            if result is not None:
                return result  # type: ignore[no-any-return]
        return quietly(self._pull, seeds, True, frugal)  # type: ignore[no-any-return]

    def _pull(self, seeds: Sequence[tuple[int, Any]], careful: bool = False, free: bool = False) -> list[Any]:
        scope, records, offset = self.recording(), self.records, self.offset
        cotangents, stop = _seeded(seeds, self.start, self.first)
        for k in self._dependent(stop) if scope is not None else range(stop, self.first - 1, -1):
            cotangent = cotangents[k]
            if cotangent is None:
                continue
            cotangents[k] = None
            record = records[k - offset]
            rule = RULES[record[0]]
            if free:
                records[k - offset] = None  # type: ignore[call-overload]
            if scope is not None:
                record = rule.lift(record, k, scope)
            if careful:
                _pull_carefully(cotangent, record, cotangents)
            else:
                rule.pull(cotangent, record, cotangents)
        return [cotangents[k] for k in range(self.start, self.first)]

    def cotangents(self, seeds: Sequence[tuple[int, Any]]) -> Sparse:
        """The cotangents of all positions, given those of some: for people to read."""
        cotangents = Sparse()
        for index, seed in seeds:
            accumulate(cotangents, index, seed)
        for k in range(self.stop, self.first - 1, -1):
            if cotangents[k] is not None:
                quietly(_pull_carefully, cotangents[k], self.records[k - self.offset], cotangents)
        return cotangents

    def _dependent(self, stop: int) -> list[int]:
        """Positions that depend on a leaf of this slice, the last first: beside them the tape holds work on outer values."""
        depends = set(range(self.start, self.first))
        found = []
        for k in range(self.first, stop + 1):
            record = self.records[k - self.offset]
            if record[1] in depends or (len(record) > 3 and any(parent in depends for parent in record[2:-1])):
                depends.add(k)
                found.append(k)
        found.reverse()
        return found

    def forward(self, leaf_tangents: Sequence[Any], outputs: Sequence[int]) -> list[Any]:
        """The tangents of some positions (None: zero) for tangents of the leaves (None: zero)."""
        result = quietly(if_clean, self._push, leaf_tangents, outputs)
        return quietly(self._push, leaf_tangents, outputs, True) if result is None else result  # type: ignore[no-any-return]

    def _push(self, leaf_tangents: Sequence[Any], outputs: Sequence[int], careful: bool = False) -> list[Any]:
        scope = self.recording()
        tangents = {self.start + n: tangent for n, tangent in enumerate(leaf_tangents) if tangent is not None}
        is_plain = not careful and scope is None
        used = self.records[self.first - self.offset : max(outputs, default=-1) + 1 - self.offset]
        for k, record in enumerate(used, self.first):
            # With one parent, with two, with more; an inner leaf without a parent has None there.
            if record[1] in tangents or (len(record) > 3 and (record[2] in tangents or any(parent in tangents for parent in record[3:-1]))):
                tangents[k] = RULES[record[0]].push(record, tangents) if is_plain else _push_one(record, k, tangents, scope, careful)
        return [tangents.get(index) for index in outputs]


def if_clean(replay: Callable[..., list[Any]], *args: Any) -> list[Any] | None:
    """What a replay gives, but None if there is a NaN in it: it must then be done again with strong zeros."""
    result = replay(*args)
    squares = 0.0
    for value in result:
        if type(value) is ndarray and value.dtype is _FLOAT64:
            if value.ndim != 1:
                value = value.ravel("K")
            squares += value.dot(value)  # NaN if one is in it
        elif type(value) is float:
            squares += value * value
        elif value is not None and has_nan(value):
            return None
    return None if squares != squares else result


def is_large(values: Sequence[Any]) -> bool:
    """Whether an array among some values is so large that residuals are given free while the walk goes on."""
    for value in values:  # noqa: SIM110 - any() with a generator takes three times as long
        if type(value) is ndarray and value.nbytes >= FRUGAL_BYTES:
            return True
    return False


def _seeded(seeds: Sequence[tuple[int, Any]], start: int, first: int) -> tuple[Any, int]:
    """Cotangents by position with the seeds in place, and the last position that has one."""
    stop = first - 1
    for index, _ in seeds:
        if index > stop:
            stop = index
    cotangents: Any = [None] * (stop + 1) if 2 * start <= stop else Sparse()
    for index, seed in seeds:  # as accumulate does it, without the call: there is one as a rule
        held = cotangents[index]
        cotangents[index] = seed if held is None else held + seed
    return cotangents, stop


def _pull_plainly(records: list[Record], start: int, first: int, seeds: Sequence[tuple[int, Any]]) -> list[Any]:
    """The walk backwards on plain values: the hot path."""
    cotangents, stop = _seeded(seeds, start, first)
    if type(cotangents) is Sparse:
        for k in range(stop, first - 1, -1):
            if cotangents[k] is not None:
                RULES[records[k][0]].pull(cotangents.pop(k), records[k], cotangents)
        return [cotangents[k] for k in range(start, first)]
    behind = len(records) - 1 - stop
    for record in islice(reversed(records), behind, behind + stop - first + 1):
        cotangent = cotangents.pop()  # the last one left is that of this record
        if cotangent is not None:
            RULES[record[0]].pull(cotangent, record, cotangents)
    return cotangents[start:]  # type: ignore[no-any-return]


def _pull_carefully(cotangent: Any, record: Record, cotangents: Any) -> None:
    """Pull with strong zeros where the plain rule makes a NaN. What the parents held already is set aside meanwhile."""
    held = {parent: cotangents[parent] for parent in record[1:-1]}
    plain = RULES[record[0]]
    for rule in (plain,) if plain.strong is None else (plain, plain.strong):
        for parent in held:
            cotangents[parent] = None
        rule.pull(cotangent, record, cotangents)
        if not any(has_nan(cotangents[parent]) for parent in held):
            break
    for parent, before in held.items():
        if before is not None:
            after = cotangents[parent]
            cotangents[parent] = before if after is None else before + after
