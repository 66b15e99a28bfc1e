"""Forward and reverse mode agree, and take the passes that the example says."""

import numpy as np
import pytest

from examples import modes


@pytest.mark.parametrize("size", modes.SIZES)
def test_modes_agree_to_rounding(size):
    x = np.random.default_rng(0).normal(size=size)
    np.testing.assert_allclose(modes.forward_gradient(modes.chain, x), modes.reverse_gradient(modes.chain, x), rtol=0, atol=1e-15)


def test_gradient_is_the_one_by_hand():
    x = np.array([0.3, -0.8, 1.1])
    bend = 1.0 - np.tanh(x[1:] * x[:-1]) ** 2
    wanted = np.sin(2.0 * x)
    wanted[1:] += bend * x[:-1]
    wanted[:-1] += bend * x[1:]
    np.testing.assert_allclose(modes.reverse_gradient(modes.chain, x), wanted, rtol=1e-14, atol=0)


@pytest.mark.parametrize("size", [2, 7])
def test_passes_are_those_that_are_run(size):
    calls = []

    def counted(x):
        calls.append(1)
        return modes.chain(x)

    x = np.ones(size)
    modes.forward_gradient(counted, x)
    forward = len(calls)
    modes.reverse_gradient(counted, x)
    assert (forward, len(calls) - forward) == modes.passes(size)


def test_prints_times_and_pass_counts(run, tmp_path):
    printed = run(modes.main, ["--largest", "20", "--out", str(tmp_path)])
    start = printed.index("parameters forward ms reverse ms ratio largest difference")
    measured = [line.split() for line in printed[start + 2 : start + 6]]
    assert [row[0] for row in measured] == ["2", "5", "10", "20"]
    assert all(float(row[4]) <= 1e-15 for row in measured)
    for row in ("2 2 1", "100 100 1", "10,000 10,000 1", "1,000,000 1,000,000 1"):
        assert row in printed


def test_too_small_a_size_is_refused(capsys):
    with pytest.raises(SystemExit):
        modes.main(["--largest", "1"])
    assert "got 1, wanted at least 2" in capsys.readouterr().err
