"""Roots of equations f(x, *args) = 0 as differentiable functions of args, by the implicit function theorem: f_x dx + f_args dargs = 0.

Of where a solver starts, a point or a bracket, a root does not depend. Solvers compute roots to their tolerances; the rules hold at roots.

References: Griewank, Walther, Evaluating Derivatives (2008), chapter 15.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize as _optimize

from funcgrad.errors import NoRuleError
from funcgrad.ops.elementwise import divide
from funcgrad.ops.scipy.examples import over_examples
from funcgrad.rules.values import is_complex, real_part
from funcgrad.scipy.packing import Packing
from funcgrad.transforms.arguments import ones, replaced
from funcgrad.transforms.derivatives import jacfwd
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.implicit import Arguments, checked, outside, solution
from funcgrad.transforms.reverse import vjp
from funcgrad.transforms.stop import stop_gradient

Function = Callable[..., Any]
Equation = Callable[[Any, Sequence[Any]], Any]
"""`(x, parameters)` -> what must be zero, of the shape of x; the parameters are a list of numbers and arrays."""


def _root(f: Equation, found: Any, parameters: list[Any], solve: Callable[..., Any]) -> Any:
    """A root that was found, as a function of the parameters. `solve(f of x, x, right hand side, is transposed)` divides by the slope."""
    if any(is_complex(one) for one in (found, *parameters)):
        raise NoRuleError("roots have no derivative rule for complex numbers: solve for real and imaginary parts")

    def push(tangents: list[Any], ans: Any, parameters: list[Any]) -> Any:
        moving = [n for n, one in enumerate(tangents) if one is not None]

        def residual(*moved: Any) -> Any:
            return f(ans, replaced(parameters, moving, moved))

        _, change = jvp(residual, tuple(parameters[n] for n in moving), tuple(tangents[n] for n in moving))
        return -solve(lambda x: f(x, parameters), ans, change, False)

    def pull(ct: Any, ans: Any, parameters: list[Any], wanted: list[bool]) -> Sequence[Any]:
        places = [n for n, is_wanted in enumerate(wanted) if is_wanted]

        def residual(*some: Any) -> Any:
            return f(ans, replaced(parameters, places, some))

        multiplier = solve(lambda x: f(x, parameters), ans, real_part(ct), True)
        _, pullback = vjp(residual, *(parameters[n] for n in places))
        return replaced([None] * len(parameters), places, pullback(-multiplier))

    return solution(found, parameters, push, pull)


def _by_matrix(f: Function, x: Any, right: Any, is_transposed: bool) -> Any:
    slope = jacfwd(f)(x)
    return np.linalg.solve(slope.T if is_transposed else slope, right)


def _by_element(f: Function, x: Any, right: Any, is_transposed: bool) -> Any:
    """For equations of which each is of one unknown of its own."""
    return divide(right, jvp(f, (x,), (ones(x),))[1])


# ------------------------------------------------------------------------------------------------ systems


@over_examples
def root(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Function | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Solve fun(x, *args) = 0 by SciPy's root, differentiably in the arguments, by the implicit function theorem.

    Derivatives of any order compose. They hold at a root: as far from it as the solver stops, so far they are off.

    Args:
        fun: `(x, *args)` -> what must be zero, in plain NumPy: as many numbers as x has. What is traced must come through args.
        x0: where to start: a number or a vector, as in SciPy, or a tree of arrays. The root does not depend on it.
        args: tuple of further arguments, trees of anything; the floating-point numbers and arrays in them are differentiated.
        method: SciPy's.
        jac: SciPy's: a function that returns the Jacobian, or True if fun returns it beside its value.
        tol: SciPy's.
        callback: SciPy's.
        options: SciPy's.

    Returns:
        SciPy's result, with `x` of the structure of x0.

    Raises:
        ConcretizationError: fun uses a traced value that did not come through its arguments.
        NoRuleError: a complex argument.
        LinAlgError: (NumPy's, from derivatives) the Jacobian is singular at the root.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> kepler = lambda e, eccentricity, anomaly: e - eccentricity * np.sin(e) - anomaly
        >>> e = lambda eccentricity: root(kepler, 1.0, (eccentricity, 1.0)).x[0]
        >>> print(round(grad(e)(0.5), 6), round(np.sin(e(0.5)) / (1.0 - 0.5 * np.cos(e(0.5))), 6))
        1.034667 1.034667
    """
    arguments, x = Arguments(_as_tuple(args)), Packing(stop_gradient(x0))
    plain = checked(fun, "root")

    def value(vector: Any, *args: Any) -> Any:
        found = plain(x.restored(np.array(vector)), *args)
        if not x.is_tree:
            return found
        return (_flat(found[0]), found[1]) if jac is True else _flat(found)

    with outside("root"):
        result = _optimize.root(value, x.vector, arguments.plain, method, _of_tree(jac, x), tol, _of_tree(callback, x), options)
    if arguments.operands:
        result.x = _system(fun, x, arguments, result.x, jac is True)
    result.x = x.restored(result.x)
    return result


