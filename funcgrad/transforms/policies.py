"""What a checkpointed function keeps: policies, and values that go by a name.

Owns the names of values and where they are stored. What happens to a checkpointed function is `funcgrad.transforms.checkpoint`'s.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.mapped import TRACERS, Mapped, is_mapped
from funcgrad.rules.values import shape_of
from funcgrad.tracer import Tracer


class Policy:
    """What a checkpointed function keeps beside its inputs.

    Attributes:
        names: of the values (see `checkpoint_name`) that are kept; None for all values.
    """

    __slots__ = ("names",)

    def __init__(self, names: frozenset[str] | None) -> None:
        self.names = names

    def __repr__(self) -> str:
        if self.names is None:
            return "everything_saved"
        return f"save_only_these_names{tuple(sorted(self.names))}" if self.names else "nothing_saved"


nothing_saved = Policy(frozenset())
"""Keep nothing but the inputs."""

everything_saved = Policy(None)
"""Keep everything, as without checkpoint."""


def save_only_these_names(*names: str) -> Policy:
    """The policy that keeps those values that `checkpoint_name` gave one of these names.

    Args:
        *names: strings.

    Returns:
        A policy for `checkpoint`.

    Raises:
        InputTypeError: a name is no string.

    Example:
        >>> save_only_these_names("hidden")
        save_only_these_names('hidden',)
    """
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError(f"save_only_these_names takes strings, got {name!r}")
    return Policy(frozenset(names))


class Names:
    """The values that a running checkpointed function named for keeping: collected in the first run, put back in those after it.

    Attributes:
        names: those to keep.
        is_first: whether this is the first run.
        values: as `_numbers` gives them.
        depth: of the scope of the run.
    """

    __slots__ = ("depth", "is_first", "names", "values")

    def __init__(self, policy: Policy, values: list[Any] | None = None, depth: int = 0) -> None:
        self.depth = depth
        self.names = policy.names or frozenset()
        self.is_first = values is None
        self.values = [] if values is None else list(values)


class _Running(threading.local):
    """The checkpointed functions that run on this thread, the innermost last."""

    def __init__(self) -> None:
        self.names: list[Names] = []


_running = _Running()


@contextlib.contextmanager
def naming(names: Names) -> Iterator[None]:
    """Run a function whose named values go there, or come from there."""
    _running.names.append(names)
    try:
        yield
    finally:
        _running.names.pop()


def checkpoint_name(x: Any, name: str) -> Any:
    """x, under a name by which a policy may keep it.

    Args:
        x: a number, an array, or a tree of them.
        name: a string.

    Returns:
        x. When a checkpointed function whose policy keeps this name is run again, x as it was the first time: what was drawn at random or
        measured then stays what it was. All of the function is run again even so, being Python.

    Raises:
        InputTypeError: `name` is no string.
        InputValueError: the function does not name the same values when it is run again.

    Example:
        >>> from funcgrad import grad
        >>> from funcgrad.transforms.checkpoint import checkpoint
        >>> rng = np.random.default_rng(0)
        >>> f = checkpoint(lambda x: x * checkpoint_name(rng.normal(), "noise"), policy=save_only_these_names("noise"))
        >>> bool(grad(f)(2.0) == np.random.default_rng(0).normal())
        True
    """
    if not isinstance(name, str):
        raise InputTypeError(f"checkpoint_name takes a string as the name, got {name!r}")
    names = _running.names[-1] if _running.names else None
    if names is None or name not in names.names:
        return x
    leaves, treedef = tree.flatten(x)
    if names.is_first:
        names.values += [_numbers(one, names.depth) for one in leaves]
        return x
    kept, names.values = names.values[: len(leaves)], names.values[len(leaves) :]
    if len(kept) < len(leaves) or any(not _fits(one, two) for one, two in zip(kept, leaves, strict=True)):
        raise InputValueError(
            f"the value named {name!r} has another form when the checkpointed function is run again: a function under checkpoint must do "
            "the same each time"
        )
    return tree.unflatten(treedef, [_with_value(one, value) for one, value in zip(leaves, kept, strict=True)])


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _numbers(value: Any, depth: int) -> Any:
    """A value without what traces it. Mapped is what a scope around that depth maps; mappings inside have their axes in sight."""
    while type(value) is Tracer or (type(value) is Mapped and value._scope.depth >= depth):
        value = value._primal
    return Mapped(_numbers(value._primal, depth), value._scope) if type(value) is Mapped else _copied(value)


def _fits(kept: Any, value: Any) -> bool:
    """Whether a value is of the form of a kept one; the run may map it inside, or around where the first one did not."""
    while type(value) in TRACERS and shape_of(value) != shape_of(kept):
        value = value._primal
    return shape_of(kept) == shape_of(value)


def _with_value(x: Any, kept: Any) -> Any:
    """A tracer at the same position with another value; the value itself if x is none."""
    if type(x) is Mapped:
        if is_mapped(kept, x._scope):
            kept = kept._primal
        elif shape_of(kept) == x.shape:
            kept = np.broadcast_to(kept, x._primal.shape)
        return Mapped(_with_value(x._primal, kept), x._scope)
    if type(x) is not Tracer:
        return _copied(kept)
    tracer = Tracer(_with_value(x._primal, kept), x._scope, x._index)
    if x._scope.forwards:
        tracer._tangents = x._tangents
    return tracer
