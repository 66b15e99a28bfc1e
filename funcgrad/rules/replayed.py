"""The derivatives of a function whose own records are replayed for them, inside of a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.mapped import across
from funcgrad.replay import Slice, end_keeping, new_leaf, open_keeping
from funcgrad.rules.scopes import in_scope_of
from funcgrad.rules.values import raw
from funcgrad.tape import Label, close_scope, cut_scope
from funcgrad.tracer import Tracer

_LABEL = Label("composed")


def _replayed(f: Callable[[Any], Any], x: Any, given: Any, others: tuple[Any, ...], replay: Callable[[Slice, int], Any]) -> Any:
    """What a replay of f's own records at x gives, started from `given`; None where f(x) does not depend on x. f uses `others` too."""
    with in_scope_of((x, given, *others)) as around:
        scope = open_keeping(_LABEL)
        try:
            try:
                records = scope.records
                x = across(scope, x)
                start = len(records)
                output = f(new_leaf(scope, x))
            finally:
                close_scope(scope)
            piece = Slice(records, start, 1, around)
            is_traced = type(output) is Tracer and output._scope is scope
            found = replay(piece, output._index) if is_traced else None
            if piece.scope is None and type(given) is not Tracer:
                cut_scope(scope)
            return found
        finally:
            end_keeping(scope)


def rules_of(composition: Callable[..., Any], count: int) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
    """The jvps and vjps, as `general` takes them, of a function of so many arrays that is written with differentiable operations."""

    def alone(n: int, args: tuple[Any, ...], options: dict[str, Any]) -> Callable[[Any], Any]:
        return lambda x: composition(*args[:n], x, *args[n + 1 :], **options)

    def jvp(n: int) -> Callable[..., Any]:
        def push(t: Any, ans: Any, *args: Any, **options: Any) -> Any:
            found = _replayed(alone(n, args, options), args[n], t, args, lambda piece, index: piece.forward([t], [index])[0])
            return np.zeros_like(raw(ans)) if found is None else found

        return push

    def vjp(n: int) -> Callable[..., Any]:
        def pull(ct: Any, ans: Any, *args: Any, **options: Any) -> Any:
            found = _replayed(alone(n, args, options), args[n], ct, args, lambda piece, index: piece.backward([(index, ct)])[0])
            return np.zeros_like(raw(args[n])) if found is None else found

        return pull

    return [jvp(n) for n in range(count)], [vjp(n) for n in range(count)]
