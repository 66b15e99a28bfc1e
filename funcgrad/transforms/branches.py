"""Branches as functions, under JAX's names: `cond`, `switch`; and what a condition that `vmap` maps makes of them and of loops.

Where a condition differs between the examples, there is no one branch to run: all are run, and each example takes the values of its own.
An exact zero, which a cotangent is where its value was not taken, stays one in the branches' derivatives, be they infinite or NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, TreeError
from funcgrad.mapped import OPEN, Mapped
from funcgrad.rules.values import is_numeric, raw, shape_of
from funcgrad.silence import quietly
from funcgrad.staged import Staged
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import at, checked_function
from funcgrad.transforms.carries import space_of
from funcgrad.transforms.compile.branches import branched
from funcgrad.transforms.compile.loops import converted

R = TypeVar("R")


def as_integer(what: str, value: Any) -> int:
    """A number of steps or the like.

    Raises:
        InputTypeError: it is no integer.
        ConcretizationError: it differs between the examples of a mapping.
    """
    plain = raw(value)
    if type(plain) is Staged and plain.dtype.kind in "iu":
        raise ConcretizationError(
            f"{what} must be one integer, got a value of {plain._scope.name}, which may be any: name the argument in static_argnums, or "
            "use while_loop or fori_loop, which may take any number of steps"
        )
    if type(plain) is Mapped:
        raise ConcretizationError(
            f"{what} must be one integer, got one for each example of {plain._scope.name}: give it as a plain number, or use while_loop or "
            "fori_loop, which may take another number of steps for each example"
        )
    try:
        return operator.index(value)
    except TypeError:
        got = f"a value of dtype {plain.dtype}" if type(plain) is Staged else type(plain).__name__
        traced = f" (traced by {value._scope.name}: leave it out of argnums)" if type(value) is Tracer else ""
        raise InputTypeError(f"{what} must be an integer, got {got}{traced}") from None


def any_integer(what: str, value: Any) -> Any:
    """An integer, which may be one of a program that is being recorded (a staged value), or one for each example (a mapped value).

    Raises:
        InputTypeError: it is no integer.
    """
    plain: Any = raw(value) if OPEN else value
    if type(plain) is Staged and plain.dtype.kind in "iu" and not plain.shape:
        return converted(plain, int, plain.dtype)
    if type(plain) is not Mapped:
        return as_integer(what, value)
    if plain.shape or plain.dtype.kind not in "iu":
        raise InputTypeError(f"{what} must be an integer, got {plain.dtype} of shape {plain.shape} for each example")
    return plain


def checked_condition(what: str, value: Any) -> Any:
    """A condition.

    Raises:
        InputTypeError: it is not one boolean or number.
    """
    is_number, shape, _ = space_of(value)
    if shape or not is_number:
        got = f"an array of shape {shape}" if is_number else type(value).__name__
        raise InputTypeError(f"{what} must give one boolean, got {got}: use np.all or np.any")
    return value


def is_true(what: str, value: Any) -> Any:
    """A condition as Python's; a mapped one as a mapped boolean.

    Raises:
        InputTypeError: it is not one boolean or number.
    """
    checked_condition(what, value)
    plain: Any = raw(value) if OPEN else value
    if type(plain) is Mapped:
        return plain if plain.dtype.kind == "b" else np.not_equal(plain, 0)
    return bool(value)


def chosen(name: str, condition: Any, one: Any, other: Any) -> Any:
    """A tree with the leaves of the one where a mapped condition is true, and with those of the other elsewhere.

    Raises:
        TreeError, InputValueError, InputTypeError: they are not alike.
    """
    (leaves, treedef), (others, other_tree) = tree.flatten(one), tree.flatten(other)
    demand = f"{name}: where the condition is mapped all functions are run, and must return"
    if treedef != other_tree:
        raise TreeError(f"{demand} one structure: {treedef.mismatch(other_tree)}")
    found = []
    for path, first, second in zip(treedef.paths(), leaves, others, strict=True):
        if is_numeric(first) and is_numeric(second):
            if shape_of(first) != shape_of(second):
                raise InputValueError(f"{demand} one shape{at(path)}, got {shape_of(first)} and {shape_of(second)}")
            found.append(first if first is second else np.where(condition, first, second))
        elif first is second or (type(first) is type(second) and first == second):
            found.append(first)
        else:
            raise InputTypeError(f"{demand} numbers or arrays{at(path)}, got {first!r:.30} and {second!r:.30}")
    return tree.unflatten(treedef, found)


# ------------------------------------------------------------------------------------------------ branches


def cond(pred: Any, true_fun: Callable[..., R], false_fun: Callable[..., R], *operands: Any) -> R:
    """`true_fun(*operands) if pred else false_fun(*operands)`: only the one is run, and differentiated.

    Where `vmap` maps pred, both are run for all examples, without warnings, and each example takes the values of its own, as in JAX.

    Args:
        pred: one boolean or number, which may be traced or mapped.
        true_fun: function of the operands.
        false_fun: function of the operands.
        *operands: anything.

    Returns:
        The value of the function that was chosen.

    Raises:
        InputTypeError: pred is not one boolean.
        TreeError, InputValueError, InputTypeError: pred is mapped, and the two do not return what is alike.

    Example:
        >>> from funcgrad import grad, vmap
        >>> f = lambda x: cond(x > 1.0, lambda x: x * x, lambda x: -x, x)
        >>> grad(f)(3.0)
        6.0
        >>> print(vmap(grad(f))(np.array([3.0, 0.5])))
        [ 6. -1.]
    """
    checked_function(true_fun, "cond")
    checked_function(false_fun, "cond")
    asked: Any = raw(checked_condition("cond: pred", pred))
    if OPEN and type(asked) is Staged:
        number = asked if asked.dtype == bool else np.not_equal(asked, 0)
        decided: R = branched("cond", number, [false_fun, true_fun], operands)
        return decided
    condition = is_true("cond: pred", pred)
    if type(condition) is bool:
        return (true_fun if condition else false_fun)(*operands)
    found: R = chosen("cond", condition, quietly(true_fun, *operands), quietly(false_fun, *operands))
    return found


def switch(index: Any, branches: Sequence[Callable[..., R]], *operands: Any) -> R:
    """`branches[index](*operands)`: only the one is run, and differentiated.

    Where `vmap` maps the index, all are run for all examples, without warnings, and each example takes the values of its own, as in JAX.

    Args:
        index: an integer, which may be mapped; one that is out of range counts as the next in range, as in JAX.
        branches: functions of the operands.
        *operands: anything.

    Returns:
        The value of the function that was chosen.

    Raises:
        InputTypeError: index is no integer, or a branch no function.
        InputValueError: there are no branches.
        TreeError, InputValueError, InputTypeError: the index is mapped, and the branches do not return what is alike.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: switch(1, [np.sin, np.exp, np.cos], x))(0.0)
        1.0
    """
    branches = list(branches)
    if not branches:
        raise InputValueError("switch needs at least one branch")
    for branch in branches:
        checked_function(branch, "switch")
    n: Any = any_integer("switch: index", index)
    if type(n) is int:
        return branches[min(max(n, 0), len(branches) - 1)](*operands)
    if type(n) is Staged:
        decided: R = branched("switch", n, branches, operands)
        return decided
    found: R = quietly(branches[0], *operands)
    for k, branch in enumerate(branches[1:], 1):
        found = chosen("switch", n >= k, quietly(branch, *operands), found)
    return found
