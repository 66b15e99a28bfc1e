"""How a workload is timed: every peer's result checked first, then all peers in turn, round after round.

A shared machine is noisy, and its clock is not steady: the least time of a peer may be that of a fast spell that no other peer had. Rounds
are interleaved, so that a spell hits every peer; a time is the median of its rounds, and a ratio the median of the rounds' ratios.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.workload import Step, Workload


@dataclass(frozen=True)
class Settings:
    """How much time to spend.

    Attributes:
        rounds: Rounds over all peers.
        block: Seconds that a peer's calls of one round should take together, at least one call.
        budget: Seconds after which a peer has no further rounds.
    """

    rounds: int = 25
    block: float = 0.02
    budget: float = 4.0


_SLOW = 0.2
"""Seconds of a call from which on a round is that one call."""

FULL = Settings()
QUICK = Settings(rounds=3, block=0.002, budget=0.2)


@dataclass(frozen=True)
class Timing:
    """What was measured of one peer.

    Attributes:
        first: Microseconds of the first call, with whatever it compiles or caches.
        rounds: Microseconds a call, one number a round.
        calls: Calls in each round.
    """

    first: float
    rounds: tuple[float, ...]
    calls: int

    @property
    def microseconds(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rounds)

    def ratio(self, other: "Timing") -> float:
        """This time over another's.

        Args:
            other: A timing of the same measurement.

        Returns:
            The median, over the rounds that both had, of the ratio within the round.
        """
        return statistics.median(mine / its for mine, its in zip(self.rounds, other.rounds, strict=False))


@dataclass(frozen=True)
class Measurement:
    """A workload's timings, and what kept a peer from one.

    Attributes:
        workload: The workload's name.
        timings: Timing by peer.
        failures: Reason by peer: an exception, or a wrong result.
    """

    workload: str
    timings: Mapping[str, Timing] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)


def leaves(result: Any) -> list[Any]:
    """The arrays of a result as float64 NumPy arrays, in order; a list of numbers counts as one array.

    Args:
        result: Tree of tuples and lists of numbers and of arrays of any peer.

    Returns:
        Flat list of float64 arrays.
    """
    if not isinstance(result, (tuple, list)):
        return [np.asarray(result, dtype=np.float64)]
    parts = [leaf for part in result for leaf in leaves(part)]
    if len(parts) > 1 and isinstance(result, list) and all(part.ndim == 0 for part in parts):
        return [np.stack(parts)]
    return parts


def disagreement(result: Any, expected: Any, tolerance: float) -> str | None:
    """How a result differs from the expected one.

    Args:
        result: A step's result.
        expected: The hand-written step's result.
        tolerance: Largest difference allowed in an array, relative to the largest number of the expected one.

    Returns:
        None if they agree, else one line that says where and by how much they do not.
    """
    got, wanted = leaves(result), leaves(expected)
    if len(got) != len(wanted):
        return f"got {len(got)} arrays, wanted {len(wanted)}"
    for position, (actual, right) in enumerate(zip(got, wanted, strict=True)):
        if actual.shape != right.shape:
            return f"array {position}: got shape {actual.shape}, wanted {right.shape}"
        difference = float(np.max(np.abs(actual - right)))
        allowed = tolerance * float(np.max(np.abs(right)))
        if not difference <= allowed:
            return f"array {position}: differs by {difference:.3g} from the hand-written result, {allowed:.3g} is allowed"
    return None


def _seconds(step: Step, calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        step()
    return clock() - start


def measure(workload: Workload, names: Sequence[str], settings: Settings, clock: Callable[[], float] = time.perf_counter) -> Measurement:
    """Check and time one workload.

    Args:
        workload: What to time.
        names: The peers to time; one without an implementation of the workload is passed over.
        settings: How much time to spend.
        clock: Returns seconds; replaced in tests.

    Returns:
        The timings. A peer that raised or answered wrongly has a failure in place of a timing.
    """
    steps: dict[str, Step] = {}
    first: dict[str, float] = {}
    failures: dict[str, str] = {}
    try:
        expected = workload.builders[peers.HAND_WRITTEN]()()
    except Exception as error:
        return Measurement(workload.name, failures={peers.HAND_WRITTEN: f"{type(error).__name__}: {error}"})
    for name in names:
        if name not in workload.builders:
            continue
        try:
            peers.prepare(name)
            step = workload.builders[name]()
            start = clock()
            result = step()
            first[name] = clock() - start
            # a yardstick computes something else: the function, where the workload is its derivative
            problem = None if name == peers.YARDSTICK else disagreement(result, expected, workload.tolerance)
        except Exception as error:  # a peer that cannot do it must not stop the others
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            steps[name] = step
        else:
            failures[name] = problem

    gc.collect()
    gc.freeze()  # the objects of one peer's library must not slow the collector down under another's steps
    try:
        calls, rounds = _rounds(steps, first, settings, clock)
    finally:
        gc.unfreeze()
    timings = {
        name: Timing(first[name] * 1e6, tuple(seconds / calls[name] * 1e6 for seconds in rounds[name]), calls[name]) for name in steps
    }
    return Measurement(workload.name, timings, failures)


def _rounds(
    steps: Mapping[str, Step], first: Mapping[str, float], settings: Settings, clock: Callable[[], float]
) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Calls of each peer in a round, and the seconds of its rounds."""
    calls: dict[str, int] = {}
    for name, step in steps.items():
        # a repeated call is the first without compilation; one that is slow for its own sake is not repeated for nothing
        estimate = min(_seconds(step, 1, clock) for _ in range(3)) if first[name] < settings.budget / 4.0 else first[name]
        # several calls even of a slow step, so that a round holds its share of garbage collection
        fewest = 3 if estimate < _SLOW else 1
        calls[name] = max(fewest, round(settings.block / max(estimate, 1e-7)))
    order = list(steps)
    rounds: dict[str, list[float]] = {name: [] for name in order}
    for turn in range(settings.rounds):
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            seconds = rounds[name]
            if seconds and sum(seconds) + seconds[-1] > settings.budget:
                continue
            gc.collect()
            if calls[name] > 1:  # warms the caches, and leaves the garbage that a call finds when it is one of many
                steps[name]()
            seconds.append(_seconds(steps[name], calls[name], clock))
    return calls, rounds
