"""Scopes end whatever happens: exceptions, tracers that leak, generators, recursion.

The fixture of `conftest.py` asserts after each test that no scope is open. Threads have `test_threads.py`, sizes `test_memory.py`.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from funcgrad import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    make_tape,
    nn,
    scan,
    stop_gradient,
    tape,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)  # fmt: skip
from funcgrad.errors import ConcretizationError, FuncgradError, StaleTracerError
from tests.runs import RUNS, Run, each_run

# ------------------------------------------------------------------------------------------------ exceptions


class OwnError(BaseException):
    """Not even an Exception."""


@each_run
def test_an_exception_in_the_function_passes_through(run: Run):
    x, constant = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    raised = OwnError("mine")

    def f(x: Any) -> Any:
        np.sin(x) * constant
        assert tape.thread.scope is not None
        raise raised

    for _ in range(2):
        with pytest.raises(OwnError) as caught:
            run(f, x)
        assert caught.value is raised
        assert tape.thread.scope is None
        assert x.flags.writeable and constant.flags.writeable
    del caught
    assert float(np.sum(grad(lambda x: np.sum(x * x))(x))) == 6.0


@each_run
def test_an_error_of_numpy_inside_leaves_nothing(run: Run):
    x, constant = np.array([1.0, 2.0]), np.ones(3)
    with pytest.raises(ValueError, match="broadcast"):
        run(lambda x: np.sum(x * constant), x)
    assert x.flags.writeable and constant.flags.writeable
    assert tape.thread.scope is None


@each_run
def test_a_refused_output_leaves_nothing(run: Run):
    x = np.array([1.0, 2.0])
    with pytest.raises(FuncgradError):
        run(lambda x: "text", x)
    assert x.flags.writeable
    assert tape.thread.scope is None


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_an_exception_that_crosses_many_scopes(depth: int):
    arrays = [np.array([float(n)]) for n in range(depth)]

    def nested(n: int) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            y = x * arrays[n]
            if n == depth - 1:
                raise OwnError
            transform = [grad, jacfwd, jacrev][n % 3]
            return np.sum(transform(nested(n + 1))(y))

        return f

    with pytest.raises(OwnError):
        grad(nested(0))(np.array([1.0]))
    assert tape.thread.scope is None
    assert all(array.flags.writeable for array in arrays)


@each_run
def test_an_exception_that_the_function_itself_catches(run: Run):
    def f(x: Any) -> Any:
        total = np.sum(x * x)
        for _ in range(3):
            scope = tape.thread.scope
            try:
                run(lambda y: np.sum(y * x)[7], np.array([1.0, 2.0]))
            except IndexError:
                total = total * 2.0
            assert tape.thread.scope is scope
        return total

    np.testing.assert_array_equal(grad(f)(np.array([1.0, -2.0])), [16.0, -32.0])
    assert float(jvp(f, (np.array([1.0, -2.0]),), (np.array([1.0, 0.0]),))[1]) == 16.0


@each_run
def test_an_array_that_was_read_only_stays_so(run: Run):
    x = np.array([1.0, 2.0])
    x.flags.writeable = False
    result = run(lambda x: np.sum(x * x), x)
    del result
    gc.collect()
    assert not x.flags.writeable


# ------------------------------------------------------------------------------------------------ tracers that leak

USES: dict[str, Callable[[Any], Any]] = {
    "x * x": lambda t: t * t,
    "x + 1": lambda t: t + 1.0,
    "1 - x": lambda t: 1.0 - t,
    "array * x": lambda t: np.ones(2) * t,
    "x ** 2": lambda t: t**2,
    "-x": lambda t: -t,
    "abs(x)": abs,
    "np.sin": np.sin,
    "np.sum": np.sum,
    "x.mean()": lambda t: t.mean(),
    "np.max": np.max,
    "np.where": lambda t: np.where(np.array([True, False]), t, 0.0),
    "x[0]": lambda t: t[0],
    "x[[0, 0]]": lambda t: t[[0, 0]],
    "x.at[0].set": lambda t: t.at[0].set(5.0),
    "np.stack": lambda t: np.stack([t, np.ones(2)]),
    "np.reshape": lambda t: np.reshape(t, (2, 1)),
    "x @ x": lambda t: t @ t,
    "np.dot": lambda t: np.dot(np.ones(2), t),
    "np.einsum": lambda t: np.einsum("i,i", t, np.ones(2)),
    "softmax_cross_entropy": lambda t: nn.softmax_cross_entropy(t.reshape(1, 2), np.array([0])),
    "nn.relu": nn.relu,
    "x.astype": lambda t: t.astype(np.float32),
    "iteration": list,
    "grad": grad(lambda y: np.sum(y)),
    "jvp": lambda t: jvp(np.sin, (t,), (np.ones(2),)),
    "vjp": lambda t: vjp(np.sin, t),
    "hessian": hessian(np.sum),
    "matmul": lambda t: t @ t,
    "jit": lambda t: jit(lambda y: y * 2.0)(t),
    "vmap": lambda t: vmap(lambda y: y * 2.0)(t),
    "fori_loop": lambda t: fori_loop(0, 3, lambda i, y: y * 2.0, t),
    "while_loop": lambda t: while_loop(lambda y: np.sum(y) < 5.0, lambda y: y * 2.0, t),
    "scan": lambda t: scan(lambda y, x: (y * 2.0, None), t, None, 3)[0],
    "checkpoint": lambda t: checkpoint(lambda y: y * 2.0)(t),
    "custom_jvp": lambda t: _custom_jvp(t),
    "custom_vjp": lambda t: _custom_vjp(t),
    "a tangent": lambda t: jvp(lambda y: y, (np.ones(2),), (t,)),
    "a tangent of linearize": lambda t: linearize(lambda y: y + 0.0, np.ones(2))[1](t),
    "a cotangent": lambda t: vjp(lambda y: y + 0.0, np.ones(2))[1](t),
}


_custom_jvp, _custom_vjp = custom_jvp(lambda x: x * 2.0), custom_vjp(lambda x: x * 2.0)
_custom_jvp.defjvp(lambda primals, tangents: (primals[0] * 2.0, tangents[0] * 2.0))
_custom_vjp.defvjp(lambda x: (x * 2.0, None), lambda residuals, ct: (2.0 * ct,))


@pytest.mark.parametrize("use", list(USES.values()), ids=list(USES))
def test_a_tracer_used_after_its_transform_raises(use: Callable[[Any], Any]):
    for run in RUNS.values():
        left = []

        def f(x: Any, left: list[Any] = left) -> Any:
            left += [x, np.sin(x)]
            return np.sum(x * x)

        run(f, np.array([1.0, 2.0]))
        for stale in left:
            with pytest.raises(StaleTracerError, match="had ended"):
                use(stale)
            with pytest.raises(StaleTracerError, match="had ended"):
                grad(lambda y: np.sum(y * use(stale)))(np.ones(2))  # noqa: B023
            assert tape.thread.scope is None


@pytest.mark.parametrize("use", list(USES.values()), ids=list(USES))
def test_a_mapped_value_used_after_its_mapping_raises(use: Callable[[Any], Any]):
    left: list[Any] = []
    vmap(lambda x: (left.append(x), np.sum(x))[1])(np.ones((2, 2)))
    with pytest.raises((StaleTracerError, ConcretizationError), match=r"had ended|is not one value"):
        use(left[0])


@each_run
def test_a_tracer_of_an_inner_transform_used_by_the_outer_function_raises(run: Run):
    for name, use in USES.items():
        for outer in (grad, jacfwd):

            def f(x: Any, use: Callable[[Any], Any] = use) -> Any:
                left = []

                def inner(y: Any) -> Any:
                    left.append(y * x)
                    return np.sum(y * x)

                run(inner, np.array([1.0, 2.0]))
                return np.sum(use(left[0])) + np.sum(x)

            with pytest.raises(StaleTracerError, match="had ended"):
                print(name, outer(f)(np.array([1.0, 2.0])))
            assert tape.thread.scope is None


def test_the_message_names_the_transform_and_says_what_to_do():
    def loss(w: Any) -> Any:
        kept.append(w)
        return np.sum(w)

    kept: list[Any] = []
    grad(loss)(np.ones(2))
    with pytest.raises(StaleTracerError, match=r"grad of loss .*ended.*return it.*has_aux=True"):
        kept[0] * 2.0


def test_a_stale_tracer_as_output_or_aux():
    kept: list[Any] = []
    grad(lambda x: (kept.append(x), x * x)[1])(1.0)
    for run in RUNS.values():
        with pytest.raises(StaleTracerError):
            run(lambda x: kept[0], 2.0)
    with pytest.raises(StaleTracerError):
        value_and_grad(lambda x: (x * x, {"a": kept}), has_aux=True)(2.0)
    with pytest.raises(StaleTracerError):
        jvp(lambda x: (x * x, kept), (2.0,), (1.0,), has_aux=True)
    with pytest.raises(StaleTracerError):
        vjp(lambda x: (x * x, kept), 2.0, has_aux=True)


def test_a_tracer_in_an_object_that_is_no_tree_is_stale():
    class Box:
        def __init__(self, content: Any) -> None:
            self.content = content

    _, box = grad(lambda x: (x * x, Box(x * 3.0)), has_aux=True)(2.0)
    with pytest.raises(StaleTracerError):
        box.content + 1.0


def test_a_tracer_left_by_a_function_that_raised_is_stale():
    kept: list[Any] = []
    with pytest.raises(OwnError):
        grad(lambda x: (kept.append(x * x), (_ for _ in ()).throw(OwnError()))[1])(2.0)
    with pytest.raises(StaleTracerError):
        kept[0] + 1.0


def test_a_generator_that_goes_on_after_its_transform():
    def steps(x: Any) -> Iterator[Any]:
        while True:
            x = x * x
            yield x

    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(steps(x))
        return next(kept[0]) + next(kept[0])  # x**2 + x**4

    assert grad(f)(2.0) == 4.0 + 32.0
    with pytest.raises(StaleTracerError):
        next(kept[0])


def test_a_generator_that_differentiates_between_its_yields():
    def slopes(points: list[float]) -> Iterator[float]:
        for point in points:
            yield grad(lambda y: y * y * y)(point)

    found = slopes([1.0, 2.0, 3.0])
    assert next(found) == 3.0
    assert grad(lambda x: x * next(found))(5.0) == 12.0  # resumed inside another transform
    assert next(found) == 27.0


def test_a_copy_of_a_tracer_is_the_same_value():
    for duplicate in (copy.copy, copy.deepcopy, lambda x: x.copy(), lambda x: copy.deepcopy({"x": [x]})["x"][0]):
        np.testing.assert_array_equal(grad(lambda x: np.sum(duplicate(x) ** 2))(np.array([1.0, 2.0])), [2.0, 4.0])  # noqa: B023
        assert grad(lambda x: duplicate(x) * x)(3.0) == 6.0  # noqa: B023
        assert jvp(lambda x: duplicate(x) * x, (3.0,), (1.0,)) == (9.0, 6.0)  # noqa: B023


def test_make_tape_of_a_function_that_closes_over_an_outer_value():
    def f(x: Any) -> Any:
        rows = make_tape(lambda y: y * x)(3.0).rows
        assert float(stop_gradient(rows[0].gradient)) == 2.0
        return x * x

    assert grad(f)(2.0) == 4.0
    assert jvp(f, (2.0,), (1.0,)) == (4.0, 4.0)


def test_a_recursive_function():
    def power(x: Any, n: int) -> Any:
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert grad(lambda x: power(x, 200))(1.0) == 200.0
    assert jvp(lambda x: power(x, 200), (1.0,), (1.0,)) == (1.0, 200.0)


def test_a_transform_that_calls_itself():
    def f(x: Any, n: int) -> Any:
        return x**3 if n == 0 else grad(lambda y: f(y, n - 1))(x) + x**3

    # f1 = 3 x**2 + x**3, f2 = 6 x + 3 x**2 + x**3
    assert f(2.0, 2) == 12 + 12 + 8
    assert grad(lambda x: f(x, 2))(2.0) == 6 + 12 + 12


def test_stop_gradient_of_a_value_survives_its_transform():
    kept: list[Any] = []
    grad(lambda x: (kept.append(stop_gradient(x * 2.0)), np.sum(x))[1])(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(kept[0] + 1.0, [3.0, 5.0])
