"""`checkpoint`: values inside a function are computed again in the replay instead of being kept.

Owns what is kept of a checkpointed call (its inputs, and values named for it), and the run that makes its records again. The call is one
record (`funcgrad.transforms.calls`); its function runs first without keeping records, as under forward mode, and again in each replay.
Traced values that the function closes over are inputs too: while it runs again, the very tracers stand for leaves of the new run.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, StaleTracerError
from funcgrad.mapped import OPEN, TRACERS, Mapped, across, contents, is_mapped, mapping_of
from funcgrad.replay import Slice, end_forward, end_keeping, is_large, new_leaves, open_forward, open_keeping
from funcgrad.rule import Rule
from funcgrad.rules.scopes import in_scope_of, scope_of
from funcgrad.rules.values import keep
from funcgrad.tape import Label, Record, Scope, close_scope, thread
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import FLOAT64, at, checked_function, looks_like, named, replaced
from funcgrad.transforms.calls import closed_over, first_own, hand_on, is_own, joined, lifted, on_behalf, parts_of, recorded, tangents_of
from funcgrad.transforms.captured import hold, reached, standing_for
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.mapped_calls import Packed, again, in_sight_again, out_of_sight
from funcgrad.transforms.policies import Names, Policy, naming, nothing_saved

P = ParamSpec("P")
R = TypeVar("R")


# ------------------------------------------------------------------------------------------------ runs


class _Call:
    """A checkpointed call: how its function is run on other values of its traced inputs.

    Attributes:
        name: the function's, for messages.
        captured: the tracers of the closure; the last of the inputs.
        first: the position from which on leaves are those of the scope that the call was made in.
        out_places: which leaves of the output are the call's outputs.
    """

    __slots__ = ("_f", "_form", "_places", "_treedef", "captured", "first", "name", "out_places", "policy")

    def __init__(
        self, f: Callable[..., Any], treedef: tree.TreeDef, places: list[int], captured: list[Tracer], policy: Policy, first: int
    ) -> None:
        self.name = f"checkpoint of {named(f)}"
        self._f, self._treedef, self._places, self.captured, self.policy = f, treedef, places, captured, policy
        self.first = first
        self.out_places: list[int] = []

    def run(self, leaves: Sequence[Any], constants: Sequence[Any], names: Names) -> Any:
        """The output of the function."""
        inputs, count = replaced(constants, self._places, leaves), self._treedef.num_leaves
        args, kwargs = tree.unflatten(self._treedef, inputs[:count])
        try:
            with standing_for(self.captured, inputs[count:]), naming(names):
                return self._f(*args, **kwargs)
        except StaleTracerError as error:
            raise closed_over(self.name) from error

    def returned(self, found: list[Any], out_tree: tree.TreeDef, first_run: Scope) -> None:
        """Take note of the output of the first run."""
        self.out_places = [n for n, one in enumerate(found) if type(one) is Tracer and one._scope is first_run]
        self._form = out_tree, [_form_of(found[n]) for n in self.out_places]

    def outputs(self, leaves: Sequence[Any], constants: Sequence[Any], saved: list[Any]) -> list[Any]:
        """Those leaves of the output, in a run after the first."""
        names = Names(self.policy, saved)
        found, out_tree = tree.flatten(self.run(leaves, constants, names))
        wanted, forms = self._form
        if out_tree is not wanted and out_tree != wanted:
            raise InputValueError(
                f"{self.name}: the function returned another structure when it was run again: {wanted.mismatch(out_tree)}"
            )
        for n, form in zip(self.out_places, forms, strict=True):
            if _form_of(found[n]) != form:
                was, now = _described(form), _described(_form_of(found[n]))
                raise InputValueError(
                    f"{self.name}: the output{at(wanted.paths()[n])} was {was}, and is {now} when it is run again: it must do the "
                    "same each time"
                )
        if OPEN and any(type(one) is Mapped and any(_is_of(inner, leaves) for inner in contents(one)) for one in found):
            raise closed_over(self.name)  # by a mapped value that was met by another way than the leaves
        if names.values:
            raise InputValueError(f"{self.name}: the function named fewer values when it was run again")
        return [found[n] for n in self.out_places]

    def standing(self, constants: Sequence[Any]) -> contextlib.AbstractContextManager[None]:
        """Let those values of the closure that are none of the operands be the constants, while records that keep them are replayed."""
        pairs = [pair for pair in zip(self.captured, constants[self._treedef.num_leaves :], strict=True) if pair[1] is not None]
        return standing_for(*zip(*pairs, strict=True)) if pairs else contextlib.nullcontext()


def _is_of(value: Any, leaves: Sequence[Any]) -> bool:
    return type(value) is Tracer and any(type(one) is Tracer and one._scope is value._scope for one in leaves)


def _form_of(value: Any) -> tuple[Any, Any]:
    return getattr(value, "shape", ()), getattr(value, "dtype", FLOAT64)


def _described(form: tuple[Any, Any]) -> str:
    return f"of shape {form[0]} and dtype {form[1]}"


_LABEL = Label("checkpoint")


def _without_records(call: _Call, around: Scope, operands: Sequence[Any], constants: Sequence[Any]) -> tuple[Any, Scope, list[Any]]:
    """The output of the first run, the scope of its tracers, which is closed, and the values to keep by name."""
    before, thread.scope = thread.scope, None
    try:
        scope = open_forward(_LABEL)  # of no tangents and on a tape of its own: nothing is kept
        scope.parent, scope.depth, scope.mapping = around, around.depth + 1, around.mapping
        names = Names(call.policy, depth=scope.depth)
        try:
            output = call.run(new_leaves(scope, operands), constants, names)
        finally:
            end_forward(scope, ())
            scope.parent = None
    finally:
        thread.scope = before
    return output, scope, names.values


def _pull(cotangent: Any, record: Record, cotangents: Any) -> None:
    call, operands, constants, saved, _ = record[-1]
    parts = parts_of(cotangent)
    known = [n for n, one in enumerate(parts) if one is not None]

    def pulled(operands: list[Any], constants: list[Any], saved: list[Any], given: list[Any]) -> list[Any]:
        return _pulled(call, operands, constants, saved, dict(zip(known, given, strict=True)))

    given = [parts[n] for n in known]
    hand_on(_checkpointed(call, pulled, operands, constants, saved, given), record, cotangents)


def _pulled(call: _Call, operands: list[Any], constants: Sequence[Any], saved: list[Any], given: dict[int, Any]) -> list[Any]:
    """The cotangents of the inputs (None: zero) for those of some outputs, by records that are made for it."""
    with in_scope_of([*operands, *constants, *saved, *given.values()]) as around, call.standing(constants):
        scope = open_keeping(_LABEL)
        try:
            try:
                records = scope.records
                leaves = [across(scope, one) for one in operands]
                start = len(records)
                outputs = call.outputs(new_leaves(scope, leaves), constants, saved)
            finally:
                close_scope(scope)
            depends = [type(one) is Tracer and one._scope is scope for one in outputs]
            if not all(depends) and not OPEN:  # inside of a mapping a loop is no record, and may show that it has no derivative
                raise InputValueError(f"{call.name}: an output does not depend on the inputs when the function is run again")
            seeds = [(outputs[n]._index, ct) for n, ct in given.items() if depends[n]]
            found = Slice(records, start, len(operands), around).backward(seeds, around is None and is_large(operands))
        finally:
            end_keeping(scope)
    return found


def _push(record: Record, tangents: Any) -> Any:
    call, operands, constants, saved, _ = record[-1]
    is_for_itself = is_own(tangents, call.first)

    def pushed(operands: list[Any], constants: list[Any], saved: list[Any], given: list[Any]) -> list[Any]:
        with in_scope_of([*operands, *constants, *saved, *given]), on_behalf(not is_for_itself):
            found: list[Any] = jvp(lambda *leaves: call.outputs(leaves, constants, saved), operands, given)[1]
        return found

    given = tangents_of(record, tangents, operands)
    return joined(_checkpointed(call, pushed, operands, constants, saved, given))


def _checkpointed(
    call: _Call,
    replay: Callable[..., list[Any]],
    operands: Sequence[Any],
    constants: Sequence[Any],
    saved: Sequence[Any],
    given: Sequence[Any],
) -> list[Any]:
    """What a replay makes of the inputs and of cotangents or tangents; where it is itself recorded, as a checkpointed call."""
    inputs = list(operands), list(constants), list(saved), list(given)
    with in_scope_of([one for part in inputs for one in part]) as around:
        if around is None or not around.root.keepers:
            return replay(*inputs)
        replay.__name__ = call.name.removeprefix("checkpoint of ")  # for messages
        found: list[Any] = _called(replay, nothing_saved, *tree.flatten((inputs, {})), [])
    return found


def _lift(record: Record, index: int, scope: Scope) -> Record:
    call, operands, constants, saved, held = record[-1]
    return (*record[:-1], (call, lifted(operands, record, scope), constants, saved, held))


_RULE = Rule("checkpoint", _push, _pull, _lift)


# ------------------------------------------------------------------------------------------------ the transform


def checkpoint(f: Callable[P, R], policy: Policy | None = None) -> Callable[P, R]:
    """f whose intermediate values are computed again in reverse mode instead of being kept: less memory, f's time once more.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise. It must do the same each time that it is run, and is run
            again by each replay. It may close over traced values, and over arrays, which nobody can write into until then. (Arrays that
            it reaches by calling another global function are not known: do not change them in between.)
        policy: what is kept beside the inputs: `nothing_saved` (as None), `everything_saved` or `save_only_these_names(...)`.

    Returns:
        A function with f's arguments, name and value. Alone, and in forward mode, which keeps nothing, it is f.

    Raises:
        InputTypeError: f is no function, or policy is none.
        ConcretizationError: f reaches a traced or mapped value by a global variable; pass it as an argument.
        InputValueError: (from the replay) f returns something of another structure, shape or dtype when it is run again.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> block = checkpoint(lambda x: np.sin(np.sin(np.sin(x))))
        >>> bool(grad(block)(0.5) == grad(lambda x: np.sin(np.sin(np.sin(x))))(0.5))
        True

    References:
        Griewank & Walther 2000, "Algorithm 799: revolve".
    """
    checked_function(f, "checkpoint")
    if policy is None:
        policy = nothing_saved
    if not isinstance(policy, Policy):
        raise InputTypeError(f"checkpoint: policy must be nothing_saved, everything_saved or save_only_these_names(...), got {policy!r}")

    @looks_like(f, "Checkpointed form")
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        around = thread.scope
        if around is None or not around.root.keepers or policy.names is None:
            with naming(Names(policy)):  # its names are not those of a checkpointed function around it
                return f(*args, **kwargs)
        leaves, treedef = tree.flatten((args, kwargs))
        holders = [f, *(one for one in leaves if type(one) not in TRACERS)]
        tracers, arrays = reached(holders)
        captured = [one for one in tracers if one._scope.records is around.records]
        return _called(f, policy, leaves, treedef, captured, hold(arrays, around))  # type: ignore[no-any-return]

    return checkpointed


remat = checkpoint


def _called(f: Callable[..., Any], policy: Policy, leaves: list[Any], treedef: tree.TreeDef, captured: list[Tracer], held: Any = ()) -> Any:
    """Record a call of f, whose (args, kwargs) come as leaves and structure. The record keeps the arrays that are held."""
    mapping = mapping_of(*leaves, *captured) if OPEN else None
    if mapping is not None:
        return _of_all_examples(f, policy, leaves, treedef, captured, mapping, held)
    everything = [*leaves, *captured]
    scope = scope_of(one for one in everything if type(one) is Tracer)
    if scope is None:
        args, kwargs = tree.unflatten(treedef, leaves)
        return f(*args, **kwargs)
    outside = -1 if scope.mapping is None else scope.mapping.depth - 1  # tracers of scopes around the mapping are constants here
    places = [n for n, one in enumerate(everything) if type(one) is Tracer and one._scope.depth > outside]
    operands = [everything[n] for n in places]
    constants = replaced([_constant(one, scope) for one in everything], places, [None] * len(places))
    call = _Call(f, treedef, places, captured, policy, first_own(scope))
    values = tuple(one._primal for one in operands)
    output, first_run, saved = _without_records(call, scope, values, constants)
    found, out_tree = tree.flatten(output)
    call.returned(found, out_tree, first_run)
    if not call.out_places:
        return output
    residual = (call, values, constants, [keep(one, scope) for one in saved], held)
    made = recorded(_RULE, scope, operands, residual, [found[n]._primal for n in call.out_places])
    return tree.unflatten(out_tree, replaced(found, call.out_places, made))


def _constant(value: Any, scope: Scope) -> Any:
    """An input that is no operand, for the record to keep. A traced one may itself be standing for another one at this time."""
    if type(value) is Tracer:
        return Tracer(value._primal, value._scope, value._index)
    return Mapped(value._primal, value._scope) if type(value) is Mapped else keep(value, scope)


def _of_all_examples(
    f: Callable[..., Any], policy: Policy, leaves: list[Any], treedef: tree.TreeDef, captured: list[Tracer], mapping: Scope, held: Any
) -> Any:
    """The call where it is mapped: of a function of all examples."""
    inside = [one for one in captured if is_mapped(one, mapping)]
    packed = Packed((leaves, [one._primal for one in inside]), mapping)

    @looks_like(f, "Over examples")
    def of_all(arrays: list[Any], stand_ins: list[Any]) -> Any:
        with again(mapping) as scope:
            found, _ = packed.opened(scope, [*arrays, *stand_ins])
            args, kwargs = tree.unflatten(treedef, found)
            with standing_for(inside, [Mapped(one, scope) for one in stand_ins]):
                return in_sight_again(f"checkpoint of {named(f)}", f(*args, **kwargs), scope, mapping)

    given = tree.flatten(((packed.arrays[: len(leaves)], packed.arrays[len(leaves) :]), {}))
    return out_of_sight(_called(of_all, policy, *given, [one for one in captured if not is_mapped(one, mapping)], held), mapping)


def checkpoint_sequential(functions: Sequence[Callable[[Any], Any]], x: Any, segments: int | None = None) -> Any:
    """A chain of functions, applied one after the other, in checkpointed segments.

    Args:
        functions: n functions of one argument, each of what the one before it returns.
        x: the first one's argument, a number, an array or a tree of them.
        segments: how many segments; about the square root of n if None, so that the inputs of the segments and the inside of one of them
            are what is kept at a time, 2 sqrt(n) values instead of n.

    Returns:
        The last one's value.

    Raises:
        InputTypeError: one is no function.
        InputValueError: `segments` is less than 1.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> bool(grad(lambda x: checkpoint_sequential([np.sin] * 9, x))(0.0) == 1.0)
        True

    References:
        Chen, Xu, Zhang & Guestrin 2016, "Training deep nets with sublinear memory cost".
    """
    functions = list(functions)
    for f in functions:
        checked_function(f, "checkpoint_sequential")
    if segments is None:
        segments = max(1, math.isqrt(len(functions)))
    if segments < 1:
        raise InputValueError(f"checkpoint_sequential needs at least one segment, got {segments}")
    segments = min(segments, len(functions))
    bounds = [len(functions) * n // segments for n in range(segments + 1)] if segments else [0]
    for start, stop in itertools.pairwise(bounds):
        x = checkpoint(_chain(functions[start:stop]))(x)
    return x


def _chain(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def chained(x: Any) -> Any:
        for f in functions:
            x = f(x)
        return x

    return chained
