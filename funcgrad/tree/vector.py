"""A tree of numbers as one vector and back: what optimizers and linear algebra want.

Written with plain NumPy calls on leaves, so that it works on whatever dispatches them; must not know tracers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.tree.functions import flatten_with_path
from funcgrad.tree.treedef import unflatten


def _restorer(path: str, leaf: Any) -> tuple[int, Callable[[Any, bool], Any]]:
    """The number of elements of a leaf, and a function (its part of a vector, whether that is a raw array) -> leaf."""
    if type(leaf) in (float, int, complex):
        scalar: Any = complex if type(leaf) is complex else float
        return 1, lambda part, is_raw: scalar((part if scalar is complex else part.real)[0]) if is_raw else part[0]
    shape = getattr(leaf, "shape", None)
    dtype = getattr(leaf, "dtype", None)
    if shape is None or dtype is None or dtype.kind not in "biufc":
        got = type(leaf).__name__ if dtype is None else f"{type(leaf).__name__} of dtype {dtype}"
        raise InputTypeError(f"ravel: the leaf at {path or 'the root'} is of type {got}; wanted numbers or numeric arrays.")
    size = 1
    for length in shape:
        size *= length
    is_whole = dtype.kind in "biu"

    def restore(part: Any, is_raw: bool) -> Any:
        if part.dtype.kind == "c" and dtype.kind != "c":
            part = part.real
        if is_raw:
            cast = part.astype(dtype)  # always a copy: a leaf must not change when the vector does
            if is_whole and not np.array_equal(cast, part):
                raise InputValueError(
                    f"unravel: the leaf at {path or 'the root'} has dtype {dtype}, but its part of the vector is not whole: {part}."
                )
            part = cast
        elif not is_whole and part.dtype != dtype:
            part = part.astype(dtype)
        return part[0] if isinstance(leaf, np.generic) else np.reshape(part, shape)

    return size, restore


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of a tree as one vector, and the way back.

    Args:
        tree: a tree of numeric arrays of any shape, of Python numbers, or of tracers.

    Returns:
        vector: shape (n,), of the leaves' common dtype; a copy.
        unravel: function from a vector of shape (n,) to a tree of the same structure, with the leaves' shapes and dtypes. From a raw vector
            a Python number comes back as a float (or complex) and integer arrays must still be whole. From a tracer a Python number comes
            back as an element of it, and parts of integer arrays keep its dtype.

    Raises:
        InputTypeError: a leaf that is not numeric; the message names its path.
        InputValueError: (unravel) the vector has another shape, or a part for an integer array is not whole.

    Example:
        >>> from funcgrad import tree
        >>> vector, unravel = tree.ravel({"w": np.ones((2, 1)), "b": 0.5})
        >>> vector.tolist()
        [0.5, 1.0, 1.0]
        >>> unravel(2 * vector)
        {'b': 1.0, 'w': array([[2.],
               [2.]])}
    """
    pairs, treedef = flatten_with_path(tree)
    restorers = [_restorer(path, leaf) for path, leaf in pairs]
    total = 0
    for size, _ in restorers:
        total += size

    def unravel(vector: Any) -> Any:
        if not hasattr(vector, "shape"):
            vector = np.asarray(vector)
        if tuple(vector.shape) != (total,):
            raise InputValueError(
                f"unravel: wanted a vector of shape {(total,)} for the structure {treedef.summary()}, got shape {tuple(vector.shape)}."
            )
        is_raw = isinstance(vector, np.ndarray)
        parts, start = [], 0
        for size, restore in restorers:
            parts.append(restore(vector[start : start + size], is_raw))
            start += size
        return unflatten(treedef, parts)

    return np.concatenate([np.ravel(leaf) for _, leaf in pairs]) if pairs else np.zeros(0), unravel
