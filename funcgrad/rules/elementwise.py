"""The kind of the hot path: elementwise operations of one or two arguments.

Owns the closures that run once for each number-crunching operation of a user's function, and those that replay it. They are written out by
arity and by what is kept, so that none tests at run time what is known when the primitive is defined: the variants of a binary operation
come from one template of source text.

A partial is a function `(t, *residuals) -> t times the derivative`, used for a tangent and for a cotangent alike. The names of its
parameters say what the record must keep: `x` and `y` are the operands, `ans` is the result. None stands for the identity.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.primitive import declare, register
from funcgrad.replay import Rule
from funcgrad.rules.values import NUMBERS, constant, keep_zeros, shape_of, stretch, unbroadcast
from funcgrad.tape import Record, Scope, innermost
from funcgrad.tracer import Tracer

Partial = Any  # Callable[..., Any], None for the identity, False for an operand that is constant


def parameters(partial: Partial) -> tuple[str, ...]:
    """The residuals that a partial asks for, in its order."""
    return () if partial is None else partial.__code__.co_varnames[1 : partial.__code__.co_argcount]


def strongly(partial: Partial) -> Partial:
    """The partial with exact zeros kept zero."""
    if partial is None:
        return None

    def strong(t: Any, *residuals: Any) -> Any:
        return keep_zeros(t, partial(t, *residuals))

    return strong


# ------------------------------------------------------------------------------------------------ one argument


def unary(
    ufunc: Any, partial: Callable[..., Any], scalar: Callable[[float], float] | None = None, name: str | None = None
) -> Callable[[Any], Any]:
    """Define an elementwise primitive of one argument.

    Args:
        ufunc: NumPy's function, which gives the value.
        partial: `(t, x)`, `(t, ans)` or `(t)` -> t times the derivative.
        scalar: the function of `math` that gives the same on a Python float, ten times faster; where it raises, NumPy answers.
        name: the primitive's, if not the ufunc's.

    Returns:
        The operation on tracers, arrays and Python floats.
    """
    name = name or str(ufunc.__name__)
    keeps = parameters(partial)
    keeps_answer = keeps == ("ans",)
    on_float: Callable[[float], float] = scalar or (lambda x: float(ufunc(x)))
    rule = _unary_rule(name, partial, keeps)
    rule.strong = _unary_rule(name, strongly(partial), keeps) if keeps else None

    def operation(x: Any, /) -> Any:
        if type(x) is Tracer:
            value, scope = x._primal, x._scope
            if type(value) is float:
                try:
                    answer = on_float(value)
                except (ValueError, OverflowError):
                    answer = float(ufunc(value))
            else:
                answer = ufunc(value)
            records = scope.records
            index = len(records)
            records.append((rule, x._index, answer if keeps_answer else value))
            return scope.make(answer, scope, index)
        if type(x) is float:
            try:
                return on_float(x)
            except (ValueError, OverflowError):
                return float(ufunc(x))
        return ufunc(x)

    operation.__name__ = operation.__qualname__ = name
    declare(name, "elementwise")
    register(ufunc, operation)
    return operation


def _unary_rule(name: str, partial: Any, keeps: tuple[str, ...]) -> Rule:
    if keeps:

        def push(record: Record, tangents: Any) -> Any:
            return partial(tangents[record[1]], record[2])

        def pull(cotangent: Any, record: Record, cotangents: Any) -> None:
            _, i, residual = record
            part = partial(cotangent, residual)
            held = cotangents[i]
            cotangents[i] = part if held is None else held + part

    else:

        def push(record: Record, tangents: Any) -> Any:
            return partial(tangents[record[1]])

        def pull(cotangent: Any, record: Record, cotangents: Any) -> None:
            i = record[1]
            part = partial(cotangent)
            held = cotangents[i]
            cotangents[i] = part if held is None else held + part

    def lift(record: Record, index: int, scope: Scope) -> Record:
        rule, i, residual = record
        return (rule, i, Tracer(residual, scope, index if keeps == ("ans",) else i)) if keeps else record

    return Rule(name, push, pull, lift)


# ------------------------------------------------------------------------------------------------ two arguments

# u, v: the operands as they come; x, y: their plain values. `plain` tells whether the result has the shape of each traced operand; where it
# has not, a rule that sums back is recorded, so that the usual one has nothing to ask.
_OPERATION = """
def build(function, scalar, on_error, both, left, right, both_stretched, left_stretched, right_stretched):
    def operation({arguments}, /):
        if type(u) is Tracer:
            x, scope = u._primal, u._scope
            if type(v) is Tracer:
                y = v._primal
                if v._scope is not scope:
                    scope = innermost(scope, v._scope)
                try:
                    ans = {call}
                except ArithmeticError:
                    ans = on_error(x, y)
                records = scope.records
                index = len(records)
                if type(ans) is float or type(ans) is float64 or (type(x) is ndarray and type(y) is ndarray and x.shape == y.shape):
                    records.append((both, u._index, v._index, {both}))
                else:
                    records.append((both_stretched, u._index, v._index, ({both}, shape_of(x), shape_of(y), ans.shape)))
                return scope.make(ans, scope, index)
            y = v if type(v) in NUMBERS else constant(v, scope)
            try:
                ans = {call}
            except ArithmeticError:
                ans = on_error(x, y)
            records = scope.records
            index = len(records)
            if type(ans) is float or type(ans) is float64 or (type(x) is ndarray and x.shape == ans.shape):
                records.append((left, u._index, {left}))
            else:
                records.append((left_stretched, u._index, ({left}, shape_of(x), ans.shape)))
            return scope.make(ans, scope, index)
        if type(v) is Tracer:
            y, scope = v._primal, v._scope
            x = u if type(u) in NUMBERS else constant(u, scope)
            try:
                ans = {call}
            except ArithmeticError:
                ans = on_error(x, y)
            records = scope.records
            index = len(records)
            if type(ans) is float or type(ans) is float64 or (type(y) is ndarray and y.shape == ans.shape):
                records.append((right, v._index, {right}))
            else:
                records.append((right_stretched, v._index, ({right}, shape_of(y), ans.shape)))
            return scope.make(ans, scope, index)
        x, y = u, v
        try:
            return {call}
        except ArithmeticError:
            return on_error(x, y)
    return operation
