"""The one place where an operation is looked up: by the NumPy function that it differentiates.

Owns the registry. What an operation does is defined by the kinds of `funcgrad.rules`, beside its rule in `funcgrad.ops`.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad.errors import InputValueError, NoRuleError

Operation = Callable[..., Any]

OPERATIONS: dict[Any, Operation] = {}
"""NumPy function or ufunc -> the operation that takes its place on tracers."""

PRIMITIVES: dict[str, str] = {}
"""Name of each primitive -> its kind."""

SCALARS: dict[Any, Callable[..., Any]] = {}
"""Elementwise function -> the function of Python numbers that gives the same, where it does not raise."""

EXPRESSIONS: dict[Any, str] = {}
"""The same as source text in x and y, for those that are expressions."""

FUNCTIONS: dict[str, Any] = {}
"""Name of each primitive -> the function that gives its value."""

ELEMENTWISE: set[Any] = set()
"""The functions of elementwise primitives."""


def is_elementwise(function: Any) -> bool:
    """Whether a function is a ufunc that makes one array, element by element."""
    return isinstance(function, np.ufunc) and function.signature is None and function.nout == 1


_OWNERS: dict[str, str | None] = {}

LATE: list[tuple[str, str]] = []
"""Modules that register operations when they are imported, each with the module whose functions they are for: imported when first asked."""


def register(function: Any, operation: Operation) -> Operation:
    """Let `operation` answer for a NumPy function whenever an argument of it is a tracer."""
    OPERATIONS[function] = operation
    return operation


def register_all(operations: Mapping[Any, Operation]) -> None:
    """Register operations by their functions; None stands for one that this version of NumPy does not have."""
    for function, operation in operations.items():
        if function is not None:
            register(function, operation)


def declare(name: str, kind: str, function: Any) -> None:
    """Note a primitive. Only the module of its function may define it anew: two rules for one primitive would drift apart.

    Raises:
        InputValueError: another module has a primitive of that name.
    """
    owner = getattr(function, "__module__", None)
    if name in PRIMITIVES and _OWNERS[name] != owner:
        raise InputValueError(f"the primitive {name!r} is defined already, in {_OWNERS[name] or 'NumPy'}: choose another name")
    PRIMITIVES[name] = kind
    FUNCTIONS[name] = function
    if kind == "elementwise":
        ELEMENTWISE.add(function)
    _OWNERS[name] = owner


def _home(function: Any) -> str | None:
    """The module of those in LATE that a function is found in under its name."""
    name = getattr(function, "__name__", "")
    for module, _ in LATE:
        if getattr(sys.modules.get(module), name, None) is function:
            return module
    return None


def _find_late(function: Any, key: Any) -> Operation | None:
    """Import families that have waited, until one registers the operation: those of the function's module, all if it has none."""
    home = _home(function)
    for module, family in tuple(LATE):
        if module in sys.modules and home in (None, module):
            importlib.import_module(family)
            with contextlib.suppress(ValueError):  # another thread was faster
                LATE.remove((module, family))
            if key in OPERATIONS:
                return OPERATIONS[key]
    return None


def operation_of(function: Any) -> Operation:
    """The operation that answers on tracers for a NumPy function, or for a method of a ufunc, `(np.add, "reduce")`.

    Raises:
        NoRuleError: there is none.
    """
    try:
        return OPERATIONS[function]
    except KeyError:
        key = function
    except TypeError:
        key = None
    suffix = ""
    if type(function) is tuple:
        function, method = function
        suffix = f".{method}"
    found = _find_late(function, key) if LATE else None
    if found is not None:
        return found
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", repr(function))
    raise NoRuleError(
        f"{module + '.' if module else 'the ufunc '}{name}{suffix} has no derivative rule yet: compose it from operations that have one, "
        "or use funcgrad.stop_gradient(x) where its result is to count as a constant"
    )
