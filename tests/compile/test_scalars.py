"""Programs of Python numbers: Python's expressions, and NumPy's answer where Python has none."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp, load, nn, value_and_grad
from funcgrad.transforms.compile import jit

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e3, -1e3, 1e308, math.inf, -math.inf, math.nan]
UNARY = [
    np.exp,
    np.log,
    np.sqrt,
    np.sin,
    np.tanh,
    np.expm1,
    np.log1p,
    np.arcsin,
    np.negative,
    np.square,
    np.abs,
    np.sign,
    np.floor,
    nn.relu,
]
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.minimum, np.hypot, np.arctan2, np.remainder]


ZEROS_OF_ANY_SIGN = (np.power, np.maximum, np.minimum)


def assert_same(got: Any, wanted: Any, has_sign: bool = True) -> None:
    assert type(got) is float
    assert got == wanted or (got != got and wanted != wanted) or math.isclose(got, wanted, rel_tol=1e-15), (got, wanted)
    assert got != 0.0 or not has_sign or math.copysign(1.0, got) == math.copysign(1.0, wanted)


@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_functions_of_one_number(f: Any):
    program = jit(lambda x: f(x) + 0.0 * f(x))
    for x in SPECIAL:
        assert_same(program(x), float(f(x) + 0.0 * f(x)))


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_functions_of_two_numbers(f: Any):
    program = jit(lambda x, y: f(x, y))
    for x in SPECIAL:
        for y in SPECIAL:
            if f is np.power and (x, y) == (-math.inf, 0.5):
                continue  # NumPy's square root of it is NaN, C's power is not
            assert_same(program(x, y), float(f(x, y)), f not in ZEROS_OF_ANY_SIGN)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.filterwarnings("ignore")
def test_derivatives_where_python_raises(order: int):
    def f(x: Any) -> Any:
        return np.divide(1.0, x) + np.exp(x) * np.sqrt(x) + x**3

    for _ in range(order):
        f = grad(f)
    program = jit(f)
    for x in (0.5, 0.0, 800.0, 2.0, -1.0):
        got, wanted = program(x), float(f(x))
        assert got == wanted or (got != got and wanted != wanted)


def test_what_numpy_does_not_answer_either_is_raised():
    program = jit(lambda x: np.divide(1.0, x))
    with np.errstate(all="raise"):
        assert program(2.0) == 0.5
    assert program(0.0) == math.inf


def test_a_value_used_once_is_written_where_it_is_used():
    source = jit(lambda x, y: np.sin(x * y + 1.0) / (y - 2.0)).source(1.0, 3.0)
    assert "sin((x0 * x1) + 1.0) / (x1 - 2.0)" in source
    assert "on_numbers" not in source


def test_comparisons_choose():
    program = jit(lambda x, y: np.where(x > y, x, 2.0 * y) + (x <= 0.0) * 10.0)
    assert program(3.0, 1.0) == 3.0
    assert program(-3.0, 1.0) == 12.0


@pytest.mark.filterwarnings("ignore")
def test_strong_zeros():
    program = jit(grad(lambda x: np.where(x > 0.0, np.log(x), 0.0)))
    assert program(0.5) == 2.0
    assert program(0.0) == 0.0
    assert program(-1.0) == 0.0


def test_numbers_beside_arrays():
    def step(w: np.ndarray, rate: float, n: int) -> Any:
        decay = rate * 0.5**n / (1.0 + rate)
        return w - decay * w, decay

    program = jit(step)
    for n in (1, 5):
        got, wanted = program(np.arange(3.0), 0.3, n), step(np.arange(3.0), 0.3, n)
        np.testing.assert_array_equal(got[0], wanted[0])
        assert got[1] == wanted[1]
    np.testing.assert_array_equal(program(np.arange(3.0), math.inf, 1)[0], [math.nan] * 3)


def long(xs: list[Any], count: int) -> Any:
    """Many operations, of which many values are used at some distance."""
    values = list(xs)
    for n in range(count):
        values.append(np.sin(values[-1]) * values[-7] + values[n % len(xs)] / (2.0 + values[-3] * values[-3]))
    return sum(values[-5:], 0.0)


def test_a_long_program_shares_names():
    xs = [0.1 * n for n in range(8)]
    program = jit(value_and_grad(lambda xs: long(xs, 400)))
    value, gradient = value_and_grad(lambda xs: long(xs, 400))(xs)
    source = program.source(xs)  # type: ignore[attr-defined]
    written = re.findall(r"^ +(s\d+) = ", source, re.MULTILINE)
    assert len(set(written)) < 0.75 * len(written)
    for _ in range(2):
        got = program(xs)
        assert math.isclose(got[0], value, rel_tol=1e-14)
        np.testing.assert_allclose(got[1], gradient, rtol=1e-12)
    _, tangent = jit(lambda xs, ts: jvp(lambda xs: long(xs, 400), (xs,), (ts,)))(xs, [1.0] * 8)
    assert math.isclose(tangent, math.fsum(gradient), rel_tol=1e-10)


def test_a_long_program_that_python_cannot_run():
    xs = [0.1 * n for n in range(7)]
    program = jit(lambda xs, x: long(xs, 300) / x)
    for x in (1.0, 0.0, 2.0):
        with np.errstate(divide="ignore"):
            assert program(xs, x) == np.divide(long(xs, 300), x)


def test_the_code_is_linear_in_the_program():
    short, lengthy = (len(jit(lambda xs, n=n: long(xs, n)).source([0.1] * 7)) for n in (200, 2000))
    assert lengthy < 12 * short


@pytest.mark.filterwarnings("ignore")
def test_programs_of_numbers_in_files(tmp_path: Path):
    def f(x: Any) -> Any:
        return np.where(x > 0.0, np.log(x * 2.0), 0.0) + nn.relu(x) ** 2 + (x < 3.0) * 2.0

    for order in range(3):
        program = jit(f)
        expected = [program(x) for x in (2.0, 0.0, -1.0)]
        program.save(tmp_path / str(order))
        read = load(tmp_path / str(order))
        assert [read(x) for x in (2.0, 0.0, -1.0)] == expected
        f = grad(f)
