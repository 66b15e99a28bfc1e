"""The elementwise kinds of `funcgrad.rules` for primitives of the user's, with everything that they are given checked.

Owns what they ask for, as `funcgrad.extend.kinds` does for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import rules
from funcgrad.extend.checks import Definition
from funcgrad.extend.derived import Rule
from funcgrad.primitive import Operation


def unary(
    function: Callable[..., Any],
    partial: Rule,
    scalar: Callable[[float], float] | None = None,
    name: str | None = None,
    **options: Any,
) -> Operation:
    """Define an elementwise primitive of one argument.

    Args:
        function: gives the value, of an array or a Python float: any code, an array of the same shape.
        partial: `(t, x)`, `(t, ans)` or `(t)` -> t times the derivative, in operations of NumPy, so that it can be differentiated again. t
            is a tangent or a cotangent. The second parameter's name says what the tape keeps: `x` the operand, `ans` the result.
        scalar: what gives the same on a Python float, as `math.tanh` does, ten times faster; where it raises a ValueError or an
            OverflowError, the function answers.
        name: the primitive's, if not the function's. Messages and printed tapes show it.
        **options: for the kind `funcgrad.rules.unary`; `is_real=True` where a complex operand has a real result.

    Returns:
        The operation, on tracers, arrays and Python floats.

    Raises:
        InputTypeError: the partial's parameters have other names; an argument is no function; later, what a function returned.
        InputValueError: there is no name, or it is another primitive's; later, a shape.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> softsign = extend.unary(lambda x: x / (1.0 + np.abs(x)), lambda t, x: t / (1.0 + np.abs(x)) ** 2, name="example.softsign")
        >>> softsign(1.0), grad(softsign)(1.0), grad(grad(softsign))(1.0)
        (0.5, 0.25, -0.25)
    """
    made = Definition("unary", function, name, options)
    value = made.elementwise_value()
    checked = made.partial(0, partial, ("x", "ans"))
    on_float = None if scalar is None else made.scalar(scalar)
    return made.finished(rules.unary(value, checked, on_float, name=made.name, **options), value)


def binary(
    function: Callable[..., Any],
    partial_x: Rule | None,
    partial_y: Rule | None,
    scalar: Callable[[float, float], float] | None = None,
    name: str | None = None,
    **options: Any,
) -> Operation:
    """Define an elementwise primitive of two arguments, which are broadcast against one another.

    Args:
        function: gives the value, of arrays and Python numbers.
        partial_x: `(t, ...)` -> t times the derivative in x, with further parameters out of `x`, `y` and `ans`, by these names; None for a
            derivative of 1. What is due to broadcasting is done for you.
        partial_y: the same in y.
        scalar: what gives the same on Python floats, faster.
        name: the primitive's, if not the function's.
        **options: for the kind `funcgrad.rules.binary`.

    Returns:
        The operation, on tracers, arrays and Python numbers.

    Raises:
        InputTypeError: a partial's parameters have other names; an argument is no function; later, what a function returned.
        InputValueError: there is no name, or it is another primitive's; later, a shape.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> ratio = extend.binary(lambda x, y: x / y, lambda t, y: t / y, lambda t, y, ans: -t * ans / y, name="example.ratio")
        >>> grad(lambda x, y: np.sum(ratio(x, y)), argnums=(0, 1))(np.array([1.0, 2.0]), 4.0)
        (array([0.25, 0.25]), -0.1875)
    """
    made = Definition("binary", function, name, options)
    value = made.elementwise_value()
    by_x, by_y = (made.partial(n, partial, ("x", "y", "ans")) for n, partial in enumerate((partial_x, partial_y)))
    on_floats = None if scalar is None else made.scalar(scalar)
    return made.finished(rules.binary(value, by_x, by_y, scalar=on_floats, **options), value)


def elementwise(
    function: Callable[..., Any], *partials: Rule | None, keeps: Sequence[int] | None = None, name: str | None = None, **options: Any
) -> Operation:
    """Define an elementwise primitive of any number of arguments, which are broadcast against one another.

    Args:
        function: gives the value, of arrays and Python numbers.
        *partials: for each argument `(t, *operands)` -> t times the derivative in it; None for an argument without derivative (a
            condition), which a tracer may then stand for.
        keeps: the numbers of the operands that the partials use the values of; None for all. Of the others they see shape and dtype only.
        name: the primitive's, if not the function's.
        **options: for the kind `funcgrad.rules.elementwise`.

    Returns:
        The operation.

    Raises:
        InputTypeError: an argument is no function; later, what a function returned.
        InputValueError: there is no name, or it is another primitive's; later, a shape.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> blend = extend.elementwise(
        ...     lambda w, x, y: w * x + (1.0 - w) * y,
        ...     lambda t, w, x, y: t * (x - y),
        ...     lambda t, w, x, y: t * w,
        ...     lambda t, w, x, y: t * (1.0 - w),
        ...     name="example.blend",
        ... )
        >>> grad(lambda w: np.sum(blend(w, np.array([1.0, 2.0]), 0.5)))(0.3)
        2.0
    """
    made = Definition("elementwise", function, name, options)
    value = made.elementwise_value()
    checked = [made.partial_of_all(n, partial) for n, partial in enumerate(partials)]
    return made.finished(rules.elementwise(value, *checked, keeps=keeps, name=made.name, **options), value)
