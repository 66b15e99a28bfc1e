"""`jit`: what users call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.tracer import TRACERS, plain_array
from funcgrad.transforms.arguments import checked_function, named
from funcgrad.transforms.compile.calls import Match, match_of, whole_of
from funcgrad.transforms.compile.functions import Compiled
from funcgrad.transforms.compile.programs import PASSES, Entry
from funcgrad.transforms.compile.saved import save
from funcgrad.transforms.compile.surroundings import Surroundings

P = ParamSpec("P")
R = TypeVar("R")
_READY = frozenset({np.ndarray, float, int, bool, complex, np.float64, *TRACERS})
"""Types of leaves that need no look."""
_REMEMBERED = 3


class Jitted(Generic[P, R]):
    """A function with its programs: what `jit` makes."""

    def __init__(self, f: Callable[P, R], argnums: tuple[int, ...], argnames: tuple[str, ...]) -> None:
        functools.update_wrapper(self, f, updated=())
        self._f, self._name = f, named(f)
        self._argnums, self._argnames = argnums, argnames
        named_ones = _positional(f)  # what is static by position is static by keyword too, and the other way round
        self._positions = len(named_ones)
        self._also_argnums = tuple(named_ones.index(name) for name in argnames if name in named_ones)
        self._also_argnames = tuple(named_ones[n] for n in argnums if -len(named_ones) <= n < len(named_ones))
        self._functions: dict[Any, Compiled] = {}
        self._calls: list[tuple[Match, Surroundings, Entry, Callable[[Sequence[Any]], Any]]] = []

    def __repr__(self) -> str:
        return f"<jit of {self._name}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function of these arguments, by its program."""
        for match, around, entry, whole in self._calls:
            found = match(args, kwargs)
            if found is not None and around.are_same():
                return whole(entry.run(found))  # type: ignore[no-any-return]
        function, leaves = self._taken_apart(args, kwargs)
        answer = function(*leaves)
        self._remember(args, kwargs, function, leaves)
        return answer  # type: ignore[no-any-return]

    def _remember(self, args: tuple[Any, ...], kwargs: dict[str, Any], function: Compiled, leaves: Sequence[Any]) -> None:
        """Find the program sooner at the next call like this one."""
        known = function.known(leaves)
        if known is None or self._argnums or self._argnames or not all(type(leaf) in _READY for leaf in leaves):
            return
        around, entry = known
        match = match_of(tree.structure((args, kwargs)), leaves)
        others = [one for one in self._calls if one[2] is not entry and one[1].are_same()][:_REMEMBERED]
        self._calls = [(match, around, entry, whole_of(entry.out_tree)), *others]

    def _taken_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Compiled, list[Any]]:
        """The function of leaves for a structure of arguments, and the leaves."""
        given, static = self._parted(args, kwargs) if self._argnums or self._argnames else ((args, kwargs), ())
        leaves, treedef = tree.flatten(given)
        for n, leaf in enumerate(leaves):
            if type(leaf) not in _READY or (type(leaf) is np.ndarray and leaf.dtype.kind not in "fbiuc"):
                leaves[n] = self._checked(leaf, given)
        key = treedef, static
        found = self._functions.get(key)
        if found is None:
            read = (self._f, *(value for _, _, value in static))
            found = Compiled(self._name, lambda *leaves: self._applied(tree.unflatten(treedef, leaves), static), read)
            found = self._functions.setdefault(key, found)
        return found, leaves

    def _checked(self, leaf: Any, given: Any) -> Any:
        if isinstance(leaf, np.generic) and leaf.dtype.kind in "biufc":
            return leaf
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biufc":
            return plain_array(leaf)
        path = next((path for path, one in tree.flatten_with_path(given)[0] if one is leaf), "")
        raise InputTypeError(
            f"jit of {self._name}: the argument at {_readable(path)} is {leaf!r:.60} ({type(leaf).__name__}), no number and no array: "
            "name it in static_argnums or static_argnames"
        )

    def _parted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The arguments with None for the static ones, and those by place and type.

        Raises:
            InputValueError: there is no such argument.
            InputTypeError: a static argument has no hash.
        """
        places = {n + len(args) if n < 0 else n for n in self._argnums} | {n for n in self._also_argnums if n < len(args)}
        names = {*self._argnames, *self._also_argnames}
        for n in sorted(places):
            if not 0 <= n < len(args):
                if not 0 <= n < self._positions:
                    raise InputValueError(
                        f"jit of {self._name}: static_argnums {n} is out of range for a call with {len(args)} positional arguments"
                    )
                places.discard(n)  # given by keyword, or not at all
        static: list[tuple[Any, Any]] = [(n, args[n]) for n in sorted(places)]
        static += [(key, kwargs[key]) for key in sorted(names) if key in kwargs]
        for place, value in static:
            try:
                hash(value)
            except TypeError:
                raise InputTypeError(
                    f"jit of {self._name}: the static argument {place} is a {type(value).__name__}, which has no hash: use a tuple for a "
                    "list, or leave it out of the static arguments"
                ) from None
        rest = tuple(None if n in places else one for n, one in enumerate(args))
        return (rest, {key: one for key, one in kwargs.items() if key not in names}), tuple((p, _typed(v), v) for p, v in static)

    def _applied(self, given: Any, static: Any) -> Any:
        args, kwargs = list(given[0]), dict(given[1])
        for place, _, value in static:
            if isinstance(place, str):
                kwargs[place] = value
            else:
                args[place] = value
        return self._f(*args, **kwargs)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The code for arguments like these, with the line of the function that each part comes from.

        Raises:
            InputTypeError: an argument is a tracer: the program of a derivative is another one.

        Example:
            >>> print(jit(lambda x: np.sin(x) * 2.0).source(np.ones(3)))  # doctest: +ELLIPSIS
            def make(t0):
                def program(x0):
                    # ...
                    sin(x0, t0)
                    v1 = multiply(t0, n2_0)
                    return (v1, )
                return program
            <BLANKLINE>
        """
        return self._entry(args, kwargs).code.text

    def passes(self, *args: Any, **kwargs: Any) -> str:
        """The program for arguments like these as it was recorded, and after each pass that changes it, for people to read.

        Raises:
            InputTypeError: an argument is a tracer.

        Example:
            >>> print(jit(lambda x: (x * 1.0, 2.0 * np.sin(x), np.cos(x))[1]).passes(np.ones(3)))
            recorded:
            <lambda>(v0: float64[3]):
                v1: float64[3] = multiply(v0, 1.0)
                v2: float64[3] = sin(v0)
                v3: float64[3] = multiply(2.0, v2)
                v4: float64[3] = cos(v0)
                return v3
            without dead code:
            <lambda>(v0: float64[3]):
                v1: float64[3] = sin(v0)
                v2: float64[3] = multiply(2.0, v1)
                return v2
        """
        program = self._entry(args, kwargs).program
        texts = [f"recorded:\n{program}"]
        for each in PASSES:
            before, program = str(program), each(program)
            if str(program) != before:
                texts.append(f"{each.__name__.replace('_', ' ')}:\n{program}")
        return "\n".join(texts)

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        function, leaves = self._taken_apart(args, kwargs)
        if any(type(leaf) in TRACERS for leaf in leaves):
            raise InputTypeError(f"jit of {self._name}: give plain arguments, got a tracer: the program of a derivative is another one")
        entry = function.entry(leaves)
        if entry is None:
            raise InputTypeError(f"jit of {self._name}: the function reads a traced value of the code around it, and runs as it stands")
        return entry

    def save(self, file: Any) -> None:
        """Write the programs made so far into a file, as data: `funcgrad.load(file)` makes a function of them.

        Args:
            file: a path, or a binary file.

        Raises:
            InputValueError: there is none yet, or one has a step or a structure that cannot be written: a function of the user's
                own that is called for each row, a solver, a named tuple, static arguments.

        Example:
            >>> import io
            >>> from funcgrad import load
            >>> double, file = jit(lambda x: 2.0 * x), io.BytesIO()
            >>> print(double(np.ones(2)))
            [2. 2.]
            >>> double.save(file)
            >>> _ = file.seek(0)
            >>> print(load(file)(np.ones(2)))
            [2. 2.]
        """
        programs = [
            (treedef, entry.out_tree, entry.program, entry.careful_program())
            for (treedef, static), function in self._functions.items()
            for entry in function.entries()
            if self._is_savable(static)
        ]
        save(file, self._name, programs)

    def _is_savable(self, static: Any) -> bool:
        if static:
            raise InputValueError(f"jit of {self._name}: programs for static arguments cannot be saved: use functools.partial instead")
        return True

    def cache_clear(self) -> None:
        """Forget all programs."""
        self._functions.clear()
        self._calls = []


