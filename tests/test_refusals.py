"""What a tracer refuses: to be a plain number, to be written, to meet what has no derivative. The message names the call to use.

The fixture of `conftest.py` asserts that no scope stays open.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import grad, jacfwd
from funcgrad.errors import ConcretizationError, FuncgradError, NoRuleError
from funcgrad.ops import reductions
from tests.runs import each_transform
from tests.witnesses import NUMPY

A = np.array


# ------------------------------------------------------------------------------------------------ tracers where numbers are wanted

CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "math.sin": math.sin,
    "math.exp": math.exp,
    "math.hypot": lambda x: math.hypot(x, 1.0),
    "math.isnan": math.isnan,
    "range": lambda x: range(x),
    "operator.index": operator.index,
    "a list's index": lambda x: [1.0, 2.0][x],
    "a string's repetition": lambda x: "a" * x,
    "%f": lambda x: "%f".__mod__(x),
    "np.array": lambda x: np.array([x, x]),
    "np.array of one": np.array,
    "np.asarray": np.asarray,
    "np.float64": np.float64,
    "np.full": lambda x: np.full(3, x),
    "np.arange": lambda x: np.arange(0.0, x, 0.5),
    "list beside tracer": lambda x: x * [x, 1.0],
    "array's index": lambda x: np.ones(3)[x],
    "np.vectorize": lambda x: np.vectorize(lambda y: y * y)(x),
    "rng": lambda x: np.random.default_rng(0).normal(x, 1.0),
}


@pytest.mark.parametrize("convert", list(CONVERSIONS.values()), ids=list(CONVERSIONS))
@each_transform
def test_a_tracer_is_no_plain_number(run: Any, convert: Callable[[Any], Any]):
    with pytest.raises(FuncgradError, match=r"stop_gradient|tracer"):
        run(lambda x: x * np.sum(convert(x)), 1.5)
    with pytest.raises(FuncgradError, match=r"stop_gradient|tracer"):
        run(lambda x: np.sum(x) * np.sum(convert(x[0])), np.array([1.5, 0.5]))


def test_messages_of_conversions_name_the_call_to_use():
    for convert, message in (
        (float, r"float\(\) of a tracer \(shape \(\), float64\).*NumPy.*stop_gradient"),
        (math.sin, "functions instead of those of math"),
        (np.asarray, r"funcgrad\.numpy\.asarray"),
        (lambda x: np.array([x]), r"funcgrad\.numpy\.array"),
        (lambda x: np.zeros(2).__setitem__(slice(None), x), r"np\.where, np\.stack"),
    ):
        with pytest.raises(ConcretizationError, match=message):
            grad(convert)(1.0)


def write(index: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        np.zeros(2)[index] = x
        return np.sum(x)

    return f


@each_transform
def test_writing_a_tracer_into_an_array(run: Any):
    x = np.array([1.0, 2.0])
    for index in (slice(None), [0, 1], A([True, True]), Ellipsis):
        with pytest.raises(ConcretizationError, match="written into"):
            run(write(index), x)
    with pytest.raises(ValueError, match="setting an array element") as caught:
        run(lambda x: write(0)(x[0]), x)
    assert isinstance(caught.value.__cause__, ConcretizationError)
    buffer = np.zeros(2)

    def add_to_part(x: Any) -> Any:
        buffer[:1] += x[:1]
        return np.sum(buffer)

    with pytest.raises(FuncgradError, match=r"written|write"):
        run(add_to_part, x)
    np.testing.assert_array_equal(buffer, [0.0, 0.0])
    assert buffer.flags.writeable


@each_transform
def test_changing_a_tracer_in_place(run: Any):
    x = np.array([1.0, 2.0])
    for index in (0, slice(None), [0, 1], A([True, False])):
        with pytest.raises(ConcretizationError, match=r"x\.at\[i\]\.set\(v\)"):
            run(lambda x: x.__setitem__(index, 5.0), x)  # noqa: B023
    with pytest.raises(TypeError):
        run(lambda x: x.__delitem__(0), x)
    for method in ("sort", "fill", "put"):
        with pytest.raises(ConcretizationError, match=method):
            run(lambda x: getattr(x, method)(0), x)  # noqa: B023
    for name in ("shape", "dtype", "value", "foo"):
        with pytest.raises(AttributeError):
            run(lambda x: setattr(x, name, 1), x)  # noqa: B023


@each_transform
def test_out_arguments(run: Any):
    x, buffer = np.array([1.0, 2.0]), np.zeros(2)
    for call in (
        lambda x: np.add(x, x, out=buffer),
        lambda x: np.sin(x, out=buffer),
        lambda x: np.sin(x, buffer),
        lambda x: np.add(x, x, out=(buffer,)),
        lambda x: np.sum(x, out=np.zeros(())),
        lambda x: np.sum(x[None], axis=0, out=buffer),
        lambda x: np.cumsum(x, out=buffer),
        lambda x: np.clip(x, 0.0, 1.0, out=buffer),
        lambda x: np.dot(np.eye(2), x, out=buffer),
        lambda x: np.matmul(np.eye(2), x, out=buffer),
        lambda x: np.einsum("i->i", x, out=buffer),
        lambda x: np.concatenate([x[:1], x[1:]], out=buffer),
        lambda x: np.stack([x, x], out=np.zeros((2, 2))),
        lambda x: np.take(x, [0, 1], out=buffer),
        lambda x: np.add(1.0, 2.0, out=x),
        lambda x: np.sum(np.ones(2), out=x[0]),
    ):
        with pytest.raises((FuncgradError, TypeError), match=r"out|in place|write|return arrays must be"):
            run(lambda x: np.sum(call(x)), x)  # noqa: B023
        np.testing.assert_array_equal(buffer, [0.0, 0.0])
        assert buffer.flags.writeable


# ------------------------------------------------------------------------------------------------ operations and operands

NO_RULES: dict[str, Callable[[Any], Any]] = {
    "numpy.packbits": lambda x: np.packbits(x),
    "numpy.unravel_index": lambda x: np.unravel_index(x, (2, 2)),
    "bitwise_and": lambda x: np.bitwise_and(x, 1),
    "my_ufunc": lambda x: np.frompyfunc(math.sin, 1, 1, identity=None)(x),
}


@pytest.mark.parametrize(("name", "call"), list(NO_RULES.items()), ids=list(NO_RULES))
@each_transform
def test_an_operation_without_a_rule_is_named(run: Any, name: str, call: Callable[[Any], Any]):
    with pytest.raises(NoRuleError, match=name.replace("my_ufunc", "sin")) as caught:
        run(lambda x: np.sum(call(x)), np.array([1.0, 2.0]))
    assert "stop_gradient" in str(caught.value) or "compose" in str(caught.value) or "instead" in str(caught.value)


@each_transform
def test_options_without_a_rule_are_named(run: Any):
    x = np.array([1.0, 2.0])
    for call, option in (
        (lambda x: np.sin(x, signature="d->d"), "signature"),
        (lambda x: np.sum(x, initial=x[0]), "initial"),
    ):
        with pytest.raises(NoRuleError, match=option):
            run(lambda x: np.sum(call(x)), x)  # noqa: B023


OPERANDS: list[tuple[Any, str]] = [
    (A([1.0, None], object), "object"),
    (A(["a", "b"]), "<U1|str"),
    ("text", "str"),
    (None, "NoneType|None"),
    (object(), "object"),
    ({"a": 1.0}, "dict"),
    (A(["2020-01-01", "2020-01-02"], "datetime64[D]"), "datetime64"),
    (np.ma.array([1.0, 2.0], mask=[True, False]), "mask"),
    (np.ones((2, 2)).view(np.matrix), "matrix"),
]


@pytest.mark.parametrize(("operand", "got"), OPERANDS, ids=[got for _, got in OPERANDS])
@each_transform
def test_operands_that_a_tracer_cannot_meet(run: Any, operand: Any, got: str):
    x = np.array([1.0, 2.0])
    for combine in (lambda x: x * operand, lambda x: np.maximum(x, operand), lambda x: x + operand, lambda x: np.where(True, x, operand)):
        with pytest.raises(FuncgradError, match=got):
            run(lambda x: np.sum(combine(x)), x)  # noqa: B023
    with pytest.raises((TypeError, FuncgradError)):  # NumPy or Python may come first
        run(lambda x: np.sum(operand * x), x)


def test_shapes_and_indices_that_do_not_fit_are_numpys_own_errors():
    x = np.ones(3)
    for call, error in (
        (lambda x: x + np.ones(2), ValueError),
        (lambda x: x @ np.ones(2), ValueError),
        (lambda x: x.reshape(2, 2), ValueError),
        (lambda x: x[5], IndexError),
        (lambda x: x[0, 0], IndexError),
        (lambda x: x["a"], IndexError),
        (lambda x: np.sum(x, axis=1), ValueError),
        (lambda x: np.concatenate([x, np.ones((1, 1))]), ValueError),
        (lambda x: np.einsum("ij", x), ValueError),
        (lambda x: np.sum(x) if x > 0 else 0.0, ValueError),
        (lambda x: len(x[0]), TypeError),
        (lambda x: list(x[0]), TypeError),
        (lambda x: {x: 1}, TypeError),
        (lambda x: fnp.array([x, 1.0]), ValueError),
    ):
        for transform in (grad, jacfwd):
            with pytest.raises(error):
                transform(call)(x)


@each_transform
def test_a_tracer_as_out(run: Any):
    x = np.array([1.5, 2.5])
    for call in (
        lambda y: np.sin(y, out=y),
        lambda y: np.sin(y, y),
        lambda y: np.add(y, 1.0, out=y),
        lambda y: np.negative(y, out=(y,)),
        lambda y: np.floor(y, out=y),
        lambda y: np.modf(y, out=(y, y)),
        lambda y: np.round(y, 0, y),
        lambda y: np.fix(y, out=y),
        lambda y: np.divmod(np.zeros(2), y, out=(np.zeros(2), np.ones(2))),
    ):

        def f(x: Any) -> Any:
            y = x * 2.0
            call(y)  # noqa: B023
            return np.sum(y)

        with pytest.raises((ConcretizationError, TypeError, ValueError)):
            run(f, x)


def test_a_dtype_that_would_lose_something_is_refused_as_by_numpy():
    with pytest.raises(TypeError, match="cast"):
        grad(lambda z: np.add(z, 1.0, dtype=np.float64).real.sum())(np.ones(2, complex))
    with pytest.raises(TypeError, match="cast"):
        grad(lambda x: np.sum(np.add(x, 1.0, dtype=int)))(np.ones(2))
    narrow = grad(lambda x: np.sum(np.add(x, 1.0, dtype=np.float32)))(np.ones(2))
    assert narrow.dtype == np.float64


def test_an_operand_by_keyword_where_it_has_no_rule_is_named():
    with pytest.raises(NoRuleError, match="by keyword"):
        grad(lambda x: reductions._prod(x, None, False, initial=x[0]))(np.ones(2))


def test_the_method_clip_of_an_array_takes_traced_bounds():
    low = np.array([0.5, 2.0])
    np.testing.assert_array_equal(grad(lambda b: np.sum(np.array([1.0, 1.0]).clip(b, 3.0)))(low), [0.0, 1.0])


def test_several_axes_where_the_order_matters_are_refused_as_by_numpy():
    with pytest.raises(ValueError, match="reorderable"):
        grad(lambda x: np.sum(np.subtract.reduce(x, axis=(0, 1))))(np.ones((2, 3, 2)))


@pytest.mark.skipif(NUMPY < (2, 0), reason="NumPy 1 knows no correction")
def test_two_ways_to_say_the_degrees_of_freedom_are_refused_as_by_numpy():
    with pytest.raises(ValueError, match="ddof and correction"):
        grad(lambda x: np.var(x, ddof=1, correction=1))(np.ones(3))
