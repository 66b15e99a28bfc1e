"""What is known of results without values is what the calls give."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np
import pytest

from funcgrad import cond, grad, jit, tree, vjp, while_loop
from funcgrad.dependence import evaluated
from funcgrad.errors import ConcretizationError
from funcgrad.forms import Forms, answer_of
from funcgrad.instructions import Variable, copied, replaced
from funcgrad.samples import Pending, sample_of
from funcgrad.staged import Staged
from tests.cases import DIFFERENTIABLE, Case
from tests.witnesses import like

pytestmark = pytest.mark.filterwarnings("ignore:The behavior of affine_transform:UserWarning")  # of older SciPy's own function


def signature(value: Any) -> Any:
    one = value if type(value) is Variable else Variable(value)
    return one.kind, one.shape, one.dtype


def wrong(known: list[Any]) -> list[Any]:
    """Compared where the test sees it: a recording takes an error in a call for one of the function's own."""
    return [one for one in known if one[1] != one[2]]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions whose results were known, each with what was known and what its call gives for the values at the first call."""
    found: list[Any] = []
    of = Forms.of

    def compared(self: Forms, function: Any, args: Any, options: Any) -> Any:
        form = of(self, function, args, options)
        if type(form) is Variable:
            given = replaced((args, options), sample_of, Staged)
            found.append((function, signature(form), signature(answer_of(function, evaluated, *given))))
        return form

    monkeypatch.setattr(Forms, "of", compared)
    return found


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_of_every_case(case: Case, known: list[Any]):
    ct = tree.map(lambda one: like(one, 1), case(*case.fresh()))
    with contextlib.suppress(ConcretizationError):  # for which cases the law of jit knows
        jit(lambda *xs: vjp(case, *xs)[1](ct))(*case.fresh())
    assert wrong(known) == []


def test_what_would_be_wrong_is_seen(known: list[Any], monkeypatch: pytest.MonkeyPatch):
    of_elements = Forms._of_elements
    monkeypatch.setattr(Forms, "_of_elements", lambda self, function, args: copied(of_elements(self, function, args), dtype=np.dtype("f4")))
    jit(lambda x: np.sin(x) * 2.0)(np.ones(3))
    assert [function for function, _, _ in wrong(known)] == [np.sin, np.multiply]


OPERANDS = [
    *(2.0, 2, True, 1j, np.float32(2.0), np.float64(2.0), np.int8(2)),
    *(np.ones(shape, dtype) for shape, dtype in itertools.product([(), (3,), (2, 1), (0,)], ["f4", "f8", "i1", "c8"])),
]
BINARY = [np.add, np.multiply, np.divide, np.power, np.greater, np.floor_divide, np.hypot, np.maximum, np.logical_and, np.copysign]


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda one: one.__name__)
def test_of_two_operands(ufunc: Any, known: list[Any]):
    for x, y in itertools.product(OPERANDS, OPERANDS):
        try:
            wanted = ufunc(x, y)
        except (TypeError, ValueError):  # no such function of these dtypes, or shapes that do not fit
            with pytest.raises((TypeError, ValueError)):
                jit(ufunc)(x, y)
            continue
        assert np.shape(jit(ufunc)(x, y)) == np.shape(wanted)
        assert known[-1][0] is ufunc
    assert wrong(known) == []


@pytest.mark.parametrize("function", [np.exp, np.isnan, np.negative, lambda x: np.where(x, x, 0.0), lambda x: np.sum(x, keepdims=True)])
def test_of_one_operand(function: Any, known: list[Any]):
    for x in OPERANDS:
        if isinstance(x, bool) and function is np.negative:
            continue  # NumPy has none
        assert np.shape(jit(function)(x)) == np.shape(function(x))
    assert known
    assert wrong(known) == []


def test_of_products(known: list[Any]):
    for shapes in (((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,))):
        x, y = map(np.ones, shapes)
        assert jit(np.matmul)(x, y).shape == np.matmul(x, y).shape
        assert jit(np.matmul)(x.astype("f4"), y).dtype == np.float64
    assert np.matmul in {function for function, _, _ in known}
    assert wrong(known) == []
    with pytest.raises(ValueError, match="matmul"):
        jit(np.matmul)(np.ones((2, 3)), np.ones((2, 3)))


def test_nothing_is_computed_but_by_the_program():
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(np.tanh(x * 2.0 + 1.0)[:, ::2].T * 3.0)
        found.append(np.sum(found[0] @ x) * 2.0)
        return found[1]

    assert jit(f)(np.ones((4, 6))) == pytest.approx(18 * 12.0 * 2.0 * np.tanh(3.0), rel=1e-13)
    assert all(isinstance(one._sample, Pending) for one in found)


def test_a_long_chain_is_found_out_without_deep_recursion():
    def f(x: Any) -> Any:
        for _ in range(5000):
            x = x * 1.0001
        return np.linalg.inv(x + np.eye(2))  # needs to see values

    x = np.array([[0.5, 0.25], [0.125, 1.0]])
    np.testing.assert_allclose(jit(f)(x), np.linalg.inv(x * 1.0001**5000 + np.eye(2)), rtol=1e-10)


def test_loops_are_not_run_to_be_recorded():
    """A program is also made for made-up values, at which a loop might not end."""
    calls = []

    def grown(x: Any) -> Any:
        calls.append(1)
        return while_loop(lambda y: y < 50.0, lambda y: cond(y > 4.0, lambda: y + 9.0, lambda: y * y), np.where(x > 0.0, np.log(x), 0.0))

    program = jit(grad(grown))
    wanted = grad(grown)(20.0)
    assert program(20.0) == pytest.approx(wanted, rel=1e-14)
    entry = next(iter(program._functions.values())).entries()[0]
    assert entry.careful_program() is not None  # made for ones: log(1) = 0 never grows
