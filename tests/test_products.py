"""`value_grad_and_hvp`, `gnvp`, `linear_transpose`: closed forms, matrices written out, every nesting, and errors."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

from funcgrad import grad, hessian, jacfwd, jacrev, jvp, linearize, tape, tree, vjp
from funcgrad.errors import InputTypeError, InputValueError, TreeError
from funcgrad.transforms.linear import linear_transpose
from funcgrad.transforms.products import gnvp, value_grad_and_hvp
from tests.runs import each_run

X, Y, V = np.array([0.3, -1.2, 2.0]), np.array([1.5, 0.25, -0.75]), np.array([1.0, -2.0, 0.5])


def f(x: Any, y: Any) -> Any:
    return np.sum(np.sin(x) * y) * np.sum(x * y)


def assert_close(got: Any, wanted: Any, rtol: float = 1e-12) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=rtol, atol=1e-12)


# ------------------------------------------------------------------------------------------------ value_grad_and_hvp


def test_value_gradient_and_product():
    # f = s p with s = sin(x) y and p = x y summed
    s, p, ds, dp = np.sum(np.sin(X) * Y), np.sum(X * Y), np.cos(X) * Y, Y
    h = np.diag(-np.sin(X) * Y) * p + np.outer(ds, dp) + np.outer(dp, ds)
    found = value_grad_and_hvp(f)(X, Y, V)
    assert_close(found, (s * p, ds * p + s * dp, h @ V))
    assert found[0] == f(X, Y)
    assert all(one.flags.writeable and one.flags.owndata for one in found[1:])


def test_several_arguments_trees_and_keywords():
    def g(params: Any, x: Any, scale: float = 1.0) -> Any:
        return scale * np.sum(params["w"] ** 3 * x) * params["b"]

    params, x, v = {"w": X, "b": 2.0}, Y, {"w": V, "b": 0.5}
    value, gradient, product = value_grad_and_hvp(g)(params, x, v, scale=3.0)
    assert_close(gradient, grad(lambda p: g(p, x, 3.0))(params))
    assert_close(product, jvp(grad(lambda p: g(p, x, 3.0)), (params,), (v,))[1])
    assert type(gradient["b"]) is type(product["b"]) is float
    value, gradient, product = value_grad_and_hvp(f, argnums=(0, 1))(X, Y, (V, X))
    assert value == f(X, Y)
    assert_close(gradient, grad(f, (0, 1))(X, Y))
    assert_close(product, jvp(grad(f, (0, 1)), (X, Y), (V, X))[1])
    assert_close(value_grad_and_hvp(f, -1)(X, Y, V)[2], jvp(lambda y: grad(f, 1)(X, y), (Y,), (V,))[1])


def test_one_recording():
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return x**3

    assert value_grad_and_hvp(counted)(2.0, 10.0) == (8.0, 12.0, 120.0)
    assert len(calls) == 1


def test_results_that_do_not_depend_on_the_argument():
    assert value_grad_and_hvp(lambda x: 3.0)(2.0, 1.0) == (3.0, 0.0, 0.0)
    assert value_grad_and_hvp(lambda x: 3.0 * x)(2.0, 1.0) == (6.0, 3.0, 0.0)
    value, gradient, product = value_grad_and_hvp(lambda x: np.sum(x.astype(np.float64) ** 2))(
        np.ones(2, np.float32), np.ones(2, np.float32)
    )
    assert (float(value), gradient.dtype, product.dtype) == (2.0, np.float32, np.float32)


@each_run
def test_products_inside_every_transform(run: Any):
    def by_product(x: Any) -> Any:
        value, gradient, product = value_grad_and_hvp(lambda u: np.sin(u) * x)(x, x)
        return value * gradient + product

    def wanted(x: Any) -> Any:
        return np.sin(x) * x * np.cos(x) * x - np.sin(x) * x * x

    def by_gnvp(x: Any) -> Any:
        return gnvp(lambda u: np.sin(u) * x, lambda y: y * y * y * x)(x, x)

    def wanted_gnvp(x: Any) -> Any:
        return (np.cos(x) * x) ** 2 * 6.0 * np.sin(x) * x * x * x

    for g, right in ((by_product, wanted), (by_gnvp, wanted_gnvp)):
        got = [leaf for leaf in tree.leaves(run(g, 0.7)) if isinstance(leaf, (float, np.floating))]
        known = [leaf for leaf in tree.leaves(run(right, 0.7)) if isinstance(leaf, (float, np.floating))]
        np.testing.assert_allclose(got, known, rtol=1e-11)
        assert grad(grad(g))(0.7) == pytest.approx(grad(grad(right))(0.7), rel=1e-11)
        assert jacfwd(jacfwd(g))(0.7) == pytest.approx(grad(grad(right))(0.7), rel=1e-11)


def test_the_vector_of_an_outer_scope():
    found = grad(lambda v: np.sum(value_grad_and_hvp(f)(X, Y, v)[2]))(V)
    np.testing.assert_allclose(found, np.sum(hessian(f)(X, Y), 0), rtol=1e-12)
    found = grad(lambda v: np.sum(gnvp(np.sin, lambda y: np.sum(y**3))(X, v)))(V)
    np.testing.assert_allclose(found, np.cos(X) ** 2 * 6.0 * np.sin(X), rtol=1e-12)


def test_products_on_constants_leave_nothing_inside_another_transform():
    def outer(x: Any) -> Any:
        scope: Any = tape.thread.scope
        before = len(scope.records)
        for call in (
            lambda: value_grad_and_hvp(f)(X, Y, V),
            lambda: gnvp(np.sin, np.sum)(X, V),
            lambda: linear_transpose(np.cumsum, X)(V),
        ):
            call()
            assert len(scope.records) == before
        return x * x

    for transform in (grad, jacfwd):
        assert transform(outer)(3.0) == 6.0


def test_errors_of_value_grad_and_hvp():
    with pytest.raises(InputValueError, match="takes the function's arguments and then v, got 1"):
        value_grad_and_hvp(f)(X)
    with pytest.raises(InputTypeError, match="must be a tuple of trees, got ndarray"):
        value_grad_and_hvp(f, (0, 1))(X, Y, V)
    with pytest.raises(InputValueError, match=r"value_grad_and_hvp of f: the vector v .* must have shape \(3,\), got \(2,\)"):
        value_grad_and_hvp(f)(X, Y, V[:2])
    with pytest.raises(InputTypeError, match="one real number"):
        value_grad_and_hvp(np.sin)(X, V)
    with pytest.raises(InputTypeError, match="takes a function"):
        value_grad_and_hvp(3.0)  # type: ignore[arg-type]
    assert tape.thread.scope is None
    x = X.copy()
    value_grad_and_hvp(f)(x, Y, V)
    x[0] = 1.0


# ------------------------------------------------------------------------------------------------ gnvp


def test_the_gauss_newton_matrix_written_out():
    a = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
    target = np.array([0.3, -0.2])

    def model(x: Any, scale: Any) -> Any:
        return np.tanh(a @ x) * scale

    def loss(y: Any) -> Any:
        return np.sum((y - target) ** 4) + y[0] * y[1]

    j = jacrev(model)(X, 2.0)
    h = hessian(loss)(model(X, 2.0))
    np.testing.assert_allclose(gnvp(model, loss)(X, 2.0, V), j.T @ h @ j @ V, rtol=1e-12)
    np.testing.assert_allclose(gnvp(model, loss)(X, v := 2.0, V), gnvp(model, loss)(X, V, scale=v), rtol=0)
    found = gnvp(model, loss, argnums=(0, 1))(X, 2.0, (V, 0.5))
    k = np.column_stack([j, jacrev(model, 1)(X, 2.0)])
    wanted = k.T @ h @ k @ np.append(V, 0.5)
    np.testing.assert_allclose(np.append(found[0], found[1]), wanted, rtol=1e-12)


def test_for_a_linear_model_it_is_the_hessian():
    a = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])

    def model(p: Any) -> Any:
        return {"y": a @ p["x"], "z": [p["c"] * 2.0]}

    def loss(out: Any) -> Any:
        return np.sum(np.exp(out["y"])) * out["z"][0] ** 2

    p, v = {"x": 0.1 * X, "c": 0.7}, {"x": V, "c": -1.0}
    assert_close(gnvp(model, loss)(p, v), jvp(grad(lambda p: loss(model(p))), (p,), (v,))[1])


def test_it_is_positive_semidefinite_for_a_convex_loss():
    rng = np.random.default_rng(5)
    product = gnvp(lambda w: np.sin(np.outer(w, w)), lambda y: np.sum(np.logaddexp(0.0, y)))
    for _ in range(20):
        w, v = rng.normal(size=4), rng.normal(size=4)
        assert v @ product(w, v) >= 0.0


def test_errors_of_gnvp():
    with pytest.raises(InputTypeError, match="takes a function"):
        gnvp(np.sin, 3.0)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="one real number"):
        gnvp(np.sin, np.sin)(X, V)
    with pytest.raises(InputValueError, match=r"gnvp of sin and sum: the vector v .* must have shape \(3,\), got \(2,\)"):
        gnvp(np.sin, np.sum)(X, V[:2])
    with pytest.raises(InputValueError, match="arguments and then v"):
        gnvp(np.sin, np.sum)(X)
    assert tape.thread.scope is None


# ------------------------------------------------------------------------------------------------ linear_transpose

A = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])


class Pair(NamedTuple):
    one: Any
    two: Any


def test_the_transpose_of_a_matrix_product():
    transpose = linear_transpose(lambda x: A @ x, X)
    np.testing.assert_array_equal(transpose(np.array([1.0, 10.0]))[0], A.T @ [1.0, 10.0])
    again = linear_transpose(lambda ct: transpose(ct)[0], np.zeros(2))
    np.testing.assert_array_equal(again(X)[0], A @ X)


LINEAR: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "cumsum": (np.cumsum, (X,)),
    "fft": (np.fft.fft, (X + 1j * Y,)),
    "rfft": (np.fft.rfft, (X,)),
    "real": (lambda z: np.real(z), (X + 1j * Y,)),
    "convolution": (lambda x: np.convolve(x, [1.0, -2.0, 1.0]), (X,)),
    "differences": (np.diff, (X,)),
    "two arguments": (lambda x, y: 2.0 * x - np.sum(y), (X, Y)),
    "trees": (lambda p: Pair(p["a"] * 3.0, [p["a"][0] - p["b"]]), ({"a": X, "b": 2.0},)),
    "single precision": (lambda x: x[::-1] * np.float32(3.0), (X.astype(np.float32),)),
    "zero": (lambda x: x - x, (X,)),
    "nothing": (lambda x: np.zeros(2), (X,)),
    "a derivative": (lambda v: jvp(np.sin, (X,), (v,))[1], (X,)),
    "a pullback": (lambda v: vjp(np.sin, X)[1](v)[0], (X,)),
    "small numbers": (lambda x: 1e-200 * x, (X,)),
    "cancelling": (lambda x: np.fft.ifft(np.fft.fft(x)).real - x, (X,)),
}


@pytest.mark.parametrize(("g", "primals"), list(LINEAR.values()), ids=list(LINEAR))
def test_the_adjoint_law(g: Any, primals: Any):
    rng = np.random.default_rng(3)

    def like(value: Any) -> Any:
        drawn = rng.normal(size=np.shape(value)) + (1j * rng.normal(size=np.shape(value)) if np.iscomplexobj(value) else 0.0)
        return float(drawn) if type(value) is float else drawn.astype(value.dtype)

    tangents, ct = tree.map(like, primals), tree.map(like, g(*primals))
    pulled = linear_transpose(g, *primals)(ct)
    assert tree.structure(pulled) == tree.structure(primals)
    assert [np.asarray(one).dtype for one in tree.leaves(pulled)] == [np.asarray(one).dtype for one in tree.leaves(primals)]

    def product(one: Any, other: Any) -> Any:
        return sum(np.sum(a * b) for a, b in zip(tree.leaves(one), tree.leaves(other), strict=True)).real

    tolerance = 1e-5 if np.asarray(tree.leaves(primals)[0]).dtype == np.float32 else 1e-12
    assert product(ct, g(*tangents)) == pytest.approx(product(pulled, tangents), rel=tolerance, abs=1e-12)


def test_only_shapes_and_dtypes_of_the_primals_matter():
    class Shape(NamedTuple):
        shape: Any
        dtype: Any

    tree_leaf = type("ShapeDtype", (), {"shape": (3,), "dtype": np.dtype(np.float32)})()
    assert linear_transpose(lambda x: np.sum(x) * np.float32(2.0), tree_leaf)(np.float32(1.0))[0].dtype == np.float32
    assert linear_transpose(lambda x: x * 2.0, np.nan)(1.0) == (2.0,)
    assert linear_transpose(lambda x: x * 2.0, 1)(1.0) == (2.0,)
    assert grad(lambda x: linear_transpose(lambda u: u * x, x)(3.0)[0])(5.0) == 3.0


def test_it_nests():
    def g(x: Any) -> Any:
        return linear_transpose(lambda u: u * x * x, 0.0)(x)[0]  # x**3

    for one in (grad, jacfwd, jacrev):
        for other in (grad, jacfwd, jacrev):
            assert one(other(g))(2.0) == 12.0
    assert linearize(g, 2.0)[1](1.0) == 12.0
    assert grad(lambda c: linear_transpose(lambda u: 3.0 * u, 0.0)(c)[0])(1.0) == 3.0


def test_transposes_on_several_threads():
    transpose = linear_transpose(lambda x: A @ x, X)
    found = []
    threads = [threading.Thread(target=lambda: found.extend(transpose(np.ones(2))[0] for _ in range(20))) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 60
    for one in found:
        np.testing.assert_array_equal(one, np.sum(A, 0))


NOT_LINEAR: dict[str, Any] = {
    "affine": lambda x: x + 1.0,
    "square": lambda x: x * x,
    "sine": np.sin,
    "absolute": np.abs,
    "relu": lambda x: np.maximum(x, 0.0),
    "norm": lambda x: np.linalg.norm(x),
    "median": np.median,
    "constant": lambda x: np.ones(2),
    "tiny offset": lambda x: x + 1e-3,
    "in a tree": lambda x: {"a": x, "b": [x * x]},
    "ratio": lambda x: x[0] * x[1] / x[2],
    "sort": np.sort,
    "maximum": np.max,
    "half": lambda x: np.where(x > 0.0, x, 0.0),
    "range": np.ptp,
    "times its sign": lambda x: x * np.sign(x),
    "branch": lambda x: 2.0 * x if x[0] > 0.0 else x,
    "middle of three": lambda x: np.median(x[:3]),
    "clipped": lambda x: np.clip(x, -20.0, 20.0),
    "shrunk": lambda x: np.where(np.abs(x) > 0.02, x, 0.0),
}


@pytest.mark.parametrize("g", list(NOT_LINEAR.values()), ids=list(NOT_LINEAR))
def test_what_is_not_linear_is_refused(g: Any):
    for size in (3, 5):
        with pytest.raises(InputValueError, match=r"linear_transpose of .*: the function is not linear"):
            linear_transpose(g, np.zeros(size))
    assert tape.thread.scope is None


@pytest.mark.parametrize("kind", [float, np.float32, np.float64, lambda x: np.full((), x, np.float16), lambda x: np.full(2, x, complex)])
def test_linear_functions_of_all_kinds_are_taken(kind: Any):
    value = kind(1.0)
    found = linear_transpose(lambda x: x + x + x, value)(value)[0]
    assert_close(np.asarray(found), np.asarray(value + value + value), 1e-3)
    assert getattr(found, "dtype", float) == getattr(value, "dtype", float)


def test_errors_of_linear_transpose():
    structures = iter([list, tuple])
    with pytest.raises(InputValueError, match=r"not linear: its output at \['b'\]\[0\]"):
        linear_transpose(NOT_LINEAR["in a tree"], X)
    with pytest.raises(InputTypeError, match="argument 0 is an array of shape"):
        linear_transpose(np.sum, np.arange(3))
    with pytest.raises(InputTypeError, match="the output is dtype int64"):
        linear_transpose(np.argmax, X)
    with pytest.raises(InputValueError, match="depends on the values"):
        linear_transpose(lambda x: x[x > 0.3], np.zeros(50))
    with pytest.raises(InputValueError, match="depends on the values"):
        linear_transpose(lambda x: next(structures)([x]), np.zeros(3))
    with pytest.raises(TreeError, match="cotangent must have the structure"):
        linear_transpose(lambda x: [x], X)(X)
    with pytest.raises(InputTypeError, match="takes a function"):
        linear_transpose(X)  # type: ignore[arg-type]
    assert tape.thread.scope is None
