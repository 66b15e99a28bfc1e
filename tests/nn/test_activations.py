"""Activations against closed forms, far out too, and against JAX where it is installed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jacrev, jvp, nn, vjp
from funcgrad.errors import InputValueError, NoRuleError
from funcgrad.testing import check_grads

A = np.array
X = A([[-3.0, -0.5, 0.25], [0.75, 2.0, 5.0]])

ELEMENTWISE = {
    "relu": nn.relu,
    "leaky_relu": nn.leaky_relu,
    "elu": nn.elu,
    "gelu": nn.gelu,
    "silu": nn.silu,
    "softplus": nn.softplus,
    "sigmoid": nn.sigmoid,
    "log_sigmoid": nn.log_sigmoid,
}
each = pytest.mark.parametrize("name", list(ELEMENTWISE))


def closed_form(name: str, x: float) -> tuple[float, float]:
    """Value and derivative, by the textbook, for x of moderate size."""
    s = 1 / (1 + math.exp(-x))
    u, du = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3), math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return {
        "relu": (max(x, 0.0), float(x > 0)),
        "leaky_relu": (x if x > 0 else 0.01 * x, 1.0 if x > 0 else 0.01),
        "elu": (x if x > 0 else math.exp(x) - 1, 1.0 if x > 0 else math.exp(x)),
        "gelu": (0.5 * x * (1 + math.tanh(u)), 0.5 * (1 + math.tanh(u)) + 0.5 * x * du / math.cosh(u) ** 2),
        "silu": (x * s, s + x * s * (1 - s)),
        "softplus": (math.log(1 + math.exp(x)), s),
        "sigmoid": (s, s * (1 - s)),
        "log_sigmoid": (-math.log(1 + math.exp(-x)), 1 - s),
    }[name]


@each
def test_closed_forms(name: str):
    f = ELEMENTWISE[name]
    wanted = A([closed_form(name, x) for x in X.ravel().tolist()])
    np.testing.assert_allclose(f(X).ravel(), wanted[:, 0], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(vjp(f, X)[1](np.ones_like(X))[0].ravel(), wanted[:, 1], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(jvp(f, (X,), (np.ones_like(X),))[1].ravel(), wanted[:, 1], rtol=1e-12, atol=1e-15)


@each
def test_second_order(name: str):
    check_grads(ELEMENTWISE[name], (X,))
    check_grads(ELEMENTWISE[name], (-0.7,))


@each
def test_python_floats_stay(name: str):
    f = ELEMENTWISE[name]
    value, slope = closed_form(name, -0.5)
    assert type(f(-0.5)) is float
    assert f(-0.5) == pytest.approx(value, rel=1e-13)
    assert type(grad(f)(-0.5)) is float
    assert grad(f)(-0.5) == pytest.approx(slope, rel=1e-13)
    assert all(type(one) is float for one in jvp(f, (-0.5,), (1.0,)))


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble])
def test_dtypes_stay(name: str, dtype: Any):
    f, x = ELEMENTWISE[name], X.astype(dtype)
    value, pullback = vjp(f, x)
    assert f(x).dtype == value.dtype == pullback(np.ones_like(x))[0].dtype == dtype
    eps = max(float(np.finfo(dtype).eps), 2.2e-16)
    np.testing.assert_allclose(value.astype(float), f(X), rtol=8 * eps, atol=4 * eps)


FAR_OUT = [
    ("relu", -1e300, 0.0, 0.0), ("relu", 1e300, 1e300, 1.0), ("relu", 0.0, 0.0, 0.0),
    ("leaky_relu", -1e300, -1e298, 0.01), ("leaky_relu", 1e300, 1e300, 1.0), ("leaky_relu", 0.0, 0.0, 0.01),
    ("elu", -1000.0, -1.0, 0.0), ("elu", 1000.0, 1000.0, 1.0), ("elu", 0.0, 0.0, 1.0), ("elu", -1e-20, -1e-20, 1.0),
    ("gelu", -1e300, 0.0, 0.0), ("gelu", 1e300, 1e300, 1.0), ("gelu", 0.0, 0.0, 0.5), ("gelu", 40.0, 40.0, 1.0), ("gelu", -40.0, 0.0, 0.0),
    ("silu", -1000.0, 0.0, 0.0), ("silu", 1000.0, 1000.0, 1.0), ("silu", 0.0, 0.0, 0.5),
    ("softplus", -1000.0, 0.0, 0.0), ("softplus", 1000.0, 1000.0, 1.0), ("softplus", -50.0, math.exp(-50.0), math.exp(-50.0)),
    ("sigmoid", -700.0, math.exp(-700.0), math.exp(-700.0)), ("sigmoid", 1000.0, 1.0, 0.0),
    ("log_sigmoid", -1000.0, -1000.0, 1.0), ("log_sigmoid", 1000.0, 0.0, 0.0), ("log_sigmoid", 50.0, -math.exp(-50.0), math.exp(-50.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "value", "slope"), FAR_OUT)
def test_far_out(name: str, x: float, value: float, slope: float):
    """To the last digits, and without a warning."""
    f = ELEMENTWISE[name]
    assert f(x) == pytest.approx(value, rel=1e-14, abs=0)
    assert grad(f)(x) == pytest.approx(slope, rel=1e-14, abs=0)
    assert float(f(A([x]))[0]) == pytest.approx(value, rel=1e-14, abs=0)
    assert float(grad(lambda x: np.sum(f(x)))(A([x]))[0]) == pytest.approx(slope, rel=1e-14, abs=0)


def test_slopes_and_scales_can_be_learned():
    x = A([-2.0, 3.0])
    np.testing.assert_allclose(jacrev(lambda slope: nn.leaky_relu(x, slope))(0.1), [-2.0, 0.0])
    np.testing.assert_allclose(jacrev(lambda alpha: nn.elu(x, alpha))(0.1), [math.exp(-2.0) - 1, 0.0], rtol=1e-15)
    check_grads(nn.leaky_relu, (x, A([0.1, 0.2])))


def test_exact_gelu_says_what_is_missing():
    with pytest.raises(NoRuleError, match="needs the error function"):
        nn.gelu(1.0, approximate=False)


# ------------------------------------------------------------------------------------------------ over an axis


@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_softmax_and_its_logarithm(axis: Any):
    e = np.exp(X)
    wanted = e / e.sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(nn.softmax(X, axis), wanted, rtol=1e-14)
    np.testing.assert_allclose(nn.log_softmax(X, axis), np.log(wanted), rtol=1e-13)
    check_grads(lambda x: nn.softmax(x, axis), (X,))
    check_grads(lambda x: nn.log_softmax(x, axis), (X,))
    assert nn.softmax(X.astype(np.float32), axis).dtype == nn.log_softmax(X.astype(np.float32), axis).dtype == np.float32


def test_jacobian_of_softmax():
    x = A([0.0, 1.0, -0.5])
    p = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(jacrev(nn.softmax)(x), np.diag(p) - np.outer(p, p), atol=1e-16)
    np.testing.assert_allclose(jacrev(nn.log_softmax)(x), np.eye(3) - p, atol=1e-15)


def test_softmax_far_out():
    np.testing.assert_array_equal(nn.softmax(A([1e4, 1e4, -1e4])), [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(nn.softmax(A([0.0, -np.inf])), [1.0, 0.0])
    np.testing.assert_array_equal(nn.log_softmax(A([0.0, -1e4])), [0.0, -1e4])
    np.testing.assert_array_equal(grad(lambda x: nn.log_softmax(x)[1])(A([0.0, -1e4])), [-1.0, 1.0])
    np.testing.assert_array_equal(grad(lambda x: nn.softmax(x)[0])(A([0.0, -np.inf])), [0.0, 0.0])


@pytest.mark.parametrize("f", [nn.softmax, nn.log_softmax])
def test_softmax_of_a_number_is_refused(f: Any):
    with pytest.raises(InputValueError, match="needs an axis to run over, got a number"):
        f(1.0)


def test_logsumexp_signature():
    wanted = np.log(np.sum(np.exp(X)))
    assert float(nn.logsumexp(X)) == pytest.approx(wanted, rel=1e-15)
    np.testing.assert_allclose(nn.logsumexp(X, axis=1, keepdims=True), np.log(np.exp(X).sum(1, keepdims=True)), rtol=1e-15)
    np.testing.assert_allclose(nn.logsumexp(X, [0, 1]), wanted, rtol=1e-15)
    np.testing.assert_allclose(grad(nn.logsumexp)(X), nn.softmax(X, None), rtol=1e-14)
    check_grads(lambda x: nn.logsumexp(x, -1), (X,))


# ------------------------------------------------------------------------------------------------ a peer


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.mark.parametrize("name", [*ELEMENTWISE, "softmax", "log_softmax", "logsumexp"])
def test_agrees_with_jax(jax: Any, name: str):
    ours, theirs = getattr(nn, name), getattr(jax.nn, name)
    x, weights = np.random.default_rng(0).normal(size=(2, 4, 5)) * 3.0
    scale = float(weights[0, 0]) if name == "logsumexp" else weights
    np.testing.assert_allclose(ours(x), np.asarray(theirs(x)), rtol=1e-13, atol=1e-15)
    gradient = jax.grad(lambda x: jax.numpy.sum(theirs(x) * scale))(x)
    np.testing.assert_allclose(grad(lambda x: np.sum(ours(x) * scale))(x), np.asarray(gradient), rtol=1e-12, atol=1e-14)
