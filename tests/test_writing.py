"""Writing into arrays: what a tracer cannot be part of raises, and names the call that makes a new array; what can be done works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp
from funcgrad.errors import ConcretizationError, FuncgradError
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.updates import at
from funcgrad.ops.writing import METHODS, in_place, refuse_method
from funcgrad.tracer import Tracer
from tests.runs import each_run

A = np.array
X = A([1.0, 2.0, 3.0])
MASK = A([True, False, True])

# name -> (the call on an array and a tracer, what the message names)
INTO_AN_ARRAY: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "copyto": (lambda a, x: np.copyto(a, x), r"np\.copyto .* np\.where"),
    "copyto where": (lambda a, x: np.copyto(a, 1.0, where=x > 0) or np.copyto(a, x, where=MASK), r"np\.copyto .* np\.where"),
    "place": (lambda a, x: np.place(a, MASK, x), r"np\.place .* funcgrad\.numpy\.at\(a\)\[mask\]"),
    "put": (lambda a, x: np.put(a, [0, 1], x[:2]), r"np\.put .* funcgrad\.numpy\.at"),
    "putmask": (lambda a, x: np.putmask(a, MASK, x), r"np\.putmask .* np\.where"),
    "put_along_axis": (lambda a, x: np.put_along_axis(a, A([0]), x[:1], 0), r"np\.put_along_axis .* funcgrad\.numpy\.at"),
    "array.put": (lambda a, x: a.put([0, 1], x[:2]), r"written into"),
    "fill_diagonal": (lambda a, x: np.fill_diagonal(a[:, None] * np.ones((3, 3)), x), r"written into"),
    "slice": (lambda a, x: a.__setitem__(slice(None), x), r"written into"),
    "list of tracers": (lambda a, x: a.__setitem__(slice(None), [x[0], x[1], x[2]]), r"written into"),
    "out": (lambda a, x: np.add(x, x, out=a), r"out=array"),
    "out of a reduction": (lambda a, x: np.sum(x[None], 0, out=a), r"out=array"),
}


@pytest.mark.parametrize("name", list(INTO_AN_ARRAY))
@each_run
def test_writing_a_tracer_into_an_array(run: Any, name: str):
    call, message = INTO_AN_ARRAY[name]

    def f(x: Any) -> Any:
        target = np.zeros(3)  # one of the function's own: checkpoint protects those that it reaches
        with pytest.raises(ConcretizationError, match=message):
            call(target, x)
        assert name == "copyto where" or not target.any()
        return np.sum(x)

    run(f, X)


@pytest.mark.parametrize(
    "write",
    [
        lambda a, x: a.__setitem__(0, x[0]),
        lambda a, x: a.fill(x[0]),
        lambda a, x: a.flat.__setitem__(0, x[0]),
        lambda a, x: np.add.at(a, [0], x[0]),
        lambda a, x: np.maximum.at(a, [0, 0, 1], x),
    ],
)
def test_writing_a_number_into_an_array_raises(write: Callable[[Any, Any], Any]):
    target = np.zeros(3)
    with pytest.raises((FuncgradError, ValueError)):
        grad(lambda x: write(target, x) or np.sum(x))(X)
    assert not target.any()


INTO_A_TRACER: dict[str, Callable[[Any], Any]] = {
    "element": lambda x: x.__setitem__(0, 5.0),
    "slice": lambda x: x.__setitem__(slice(1, 3), x[:2]),
    "mask": lambda x: x.__setitem__(x > 1.0, 0.0),
    "element +=": lambda x: x.__setitem__(0, x[0] + 1.0),
    "fill_diagonal": lambda x: np.fill_diagonal(x[:, None] * x, 0.0),
    "put": lambda x: np.put(x, [0], 1.0),
    "place": lambda x: np.place(x, MASK, [1.0]),
    "putmask": lambda x: np.putmask(x, MASK, 1.0),
    "copyto": lambda x: np.copyto(x, 1.0),
    "put_along_axis": lambda x: np.put_along_axis(x, A([0]), 1.0, 0),
}


@pytest.mark.parametrize("name", list(INTO_A_TRACER))
@each_run
def test_writing_into_a_tracer(run: Any, name: str):
    with pytest.raises(ConcretizationError, match=r"at\[|at\(|np\.where"):
        run(lambda x: INTO_A_TRACER[name](x) or np.sum(x), X)


def test_swapping_elements_names_at():
    def f(x: Any) -> Any:
        y = x * 2.0
        y[0], y[1] = y[1], y[0]
        return np.sum(y)

    with pytest.raises(ConcretizationError, match=r"x\.at\[i\]\.set"):
        grad(f)(X)


@pytest.mark.parametrize("name", list(METHODS))
def test_methods_that_change_in_place(name: str):
    def f(x: Any) -> Any:
        with pytest.raises(ConcretizationError, match=name):
            refuse_method(name)(x, 0)
        return np.sum(x)

    grad(f)(X)


def test_in_place_operators_give_the_name_a_new_value():
    def f(x: Any) -> Any:
        y = x
        y += 1.0
        y *= x
        total = 0.0
        total += np.sum(y)
        return total

    np.testing.assert_array_equal(grad(f)(X), 2 * X + 1)
    assert X.tolist() == [1.0, 2.0, 3.0]


def test_in_place_operators_on_a_part_of_an_array_are_refused():
    add = in_place("+", lambda x, y: x + y)

    def f(x: Any, by_record: bool = True) -> Any:
        table = x[:, None] * x
        whole = (x[::-1], x[...]) if by_record else ()
        for part in (table[0], table[1:], table[:, 1], table[0].reshape(3, 1), *whole):
            with pytest.raises(ConcretizationError, match=r"x \+= y, where x is a part .* x = x \+ y .*a\.at\[index\]\.add"):
                add(part, 1.0)
        for own in (table, table[[0, 1]], x[0], x[x > 1.0], table.T, x.reshape(3, 1), x):
            assert type(add(own, 1.0)) is Tracer
        return np.sum(x)

    grad(f)(X)
    jvp(lambda x: f(x, False), (X,), (X,))


def test_what_to_write_instead_works():
    def f(x: Any) -> Any:
        a = at(np.zeros(3))[[0, 2]].set(x[:2])
        a = np.where(MASK, a, x)
        a = at(a)[1:].add(x[0])
        held = [x[0] * n for n in range(3)]
        return np.sum(a * a) + np.sum(asarray(held))

    x0, x1, _ = X
    a = A([x0, x1 + x0, x1 + x0])
    wanted = A([2 * a[0] + 2 * a[1] + 2 * a[2] + 3.0, 2 * a[1] + 2 * a[2], 0.0])
    np.testing.assert_allclose(grad(f)(X), wanted, rtol=1e-15)


def test_arrays_of_objects_hold_tracers_and_their_derivatives():
    def f(x: Any) -> Any:
        held = np.empty(2, object)
        held[0], held[1] = x[0] * x[1], x[2]
        return np.sum(asarray(held) ** 2)

    np.testing.assert_allclose(grad(f)(X), [2 * 2.0 * 2.0, 2 * 2.0 * 1.0, 6.0])
