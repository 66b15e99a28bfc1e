"""What a rule is: how records of one operation are replayed in both directions. How rules are made is the kinds' (`funcgrad.rules`)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from funcgrad.tape import Record, Scope

RULES: list[Rule] = []
"""All rules. A record has the place of its own here, for the garbage collector lets go of tuples of nothing but numbers and arrays. With
rules in them, 20,000 records make it look at all objects of the process in one gradient out of four."""

_registering = threading.Lock()


class Rule:
    """How the records of one operation are replayed. A rule stays for ever: none is made for a single call of an operation.

    Attributes:
        name: the primitive's.
        key: its place in `RULES`.
        push: (record, tangents by position) -> tangent of the record; at least one parent has a tangent.
        pull: (cotangent, record, cotangents by position): adds to the cotangents of the record's parents.
        lift: (record, position, scope) -> the record with tracers of that scope for residuals, so that the replay itself is recorded.
        strong: the same rule with exact zeros kept zero whatever they are multiplied with; None where no product is formed.
        factor: record -> the array that the push multiplies with, where it is one and worth keeping (None if it is not).
        constant: for people to read, where a record keeps a constant operand: which one it is ("x" or "y"), and record -> its value.
        named: for people to read, where one rule is for many functions: record -> the function's name.
    """

    __slots__ = ("constant", "factor", "key", "lift", "name", "named", "pull", "push", "strong")

    def __init__(
        self,
        name: str,
        push: Callable[[Record, Any], Any],
        pull: Callable[[Any, Record, Any], None],
        lift: Callable[[Record, int, Scope], Record],
    ) -> None:
        self._register(name)
        self.push = push
        self.pull = pull
        self.lift = lift
        self.strong: Rule | None = None

    def _register(self, name: str) -> None:
        self.name = name
        self.factor: Callable[[Record], Any] | None = None
        self.constant: tuple[str, Callable[[Record], Any]] | None = None
        self.named: Callable[[Record], str] | None = None
        with _registering:
            self.key = len(RULES)
            RULES.append(self)


class LazyRule(Rule):
    """A rule that is made when a record is first replayed: most of the many variants of the primitives never are in a program."""

    __slots__ = ("_make",)

    def __init__(self, name: str, make: Callable[[], Rule]) -> None:
        self._register(name)
        self._make = make

    def __getattr__(self, attribute: str) -> Any:  # asked only while the slot is empty
        if attribute not in ("push", "pull", "lift", "strong"):
            raise AttributeError(attribute)
        made = self._make()
        self.push, self.pull, self.lift, self.strong = made.push, made.pull, made.lift, made.strong
        return getattr(self, attribute)


def accumulate(cotangents: Any, index: int, cotangent: Any) -> None:
    """Add to the cotangent of a position. Never in place: the one held may be shared."""
    held = cotangents[index]
    cotangents[index] = cotangent if held is None else held + cotangent


def _push_leaf(record: Record, tangents: Any) -> Any:
    return tangents.get(record[1])


def _pull_leaf(cotangent: Any, record: Record, cotangents: Any) -> None:
    if len(record) == 3:  # the leaf of an inner transform: its parent is a value of an outer one
        accumulate(cotangents, record[1], cotangent)


LEAF = Rule("leaf", _push_leaf, _pull_leaf, lambda record, index, scope: record)
CONSTANT_LEAF = (LEAF.key, None)
"""The record of a leaf without a parent: one for all."""
