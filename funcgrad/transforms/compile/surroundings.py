"""What a function reads beside its arguments, and whether it is still the same: a program holds it as constants.

Owns how that is found: cells of closures, global variables by the names that the code has, defaults, attributes of bound objects, what
is in their lists, tuples and dicts, and the same for the functions reached. Arrays found are read-only as long as a program holds them:
what would write into one raises, instead of leaving the program behind.
"""

from __future__ import annotations

import collections
import dis
import functools
import itertools
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Sequence
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
    collections.UserDict: ("data",),
    collections.UserList: ("data",),
    collections.ChainMap: ("maps",),
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
        self._names, self._asked = _names_of(functions)
        waiting = list(functions)
        while waiting:
            value = waiting.pop()
            is_fixed = isinstance(value, types.FunctionType) and _is_fixed(value.__globals__.get("__name__"))
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
        if isinstance(value, type) and _is_fixed(value.__module__):
            return []
        self._seen[id(value)] = value
        return [value]

    def _parts(self, value: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        if isinstance(value, types.FunctionType):
            yield from _cells(value)
            yield from self._of_dict(value.__dict__, value.__dict__)
            if not _is_fixed(value.__globals__.get("__name__")):
                yield from self._of_names(value.__globals__)
                absent = (name for name in names_in(value.__code__) if name not in value.__globals__)
                yield from ((value.__globals__.get, name, None) for name in absent)  # which may come to hide a builtin
                yield from ((sys.modules.get, name, sys.modules[name]) for name in _imported_by(value.__code__))
                yield from (_attribute_of(value, name) for name in ("__code__", "__defaults__", "__kwdefaults__"))
        elif type(value) in _PARTS:
            yield from (_attribute_of(value, name) for name in _PARTS[type(value)])
        elif isinstance(value, (set, frozenset)):
            yield frozenset, value, frozenset(value)
        elif isinstance(value, bytearray):
            yield bytes, value, bytes(value)
        elif isinstance(value, _CONTAINERS):
            yield from self._of_container(value)
            if not _is_fixed(type(value).__module__):
                yield from self._of_object(value)
        elif isinstance(value, types.ModuleType):
            if _root(vars(value).get("__name__")) not in _LIBRARIES:
                yield from self._of_names(vars(value))
        elif isinstance(value, type):
            yield from self._of_classes(value)
            yield from self._of_classes(type(value))
        elif _root(type(value).__module__) == "funcgrad":  # of our own objects the functions that they are made of
            attributes = getattr(value, "__dict__", {})
            yield from self._of_dict(attributes, {name for name, one in attributes.items() if callable(one)})
        elif _root(type(value).__module__) not in ("numpy", "scipy"):
            yield from self._of_object(value)

    def _of_container(self, value: Any) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        if len(value) <= _WATCHED_LENGTH:
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
            yield from self._of_names(attributes)
        for read, name, found in self._of_classes(type(value)):
            yield read, name, found
            if isinstance(found, types.MemberDescriptorType):
                yield functools.partial(_slot, value), name, _slot(value, name)
            elif isinstance(attributes, dict) and name not in attributes:
                yield attributes.get, name, None

    def _of_classes(self, cls: type) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
        """What a class and its bases have by the names, or may come to have; not what libraries' have."""
        bases = [one for one in cls.__mro__ if not _is_fixed(one.__module__)]
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


def _is_fixed(module: Any) -> bool:
    """Whether what is in a module is a library's, be it NumPy's or an installed one's: nobody changes it while a program runs."""
    root = _root(module)
    file = vars(sys.modules[root]).get("__file__") if root in sys.modules and root != "__main__" else None
    return root in _LIBRARIES or (isinstance(file, str) and ("site-packages" in file or "dist-packages" in file))


def _cells(function: types.FunctionType) -> Iterator[tuple[Callable[[Any], Any], Any, Any]]:
    for cell in function.__closure__ or ():
        yield _contents, cell, _contents(cell)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty still
        return _MISSING


def _attribute_of(value: Any, name: str) -> tuple[Callable[[Any], Any], Any, Any]:
    return functools.partial(getattr, value), name, getattr(value, name)


def _is_installed(module: types.ModuleType) -> bool:
    """Whether a module lies where packages are installed: nobody changes what is in it while a program runs."""
    file = getattr(module, "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


_CONTAINERS = (list, tuple, collections.deque, dict, types.MappingProxyType)
_BY_STRINGS = frozenset({"getattr", "hasattr", "attrgetter", "vars", "globals", "__dict__"})
"""What reads a variable or an attribute by a name that is a constant of the code."""
_IMPORT = dis.opmap["IMPORT_NAME"]
_MAKING = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__del__"})
"""Methods that nobody calls of an object that is there already."""


def _imported_by(code: types.CodeType) -> list[str]:
    """The names of modules that a function imports when it runs."""
    found = [name for name in code.co_names if name in sys.modules] if _IMPORT in code.co_code[::2] else []
    return found + [name for const in code.co_consts if isinstance(const, types.CodeType) for name in _imported_by(const)]


def _names_of(functions: Sequence[Any]) -> tuple[set[str], set[str]]:
    """The names of global variables and attributes in the code of functions and of those that they reach; and which stand in strings."""
    found: set[str] = set()
    asked: set[str] = set()
    seen: dict[int, Any] = {}
    spaces: list[Any] = []
    waiting = list(functions)
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            if isinstance(one, types.CodeType):
                found.update(one.co_names)
                if not _BY_STRINGS.isdisjoint(one.co_names):
                    asked.update(const for const in one.co_consts if isinstance(const, str) and const.isidentifier())
                    found |= asked
            waiting += _reached(one)
            spaces += _spaces(one)
        if not waiting:  # of what is in modules, classes and objects only what is named somewhere, which may name more
            named = (space[name] for space in spaces for name in found.intersection(space))
            waiting = list({id(value): value for value in named if id(value) not in seen}.values())
    return found, asked


def _reached(one: Any) -> list[Any]:
    """Where else a function's code, or that of an object, may come to be, whatever names it has."""
    if isinstance(one, types.CodeType):
        return [const for const in one.co_consts if isinstance(const, types.CodeType)]
    if isinstance(one, types.FunctionType):
        cells = [_contents(cell) for cell in one.__closure__ or ()]
        if _is_fixed(one.__globals__.get("__name__")):
            return cells
        modules = [sys.modules[name] for name in _imported_by(one.__code__)]
        return [*cells, *modules, one.__code__, *(one.__globals__[name] for name in names_in(one.__code__) if name in one.__globals__)]
    if isinstance(one, types.MethodType):
        return [one.__func__, one.__self__]
    if isinstance(one, functools.partial):
        return [one.func, *one.args, *one.keywords.values()]
    if isinstance(one, _CONTAINERS):
        values = one.values() if isinstance(one, (dict, types.MappingProxyType)) else one
        return [*itertools.islice(values, _WATCHED_LENGTH), *_special_methods(type(one), _MAKING)]
    if isinstance(one, property):
        return [one.fget]
    if isinstance(one, (classmethod, staticmethod)):
        return [one.__func__]
    if isinstance(one, type):
        return [*_special_methods(one, frozenset()), *_special_methods(type(one), _MAKING)]
    if isinstance(one, (types.ModuleType, np.ndarray, Own)) or type(one) in _ATOMS:
        return []
    own = [each for each in getattr(one, "__dict__", {}).values() if callable(each)] if _root(type(one).__module__) == "funcgrad" else []
    return [*own, *_special_methods(type(one), _MAKING)]


def _special_methods(cls: type, without: frozenset[str]) -> list[Any]:
    """What Python calls unnamed, as operators and `obj(x)`."""
    return [
        method
        for base in cls.__mro__
        if not _is_fixed(base.__module__)
        for name, method in base.__dict__.items()
        if name.startswith("__") and name not in without and isinstance(method, types.FunctionType)
    ]


def _spaces(one: Any) -> list[Any]:
    """Where what the code names may be found: the variables of a module, the attributes of a class or an object."""
    if isinstance(one, types.ModuleType):
        return [] if _is_fixed(vars(one).get("__name__")) else [vars(one)]
    if isinstance(one, type):
        return [base.__dict__ for cls in (one, type(one)) for base in cls.__mro__ if not _is_fixed(base.__module__)]
    if isinstance(one, (types.FunctionType, np.ndarray, Own)) or type(one) in _ATOMS or _root(type(one).__module__) == "funcgrad":
        return []
    attributes = getattr(one, "__dict__", None)
    classes = [base.__dict__ for base in type(one).__mro__ if not _is_fixed(base.__module__)]
    slots = {name: _slot(one, name) for space in classes for name, each in space.items() if isinstance(each, types.MemberDescriptorType)}
    return [*classes, slots, *([attributes] if isinstance(attributes, dict) else [])]
