"""What is checked about a primitive of the user's: its name, what its function answers, what its rules return.

Owns the checks, which wrap the user's functions where they are defined, so that the primitives of funcgrad itself pay nothing, and the rule
of the direction that was left out. What a kind is belongs to `funcgrad.rules`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any, NoReturn

import numpy as np

from funcgrad.errors import InputTypeError, InputValueError, NoRuleError
from funcgrad.extend.derived import MODES, Rule, transposed
from funcgrad.extend.registry import checked_callable, checked_name, note
from funcgrad.mapped import elementwise as mapped_elementwise
from funcgrad.primitive import Operation
from funcgrad.rules.values import shape_of
from funcgrad.tape import thread
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import FLOAT64, named
from funcgrad.transforms.calls import closed_over, readonly, run

_NUMBERS = (np.ndarray, np.generic, float, int, complex, Tracer)


def _dtype(value: Any) -> np.dtype[Any] | None:
    """The dtype of an array, a tracer or a number that is not Python's; complex128 for Python's complex."""
    found: np.dtype[Any] | None = getattr(value, "dtype", None)
    return np.dtype(complex) if found is None and type(value) is complex else found


def _widest(values: Sequence[Any]) -> np.dtype[Any]:
    """The dtype that NumPy computes in with these values; Python's numbers adapt to the others."""
    dtypes = [dtype for dtype in map(_dtype, values) if dtype is not None and dtype.kind in "biufc"]
    return np.result_type(*dtypes) if dtypes else FLOAT64


def _floating(values: Sequence[Any]) -> list[np.dtype[Any]]:
    return [dtype for dtype in map(_dtype, values) if dtype is not None and dtype.kind in "fc"]


_EPS = np.finfo(float).eps


