"""The tape: the records of one thread's open transforms, and the scopes that mark which transform a tracer belongs to.

Owns positions, scopes and what is protected while records wait for their replay. Knows no rule and no operation.

A record is a tuple `(rule, *parents, residual)`. The rule is there by its `key`, for which `funcgrad.rule.RULES` has it. The parents are
positions of earlier records of the same list; constants have none.
All scopes that are open on a thread share one list. A scope is a handle on it: a tracer reaches the list through its scope, so that closing
a scope makes each of its tracers stale at once, at no cost to an operation.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from funcgrad.errors import StaleTracerError

Record = tuple[Any, ...]


class Label:
    """The name of a transform. It stands where a closed scope had its records, and the outermost one itself: all one asks of it raises."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __len__(self) -> int:
        raise StaleTracerError(
            f"a tracer of {self.name} was used after {self.name} had ended: return it from the function (or as aux, with has_aux=True) "
            "instead of keeping it elsewhere"
        )

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return len(self)


class Scope:
    """One transform while its function runs.

    `make(value, scope, index)` makes the tracer of a new record: `Tracer` itself, or what has to be done with each record.
    `forwards` are the enclosing scopes, outermost first, whose tangents follow every record as it comes; `tangents` is this scope's own,
    by position, where it is one of them; `watched` takes all values where somebody is to look at them; `size` is the number of examples
    where it is a mapping, and `mapping` the innermost one that it is or is in; `is_recorded` tells the scopes of transforms that replay
    records from those of values (mapped, staged), which carry what they depend on themselves. The outermost scope (`root`) also counts the
    scopes that need their records kept (`keepers`), keeps the tangents that wait for those to end (`orphans`), and holds the arrays that
    must not change meanwhile (`holds`).
    """

    __slots__ = (
        "depth",
        "forwards",
        "held",
        "holds",
        "is_recorded",
        "keepers",
        "label",
        "make",
        "mapping",
        "orphans",
        "parent",
        "records",
        "root",
        "size",
        "start",
        "tangents",
        "watched",
    )

    records: Any  # list[Record], or Label once the scope is closed
    root: Any  # Scope, or Label once the outermost has ended
    forwards: tuple[Scope, ...]
    watched: dict[int, Any] | None
    start: int
    held: int
    size: Any  # int, or None where it is no mapping
    mapping: Scope | None
    tangents: dict[int, Any]
    orphans: list[Tangent]
    holds: Holds

    def __init__(self, label: Label, parent: Scope | None, make: Callable[..., Any]) -> None:
        self.label = label
        self.parent = parent
        self.start = self.held = 0
        self.size = None
        self.is_recorded = True
        if parent is None:
            self.mapping = None
            self.root = self
            self.make = make
            self.forwards = ()
            self.watched = None
            self.records = []
            self.depth = self.keepers = 0
            self.orphans = []
            self.holds = Holds()
        else:
            self.mapping = parent.mapping
            self.root = parent.root
            self.make = parent.make
            self.forwards = parent.forwards
            self.watched = parent.watched
            self.records = parent.records
            self.start = len(parent.records)
            self.held = len(self.root.holds)
            self.depth = parent.depth + 1

    @property
    def name(self) -> str:
        """The transform's, for messages."""
        return self.label.name

    @property
    def around(self) -> Scope | None:
        """The scope that a replay of this one is recorded in, if any."""
        return self.parent if self.parent is None or self.parent.is_recorded else None


class _Thread(threading.local):
    """What a thread has open: its innermost scope, and contexts without floating-point warnings that wait to be used again."""

    def __init__(self) -> None:
        self.scope: Scope | None = None
        self.quiet: list[contextvars.Context] = []


thread = _Thread()


def open_scope(label: Label, make: Callable[..., Any]) -> Scope:
    """A scope inside the innermost open one of this thread. Inside a forward scope its records are followed too."""
    scope = thread.scope = Scope(label, thread.scope, make)
    return scope


def close_scope(scope: Scope) -> None:
    """End a scope. Its tracers are stale from here on; its records stay with whoever holds the list."""
    thread.scope = scope.parent
    scope.records = scope.label


def cut_scope(scope: Scope) -> None:
    """A closed scope's records depend on nothing around it: give their positions free, and what was held for them.

    Slices that were kept inside find no scope around them any more: they replay plain values. Inside of a mapping the records that mapped
    values made for scopes around it stand among those of this one, and stay.
    """
    if scope.parent is not None and (scope.mapping is None or not depends_on_outer(scope.parent.records, scope.start)):
        del scope.parent.records[scope.start :]
        scope.root.holds.release(scope.held)
        scope.parent = None


def depends_on_outer(records: list[Any], start: int) -> bool:
    """Whether a slice that begins at `start` uses anything before it. What does not may run on plain values, and be cut."""
    for k in range(start, len(records)):
        record = records[k]
        if record is None:  # dropped by a forward scope: nobody knows
            return True
        for parent in record[1:-1]:
            if parent < start:
                return True
    return False


def is_known(scope: Scope, around: Scope | None) -> bool:
    """Whether a scope is on the tape of another one, or around a mapping that this one is in.

    A call that keeps no records has a tape of its own. Inside of it there may be mapped values, and what is traced around their mapping.
    """
    here = around
    while here is not None and here.records is not scope.records:
        above, mapping = here.parent, here.mapping
        is_other = above is not None and above.records is not here.records
        if is_other and scope.is_recorded and (mapping is None or scope.depth > mapping.depth):
            return False
        here = above
    return here is not None


