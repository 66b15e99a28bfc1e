"""Digits reproduces the printed losses and accuracies."""

import numpy as np
import pytest

from examples import digits, options
from examples.datasets import load_digits


@pytest.fixture(scope="module")
def printed(run, tmp_path_factory):
    return run(digits.main, ["--out", str(tmp_path_factory.mktemp("digits"))])


@pytest.mark.parametrize("row", ["10 0.1730 0.967", "20 0.0405 0.964", "30 0.0576 0.958", "40 0.0118 0.964"])
def test_prints_losses_and_validation_accuracies(printed, row):
    assert row in printed


def test_prints_test_accuracy(printed):
    assert "test accuracy 0.967" in printed


def test_adamw_with_cosine_reads_97_percent(run, tmp_path):
    printed = run(digits.main, ["--optimizer", "adamw", "--schedule", "cosine", "--out", str(tmp_path)])
    (line,) = [line for line in printed if line.startswith("test accuracy")]
    assert float(line.split()[2]) >= 0.97


@pytest.mark.parametrize("optimizer", options.OPTIMIZERS)
@pytest.mark.parametrize("schedule", options.SCHEDULES)
def test_every_optimizer_learns(optimizer, schedule):
    data = load_digits()
    parser = options.make_parser("digits", "")
    options.add_training(parser, epochs=2, plain_rate=0.2, adaptive_rate=3e-3)
    given = parser.parse_args(["--optimizer", optimizer, "--schedule", schedule])
    trained = digits.train(data, options.choose_optimizer(given, 2 * digits.batches_an_epoch(data)), epochs=2)
    assert len(trained.batch_losses) == 2 * 34
    assert digits.accuracy(trained.params, data, data.test) > 0.7  # a guess is right in 0.1


def test_misread_are_the_test_rows_with_another_answer():
    data = load_digits()
    params = digits.init(np.random.default_rng(0))
    wrong = digits.misread(params, data)
    assert len(wrong) == round((1 - digits.accuracy(params, data, data.test)) * len(data.test))
    assert all(data.labels[row] != answer for row, answer in wrong)
    assert {row for row, _ in wrong} <= set(data.test.tolist())


def test_missing_file_ends_with_what_to_do(tmp_path):
    with pytest.raises(SystemExit, match=r"error: the digits file is missing: .*nowhere\.npz.* --data"):
        digits.main(["--data", str(tmp_path / "nowhere.npz"), "--out", str(tmp_path)])
