"""What users may rely on: values bit for bit, gradients in the form of what they are taken with respect to, fresh and writable.

In-place changes have `test_purity.py`, singular points `test_strong_zeros.py`, what is refused `test_bad_input.py`.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

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
    tree,
    value_and_grad,
    vjp,
)

DTYPES = [np.float16, np.float32, np.float64, np.longdouble]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)

VALUES: dict[str, Callable[[Callable[..., Any], Any], Any]] = {
    "vjp": lambda f, x: vjp(f, x)[0],
    "jvp": lambda f, x: jvp(f, (x,), (x,))[0],
    "linearize": lambda f, x: linearize(f, x)[0],
    "make_tape": lambda f, x: make_tape(f)(x).value,
    "aux of grad": lambda f, x: grad(lambda x: (np.sum(x), f(x)), has_aux=True)(x)[1],
    "aux of vjp": lambda f, x: vjp(lambda x: (x, f(x)), x, has_aux=True)[2],
    "aux of jvp": lambda f, x: jvp(lambda x: (x, f(x)), (x,), (x,), has_aux=True)[2],
    "inside grad": lambda f, x: grad(lambda y: (np.sum(y), vjp(f, y)[0]), has_aux=True)(x)[1],
    "inside jvp": lambda f, x: jvp(lambda y: jvp(f, (y,), (y,))[0], (x,), (x,))[0],
}


def program(x: Any) -> Any:
    """Many operations, none at a special point."""
    y = np.tanh(x) * 2.5 - x / 3.0 + np.exp(-(x**2)) @ np.cos(x.T)
    y = y + np.logaddexp(x, 0.5) * np.sqrt(np.abs(x) + 1) - np.hypot(x, y)
    z = np.concatenate([y, np.roll(y, 1, 0)])[1:, ::-1] ** 3
    centered = (z - z.mean(axis=0)) / (z.std(axis=0) + 1e-3)
    picked = np.where(centered > 0, centered, 0.1 * centered)[[0, 2, 2]]
    return {"a": picked.sum(axis=1), "b": np.einsum("ij,kj->ik", picked, x), "c": (np.prod(x), np.max(picked, axis=0), picked.T)}


@each_dtype
@pytest.mark.parametrize("value_of", list(VALUES.values()), ids=list(VALUES))
def test_values_are_those_of_numpy_bit_for_bit(value_of: Any, dtype: Any):
    x = np.random.default_rng(0).normal(size=(3, 3)).astype(dtype)
    wanted, got = program(x), value_of(program, x)
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert type(one) is type(other) and one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("value_of", list(VALUES.values()), ids=list(VALUES))
def test_values_on_python_floats_agree_to_rounding(value_of: Any):
    def f(x: Any) -> Any:
        return np.sin(x) ** 3 / (1.0 + np.exp(-x)) - np.arctan(x) * np.log1p(x * x) % 0.7

    got = value_of(f, 1.3)
    assert type(got) is float
    assert got == pytest.approx(float(f(np.float64(1.3))), rel=1e-15)


# ------------------------------------------------------------------------------------------------ form of gradients

GRADIENTS: dict[str, Callable[[Callable[..., Any], Any], Any]] = {
    "grad": lambda f, x: grad(f)(x),
    "value_and_grad": lambda f, x: value_and_grad(f)(x)[1],
    "vjp": lambda f, x: vjp(f, x)[1](f(x))[0],
    "jacrev": lambda f, x: jacrev(f)(x),
    "hvp": lambda f, x: hvp(lambda y: f(y) ** 2)(x, x),
    "grad of a tree": lambda f, x: grad(lambda p: f(p["x"][0]))({"x": (x,)})["x"][0],
    "grad of jvp": lambda f, x: grad(lambda y: jvp(f, (y,), (x,))[1])(x),
}


@each_dtype
@pytest.mark.parametrize("gradient_of", list(GRADIENTS.values()), ids=list(GRADIENTS))
def test_dtype_and_shape_are_those_of_the_input(gradient_of: Any, dtype: Any):
    for x in (np.array([0.5, 2.0], dtype), np.array([[0.25], [1.0]], dtype), np.array([], dtype), np.array(0.5, dtype), dtype(0.5)):
        for f in (
            lambda x: np.sum(np.sin(x) * x),
            lambda x: np.sum(x.astype(np.longdouble) * np.pi),
            lambda x: np.sum(x.astype(np.float16)),
            lambda x: np.sum(x * np.float64(2.0) + np.arange(3)[:, None, None]),
            lambda x: np.mean(x + 1.0) if x.size else np.sum(x),
        ):
            gradient = gradient_of(f, x)
            assert gradient.dtype == x.dtype
            assert gradient.shape == x.shape
            assert type(gradient) is type(x) or x.shape == ()


@each_dtype
def test_tangents_and_columns_keep_the_dtype(dtype: Any):
    x = np.array([0.5, 2.0], dtype)
    for f in (lambda x: np.sin(x) * x, lambda x: np.exp(x)[::-1] / 3, lambda x: np.mean(x * x, keepdims=True)):
        assert jvp(f, (x,), (x,))[1].dtype == linearize(f, x)[1](x).dtype == jacfwd(f)(x).dtype == dtype
    assert elementwise_grad(np.tanh)(x).dtype == hessian(lambda x: np.sum(x**3))(x).dtype == dtype


@pytest.mark.parametrize("x", [3, 3.0, -2])
def test_python_numbers_give_python_floats(x: Any):
    cube = lambda x: x**3
    found = {
        "grad": (grad(cube)(x), 3.0 * x * x),
        "value": (value_and_grad(cube)(x)[0], float(x**3)),
        "vjp": (vjp(cube, x)[1](1)[0], 3.0 * x * x),
        "vjp's value": (vjp(cube, x)[0], float(x**3)),
        "jvp": (jvp(cube, (x,), (1,))[1], 3.0 * x * x),
        "jvp's value": (jvp(cube, (x,), (1,))[0], float(x**3)),
        "linearize": (linearize(cube, x)[1](1), 3.0 * x * x),
        "jacfwd": (jacfwd(cube)(x), 3.0 * x * x),
        "jacrev": (jacrev(cube)(x), 3.0 * x * x),
        "hessian": (hessian(cube)(x), 6.0 * x),
        "hvp": (hvp(cube)(x, 2), 12.0 * x),
        "elementwise_grad": (elementwise_grad(cube)(x), 3.0 * x * x),
        "grad of grad": (grad(grad(cube))(x), 6.0 * x),
        "unused": (grad(lambda x: 1.0)(x), 0.0),
        "through arrays": (grad(lambda x: np.sum(x * np.ones(3)))(x), 3.0),
        "of an array's element": (grad(lambda p: p[0] * p[1][1])((x, np.array([1.0, 2.0])))[0], 2.0),
    }
    for name, (got, wanted) in found.items():
        assert type(got) is float, name
        assert got == pytest.approx(wanted, rel=1e-14), name


def test_python_floats_beside_arrays_stay_python_floats():
    params = {"w": np.array([1.0, 2.0]), "b": 3.0}

    def f(p: Any) -> Any:
        return np.sum(p["w"] ** 2) * p["b"] ** 2

    assert type(grad(f)(params)["b"]) is float
    assert type(vjp(f, params)[1](np.float64(1.0))[0]["b"]) is float
    product = hvp(f)(params, params)
    np.testing.assert_array_equal(product["w"], [18.0 + 36.0, 36.0 + 72.0])
    assert product["b"] == 60.0 + 30.0
    assert type(product["b"]) is float
    assert type(hessian(f)(params)["b"]["b"]) is float


FORMS: dict[str, Callable[[Any], Any]] = {
    "x": lambda x: x,
    "x twice": lambda x: (x, x, [x]),
    "x + x": lambda x: (x + x, x),
    "-x": lambda x: (-x, -x),
    "x.T": lambda x: (x.T, x),
    "reshape": lambda x: (x.reshape(-1), x),
    "slices": lambda x: (x[:1], x[1:], x[::-1], x[...]),
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "sum": lambda x: np.sum(x),
    "einsum": lambda x: np.einsum("ij->ji", x),
    "concatenate": lambda x: np.concatenate([x, x]),
    "where": lambda x: np.where(True, x, x),
    "nothing": lambda x: (np.ones(2), 1.0),
    "positive": lambda x: +x,
    "expand": lambda x: x[None],
    "astype": lambda x: x.astype(x.dtype),
    "stack": lambda x: np.stack([x, x])[0],
}


@pytest.mark.parametrize("form", list(FORMS.values()), ids=list(FORMS))
def test_gradients_are_fresh_and_writable(form: Callable[[Any], Any]):
    x, z = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])
    f = lambda x, z: (form(x), form(x), z)
    value, pullback = vjp(f, x, z)
    cotangent = tree.map(lambda leaf: np.array(leaf) if isinstance(leaf, np.ndarray) else leaf, value)
    one, other = np.ones((2, 2)), np.full((2, 2), 2.0)
    _, linear = linearize(f, x, z)
    groups = {
        "vjp": ([*pullback(cotangent)], cotangent),
        "a view as cotangent": ([*pullback(tree.map(lambda a: a[...] if isinstance(a, np.ndarray) else a, cotangent))], cotangent),
        "grad": ([*grad(lambda x, z: sum(np.sum(leaf) for leaf in tree.leaves(form(x))), (0, 1))(x, z)], None),
        "jvp": (jvp(f, (x, z), (one, other))[1], None),
        "linearize": (linear(one, other), None),
        "one tangent twice": (jvp(f, (x, z), (one, one))[1], None),
    }
    for name, (results, given) in groups.items():
        arrays = [leaf for leaf in tree.leaves(results) if isinstance(leaf, np.ndarray)]
        for n, array in enumerate(arrays):
            assert array.flags.writeable and array.base is None, name
            for foreign in [*arrays[:n], x, z, one, other, *tree.leaves(given), *tree.leaves(value)]:
                assert not np.shares_memory(array, foreign), name


def test_an_argument_that_is_not_used_gets_zeros():
    params = {"used": np.ones(2, np.float32), "unused": np.ones((2, 3), np.float16), "number": 2, "scalar": np.float32(1)}
    for gradient in (
        grad(lambda p: np.sum(p["used"]))(params),
        vjp(lambda p: np.sum(p["used"]), params)[1](np.float32(1))[0],
        jacrev(lambda p: np.sum(p["used"]))(params),
    ):
        np.testing.assert_array_equal(gradient["unused"], np.zeros((2, 3), np.float16), strict=True)
        assert gradient["number"] == 0.0 and type(gradient["number"]) is float
        assert gradient["scalar"] == 0.0 and gradient["scalar"].dtype == np.float32
        gradient["unused"][0, 0] = 1.0
    np.testing.assert_array_equal(grad(lambda x: 3)(np.ones(2)), np.zeros(2))


# ------------------------------------------------------------------------------------------------ trees


class Params(NamedTuple):
    """A namedtuple with a None inside."""

    w: Any
    b: Any = None
    rest: Any = ()


@tree.register_dataclass(meta_fields=["name"])
@dataclasses.dataclass(frozen=True)
class Layer:
    """A dataclass with a static field."""

    weight: Any
    name: str


TREES = [
    np.array([1.0, 2.0]),
    2.0,
    [np.array([1.0, 2.0]), 3.0],
    (np.array([[1.0]]), (), [], {}, None),
    {"b": np.float32(1.5), "a": {"c": [np.array(2.0)]}},
    Params(np.array([1.0]), None, [Params(2.0), None]),
    collections.OrderedDict(z=1.0, a=np.ones(2)),
    [Layer(np.array([1.0, 2.0]), "first"), Layer({"w": 3.0}, "second")],
]


def squares(params: Any) -> Any:
    return sum((np.sum(leaf * leaf) for leaf in tree.leaves(params)), 0.0)


def assert_same(got: Any, wanted: Any) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    assert type(got) is type(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("params", TREES, ids=[type(one).__name__ + str(n) for n, one in enumerate(TREES)])
def test_gradients_are_trees_of_the_same_kind(params: Any):
    double = tree.map(lambda leaf: 2 * leaf, params)
    assert_same(grad(squares)(params), double)
    assert_same(grad(lambda x, p: squares(p) * x, 1)(1.0, params), double)
    assert_same(grad(lambda p: (squares(p), p), has_aux=True)(params)[1], params)
    square, twice_square = lambda p: tree.map(lambda leaf: leaf * leaf, p), tree.map(lambda leaf: 2 * leaf * leaf, params)
    assert_same(vjp(square, params)[1](params)[0], twice_square)
    assert_same(jvp(square, (params,), (params,))[1], twice_square)
    assert_same(linearize(lambda p: p, params)[1](params), params)
    assert_same(hvp(squares)(params, params), double)
    assert_same(jacrev(squares)(params), double)
    assert_same(jacfwd(squares)(params), double)
    assert_same(elementwise_grad(square)(params), double)


def test_trees_without_leaves():
    for empty in ((), [], {}, None, Params(None), [(), {"a": None}]):
        assert_same(grad(lambda p: 1.0)(empty), empty)
        assert_same(jvp(lambda p: p, (empty,), (empty,))[1], empty)
        assert_same(vjp(lambda p: 5.0, empty)[1](1.0)[0], empty)
        assert_same(jacfwd(lambda p: 5.0)(empty), empty)
        assert_same(hessian(lambda p: 5.0)(empty), empty)
    assert vjp(lambda: 5.0)[1](1.0) == ()
    assert jvp(lambda: 5.0, (), ()) == (5.0, 0.0)
    assert grad(lambda x: x, ())(1.0) == ()


def test_arrays_without_elements():
    x = np.zeros((0, 2))
    assert grad(np.sum)(x).shape == (0, 2)
    assert jacrev(lambda x: x * 2.0)(x).shape == (0, 2, 0, 2)
    assert jacfwd(lambda x: x * 2.0)(x).shape == (0, 2, 0, 2)
    assert hessian(lambda x: np.sum(x * x))(x).shape == (0, 2, 0, 2)
    assert jacfwd(lambda x: np.sum(x))(x).shape == (0, 2)
    assert jacrev(lambda x: np.sum(x))(x).shape == (0, 2)


def test_jacobians_of_trees():
    params = Params(np.array([1.0, 2.0]), None, 3.0)
    for jacobian in (jacfwd, jacrev):
        found = jacobian(lambda p: {"y": p.w * p.rest, "z": [p.rest]})(params)
        np.testing.assert_array_equal(found["y"].w, [[3.0, 0.0], [0.0, 3.0]])
        np.testing.assert_array_equal(found["y"].rest, [1.0, 2.0])
        np.testing.assert_array_equal(found["z"][0].w, [0.0, 0.0])
        assert found["z"][0].rest == 1.0
        assert found["y"].b is None
        found = jacobian(lambda x, y: np.outer(x, y), (0, 1))(np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]))
        assert [block.shape for block in found] == [(2, 3, 2), (2, 3, 3)]
        np.testing.assert_array_equal(found[0][1], [[0.0, 3.0], [0.0, 4.0], [0.0, 5.0]])
        np.testing.assert_array_equal(found[1][1], 2 * np.eye(3))
