"""Joining, choosing, deleting, windows: special points and options, by index arithmetic or NumPy itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jacfwd, jacrev, jvp, vjp
from funcgrad.errors import ConcretizationError, FuncgradError, InputTypeError
from funcgrad.ops.arrays import selections
from tests.witnesses import like

A = np.array
X = A([[0.5, -1.0, 2.0], [0.25, 3.0, -0.75]])
window = np.lib.stride_tricks.sliding_window_view
each_way = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])

MOVES: dict[str, Any] = {
    "delete": lambda f, x: f.delete(x, [0, 2], 1),
    "delete a mask": lambda f, x: f.delete(x, A([True, False, False]), -1),
    "insert": lambda f, x: f.insert(x, [1, 1, 3], x[:, :1], 1),
    "insert flat": lambda f, x: f.insert(x, [5, -1, 0], x[0]),
    "append": lambda f, x: f.append(x, x[:1], 0),
    "block": lambda f, x: f.block([[x, x[:, :1]], [x[:1, :2], x[1:, :2]]]),
    "diag": lambda f, x: f.diag(x, -1),
    "diag of a row": lambda f, x: f.diag(x[0], 2),
    "diagflat": lambda f, x: f.diagflat(x, 1),
    "diagonal beyond": lambda f, x: f.diagonal(x, 5),
    "tril": lambda f, x: f.tril(x, 1),
    "triu of a row": lambda f, x: f.triu(x[0]),
    "rot90": lambda f, x: f.rot90(x, 3),
    "resize": lambda f, x: f.resize(x, (2, 7)),
    "windows": lambda f, x: window(x, (2, 2)),
    "windows twice": lambda f, x: window(window(x, 2, 1), 2, 0),
    "no windows": lambda f, x: window(x, (2, 3)),
    "rollaxis": lambda f, x: f.rollaxis(x, -1),
    "choose": lambda f, x: f.choose([1, 0, 1], x),
    "compress": lambda f, x: f.compress([True, False, True], x, -1),
    "extract": lambda f, x: f.extract(x > 0.3, x),
    "ravel by memory": lambda f, x: f.ravel(x.T[::-1], "K"),
    "ravel of a broadcast by memory": lambda f, x: f.ravel(f.broadcast_to(x, (2, 2, 3)).transpose(2, 0, 1), "K"),
    "meshgrid": lambda f, x: f.stack(f.meshgrid(x[0], x[1], x[0, :1])),
    "vsplit": lambda f, x: f.vsplit(x, 2)[1],
    "trim_zeros": lambda f, x: f.trim_zeros(f.append(x[0], [0.0, 0.0])),
    "copy": lambda f, x: f.copy(x),
}


@pytest.mark.parametrize("name", list(MOVES))
@each_way
def test_a_move_of_elements_moves_their_derivatives(jacobian: Any, name: str):
    """Every element of the result is an element of x, or a constant: NumPy says which one when it moves their numbers."""
    numbers = np.arange(1.0, 7.0).reshape(2, 3)
    if name == "extract":
        numbers = np.where(X > 0.3, numbers, -1.0)
    moved = MOVES[name](np, numbers)
    wanted = (moved[..., None] == np.arange(1.0, 7.0)).astype(float).reshape((*moved.shape, 2, 3))
    np.testing.assert_array_equal(jacobian(lambda x: MOVES[name](np, x))(X), wanted)


@pytest.mark.parametrize(
    ("shape", "size", "axis"), [((9,), 3, None), ((4, 5), (2, 4), None), ((4, 5), (3,), -1), ((6,), (2, 3), (0, 0)), ((5,), 1, 0)]
)
def test_windows_are_added_up_where_they_overlap(shape: Any, size: Any, axis: Any):
    x = like(np.zeros(shape), 1)
    positions = window(np.arange(x.size).reshape(shape), size, axis)
    value, pullback = vjp(lambda x: window(x, size, axis), x)
    cotangent = like(value, 2)
    wanted = np.bincount(positions.ravel(), cotangent.ravel(), x.size).reshape(shape)
    np.testing.assert_allclose(pullback(cotangent)[0], wanted, rtol=1e-14)


def test_windows_that_do_not_fit():
    for arguments in ((4,), (2, 5), ((2, 2, 2),), (-1, 0), ((1,), (0, 1))):
        with pytest.raises(ValueError):
            window(X, *arguments)
        with pytest.raises(ValueError):
            grad(lambda x: window(x, *arguments).sum())(X)  # noqa: B023


@each_way
def test_select_takes_the_first_that_holds(jacobian: Any):
    x = A([1.0, 2.0, 3.0])
    found = jacobian(lambda x: np.select([x > 2.5, x > 1.5], [5.0 * x, x * x], 7.0).sum())(x)
    np.testing.assert_array_equal(found, [0.0, 4.0, 5.0])
    assert jacobian(lambda d: selections.select([x > 2.5], [x], d).sum())(1.0) == 2.0
    with np.errstate(all="ignore"):
        found = jacobian(lambda x: np.select([x > 0], [np.log(x)], 0.0).sum())(A([0.0, 2.0]))
    np.testing.assert_array_equal(found, [0.0, 0.5])


def test_select_and_choose_find_numpys_types():
    x = np.ones(3, np.float32)
    for others in ([2.0], [2], [np.ones(3)], [np.float64(2.0)], [3, 2.0]):
        conditions = [x > 0, x < 0, x > 5][: len(others) + 1]
        _, found = grad(lambda x: (x.sum(), np.select(conditions, [x, *others])), has_aux=True)(x)  # noqa: B023
        assert found.dtype == np.select(conditions, [x, *others]).dtype
    _, found = grad(lambda x: (x.sum(), np.choose([0, 1, 0], [x, 2.0])), has_aux=True)(x)
    assert found.dtype == np.choose([0, 1, 0], [x, 2.0]).dtype
    np.testing.assert_array_equal(selections.select([x > 0], [x]), x)


def test_conditions_that_do_not_fit():
    x = A([1.0, 2.0, 3.0])
    for error, call in (
        (ValueError, lambda x: np.select([x > 0], [x, x])),
        (ValueError, lambda x: np.select([], [x])),
        (TypeError, lambda x: np.select([x], [x])),
        (ValueError, lambda x: np.choose([0, 5, 1], [x, x])),
        (TypeError, lambda x: np.choose(x, [x, x])),
        (ValueError, lambda x: np.compress([[True]], x)),
        (IndexError, lambda x: np.compress([False] * 5 + [True], x)),
        (IndexError, lambda x: np.delete(x, 7)),
        (IndexError, lambda x: np.insert(x, 7, 1.0)),
        (ValueError, lambda x: np.insert(x, [0, 1], [1.0, 2.0, 3.0])),
        (ValueError, lambda x: np.hsplit(x[0], 1)),
        (ValueError, lambda x: np.vsplit(x, 1)),
        (ValueError, lambda x: np.dsplit(x[None], 1)),
        (ValueError, lambda x: np.hsplit(x, 2)),
        (ValueError, lambda x: np.block([[x], []])),
        (ValueError, lambda x: np.block([[x], x])),
        (ValueError, lambda x: np.vstack([x, x[:2]])),
        (ValueError, lambda x: np.broadcast_arrays(x, x[:2])),
        (ValueError, lambda x: np.meshgrid(x, x, indexing="yx")),
        (ValueError, lambda x: np.ix_(x[None])),
        (ValueError, lambda x: np.resize(x, (-1, 2))),
        (ValueError, lambda x: np.diag(x[None, None])),
        (ValueError, lambda x: np.diagonal(x)),
        (ValueError, lambda x: np.rot90(x)),
        (ValueError, lambda x: np.rot90(x[None], axes=(0, 0))),
        (ValueError, lambda x: np.rollaxis(x, 2)),
        (ValueError, lambda x: np.reshape(x, 3, order="K")),
    ):
        with pytest.raises(error):
            call(x)
        with pytest.raises(error):
            grad(lambda x: np.sum(call(x)[0]))(x)  # noqa: B023


def test_trim_zeros_trims_at_ends_only():
    with pytest.raises(ValueError, match="unexpected"):
        grad(lambda x: np.trim_zeros(x, "x").sum())(A([1.0, 2.0]))


def test_a_tracer_inserted_among_integers_is_refused():
    with pytest.raises(InputTypeError, match=r"np\.insert puts float64 into an array of int64"):
        grad(lambda v: np.insert(A([1, 2]), 1, v).sum())(2.0)


def test_insert_into_a_constant_and_of_a_constant():
    assert grad(lambda v: (np.insert(A([1.0, 2.0]), [0, 1], v) * A([1.0, 2.0, 3.0, 4.0])).sum())(2.0) == 4.0
    np.testing.assert_array_equal(grad(lambda x: (np.insert(x, 1, [7, 8]) * A([1.0, 2.0, 3.0, 4.0])).sum())(A([1.0, 2.0])), [1.0, 4.0])


def test_out_is_refused():
    for call in (
        lambda x: np.compress([True, False], x, out=np.zeros(1)),
        lambda x: np.choose([0, 1], [x, x], out=np.zeros(2)),
    ):
        with pytest.raises(ConcretizationError, match="out"):
            grad(lambda x: call(x).sum())(A([1.0, 2.0]))  # noqa: B023


def test_containers_are_numpys():
    x = A([1.0, 2.0])
    for call in (
        lambda x: np.broadcast_arrays(x, 1.0),
        lambda x: np.meshgrid(x, x),
        lambda x: np.meshgrid(x, x, sparse=True, copy=False),
        lambda x: np.atleast_2d(x, x),
        lambda x: np.hsplit(x, 2),
        lambda x: np.ix_(x, x),
    ):
        wanted = call(x)
        _, found = jvp(lambda x: (x, call(x)), (x,), (x,), has_aux=True)[::2]  # noqa: B023
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)


def test_places_of_elements_are_constants():
    def f(x: Any) -> Any:
        for call in (np.nonzero, np.flatnonzero, np.argwhere, np.tril_indices_from, lambda x: np.where(x > 0)):
            np.testing.assert_array_equal(call(x), call(X))
        return np.sum(x[np.nonzero(x > 0)] ** 2) + np.sum(x[np.tril_indices_from(x)])

    np.testing.assert_array_equal(grad(f)(X), 2 * X * (X > 0) + A([[1, 0, 0], [1, 1, 0]]))


def test_a_concatenation_in_whole_numbers_is_a_constant():
    _, found = grad(lambda x: (x.sum(), np.concatenate([x, x], dtype=int, casting="unsafe")), has_aux=True)(A([1.7, 2.2]))
    assert found.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize(
    "call", [lambda x: np.split(np.ones(6), x), lambda x: np.delete(np.ones(3) * x, x), lambda x: np.rot90(np.ones((2, 2)) * x, x)]
)
def test_places_must_be_plain(call: Any):
    with pytest.raises((FuncgradError, IndexError, TypeError)):
        grad(lambda x: np.sum(call(x)[0]))(1.5)
