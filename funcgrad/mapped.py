"""The mapped value: an array with one more axis than code sees, that `vmap` made of an argument.

Owns how such a value looks, and what an elementwise function makes of it (NumPy's other functions find their way in
`funcgrad.rules.batching`). It is no tracer of derivatives: it stands wherever a number or
an array may, also inside a tracer (`vmap` of `grad`), and a tracer may stand inside it (`grad` of `vmap`). So an operation on it is the
same operation on an array with one more axis in front; what else has to be done for that is said where each primitive is defined
(`batch=`), and has no second table.

A record of one example could not be replayed for the others: what a rule does may depend on values (ties, exact zeros, NaN). Here every
rule sees all examples at once.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad.errors import ConcretizationError
from funcgrad.numbers import COMPARISONS, OPERATORS, SIGNS
from funcgrad.primitive import operation_of
from funcgrad.rule import CONSTANT_LEAF
from funcgrad.staged import Staged
from funcgrad.tape import Label, Scope, close_scope, open_scope
from funcgrad.tracer import TRACERS as TRACERS
from funcgrad.tracer import Many, Tracer, innermost_of, plain_array

OPEN: list[Scope] = []
"""The mappings that run, on any thread: as long as there is none, no operation need look for mapped values."""


class Mapped(Many):
    """A number or an array for each example: shape, dtype and operators are those of one of them.

    `_primal` is an array, or what stands for one, whose first axis is that of the examples; `_scope` is the mapping that it belongs to.
    """

    __slots__ = ()

    def __init__(self, primal: Any, scope: Scope) -> None:
        self._primal = primal
        self._scope = scope

    @property
    def value(self) -> NoReturn:
        """There is none."""
        self._refuse("the value")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self._primal.shape[1:]  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """The number of axes of one example."""
        return self._primal.ndim - 1  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """The number of elements of one example."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return self._primal.dtype  # type: ignore[no-any-return]

    def __bool__(self) -> NoReturn:  # noqa: PLE0304 - it raises
        self._refuse(
            "bool() (an if, a while, and, or, not)",
            "use np.where(condition, a, b) or funcgrad.cond instead of if, funcgrad.while_loop instead of while, & | ~ instead of and, or, "
            "not, and instead of x[mask] np.where(mask, x, 0.0)",
        )

    def __repr__(self) -> str:
        return f"Mapped({self._primal!r})"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def _refuse(self, what: str, remedy: str = "") -> NoReturn:
        raise ConcretizationError(
            f"{what} of a value that {self._scope.name} maps (shape {self.shape}, {self.dtype} for each example) is not one value: "
            f"{remedy or 'use functions of NumPy, which take all examples at once'}"
        )

    def __float__(self) -> NoReturn:
        self._refuse("float()")


TRACERS.add(Mapped)
LAYERS = frozenset({Tracer, Mapped})
"""Those that have a value inside."""


def mapping_of(*values: Any) -> Scope | None:
    """The mapping that an operation on some values is to be made for: that of the innermost of them, if it is a mapped one."""
    found = innermost_of(values)
    if type(found) is not Mapped:
        return None
    len(found._scope.records)  # raises where the mapping has ended
    return found._scope


def traced_in(values: Iterable[Any]) -> Iterable[Any]:
    """The tracers and mapped values among some values, and in the containers among these."""
    for value in values:
        if type(value) in TRACERS:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from traced_in(value)
        elif isinstance(value, dict):
            yield from traced_in(value.values())


def across(scope: Scope, value: Any) -> Any:
    """A value as an operation in some scope is to have it: a tracer of a scope around the mapping that this one is in as a mapped value.

    A record that had it for a parent would depend on one scope for all examples; the mapped value carries its tracer along.
    """
    mapping = scope.mapping
    if type(value) is not Tracer or mapping is None or value._scope.depth >= mapping.depth:
        return value
    if mapping not in _thread.apart:
        return Mapped(np.broadcast_to(value, (mapping.size, *value.shape)), mapping)
    scope.records.append(CONSTANT_LEAF)  # one example at a time: the tracer itself is what a constant of this scope holds
    return scope.make(value, scope, len(scope.records) - 1)


class _Thread(threading.local):
    """The mappings whose examples are gone through one by one just now."""

    def __init__(self) -> None:
        self.apart: list[Scope] = []


_thread = _Thread()


@contextlib.contextmanager
def taken_apart(mapping: Scope) -> Iterator[None]:
    """Go through the examples of a mapping: meanwhile a tracer stands directly in one of a scope inside, and no mapped value between."""
    _thread.apart.append(mapping)
    try:
        yield
    finally:
        _thread.apart.pop()


def crossed(values: Sequence[Any]) -> list[Any] | None:
    """The operands of one operation as `across` gives them; None if that is as they are."""
    scope = None
    for value in values:
        if type(value) is Tracer and (scope is None or value._scope.depth > scope.depth):
            scope = value._scope
    if scope is None or scope.mapping is None:
        return None
    found = [across(scope, value) for value in values]
    return found if any(one is not value for one, value in zip(found, values, strict=True)) else None


