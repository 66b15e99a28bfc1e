"""What goes into a transform and what comes out: arguments by number, trees of leaves, checks with messages that say where.

Owns the contract on inputs and the form of gradients.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, TreeError
from funcgrad.mapped import TRACERS, Mapped, inmost
from funcgrad.ops.operators import in_kind
from funcgrad.rules.values import is_array, is_complex, raw, real_part, shape_of
from funcgrad.silence import quietly
from funcgrad.staged import Staged
from funcgrad.tape import check_open, thread
from funcgrad.tracer import Tracer

Argnums = int | Sequence[int]
_F = TypeVar("_F", bound=Callable[..., Any])
FLOAT64 = np.dtype(float)
_VALUES = frozenset({Mapped, Staged})


def named(f: Callable[..., Any]) -> str:
    """How messages call a function."""
    name: str = getattr(f, "__name__", None) or type(f).__name__
    return name


def at(path: str) -> str:
    """How messages add where in a tree something is."""
    return f" at {path}" if path else ""


def looks_like(f: Callable[..., Any], doc: str) -> Callable[[_F], _F]:
    """Decorate a transformed function with f's name, signature and docstring, after a line that says what it gives."""

    def decorate(wrapper: _F) -> _F:
        functools.update_wrapper(wrapper, f)
        own = getattr(f, "__doc__", None)
        wrapper.__doc__ = f"{doc} of {named(f)}." + (f"\n\n{own}" if own else "")
        return wrapper

    return decorate


def checked_function(f: Any, transform: str) -> None:
    """A transform takes a function.

    Raises:
        InputTypeError: it got something else, as a rule the function's value.
    """
    if not callable(f):
        raise InputTypeError(f"{transform} takes a function, got {type(f).__name__}: write {transform}(f), not {transform}(f(x))")


def checked_holomorphic(name: str, what: str, values: Sequence[Any]) -> None:
    """With holomorphic=True arguments and outputs must be complex.

    Raises:
        InputTypeError: one is real.
    """
    for value in values:
        if not is_complex(raw(value)):
            raise InputTypeError(f"{name}: holomorphic=True takes a complex {what}, got {kind_of(raw(value))}: use astype(complex)")


def kind_of(value: Any) -> str:
    """A number or an array as messages name it."""
    return f"dtype {value.dtype}" if is_array(value) else f"a {type(value).__name__}"


def checked_argnums(argnums: Argnums) -> tuple[tuple[int, ...], bool]:
    """Argument numbers as a tuple, and whether it was a single one: results are then for that argument, no tuple.

    Raises:
        InputTypeError: they are no integers.
    """
    is_single = not isinstance(argnums, (list, tuple, range))
    numbers: tuple[Any, ...] = (argnums,) if is_single else tuple(argnums)  # type: ignore[arg-type]
    for n in numbers:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise InputTypeError(f"argnums must be an integer or a tuple of integers, got {argnums!r}")
    return tuple(int(n) for n in numbers), is_single


def positions(name: str, argnums: tuple[int, ...], count: int) -> list[int]:
    """Argument numbers counted from the front for a call with this many positional arguments.

    Raises:
        InputValueError: one is out of range or named twice.
    """
    if argnums == (0,) and count:
        return [0]
    places = [n + count if n < 0 else n for n in argnums]
    for n, place in zip(argnums, places, strict=True):
        if not 0 <= place < count:
            raise InputValueError(
                f"{name}: argnums {n} is out of range for a call with {count} positional argument{'s' * (count != 1)}: arguments to "
                "differentiate must be given by position"
            )
    if len(set(places)) != len(places):
        raise InputValueError(f"{name}: argnums {argnums} name an argument twice")
    return places


