"""Loops as functions, under JAX's names: `scan`, `fori_loop`, `while_loop`.

Owns what they take and return. Code is run as it stands, so that a Python loop has the same value and the same derivatives; what a loop as
one record saves is memory (`funcgrad.transforms.recurrence`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError
from funcgrad.mapped import OPEN, Mapped, inmost, is_any
from funcgrad.rules.batching import unhidden
from funcgrad.rules.scopes import in_scope_of
from funcgrad.rules.values import raw
from funcgrad.silence import quietly
from funcgrad.staged import Staged
from funcgrad.transforms.arguments import checked_function, named
from funcgrad.transforms.branches import any_integer, as_integer, checked_condition, chosen, is_true
from funcgrad.transforms.calls import own, readonly
from funcgrad.transforms.carries import KEPT_BYTES, NO_TREE, Code, WidenedError, space_of
from funcgrad.transforms.policies import Policy
from funcgrad.transforms.recurrence import scanned
from funcgrad.transforms.segments import plain
from funcgrad.transforms.steps import Gathered, Leaves

R = TypeVar("R")


def _run(loop: Code, init: Leaves, xs: Leaves, order: Any) -> tuple[Any, Leaves]:
    """The last carry and the stacked ys. Python numbers in the first carry get the dtype that they have after the first step."""
    while True:
        try:
            found = scanned(loop, list(loop.captured), [readonly(one) for one in init], xs, order)
        except WidenedError as wider:
            init = loop.widened(init, wider)
        else:
            return loop.carried(found.carry), found.ys


def _steps_in(name: str, xs: Any, length: Any) -> int:
    """How many steps a scan has.

    Raises:
        InputTypeError, InputValueError: it is not known, or not one number.
    """
    if length is not None:
        length = as_integer(f"{name}: length", length)
        if length < 0:
            raise InputValueError(f"{name}: length must not be negative, got {length}")
    sizes = {}
    for path, one in tree.flatten_with_path(xs)[0]:
        shape = getattr(one, "shape", ())
        if not shape:
            raise InputTypeError(
                f"{name}: xs{path} is {'an array without axes' if hasattr(one, 'shape') else f'a {type(one).__name__}'}, but xs must be "
                "arrays whose first axis is that of the steps: use np.array or np.stack for a list"
            )
        sizes[path] = shape[0]
        if length is not None and shape[0] != length:
            raise InputValueError(f"{name}: length is {length}, but the first axis of xs{path} has length {shape[0]}")
    if not sizes and length is None:
        raise InputValueError(f"{name}: without xs the number of steps must be given as length")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{size} in xs{path}" for path, size in itertools.islice(sizes.items(), 8))
        raise InputValueError(f"{name}: the first axes of all xs must be of one length, got {listed}")
    return int(next(iter(sizes.values()), length))


def _budget_of(name: str, policy: Policy | None) -> float:
    """How many bytes of the inside of steps may be kept.

    Raises:
        InputTypeError: the policy is for something else.
    """
    if policy is None:
        return KEPT_BYTES
    if not isinstance(policy, Policy) or policy.names:
        raise InputTypeError(
            f"{name}: policy must be nothing_saved, everything_saved or None, got {policy!r}: for names use checkpoint in f"
        )
    return math.inf if policy.names is None else 0.0


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
    policy: Policy | None = None,
) -> tuple[Any, Any]:
    """A loop that hands a carry from step to step, takes an x for each and gives a y: for long loops in little memory.

    It does what this does, and its derivatives, of any order, are those of this:

        ys = []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, np.stack(ys)

    Reverse mode keeps one carry a step, and the inside of steps up to 16 MB in all; that of the others it computes again, which costs f's
    time once more. Forward mode keeps nothing. Inside of `vmap` the loop is run as it stands.

    Args:
        f: `(carry, x)` -> `(carry, y)`, trees of numbers and arrays. The carry must keep its structure, shapes and dtypes. f may close over
            traced values, and over arrays, which nobody can write into until derivatives are done. It must do the same each time that it
            is run, and write into nothing that it gets.
        init: the first carry. A Python float in it gets the dtype that it has after the first step.
        xs: tree of arrays, shape (n, ...), one row of each for a step; None if there are none.
        length: n, which is needed where there are no xs.
        reverse: take the rows from the last to the first; ys are in the order of xs even so.
        unroll: how many steps are at least computed again together, 0 or True for all; more are where their inside is small.
        policy: `everything_saved` keeps the inside of all steps, `nothing_saved` that of none.

    Returns:
        `(carry, ys)`: the last carry, and the tree of all y, with an axis of size n in front of each leaf. If n is 0, f is run once on
        zeros, to learn the shapes.

    Raises:
        InputTypeError, InputValueError, TreeError: xs of different lengths or without a first axis, no length; f does not return a pair;
            the carry or y does not stay what it is (the message says where, and after which step).
        ConcretizationError: f reaches a traced value by a global variable; pass it in the carry.

    Example:
        >>> from funcgrad import grad
        >>> def savings(rate, payments):
        ...     return scan(lambda balance, payment: (balance * (1.0 + rate) + payment, balance), 0.0, payments)
        >>> print(*savings(0.5, np.ones(3)))
        4.75 [0.  1.  2.5]
        >>> grad(lambda rate: savings(rate, np.ones(3))[0])(0.5)
        4.0

    References:
        Griewank & Walther 2008, Evaluating Derivatives, chapter 12.
    """
    checked_function(f, "scan")
    name = f"scan of {named(f)}"
    count = _steps_in(name, xs, length)
    rows, x_tree = tree.flatten(xs)
    rows = [readonly(one) for one in rows]
    leaves, carry_tree = tree.flatten(init)
    steps = count if unroll is True else as_integer(f"{name}: unroll", unroll) or count
    if steps < 0:
        raise InputValueError(f"{name}: unroll must not be negative, got {unroll}")
    if not isinstance(reverse, (bool, np.bool_)):
        raise InputTypeError(f"{name}: reverse must be True or False, got {reverse!r:.60}")
    loop = Code(name, [f], f, f, leaves, carry_tree, x_tree, max(1, steps), _budget_of(name, policy))
    if not count:
        return tree.map(own, init), _empty(loop, leaves, rows)
    carry, ys = _run(loop, leaves, rows, range(count - 1, -1, -1) if reverse else range(count))
    return carry, tree.unflatten(_known(loop.y), ys)


def _known(treedef: tree.TreeDef | None) -> tree.TreeDef:
    return NO_TREE if treedef is None else treedef


def _empty(loop: Code, init: Leaves, xs: Leaves) -> Any:
    """The ys of no steps, of the shapes and dtypes that a step on zeros has."""
    gathered = Gathered(1, False)
    consts, carry, zeros = plain(loop.captured), plain(init), [np.zeros((1, *one.shape[1:]), one.dtype) for one in xs]
    with in_scope_of([*consts, *carry]):
        try:
            quietly(loop.run, consts, carry, zeros, range(1), gathered, True)
        except WidenedError as wider:
            return _empty(loop, loop.widened(init, wider), xs)
    return tree.unflatten(_known(loop.y), [one[:0].copy() for one in gathered.ys()])


def fori_loop(lower: int, upper: int, body_fun: Callable[[int, R], R], init_val: R) -> R:
    """`val = body_fun(i, val)` for i from lower to upper - 1, as a loop in little memory: see `scan`.

    Args:
        lower: the first i, an integer.
        upper: the end, an integer; if it is not above lower, nothing is run. Where `vmap` maps lower or upper, steps are made, without
            warnings, until all examples are done; those that are done before keep their val. In `jit` both may be arguments; the loop
            is then as a `while_loop`.
        body_fun: `(i, val)` -> val, a tree of numbers and arrays that keeps its structure, shapes and dtypes; i is a Python int, or what
            lower is. It may close over traced values.
        init_val: the first val.

    Returns:
        The last val.

    Raises:
        InputTypeError, InputValueError, TreeError: the bounds are no integers; val does not stay what it is.
        ConcretizationError: body_fun reaches a traced value by a global variable.

    Example:
        >>> from funcgrad import grad
        >>> power = lambda x: fori_loop(0, 5, lambda i, y: y * x, 1.0)
        >>> power(2.0), grad(power)(2.0), grad(grad(power))(2.0)
        (32.0, 80.0, 160.0)
    """
    checked_function(body_fun, "fori_loop")
    name = f"fori_loop of {named(body_fun)}"
    first, end = any_integer(f"{name}: lower", lower), any_integer(f"{name}: upper", upper)
    lasts = end - first

    def after(n: Any, carry: Any) -> Any:
        """The carry after step n, which is made for those examples alone that have so many."""
        return _continued(name, lasts > n, body_fun, carry, first + n) if type(lasts) is Mapped else body_fun(first + n, carry)

    if type(inmost(lasts)) is Staged:
        count = lasts
        while type(count) is Mapped:
            count = np.max(unhidden(count, count._scope), initial=0)

        last: R = _until(name, lambda val: val[0] < count, lambda val: (val[0] + 1, after(*val)), (0, init_val))[1]
        return last
    if type(lasts) is Mapped:  # without examples one step, to learn the shapes
        numbers = range(int(np.max(inmost(lasts), initial=not inmost(lasts).size)))
        once = lambda carry, n: (after(n, carry), None)
    else:
        numbers = range(first, end)
        once = lambda carry, i: (body_fun(i, carry), None)
    leaves, carry_tree = tree.flatten(init_val)
    if not numbers:
        copied: R = tree.map(own, init_val)
        return copied
    loop = Code(name, [body_fun], once, once, leaves, carry_tree, tree.LEAF)
    found: R = _run(loop, leaves, [numbers], range(len(numbers)))[0]
    return found


def _continued(name: str, condition: Any, body_fun: Callable[..., Any], carry: Any, *before: Any) -> Any:
    """The carry after a step that is made for those examples alone for which a mapped condition holds."""
    after = quietly(body_fun, *before, carry)
    if [space_of(one) for one in tree.leaves(after)] != [space_of(one) for one in tree.leaves(carry)]:
        return after  # which the loop refuses
    return after if tree.structure(after) != tree.structure(carry) else chosen(name, condition, after, carry)


def while_loop(cond_fun: Callable[[R], Any], body_fun: Callable[[R], R], init_val: R) -> R:
    """`val = body_fun(val)` as long as `cond_fun(val)`, as a loop in little memory: see `scan`.

    Unlike in JAX, reverse mode works, as the number of steps is known when they were made: one val a step is kept. In `jit` that gradient
    has no derivatives itself: take second ones by `grad(jacfwd(f))` there. For a loop that runs until it converges use `fixed_point` or
    `custom_root`, which keep nothing and are more accurate.

    Args:
        cond_fun: val -> whether to go on, one boolean. Where it differs between examples that `vmap` maps, steps are made, without
            warnings, until all are done; those that are done before keep their val.
        body_fun: val -> val, a tree of numbers and arrays that keeps its structure, shapes and dtypes. Both may close over traced values.
        init_val: the first val.

    Returns:
        The first val for which cond_fun is false.

    Raises:
        InputTypeError, InputValueError, TreeError: cond_fun does not give one boolean; val does not stay what it is.
        ConcretizationError: cond_fun or body_fun reaches a traced value by a global variable.

    Example:
        >>> from funcgrad import grad
        >>> halved = lambda x: while_loop(lambda y: y > 1.0, lambda y: y / 2.0, x)
        >>> halved(20.0), grad(halved)(20.0)
        (0.625, 0.03125)
    """
    checked_function(cond_fun, "while_loop")
    checked_function(body_fun, "while_loop")
    return _until(f"while_loop of {named(body_fun)}", cond_fun, body_fun, init_val)


def _until(name: str, cond_fun: Callable[[R], Any], body_fun: Callable[[R], R], init_val: R) -> R:
    """The loop of that name that ends itself."""
    leaves, carry_tree = tree.flatten(init_val)

    def once(carry: Any, x: None) -> tuple[Any, None] | None:
        goes_on = is_true(f"{name}: cond_fun", cond_fun(carry))
        if type(goes_on) is bool:
            return (body_fun(carry), None) if goes_on else None
        if type(inmost(goes_on)) is Staged:
            raise ConcretizationError(
                f"{name}: how many steps there are depends on the example, which a program of all examples cannot know beforehand: leave "
                "jit out, or use fori_loop with a number of steps that is enough for all and np.where"
            )
        is_left = is_any(goes_on) or (not inmost(goes_on).size and not tried)  # without examples once, to learn the shapes
        tried.append(True)
        return (_continued(name, goes_on, body_fun, carry), None) if is_left else None

    tried: list[bool] = []

    def again(carry: Any, x: None) -> tuple[Any, None]:
        goes_on = asks(carry) if OPEN else True
        return (_continued(name, goes_on, body_fun, carry) if type(raw(goes_on)) is Mapped else body_fun(carry)), None

    def asks(carry: Any) -> Any:
        return checked_condition(f"{name}: cond_fun", cond_fun(carry))

    loop = Code(name, [cond_fun, body_fun], once, again, leaves, carry_tree, NO_TREE, asks=asks)
    found: R = _run(loop, leaves, [], itertools.count())[0]
    return found
