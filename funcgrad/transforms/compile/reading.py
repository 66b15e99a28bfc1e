"""The names that code reads: those by which a program's surroundings are watched.

Owns how far code is followed, and what counts as a library's. From a function it goes on to what its code names: global variables, what
these are made of, and what is found under the names in modules, classes and objects, until no more names are found. Where code asks by
names that nobody can see before it runs, all that there is in its classes and objects counts as named.
"""

from __future__ import annotations

import collections
import dis
import functools
import itertools
import operator
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.transforms.captured import Own, names_in

_FRAMEWORK = frozenset({"numpy", "scipy", "funcgrad"})
LIBRARIES = frozenset({*sys.stdlib_module_names, *_FRAMEWORK})
ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, frozenset, np.float64, types.BuiltinFunctionType, types.CodeType})
CONTAINERS = (list, tuple, collections.deque, dict, types.MappingProxyType)
WATCHED_LENGTH = 1000
"""Longer lists, tuples and dicts are watched as wholes."""
PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args", "keywords"),
    functools.partialmethod: ("func", "args", "keywords"),
    functools.singledispatchmethod: ("dispatcher", "func"),
    type(functools.lru_cache(len)): ("__wrapped__",),
    collections.UserDict: ("data",),
    collections.UserList: ("data",),
    collections.ChainMap: ("maps",),
    property: ("fget",),
    classmethod: ("__func__",),
    staticmethod: ("__func__",),
}
"""What objects of these classes are made of."""

_BARE = frozenset({"builtins", "abc", "types", "typing"})
_BY_STRINGS = frozenset({"getattr", "hasattr", "attrgetter", "vars", "globals", "__dict__"})
"""What reads a variable or an attribute by a name that is a constant of the code, or is made when it runs."""
_UNSEEN = (
    _BY_STRINGS
    | {"setattr", "dir", "locals", "eval", "exec", "type", "__class__", "__slots__", "__getattribute__", "__subclasses__", "methodcaller"}
    | {"dataclasses", "inspect", "operator", "copy"}
)
"""What may read names that are in no code."""
_IMPORT = dis.opmap["IMPORT_NAME"]
_MAKING = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__del__"})
"""Methods that nobody calls of an object that is there already."""
_SHOWN = frozenset({"__repr__", "__str__", "__format__"})


def root_of(module: Any) -> str:
    """The package of a module's name."""
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_fixed(module: Any) -> bool:
    """Whether what is in a module is a library's, be it NumPy's or an installed one's: nobody changes it while a program runs."""
    root = root_of(module)
    return root in LIBRARIES or _is_installed(root)


def _is_installed(root: str) -> bool:
    found = sys.modules.get(root) if root != "__main__" else None
    file = vars(found).get("__file__") if isinstance(found, types.ModuleType) else None
    return isinstance(file, str) and ("site-packages" in file or "dist-packages" in file)


def is_handled_elsewhere(cls: type) -> bool:
    """Whether code of an installed package handles objects of a class, or code of a library those of a class of the user's made from it."""
    if is_fixed(cls.__module__):
        return _is_installed(root_of(cls.__module__))
    others = (base for base in cls.__mro__ if root_of(base.__module__) not in _FRAMEWORK | _BARE and is_fixed(base.__module__))
    return any(isinstance(each, types.FunctionType) for base in others for each in vars(base).values())


def own_classes(cls: type) -> list[type]:
    """A class and its bases, without those of libraries."""
    return [base for base in cls.__mro__ if not is_fixed(base.__module__)]


def slots_of(value: Any) -> dict[str, Any]:
    """What is in the slots of an object of the user's class."""
    slots = (name for cls in own_classes(type(value)) for name, each in vars(cls).items() if isinstance(each, types.MemberDescriptorType))
    return {name: getattr(value, name) for name in slots if hasattr(value, name)}


def contents_of(cell: Any, missing: Any = None) -> Any:
    """What is in the cell of a closure."""
    try:
        return cell.cell_contents
    except ValueError:  # empty still
        return missing


def imported_by(code: types.CodeType) -> list[str]:
    """The names of modules that a function imports when it runs."""
    found = [name for name in code.co_names if name in sys.modules] if _IMPORT in code.co_code[::2] else []
    return found + [name for const in code.co_consts if isinstance(const, types.CodeType) for name in imported_by(const)]


def names_of(functions: Sequence[Any]) -> tuple[set[str], set[str]]:
    """The names of global variables and attributes in the code of functions and of those that they reach; and which stand in strings."""
    reading = _Reading(functions, False)
    if reading.asks_for_all:
        reading = _Reading(functions, True)
    return reading.names, reading.asked


