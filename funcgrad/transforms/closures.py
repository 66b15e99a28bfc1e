"""Functions of the user's whose closures hold traced values, run with other values in their place.

How the tracers are found and made to stand for others is `funcgrad.transforms.captured`'s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import StaleTracerError
from funcgrad.mapped import OPEN, Mapped, across, contents, mapping_of, mapping_scope
from funcgrad.replay import end_forward, new_leaves, open_forward
from funcgrad.rule import CONSTANT_LEAF
from funcgrad.rules.batching import unhidden
from funcgrad.rules.scopes import scope_of
from funcgrad.tape import Label, Scope, is_known, thread
from funcgrad.tracer import Tracer
from funcgrad.transforms.calls import closed_over
from funcgrad.transforms.captured import captured_in, standing_for

_LABEL = Label("a run on plain values")


def captured_by(*functions: Any) -> list[Tracer]:
    """The tracers and mapped values that functions close over, those that are known in the scope that is open."""
    around = thread.scope
    if around is None:
        return []
    found = [one for one in captured_in(list(functions)) if is_known(one._scope, around)]
    return found if around.is_recorded else [one for one in found if one._scope.depth <= around.depth]


def in_one_scope(values: Sequence[Any]) -> list[Any]:
    """Values as operands of one record: those that mappings around the innermost tracer's scope have are constants in that."""
    if not OPEN or mapping_of(*values) is not None:
        return list(values)
    scope = scope_of(one for one in values if type(one) is Tracer)
    if scope is None:
        return list(values)
    crossed = [across(scope, one) for one in values]
    return [_constant(one, scope) if type(one) is Mapped else one for one in crossed]


def underived_value(value: Any) -> Any:
    """A value without the derivatives that it has; one that is mapped stays mapped."""
    if type(value) is Mapped:
        return Mapped(underived_value(value._primal), value._scope)
    return underived_value(value._primal) if type(value) is Tracer else value


@contextlib.contextmanager
def underived() -> Iterator[None]:
    """Be outside of all transforms that take derivatives, but for those around a mapping or a program that is recorded."""
    around = inner = thread.scope
    while inner is not None and inner.is_recorded:
        inner = inner.parent
    thread.scope = inner
    try:
        yield
    finally:
        thread.scope = around


@contextlib.contextmanager
def plainly(captured: Sequence[Tracer], values: Sequence[Any], name: str) -> Iterator[Scope]:
    """Let tracers that functions close over have plain values: what is computed from them is plain at once, and not recorded.

    Tracers of the scope that this gives are left only where a function returns what it closes over, or the result of a transform.

    Raises:
        ConcretizationError: a tracer of the code around is met that is not among the captured. `name` is whom the message speaks of.
    """
    scope = open_forward(_LABEL)
    try:
        leaves = new_leaves(scope, values)
        make = scope.make
        scope.make = lambda answer, where, index: answer if where is scope else make(answer, where, index)
        with standing_for(captured, leaves):
            yield scope
    except StaleTracerError as error:
        raise closed_over(name) from error
    finally:
        end_forward(scope, ())


def with_values(f: Callable[..., Any], captured: Sequence[Tracer], values: Sequence[Any], name: str) -> Callable[..., Any]:
    """f with other values for what it closes over.

    Args:
        f: the function.
        captured: what it closes over.
        values: tracers, mapped values, or plain ones, which are constants for the transforms of f's arguments.
        name: whom errors speak of.

    Raises:
        ConcretizationError: (from the function) a tracer of the code around is met that is not among the captured.
    """
    pairs = list(zip(captured, values, strict=True))
    traced = [(one, value) for one, value in pairs if type(one) is Tracer]
    mapped = [(one, value) for one, value in pairs if type(one) is Mapped]

    def with_mapped(*args: Any) -> Any:
        if all(type(value) is Mapped for _, value in mapped):
            with standing_for([one for one, _ in mapped], [value for _, value in mapped]):
                return f(*args)
        with mapping_scope(_LABEL, 1) as scope:  # the values are those of one example
            stand_ins = [value if type(value) is Mapped else Mapped(np.expand_dims(value, 0), scope) for _, value in mapped]
            with standing_for([one for one, _ in mapped], stand_ins):
                return tree.map(lambda one: unhidden(one, scope)[0], f(*args))

    def with_others(*args: Any) -> Any:
        scope = thread.scope
        run = with_mapped if mapped else f
        if traced and (scope is None or not scope.is_recorded):
            with plainly([one for one, _ in traced], [value for _, value in traced], name) as inside:
                return tree.map(lambda one: one._primal if type(one) is Tracer and one._scope is inside else one, run(*args))
        leaves = [value if type(value) is Tracer else _constant(value, scope) for _, value in traced]
        stand_ins = {id(one): leaf for (one, _), leaf in zip(traced, leaves, strict=True)}
        try:
            with standing_for([one for one, _ in traced], leaves):
                return tree.map(lambda one: stand_ins.get(id(one), one), run(*args))  # afterwards the captured are themselves again
        except StaleTracerError as error:
            raise closed_over(name) from error

    return with_others


def _constant(value: Any, scope: Any) -> Tracer:
    """A leaf that nothing is differentiated by."""
    scope.records.append(CONSTANT_LEAF)
    tracer = Tracer(value, scope, len(scope.records) - 1)
    tracer._tangents = []
    return tracer


def plain_result(f: Callable[..., Any], captured: Sequence[Tracer], name: str) -> Callable[..., Any]:
    """A function of the user's that is called outside of all transforms, with plain values.

    Traced values that it closes over are constants, as they are now.

    Raises:
        ConcretizationError: (from the function) it meets traced values by another way.
    """
    run = with_values(f, captured, [underived_value(one) for one in captured], name)

    def call(*args: Any) -> Any:
        with underived():
            result = run(*args)
        if any(type(inner) is Tracer for one in tree.leaves(result) for inner in contents(one)):
            raise closed_over(name)
        return result

    return call
