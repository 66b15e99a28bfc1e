"""What special functions add to the kinds of rule: orders, in which there is no derivative, and primitives that SciPy has no name for.

Owns how these are defined and what they refuse. Knows no function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from funcgrad.errors import NoRuleError
from funcgrad.ops.scipy.examples import is_differentiated
from funcgrad.primitive import Operation, register
from funcgrad.rules import elementwise
from funcgrad.rules.values import as_array
from funcgrad.silence import quietly


def ufunc(name: str) -> Any:
    """SciPy's ufunc of that name, also where SciPy was told to wrap it (SCIPY_ARRAY_API=1).

    Raises:
        AttributeError: this SciPy has none.
    """
    found = getattr(special, name)
    inside = getattr(found, "__wrapped__", None)
    return inside if isinstance(inside, np.ufunc) else found


def no_rule(name: str, what: str) -> NoRuleError:
    """The error for an argument or an option that has no derivative rule."""
    return NoRuleError(
        f"scipy.special.{name}: {what} has no derivative rule yet: use funcgrad.stop_gradient(x) where it is to count as a constant"
    )


def refuse_traced(name: str, **arguments: Any) -> None:
    """Refuse tracers for arguments without a derivative.

    Raises:
        NoRuleError: one of them is a tracer.
    """
    for argument, value in arguments.items():
        if is_differentiated(value):
            raise no_rule(name, f"the argument {argument}")


def wide(value: Any) -> Any:
    """A constant of small or unsigned integers as int64: 0 - 1 and 200 * 200 would go wrong in uint8, and its logarithm be a float16."""
    kind = value.dtype.kind if isinstance(value, (np.ndarray, np.generic)) else "f"
    return value.astype(np.int64) if kind in "biu" else value


def _of_wide(partial: Callable[..., Any] | None) -> Callable[..., Any] | None:
    return partial and (lambda t, *operands: partial(t, *map(wide, operands)))


def with_orders(function: Any, **partials: Callable[..., Any] | None) -> Operation:
    """An elementwise primitive, some of whose arguments (orders, shapes) have no derivative.

    Args:
        function: SciPy's ufunc.
        **partials: for each argument, by its name and in order: `(t, *operands) -> t times the derivative`, or None.

    Returns:
        The operation. It raises NoRuleError where an argument without a derivative is a tracer.

    Raises:
        InputValueError: another module has a primitive of that name.

    Example:
        >>> from funcgrad import grad
        >>> struve = with_orders(special.struve, v=None, x=lambda t, v, x: (struve(v - 1, x) - v * struve(v, x) / x) * t)
        >>> print(round(grad(lambda x: struve(2, x))(1.0), 6))
        0.117528
    """
    name = function.__name__
    inner = elementwise(function, *map(_of_wide, partials.values()))

    def operation(*operands: Any) -> Any:
        for argument, operand in zip(partials, operands):
            if partials[argument] is None and is_differentiated(operand):
                raise no_rule(name, f"the argument {argument}")
        return inner(*operands)

    operation.__name__ = operation.__qualname__ = name
    return register(function, operation)


def dtype_of(*operands: Any) -> np.dtype[Any]:
    """The dtype in which a ufunc of SciPy answers: float32 at least, and float64 for Python's numbers."""
    dtypes = [operand.dtype for operand in operands if isinstance(operand, (np.ndarray, np.generic))]
    return np.result_type(*dtypes, np.float32) if dtypes else np.dtype(np.float64)


def below(n: Any) -> Any:
    """The order below a whole order; 0 below 0."""
    return max(n - 1, 0) if isinstance(n, int) else np.maximum(as_array(n) - 1, 0)[()]


def own(name: str, function: Any, *partials: Callable[..., Any] | None) -> Operation:
    """An elementwise primitive for rules: nothing to answer for when NumPy asks, and no warnings."""

    def quiet(*operands: Any) -> Any:
        return quietly(function, *operands)

    return elementwise(quiet, *map(_of_wide, partials), name=name)