def leaf(value: Any, name: str, argument: int, whole: Any) -> Any:
    """A leaf that can be differentiated: a Python int becomes a float, a Python complex NumPy's.

    Raises:
        InputTypeError: it is no floating-point number or array; says at which argument and tree path.
    """
    kind = type(value)
    if kind is float or kind is Tracer or (kind is np.ndarray and value.dtype is FLOAT64):
        return value
    if kind is int:
        return float(value)
    if kind is complex:
        return np.complex128(value)
    if kind is Staged and value.kind is int:
        return value * 1.0
    if (kind is np.ndarray or kind in _VALUES or isinstance(value, np.generic)) and value.dtype.kind in "fc":
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc" and not isinstance(value, (np.ma.MaskedArray, np.matrix)):
        return np.asarray(value)
    path = next((path for path, found in tree.flatten_with_path(whole)[0] if found is value), "")
    place = f"argument {argument}" + at(path)
    if is_array(value):
        got = f"an array of shape {value.shape} and dtype {value.dtype}" if value.dtype.kind not in "fc" else f"a {kind.__name__}"
    else:
        got = f"{value!r:.60} ({kind.__name__})"
    if isinstance(value, np.ma.MaskedArray):
        remedy = "use array.filled(...)"
    elif is_array(value) and value.dtype.kind in "biu":
        remedy = "use np.asarray(x, float), or leave it out of argnums"
    elif dataclasses.is_dataclass(value):
        remedy = f"make its class a tree with funcgrad.tree.register_dataclass({kind.__name__}), or leave it out of argnums"
    else:
        remedy = "leave it out of argnums (funcgrad.tree.register_node makes a tree of a class that holds numbers)"
    raise InputTypeError(f"{name}: {place} is {got}, but only floating-point numbers and arrays can be differentiated: {remedy}")


def zeros(value: Any) -> Any:
    """The zero of the space of a leaf or an output: 0.0 for a Python float, an array of its shape and dtype else."""
    value = raw(value)
    if type(value) is Staged and value.kind is not np.ndarray:
        return 0.0 if value.kind is float else value.dtype.type(0)
    if isinstance(value, np.ndarray) or type(value) in _VALUES:
        return np.zeros(value.shape, value.dtype)
    return value.dtype.type(0) if isinstance(value, np.generic) else np.complex128(0) if type(value) is complex else 0.0


_ONE = np.float64(1.0)


def ones(value: Any) -> Any:
    """The one of the space of a leaf or an output: 1.0 for a Python float, an array of its shape and dtype else."""
    value = raw(value)
    if type(value) is np.float64:
        return _ONE
    if type(value) is float:
        return 1.0
    if type(value) is Staged and value.kind is not np.ndarray:
        return 1.0 if value.kind is float else value.dtype.type(1)
    if isinstance(value, np.ndarray) or type(value) in _VALUES:
        return np.ones(value.shape, value.dtype)
    return value.dtype.type(1) if isinstance(value, np.generic) else np.complex128(1) if type(value) is complex else 1.0


def _type_of(value: Any) -> type:
    """The type of the plain value of a leaf, of one that is mapped or staged too."""
    while type(value) is Tracer:
        value = value._primal
    return value.kind if type(value) is Staged else np.ndarray if type(value) is Mapped else type(value)


def _settled_tracer(value: Any, primal: Any) -> Any:
    """A traced, mapped or staged value in the kind and dtype of its primal. A program that computes it looks out for NaN in it."""
    inside = inmost(value)
    if type(inside) is Staged:
        inside.watch()
    dtype, kind = getattr(primal, "dtype", FLOAT64), _type_of(primal)
    if type(value) is Mapped:
        return value if value.dtype == dtype else value.astype(dtype)
    return value if _type_of(value) is kind and value.dtype == dtype else in_kind(value, kind, dtype)


def _are_settled(values: Sequence[Any], primals: Sequence[Any]) -> bool:
    """Whether values are in the spaces of their primals, and no views: the usual case, in which nothing is to be done."""
    for value, primal in zip(values, primals, strict=True):
        if type(primal) is Tracer:
            primal = primal._primal
            if type(value) is Tracer:
                value = value._primal
        if type(value) is ndarray:
            if type(primal) is not ndarray or value.base is not None or value.dtype is not primal.dtype:
                return False
        elif type(value) is not float or type(primal) is not float:
            return False
    return True


