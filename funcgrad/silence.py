"""Replays make no floating-point warnings of their own: those would say nothing about the user's function."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.tape import thread

if int(np.__version__.partition(".")[0]) >= 2:

    def quietly(function: Callable[..., Any], *args: Any) -> Any:
        """Call without floating-point warnings: those of a replay say nothing about the user's function.

        In a context of its own, which costs a seventh of `np.errstate`.
        """
        contexts = thread.quiet
        context = contexts.pop() if contexts else _quiet_context()
        try:
            return context.run(function, *args)
        finally:
            contexts.append(context)

    def _quiet_context() -> contextvars.Context:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        return context

else:  # NumPy 1 keeps the state by thread

    def quietly(function: Callable[..., Any], *args: Any) -> Any:
        """Call without floating-point warnings: those of a replay say nothing about the user's function."""
        with np.errstate(all="ignore"):
            return function(*args)
