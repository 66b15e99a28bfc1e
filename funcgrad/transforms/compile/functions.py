"""A function of leaves with its programs, whatever the leaves are: plain, staged, mapped or traced.

Owns what `jit` is under the other transforms. A derivative is a function of leaves itself, with programs of its own; that of reverse mode
is recorded as a whole and taken apart into what does not depend on the cotangents, which runs with the value, and the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError
from funcgrad.instructions import Instruction, Variable
from funcgrad.mapped import Mapped, inmost
from funcgrad.rules.batching import hidden, unhidden
from funcgrad.staged import Staged
from funcgrad.tape import Scope, check_open, thread
from funcgrad.tracer import TRACERS, Tracer, innermost_of
from funcgrad.transforms.arguments import ones, zeros
from funcgrad.transforms.batching import vmap
from funcgrad.transforms.calls import has_derivative
from funcgrad.transforms.captured import Own
from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.dead import without_dead_code
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.programs import Applied, Entry, passed, recorded
from funcgrad.transforms.compile.surroundings import Surroundings
from funcgrad.transforms.custom import CustomFunction, custom_jvp
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.reverse import vjp


class Compiled(Own):
    """A function of leaves, with its programs.

    Attributes:
        name: for messages.
        f: the function of leaves, which gives a tree.
    """

    def __init__(self, name: str, f: Applied, source: Sequence[Any]) -> None:
        self.name, self.f, self._source = name, f, source
        self._entries: dict[Any, tuple[Surroundings, Entry]] = {}
        self._others: dict[Any, Any] = {}
        self._lock = threading.RLock()

    def __call__(self, *leaves: Any) -> Any:
        """The output."""
        for leaf in leaves:
            if type(leaf) in TRACERS:
                return self._of_tracers(leaves)
        entry = self.entry(leaves)
        return self.f(*leaves) if entry is None else tree.unflatten(entry.out_tree, entry.run(leaves))

    def entry(self, leaves: Sequence[Any]) -> Entry | None:
        """The program for plain leaves like these; None where the function reads a tracer of the code around it."""
        key = _key(leaves)
        found = self._entries.get(key)
        if found is None or not found[0].are_same():
            with self._lock:
                found = self._entries.get(key)
                if found is None or not found[0].are_same():
                    around = Surroundings(self._source)
                    if around.holds_tracer:
                        return None
                    states = around.random_states()
                    entry = Entry(self.name, self.f, leaves)
                    if around.random_states() != states:
                        raise ConcretizationError(
                            f"jit of {self.name}: the function draws random numbers, which would be the same at each call: draw them "
                            "outside, and pass the numbers as an argument"
                        )
                    found = self._entries[key] = Surroundings(self._source), entry  # as the recording has left them
        return found[1]

    def known(self, leaves: Sequence[Any]) -> tuple[Surroundings, Entry] | None:
        """The program for plain leaves like these that was made last, and what the function read then; None where there is none."""
        return self._entries.get(_key(leaves)) if not any(type(leaf) in TRACERS for leaf in leaves) else None

    def entries(self) -> list[Entry]:
        """The programs so far, one for each type of the leaves."""
        return [entry for _, entry in self._entries.values()]

    def _other(self, key: Any, make: Callable[[], Any]) -> Any:
        """A function that was made of this one."""
        with self._lock:
            if key not in self._others:
                self._others[key] = make()
            return self._others[key]

    def _of_tracers(self, leaves: Sequence[Any]) -> Any:
        for leaf in leaves:
            if type(leaf) in TRACERS:
                check_open(leaf._scope, thread.scope, f"jit of {self.name}")
        innermost = innermost_of(leaves)
        if type(innermost) is Staged or any(type(inmost(leaf)) is Staged for leaf in leaves):
            return self.f(*leaves)  # inside of another program: a part of that
        if type(innermost) is Mapped:
            return self._of_examples(innermost._scope, leaves)
        places = tuple(n for n, leaf in enumerate(leaves) if type(leaf) is Tracer)
        return self._other(("derivative", places), lambda: _with_derivatives(self, places))(*leaves)

    def _of_examples(self, scope: Scope, leaves: Sequence[Any]) -> Any:
        """The output for mapped leaves, by the program of all examples."""
        axes = tuple(0 if type(leaf) is Mapped and leaf._scope is scope else None for leaf in leaves)
        mapped = self._other(("vmap", axes), lambda: Compiled(self.name, vmap(self.f, axes), self._source))
        arrays = [leaf if axis is None else unhidden(leaf, scope) for leaf, axis in zip(leaves, axes, strict=True)]
        return tree.map(lambda one: hidden(one, scope), mapped(*arrays))

    def pushed(self, places: Sequence[int]) -> Compiled:
        """The function of all leaves, and a tangent for each of those in some places, that gives the output and its tangent."""
        count = len(places)

        def with_tangents(*given: Any) -> Any:
            leaves, tangents = given[:-count], given[-count:]
            parts = _Parts(self.f, leaves, places)
            _, found, aux = jvp(parts, tuple(leaves[n] for n in places), tangents, has_aux=True)
            values, _ = aux
            return parts.whole(values), parts.whole([zeros(one) for one in values], found)

        return self._other(("jvp", *places), lambda: Compiled(f"jvp of {self.name}", with_tangents, self._source))  # type: ignore[no-any-return]

    def pulled(self, places: Sequence[int], count: int) -> Compiled:
        """The function of all leaves (`count`), and those of a cotangent, that gives the output and cotangents of those in some places."""

        def with_cotangents(*given: Any) -> Any:
            leaves, cts = given[:count], given[count:]
            parts = _Parts(self.f, leaves, places)
            _, pullback, aux = vjp(parts, *(leaves[n] for n in places), has_aux=True)
            return parts.whole(aux[0]), pullback([ct for ct, wanted in zip(cts, parts.are_differentiable, strict=True) if wanted])

        return self._other(("vjp", *places), lambda: Compiled(f"vjp of {self.name}", with_cotangents, self._source))  # type: ignore[no-any-return]

    def halves(self, places: Sequence[int], leaves: Sequence[Any]) -> Halves | None:
        """The program of reverse mode in two parts, for plain leaves like these."""
        entry = self.entry(leaves)
        if entry is None:
            return None
        with self._lock:
            found = entry.halves.get(tuple(places))  # of this very program: another one may read other values
            if found is None:
                found = entry.halves[tuple(places)] = Halves(self, places, leaves, entry)
        return found


def _key(leaves: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([(leaf.shape, leaf.dtype) if type(leaf) is np.ndarray else type(leaf) for leaf in leaves])


class _Parts:
    """A function of the leaves in some places alone, that gives those leaves of the output that have derivatives, and all as aux."""

    def __init__(self, f: Applied, leaves: Sequence[Any], places: Sequence[int]) -> None:
        self._f, self._leaves, self._places = f, list(leaves), places
        self._treedef: tree.TreeDef = tree.LEAF
        self.are_differentiable: list[bool] = []

    def __call__(self, *some: Any) -> Any:
        whole = list(self._leaves)
        for n, one in zip(self._places, some, strict=True):
            whole[n] = one
        found, self._treedef = tree.flatten(self._f(*whole))
        self.are_differentiable = [has_derivative(one) for one in found]
        return [one for one in found if has_derivative(one)], (found, None)

    def whole(self, values: Sequence[Any], differentiable: Sequence[Any] | None = None) -> Any:
        """The tree of the output, of some leaves; those with derivatives replaced, if there are others for them."""
        if differentiable is not None:
            instead = iter(differentiable)
            values = [next(instead) if wanted else one for one, wanted in zip(values, self.are_differentiable, strict=True)]
        return tree.unflatten(self._treedef, values)


class Halves(Own):
    """The program of value and cotangents, taken apart: what does not depend on the cotangents runs with the value."""

    def __init__(self, of: Compiled, places: Sequence[int], leaves: Sequence[Any], entry: Entry) -> None:
        self.out_tree = entry.out_tree
        cts = [ones(one) if has_derivative(one) else one for one in entry.run(leaves)]
        program, _ = recorded(f"vjp of {of.name}", of.pulled(places, len(leaves)).f, [*leaves, *cts])
        self._holds, program = program.holds, passed(program)
        count, self._outputs = len(leaves), len(cts)
        after = set(program.inputs[count:])
        parts: tuple[list[Instruction], list[Instruction]] = ([], [])
        for instruction in program.instructions:
            is_after = not after.isdisjoint(instruction.inputs)
            parts[is_after].append(instruction)
            if is_after:
                after.update(instruction.outputs)
        known = {*program.inputs}
        wanted = [one for instruction in parts[1] for one in instruction.inputs] + [*program.outputs[len(cts) :], *program.watched]
        variables = dict.fromkeys(one for one in wanted if type(one) is Variable)
        kept = [one for one in variables if one not in after and one not in known]
        before = [one for one in program.watched if one not in after]
        first = Program(of.name, program.inputs[:count], parts[0], [*program.outputs[: len(cts)], *kept], before)
        inputs = [*program.inputs[:count], *kept, *program.inputs[count:]]
        second = Program(program.name, inputs, parts[1], program.outputs[len(cts) :], [one for one in program.watched if one in after])
        self._first, self._second = Code(without_dead_code(first)), Code(without_dead_code(second))

    def forth(self, leaves: Sequence[Any]) -> tuple[Any, Any]:
        """The output, and what `back` needs beside the leaves; None where strong zeros are needed."""
        found = self._first.run(leaves)
        if found is None:
            return None, None
        return tree.unflatten(self.out_tree, found[: self._outputs]), list(found[self._outputs :])

    def back(self, leaves: Sequence[Any], kept: Sequence[Any], cts: Sequence[Any]) -> Sequence[Any] | None:
        """The cotangents; None where strong zeros are needed."""
        return self._second.run([*leaves, *kept, *cts])


def _with_derivatives(of: Compiled, places: tuple[int, ...]) -> CustomFunction:
    """The function as a primitive whose derivatives with respect to the leaves in some places have programs of their own."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return of.pushed(places)(*primals, *(tangents[n] for n in places))

    def forth(*leaves: Any) -> Any:
        if not any(type(leaf) in TRACERS for leaf in leaves):
            halves = of.halves(places, leaves)
            output, kept = halves.forth(leaves) if halves is not None else (None, None)
            if kept is not None:
                return output, (leaves, kept, halves)
        return of(*leaves), (leaves, None, None)

    def back(residuals: Any, ct: Any) -> Any:
        leaves, kept, halves = residuals
        cts = tree.leaves(ct)
        found = None
        if kept is not None and not any(type(one) in TRACERS for one in (*leaves, *kept, *cts)):
            found = halves.back(leaves, kept, cts)
        if found is None:
            _, found = of.pulled(places, len(leaves))(*leaves, *cts)
        whole: list[Any] = [None] * len(leaves)
        for n, one in zip(places, found, strict=True):
            whole[n] = one
        return tuple(whole)

    function = custom_jvp(lambda *leaves: of(*leaves))
    function._name, function._keeps_zeros = of.name, True  # transforms make its rules, and keep exact zeros themselves
    function.defjvp(rule)
    function.defvjp(forth, back)
    return function
