"""The rules of a custom function as those of all examples of a mapping at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad import tree
from funcgrad.mapped import TRACERS, Mapped
from funcgrad.rules.batching import unhidden
from funcgrad.rules.values import is_array
from funcgrad.tape import Scope
from funcgrad.transforms.arguments import replaced, zeros
from funcgrad.transforms.calls import mapped_or_looped
from funcgrad.transforms.custom_protocol import Call, pair
from funcgrad.transforms.mapped_calls import Packed, again, in_sight, out_of_sight


class MappedRules:
    """A custom function and its rules where arguments are mapped: functions of arrays that have the axis of the examples in sight.

    Attributes:
        operands: the arrays, one for each leaf that is mapped or traced.
    """

    def __init__(self, name: str, mapping: Scope, args: tuple[Any, ...], nondiff_places: list[int], *functions: Any) -> None:
        self._name, self._mapping, self._count = name, mapping, len(args)
        self._f, self._jvp, self._fwd, self._bwd = functions
        given = tuple(one for n, one in enumerate(args) if n not in nondiff_places)
        self._treedef = tree.structure(given)
        self._given = Packed(given, mapping, spread=lambda leaf: type(leaf) in TRACERS)
        self._nondiff_places = nondiff_places
        self._nondiff = Packed([args[n] for n in nondiff_places], mapping)
        self.operands = [self._given.arrays[n] for n in self._given.places]

    def _opened(self, scope: Scope, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The differentiable arguments, for these arrays."""
        return self._given.opened(scope, replaced(self._given.arrays, self._given.places, arrays))  # type: ignore[no-any-return]

    def _all(self, scope: Scope, arrays: Sequence[Any]) -> list[Any]:
        nondiff = dict(zip(self._nondiff_places, self._nondiff.opened(scope), strict=True))
        rest = iter(self._opened(scope, arrays))
        return [nondiff[n] if n in nondiff else next(rest) for n in range(self._count)]

    def f(self, *arrays: Any) -> Any:
        """The function."""
        with again(self._mapping) as scope:
            return in_sight(mapped_or_looped(self._f, *self._all(scope, arrays)), scope)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The rule for forward mode."""
        with again(self._mapping) as scope:
            args = self._opened(scope, primals)
            rest = [zeros(one) if is_array(one) or isinstance(one, float) else one for one in tree.leaves(args)]
            ts = tree.unflatten(self._treedef, replaced(rest, self._given.places, [Mapped(t, scope) for t in tangents]))
            return in_sight(mapped_or_looped(self._jvp, *self._nondiff.opened(scope), args, ts), scope)

    def fwd(self, *arrays: Any) -> Any:
        """The value and the residuals, which come with the form that bwd needs to put them together again."""
        with again(self._mapping) as scope:
            returned = mapped_or_looped(self._fwd, *self._all(scope, arrays))
            value, residuals = pair(f"fwd of {self._name} must return (value, residuals)", returned)
            kept = Packed(residuals, scope)
            return in_sight(value, scope), (kept, kept.arrays)

    def bwd(self, residuals: Any, ct: Any) -> tuple[Any, ...]:
        """The cotangents of the operands."""
        kept, arrays = residuals
        with again(self._mapping) as scope:
            answer = mapped_or_looped(self._bwd, *self._nondiff.opened(scope), kept.opened(scope, arrays), out_of_sight(ct, scope))
            operands = [Mapped(one, scope) for one in self.operands]
            found = Call(self._name, {}, self._treedef, self._given.places, 0).checked_cotangents(answer, operands)
            return tuple(one if one is None else unhidden(one, scope) for one in found)
