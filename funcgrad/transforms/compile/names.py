"""Names of functions and types in files of programs: NumPy's, those of SciPy's ufuncs and funcgrad's primitives; no others are known."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import InputValueError, NoRuleError
from funcgrad.primitive import FUNCTIONS, operation_of

_MODULES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special")
_METHODS = ("reduce", "accumulate", "reduceat", "outer")


def name_of(function: Any) -> str | None:
    """What a function is called in a file; None for one that cannot be found again."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, np.ufunc) and name in _METHODS:
        found = name_of(owner)
        return found and f"{found}.{name}"
    for module in _MODULES:
        if name and _in_module(module, name) is function:
            return f"{module}:{name}"
    for primitive, its_function in FUNCTIONS.items():
        if its_function is function:
            return f"funcgrad:{primitive}"
    return None


def _in_module(module: str, name: str) -> Any:
    """A ufunc of a module, or a function of NumPy's that an operation of funcgrad stands for: those compute. Others may write files."""
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    if isinstance(found, np.ufunc):
        return found
    try:
        operation_of(found)
    except NoRuleError:
        return None
    return found if hasattr(found, "_implementation") else None


def function_of(name: str) -> Callable[..., Any]:
    """The function that a file names.

    Raises:
        InputValueError: there is no such one.
    """
    module, _, rest = name.partition(":")
    called, _, method = rest.partition(".")
    found = FUNCTIONS.get(rest) if module == "funcgrad" else _in_module(module, called) if module in _MODULES else None
    if found is not None and method and module != "funcgrad":
        found = getattr(found, method, None) if isinstance(found, np.ufunc) and method in _METHODS else None
    if not callable(found):
        raise InputValueError(f"load: this version has no function {name!r}, which a program of the file calls")
    return found  # type: ignore[no-any-return]


def named_tuple(module: Any, name: Any) -> Any:
    """A named tuple of funcgrad's optimizers or of NumPy's linear algebra; None if there is no such one."""
    if not isinstance(module, str) or not isinstance(name, str) or not module.startswith(("funcgrad.optim", "numpy.linalg")):
        return None
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields") else None
