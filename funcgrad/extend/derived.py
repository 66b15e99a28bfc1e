"""The rule of one direction made from that of the other, for primitives of the user's.

Both are linear in what they are given, and each is the other's transpose: the rule is run at ones, and what it did is replayed backwards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from funcgrad.errors import ConcretizationError, NoRuleError
from funcgrad.rules.scopes import in_scope_of
from funcgrad.transforms.arguments import ones, settled
from funcgrad.transforms.reverse import vjp

Rule = Callable[..., Any]

MODES = {"jvp": "forward mode (jvp, linearize, jacfwd)", "vjp": "reverse mode (grad, vjp, jacrev)"}


class _Thread(threading.local):
    """The rules that are being derived on this thread, lest one be derived from itself without end."""

    def __init__(self) -> None:
        self.active: set[Any] = set()


_thread = _Thread()


def transposed(name: str, kind: str, word: str, n: int, other: Any) -> Rule:
    """A rule for argument n, from that of the other direction.

    Args:
        name: the primitive's.
        kind: its kind's.
        word: "jvp" or "vjp": the rule to make.
        n: the argument.
        other: the rule that there is.

    Returns:
        The rule. It raises NoRuleError where the other one is not made of operations that can be replayed.
    """
    given = "vjp" if word == "jvp" else "jvp"
    key = object()

    def derived(t: Any, ans: Any, *args: Any, **options: Any) -> Any:
        if key in _thread.active:
            raise NoRuleError(f"the {given} of {name} in argument {n} uses {name} itself, on what is to be transposed")
        _thread.active.add(key)
        try:
            with in_scope_of((t, ans, *args)):
                output, back = vjp(lambda s: other(s, ans, *args, **options), ones(args[n] if word == "vjp" else ans))
                return back(settled([t], [output])[0])[0]
        except (NoRuleError, ConcretizationError) as error:
            raise NoRuleError(
                f"{name} has no {word} for argument {n}, which {MODES[word]} needs, and its {given} cannot be transposed for that: give "
                f"one to extend.{kind}, in {word}s"
            ) from error
        finally:
            _thread.active.discard(key)

    return derived
