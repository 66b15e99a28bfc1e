"""The scope that a rule runs in, where it uses transforms or records of its own: that of what it is given, not the innermost open one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from funcgrad.mapped import TRACERS
from funcgrad.tape import Scope, innermost, thread


def scope_of(values: Iterable[Any]) -> Scope | None:
    """The innermost scope of those values that are tracers; None if all are plain."""
    found: Scope | None = None
    for value in values:
        if type(value) in TRACERS and value._scope is not found:
            found = value._scope if found is None else innermost(found, value._scope)
    return found


@contextlib.contextmanager
def in_scope_of(values: Iterable[Any]) -> Iterator[Scope | None]:
    """Run a rule in the scope that it is replayed in, for the transforms that it uses: it may work for one around the innermost."""
    found = scope_of(values)
    before, thread.scope = thread.scope, found
    try:
        yield found
    finally:
        thread.scope = before
