"""The names of primitives of the user's, and the functions of NumPy that they answer for.

Owns who has defined what. What a primitive is belongs to `funcgrad.rules`; the table of operations to `funcgrad.primitive`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import InputTypeError, InputValueError, NoRuleError
from funcgrad.primitive import _OWNERS, OPERATIONS, PRIMITIVES, Operation, operation_of
from funcgrad.primitive import register as register_operation

_DEFINED: dict[str, str] = {}
"""Name of each primitive of the user's -> the module of its function."""

_NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special")
"""Modules whose functions have primitives of their names, which may not be imported yet."""

_REGISTERED: set[Any] = set()
"""The functions that the user has registered operations for."""


def checked_callable(what: str, function: Any) -> None:
    """A rule, or the function of a primitive, must be one.

    Raises:
        InputTypeError: it is not.
    """
    if not callable(function):
        raise InputTypeError(f"{what} must be a function, got {function!r:.60}")


def checked_name(kind: str, function: Any, name: str | None) -> str:
    """The name of a new primitive: its function's, if it was given none.

    Raises:
        InputTypeError: the function is none.
        InputValueError: there is no name, or another primitive has it.
    """
    checked_callable(f"extend.{kind}: the function", function)
    name = getattr(function, "__name__", None) if name is None else name
    if not isinstance(name, str) or name in ("", "<lambda>"):
        raise InputValueError(f"extend.{kind}: messages call a primitive by its name, and {function!r:.60} has none: give name='...'")
    defined: str | None = None
    if name in PRIMITIVES:
        defined = f"funcgrad, for a function of {_OWNERS.get(name) or 'NumPy'}"
    elif _DEFINED.get(name, _module(function)) != _module(function):  # the same module may: a cell of a notebook runs again
        defined = _DEFINED[name]
    if defined is not None:
        raise InputValueError(f"extend.{kind}: the primitive {name!r} is defined already, in {defined}: choose another name")
    for module in _NAMESPACES:
        own = getattr(sys.modules.get(module), name, None)
        if callable(own) and own is not function:
            raise InputValueError(f"extend.{kind}: {name!r} is the name of a function of {module}: choose another name")
    return name


def note(name: str, function: Callable[..., Any], value: Callable[..., Any], operation: Operation) -> None:
    """Note a primitive as the user's, and give its operation the looks of the function.

    It goes out of the registry of funcgrad's own: a family that is imported later may use the name.
    """
    PRIMITIVES.pop(name, None)
    _OWNERS.pop(name, None)
    OPERATIONS.pop(value, None)  # some kinds register what they are given
    _DEFINED[name] = _module(function)
    functools.update_wrapper(operation, function, assigned=("__module__", "__doc__"), updated=())


def _module(function: Any) -> str:
    return getattr(function, "__module__", None) or "a compiled module"


def register(function: Any, operation: Operation) -> Operation:
    """Let an operation answer for a function that hands its arguments over by NEP 13 or 18, whenever one of them is traced.

    Args:
        function: a ufunc of any library; a method of one, as the pair `(np.add, "reduce")`; or a function of NumPy's. It must have no rule.
        operation: what the kinds of this module made, or any function of the same arguments that is composed of differentiable ones.

    Returns:
        The operation.

    Raises:
        InputTypeError: tracers would never reach the operation, for the function hands nothing over: call the operation itself; or the
            operation is no function.
        InputValueError: the function has a rule of funcgrad's.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> third_power = np.frompyfunc(lambda x: x**3, 1, 1)  # a ufunc, as compiled code makes them too
        >>> rule = extend.unary(lambda x: np.float64(third_power(x)), lambda t, x: 3.0 * x * x * t, name="example.third_power")
        >>> operation = extend.register(third_power, rule)
        >>> grad(lambda x: 2.0 * third_power(x))(2.0)
        24.0
    """
    checked_callable("extend.register: the operation", operation)
    ufunc = function[0] if isinstance(function, tuple) and len(function) == 2 else function
    name = getattr(ufunc, "__name__", repr(ufunc)) + (f".{function[1]}" if ufunc is not function else "")
    if not isinstance(ufunc, np.ufunc) and (ufunc is not function or not hasattr(function, "_implementation")):
        raise InputTypeError(
            f"extend.register: {name} is no ufunc and no function of NumPy's that hands its arguments over (NEP 18): a tracer given to it "
            "would never reach the operation, so call the operation itself"
        )
    if function not in _REGISTERED and _has_operation(function):
        raise InputValueError(f"extend.register: {name} has a derivative rule of funcgrad's already: call the operation itself")
    _REGISTERED.add(function)
    return register_operation(function, operation)


def _has_operation(function: Any) -> bool:
    try:
        operation_of(function)
    except NoRuleError:
        return False
    return True
