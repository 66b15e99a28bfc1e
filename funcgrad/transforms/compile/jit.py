"""`jit`: what users call, and when a program serves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError
from funcgrad.instructions import NUMBERS
from funcgrad.mapped import OPEN, TRACERS
from funcgrad.silence import quietly
from funcgrad.staged import Recording, Staged
from funcgrad.tape import Label, close_scope, open_scope
from funcgrad.tracer import Tracer, plain_array
from funcgrad.transforms.arguments import checked_function, named
from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.dead import without_dead_code
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.subexpressions import with_common_subexpressions_merged
from funcgrad.transforms.custom import CustomFunction

_F = TypeVar("_F", bound=Callable[..., Any])

PASSES: list[Callable[[Program], Program]] = [without_dead_code, with_common_subexpressions_merged, without_dead_code]
"""What is done to a program before code is made of it, in this order."""

_PLAIN = frozenset({np.ndarray, float, int, bool, complex, np.float64})


def recorded(name: str, f: Callable[[list[Any]], Any], leaves: Sequence[Any], is_careful: bool) -> tuple[Program, Any, list[Any]]:
    """The program of a function of leaves.

    Returns:
        The program, the structure of f's output, and its leaves for these arguments.
    """
    scope = open_scope(Label(f"jit of {name}"), Tracer)
    scope.is_recorded = False
    OPEN.append(scope)
    recording = Recording(scope, is_careful)
    try:
        inputs = [recording.input(leaf) for leaf in leaves]
        found, treedef = tree.flatten(f(list(inputs)))
        outputs = [_result(name, one, recording) for one in found]
    finally:
        OPEN.remove(scope)
        _end(scope)
    watched = [one._variable for one in recording.watched]
    variables = [one._variable if type(one) is Staged else one for one in outputs]
    program = Program(name, [one._variable for one in inputs], recording.instructions, variables, watched)
    return program, treedef, outputs


def _end(scope: Any) -> None:
    root = scope.root
    close_scope(scope)
    if root is scope:
        scope.root = None
        scope.keepers = 0
    if not root.keepers:
        root.holds.release(scope.held)


def _result(name: str, value: Any, recording: Recording) -> Any:
    if type(value) is Staged and value._recording is recording:
        return value
    if type(value) in TRACERS:
        raise InputTypeError(f"jit of {name}: an output is a {type(value).__name__} of the code around it: pass it as an argument")
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return np.array(plain_array(value))
    if isinstance(value, (np.generic, *NUMBERS)):
        return value
    raise InputTypeError(f"jit of {name}: an output is {value!r:.60} ({type(value).__name__}), no number and no array")


def compiled(program: Program) -> Code:
    """A program after all passes, as code."""
    for each in PASSES:
        program = each(program)
    return Code(program)


class _Entry:
    """A program with what is needed to call it: for one structure, and one type of each leaf."""

    def __init__(self, name: str, f: Callable[[list[Any]], Any], leaves: Sequence[Any]) -> None:
        self._name, self._f = name, f
        self._lock = threading.Lock()
        self._careful: _Entry | None = None
        self._derivable: CustomFunction | None = None
        self.is_careful = False
        self._set(leaves)

    def _set(self, leaves: Sequence[Any]) -> None:
        program, self.out_tree, self.first = recorded(self._name, self._f, leaves, self.is_careful)
        self.code = compiled(program)
        self._run = self.code.function
        self._arenas: list[list[np.ndarray]] = []

    def call(self, leaves: Sequence[Any]) -> Any:
        """The outputs, as leaves."""
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = self.code.arena()
        found = quietly(self._run, *leaves, *arena)
        self._arenas.append(arena)
        return found if found is not None else self._carefully(leaves)

    def _carefully(self, leaves: Sequence[Any]) -> Any:
        """The outputs by the program whose derivatives have strong zeros."""
        with self._lock:
            if self._careful is None:
                careful = _Entry.__new__(_Entry)
                careful._name, careful._f, careful._careful, careful.is_careful = self._name, self._f, None, True
                careful._set(leaves)
                self._careful = careful
        return self._careful.call(leaves)


class Jitted:
    """A function with its programs."""

    def __init__(self, f: Callable[..., Any], static_argnums: Sequence[int], static_argnames: Sequence[str]) -> None:
        self._f, self._name = f, named(f)
        self._argnums, self._argnames = static_argnums, static_argnames
        self._programs: dict[Any, _Entry] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of these arguments, by its program."""
        entry, leaves, is_inline = self._entry(args, kwargs)
        if is_inline:
            return self._f(*args, **kwargs)
        return tree.unflatten(entry.out_tree, entry.call(leaves))

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Entry, list[Any], bool]:
        static: Any = ()
        given: Any = (args, kwargs)
        if self._argnums or self._argnames:
            given, static = self._parted(args, kwargs)
        leaves, treedef = tree.flatten(given)
        key: list[Any] = [treedef, static]
        for n, leaf in enumerate(leaves):
            kind = type(leaf)
            if kind is np.ndarray:
                key.append((leaf.shape, leaf.dtype))
            elif kind in _PLAIN:
                key.append(kind)
            elif kind in TRACERS:
                return None, leaves, True  # type: ignore[return-value]
            else:
                leaf = leaves[n] = self._checked(leaf, given)
                key.append((type(leaf), leaf.shape, leaf.dtype))
        found = self._programs.get(tuple(key))
        if found is None:
            found = _Entry(self._name, lambda values: self._applied(tree.unflatten(treedef, values), static), leaves)
            self._programs[tuple(key)] = found
        return found, leaves, False

    def _checked(self, leaf: Any, given: Any) -> Any:
        if isinstance(leaf, np.generic) and leaf.dtype.kind in "biufc":
            return leaf
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biufc":
            return plain_array(leaf)
        path = next((path for path, one in tree.flatten_with_path(given)[0] if one is leaf), "")
        raise InputTypeError(
            f"jit of {self._name}: the argument at {path} is {leaf!r:.60} ({type(leaf).__name__}), no number and no array: name it in "
            "static_argnums or static_argnames"
        )

    def _parted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The arguments without the static ones, and those."""
        places = {n + len(args) if n < 0 else n for n in self._argnums}
        static = [(n, args[n]) for n in sorted(places) if n < len(args)] + [
            (key, kwargs[key]) for key in sorted(self._argnames) if key in kwargs
        ]
        for place, value in static:
            try:
                hash(value)
            except TypeError:
                raise InputTypeError(
                    f"jit of {self._name}: the static argument {place} is a {type(value).__name__}, which has no hash"
                ) from None
        rest = tuple(None if n in places else one for n, one in enumerate(args))
        return (rest, {key: one for key, one in kwargs.items() if key not in self._argnames}), tuple((p, type(v), v) for p, v in static)

    def _applied(self, given: Any, static: Any) -> Any:
        args, kwargs = list(given[0]), dict(given[1])
        for place, _, value in static:
            if isinstance(place, str):
                kwargs[place] = value
            else:
                args[place] = value
        return self._f(*args, **kwargs)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The code for arguments like these."""
        entry, _, is_inline = self._entry(args, kwargs)
        if is_inline:
            raise InputTypeError(f"jit of {self._name}: source() takes plain arguments")
        return entry.code.text

    def cache_clear(self) -> None:
        """Forget all programs."""
        self._programs.clear()


def jit(f: _F, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Iterable[str] = ()) -> _F:
    """f compiled."""
    checked_function(f, "jit")
    argnums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    argnames = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Jitted(f, argnums, argnames)  # type: ignore[return-value]
