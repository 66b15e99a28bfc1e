"""`stop_gradient`: values that count as constants."""

from __future__ import annotations

from typing import Any

from funcgrad import tree
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
    return tree.map(lambda leaf: leaf.value if type(leaf) is Tracer else leaf, x)
