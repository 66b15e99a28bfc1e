"""What a function reads beside its arguments, and whether it is still the same: a program holds it as constants.

Owns what is watched, by the names that the code has (`reading`): cells of closures, global variables, defaults, attributes of objects,
what is in their lists, tuples and dicts, and the same for the functions reached. Arrays found are read-only as long as a program holds
them: what would write into one raises, instead of leaving the program behind.
"""

from __future__ import annotations

import functools
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.tape import Holds
from funcgrad.tracer import TRACERS
from funcgrad.transforms.captured import Own, names_in
from funcgrad.transforms.compile.reading import (
    ATOMS,
    CONTAINERS,
    LIBRARIES,
    PARTS,
    WATCHED_LENGTH,
    contents_of,
    imported_by,
    is_fixed,
    is_handled_elsewhere,
    names_of,
    own_classes,
    root_of,
)

_MISSING = object()


class Surroundings(Own):
    """What functions (and objects that they are given) read, as it was when this was made.

    Attributes:
        holds_tracer: whether there is a tracer of a transform around in it: then no program can stand for the function.
    """

    def __init__(self, functions: Sequence[Any]) -> None:
        self._holds = Holds()
        self._entries: list[tuple[Callable[[Any], Any], Any, Any]] = []
        self.holds_tracer = False
        self._seen: dict[int, Any] = {}
        self._generators: list[Any] = []
        self._names, self._asked = names_of(functions)
        waiting = list(functions)
        while waiting:
            value = waiting.pop()
            is_of_library = isinstance(value, types.FunctionType) and is_fixed(value.__globals__.get("__name__"))
            for read, key, found in self._parts(value):
                if not is_of_library:
                    self._entries.append((read, key, found))
                waiting += self._entered(found)

    def _entered(self, value: Any) -> list[Any]:
        """A value that has parts of its own to be looked at."""
        kind = type(value)
        if kind in TRACERS:
            self.holds_tracer = True
        if kind is np.ndarray:
            self._holds.add(value)
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            self._generators.append(value)
            return []
        if kind in ATOMS or kind in TRACERS or isinstance(value, (np.ndarray, np.generic, Own)) or id(value) in self._seen:
            return []
        if isinstance(value, type) and is_fixed(value.__module__):
            return []
        self._seen[id(value)] = value
        return [value]

    def _parts(self, value: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        if isinstance(value, types.FunctionType):
            yield from _cells(value)
            yield from self._of_dict(value.__dict__, value.__dict__)
            if not is_fixed(value.__globals__.get("__name__")):
                yield from self._of_names(value.__globals__)
                absent = (name for name in names_in(value.__code__) if name not in value.__globals__)
                yield from ((value.__globals__.get, name, None) for name in absent)  # which may come to hide a builtin
                yield from ((sys.modules.get, name, sys.modules[name]) for name in imported_by(value.__code__))
                yield from (_attribute_of(value, name) for name in ("__code__", "__defaults__", "__kwdefaults__"))
        elif type(value) in PARTS:
            yield from (_attribute_of(value, name) for name in PARTS[type(value)])
        elif isinstance(value, (set, frozenset)):
            yield frozenset, value, frozenset(value)
        elif isinstance(value, bytearray):
            yield bytes, value, bytes(value)
        elif isinstance(value, CONTAINERS):
            yield from self._of_container(value)
            if not is_fixed(type(value).__module__):
                yield from self._of_object(value)
        elif isinstance(value, types.ModuleType):
            if root_of(vars(value).get("__name__")) not in LIBRARIES:
                yield from self._of_names(vars(value))
        elif isinstance(value, type):
            yield from self._of_classes(value)
            yield from self._of_classes(type(value))
        elif root_of(type(value).__module__) == "funcgrad":  # of our own objects the functions that they are made of
            attributes = getattr(value, "__dict__", {})
            yield from self._of_dict(attributes, {name for name, one in attributes.items() if callable(one)})
        elif root_of(type(value).__module__) not in ("numpy", "scipy"):
            yield from self._of_object(value)

    def _of_container(self, value: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        if len(value) <= WATCHED_LENGTH:
            yield from (
                self._of_dict(value, value)
                if isinstance(value, (dict, types.MappingProxyType))
                else ((value.__getitem__, n, one) for n, one in enumerate(value))
            )
        yield len, value, len(value)

    def _of_object(self, value: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        """The attributes of an object: its own, those in slots, and those of its classes, which its own may come to hide."""
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            yield from self._of_dict(attributes, attributes) if is_handled_elsewhere(type(value)) else self._of_names(attributes)
        for read, name, found in self._of_classes(type(value)):
            yield read, name, found
            if isinstance(found, types.MemberDescriptorType):
                yield functools.partial(_slot, value), name, _slot(value, name)
            elif isinstance(attributes, dict) and name not in attributes:
                yield attributes.get, name, None

    def _of_classes(self, cls: type) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        """What a class and its bases have by the names, or may come to have; not what libraries' have."""
        bases = own_classes(cls)
        for name in (*self._names, "__call__"):
            if name in self._asked or any(name in one.__dict__ for one in bases):
                yield from ((one.__dict__.get, name, one.__dict__.get(name)) for one in bases)

    def _of_names(self, values: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        """The values of the names, and that those are not there which the code may ask for all the same."""
        yield from self._of_dict(values, self._names)
        yield from ((values.get, name, None) for name in self._asked if name not in values)

    def _of_dict(self, values: Any, names: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        yield from ((values.get, name, values[name]) for name in names if name in values)

    def random_states(self) -> list[bytes]:
        """The states of the random generators that the function reads, and of NumPy's own."""
        states = [one.bit_generator.state if isinstance(one, np.random.Generator) else one.get_state() for one in self._generators]
        return [pickle.dumps(state) for state in (*states, np.random.get_state(legacy=False))]  # of which repr takes milliseconds

    def are_same(self) -> bool:
        """Whether the function still reads what it read."""
        for read, key, value in self._entries:
            found = read(key)
            if found is not value and not (type(found) is type(value) and type(value) in ATOMS and _is_equal(found, value)):
                return False
        return True


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two atoms of a type are the same: 0.0 is not -0.0."""
    return bool(one == other) and (one != 0 or not isinstance(one, (float, complex)) or repr(one) == repr(other))


def _slot(value: Any, name: str) -> Any:
    return getattr(value, name, _MISSING)


def _contents(cell: Any) -> Any:
    return contents_of(cell, _MISSING)


def _cells(function: types.FunctionType) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
    for cell in function.__closure__ or ():
        yield _contents, cell, _contents(cell)


def _attribute_of(value: Any, name: str) -> tuple[Callable[[Any], Any], Any, Any]:
    return functools.partial(getattr, value), name, getattr(value, name)
