"""Values that a solver computes: a root, the solution of a differential equation, an integral.

Owns how such a value gets its derivatives (`solution`), and how the functions that solvers call are run (`outside`, `checked`). A solver
calls back with plain numbers, outside of all transforms; its result is one record, whose two rules are functions written in public
operations and transforms. They are recorded like any others: derivatives of any order follow.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError, StaleTracerError
from funcgrad.mapped import Mapped
from funcgrad.rules import general
from funcgrad.rules.batching import by_examples
from funcgrad.rules.scopes import in_scope_of
from funcgrad.rules.values import raw
from funcgrad.staged import Staged
from funcgrad.tape import thread
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import replaced
from funcgrad.transforms.calls import closed_over
from funcgrad.transforms.captured import Own, held_in

Push = Callable[[Any, Any, list[Any]], Any]
Pull = Callable[[Any, Any, list[Any], list[bool]], Sequence[Any]]


class _Rules(Own):
    """The rules of one solution, as functions of the vector of those operands that are traced."""

    def __init__(self, answer: Any, operands: Sequence[Any], push: Push, pull: Pull) -> None:
        self.answer = answer
        self._operands = [_kept(one) for one in operands]
        self._traced = [type(one) is Tracer for one in operands]
        self._restored = tree.ravel([raw(one) for one in operands if type(one) is Tracer])[1]
        self._push, self._pull = push, pull

    def _filled(self, traced: Any, rest: Sequence[Any]) -> list[Any]:
        found = iter(self._restored(traced))
        return [next(found) if is_traced else one for is_traced, one in zip(self._traced, rest, strict=True)]

    def push(self, t: Any, ans: Any, x: Any) -> Any:
        with in_scope_of((t, ans, x)):
            tangents = self._filled(t, [None] * len(self._operands))
            return self._push(tangents, ans, self._filled(x, self._operands))

    def pull(self, ct: Any, ans: Any, x: Any) -> Any:
        with in_scope_of((ct, ans, x)):
            cotangents = self._pull(ct, ans, self._filled(x, self._operands), self._traced)
            return tree.ravel([one for one, is_traced in zip(cotangents, self._traced, strict=True) if is_traced])[0]


def _kept(value: Any) -> Any:
    """A constant as it is now, whatever is written into its array later; None for a tracer."""
    return None if type(value) is Tracer else np.array(value) if type(value) is np.ndarray else value


_solution = general(
    lambda x, rules, held: rules.answer,
    [lambda t, ans, x, rules, held: rules.push(t, ans, x)],
    [lambda ct, ans, x, rules, held: rules.pull(ct, ans, x)],
    name="solution",
)


def solution(answer: Any, operands: Sequence[Any], push: Push, pull: Pull, users: Sequence[Any] | None = None) -> Any:
    """A value that was computed from plain numbers, as a function of the operands that those were the values of.

    Args:
        answer: the value, an array or a number.
        operands: numbers, arrays and tracers.
        push: `(tangents, ans, operands)` -> the tangent of the answer; a tangent is None where the operand is constant.
        pull: `(ct, ans, operands, wanted)` -> a cotangent for each operand, of its shape; anything where it is not wanted.
        users: functions of the user's that the two call, whose arrays must stay what they are; looked for in the two if it is not given.

    Returns:
        The answer: a tracer if an operand is. The rules get tracers when they are to be differentiated themselves.

    Example:
        >>> from funcgrad import grad
        >>> def root(x):
        ...     slope = lambda t, ans: t / (2.0 * ans)
        ...     value = 3.0  # which a solver found for x = 9
        ...     return solution(value, [x], lambda ts, ans, xs: slope(ts[0], ans), lambda ct, ans, xs, wanted: [slope(ct, ans)])
        >>> grad(root)(9.0), grad(grad(root))(9.0) == -1 / 108
        (0.16666666666666666, True)
    """
    return _of_one_example(answer, operands, push, pull, [push, pull] if users is None else users)


def _of_operands(answer: Any, operands: Sequence[Any], push: Push, pull: Pull, users: Sequence[Any]) -> Any:
    traced = [one for one in operands if type(one) is Tracer]
    if not traced:
        return answer
    vector = tree.ravel(traced)[0]
    return _solution(vector, _Rules(raw(answer), operands, push, pull), tuple(held_in(users, vector._scope)))


_of_one_example = by_examples(_of_operands)


class Arguments(Own):
    """Further arguments of a function that a solver calls, trees of anything, whose traced leaves are operands of the solution.

    Attributes:
        plain: the arguments with plain values.
        operands: the leaves that are traced, or staged.
    """

    def __init__(self, args: tuple[Any, ...]) -> None:
        leaves, self._treedef = tree.flatten(args)
        self._places = [n for n, leaf in enumerate(leaves) if type(leaf) in (Tracer, Staged)]
        self._constants = [_kept(leaf) for leaf in leaves]
        self.operands = [leaves[n] for n in self._places]
        self.plain: tuple[Any, ...] = tree.unflatten(self._treedef, [raw(leaf) for leaf in leaves])

    def filled(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with other values for the operands."""
        arguments: tuple[Any, ...] = tree.unflatten(self._treedef, replaced(self._constants, self._places, operands))
        return arguments


@contextlib.contextmanager
def outside(user: str) -> Iterator[None]:
    """Run a solver outside of all open transforms: those that its functions use are outermost, as they would be without us.

    Raises:
        ConcretizationError: a function of the user's mixes traced values from outside with those of its own transforms.
    """
    scope, thread.scope = thread.scope, None
    try:
        yield
    except StaleTracerError as error:
        raise _closed_over(user) from error
    finally:
        thread.scope = scope


def _closed_over(user: str) -> ConcretizationError:
    """The error for a function that brings traced values of its own: a solver that calls it would drop their derivatives."""
    return closed_over(f"the function given to {user}", "through args")


def checked(f: Callable[..., Any], user: str) -> Callable[..., Any]:
    """A function of the user's as a solver is to call it.

    Raises:
        ConcretizationError: it gives a tracer, or a mapped value, for plain arguments.
    """

    @functools.wraps(f)
    def plain(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        kinds = set(map(type, tree.leaves(result)))
        if Mapped in kinds:
            raise ConcretizationError(
                f"the function given to {user} uses a value of the code around it that is mapped, while {user} sees one example: pass it "
                "through args"
            )
        if Tracer in kinds:
            raise _closed_over(user)
        return result

    return plain


def scale_of(directions: Sequence[Any]) -> float:
    """The size of a direction, a power of 2, by which it is divided for a solver: absolute tolerances are for numbers about 1."""
    largest = max((float(np.max(np.abs(raw(one)), initial=0.0)) for one in directions), default=0.0)
    return 2.0 ** round(math.log2(largest)) if 0.0 < largest < math.inf else 1.0
