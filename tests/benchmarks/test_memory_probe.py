"""The memory measurements, on steps whose need is known."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import memory, memory_probe, peers
from benchmarks.memory import Case

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="the peak is read by means that Windows lacks")
def test_peak_is_what_the_step_needs_at_its_highest():
    code = (
        "import numpy as np; from benchmarks.memory_probe import peak\n"
        "first = peak(lambda: (np.ones(10_000_000), np.ones(5_000_000)))\n"
        "print(first, peak(lambda: [np.ones(2_500_000) for _ in range(2)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    first, second = map(float, done.stdout.split())
    assert first == pytest.approx(120.0, abs=4.0)
    assert second == pytest.approx(40.0, abs=4.0)


def test_growth_sees_a_leak_and_nothing_else():
    kept = []
    assert memory_probe.growth(lambda: kept.append(bytes(1000))) == pytest.approx(2.07, abs=0.05)
    assert memory_probe.growth(lambda: np.sin(np.ones(10))) == pytest.approx(0.0, abs=0.001)


@pytest.mark.skipif(sys.platform == "win32", reason="the peak is read by means that Windows lacks")
def test_measure_runs_each_peer_in_a_process_of_its_own():
    case = next(case for case in memory.CASES if case.name == "memory_growth")
    usage = memory.measure(case, [peers.HAND_WRITTEN, peers.FUNCGRAD])
    assert usage.failures == {}
    assert list(usage.megabytes) == [peers.FUNCGRAD]
    assert abs(usage.megabytes[peers.FUNCGRAD]) < 0.05


def test_failing_process_is_reported_with_its_last_words():
    usage = memory.measure(Case("memory_of_nothing", "", (peers.HAND_WRITTEN,)), [peers.HAND_WRITTEN])
    assert usage.megabytes == {}
    assert usage.failures == {peers.HAND_WRITTEN: "KeyError: 'memory_of_nothing'"}
