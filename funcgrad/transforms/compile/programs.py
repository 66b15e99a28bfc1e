"""Programs of one function of leaves: recorded when first needed, found again by the types of the leaves, run."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError, FuncgradError, InputTypeError
from funcgrad.instructions import NUMBERS
from funcgrad.mapped import OPEN
from funcgrad.silence import quietly
from funcgrad.staged import Recording, Staged
from funcgrad.tape import Label, close_scope, open_scope, thread
from funcgrad.tracer import TRACERS, Tracer, plain_array
from funcgrad.transforms.captured import Own
from funcgrad.transforms.compile.algebra import simplified
from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.dead import without_dead_code
from funcgrad.transforms.compile.folding import with_constants_folded
from funcgrad.transforms.compile.parts import in_parts
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.scatters import with_scatters_joined
from funcgrad.transforms.compile.signs import with_signs_moved
from funcgrad.transforms.compile.subexpressions import with_common_subexpressions_merged

PASSES: list[Callable[[Program], Program]] = [
    without_dead_code,
    in_parts,
    simplified,
    with_constants_folded,
    with_signs_moved,
    with_scatters_joined,
    with_common_subexpressions_merged,
    without_dead_code,
]
"""What is done to a program before code is made of it, in this order."""

Applied = Callable[..., Any]


def recorded(
    name: str, f: Applied, leaves: Sequence[Any], is_careful: bool = False, is_supposed: bool = False
) -> tuple[Program, tree.TreeDef]:
    """The program of a function of leaves, and the structure of its output. `is_supposed`: the leaves are made up.

    Raises:
        ConcretizationError: the function depends on a value, or an output on a tracer of the code around.
        InputTypeError: an output is no number and no array.
    """
    around, thread.scope = thread.scope, None  # a program depends on no transform around it
    scope = open_scope(Label(f"jit of {name}"), Tracer)
    scope.is_recorded = False
    OPEN.append(scope)
    recording = Recording(scope, is_careful)
    recording.is_supposed = is_supposed
    try:
        inputs = [recording.input(leaf) for leaf in leaves]
        found, treedef = quietly(lambda: tree.flatten(f(*inputs)))
        outputs = [_result(name, one, recording) for one in found]
    finally:
        OPEN.remove(scope)
        close_scope(scope)
        scope.root = scope.label
        scope.holds.release()
        thread.scope = around
    watched = [one._variable for one in recording.watched]
    return Program(name, [one._variable for one in inputs], recording.instructions, outputs, watched, recording.holds), treedef


def _result(name: str, value: Any, recording: Recording) -> Any:
    """An output as a variable or a constant."""
    if type(value) is Staged and value._recording is recording:
        return value._variable
    return constant(f"jit of {name}: an output", value)


def constant(what: str, value: Any, refusal: type[FuncgradError] = InputTypeError) -> Any:
    """A value that programs can have, a copy of an array.

    Raises:
        ConcretizationError: it is traced by the code around.
        FuncgradError: no program can have it; of the type `refusal`.
    """
    if type(value) in TRACERS:
        raise ConcretizationError(f"{what} is a traced value of the code around it: pass it as an argument")
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return np.array(plain_array(value))
    if isinstance(value, (np.generic, *NUMBERS)):
        return value
    raise refusal(f"{what} is {value!r:.60} ({type(value).__name__}), no number and no array")


def passed(program: Program) -> Program:
    """A program after all passes."""
    for each in PASSES:
        program = each(program)
    return program


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Let the garbage collector rest: what is made here stays, and to look at it again and again takes a fifth of the time.

    Afterwards it counts as old (unless somebody has frozen objects, which this would end), or all of it would be looked at at once.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class Entry(Own):
    """A program of a function for one type of each leaf, ready to run.

    Attributes:
        program: before any pass.
        code: the generated function.
        out_tree: the structure of the output.
        halves: the programs of its derivatives by reverse mode, by the leaves that they are for.
    """

    def __init__(self, name: str, f: Applied, leaves: Sequence[Any], is_careful: bool = False) -> None:
        self._name, self._f = name, f
        self._lock = threading.Lock()
        self._careful: Entry | None = None
        self.halves: dict[tuple[int, ...], Any] = {}
        with without_collector():
            self.program, self.out_tree = recorded(name, f, leaves, is_careful)
            self.code = Code(passed(self.program))

    def run(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The leaves of the output."""
        found = self.code.run(leaves)
        return self._carefully(leaves).run(leaves) if found is None else found

    def careful_program(self) -> Program | None:
        """The program whose derivatives have strong zeros; None where there is no derivative."""
        if not self.program.watched:
            return None
        stand_ins = [np.ones(one.shape, one.dtype) if one.kind is np.ndarray else one.kind(1) for one in self.program.inputs]
        return recorded(self._name, self._f, stand_ins, is_careful=True, is_supposed=True)[0]

    def _carefully(self, leaves: Sequence[Any]) -> Entry:
        """The program whose derivatives have strong zeros, for arguments at which the plain one has a NaN."""
        with self._lock:
            if self._careful is None:
                self._careful = Entry(self._name, self._f, leaves, is_careful=True)
            return self._careful
