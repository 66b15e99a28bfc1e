"""What depends on values, where a program is recorded for all of them: which functions of NumPy do, and what is said about it.

Owns the messages, and the user's line that they name. Knows no staged value.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad.errors import ConcretizationError
from funcgrad.instructions import Line
from funcgrad.primitive import FUNCTIONS
from funcgrad.tracer import innermost_of

_HOME = os.path.dirname(__file__)
_NUMPY = os.path.dirname(np.__file__)

OF_SHAPES = frozenset({np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.common_type, np.isscalar})
"""Functions that look at shapes and dtypes only: their results are plain."""

OF_VALUES = frozenset(
    {np.nonzero, np.flatnonzero, np.argwhere, np.extract, np.compress, np.unique, np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d}
    | {np.trim_zeros, np.polydiv}
    | {getattr(np, name) for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values") if hasattr(np, name)}
)
"""Functions whose results have other shapes for other values."""

OF_DTYPES = frozenset(
    {getattr(np.emath, name) for name in ("sqrt", "log", "log2", "log10", "logn", "power", "arccos", "arcsin", "arctanh")}
    | {np.real_if_close}
)
"""Functions whose results are real or complex, depending on the values: those of np.emath where the argument is real."""

_ORDERED: dict[Any, int] = {np.ravel: 1, np.reshape: 2}
"""Functions that take an order of elements, and the place of that argument."""

OF_SOME_VALUES = frozenset(
    {np.roots, np.poly, np.polymul, np.polyfit, np.bincount, np.repeat, np.histogram, np.histogram2d, np.histogramdd}
    | {np.histogram_bin_edges, np.delete, np.linalg.eig, np.linalg.eigvals, np.linalg.lstsq}
)
"""Functions of NumPy whose results may have another shape or dtype for some values: a program looks whether they have."""


_users: dict[str, bool] = {}  # by the name of a file: whether it is the user's code


def line() -> Line | None:
    """The innermost line of code that is neither ours nor NumPy's."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        is_users = _users.get(name)
        if is_users is None:
            is_users = _users[name] = not name.startswith((_HOME, _NUMPY, "funcgrad.", "<"))
        if is_users:
            return name, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def place() -> str:
    """The user's line, for messages."""
    found = line()
    return f" ({found[0]}, line {found[1]})" if found else ""


def refuse_shapes(name: str, program: str) -> NoReturn:
    """A function of NumPy cannot be part of a program: its result has another shape for other values."""
    raise ConcretizationError(
        f"{program}: np.{name} gives another shape for other values: use np.where(condition, x, 0.0) with all three "
        f"arguments or a fixed number of elements (np.sort, np.argsort, np.take), or call it outside of jit{place()}"
    )


def refuse_dtypes(name: str, program: str) -> NoReturn:
    """A function of NumPy cannot be part of a program: its result is real or complex, depending on the values."""
    remedy = (
        "np.real(x) where the imaginary part is not needed"
        if name == "np.real_if_close"
        else "x.astype(complex), or the function of real numbers where no other occur"
    )
    raise ConcretizationError(f"{program}: {name} gives real numbers or complex ones, depending on the values: use {remedy}{place()}")


def refuse_layout(name: str, order: str, program: str) -> NoReturn:
    """A function of NumPy cannot be part of a program: the order of its result is another one for another layout."""
    raise ConcretizationError(
        f"{program}: np.{name} with order={order!r} depends on how its argument lies in memory, which may be otherwise at another call: "
        f"use order='C' or order='F'{place()}"
    )


def check_form(function: Any, args: tuple[Any, ...], options: dict[str, Any], program: str, unknown: Any) -> None:
    """A function whose result has another shape or dtype for other values cannot be part of a program.

    Args:
        function: that is called.
        args: its arguments.
        options: by keyword.
        program: the name of the program, for messages.
        unknown: the type of the arguments whose values are not known.

    Raises:
        ConcretizationError: it is such a function of NumPy, or an index by a mask, or depends on the layout of arrays.
    """
    name = getattr(function, "__name__", "")
    if function in OF_DTYPES and any(
        type(one) is unknown and (one.dtype.kind == "c") is (function is np.real_if_close)
        for one in (args[:1] if function in (np.emath.power, np.real_if_close) else args)
    ):
        refuse_dtypes(f"np.{name}" if function is np.real_if_close else f"np.emath.{name}", program)
    is_known = function in (np.compress, np.extract) and innermost_of(args[:1]) is None and "condition" not in options
    if (function in OF_VALUES and not is_known) or (function is np.where and len(args) == 1):
        refuse_shapes(name, program)
    order = options.get("order", args[_ORDERED[function]] if function in _ORDERED and len(args) > _ORDERED[function] else "C")
    if function in _ORDERED and order in ("K", "A"):
        refuse_layout(name, order, program)
    if name == "elements_of" and any(
        type(one) is unknown and one.dtype == bool for one in (args[1] if type(args[1]) is tuple else args[1:2])
    ):
        raise ConcretizationError(
            f"{program}: a boolean mask picks another number of elements for other values: use np.where(mask, x, 0.0){place()}"
        )


def of_form(value: Any, name: str, form: str) -> Any:
    """A result of a function of that name as it is, if it has the dtype and shape that a program was made for.

    Raises:
        ConcretizationError: it has another one.
    """
    found = f"{value.dtype}{list(value.shape)}"
    if found != form:
        raise ConcretizationError(
            f"jit: {name} gives {found} for these values, and {form} for those that the program was made for: use it outside of jit, or "
            "make its argument complex (x.astype(complex)) where its result is real for some values only"
        )
    return value


FUNCTIONS["of_form"] = of_form


def is_same(found: Any, plain: Any) -> bool:
    """Whether two answers are the same: type, shape, dtype, numbers."""
    if type(found) is not type(plain):
        return False
    if isinstance(plain, (tuple, list)):
        return len(found) == len(plain) and all(map(is_same, found, plain))
    if isinstance(plain, (np.ndarray, np.generic)):
        return found.shape == plain.shape and found.dtype == plain.dtype and np.array_equal(found, plain, plain.dtype.kind in "fc")
    return bool(found is plain or found == plain or found != found)


_MAY_DRAW = ("scipy.", "funcgrad.ops.scipy.", "funcgrad.scipy.", "funcgrad.rules.")


def evaluated(function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    """A call on plain values. What SciPy draws of random numbers for itself (estimates of norms) takes none from the user."""
    if isinstance(function, np.ufunc) or not str(getattr(function, "__module__", "")).startswith(_MAY_DRAW):
        return function(*args, **options)
    state = np.random.get_state(legacy=False)
    try:
        return function(*args, **options)
    finally:
        np.random.set_state(state)


def is_view_of_writeable(array: np.ndarray) -> bool:
    """Whether the memory that a read-only array views can be written into by another name."""
    base: Any = array.base
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return False
