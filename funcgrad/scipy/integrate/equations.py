"""`odeint` and `solve_ivp`: SciPy's solvers, differentiable by the flow of the equation. States may be trees."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as _integrate

from funcgrad import tree
from funcgrad.errors import InputTypeError, NoRuleError
from funcgrad.mapped import TRACERS
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.scipy.examples import over_examples
from funcgrad.rules.values import is_complex, raw, shape_of
from funcgrad.scipy.integrate.flow import UnsolvedError, flow
from funcgrad.scipy.packing import Packing
from funcgrad.scipy.signatures import by_name
from funcgrad.transforms.implicit import Arguments, checked, outside


class _Equation:
    """The user's equation as SciPy calls it, and as `flow` does: a function of vectors, with those parameters that are traced."""

    def __init__(self, user: str, fun: Callable[..., Any], y0: Any, args: tuple[Any, ...]) -> None:
        self._user, self._returned = user, f"{user}: what the function returns"
        self._fun = fun
        self._arguments = Arguments(args)
        self.state = Packing(y0)
        self.parameters = self._arguments.operands

    @property
    def plain_args(self) -> tuple[Any, ...]:
        """The arguments with plain values, for SciPy to pass on."""
        return self._arguments.plain

    def plain(self) -> Callable[..., Any]:
        """The function of plain time, state and arguments."""
        fun = self.of_state(checked(self._fun, self._user))
        return (lambda *args: self.state.packed(fun(*args), self._returned)) if self.state.is_tree else fun

    def of_state(self, f: Any) -> Any:
        """A function `(t, y, *args)` of the user's state as one of a vector; with f's attributes. What is no function stays."""
        if not callable(f):
            return f
        return functools.wraps(f)(lambda t, y, *args: f(t, self.state.restored(np.array(y)), *args))

    def rhs(self, t: Any, y: Any, parameters: list[Any]) -> Any:
        """y' as a vector, for a vector y."""
        return self.state.packed(self._fun(t, self.state.restored(y), *self._arguments.filled(parameters)), self._returned)


def _refuse(user: str, **options: Any) -> None:
    """Options that take no tracers.

    Raises:
        NoRuleError: one is a tracer, or holds one.
    """
    for name, value in options.items():
        if any(type(leaf) in TRACERS for leaf in tree.leaves(value)):
            raise NoRuleError(f"{user}({name}=...) has no derivative rule: use funcgrad.stop_gradient({name})")


def _tolerances(value: Any, size: int) -> Any:
    """An absolute tolerance for each component: what comes beside the state gets the least of those."""
    if np.ndim(value) == 0:
        return value
    value = np.asarray(value, float)
    return np.concatenate([value, np.full(size - value.size, value.min())])[:size]


# ------------------------------------------------------------------------------------------------ solvers on plain numbers


class _Solver:
    """A solver of equations that follow from the user's, by SciPy's solve_ivp."""

    def __init__(self, name: str, method: Any, rtol: Any, atol: Any, options: dict[str, Any]) -> None:
        self.name, self._method, self._options = name, method, options
        self.rtol, self.atol, self._atols = float(np.min(rtol)), float(np.min(atol)), atol

    def _solve(self, rhs: Any, y0: Any, ts: Any, **options: Any) -> Any:
        options = {"rtol": self.rtol, "atol": _tolerances(self._atols, len(y0)), **self._options, **options}
        found = _integrate.solve_ivp(rhs, (ts[0], ts[-1]), y0, self._method, **options)
        if not found.success:
            raise UnsolvedError(f"{self.name}: the equation for a derivative could not be solved: {found.message}")
        return found

    def states(self, rhs: Any, y0: Any, ts: Any) -> np.ndarray:
        if ts[0] == ts[-1]:
            return np.stack([y0] * len(ts))
        moved = [n for n in range(1, len(ts)) if ts[n] != ts[n - 1]]
        found = self._solve(rhs, y0, ts, t_eval=ts[moved]).y.T
        states = np.concatenate([y0[np.newaxis], found])
        repeated: np.ndarray = states[np.cumsum([n in moved for n in range(len(ts))])]
        return repeated

    def trajectory(self, rhs: Any, y0: Any, ts: Any) -> Callable[[float], Any]:
        if ts[0] == ts[-1]:
            return lambda t: y0
        found: Callable[[float], Any] = self._solve(rhs, y0, ts, dense_output=True).sol
        return found


