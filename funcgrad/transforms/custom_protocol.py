"""What the rules of custom functions take and return: arguments, tangents and cotangents in the form of the user's trees.

Owns the checks of what a rule returned, with messages that name the rule, the argument and the place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, NoRuleError, TreeError
from funcgrad.mapped import Mapped
from funcgrad.rule import Rule
from funcgrad.rules.scopes import in_scope_of
from funcgrad.rules.values import as_array, placeholder, raw, shape_of
from funcgrad.silence import quietly
from funcgrad.tape import Record, Scope
from funcgrad.transforms.arguments import at, fitting, replaced, zeros
from funcgrad.transforms.calls import has_derivative, lifted, readonly, run
from funcgrad.transforms.forward import jvp


def is_none(value: Any) -> bool:
    """For trees in which None stands for a zero."""
    return value is None


def rule_of_calls(push: Callable[..., Any], pull: Callable[..., Any]) -> Rule:
    """A rule of all custom functions, out of methods of theirs: the one to ask is in the record."""

    def lift(record: Record, index: int, scope: Scope) -> Record:
        call, operands, constants, _, nondiff = record[-1]
        return (*record[:-1], (call, lifted(operands, record, scope), constants, None, nondiff))

    rule = Rule(
        "custom",
        lambda record, tangents: push(record[-1][0].function, record, tangents),
        lambda cotangent, record, cotangents: pull(record[-1][0].function, cotangent, record, cotangents),
        lift,
    )
    rule.named = lambda record: record[-1][0].name
    return rule


class Call:
    """One call: what is the same however often it is replayed.

    Attributes:
        function: whose call it is, where it is recorded.
        name: the function's.
        nondiff: the arguments that rules take first, by their places among all.
        treedef: the structure of the tuple of the other arguments.
        places: which of its leaves are traced.
        out_tree: the structure of the output.
        outputs: its leaves; those that have a derivative as placeholders, with shape and dtype only.
        out_places: which those are.
        first: the position from which on leaves are those of the scope that the call was made in.
        count: the number of differentiable arguments.
    """

    __slots__ = ("count", "first", "function", "name", "nondiff", "out_places", "out_tree", "outputs", "places", "treedef")

    def __init__(
        self, name: str, nondiff: dict[int, Any], treedef: tree.TreeDef, places: list[int], first: int, function: Any = None
    ) -> None:
        self.function = function
        self.name, self.nondiff, self.treedef, self.places, self.first = name, nondiff, treedef, places, first
        self.count = len(tree.unflatten(treedef, range(treedef.num_leaves)))

    def returned(self, output: Any) -> None:
        """Take note of the form of the output."""
        found, self.out_tree = tree.flatten(output)
        self.out_places = [n for n, one in enumerate(found) if has_derivative(one)]
        self.outputs = [np.complex128(one) if type(one) is complex else placeholder(one) for one in found]

    def chosen(self, output: Any) -> list[Any]:
        """The leaves of an output that have a derivative."""
        leaves = tree.leaves(output)
        return [leaves[n] for n in self.out_places]

    def output(self, plain: Any, traced: Sequence[Any]) -> Any:
        """An output with tracers for the leaves that have a derivative."""
        return tree.unflatten(self.out_tree, replaced(tree.leaves(plain), self.out_places, traced))

    @property
    def differentiable(self) -> list[Any]:
        """The outputs that have a derivative, as placeholders."""
        return [self.outputs[n] for n in self.out_places]

    def args(self, operands: Sequence[Any], constants: Sequence[Any]) -> tuple[Any, ...]:
        """The differentiable arguments."""
        return tuple(tree.unflatten(self.treedef, replaced(constants, self.places, [readonly(one) for one in operands])))

    def inputs(self, operands: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        """The leaves of all arguments: a rule runs in the innermost scope of theirs, be it that of a mapped constant."""
        return [*operands, *constants, *tree.leaves(list(self.nondiff.values()))]

    def all_args(self, operands: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        """All arguments, as the function and fwd take them."""
        rest = iter(self.args(operands, constants))
        return [self.nondiff[n] if n in self.nondiff else next(rest) for n in range(len(self.nondiff) + self.count)]

    def tangent_args(self, tangents: Sequence[Any], constants: Sequence[Any]) -> tuple[Any, ...]:
        """Tangents of the differentiable arguments, zeros for those that are not traced."""
        rest = [None if n in self.places else zeros(one) for n, one in enumerate(constants)]
        return tuple(tree.unflatten(self.treedef, replaced(rest, self.places, [readonly(one) for one in tangents])))

    def out_cotangent(self, cotangents: Sequence[Any]) -> Any:
        """A cotangent of the output, zeros where it has no derivative."""
        rest = [None if n in self.out_places else zeros(one) for n, one in enumerate(self.outputs)]
        return tree.unflatten(self.out_tree, replaced(rest, self.out_places, [readonly(one) for one in cotangents]))

    def checked_value(self, rule: str, value: Any) -> None:
        """The value that a rule returns beside must be of the form of the function's.

        Raises:
            TreeError, InputValueError, InputTypeError: it is not.
        """
        pairs, got = tree.flatten_with_path(value)
        if got != self.out_tree:
            raise TreeError(f"{rule} of {self.name}: the value must have the structure {self.out_tree}, got {got}")
        for n in self.out_places:
            path, one = pairs[n]
            place = f"{rule} of {self.name}: the value" + at(path)
            if shape_of(one) != shape_of(self.outputs[n]):
                raise InputValueError(f"{place} must have shape {shape_of(self.outputs[n])}, as that of {self.name}, got {shape_of(one)}")
            wanted, found = (as_array(raw(each)).dtype for each in (self.outputs[n], one))
            if wanted != found:
                raise InputTypeError(f"{place} must have dtype {wanted}, as that of {self.name}, got {found}")

    def checked_tangents(self, tangent: Any) -> list[Any]:
        """The tangents of the differentiable outputs that the jvp rule returned.

        Raises:
            TreeError, InputValueError, InputTypeError: they do not fit the output.
        """
        pairs, got = tree.flatten_with_path(tangent)
        if got != self.out_tree:
            raise TreeError(f"the jvp rule of {self.name}: the tangent must have the structure of the value, {self.out_tree}, got {got}")
        found = []
        for n in self.out_places:
            path, one = pairs[n]
            what = "tangent" + at(path)
            found += fitting(f"the jvp rule of {self.name}", what, one, tree.LEAF, [self.outputs[n]])
        return found

    def checked_cotangents(self, answer: Any, operands: Sequence[Any]) -> list[Any]:
        """The cotangents of the operands (None: zero) that bwd returned.

        Raises:
            TreeError, InputValueError, InputTypeError: they do not fit the arguments.
        """
        wanted = tree.unflatten(self.treedef, list(range(self.treedef.num_leaves)))
        if not isinstance(answer, (tuple, list)) or len(answer) != len(wanted):
            got = f"{len(answer)} of them" if isinstance(answer, (tuple, list)) else f"{type(answer).__name__} (for one write (ct,))"
            raise TreeError(f"bwd of {self.name} must return a tuple with a cotangent for each of {len(wanted)} arguments, got {got}")
        traced = dict(zip(self.places, operands, strict=True))
        found: dict[int, Any] = {}
        for n, (one, places) in enumerate(zip(answer, wanted, strict=True)):
            if one is None:
                continue
            pairs, found_tree = tree.flatten_with_path(one, is_leaf=is_none)
            known, arg_tree = tree.flatten(places, is_leaf=is_none)
            if found_tree != arg_tree:
                raise TreeError(f"bwd of {self.name}: the cotangent of argument {n} must have the structure {arg_tree}, got {found_tree}")
            for place, (path, ct) in zip(known, pairs, strict=True):
                if place in traced and ct is not None:
                    what = f"cotangent of argument {n}" + at(path)
                    found[place] = fitting(f"bwd of {self.name}", what, ct, tree.LEAF, [traced[place]])[0]
        return [found.get(place) for place in self.places]


def compare(compared: set[Any], name: str, inputs: Sequence[Any], value: Any, f: Callable[..., Any], args: Sequence[Any]) -> None:
    """What fwd returns beside must be of the form of f's value, which is computed once for inputs of some shapes and dtypes.

    Raises:
        TreeError, InputValueError, InputTypeError: it is not.
    """
    form = tuple([(getattr(one, "shape", type(one)), getattr(one, "dtype", None)) for one in inputs])
    if form not in compared:
        call = Call(name, {}, tree.structure(list(args)), [], 0)
        call.returned(quietly(lambda: run(name, inputs, f, *args)))
        call.checked_value("fwd", value)
        compared.add(form)


def pair(demand: str, value: Any) -> tuple[Any, Any]:
    """The two values that a rule must return.

    Raises:
        TreeError: it returned something else.
    """
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        got = f"{len(value)} values" if isinstance(value, (tuple, list)) else type(raw(value)).__name__
        raise TreeError(f"{demand}, got {got}")
    return value[0], value[1]


def unshared(parts: list[Any]) -> list[Any]:
    """Tangents or cotangents that a rule returned; an array that is known elsewhere too as a view, of which a result is a copy."""
    for n in range(len(parts)):
        part = parts[n]
        if type(part) is np.ndarray and getrefcount(part) > 3:  # in the list, by its name, and as the argument
            parts[n] = readonly(part)
    return parts


def without_none(values: Sequence[Any], primals: Sequence[Any]) -> list[Any]:
    """Cotangents with zeros written out."""
    return [zeros(primal) if one is None else one for one, primal in zip(values, primals, strict=True)]


def strongly(linear: Callable[..., list[Any]], given: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """What a rule makes of tangents or cotangents; where that is NaN, what its own records make of them, with exact zeros kept.

    The rule is linear: its derivative along what it is given is its value.
    """
    plain = linear(*given)
    try:
        with in_scope_of([*inputs, *given]):
            strong = jvp(lambda *given: [0.0 if one is None else one for one in linear(*given)], tuple(given), tuple(given))[1]
    except (NoRuleError, ConcretizationError):  # the rule computes with plain numbers alone
        return plain
    return [one if one is None else _where_nan(one, other) for one, other in zip(plain, strong, strict=True)]


def _where_nan(plain: Any, strong: Any) -> Any:
    if not shape_of(plain) and type(raw(plain)) is not Mapped:
        return strong if np.isnan(raw(plain)) else plain
    return np.where(np.isnan(raw(plain)), strong, plain)
