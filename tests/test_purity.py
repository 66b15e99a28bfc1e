"""Nothing is changed behind anybody's back: not inputs by a transform, nor what a record needs by the user's code.

Writing into an array that a record or a living pullback needs raises; afterwards all arrays are writable again.
"""

from __future__ import annotations

import copy
import gc
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import (
    elementwise_grad,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    make_tape,
    nn,
    value_and_grad,
    vjp,
)

KEEPING: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "grad": lambda f, x: grad(f)(x),
    "value_and_grad": lambda f, x: value_and_grad(f)(x)[1],
    "vjp": lambda f, x: vjp(f, x)[1](np.float64(1.0)),
    "linearize": lambda f, x: linearize(f, x)[1](np.ones_like(x)),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "jacrev": lambda f, x: jacrev(f)(x),
    "hessian": lambda f, x: hessian(f)(x),
    "hvp": lambda f, x: hvp(f)(x, np.ones_like(x)),
    "make_tape": lambda f, x: make_tape(f)(x).rows[0].gradient,
    "grad of grad": lambda f, x: grad(lambda x: np.sum(grad(f)(x)))(x),
    "grad of jvp": lambda f, x: grad(lambda x: jvp(f, (x,), (np.ones_like(x),))[1])(x),
    "jvp of grad": lambda f, x: jvp(grad(f), (x,), (np.ones_like(x),))[1],
}
ALL = KEEPING | {
    "jvp": lambda f, x: jvp(f, (x,), (np.ones_like(x),))[1],
    "elementwise_grad": lambda f, x: elementwise_grad(lambda x: x * f(x))(x),
    "jvp of jvp": lambda f, x: jvp(lambda x: jvp(f, (x,), (np.ones_like(x),))[1], (x,), (np.ones_like(x),))[1],
}
each_keeping = pytest.mark.parametrize("run", list(KEEPING.values()), ids=list(KEEPING))


def refused() -> Any:
    return pytest.raises(ValueError, match="read-only")


@pytest.mark.parametrize("run", list(ALL.values()), ids=list(ALL))
def test_inputs_constants_and_indices_are_unchanged_and_writable(run: Any):
    x, constant = np.array([0.5, 1.5, 2.5]), np.array([[1.0, 2.0, 3.0]])
    index, mask = np.array([0, 2, 2]), np.array([True, False, True])
    arrays = (x, constant, index, mask)
    before = copy.deepcopy(arrays)

    def f(x: Any) -> Any:
        y = np.sin(x) * constant + x[index] * np.where(mask, x, constant)
        return np.sum(y**2) + np.max(x) + np.prod(x) + np.sum(np.concatenate([x, constant[0]])) + np.sum(x[mask])

    run(f, x)
    gc.collect()
    for array, wanted in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, wanted)
        assert array.flags.writeable


def test_tangents_and_cotangents_are_unchanged_and_writable():
    x, direction = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for call in (
        lambda: jvp(lambda x: -(x + x) + x, (x,), (direction,)),
        lambda: vjp(lambda x: -(x + x) + x, x)[1](direction),
        lambda: linearize(lambda x: -(x + x) + x, x)[1](direction),
        lambda: hvp(lambda x: np.sum(x * x))(x, direction),
    ):
        call()
        np.testing.assert_array_equal(direction, [3.0, 4.0])
        assert direction.flags.writeable


# ------------------------------------------------------------------------------------------------ writing inside the function


def written(run: Any, x: np.ndarray, before: Callable[[Any], Any], target: np.ndarray, index: Any = 0) -> None:
    """Run a function that writes into `target` after `before(x)` was recorded: the write must raise, and all be as it was afterwards."""
    content = target.copy()
    raised = []

    def f(x: Any) -> Any:
        y = before(x)
        try:
            target[index] = 1
        except ValueError as error:
            raised.append(str(error))
        return np.sum(y)

    run(f, x)
    assert raised, "the write passed"
    assert all("read-only" in message for message in raised)
    np.testing.assert_array_equal(target, content)
    assert target.flags.writeable


