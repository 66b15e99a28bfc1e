"""Arrays from lists that hold tracers, which `numpy.array` cannot make."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.operators import astype
from funcgrad.ops.structural import stack
from funcgrad.tracer import Tracer


def _holds_tracer(value: Any) -> bool:
    return type(value) is Tracer or (isinstance(value, (list, tuple)) and any(map(_holds_tracer, value)))


def asarray(a: Any, dtype: Any = None) -> Any:
    """numpy.asarray that also takes a tracer, and nested lists with tracers among their elements.

    Args:
        a: an array, a number, a tracer, or nested lists or tuples of these, of one shape at each level.
        dtype: the result's; if None that which NumPy finds.

    Returns:
        An array, or a tracer where a tracer is in it.

    Raises:
        ValueError: the elements of a list differ in shape.

    Example:
        >>> from funcgrad import grad
        >>> grad(lambda x: asarray([x, 2.0 * x, 5.0]).sum())(1.0)
        3.0
    """
    if not _holds_tracer(a):
        return np.asarray(a, dtype)
    if type(a) is not Tracer:
        a = stack([asarray(element) for element in a])
    return a if dtype is None else astype(a, dtype)


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0) -> Any:  # noqa: A002
    """numpy.array that also takes a tracer, and nested lists with tracers among their elements.

    Args:
        object: as for `asarray`.
        dtype: the result's; if None that which NumPy finds.
        copy: as NumPy's; tracers are never changed in place, so it makes no difference for them.
        ndmin: the least number of axes: axes of size 1 come in front.

    Returns:
        An array, or a tracer where a tracer is in it.

    Raises:
        ValueError: the elements of a list differ in shape.

    Example:
        >>> import numpy
        >>> from funcgrad import grad
        >>> grad(lambda x: (array([x, x]) * numpy.array([2.0, 3.0])).sum())(1.0)
        5.0
    """
    if not _holds_tracer(object):
        return np.array(object, dtype, copy=copy, ndmin=ndmin)
    result = asarray(object, dtype)
    missing = ndmin - result.ndim
    return result.reshape((1,) * missing + result.shape) if missing > 0 else result