class _OdeintSolver(_Solver):
    """The same by odeint, with interpolants by the same algorithm."""

    def __init__(self, rtol: Any, atol: Any, steps: dict[str, Any]) -> None:
        longest = {"max_step": steps["hmax"]} if steps.get("hmax") else {}
        super().__init__("odeint", "LSODA", rtol, atol, longest)
        self._steps = steps

    def states(self, rhs: Any, y0: Any, ts: Any) -> np.ndarray:
        atol = _tolerances(self._atols, len(y0))
        states, told = _integrate.odeint(rhs, y0, ts, tfirst=True, rtol=self.rtol, atol=atol, full_output=True, **self._steps)
        if told["message"] != "Integration successful.":
            raise UnsolvedError(f"odeint: the equation for a derivative could not be solved: {told['message']}")
        found: np.ndarray = states
        return found


# ------------------------------------------------------------------------------------------------ the functions


@over_examples
def odeint(func: Callable[..., Any], y0: Any, t: Any, args: Any = (), *rest: Any, **options: Any) -> Any:
    """Solve y' = func(y, t, *args) by SciPy's odeint, differentiably in the initial state, the times and the arguments.

    Reverse mode solves the adjoint equation backwards, forward mode the variational equation, with the tolerances of the call.
    Derivatives of any order compose: a pullback that is itself differentiated solves its equation by this function again. What is
    differentiated is the exact solution: derivatives agree with it, and with each other, as the tolerances let the states agree.

    Args:
        func: `(y, t, *args)` -> y', in plain NumPy; `(t, y, *args)` with tfirst=True. What is traced must come through args.
        y0: initial state: a number or a vector, as in SciPy, or a tree of arrays.
        t: increasing or decreasing times, shape (times,), the first that of y0.
        args: tuple of further arguments, trees of anything; the floating-point numbers and arrays in them are differentiated.
        *rest: SciPy's further arguments by position.
        **options: SciPy's. Dfun and what describes it are used for the states alone, rtol, atol, hmax and mxstep for derivatives too.

    Returns:
        The states, shape (times, len(y0)), or for a tree of states a tree whose leaves have an axis for time before their own; with
        full_output=True also SciPy's dict.

    Raises:
        ConcretizationError: func uses a traced value that did not come through its arguments.
        InputTypeError: args is no tuple.
        NoRuleError: a complex argument, or a traced option.
        TreeError: the state is a tree and func returns one of another structure.
        RuntimeError: the equation for a derivative could not be solved.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> decay = lambda y, t, rate: -rate * y
        >>> end = lambda rate: odeint(decay, 1.0, np.array([0.0, 2.0]), (rate,))[-1, 0]
        >>> print(round(grad(end)(0.5), 6), round(-2.0 * np.exp(-1.0), 6))
        -0.735759 -0.735759
    """
    if not isinstance(args, tuple):
        raise InputTypeError(f"odeint: args must be a tuple of what comes after y and t, got {type(args).__name__}")
    options = by_name(_integrate.odeint, 4, rest, options)
    _refuse("odeint", **options)
    is_time_first = bool(options.pop("tfirst", False))
    equation = _Equation("odeint", _time_first(func, is_time_first), y0, args)
    ts = asarray(t)
    state, parameters = equation.state, equation.parameters
    plain = {**options, "tfirst": True, "Dfun": equation.of_state(_time_first(options.get("Dfun"), is_time_first))}
    with outside("odeint"):
        answer = _integrate.odeint(equation.plain(), raw(state.vector), raw(ts), equation.plain_args, **plain)
    states, told = answer if options.get("full_output") else (answer, None)
    if any(type(one) in TRACERS for one in (state.vector, ts, *parameters)):
        if any(is_complex(one) for one in (state.vector, *parameters)):
            raise NoRuleError("odeint solves real equations: use solve_ivp for complex ones")
        steps = {key: options[key] for key in ("hmax", "mxstep", "tcrit") if options.get(key) is not None}
        rtol, atol = (1.49012e-8 if options.get(key) is None else options[key] for key in ("rtol", "atol"))
        solver = _OdeintSolver(rtol, atol, steps)
        times = ts if shape_of(ts) else np.reshape(ts, (1,))
        states = flow(solver, equation.rhs, state.vector, times, parameters, states)
    states = state.restored_along(states, 0)
    return states if told is None else (states, told)


def _time_first(f: Any, is_it: bool) -> Any:
    """A function `(y, t, *args)` with time first. What is no function stays."""
    return f if is_it or not callable(f) else lambda t, y, *args: f(y, t, *args)


_FOR_VALUES = ("jac", "jac_sparsity", "lband", "uband", "first_step", "vectorized")


