"""Digits reproduces the printed losses and accuracies."""

import numpy as np
import pytest

from examples import digits, options
from examples.datasets import load_digits


@pytest.fixture(scope="module", params=[[], ["--jit"]], ids=["eager", "jit"])
def printed(request, run, tmp_path_factory):
    return run(digits.main, [*request.param, "--out", str(tmp_path_factory.mktemp("digits"))])


@pytest.mark.parametrize("row", ["10 0.1730 0.967", "20 0.0405 0.964", "30 0.0576 0.958", "40 0.0118 0.964"])
def test_prints_losses_and_validation_accuracies(printed, row):
    assert any(line.startswith(f"{row} ") for line in printed)


def test_prints_these_epochs(printed):
    start = printed.index("epoch last batch's loss validation accuracy epoch's mean loss")
    assert [line.split()[0] for line in printed[start + 2 : start + 8]] == ["1", "10", "20", "30", "40", "test"]


def test_prints_test_accuracy(printed):
    assert "test accuracy 0.967" in printed


def test_adamw_with_cosine_reads_97_percent(run, tmp_path):
    printed = run(digits.main, ["--optimizer", "adamw", "--schedule", "cosine", "--out", str(tmp_path)])
    (line,) = [line for line in printed if line.startswith("test accuracy")]
    assert float(line.split()[2]) >= 0.97


@pytest.fixture(scope="module")
def data():
    return load_digits()


@pytest.mark.parametrize("optimizer", options.OPTIMIZERS)
@pytest.mark.parametrize("schedule", options.SCHEDULES)
def test_every_optimizer_learns(data, optimizer, schedule):
    parser = options.make_parser("digits", "")
    options.add_training(parser, epochs=2, plain_rate=0.2, adaptive_rate=3e-3)
    given = parser.parse_args(["--optimizer", optimizer, "--schedule", schedule])
    trained = digits.train(data, options.choose_optimizer(given, 2 * digits.batches_an_epoch(data)), epochs=2)
    assert len(trained.batch_losses) == 2 * 34
    assert digits.accuracy(trained.params, data, data.test) > 0.7  # a guess is right in 0.1


def test_mean_losses_are_those_of_the_epochs(data):
    trained = digits.train(data, epochs=2)
    first, second = trained.batch_losses[:34], trained.batch_losses[34:]
    assert trained.mean_losses == pytest.approx([sum(first) / 34, sum(second) / 34], rel=1e-14)
    assert trained.last_losses == [first[-1], second[-1]]


def test_mean_loss_is_drawn_in_the_middle_of_its_epoch(data):
    figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
    trained = digits.train(data, epochs=2)
    figure = figures.Figure()
    digits.draw_curves(figure, trained)
    batches, means = figure.axes[0].lines
    np.testing.assert_allclose(batches.get_xdata()[[0, 33, -1]], [1 / 34, 1.0, 2.0], rtol=1e-15)
    np.testing.assert_array_equal(means.get_xdata(), [0.5, 1.5])
    np.testing.assert_array_equal(means.get_ydata(), trained.mean_losses)
    assert means.get_marker() == "o"


@pytest.mark.parametrize(
    ("shown", "wrong", "wanted"),
    [
        (24, 40, "Digits: the first 24 of 40 misread digits (of 360)"),
        (24, 24, "Digits: 24 of 360 test digits are read wrongly"),
        (1, 1, "Digits: 1 of 360 test digits is read wrongly"),
        (0, 0, "Digits: 0 of 360 test digits are read wrongly"),
    ],
)
def test_title_says_what_is_shown(data, shown, wrong, wanted):
    figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
    figure = figures.Figure()
    digits.draw_misread(figure, data, [(int(row), 0) for row in data.test[:wrong]])
    assert figure.get_suptitle() == wanted
    assert sum(bool(axes.images) for axes in figure.axes) == sum(axes.axison for axes in figure.axes) == shown


def test_misread_are_the_test_rows_with_another_answer(data):
    params = digits.init(np.random.default_rng(0))
    wrong = digits.misread(params, data)
    assert len(wrong) == round((1 - digits.accuracy(params, data, data.test)) * len(data.test))
    assert all(data.labels[row] != answer for row, answer in wrong)
    assert {row for row, _ in wrong} <= set(data.test.tolist())


def test_missing_file_ends_with_what_to_do(tmp_path):
    with pytest.raises(SystemExit, match=r"error: the digits file is missing: .*nowhere\.npz.* --data"):
        digits.main(["--data", str(tmp_path / "nowhere.npz"), "--out", str(tmp_path)])
