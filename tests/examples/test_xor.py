"""XOR reproduces the printed losses and answers."""

import numpy as np
import pytest

from examples import xor


@pytest.fixture(scope="module", params=[[], ["--jit"]], ids=["eager", "jit"])
def printed(request, run, tmp_path_factory):
    return run(xor.main, [*request.param, "--out", str(tmp_path_factory.mktemp("xor"))])


@pytest.mark.parametrize("row", ["1 1.766174", "100 0.938014", "500 0.729389", "1000 0.461485", "3000 0.000541"])
def test_prints_losses(printed, row):
    assert row in printed


def test_prints_loss_at_2000(printed):
    # Between epochs 1000 and 2000 the loss rises and falls: rounding of another math library is amplified to 1e-6 there.
    losses = {line.split()[0]: float(line.split()[1]) for line in printed if line.startswith("2000 ")}
    assert losses["2000"] == pytest.approx(0.001065, abs=1.5e-6)


@pytest.mark.parametrize("row", ["(0, 0) 0 0.0003", "(0, 1) 1 0.9824", "(1, 0) 1 0.9848", "(1, 1) 0 0.0001"])
def test_prints_answers(printed, row):
    assert row in printed


def test_prints_these_epochs(printed):
    start = printed.index("epoch loss")
    assert [line.split()[0] for line in printed[start + 2 : start + 9]] == ["1", "100", "500", "1000", "2000", "3000", "input"]


def test_loss_rises_in_few_steps(printed):
    (line,) = [line for line in printed if line.startswith("the loss rose")]
    assert line.endswith("of 2999 steps")
    assert abs(int(line.split()[4]) - 27) <= 3  # rounding moves it by one or two


def test_every_number_is_a_python_float():
    trained = xor.train(epochs=3)
    assert {type(loss) for loss in trained.losses} == {float}
    assert {type(number) for neuron in trained.params for number in neuron} == {float}


def test_answers_of_many_points_are_those_of_each():
    params = xor.init()
    x1, x2 = np.array([0.0, 0.5, 1.0]), np.array([1.0, -0.5, 0.0])
    each = [xor.predict(params, point) for point in zip(x1.tolist(), x2.tolist(), strict=True)]
    np.testing.assert_allclose(xor.predict(params, [x1, x2]), each, rtol=1e-15, atol=0)


def test_shorter_run_prints_its_last_epoch(run, tmp_path):
    printed = run(xor.main, ["--epochs", "3", "--out", str(tmp_path)])
    assert "1 1.766174" in printed
    assert any(line.startswith("3 1.") for line in printed)
    assert not any(line.startswith("100 ") for line in printed)
    assert printed[0].endswith(", sgd, 3 epochs")


def test_single_epoch(run, tmp_path):
    printed = run(xor.main, ["--epochs", "1", "--out", str(tmp_path)])
    assert printed[0].endswith(", sgd, 1 epoch")
    assert [line for line in printed if line.startswith("1 ")] == ["1 1.766174"]
