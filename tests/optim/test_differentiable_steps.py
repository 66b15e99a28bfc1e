"""Derivatives through optimizer steps: by the parameters, by the gradients and by the hyperparameters, against central differences."""

import numpy as np
import pytest

from funcgrad import grad, optim, tree, value_and_grad

OPTIMIZERS = {
    "sgd": lambda rate: optim.sgd(rate),
    "nesterov": lambda rate: optim.sgd(rate, 0.9, True),
    "adam": lambda rate: optim.adam(rate, eps_root=1e-3),
    "nadam": lambda rate: optim.nadam(rate),
    "adamw": lambda rate: optim.adamw(rate, weight_decay=rate),
    "rmsprop": lambda rate: optim.rmsprop(rate, momentum=0.5),
    "centered": lambda rate: optim.rmsprop(rate, centered=True, eps=1e-2),
    "adagrad": lambda rate: optim.adagrad(rate),
    "adagrad without eps": lambda rate: optim.adagrad(rate, eps=0.0),
    "lion": lambda rate: optim.lion(rate, weight_decay=0.5),
    "clip": lambda rate: optim.chain(optim.clip(1.0), optim.ema(0.5), optim.sgd(rate)),
    "norm": lambda rate: optim.chain(optim.clip_by_global_norm(rate * 10.0), optim.sgd(0.3)),
    "cosine": lambda rate: optim.sgd(optim.cosine_decay(rate, 5, 0.1)),
    "warmup": lambda rate: optim.sgd(optim.warmup_cosine_decay(0.0, rate, 1, 5)),
    "exponential": lambda rate: optim.sgd(optim.exponential_decay(rate, 2, 0.5, end_value=0.01)),
    "piecewise": lambda rate: optim.sgd(optim.piecewise(rate, {1: 0.5})),
}


def loss(params):
    return np.sum(np.sin(params["w"]) ** 2) + params["b"] * params["b"] * np.sum(params["w"])


def trained(make, params, rate, steps=3):
    """The loss after some steps whose gradients are computed inside."""
    optimizer = make(rate)
    state = optimizer.init(params)
    for _ in range(steps):
        updates, state = optimizer.update(grad(loss)(params), state, params)
        params = optim.apply_updates(params, updates)
    return loss(params)


def central(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


PARAMS = {"w": np.array([0.5, -1.0, 2.0]), "b": 0.75}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_derivative_by_the_learning_rate(name):
    make = OPTIMIZERS[name]
    value, found = value_and_grad(lambda rate: trained(make, PARAMS, rate))(0.1)
    assert float(value) == pytest.approx(float(trained(make, PARAMS, 0.1)), rel=1e-13)
    assert type(found) is float
    assert found == pytest.approx(central(lambda rate: trained(make, PARAMS, rate), 0.1), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_derivative_by_the_parameters(name):
    make = OPTIMIZERS[name]
    found = grad(lambda params: trained(make, params, 0.1))(PARAMS)
    assert type(found["b"]) is float
    expected_b = central(lambda b: trained(make, {"w": PARAMS["w"], "b": b}, 0.1), PARAMS["b"])
    assert found["b"] == pytest.approx(expected_b, rel=1e-5, abs=1e-7)
    for i in range(3):
        unit = np.eye(3)[i]
        expected = central(lambda t, unit=unit: trained(make, {"w": PARAMS["w"] + t * unit, "b": PARAMS["b"]}, 0.1), 0.0)
        assert found["w"][i] == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_sgd_by_hand():
    """One step on x**2 from 3: loss (3 - 6a)**2, derivative -12 (3 - 6a) by the rate a."""

    def after(rate):
        optimizer = optim.sgd(rate)
        updates, _ = optimizer.update(6.0, optimizer.init(3.0))
        return optim.apply_updates(3.0, updates) ** 2

    assert grad(after)(0.25) == pytest.approx(-18.0, rel=1e-14)


def test_state_and_counts_stay_plain():
    optimizer = optim.adam(0.1)

    def step(params):
        _, state = optimizer.update(params, optimizer.init(params))
        assert state[0].count == 1
        assert type(state[0].count) is int
        return np.sum(tree.ravel(state[0].mu)[0])

    found = grad(step)(PARAMS)
    np.testing.assert_allclose(found["w"], [0.1] * 3, rtol=1e-14)
    assert found["b"] == pytest.approx(0.1, rel=1e-14)


def test_ravel_is_differentiable_both_ways():
    value = {"a": np.array([[1.0, 2.0]]), "b": 3.0, "c": np.array(4.0)}
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    found = grad(lambda params: np.sum(tree.ravel(params)[0] * weights))(value)
    assert found["a"].tolist() == [[1.0, 10.0]]
    assert found["b"] == 100.0
    assert found["c"] == 1000.0
    vector, unravel = tree.ravel(value)

    def back(v):
        again = unravel(v)
        assert again["a"].shape == (1, 2)
        assert again["c"].shape == ()
        return np.sum(again["a"] * np.array([[1.0, 10.0]])) + 100.0 * again["b"] + 1000.0 * again["c"]

    assert grad(back)(vector).tolist() == weights.tolist()
