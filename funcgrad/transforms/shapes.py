"""`eval_shape`: the shapes and dtypes of a function's output, without its numbers.

A mapping of no example has every shape and no number: f runs on its values.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.mapped import TRACERS, Mapped, mapping_scope
from funcgrad.rules.values import is_array, is_numeric
from funcgrad.silence import quietly
from funcgrad.tape import Label
from funcgrad.transforms.arguments import checked_function, named


@dataclasses.dataclass(frozen=True)
class ShapeDtypeStruct:
    """An array without its numbers.

    Attributes:
        shape: a tuple of integers.
        dtype: NumPy's.

    Raises:
        InputValueError: a size is negative.
        TypeError: (Python's) a size is no integer.

    Example:
        >>> ShapeDtypeStruct((2, 3), np.float32).ndim
        2
    """

    shape: tuple[int, ...]
    dtype: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(map(operator.index, self.shape)))
        if min(self.shape, default=0) < 0:
            raise InputValueError(f"ShapeDtypeStruct: sizes must not be negative, got the shape {self.shape}")
        object.__setattr__(self, "dtype", np.dtype(self.dtype))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


def eval_shape(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of f's output, without its numbers.

    f runs on arrays of no examples (see `vmap`), and NumPy has nothing to compute. Where it has no function for many examples at once, as
    for `np.convolve`, or where a solver is called, that runs on numbers that are made up, with the time and memory that it takes for
    arrays of these shapes.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise, also one made by a transform.
        *args: its arguments; in place of an array anything with a shape and a dtype may stand, as `ShapeDtypeStruct` does. Python numbers
            and all that is no array are passed on as they are.
        **kwargs: likewise.

    Returns:
        The output's tree with a `ShapeDtypeStruct` for each leaf. Python numbers count as NumPy's of shape ().

    Raises:
        InputTypeError: an output leaf is no number and no array.
        ConcretizationError: the shapes depend on values: f uses bool(x), float(x) or x[x > 0] of an array.

    Example:
        >>> from funcgrad import grad
        >>> eval_shape(lambda x, y: x @ y, ShapeDtypeStruct((1000, 200), float), np.ones(200))
        ShapeDtypeStruct(shape=(1000,), dtype=dtype('float64'))
        >>> eval_shape(grad(lambda p: np.sum(p["w"] ** 2)), {"w": np.ones((2, 3), np.float32)})
        {'w': ShapeDtypeStruct(shape=(2, 3), dtype=dtype('float32'))}
    """
    checked_function(f, "eval_shape")
    name = f"eval_shape of {named(f)}"
    with mapping_scope(Label(name), 0) as scope:

        def abstract(value: Any) -> Any:
            if type(value) in TRACERS or is_array(value) or (hasattr(value, "shape") and hasattr(value, "dtype")):
                return Mapped(np.empty((0, *value.shape), value.dtype), scope)
            return value

        args, kwargs = tree.map(abstract, (args, kwargs))
        output = quietly(lambda: f(*args, **kwargs))
        leaves, treedef = tree.flatten(output)
        return tree.unflatten(treedef, [_described(name, leaf) for leaf in leaves])


def _described(name: str, leaf: Any) -> ShapeDtypeStruct:
    if type(leaf) not in TRACERS:
        if not is_numeric(leaf):
            raise InputTypeError(f"{name}: an output is {leaf!r:.60} ({type(leaf).__name__}), which has no shape and dtype")
        leaf = np.asarray(leaf)
    return ShapeDtypeStruct(leaf.shape, leaf.dtype)
