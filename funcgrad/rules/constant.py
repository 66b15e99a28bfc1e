"""The kind of functions that have nothing to differentiate: zero by declaration, never by silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.mapped import OPEN, TRACERS
from funcgrad.mapped import elementwise as mapped_elementwise
from funcgrad.primitive import Operation, declare, register
from funcgrad.rules.batching import BatchRule, on_values
from funcgrad.rules.values import as_python, placeholder
from funcgrad.tape import Scope
from funcgrad.tracer import Tracer


def _untouchable(value: Any) -> Any:
    """The plain value of a tracer, an array read-only: it may be given as `out`."""
    return value.value if type(value) is Tracer else value


def of_shapes(function: Callable[..., Any]) -> BatchRule:
    """The batch rule of a function that looks at shapes and dtypes only: its result is the same for all examples."""

    def batch(scope: Scope, *args: Any, **options: Any) -> Any:
        return function(*map(_without_numbers, args), **{key: _without_numbers(value) for key, value in options.items()})

    return batch


def _without_numbers(value: Any) -> Any:
    return placeholder(value) if type(value) in TRACERS else value


def nondifferentiable(function: Any, batch: BatchRule | None = None) -> Operation:
    """Declare that a function has nothing to differentiate: it sees the plain values, and its result is a constant.

    Args:
        function: NumPy's function, of any arguments.
        batch: how it takes mapped values (`funcgrad.rules.batching`); without it they are gone through one by one, unless it is a ufunc.

    Returns:
        The operation. It takes the function's place on tracers too.

    Raises:
        InputValueError: another module has a primitive of that name.

    Example:
        >>> from funcgrad import grad
        >>> floor = nondifferentiable(np.floor)
        >>> grad(lambda x: x * floor(x))(2.5)
        2.0
    """

    def operation(*args: Any, **options: Any) -> Any:
        values = [_untouchable(value) for value in args]
        options = {key: _untouchable(value) for key, value in options.items()}
        if OPEN:
            answer = on_values(operation, function, batch or by_ufunc, tuple(values), options)
            if answer is not NotImplemented:
                return answer
        return as_python(function(*values, **options), values)

    def by_ufunc(scope: Scope, *args: Any, **options: Any) -> Any:
        is_elementwise = isinstance(function, np.ufunc) and function.signature is None and not options
        return mapped_elementwise(function, *args) if is_elementwise else NotImplemented

    operation.__name__ = operation.__qualname__ = function.__name__
    declare(function.__name__, "nondifferentiable", function)
    register(function, operation)
    return operation
