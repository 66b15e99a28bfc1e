"""Derivatives on arrays: broadcasting undone, the pieces of a network together, fused against composed cross-entropy.

`python -m examples.tensor` prints how far each gradient is from the one by central differences and draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples import options, plots
from examples.differences import gradient_by_differences
from examples.tables import print_table
from funcgrad import debug, grad, nn, value_and_grad

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((32, 10), (10,)), ((4, 1), (1, 6)), ((2, 3, 5), (3, 1))]


class Broadcast(NamedTuple):
    """A sum of two arrays of different shapes: the shape of the result, and the gradient of its sum in each operand."""

    result: tuple[int, ...]
    left: Array
    right: Array


def broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> Broadcast:
    """Add two arrays of these shapes and take the gradient in both; it counts how often each element was used."""
    a, b = np.zeros(left), np.zeros(right)
    by_a, by_b = grad(lambda a, b: np.sum(a + b), argnums=(0, 1))(a, b)
    return Broadcast((a + b).shape, by_a, by_b)


def make_expression(seed: int = 0) -> tuple[dict[str, Array], NDArray[np.int64]]:
    """Draw the leaves of `expression`, A, W, b and c, and then its four labels."""
    rng = np.random.default_rng(seed)
    leaves = {"A": rng.normal(size=(4, 3)), "W": rng.normal(size=(3, 5)), "b": rng.normal(size=5), "c": rng.normal(size=(4, 1))}
    return leaves, rng.integers(0, 5, 4)


def expression(leaves: dict[str, Any], labels: NDArray[np.int64]) -> Any:
    """Matrix product, broadcasting, relu, reductions, exp, log and cross-entropy in one number."""
    A, W, b, c = (leaves[name] for name in "AWbc")
    H = nn.relu(A @ W + b)
    G = H * c + H
    S = np.log(np.exp(G.sum(axis=1, keepdims=True))) - c
    return nn.softmax_cross_entropy(G, labels) + np.mean(S) + np.mean((H * H).sum(axis=0))


def relative_errors(seed: int = 0) -> dict[str, float]:
    """How far each leaf's gradient is from differences, relative to its largest element."""
    leaves, labels = make_expression(seed)
    gradient = grad(expression)(leaves, labels)
    errors = {}
    for name, leaf in leaves.items():
        wanted = gradient_by_differences(lambda value, name=name: expression({**leaves, name: value}, labels), leaf)  # type: ignore[misc]
        errors[name] = float(np.max(np.abs(gradient[name] - wanted)) / np.max(np.abs(wanted)))
    return errors


def draw_errors(figure: Figure, errors: dict[str, float]) -> None:
    """A bar for each leaf's error, on a log axis, with the bound that all are to stay below."""
    title = "A network's pieces: gradient in each leaf against central differences"
    plots.draw_errors(figure, errors, title, "leaf", "relative error (log scale)")


def composed_cross_entropy(logits: Any, labels: NDArray[np.int64]) -> Any:
    """Softmax cross-entropy from exp, sum, log, a product with one-hot labels, and mean."""
    weights = np.exp(logits)
    probabilities = weights / np.sum(weights, axis=1, keepdims=True)
    return -np.mean(np.sum(np.eye(4)[labels] * np.log(probabilities), axis=1))


class CrossEntropies(NamedTuple):
    """The fused and the composed cross-entropy on the same logits: losses, gradients and tape records, fused first."""

    losses: tuple[float, float]
    gradients: tuple[Array, Array]
    records: tuple[int, int]


def compare_cross_entropies(seed: int = 0) -> CrossEntropies:
    """Take value, gradient and record count of both."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(6, 4)) * 3
    labels = rng.integers(0, 4, 6)
    fused, by_fused = value_and_grad(nn.softmax_cross_entropy)(logits, labels)
    composed, by_composed = value_and_grad(composed_cross_entropy)(logits, labels)
    fused_records = debug.count_records(lambda x: nn.softmax_cross_entropy(x, labels), logits)
    composed_records = debug.count_records(lambda x: composed_cross_entropy(x, labels), logits)
    return CrossEntropies((float(fused), float(composed)), (by_fused, by_composed), (fused_records, composed_records))


def _counts(gradient: Array) -> str:
    return f"{gradient.shape}, each {gradient.flat[0]:.0f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Print shapes, errors and the two cross-entropies; save the bar plot."""
    parser = options.make_parser("tensor", "Derivatives on arrays, beside central differences.")
    parser.add_argument("--seed", type=options.seed, default=0, help="of the random arrays (default: %(default)s)")
    options.add_out(parser)
    given = parser.parse_args(argv)
    plots.make_folder(given.out)

    print("Broadcasting undone: the gradient of sum(a + b) has the shape of each operand and counts how often each element is used")
    rows = []
    for left, right in SHAPES:
        result = broadcast(left, right)
        rows.append([f"{left} + {right}", str(result.result), _counts(result.left), _counts(result.right)])
    print_table(["a + b", "result", "gradient in a", "gradient in b"], rows)

    leaves, labels = make_expression(given.seed)
    value, gradient = value_and_grad(expression)(leaves, labels)
    print(f"A network's pieces in one expression: {value:.10f}")
    errors = relative_errors(given.seed)
    print_table(
        ["leaf", "shape", "largest gradient", "relative error"],
        [[name, str(leaf.shape), f"{np.max(np.abs(gradient[name])):.6f}", f"{errors[name]:.1e}"] for name, leaf in leaves.items()],
    )
    print(f"  worst relative error against differences: {max(errors.values()):.1e}")

    both = compare_cross_entropies(given.seed)
    print("Softmax cross-entropy as one primitive and composed from exp, sum, log, a one-hot product and mean")
    print_table(
        ["form", "loss", "tape records"],
        [[form, f"{loss:.10f}", str(count)] for form, loss, count in zip(("fused", "composed"), both.losses, both.records, strict=True)],
    )
    print(f"  largest difference between the gradients: {np.max(np.abs(both.gradients[0] - both.gradients[1])):.1e}")
    plots.save(given.out, {"tensor-errors": lambda figure: draw_errors(figure, errors)})


if __name__ == "__main__":
    main()