class _Reading:
    """One way through code, from functions on.

    Attributes:
        names: all that were found.
        asked: those of them that stand in strings.
        asks_for_all: whether code may ask by names that are in none; then the way ends there, unless all counts as named.
    """

    def __init__(self, functions: Sequence[Any], counts_all: bool) -> None:
        self.names: set[str] = set()
        self.asked: set[str] = set()
        self.asks_for_all = False
        self._counts_all = counts_all
        self._seen: dict[int, Any] = {}
        self._spaces: dict[int, Mapping[str, Any]] = {}
        self._new_spaces: dict[int, Mapping[str, Any]] = {}
        self._looked_up: set[str] = set()
        waiting = list(functions)
        while waiting:
            one = waiting.pop()
            if id(one) not in self._seen:
                self._seen[id(one)] = one
                if not counts_all and _asks_for_all(one):
                    self.asks_for_all = True
                    return
                waiting += self._reached(one)
            if not waiting:
                waiting = self._named()

    def _named(self) -> list[Any]:
        """What is in modules, classes and objects under the names, and was not there when it was looked for before."""
        fresh = self.names - self._looked_up
        found = [space[name] for space in self._spaces.values() for name in _common(fresh, space)]
        found += [space[name] for space in self._new_spaces.values() for name in _common(self.names, space)]
        self._spaces |= self._new_spaces
        self._new_spaces = {}
        self._looked_up |= fresh
        return [one for one in found if id(one) not in self._seen]

    def _add_space(self, owner: Any, space: Mapping[str, Any]) -> None:
        if id(owner) not in self._spaces:
            self._new_spaces[id(owner)] = space

    def _reached(self, one: Any) -> list[Any]:
        """Where else code may come to be, whatever names it has."""
        if isinstance(one, types.CodeType):
            self.names.update(one.co_names)
            if not _BY_STRINGS.isdisjoint(one.co_names):
                self.asked.update(const for const in one.co_consts if isinstance(const, str) and const.isidentifier())
                self.names |= self.asked
            return [const for const in one.co_consts if isinstance(const, types.CodeType)]
        if isinstance(one, types.FunctionType):
            return _reached_by_function(one)
        if type(one) in PARTS:
            return [getattr(one, name) for name in PARTS[type(one)]]
        if isinstance(one, types.ModuleType):
            if not is_fixed(vars(one).get("__name__")):
                self._add_space(one, vars(one))
            return []
        if isinstance(one, type):
            return [*self._of_class(one, frozenset()), *self._of_class(type(one), _MAKING)]
        if isinstance(one, (set, frozenset)):
            return list(one)
        if isinstance(one, (np.ndarray, Own)) or type(one) in ATOMS:
            return []
        return self._of_object(one)

    def _of_object(self, one: Any) -> list[Any]:
        attributes = getattr(one, "__dict__", None)
        attributes = attributes if isinstance(attributes, dict) else {}
        if root_of(type(one).__module__) == "funcgrad":  # of our own objects the functions that they are made of
            return [each for each in attributes.values() if callable(each)]
        found = self._of_class(type(one), _MAKING)
        if isinstance(one, CONTAINERS):
            values: Iterable[Any] = one.values() if isinstance(one, (dict, types.MappingProxyType)) else one
            found += itertools.islice(values, WATCHED_LENGTH)
        slots = slots_of(one)
        if self._counts_all or is_handled_elsewhere(type(one)):
            return [*found, *attributes.values(), *slots.values()]
        self._add_space(one, {**slots, **attributes})
        return found

    def _of_class(self, cls: type, without: frozenset[str]) -> list[Any]:
        """What Python calls unnamed, as operators and `obj(x)`; all where it may be called from elsewhere."""
        found: list[Any] = []
        is_all = self._counts_all or (not is_fixed(cls.__module__) and is_handled_elsewhere(cls))
        for base in own_classes(cls):
            if is_all:
                found += vars(base).values()
            else:
                self._add_space(base, vars(base))
                found += [each for name, each in vars(base).items() if name not in without and _is_called_unnamed(name, each)]
        return found


def _common(names: set[str], space: Mapping[str, Any]) -> list[str]:
    return [name for name in names if name in space] if len(names) < len(space) else [name for name in space if name in names]


def _is_called_unnamed(name: str, method: Any) -> bool:
    if name in _SHOWN or not (name == "keys" or (name.startswith("__") and name.endswith("__"))):
        return False
    is_made = isinstance(method, types.FunctionType) and method.__code__.co_filename == "<string>"  # as a dataclass's comparisons are
    return (callable(method) or type(method) in PARTS) and not isinstance(method, type) and (not is_made or name in _MAKING)


def _asks_for_all(one: Any) -> bool:
    """Whether code may read names that are in none of the code that can be followed."""
    if isinstance(one, types.CodeType):
        return not _UNSEEN.isdisjoint(one.co_names)
    if isinstance(one, types.FunctionType):
        module = one.__globals__.get("__name__")
        return is_fixed(module) and root_of(module) not in _FRAMEWORK
    if isinstance(one, types.ModuleType):
        module = vars(one).get("__name__")
        return is_fixed(module) and root_of(module) not in LIBRARIES
    if isinstance(one, (classmethod, operator.attrgetter, operator.methodcaller)):
        return True
    module = root_of(type(one).__module__)
    return module not in _FRAMEWORK and _is_installed(module)


def _reached_by_function(function: types.FunctionType) -> list[Any]:
    cells = [contents_of(cell) for cell in function.__closure__ or ()]
    if is_fixed(function.__globals__.get("__name__")):
        return cells
    code, variables = function.__code__, function.__globals__
    named = [variables[name] for name in names_in(code) if name in variables]
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [*cells, code, *named, *given, *(sys.modules[name] for name in imported_by(code))]