def _of_tree(f: Any, x: Packing) -> Any:
    """A function of the user's tree as one of SciPy's vector. What is no function stays."""
    return (lambda vector, *rest: f(x.restored(np.array(vector)), *rest)) if callable(f) and x.is_tree else f


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _flat(value: Any) -> Any:
    return Packing(value).vector


def _system(fun: Function, x: Packing, arguments: Arguments, found: Any, gives_slope: bool) -> Any:
    def equation(vector: Any, operands: Sequence[Any]) -> Any:
        value = fun(x.restored(vector), *arguments.filled(operands))
        return _flat(value[0] if gives_slope else value)

    return _root(equation, found, arguments.operands, _by_matrix)


@over_examples
def fsolve(func: Function, x0: Any, args: Any = (), *rest: Any, **options: Any) -> Any:
    """Solve func(x, *args) = 0 by SciPy's fsolve, differentiably in the arguments as `root` is.

    Args:
        func: `(x, *args)` -> what must be zero, in plain NumPy. What is traced must come through args.
        x0: where to start, a number or a vector. The root does not depend on it.
        args: tuple of further arguments, trees of anything; the floating-point numbers and arrays in them are differentiated.
        *rest: SciPy's further arguments.
        **options: SciPy's.

    Returns:
        SciPy's: the root, shape (len(x0),), and more with full_output=True.

    Raises:
        ConcretizationError: func uses a traced value that did not come through its arguments.
        NoRuleError: a complex argument.
        LinAlgError: (NumPy's, from derivatives) the Jacobian is singular at the root.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> print(round(grad(lambda a: fsolve(lambda x, a: x**2 - a, 1.0, (a,))[0])(4.0), 6))
        0.25
    """
    arguments = Arguments(_as_tuple(args))
    plain = checked(func, "fsolve")
    with outside("fsolve"):
        start = np.asarray(stop_gradient(x0), float).ravel()
        found = _optimize.fsolve(lambda x, *args: plain(np.array(x), *args), start, arguments.plain, *rest, **options)
    if not arguments.operands:
        return found
    x, told = (found[0], found[1:]) if isinstance(found, tuple) else (found, None)
    x = _system(func, Packing(start), arguments, x, False)
    return x if told is None else (x, *told)


