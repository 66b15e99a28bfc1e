"""The rules of a custom function as those of all examples of a mapping at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.mapped import TRACERS, Mapped, contents, is_mapped
from funcgrad.rules.values import is_array
from funcgrad.tape import Scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import replaced, zeros
from funcgrad.transforms.calls import mapped_or_looped
from funcgrad.transforms.captured import captured_in, standing_for
from funcgrad.transforms.custom_protocol import Call, compare, pair
from funcgrad.transforms.mapped_calls import Packed, again, in_sight_again, out_of_sight


class _Captured:
    """The mapped values that functions and objects hold, those that are wanted, as arrays that outlive the mapping.

    Attributes:
        arrays: of all examples.
    """

    def __init__(self, holders: Any, mapping: Scope, is_wanted: Callable[[Any], bool] = lambda one: True) -> None:
        held = [one for one in tree.leaves(holders) if type(one) not in TRACERS]
        self._values = [one for one in captured_in(held) if is_mapped(one, mapping) and all(map(is_wanted, contents(one)))]
        self.arrays = [one._primal for one in self._values]

    def opened(self, scope: Scope, arrays: Sequence[Any] | None = None) -> contextlib.AbstractContextManager[None]:
        """Let the values be those of another mapping."""
        return standing_for(self._values, [Mapped(one, scope) for one in (self.arrays if arrays is None else arrays)])


class MappedRules:
    """A custom function and its rules where arguments are mapped: functions of arrays that have the axis of the examples in sight.

    Attributes:
        operands: the arrays, one for each leaf that is mapped or traced.
    """

    def __init__(
        self, name: str, mapping: Scope, args: tuple[Any, ...], nondiff_places: list[int], functions: Any, compared: set[Any]
    ) -> None:
        self._name, self._mapping, self._count, self._compared = name, mapping, len(args), compared
        self._f, self._jvp, self._fwd, self._bwd = functions
        self._captured = _Captured(functions, mapping, lambda one: type(one) is not Tracer)
        given = tuple(one for n, one in enumerate(args) if n not in nondiff_places)
        self._treedef = tree.structure(given)
        self._given = Packed(given, mapping, spread=lambda leaf: type(leaf) in TRACERS)
        self._nondiff_places = nondiff_places
        self._nondiff = Packed([args[n] for n in nondiff_places], mapping)
        self._call = Call(name, {}, self._treedef, self._given.places, 0)
        self.operands = [self._given.arrays[n] for n in self._given.places]

    @contextlib.contextmanager
    def _again(self) -> Iterator[Scope]:
        with again(self._mapping) as scope, self._captured.opened(scope):
            yield scope

    def _in_sight(self, what: str, value: Any, scope: Scope) -> Any:
        return in_sight_again(f"{what} of {self._name}" if what else self._name, value, scope, self._mapping)

    def _opened(self, scope: Scope, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The differentiable arguments, for these arrays."""
        return self._given.opened(scope, replaced(self._given.arrays, self._given.places, arrays))  # type: ignore[no-any-return]

    def _all(self, scope: Scope, arrays: Sequence[Any]) -> list[Any]:
        nondiff = dict(zip(self._nondiff_places, self._nondiff.opened(scope), strict=True))
        rest = iter(self._opened(scope, arrays))
        return [nondiff[n] if n in nondiff else next(rest) for n in range(self._count)]

    def f(self, *arrays: Any) -> Any:
        """The function."""
        with self._again() as scope:
            value = mapped_or_looped(self._f, *self._all(scope, arrays))
            self._call.returned(value)
            return self._in_sight("", value, scope)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The rule for forward mode."""
        with self._again() as scope:
            args = self._opened(scope, primals)
            rest = [zeros(one) if is_array(one) or isinstance(one, float) else one for one in tree.leaves(args)]
            ts = tree.unflatten(self._treedef, replaced(rest, self._given.places, [Mapped(t, scope) for t in tangents]))
            returned = mapped_or_looped(self._jvp, *self._nondiff.opened(scope), args, ts)
            value, tangent = pair(f"the jvp rule of {self._name} must return (value, tangent)", returned)
            self._call.checked_value("the jvp rule", value)
            self._call.checked_tangents(tangent)
            return self._in_sight("the jvp rule", (value, tangent), scope)

    def fwd(self, *arrays: Any) -> Any:
        """The value and the residuals, which come with the form that bwd needs to put them together again."""
        with self._again() as scope:
            args = self._all(scope, arrays)
            returned = mapped_or_looped(self._fwd, *args)
            value, residuals = pair(f"fwd of {self._name} must return (value, residuals)", returned)
            compare(self._compared, self._name, tree.leaves(args), value, self._f, args)
            self._call.returned(value)
            kept, captured = Packed(residuals, scope), _Captured(residuals, scope)
            return self._in_sight("fwd", value, scope), (kept, kept.arrays, captured, captured.arrays)

    def bwd(self, residuals: Any, ct: Any) -> tuple[Any, ...]:
        """The cotangents of the operands."""
        kept, arrays, captured, values = residuals
        with self._again() as scope, captured.opened(scope, values):
            answer = mapped_or_looped(self._bwd, *self._nondiff.opened(scope), kept.opened(scope, arrays), out_of_sight(ct, scope))
            operands = [Mapped(one, scope) for one in self.operands]
            found = self._call.checked_cotangents(answer, operands)
            return self._in_sight("bwd", tuple(found), scope)  # type: ignore[no-any-return]
