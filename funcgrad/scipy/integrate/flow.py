"""The flow of a differential equation y' = rhs(t, y, p) as a differentiable function of initial state, times and parameters.

Forward mode solves the variational equation beside the equation itself (v' = J v + J_p dp); reverse mode solves the adjoint equation
backwards (a' = -a J, whose integral of a J_p is the gradient in p). Both solves are calls of `flow` again where they are to be
differentiated, so derivatives of any order follow.

Of what the adjoint equation is solved along, the state, there are two ways. On plain values it is the solver's interpolant of a forward
solve, which is as accurate as that for stiff equations too. Where the pullback itself is recorded, the state is solved backwards beside the
adjoint, from the states that are known at the times given; where that does not lead back to the one before, the interval is halved.

References: Pontryagin et al. (1962); Cao, Li, Petzold, Serban, Adjoint sensitivity analysis for differential-algebraic equations (2003);
Chen, Rubanova, Bettencourt, Duvenaud, Neural ordinary differential equations (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from funcgrad.mapped import is_all, is_any
from funcgrad.rules.values import holds_tracer, is_complex, raw, real_part, shape_of
from funcgrad.transforms.arguments import replaced
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.implicit import outside, scale_of, solution
from funcgrad.transforms.reverse import vjp

RightHandSide = Callable[[Any, Any, list[Any]], Any]
"""`(t, y, parameters)` -> y', vectors of one length; the parameters are a list of numbers and arrays."""


class UnsolvedError(RuntimeError):
    """An equation for a derivative that could not be solved."""


class Solver(Protocol):
    """What computes a flow on plain numbers. `name` is for messages; the tolerances are the least of all components."""

    name: str
    rtol: float
    atol: float

    def states(self, rhs: Callable[[Any, Any], Any], y0: np.ndarray, ts: np.ndarray) -> np.ndarray:
        """The states at times ts, from y0 at the first of them: shape (times, len(y0)).

        Raises:
            UnsolvedError: it does not get to the last of them.
        """

    def trajectory(self, rhs: Callable[[Any, Any], Any], y0: np.ndarray, ts: np.ndarray) -> Callable[[float], np.ndarray]:
        """The states at all times between the first and the last."""


def flow(solver: Solver, rhs: RightHandSide, y0: Any, ts: Any, parameters: Sequence[Any], known: Any = None) -> Any:
    """The states at times ts from y0 at the first of them, shape (times, len(y0)); `known` if they were computed already."""
    operands = [y0, ts, *parameters]
    if known is None:
        known = _solved(solver, rhs, *map(raw, operands))
    return solution(
        known,
        operands,
        lambda tangents, ans, operands: _push(solver, rhs, tangents, ans, operands),
        lambda ct, ans, operands, wanted: _pull(solver, rhs, ct, ans, operands, wanted),
    )


def _solved(solver: Solver, rhs: RightHandSide, y0: Any, ts: Any, *parameters: Any) -> np.ndarray:
    with outside(solver.name):
        return solver.states(lambda t, y: rhs(t, np.array(y), list(parameters)), y0, ts)


def _velocities(rhs: RightHandSide, ans: Any, ts: Any, parameters: list[Any]) -> Any:
    return np.stack([rhs(ts[n], ans[n], parameters) for n in range(shape_of(ts)[0])])


# ------------------------------------------------------------------------------------------------ forward mode


def _push(solver: Solver, rhs: RightHandSide, tangents: list[Any], ans: Any, operands: list[Any]) -> Any:
    y0, ts, *parameters = operands
    dy0, dts, *directions = tangents
    size = shape_of(y0)[0]
    moving = [n for n, one in enumerate(directions) if one is not None]
    along = [directions[n] for n in moving]
    scale = scale_of([one for one in (dy0, dts, *along) if one is not None])
    v0 = np.zeros(size, raw(ans).dtype) if dy0 is None else dy0 / scale
    if dts is not None:
        velocities = _velocities(rhs, ans, ts, parameters)
        v0 = v0 - velocities[0] * (dts[0] / scale)

    def both(t: Any, state: Any, q: list[Any]) -> Any:
        fixed, directions = q[: len(parameters)], q[len(parameters) :]

        def of_moving(y: Any, *moved: Any) -> Any:
            return rhs(t, y, replaced(fixed, moving, moved))

        value, tangent = jvp(of_moving, (state[:size], *(fixed[n] for n in moving)), (state[size:], *directions))
        return np.concatenate([value, tangent])

    states = flow(solver, both, np.concatenate([y0, v0]), ts, [*parameters, *(one / scale for one in along)])
    tangent = states[:, size:] * scale
    return tangent if dts is None else tangent + velocities * np.reshape(dts, (-1, 1))


# ------------------------------------------------------------------------------------------------ reverse mode


def _pull(solver: Solver, rhs: RightHandSide, ct: Any, ans: Any, operands: list[Any], wanted: list[bool]) -> list[Any]:
    _, ts, *parameters = operands
    places = [n for n, is_wanted in enumerate(wanted[2:]) if is_wanted]
    scale = scale_of([ct])
    ct = (ct / scale).astype(raw(ans).dtype) if is_complex(raw(ans)) else real_part(ct) / scale
    adjoint = _Adjoint(solver, rhs, places, is_complex(raw(ans)))
    start = adjoint.start(ct[-1], parameters)
    walk = _walked if holds_tracer(ct, operands) else _walked_plainly
    end, total = adjoint.split(walk(adjoint, ct, ans, ts, parameters, start), parameters)
    end = end + ct[0] if shape_of(ts)[0] > 1 else end
    cotangents: list[Any] = [end * scale, None, *[None] * len(parameters)]
    if wanted[1]:
        velocities = _velocities(rhs, ans, ts, parameters)
        moved = np.sum(ct[1:] * velocities[1:], -1)
        first = -np.sum((end - ct[0]) * velocities[0])
        cotangents[1] = np.concatenate([np.reshape(first, (1,)), moved]) * scale
    for place, one in zip(places, total, strict=True):
        cotangents[2 + place] = one * scale
    return cotangents


