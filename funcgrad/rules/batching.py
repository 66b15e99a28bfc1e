"""How operations take mapped values: what the kinds' `batch=` rules are made of, and the loop where there is none.

A batch rule is a function `(scope, *args, **options)` of the operation's own arguments, at least one of which is mapped; it gives mapped
results, or NotImplemented where it cannot, and then the examples are gone through one by one.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError
from funcgrad.mapped import (
    LAYERS,
    OPEN,
    Mapped,
    contents,
    elementwise,
    is_mapped,
    lined_up,
    mapping_of,
    one_example,
    taken_apart,
    traced_in,
)
from funcgrad.primitive import operation_of
from funcgrad.rule import Rule, accumulate
from funcgrad.rules.values import shape_of
from funcgrad.silence import quietly
from funcgrad.staged import Staged
from funcgrad.tape import Record, Scope, thread
from funcgrad.tracer import TRACERS, Tracer, innermost_of

BatchRule = Callable[..., Any]

# ------------------------------------------------------------------------------------------------ the axis of the examples


def unhidden(value: Any, scope: Scope) -> Any:
    """A value of a mapping as one array of all examples, their axis in front; what is the same for all is repeated.

    A tracer inside of the mapping stays one: `unhidden` and `hidden` are linear, and each is the other's transpose.
    """
    if is_mapped(value, scope):
        return value._primal
    if type(value) in TRACERS and value._scope.depth > scope.depth:
        if type(value) is Mapped:
            return Mapped(np.moveaxis(unhidden(value._primal, scope), 0, 1), value._scope)
        return _recorded(_UNHIDE, value, unhidden(value._primal, scope), scope)
    return np.broadcast_to(value, (scope.size, *getattr(value, "shape", ())))


def hidden(array: Any, scope: Scope) -> Any:
    """The value of a mapping whose examples stand along the first axis of an array."""
    if type(array) in TRACERS and array._scope.depth > scope.depth:
        if type(array) is Mapped:
            return Mapped(hidden(np.moveaxis(array._primal, 1, 0), scope), array._scope)
        return _recorded(_HIDE, array, hidden(array._primal, scope), scope)
    return Mapped(array, scope)


def _recorded(rule: Rule, tracer: Any, answer: Any, mapping: Scope) -> Any:
    scope = tracer._scope
    records = scope.records
    index = len(records)
    records.append((rule.key, tracer._index, mapping))
    return scope.make(answer, scope, index)


def _rule(name: str, forth: Callable[[Any, Scope], Any], back: Callable[[Any, Scope], Any]) -> Rule:
    def push(record: Record, tangents: Any) -> Any:
        return forth(tangents[record[1]], record[2])

    def pull(cotangent: Any, record: Record, cotangents: Any) -> None:
        accumulate(cotangents, record[1], back(cotangent, record[2]))

    return Rule(name, push, pull, lambda record, index, scope: record)


def _hidden_sum(ct: Any, scope: Scope) -> Any:
    """The cotangent of a mapped value, for that of the array of all examples: where examples used the array alike, each has its own."""
    return hidden(np.sum(unhidden(ct, scope), 0) if any(is_mapped(one, scope) for one in contents(ct)) else ct, scope)


_UNHIDE = _rule("unhide", unhidden, _hidden_sum)
_HIDE = _rule("hide", hidden, unhidden)

# ------------------------------------------------------------------------------------------------ loops


def call_of_one(function: Callable[..., Any], scope: Scope, args: Any, options: dict[str, Any]) -> Callable[[Callable[[Any], Any]], Any]:
    """A function's call for one example, as a function of `pick`, which takes the example out of an array of all."""
    leaves, treedef = tree.flatten((tuple(args), options))
    arrays = {n: unhidden(one, scope) for n, one in enumerate(leaves) if type(one) in TRACERS and one._scope.depth >= scope.depth}

    def call(pick: Callable[[Any], Any]) -> Any:
        of_one = list(leaves)
        for place, array in arrays.items():
            one = pick(array)
            is_held = type(one) is np.ndarray and not one.flags.writeable  # which compiled code may refuse
            of_one[place] = one.copy("K") if is_held else one
        given, named = tree.unflatten(treedef, of_one)
        return function(*given, **named)

    return call


