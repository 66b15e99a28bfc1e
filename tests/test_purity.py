"""Nothing is changed behind anybody's back: not inputs by a transform, nor what a record needs by the user's code.

Writing into an array that a record needs raises, or makes no difference because a copy was kept (of small views: NumPy locks each view of
an array by itself); afterwards all arrays are writable again. `test_held_arrays.py` has arrays that a living pullback needs.
"""

from __future__ import annotations

import contextlib
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


def written(run: Any, x: Any, before: Callable[[Any], Any], target: np.ndarray, index: Any = 0, may_pass: bool = False) -> None:
    """Run a function that writes into `target` after `before(x)` was recorded.

    The write must raise, or else (`may_pass`) leave the derivative as it is without it.
    """
    content = target.copy()
    wanted = run(lambda x: np.sum(before(x)), x)
    passed = []

    def f(x: Any) -> Any:
        if target.flags.writeable:
            target[...] = content
        y = before(x)
        try:
            target[index] = 1
            passed.append(True)
        except ValueError as error:
            assert "read-only" in str(error)
        return np.sum(y)

    np.testing.assert_array_equal(run(f, x), wanted)
    assert target.flags.writeable
    if may_pass:
        target[...] = content
    else:
        assert not passed, "the write passed"
        np.testing.assert_array_equal(target, content)


@each_keeping
def test_writing_into_an_input_raises(run: Any):
    x = np.array([2.0, 3.0])
    written(run, x, lambda x: x * x, x)


LARGE = 5000
"""Rows of pairs of float64 that are more than is copied: views of that size make their base read-only."""

each_size = pytest.mark.parametrize("size", [1, LARGE], ids=["small", "large"])


def fits(run: Any, size: int) -> int:
    """The size, but a smaller one for transforms that need its square."""
    return 50 if size == LARGE and run in (KEEPING["jacfwd"], KEEPING["hessian"]) else size


@each_keeping
@each_size
def test_writing_into_the_base_of_an_input(run: Any, size: int):
    size = fits(run, size)
    may_pass = size < LARGE
    whole = np.tile([[2.0, 3.0], [4.0, 5.0]], (1, size)).copy()  # an owner
    written(run, whole[1], lambda x: x * x, whole, (1, 0), may_pass)
    written(run, whole.T[:, 0], lambda x: x * x, whole, (0, 0), may_pass)
    written(run, whole[0, ::-1], lambda x: x * x, whole, (0, 1), may_pass)
    written(run, whole.reshape(-1)[1:], lambda x: x * x, whole, (0, 1), may_pass)


@each_keeping
def test_writing_into_a_constant_raises(run: Any):
    x, constant = np.array([2.0, 3.0]), np.array([4.0, 2.5])
    written(run, x, lambda x: x * constant, constant)
    written(run, x, lambda x: constant * x, constant)
    written(run, x, lambda x: constant @ x, constant)
    written(run, x, lambda x: np.dot(x, constant), constant)
    written(run, x, lambda x: np.einsum("i,i->i", constant, x), constant)


@each_keeping
@each_size
def test_writing_into_the_base_of_a_constant(run: Any, size: int):
    x, whole = np.array([2.0, 3.0]), np.tile([[0.5, 1.5], [2.0, 3.0], [4.0, 5.0]], (size, 1)).copy()
    may_pass = size < LARGE
    written(run, x, lambda x: x * whole[1], whole, (1, 0), may_pass=True)
    written(run, x, lambda x: x * whole.T[0, :2], whole, (0, 0), may_pass=True)
    written(run, x, lambda x: whole[1:] @ x, whole, (1, 0), may_pass)
    written(run, x, lambda x: whole[1:] * x, whole, (1, 0), may_pass)
    written(run, x, lambda x: whole[1:].T @ (whole[:-1] @ x), whole, (1, 0), may_pass)
    rows = np.arange(4.0 * size).reshape(-1, 2)  # a view itself, of an array that has no name
    written(run, x, lambda x: x * rows[1], rows, (1, 0), may_pass=True)
    written(run, x, lambda x: rows @ x, rows, (1, 0), may_pass)


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
        constant = np.array([4.0, 2.5])
        written(run, x, lambda x: before(x, constant), constant, slice(None), may_pass=True)  # noqa: B023


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
                with contextlib.suppress(ValueError):
                    array[0] = 0
        return np.sum(y**2) + np.sum(repeated**2)

    np.testing.assert_array_equal(run(lambda x: f(x, True), x), run(lambda x: f(x, False), x))


@each_keeping
@each_size
def test_writing_behind_a_read_only_view(run: Any, size: int):
    size = fits(run, size)
    may_pass = size < LARGE
    base = np.resize([2.0, 3.0], 2 * size).copy()
    view = base[:]
    view.flags.writeable = False
    written(run, view, lambda x: x * x, base, 0, may_pass)
    assert not view.flags.writeable
    written(run, np.ones(2 * size), lambda x: x * view, base, 0, may_pass)
    written(run, np.ones(2 * size), lambda x: x * np.broadcast_to(base, (2, 2 * size)), base, 0, may_pass)


@each_keeping
@each_size
def test_writing_into_a_mapped_file(run: Any, size: int):
    size = fits(run, size)
    may_pass = size < LARGE
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, np.float64, "w+", shape=(2 * size,))
        mapped[:] = np.resize([2.0, 3.0], 2 * size)
        written(run, mapped, lambda x: x * x, mapped, 0, may_pass)
        written(run, np.ones(2 * size), lambda x: x * mapped, mapped, 0, may_pass)
        assert type(grad(lambda x: np.sum(x * x))(mapped)) is np.ndarray


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
