"""What functions of the user's reach beside their arguments: tracers, which other ones may stand for while a function runs, and arrays.

A call that is one record runs its function again in each replay. The arrays that it reaches must then be what they were.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import threading
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS
from funcgrad.staged import Staged
from funcgrad.tape import Scope
from funcgrad.tracer import Tracer

_standing = threading.RLock()
"""Held while tracers of a closure stand for leaves: the replays of one kept slice may run on several threads."""


@contextlib.contextmanager
def standing_for(captured: Sequence[Tracer], leaves: Sequence[Tracer]) -> Iterator[None]:
    """Let the tracers that a function closes over be those leaves. Staged values are constants that stay what they are."""
    pairs = [(one, leaf) for one, leaf in zip(captured, leaves, strict=True) if type(one) is not Staged]
    captured, leaves = [one for one, _ in pairs], [leaf for _, leaf in pairs]
    if not captured:
        yield
        return
    with _standing:
        before = [_place_of(one) for one in captured]
        for one, stands_for in zip(captured, leaves, strict=True):
            one._primal, one._scope, one._index = _place_of(stands_for)
        try:
            yield
        finally:
            for one, place in zip(captured, before, strict=True):
                one._primal, one._scope, one._index = place


def _place_of(tracer: Tracer) -> Any:
    """What makes a tracer the one that it is; a mapped value has no position."""
    return tracer._primal, tracer._scope, getattr(tracer, "_index", None)


_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, np.float64, types.ModuleType})
"""Types of what holds neither tracers nor arrays."""


class Own:
    """The base of what holds no arrays of the user's that matter, but copies."""

    __slots__ = ()


def captured_in(value: Any) -> list[Tracer]:
    """The tracers that a function reaches: by its closure, its defaults, bound arguments, attributes and containers of them.

    Not by global variables.
    """
    return reached(value)[0]


def reached(value: Any) -> tuple[list[Tracer], list[np.ndarray]]:
    """The tracers that a function reaches, and the arrays, also those that are global variables."""
    found: list[Tracer] = []
    arrays: list[np.ndarray] = []
    seen: set[int] = set()
    left = [value]
    while left:
        one = left.pop()
        if type(one) in _ATOMS or isinstance(one, (type, Own)) or id(one) in seen:
            continue
        seen.add(id(one))
        if type(one) in TRACERS:
            found.append(one)
        elif isinstance(one, np.ndarray):
            arrays.append(one)
            if one.dtype == object:
                left += one.ravel().tolist()
        elif isinstance(one, (list, tuple, set, frozenset, collections.deque)):
            left += [part for part in one if type(part) not in _ATOMS]
        elif isinstance(one, dict):
            left += [part for part in one.values() if type(part) not in _ATOMS]
        elif isinstance(one, types.FunctionType):
            for cell in one.__closure__ or ():
                with contextlib.suppress(ValueError):  # a cell that is empty still
                    left.append(cell.cell_contents)
            left += [one.__defaults__, one.__kwdefaults__, one.__dict__]
            for array in map(one.__globals__.get, names_in(one.__code__)):
                if type(array) is np.ndarray and array.dtype != object:
                    arrays.append(array)  # noqa: PERF401 - most often there is none
        elif isinstance(one, functools.partial):
            left += [one.func, one.args, one.keywords]
        elif isinstance(one, types.MethodType):
            left += [one.__func__, one.__self__]
        else:
            slots = [getattr(cls, "__slots__", ()) for cls in type(one).__mro__]
            names = [name for some in slots for name in ((some,) if isinstance(some, str) else some)]
            left += [getattr(one, name, None) for name in ("__dict__", *names)]
    return found, arrays


_names: dict[int, tuple[types.CodeType, tuple[str, ...]]] = {}
"""By the identity of code, whose hash would take longer than all else."""


def names_in(code: types.CodeType) -> tuple[str, ...]:
    """The names of what a function's code, and that of functions in it, may take from its module."""
    known = _names.get(id(code))
    if known is None:
        inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in names_in(part)]
        if len(_names) > 4096:
            _names.clear()
        known = _names[id(code)] = code, tuple({*code.co_names, *inner})
    return known[1]


def held_in(value: Any, scope: Scope) -> list[np.ndarray]:
    """The arrays that a function reaches, for a record of some scope to keep: nobody can write into them until that is replayed."""
    return hold(reached(value)[1], scope) if scope.root.keepers else []


def hold(arrays: list[np.ndarray], scope: Scope) -> list[np.ndarray]:
    """Let nobody write into arrays until the records of a scope are replayed, which keep them."""
    for one in arrays:
        scope.root.holds.add(one)
    return arrays
