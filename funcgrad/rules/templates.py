"""Source text of the hot path: operations of one and two arguments and their rules, one text for all variants.

Owns the text and its compilation. What goes into the braces is decided by `funcgrad.rules.elementwise`, when a primitive is defined.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.mapped import OPEN, Mapped, crossed
from funcgrad.mapped import elementwise as mapped_elementwise
from funcgrad.rules.values import NUMBERS, keep, plain_constant, stretch, unbroadcast
from funcgrad.silence import quietly
from funcgrad.tape import innermost
from funcgrad.tracer import Tracer

# One argument: its operation. Two arguments: their operation, and the rules where both are traced, or one.

UNARY = """
def build(function, on_float, rule):
    def operation(x, /):
        if type(x) is Tracer:
            value, scope = x._primal, x._scope
            if type(value) is float:
                try:
                    ans = on_float(value)
                except (ValueError, OverflowError):
                    ans = float(function(value))
            else:
                ans = function(value)
            records = scope.records
            index = len(records)
            records.append((rule, x._index, {residual}))
            make = scope.make
            if make is not Tracer:
                return make(ans, scope, index)
            tracer = new(Tracer)  # three quarters of the time of Tracer(ans, scope, index)
            tracer._primal = ans
            tracer._scope = scope
            tracer._index = index
            return tracer
        if type(x) is not float:
            return function(x)
        try:
            return on_float(x)
        except (ValueError, OverflowError):
            return float(quietly(function, x))  # plain values come from rules alone: no warnings there
    return operation
"""

# u, v: the operands as they come; x, y: their plain values. `plain` tells whether the result has the shape of each traced operand; where it
# has not, a rule that sums back is recorded, so that the usual one has nothing to ask. What `for_...` finds not to be for this operation
# goes to another one.
OPERATION = """
def build(function, otherwise, scalar, on_error, both, left, right, both_stretched, left_stretched, right_stretched):
    def operation({arguments}, /):
        if type(u) is Tracer:
            x, scope = u._primal, u._scope
            if type(v) is Tracer:
                y = v._primal
                if v._scope is not scope:
                    if OPEN:
                        operands = crossed((u, v))
                        if operands is not None:
                            u, v = operands
                            return operation({arguments})
                    scope = innermost(scope, v._scope)
                {for_arrays}
                try:
                    ans = {call}
                except ArithmeticError:
                    ans = on_error(x, y)
                records = scope.records
                index = len(records)
                if {plain_both}:
                    records.append((both, u._index, v._index, {both}))
                else:
                    shape_x, shape_y = () if type(x) is float else x.shape, () if type(y) is float else y.shape
                    records.append((both_stretched, u._index, v._index, ({both}, shape_x, shape_y, ans.shape)))
            else:
                {for_left}
                is_number = type(v) in NUMBERS
                if is_number:
                    y = v
                elif type(v) is Mapped and v._scope.depth > scope.depth:
                    return mapped_elementwise(function, u, v)
                else:
                    y = plain_constant(v, x)
                try:
                    ans = {call}
                except ArithmeticError:
                    ans = on_error(x, y)
                {keep_y}
                records = scope.records
                index = len(records)
                if {plain_left}:
                    records.append((left, u._index, {left}))
                else:
                    records.append((left_stretched, u._index, ({left}, () if type(x) is float else x.shape, ans.shape)))
        elif type(v) is Tracer:
            y, scope = v._primal, v._scope
            {for_right}
            is_number = type(u) in NUMBERS
            if is_number:
                x = u
            elif type(u) is Mapped and u._scope.depth > scope.depth:
                return mapped_elementwise(function, u, v)
            else:
                x = plain_constant(u, y)
            try:
                ans = {call}
            except ArithmeticError:
                ans = on_error(x, y)
            {keep_x}
            records = scope.records
            index = len(records)
            if {plain_right}:
                records.append((right, v._index, {right}))
            else:
                records.append((right_stretched, v._index, ({right}, () if type(y) is float else y.shape, ans.shape)))
        else:
            x, y = u, v
            {for_arrays}
            try:
                return {call}
            except ArithmeticError:
                return quietly(on_error, x, y)  # plain values come from rules alone: no warnings there
        make = scope.make
        if make is not Tracer:
            return make(ans, scope, index)
        tracer = new(Tracer)
        tracer._primal = ans
        tracer._scope = scope
        tracer._index = index
        return tracer
    return operation
"""

PLAIN = {
    "plain_both": "type(ans) is float or (x.shape == y.shape if type(x) is type(y) is ndarray else type(ans) is float64)",
    "plain_left": "is_number or type(ans) is float or type(x) is ndarray and x.shape == ans.shape or type(ans) is float64",
    "plain_right": "is_number or type(ans) is float or type(y) is ndarray and y.shape == ans.shape or type(ans) is float64",
}

BOTH = """
def build(dx, dy, push_dx, push_dy):
    def push(record, tangents):
        _, i, j, {residual} = record
        t, s = tangents.get(i), tangents.get(j)
        if s is None:
            return {push_x}
        if t is None:
            return {push_y}
        return {push_both}
    def pull(t, record, cotangents):
        _, i, j, {residual} = record
        part = {pull_x}
        {back_x}
        held = cotangents[i]
        cotangents[i] = part if held is None else held + part
        part = {pull_y}
        {back_y}
        held = cotangents[j]
        cotangents[j] = part if held is None else held + part
    def lift(record, index, scope):
        key, i, j, {residual} = record
        return (key, i, j, {lifted})
    return push, pull, lift
"""

ONE = """
def build(dx, dy, push_dx, push_dy):
    def push(record, tangents):
        _, i, {residual} = record
        t = tangents[i]
        return {push}
    def pull(t, record, cotangents):
        _, i, {residual} = record
        part = {pull}
        {back}
        held = cotangents[i]
        cotangents[i] = part if held is None else held + part
    def lift(record, index, scope):
        key, i, {residual} = record
        return (key, i, {lifted})
    return push, pull, lift
"""


_numbers = itertools.count(1)


class _Source:
    """What tracebacks ask for the lines of a text that is in no file."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        return self.text


@functools.cache
def builder(source: str) -> Callable[..., Any]:
    """The function `build` of a piece of source text. Many primitives share one text: it is compiled once."""
    namespace: dict[str, Any] = {
        "__name__": __name__,
        "__loader__": _Source(source),
        "NUMBERS": NUMBERS,
        "Mapped": Mapped,
        "OPEN": OPEN,
        "crossed": crossed,
        "Tracer": Tracer,
        "mapped_elementwise": mapped_elementwise,
        "keep": keep,
        "plain_constant": plain_constant,
        "quietly": quietly,
        "float64": np.float64,
        "innermost": innermost,
        "ndarray": np.ndarray,
        "new": object.__new__,
        "stretch": stretch,
        "unbroadcast": unbroadcast,
    }
    exec(compile(source, f"funcgrad.rules.templates {next(_numbers)}", "exec"), namespace)
    build: Callable[..., Any] = namespace["build"]
    return build
