"""What a function reads beside its arguments, and whether it is still the same: a program holds it as constants.

Owns how that is found: cells of closures, global variables by the names that the code has, defaults, attributes of bound objects, what
is in their lists, tuples and dicts, and the same for the functions reached. Arrays found are read-only as long as a program holds them:
what would write into one raises, instead of leaving the program behind.
"""

from __future__ import annotations

import collections
import functools
import itertools
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.tape import Holds
from funcgrad.tracer import TRACERS
from funcgrad.transforms.captured import Own, names_in

_LIBRARIES = frozenset({*sys.stdlib_module_names, "numpy", "scipy", "funcgrad"})
_MISSING = object()
_PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget",),
    classmethod: ("__func__",),
    staticmethod: ("__func__",),
}
_WATCHED_LENGTH = 1000
"""Longer lists, tuples and dicts are watched as wholes."""


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
        self._names = _names_of(functions)
        waiting = list(functions)
        while waiting:
            value = waiting.pop()
            is_fixed = isinstance(value, types.FunctionType) and _is_of_library(value.__globals__.get("__name__"))
            for read, key, found in self._parts(value):
                if not is_fixed:
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
        if kind in _ATOMS or kind in TRACERS or isinstance(value, (np.ndarray, np.generic, Own)) or id(value) in self._seen:
            return []
        if isinstance(value, type) and _is_of_library(value.__module__):
            return []
        self._seen[id(value)] = value
        return [value]

    def _parts(self, value: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        if isinstance(value, types.FunctionType):
            yield from _cells(value)
            yield from self._of_dict(value.__dict__, value.__dict__)
            if not _is_of_library(value.__globals__.get("__name__")):
                yield from self._of_dict(value.__globals__, self._names)
                absent = (name for name in names_in(value.__code__) if name not in value.__globals__)
                yield from ((value.__globals__.get, name, None) for name in absent)  # which may come to hide a builtin
                yield from ((_defaults, value, value.__defaults__), (_keyword_defaults, value, value.__kwdefaults__))
        elif type(value) in _PARTS:
            yield from (_attribute_of(value, name) for name in _PARTS[type(value)])
        elif isinstance(value, (set, frozenset)):
            yield frozenset, value, frozenset(value)
        elif isinstance(value, bytearray):
            yield bytes, value, bytes(value)
        elif isinstance(value, (list, tuple, collections.deque, dict)):
            yield from self._of_container(value)
        elif isinstance(value, types.ModuleType):
            if not _is_of_library(value.__name__):
                yield from self._of_dict(value.__dict__, self._names)
        elif isinstance(value, type):
            for name, owner, hiding in self._in_classes(value):
                yield owner.__dict__.get, name, owner.__dict__[name]
                yield from ((one.__dict__.get, name, None) for one in hiding)
        elif _root(type(value).__module__) == "funcgrad":  # of our own objects the functions that they are made of
            attributes = getattr(value, "__dict__", {})
            yield from self._of_dict(attributes, {name for name, one in attributes.items() if callable(one)})
        elif _root(type(value).__module__) not in ("numpy", "scipy"):
            yield from self._of_object(value)

    def _of_container(self, value: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        if len(value) <= _WATCHED_LENGTH:
            yield from (
                self._of_dict(value, value) if isinstance(value, dict) else ((value.__getitem__, n, one) for n, one in enumerate(value))
            )
        yield len, value, len(value)

    def _of_object(self, value: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        """The attributes of an object: its own, those in slots, and those of its classes, which its own may come to hide."""
        attributes = getattr(value, "__dict__", {})
        yield from self._of_dict(attributes, self._names)
        for name, owner, hiding in self._in_classes(type(value)):
            found = owner.__dict__[name]
            if isinstance(found, types.MemberDescriptorType):
                yield functools.partial(_slot, value), name, _slot(value, name)
            elif name not in attributes:
                yield owner.__dict__.get, name, found
                if isinstance(attributes, dict):
                    yield attributes.get, name, None
            yield from ((one.__dict__.get, name, None) for one in hiding)

    def _in_classes(self, cls: type) -> Iterator[tuple[str, type, list[type]]]:
        """The names that a class has, each with the class among its bases that has it, and those that may come to hide it.

        Not those of libraries.
        """
        bases = [one for one in cls.__mro__ if not _is_of_library(one.__module__)]
        for name in (*self._names, "__call__"):
            place = next((n for n, one in enumerate(bases) if name in one.__dict__), None)
            if place is not None:
                yield name, bases[place], bases[:place]

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
            if found is not value and not (type(found) is type(value) and type(value) in _ATOMS and _is_equal(found, value)):
                return False
        return True


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two atoms of a type are the same: 0.0 is not -0.0."""
    return bool(one == other) and (one != 0 or not isinstance(one, (float, complex)) or repr(one) == repr(other))


def _slot(value: Any, name: str) -> Any:
    return getattr(value, name, _MISSING)


def _root(module: Any) -> str:
    return module.partition(".")[0] if isinstance(module, str) else ""


_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, frozenset, np.float64, types.BuiltinFunctionType, types.CodeType})


def _is_of_library(module: Any) -> bool:
    return _root(module) in _LIBRARIES


def _cells(function: types.FunctionType) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
    for cell in function.__closure__ or ():
        yield _contents, cell, _contents(cell)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty still
        return _MISSING


def _defaults(function: Any) -> Any:
    return function.__defaults__


def _keyword_defaults(function: Any) -> Any:
    return function.__kwdefaults__


def _attribute_of(value: Any, name: str) -> tuple[Callable[[Any], Any], Any, Any]:
    return functools.partial(getattr, value), name, getattr(value, name)


def _is_installed(module: types.ModuleType) -> bool:
    """Whether a module lies where packages are installed: nobody changes what is in it while a program runs."""
    return "site-packages" in Path(getattr(module, "__file__", None) or "").parts


_BY_STRINGS = frozenset({"getattr", "attrgetter", "vars", "globals", "__dict__"})
"""What reads a variable or an attribute by a name that is a constant of the code."""


def _names_of(functions: Sequence[Any]) -> set[str]:
    """The names of global variables and attributes in the code of functions and of those that they reach."""
    found: set[str] = set()
    seen: dict[int, Any] = {}
    modules: list[types.ModuleType] = []
    waiting = list(functions)
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            if isinstance(one, types.CodeType):
                found.update(one.co_names)
                if not _BY_STRINGS.isdisjoint(one.co_names):
                    found.update(const for const in one.co_consts if isinstance(const, str))
            elif isinstance(one, types.ModuleType):
                modules += [] if _is_of_library(one.__name__) or _is_installed(one) else [one]
            waiting += _reached(one)
        if not waiting:  # of modules what is named somewhere, which may name more
            waiting = [value for module in modules for name, value in vars(module).items() if name in found and id(value) not in seen]
    return found


def _reached(one: Any) -> list[Any]:
    """Where else a function's code, or that of an object, may come to be."""
    if isinstance(one, types.CodeType):
        return [const for const in one.co_consts if isinstance(const, types.CodeType)]
    if isinstance(one, types.FunctionType):
        cells = [_contents(cell) for cell in one.__closure__ or ()]
        if _is_of_library(one.__globals__.get("__name__")):
            return cells
        return [*cells, one.__code__, *(one.__globals__[name] for name in names_in(one.__code__) if name in one.__globals__)]
    if isinstance(one, types.MethodType):
        return [one.__func__, one.__self__]
    if isinstance(one, functools.partial):
        return [one.func, *one.args, *one.keywords.values()]
    if isinstance(one, (list, tuple, collections.deque)):
        return list(itertools.islice(one, _WATCHED_LENGTH))
    if isinstance(one, dict):
        return list(itertools.islice(one.values(), _WATCHED_LENGTH))
    if isinstance(one, property):
        return [one.fget]
    if isinstance(one, (classmethod, staticmethod)):
        return [one.__func__]
    if isinstance(one, type):
        return [each for base in one.__mro__ if not _is_of_library(base.__module__) for each in base.__dict__.values()]
    if isinstance(one, (types.ModuleType, np.ndarray, Own)) or type(one) in _ATOMS:
        return []
    is_ours = _root(type(one).__module__) == "funcgrad"
    return [type(one), *(each for each in getattr(one, "__dict__", {}).values() if callable(each) or not is_ours)]
