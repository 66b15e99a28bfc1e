"""Moons reproduces the printed losses and accuracies, on Python floats and on arrays."""

import numpy as np
import pytest

from examples import moons
from examples.datasets import make_moons
from funcgrad import grad

TABLE = ["0 0.7159 0.50", "20 0.4645 0.84", "40 0.1774 0.94", "60 0.1385 0.96", "80 0.0308 0.99", "99 0.0154 1.00"]


@pytest.fixture(scope="module", params=[[], ["--jit"]], ids=["eager", "jit"])
def printed(request, run, tmp_path_factory):
    return run(moons.main, [*request.param, "--out", str(tmp_path_factory.mktemp("moons"))])


def table(printed, heading):
    (start,) = [place for place, line in enumerate(printed) if line.startswith(heading)]
    return printed[start + 3 : start + 9]


@pytest.mark.parametrize("heading", ["Python floats, sgd", "arrays, sgd"])
def test_prints_losses_and_accuracies(printed, heading):
    assert table(printed, heading) == TABLE


def test_shorter_run_prints_every_step(run, tmp_path):
    printed = run(moons.main, ["--epochs", "1", "--out", str(tmp_path)])
    assert "Moons, 2-8-8-1 ReLU network, 105 parameters, 1 full-batch step" in printed
    assert printed.count("0 0.7159 0.50") == 3


def test_adam_tells_the_moons_apart(printed):
    assert table(printed, "arrays, adam")[-1].split()[2] == "1.00"


def test_records_on_floats_are_about_20000(printed):
    (line,) = [line for line in printed if line.startswith("Tape records")]
    assert 15_000 < int(line.split()[4].replace(",", "")) < 25_000


def test_has_105_parameters():
    weights = sum(len(weights) for layer in moons.init() for weights, _ in layer)
    biases = sum(1 for layer in moons.init() for _, bias in layer)
    assert weights + biases == 105


def test_gradient_on_floats_is_the_one_on_arrays():
    points, labels = make_moons(10)
    params = moons.init(1)
    by_floats, _ = grad(moons.loss_floats, has_aux=True)(params, (points.tolist(), labels.tolist()))
    by_arrays, _ = grad(moons.loss_arrays, has_aux=True)(moons.to_arrays(params), (points, labels))
    for (weights, biases), (float_weights, float_biases) in zip(by_arrays, moons.to_arrays(by_floats), strict=True):
        np.testing.assert_allclose(weights, float_weights, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(biases, float_biases, rtol=1e-12, atol=1e-15)


def test_every_number_is_a_python_float():
    points, labels = make_moons(10)
    trained = moons.train(moons.loss_floats, moons.init(), (points.tolist(), labels.tolist()), steps=2)
    assert {type(number) for layer in trained.params for weights, bias in layer for number in [*weights, bias]} == {float}
