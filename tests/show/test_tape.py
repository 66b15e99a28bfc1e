"""The tape as people see it: rows, names, values, gradients, and the text of the table."""

from __future__ import annotations

import traceback
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hvp, jvp, make_tape, nn
from funcgrad.debug import count_records
from funcgrad.show import table


def test_the_table_of_a_scalar_expression():
    tape = make_tape(lambda x, y: (x * y + x) ** 2)(2.0, -3.0)
    assert str(tape).split("\n") == [
        "name  operation  parents  value  gradient",
        "x     leaf                    2        16",
        "y     leaf                   -3       -16",
        "n2    *          x y         -6        -8",
        "n3    +          n2 x        -4        -8",
        "n4    **2        n3          16         1",
    ]
    assert table(tape) == str(tape)
    assert len(tape) == 5
    assert repr(tape) == "<Tape of 5 records>"
    assert tape.value == 16.0


def test_names_of_leaves_follow_the_arguments_and_their_trees():
    def loss(params: Any, x: Any) -> Any:
        return np.sum(params["w"] @ x) * params["b"]

    tape = make_tape(loss)({"w": np.ones((2, 3)), "b": 2.0}, np.arange(3.0))
    assert [row.name for row in tape.rows[:3]] == ["params['b']", "params['w']", "x"]
    np.testing.assert_array_equal(tape.rows[2].gradient, [4.0, 4.0, 4.0])
    assert [row.name for row in make_tape(lambda *numbers: numbers[0] * numbers[1])(2.0, 3.0).rows] == ["x0", "x1", "n2"]


def test_large_arrays_are_shown_by_dtype_and_shape():
    text = str(make_tape(lambda x: np.sum(x * x))(np.ones((3, 4), np.float32)))
    assert "float32(3, 4)" in text
    assert "[1., 2.]" in str(make_tape(lambda x: -x)(np.array([1.0, 2.0])))


@pytest.mark.parametrize(
    ("f", "operation"),
    [
        (lambda x: x @ np.eye(2), "@"),
        (lambda x: 3.0 * x, "3 *"),
        (lambda x: x / 4.0, "/4"),
        (lambda x: 1.0 / x, "/"),  # its rule needs no numerator: the record has none to show
        (lambda x: 2.0**x, "2 **"),
        (lambda x: x * np.eye(2), "*"),
        (np.tanh, "tanh"),
        (lambda x: abs(x), "abs"),
    ],
)
def test_operations_are_written_as_people_do(f: Callable[[Any], Any], operation: str):
    assert make_tape(f)(np.full((2, 2), 2.0)).rows[-1].operation == operation


def test_records_inside_inner_transforms_are_all_there():
    tape = make_tape(lambda x: jvp(np.sin, (x,), (1.0,))[1])(0.5)  # the derivative of sin: cos, whose own is -sin
    assert [row.name for row in tape.rows] == ["x", *(f"n{n}" for n in range(1, len(tape)))]
    known = {"x"}
    for row in tape.rows[1:]:
        assert set(row.parents) <= known, row
        known.add(row.name)
    assert tape.value == pytest.approx(np.cos(0.5), rel=1e-15)
    assert tape.rows[0].gradient == pytest.approx(-np.sin(0.5), rel=1e-15)
    nested = make_tape(lambda x: hvp(lambda y: np.sum(y**3))(x, np.ones(2)))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(nested.rows[0].gradient, [6.0, 6.0], rtol=1e-15)


def test_records_are_counted_with_their_leaves():
    assert count_records(nn.sigmoid, 0.7) == 2
    assert count_records(lambda x: 1.0 / (1.0 + np.exp(-x)), 0.7) == 5


def test_records_keep_no_operand_that_no_rule_asks_for():
    x = np.ones(100_000)

    def peak(f: Callable[[Any], Any]) -> float:
        def chain(x: Any) -> Any:
            for _ in range(50):
                x = f(x)
            return np.sum(x)

        grad(chain)(x)
        tracemalloc.start()
        grad(chain)(x)
        found = tracemalloc.get_traced_memory()[1] / x.nbytes
        tracemalloc.stop()
        return found

    for f in (lambda x: -x, np.deg2rad, lambda x: np.where(True, x, x), lambda x: np.where(x.value > 0, x, 0.0)):
        assert peak(f) < 15.0  # arrays of the size of x; a kept operand each would be 50


def test_a_traceback_shows_the_line_of_an_operation():
    try:
        with np.errstate(all="raise"):
            grad(lambda x: np.sum(x * 1e300 * 1e300))(np.ones(2))
    except FloatingPointError:
        assert "ans = x * y" in traceback.format_exc()
    else:
        raise AssertionError("no overflow")
