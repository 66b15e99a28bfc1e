"""`x.at[index]` and `at(x)[index]`: elements changed in a new array, with every kind of index, on tracers, arrays and numbers."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jacfwd, jacrev, vjp
from funcgrad.errors import InputTypeError
from funcgrad.ops.updates import at

A = np.array
X = A([[0.5, -1.0, 2.0], [0.25, 3.0, -0.75]])
INDICES: dict[str, Any] = {
    "number": 1,
    "negative": -1,
    "slice": slice(None, None, 2),
    "tuple": (slice(None), 2),
    "ellipsis": (..., 0),
    "everything": ...,
    "new axis": (None, 1),
    "list": [1, 0],
    "repeats": [1, 1, 0, 1],
    "array": A([[0, 1], [1, 1]]),
    "arrays": ([0, 0, 1, 0], [2, 2, 0, 2]),
    "array and slice": (slice(0, 2), A([0, 0, 1])),
    "apart": (A([0, 1, 1]), None, A([2, 2, 2])),
    "negative repeats": ([0, -2], [0, 0]),
    "mask": X > 0,
    "mask of an axis": (slice(None), A([True, False, True])),
    "mask of nothing": np.zeros((2, 3), bool),
    "empty": A([], int),
    "NumPy integer": np.int64(1),
    "element": (1, 2),
}
UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "max": np.maximum,
    "min": np.minimum,
}
each_way = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])


def values_for(index: Any) -> np.ndarray:
    """As many as the index picks, not two alike."""
    shape = np.empty(X.shape)[index].shape
    return 0.3 + 0.17 * np.arange(np.prod(shape, dtype=int)).reshape(shape)


@pytest.mark.parametrize("name", list(UFUNCS))
@pytest.mark.parametrize("index", list(INDICES.values()), ids=list(INDICES))
def test_values_are_those_of_ufunc_at(name: str, index: Any):
    x = np.abs(X) if name == "power" else X.copy()
    values = values_for(index)
    wanted = x.copy()
    UFUNCS[name].at(wanted, index, values)
    np.testing.assert_allclose(getattr(at(x)[index], name)(values), wanted, rtol=1e-15)
    _, traced = grad(lambda x: ((changed := getattr(x.at[index], name)(values)).sum(), changed), has_aux=True)(x)
    np.testing.assert_allclose(traced, wanted, rtol=1e-15)


ONCE = {
    name: index for name, index in INDICES.items() if "repeats" not in name and name not in ("array", "arrays", "array and slice", "apart")
}


@pytest.mark.parametrize("index", list(ONCE.values()), ids=list(ONCE))
def test_set_is_assignment(index: Any):
    wanted, values = X.copy(), values_for(index)
    wanted[index] = values
    np.testing.assert_array_equal(at(X)[index].set(values), wanted)
    hit = np.zeros(X.shape)
    hit[index] = 1.0
    np.testing.assert_array_equal(grad(lambda x: x.at[index].set(values).sum())(X), 1.0 - hit)
    np.testing.assert_array_equal(grad(lambda v: at(X)[index].set(v).sum())(values), np.ones_like(values))
    np.testing.assert_array_equal(at(X)[index].get(), X[index])


@each_way
def test_repeats_accumulate(jacobian: Any):
    x, v = A([2.0, 3.0]), A([5.0, 7.0, 11.0])
    index = [0, 0, 1]
    np.testing.assert_array_equal(jacobian(lambda v: at(x)[index].add(v))(v), [[1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(jacobian(lambda v: at(x)[index].subtract(v))(v), [[-1, -1, 0], [0, 0, -1]])
    np.testing.assert_array_equal(jacobian(lambda v: at(x)[index].multiply(v))(v), [[14, 10, 0], [0, 0, 3]])
    np.testing.assert_array_equal(jacobian(lambda x: x.at[index].multiply(v))(x), [[35, 0], [0, 11]])
    np.testing.assert_allclose(jacobian(lambda v: at(x)[index].divide(v))(v), [[-2 / 175, -2 / 245, 0], [0, 0, -3 / 121]], rtol=1e-15)
    np.testing.assert_allclose(
        jacobian(lambda v: at(x)[index].power(v))(A([2.0, 3.0, 2.0])),
        [[3 * 64 * np.log(2), 2 * 64 * np.log(2), 0], [0, 0, 9 * np.log(3)]],
        rtol=1e-14,
    )


@each_way
def test_products_with_zeros_are_exact(jacobian: Any):
    x, v = A([2.0]), A([0.0, 3.0, 0.0])
    np.testing.assert_array_equal(jacobian(lambda v: at(x)[[0, 0]].multiply(v))(v[:2]), [[6.0, 0.0]])
    np.testing.assert_array_equal(jacobian(lambda v: at(x)[[0, 0, 0]].multiply(v))(v), [[0.0, 0.0, 0.0]])
    wanted = np.zeros((3, 3))
    wanted[0, 2] = wanted[2, 0] = 6.0
    np.testing.assert_array_equal(hessian(lambda v: at(x)[[0, 0, 0]].multiply(v).sum())(v), wanted)


@each_way
def test_ties_share_equally(jacobian: Any):
    x, v = A([5.0, 1.0]), A([5.0, 5.0, 2.0, 5.0])
    for name, sign in (("max", 1.0), ("min", -1.0)):
        both = jacobian(lambda x, v: getattr(at(sign * x)[[0, 0, 1, 0]], name)(sign * v), (0, 1))(x, v)  # noqa: B023
        np.testing.assert_array_equal(both[0], sign * A([[0.25, 0.0], [0.0, 0.0]]))
        np.testing.assert_array_equal(both[1], sign * A([[0.25, 0.25, 0.0, 0.25], [0.0, 0.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(grad(lambda x: x.at[0].max(5.0).sum())(x), [0.5, 1.0])
    np.testing.assert_array_equal(grad(lambda v: at(x)[1].max(v).sum())(1.0), 0.5)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(grad(lambda x: x.at[[0, 0]].max([np.nan, 1.0]).sum())(x), [0.0, 1.0])


def test_values_are_broadcast_and_may_be_traced_alone():
    assert grad(lambda v: at(X)[:, 1].add(v).sum())(2.0) == 2.0
    assert grad(lambda v: at(X)[[0, 0, 1]].multiply(v)[0, 0])(3.0) == 2 * 3.0 * 0.5
    np.testing.assert_array_equal(grad(lambda v: (at(X)[...].set(v) * X).sum())(A([1.0, 2.0, 3.0])), X.sum(0))
    np.testing.assert_array_equal(grad(lambda x: x.at[0].set(x[1] * x[0]).sum())(X), np.stack([X[1], X[0] + 1.0]))


def test_numbers_stay_what_they_are():
    for x, kind in ((2.0, float), (np.float64(2.0), np.ndarray), (A(2.0), np.ndarray)):
        assert type(at(x)[()].add(1.0)) is kind
        assert at(x)[...].set(5.0) == 5.0
    assert grad(lambda x: x.at[()].multiply(3.0))(2.0) == 3.0
    assert type(grad(lambda x: x.at[...].power(3.0))(2.0)) is float
    assert grad(lambda x: grad(lambda x: x.at[()].multiply(x))(x))(2.0) == 2.0


def test_lists_and_plain_integers():
    np.testing.assert_array_equal(at([1, 2, 3])[0].set(5), [5, 2, 3])
    assert at([1, 2, 3])[0].set(5).dtype == int
    np.testing.assert_array_equal(at([1.5, 2.5])[[]].add(1.0), [1.5, 2.5])
    np.testing.assert_array_equal(at([1, 2, 3])[[0, 0]].add([4, 5]), [10, 2, 3])


def test_zeros_keep_their_sign():
    assert np.signbit(at(A([-0.0, 1.0]))[1].add(2.0)[0])


def test_apply():
    np.testing.assert_array_equal(at(A([4.0, 9.0]))[1].apply(np.sqrt), [4.0, 3.0])
    np.testing.assert_array_equal(grad(lambda x: x.at[1].apply(np.square).sum())(A([4.0, 9.0])), [1.0, 18.0])


@pytest.mark.parametrize("index", [[0, 0], A([1, -1]), ([0, 0], [1, 1]), ([0, 1, 0], [2, 2, 2])], ids=str)
def test_set_refuses_an_element_named_twice(index: Any):
    for call in (lambda x: at(x)[index].set(1.0), lambda x: at(x)[index].apply(np.sin)):
        with pytest.raises(IndexError, match="names an element more than once"):
            call(X)
        with pytest.raises(IndexError, match="names an element more than once"):
            grad(lambda x: call(x).sum())(X)  # noqa: B023


def test_a_tracer_among_integers_is_refused():
    for name in ("set", "add", "multiply"):
        with pytest.raises(InputTypeError, match=r"float64 into an array of int64.*x\.astype\(float64\)"):
            grad(lambda v: getattr(at(A([1, 2, 3]))[0], name)(v).sum())(2.0)  # noqa: B023
    with pytest.raises(InputTypeError, match="complex128 into an array of float64"):
        grad(lambda v: at(X)[0].set(v).sum().real)(1j)


def test_indices_that_do_not_fit_are_numpys_own_errors():
    for index, error in ((5, IndexError), ((0, 0, 0), IndexError), ([0, 7], IndexError), ("a", IndexError), (A([True]), IndexError)):
        for name in ("set", "add", "multiply", "max"):
            with pytest.raises(error):
                getattr(at(X)[index], name)(1.0)
            with pytest.raises(error):
                grad(lambda x: getattr(x.at[index], name)(1.0).sum())(X)  # noqa: B023
    with pytest.raises(ValueError, match="broadcast"):
        at(X)[0].set([1.0, 2.0])


def test_inputs_stay_as_they_were():
    x, values, index = X.copy(), A([1.0, 2.0]), A([0, 1])
    for name in ("set", "add", "multiply", "max"):
        getattr(at(x)[index, index], name)(values)
        grad(lambda x: getattr(x.at[index, index], name)(values).sum())(x)  # noqa: B023
    np.testing.assert_array_equal(x, X)
    assert values.flags.writeable
    assert index.flags.writeable


@pytest.mark.parametrize(
    "call",
    [
        lambda x, index: x.at[index].multiply(2.0),
        lambda x, index: x.at[index].set(0.0),
        lambda x, index: x.at[index].max(9.0),
        lambda x, index: np.take(x, index),
        lambda x, index: np.delete(x, index),
        lambda x, index: np.insert(x, index, 1.0),
    ],
)
def test_an_index_that_is_changed_later_leaves_the_derivative_as_it_was(call: Any):
    index = A([0, 2])
    value, pullback = vjp(lambda x: call(x, index), A([1.0, 2.0, 3.0]))
    wanted = vjp(lambda x: call(x, A([0, 2])), A([1.0, 2.0, 3.0]))[1](value)
    with contextlib.suppress(ValueError):  # it may be read-only meanwhile
        index[:] = 1
    np.testing.assert_array_equal(pullback(value), wanted)


def test_a_loop_that_fills_an_array():
    def f(x: Any) -> Any:
        out = np.zeros(4)
        for n in range(4):
            out = at(out)[n].set(x**n)
        return (out * A([1.0, 2.0, 3.0, 4.0])).sum()

    assert grad(f)(2.0) == 2.0 + 3 * 2 * 2.0 + 4 * 3 * 4.0
    assert grad(grad(f))(2.0) == 6.0 + 4 * 6 * 2.0