@functools.partial(over_examples, needed=dict.fromkeys(("t", "y"), "give t_eval"))
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Solve y' = fun(t, y, *args) by SciPy's solve_ivp, differentiably in the initial state, the times and the arguments.

    Modes and orders are as for `odeint`. Mind the default tolerances, rtol=1e-3 and atol=1e-6: derivatives are no better than these.

    Args:
        fun: `(t, y, *args)` -> y', in plain NumPy. What is traced must come through args.
        t_span: first and last time.
        y0: initial state: a vector, real or complex, as in SciPy, or a tree of arrays.
        method: a name or a class of SciPy's.
        t_eval: times to give the states at; by default those that the solver stops at, of which all but the first and last are constants.
        dense_output: only where nothing is traced.
        events: only where nothing is traced.
        vectorized: fun takes states of shape (n, k).
        args: tuple of further arguments, trees of anything; the floating-point numbers and arrays in them are differentiated.
        **options: SciPy's. Those that describe the Jacobian of fun, and first_step, are used for the states alone.

    Returns:
        SciPy's result, with `y` of shape (len(y0), times), or for a tree of states a tree whose leaves have an axis for time after their
        own. Under `vmap` it needs t_eval: the solver stops at other times for each example.

    Raises:
        ConcretizationError: fun uses a traced value that did not come through its arguments.
        InputTypeError: args is no tuple.
        NoRuleError: events, dense_output or a traced option beside other tracers.
        TreeError: the state is a tree and fun returns one of another structure.
        RuntimeError: the equation for a derivative could not be solved.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> def height(speed):
        ...     fall = lambda t, state, g: {"height": state["speed"], "speed": -g}
        ...     found = solve_ivp(fall, (0.0, 0.5), {"height": 0.0, "speed": speed}, args=(9.81,), rtol=1e-9)
        ...     return found.y["height"][-1]
        >>> print(round(grad(height)(3.0), 6))
        0.5
    """
    args = tuple(args) if isinstance(args, list) else args
    if args is not None and not isinstance(args, tuple):
        raise InputTypeError(f"solve_ivp: args must be a tuple of what comes after t and y, got {type(args).__name__}")
    _refuse("solve_ivp", method=method, **options)
    equation = _Equation("solve_ivp", _of_one_state(fun) if vectorized else fun, y0, args or ())
    state, parameters = equation.state, equation.parameters
    ends = [raw(one) for one in t_span]
    stops = None if t_eval is None else raw(asarray(t_eval))
    plain = {**options, "jac": equation.of_state(options["jac"])} if "jac" in options else options
    with outside("solve_ivp"):
        found = _integrate.solve_ivp(
            equation.plain(),
            ends,
            raw(state.vector),
            method,
            stops,
            dense_output,
            _of_states(equation, events),
            args=equation.plain_args,
            **plain,
        )
    times, known = _times(found, t_span, t_eval, raw(state.vector))
    if any(type(one) in TRACERS for one in (state.vector, times, *parameters)):
        if events is not None or dense_output:
            raise NoRuleError("solve_ivp with events or dense_output has no derivative rule: use t_eval")
        rest = {key: value for key, value in options.items() if key not in (*_FOR_VALUES, "rtol", "atol")}
        solver = _Solver("solve_ivp", method, options.get("rtol", 1e-3), options.get("atol", 1e-6), rest)
        states = flow(solver, equation.rhs, state.vector, times, parameters, known)
        if t_eval is None:
            found.t, found.y = times, state.restored_along(states.T, 1)
        else:
            found.t, found.y = times[1:], state.restored_along(states[1:].T, 1)
    elif state.is_tree:
        found.y = state.restored_along(found.y, 1)
    return found


def _of_states(equation: _Equation, events: Any) -> Any:
    return [equation.of_state(event) for event in events] if isinstance(events, (list, tuple)) else equation.of_state(events)


def _of_one_state(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function of states of shape (n, k) as a function of one of shape (n,)."""
    return lambda t, y, *args: np.ravel(asarray(fun(t, np.reshape(y, (-1, 1)), *args)))


def _times(found: Any, t_span: Any, t_eval: Any, y0: Any) -> tuple[Any, Any]:
    """The times of a result, that of the initial state before them, as functions of what was given; and the states there."""
    first, last = t_span
    if t_eval is not None:
        times = asarray(t_eval)[: len(found.t)]
        return np.concatenate([np.reshape(asarray(first), (1,)), times]), np.concatenate([y0[np.newaxis], found.y.T])
    if type(first) not in TRACERS and type(last) not in TRACERS:
        return found.t, found.y.T
    ends = [np.reshape(asarray(first), (1,)), found.t[1:-1]]
    ends.append(np.reshape(asarray(last), (1,)) if found.status == 0 else found.t[-1:])
    return np.concatenate(ends), found.y.T
