"""The staged value: what stands for a number or an array while `jit` records a program.

It is a value, as a mapped one is: a tracer of `grad` may hold it, and so may a mapped value. Every function of NumPy that meets it becomes
an instruction of the program, and gives staged values. What these are like, shapes and dtypes say (`funcgrad.forms`), or else what the
function gives for the arguments of the first call: that is found out where a function needs it, but nobody may decide by it: a program
serves other arguments too.

Owns the recording: which calls become which instructions. What is made of them belongs to `funcgrad.transforms.compile`.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from funcgrad.dependence import (
    OF_SHAPES,
    OF_SOME_VALUES,
    check_form,
    evaluated,
    is_view_of_writeable,
    line,
    of_form,
    place,
    refuse_shapes,
)
from funcgrad.errors import ConcretizationError
from funcgrad.forms import MOVING, Forms, answer_of, stand_in
from funcgrad.instructions import NUMBERS, Instruction, Trail, Variable, copied, replaced
from funcgrad.numbers import COMPARED, COMPARISONS, INTEGERS, OPERATORS, SIGNS, on_numbers
from funcgrad.own_calls import OwnCalls
from funcgrad.primitive import SCALARS
from funcgrad.samples import Pending, made_up_for, sample_of, usual_for
from funcgrad.tape import COPIED_BYTES, Holds, Scope
from funcgrad.tracer import TRACERS, Many, Tracer, innermost_of, is_augmented
from funcgrad.writes import without_writing


class Recording:
    """The instructions of a program while its function runs.

    Attributes:
        scope: marks whose staged values are in use.
        instructions: so far.
        is_careful: whether derivatives are recorded with strong zeros: then nothing need be watched.
        watched: variables in which a NaN means that the careful program must answer instead.
        holds: constants that must not change while the program lives.
        instead: the recording of a branch that runs on this one's values, and must have what is computed from them.
        is_supposed: whether a call is not sure to be made, or not on values like these: one that raises is looked at with others.
    """

    is_supposed = False

    def __init__(self, scope: Scope, is_careful: bool) -> None:
        self.scope = scope
        self.instructions: list[Instruction] = []
        self.is_careful = is_careful
        self.watched: list[Staged] = []
        self.holds = Holds()
        self.instead: Recording | None = None
        self._own = OwnCalls(Staged, self._apart)
        self._forms = Forms(Staged)

    def input(self, value: Any) -> Staged:
        """A staged value for an argument of the program."""
        return Staged(value, Variable(value), self)

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Record a call, at least one of whose arguments is staged."""
        if self.instead is not None:
            return self.instead.call(function, args, options)
        len(self.scope.records)  # raises where the recording has ended
        if function in OF_SHAPES:
            return function(*replaced(args, stand_in, Staged), **replaced(options, stand_in, Staged))
        check_form(function, args, options, self.scope.name, Staged)
        args, options = without_writing(function, args, options, self.scope.name)
        is_own = type(function) is FunctionType and function.__module__.startswith("funcgrad.") and function not in MOVING
        if is_own and function not in self._own.inside:
            found = self._own.made(function, args, options, self.instructions, self.watched)
            if found is not NotImplemented:
                return found
        of_scipy = not isinstance(function, np.ufunc) and str(getattr(function, "__module__", "")).startswith("scipy.")
        if of_scipy:
            args, options = replaced(args, _writeable, np.ndarray), replaced(options, _writeable, np.ndarray)
        is_flat = not options and _FLAT.issuperset(map(type, args))  # the usual case
        if not is_flat:
            args, options = replaced(args, self._constant, np.ndarray), replaced(options, self._constant, np.ndarray)
        form = self._forms.of(function, args, options)
        if form is None:
            answer = self._answer(function, args, options)
            if answer is NotImplemented or answer is None or isinstance(answer, (str, np.dtype, type)):
                return answer
            made = self._staged(answer)
        else:
            made = self._expected(form, Pending(function, args, options))
        given, named = replaced(args, _variable, Staged), replaced(options, _variable, Staged)
        self.instructions.append(Instruction(function, given, named, _target(made), line()))
        return self._looked_at(made, getattr(function, "__name__", "")) if of_scipy or function in OF_SOME_VALUES else made

    def _answer(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """What a call gives for the values at the first call; for made-up ones where it does not take those, and perhaps need not."""
        try:
            return answer_of(function, evaluated, *replaced([args, options], sample_of, Staged))
        except Exception:
            for integer in (1, 0) if self.is_supposed else ():
                given = replaced([args, options], functools.partial(usual_for, integer=integer), Staged)
                with contextlib.suppress(Exception):
                    return answer_of(function, evaluated, *given)
            raise

    def _looked_at(self, made: Any, name: str) -> Any:
        """Results whose forms may be others for other values: the program looks at them."""
        if isinstance(made, (tuple, list)):
            parts: list[Any] = [self._looked_at(one, name) for one in made]
            return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)
        if made is None or made.is_number:
            return made
        variable = copied(made._variable)
        args = made._variable, name, f"{made.dtype}{list(made.shape)}"
        self.instructions.append(Instruction(of_form, args, {}, variable, line()))
        return Staged(made._sample, variable, self)

    def on_floats(self, function: Callable[..., Any], scalar: Callable[..., Any], x: Any, y: Any) -> Staged:
        """Record an elementwise function of Python floats, some of them staged by this recording: what long scalar programs are made of."""
        if self.instead is not None:
            return self.instead.call(function, (x, y), {})  # type: ignore[no-any-return]
        len(self.scope.records)
        values = [one._sample if type(one) is Staged else one for one in (x, y)]
        sample: Any
        if type(values[0]) is Pending or type(values[1]) is Pending:
            sample, variable = Pending(function, (x, y), {}), Variable(function in _OF_TRUTHS or 1.0)
        else:  # its value at once takes less than what it would take to find it later
            sample = on_numbers(function, scalar, values)
            variable = Variable(sample)
        given = tuple([one._variable if type(one) is Staged else one for one in (x, y)])
        self.instructions.append(Instruction(function, given, {}, variable, line()))
        return Staged(sample, variable, self)

    def _apart(self, function: Any) -> Callable[[Staged], Staged]:
        """A recording of which nothing is kept, inside of a function."""
        apart = Recording(self.scope, self.is_careful)
        apart._own.inside = self._own.inside | {function}
        return lambda one: Staged(made_up_for(one), one._variable, apart)

    def _constant(self, array: np.ndarray) -> np.ndarray:
        """An array as it is now: code may go on writing into it, which later calls must not see."""
        if not array.flags.writeable and not is_view_of_writeable(array):
            return array
        if array.size and not any(array.strides):  # one number everywhere
            return np.broadcast_to(np.array(array.flat[0], array.dtype), array.shape)
        return np.array(array) if array.nbytes <= COPIED_BYTES else self.holds.add(array)

    def _expected(self, form: Any, sample: Pending) -> Any:
        """What a call gives, of which no more is known than what it is like."""
        if type(form) is Variable:
            return Staged(sample, form, self)
        whole = Staged(sample, Variable(0.0), self)
        parts = [Pending(operator.getitem, (whole, n), {}) for n in range(len(form))]
        pairs = zip(parts, form, strict=True)
        return tuple([Staged(part, one, self) if type(one) is Variable else self._staged(one) for part, one in pairs])

    def _staged(self, answer: Any) -> Any:
        if isinstance(answer, (np.ndarray, np.generic, *NUMBERS)) and (not isinstance(answer, np.ndarray) or answer.dtype.kind in "biufc"):
            return Staged(answer, Variable(answer), self)
        if type(answer) is Trail:
            return Staged(answer, Variable(answer), self)
        if isinstance(answer, (tuple, list)):
            parts: list[Any] = [None if one is None else self._staged(one) for one in answer]
            return type(answer)(*parts) if hasattr(answer, "_fields") else type(answer)(parts)
        raise ConcretizationError(f"{self.scope.name}: a function gives a {type(answer).__name__}, which cannot be part of a program")