def assert_unspoiled(run: Any, x: Any, before: Callable[[Any, Any], Any], target: np.ndarray) -> None:
    """A write into `target` after `before(x, target)` was recorded is refused, or makes no difference because no record needs it."""
    wanted = run(lambda x: np.sum(before(x, target)), x)
    own = target.copy()

    def f(x: Any) -> Any:
        y = before(x, own)
        try:
            own[:] = 0
        except ValueError:
            return np.sum(y)
        value = np.sum(y)
        own[:] = target
        own[0] = 0
        return value

    np.testing.assert_array_equal(run(f, x), wanted)
    assert own.flags.writeable


@each_keeping
def test_writing_into_an_input_raises(run: Any):
    x = np.array([2.0, 3.0])
    written(run, x, lambda x: x * x, x)
    whole = np.array([[2.0, 3.0], [4.0, 5.0]])
    written(run, whole[1], lambda x: x * x, whole, (1, 0))
    written(run, whole.T, lambda x: x * x, whole, (1, 0))
    written(run, whole.T[0][::-1], lambda x: x * x, whole, (1, 0))
    written(run, whole.reshape(4)[1:3], lambda x: x * x, whole, (0, 1))


@each_keeping
def test_writing_into_a_constant_raises(run: Any):
    x, constant = np.array([2.0, 3.0]), np.array([4.0, 2.5])
    written(run, x, lambda x: x * constant, constant)
    written(run, x, lambda x: constant * x, constant)
    written(run, x, lambda x: constant @ x, constant)
    written(run, x, lambda x: np.dot(x, constant), constant)
    written(run, x, lambda x: np.einsum("i,i->i", constant, x), constant)
    whole = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])  # an owner: of views of one array NumPy locks each by itself
    written(run, x, lambda x: x * whole[1], whole, (1, 0))
    written(run, x, lambda x: whole[:2].T @ x, whole, (0, 0))


@each_keeping
def test_what_is_written_into_a_constant_makes_no_difference(run: Any):
    x = np.array([2.0, 3.0])
    for before in (
        lambda x, c: x / c,
        lambda x, c: c / x,
        lambda x, c: x**c,
        lambda x, c: c**x,
        lambda x, c: np.maximum(x, c) * x,
        lambda x, c: np.hypot(c, x),
        lambda x, c: np.arctan2(c, x),
        lambda x, c: np.logaddexp(x, c),
        lambda x, c: np.where(c > 3, x, c * x),
        lambda x, c: np.concatenate([x, c]) ** 2,
        lambda x, c: np.clip(x, c / 2, c) * x,
        lambda x, c: (x + c) * (c - x),
        lambda x, c: np.remainder(c * 10, x) * x,
        lambda x, c: np.copysign(x, c) * x,
        lambda x, c: x.at[1].set(c[0]) * x,
    ):
        assert_unspoiled(run, x, before, np.array([4.0, 2.5]))


@each_keeping
def test_writing_into_an_index_or_a_condition_raises(run: Any):
    x, index, mask = np.array([2.0, 3.0]), np.array([1, 0]), np.array([True, False])
    written(run, x, lambda x: x[index] * x, index)
    written(run, x, lambda x: np.take(x, index) * x, index)
    written(run, x, lambda x: np.take_along_axis(x, index, 0) * x, index)
    written(run, x, lambda x: x[index,] * x, index)
    written(run, x, lambda x: x[mask] * x, mask, 1)
    written(run, x, lambda x: np.where(mask, x, 0.0), mask, 1)
    written(run, x, lambda x: x.at[index].set(x), index)
    labels = np.array([1, 0])
    written(run, x, lambda x: nn.softmax_cross_entropy(x * np.array([[1.0, 2.0], [2.0, 1.0]]), labels), labels)


