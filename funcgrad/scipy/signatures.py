"""SciPy's arguments by name, for functions of ours that name the first few and pass the others on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def by_name(function: Callable[..., Any], first: int, rest: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """What was given to one of SciPy's functions after its `first` arguments, by position (`rest`) and by name.

    Raises:
        TypeError: too many arguments, or one twice.
    """
    names = list(inspect.signature(function).parameters)[first:]
    if len(rest) > len(names):
        raise TypeError(f"{function.__name__} takes {first + len(names)} arguments, got {first + len(rest)}")
    twice = options.keys() & set(names[: len(rest)])
    if twice:
        raise TypeError(f"{function.__name__} got several values for argument {min(twice)!r}")
    return {**dict(zip(names, rest, strict=False)), **options}
