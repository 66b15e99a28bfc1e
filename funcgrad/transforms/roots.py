"""Roots and fixed points as differentiable functions of what their equations depend on: `custom_root` and `fixed_point`.

By the implicit function theorem: where f(x, p) = 0, f_x dx + f_p dp = 0. The linear systems of that are solved by functions of the user's,
or by GMRES, on plain values, and are roots themselves: of A x - b. So derivatives of any order follow, and no iteration is differentiated.

References: Griewank & Walther 2008, Evaluating Derivatives, chapter 15. Blondel et al. 2022, "Efficient and modular implicit
differentiation".
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConvergenceError, InputTypeError, InputValueError, NoRuleError
from funcgrad.mapped import OPEN, TRACERS, Mapped, contents, inmost, mapping_of
from funcgrad.rules.values import is_complex, raw
from funcgrad.transforms.arguments import checked_function, fitting, kind_of, named, replaced
from funcgrad.transforms.calls import closed_over, own
from funcgrad.transforms.closures import captured_by, in_one_scope, plain_result, underived, underived_value, with_values
from funcgrad.transforms.compile.loops import staged_in
from funcgrad.transforms.compile.solvers import solved_by
from funcgrad.transforms.forward import jvp, linearize
from funcgrad.transforms.gmres import gmres
from funcgrad.transforms.implicit import solution
from funcgrad.transforms.mapped_calls import in_sight, out_of_sight
from funcgrad.transforms.recording import with_aux
from funcgrad.transforms.reverse import vjp

Vector = Any
Values = Sequence[Any]
Operator = Callable[[Values], Callable[[Vector], Vector]]
"""Of the values that it depends on, the product of a matrix with a vector."""
Solver = Callable[[Callable[[Vector], Vector], Vector], Vector]
"""`(g, b)` -> the solution of g(v) = b, of plain vectors."""


# ------------------------------------------------------------------------------------------------ the theorem


def _pushed(f: Callable[[Values], Vector], operands: Values, tangents: Values) -> Vector | None:
    """The tangent of f for those of its operands (None: zero); None where all are zero."""
    moving = [n for n, one in enumerate(tangents) if one is not None]
    if not moving:
        return None
    along = lambda *some: f(replaced(operands, moving, some))
    return jvp(along, [operands[n] for n in moving], [tangents[n] for n in moving])[1]


def _pulled(f: Callable[[Values], Vector], operands: Values, wanted: Sequence[bool], ct: Vector) -> list[Any]:
    """The cotangents of the operands of f that are wanted; None for the others."""
    places = [n for n, is_wanted in enumerate(wanted) if is_wanted]
    along = lambda *some: f(replaced(operands, places, some))
    cts = vjp(along, *(operands[n] for n in places))[1](ct) if places else ()
    return replaced([None] * len(operands), places, cts)


def _linear_solution(forth: Operator, back: Operator, values: Values, b: Vector, solve: Solver, users: Sequence[Any]) -> Vector:
    """The solution of a linear system as a function of the values of its matrix (`forth`; transposed `back`) and of its right hand side."""
    with underived():
        found = solve(forth([underived_value(one) for one in values]), underived_value(b))

    def push(tangents: list[Any], ans: Vector, operands: list[Any]) -> Vector:
        change, right = _pushed(lambda values: forth(values)(ans), operands[:-1], tangents[:-1]), tangents[-1]
        if change is not None:
            right = -change if right is None else right - change
        return _linear_solution(forth, back, operands[:-1], right, solve, users)

    def pull(ct: Vector, ans: Vector, operands: list[Any], wanted: list[bool]) -> list[Any]:
        multiplier = _linear_solution(back, forth, operands[:-1], ct, solve, users)
        return [*_pulled(lambda values: forth(values)(ans), operands[:-1], wanted[:-1], -multiplier), multiplier]

    return solution(found, [*values, b], push, pull, users)


def _root(f: Callable[[Values, Vector], Vector], found: Vector, values: Values, solve: Solver, users: Sequence[Any]) -> Vector:
    """A root that was found, as a function of the values that f depends on."""

    def forth(values: Values) -> Callable[[Vector], Vector]:
        product: Callable[[Vector], Vector] = linearize(lambda x: f(values[1:], x), values[0])[1]
        return product

    def back(values: Values) -> Callable[[Vector], Vector]:
        pullback = vjp(lambda x: f(values[1:], x), values[0])[1]
        return lambda ct: pullback(ct)[0]

    def push(tangents: list[Any], ans: Vector, operands: list[Any]) -> Vector:
        change = _pushed(lambda values: f(values, ans), operands, tangents)
        return -_linear_solution(forth, back, [ans, *operands], change, solve, users)

    def pull(ct: Vector, ans: Vector, operands: list[Any], wanted: list[bool]) -> list[Any]:
        multiplier = _linear_solution(back, forth, [ans, *operands], ct, solve, users)
        return _pulled(lambda values: f(values, ans), operands, wanted, -multiplier)

    return solution(found, values, push, pull, users)


def _flat(name: str, value: Any, like: Any, what: str) -> Vector:
    """A tree of the structure and shapes of another as a vector.

    Raises:
        TreeError, InputValueError, InputTypeError: it has others.
    """
    leaves, treedef = tree.flatten(like)
    return tree.ravel(fitting(name, what, value, treedef, leaves))[0]


def _check_mappings(name: str, result: Any, inputs: Any) -> None:
    """What f returns may depend on the examples of those mappings alone that its inputs do.

    Raises:
        ConcretizationError: it has mapped values by another way.
    """
    if not OPEN:
        return
    mappings = [
        {id(inner._scope) for one in tree.leaves(some) for inner in contents(one) if type(inner) is Mapped} for some in (result, inputs)
    ]
    if not mappings[0] <= mappings[1]:
        raise closed_over(name)


def _check_kinds(name: str, what: str, value: Any) -> None:
    """An unknown must be made of real floating-point numbers.

    Raises:
        NoRuleError, InputTypeError: it is not.
    """
    for path, one in tree.flatten_with_path(value)[0]:
        plain = raw(one)
        if is_complex(plain):
            raise NoRuleError(f"{name}: {what}{path} is complex, and roots have no rule for that: solve for real and imaginary parts")
        if type(plain) not in (float, int) and getattr(getattr(plain, "dtype", None), "kind", "") != "f":
            raise InputTypeError(f"{name}: {what}{path} is {kind_of(plain)}, but what is sought must be floating-point numbers and arrays")


# ------------------------------------------------------------------------------------------------ custom_root


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """A root of f, found by a solver of your own, and differentiable in what f closes over, by the implicit function theorem.

    Derivatives of any order compose. They hold at a root: as far from it as the solver stops, so far they are off.

    Args:
        f: x -> what must be zero, of the structure, shapes and dtypes of x, a tree of floating-point numbers and arrays.
        initial_guess: what `solve` starts from, anything: a number, bounds, None. The root does not depend on it, nor need it be like it.
        solve: `(f, initial_guess)` -> the root. It gets plain values, and so does f in it: any code may find the root, transforms of f as
            well.
        tangent_solve: `(g, y)` -> x with g(x) = y, for a linear function g: f linearized at the root, and its transpose. It must solve for
            the g that it is given, gets plain values, and is not differentiated itself. For a number `lambda g, y: y / g(1.0)` will do,
            for a vector `lambda g, y: np.linalg.solve(jacfwd(g)(y), y)`.
        has_aux: solve returns `(root, aux)`, and so does this; aux has no derivative.

    Returns:
        The root.

    Raises:
        InputTypeError: f, solve or tangent_solve is no function; a number of the root is no floating-point number.
        TreeError, InputValueError: f does not return what is like the root, or tangent_solve what is like y, or no solution.
        NoRuleError: x is complex.
        ConcretizationError: f reaches a traced or mapped value by a global variable.

    Example:
        >>> from funcgrad import grad
        >>> def newton(f, x):
        ...     for _ in range(30):
        ...         x = x - f(x) / grad(f)(x)
        ...     return x
        >>> sqrt = lambda a: custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
        >>> sqrt(4.0), grad(sqrt)(4.0), grad(grad(sqrt))(4.0)
        (2.0, 0.25, -0.03125)
    """
    for what in (f, solve, tangent_solve):
        checked_function(what, "custom_root")
    name = f"custom_root of {named(f)}"
    captured = captured_by(f)
    values = in_one_scope(captured)
    solver = plain_result(solve, captured_by(solve), name)
    known = [underived_value(one) for one in captured]
    found = solver(with_values(f, captured, known, name), tree.map(underived_value, initial_guess))
    found, aux = with_aux(name, found) if has_aux else (found, None)
    _check_kinds(name, "the root", found)
    found = tree.map(own, found)
    if values:
        solve_tangents = plain_result(tangent_solve, captured_by(tangent_solve), name)
        vector, unravel = tree.ravel(found)

        def residual(values: Values, x: Vector) -> Vector:
            value = with_values(f, captured, values, name)(unravel(x))
            _check_mappings(name, value, (values, x))
            return _flat(name, value, found, "value of f")

        def solved(g: Callable[[Vector], Vector], y: Vector) -> Vector:
            answer = solve_tangents(lambda v: unravel(g(_flat(name, v, found, "argument of g"))), unravel(y))
            x = _flat(name, answer, found, "solution of tangent_solve")
            residual = g(x) - y
            staged = staged_in((x, residual)) if OPEN else None
            if staged is not None:
                return staged.recorded(_checked_solution, (name, x, residual, y), {})
            _check_solution(name, inmost(residual), inmost(y))
            return x

        found = unravel(_root(residual, vector, values, solved, [f, tangent_solve]))
    return (found, aux) if has_aux else found


def _checked_solution(name: str, x: Vector, residual: np.ndarray, y: np.ndarray) -> Vector:
    _check_solution(name, residual, y)
    return x


def _check_solution(name: str, residual: np.ndarray, y: np.ndarray) -> None:
    """A solution of a linear system is to be one, of the transposed system as well.

    Raises:
        InputValueError: it is none.
    """
    if not np.linalg.norm(residual) <= max(1e-3, 1e3 * np.finfo(y.dtype).eps) * np.linalg.norm(y):
        raise InputValueError(
            f"{name}: what tangent_solve(g, y) returned does not solve g(x) = y (g(x) - y has norm {np.linalg.norm(residual):.3g}, y "
            f"{np.linalg.norm(y):.3g}): it must solve for the g that it is given, in reverse mode a transposed one, and g must not "
            "be singular"
        )


# ------------------------------------------------------------------------------------------------ fixed_point


def fixed_point(f: Callable[..., Any], x0: Any, *params: Any, tol: float | None = None, max_steps: int = 10_000) -> Any:
    """The solution of x = f(x, *params) that is found by iteration, differentiable by the implicit function theorem.

    The iteration stops when the error that is left, as estimated from how the steps shrink, is within the tolerance, or rounding lets
    them shrink no more. Derivatives of any order compose, in reverse mode without memory for the steps; their linear systems are
    solved by GMRES.

    Args:
        f: `(x, *params)` -> x, a tree of floating-point numbers and arrays. It may close over traced values, and over arrays, which nobody
            can write into until derivatives are done.
        x0: where to start; the derivative in it is zero. A Python number in it gets the dtype that f gives it.
        *params: further arguments of f, trees of anything; floating-point numbers and arrays in them are differentiated.
        tol: the largest error, relative to the largest number in x; None for as good as the dtype allows.
        max_steps: after how many steps to give up.

    Returns:
        x.

    Raises:
        InputTypeError, TreeError, InputValueError: f is no function, or does not return what is like x0.
        ConvergenceError: the iteration does not converge in max_steps steps, or leads to infinity; from derivatives, that the system is
            singular, as where two fixed points meet.
        NoRuleError: x is complex.
        ConcretizationError: f reaches a traced or mapped value by a global variable.

    Example:
        >>> from funcgrad import grad
        >>> kepler = lambda eccentricity, anomaly: fixed_point(lambda x, e, m: m + e * np.sin(x), 0.0, eccentricity, anomaly)
        >>> x = kepler(0.5, 1.0)
        >>> bool(np.isclose(grad(kepler)(0.5, 1.0), np.sin(x) / (1.0 - 0.5 * np.cos(x)), rtol=1e-14))
        True

    References:
        Saad & Schultz 1986, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems".
    """
    checked_function(f, "fixed_point")
    name = f"fixed_point of {named(f)}"
    captured = captured_by(f)
    leaves, treedef = tree.flatten(params)
    places = [n for n, one in enumerate(leaves) if type(one) in TRACERS]
    plain = tree.unflatten(treedef, [underived_value(one) for one in leaves])
    _check_kinds(name, "x0", x0)
    step = plain_result(f, captured, name)
    found = _iterated_anywhere(name, lambda x: step(x, *plain), tree.map(underived_value, x0), tol, max_steps, [*leaves, *captured])
    found = tree.map(own, found)
    if not places and not captured:
        return found
    vector, unravel = tree.ravel(found)
    constants = [np.array(one) if type(one) is np.ndarray else one for one in leaves]

    def residual(values: Values, x: Vector) -> Vector:
        arguments = tree.unflatten(treedef, replaced(constants, places, values[: len(places)]))
        after = with_values(f, captured, values[len(places) :], name)(unravel(x), *arguments)
        _check_mappings(name, after, (values, x))
        return x - _flat(name, after, found, "value of f")

    values = in_one_scope([*(leaves[n] for n in places), *captured])
    return unravel(_root(residual, vector, values, lambda g, b: _gmres(name, g, b), [f]))


def _gmres(name: str, g: Callable[[Vector], Vector], b: Vector) -> Vector:
    """The solution of g(x) = b; one instruction where a program is recorded."""
    staged = staged_in((b, g(b))) if OPEN else None
    if staged is None:
        return gmres(name, g, b)
    solve = lambda functions, leaves: [gmres(name, lambda v: functions[0](v)[0], *leaves)]
    return solved_by("gmres", solve, [lambda v: [g(v)]], [b], staged)[0]


def _iterated_anywhere(name: str, step: Callable[[Any], Any], x: Any, tol: float | None, max_steps: int, others: Values) -> Any:
    """The fixed point of a function that depends on others; one instruction where a program is recorded."""
    leaves, treedef = tree.flatten(x)
    staged = staged_in((*leaves, *others)) if OPEN else None
    if staged is None or mapping_of(*leaves, *others) is not None:
        return _iterated(name, step, x, tol, max_steps)

    def solve(functions: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
        first, later = functions
        steps = itertools.chain((first,), itertools.repeat(later))
        step = lambda x: tree.unflatten(treedef, next(steps)(*tree.leaves(x)))
        return tree.leaves(_iterated(name, step, tree.unflatten(treedef, leaves), tol, max_steps))

    def of_leaves(*leaves: Any) -> list[Any]:
        x = tree.unflatten(treedef, leaves)
        after = step(x)
        _flat(name, after, _with_dtypes(x, after), "value of f")
        return tree.leaves(after)

    return tree.unflatten(treedef, solved_by("fixed_point", solve, [of_leaves, of_leaves], leaves, staged, follows=True))


def _of_examples(combine: Any, leaves: Sequence[Any], axes: int) -> Any:
    """Numbers of all leaves put together, for each example."""
    parts = [combine.reduce(np.reshape(one, (*np.shape(one)[:axes], math.prod(np.shape(one)[axes:]))), -1, initial=0.0) for one in leaves]
    return functools.reduce(combine, parts) if parts else np.zeros(())


def _iterated(name: str, step: Callable[[Any], Any], x: Any, tol: float | None, max_steps: int, axes: int = 0) -> Any:
    """The fixed point of a function of plain values. Each example has its own where they have axes of examples in front.

    Raises:
        ConvergenceError: it is not found.
    """
    first = step(x)
    mapping = mapping_of(*tree.leaves((x, first))) if OPEN else None
    if mapping is not None:
        of_all = lambda x: in_sight(step(out_of_sight(x, mapping)), mapping)
        return out_of_sight(_iterated(name, of_all, in_sight(x, mapping), tol, max_steps, axes + 1), mapping)
    like = _with_dtypes(x, first)
    _check_kinds(name, "x", like)
    _flat(name, first, like, "value of f")
    (found, treedef), last, change, size = tree.flatten(first), np.zeros(()), np.zeros(()), np.zeros(())
    eps = max((float(np.finfo(np.asarray(one).dtype).eps) for one in found), default=0.0)
    tol = eps if tol is None else tol
    for n in range(max_steps):
        after = step(tree.unflatten(treedef, found))
        _flat(name, after, like, "value of f")
        before, found = found, tree.leaves(after)
        last, change = change, _of_examples(np.maximum, [np.abs(one - two) for one, two in zip(found, before, strict=True)], axes)
        size = _of_examples(np.maximum, [np.abs(one) for one in found], axes)
        if not np.all(np.isfinite(change)):
            raise ConvergenceError(f"{name}: the iteration leads to infinity or NaN: f is no contraction where it started, at x0")
        if n and np.all(_is_near(change, last, size, tol, eps)):
            return after
    raise ConvergenceError(
        f"{name}: the iteration has not converged after max_steps={max_steps} steps: the last changed x, whose largest number is "
        f"{np.max(size):.3g}, by {np.max(change):.3g}. Give it a larger tol or max_steps, a better x0, or an f that contracts "
        "(0.5 * (x + f(x)) may do)"
    )


def _is_near(change: np.ndarray, last: np.ndarray, size: np.ndarray, tol: float, eps: float) -> Any:
    """Whether steps that shrink, as a geometric series, leave an error within the tolerance, or rounding lets them shrink no more."""
    factor = np.divide(change, last, out=np.ones_like(change), where=last > 0.0)
    is_rounding = (factor >= 1.0) & (change <= 1e3 * eps * size)
    return (change == 0.0) | is_rounding | ((factor < 1.0) & (factor * change <= (1.0 - factor) * tol * size))


def _with_dtypes(x: Any, first: Any) -> Any:
    """x with its Python numbers as f gave them back."""
    if tree.structure(x) != tree.structure(first):
        return x
    return tree.map(lambda old, new: new if type(old) in (float, int) and np.shape(new) == () else old, x, first)