def _stand_in(array: Any, n: int) -> np.ndarray:
    """An example where there is none, for the shapes that come of it: regular matrices; equal numbers, or (n = 1) different ones."""
    shape, dtype = array.shape[1:], array.dtype
    if dtype.kind not in "fc":
        return np.zeros(shape, dtype)
    numbers = np.ones(shape)
    if n:
        numbers += np.arange(numbers.size).reshape(shape) / max(numbers.size, 1)
    return np.asarray(numbers + np.eye(shape[-2], shape[-1]) if len(shape) > 1 else numbers, dtype)


def looped(function: Callable[..., Any], scope: Scope, args: Any, options: dict[str, Any]) -> Any:
    """A function of mapped values, one example after the other: exact for any function of arrays, and as slow as that.

    Raises:
        ConcretizationError: the results of the examples differ in shape.
    """
    call = call_of_one(function, scope, args, options)
    before = thread.scope
    if before is scope:  # an example is no value of the mapping: for scopes that are opened for it, there is none around
        thread.scope = scope.parent
    try:
        with taken_apart(scope):
            results = [call(operator.itemgetter(n)) for n in range(scope.size)]
        if not results:
            results = [quietly(call, functools.partial(_stand_in, n=n)) for n in range(2)]
    finally:
        thread.scope = before
    treedef = tree.structure(results[0])
    columns = zip(*(treedef.flatten_up_to(result) for result in results), strict=True)
    return tree.unflatten(treedef, [joined(f"{scope.name}: a result", column, scope) for column in columns])


def joined(what: str, column: Sequence[Any], scope: Scope) -> Any:
    """The numbers or arrays of all examples as one value; where there is no example, those of some that were made up say what its shape is.

    Raises:
        ConcretizationError: they differ in shape.
    """
    shapes = {shape_of(one) for one in column}
    if len(shapes) > 1:
        raise ConcretizationError(
            f"{what} has another shape for each example ({', '.join(map(str, sorted(shapes)))}), which no mapped value can: call the "
            "function in a loop of your own"
        )
    if not scope.size:
        one = one_example(column[0])
        return Mapped(np.zeros((0, *one.shape), one.dtype), scope)
    return hidden(np.stack([_of_example(one, n, scope) for n, one in enumerate(column)]), scope)


def _of_example(value: Any, n: int, scope: Scope) -> Any:
    """A result for the example of number n: its own, where it came out mapped (the example met a mapped value, or was taken `across`)."""
    return unhidden(value, scope)[n] if any(is_mapped(one, scope) for one in contents(value)) else value


def inner_mapping(*values: Any) -> Scope | None:
    """The innermost mapping that is anywhere in some values: among them, or in tracers among them."""
    found: Scope | None = None
    for value in traced_in(values):
        while type(value) in LAYERS:
            if type(value) is Mapped and (found is None or value._scope.depth > found.depth):
                found = value._scope
            value = value._primal
    if found is not None:
        len(found.records)  # raises where the mapping has ended
    return found


