"""The kinds beyond the hot path: linear, multilinear, elementwise in many arguments; `general` is made of what is here.

Owns how an operation with any number of array arguments, static arguments and keywords is recorded and replayed. One layout serves all
but `linear`, which keeps a shape only: the residual of a record is `(traced, operands, answer, static, options)`, where `traced` are the
argument numbers that the parents stand for, and no options are None: the garbage collector does not let go of a tuple that has a dict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError, NoRuleError
from funcgrad.mapped import OPEN, TRACERS, Mapped, crossed, inmost, lined_up, traced_in
from funcgrad.primitive import Operation, declare, register
from funcgrad.rule import Rule, accumulate
from funcgrad.rules.batching import BatchRule, as_instruction, by_examples, on_values
from funcgrad.rules.elementwise import strongly
from funcgrad.rules.replayed import rules_of
from funcgrad.rules.values import (
    NUMBERS,
    as_python,
    keep,
    keep_zeros_in_sums,
    placeholder,
    plain_constant,
    raw,
    shape_of,
    stretch,
    unbroadcast,
)
from funcgrad.staged import Staged
from funcgrad.tape import Record, Scope, innermost
from funcgrad.tracer import Tracer

Directional = Callable[..., Any]
_NO_OPTIONS: dict[str, Any] = {}


def _lift(record: Record, index: int, scope: Scope) -> Record:
    traced, operands, answer, static, options = record[-1]
    lifted = list(operands)
    for parent, n in zip(record[1:-1], traced, strict=True):
        lifted[n] = Tracer(operands[n], scope, parent)
    if answer is not None:
        answer = Tracer(answer, scope, index)
    return (*record[:-1], (traced, tuple(lifted), answer, static, options))


def _residual(record: Record) -> tuple[Any, ...]:
    traced, operands, answer, static, options = record[-1]
    return traced, operands, answer, static, options or _NO_OPTIONS


def _staged(part: Directional) -> Directional:
    """A part of a rule that may meet staged values: what has to see plain ones becomes an instruction, with derivatives of its own."""
    plain = as_instruction(part)

    def each(n: int, *args: Any) -> Any:
        try:
            return plain(n, *args)
        except ConcretizationError:
            if not any(type(inmost(one)) is Staged for one in traced_in(args)):
                raise
        leaves, treedef = tree.flatten(args)
        places = [k for k, one in enumerate(leaves) if type(one) in TRACERS]

        def of_leaves(*instead: Any) -> Any:
            given = dict(zip(places, instead, strict=True))
            return plain(n, *tree.unflatten(treedef, [given.get(k, one) for k, one in enumerate(leaves)]))

        return _part(*(leaves[k] for k in places), of=of_leaves)

    return each


def parts_of(jvps: Sequence[Directional], vjps: Sequence[Directional]) -> tuple[Directional, Directional]:
    """`push_one` and `pull_one` of a rule, from functions for each argument."""

    def of(functions: Sequence[Directional]) -> Directional:
        def part(n: int, t: Any, answer: Any, operands: Any, static: Any, options: Any) -> Any:
            return functions[n](t, answer, *operands, *static, **options)

        return part

    return of(jvps), of(vjps)


def rule_of(name: str, push_one: Directional, pull_one: Directional, sees_mapped: bool = True) -> Rule:
    """A rule from `push_one(n, tangent, answer, operands, static, options)`, the part of argument n, and `pull_one` of the same form."""
    if not sees_mapped:
        push_one, pull_one = by_examples(push_one), by_examples(pull_one)
    push_one, pull_one = _staged(push_one), _staged(pull_one)

    def push(record: Record, tangents: Any) -> Any:
        traced, operands, answer, static, options = _residual(record)
        total = None
        for parent, n in zip(record[1:-1], traced, strict=True):
            tangent = tangents.get(parent)
            if tangent is not None:
                part = push_one(n, tangent, answer, operands, static, options)
                total = part if total is None else total + part
        return total

    def pull(cotangent: Any, record: Record, cotangents: Any) -> None:
        traced, operands, answer, static, options = _residual(record)
        for parent, n in zip(record[1:-1], traced, strict=True):
            accumulate(cotangents, parent, pull_one(n, cotangent, answer, operands, static, options))

    return Rule(name, push, pull, _lift)


def recorded(
    name: str,
    function: Operation,
    rule: Rule,
    arrays: int | None,
    keeps_operand: Callable[[int, Sequence[int]], bool],
    keeps_answer: bool,
    batch: BatchRule | None,
) -> Operation:
    """The operation whose first `arrays` positional arguments (None: all) may be tracers; the others and the keywords are static."""
    rule_key = rule.key

    def operation(*args: Any, **options: Any) -> Any:
        if OPEN:
            answer = on_values(operation, function, batch, args, options)
            if answer is not NotImplemented:
                return answer
            args = tuple(crossed(args) or args)
        for key, option in options.items():
            if type(option) is Tracer:
                raise NoRuleError(f"{name} has no derivative rule for a traced {key} by keyword: give it by position, if it is an operand")
        operands, static = (args, ()) if arrays is None else (args[:arrays], args[arrays:])
        traced = tuple([n for n, operand in enumerate(operands) if type(operand) is Tracer])
        if not traced:
            return as_python(function(*args, **options), operands)
        scope = operands[traced[0]]._scope
        for n in traced[1:]:
            if operands[n]._scope is not scope:
                scope = innermost(scope, operands[n]._scope)
        values = tuple(
            operand._primal if type(operand) is Tracer else operand if type(operand) in NUMBERS else plain_constant(operand)
            for operand in operands
        )
        static = tuple(keep(value, scope) for value in static)
        answer = as_python((operation if OPEN else function)(*values, *static, **options), values)
        kept = tuple(
            placeholder(value) if not keeps_operand(n, traced) else value if n in traced else keep(value, scope)
            for n, value in enumerate(values)
        )
        records = scope.records
        records.append(
            (rule_key, *(operands[n]._index for n in traced), (traced, kept, answer if keeps_answer else None, static, options or None))
        )
        return scope.make(answer, scope, len(records) - 1)

    operation.__name__ = operation.__qualname__ = name
    return operation


def _of_records(which: int) -> Directional:
    """The jvps (0) or vjps (1) of the option `of`, by a replay of its own records."""
    return lambda n, t, answer, operands, static, options: rules_of(options["of"], len(operands))[which][n](t, answer, *operands)


_PART = "a part of a rule"
_part = recorded(_PART, lambda *x, of: of(*x), rule_of(_PART, _of_records(0), _of_records(1)), None, lambda *_: True, True, None)


def elementwise(function: Any, *partials: Directional | None, keeps: Sequence[int] | None = None, name: str | None = None) -> Operation:
    """Define an elementwise primitive of any number of arguments.

    Args:
        function: NumPy's function, which gives the value.
        partials: for each argument `(t, *operands) -> t times the derivative`; None for an argument without derivative (a condition).
        keeps: the numbers of the operands that the partials use the values of; None for all. The others come as placeholders that have
            only shape and dtype.
        name: the primitive's, where `function` is one of our own and not one of NumPy's to take the place of.

    Returns:
        The operation. Operands broadcast against one another.

    Raises:
        InputValueError: another module has a primitive of that name.

    Example:
        >>> from funcgrad import grad
        >>> nextafter = elementwise(np.nextafter, lambda t, x, towards: t, None, keeps=())
        >>> grad(nextafter)(1.0, 2.0)
        1.0
    """
    is_ours = name is not None
    name = name or str(function.__name__)

    def parts(transform: Callable[[Any], Any]) -> tuple[Directional, Directional]:
        products: Any = [partial and transform(partial) for partial in partials]

        def push_one(n: int, t: Any, answer: Any, operands: Any, static: Any, options: Any) -> Any:
            return stretch(products[n](t, *operands), np.broadcast_shapes(*map(shape_of, operands))) if products[n] else None

        def pull_one(n: int, ct: Any, answer: Any, operands: Any, static: Any, options: Any) -> Any:
            return unbroadcast(products[n](ct, *operands), shape_of(operands[n])) if products[n] else None

        return push_one, pull_one

    rule = rule_of(name, *parts(lambda partial: partial))
    rule.strong = rule_of(name, *parts(strongly))

    def batch(scope: Scope, *operands: Any) -> Any:
        return Mapped(operation(*lined_up(operands, scope)), scope)

    inner = recorded(name, function, rule, len(partials), lambda n, traced: keeps is None or n in keeps, False, batch)

    def operation(*operands: Any) -> Any:
        return inner(*(raw(operand) if partial is None else operand for operand, partial in zip(operands, partials, strict=True)))

    operation.__name__ = operation.__qualname__ = name
    declare(name, "elementwise", function)
    return operation if is_ours else register(function, operation)


def linear(function: Any, transpose: Directional, name: str | None = None, batch: BatchRule | None = None) -> Any:
    """Define a primitive that is linear in its first argument; all else is static.

    Args:
        function: gives the value; also applied to tangents.
        transpose: `(ct, shape of x, *static, **options)` -> the cotangent of x.
        name: the primitive's, if not the function's.
        batch: how it takes mapped values (`funcgrad.rules.batching`); without it they are gone through one by one.

    Returns:
        The operation; its `rule` is for an operation on the hot path that writes its records itself.

    Raises:
        InputValueError: another module has a primitive of that name.

    Example:
        >>> from funcgrad import grad
        >>> roll = linear(np.roll, lambda ct, shape, shift: np.roll(ct, -shift))
        >>> print(grad(lambda x: np.sum(roll(x, 1) * np.array([1.0, 2.0, 3.0])))(np.zeros(3)))
        [2. 3. 1.]
    """
    name = name or function.__name__

    def push(record: Record, tangents: Any) -> Any:
        _, i, (_, static, options) = record
        options = options or _NO_OPTIONS
        tangent = tangents[i]
        return (operation if OPEN or type(tangent) in TRACERS else function)(tangent, *static, **options)  # static may be mapped

    def pull(cotangent: Any, record: Record, cotangents: Any) -> None:
        _, i, (shape, static, options) = record
        part = transpose(cotangent, shape, *static, **options or _NO_OPTIONS)
        held = cotangents[i]
        cotangents[i] = part if held is None else held + part

    rule = Rule(name, push, pull, lambda record, index, scope: record)
    rule_key = rule.key

    def operation(x: Any, /, *static: Any, **options: Any) -> Any:
        if OPEN:
            answer = on_values(operation, function, batch, (x, *static), options)
            if answer is not NotImplemented:
                return answer
        if type(x) is not Tracer:
            return function(x, *static, **options)
        value, scope = x._primal, x._scope
        answer = (operation if OPEN else function)(value, *static, **options)
        if type(value) is float:
            answer = as_python(answer, ())
        records = scope.records
        records.append((rule_key, x._index, (() if type(value) is float else value.shape, static, options or None)))
        return scope.make(answer, scope, len(records) - 1)

    operation.__name__ = operation.__qualname__ = name
    operation.rule = rule  # type: ignore[attr-defined]
    declare(name, "linear", function)
    return operation


def multilinear(
    function: Any, *transposes: Directional, each: Directional | None = None, name: str | None = None, batch: BatchRule | None = None
) -> Operation:
    """Define a primitive that is linear in each of its array arguments.

    Args:
        function: gives the value; also applied with one argument replaced by its tangent.
        transposes: for each array argument `(ct, *operands, *static, **options)` -> its cotangent. The operand itself may come as a
            placeholder that has only shape and dtype.
        each: instead, for any number of operands and keywords only: `(n, ct, *operands, **options)` -> the cotangent of operand n.
        name: the primitive's, if not the function's.
        batch: how it takes mapped values (`funcgrad.rules.batching`); without it they are gone through one by one, in its rules too.

    Returns:
        The operation.

    Raises:
        InputValueError: another module has a primitive of that name.

    Example:
        >>> from funcgrad import grad
        >>> dot = multilinear(np.dot, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
        >>> grad(dot, argnums=(0, 1))(np.array([1.0, 2.0]), np.array([3.0, 5.0]))
        (array([3., 5.]), array([1., 2.]))
    """
    name = name or function.__name__

    def push_one(n: int, t: Any, answer: Any, operands: Any, static: Any, options: Any) -> Any:
        return operation(*operands[:n], t, *operands[n + 1 :], *static, **options)

    def pull_one(n: int, ct: Any, answer: Any, operands: Any, static: Any, options: Any) -> Any:
        if each is not None:
            return each(n, ct, *operands, **options)
        return transposes[n](ct, *operands, *static, **options)

    def strong(part: Directional) -> Directional:
        def strong_one(n: int, t: Any, answer: Any, operands: Any, static: Any, options: Any) -> Any:
            return keep_zeros_in_sums(lambda t, *operands: part(n, t, answer, operands, static, options))(t, *operands)

        return strong_one

    sees_mapped = batch is not None
    rule = rule_of(name, push_one, pull_one, sees_mapped)
    rule.strong = rule_of(name, strong(push_one), strong(pull_one), sees_mapped)
    arrays = None if each is not None else len(transposes)
    operation = recorded(name, function, rule, arrays, lambda n, traced: len(traced) > 1 or n not in traced, False, batch)
    declare(name, "multilinear", function)
    return operation
