"""Arrays are read-only while a pullback or a linearized function that needs them lives, and writable again afterwards."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jacfwd, jacrev, jvp, linearize, tape, value_and_grad, vjp, vmap
from tests.runs import RUNS


def refused() -> Any:
    return pytest.raises(ValueError, match="read-only")


def kept_replays() -> list[Callable[[Callable[[Any], Any], Any], Any]]:
    return [lambda f, x: vjp(f, x)[1], lambda f, x: linearize(f, x)[1]]


def assert_square(replay: Any, x: Any) -> None:
    found = replay(np.ones_like(x))
    np.testing.assert_array_equal(found[0] if type(found) is tuple else found, 2 * np.asarray(x))


@pytest.mark.parametrize("keep", kept_replays(), ids=["pullback", "linearized"])
def test_arrays_are_read_only_while_a_replay_lives(keep: Any):
    x, constant = np.array([2.0, 3.0]), np.array([1.0, 1.0])
    replay = keep(lambda x: x * x * constant, x)
    for target in (x, constant):
        with refused():
            target[1] = 50.0
    assert_square(replay, x)
    del replay
    for target in (x, constant):
        target[1] = 50.0


@pytest.mark.parametrize("size", [4, 6000])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("second", kept_replays(), ids=["pullback", "linearized"])
@pytest.mark.parametrize("first", kept_replays(), ids=["pullback", "linearized"])
def test_two_replays_that_need_one_array(first: Any, second: Any, order: tuple[int, int], size: int):
    whole = np.arange(1.0, 1.0 + size)
    views = whole[: size - 1], whole[1:]
    for inputs in ((whole, whole), (whole, views[0]), (views[0], whole), views, (views[0], views[0])):
        before = [one.copy() for one in inputs]
        replays: list[Any] = [first(lambda x: x * x, inputs[0]), second(lambda x: x * x, inputs[1])]
        replays[order[0]] = None
        for target in (whole, inputs[order[1]]):  # refused, or of no consequence because a copy was kept
            with contextlib.suppress(ValueError):
                target[2] = 50.0
        assert_square(replays[order[1]], before[order[1]])
        replays.clear()
        for array in (whole, *views):
            assert array.flags.writeable
        whole[:] = np.arange(1.0, 1.0 + size)


@pytest.mark.parametrize("size", [4, 6000])
def test_a_gradient_of_an_array_that_a_pullback_holds(size: int):
    whole = np.arange(1.0, 1.0 + size)
    view = whole[:-2]
    before = whole.copy()
    _, pullback = vjp(lambda x: x * x, whole)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(view), 2 * view)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * whole))(whole), whole)
    with refused():
        whole[0] = 5.0
    assert_square(pullback, before)
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


USES: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "*": lambda z, c: z * c,
    "einsum": lambda z, c: np.einsum("i,i->i", z, c),
    "**": lambda z, c: z**c * c,
    "where": lambda z, c: np.where(c > 0, z * c, z),
    "index": lambda z, c: z[c.astype(int) - 2] * c,
    "maximum": lambda z, c: np.maximum(z, c) * c,
}


@pytest.mark.parametrize("use", list(USES.values()), ids=list(USES))
@pytest.mark.parametrize("keep", kept_replays(), ids=["pullback", "linearized"])
def test_a_replay_that_leaves_its_outer_scope_holds_what_it_needs_only(keep: Any, use: Callable[[Any, np.ndarray], Any]):
    needed, other, point = np.array([2.0, 3.0]), np.array([4.0, 5.0]), np.array([1.0, 4.0])
    wanted = keep(lambda z: use(z, np.array([2.0, 3.0])), point)(np.ones(2))
    left = []

    def f(x: Any) -> Any:
        y = x * other
        left.append(keep(lambda z: use(z * x, needed), point))
        return np.sum(y)

    grad(f)(np.ones(2))
    with refused():
        needed[0] = 50.0
    other[0] = 50.0
    found = left[0](np.ones(2))
    np.testing.assert_array_equal(found, wanted)
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

    for run in RUNS.values():
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
        assert not value.any()
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_memory_that_c_code_lends_is_copied_not_frozen():
    lent = np.from_dlpack(np.arange(3.0))  # its owner is a capsule: an array on it that is made read-only stays so
    if not lent.flags.writeable:
        pytest.skip("this NumPy gives what comes by DLPack read-only")
    _, pullback = vjp(lambda x: np.sum(x * x), lent)
    assert lent.flags.writeable
    lent[:] = 7.0
    np.testing.assert_array_equal(pullback(1.0)[0], [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * lent))(np.ones(3)), [7.0, 7.0, 7.0])
    assert lent.flags.writeable
    assert not tape._waiting


# ------------------------------------------------------------------------------------------------ mapped arrays

READS: dict[str, Callable[[Any, Any], Any]] = {
    "getitem": lambda w, i: w[i],
    "take": lambda w, i: np.take(w, i),
    "take_along_axis": lambda w, i: np.take_along_axis(w, np.reshape(i, 1), 0)[0],
    "at": lambda w, i: w.at[i].get(),
    "broadcast": lambda w, i: w[np.reshape(i, (1, 1)), np.zeros((1, 1), int)][0, 0] if w.ndim == 2 else w[np.reshape(i, (1, 1))][0, 0],
    "where": lambda w, i: np.sum(np.where(np.arange(3) == i, w, 0.0)),
}


@pytest.mark.parametrize("copies", [1, 10_000])
@pytest.mark.parametrize("read", list(READS.values()), ids=list(READS))
def test_a_mapped_index_is_that_of_the_call(read: Any, copies: int):
    w, indices = np.array([0.3, 0.5, 0.9]), np.array([0, 1, 2, 0])
    for width in (None, 2):
        index = np.tile(indices, copies)
        given = index if width is None else np.stack([index] * width).T
        whole = given if given.base is None else given.base
        mapped = lambda w, given=given: vmap(lambda i: read(w, i if i.ndim == 0 else i[1]))(given)
        back, forth = vjp(mapped, w)[1], linearize(mapped, w)[1]
        for target in (index, whole):  # refused, or of no consequence because a copy was kept
            with contextlib.suppress(ValueError):
                target[...] = 0
        ct = np.arange(4.0 * copies)
        np.testing.assert_allclose(back(ct)[0], np.bincount(np.tile(indices, copies), ct, 3), rtol=1e-12)
        np.testing.assert_array_equal(forth(w), w[np.tile(indices, copies)])
        del back, forth
        whole[...] = 0


WRITTEN_INTO: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, y: np.sum(x * y),
    "sine": lambda x, y: np.sum(np.sin(x * y)),
    "square": lambda x, y: np.sum(y * y) + np.sum(x * x),
}


@pytest.mark.parametrize("argnum", [0, 1])
@pytest.mark.parametrize("f", list(WRITTEN_INTO.values()), ids=list(WRITTEN_INTO))
def test_a_mapped_array_cannot_be_written_into_while_it_is_mapped(f: Any, argnum: int):
    x, whole = np.ones(3), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def writes(x: Any, y: Any) -> Any:
        answer = f(x, y)
        whole[:] = 0.0
        return answer

    with refused():
        vmap(grad(writes, argnum), (None, 0))(x, whole)
    with refused():
        vmap(writes, (None, 1))(x[:2], whole)
    vmap(grad(f, argnum), (None, 0))(x, whole)
    whole[:] = 1.0


NOT_KEPT: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    "added": (lambda w, x: np.sum(x + w), 2.0),
    "apart": (lambda w, x: np.sum(x * 2.0) + np.sum(w * w), 4.0),
}


@pytest.mark.parametrize(("f", "slope"), list(NOT_KEPT.values()), ids=list(NOT_KEPT))
def test_a_mapped_array_that_no_record_needs_is_given_free(f: Any, slope: float):
    rows = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    back = vjp(lambda w: vmap(lambda x: f(w, x))(rows), np.ones(3))[1]
    rows[:] = 7.0
    np.testing.assert_array_equal(back(np.ones(2))[0], np.full(3, slope))


def test_an_error_gives_mapped_arrays_free():
    rows = np.ones((2, 3))
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: 1 / 0)(rows)
    rows[:] = 7.0


@pytest.mark.parametrize("copies", [1, 10_000])
def test_a_mapped_index_of_an_inner_gradient_is_that_of_the_call(copies: int):
    indices = np.tile(np.array([0, 1, 2, 0]), copies)
    index, w, x = indices.copy(), np.array([0.3, 0.5, 0.9]), np.ones(3)
    # the gradient of x[i] * w[i] by x is w[i] at i
    back = vjp(lambda w: vmap(lambda i: grad(lambda x: x[i] * w[i])(x))(index), w)[1]
    with contextlib.suppress(ValueError):
        index[:] = 0
    np.testing.assert_array_equal(back(np.ones((len(indices), 3)))[0], np.bincount(indices))


def test_a_view_made_inside_of_what_is_held_stays_held():
    whole, x = np.arange(12_000.0).reshape(2, 6000), np.ones((6000, 2))
    found = []

    def inside(x: Any) -> Any:
        found.append(np.sum(np.sum(x) * whole))  # holds the whole
        return np.sum(x * whole.T)

    back = vjp(inside, x)[1]
    del found[:]
    with contextlib.suppress(ValueError):
        whole[:] = 0.0
    np.testing.assert_array_equal(back(1.0)[0], np.arange(12_000.0).reshape(2, 6000).T)


@pytest.mark.parametrize("is_first", [True, False], ids=["before the flag", "after the flag"])
def test_another_thread_that_comes_while_an_array_is_being_held(is_first: bool, monkeypatch: pytest.MonkeyPatch):
    """The other one's turn comes where the first has not done all that there is to do."""
    array, first, second = np.zeros(3), tape.Holds(), tape.Holds()
    set_writeable, waiting = tape._set_writeable, [second]

    def interrupted(one: Any, flag: bool) -> None:
        if is_first and waiting:
            waiting.pop().add(one)
        set_writeable(one, flag)
        if waiting:
            waiting.pop().add(one)

    monkeypatch.setattr(tape, "_set_writeable", interrupted)
    first.add(array)
    first.release()
    assert not array.flags.writeable
    second.release()
    assert array.flags.writeable