@each_keeping
def test_static_arrays_count_as_they_were(run: Any):
    x = np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(x: Any, spoil: bool) -> Any:
        shift, weights = np.array([1, 0]), np.array([[1.0, 20.0], [300.0, 4000.0]])
        y = np.roll(x, shift, axis=(0, 1)) * weights
        repeated = np.repeat(x, repeats := np.array([1, 2]), axis=0) * 7.0
        if spoil:
            for array in (shift, repeats):
                try:
                    array[0] = 0
                except ValueError:
                    pass
        return np.sum(y**2) + np.sum(repeated**2)

    np.testing.assert_array_equal(run(lambda x: f(x, True), x), run(lambda x: f(x, False), x))


@each_keeping
def test_a_read_only_view_protects_its_base(run: Any):
    base = np.array([2.0, 3.0])
    view = base[:]
    view.flags.writeable = False
    written(run, view, lambda x: x * x, base)
    assert not view.flags.writeable
    written(run, np.ones(2), lambda x: x * view, base)
    written(run, np.ones((2, 2)), lambda x: x * np.broadcast_to(base, (2, 2)), base)


@each_keeping
def test_a_mapped_file_is_protected(run: Any):
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, np.float64, "w+", shape=(2,))
        mapped[:] = [2.0, 3.0]
        written(run, mapped, lambda x: x * x, mapped)
        written(run, np.ones(2), lambda x: x * mapped, mapped)
        np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(mapped), [4.0, 6.0])
        assert type(grad(lambda x: np.sum(x * x))(mapped)) is np.ndarray
        del mapped


def test_values_seen_inside_are_read_only():
    def f(x: Any) -> Any:
        y = x * x
        with refused():
            y.value[0] = 5.0
        return np.sum(y * x)

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 2.0])), [3.0, 12.0])


def test_buffers_that_no_record_needs_may_be_written():
    buffer, total = np.zeros(2), np.zeros(2)

    def f(x: Any) -> Any:
        for k in range(3):
            buffer[:] = k
            total[:] += buffer
            x = x + float(buffer[0])
        return np.sum(x * x)

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 2.0])), [8.0, 10.0])
    np.testing.assert_array_equal(total, [3.0, 3.0])


def test_adding_in_place_to_names_of_tracers():
    def f(x: Any) -> Any:
        y = x
        y += 1.0
        y *= x
        y -= np.ones(2)
        y /= 2.0
        y **= 2
        return np.sum(y)  # ((x + 1) x - 1)**2 / 4

    x = np.array([1.0, 3.0])
    np.testing.assert_allclose(grad(f)(x), (x * x + x - 1) * (2 * x + 1) / 2, rtol=1e-15)
    np.testing.assert_array_equal(x, [1.0, 3.0])
    assert grad(lambda x: f(x * np.ones(2)))(3.0) == pytest.approx(2 * 11 * 7 / 2, rel=1e-15)


def test_adding_a_tracer_to_an_array_makes_a_new_value():
    start = np.array([10.0, 20.0])

    def f(x: Any) -> Any:
        total = start
        total += x
        total *= x
        total @= x[:, None] * x if False else np.eye(2)
        return np.sum(total)  # (start + x) x

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 2.0])), [12.0, 24.0])
    np.testing.assert_array_equal(jvp(f, (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))[1], 12.0)
    np.testing.assert_array_equal(start, [10.0, 20.0])
    assert start.flags.writeable


# ------------------------------------------------------------------------------------------------ while a pullback lives


def kept_replays() -> list[Callable[[Callable[[Any], Any], Any], Any]]:
    return [lambda f, x: vjp(f, x)[1], lambda f, x: linearize(f, x)[1]]


def assert_square(replay: Any, x: Any) -> None:
    found = replay(np.ones_like(x))
    np.testing.assert_array_equal(found[0] if type(found) is tuple else found, 2 * np.asarray(x))


@pytest.mark.parametrize("keep", kept_replays(), ids=["pullback", "linearized"])
def test_arrays_are_read_only_while_a_replay_lives(keep: Any):
    whole = np.arange(1.0, 5.0)
    x = whole[1:3]
    replay = keep(lambda x: x * x, x)
    for target in (x, whole):
        with refused():
            target[1] = 50.0
    assert_square(replay, x)
    del replay
    x[0] = 50.0
    whole[0] = 60.0
    np.testing.assert_array_equal(whole, [60.0, 50.0, 3.0, 4.0])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("second", kept_replays(), ids=["pullback", "linearized"])
