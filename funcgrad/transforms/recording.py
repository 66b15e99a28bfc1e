"""Recording a function for a replay: what all transforms that keep records share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.mapped import OPEN, TRACERS, across
from funcgrad.replay import Slice, end_keeping, new_leaf, new_leaves, open_keeping, outward, watch
from funcgrad.rules.values import is_array, raw
from funcgrad.tape import Label, Scope, close_scope, cut_scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import FLOAT64, at, fitting, kind_of, leaf, settled
from funcgrad.transforms.linearized import Linearized

_LEAVES = frozenset({float, int, np.ndarray, np.float64, *TRACERS})
"""Types of arguments that are a leaf, known without asking the tree."""


def record(
    scope: Scope, f: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], places: Sequence[int]
) -> tuple[Any, Slice, list[Any], list[Any]]:
    """Run f with tracers in the given places, in a scope that is closed whatever happens.

    Returns:
        f's output, the slice, the leaves, and the structure of each argument that was traced (None for a bare leaf).
    """
    try:
        records = scope.records
        if OPEN:
            for place in places:
                args[place] = tree.map(lambda value: across(scope, value), args[place])
        start = len(records)
        leaves: list[Any] = []
        treedefs: list[Any] = []
        for place in places:
            argument = args[place]
            if type(argument) in _LEAVES:
                value = leaf(argument, scope.name, place, argument)
                args[place] = new_leaf(scope, value)
                leaves.append(value)
                treedefs.append(None)
            else:
                found, treedef = tree.flatten(argument)
                for n, value in enumerate(found):
                    if type(value) is not ndarray or value.dtype is not FLOAT64:
                        found[n] = leaf(value, scope.name, place, argument)
                leaves += found
                args[place] = tree.unflatten(treedef, new_leaves(scope, found))
                treedefs.append(treedef)
        output = f(*args, **kwargs)
    finally:
        close_scope(scope)
    return output, Slice(records, start, len(leaves), scope.parent), leaves, treedefs


def rebuilt(leaves: list[Any], treedefs: list[Any]) -> list[Any]:
    """A tree for each traced argument out of all their leaves."""
    trees = []
    start = 0
    for treedef in treedefs:
        if treedef is None:
            trees.append(leaves[start])
            start += 1
        else:
            trees.append(tree.unflatten(treedef, leaves[start : start + treedef.num_leaves]))
            start += treedef.num_leaves
    return trees


def with_aux(name: str, output: Any) -> tuple[Any, Any]:
    """The pair that a function with has_aux=True must return.

    Raises:
        InputTypeError: it returned something else.
    """
    if type(output) is not tuple or len(output) != 2:
        got = f"a tuple of {len(output)}" if type(output) is tuple else type(output).__name__
        raise InputTypeError(f"{name} with has_aux=True needs a function that returns (output, aux), got {got}")
    return output


def output_leaves(name: str, output: Any) -> tuple[list[Any], tree.TreeDef]:
    """The leaves of an output that has derivatives, Python ints as floats, and its structure.

    Raises:
        InputTypeError: a leaf is no floating-point number or array.
    """
    found, treedef = tree.flatten(output)
    for n, value in enumerate(found):
        plain = raw(value)
        if type(plain) is int:
            found[n] = float(plain)
        elif type(plain) is complex:
            found[n] = np.complex128(plain)
        elif type(plain) is not float and not (is_array(plain) and plain.dtype.kind in "fc"):
            path = tree.flatten_with_path(output)[0][n][0]
            raise InputTypeError(
                f"{name}: the output{at(path)} is {kind_of(plain)}, which has no derivative: return it as aux, with has_aux=True"
            )
    return found, treedef


class Kept:
    """A function's records, kept for any number of replays, with its output as plain values (or tracers of the scope around).

    Attributes:
        piece: the slice.
        leaves, treedefs: the inputs, flat, and the structure of each traced argument (None for a bare leaf).
        value, aux: the output, and what f returned beside it.
        outputs, out_tree: the leaves of the output (only their shapes and dtypes matter) and its structure.
        traced: (number, position) of each output leaf that depends on the inputs.
        values: of all records by position, if they were watched.
    """

    __slots__ = ("_linearized", "aux", "leaves", "out_tree", "outputs", "piece", "traced", "treedefs", "value", "values")

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any] | None = None,
        places: Sequence[int] | None = None,
        has_aux: bool = False,
        is_watched: bool = False,
    ) -> None:
        scope = open_keeping(Label(name))
        self.values = watch(scope) if is_watched else {}
        kept: Slice | None = None
        try:
            traced = range(len(args)) if places is None else places
            output, piece, self.leaves, self.treedefs = record(scope, f, list(args), kwargs or {}, traced)
            output, aux = with_aux(name, output) if has_aux else (output, None)
            found, self.out_tree = output_leaves(name, output)
            piece.keep()
            parent = piece.scope
            self.traced = [(n, one._index) for n, one in enumerate(found) if type(one) is Tracer and one._scope is scope]
            self.outputs = [_detached(one, scope, parent) for one in found]
            self.value = tree.unflatten(self.out_tree, self.outputs)
            self.aux = tree.map(lambda one: _detached(one, scope, parent), aux) if has_aux else None
            self.piece = kept = piece
            self._linearized = Linearized(piece, [index for _, index in self.traced])
        finally:
            end_keeping(scope, kept)
        if parent is None:
            cut_scope(scope)

    def pull(self, name: str, ct: Any) -> list[Any]:
        """A tree of cotangents for each traced argument, for one of the output. `name` is whom errors speak of."""
        seeds = fitting(name, "cotangent", ct, self.out_tree, self.outputs)
        found = self.piece.backward([(index, seeds[n]) for n, index in self.traced])
        return rebuilt(settled(found, self.leaves, seeds), self.treedefs)

    def push(self, name: str, tangents: Sequence[Any]) -> Any:
        """The tree of tangents of the output, for one of each traced argument. `name` is whom errors speak of."""
        directions = directions_of(name, tangents, self.treedefs, self.leaves)
        return pushed(self._linearized, directions, self.outputs, self.out_tree, self.traced)


def directions_of(name: str, tangents: Sequence[Any], treedefs: list[Any], leaves: list[Any], what: str = "tangent") -> list[Any]:
    """The leaves of a tangent for each traced argument.

    Raises:
        InputValueError, TreeError, InputTypeError: their number, structures, shapes or dtypes do not fit.
    """
    if len(tangents) != len(treedefs):
        wanted = f"{len(treedefs)} {what}s" if what == "tangent" else f"a {what} of {len(treedefs)} parts"
        raise InputValueError(f"{name} takes {wanted}, got {len(tangents)}")
    directions: list[Any] = []
    for n, (tangent, treedef) in enumerate(zip(tangents, treedefs, strict=True)):
        known = tree.LEAF if treedef is None else treedef
        start = len(directions)
        place = f"{what} {n}" if len(tangents) > 1 else what
        directions += fitting(name, place, tangent, known, leaves[start : start + known.num_leaves])
    return directions


def pushed(
    linear: Callable[[Sequence[Any]], list[Any]],
    directions: list[Any],
    outputs: list[Any],
    out_tree: tree.TreeDef,
    traced: list[tuple[int, int]],
) -> Any:
    """The tree of tangents of the output for tangents of the leaves, which `linear` makes into those of the traced outputs."""
    found: list[Any] = [None] * len(outputs)
    for (n, _), one in zip(traced, linear(directions), strict=True):
        found[n] = one
    return tree.unflatten(out_tree, settled(found, outputs, directions))


def _detached(value: Any, scope: Scope, parent: Scope | None) -> Any:
    """A result that the user may change in place, though a record keeps it."""
    plain = outward(value, scope, parent)
    return plain.copy() if type(plain) is np.ndarray and type(value) is Tracer else plain
