"""What funcgrad is to reach, as ratios and megabytes of one run, and whether a run reached it."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import peers
from benchmarks.measure import Measurement
from benchmarks.memory import Usage


@dataclass(frozen=True)
class Ratio:
    """funcgrad's time is at most `limit` times the best of some peers'.

    Attributes:
        workload: The workload's name.
        against: The peers; the fastest of those that were measured counts.
        limit: The largest ratio that meets the target.
        wording: The target in words.
        of: The peer whose time is held against the limit.
    """

    workload: str
    against: tuple[str, ...]
    limit: float
    wording: str
    of: str = peers.FUNCGRAD


@dataclass(frozen=True)
class Memory:
    """funcgrad's memory is at most `limit` MB."""

    case: str
    limit: float
    wording: str
    of: str = peers.FUNCGRAD


@dataclass(frozen=True)
class Verdict:
    """A target held against a run.

    Attributes:
        wording: The target in words.
        limit: The largest value that meets it.
        unit: "x" for ratios, "s" for seconds, "MB" for memory.
        measured: What the run measured; None if it did not.
    """

    wording: str
    limit: float
    unit: str
    measured: float | None

    @property
    def outcome(self) -> str:
        """`met`, `not met` or `not measured`."""
        if self.measured is None:
            return "not measured"
        return "met" if self.measured <= self.limit else "not met"


_HAND = (peers.HAND_WRITTEN,)
_NUMPY_PEERS = (peers.AUTOGRAD, peers.MYGRAD)
_TORCH = (peers.TORCH,)
_OWN_NAMES = (peers.FUNCGRAD_NUMPY,)
_AUTOGRAD = (peers.AUTOGRAD,)
_LOOP = (peers.FUNCGRAD_LOOP,)
_EAGER = (peers.FUNCGRAD,)
_JIT = peers.FUNCGRAD_JIT
_JAX_JIT = (peers.JAX_JIT,)
_FAST = (peers.JAX_JIT, peers.TORCH)
_YARDSTICK = (peers.YARDSTICK,)

RATIOS: tuple[Ratio, ...] = (
    Ratio("mlp_step", _HAND, 1.7, "mlp_step: at most 1.7 x hand-written"),
    Ratio("mlp_step", _NUMPY_PEERS, 1 / 2, "mlp_step: at most half of the best NumPy peer's"),
    Ratio("mlp_step", _TORCH, 1 / 2, "mlp_step: at most half of PyTorch's"),
    Ratio("chain200", _HAND, 2.3, "chain200: at most 2.3 x hand-written"),
    Ratio("chain200", _TORCH, 0.4, "chain200: at most 0.4 of PyTorch's"),
    Ratio("rosen100_grad", _NUMPY_PEERS, 1 / 4, "rosen100_grad: at most a quarter of the best NumPy peer's"),
    Ratio("rosen100_hvp", (peers.AUTOGRAD,), 1 / 5, "rosen100_hvp: at most a fifth of autograd's"),
    Ratio("scalar1000", (peers.AUTOGRAD,), 1 / 6, "scalar1000: at most a sixth of autograd's"),
    Ratio("scalar_moons", (peers.ENGINE,), 1 / 8, "scalar_moons: at most an eighth of the closure-per-node engine's"),
    Ratio("scalar_moons", (peers.AUTOGRAD,), 1 / 50, "scalar_moons: at most a fiftieth of autograd's"),
    Ratio("chain200", _OWN_NAMES, 1.08, "chain200: plain numpy calls cost at most 8 % more than funcgrad.numpy"),
    Ratio("mlp_step", _OWN_NAMES, 1.08, "mlp_step: plain numpy calls cost at most 8 % more than funcgrad.numpy"),
    Ratio("per_example128", _TORCH, 1.2, "per_example128: at most 1.2 x PyTorch's"),
    Ratio("per_example128", _LOOP, 1 / 3, "per_example128: at most a third of a Python loop's"),
    Ratio("jacobian50", _TORCH, 1.0, "jacobian50: at most PyTorch's"),
    Ratio("jacobian50", _AUTOGRAD, 1 / 5, "jacobian50: at most a fifth of autograd's"),
    Ratio("rosen100_hessian", _TORCH, 1 / 3, "rosen100_hessian: at most a third of PyTorch's"),
    Ratio("rosen100_hessian", _AUTOGRAD, 1 / 20, "rosen100_hessian: at most a twentieth of autograd's"),
    Ratio("rosen100_hvp", _YARDSTICK, 3.2, "rosen100_hvp: at most 3.2 x the gradient"),
    Ratio("jvp1e5", _YARDSTICK, 2.6, "jvp1e5: at most 2.6 x the function"),
    Ratio("linearize1e5", _YARDSTICK, 1.5, "linearize1e5: a further call at most 1.5 x the function"),
    Ratio("checkpoint100", _YARDSTICK, 1.6, "checkpoint100: at most 1.6 x the gradient that keeps all values"),
    Ratio("mlp_step", _HAND, 1.0, "mlp_step, jit: at most 1.0 x hand-written", _JIT),
    Ratio("mlp_step", _JAX_JIT, 1 / 2, "mlp_step, jit: at most half of JAX jit's", _JIT),
    Ratio("digits_momentum", _HAND, 1.1, "digits_momentum, jit: at most 1.1 x hand-written in place", _JIT),
    Ratio("digits_momentum", _FAST, 1.0, "digits_momentum, jit: at most JAX jit's and PyTorch's", _JIT),
    Ratio("digits_adam", _HAND, 1.1, "digits_adam, jit: at most 1.1 x hand-written in place", _JIT),
    Ratio("digits_adam", _FAST, 1.0, "digits_adam, jit: at most JAX jit's and PyTorch's", _JIT),
    Ratio("chain200", _HAND, 0.95, "chain200, jit: at most 0.95 x hand-written", _JIT),
    Ratio("big1e6", _HAND, 0.5, "big1e6, jit: at most half of hand-written", _JIT),
    Ratio("big1e6", _JAX_JIT, 1.3, "big1e6, jit: at most 1.3 x JAX jit's", _JIT),
    Ratio("big1e6", _HAND, 0.3, "big1e6, jit on two threads: at most 0.3 x hand-written", peers.FUNCGRAD_JIT_2),
    Ratio("rosen100_grad", _HAND, 4.0, "rosen100_grad, jit: at most 4 x hand-written", _JIT),
    Ratio("rosen100_hessian", _TORCH, 1 / 10, "rosen100_hessian, jit: at most a tenth of PyTorch's", _JIT),
    Ratio("lstm_step", _EAGER, 1 / 2, "lstm_step, jit: at most half of the eager time", _JIT),
    Ratio("lstm_step", _TORCH, 1 / 3, "lstm_step, jit: at most a third of PyTorch's", _JIT),
    Ratio("scalar_moons", _EAGER, 1 / 8, "scalar_moons, jit: at most an eighth of the eager time", _JIT),
    Ratio("scalar_moons", (peers.ENGINE,), 1 / 60, "scalar_moons, jit: at most a sixtieth of the closure-per-node engine's", _JIT),
    Ratio("jacobian50", _TORCH, 1 / 3, "jacobian50, jit: at most a third of PyTorch's", _JIT),
    Ratio("per_example128", _HAND, 1.2, "per_example128, jit: at most 1.2 x hand-written", _JIT),
    Ratio("scan10000", _LOOP, 1.3, "scan10000: at most 1.3 x the Python loop"),
)
MEMORY: tuple[Memory, ...] = (
    Memory("memory_tanh50", 410.0, "50 x tanh on 1e6 numbers: gradient within 410 MB"),
    Memory("memory_tanh50", 60.0, "50 x tanh on 1e6 numbers, jit: gradient within 60 MB", peers.FUNCGRAD_JIT),
    Memory("memory_half_sin50", 420.0, "50 x (0.5 y + sin y) on 1e6 numbers: gradient within 420 MB"),
    Memory("memory_checkpoint100", 200.0, "100 x tanh on 1e6 numbers in checkpointed pieces: gradient within 200 MB"),
    Memory("memory_scan10000", 30.0, "10,000 steps of a 100-number state by scan: gradient within 30 MB"),
    Memory("memory_jvp200", 50.0, "200 x sin on 1e6 numbers: jvp within 50 MB"),
    # two bytes a gradient: less than any object, more than the interpreter's own caches move by
    Memory("memory_growth", 0.004, "2,000 small gradients: no growth"),
)


