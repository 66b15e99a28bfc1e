"""`linear_transpose`: a linear function backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputValueError
from funcgrad.mapped import inmost
from funcgrad.rules.values import raw, shape_of
from funcgrad.staged import Staged
from funcgrad.transforms.arguments import FLOAT64, at, checked_function, leaf, named
from funcgrad.transforms.recording import Kept, output_leaves


def linear_transpose(f: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function.

    Args:
        f: linear function of numbers, arrays and trees of them, with outputs likewise; linear in all arguments together.
        *primals: f's arguments. Only their structure, shapes and dtypes matter; anything with shape and dtype stands for an array.

    Returns:
        A function of a cotangent, of the structure, shapes and dtypes of f's output, that gives a tuple with a cotangent for each
        argument. The matrix of the one is the transpose of the other's (without conjugates).

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        InputValueError: f is not linear: it was tried at random points, their negatives and multiples.
        TreeError, InputValueError, InputTypeError: from the transpose, if the cotangent does not fit the output.
        NoRuleError: an operation of f that has no rule.

    Example:
        >>> transpose = linear_transpose(lambda x, y: 2.0 * x + np.sum(y), 0.0, np.zeros(3))
        >>> transpose(1.0)
        (2.0, array([1., 1., 1.]))
    """
    checked_function(f, "linear_transpose")
    name = f"linear_transpose of {named(f)}"
    rng = np.random.default_rng(0)
    points, others = (tuple(_random(primal, rng, name, n) for n, primal in enumerate(primals)) for _ in range(2))
    kept = Kept(name, f, points)
    for trial in (others, *(tree.map(lambda point, change=change: _changed(point, change), points) for change in _CHANGES)):
        _check_linear(name, f, kept, trial)

    def transpose(ct: Any) -> tuple[Any, ...]:
        """Cotangents of the arguments for a cotangent of the output."""
        return tuple(kept.pull(name, ct))

    return transpose


def _random(primal: Any, rng: np.random.Generator, name: str, argument: int) -> Any:
    """A random point of the space of an argument."""

    def drawn(value: Any) -> Any:
        value = raw(value)
        if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "shape") and hasattr(value, "dtype"):
            value = np.zeros(value.shape, value.dtype)
        value = raw(leaf(value, name, argument, primal))
        if type(value) is float:
            return float(rng.normal())
        point = rng.normal(size=value.shape)
        if value.dtype.kind == "c":
            point = point + 1j * rng.normal(size=value.shape)
        return np.asarray(point, value.dtype)[()] if isinstance(value, np.generic) else np.asarray(point, value.dtype)

    return tree.map(drawn, primal)


_CHANGES: tuple[Callable[[Any], Any], ...] = (
    lambda point: -point,  # for functions that are positively homogeneous, as abs is
    lambda point: np.roll(point, 1),  # and odd, as the median is
    lambda point: 64.0 * point,  # for what is linear near zero, as np.clip is
    lambda point: point / 64.0,  # or far from it
)
"""What is tried beside another random point."""


def _changed(point: Any, change: Callable[[Any], Any]) -> Any:
    """A point made another one of the same space."""
    if isinstance(point, np.ndarray):
        return np.asarray(change(point), point.dtype)
    return type(point)(np.asarray(change(point))[()])


def _check_linear(name: str, f: Callable[..., Any], kept: Kept, others: tuple[Any, ...]) -> None:
    """f at another point must be its derivative at the first, applied to that.

    Raises:
        InputValueError: it is not.
    """
    values, treedef = output_leaves(name, f(*others))
    pushed = tree.leaves(kept.push(name, others))
    if treedef != kept.out_tree:
        raise InputValueError(f"{name}: the structure of the output depends on the values of the arguments")
    for path, one, other in zip(treedef.paths(), values, pushed, strict=True):
        if type(inmost(one)) is Staged or type(inmost(other)) is Staged:
            continue  # a program cannot look
        value, image = np.asarray(inmost(one)), np.asarray(inmost(other))
        if shape_of(one) != shape_of(other):
            raise InputValueError(f"{name}: the shape of the output depends on the values of the arguments")
        dtype = FLOAT64 if value.dtype.kind not in "fc" else value.dtype
        scale = np.max(np.abs(image), initial=0.0) + np.max(np.abs(value), initial=0.0)
        rounding = np.finfo(dtype).eps * sum(float(np.sum(np.abs(np.asarray(inmost(leaf))))) for leaf in tree.leaves(others))
        if np.any(np.abs(value - image) > np.sqrt(np.finfo(dtype).eps) * scale + rounding):
            raise InputValueError(
                f"{name}: the function is not linear: its output{at(path)} is not the derivative times the argument. "
                "For the derivative of any function at a point, use vjp"
            )