def _positional(f: Callable[..., Any]) -> list[str]:
    """The names of the parameters that may be given by position and by keyword; none of a function that does not tell."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    names = []
    for one in parameters:
        if one.kind is not one.POSITIONAL_OR_KEYWORD:
            break
        names.append(one.name)
    return names


def _typed(value: Any) -> Any:
    """What tells equal values apart that are not the same: 1 and True, 0.0 and -0.0, alone and in tuples."""
    if isinstance(value, tuple):
        return type(value), tuple(map(_typed, value))
    return (type(value), repr(value)) if isinstance(value, (float, complex)) else type(value)


def _readable(path: str) -> str:
    return f"args{path.removeprefix('[0]')}" if path.startswith("[0]") else f"kwargs{path.removeprefix('[1]')}"


@overload
def jit(f: Callable[P, R], *, static_argnums: int | Sequence[int] = (), static_argnames: str | Iterable[str] = ()) -> Jitted[P, R]: ...
@overload
def jit(
    *, static_argnums: int | Sequence[int] = (), static_argnames: str | Iterable[str] = ()
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
def jit(f: Any = None, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Iterable[str] = ()) -> Any:
    """The function f, compiled: the NumPy calls that it makes, as one straight-line Python function on buffers that are used again.

    f runs once for each structure of arguments and each shape and dtype of arrays, on values that stand for all of that kind; the calls
    that it makes are the program. Python numbers are arguments as arrays are, and do not make new programs.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise; also one that transforms made, as `grad(loss)`.
        static_argnums: positional arguments that are no numbers and arrays, or whose value f may ask: there is a program for each value,
            which must have a hash. Attributes of such a value are looked at before each call.
        static_argnames: the same by name. What is static by position is static by keyword too, and the other way round.

    Returns:
        A function with f's arguments and results; the results are fresh arrays. It has `source(*args)`, the generated code,
        `passes(*args)`, the program before and after each pass, `save(file)` and `cache_clear()`. Without f, a decorator. Under other
        transforms it has derivatives with programs of their own. Floating-point warnings are not given. What f reads beside its arguments
        (closures, global variables, attributes) is constant: where it is another object at a later call, there is a new program; arrays
        among it cannot be written into as long as the program lives.

    Raises:
        ConcretizationError: f depends on the value of an argument: `if x > 0`, `float(x)`, `x[x > 0]`, `np.nonzero(x)`; or it draws random
            numbers from a generator, which would be the same at each call.
        InputTypeError: an argument is no number and no array, or a static one has no hash; an output is no number and no array.
        InputValueError: static_argnums name an argument that is not there.

    Example:
        >>> from funcgrad import grad
        >>> step = jit(lambda w, x, y: w - 0.1 * grad(lambda w: np.mean((x @ w - y) ** 2))(w))
        >>> print(step(np.zeros(2), np.eye(2), np.ones(2)))
        [0.1 0.1]
    """
    if f is None:
        return functools.partial(jit, static_argnums=static_argnums, static_argnames=static_argnames)
    checked_function(f, "jit")
    argnums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    argnames = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Jitted(f, argnums, argnames)
