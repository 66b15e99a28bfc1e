"""The kind of primitives whose value is a function's own, bit for bit, and whose derivative is that of a composition of other operations.

For functions that are easily composed, but whose composition would give other last bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.primitive import Operation
from funcgrad.rules.batching import BatchRule
from funcgrad.rules.general import general
from funcgrad.rules.replayed import rules_of


def composed(
    function: Callable[..., Any],
    composition: Callable[..., Any],
    arrays: int = 1,
    name: str | None = None,
    batch: BatchRule | None = None,
) -> Operation:
    """Define a primitive by a function that gives the value and a composition that gives the derivatives, to any order.

    Args:
        function: gives the value.
        composition: the same function of the same arguments, written with differentiable operations; equal to rounding.
        arrays: how many of the first arguments may be tracers; the others and the keywords are static.
        name: the primitive's, if not the function's.
        batch: as for `general`.

    Returns:
        The operation.

    Raises:
        InputValueError: another module has a primitive of that name.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> norm = composed(lambda x: np.sqrt(x.dot(x)), lambda x: np.sqrt(np.sum(x * x)), name="euclidean_length")
        >>> print(grad(norm)(np.array([3.0, 4.0])))
        [0.6 0.8]
    """
    return general(function, *rules_of(composition, arrays), name=name, batch=batch)
