"""What filters see beyond the edges of an array, and the transpose of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops.indexing import scatter
from funcgrad.rules.values import shape_of

Widths = Sequence[tuple[int, int]]


def _places(shape: tuple[int, ...], widths: Widths, mode: str) -> tuple[np.ndarray, ...]:
    along = [np.pad(np.arange(size), width, mode) for size, width in zip(shape, widths, strict=True)]  # type: ignore[call-overload]
    return np.ix_(*along)


def extended(x: Any, widths: Widths, mode: str) -> Any:
    """np.pad of all axes; `mode` is one of "constant" (zeros), "edge", "reflect", "symmetric", "wrap"."""
    if mode == "constant":
        return np.pad(x, tuple(widths))
    return x[_places(shape_of(x), widths, mode)]


def folded(ct: Any, shape: tuple[int, ...], widths: Widths, mode: str) -> Any:
    """The transpose of `extended`: what lies beyond the edges is added to where it came from."""
    if mode == "constant":
        return ct[tuple(slice(before, before + size) for (before, _), size in zip(widths, shape, strict=True))]
    return scatter(ct, shape, _places(shape, widths, mode))
