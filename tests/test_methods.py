"""Tracers as arrays: attributes, methods and operators that have arguments of their own, and `x.at`.

Methods with the arguments of a function are held to that function in `test_laws.py`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp, tree, vjp
from funcgrad.errors import ConcretizationError
from funcgrad.ops import writing
from funcgrad.tracer import Tracer
from tests.cases import METHODS
from tests.witnesses import assert_close, like

A = np.array
X = A([[0.5, -1.0, 2.0], [0.25, 3.0, -0.75]])
HITS = A([[True, False, False], [True, False, True]])

# name -> (way to use it, the same by functions)
WAYS: dict[str, tuple[Any, Any]] = {
    "T": (lambda x: x.T * [2.0, 3.0], lambda x: np.transpose(x) * [2.0, 3.0]),
    "mT": (
        lambda x: (x[None] * 2.0).mT if hasattr(x, "mT") else np.swapaxes(x[None] * 2.0, -1, -2),
        lambda x: np.swapaxes(x[None] * 2.0, -1, -2),
    ),
    "transpose": (lambda x: x.transpose(), np.transpose),
    "transpose axes": (lambda x: x[None].transpose(1, 0, -1), lambda x: np.transpose(x[None], (1, 0, 2))),
    "transpose tuple": (lambda x: x.transpose((1, 0)), np.transpose),
    "reshape": (lambda x: x.reshape(3, 2), lambda x: np.reshape(x, (3, 2))),
    "reshape tuple": (lambda x: x.reshape((3, -1)), lambda x: np.reshape(x, (3, 2))),
    "reshape order": (lambda x: x.reshape(-1, order="F"), lambda x: np.ravel(x, "F")),
    "flatten": (lambda x: x.flatten(), np.ravel),
    "flatten order": (lambda x: x.flatten("F"), lambda x: np.ravel(x, "F")),
    "swapaxes": (lambda x: x.swapaxes(0, 1), np.transpose),
    "copy": (lambda x: x.copy(), lambda x: x * 1.0),
    "real": (lambda x: (x * 2j - x).real, lambda x: -x),
    "imag": (lambda x: (x * 2j - x).imag, lambda x: 2.0 * x),
    "conj": (lambda x: x.conj(), lambda x: x * 1.0),
    "astype": (lambda x: x.astype(np.float64), lambda x: x * 1.0),
    "astype by name": (lambda x: x.astype("f8", copy=False), lambda x: x * 1.0),
    "item": (lambda x: x.item(1, 2) * 2.0, lambda x: x[1, 2] * 2.0),
    "item flat": (lambda x: x.item(4) * 2.0, lambda x: x[1, 1] * 2.0),
    "item alone": (lambda x: x[:1, :1].item() * 2.0, lambda x: x[0, 0] * 2.0),
    "tolist": (lambda x: x.tolist()[1][2] * 3.0, lambda x: x[1, 2] * 3.0),
    "iteration": (lambda x: sum(row[0] * n for n, row in enumerate(x, 1)), lambda x: x[0, 0] + 2 * x[1, 0]),
    "unpacking": (lambda x: np.multiply(*x), lambda x: x[0] * x[1]),
    "in-place operators": (lambda x: _changed(x), lambda x: ((x + 1.0) * x - 2.0) / x),
    "array += tracer": (lambda x: _added(np.ones((2, 3)), x), lambda x: x + 1.0),
    "constant @ x": (lambda x: np.eye(2) @ x, lambda x: np.matmul(np.eye(2), x)),
    "constant ** x": (lambda x: 2.0**x, lambda x: np.power(2.0, x)),
    "divmod": (lambda x: divmod(x, 2.0)[1] + divmod(2.0, x)[1], lambda x: np.remainder(x, 2.0) + np.remainder(2.0, x)),
    "pow": (lambda x: pow(x, 3), lambda x: x * x * x),
    "abs": (abs, np.abs),
    "flat": (lambda x: x.flat[1:], lambda x: np.ravel(x)[1:]),
    "compress": (lambda x: x.compress([False, True, True], axis=1), lambda x: x[:, 1:]),
    "choice by a condition": (lambda x: x[x > 0], lambda x: np.take(x, [0, 2, 3, 4])),
}

AT: dict[str, tuple[Any, Any]] = {
    "get": (lambda x: x.at[0].get(), lambda x: x[0]),
    "set": (lambda x: x.at[1].set(7.0) * x, lambda x: np.stack([x[0], 7.0 + 0 * x[0]]) * x),
    "set a tracer": (lambda x: x.at[0, 1].set(x[1, 1] ** 2), lambda x: np.where(_at(0, 1), x[1, 1] ** 2, x)),
    "set rows": (lambda x: x.at[:, 0].set(x[:, 2] * 3.0), lambda x: np.where(A([1, 0, 0]) == 1, 3.0 * x[:, 2:], x)),
    "set by a mask": (lambda x: x.at[HITS].set(0.0), lambda x: np.where(HITS, 0.0, x)),
    "set by arrays": (
        lambda x: x.at[[0, 1], [2, 0]].set(A([5.0, 6.0])) ** 2,
        lambda x: np.where(_at(0, 2), 5.0, np.where(_at(1, 0), 6.0, x)) ** 2,
    ),
    "add": (lambda x: x.at[0].add(x[1]), lambda x: np.stack([x[0] + x[1], x[1]])),
    "add repeats": (lambda x: x.at[[0, 0]].add(x[1]), lambda x: np.stack([x[0] + 2.0 * x[1], x[1]])),
    "add a number": (lambda x: x.at[..., -1].add(2.0) * x, lambda x: (x + A([0.0, 0.0, 2.0])) * x),
}


def _at(i: int, j: int) -> np.ndarray:
    hit = np.zeros((2, 3), bool)
    hit[i, j] = True
    return hit


def _changed(x: Any) -> Any:
    y = x + 0.0  # plain arrays change in place
    y += 1.0
    y *= x
    y -= 2.0
    y /= x
    return y


def _added(array: Any, x: Any) -> Any:
    array += x
    return array


def assert_alike(way: Any, other: Any) -> None:
    """Value, tangent, cotangent and one second derivative of two functions of X are the same."""
    tangent = like(X, 1)
    value, out = jvp(way, (X.copy(),), (tangent,))
    plain, wanted = jvp(other, (X.copy(),), (tangent,))
    assert_close(value, plain, 1e-15)
    assert_close(out, wanted, 1e-14)
    cotangent = like(plain, 2)
    assert_close(vjp(way, X.copy())[1](cotangent), vjp(other, X.copy())[1](cotangent), 1e-14)
    second = [jvp(lambda x, f=f: vjp(f, x)[1](cotangent)[0], (X.copy(),), (tangent,))[1] for f in (way, other)]
    assert_close(second[0], second[1], 1e-13)


@pytest.mark.parametrize("name", list(WAYS))
def test_attributes_methods_and_operators(name: str):
    way, other = WAYS[name]
    assert_alike(way, other)
    np.testing.assert_array_equal(way(X.copy()), other(X.copy()))  # the same on plain arrays


@pytest.mark.parametrize("name", list(AT))
def test_at(name: str):
    way, other = AT[name]
    assert_alike(way, other)


def test_at_set_refuses_an_element_named_twice():
    with pytest.raises(IndexError, match="names an element more than once"):
        grad(lambda x: np.sum(x.at[[0, 0]].set(1.0)))(A([1.0, 2.0]))


def test_at_leaves_x_as_it_was():
    x = A([1.0, 2.0])
    assert grad(lambda x: np.sum(x.at[0].set(5.0) * 0.0) + x[0])(x).tolist() == [1.0, 0.0]
    assert x.tolist() == [1.0, 2.0]


def test_attributes_are_those_of_the_array():
    def f(x: Any) -> Any:
        assert (x.shape, x.ndim, x.size, x.dtype, len(x)) == ((2, 3), 2, 6, np.dtype(float), 2)
        assert (x[0, 0].shape, x[0, 0].ndim, x[0, 0].size) == ((), 0, 1)
        np.testing.assert_array_equal(x.value, X)
        assert not x.value.flags.writeable
        assert repr(x).startswith("Tracer(")
        assert f"{x[0, 0]:.2f}" == "0.50"
        return np.sum(x)

    np.testing.assert_array_equal(grad(f)(X.copy()), np.ones((2, 3)))


def test_attributes_of_a_number():
    def f(x: Any) -> Any:
        assert (x.shape, x.ndim, x.size, x.dtype, x.value) == ((), 0, 1, np.dtype(float), 0.5)
        for wrong in (lambda: len(x), lambda: list(x)):
            with pytest.raises(TypeError, match="no axes"):
                wrong()
        with pytest.raises(IndexError):
            x[0]
        return x * x

    assert grad(f)(0.5) == 1.0


def test_comparisons_give_plain_booleans():
    def f(x: Any) -> Any:
        for name in ("lt", "le", "gt", "ge", "eq", "ne"):
            compare = getattr(operator, name)
            for other in (X, X[0], 0.5, X.tolist()):
                for found, wanted in ((compare(x, other), compare(X, other)), (compare(other, x), compare(other, X))):
                    assert type(found) is np.ndarray
                    np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(compare(x, x[0]), compare(X, X[0]))
        assert x[0, 0] > 0
        assert not x[0, 1] > 0
        assert bool(x[0, 0])
        return np.sum(x)

    grad(f)(X.copy())


def test_python_control_flow():
    def f(x: float) -> Any:
        total, n = 0.0, 0
        while total < 10.0 and n < 100:
            total, n = total + x * x, n + 1
        return total if x > 0 else -total

    assert grad(f)(1.5) == 5 * 2 * 1.5
    assert grad(f)(-2.0) == -3 * 2 * -2.0


@pytest.mark.parametrize("name", ["fill", "put", "sort"])
def test_methods_that_change_in_place_are_refused(name: str):
    with pytest.raises(ConcretizationError, match=f"{name} would change a tracer in place"):
        grad(lambda x: getattr(x, name)(0))(A([1.0, 2.0]))


def test_integers_out_of_a_tracer_are_constants():
    value, aux = jvp(lambda x: (x, x.astype(int)), (A([1.7, -2.3]),), (np.ones(2),), has_aux=True)[::2]
    assert not any(type(leaf) is Tracer for leaf in tree.leaves((value, aux)))
    np.testing.assert_array_equal(aux, [1, -2])


def test_every_method_is_tried_somewhere():
    """A name of ndarray's that tracers have is in a table of cases."""
    covered = METHODS | {name.split()[0] for name in WAYS}
    covered |= set(writing.METHODS) | {"at", "shape", "ndim", "size", "dtype", "value"}
    public = {name for name in dir(Tracer) if not name.startswith("_")}
    assert public - covered == set()
