"""How timings are made, on steps whose duration is known."""

import numpy as np
import pytest

from benchmarks import measure, peers
from benchmarks.threads import one_thread_environment
from benchmarks.workload import Workload
from benchmarks.workloads import digits_epoch


class Clock:
    """A clock that moves only when a step moves it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def builder(self, seconds, result):
        def step():
            self.now += seconds
            return result

        return lambda: step


def test_timing_is_the_time_of_a_call_whatever_the_number_of_calls():
    clock = Clock()
    builders = {
        peers.HAND_WRITTEN: clock.builder(1e-4, 3.0),
        peers.FUNCGRAD: clock.builder(2e-3, 3.0),
        peers.AUTOGRAD: clock.builder(0.5, 3.0),
    }
    settings = measure.Settings(rounds=5, block=0.02, budget=4.0)
    result = measure.measure(Workload("known", "", builders), list(builders), settings, clock)
    assert result.failures == {}
    assert {name: round(timing.microseconds, 6) for name, timing in result.timings.items()} == {
        peers.HAND_WRITTEN: 100.0,
        peers.FUNCGRAD: 2000.0,
        peers.AUTOGRAD: 500000.0,
    }
    assert [timing.calls for timing in result.timings.values()] == [200, 10, 1]
    assert [len(timing.rounds) for timing in result.timings.values()] == [5, 5, 5]


@pytest.mark.parametrize(("seconds", "rounds"), [(0.1, 9), (1.5, 2), (50.0, 1)])
def test_slow_peer_stops_at_its_budget_and_is_measured_once_at_least(seconds, rounds):
    clock = Clock()
    builders = {peers.HAND_WRITTEN: clock.builder(1e-3, 1.0), peers.FUNCGRAD: clock.builder(seconds, 1.0)}
    settings = measure.Settings(rounds=9, block=0.01, budget=4.0)
    result = measure.measure(Workload("slow", "", builders), list(builders), settings, clock)
    assert result.timings[peers.FUNCGRAD].rounds == pytest.approx([seconds * 1e6] * rounds)
    assert len(result.timings[peers.HAND_WRITTEN].rounds) == 9


def test_time_is_the_median_round_and_ratio_the_median_of_the_ratios_within_rounds():
    spells = measure.Timing(first=9.0, rounds=(2.0, 8.0, 4.0), calls=1)
    assert spells.microseconds == 4.0
    assert spells.ratio(measure.Timing(first=9.0, rounds=(1.0, 4.0, 4.0), calls=1)) == 2.0
    assert spells.ratio(measure.Timing(first=9.0, rounds=(1.0,), calls=1)) == 2.0


def test_wrong_or_raising_peer_is_reported_and_not_timed():
    def raising():
        raise OSError("no such device")

    right = (1.0, np.array([1.0, 2.0]))
    wrong = (1.0, np.array([1.0, 2.1]))
    builders = {peers.HAND_WRITTEN: lambda: lambda: right, peers.FUNCGRAD: lambda: lambda: wrong, peers.AUTOGRAD: raising}
    result = measure.measure(Workload("broken", "", builders), list(builders), measure.QUICK)
    assert list(result.timings) == [peers.HAND_WRITTEN]
    assert "array 1: differs by 0.1 " in result.failures[peers.FUNCGRAD]
    assert result.failures[peers.AUTOGRAD] == "OSError: no such device"


def test_missing_digits_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(digits_epoch, "DIGITS", tmp_path / "digits.npz")
    result = measure.measure(digits_epoch.WORKLOAD, [peers.HAND_WRITTEN], measure.QUICK)
    assert result.timings == {}
    assert str(tmp_path / "digits.npz") in result.failures[peers.HAND_WRITTEN]


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ((1.0, [2.0, 3.0]), None),
        ((1.0, np.array([2.0, 3.0 + 1e-12])), None),
        ((1.0, np.array([2.0, 3.0 + 1e-6])), "array 1: differs by 1e-06"),
        ((1.0, np.array([2.0, np.nan])), "array 1: differs by nan"),
        ((1.0, np.array([[2.0, 3.0]])), "array 1: got shape (1, 2), wanted (2,)"),
        (1.0, "got 1 arrays, wanted 2"),
    ],
)
def test_disagreement_says_where_and_by_how_much(result, problem):
    said = measure.disagreement(result, (1.0, np.array([2.0, 3.0])), 1e-10)
    assert said is None if problem is None else said.startswith(problem)


def test_one_thread_environment_keeps_what_it_finds_and_settles():
    given = {"HOME": "a-home", "XLA_FLAGS": "--xla_dump_to=out", "OMP_NUM_THREADS": "8"}
    once = one_thread_environment(given)
    assert once["HOME"] == "a-home"
    assert once["OMP_NUM_THREADS"] == once["OPENBLAS_NUM_THREADS"] == once["NPROC"] == "1"
    assert once["XLA_FLAGS"] == "--xla_dump_to=out --xla_cpu_multi_thread_eigen=false"
    assert one_thread_environment(once) == once
    assert given["OMP_NUM_THREADS"] == "8"