def by_examples(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that sees one example at a time wherever mapped values are in its arguments: it may ask plain values anything."""

    @functools.wraps(function)
    def each(*args: Any, **options: Any) -> Any:
        scope = inner_mapping(args, options) if OPEN else None
        return function(*args, **options) if scope is None else looped(each, scope, args, options)

    return each


def mapped_call(
    operation: Callable[..., Any], batch: BatchRule | None, scope: Scope, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """An operation on mapped values by its rule, or by a loop."""
    if batch is not None:
        answer = batch(scope, *args, **options)
        if answer is not NotImplemented:
            return answer
    return looped(operation, scope, args, options)


def on_values(
    operation: Callable[..., Any], function: Callable[..., Any], batch: BatchRule | None, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """An operation on mapped values, or on staged ones, for which it is one call of its function; NotImplemented for all else."""
    found = innermost_of((args, options))
    if type(found) is Staged:
        return found.recorded(function, args, options)
    if type(found) is not Mapped:
        return NotImplemented
    len(found._scope.records)  # raises where the mapping has ended
    return mapped_call(operation, batch, found._scope, args, options)


def as_instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that becomes one instruction of a program where it meets staged values and needs to see plain ones."""

    @functools.wraps(function)
    def part(*args: Any, **options: Any) -> Any:
        found = innermost_of((args, options)) if OPEN else None
        return found.recorded(function, args, options) if type(found) is Staged else function(*args, **options)

    return part


# ------------------------------------------------------------------------------------------------ dispatch


class _Thread(threading.local):
    """The functions of NumPy that operations are at work for, on mapped values."""

    def __init__(self) -> None:
        self.asked: set[Any] = set()


_thread = _Thread()


def _dispatched(key: Any, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of NumPy on mapped values, by its operation. Where that asks NumPy for the plain value, it is that of each example."""
    found = innermost_of((args, options))
    if type(found) is Staged:
        return found.recorded(function, args, options)
    if type(found) is not Mapped:  # for a tracer inside of the mapping
        return operation_of(key)(*args, **options)
    mapping = found._scope
    len(mapping.records)  # raises where the mapping has ended
    question = (key, mapping)  # of one mapping: what a batch rule asks about one around it is another question
    if question in _thread.asked:
        return looped(function, mapping, args, options)
    _thread.asked.add(question)
    try:
        return operation_of(key)(*args, **options)
    finally:
        _thread.asked.discard(question)


def _array_function(self: Mapped, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _dispatched(function, function, args, kwargs)


def _array_ufunc(self: Mapped, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    len(self._scope.records)  # raises where the mapping has ended
    if method == "__call__" and not kwargs and ufunc.signature is None:
        return elementwise(ufunc, *inputs)
    if method in ("__call__", "at"):
        return Tracer.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)
    return _dispatched((ufunc, method), getattr(ufunc, method), inputs, kwargs)


setattr(Mapped, "__array_function__", _array_function)  # noqa: B010 - as the operators of tracers
setattr(Mapped, "__array_ufunc__", _array_ufunc)  # noqa: B010

# ------------------------------------------------------------------------------------------------ rules


def in_front(rule: Callable[..., Any]) -> BatchRule:
    """The batch rule of an operation on one array, from `(x, *static, **options)` with the axis of the examples in front of x's."""

    def batch(scope: Scope, x: Any, *static: Any, **options: Any) -> Any:
        if not is_mapped(x, scope) or mapping_of(static, options) is not None:
            return NotImplemented
        answer = rule(x._primal, *static, **options)
        return tree.map(lambda one: Mapped(one, scope), answer)

    return batch


def broadcasting(function: Callable[..., Any]) -> BatchRule:
    """The batch rule of a function whose operands are broadcast against one another."""

    def batch(scope: Scope, *operands: Any, **options: Any) -> Any:
        if mapping_of(options) is not None:
            return NotImplemented
        answer = function(*lined_up(operands, scope), **options)
        return tree.map(lambda one: Mapped(one, scope), answer)

    return batch


def stacked(rule: Callable[..., Any], arrays: int) -> Callable[..., Any]:
    """A rule `(t, *residuals, *static, **options)` that does the same for each array of a stack, as one that sees the examples as a stack.

    Args:
        rule: its first `arrays` arguments have the axes of the stack in front; so has its result. It may ask the residuals' plain values
            (`inmost`) anything about one array of the stack alone, and uses t as rules do.
        arrays: how many arguments are arrays.

    Returns:
        The rule; where the residuals are the same for all examples, it sees them and t as they are.
    """

    def each(*args: Any, **options: Any) -> Any:
        scope = inner_mapping(*args[1:arrays]) if OPEN else None
        if scope is None:
            return rule(*args, **options)
        whole = [None if one is None else unhidden(one, scope) for one in args[:arrays]]
        with taken_apart(scope):
            answer = each(*whole, *args[arrays:], **options)
        return hidden(answer, scope)

    return each
