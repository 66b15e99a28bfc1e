"""Schedules: written-out values, kinds of counts and results, and optax where it is installed."""

import math
import warnings

import numpy as np
import pytest

from funcgrad import optim
from funcgrad.errors import InputValueError

CASES = {
    "constant": (optim.constant(0.3), {0: 0.3, 100: 0.3}),
    "linear": (optim.linear(1.0, 3.0, 4), {0: 1.0, 1: 1.5, 4: 3.0, 9: 3.0}),
    "linear begin": (optim.linear(1.0, 3.0, 4, 10), {0: 1.0, 10: 1.0, 12: 2.0, 14: 3.0, 99: 3.0}),
    "linear of no steps": (optim.linear(1.0, 3.0, 0), {0: 1.0, 5: 1.0}),
    "exponential": (optim.exponential_decay(2.0, 10, 0.5), {0: 2.0, 5: 2.0 * math.sqrt(0.5), 10: 1.0, 30: 0.25}),
    "exponential begin": (optim.exponential_decay(2.0, 10, 0.5, 20), {0: 2.0, 20: 2.0, 30: 1.0}),
    "exponential staircase": (optim.exponential_decay(2.0, 10, 0.5, staircase=True), {0: 2.0, 9: 2.0, 10: 1.0, 19: 1.0, 20: 0.5}),
    "exponential bounded": (optim.exponential_decay(2.0, 10, 0.5, end_value=0.75), {0: 2.0, 10: 1.0, 20: 0.75, 90: 0.75}),
    "exponential growth": (optim.exponential_decay(2.0, 10, 2.0, end_value=5.0), {0: 2.0, 10: 4.0, 20: 5.0}),
    "exponential of no steps": (optim.exponential_decay(2.0, 0, 0.5), {0: 2.0, 5: 2.0}),
    "exponential of no rate": (optim.exponential_decay(2.0, 10, 0.0), {0: 2.0, 5: 2.0}),
    "cosine": (optim.cosine_decay(2.0, 6), {0: 2.0, 2: 1.5, 3: 1.0, 4: 0.5, 6: 0.0, 7: 0.0}),
    "cosine alpha": (optim.cosine_decay(2.0, 6, 0.1), {0: 2.0, 3: 1.1, 6: 0.2, 100: 0.2}),
    "cosine exponent": (optim.cosine_decay(2.0, 6, 0.0, 2.0), {0: 2.0, 3: 0.5, 4: 0.125, 6: 0.0}),
    "warmup cosine": (optim.warmup_cosine_decay(0.0, 2.0, 4, 10), {0: 0.0, 1: 0.5, 4: 2.0, 6: 1.5, 7: 1.0, 10: 0.0, 50: 0.0}),
    "warmup cosine end": (optim.warmup_cosine_decay(1.0, 2.0, 2, 8, 0.5), {0: 1.0, 1: 1.5, 2: 2.0, 5: 1.25, 8: 0.5, 9: 0.5}),
    "warmup cosine of nothing": (optim.warmup_cosine_decay(0.0, 0.0, 2, 8), {0: 0.0, 5: 0.0, 9: 0.0}),
    "piecewise": (optim.piecewise(1.0, {20: 0.25, 10: 0.5}), {0: 1.0, 9: 1.0, 10: 0.5, 19: 0.5, 20: 0.125, 99: 0.125}),
    "piecewise of one": (optim.piecewise(1.0), {0: 1.0, 99: 1.0}),
    "join": (
        optim.join([optim.constant(1.0), optim.linear(0.0, 1.0, 4), optim.constant(5.0)], [3, 5]),
        {0: 1.0, 2: 1.0, 3: 0.0, 4: 0.25, 5: 5.0, 9: 5.0},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    schedule, expected = CASES[name]
    for count, value in expected.items():
        for kind in (int, np.int64, np.array):
            found = schedule(kind(count))
            assert type(found) is float
            assert found == pytest.approx(value, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("name", sorted(set(CASES) - {name for name in CASES if " of " in name} - {"constant"}))
def test_arrays_of_counts(name):
    schedule, expected = CASES[name]
    found = schedule(np.array(list(expected)))
    np.testing.assert_allclose(found, list(expected.values()), rtol=1e-14, atol=1e-15)


def test_bad_input():
    with pytest.raises(InputValueError, match="decay_steps must be positive, got 0"):
        optim.cosine_decay(1.0, 0)
    with pytest.raises(InputValueError, match="more than warmup_steps=10, got 10"):
        optim.warmup_cosine_decay(0.0, 1.0, 10, 10)
    with pytest.raises(InputValueError, match=r"from step 5 on must be at least 0, got -1\.0"):
        optim.piecewise(1.0, {5: -1.0})
    with pytest.raises(InputValueError, match="got 2 schedules and 2 boundaries"):
        optim.join([optim.constant(1.0)] * 2, [1, 2])
    with pytest.raises(InputValueError, match="got 0 schedules"):
        optim.join([], [])


def test_against_optax():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the peer's own import warns of
        ox = pytest.importorskip("optax", reason="compares with optax, which is not installed")
        jax = pytest.importorskip("jax", reason="compares with optax, which needs jax")
        pairs = [
            (optim.constant(0.3), ox.constant_schedule(0.3)),
            (optim.linear(1.0, 0.1, 7, 3), ox.linear_schedule(1.0, 0.1, 7, 3)),
            (optim.exponential_decay(1.0, 7, 0.3, 2), ox.exponential_decay(1.0, 7, 0.3, 2)),
            (optim.exponential_decay(1.0, 7, 0.3, 2, True, 0.05), ox.exponential_decay(1.0, 7, 0.3, 2, True, 0.05)),
            (optim.exponential_decay(1.0, 7, 1.3, end_value=2.0), ox.exponential_decay(1.0, 7, 1.3, end_value=2.0)),
            (optim.cosine_decay(1.0, 13, 0.1, 1.5), ox.cosine_decay_schedule(1.0, 13, 0.1, 1.5)),
            (optim.warmup_cosine_decay(0.1, 1.0, 5, 20, 0.01, 1.2), ox.warmup_cosine_decay_schedule(0.1, 1.0, 5, 20, 0.01, 1.2)),
            (optim.piecewise(1.0, {3: 0.5, 11: 0.1}), ox.piecewise_constant_schedule(1.0, {3: 0.5, 11: 0.1})),
            (
                optim.join([optim.constant(1.0), optim.linear(1.0, 0.0, 9)], [6]),
                ox.join_schedules([ox.constant_schedule(1.0), ox.linear_schedule(1.0, 0.0, 9)], [6]),
            ),
        ]
        with jax.enable_x64(True):
            for number, (ours, theirs) in enumerate(pairs):
                for count in range(25):
                    assert ours(count) == pytest.approx(float(theirs(count)), rel=1e-12, abs=1e-15), (number, count)