@over_examples
def fixed_point(func: Function, x0: Any, args: Any = (), *rest: Any, **options: Any) -> Any:
    """Solve func(x, *args) = x by SciPy's fixed_point, differentiably in the arguments as `root` is.

    Args:
        func: `(x, *args)` -> numbers like x, in plain NumPy. What is traced must come through args.
        x0: where to start, a number or an array. The fixed point does not depend on it.
        args: tuple of further arguments, trees of anything; the floating-point numbers and arrays in them are differentiated.
        *rest: SciPy's further arguments.
        **options: SciPy's.

    Returns:
        SciPy's: the fixed point, of the shape of x0.

    Raises:
        ConcretizationError: func uses a traced value that did not come through its arguments.
        NoRuleError: a complex argument.
        LinAlgError: (NumPy's, from derivatives) the Jacobian of x - func(x) is singular there.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> print(round(grad(lambda a: fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, (a,)))(4.0), 6))
        0.25
    """
    arguments = Arguments(_as_tuple(args))
    with outside("fixed_point"):
        found = _optimize.fixed_point(checked(func, "fixed_point"), stop_gradient(x0), arguments.plain, *rest, **stop_gradient(options))
    if not arguments.operands:
        return found
    shape = np.shape(found)

    def equation(vector: Any, operands: Sequence[Any]) -> Any:
        x = np.reshape(vector, shape)
        return np.ravel(x - func(x, *arguments.filled(operands)))

    return np.reshape(_root(equation, np.ravel(found), arguments.operands, _by_matrix), shape)


# ------------------------------------------------------------------------------------------------ equations of one unknown


def _scalar(f: Function, found: Any, arguments: Arguments, gives_slopes: bool = False) -> Any:
    def equation(x: Any, operands: Sequence[Any]) -> Any:
        value = f(x, *arguments.filled(operands))
        return value[0] if gives_slopes else value

    return _root(equation, found, arguments.operands, _by_element)


@over_examples
def root_scalar(f: Function, args: Any = (), method: Any = None, **options: Any) -> Any:
    """Solve f(x, *args) = 0 for one number by SciPy's root_scalar, differentiably in the arguments as `root` is.

    Args:
        f: `(x, *args)` -> a number, in plain NumPy. What is traced must come through args.
        args: tuple of further arguments, trees of anything; the floating-point numbers and arrays in them are differentiated.
        method: SciPy's.
        **options: SciPy's: bracket, x0, x1, fprime, ... The root does not depend on where the solver starts.

    Returns:
        SciPy's result, with `root`.

    Raises:
        ConcretizationError: f uses a traced value that did not come through its arguments.
        NoRuleError: a complex argument.

    Example:
        >>> from funcgrad import grad
        >>> cube_root = lambda a: root_scalar(lambda x, a: x**3 - a, (a,), bracket=(0.0, 8.0)).root
        >>> print(round(grad(cube_root)(8.0), 6))
        0.083333
    """
    arguments = Arguments(_as_tuple(args))
    with outside("root_scalar"):
        result = _optimize.root_scalar(checked(f, "root_scalar"), arguments.plain, method, **stop_gradient(options))
    if arguments.operands:
        result.root = _scalar(f, result.root, arguments, options.get("fprime") is True)
    return result


def _of_one_unknown(solver: Function) -> Function:
    """A solver whose first argument is the function; which others it has, its signature says."""

    @over_examples
    @functools.wraps(solver)
    def solve(f: Function, *given: Any, **options: Any) -> Any:
        named = dict(inspect.signature(solver).bind(f, *given, **options).arguments)
        del named[next(iter(named))]
        args = named.pop("args", ())
        arguments = Arguments(tuple(args) if isinstance(args, list) else _as_tuple(args))
        with outside(solver.__name__):
            found = solver(checked(f, solver.__name__), args=arguments.plain, **stop_gradient(named))
        if not arguments.operands:
            return found
        if not isinstance(found, tuple):
            return _scalar(f, found, arguments)
        x = _scalar(f, found[0], arguments)
        if hasattr(found[1], "root"):
            found[1].root = x
        return x, *found[1:]

    return solve


bisect, brenth, brentq, newton, ridder, toms748 = map(
    _of_one_unknown,
    (_optimize.bisect, _optimize.brenth, _optimize.brentq, _optimize.newton, _optimize.ridder, _optimize.toms748),
)
