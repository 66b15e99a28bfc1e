"""Losses against closed forms, far out too, and against optax where it is installed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jit, jvp, nn, value_and_grad, vmap
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.testing import check_grads

A = np.array
SCORES = A([[-2.0, 0.5, 3.0], [0.0, -1.0, 4.0]])
BITS = A([[0, 1, 1], [1, 0, 0]])
TARGETS = A([[-1.5, 0.5, 0.0], [2.0, -1.0, 3.8]])
LOSSES = {
    "sigmoid_binary_cross_entropy": (nn.sigmoid_binary_cross_entropy, BITS),
    "logistic_loss": (nn.logistic_loss, 2 * BITS - 1),
    "mse": (nn.mse, TARGETS),
    "huber": (nn.huber, TARGETS + 0.01),
    "softmax_cross_entropy": (nn.softmax_cross_entropy, A([2, 0])),
}
each = pytest.mark.parametrize("name", list(LOSSES))
ELEMENTWISE = [name for name in LOSSES if name != "softmax_cross_entropy"]


def closed_form(name: str, x: float, t: float) -> tuple[float, float]:
    """The loss of one number and its derivative."""
    s, d = 1 / (1 + math.exp(-x)), x - t
    return {
        "sigmoid_binary_cross_entropy": (-t * math.log(s) - (1 - t) * math.log(1 - s), s - t),
        "logistic_loss": (math.log(1 + math.exp(-t * x)), -t / (1 + math.exp(t * x))),
        "mse": (d * d, 2 * d),
        "huber": (d * d / 2, d) if abs(d) <= 1 else (abs(d) - 0.5, math.copysign(1.0, d)),
    }[name]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_closed_forms(name: str):
    f, targets = LOSSES[name]
    wanted = A([closed_form(name, x, t) for x, t in zip(SCORES.ravel().tolist(), targets.ravel().tolist(), strict=True)])
    assert float(f(SCORES, targets)) == pytest.approx(wanted[:, 0].mean(), rel=1e-13)
    np.testing.assert_allclose(grad(f)(SCORES, targets).ravel(), wanted[:, 1] / 6, rtol=1e-12, atol=1e-16)
    value, slope = closed_form(name, 0.3, float(targets[0, 1]))
    got = f(0.3, float(targets[0, 1]))
    assert type(got) is float
    assert got == pytest.approx(value, rel=1e-13)
    derivative = grad(f)(0.3, float(targets[0, 1]))
    assert type(derivative) is float
    assert derivative == pytest.approx(slope, rel=1e-13)


@each
def test_second_order(name: str):
    f, targets = LOSSES[name]
    check_grads(lambda x: f(x, targets), (SCORES,))


@each
def test_float32_stays(name: str):
    f, targets = LOSSES[name]
    value, tangent = jvp(lambda x: f(x, targets), (SCORES.astype(np.float32),), (np.ones((2, 3), np.float32),))
    assert value.dtype == tangent.dtype == np.float32
    assert float(value) == pytest.approx(float(f(SCORES, targets)), rel=1e-6)
    assert f(SCORES.astype(np.float32), targets).dtype == np.float32


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.float64])
def test_labels_of_every_kind(dtype: Any):
    assert float(nn.sigmoid_binary_cross_entropy(SCORES, BITS.astype(dtype))) == float(nn.sigmoid_binary_cross_entropy(SCORES, BITS))
    ones = np.ones((2, 3), dtype)
    assert float(nn.logistic_loss(SCORES, ones)) == pytest.approx(float(np.mean(np.log1p(np.exp(-SCORES)))), rel=1e-14)
    assert float(nn.mse(SCORES, ones)) == pytest.approx(float(np.mean((SCORES - 1) ** 2)), rel=1e-14)


def test_soft_labels_and_gradients_in_them():
    soft = np.full((2, 3), 0.3)
    check_grads(nn.sigmoid_binary_cross_entropy, (SCORES, soft))
    check_grads(nn.mse, (SCORES, TARGETS))
    np.testing.assert_allclose(grad(nn.mse, 1)(SCORES, TARGETS), (TARGETS - SCORES) / 3, rtol=1e-14)
    np.testing.assert_allclose(grad(nn.sigmoid_binary_cross_entropy, 1)(SCORES, soft), -SCORES / 6, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize(
    ("f", "x", "t", "value", "slope"),
    [
        (nn.sigmoid_binary_cross_entropy, 1000.0, 1.0, 0.0, 0.0),
        (nn.sigmoid_binary_cross_entropy, 1000.0, 0.0, 1000.0, 1.0),
        (nn.sigmoid_binary_cross_entropy, 50.0, 1.0, math.exp(-50.0), -math.exp(-50.0)),
        (nn.logistic_loss, -1000.0, 1.0, 1000.0, -1.0),
        (nn.logistic_loss, 50.0, 1.0, math.exp(-50.0), -math.exp(-50.0)),
        (nn.huber, 1e300, 0.0, 1e300, 1.0),
        (nn.huber, -1e300, 0.0, 1e300, -1.0),
        (nn.huber, 1e-200, 0.0, 0.0, 1e-200),
    ],
)
def test_far_out(f: Any, x: float, t: float, value: float, slope: float):
    assert f(x, t) == pytest.approx(value, rel=1e-14, abs=0)
    assert grad(f)(x, t) == pytest.approx(slope, rel=1e-14, abs=0)


def test_huber_at_its_corners():
    assert nn.huber(0.0, 0.0) == grad(nn.huber)(0.0, 0.0) == 0.0
    assert grad(grad(nn.huber))(0.0, 0.0) == 1.0
    assert grad(nn.huber)(1.0, 0.0) == 1.0
    assert grad(nn.huber)(-1.0, 0.0) == -1.0
    assert nn.huber(3.0, 0.0, delta=2.0) == 4.0
    assert grad(nn.huber)(3.0, 0.0, delta=2.0) == 2.0


def test_softmax_cross_entropy_is_composed_otherwise_the_same():
    labels = A([2, 0])
    by_hand = -np.mean(np.sum(nn.one_hot(labels, 3) * nn.log_softmax(SCORES), axis=1))
    assert float(nn.softmax_cross_entropy(SCORES, labels)) == pytest.approx(float(by_hand), rel=1e-15)
    assert float(nn.softmax_cross_entropy(SCORES, nn.one_hot(labels, 3))) == pytest.approx(float(by_hand), rel=1e-15)
    wanted = (nn.softmax(SCORES) - nn.one_hot(labels, 3)) / 2
    np.testing.assert_allclose(grad(nn.softmax_cross_entropy)(SCORES, labels), wanted, rtol=1e-14, atol=1e-17)


@pytest.mark.parametrize("of_weights", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_softmax_cross_entropy_of_many_rows_in_float16(of_weights: bool, compiled: bool):
    """The sum over the rows is 80,000, beyond 65,504; so is their number times that of the classes."""
    rows, labels = 1 << 15, np.zeros(1 << 15, int)
    logits = np.tile(np.float16([0.0, 2.5]), (rows, 1))
    derivative = value_and_grad(nn.softmax_cross_entropy)
    value, gradient = (jit(derivative) if compiled else derivative)(logits, nn.one_hot(labels, 2) if of_weights else labels)
    assert value.dtype == gradient.dtype == np.float16
    assert float(value) == pytest.approx(np.log1p(np.exp(2.5)), rel=1e-3)
    share = 1.0 / (1.0 + np.exp(2.5))
    np.testing.assert_allclose(gradient[::5000].astype(float), [[(share - 1.0) / rows, (1.0 - share) / rows]] * 7, rtol=1e-2)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["u8", ">i8", ">i2", "i1"])
def test_softmax_cross_entropy_of_labels_and_logits_of_any_integer_and_byte_order(kind: str, compiled: bool):
    loss = jit(nn.softmax_cross_entropy) if compiled else nn.softmax_cross_entropy
    wanted = np.mean(np.log(np.exp(SCORES).sum(1)) - SCORES[[0, 1], [2, 0]])
    assert float(loss(SCORES, A([2, 0]).astype(kind))) == pytest.approx(float(wanted), rel=1e-14)
    assert float(loss(SCORES.astype(">f8"), A([2, 0]).astype(kind))) == pytest.approx(float(wanted), rel=1e-14)
    assert float(loss(A([[2, 0], [0, 1]]), A([0, 1]).astype(kind))) == pytest.approx((np.log1p(np.exp(-2.0)) + np.log1p(np.exp(-1.0))) / 2)
    assert float(loss(np.zeros(3), 2)) == pytest.approx(np.log(3.0), rel=1e-14)
    assert float(loss(np.tile([1000.0, 0.0], (6, 1)), np.zeros(6, kind))) == 0.0
    with pytest.raises((InputValueError, ValueError)):
        loss(np.zeros((2, 0)), np.zeros(2, kind))


@pytest.mark.parametrize("compiled", [False, True])
def test_softmax_cross_entropy_of_integer_logits_keeps_fractions_of_weights(compiled: bool):
    """By hand: the means of log(e**2 + 1) - 1 and log(1 + e) - 1/2."""
    loss = jit(nn.softmax_cross_entropy) if compiled else nn.softmax_cross_entropy
    wanted = (np.log(np.exp(2.0) + 1.0) - 1.0 + np.log(1.0 + np.exp(1.0)) - 0.5) / 2
    for logits in (A([[2, 0], [0, 1]]), A([[2, 0], [0, 1]], np.uint8), *([] if compiled else [[[2, 0], [0, 1]]])):
        assert float(loss(logits, np.full((2, 2), 0.5))) == pytest.approx(wanted, rel=1e-14)


def test_what_are_no_numbers_and_no_classes():
    for logits in ([["a", "b"]], A([[1j, 0]])):
        with pytest.raises(InputTypeError, match="softmax_cross_entropy: logits must be real numbers, got"):
            nn.softmax_cross_entropy(logits, A([0]))
    with pytest.raises(InputTypeError, match="softmax_cross_entropy: weights must be real numbers, got complex128"):
        nn.softmax_cross_entropy(A([[1.0, 2.0]]), A([[1, 5j]]))
    for logits, labels in ((np.zeros((3, 0)), np.zeros(3, int)), (np.zeros((3, 0)), np.zeros((3, 0))), (np.zeros((0, 0)), []), (1.0, 0)):
        with pytest.raises(InputValueError, match=r"softmax_cross_entropy: logits need a last axis, of classes, got shape \("):
            nn.softmax_cross_entropy(logits, labels)
    for delta in ("a", A([1.0, 2.0])):
        with pytest.raises((InputTypeError, InputValueError), match="huber: delta must be"):
            nn.huber(1.0, 0.0, delta=delta)


def test_unsigned_predictions_do_not_wrap_around():
    """By hand: log(1 + exp(-3)), and squares of -2 and 1."""
    three, one = A([3], np.uint8), A([1], np.uint8)
    for f in (nn.sigmoid_binary_cross_entropy, vmap(nn.sigmoid_binary_cross_entropy), jit(nn.sigmoid_binary_cross_entropy)):
        assert float(np.squeeze(f(three, one))) == pytest.approx(math.log1p(math.exp(-3.0)), rel=1e-14)
    assert float(nn.mse(A([1, 2], np.uint8), A([3, 1], np.uint8))) == 2.5
    assert float(nn.logistic_loss(three, A([1]))) == pytest.approx(math.log1p(math.exp(-3.0)), rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_values_have_the_dtype_of_the_predictions_under_every_transform(name: str, dtype: Any):
    f, _ = LOSSES[name]
    predictions = A([0.5, 0.25, 2.0], dtype)
    for labels in (A([1, 1, 1]), A([True, True, True]), A([1.0, 1.0, 1.0])):
        for value in (f(predictions, labels), jit(f)(predictions, labels), vmap(f)(predictions[None], labels[None])):
            assert value.dtype == dtype


def test_bad_labels_of_examples():
    with pytest.raises(InputValueError, match="labels must be -1 or 1, got 2"):
        vmap(nn.logistic_loss)(np.ones((2, 2)), A([[1, -1], [2, 1]]))
    with pytest.raises(InputValueError, match=r"labels must lie between 0 and 1, got 0\.0 to 2\.0"):
        vmap(nn.sigmoid_binary_cross_entropy)(np.ones((2, 2)), A([[1.0, 0.0], [2.0, 1.0]]))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_shapes_that_would_broadcast_are_refused(name: str):
    f, _ = LOSSES[name]
    with pytest.raises(InputValueError, match=rf"{name}: .* must be of one shape, got \(3, 1\) and \(3,\): reshape"):
        f(np.ones((3, 1)), np.ones(3))


def test_bad_labels_are_refused():
    with pytest.raises(InputValueError, match=r"labels must lie between 0 and 1, got -1.0 to 1.0 \(for -1 and 1: logistic_loss\)"):
        nn.sigmoid_binary_cross_entropy(np.ones(2), A([-1, 1]))
    with pytest.raises(InputValueError, match=r"labels must be -1 or 1, got 0.0 \(for 0 and 1: sigmoid_binary_cross_entropy\)"):
        nn.logistic_loss(np.ones(2), A([0, 1]))
    with pytest.raises(InputTypeError, match="labels must be real numbers, got <U1"):
        nn.logistic_loss(np.ones(2), ["a", "b"])
    with pytest.raises(InputTypeError, match="targets must be real numbers, got complex128"):
        nn.mse(np.ones(2), A([1j, 0]))
    with pytest.raises(InputValueError, match="delta must be a number above 0, got 0"):
        nn.huber(1.0, 0.0, delta=0)
    with pytest.raises(InputValueError, match="labels must be -1 or 1, got nan"):
        nn.logistic_loss(1.0, math.nan)


@each
def test_agrees_with_optax(name: str):
    jax = pytest.importorskip("jax", reason="compares with optax, which needs JAX")
    optax = pytest.importorskip("optax", reason="compares with optax, which is not installed")
    jax.config.update("jax_enable_x64", True)
    f, targets = LOSSES[name]
    theirs = {
        "sigmoid_binary_cross_entropy": lambda x: optax.sigmoid_binary_cross_entropy(x, targets),
        "logistic_loss": lambda x: jax.nn.softplus(-targets * x),
        "mse": lambda x: optax.squared_error(x, targets),
        "huber": lambda x: optax.huber_loss(x, targets),
        "softmax_cross_entropy": lambda x: optax.softmax_cross_entropy_with_integer_labels(x, targets),
    }[name]
    value, gradient = jax.value_and_grad(lambda x: theirs(x).mean())(SCORES)
    assert float(f(SCORES, targets)) == pytest.approx(float(value), rel=1e-13)
    np.testing.assert_allclose(grad(f)(SCORES, targets), np.asarray(gradient), rtol=1e-12, atol=1e-15)


def test_cross_entropy_has_the_derivative_of_soft_labels():
    logits, labels = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, -1.0]]), np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    log_softmax = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    np.testing.assert_allclose(grad(nn.softmax_cross_entropy, 1)(logits, labels), -log_softmax / 2, rtol=1e-14)
    both = grad(nn.softmax_cross_entropy, (0, 1))(logits, labels)
    np.testing.assert_allclose(both[0], grad(nn.softmax_cross_entropy)(logits, labels), rtol=1e-14)
    assert nn.softmax_cross_entropy([[2.0, 0.0]], [0]) == pytest.approx(np.log1p(np.exp(-2.0)), rel=1e-14)
