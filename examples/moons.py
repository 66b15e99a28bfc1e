"""Two interleaving half circles told apart by a 2-8-8-1 ReLU network: on Python floats, on arrays, and on arrays with adam.

`python -m examples.moons` trains the same 105 parameters each time. The first two runs do the same arithmetic, once number by number and
once on whole arrays, and print the same losses.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples import options, plots
from examples.datasets import make_moons
from examples.progress import Progress
from examples.steps import make_step
from examples.tables import counted, print_table, spread
from funcgrad import debug, nn, optim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = (2, 8, 8, 1)

Params = list[Any]  # a layer each: on floats a list of neurons ([weight, ...], bias), on arrays a pair (weights, biases)
Data = tuple[Any, Any]  # points and their labels, -1 and 1


def init(seed: int = 0) -> Params:
    """Draw the parameters as Python floats, neuron by neuron and layer by layer: normal weights of variance 2 / inputs, biases 0."""
    rng = np.random.default_rng(seed)
    return [
        [(rng.normal(0.0, math.sqrt(2 / inputs), inputs).tolist(), 0.0) for _ in range(outputs)]
        for inputs, outputs in itertools.pairwise(WIDTHS)
    ]


def to_arrays(params: Params) -> Params:
    """The same parameters as a weight matrix and a bias vector for each layer."""
    return [(np.array([weights for weights, _ in layer]).T, np.array([bias for _, bias in layer])) for layer in params]


def neuron(weights: Sequence[Any], bias: Any, inputs: Sequence[Any]) -> Any:
    """Bias plus weighted inputs, number by number."""
    return sum((weight * value for weight, value in zip(weights, inputs, strict=True)), bias)


def score_floats(params: Params, points: Sequence[Sequence[float]]) -> list[Any]:
    """The score of each point, every number a Python float; above 0 it means label 1."""
    *hidden, [(output_weights, output_bias)] = params
    scores = []
    for values in points:
        for layer in hidden:
            values = [nn.relu(neuron(weights, bias, values)) for weights, bias in layer]
        scores.append(neuron(output_weights, output_bias, values))
    return scores


def loss_floats(params: Params, data: Data) -> tuple[Any, list[Any]]:
    """The mean logistic loss, and the scores."""
    points, labels = data
    scores = score_floats(params, points)
    losses = [np.log(1.0 + np.exp(-label * score)) for label, score in zip(labels, scores, strict=True)]
    return sum(losses) / len(losses), scores


def score_arrays(params: Params, points: Any) -> Any:
    """The score of each point, all points at once."""
    *hidden, (output_weights, output_bias) = params
    values = points
    for weights, bias in hidden:
        values = nn.relu(values @ weights + bias)
    return (values @ output_weights + output_bias)[:, 0]


def loss_arrays(params: Params, data: Data) -> tuple[Any, Any]:
    """The mean logistic loss, and the scores."""
    points, labels = data
    scores = score_arrays(params, points)
    return np.mean(np.log(1.0 + np.exp(-labels * scores))), scores


class Trained(NamedTuple):
    """What a run leaves: loss and accuracy before each step, the parameters after the last, seconds for a step."""

    losses: list[float]
    accuracies: list[float]
    params: Params
    seconds: float


def train(
    loss: Callable[[Params, Data], tuple[Any, Any]],
    params: Params,
    data: Data,
    optimizer: optim.Optimizer | None = None,
    steps: int = 100,
    *,
    is_compiled: bool = False,
) -> Trained:
    """Minimize a loss by full-batch gradient steps.

    Args:
        loss: `loss_floats` or `loss_arrays`.
        params: the initial parameters, of the same kind.
        data: points and labels, of the same kind.
        optimizer: plain gradient descent at 1.0 where it is None.
        steps: how many.
        is_compiled: run each step as one program.
    """
    optimizer = optimizer or optim.sgd(1.0)
    state = optimizer.init(params)
    step = make_step(loss, optimizer, has_aux=True, is_compiled=is_compiled)
    losses, accuracies = [], []
    start = time.perf_counter()
    bar = Progress(range(steps), "moons")
    for _ in bar:
        (value, scores), params, state = step(params, state, data)
        losses.append(float(value))
        accuracies.append(float(np.mean(np.sign(scores) == data[1])))
        bar.note(f"loss {losses[-1]:.4f}")
    return Trained(losses, accuracies, params, (time.perf_counter() - start) / steps)


def draw_loss(figure: Figure, runs: dict[str, Trained]) -> None:
    """The loss of each run over its steps, on a log axis."""
    axes = figure.subplots()
    # The first two runs have the same losses: dashes and smaller markers leave the one below to be seen.
    looks = ((plots.BLUE, "-", 10.0), (plots.ORANGE, "--", 7.0), (plots.GREEN, "-", 4.0))
    for (name, run), (color, style, size) in zip(runs.items(), looks, strict=False):
        mark = plots.marker(len(run.losses))
        axes.semilogy(run.losses, style, marker=mark, markersize=size, color=color, label=name, linewidth=1.8)
    axes.legend(frameon=False)
    plots.label(axes, "Moons: mean logistic loss", "step", "loss (log scale)", is_count=True)


def draw_boundary(figure: Figure, params: Params, points: NDArray[np.float64], labels: NDArray[np.float64]) -> None:
    """How likely the network holds label 1 over the plane, its decision boundary, and the points."""
    figure.set_layout_engine("compressed")
    figure.set_size_inches(7.5, 4.6)
    axes = figure.subplots()
    (left, low), (right, high) = points.min(axis=0) - 0.4, points.max(axis=0) + 0.4
    xs, ys = np.linspace(left, right, 300), np.linspace(low, high, 300)
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    scores = score_arrays(params, grid).reshape(300, 300)
    likely = nn.sigmoid(np.clip(scores, -30.0, 30.0))
    picture = axes.contourf(xs, ys, likely, levels=np.linspace(0.0, 1.0, 21), cmap="RdBu_r", alpha=0.55)
    axes.contour(xs, ys, scores, levels=[0.0], colors="black", linewidths=1.5)
    for label, color, name in ((-1.0, plots.BLUE, "label -1"), (1.0, plots.RED, "label 1")):
        x, y = points[labels == label].T
        axes.scatter(x, y, color=color, edgecolor="white", linewidth=0.8, s=42, label=name)
    figure.colorbar(picture, ax=axes, label="probability of label 1", ticks=np.linspace(0.0, 1.0, 6))
    axes.legend(loc="upper right", framealpha=0.9)
    plots.label(axes, "Moons: decision boundary", "first coordinate", "second coordinate")
    axes.set_aspect("equal")
    axes.grid(visible=False)


def main(argv: Sequence[str] | None = None) -> None:
    """Train on floats, on arrays and with adam, print losses and accuracies, save the pictures."""
    parser = options.make_parser("moons", "Two half circles told apart by a 2-8-8-1 ReLU network, on Python floats and on arrays.")
    options.add_training(parser, epochs=100, plain_rate=1.0, adaptive_rate=0.03, unit="full-batch steps")
    given = options.parse_training(parser, argv)
    plots.make_folder(given.out)

    points, labels = make_moons(seed=given.seed)
    floats = points.tolist(), labels.tolist()
    params = init(given.seed)
    steps = given.epochs
    chosen = options.choose_optimizer(given, steps)
    kinds = {
        f"Python floats, {given.optimizer}": (loss_floats, params, floats, chosen),
        f"arrays, {given.optimizer}": (loss_arrays, to_arrays(params), (points, labels), chosen),
    }
    if given.optimizer != "adam":
        adam = options.make_optimizer("adam", given.adaptive_rate)
        kinds[f"arrays, adam at {given.adaptive_rate:g}"] = (loss_arrays, to_arrays(params), (points, labels), adam)
    runs = {name: train(*kind, steps, is_compiled=given.jit) for name, kind in kinds.items()}

    print(f"Moons, 2-8-8-1 ReLU network, 105 parameters, {counted(steps, 'full-batch step')}")
    shown = spread(steps, first=0)
    for name, run in runs.items():
        print(f"{name}: {1e3 * run.seconds:.2f} ms a step")
        print_table(["step", "loss", "accuracy"], [[str(step), f"{run.losses[step]:.4f}", f"{run.accuracies[step]:.2f}"] for step in shown])
    floats_count = debug.count_records(lambda p: loss_floats(p, floats)[0], params)
    arrays_count = debug.count_records(lambda p: loss_arrays(p, (points, labels))[0], to_arrays(params))
    print(f"Tape records a step: {floats_count:,} on Python floats, {arrays_count} on arrays")
    learned = list(runs.values())[1].params
    plots.save(
        given.out,
        {
            "moons-loss": lambda figure: draw_loss(figure, runs),
            "moons-boundary": lambda figure: draw_boundary(figure, learned, points, labels),
        },
    )


if __name__ == "__main__":
    main()
