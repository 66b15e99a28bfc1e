"""Forward mode or reverse mode: what a full gradient costs in each.

`python -m examples.modes` takes the gradient of one function of 2 to 800 parameters in both modes. A jvp gives one directional derivative,
so forward mode needs a pass for each parameter; a vjp gives them all in one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples import options, plots
from examples.progress import Progress
from examples.tables import print_table
from funcgrad import grad, jvp

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (2, 5, 10, 20, 50, 100, 200, 400, 800)
PASS_COUNTS = (2, 100, 10_000, 1_000_000)


def chain(x: Any) -> Any:
    """A function in which every number meets its neighbors."""
    return np.sum(np.tanh(x[1:] * x[:-1])) + np.sum(np.sin(x) ** 2)


def forward_gradient(f: Callable[[Any], Any], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The gradient by forward mode: one jvp along each axis."""
    return np.array([jvp(f, (x,), (axis,))[1] for axis in np.eye(len(x))])


def reverse_gradient(f: Callable[[Any], Any], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The gradient by reverse mode: one pass."""
    gradient: NDArray[np.float64] = grad(f)(x)
    return gradient


class Comparison(NamedTuple):
    """Both modes on one size: seconds for the whole gradient, and the largest difference between the two."""

    parameters: int
    forward: float
    reverse: float
    difference: float


def compare(size: int, seed: int = 0, repeats: int = 3) -> Comparison:
    """Take the gradient in both modes and time it.

    Args:
        size: the number of parameters.
        seed: of the point.
        repeats: how often each is timed; the fastest counts.
    """
    x = np.random.default_rng(seed).normal(size=size)
    forward, by_forward = _fastest(lambda: forward_gradient(chain, x), repeats)
    reverse, by_reverse = _fastest(lambda: reverse_gradient(chain, x), 10 * repeats)
    return Comparison(size, forward, reverse, float(np.max(np.abs(by_forward - by_reverse))))


def _fastest(gradient: Callable[[], NDArray[np.float64]], repeats: int) -> tuple[float, NDArray[np.float64]]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = gradient()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def passes(parameters: int) -> tuple[int, int]:
    """How many passes through the function a full gradient takes in forward and in reverse mode."""
    return parameters, 1


def draw_times(figure: Figure, comparisons: Sequence[Comparison]) -> None:
    """Milliseconds of both modes over the number of parameters, both axes logarithmic."""
    axes = figure.subplots()
    sizes = [one.parameters for one in comparisons]
    axes.loglog(sizes, [1e3 * one.forward for one in comparisons], "o-", color=plots.ORANGE, label="forward mode: a jvp for each parameter")
    axes.loglog(sizes, [1e3 * one.reverse for one in comparisons], "s-", color=plots.BLUE, label="reverse mode: one pass")
    axes.legend(frameon=False)
    plots.label(axes, "Time of a full gradient", "parameters (log scale)", "milliseconds (log scale)")


def main(argv: Sequence[str] | None = None) -> None:
    """Print times, ratios and pass counts; save the picture."""
    parser = options.make_parser("modes", "What a full gradient costs in forward mode and in reverse mode.")
    parser.add_argument(
        "--largest", type=options.positive_int, default=SIZES[-1], metavar="N", help="leave out larger sizes (default: %(default)s)"
    )
    parser.add_argument("--seed", type=options.seed, default=0, help="of the random point (default: %(default)s)")
    options.add_out(parser)
    given = parser.parse_args(argv)
    sizes = [size for size in SIZES if size <= given.largest]
    if not sizes:
        parser.error(f"argument --largest: got {given.largest}, wanted at least {SIZES[0]}")
    plots.make_folder(given.out)

    comparisons = [compare(size, given.seed) for size in Progress(sizes, "modes")]

    print("One full gradient by forward mode (a jvp for each parameter) and by reverse mode")
    print_table(
        ["parameters", "forward ms", "reverse ms", "ratio", "largest difference"],
        [[str(n), f"{1e3 * fwd:.3f}", f"{1e3 * rev:.3f}", f"{fwd / rev:.1f}", f"{gap:.1e}"] for n, fwd, rev, gap in comparisons],
    )
    print("Passes through the function")
    print_table(["parameters", "forward", "reverse"], [[f"{n:,}", *(f"{count:,}" for count in passes(n))] for n in PASS_COUNTS])
    plots.save(given.out, {"modes": lambda figure: draw_times(figure, comparisons)})


if __name__ == "__main__":
    main()
