"""Records of whole calls: a function of several inputs and outputs as one step of the tape.

Owns how such a step is recorded, how its cotangents and tangents travel, and the scope that its rules run in. A call with one output is
one record. With more, the record of the call is followed by one for each output; the cotangents that those pull come together in a `Bundle`
at the call's position, so that its rule runs once, with all of them.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError, StaleTracerError
from funcgrad.mapped import OPEN
from funcgrad.replay import has_nan
from funcgrad.rule import Rule, accumulate
from funcgrad.rules.batching import inner_mapping, looped
from funcgrad.rules.scopes import in_scope_of
from funcgrad.rules.values import is_array, raw
from funcgrad.tape import Record, Scope, protect
from funcgrad.tracer import Tracer, plain_array
from funcgrad.transforms.arguments import settled


class Bundle:
    """The cotangents (None: zero) or tangents of all outputs of a call, at the position of its record."""

    __slots__ = ("parts",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def __add__(self, other: Bundle) -> Bundle:
        pairs = zip(self.parts, other.parts, strict=True)
        return Bundle([one if two is None else two if one is None else one + two for one, two in pairs])

    def __ne__(self, other: object) -> bool:  # a replay asks `value != value` whether there is a NaN in it
        return any(one is not None and has_nan(one) for one in self.parts)


def joined(parts: Sequence[Any]) -> Any:
    """The tangents of all outputs of a call as that of its record."""
    return parts[0] if len(parts) == 1 else Bundle(parts)


def parts_of(cotangent: Any) -> Sequence[Any]:
    """The cotangents of all outputs of a call (None: zero) out of that of its record."""
    return cotangent.parts if type(cotangent) is Bundle else [cotangent]


def _push_output(record: Record, tangents: Any) -> Any:
    return tangents[record[1]].parts[record[2][0]]


def _pull_output(cotangent: Any, record: Record, cotangents: Any) -> None:
    n, count = record[2]
    accumulate(cotangents, record[1], Bundle([cotangent if m == n else None for m in range(count)]))


_OUTPUT = Rule("output", _push_output, _pull_output, lambda record, index, scope: record)


def recorded(rule: Rule, scope: Scope, operands: Sequence[Tracer], residual: Any, answers: Sequence[Any]) -> list[Tracer]:
    """Record a call.

    Args:
        rule: whose push gives what `joined` makes, and whose pull takes what `parts_of` takes apart.
        scope: the innermost of the operands.
        operands: the traced inputs.
        residual: what the rule needs.
        answers: the outputs, numbers and arrays that belong to the tape alone.

    Returns:
        A tracer for each output.
    """
    records = scope.records
    index = len(records)
    records.append((rule.key, *(one._index for one in operands), residual))
    if len(answers) == 1:
        return [scope.make(answers[0], scope, index)]
    call = scope.make(None, scope, index)  # held until the outputs have their tangents
    if scope.watched is not None:
        scope.watched.pop(index, None)
    made = []
    for n, answer in enumerate(answers):
        records.append((_OUTPUT.key, call._index, (n, len(answers))))
        made.append(scope.make(answer, scope, len(records) - 1))
    return made


def tangents_of(record: Record, tangents: Any, operands: Sequence[Any]) -> list[Any]:
    """The tangents of a call's operands, in their spaces."""
    return settled([tangents.get(parent) for parent in record[1:-1]], operands)


def hand_on(parts: Sequence[Any], record: Record, cotangents: Any) -> None:
    """Give the operands of a call their cotangents (None: zero)."""
    for parent, part in zip(record[1:-1], parts, strict=True):
        if part is not None:
            accumulate(cotangents, parent, part)


def lifted(operands: Sequence[Any], record: Record, scope: Scope) -> tuple[Tracer, ...]:
    """The operands of a call as tracers, for a replay that is itself recorded."""
    return tuple(Tracer(one, scope, parent) for one, parent in zip(operands, record[1:-1], strict=True))


def has_derivative(value: Any) -> bool:
    """Whether a leaf of an output is a floating-point number or array."""
    plain = raw(value)
    return type(plain) in (float, complex) or (is_array(plain) and plain.dtype.kind in "fc")


def owned(answer: Any, scope: Scope) -> Any:
    """An output of a user's function as the tape may keep it: no view of an input, and held if it is the user's own array."""
    if type(answer) is complex:
        return np.complex128(answer)
    if not isinstance(answer, np.ndarray):
        return answer
    answer = plain_array(answer)
    return answer.copy() if answer.base is not None or not answer.flags.writeable else protect(answer, scope)


class _Thread(threading.local):
    """Whether calls made on this thread are replayed in forward mode on behalf of a transform around: see `on_behalf`."""

    def __init__(self) -> None:
        self.on_behalf = False


_thread = _Thread()


@contextlib.contextmanager
def on_behalf(is_so: bool) -> Iterator[None]:
    """Run a function in forward mode for a call that it made in reverse mode: functions with a vjp rule alone are transposed then."""
    before, _thread.on_behalf = _thread.on_behalf, is_so or _thread.on_behalf
    try:
        yield
    finally:
        _thread.on_behalf = before


def first_own(scope: Scope) -> int:
    """The position from which on a scope's leaves are its own: see `is_own`."""
    return sys.maxsize if _thread.on_behalf else scope.start


def is_own(tangents: dict[int, Any], first: int) -> bool:
    """Whether tangents are pushed for the very scope that a call was made in, and not for one around it.

    The first of them is always that of a leaf, and an outer scope's leaves come before all of an inner one's.
    """
    return bool(next(iter(tangents)) >= first)


def readonly(value: Any) -> Any:
    """An array as a view that cannot be written through, for functions of the user's; anything else as it is."""
    if type(value) is not np.ndarray:
        return value
    view = value.view()
    view.setflags(write=False)
    return view


def own(value: Any) -> Any:
    """An array as one that nobody else has, for a result; anything else as it is."""
    return value.copy() if type(value) is np.ndarray else value


def closed_over(what: str, how: str = "as an argument") -> ConcretizationError:
    """The error for a function of the user's that brings traced values of its own into a call that is one record."""
    return ConcretizationError(
        f"{what} uses a traced value of the code around it, whose derivative would be lost: pass it {how}, or use "
        "funcgrad.stop_gradient(x) where it is to count as a constant"
    )


def mapped_or_looped(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of the user's, which may be any code: what mapped values refuse it gets example by example."""
    try:
        return function(*args, **kwargs)
    except ConcretizationError:
        mapping = inner_mapping(args, kwargs) if OPEN else None
        if mapping is None:
            raise
    return looped(functools.partial(mapped_or_looped, function), mapping, args, kwargs)


def run(what: str, inputs: Iterable[Any], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the user's, in the scope of its inputs, and see that its result depends on nothing inside of that.

    Raises:
        ConcretizationError: it does. `what` is how the message names the function.
    """
    try:
        with in_scope_of(inputs) as around:
            result = mapped_or_looped(function, *args, **kwargs)
    except StaleTracerError as error:
        raise closed_over(what) from error
    for leaf in tree.leaves(result):
        if type(leaf) is Tracer and (around is None or leaf._scope.records is not around.records or leaf._scope.depth > around.depth):
            raise closed_over(what)
    return result
