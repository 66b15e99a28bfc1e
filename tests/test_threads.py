"""Any number of threads differentiate at once; a tracer belongs to one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jvp, linearize, tape, value_and_grad, vjp
from funcgrad.errors import FuncgradError

WAIT = 20.0  # a bound for tests that would hang, no part of what is tested


def on_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """The results of work(n) on as many threads, which start together. Each must leave its own tape empty."""
    barrier = threading.Barrier(count)

    def start(n: int) -> Any:
        barrier.wait(WAIT)
        result = work(n)
        assert tape.thread.scope is None
        return result

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


def test_different_functions_on_different_arrays():
    def work(n: int) -> Any:
        x = np.arange(5.0) + n
        return [grad(lambda x: np.sum(x**3) * (n + 1.0))(x) for _ in range(50)]

    for n, found in enumerate(on_threads(8, work)):
        for gradient in found:
            np.testing.assert_allclose(gradient, 3 * (np.arange(5.0) + n) ** 2 * (n + 1), rtol=1e-15)


def test_one_function_on_one_array():
    x, matrix = np.arange(1.0, 5.0), np.arange(16.0).reshape(4, 4)
    first, second = x[:2], x[1:3]

    def loss(x: Any) -> Any:
        return np.sum((matrix[: len(x), : len(x)] @ x) ** 2) + x[0] * first[1] + second[0]

    derivative = grad(loss)
    wanted = derivative(x)

    def work(n: int) -> Any:
        found = []
        for _ in range(30):
            found.append(derivative(x))
            found.append(vjp(loss, x)[1](1.0)[0])
            found.append(hessian(loss)(first if n % 2 else second)[0])
            jvp(loss, (x,), (x,))
        return found

    for found in on_threads(8, work):
        for gradient in found[0::3] + found[1::3]:
            np.testing.assert_allclose(gradient, wanted, rtol=1e-14)
    for array in (x, matrix, first, second):
        assert array.flags.writeable


def test_nested_transforms_on_every_thread():
    def work(n: int) -> Any:
        return [grad(lambda x: x * jvp(lambda y: x * y * n, (x,), (1.0,))[1])(2.0) for _ in range(50)]

    for n, found in enumerate(on_threads(8, work)):
        assert found == [4.0 * n] * 50


def test_one_pullback_on_many_threads():
    x = np.arange(1.0, 5.0)
    _, pullback = vjp(lambda x: np.sin(x) * x, x)
    _, linear = linearize(lambda x: np.sin(x) * x, x)
    wanted = np.cos(x) * x + np.sin(x)

    def work(n: int) -> Any:
        return [(pullback(np.full(4, n + 1.0))[0], linear(np.full(4, n + 1.0))) for _ in range(50)]

    for n, found in enumerate(on_threads(8, work)):
        for pair in found:
            for one in pair:
                np.testing.assert_allclose(one, wanted * (n + 1), rtol=1e-14)


def test_an_exception_on_one_thread_is_none_of_the_others():
    def work(n: int) -> Any:
        found = []
        for _ in range(30):
            if n % 2:
                with pytest.raises(IndexError):
                    grad(lambda x: x[5])(np.ones(2))
            found.append(grad(lambda x: x * x)(3.0))
        return found

    assert on_threads(8, work) == [[6.0] * 30] * 8


def test_transforms_on_threads_that_a_function_starts():
    def f(x: Any) -> Any:
        return x * sum(on_threads(4, lambda n: grad(lambda y: y * y)(float(n))))

    assert value_and_grad(f)(5.0) == (60.0, 12.0)


# ------------------------------------------------------------------------------------------------ tracers that cross


def beside(call: Callable[[Any], Any]) -> Any:
    """What call(tracer of this thread) does on another thread, inside a transform of its own there."""
    outcome: list[Any] = []

    def f(x: Any) -> Any:
        def other() -> None:
            try:
                outcome.append(call(x))
            except BaseException as error:
                outcome.append(error)
            finally:
                assert tape.thread.scope is None

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(WAIT)
        return np.sum(x * x)

    np.testing.assert_array_equal(grad(f)(np.array([3.0, 1.0])), [6.0, 2.0])
    return outcome[0]


CROSSINGS: dict[str, Callable[[Any], Any]] = {
    "x * y": lambda x: grad(lambda y: np.sum(x * y))(np.ones(2)),
    "y * x": lambda x: jvp(lambda y: y * x, (np.ones(2),), (np.ones(2),)),
    "closure": lambda x: grad(lambda y: np.sum(y * y) * np.sum(x))(np.ones(2)),
    "np.stack": lambda x: vjp(lambda y: np.stack([x, y]), np.ones(2)),
    "x @ y": lambda x: grad(lambda y: x @ y)(np.ones(2)),
    "np.einsum": lambda x: grad(lambda y: np.einsum("i,i", x, y))(np.ones(2)),
    "an argument": lambda x: grad(lambda y: np.sum(y * y))(x),
    "an argument of jvp": lambda x: jvp(lambda y: y * y, (x,), (np.ones(2),)),
    "an argument of vjp": lambda x: vjp(lambda y: y * y, x),
    "a tangent": lambda x: jvp(lambda y: y * y, (np.ones(2),), (x,)),
    "an output": lambda x: grad(lambda y: np.sum(x))(np.ones(2)),
}


@pytest.mark.parametrize("call", list(CROSSINGS.values()), ids=list(CROSSINGS))
def test_a_tracer_on_another_thread_raises(call: Callable[[Any], Any]):
    outcome = beside(call)
    assert isinstance(outcome, FuncgradError)
    assert "thread" in str(outcome)


# ------------------------------------------------------------------------------------------------ arrays that threads share


def in_the_middle(f: Callable[[Any], Any], x: Any) -> tuple[Callable[[], None], Callable[[], Any]]:
    """Start grad(f)(x) on another thread: returns when f has run; the second result lets it go on and gives the gradient."""
    reached, proceed = threading.Event(), threading.Event()
    outcome: list[Any] = []

    def paused(x: Any) -> Any:
        y = f(x)
        reached.set()
        proceed.wait(WAIT)
        return y

    def work() -> None:
        try:
            outcome.append(grad(paused)(x))
        except BaseException as error:
            outcome.append(error)
            reached.set()

    thread = threading.Thread(target=work)

    def start() -> None:
        thread.start()
        reached.wait(WAIT)

    def finish() -> Any:
        proceed.set()
        thread.join(WAIT)
        return outcome[0]

    return start, finish


@pytest.mark.parametrize("size", [3, 6000])
def test_a_view_of_an_array_that_another_thread_needs(size: int):
    x = np.arange(1.0, 1.0 + size)
    view = x[:-1]
    start, finish = in_the_middle(lambda x: np.sum(x * x), x)
    start()
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x * 0.5))(view), view)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 5.0
    np.testing.assert_array_equal(finish(), 2 * np.arange(1.0, 1.0 + size))
    assert x.flags.writeable and view.flags.writeable


def test_an_array_that_the_first_of_two_threads_gives_free():
    x = np.array([1.0, 2.0])
    start_first, finish_first = in_the_middle(lambda x: np.sum(x * x), x)
    start_second, finish_second = in_the_middle(lambda x: np.sum(x * x), x)
    start_first()
    start_second()
    np.testing.assert_array_equal(finish_first(), [2.0, 4.0])
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 5.0
    np.testing.assert_array_equal(finish_second(), [2.0, 4.0])
    assert x.flags.writeable
