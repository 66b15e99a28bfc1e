"""One memory measurement in a process of its own: `python -m benchmarks.memory_probe CASE PEER` prints it as a number.

Peak memory is the largest resident size during the step above the resident size just before it, in MB of 1e6 bytes. A process
of its own is needed because a peak is kept for the life of a process, and because freed memory stays with it.
"""

import contextlib
import gc
import resource
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.adapters import gradient_builders
from benchmarks.workload import Step
from benchmarks.workloads import recomputed

SIZE = 1_000_000
SMALL_GRADIENTS = 2_000

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def tanh50(xp: Any, x: Any) -> Any:
    """50 times y = tanh(y), then the sum."""
    for _ in range(50):
        x = xp.tanh(x)
    return xp.sum(x)


def half_sin50(xp: Any, x: Any) -> Any:
    """50 times y = 0.5 y + sin(y), then the sum."""
    for _ in range(50):
        x = 0.5 * x + xp.sin(x)
    return xp.sum(x)


def sin200(xp: Any, x: Any) -> Any:
    """200 times y = sin(y)."""
    for _ in range(200):
        x = xp.sin(x)
    return x


def small(xp: Any, x: Any) -> Any:
    """A small loss on a few numbers."""
    return xp.sum(xp.exp(-x * x) * xp.sin(x) + x / (2.0 + xp.cos(x)))


def _input(size: int) -> Any:
    return np.random.default_rng(0).normal(size=size)


def _tanh50_by_hand(x: Any) -> Any:
    saved = []
    for _ in range(50):
        x = np.tanh(x)
        saved.append(x)
    gradient = np.ones_like(x)
    while saved:
        y = saved.pop()
        gradient = gradient * (1.0 - y * y)
    return gradient


def _half_sin50_by_hand(x: Any) -> Any:
    saved = []
    for _ in range(50):
        saved.append(x)
        x = 0.5 * x + np.sin(x)
    gradient = np.ones_like(x)
    while saved:
        gradient = gradient * (0.5 + np.cos(saved.pop()))
    return gradient


def _sin200_by_hand(x: Any, tangent: Any) -> tuple[Any, Any]:
    for _ in range(200):
        x, tangent = np.sin(x), np.cos(x) * tangent
    return x, tangent


def _jvp_step(peer: str, size: int) -> Step:
    """The step of the peer's forward mode through `sin200`."""
    x, tangent = _input(size), np.ones(size)
    if peer == peers.HAND_WRITTEN:
        return lambda: _sin200_by_hand(x, tangent)
    if peer == peers.FUNCGRAD:
        import funcgrad

        return lambda: funcgrad.jvp(lambda x: sin200(np, x), (x,), (tangent,))
    if peer == peers.AUTOGRAD:
        import autograd
        import autograd.numpy as anp

        derivative = autograd.make_jvp(lambda x: sin200(anp, x))
        return lambda: derivative(x)(tangent)
    if peer == peers.TORCH:
        import torch

        primals, tangents = (torch.from_numpy(x),), (torch.from_numpy(tangent),)
        return lambda: torch.func.jvp(lambda x: sin200(torch, x), primals, tangents)
    if peer == peers.JAX_JIT:
        import jax
        import jax.numpy as jnp

        pair = jnp.asarray(x), jnp.asarray(tangent)
        compiled = jax.jit(lambda x, tangent: jax.jvp(lambda x: sin200(jnp, x), (x,), (tangent,))).lower(*pair).compile()
        return lambda: jax.block_until_ready(compiled(*pair))
    raise ValueError(f"{peer} has no forward mode here")


def _gradient_step(f: Callable[[Any, Any], Any], by_hand: Callable[[Any], Any]) -> Callable[[str, int], Step]:
    """The step of each peer's gradient of f."""

    def make(peer: str, size: int) -> Step:
        if peer == peers.HAND_WRITTEN:
            x = _input(size)
            return lambda: by_hand(x)
        if peer == peers.JAX_JIT:  # compiled before, so that the compiler's memory is not counted
            import jax
            import jax.numpy as jnp

            array = jnp.asarray(_input(size))
            compiled = jax.jit(jax.grad(lambda x: f(jnp, x))).lower(array).compile()
            return lambda: jax.block_until_ready(compiled(array))
        step = gradient_builders(f, lambda: _input(size), with_value=False)[peer]()
        if peer == peers.FUNCGRAD_JIT:  # likewise: a program is recorded on the arrays of its first call
            step()
        return step

    return make


def _checkpoint_step(peer: str, size: int) -> Step:
    return recomputed.of_chain(recomputed.chain_in_pieces, size)


def _scan_step(peer: str, size: int) -> Step:
    return recomputed.of_recurrence(recomputed.scanned if peer == peers.FUNCGRAD else recomputed.looped)


PEAKS: dict[str, Callable[[str, int], Step]] = {
    "memory_tanh50": _gradient_step(tanh50, _tanh50_by_hand),
    "memory_half_sin50": _gradient_step(half_sin50, _half_sin50_by_hand),
    "memory_jvp200": _jvp_step,
    "memory_checkpoint100": _checkpoint_step,
    "memory_scan10000": _scan_step,
}


def _status(field: str) -> float:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return float(line.split()[1]) * 1024.0
    raise OSError(f"{_STATUS} has no {field}")


def _largest() -> float:
    """The largest resident size of the process so far, bytes, by the operating system's accounting of resources."""
    largest = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return largest if sys.platform == "darwin" else largest * 1024.0


def peak(step: Step) -> float:
    """Memory that a step needs at its highest, above what the process holds before it.

    Args:
        step: Called once.

    Returns:
        MB of 1e6 bytes.
    """
    gc.collect()
    if _STATUS.is_file():
        with contextlib.suppress(OSError):  # the peak starts anew; where that is forbidden, imports may have set a higher one
            _CLEAR.write_text("5")
        start = _status("VmRSS")
        step()
        return max(_status("VmHWM") - start, 0.0) / 1e6
    start = _largest()
    step()
    return (_largest() - start) / 1e6


def growth(step: Step) -> float:
    """Memory that Python still holds after 2,000 calls of a step and did not hold before them.

    Args:
        step: Called 4,000 times: as often before the measurement, so that caches of a fixed size are full when it begins.

    Returns:
        MB of 1e6 bytes, exact to the byte for what Python and NumPy allocate.
    """
    tracemalloc.start()
    held = []
    for _ in range(2):
        for _ in range(SMALL_GRADIENTS):
            step()
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return (held[1] - held[0]) / 1e6


def probe(case: str, peer: str) -> float:
    """Measure one case of one peer in this process.

    Args:
        case: A key of `PEAKS`, or `memory_growth`.
        peer: The peer's name.

    Returns:
        MB of 1e6 bytes.
    """
    peers.prepare(peer)
    if case == "memory_growth":
        return growth(gradient_builders(small, lambda: _input(10), with_value=False)[peer]())
    PEAKS[case](peer, 10)()  # whatever a first call loads
    return peak(PEAKS[case](peer, SIZE))


if __name__ == "__main__":
    print(probe(*sys.argv[1:]))