class _Adjoint:
    """The adjoint equation: its state is the adjoint and the integrals for those parameters (`places`) whose gradient is wanted."""

    def __init__(self, solver: Solver, rhs: RightHandSide, places: list[int], is_complex: bool) -> None:
        self.solver, self.rhs, self.places, self.is_complex = solver, rhs, places, is_complex

    def start(self, adjoint: Any, parameters: list[Any]) -> Any:
        """The state from an adjoint, with integrals that are 0."""
        values = [np.asarray(raw(parameters[n])) for n in self.places]
        return np.concatenate([adjoint, *(np.zeros(value.size, value.dtype) for value in values)])

    def split(self, state: Any, parameters: list[Any]) -> tuple[Any, list[Any]]:
        """The adjoint, and the integrals in the shapes of the parameters, real ones for real parameters."""
        size = shape_of(state)[0] - sum(np.size(raw(parameters[n])) for n in self.places)
        integrals, place = [], size
        for n in self.places:
            count = np.size(raw(parameters[n]))
            part = np.reshape(state[place : place + count], shape_of(parameters[n]))
            integrals.append(part if is_complex(raw(parameters[n])) else real_part(part))
            place += count
        return state[:size] if self.is_complex else real_part(state[:size]), integrals

    def rate(self, t: Any, y: Any, adjoint: Any, parameters: list[Any]) -> tuple[Any, Any]:
        """y', and the rates of adjoint and integrals as one vector."""

        def of_wanted(y: Any, *some: Any) -> Any:
            return self.rhs(t, y, replaced(parameters, self.places, some))

        velocity, pullback = vjp(of_wanted, y, *(parameters[n] for n in self.places))
        back = pullback(-adjoint if self.is_complex else -real_part(adjoint))
        return velocity, np.concatenate([np.ravel(one) for one in back])


def _walked_plainly(adjoint: _Adjoint, ct: Any, ans: Any, ts: Any, parameters: list[Any], state: Any) -> Any:
    """From the last time to the first on plain values; times without a cotangent are passed over."""
    size = ans.shape[1]
    with outside(adjoint.solver.name):
        trajectory = adjoint.solver.trajectory(lambda t, y: adjoint.rhs(t, np.array(y), parameters), ans[0], ts)

        def rate(t: float, state: Any) -> Any:
            return adjoint.rate(t, np.array(trajectory(t)), np.array(state[:size]), parameters)[1]

        stops = [n for n in range(1, len(ts) - 1) if is_any(ct[n])]
        for ahead, n in zip([*stops[::-1], 0], [len(ts) - 1, *stops[::-1]], strict=True):
            if ts[n] != ts[ahead]:
                state = adjoint.solver.states(rate, state, np.array([ts[n], ts[ahead]]))[-1]
            if ahead:
                state[:size] += ct[ahead]
    return state


_HALVINGS = 8


def _walked(adjoint: _Adjoint, ct: Any, ans: Any, ts: Any, parameters: list[Any], state: Any) -> Any:
    """From the last time to the first, each interval a call of `flow`."""
    size = shape_of(ans)[1]
    for n in range(shape_of(ts)[0] - 1, 0, -1):
        if raw(ts)[n] != raw(ts)[n - 1]:
            state = _back(adjoint, (ts[n], ans[n]), (ts[n - 1], ans[n - 1]), parameters, state, _HALVINGS)
        if n > 1:
            state = np.concatenate([state[:size] + ct[n - 1], state[size:]])
    return state


def _back(adjoint: _Adjoint, after: Any, before: Any, parameters: list[Any], state: Any, halvings: int) -> Any:
    """The adjoint's state at `before`, a time and the known state there, from that at `after`."""
    (end, y_end), (start, y_start) = after, before
    size = shape_of(y_end)[0]
    largest = float(max(np.max(np.abs(raw(y_start)), initial=0.0), np.max(np.abs(raw(y_end)), initial=0.0)))
    allowed = min(0.1, 1e4 * adjoint.solver.rtol) * largest + 100.0 * adjoint.solver.atol

    def rate(t: Any, both: Any, q: list[Any]) -> Any:
        y = both[:size] if adjoint.is_complex else real_part(both[:size])
        if not is_all(np.abs(raw(y)) <= 1e3 * (largest + allowed)):
            raise UnsolvedError("the state, solved backwards, does not lead to where it came from")
        return np.concatenate(adjoint.rate(t, y, both[size : 2 * size], q))

    try:
        found = flow(adjoint.solver, rate, np.concatenate([y_end, state]), np.stack([end, start]), parameters)[-1]
        if np.max(np.abs(raw(found)[:size] - raw(y_start)), initial=0.0) <= allowed:
            return found[size:]
    except UnsolvedError:
        pass
    if not halvings:
        raise UnsolvedError(
            f"{adjoint.solver.name}: the equation is too stiff to be solved backwards, as derivatives of a gradient need it: use "
            "forward mode twice (jacfwd of jacfwd, jvp of jvp), or give many more times"
        )
    middle = 0.5 * (start + end)
    y_middle = flow(adjoint.solver, adjoint.rhs, y_start, np.stack([start, middle]), parameters)[-1]
    state = _back(adjoint, after, (middle, y_middle), parameters, state, halvings - 1)
    return _back(adjoint, (middle, y_middle), before, parameters, state, halvings - 1)
