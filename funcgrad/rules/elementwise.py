"""The kinds of the hot path: elementwise operations of one or two arguments, and bilinear ones.

Owns the closures that run once for each number-crunching operation of a user's function, and those that replay it. They are written out by
arity and by what is kept, so that none tests at run time what is known when the primitive is defined: the variants of a binary operation
come from one template of source text.

A partial is a function `(t, *residuals) -> t times the derivative`, used for a tangent and for a cotangent alike. The names of its
parameters say what the record must keep: `x` and `y` are the operands, `ans` is the result. None stands for the identity.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from funcgrad.errors import InputTypeError
from funcgrad.mapped import Mapped
from funcgrad.primitive import EXPRESSIONS, SCALARS, declare, register
from funcgrad.rule import LazyRule, Rule
from funcgrad.rules.templates import BOTH, ONE, OPERATION, PLAIN, UNARY, builder
from funcgrad.rules.values import keep_zeros, keep_zeros_in_sums, real_part
from funcgrad.staged import Staged
from funcgrad.tape import Record, Scope
from funcgrad.tracer import Tracer

Partial = Any  # Callable[..., Any], or its source text; None for the identity, False for an operand that is constant


def parameters(partial: Partial) -> tuple[str, ...]:
    """The residuals that a partial asks for, in its order."""
    if partial is None:
        return ()
    if isinstance(partial, str):
        return tuple(name for name in ("x", "y", "ans") if re.search(rf"\b{name}\b", partial))
    names: tuple[str, ...] = partial.__code__.co_varnames[1 : partial.__code__.co_argcount]
    if not {"x", "y", "ans"}.issuperset(names):
        raise InputTypeError(f"a partial takes t and then some of x, y and ans, by these names; got the parameters {('t', *names)}")
    return names


def strongly(partial: Partial) -> Partial:
    """The partial with exact zeros kept zero."""

    def strong(t: Any, *residuals: Any) -> Any:
        return keep_zeros(t, partial(t, *residuals))

    return strong


# ------------------------------------------------------------------------------------------------ one argument


def unary(
    ufunc: Any,
    partial: Callable[..., Any],
    scalar: Callable[[float], float] | str | None = None,
    name: str | None = None,
    is_real: bool = False,
    strengthen: Callable[[Any], Any] = strongly,
) -> Callable[[Any], Any]:
    """Define an elementwise primitive of one argument.

    Args:
        ufunc: NumPy's function, which gives the value.
        partial: `(t, x)`, `(t, ans)` or `(t)` -> t times the derivative.
        scalar: the function of `math` that gives the same on a Python float, ten times faster, or the source text of an expression in x;
            where it raises, NumPy answers.
        name: the primitive's, where `ufunc` is a function of our own and not one of NumPy's to take the place of.
        is_real: the result is real where the operand is complex: its tangent is the real part of t times w, its cotangent the real part
            of ct times w, where w is the derivative in the real part minus i times that in the imaginary part.
        strengthen: makes of the partial the one that keeps exact zeros zero.

    Returns:
        The operation on tracers, arrays and Python floats.

    Raises:
        InputTypeError: the partial has parameters after the first that are not called x, y or ans.
        InputValueError: another module has a primitive of that name.

    Example:
        >>> import math
        >>> from funcgrad import grad
        >>> tanh = unary(np.tanh, lambda t, ans: t * (1.0 - ans * ans), math.tanh)
        >>> grad(tanh)(0.0), tanh(0.0)
        (1.0, 0.0)
    """
    is_ours = name is not None
    name = name or str(ufunc.__name__)
    keeps = parameters(partial)
    if isinstance(scalar, str):
        EXPRESSIONS[ufunc] = scalar
    on_numbers: Callable[[float], float] | None = eval(f"lambda x: {scalar}") if isinstance(scalar, str) else scalar
    on_float = on_numbers or (lambda x: float(ufunc(x)))
    rule = _unary_rule(name, partial, keeps, is_real)
    rule.strong = _unary_rule(name, strengthen(partial), keeps, is_real) if keeps else None
    residual = "ans" if keeps == ("ans",) else "value" if keeps else "None"

    def evaluate(x: Any) -> Any:
        if type(x) is ndarray:
            return ufunc(x)
        if type(x) is Mapped:
            len(x._scope.records)  # raises where the mapping has ended
            return Mapped(operation(x._primal), x._scope)
        if type(x) is Staged:
            return x.recorded(ufunc, (x,), {})
        return operation(x) if type(x) is Tracer else ufunc(x)

    function = ufunc if isinstance(ufunc, np.ufunc) else evaluate
    operation: Callable[[Any], Any] = builder(UNARY.format(residual=residual))(function, on_float, rule.key)
    operation.__name__ = operation.__qualname__ = name
    if on_numbers is not None:
        SCALARS[ufunc] = on_numbers
    declare(name, "elementwise", ufunc)
    return operation if is_ours else register(ufunc, operation)


def _unary_rule(name: str, partial: Any, keeps: tuple[str, ...], is_real: bool) -> Rule:
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
        key, i, residual = record
        return (key, i, Tracer(residual, scope, index if keeps == ("ans",) else i)) if keeps else record

    if not is_real:
        rule = Rule(name, push, pull, lift)
        if keeps:
            rule.factor = lambda record: partial(np.ones_like(record[2]), record[2]) if type(record[2]) is np.ndarray else None
        return rule
    return Rule(
        name,
        lambda record, tangents: real_part(push(record, tangents)),
        lambda cotangent, record, cotangents: pull(real_part(cotangent), record, cotangents),
        lift,
    )


# ------------------------------------------------------------------------------------------------ two arguments


def _packed(names: tuple[str, ...]) -> str:
    """The residual of a record as source text: nothing, one value, or a tuple."""
    return "None" if not names else names[0] if len(names) == 1 else f"({', '.join(names)})"


def _as_function(partial: Partial) -> Partial:
    """A partial that is source text as the function that it is the body of."""
    if not isinstance(partial, str):
        return partial
    return eval(f"lambda {', '.join(('t', *parameters(partial)))}: {partial}", {"ndarray": ndarray})


def _product(partial: Partial, name: str, t: str, inline: bool) -> str:
    """A partial applied to t, as source text: written out, or as the call of a function of that name."""
    if partial is None:
        return t
    if inline and isinstance(partial, str):
        return re.sub(r"\bt\b", t, partial)
    return f"{name}({', '.join((t, *parameters(partial)))})"


def _variant(
    name: str, dx: Partial, dy: Partial, pushes: tuple[Partial, Partial], keeps: tuple[str, ...], stretched: bool, strengthen: Any
) -> Rule:
    """One of the rules of a primitive of two arguments: both traced, or only x (dy is False), or only y (dx is False)."""
    push_dx, push_dy = pushes
    partials = (dx, dy, push_dx, push_dy)
    both = dx is not False and dy is not False
    position = {"x": dx is not False and "i", "y": dy is not False and ("j" if both else "i"), "ans": "index"}
    lifted = _packed(tuple(f"Tracer({key}, scope, {position[key]})" if position[key] else key for key in keeps))

    def source(inline: bool) -> str:
        text = {"residual": _packed(keeps), "lifted": lifted} if keeps else {"residual": "_", "lifted": "_"}
        if both:
            x, y = _product(push_dx, "push_dx", "t", inline), _product(push_dy, "push_dy", "s", inline)
            text |= {"push_x": x, "push_y": y, "push_both": f"{x} + {y}"}
            text |= {"pull_x": _product(dx, "dx", "t", inline), "pull_y": _product(dy, "dy", "t", inline)}
            own = {"back_x": "shape_x", "back_y": "shape_y"}
        elif dx is False:
            text |= {"push": _product(push_dy, "push_dy", "t", inline), "pull": _product(dy, "dy", "t", inline)}
            own = {"back": "own"}
        else:
            text |= {"push": _product(push_dx, "push_dx", "t", inline), "pull": _product(dx, "dx", "t", inline)}
            own = {"back": "own"}
        text |= dict.fromkeys(own, "")
        if stretched:
            text |= {key: f"stretch({value}, shape)" for key, value in text.items() if key.startswith("push")}
            text |= {key: f"if {shape} != shape: part = unbroadcast(part, {shape})" for key, shape in own.items()}
            text |= {key: f"({text[key]}, {', '.join(own.values())}, shape)" for key in ("residual", "lifted")}
        return (BOTH if both else ONE).format(**text)

    def make() -> Rule:
        functions = [_as_function(partial) for partial in partials]
        made = Rule(name, *builder(source(True))(*functions))
        if keeps:
            made.strong = Rule(name, *builder(source(False))(*(function and strengthen(function) for function in functions)))
        return made

    rule = LazyRule(name, make)
    constant = "y" if dy is False else "x" if dx is False else ""
    if constant in keeps and not stretched:
        place = keeps.index(constant)
        rule.constant = constant, lambda record: record[-1][place] if len(keeps) > 1 else record[-1]
    return rule


def binary(
    ufunc: Any,
    partial_x: Partial,
    partial_y: Partial,
    call: str | None = None,
    scalar: Callable[[float, float], float] | None = None,
    strengthen: Any = strongly,
) -> Any:
    """Define an elementwise primitive of two arguments.

    Args:
        ufunc: NumPy's function; it gives the value, unless `call` does.
        partial_x: `(t, ...)` -> t times the derivative in x, with parameters out of `x`, `y` and `ans`; None for 1; or the source text of
            such an expression, which saves the hottest primitives a call.
        partial_y: the same in y.
        call: a Python expression in x and y with the same value as the ufunc on arrays, and the better one on Python floats ("x + y");
            where it raises an ArithmeticError on Python numbers, NumPy answers.
        scalar: without `call`, what to use where both operands are Python numbers.
        strengthen: makes of a partial the one that keeps exact zeros zero.

    Returns:
        The operation on tracers, arrays and Python numbers. Its `variant(function, arguments)` is the same primitive where another function
        gives the value (x ** y for np.power(x, y)), or with the arguments "v, u" reflected, for Python's __radd__ and its like.

    Raises:
        InputTypeError: a partial has parameters after the first that are not called x, y or ans.
        InputValueError: another module has a primitive of that name.

    Example:
        >>> from funcgrad import grad
        >>> from funcgrad.rules.values import keep_zero_factors
        >>> multiply = binary(np.multiply, lambda t, y: t * y, lambda t, x: t * x, call="x * y", strengthen=keep_zero_factors)
        >>> grad(multiply, argnums=(0, 1))(2.0, 5.0)
        (5.0, 2.0)
    """
    are_numbers = "type(x) is float and (type(y) is float or type(y) is int) or type(y) is float and type(x) is int"
    default = f"scalar(x, y) if {are_numbers} else function(x, y)"
    name = str(ufunc.__name__)
    operation = _two_operands(
        name, ufunc, (partial_x, partial_y), (partial_x, partial_y), call or default, scalar, strengthen, PLAIN, (False, True)
    )
    on_numbers = eval(f"lambda x, y: {call}") if call else scalar
    if on_numbers is not None:
        SCALARS[ufunc] = on_numbers
    if call:
        EXPRESSIONS[ufunc] = call
    declare(name, "elementwise", ufunc)
    register(ufunc, operation)
    return operation


def bilinear(
    function: Any,
    transpose_x: Partial,
    transpose_y: Partial,
    name: str,
    call: str = "function(x, y)",
    otherwise: Any = None,
) -> Any:
    """Define a primitive of the hot path that is linear in each of two arrays, whose shapes the operation need not ask for.

    Args:
        function: gives the value, and the tangent with one operand replaced by its tangent.
        transpose_x: `(ct, y)` -> the cotangent of x; or the source text of such an expression in t, y and `ndarray`.
        transpose_y: `(ct, x)` -> the cotangent of y.
        name: the primitive's.
        call: a Python expression in arrays x and y with the same value as the function.
        otherwise: the operation for operands that are no two matrices, and whose name this one goes by.

    Returns:
        The operation on tracers and arrays.

    Raises:
        InputTypeError: a transpose has parameters after the first that are not called x, y or ans.
        InputValueError: another module has a primitive of that name.

    Example:
        >>> from funcgrad import vjp
        >>> matmul = bilinear(np.matmul, lambda ct, y: ct @ y.T, lambda ct, x: x.T @ ct, name="matmul_2d")
        >>> value, pullback = vjp(matmul, np.array([[1.0, 2.0]]), np.array([[3.0], [5.0]]))
        >>> value, pullback(np.ones((1, 1)))[0]
        (array([[13.]]), array([[3., 5.]]))
    """
    declare(name, "multilinear", function)
    pushes = (lambda t, y: function(t, y)), (lambda t, x: function(x, t))
    text = dict.fromkeys(PLAIN, "True")
    if otherwise is not None:
        for case, x, y in (("for_arrays", "x", "y"), ("for_left", "x", "v"), ("for_right", "u", "y")):
            text[case] = f"if not (type({x}) is type({y}) is ndarray and {x}.ndim == {y}.ndim == 2): return otherwise(u, v)"
    return _two_operands(name, function, (transpose_x, transpose_y), pushes, call, None, keep_zeros_in_sums, text, (False,), otherwise)


def _two_operands(
    name: str,
    function: Any,
    pulls: tuple[Partial, Partial],
    pushes: tuple[Partial, Partial],
    call: str,
    scalar: Any,
    strengthen: Any,
    conditions: dict[str, str],
    stretches: tuple[bool, ...],
    otherwise: Any = None,
) -> Any:
    partial_x, partial_y = pulls
    in_order = ("x", "y", "ans")
    kept_x, kept_y = parameters(partial_x), parameters(partial_y)
    both = tuple(key for key in in_order if key in kept_x + kept_y)
    left = tuple(key for key in in_order if key in kept_x)
    right = tuple(key for key in in_order if key in kept_y)

    def on_error(x: Any, y: Any) -> Any:
        if isinstance(x, (np.ndarray, np.generic)) or isinstance(y, (np.ndarray, np.generic)):
            raise  # noqa: PLE0704 - NumPy was told to raise (np.errstate): the user's wish
        return float(function(x, y))

    on_numbers = scalar or (lambda x, y: float(function(x, y)))
    text = {"call": call, "both": _packed(both), "left": _packed(left), "right": _packed(right)}
    text |= dict.fromkeys(("for_arrays", "for_left", "for_right"), "") | conditions
    # The value is computed from the operand itself, the record keeps what `keep` makes of it: a copy may have another layout.
    text["keep_y"] = "y = y if is_number else keep(y, scope)" if "y" in left else "pass"
    text["keep_x"] = "x = x if is_number else keep(x, scope)" if "x" in right else "pass"
    rules = [
        _variant(name, dx, dy, pushes, keeps, stretched, strengthen)
        for stretched in stretches
        for dx, dy, keeps in ((partial_x, partial_y, both), (partial_x, False, left), (False, partial_y, right))
    ]
    keys = [rule.key for rule in rules] + [None] * (6 - len(rules))

    def build(function: Any, arguments: str = "u, v") -> Any:
        operation = builder(OPERATION.format(arguments=arguments, **text))(function, otherwise, on_numbers, on_error, *keys)
        operation.__name__ = operation.__qualname__ = getattr(otherwise, "__name__", name)
        operation.variant = build
        return operation

    return build(function)
