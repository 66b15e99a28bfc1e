"""The engine example prints the values and gradients of the reference."""

import importlib.util

import numpy as np
import pytest

from examples import engine, peers
from funcgrad import make_tape


@pytest.fixture(scope="module")
def printed(run, tmp_path_factory):
    return run(engine.main, ["--out", str(tmp_path_factory.mktemp("engine"))])


@pytest.mark.parametrize(
    "row",
    [
        "h = 0.0001 14.000300",
        "grad 14",
        "(x*y + x)**2 2, -3 16 16, -16",
        "a*b + a 3, 4 15 5, 3",
        "a + a 3 6 2",
        "a*a 3 9 6",
        "(x*x)*(x*x) 2 16 32",
        "relu(a*b - c) + a**2 3, -1, -5 11 5, 3, -1",
        "tanh(x**3 + 3x) 0.5 0.925346 0.5390038624",
        "g(a, b) with a Python if 1.5, 0.8 -0.42110362 -0.08779398, 2.20687722",
        "sin(x)exp(x) + x**2 1 3.2873552872 5.7560492271",
        "backwards along the tape 32",
        "recursive, without order 64",
        "three times [2.0, -4.0], [2.0, -4.0], [2.0, -4.0]",
        "tanh(x**3 + 3x) at 0.5 0.9253462253 0.5390038624 0.5390038624",
        "sin(x)exp(x) + x**2 at 1 3.2873552872 5.7560492271 5.7560492271",
        "w1 0.5 -2 0.7",
        "w2 -0.3 -4 0.1",
        "b 0.1 -2 0.3",
        "one primitive 0.668188 0.221713 2",
    ],
)
def test_prints(printed, row):
    assert row in printed


def test_composed_sigmoid_takes_more_records(printed):
    (line,) = [line for line in printed if line.startswith("1 / (1 + exp(-x))")]
    *_, value, slope, records = line.split()
    assert (value, slope) == ("0.668188", "0.221713")
    assert int(records) > 2


def test_tape_of_the_squared_sum():
    rows = make_tape(engine.squared_sum)(2.0, -3.0).rows
    assert [(row.name, row.operation, tuple(row.parents), row.value, row.gradient) for row in rows] == [
        ("x", "leaf", (), 2.0, 16.0),
        ("y", "leaf", (), -3.0, -16.0),
        ("n2", "*", ("x", "y"), -6.0, -8.0),
        ("n3", "+", ("n2", "x"), -4.0, -8.0),
        ("n4", "**2", ("n3",), 16.0, 1.0),
    ]


def test_prints_the_tape(printed):
    assert "x leaf 2 16" in printed
    assert "y leaf -3 -16" in printed
    (product,) = [line for line in printed if line.startswith("n2 *")]
    assert product.endswith("-6 -8")


def test_python_if_takes_its_other_branch():
    a, b, tiny = -1.0, 1.2, 1e-20  # here b*d < 0 and d > a, so that relu(d - a) = d - a is all that is left

    def left_over(a, b):
        c = a * b + b**3
        return np.tanh(c / a) + 0.001 * np.exp(c) - a

    complex_steps = (left_over(a + 1j * tiny, b).imag / tiny, left_over(a, b + 1j * tiny).imag / tiny)
    np.testing.assert_allclose(engine.branching(a, b), left_over(a, b), rtol=1e-15)
    np.testing.assert_allclose(engine.gradient(engine.branching, (a, b)), complex_steps, rtol=1e-13)


def test_micro_batches_add_up():
    full, summed = engine.micro_batches()
    assert full.keys() == summed.keys() == {"slope", "intercept"}
    for name in full:
        assert summed[name] == pytest.approx(full[name], rel=1e-14)


def test_nine_rules_agree_with_differences():
    errors = engine.rule_errors()
    assert len(errors) == 9
    assert max(errors.values()) < 1e-9


def test_neuron_step():
    slopes, stepped = engine.train_neuron()
    np.testing.assert_allclose(slopes, (-2.0, -4.0, -2.0), rtol=1e-14)
    np.testing.assert_allclose(stepped, (0.7, 0.1, 0.3), rtol=1e-14)


@pytest.mark.parametrize("peer", peers.PEERS)
def test_peers_have_the_same_gradients(peer):
    if importlib.util.find_spec(peer) is None:
        pytest.skip(f"{peer} is not installed")
    found = peers.gradients(peer, {one.text: one.at for one in engine.EXPRESSIONS})
    for one in engine.EXPRESSIONS:
        np.testing.assert_allclose(engine.gradient(one.f, one.at), found[one.text], rtol=1e-13, atol=1e-15)


def test_missing_peer_is_said_in_one_line(capsys, monkeypatch):
    def missing(peer, points):
        raise ImportError("No module named 'torch'")

    monkeypatch.setattr(peers, "gradients", missing)
    engine.print_against("torch")
    assert capsys.readouterr().out == "Nothing to compare with: torch is not installed here (No module named 'torch').\n"