def is_mapped(value: Any, scope: Scope) -> bool:
    """Whether a value is one of a mapping."""
    return type(value) is Mapped and value._scope is scope


def lined_up(operands: Sequence[Any], scope: Scope) -> list[Any]:
    """Operands that are broadcast against one another, the axis of the examples in front of all others where they are mapped."""
    arrays, axes = [], []
    for operand in operands:
        if type(operand) is Mapped and operand._scope is scope:
            arrays.append(operand._primal)
            axes.append(operand._primal.ndim - 1)
        else:
            array = operand if hasattr(operand, "ndim") or isinstance(operand, (float, int, complex)) else np.asarray(operand)
            if isinstance(array, np.ndarray) and type(array) is not np.ndarray:
                array = plain_array(array)
            arrays.append(array)
            axes.append(getattr(array, "ndim", 0))
    ndim = max(axes)
    for n, operand in enumerate(operands):
        if axes[n] < ndim and type(operand) is Mapped and operand._scope is scope:
            shape = arrays[n].shape
            arrays[n] = arrays[n].reshape((shape[0], *(1,) * (ndim - axes[n]), *shape[1:]))
    return arrays


def elementwise(ufunc: Any, *operands: Any) -> Any:
    """What an elementwise function makes of mapped operands, or of a mapped one and a tracer inside of the mapping."""
    found = innermost_of(operands)
    if type(found) is Staged:
        return found.recorded(ufunc, operands, {})
    if type(found) is not Mapped:
        return operation_of(ufunc)(*operands)
    scope = found._scope
    len(scope.records)  # raises where the mapping has ended
    answer = ufunc(*lined_up(operands, scope))
    return tuple(Mapped(one, scope) for one in answer) if type(answer) is tuple else Mapped(answer, scope)


def contents(value: Any) -> Iterable[Any]:
    """A value, and what is in it, to the plain array."""
    yield value
    while type(value) in LAYERS:
        value = value._primal
        yield value


def inmost(value: Any) -> Any:
    """What tracers and mapped values have inside: an array or a number, of all examples, or a staged value where nobody knows it yet."""
    while type(value) in LAYERS:
        value = value._primal
    return value


def one_example(value: Any) -> np.ndarray:
    """The plain array of a value, of one example where it is mapped: for what depends on shape, dtype and layout alone."""
    plain = inmost(value)
    if type(plain) is Staged:
        plain = plain.blank()
    array = np.asarray(plain)
    hidden = array.ndim - len(getattr(value, "shape", ()))
    return array[(0,) * hidden] if all(array.shape[:hidden]) else np.empty(array.shape[hidden:], array.dtype)


def _plain(condition: Any) -> Any:
    """The plain values of a condition, of all examples; None where it is staged, and nobody can know."""
    plain = inmost(condition)
    return None if type(plain) is Staged else plain


def is_any(condition: Any) -> bool:
    """Whether a condition on plain values may hold for any element, of any example: if so, the general branch is to be taken."""
    plain = _plain(condition)
    return plain is None or bool(np.any(plain))


def is_all(condition: Any) -> bool:
    """Whether a condition on plain values is known to hold for all elements, of all examples."""
    plain = _plain(condition)
    return plain is not None and bool(np.all(plain))


def is_wrong(condition: Any) -> bool:
    """Whether a condition on plain values is known to hold for any element, of any example: if so, an error is raised."""
    plain = _plain(condition)
    return plain is not None and bool(np.any(plain))


def _operator(ufunc: Any, is_reflected: bool = False) -> Callable[[Any, Any], Any]:
    return lambda x, y: elementwise(ufunc, y, x) if is_reflected else elementwise(ufunc, x, y)


def _unary(ufunc: Any) -> Callable[[Any], Any]:
    return lambda x: elementwise(ufunc, x)


def _power(x: Any, y: Any) -> Any:
    """The operator **, of which squares are the most frequent."""
    return elementwise(np.square, x) if type(y) is int and y == 2 else elementwise(np.power, x, y)


for _name, _ufunc in OPERATORS.items():
    setattr(Mapped, f"__{_name}__", _operator(_ufunc))
    setattr(Mapped, f"__r{_name}__", _operator(_ufunc, is_reflected=True))
for _name, _ufunc in COMPARISONS.items():
    setattr(Mapped, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in SIGNS.items():
    setattr(Mapped, f"__{_name}__", _unary(_ufunc))
setattr(Mapped, "__pow__", _power)  # noqa: B010 - as the others


# ------------------------------------------------------------------------------------------------ scopes


@contextlib.contextmanager
def mapping_scope(label: Label, size: int) -> Iterator[Scope]:
    """A scope for the values that a mapping makes of its arguments, `size` examples each; results are to be taken out before it ends."""
    scope = open_scope(label, Tracer)
    scope.size = size
    scope.is_recorded = False
    scope.mapping = scope
    OPEN.append(scope)
    try:
        yield scope
    finally:
        OPEN.remove(scope)
        root = scope.root
        close_scope(scope)
        if root is scope:
            scope.root = scope.label
            scope.keepers = 0
        if not root.keepers:
            root.holds.release(scope.held)