def check_open(scope: Scope, around: Scope | None, user: str) -> None:
    """A tracer's scope must be open, and known where the tracer is given to somebody.

    Raises:
        StaleTracerError: it is closed, or on the tape of another thread, or of what is around a call that has one of its own.
    """
    len(scope.records)  # raises where it is closed
    if not is_known(scope, around):
        raise StaleTracerError(
            f"a tracer of {scope.name} was given to {user}, where it is not known: {scope.name} runs on another thread, or around a "
            "function that is run by itself, as a checkpointed one or a rule is; pass the value as an argument"
        )


def innermost(first: Scope, second: Scope) -> Scope:
    """The scope that a result of tracers of both belongs to."""
    if first.records is not second.records:
        for one in (first, second):
            len(one.records)  # raises where it is closed
        if first.depth > second.depth:
            first, second = second, first
        check_open(first, second, second.name)
    return first if first.depth >= second.depth else second


class Tangent:
    """Keeps a tangent of a forward scope alive as long as the tracer that it belongs to."""

    __slots__ = ("index", "root", "tangent", "tangents")

    def __init__(self, root: Scope, tangents: dict[int, Any], index: int, tangent: Any) -> None:
        self.root = root
        self.tangents = tangents
        self.index = index
        self.tangent = tangent

    def __del__(self) -> None:
        if self.root.keepers and self.index in self.tangents:  # a record that is kept may ask for it when it is replayed
            self.root.orphans.append(self)
        else:
            self.drop()

    def drop(self) -> None:
        """Take the tangent out of its scope's, unless the position has another one by now."""
        if self.tangents.get(self.index) is self.tangent:
            del self.tangents[self.index]


class Holds(dict[int, np.ndarray]):
    """Arrays that somebody needs unchanged, by identity: a tape whose records wait for their replay, or a kept slice.

    An array is read-only while anybody holds it. NumPy keeps that flag by array: a view made earlier of an array that is held by another
    name can still be written through, which nothing can see.
    """

    __slots__ = ()

    def add(self, array: Any) -> Any:
        """Hold an array, and those that it is a view of. One that was read-only before is left alone.

        Returns:
            The array; a copy of one on memory that is not NumPy's, which could not be made writeable again.
        """
        key = id(array)
        # The hot path: nobody held it, and of several threads only one finds its own number there.
        if type(array) is ndarray and array.base is None and array.flags.writeable and _counts.setdefault(key, key) is key:
            _set_writeable(array, False)
            self[key] = array
            return array
        if key in self:
            return array
        if not _can_be_held(array):
            return array.copy("K")
        with _locking:
            self._add_with_bases(array)
        return array

    def _add_with_bases(self, array: Any) -> None:
        """The base first: whether the view can be made writeable again depends on it."""
        if not isinstance(array, np.ndarray) or id(array) in self:
            return
        self._add_with_bases(array.base)
        key, base = id(array), array.base
        count = _counts.get(key, 0)
        count = 1 if count == key else count
        is_frozen = isinstance(base, np.ndarray) and not base.flags.writeable and id(base) not in _counts
        if count or (array.flags.writeable and not is_frozen):
            _set_writeable(array, False)
            _counts[key] = count + 1
            self[key] = array

    def take_over(self, other: Holds, values: Any) -> None:
        """Hold those arrays among some values (and what these contain, or are views of) that another holds."""
        for value in values:
            if isinstance(value, np.ndarray):
                while value is not None and id(value) not in other:
                    value = getattr(value, "base", None)
                if value is not None:
                    self.add(value)
            elif isinstance(value, (tuple, list)):
                self.take_over(other, value)

    def release(self, first: int = 0) -> None:
        """Let go of all but the `first` ones: what nobody else holds becomes writeable again."""
        with _locking:
            for _ in range(len(self) - first):
                key, array = self.popitem()  # the last one added
                count = _counts[key]
                if count > 1 and count != key:
                    _counts[key] = count - 1
                    continue
                if array.base is None:
                    _set_writeable(array, True)
                else:
                    _waiting.append(array)
                del _counts[key]  # after the flag: a thread that saw the array writeable before finds that somebody has it
            if _waiting:  # a view cannot be made writeable while what it views is not
                _waiting[:] = [view for view in _waiting if not _made_writeable(view)]

    def __del__(self) -> None:
        if self:
            self.release()


def _can_be_held(array: Any) -> bool:
    """Whether an array that is made read-only can be made writeable again: not where C code lends the memory, as SciPy's solvers do."""
    base = getattr(array, "base", None)
    while isinstance(base, np.ndarray):
        base = base.base
    if base is None or not array.flags.writeable:
        return True
    try:
        return not memoryview(base).readonly
    except TypeError:
        return False


_set_writeable: Any = np.ndarray.setflags  # called by position: a quarter of the time of `array.flags.writeable = False`
_locking = threading.RLock()
_counts: dict[int, int] = {}
"""How many hold an array, by its identity; that number itself where there is the first one alone, who asked for no lock."""
_waiting: list[np.ndarray] = []  # views that nobody holds, of arrays that somebody does


def _made_writeable(view: np.ndarray) -> bool:
    if id(view) in _counts:
        return True  # held anew
    try:
        _set_writeable(view, True)
    except ValueError:
        return False
    return True


COPIED_BYTES = 1 << 15
"""Views up to this size are copied instead of held: it costs less, and writing through another view of their base cannot reach the copy."""


def protect(array: np.ndarray, scope: Scope) -> np.ndarray:
    """An array for a record to keep until the replay: changing the original in place raises, or leaves what is kept as it was."""
    root = scope.root
    if root.keepers:
        if array.base is not None and array.nbytes <= COPIED_BYTES:
            return np.array(array)
        return root.holds.add(array)  # type: ignore[no-any-return]
    return array
