"""The step of a loop in the user's code, and the check that a carry stays what it is.

Owns what the user's function is given and may return, and how it is run on plain values (`funcgrad.transforms.closures`) and on tracers.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, StaleTracerError, TreeError
from funcgrad.mapped import Mapped
from funcgrad.ops.operators import in_kind
from funcgrad.rules.values import raw, shape_of
from funcgrad.staged import Staged, kind_of
from funcgrad.tracer import TRACERS, Tracer
from funcgrad.transforms.arguments import at
from funcgrad.transforms.calls import closed_over
from funcgrad.transforms.captured import standing_for
from funcgrad.transforms.closures import captured_by, plainly
from funcgrad.transforms.steps import Leaves, Loop, Step

KEPT_BYTES = 16.0 * 2**20
"""So much of the inside of steps is kept even so: it matters for memory where it is large only."""
NO_TREE = tree.structure(None)


class WidenedError(Exception):
    """A Python number in the first carry is one of NumPy's, of another dtype, after the first step. Never seen by users."""

    def __init__(self, place: int, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self.place, self.dtype = place, dtype


class Code(Loop):
    """A loop whose step is the user's code.

    Args:
        name: how messages call it.
        functions: the user's, for the tracers that they close over.
        once: `(carry, x)` -> `(carry, y)`, or None to end.
        again: the same for a step that is known to be made.
        init: the leaves of the first carry.
        carry, x: the structures.
        steps, budget: see `Loop`.
        asks: carry -> whether to go on, where `once` may end.

    Attributes:
        captured: the tracers that the functions close over.
        y: the structure of y, once it is known.
    """

    y: tree.TreeDef | None

    def __init__(
        self,
        name: str,
        functions: Sequence[Any],
        once: Callable[[Any, Any], Any],
        again: Callable[[Any, Any], Any],
        init: Leaves,
        carry: tree.TreeDef,
        x: tree.TreeDef,
        steps: int = 1,
        budget: float = KEPT_BYTES,
        asks: Callable[[Any], Any] | None = None,
    ) -> None:
        self.name, self.steps, self.budget, self.y = name, steps, budget, None
        self._once, self._again, self._carry, self._x = once, again, carry, x
        self._are_weak = [kind_of(raw(one)) in _PYTHON for one in init]
        self._spaces = [space_of(one) for one in init]
        self._y_spaces: list[Any] = []
        self._done, self._is_checked, self._may_end = -1, True, once is not again
        self._asks = asks
        captured = captured_by(*functions)
        self.captured = [one for one in captured if type(one) is Tracer]
        self.staged = [one for one in captured if type(one) is Staged]
        self.mapped = [one for one in captured if type(one) is Mapped]
        self.reaches = functions

    def again(self) -> Loop:
        """The loop without the question whether it is to end, and without the checks."""
        loop = copy.copy(self)
        loop._once, loop._is_checked = self._again, False
        return loop

    def test(self) -> Loop | None:
        """The same carry, and as y whether to go on."""
        asks = self._asks
        if asks is None:
            return None
        loop = copy.copy(self)
        loop._once, loop._is_checked, loop._may_end, loop.y = lambda carry, x: (carry, asks(carry)), False, False, None
        return loop

    def without_test(self) -> Loop:
        """The steps of a loop that ends itself."""
        loop = copy.copy(self)
        loop._once = self._again
        return loop

    def state(self) -> Any:
        """How many steps were made."""
        return self._done

    def restart(self, state: Any) -> None:
        """The steps since are made once more."""
        self._done = state

    @contextlib.contextmanager
    def running(self, consts: Leaves) -> Iterator[Step]:
        """What is closed over stands for those tracers."""
        if not consts or consts[0] is self.captured[0]:
            yield self._stepper()
            return
        try:
            with standing_for(self.captured, consts):
                yield self._stepper(stand_ins={id(one): const for one, const in zip(self.captured, consts, strict=True)})
        except StaleTracerError as error:
            raise closed_over(self.name) from error

    @contextlib.contextmanager
    def first(self, consts: Leaves) -> Iterator[Step]:
        """What is closed over stands for leaves of a scope in which operations give plain values at once."""
        if not consts:
            yield self._stepper(within=self)
            return
        with plainly(self.captured, consts, self.name) as scope:
            records, start = scope.records, len(scope.records)
            inner, is_alone = self._stepper(within=scope), scope.parent is None

            def step(carry: Leaves, row: Leaves) -> Any:
                found = inner(carry, row)
                if is_alone:
                    del records[start:]
                return found

            yield step

    def _stepper(self, within: Any = None, stand_ins: dict[int, Tracer] | None = None) -> Step:
        """The step.

        Args:
            within: the scope that tracers among the results may belong to; None if to any.
            stand_ins: by the identity of tracers that are closed over what they stand for. Outside of the step they are themselves again.
        """
        once, carry_tree, x_tree = self._once, self._carry, self._x
        is_leaf, x_is_leaf = carry_tree is tree.LEAF, x_tree is tree.LEAF
        unflatten = tree.unflatten
        has_shape = y_has_shape = False
        kind = y_kind = shape = dtype = y_shape = y_dtype = None

        def step(carry: Leaves, row: Leaves) -> Any:
            nonlocal kind, y_kind, has_shape, y_has_shape, shape, dtype, y_shape, y_dtype
            self._done += 1
            found = once(carry[0] if is_leaf else unflatten(carry_tree, carry), row[0] if x_is_leaf else unflatten(x_tree, row))
            if type(found) is tuple and len(found) == 2:
                after, y = found
                if stand_ins:
                    after, y = stand_ins.get(id(after), after), stand_ins.get(id(y), y)
                value = after._primal if type(after) is Tracer and within is None else after
                y_value = y._primal if type(y) is Tracer and within is None else y
                # the usual case: a leaf each, of the types in the step before
                is_same = type(value) is kind and type(y_value) is y_kind
                if is_same and (not has_shape or (value.shape == shape and value.dtype is dtype)):
                    if y is None:
                        return [after], [], []
                    if not y_has_shape or (y_value.shape == y_shape and y_value.dtype is y_dtype):
                        return [after], [y], []
            elif found is None and self._may_end:
                return None
            leaves, ys = self._taken_apart(found, within)
            if stand_ins:
                leaves, ys = ([stand_ins.get(id(one), one) for one in part] for part in (leaves, ys))
            if is_leaf and (self.y is tree.LEAF or self.y is NO_TREE):
                kind, y_kind = type(raw(leaves[0])), type(raw(ys[0]) if ys else None)
                has_shape, y_has_shape = kind in _SHAPED, y_kind in _SHAPED
                _, shape, dtype = self._spaces[0]
                _, y_shape, y_dtype = self._y_spaces[0] if ys else (None, None, None)
            return leaves, ys, []

        return step

    def _taken_apart(self, found: Any, within: Any) -> tuple[Leaves, Leaves]:
        """The leaves of what the user's function returned, after checks."""
        if type(found) is not tuple or len(found) != 2:
            got = f"a tuple of {len(found)}" if type(found) is tuple else type(raw(found)).__name__
            raise InputTypeError(f"{self.name}: the function must return the pair (carry, y), got {got}: without a y return (carry, None)")
        leaves, after_tree = tree.flatten(found[0])
        if after_tree is not self._carry and after_tree != self._carry:
            self._refuse_structure("the carry must keep its structure", self._carry, after_tree)
        ys, y_tree = tree.flatten(found[1])
        if self.y is None:
            self.y, self._y_spaces = NO_TREE if y_tree == NO_TREE else y_tree, [space_of(one) for one in ys]
            for path, one, space in zip(y_tree.paths(), ys, self._y_spaces, strict=True):
                if not space.is_number:
                    raise InputTypeError(f"{self.name}: y{path} must be a number or an array, got {type(one).__name__}")
        elif y_tree is not self.y and y_tree != self.y:
            self._refuse_structure("y must have one structure in all steps", self.y, y_tree)
        if within is not None:
            leaves, ys = self._plain(leaves, within), self._plain(ys, within)
        if self._is_checked:
            if [space_of(one) for one in leaves] != self._spaces:
                self._refuse_carry(leaves)
            if ys and [space_of(one) for one in ys] != self._y_spaces:
                self._refuse_y(ys)
        return leaves, ys

    def _refuse_structure(self, demand: str, wanted: tree.TreeDef, got: tree.TreeDef) -> NoReturn:
        raise TreeError(f"{self.name}: {demand}, but after step {self._done} it is another: {wanted.mismatch(got)}")

    def _plain(self, leaves: Leaves, within: Any) -> Leaves:
        for one in leaves:
            if type(one) is Tracer:
                if any(type(one) is Tracer and one._scope is not within for one in leaves):
                    raise closed_over(self.name)
                return [raw(one) for one in leaves]
        return leaves

    def _refuse_carry(self, leaves: Leaves) -> None:
        for n, (one, wanted) in enumerate(zip(leaves, self._spaces, strict=True)):
            got = space_of(one)
            if got == wanted:
                continue
            path = self._carry.paths()[n]
            place = f"the carry{at(path)} must keep its"
            when = f"but after step {self._done} it is {_described(one, got)}"
            is_start = self._are_weak[n] and not self._done and got.is_number
            if is_start and got.shape == () and got.dtype.kind in _WIDER[wanted.dtype.kind]:
                raise WidenedError(n, got.dtype)
            if got.shape != wanted.shape:
                raise InputValueError(
                    f"{self.name}: {place} shape {wanted.shape}, {when}: start from an array of the shape that it is to have"
                )
            raise InputTypeError(
                f"{self.name}: {place} dtype {wanted.dtype}, {when}: start from a value of that dtype (0.0 instead of 0, "
                "np.zeros(shape, dtype)), or convert it in the step with astype"
            )

    def _refuse_y(self, ys: Leaves) -> None:
        for n, (one, wanted) in enumerate(zip(ys, self._y_spaces, strict=True)):
            got = space_of(one)
            if got != wanted:
                path = self.y.paths()[n] if self.y is not None else ""
                raise InputValueError(
                    f"{self.name}: y{path} is to be stacked and must be the same in all steps, {_described(one, wanted)}, but in step "
                    f"{self._done} it is {_described(one, got)}"
                )

    def widened(self, init: Leaves, wider: WidenedError) -> Leaves:
        """The first carry with a Python number as one of that dtype, from which the loop is to start anew."""
        n, dtype = wider.place, wider.dtype
        value = in_kind(init[n], dtype.type, dtype) if type(init[n]) in TRACERS else dtype.type(init[n])
        self._spaces[n], self._are_weak[n] = space_of(value), False
        self.y, self._done = None, -1
        return [*init[:n], value, *init[n + 1 :]]

    def carried(self, leaves: Leaves) -> Any:
        """The last carry for the user: no array in it must not be written to."""
        return tree.unflatten(self._carry, [one.copy() if type(one) is np.ndarray and not one.flags.writeable else one for one in leaves])


_SHAPED = frozenset({np.ndarray, *TRACERS})
"""Types of values of any shape and dtype."""
_PYTHON = {bool: np.dtype(bool), int: np.dtype(int), float: np.dtype(float), complex: np.dtype(complex)}
_WIDER = {"b": "", "i": "iu", "f": "fc", "c": "c"}
"""Which kinds of dtype a Python number may get by the first step, by the kind that it has."""


class Space(NamedTuple):
    """What is stacked or handed on must be of one: shape and dtype of a number or an array, the type of anything else."""

    is_number: bool
    shape: tuple[int, ...]
    dtype: Any


def space_of(value: Any) -> Space:
    """The space of a leaf."""
    dtype = _PYTHON.get(type(value)) or getattr(value, "dtype", None)
    return Space(False, (), type(value)) if dtype is None else Space(True, shape_of(value), dtype)


def _described(value: Any, space: Space) -> str:
    return f"of shape {space.shape} and dtype {space.dtype}" if space.is_number else type(value).__name__
