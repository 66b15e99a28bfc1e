"""Series by their coefficients, the lowest order first: those functions of numpy.polynomial that NumPy cannot hand over to tracers."""

from __future__ import annotations

from typing import Any

from funcgrad.ops.arrays.creation import array, asarray
from funcgrad.ops.structural import reshape
from funcgrad.rules.values import shape_of


def _arguments(x: Any, c: Any, tensor: bool) -> tuple[Any, Any]:
    """x, and coefficients with an axis for each of x."""
    c = array(c, ndmin=1)
    if c.dtype.kind in "biu":
        c = c + 0.0
    if isinstance(x, (list, tuple)):
        x = asarray(x)
    return x, reshape(c, shape_of(c) + (1,) * len(shape_of(x))) if tensor else c


def polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    """numpy.polynomial.polynomial.polyval, for coefficients that may be tracers.

    Args:
        x: float or complex array of any shape, or a number: where to evaluate.
        c: float or complex array, shape (n, ...): the coefficients of 1, x, x**2, ...; along further axes those of further polynomials.
        tensor: evaluate each polynomial at every x; otherwise x broadcasts against the further axes of c.

    Returns:
        The values: shape c.shape[1:] + x.shape if `tensor` is true.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: polyval(x, [5.0, 3.0, 2.0]))(1.0)
        7.0
    """
    x, c = _arguments(x, c, tensor)
    value = c[-1] + x * 0
    for n in range(2, len(c) + 1):
        value = c[-n] + value * x
    return value


def chebval(x: Any, c: Any, tensor: bool = True) -> Any:
    """numpy.polynomial.chebyshev.chebval, for coefficients that may be tracers: by Clenshaw's recursion, as NumPy.

    Args:
        x: float or complex array of any shape, or a number: where to evaluate.
        c: float or complex array, shape (n, ...): the coefficients of T_0, T_1, ...; along further axes those of further series.
        tensor: evaluate each series at every x; otherwise x broadcasts against the further axes of c.

    Returns:
        The values: shape c.shape[1:] + x.shape if `tensor` is true.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: chebval(x, [5.0, 3.0, 2.0]))(1.0)
        11.0
    """
    x, c = _arguments(x, c, tensor)
    if len(c) < 3:
        before, last = (c[0], c[1]) if len(c) == 2 else (c[0], 0)
        return before + last * x
    before, last, double = c[-2], c[-1], 2 * x
    for n in range(3, len(c) + 1):
        before, last = c[-n] - last, before + last * double
    return before + last * x
