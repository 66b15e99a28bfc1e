"""Initializers: variances and bounds from their papers, dtypes, seeds, misuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.errors import InputTypeError, InputValueError

VARIANCES = {
    "he_normal": lambda n_in, n_out: 2 / n_in,
    "he_uniform": lambda n_in, n_out: 2 / n_in,
    "glorot_normal": lambda n_in, n_out: 2 / (n_in + n_out),
    "glorot_uniform": lambda n_in, n_out: 2 / (n_in + n_out),
    "lecun_normal": lambda n_in, n_out: 1 / n_in,
}
each = pytest.mark.parametrize("name", list(VARIANCES))


@each
@pytest.mark.parametrize(("shape", "n_in", "n_out"), [((400, 100), 400, 100), ((3, 3, 40, 100), 360, 900)])
def test_mean_and_variance(name: str, shape: Any, n_in: int, n_out: int):
    got = getattr(nn.init, name)(np.random.default_rng(0), shape)
    variance = VARIANCES[name](n_in, n_out)
    assert got.shape == shape
    assert abs(got.mean()) < 5 * np.sqrt(variance / got.size)
    assert got.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / got.size))
    if "uniform" in name:
        assert np.abs(got).max() <= np.sqrt(3 * variance)
        assert np.abs(got).max() > 0.999 * np.sqrt(3 * variance)
    else:
        assert np.mean(np.abs(got) < np.sqrt(variance)) == pytest.approx(0.6827, abs=0.01)


@each
def test_dtype_and_seed(name: str):
    f = getattr(nn.init, name)
    one, same, other = (f(np.random.default_rng(seed), (4, 3)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    narrow = f(np.random.default_rng(0), (4, 3), np.float32)
    assert narrow.dtype == np.float32
    np.testing.assert_array_equal(narrow, one.astype(np.float32))


def test_he_normal_draws_as_the_generator_does():
    wanted = np.random.default_rng(0).normal(0, np.sqrt(2 / 64), (64, 128))
    np.testing.assert_allclose(nn.init.he_normal(np.random.default_rng(0), (64, 128)), wanted, rtol=1e-15)


@each
def test_misuse(name: str):
    f = getattr(nn.init, name)
    with pytest.raises(InputValueError, match=rf"{name}: shape must have two axes or more, .* got \(3,\)"):
        f(np.random.default_rng(0), (3,))
    with pytest.raises(InputTypeError, match=rf"{name}: rng must be a numpy.random.Generator .* got RandomState"):
        f(np.random.RandomState(0), (3, 2))


def test_mlp_parameters():
    params = nn.init.mlp(np.random.default_rng(0), [2, 8, 3], nn.init.glorot_uniform, np.float32)
    assert [(layer["w"].shape, layer["b"].shape) for layer in params] == [((2, 8), (8,)), ((8, 3), (3,))]
    assert all(leaf.dtype == np.float32 for layer in params for leaf in layer.values())
    assert all(not layer["b"].any() for layer in params)
    rng = np.random.default_rng(0)
    for layer, shape in zip(params, [(2, 8), (8, 3)], strict=True):
        np.testing.assert_array_equal(layer["w"], nn.init.glorot_uniform(rng, shape, np.float32))
    for sizes in ([3], [3, 0], [3, 2.0], [3, True]):
        with pytest.raises(InputValueError, match="sizes must be two or more positive integers"):
            nn.init.mlp(np.random.default_rng(0), sizes)
