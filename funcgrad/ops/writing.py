"""What writes into arrays, which tracers cannot be part of: each is refused with the call that makes a new array instead.

Owns the messages, and what `+=` and its like do to a tracer: they give the name another value, which is not the same where the value is a
view of another array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad.errors import ConcretizationError
from funcgrad.ops.indexing import PICK, is_basic
from funcgrad.primitive import register
from funcgrad.tracer import Tracer
from funcgrad.writes import WRITERS, refuse_writer

METHODS: dict[str, str] = {
    "byteswap": "x.astype(dtype)",
    "fill": "funcgrad.numpy.full_like(x, value)",
    "itemset": "x = x.at[index].set(value)",
    "partition": "x = np.partition(x, kth)",
    "put": "x = x.ravel().at[indices].set(values).reshape(x.shape)",
    "resize": "x = np.resize(x, shape)",
    "setfield": "x = x.at[index].set(value)",
    "setflags": "nothing (a tracer is never written into)",
    "sort": "x = np.sort(x, axis)",
    "view": "x.astype(dtype), or x[...] for the same elements",
}
"""Methods of arrays that change them in place, or make a window to do so -> what to write instead."""


def refuse_method(name: str) -> Callable[..., NoReturn]:
    """A method of tracers that raises and names the call to use."""

    def refused(x: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
        raise ConcretizationError(f"x.{name} would change a tracer in place, or open it to changes: write {METHODS[name]} instead")

    refused.__name__ = refused.__qualname__ = name
    return refused


for _function in WRITERS:
    register(_function, functools.partial(refuse_writer, _function))


def in_place(symbol: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`x += y` and its like: x stands for a new value from then on. Where x is a part of another array, NumPy would change that too.

    Args:
        symbol: the operator, for the message.
        operation: what it does.

    Returns:
        The method of tracers.
    """

    def changed(x: Any, y: Any) -> Any:
        value = x._primal
        if type(value) is np.ndarray and value.base is not None and _is_part(x):
            raise ConcretizationError(
                f"x {symbol}= y, where x is a part of an array, would change that array too, and a tracer cannot be changed: write "
                f"x = x {symbol} y for x alone, or a = a.at[index].add(y) (or subtract, multiply, divide, set) for the array"
            )
        return operation(x, y)

    return changed


def _is_part(x: Any) -> bool:
    """Whether x is some elements of another array, or all of them by an index. Forward mode drops records, and can see the former only."""
    if x._primal.size < getattr(x._primal.base, "size", 0):
        return True
    record = x._scope.records[x._index]
    return record is not None and record[0] == PICK and is_basic(record[-1][1][0])