_COMPILED = ("mlp_step", "chain200", "big1e6", "rosen100_grad", "rosen100_hessian", "lstm_step", "jacobian50", "per_example128")
FIRST_CALLS: tuple[Ratio, ...] = tuple(
    Ratio(name, _JAX_JIT, 1 / 5, f"{name}, jit: first call at most a fifth of JAX's", _JIT) for name in _COMPILED
)
"""Of the first calls: recording, passes, compiling."""
LONGEST_FIRST_CALL = 1.5
"""Seconds for the scalar program of 20,000 operations."""


def ratio(measurement: Measurement, of: str, against: tuple[str, ...]) -> float | None:
    """The time of one peer over that of the fastest of others.

    Args:
        measurement: A workload's timings.
        of: The peer in the numerator.
        against: The peers in the denominator; those that were not measured are left out.

    Returns:
        The ratio; None if either side was not measured.
    """
    rivals = [measurement.timings[name] for name in against if name in measurement.timings]
    if of not in measurement.timings or not rivals:
        return None
    return max(measurement.timings[of].ratio(rival) for rival in rivals)


def judge(measurements: Mapping[str, Measurement], usages: Mapping[str, Usage]) -> list[Verdict]:
    """Hold every target against a run.

    Args:
        measurements: Timings by workload.
        usages: Memory by case.

    Returns:
        One verdict a target, in the order of `RATIOS`, `FIRST_CALLS` and `MEMORY`.
    """
    verdicts = []
    for target in RATIOS:
        measurement = measurements.get(target.workload)
        value = None if measurement is None else ratio(measurement, target.of, target.against)
        verdicts.append(Verdict(target.wording, target.limit, "x", value))
    for target in FIRST_CALLS:
        timings = measurements[target.workload].timings if target.workload in measurements else {}
        pair = [timings[name].first for name in (target.of, *target.against) if name in timings]
        verdicts.append(Verdict(target.wording, target.limit, "x", pair[0] / pair[1] if len(pair) == 2 else None))
    moons = measurements.get("scalar_moons")
    first = moons.timings[_JIT].first / 1e6 if moons is not None and _JIT in moons.timings else None
    wording = f"scalar_moons, jit: first call within {LONGEST_FIRST_CALL} s"
    verdicts.append(Verdict(wording, LONGEST_FIRST_CALL, "s", first))
    for case in MEMORY:
        usage = usages.get(case.case)
        value = None if usage is None else usage.megabytes.get(case.of)
        verdicts.append(Verdict(case.wording, case.limit, "MB", value))
    return verdicts
