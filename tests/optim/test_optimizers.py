"""Update rules: against closed forms written out as sums over the past, and against optax where it is installed."""

import math

import numpy as np
import pytest

from funcgrad import optim, tree

STEPS = 8
GRADS = [0.5, -1.5, 2.0, 0.25, -3.0, 1e-3, 0.0, 4.0]


def run(optimizer, grads, params):
    """The updates and the final parameters of one optimizer that is fed the given gradients."""
    state = optimizer.init(params)
    found = []
    for grad in grads:
        updates, state = optimizer.update(grad, state, params)
        params = optim.apply_updates(params, updates)
        found.append(updates)
    return found, params


def weighted(decay, values):
    """Sum over i of decay**(t - i) * values[i]: what exponential averages are before they are scaled."""
    return sum(decay ** (len(values) - 1 - i) * value for i, value in enumerate(values))


def past(t):
    return GRADS[:t]


def squares(t):
    return [g * g for g in GRADS[:t]]


def adam_direction(t, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0):
    mean = weighted(b1, past(t)) / weighted(b1, [1.0] * t)
    square = weighted(b2, squares(t)) / weighted(b2, [1.0] * t)
    return mean / (math.sqrt(square + eps_root) + eps)


def nadam_direction(t, b1=0.9, b2=0.999, eps=1e-8):
    ahead = b1 * weighted(b1, past(t)) / weighted(b1, [1.0] * (t + 1)) + (1 - b1) * GRADS[t - 1] / (1 - b1**t)
    return ahead / (math.sqrt(weighted(b2, squares(t)) / weighted(b2, [1.0] * t)) + eps)


def lion_direction(t, b1=0.9, b2=0.99):
    mixed = b1 * (1 - b2) * weighted(b2, past(t - 1)) + (1 - b1) * GRADS[t - 1]
    return float(np.sign(mixed))


def rms_direction(t, decay=0.9, eps=1e-8, initial=0.0):
    return GRADS[t - 1] / math.sqrt((1 - decay) * weighted(decay, squares(t)) + decay**t * initial + eps)


