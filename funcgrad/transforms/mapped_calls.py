"""Calls that are one record, of functions of mapped values: the function of all examples, their axis in sight, takes their place.

A record made inside of a mapping outlives it: what it runs when it is replayed opens the mapping anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.mapped import Mapped, contents, is_mapped, mapping_scope
from funcgrad.rules.batching import unhidden
from funcgrad.rules.values import is_numeric
from funcgrad.tape import Scope
from funcgrad.transforms.calls import closed_over


def again(mapping: Scope) -> contextlib.AbstractContextManager[Scope]:
    """A mapping of as many examples as another, of its name."""
    return mapping_scope(mapping.label, mapping.size or 0)


def in_sight(value: Any, scope: Scope) -> Any:
    """A tree whose numbers and arrays have the axis of the examples in front."""
    return tree.map(lambda one: unhidden(one, scope) if is_numeric(one) else one, value)


def in_sight_again(what: str, value: Any, scope: Scope, mapping: Scope) -> Any:
    """The same for what a function of the user's returned in a mapping that was opened again (`again`).

    Raises:
        ConcretizationError: it depends on values that the function has from the mapping itself, in a way that is not known. `what` is how
            the message names the function.
    """
    found = in_sight(value, scope)
    if any(is_mapped(inner, mapping) for one in tree.leaves(found) for inner in contents(one)):
        raise closed_over(what)
    return found


def out_of_sight(value: Any, scope: Scope) -> Any:
    """A tree of mapped values out of what `in_sight` made."""
    return tree.map(lambda one: Mapped(one, scope) if is_numeric(one) else one, value)


class Packed:
    """A tree with mapped values among its leaves, as arrays that outlive the mapping.

    Attributes:
        arrays: its leaves; those that were mapped have the axis of the examples in sight.
    """

    def __init__(self, value: Any, scope: Scope, spread: Callable[[Any], bool] = lambda leaf: False) -> None:
        leaves, self._treedef = tree.flatten(value)
        self._mapped = [is_mapped(leaf, scope) or spread(leaf) for leaf in leaves]
        self.arrays = [unhidden(leaf, scope) if mapped else leaf for leaf, mapped in zip(leaves, self._mapped, strict=True)]

    @property
    def places(self) -> list[int]:
        """Which of the leaves are mapped."""
        return [n for n, mapped in enumerate(self._mapped) if mapped]

    def opened(self, scope: Scope, arrays: Sequence[Any] | None = None) -> Any:
        """The tree in another mapping, with other arrays if they are given."""
        found = self.arrays if arrays is None else arrays
        leaves = [Mapped(one, scope) if mapped else one for one, mapped in zip(found, self._mapped, strict=True)]
        return tree.unflatten(self._treedef, leaves)
