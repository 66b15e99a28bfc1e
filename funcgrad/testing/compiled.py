"""Compiled functions held against the functions themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import CheckError, InputTypeError
from funcgrad.testing.mapped import check_same
from funcgrad.transforms.arguments import at, named
from funcgrad.transforms.compile import jit


def check_jit(f: Callable[..., Any], args: Any, *, atol: float | None = None, rtol: float | None = None) -> None:
    """Check that `jit(f)` gives what f does: at the arguments, at others near them by the same program, and at the arguments again.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise. It may be a derivative.
        args: tuple with f's arguments; floating-point numbers in them are moved by a thousandth for the others.
        atol: absolute tolerance; by default that of the output's dtype, 1e-6 for float64.
        rtol: relative tolerance, likewise.

    Raises:
        CheckError: a structure, shape, dtype or number differs; says where.
        ConcretizationError: f depends on a value.
        InputTypeError: args is no tuple.

    Example:
        >>> from funcgrad import grad
        >>> check_jit(grad(lambda x: np.sum(np.sort(x) ** 2)), (np.array([3.0, 1.0]),))
    """
    name = f"check_jit of {named(f)}"
    if not isinstance(args, tuple | list):
        got = type(args).__name__
        raise InputTypeError(f"{name}: args must be a tuple with an entry for each argument of f, got {got}: write (x,) for one")
    program, elsewhere = jit(f), tree.map(_moved, tuple(args))
    for point, given in (("the arguments", args), ("others near them", elsewhere), ("the arguments again", args)):
        leaves, treedef = tree.flatten(program(*given))
        wanted, found = tree.flatten(f(*given))
        if found != treedef:
            raise CheckError(f"{name}, at {point}: the structure of the output is {found}, the program gives {treedef}")
        for path, one, other in zip(treedef.paths(), leaves, wanted, strict=True):
            check_same(f"{name}: the output{at(path)}, at {point}", one, other, "f without jit", atol, rtol)


def _moved(leaf: Any) -> Any:
    is_array = isinstance(leaf, (np.ndarray, np.generic))
    if isinstance(leaf, float) or (is_array and leaf.dtype.kind in "fc"):
        moved = leaf * (1.0 + 1e-3)
        return moved.astype(leaf.dtype) if is_array else moved
    return leaf
