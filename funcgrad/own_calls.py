"""Functions of our own in programs: written out as the calls of NumPy's functions that they make, where they make the same for all values.

Owns how that is found out: the calls must give what the function gives for plain values. Made-up ones are taken for those that nobody has
computed yet, if the function takes such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.dependence import evaluated, is_same
from funcgrad.instructions import replaced
from funcgrad.samples import sample_of


class OwnCalls:
    """What one recording knows of such functions.

    Args:
        kind: the type of staged values.
        apart: function -> what makes a staged value with a made-up sample of another one, in a recording inside of that function.

    Attributes:
        inside: functions that are being written out.
    """

    def __init__(self, kind: Any, apart: Callable[[Any], Callable[[Any], Any]]) -> None:
        self.inside: set[Any] = set()
        self._kind, self._apart = kind, apart
        self._known: dict[Any, bool] = {}

    def made(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], *records: list[Any]) -> Any:
        """What the calls give, which become records in some lists; NotImplemented where the function needs to see plain values."""
        key = function, *map(self._key_of, args), *options, *map(self._key_of, options.values())
        try:
            known = self._known.get(key)
        except TypeError:  # an argument without a hash
            key, known = (object(),), None
        if known is False:
            return NotImplemented
        before = [len(one) for one in records]
        self.inside.add(function)
        try:
            found = function(*args, **options)
        except Exception:
            found = NotImplemented
        finally:
            self.inside.discard(function)
        after = [len(one) for one in records]
        known = self._known[key] = found is not NotImplemented and (known or self._is_as_plain(found, function, args, options))
        for one, stop in zip(records, after if known else before, strict=True):
            del one[stop:]  # in any case what was done apart with staged values that the function closes over
        return found if known else NotImplemented

    def _is_as_plain(self, found: Any, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        given = replaced((args, options), self._apart(function), self._kind)
        try:
            return self._agree(function(*given[0], **given[1]), function, *given)
        except Exception:  # it does not take made-up values
            pass
        try:
            return self._agree(found, function, args, options)
        except Exception:
            return True  # staged values that it closes over do not go together with plain arguments

    def _agree(self, found: Any, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        plain = evaluated(function, replaced(args, sample_of, self._kind), replaced(options, sample_of, self._kind))
        return is_same(*replaced((found, plain), sample_of, self._kind))

    def _key_of(self, value: Any) -> Any:
        """What the calls that a function makes may depend on. It looks at a constant array whether its arguments are staged or not."""
        if type(value) is self._kind:
            variable = value._variable
            return variable.kind, variable.shape, variable.dtype
        if type(value) is np.ndarray:
            return value.shape, value.dtype
        if type(value) is tuple or type(value) is list:
            return type(value), *map(self._key_of, value)
        if type(value) is dict:
            return (*value, *map(self._key_of, value.values()))
        if type(value) is slice:
            return slice, self._key_of((value.start, value.stop, value.step))
        return type(value), value
