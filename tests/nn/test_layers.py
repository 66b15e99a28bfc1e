"""Layers against what NumPy computes by hand, and their misuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, nn, tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.testing import check_grads

A = np.array


def test_dense_in_all_forms():
    rng = np.random.default_rng(0)
    w, b, x = rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=(4, 5, 3))
    for params, wanted in [({"w": w, "b": b}, x @ w + b), ((w, b), x @ w + b), ([w, b], x @ w + b), ({"w": w}, x @ w), ((w, None), x @ w)]:
        np.testing.assert_array_equal(nn.dense(params, x), wanted)
        check_grads(nn.dense, (params, x[0]), order=1)


def test_mlp_is_dense_layers_with_activations_between():
    params = nn.init.mlp(np.random.default_rng(1), [3, 4, 4, 2])
    x = np.random.default_rng(2).normal(size=(5, 3))
    (w1, b1), (w2, b2), (w3, b3) = ((layer["w"], layer["b"]) for layer in params)
    by_hand = np.maximum(np.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3
    np.testing.assert_array_equal(nn.mlp(params, x), by_hand)
    by_hand = np.tanh(np.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3
    np.testing.assert_array_equal(nn.mlp(params, x, activation=np.tanh), by_hand)
    np.testing.assert_array_equal(nn.mlp([(w3, b3)], np.ones(4)), np.ones(4) @ w3 + b3)
    check_grads(lambda params: nn.mlp(params, x, activation=np.tanh), (params,))


def test_a_network_learns():
    """Least squares by gradient descent on a plane: the loss falls to nothing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2))
    y = x @ A([[2.0], [-1.0]]) + 0.5
    params = nn.init.mlp(rng, [2, 1])
    for _ in range(200):
        gradient = grad(lambda params: nn.mse(nn.mlp(params, x), y))(params)
        params = tree.map(lambda p, g: p - 0.2 * g, params, gradient)
    np.testing.assert_allclose(params[0]["w"], [[2.0], [-1.0]], atol=1e-8)
    np.testing.assert_allclose(params[0]["b"], [0.5], atol=1e-8)


def test_misuse_of_dense_and_mlp():
    w, b = np.ones((3, 2)), np.ones(2)
    with pytest.raises(InputValueError, match=r"dense: x of shape .* got \(4, 2\) and \(3, 2\)"):
        nn.dense((w, b), np.ones((4, 2)))
    with pytest.raises(InputValueError, match=r"goes with b of shape \(2,\), got \(3,\)"):
        nn.dense((w, np.ones(3)), np.ones(3))
    with pytest.raises(InputTypeError, match=r"got a mapping with the keys \['bias', 'w'\]"):
        nn.dense({"w": w, "bias": b}, np.ones(3))
    with pytest.raises(InputTypeError, match="got a tuple of 3"):
        nn.dense((w, b, b), np.ones(3))
    with pytest.raises(InputTypeError, match="got ndarray"):
        nn.dense(w, np.ones(3))
    with pytest.raises(InputTypeError, match="mlp: params must be a list with an entry for each layer, got dict"):
        nn.mlp({"w": w, "b": b}, np.ones(3))  # type: ignore[arg-type]


def test_dropout_keeps_the_mean_and_drops_the_rate():
    x = np.ones((300, 300))
    got = nn.dropout(np.random.default_rng(0), x, 0.25)
    assert set(np.unique(got).tolist()) == {0.0, 1 / 0.75}
    assert abs(np.mean(got == 0) - 0.25) < 5 * np.sqrt(0.25 * 0.75 / x.size)
    assert got.mean() == pytest.approx(1.0, abs=0.01)


def test_dropout_has_the_gradient_of_its_mask():
    x = A([1.0, 2.0, 3.0, 4.0])
    mask = np.random.default_rng(3).random(4) >= 0.5
    assert 0 < mask.sum() < 4
    np.testing.assert_array_equal(grad(lambda x: np.sum(nn.dropout(np.random.default_rng(3), x, 0.5)))(x), 2.0 * mask)


def test_dropout_at_its_edges():
    x = A([1.0, 2.0], np.float32)
    assert nn.dropout(np.random.default_rng(0), x, 0.0) is x
    assert nn.dropout(np.random.default_rng(0), x, 0.9).dtype == np.float32
    assert grad(lambda x: np.sum(nn.dropout(np.random.default_rng(0), x, 0.9)))(x).dtype == np.float32
    assert type(grad(lambda x: nn.dropout(np.random.default_rng(0), x, 0.5))(2.0)) is float
    for rate in (1.0, -0.1, np.nan):
        with pytest.raises(InputValueError, match="rate must be at least 0 and below 1, got"):
            nn.dropout(np.random.default_rng(0), x, rate)
    with pytest.raises(InputTypeError, match=r"rng must be a numpy.random.Generator .* got int"):
        nn.dropout(0, x, 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
def test_layer_norm(axis: Any):
    x = np.random.default_rng(0).normal(size=(3, 4)) * 5 + 2
    wanted = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.layer_norm(x, axis=axis), wanted, rtol=1e-12)
    scale, bias = np.arange(4.0), np.full(4, 0.5)
    np.testing.assert_allclose(nn.layer_norm(x, scale, bias, axis), wanted * scale + bias, rtol=1e-12)
    check_grads(lambda x, scale, bias: nn.layer_norm(x, scale, bias, axis), (x, scale, bias))
    assert nn.layer_norm(x.astype(np.float32), axis=axis).dtype == np.float32


def test_layer_norm_of_equal_numbers_is_zero_with_finite_derivatives():
    x = np.full((2, 3), 7.0)
    np.testing.assert_array_equal(nn.layer_norm(x), np.zeros((2, 3)))
    np.testing.assert_allclose(grad(lambda x: nn.layer_norm(x)[0, 0])(x), A([[2, -1, -1], [0, 0, 0]]) / 3 / np.sqrt(1e-5), rtol=1e-10)


def test_layer_norm_refuses_what_would_stretch_x():
    with pytest.raises(InputValueError, match=r"scale must broadcast to x's shape \(3,\), got \(2, 3\)"):
        nn.layer_norm(np.ones(3), np.ones((2, 3)))
    with pytest.raises(InputValueError, match=r"bias must broadcast to x's shape \(2, 3\), got \(2,\)"):
        nn.layer_norm(np.ones((2, 3)), None, np.ones(2))


def test_layer_norm_agrees_with_torch():
    torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
    x, g = np.random.default_rng(0).normal(size=(2, 3, 4))
    theirs = torch.tensor(x, requires_grad=True)
    value = torch.nn.functional.layer_norm(theirs, (4,))
    (value * torch.tensor(g)).sum().backward()
    np.testing.assert_allclose(nn.layer_norm(x), value.detach().numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(grad(lambda x: np.sum(nn.layer_norm(x) * g))(x), theirs.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_one_hot():
    np.testing.assert_array_equal(nn.one_hot(A([[1], [0]]), 2), [[[0, 1]], [[1, 0]]])
    np.testing.assert_array_equal(nn.one_hot(2, 3), [0, 0, 1])
    assert nn.one_hot(A([1], np.uint8), 2, np.float32).dtype == np.float32
    assert nn.one_hot([], 3).shape == (0, 3)
    with pytest.raises(InputValueError, match=r"labels must lie in 0\.\.2, got 0 to 3"):
        nn.one_hot(A([0, 3]), 3)
    with pytest.raises(InputValueError, match="got -1 to 1"):
        nn.one_hot(A([-1, 1]), 3)
    with pytest.raises(InputTypeError, match="labels must be integers, got float64"):
        nn.one_hot(A([0.0, 1.0]), 3)
