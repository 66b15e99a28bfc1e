"""Functions with derivatives of one's own: `custom_jvp` and `custom_vjp`, on one class.

Owns JAX's protocol: how rules are given, how they are called, and what is said about one that returns the wrong thing. Such a function is
called with plain values, and its call is one record (`funcgrad.transforms.calls`); its rules are called when that is replayed, with plain
values too, or with tracers where the replay is itself recorded. So derivatives of any order follow. The rule is the derivative at every
order: what else f or fwd do to compute the value is differentiated by nobody.

One rule serves the other direction where it can: the jvp rule, linear in the tangents, is transposed for reverse mode. Its tangents are
recorded at 1, where no shortcut for zeros is taken. A vjp rule is transposed for forward over reverse mode alone, as in JAX, and
recorded at 0, where rules that clip cotangents are the identity.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, NoRuleError
from funcgrad.mapped import OPEN, contents, crossed, is_wrong, mapping_of
from funcgrad.rules.batching import inner_mapping
from funcgrad.rules.scopes import in_scope_of, scope_of
from funcgrad.rules.values import keep, raw
from funcgrad.tape import Record, Scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import checked_argnums, checked_function, named, ones, settled, zeros
from funcgrad.transforms.calls import first_own, hand_on, is_own, joined, on_behalf, owned, parts_of, recorded, run, tangents_of
from funcgrad.transforms.custom_protocol import Call, compare, pair, rule_of_calls, strongly, unshared, without_none
from funcgrad.transforms.mapped_calls import out_of_sight
from funcgrad.transforms.mapped_custom import MappedRules
from funcgrad.transforms.reverse import vjp

JvpRule = Callable[..., tuple[Any, Any]]


class CustomFunction:
    """A function with rules for its derivatives: what `custom_jvp` and `custom_vjp` make. It may have both rules."""

    def __init__(self, f: Callable[..., Any], nondiff_argnums: int | Sequence[int], transform: str) -> None:
        checked_function(f, transform)
        functools.update_wrapper(self, f)
        self._f, self._name = f, named(f)
        self._nondiff = checked_argnums(nondiff_argnums)[0]
        self._jvp: JvpRule | None = None
        self._fwd: Callable[..., tuple[Any, Any]] | None = None
        self._bwd: Callable[..., Any] | None = None
        self._signature: inspect.Signature | None = None
        self._compared: set[Any] = set()
        self._is_mapped = self._keeps_zeros = False
        if not isinstance(f, np.ufunc):  # whose options are no arguments of a rule
            with contextlib.suppress(TypeError, ValueError):
                self._signature = inspect.signature(f)

    def __repr__(self) -> str:
        return f"<{self._name} with derivatives of its own>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    # -------------------------------------------------------------------------------------------- rules

    def defjvp(self, rule: JvpRule) -> JvpRule:
        """Give the rule for forward mode.

        Args:
            rule: `(*nondiff, primals, tangents)` -> `(value, tangent)`; primals and tangents are tuples with an entry for each
                differentiable argument, and the tangent is linear in the tangents.

        Returns:
            The rule, so that this may decorate it.

        Raises:
            InputTypeError: it is no function.

        Example:
            >>> import math
            >>> f = custom_jvp(lambda x: math.sin(x))  # any code, of plain values
            >>> f.defjvp(lambda primals, tangents: (f(*primals), np.cos(primals[0]) * tangents[0]))  # doctest: +ELLIPSIS
            <function ...>
            >>> from funcgrad import jvp, vjp
            >>> jvp(f, (0.0,), (2.0,)), vjp(f, 0.0)[1](2.0)
            ((0.0, 2.0), (2.0,))
        """
        checked_function(rule, "defjvp")
        self._jvp = rule
        return rule

    def defjvps(self, *partials: Callable[..., Any] | None) -> None:
        """Give the rule for forward mode as one function for each argument.

        Args:
            *partials: `(t, ans, *primals)` -> the part of the tangent that is due to that argument; None where it has no derivative.

        Raises:
            InputTypeError: one is no function.
            InputValueError: there are nondiff_argnums, which this form has no place for.

        Example:
            >>> f = custom_jvp(lambda x, y: x * y)
            >>> f.defjvps(lambda t, ans, x, y: t * y, None)
            >>> from funcgrad import jvp
            >>> jvp(f, (2.0, 3.0), (1.0, 1.0))
            (6.0, 3.0)
        """
        if self._nondiff:
            raise InputValueError(f"defjvps of {self._name}: with nondiff_argnums use defjvp")
        for partial in partials:
            if partial is not None:
                checked_function(partial, "defjvps")

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(partials) != len(primals):
                raise InputValueError(f"defjvps of {self._name}: {len(partials)} partials for a call with {len(primals)} arguments")
            ans = self(*primals)
            parts = [partial(t, ans, *primals) for partial, t in zip(partials, tangents, strict=True) if partial is not None]
            return ans, functools.reduce(lambda one, other: tree.map(operator.add, one, other), parts or [tree.map(zeros, ans)])

        self._jvp = rule

    def defvjp(self, fwd: Callable[..., tuple[Any, Any]], bwd: Callable[..., Any]) -> None:
        """Give the rule for reverse mode.

        Args:
            fwd: f's arguments -> `(value, residuals)`, the value of the form of f's: f is run too where arguments of some shapes come for
                the first time, to compare.
            bwd: `(*nondiff, residuals, ct)` -> a tuple with a cotangent for each differentiable argument, None for zero.

        Raises:
            InputTypeError: one is no function.

        Example:
            >>> f = custom_vjp(lambda x, y: x * y)
            >>> f.defvjp(lambda x, y: (x * y, (x, y)), lambda residuals, ct: (ct * residuals[1], None))
            >>> vjp(f, 2.0, 3.0)[1](1.0)
            (3.0, 0.0)
        """
        checked_function(fwd, "defvjp")
        checked_function(bwd, "defvjp")
        self._fwd, self._bwd = fwd, bwd
        self._compared.clear()

    # -------------------------------------------------------------------------------------------- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """f of these arguments."""
        args, keyword_only = self._resolved(args, kwargs)
        nondiff_places = self._nondiff_places(len(args))
        leaves, treedef = tree.flatten(tuple(one for n, one in enumerate(args) if n not in nondiff_places))
        self._refuse(args, nondiff_places, keyword_only)
        if OPEN:
            mapping = mapping_of(*leaves, *tree.leaves(args))
            if mapping is not None:
                return self._of_all_examples(mapping, args, nondiff_places)
            leaves = crossed(leaves) or leaves
        operands = [one for one in leaves if type(one) is Tracer]
        scope = scope_of(operands)
        if scope is None:
            return self._f(*args)
        if self._jvp is None and self._bwd is None:
            raise NoRuleError(f"{self._name} has no rule yet: give it one with .defjvp(rule) or .defvjp(fwd, bwd)")
        places = [n for n, one in enumerate(leaves) if type(one) is Tracer]
        constants = [None if type(one) is Tracer else keep(one, scope) for one in leaves]
        values = tuple(one._primal for one in operands)
        call = Call(self._name, {n: keep(args[n], scope) for n in nondiff_places}, treedef, places, first_own(scope), self)
        plain, saved = call.all_args(values, constants), None
        if OPEN and inner_mapping(plain) is not None:
            with on_behalf(True):  # mapped values may hold tracers of a transform around
                output = self(*plain)
        elif self._fwd is not None and scope.root.keepers:
            inputs = tree.leaves(plain)
            output, residuals = self._ran_forward(inputs, plain)
            if not self._is_mapped:
                compare(self._compared, self._name, inputs, output, self._f, plain)
            found, res_tree = tree.flatten(residuals)
            saved = ([keep(one, scope) for one in found], res_tree)
        else:
            output = run(self._name, tree.leaves(plain), self._f, *plain)
        call.returned(output)
        answers = [owned(one, scope) for one in call.chosen(output)]
        if not answers:
            return output
        residual = (call, values, constants, saved, tuple(call.nondiff.values()))
        return call.output(output, recorded(_EXACT if self._keeps_zeros else _RULE, scope, operands, residual, answers))

    def _of_all_examples(self, mapping: Scope, args: tuple[Any, ...], nondiff_places: list[int]) -> Any:
        """f of mapped arguments: a function of all examples, whose rules are those of f, mapped."""
        if not any(type(inner) is Tracer for one in tree.leaves(args) for inner in contents(one)):
            return run(self._name, tree.leaves(args), self._f, *args)
        functions = self._f, self._jvp, self._fwd, self._bwd
        rules = MappedRules(self._name, mapping, args, nondiff_places, functions, self._compared)
        mapped = CustomFunction(rules.f, (), "custom_jvp")
        mapped._name, mapped._is_mapped = self._name, True
        mapped._jvp = self._jvp and rules.jvp
        mapped._fwd, mapped._bwd = self._fwd and rules.fwd, self._bwd and rules.bwd
        return out_of_sight(mapped(*rules.operands), mapping)

    def _resolved(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], list[str]]:
        """The arguments by position, defaults filled in, and the names of those given that can only be given by keyword."""
        if self._signature is None:
            return args, list(kwargs)
        if not kwargs and len(args) == len(self._signature.parameters):
            return args, []
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, [name for name in bound.kwargs if name in kwargs]

    def _nondiff_places(self, count: int) -> list[int]:
        places = [n + count if n < 0 else n for n in self._nondiff]
        for n, place in zip(self._nondiff, places, strict=True):
            if not 0 <= place < count:
                raise InputValueError(f"{self._name}: nondiff_argnums {n} is out of range for a call with {count} arguments")
        return places

    def _refuse(self, args: tuple[Any, ...], nondiff_places: list[int], keyword_only: list[str]) -> None:
        for n in nondiff_places:
            if any(type(one) is Tracer for one in tree.leaves(args[n])):
                raise ConcretizationError(
                    f"{self._name}: argument {n} is one of nondiff_argnums, but holds a traced value, whose derivative would be lost: take "
                    "it out of nondiff_argnums and let its cotangent be None, or use funcgrad.stop_gradient(x)"
                )
        if keyword_only:
            raise InputTypeError(
                f"{self._name}: rules take arguments by position, and {', '.join(keyword_only)} cannot be given so: pass it by position, "
                "or make it a positional parameter"
            )

    # -------------------------------------------------------------------------------------------- replays

    def _push(self, record: Record, tangents: Any) -> Any:
        call, operands, constants, saved, _ = record[-1]
        given = tangents_of(record, tangents, operands)
        if self._jvp is not None:
            return joined(unshared(self._tangents(call, operands, constants, given)))
        if is_own(tangents, call.first):
            raise NoRuleError(
                f"{self._name} is a custom_vjp function without a jvp rule, and forward mode (jvp, linearize, jacfwd) needs one: add it "
                "with .defjvp(rule), where rule(primals, tangents) returns (value, tangent)"
            )
        return joined(self._transposed_back(call, operands, constants, saved, given))

    def _pull(self, cotangent: Any, record: Record, cotangents: Any) -> None:
        self._distribute(self._cotangents, cotangent, record, cotangents)

    def _push_strongly(self, record: Record, tangents: Any) -> Any:
        call, operands, constants, _, _ = record[-1]
        if self._jvp is None:
            return self._push(record, tangents)
        given = tangents_of(record, tangents, operands)
        return joined(strongly(lambda *ts: self._tangents(call, operands, constants, ts), given, call.inputs(operands, constants)))

    def _pull_strongly(self, cotangent: Any, record: Record, cotangents: Any) -> None:
        def strong(call: Call, operands: Any, constants: Any, saved: Any, cts: Sequence[Any]) -> list[Any]:
            return strongly(lambda *cts: self._cotangents(call, operands, constants, saved, cts), cts, call.inputs(operands, constants))

        self._distribute(strong if self._bwd is not None else self._cotangents, cotangent, record, cotangents)

    def _distribute(self, pulled: Callable[..., list[Any]], cotangent: Any, record: Record, cotangents: Any) -> None:
        call, operands, constants, saved, _ = record[-1]
        cts = settled(parts_of(cotangent), call.differentiable)
        hand_on(unshared(pulled(call, operands, constants, saved, cts)), record, cotangents)

    def _tangents(self, call: Call, operands: Sequence[Any], constants: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """The tangents of the outputs, by the jvp rule."""
        primals, tangents = call.args(operands, constants), call.tangent_args(ts, constants)
        rule: Any = self._jvp
        inputs = [*call.inputs(operands, constants), *ts]
        returned = run(f"the jvp rule of {self._name}", inputs, rule, *call.nondiff.values(), primals, tangents)
        value, tangent = pair(f"the jvp rule of {self._name} must return (value, tangent)", returned)
        call.checked_value("the jvp rule", value)
        return call.checked_tangents(tangent)

    def _cotangents(self, call: Call, operands: Sequence[Any], constants: Sequence[Any], saved: Any, cts: Sequence[Any]) -> list[Any]:
        """The cotangents of the operands (None: zero), by bwd, or by the transpose of the jvp rule."""
        if self._bwd is None:
            return self._transposed(call, operands, constants, cts)
        if saved is None:  # the replay is itself differentiated: so are the residuals
            value, residuals = self._ran_forward(call.inputs(operands, constants), call.all_args(operands, constants))
            call.checked_value("fwd", value)
        else:
            residuals = tree.unflatten(saved[1], saved[0])
        inputs = [*call.inputs(operands, constants), *tree.leaves(residuals), *cts]
        answer = run(f"bwd of {self._name}", inputs, self._bwd, *call.nondiff.values(), residuals, call.out_cotangent(cts))
        return call.checked_cotangents(answer, operands)

    def _ran_forward(self, inputs: Sequence[Any], args: Sequence[Any]) -> tuple[Any, Any]:
        fwd: Any = self._fwd
        return pair(f"fwd of {self._name} must return (value, residuals)", run(f"fwd of {self._name}", inputs, fwd, *args))

    def _transposed(self, call: Call, operands: Sequence[Any], constants: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """The cotangents of the operands: what the jvp rule does with tangents, backwards."""

        def tangents(*ts: Any) -> list[Any]:
            found = self._tangents(call, operands, constants, ts)
            for one in found:
                if not (type(one) is Tracer and one._scope is ts[0]._scope) and is_wrong(raw(one) != 0):
                    raise InputValueError(
                        f"the jvp rule of {self._name} returns a tangent that is not linear in those that it got: it is not zero, and does "
                        "not depend on them"
                    )
            return found

        with in_scope_of([*call.inputs(operands, constants), *cts]):
            return list(vjp(tangents, *(ones(one) for one in operands))[1](list(cts)))

    def _transposed_back(self, call: Call, operands: Sequence[Any], constants: Sequence[Any], saved: Any, ts: Sequence[Any]) -> list[Any]:
        """The tangents of the outputs: what bwd does with cotangents, backwards."""

        def cotangents(*cts: Any) -> list[Any]:
            return without_none(self._cotangents(call, operands, constants, saved, cts), operands)

        try:
            with in_scope_of([*call.inputs(operands, constants), *(saved[0] if saved else ()), *ts]):
                return list(vjp(cotangents, *(zeros(one) for one in call.differentiable))[1](list(ts)))
        except (NoRuleError, ConcretizationError) as error:
            raise NoRuleError(
                f"{self._name} is a custom_vjp function without a jvp rule, and its bwd cannot be transposed for forward mode: add a rule "
                "with .defjvp(rule), where rule(primals, tangents) returns (value, tangent)"
            ) from error


_EXACT = rule_of_calls(CustomFunction._push, CustomFunction._pull)  # of functions that keep exact zeros themselves
_RULE = rule_of_calls(CustomFunction._push, CustomFunction._pull)
_RULE.strong = rule_of_calls(CustomFunction._push_strongly, CustomFunction._pull_strongly)


def custom_jvp(f: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> CustomFunction:
    """f with a rule of your own for its derivative, given as `.defjvp(rule)`: what tangents become.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise. It gets plain values: any code may compute them.
        nondiff_argnums: the positional arguments that have no tangents and may be anything; rules get them first.

    Returns:
        A function with f's arguments, name and docstring. Its methods `defjvp(rule)`, where `rule(*nondiff, primals, tangents)` returns
        `(value, tangent)`, and `defjvps(*partials)` give the rule; it may be used as a decorator. Reverse mode transposes the rule,
        unless `defvjp(fwd, bwd)` gives one of its own. The value is f's and its derivative the rule's, at every order: a value that the
        rule writes out is not differentiated itself (in JAX it is, unless it calls f). Keyword arguments are resolved to positions.

    Raises:
        InputTypeError: f is no function; an argument that can only be given by keyword.
        NoRuleError: the function is differentiated and has no rule.
        TreeError, InputValueError, InputTypeError: a rule returned something of another structure, shape or dtype than it must.
        ConcretizationError: f or a rule uses a traced value that is no argument; a nondiff argument is traced.

    Example:
        >>> from funcgrad import grad
        >>> @custom_jvp
        ... def log1pexp(x):
        ...     return np.log(1.0 + np.exp(x))
        >>> @log1pexp.defjvp
        ... def rule(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return log1pexp(x), t * (1.0 - 1.0 / (1.0 + np.exp(x)))
        >>> grad(log1pexp)(0.0), grad(grad(log1pexp))(0.0)
        (0.5, 0.25)
    """
    return CustomFunction(f, nondiff_argnums, "custom_jvp")


def custom_vjp(f: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> CustomFunction:
    """f with a rule of your own for its derivative, given as `.defvjp(fwd, bwd)`: what cotangents become.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise. It gets plain values: any code may compute them.
        nondiff_argnums: the positional arguments that have no cotangents and may be anything; bwd gets them first.

    Returns:
        A function with f's arguments, name and docstring. Its method `defvjp(fwd, bwd)` gives the rule: `fwd(*args)` returns
        `(value, residuals)`, and `bwd(*nondiff, residuals, ct)` a tuple with a cotangent for each differentiable argument, None for
        zero. Forward mode needs `defjvp(rule)` as well; forward over reverse (hessian, hvp) does not. Derivatives of any order are
        those of the rule. Keyword arguments are resolved to positions.

    Raises:
        InputTypeError: f is no function; an argument that can only be given by keyword.
        NoRuleError: the function is differentiated and has no rule, or none for forward mode.
        TreeError, InputValueError, InputTypeError: a rule returned something of another structure, shape or dtype than it must.
        ConcretizationError: f or a rule uses a traced value that is no argument; a nondiff argument is traced.

    Example:
        >>> from funcgrad import grad
        >>> @custom_vjp
        ... def clipped(x):
        ...     return x
        >>> clipped.defvjp(lambda x: (x, None), lambda residuals, ct: (np.clip(ct, -1.0, 1.0),))
        >>> grad(lambda x: clipped(x) ** 2)(5.0)
        1.0
    """
    return CustomFunction(f, nondiff_argnums, "custom_vjp")
