"""What calls write into: nothing, in a program. Its values never change, and neither do the arguments that it is called with.

Owns which functions of NumPy and SciPy write, and by which of their parameters. What tracers meet is refused by their operations.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad.errors import ConcretizationError, NoRuleError
from funcgrad.primitive import operation_of
from funcgrad.tracer import TRACERS

WRITERS: dict[Any, str] = {
    np.copyto: "np.where(condition, new, old), or np.broadcast_to(new, shape); for np.full and np.full_like those of funcgrad.numpy",
    np.fill_diagonal: "np.where(np.eye(n, dtype=bool), value, a)",
    np.place: "np.where(mask, value, a), or funcgrad.numpy.at(a)[mask].set(values)",
    np.put: "funcgrad.numpy.at(np.ravel(a))[indices].set(values).reshape(a.shape)",
    np.put_along_axis: "funcgrad.numpy.at(a)[index].set(values), or np.where",
    np.putmask: "np.where(mask, values, a)",
}
"""What does nothing but write into an array -> what to write instead."""
_LIBRARIES = ("numpy", "scipy.", "funcgrad.scipy.")
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@functools.lru_cache(maxsize=1024)  # some functions of SciPy's wrappers are made by a call
def _writing(function: Callable[..., Any]) -> dict[str, int]:
    """The parameters that say what a function may write into, with their places; beyond all others if they have none."""
    tellers = [function]
    with contextlib.suppress(NoRuleError):
        tellers.append(operation_of(function))
    for one in tellers:
        try:
            parameters = inspect.signature(one).parameters.values()
        except (TypeError, ValueError):  # it is in C, which may not tell
            continue
        places = {one.name: n if one.kind in _BY_POSITION else sys.maxsize for n, one in enumerate(parameters)}
        # Those of scipy.ndimage.distance_transform_edt and its like; elsewhere indices are read.
        written = {"out", "output", "distances", "indices"} if "distances" in places else {"out", "output"}
        return {name: place for name, place in places.items() if name in written or name.startswith("overwrite_")}
    return {}


def refuse_writer(function: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise ConcretizationError, and say what to write instead."""
    raise ConcretizationError(f"np.{function.__name__} would write a tracer into an array: write a = {WRITERS[function]} instead")


def without_writing(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], program: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call in a program, without leave to overwrite any of them.

    Raises:
        ConcretizationError: writing into an array is what the call is for.
    """
    if isinstance(function, np.ufunc) or not str(getattr(function, "__module__", "")).startswith(_LIBRARIES):
        return args, options
    if function in WRITERS:
        refuse_writer(function)
    if function is np.nan_to_num and not (options.get("copy", True) if len(args) < 2 else args[1]):
        operation_of(function)(*args, **options)  # raises
    for name, place in {"out": len(args), **_writing(function)}.items():
        value = options.get(name, args[place] if place < len(args) else None)
        if name.startswith("overwrite_"):
            if place < len(args):
                args = (*args[:place], False, *args[place + 1 :])
            options = {key: option for key, option in options.items() if key != name}
        elif any(isinstance(one, np.ndarray) or type(one) in TRACERS for one in (value if isinstance(value, tuple) else (value,))):
            raise ConcretizationError(
                f"{program}: {function.__name__}(..., {name}=array) would write into an array, and nothing changes in a program: use the "
                f"value that {function.__name__} returns"
            )
    return args, options
