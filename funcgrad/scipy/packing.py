"""Trees as the vectors that SciPy's solvers work on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import TreeError
from funcgrad.mapped import TRACERS
from funcgrad.ops.arrays.creation import asarray
from funcgrad.rules.values import is_complex, raw, real_part, shape_of


def as_vector(value: Any) -> Any:
    """A number, an array, or a list of numbers, as a vector of double precision; fresh, for a solver may use the memory of its own anew."""
    vector = np.ravel(asarray(value))
    return vector.astype(np.promote_types(vector.dtype, np.float64))


def _as_number(part: Any) -> Any:
    """A Python float, where that is possible."""
    return part if type(part) in TRACERS or is_complex(part) else float(part)


class Packing:
    """A value and the vector of its numbers.

    What SciPy takes for a vector is one: a number, an array of one axis, a list or tuple of numbers. Anything else is a tree of arrays.

    Attributes:
        vector: of double precision; a tracer if a leaf is.
        is_tree: whether the value is not that vector itself.
    """

    def __init__(self, value: Any) -> None:
        leaves, self._treedef = tree.flatten(value)
        self._shapes = [np.shape(raw(leaf)) for leaf in leaves]
        if self._treedef == tree.LEAF:
            self.is_tree = len(self._shapes[0]) > 1
        else:
            self.is_tree = type(value) not in (list, tuple) or len(leaves) != len(value) or any(self._shapes)
        self._kinds = [(type(raw(leaf)) in (float, int), is_complex(raw(leaf))) for leaf in leaves]
        if not self.is_tree:
            self.vector = as_vector(value)
        else:
            self.vector = np.concatenate([as_vector(leaf) for leaf in leaves]) if leaves else np.zeros(0)

    def restored(self, vector: Any) -> Any:
        """The value of which this is the vector."""
        if not self.is_tree:
            return vector
        parts = [np.reshape(part, shape) for part, shape in zip(self._split(vector), self._shapes, strict=True)]
        return self._rebuilt([_as_number(part) if is_number else part for part, (is_number, _) in zip(parts, self._kinds, strict=True)])

    def restored_along(self, vectors: Any, axis: int) -> Any:
        """The values of which these are the vectors, one for each index of the given axis, 0 or 1; that axis comes first or last."""
        if not self.is_tree:
            return vectors
        many = shape_of(vectors)[axis : axis + 1]
        shapes = [many + shape if axis == 0 else shape + many for shape in self._shapes]
        parts = self._split(vectors.T if axis == 0 else vectors)
        return self._rebuilt([np.reshape(part.T if axis == 0 else part, shape) for part, shape in zip(parts, shapes, strict=True)])

    def _split(self, vector: Any) -> list[Any]:
        parts, start = [], 0
        for shape in self._shapes:
            size = math.prod(shape)
            parts.append(vector[start : start + size])
            start += size
        return parts

    def _rebuilt(self, leaves: list[Any]) -> Any:
        leaves = [leaf if was_complex else real_part(leaf) for leaf, (_, was_complex) in zip(leaves, self._kinds, strict=True)]
        return tree.unflatten(self._treedef, leaves)

    def packed(self, value: Any, what: str) -> Any:
        """The vector of another value of the same structure.

        Raises:
            TreeError: it is of another structure.
        """
        if not self.is_tree:
            return as_vector(value)
        leaves, treedef = tree.flatten(value)
        shapes = [np.shape(raw(leaf)) for leaf in leaves]
        if treedef != self._treedef or shapes != self._shapes:
            raise TreeError(f"{what} must be a tree like {self._treedef} with leaves of shapes {self._shapes}, got {treedef} with {shapes}")
        return np.concatenate([as_vector(leaf) for leaf in leaves]) if leaves else np.zeros(0)