"""

_BOTH = """
def build(dx, dy):
    def push(record, tangents):
        _, i, j, {residual} = record
        t, s = tangents.get(i), tangents.get(j)
        if s is None:
            return {push_x}
        if t is None:
            return {push_y}
        return {push_both}
    def pull(t, record, cotangents):
        _, i, j, {residual} = record
        part = {pull_x}
        held = cotangents[i]
        cotangents[i] = part if held is None else held + part
        part = {pull_y}
        held = cotangents[j]
        cotangents[j] = part if held is None else held + part
    def lift(record, index, scope):
        rule, i, j, {residual} = record
        return (rule, i, j, {lifted})
    return push, pull, lift
"""

_ONE = """
def build(dx, dy):
    def push(record, tangents):
        _, i, {residual} = record
        t = tangents[i]
        return {push}
    def pull(t, record, cotangents):
        _, i, {residual} = record
        part = {pull}
        held = cotangents[i]
        cotangents[i] = part if held is None else held + part
    def lift(record, index, scope):
        rule, i, {residual} = record
        return (rule, i, {lifted})
    return push, pull, lift
"""


@functools.cache
def _builder(source: str) -> Callable[..., Any]:
    """The function `build` of a piece of source text. Many primitives share one text: it is compiled once."""
    namespace: dict[str, Any] = {
        "NUMBERS": NUMBERS,
        "Tracer": Tracer,
        "constant": constant,
        "float64": np.float64,
        "innermost": innermost,
        "ndarray": np.ndarray,
        "shape_of": shape_of,
        "stretch": stretch,
        "unbroadcast": unbroadcast,
    }
    exec(compile(textwrap.dedent(source), "<funcgrad.rules.elementwise>", "exec"), namespace)
    build: Callable[..., Any] = namespace["build"]
    return build


def _packed(names: tuple[str, ...]) -> str:
    """The residual of a record as source text: nothing, one value, or a tuple."""
    return "None" if not names else names[0] if len(names) == 1 else f"({', '.join(names)})"


def _product(partial: Partial, name: str, t: str) -> str:
    return t if partial is None else f"{name}({', '.join((t, *parameters(partial)))})"


def _variant(name: str, dx: Partial, dy: Partial, keeps: tuple[str, ...], stretched: bool) -> Rule:
    """One of the six rules of a binary primitive: both operands traced, or only x (dy is False) or y (dx is False); with summing back or not."""
    both = dx is not False and dy is not False
    held = _packed(keeps)
    position = {"x": dx is not False and "i", "y": dy is not False and ("j" if both else "i"), "ans": "index"}
    lifted = _packed(tuple(f"Tracer({key}, scope, {position[key]})" if position[key] else key for key in keeps))
    text = {"residual": held, "lifted": lifted} if keeps else {"residual": "_", "lifted": "_"}
    if both:
        x, y, pull_y = _product(dx, "dx", "t"), _product(dy, "dy", "s"), _product(dy, "dy", "t")
        text |= {"push_x": x, "push_y": y, "push_both": f"{x} + {y}", "pull_x": x, "pull_y": pull_y}
        if stretched:
            shapes = "shape_x, shape_y, shape"
            text |= {key: f"stretch({text[key]}, shape)" for key in ("push_x", "push_y", "push_both")}
            text |= {"pull_x": f"unbroadcast({x}, shape_x)", "pull_y": f"unbroadcast({pull_y}, shape_y)"}
    else:
        product = _product(dy, "dy", "t") if dx is False else _product(dx, "dx", "t")
        text |= {"push": product, "pull": product}
        if stretched:
            shapes = "own, shape"
            text |= {"push": f"stretch({product}, shape)", "pull": f"unbroadcast({product}, own)"}
    if stretched:
        text |= {key: f"({text[key]}, {shapes})" for key in ("residual", "lifted")}
    build = _builder((_BOTH if both else _ONE).format(**text))
    rule = Rule(name, *build(dx, dy))
    if keeps:
        rule.strong = Rule(name, *build(dx and strongly(dx), dy and strongly(dy)))
    constant = "y" if dy is False else "x" if dx is False else ""
    if constant in keeps and not stretched:
        place = keeps.index(constant)
        rule.constant = constant, lambda record: record[-1][place] if len(keeps) > 1 else record[-1]
    return rule


def binary(
    ufunc: Any, partial_x: Partial, partial_y: Partial, call: str | None = None, scalar: Callable[[float, float], float] | None = None
) -> Any:
    """Define an elementwise primitive of two arguments.

    Args:
        ufunc: NumPy's function; it gives the value, unless `call` does.
        partial_x, partial_y: `(t, ...)` -> t times the derivative in x and in y, with parameters out of `x`, `y` and `ans`; None for 1.
        call: a Python expression in x and y with the same value as the ufunc on arrays, and the better one on Python floats ("x + y");
            where it raises an ArithmeticError on Python numbers, NumPy answers.
        scalar: without `call`, what to use where both operands are Python numbers.

    Returns:
        The operation on tracers, arrays and Python numbers.
    """
    name = ufunc.__name__
    in_order = ("x", "y", "ans")
    kept_x, kept_y = parameters(partial_x), parameters(partial_y)
    both = tuple(key for key in in_order if key in kept_x + kept_y)
    left = tuple(key for key in in_order if key in kept_x)
    right = tuple(key for key in in_order if key in kept_y)

    def on_error(x: Any, y: Any) -> Any:
        if isinstance(x, (np.ndarray, np.generic)) or isinstance(y, (np.ndarray, np.generic)):
            raise  # noqa: PLE0704 - NumPy was told to raise (np.errstate): the user's wish
        return float(ufunc(x, y))

    on_numbers = scalar or (lambda x, y: float(ufunc(x, y)))
    default = "scalar(x, y) if type(x) is float and (type(y) is float or type(y) is int) or type(y) is float and type(x) is int else function(x, y)"
    text = {"call": call or default, "both": _packed(both), "left": _packed(left), "right": _packed(right)}
    rules = [
        _variant(name, dx, dy, keeps, stretched)
        for stretched in (False, True)
        for dx, dy, keeps in ((partial_x, partial_y, both), (partial_x, False, left), (False, partial_y, right))
    ]


    def build(function: Any) -> Any:
        operation, operation_reflected = (
            _builder(_OPERATION.format(arguments=arguments, **text))(function, on_numbers, on_error, *rules) for arguments in ("u, v", "v, u")
        )
        operation.__name__ = operation.__qualname__ = name
        operation.reflected = operation_reflected  # y, x -> the same: for Python's __radd__ and its like
        return operation

    operation = build(ufunc)
    operation.with_function = build  # the same primitive where another function gives the value: x ** y for np.power(x, y)
    declare(name, "elementwise")
    register(ufunc, operation)
    return operation
