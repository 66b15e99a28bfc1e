"""Which memory cases there are, and the fresh process in which each is measured."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import peers

_ROOT = Path(__file__).resolve().parents[1]
_TIMEOUT = 300.0

# glibc would raise this threshold after the first large array is freed and then keep freed ones in its heap, where it splits them:
# one array more or less in the peak, by the layout of the heap. Held, the resident size is that of the arrays that live.
_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "1048576"}


@dataclass(frozen=True)
class Case:
    """A memory measurement.

    Attributes:
        name: What `--only` and the tables call it.
        summary: One line for the reader.
        peers: The peers that have it.
    """

    name: str
    summary: str
    peers: tuple[str, ...]


_GRADIENT = (peers.HAND_WRITTEN, peers.FUNCGRAD, peers.FUNCGRAD_JIT, peers.AUTOGRAD, peers.MYGRAD, peers.TORCH, peers.JAX_JIT)

CASES: tuple[Case, ...] = (
    Case("memory_tanh50", "peak of the gradient of 50 x tanh on 1e6 numbers", _GRADIENT),
    Case("memory_half_sin50", "peak of the gradient of 50 x (0.5 y + sin y) on 1e6 numbers", _GRADIENT),
    Case("memory_checkpoint100", "peak of the gradient of 100 x tanh on 1e6 numbers in 10 checkpointed pieces", (peers.FUNCGRAD,)),
    Case("memory_scan10000", "peak of the gradient through 10,000 steps of 100 numbers by scan", (peers.FUNCGRAD, peers.FUNCGRAD_LOOP)),
    Case(
        "memory_jvp200",
        "peak of a jvp through 200 x sin on 1e6 numbers",
        tuple(name for name in _GRADIENT if name not in (peers.MYGRAD, peers.FUNCGRAD_JIT)),
    ),
    Case("memory_growth", "growth over 2,000 small gradients", (peers.FUNCGRAD, peers.AUTOGRAD, peers.MYGRAD, peers.TORCH, peers.JAX_JIT)),
)


@dataclass(frozen=True)
class Usage:
    """Memory of one case.

    Attributes:
        case: The case's name.
        megabytes: MB of 1e6 bytes by peer.
        failures: Reason by peer that has no number.
    """

    case: str
    megabytes: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def measure(case: Case, names: Sequence[str]) -> Usage:
    """Measure one case, each peer in a fresh process.

    Args:
        case: What to measure.
        names: The peers to measure; one that does not have the case is passed over.

    Returns:
        The memory, or the last line of what the process said where it failed.
    """
    usage = Usage(case.name)
    environment = {**os.environ, **_ALLOCATOR}
    for name in names:
        if name not in case.peers:
            continue
        command = [sys.executable, "-m", "benchmarks.memory_probe", case.name, name]
        try:
            done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            usage.failures[name] = f"no answer within {_TIMEOUT:.0f} s"
            continue
        if done.returncode == 0:
            usage.megabytes[name] = float(done.stdout)
        else:
            usage.failures[name] = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return usage