def settled(values: Sequence[Any], primals: Sequence[Any], given: Sequence[Any] = ()) -> list[Any]:
    """Replayed cotangents or tangents put back into the spaces of their primals: type, dtype, zeros for None; fresh and writeable.

    No two share memory, and none is an array of `given`.
    """
    different = set(map(id, values))
    if len(different) == len(values) and (not given or different.isdisjoint(map(id, given))) and _are_settled(values, primals):
        return list(values)
    seen = {id(value) for value in given}
    result = []
    for value, primal in zip(values, primals, strict=True):
        primal = raw(primal)
        if not is_complex(primal):  # cotangents of real values may be complex on their way: here and before `real` they are cut
            value = real_part(value)
        if value is None:
            result.append(zeros(primal))
        elif type(value) in TRACERS:
            result.append(_settled_tracer(value, primal))
        elif _type_of(primal) is not np.ndarray:
            result.append(float(value) if _type_of(primal) is float else quietly(primal.dtype.type, value))
        else:
            if type(value) is not np.ndarray:
                value = np.asarray(value)
            if value.dtype is not primal.dtype and value.dtype != primal.dtype:
                value = quietly(value.astype, primal.dtype)
            elif value.base is not None or id(value) in seen:
                value = value.copy()
            seen.add(id(value))
            result.append(value)
    return result


def fitting(name: str, what: str, value: Any, treedef: tree.TreeDef, primals: Sequence[Any]) -> list[Any]:
    """The leaves of a tree of tangents or cotangents that must be of the same structure, shapes and dtypes as the primals.

    Raises:
        TreeError, InputValueError, InputTypeError: they are not; says where.
    """
    leaves, got = tree.flatten(value)
    if got == treedef and all(
        type(one) is np.ndarray and type(primal) is np.ndarray and one.shape == primal.shape and one.dtype == primal.dtype
        for one, primal in zip(leaves, primals, strict=True)
    ):
        return leaves
    pairs, got = tree.flatten_with_path(value)
    if got != treedef:
        raise TreeError(f"{name}: the {what} must have the structure {treedef}, got {got}")
    result = []
    for (path, one), primal in zip(pairs, primals, strict=True):
        primal = raw(primal)
        place = f"the {what}" + at(path)
        is_number = isinstance(one, (Tracer, np.ndarray, np.generic, float, int, complex))
        if not is_number or isinstance(one, (bool, np.ma.MaskedArray, np.matrix)):
            raise InputTypeError(f"{name}: {place} must be a number or an array, got {type(one).__name__}")
        if type(one) in TRACERS:
            check_open(one._scope, thread.scope, name)
        elif isinstance(one, np.ndarray):
            one = np.asarray(one)
        wanted = getattr(primal, "dtype", FLOAT64)
        if shape_of(one) != shape_of(primal):
            raise InputValueError(f"{name}: {place} must have shape {shape_of(primal)}, got {shape_of(one)}")
        if isinstance(one, (float, int)) and not isinstance(one, np.generic):
            one = float(one) if type(primal) is float else wanted.type(one)
        elif type(one) is complex and wanted.kind == "c":
            one = np.asarray(one, wanted)[()]
        elif (is_complex(one) and wanted.kind == "f") or one.dtype != wanted:
            raise InputTypeError(f"{name}: {place} must have dtype {wanted}, got {kind_of(raw(one))}: convert it with astype")
        result.append(one)
    return result


def replaced(values: Sequence[Any], places: Sequence[int], by: Sequence[Any]) -> list[Any]:
    """A list with other values in some places."""
    values = list(values)
    for place, value in zip(places, by, strict=True):
        values[place] = value
    return values
