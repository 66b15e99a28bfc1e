"""Branches that are chosen by a staged value: all are recorded, each as a program of its own, and the one that is chosen runs.

Owns their instruction, and their derivatives: those of all branches are branches again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, TreeError
from funcgrad.instructions import NUMBERS, Variable, copied, variable_of
from funcgrad.rules.values import shape_of
from funcgrad.staged import Staged, kind_of
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import replaced
from funcgrad.transforms.calls import has_derivative
from funcgrad.transforms.closures import captured_by, with_values
from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.loops import closed, converted, inside, rank_of, staged_in, zero_of
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.custom import custom_jvp
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.reverse import vjp

Branch = Callable[..., Any]


def branched(name: str, index: Any, branches: Sequence[Branch], operands: Sequence[Any]) -> Any:
    """The value of the branch of a number that is staged; the last one's, or the first one's, where the number is out of range.

    Raises:
        TreeError, InputValueError, InputTypeError: the branches give other structures, shapes or dtypes.
    """
    captured = [one for one in captured_by(*branches) if type(one) is Tracer]
    staged = [one for one in captured_by(*branches) if type(one) is Staged]
    leaves, treedef = tree.flatten(tuple(operands))
    places = [n for n, one in enumerate(leaves) if type(one) is Tracer]
    count = len(captured)

    def of_values(branch: Branch) -> Branch:
        def call(*values: Any) -> Any:
            given = tree.unflatten(treedef, replaced(leaves, places, values[count:]))
            return with_values(branch, captured, values[:count], name)(*given)

        return call

    values = [*captured, *(leaves[n] for n in places)]
    return _chosen(name, index, [of_values(one) for one in branches], values, [*leaves, *staged])


def _chosen(name: str, index: Staged, branches: Sequence[Branch], values: Sequence[Any], others: Sequence[Any]) -> Any:
    """The same for branches that are functions of values alone, of which some may be traced; they also use others, which are not."""
    if not any(type(one) is Tracer for one in values):
        return _recorded(name, index, branches, values, others)
    function = custom_jvp(lambda *values: _chosen(name, index, branches, values, others))
    function._name, function._keeps_zeros = name, True  # transforms make its rules, and keep exact zeros themselves

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return _chosen(name, index, [_pushed(one) for one in branches], [*primals, *tangents], others)

    def back(residuals: Sequence[Any], ct: Any) -> Any:
        cts = tree.leaves(ct)
        found = _chosen(name, index, [_pulled(one, len(cts)) for one in branches], [*residuals, *cts], others)
        return tuple(replaced([None] * len(residuals), _moving(residuals), found))

    function.defjvp(rule)
    function.defvjp(lambda *values: (function._f(*values), values), back)
    return function(*values)


def _pushed(branch: Branch) -> Branch:
    """The branch with tangents: of values and as many tangents."""

    def call(*given: Any) -> Any:
        primals, tangents = given[: len(given) // 2], given[len(given) // 2 :]
        places = _moving(primals)
        along = lambda *some: _parts(branch(*replaced(primals, places, some)))
        _, found, (whole, treedef) = jvp(along, [primals[n] for n in places], [tangents[n] for n in places], has_aux=True)
        left = iter(found)
        moved = [next(left) if has_derivative(one) else _zero(one) for one in whole]
        return tree.unflatten(treedef, whole), tree.unflatten(treedef, moved)

    return call


def _pulled(branch: Branch, count: int) -> Branch:
    """The cotangents of those values of a branch that have any, for values and as many cotangents of leaves of its result."""

    def call(*given: Any) -> Any:
        values, cts = given[:-count], given[-count:]
        places = _moving(values)
        along = lambda *some: _parts(branch(*replaced(values, places, some)))
        _, pullback, (whole, _) = vjp(along, *(values[n] for n in places), has_aux=True)
        return list(pullback([ct for ct, one in zip(cts, whole, strict=True) if has_derivative(one)]))

    return call


def _moving(values: Sequence[Any]) -> list[int]:
    return [n for n, one in enumerate(values) if has_derivative(one)]


def _parts(found: Any) -> tuple[list[Any], tuple[list[Any], tree.TreeDef]]:
    leaves, treedef = tree.flatten(found)
    return [one for one in leaves if has_derivative(one)], (leaves, treedef)


def _zero(value: Any) -> Any:
    return value * 0


class SwitchRun:
    """Compiled branches: `(number, the values around of each)` -> what the chosen one gives.

    Before that there is a number that is NaN where strong zeros are needed, if derivatives are watched.
    """

    is_fresh = True

    def __init__(self, branches: Sequence[Program]) -> None:
        self.__name__ = "switch"
        self.branches = branches
        self._codes = [Code(one) for one in branches]
        self._is_watched = any(one.watched for one in branches)

    @property
    def text(self) -> str:
        """The code."""
        return "\n".join(
            f"# {one.name}, branch {n}\n{code.text}" for n, (one, code) in enumerate(zip(self.branches, self._codes, strict=True))
        )

    @property
    def programs(self) -> list[tuple[str, Program]]:
        """What it consists of."""
        return [(f"branch {n}", one) for n, one in enumerate(self.branches)]

    def form(self, index: Any, around: Sequence[Sequence[Any]]) -> tuple[Variable, ...]:
        """What results are like."""
        found = [copied(variable_of(one)) for one in self.branches[0].outputs]
        return (Variable(0.0), *found) if self._is_watched else tuple(found)

    def __call__(self, index: Any, around: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """Run the branch of that number."""
        n = min(max(int(index), 0), len(self._codes) - 1)
        code = self._codes[n]
        function = code.take()
        found = function(*around[n])
        code.give_back(function)
        flag = [0.0] if self._is_watched else []
        if found is None:
            return (np.nan, *(zero_of(one) for one in self.branches[n].outputs))
        return (*flag, *found)


def _recorded(name: str, index: Staged, branches: Sequence[Branch], values: Sequence[Any], others: Sequence[Any]) -> Any:
    """Record the branches, which use no traced values."""
    found = staged_in((index, *values, *others))
    assert found is not None
    outer = found._recording
    kinds: list[Any] = []
    treedef: Any = None
    for is_last in (False, True):  # the first time shows the kinds of all
        programs, around = [], []
        for n, branch in enumerate(branches):
            with inside(outer, name, is_branch=True) as inner:
                leaves, structure = tree.flatten(branch(*values))
                if treedef is None:
                    treedef, kinds = structure, [_Kind(one) for one in leaves]
                elif structure != treedef:
                    raise TreeError(
                        f"{name}: all branches must give one structure in a program of jit, but branch {n} gives another: "
                        f"{treedef.mismatch(structure)}"
                    )
                for path, one, kind in zip(treedef.paths(), leaves, kinds, strict=True):
                    kind.take(one, f"{name}: branch {n}", path)
                if is_last:
                    outputs = [inner.result(name, kind.of(one)) for one, kind in zip(leaves, kinds, strict=True)]
                    program, used = closed(inner, name, [], outputs)
                    programs.append(program)
                    around.append(used)
    run = SwitchRun(programs)
    made = list(outer.call(run, (index, around), {}))
    if run._is_watched:
        made.pop(0).watch()
    return tree.unflatten(treedef, made)


class _Kind:
    """What a leaf of the result is in all branches."""

    def __init__(self, value: Any) -> None:
        self.kind = kind_of(value)
        self.shape, self.dtype = shape_of(value), self._dtype_of(value)

    @staticmethod
    def _dtype_of(value: Any) -> Any:
        return getattr(value, "dtype", None) or np.result_type(value)

    def take(self, value: Any, what: str, path: str) -> None:
        """Another branch gives this.

        Raises:
            InputValueError, InputTypeError: it is of another shape or dtype.
        """
        kind, shape, dtype = kind_of(value), shape_of(value), self._dtype_of(value)
        if shape != self.shape:
            raise InputValueError(
                f"{what} gives shape {shape}{path and f' at {path}'}, another one {self.shape}: in a program of jit all "
                "branches must give the same"
            )
        if dtype != self.dtype:
            if kind in NUMBERS and np.can_cast(dtype, self.dtype, "same_kind"):
                return
            if self.kind not in NUMBERS or not np.can_cast(self.dtype, dtype, "same_kind"):
                raise InputTypeError(
                    f"{what} gives dtype {dtype}{path and f' at {path}'}, another one {self.dtype}: in a program of jit "
                    "all branches must give the same (0.0 instead of 0, or astype)"
                )
            self.kind, self.dtype = kind, dtype
        if rank_of(kind) > rank_of(self.kind):
            self.kind = kind

    def of(self, value: Any) -> Any:
        """A branch's leaf as one of all."""
        is_same = kind_of(value) is self.kind and self._dtype_of(value) == self.dtype
        return value if is_same else converted(value, self.kind, self.dtype)