def _got(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def called(what: str, rule: Rule, inputs: tuple[Any, ...], **options: Any) -> Any:
    """What a rule makes of its inputs, in their scope; arrays are read-only there."""
    plain = [one if type(one) is float else readonly(one) for one in inputs]
    if thread.scope is not None:
        part = run(what, inputs, rule, *plain, **options)
    else:  # nothing is open: the usual case of reverse mode
        part = rule(*plain, **options)
        if isinstance(part, Tracer):
            raise closed_over(what)
    return readonly(part) if type(part) is np.ndarray and getrefcount(part) > 2 else part  # a result is a copy of what others have


class Definition:
    """A primitive while it is defined, and what its wrapped functions know of it later.

    Attributes:
        name: the primitive's.
        operation: what the kind made of it.
        derives_jvp: whether the jvp of an argument is derived from its vjp.
        is_wider: whether it has answered in a wider dtype than that of its operands: then so may its rules.
    """

    def __init__(self, kind: str, function: Callable[..., Any], name: str | None, options: dict[str, Any]) -> None:
        self.kind, self.function = kind, function
        self.name = checked_name(kind, function, name)
        if options.get("batch") is not None:
            checked_callable(f"{self.name}: batch", options["batch"])
        self.operation: Any = None
        self.is_wider = False
        self.derives_jvp = False

    def finished(self, operation: Operation, value: Callable[..., Any]) -> Operation:
        """The operation that a kind made of the wrapped function, as the user gets it."""
        note(self.name, self.function, value, operation)
        self.operation = operation
        return operation

    # -------------------------------------------------------------------------------------------- the value

    def value(self) -> Callable[..., Any]:
        """The function, with its answer checked."""
        function = self.function

        def checked(*args: Any, **options: Any) -> Any:
            for one in (*args, *options.values()) if options else args:
                if type(one) is Tracer:
                    self._refuse_static(args, options)
            answer = function(*[one if type(one) is float else readonly(one) for one in args], **options)
            if type(answer) is float:
                return answer
            if type(answer) is np.ndarray and (getrefcount(answer) > 2 or (getrefcount(answer.base) > 2 and answer.base is not None)):
                answer = answer.copy()  # somebody else has it, or what it is a view of, and may write into it
            return self._answer(answer, args)

        return self._named(checked)

    def elementwise_value(self) -> Callable[..., Any]:
        """The same for an elementwise function, whose answer has the shape that the operands are broadcast to."""
        call = self.value()

        def checked(*args: Any) -> Any:
            for one in args:
                if isinstance(one, Tracer):  # inside vmap the operation hands them over
                    is_traced = any(type(one) is Tracer for one in args)
                    return self.operation(*args) if is_traced else mapped_elementwise(self.operation, *args)
            answer = call(*args)
            if type(answer) is float and all(type(one) is float for one in args):
                return answer
            shape = shape_of(args[0]) if len(args) == 1 else np.broadcast_shapes(*map(shape_of, args))
            if shape_of(answer) != shape:
                raise InputValueError(
                    f"{self.name} is elementwise: for operands of shape {', '.join(str(shape_of(one)) for one in args)} its answer must "
                    f"have shape {shape}, got {shape_of(answer)}: extend.general is for other functions"
                )
            return answer

        return self._named(checked)

    def as_it_is(self) -> Callable[..., Any]:
        """The function without any checks."""
        function = self.function
        return self._named(lambda *args, **options: function(*args, **options))

    def _named(self, value: Callable[..., Any]) -> Callable[..., Any]:
        value.__name__ = value.__qualname__ = self.name
        value.__module__ = getattr(self.function, "__module__", None) or "funcgrad.extend"
        return value

    def _refuse_static(self, args: tuple[Any, ...], options: dict[str, Any]) -> NoReturn:
        places = {**{f"argument {n}": one for n, one in enumerate(args)}, **{f"the keyword {key}": one for key, one in options.items()}}
        place = next(place for place, one in places.items() if type(one) is Tracer)
        raise NoRuleError(
            f"{self.name} has no derivative in {place}, which is traced: give a rule for it, or use funcgrad.stop_gradient(x) where it is "
            "to count as a constant"
        )

    def _answer(self, answer: Any, args: tuple[Any, ...]) -> Any:
        first = args[0] if args else None
        if type(answer) is type(first) is np.ndarray and answer.dtype is first.dtype is FLOAT64 and answer.flags.writeable:
            return answer  # the usual case
        if isinstance(answer, Tracer):
            raise closed_over(f"the function of {self.name}")
        if type(answer) is complex:
            answer = np.complex128(answer)
        if not isinstance(answer, _NUMBERS) or isinstance(answer, (np.ma.MaskedArray, np.matrix)):
            remedy = (
                "; for several outputs write functions of one output each, or use funcgrad.custom_jvp or funcgrad.custom_vjp"
                if isinstance(answer, (tuple, list, dict))
                else ""
            )
            raise InputTypeError(f"the function of {self.name} must return a number or an array, got {_got(answer)}{remedy}")
        if isinstance(answer, np.ndarray):
            answer = np.asarray(answer)
            if not answer.flags.writeable:  # an argument, or a part of one
                answer = answer.copy()
        dtype = _dtype(answer)
        if dtype is None or dtype.kind not in "fc":
            return self._not_floating(answer, args)
        if not self.is_wider and all(dtype is not _dtype(one) for one in args):
            self.is_wider = not np.can_cast(dtype, _widest(args))
        return answer

    def _not_floating(self, answer: Any, args: tuple[Any, ...]) -> Any:
        """A number of Python's, which becomes a float; whole numbers are right where the operands are such."""
        dtype = _dtype(answer)
        if dtype is not None and dtype.kind not in "biu":
            raise InputTypeError(f"the function of {self.name} must return numbers, got an array of dtype {dtype}")
        if not any(type(one) is float or getattr(_dtype(one), "kind", "") in ("f", "c") for one in args):
            return answer
        if dtype is None and type(answer) is not bool:
            return float(answer)
        raise InputTypeError(
            f"the function of {self.name} must return floating-point numbers for such operands, got {dtype or 'a bool'}: use astype, or "
            "extend.nondifferentiable if there is nothing to differentiate"
        )

    def scalar(self, scalar: Callable[..., Any]) -> Callable[..., float]:
        """The function for Python floats, with its answer checked."""
        checked_callable(f"{self.name}: scalar", scalar)

        def checked(*args: Any) -> float:
            answer = scalar(*args)
            if type(answer) is float:
                return answer
            if isinstance(answer, (float, int)):
                return float(answer)
            raise InputTypeError(f"{self.name}: scalar must return a Python float, got {_got(answer)}")

        return checked

    # -------------------------------------------------------------------------------------------- rules

    def partial(self, n: int, partial: Rule | None, allowed: Sequence[str]) -> Any:
        """A partial that names its residuals: checked, with the same names.

        Raises:
            InputTypeError: it is no function, or has parameters of other names than those allowed.
        """
        if partial is None:
            return None
        what = f"{self.name}: the partial of argument {n}"
        checked_callable(what, partial)
        names = tuple(inspect.signature(partial).parameters)[1:]
        if not set(names) <= set(allowed) or (allowed == ("x", "ans") and len(names) > 1):
            wanted = "one of x and ans" if len(allowed) == 2 else "some of x, y and ans"
            raise InputTypeError(f"{what} takes t and then {wanted}, by these names; got the parameters {('t', *names)}")
        sees_all = {"x", "y"} & set(allowed) <= set(names)
        checked = self._elementwise_rule(what, partial, sees_all)
        parameters = ", ".join(("t", *names))  # the kinds read them off
        return eval(f"lambda {parameters}: checked({parameters})", {"checked": checked})

    def partial_of_all(self, n: int, partial: Rule | None) -> Rule | None:
        """A partial that is given all operands, checked."""
        if partial is None:
            return None
        what = f"{self.name}: the partial of argument {n}"
        checked_callable(what, partial)
        return self._elementwise_rule(what, partial, True)

    def _elementwise_rule(self, what: str, partial: Rule, sees_all: bool) -> Rule:
        def checked(t: Any, *given: Any) -> Any:
            inputs = (t, *given)
            part = called(what, partial, inputs)
            if type(part) is float and type(t) is float:
                return part
            part = self._part(what, part, None, "", inputs if sees_all else None)
            own, shape = shape_of(t), shape_of(part)
            if shape == own:
                return part
            widest = np.broadcast_shapes(*map(shape_of, inputs))
            if not (is_stretched(own, shape) and is_stretched(shape, widest)):
                raise InputValueError(f"{what} must return shape {widest}, as t times the derivative has, got {shape}")
            return part

        return checked

    def rule(self, word: str, n: int, rule: Rule) -> Rule:
        """A jvp or vjp `(t, ans, *args, **options)`, checked."""
        what = f"{self.name}: the {word} of argument {n}"
        checked_callable(what, rule)
        is_jvp = word == "jvp"

        def checked(t: Any, ans: Any, *args: Any, **options: Any) -> Any:
            inputs = (t, ans, *args)
            part = called(what, rule, inputs, **options)
            if not is_jvp:
                return self._part(what, part, shape_of(args[n]), "that of the argument", inputs)
            part = self._part(what, part, None if ans is None else shape_of(ans), "that of the answer", inputs)
            kinds = [getattr(_dtype(one), "kind", "f") for one in (part, ans)]
            if ans is not None and kinds[0] == "c" != kinds[1]:
                raise InputTypeError(f"{what} must return a real tangent, for the answer is real, got {_dtype(part)}: take its real part")
            return part

        return checked

    def transpose(self, rule: Rule | None, n: int | None = None) -> Rule:
        """A transpose, checked: `(ct, shape, ...)` of a linear primitive, `(ct, *operands, ...)` of a multilinear one's argument n."""
        what = f"{self.name}: the transpose" + ("" if n is None else f" in argument {n}")
        if rule is None:
            return self._missing_transpose(n)
        checked_callable(what, rule)

        def checked(ct: Any, *given: Any, **options: Any) -> Any:
            inputs = (ct, *given)
            part = called(what, rule, inputs, **options)
            shape = given[0] if n is None else shape_of(given[n])
            return self._part(what, part, shape, "that of the argument", None if n is None else inputs)

        return checked

    def _missing_transpose(self, n: int | None) -> Rule:
        def missing(ct: Any, *given: Any, **options: Any) -> NoReturn:
            raise NoRuleError(
                f"{self.name} has no transpose in argument {n or 0}, and {MODES['vjp']} needs one: give it to extend.{self.kind}, or use "
                "forward mode"
            )

        return missing

    def both(self, jvps: Sequence[Rule | None] | None, vjps: Sequence[Rule | None] | None) -> tuple[list[Rule], list[Rule]]:
        """The jvps and vjps, checked; those left out are the transposes of the others.

        Raises:
            InputValueError: there is no rule for an argument, or not one for each.
            InputTypeError: a rule is no function.
        """
        forth, back = self._rules("jvp", jvps), self._rules("vjp", vjps)
        count = max(len(forth), len(back))
        if jvps is None:
            forth = [None] * count
        if vjps is None:
            back = [None] * count
        if len(forth) != len(back):
            raise InputValueError(f"{self.name}: jvps and vjps must be for the same arguments, got {len(forth)} and {len(back)} of them")
        if not count:
            raise InputValueError(f"{self.name}: give a jvp or a vjp for each array argument, in that order: jvps=[...], vjps=[...]")
        pairs = list(enumerate(zip(forth, back, strict=True)))
        for n, pair in pairs:
            if pair == (None, None):
                raise InputValueError(
                    f"{self.name}: argument {n} has neither a jvp nor a vjp: arguments without a derivative come after those that have "
                    "one, and have no entry"
                )
        self.derives_jvp = None in forth
        return [push or transposed(self.name, self.kind, "jvp", n, pull) for n, (push, pull) in pairs], [
            pull or transposed(self.name, self.kind, "vjp", n, push) for n, (push, pull) in pairs
        ]

    def _rules(self, word: str, rules: Sequence[Rule | None] | None) -> list[Rule | None]:
        if rules is not None and not isinstance(rules, (list, tuple)):
            raise InputTypeError(f"{self.name}: {word}s must be a list with a rule for each array argument, got {_got(rules)}")
        return [None if rule is None else self.rule(word, n, rule) for n, rule in enumerate(rules or ())]

    def kept(self, keeps: str) -> str:
        """What a general primitive keeps; the answer too where a jvp is derived, for the space of its cotangents.

        Raises:
            InputValueError: it is something else than "x", "ans" or both.
        """
        if not isinstance(keeps, str) or not set(keeps.split()) <= {"x", "ans"}:
            raise InputValueError(f"{self.name}: keeps must be 'x', 'ans' or 'x ans', got {keeps!r}")
        return f"{keeps} ans" if self.derives_jvp else keeps

    def composition(self, n: int, composition: Callable[..., Any], ans: Any, args: Any, options: Any) -> Callable[[Any], Any]:
        """A composition as a function of argument n alone, checked against the answer."""

        def alone(x: Any) -> Any:
            found = composition(*args[:n], x, *args[n + 1 :], **options)
            what = f"{self.name}: the composition"
            self._part(what, found, shape_of(ans), "that of the function's answer", None)
            dtypes = [_dtype(one) or FLOAT64 for one in (found, ans)]
            if dtypes[0] != dtypes[1]:
                raise InputTypeError(f"{what} must return dtype {dtypes[1]}, that of the function's answer, got {dtypes[0]}")
            return found

        alone.__name__ = f"the composition of {named(self.operation)}"
        return alone

    # -------------------------------------------------------------------------------------------- what rules return

    def _part(self, what: str, part: Any, shape: tuple[int, ...] | None, whose: str, given: tuple[Any, ...] | None) -> Any:
        """A tangent or cotangent that a rule returned, of this shape (None: any), in a dtype that `given` lead to (None: any)."""
        is_usual = type(part) is np.ndarray and part.dtype is FLOAT64 and shape in (None, part.shape)
        if is_usual and (given is None or getattr(given[0], "dtype", None) is FLOAT64):
            return part
        if not isinstance(part, _NUMBERS) or isinstance(part, (bool, np.ma.MaskedArray, np.matrix)):
            remedy = ": for a zero return np.zeros_like(x)" if part is None else ""
            raise InputTypeError(f"{what} must return a number or an array, got {_got(part)}{remedy}")
        if isinstance(part, np.ndarray):
            part = np.asarray(part)
        if shape is not None and shape_of(part) != shape:
            remedy = ""
            if whose == "that of the argument" and is_stretched(shape, shape_of(part)):
                remedy = ": sum over the axes along which it was stretched, by extend.unbroadcast(ct, np.shape(x))"
            raise InputValueError(f"{what} must return shape {shape}, {whose}, got {shape_of(part)}{remedy}")
        dtype = _dtype(part)
        if dtype is None:
            return float(part)
        if dtype.kind not in "fc":
            raise InputTypeError(f"{what} must return floating-point numbers, got dtype {dtype}")
        if given is not None and dtype is not _dtype(given[0]) and not self.is_wider:
            widest = _widest(given)
            if not np.can_cast(dtype, np.result_type(widest, np.float16)):
                remedy = "take its real part" if dtype.kind == "c" != widest.kind else "what it computes with is wider than that"
                raise InputTypeError(f"{what} must return dtype {widest}, that of what it is given, got {dtype}: {remedy}")
        if given is not None and np.finfo(dtype).eps > max([np.finfo(one).eps for one in _floating(given)] or [_EPS]):
            raise InputTypeError(
                f"{what} must return dtype {_widest(given)}, that of what it is given, got {dtype}, which has fewer digits"
            )
        return part


def is_stretched(shape: tuple[int, ...], stretched: tuple[int, ...]) -> bool:
    """Whether an array of one shape can be broadcast to another."""
    extra = len(stretched) - len(shape)
    return extra >= 0 and all(size in (1, other) for size, other in zip(shape, stretched[extra:], strict=True))