@pytest.mark.parametrize("first", kept_replays(), ids=["pullback", "linearized"])
def test_two_replays_that_need_one_array(first: Any, second: Any, order: tuple[int, int]):
    whole = np.arange(1.0, 5.0)
    views = whole[:3], whole[1:]
    for inputs in ((whole, whole), (whole, views[0]), (views[0], whole), views, (views[0], views[0])):
        replays: list[Any] = [first(lambda x: x * x, inputs[0]), second(lambda x: x * x, inputs[1])]
        replays[order[0]] = None
        with refused():
            inputs[order[1]][0] = 50.0
        with refused():
            whole[2] = 50.0
        assert_square(replays[order[1]], inputs[order[1]])
        replays.clear()
        for array in (whole, *views):
            assert array.flags.writeable


def test_a_gradient_of_an_array_that_a_pullback_holds():
    whole = np.arange(1.0, 5.0)
    view = whole[:2]
    _, pullback = vjp(lambda x: x * x, whole)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(view), [2.0, 4.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * whole))(whole), whole)
    with refused():
        view[0] = 5.0
    with refused():
        whole[0] = 5.0
    assert_square(pullback, whole)
    del pullback
    assert whole.flags.writeable and view.flags.writeable


@pytest.mark.parametrize("keep", kept_replays(), ids=["pullback", "linearized"])
@pytest.mark.parametrize("outer", [grad, jacfwd, jacrev])
def test_a_replay_that_dies_inside_leaves_the_outer_arrays_alone(keep: Any, outer: Any):
    constant, x = np.array([2.0, 3.0]), np.array([5.0, 7.0])

    def f(x: Any) -> Any:
        y = x * constant
        keep(lambda z: z * z, 1.0)
        keep(lambda z: z * constant, np.ones(2))
        gc.collect()
        with refused():
            constant[0] = 100.0
        return np.sum(y)

    np.testing.assert_array_equal(outer(f)(x), [2.0, 3.0])
    assert constant.flags.writeable and x.flags.writeable


@pytest.mark.parametrize("keep", kept_replays(), ids=["pullback", "linearized"])
def test_a_replay_that_leaves_its_outer_scope_holds_what_it_needs_only(keep: Any):
    needed, other = np.array([2.0, 3.0]), np.array([4.0, 5.0])
    left = []

    def f(x: Any) -> Any:
        y = x * other
        left.append(keep(lambda z: z * needed * x, np.ones(2)))
        return np.sum(y)

    grad(f)(np.ones(2))
    with refused():
        needed[0] = 50.0
    other[0] = 50.0
    found = left[0](np.ones(2))
    np.testing.assert_array_equal(found[0] if type(found) is tuple else found, [2.0, 3.0])
    del found
    left.clear()
    assert needed.flags.writeable


def test_an_exception_gives_all_arrays_free():
    whole, constant, index = np.arange(4.0), np.ones(2), np.array([0, 1])
    view = whole[1:3]

    def f(x: Any) -> Any:
        y = (x * constant)[index]
        vjp(lambda z: z * y, view)
        raise KeyError

    for run in ALL.values():
        with pytest.raises(KeyError):
            run(f, view)
        for array in (whole, view, constant, index):
            assert array.flags.writeable


def test_an_output_may_be_written_at_once():
    x = np.array([1.0, 2.0])
    for value in (
        vjp(np.exp, x)[0],
        linearize(np.exp, x)[0],
        jvp(np.exp, (x,), (x,))[0],
        value_and_grad(lambda x: (np.sum(x), np.exp(x)), has_aux=True)(x)[0][1],
        vjp(lambda x: (x, np.exp(x)), x, has_aux=True)[2],
    ):
        value[:] = 0.0
