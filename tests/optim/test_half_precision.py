"""float16: steps are computed in float32, so that small numbers of the rules and small squares are not lost."""

import numpy as np
import pytest

from funcgrad import grad, optim, tree

OPTIMIZERS = {
    "sgd": optim.sgd(0.1),
    "small rate": optim.sgd(1e-7),
    "schedule": optim.sgd(optim.constant(1e-7)),
    "nesterov": optim.sgd(0.1, 0.9, True),
    "adam": optim.adam(0.1),
    "nadam": optim.nadam(0.1),
    "adamw": optim.adamw(0.1, weight_decay=1e-6),
    "lion": optim.lion(0.1),
    "rmsprop": optim.rmsprop(0.1),
    "rmsprop outside": optim.rmsprop(0.1, eps_in_sqrt=False),
    "centered": optim.rmsprop(0.1, centered=True),
    "adagrad": optim.adagrad(0.1, initial_accumulator_value=0.0),
    "ema": optim.ema(0.999),
    "decay": optim.add_decayed_weights(1e-6),
    "scale": optim.scale(1e-7),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("size", [1e-5, 1e-3, 1.0, 500.0, 3e4])
def test_steps_are_those_of_float64(name, size):
    """Equal to the same numbers' steps in float64 but for the rounding of what leaves a transformation: twice, each at most 2**-11."""
    optimizer = OPTIMIZERS[name]
    rng = np.random.default_rng(0)
    params = np.array([1.0, -2.0, 0.5, 100.0], np.float16)
    state, wide_state = optimizer.init(params), optimizer.init(params.astype(float))
    for _ in range(1 if size > 1e4 else 6):
        grads = (rng.uniform(0.5, 1.0, size=4) * size).astype(np.float16)
        updates, state = optimizer.update(grads, state, params)
        wanted, wide_state = optimizer.update(grads.astype(float), wide_state, params.astype(float))
        assert updates.dtype == np.float16
        np.testing.assert_allclose(updates, wanted, rtol=1.1e-3, atol=1.3e-7 if "rate" not in name else 6e-8)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_zero_gradient_is_no_nan(name):
    optimizer = OPTIMIZERS[name]
    for params in (np.zeros(2, np.float16), np.float16(0.0), np.array(0.0, np.float16)):
        state = optimizer.init(params)
        for _ in range(2):
            updates, state = optimizer.update(params, state, params)  # zeros, as the parameters are
            assert updates.dtype == np.float16
            assert np.all(updates == 0)


def test_the_first_adam_step_is_the_rate_whatever_the_size():
    """g / |g| times the rate, from the smallest float16 number (whose square underflows) to the largest (whose square overflows)."""
    grads = np.array([1e-3, -1e-5, 6e-8, 300.0, 65504.0], np.float16)
    for make in (optim.adam, optim.adamw):
        optimizer = make(0.25, eps=1e-12)
        updates, _ = optimizer.update(grads, optimizer.init(0 * grads), 0 * grads)
        np.testing.assert_allclose(updates, -0.25 * np.sign(grads), rtol=1e-3)
    optimizer = optim.rmsprop(0.25, decay=0.75, eps=0.0)
    np.testing.assert_allclose(optimizer.update(grads, optimizer.init(grads))[0], -0.5 * np.sign(grads), rtol=1e-3)


def test_states_are_float32():
    params = {
        "half": np.ones(2, np.float16),
        "scalar": np.float16(1.0),
        "single": np.ones(2, np.float32),
        "double": np.ones(2),
        "number": 1.0,
    }
    for name in ("nesterov", "adam", "lion", "rmsprop", "centered", "adagrad", "ema"):
        state = OPTIMIZERS[name].init(params)
        _, after = OPTIMIZERS[name].update(params, state, params)
        for value in (state, after):
            held = [leaf.dtype for leaf in tree.leaves(value) if hasattr(leaf, "dtype")]
            assert held
            assert held == [np.float64, np.float32, np.float32, np.float32] * (len(held) // 4), name  # the keys are sorted


def test_derivatives_go_through():
    """The derivative of the sum of a first Adam step: by the rate -1 an element."""

    def moved(rate):
        optimizer = optim.adam(rate)
        params = np.ones(3, np.float16)
        updates, _ = optimizer.update(params, optimizer.init(params))
        return np.sum(updates)

    assert grad(moved)(0.1) == pytest.approx(-3.0, rel=1e-3)

    def halved(params):
        optimizer = optim.sgd(0.5)
        updates, _ = optimizer.update(params, optimizer.init(params))
        return np.sum(updates)

    found = grad(halved)(np.ones(3, np.float16))
    assert found.dtype == np.float16
    assert found.tolist() == [-0.5] * 3
