"""`stop_gradient`: values that count as constants."""

from __future__ import annotations

from typing import Any

from funcgrad import tree
from funcgrad.mapped import TRACERS, Mapped
from funcgrad.tracer import Tracer


def stop_gradient(x: Any) -> Any:
    """x with derivative zero, in every mode and order.

    Args:
        x: a number, an array, or a tree of them.

    Returns:
        The plain values; those of tracers read-only.

    Raises:
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: x * stop_gradient(x))(3.0)
        3.0
    """
    return tree.map(_stopped, x)


def _stopped(leaf: Any) -> Any:
    """The plain value of a number or an array; a mapped value may hold tracers of the code around the mapping."""
    while type(leaf) is Tracer:
        leaf = leaf.value
    return Mapped(_stopped(leaf._primal), leaf._scope) if type(leaf) is Mapped and type(leaf._primal) in TRACERS else leaf
