"""The building blocks of optimizers that bound gradients: element by element, and all of them together by their norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError
from funcgrad.mapped import is_all, is_any
from funcgrad.optim.base import Optimizer, stateless
from funcgrad.optim.hyperparameters import number
from funcgrad.optim.leaves import absolute_square, computable, is_complex, like, plain, sqrt
from funcgrad.transforms.stop import stop_gradient

_WIDEST = {"f": np.float64, "F": np.complex128}  # by the dtype's character; other leaves are as wide already


def clip(max_delta: Any) -> Optimizer:
    """Bring every element into [-max_delta, max_delta].

    Args:
        max_delta: the bound, a number, at least 0.

    Returns:
        The optimizer; its state is an `EmptyState`.

    Raises:
        InputTypeError: a bound that is no number; (update) a complex gradient, which has no order; (init, update) a parameter or a gradient
            that is no number or array of a floating-point dtype; the message names the path.
        InputValueError: a bound that is negative, NaN or has axes; (update) a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> optim.clip(1.0).update([3.0, -0.2], optim.EmptyState())[0]
        [1.0, -0.2]
    """
    bound = number("clip", "max_delta", max_delta, 0.0)

    def transform(grads: Any) -> Any:
        leaves, treedef = tree.flatten(grads)
        gs = computable("clip", "gradient", leaves, treedef)
        for i, g in enumerate(gs):
            if is_complex(g):
                path = treedef.paths()[i] or "the root"
                raise InputTypeError(f"clip: the gradient at {path} is complex and has no order: use clip_by_global_norm.")
        return tree.unflatten(treedef, [like(_clipped(g, bound), leaf) for leaf, g in zip(leaves, gs, strict=True)])

    return stateless("clip", transform)


def _clipped(value: Any, bound: Any) -> Any:
    if type(value) is not float:
        return np.clip(value, -bound, bound)
    return bound if value > bound else -bound if value < -bound else value


def clip_by_global_norm(max_norm: Any) -> Optimizer:
    """Shorten all gradients by one factor, `min(1, max_norm / norm)`, where norm is the Euclidean norm over all leaves.

    Right also where the squares of the elements, or the norm itself, are out of the range of the dtype. With infinite gradients the
    norm is infinite: they become NaN, and the finite ones zero; with a NaN all become NaN.

    Args:
        max_norm: the bound, a number, at least 0.

    Returns:
        The optimizer; its state is an `EmptyState`.

    Raises:
        InputTypeError: a bound that is no number; (init, update) a parameter or a gradient that is no real or complex number or array; the
            message names the path.
        InputValueError: a bound that is negative, NaN or has axes; (update) a state that another transformation made.

    Example:
        >>> from funcgrad import optim
        >>> optim.clip_by_global_norm(1.0).update({"a": 3.0, "b": 4.0}, optim.EmptyState())[0]
        {'a': 0.6000000000000001, 'b': 0.8}

    References:
        Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, 2013.
    """
    bound = number("clip_by_global_norm", "max_norm", max_norm, 0.0)

    def transform(grads: Any) -> Any:
        leaves, treedef = tree.flatten(grads)
        gs = computable("clip_by_global_norm", "gradient", leaves, treedef)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # the range of the squares is looked at below
            square = _sum_of_squares(gs)
            # Within these limits nothing that counts is out of the range of float32, neither a square nor the factor.
            if type(square) is float and type(bound) is float and 1e-20 <= square < math.inf:
                norm = math.sqrt(square)
                if norm <= bound:
                    return grads
                if bound / norm >= 1e-20:
                    factor = bound / norm
                    return tree.unflatten(treedef, [like(factor * g, leaf) for leaf, g in zip(leaves, gs, strict=True)])
            return tree.unflatten(treedef, [like(found, leaf) for leaf, found in zip(leaves, _shortened(gs, bound), strict=True)])

    return stateless("clip_by_global_norm", transform)


def _sum_of_squares(leaves: list[Any]) -> Any:
    total: Any = 0.0
    for leaf in leaves:
        part = absolute_square(leaf)
        total = total + (part if type(part) is float else plain(np.sum(part)))
    return total


def _shortened(leaves: list[Any], bound: Any) -> list[Any]:
    """The leaves, of a norm of at most `bound`, without a number on the way that is out of range; without branches on tracers."""
    wide = [leaf if type(leaf) in (float, complex) else _widened(leaf) for leaf in leaves]
    unit = _power_of_two(wide)
    scaled = [leaf / unit for leaf in wide]
    square = _sum_of_squares(scaled)
    root = sqrt(plain(np.where(square == 0.0, 1.0, square)))
    factor = plain(np.minimum(unit, bound / root))
    return [leaf * factor for leaf in scaled]


def _widened(leaf: Any) -> Any:
    wanted = _WIDEST.get(leaf.dtype.char)
    return leaf if wanted is None else leaf.astype(wanted)


def _power_of_two(leaves: list[Any]) -> Any:
    """About the largest magnitude, and so that to divide by it is exact; 1 if there is none, or no finite one."""
    peak: Any = 0.0
    for leaf in stop_gradient(leaves):
        for part in (leaf.real, leaf.imag) if is_complex(leaf) else (leaf,):
            peak = np.maximum(peak, np.max(np.abs(part), initial=0.0))
    is_usable = (peak > 0.0) & (peak < np.inf)
    if not is_any(is_usable):
        return 1.0
    usable = peak if is_all(is_usable) else np.where(is_usable, peak, 1.0)
    unit = np.ldexp(np.ones_like(usable), np.frexp(usable)[1] - 1)
    return plain(unit) if unit.dtype == np.float64 else unit
