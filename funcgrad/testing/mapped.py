"""`check_vmap`: a mapped function held against a loop over its examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import CheckError, InputTypeError
from funcgrad.testing.checkers import tolerance_of
from funcgrad.transforms.arguments import at, named
from funcgrad.transforms.batching import Examples, vmap


def check_vmap(f: Callable[..., Any], args: Any, in_axes: Any = 0, *, atol: float | None = None, rtol: float | None = None) -> None:
    """Check that `vmap(f, in_axes)` gives what a loop over the examples does.

    Args:
        f: function of one example: numbers, arrays and trees of them, with outputs likewise. It may be a derivative.
        args: tuple with f's arguments, those that are mapped with the axis of the examples.
        in_axes: as for `vmap`.
        atol: absolute tolerance; by default that of the output's dtype, 1e-6 for float64.
        rtol: relative tolerance, likewise.

    Raises:
        CheckError: a structure, shape, dtype or number differs; says where.
        InputTypeError: args is no tuple, or there is no example.

    Example:
        >>> from funcgrad import grad
        >>> check_vmap(grad(lambda x: np.sum(np.sort(x) ** 2)), (np.array([[3.0, 1.0], [2.0, 5.0]]),))
    """
    name = f"check_vmap of {named(f)}"
    if not isinstance(args, tuple | list):
        got = type(args).__name__
        raise InputTypeError(f"{name}: args must be a tuple with an entry for each argument of f, got {got}: write (x,) for one")
    examples = Examples(name, in_axes, tuple(args), {})
    if not examples.size:
        raise InputTypeError(f"{name}: there is no example to compare")
    got = vmap(f, in_axes)(*args)
    leaves, treedef = tree.flatten(got)
    for n in range(examples.size):
        expected = f(*examples.example(n)[0])
        wanted, found = tree.flatten(expected)
        if found != treedef:
            raise CheckError(f"{name}: the mapped output has the structure {treedef}, that of example {n} {found}")
        for path, one, other in zip(treedef.paths(), leaves, wanted, strict=True):
            check_same(f"{name}: the output{at(path)}, example {n}", one[n], other, "f of that example", atol, rtol)


def check_same(where: str, got: Any, wanted: Any, what: str, atol: float | None, rtol: float | None) -> None:
    """Check that a leaf is what another way to it gives: shape, dtype, numbers. NaN is equal to NaN.

    Raises:
        CheckError: it is not.
    """
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise CheckError(f"{where}: expected shape {wanted.shape} and dtype {wanted.dtype}, got {got.shape} and {got.dtype}")
    own = tolerance_of(wanted)
    allowed = {"atol": own if atol is None else atol, "rtol": own if rtol is None else rtol}
    if not np.allclose(got, wanted, equal_nan=True, **allowed):
        with np.errstate(all="ignore"):
            worst = float(np.nanmax(np.abs(got - wanted)))
        raise CheckError(f"{where}: differs by {worst:.3g} from {what}")