def _target(made: Any) -> Any:
    """The variables of a result, in tuples as it is."""
    if isinstance(made, (tuple, list)):
        return tuple(map(_target, made))
    return made if made is None else made._variable


def _writeable(constant: np.ndarray) -> np.ndarray:
    """A constant as SciPy takes it: some of its functions want to be allowed to write into what they only read."""
    return constant if constant.flags.writeable else np.array(constant)


def _variable(staged: Staged) -> Any:
    return staged._variable


def kind_of(value: Any) -> type:
    """The type that a value has when the program runs."""
    return value.kind if type(value) is Staged else type(value)


def check_shape(name: str, *values: Any) -> None:
    """A result whose shape depends on some values cannot be part of a program.

    Raises:
        ConcretizationError: one of them is staged.
    """
    for value in values:
        while type(value) is Tracer:
            value = value._primal
        if type(value) is Staged:
            refuse_shapes(name, value._scope.name)


class Staged(Many):
    """A number or an array of a program that is being recorded: shape, dtype and operators are NumPy's."""

    __slots__ = ("_recording", "_sample", "_variable")

    def __init__(self, sample: Any, variable: Variable, recording: Recording) -> None:
        self._sample = sample
        self._variable = variable
        self._recording = recording
        self._scope = recording.scope

    @property
    def _primal(self) -> NoReturn:
        self._refuse("the value")

    @property
    def value(self) -> NoReturn:
        """There is none."""
        self._refuse("the value")

    @property
    def shape(self) -> tuple[int, ...]:
        """NumPy's."""
        return self._variable.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._variable.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._variable.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return self._variable.dtype

    @property
    def kind(self) -> type:
        """The type of the value: a Python number's, a NumPy scalar's, or np.ndarray."""
        return self._variable.kind

    @property
    def is_number(self) -> bool:
        """Whether it is a number of Python's."""
        return self._variable.is_number

    @property
    def is_careful(self) -> bool:
        """Whether derivatives are recorded with strong zeros."""
        return self._recording.is_careful

    def blank(self) -> np.ndarray:
        """An array that has its shape and dtype alone: how it lies in memory a program does not know."""
        return np.empty(self.shape, self.dtype)

    def watch(self) -> None:
        """It is a derivative by plain rules: a NaN in it means that strong zeros are needed."""
        if not self._recording.is_careful:
            self._recording.watched.append(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        found = innermost_of(inputs)
        if type(found) is not Staged:
            return type(found).__array_ufunc__(found, ufunc, method, *inputs, **kwargs)
        out = () if is_augmented(inputs, kwargs) else kwargs.get("out", ())
        if method == "at" or any(one is not None for one in out):
            return Tracer.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)
        kwargs.pop("out", None)
        if method != "__call__":
            return found.recorded(getattr(ufunc, method), inputs, kwargs)
        where = kwargs.pop("where", True)
        answer = found.recorded(ufunc, inputs, kwargs)
        return answer if where is True else np.where(where, answer, 0.0)  # as for tracers: NumPy leaves chance where a mask leaves out

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = innermost_of((args, kwargs))
        if type(found) is not Staged:
            return type(found).__array_function__(found, function, types, args, kwargs)
        return found.recorded(function, args, kwargs)

    def recorded(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """A call of which this is an innermost argument, as an instruction of the program."""
        return self._recording.call(function, args, options)

    def __bool__(self) -> NoReturn:  # noqa: PLE0304 - it raises
        self._refuse(
            "bool() (an if, a while, and, or, not, a boolean mask)",
            "use np.where(condition, a, b) instead of if, & | ~ instead of and, or, not, np.where(mask, x, 0.0) instead of x[mask], "
            "funcgrad.cond or funcgrad.while_loop,",
        )

    def __repr__(self) -> str:
        return f"Staged({self.dtype}{list(self.shape)})"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def _refuse(self, what: str, remedy: str = "") -> NoReturn:
        remedy = remedy.rstrip("; ") + " or " if remedy else "use functions of NumPy, or "
        raise ConcretizationError(
            f"{what} of a value of shape {self.shape}, {self.dtype} in {self._scope.name}{place()}: a program is recorded for all values "
            f"of its arguments, and cannot depend on one: {remedy}name the argument in static_argnums, which makes a program for each value"
        )


TRACERS.add(Staged)
_FLAT = frozenset({Staged, *NUMBERS, type(None)})
"""Types of arguments that hold no other values, and are no constants to be copied."""


def _recording_of_floats(operands: tuple[Any, Any]) -> Recording | None:
    """The recording that two operands belong to, if they are staged Python floats, one of them perhaps a plain number."""
    found: Recording | None = None
    for one in operands:
        if type(one) is Staged:
            if one._variable.kind is not float or (found is not None and found is not one._recording):
                return None
            found = one._recording
        elif type(one) is not float and type(one) is not int:
            return None
    return found


_WHOLE = frozenset({int, bool})
_OF_TRUTHS = frozenset(COMPARED.values())


def _operator(ufunc: Any, python: Callable[..., Any] | None = None, is_reflected: bool = False) -> Callable[[Any, Any], Any]:
    """An operator: a ufunc, but Python's own on Python's numbers where that gives another type or value.

    Python's integers have no largest one, and its comparisons give booleans of its own.
    """
    is_comparison = python in _OF_TRUTHS
    kinds = frozenset(NUMBERS) if is_comparison else _WHOLE

    def combined(x: Any, y: Any) -> Any:
        operands = (y, x) if is_reflected else (x, y)
        recording = _recording_of_floats(operands)
        if recording is not None:
            scalar = python if is_comparison else SCALARS.get(ufunc)
            if scalar is not None:
                return recording.on_floats(scalar if is_comparison else ufunc, scalar, *operands)
        found = innermost_of(operands)
        if type(found) is Staged:
            is_python = python is not None and all(kind_of(one) in kinds for one in operands)
            return found.recorded(python if is_python else ufunc, operands, {})
        return type(found).__array_ufunc__(found, ufunc, "__call__", *operands)

    return combined


def _unary(ufunc: Any, on_integers: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: x.recorded(on_integers if x.kind in _WHOLE else ufunc, (x,), {})


for _name, _ufunc in OPERATORS.items():
    setattr(Staged, f"__{_name}__", _operator(_ufunc, INTEGERS[_name]))
    setattr(Staged, f"__r{_name}__", _operator(_ufunc, INTEGERS[_name], is_reflected=True))
    setattr(Staged, f"__i{_name}__", _operator(_ufunc, INTEGERS[_name]))
setattr(Staged, "__matmul__", _operator(np.matmul))  # noqa: B010 - as the others
setattr(Staged, "__rmatmul__", _operator(np.matmul, is_reflected=True))  # noqa: B010
_general_power = _operator(np.power, INTEGERS["pow"])
_POWERS: dict[Any, Any] = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


def _power(x: Any, y: Any) -> Any:
    """The operator **, in which NumPy too takes these functions for powers of arrays of floating-point numbers."""
    if type(x) is Staged and type(y) in (int, float) and y in _POWERS and x.dtype.kind in "fc" and x.kind is np.ndarray:
        return x.recorded(_POWERS[y], (x,), {})
    return _general_power(x, y)


setattr(Staged, "__pow__", _power)  # noqa: B010
for _name, _ufunc in COMPARISONS.items():
    setattr(Staged, f"__{_name}__", _operator(_ufunc, COMPARED[_name]))
for _name, _ufunc in SIGNS.items():
    setattr(Staged, f"__{_name}__", _unary(_ufunc, INTEGERS[_name]))
