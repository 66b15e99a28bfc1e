"""Each transform twice: as funcgrad has it, and by hand. Both make a function of the same arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from funcgrad import (
    checkpoint,
    checkpoint_name,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    save_only_these_names,
    tree,
    vjp,
    vmap,
)
from tests.compositions import by_hand
from tests.compositions.by_hand import EXAMPLES, direction, weights

Plain = Callable[..., Any]


@dataclass(frozen=True)
class Transform:
    """A transform.

    Attributes:
        by_funcgrad: from a function to a function.
        by_hand: from a function by hand to one; None if it changes nothing.
        order: how many derivatives it takes.
        axes: from the number of arguments to the axes of the examples in them, where it asks for such.
    """

    by_funcgrad: Callable[[Plain], Plain]
    by_hand: Callable[[by_hand.Function], by_hand.Function] | None
    order: int = 0
    axes: Callable[[int], tuple[int | None, ...]] | None = None

    def args(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments for the transformed function, out of those for the function: examples that differ, where it asks for such."""
        if self.axes is None:
            return args
        rng = np.random.default_rng(0)

        def examples(leaf: Any, axis: int) -> np.ndarray:
            return np.stack([leaf + rng.integers(-32, 33, np.shape(leaf)) / 256 for _ in range(EXAMPLES)], axis)

        pairs = zip(args, self.axes(len(args)), strict=True)
        return tuple(arg if axis is None else tree.map(partial(examples, axis=axis), arg) for arg, axis in pairs)


def total(value: Any) -> Any:
    """One number made of any output."""
    return sum(np.sum(leaf * weights(np.shape(leaf))) for leaf in tree.leaves(value))


def directions(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tree.map(lambda leaf: direction(leaf.shape) if np.shape(leaf) else float(direction(())), args)


def of_total(f: Plain) -> Plain:
    return grad(lambda *args: total(f(*args)))


def pulled(f: Plain) -> Plain:
    def pullback_of(*args: Any) -> Any:
        value, pullback = vjp(f, *args)
        return pullback(tree.map(lambda leaf: weights(leaf.shape) if np.shape(leaf) else 1.0, value))

    return pullback_of


def linearized(f: Plain) -> Plain:
    return lambda *args: linearize(f, *args)[1](*directions(args))


def mapped(axes: Callable[[int], tuple[int | None, ...]], out_axis: int) -> Transform:
    def by_loop(f: by_hand.Function) -> by_hand.Function:
        return by_hand.over_examples(f, axes(len(f.places)), out_axis)

    return Transform(lambda f: lambda *args: vmap(f, axes(len(args)), out_axis)(*args), by_loop, axes=axes)


def closed_over(f: Plain) -> Plain:
    """Of a function of the first argument, that finds the others around it; what it makes of the first one is kept."""
    policy = save_only_these_names("first")

    def closure_of(first: Any, *rest: Any) -> Any:
        doubled = checkpoint(lambda first: f(checkpoint_name(tree.map(lambda leaf: 0.5 * leaf, first), "first"), *rest), policy)
        return doubled(tree.map(lambda leaf: 2.0 * leaf, first))

    return closure_of


def with_jvp_rule(f: Plain) -> Plain:
    own = custom_jvp(lambda *args: f(*args))
    own.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    return own


def with_vjp_rule(f: Plain) -> Plain:
    own = custom_vjp(lambda *args: f(*args))
    own.defvjp(lambda *args: (f(*args), args), lambda args, ct: vjp(f, *args)[1](ct))
    own.defjvp(lambda primals, tangents: jvp(f, primals, tangents))  # without it there is no forward mode
    return own


def hessian_by_hand(f: by_hand.Function) -> by_hand.Function:
    return LAST_JACOBIAN(LAST_JACOBIAN(f))


GRADIENT = partial(by_hand.gradient, arguments=[0])
FIRST_JACOBIAN, LAST_JACOBIAN = partial(by_hand.jacobian, argument=0), partial(by_hand.jacobian, argument=-1)

TRANSFORMS = {
    "grad": Transform(of_total, GRADIENT, 1),
    "vjp": Transform(pulled, lambda f: by_hand.gradient(f, range(len(f.places))), 1),
    "jvp": Transform(lambda f: lambda *args: jvp(f, args, directions(args))[1], by_hand.tangent, 1),
    "linearize": Transform(linearized, by_hand.tangent, 1),
    "jacfwd": Transform(lambda f: jacfwd(f, -1), LAST_JACOBIAN, 1),
    "jacrev": Transform(lambda f: jacrev(f, 0), FIRST_JACOBIAN, 1),
    "hessian": Transform(lambda f: hessian(f, -1), hessian_by_hand, 2),
    "vmap of the first": mapped(lambda count: (0, *[None] * (count - 1)), 0),
    "vmap of the last": mapped(lambda count: (*[None] * (count - 1), -1), -1),
    "vmap of all": mapped(lambda count: (0,) * count, 0),
    "checkpoint": Transform(checkpoint, None),
    "checkpoint of a closure": Transform(closed_over, None),
    "custom_jvp": Transform(with_jvp_rule, None),
    "custom_vjp": Transform(with_vjp_rule, None),
}