CLOSED_FORMS = {
    "sgd": (optim.sgd(0.1), lambda t: -0.1 * GRADS[t - 1]),
    "momentum": (optim.sgd(0.1, momentum=0.9), lambda t: -0.1 * weighted(0.9, past(t))),
    "nesterov": (optim.sgd(0.1, 0.9, True), lambda t: -0.1 * (GRADS[t - 1] + 0.9 * weighted(0.9, past(t)))),
    "sgd schedule": (optim.sgd(optim.exponential_decay(1.0, 1, 0.5)), lambda t: -(0.5 ** (t - 1)) * GRADS[t - 1]),
    "adam": (optim.adam(0.01), lambda t: -0.01 * adam_direction(t)),
    "adam all": (optim.adam(0.01, 0.8, 0.95, 1e-3, 1e-2), lambda t: -0.01 * adam_direction(t, 0.8, 0.95, 1e-3, 1e-2)),
    "nadam": (optim.nadam(0.01), lambda t: -0.01 * nadam_direction(t)),
    "rmsprop": (optim.rmsprop(0.01), lambda t: -0.01 * rms_direction(t)),
    "rmsprop scale": (optim.rmsprop(0.01, 0.8, 1e-2, 1.0), lambda t: -0.01 * rms_direction(t, 0.8, 1e-2, 1.0)),
    "rmsprop momentum": (
        optim.rmsprop(0.01, momentum=0.5),
        lambda t: weighted(0.5, [-0.01 * rms_direction(i) for i in range(1, t + 1)]),
    ),
    "rmsprop outside": (
        optim.rmsprop(0.01, eps=1e-3, eps_in_sqrt=False),
        lambda t: -0.01 * GRADS[t - 1] / (math.sqrt(0.1 * weighted(0.9, squares(t))) + 1e-3),
    ),
    "rmsprop unbiased": (
        optim.rmsprop(0.01, bias_correction=True),
        lambda t: -0.01 * GRADS[t - 1] / math.sqrt(weighted(0.9, squares(t)) / weighted(0.9, [1.0] * t) + 1e-8),
    ),
    "rmsprop centered": (
        optim.rmsprop(0.01, centered=True),
        lambda t: -0.01 * GRADS[t - 1] / math.sqrt(0.1 * weighted(0.9, squares(t)) - (0.1 * weighted(0.9, past(t))) ** 2 + 1e-8),
    ),
    "adagrad": (optim.adagrad(0.1), lambda t: -0.1 * GRADS[t - 1] / math.sqrt(0.1 + sum(squares(t)) + 1e-7)),
    "adagrad zero": (optim.adagrad(0.1, 0.0, 0.0), lambda t: -0.1 * GRADS[t - 1] / math.sqrt(sum(squares(t)))),
    "ema": (optim.ema(0.9), lambda t: weighted(0.9, past(t)) / weighted(0.9, [1.0] * t)),
    "ema biased": (optim.ema(0.9, debias=False), lambda t: 0.1 * weighted(0.9, past(t))),
    "lion": (optim.lion(0.1, weight_decay=0.0), lambda t: -0.1 * lion_direction(t)),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_form(name):
    optimizer, update = CLOSED_FORMS[name]
    expected = [update(t) for t in range(1, STEPS + 1)]
    updates, params = run(optimizer, GRADS, 2.0)
    assert all(type(u) is float for u in updates)
    assert type(params) is float
    np.testing.assert_allclose(updates, expected, rtol=1e-12, atol=1e-15)
    assert params == pytest.approx(2.0 + sum(expected), rel=1e-12)
    arrays, _ = run(optimizer, [{"a": [np.array([[g, 2 * g]]), np.float64(g)]} for g in GRADS], {"a": [np.zeros((1, 2)), np.float64(0.0)]})
    np.testing.assert_allclose([u["a"][0][0, 0] for u in arrays], expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose([u["a"][1] for u in arrays], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("make", "direction"), [(optim.adamw, adam_direction), (optim.lion, lion_direction)])
def test_weight_decay_is_decoupled(make, direction):
    updates, _ = run(make(0.01, weight_decay=0.1), GRADS, 2.0)
    params = 2.0
    for t, update in enumerate(updates, 1):
        assert update == pytest.approx(-0.01 * (direction(t) + 0.1 * params), rel=1e-12)
        params += update


def test_adamw_masks_and_nesterov():
    params = {"w": {"a": 2.0, "b": [2.0]}, "c": 2.0}
    grads = tree.map(lambda p: 1.0, params)
    for mask in ({"w": True, "c": False}, lambda p: {"w": {"a": True, "b": True}, "c": False}):
        optimizer = optim.adamw(0.1, eps=0.0, weight_decay=0.5, mask=mask, nesterov=False)
        updates, _ = optimizer.update(grads, optimizer.init(params), params)
        assert updates == {"w": {"a": pytest.approx(-0.2), "b": [pytest.approx(-0.2)]}, "c": pytest.approx(-0.1)}
    plain, nesterov = (optim.adamw(0.1, weight_decay=0.0, nesterov=flag) for flag in (False, True))
    assert plain.update(1.0, plain.init(1.0), 1.0)[0] == pytest.approx(-0.1, rel=1e-7)
    assert nesterov.update(1.0, nesterov.init(1.0), 1.0)[0] == pytest.approx(-0.1 * (0.9 * 0.1 / 0.19 + 1.0), rel=1e-7)


def test_weight_decay_schedule():
    decay = optim.add_decayed_weights(lambda count: 10.0**-count)
    state = decay.init(3.0)
    first, state = decay.update(1.0, state, 3.0)
    second, state = decay.update(1.0, state, 3.0)
    assert (first, second) == (4.0, pytest.approx(1.3))
    assert state.count == 2


def test_zero_gradients_move_nothing():
    for name in ("sgd", "adam", "adamw", "nadam", "rmsprop", "adagrad", "lion"):
        kwargs = {"weight_decay": 0.0} if name in ("adamw", "lion") else {}
        for params in (2.0, np.ones(3)):
            updates, after = run(getattr(optim, name)(0.1, **kwargs), [0 * params] * 3, params)
            assert np.all(after == params), name
            assert np.all(np.asarray(updates) == 0.0), name
    assert run(optim.adagrad(0.1, 0.0, 0.0), [np.array([0.0, 1.0])], np.zeros(2))[1].tolist() == [0.0, -0.1]


def test_division_by_zero_is_numpys():
    """Without eps a zero gradient gives NaN for Python floats as for arrays, and not a ZeroDivisionError."""
    for make in (lambda: optim.adam(0.1, eps=0.0), lambda: optim.rmsprop(0.1, eps=0.0)):
        for params in (1.0, np.ones(1)):
            with pytest.warns(RuntimeWarning, match="invalid value"):
                updates, _ = run(make(), [0 * params], params)
            assert np.all(np.isnan(updates))


def test_training_a_quadratic():
    for name, rate in (
        ("sgd", 0.1),
        ("adam", 0.1),
        ("adamw", 0.1),
        ("nadam", 0.1),
        ("rmsprop", 0.01),
        ("adagrad", 1.0),
        ("lion", optim.linear(0.03, 0.0, 500)),
    ):
        optimizer = getattr(optim, name)(rate)
        params = {"x": np.array([1.0, -2.0]), "y": 0.5}
        state = optimizer.init(params)
        for _ in range(500):
            grads = {"x": 2 * (params["x"] - 1.5), "y": 4 * (params["y"] + 1.0)}
            updates, state = optimizer.update(grads, state, params)
            params = optim.apply_updates(params, updates)
        np.testing.assert_allclose(params["x"], [1.5, 1.5], atol=0.02, err_msg=name)
        assert params["y"] == pytest.approx(-1.0, abs=0.02), name


def optax_pairs(ox):
    schedule, other = optim.cosine_decay(0.1, 10), ox.cosine_decay_schedule(0.1, 10)
    return {
        "sgd": (optim.sgd(0.1), ox.sgd(0.1)),
        "momentum": (optim.sgd(0.1, 0.9), ox.sgd(0.1, 0.9)),
        "nesterov": (optim.sgd(schedule, 0.9, True), ox.sgd(other, 0.9, True)),
        "adam": (optim.adam(0.1), ox.adam(0.1)),
        "adam all": (optim.adam(schedule, 0.8, 0.9, 1e-4, 1e-5), ox.adam(other, 0.8, 0.9, 1e-4, 1e-5)),
        "nadam": (optim.nadam(0.1), ox.nadam(0.1)),
        "adamw": (optim.adamw(schedule, weight_decay=0.01), ox.adamw(other, weight_decay=0.01)),
        "adamw mask": (
            optim.adamw(0.1, weight_decay=0.1, mask={"w": True, "b": False}),
            ox.adamw(0.1, weight_decay=0.1, mask={"w": True, "b": False}),
        ),
        "adamw nesterov": (optim.adamw(0.1, nesterov=True), ox.adamw(0.1, nesterov=True)),
        "lion": (optim.lion(0.1, weight_decay=0.1), ox.lion(0.1, weight_decay=0.1)),
        "rmsprop": (optim.rmsprop(schedule), ox.rmsprop(other)),
        "rmsprop outside": (optim.rmsprop(0.1, eps_in_sqrt=False), ox.rmsprop(0.1, eps_in_sqrt=False)),
        "rmsprop momentum": (
            optim.rmsprop(0.1, 0.8, 1e-3, 0.5, momentum=0.9, nesterov=True),
            ox.rmsprop(0.1, 0.8, 1e-3, 0.5, momentum=0.9, nesterov=True),
        ),
        "rmsprop centered": (
            optim.rmsprop(0.1, centered=True, bias_correction=True, eps_in_sqrt=False, eps=1e-4),
            ox.rmsprop(0.1, centered=True, bias_correction=True, eps_in_sqrt=False, eps=1e-4),
        ),
        "adagrad": (optim.adagrad(schedule, 0.2, 1e-5), ox.adagrad(other, 0.2, 1e-5)),
        "chain": (
            optim.chain(optim.clip_by_global_norm(1.0), optim.add_decayed_weights(0.1), optim.ema(0.9), optim.sgd(0.1)),
            ox.chain(ox.clip_by_global_norm(1.0), ox.add_decayed_weights(0.1), ox.ema(0.9), ox.sgd(0.1)),
        ),
        "clip": (optim.chain(optim.clip(0.5), optim.trace(0.9)), ox.chain(ox.clip(0.5), ox.trace(0.9))),
        "scales": (
            optim.chain(optim.scale_by_schedule(lambda count: 1.0 / (1 + count)), optim.scale(0.5)),
            ox.chain(ox.scale_by_schedule(lambda count: 1.0 / (1 + count)), ox.scale(0.5)),
        ),
    }


NAMES = [
    "sgd",
    "momentum",
    "nesterov",
    "adam",
    "adam all",
    "nadam",
    "adamw",
    "adamw mask",
    "adamw nesterov",
    "lion",
    "rmsprop",
    "rmsprop outside",
    "rmsprop momentum",
    "rmsprop centered",
    "adagrad",
    "chain",
    "clip",
    "scales",
]


@pytest.mark.parametrize("name", NAMES)
def test_against_optax(name, peer):
    pairs = optax_pairs(peer)
    assert sorted(pairs) == sorted(NAMES)
    ours, theirs = pairs[name]
    rng = np.random.default_rng(0)
    params = {"w": [rng.normal(size=(3, 2)), rng.normal(size=4)], "b": rng.normal(size=2)}
    other_params = params
    state, other_state = ours.init(params), theirs.init(params)
    for _ in range(12):
        grads = tree.map(lambda leaf: rng.normal(size=leaf.shape), params)
        updates, state = ours.update(grads, state, params)
        other_updates, other_state = theirs.update(grads, other_state, other_params)
        params = optim.apply_updates(params, updates)
        other_params = peer.apply_updates(other_params, other_updates)
        for one, another in zip(tree.leaves([updates, params]), tree.leaves([other_updates, other_params]), strict=True):
            assert np.asarray(another).dtype == np.float64
            np.testing.assert_allclose(one, np.asarray(another), rtol=1e-12, atol=1e-14)
