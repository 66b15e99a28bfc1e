"""XOR by a network of three tanh neurons, every number a Python float.

`python -m examples.xor` trains it by plain gradient descent and draws the loss and what the network answers over the square.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from examples import options, plots
from examples.progress import Progress
from examples.steps import make_step
from examples.tables import counted, print_table, spread
from funcgrad import optim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPOCHS = 3000
SHOWN = [1, 100, 500, 1000, 2000, 3000]  # the epochs printed of a run of that length

ROWS = [((0.0, 0.0), 0.0), ((0.0, 1.0), 1.0), ((1.0, 0.0), 1.0), ((1.0, 1.0), 0.0)]

Neuron = list[float]  # two weights and a bias


def init(seed: int = 0) -> list[Neuron]:
    """Draw the nine parameters, neuron by neuron: the two hidden ones, then the output."""
    numbers = np.random.default_rng(seed).uniform(-1.0, 1.0, 9).tolist()
    return [numbers[0:3], numbers[3:6], numbers[6:9]]


def neuron(parameters: Neuron, inputs: Sequence[Any]) -> Any:
    """One tanh neuron of two inputs."""
    w1, w2, bias = parameters
    x1, x2 = inputs
    return np.tanh(w1 * x1 + w2 * x2 + bias)


def predict(params: list[Neuron], inputs: Sequence[Any]) -> Any:
    """The network's answer; the inputs may be numbers, or arrays of many points at once."""
    first, second, output = params
    return neuron(output, [neuron(first, inputs), neuron(second, inputs)])


def loss(params: list[Neuron]) -> Any:
    """The squared errors of the four rows, summed."""
    return sum((predict(params, inputs) - target) ** 2 for inputs, target in ROWS)


class Trained(NamedTuple):
    """What a run leaves: the loss before each step, and the parameters after the last."""

    losses: list[float]
    params: list[Neuron]


def train(optimizer: optim.Optimizer | None = None, epochs: int = EPOCHS, seed: int = 0, *, is_compiled: bool = False) -> Trained:
    """Train the network.

    Args:
        optimizer: plain gradient descent at 0.1 where it is None.
        epochs: how many steps; each sees all four rows.
        seed: of the initial parameters.
        is_compiled: run each step as one program.
    """
    optimizer = optimizer or optim.sgd(0.1)
    params = init(seed)
    state = optimizer.init(params)
    step = make_step(loss, optimizer, is_compiled=is_compiled)
    losses = []
    bar = Progress(range(epochs), "xor")
    for _ in bar:
        value, params, state = step(params, state)
        losses.append(value)
        bar.note(f"loss {value:.6f}")
    return Trained(losses, params)


def draw_loss(figure: Figure, losses: Sequence[float]) -> None:
    """The loss of each epoch, on a log axis."""
    axes = figure.subplots()
    axes.semilogy(range(1, len(losses) + 1), losses, marker=plots.marker(len(losses)), color=plots.BLUE)
    plots.label(axes, "XOR: sum of squared errors", "epoch", "loss (log scale)", is_count=True)


def draw_answers(figure: Figure, params: list[Neuron]) -> None:
    """The network's answer over the square, with the four rows as points."""
    figure.set_size_inches(5.8, 4.8)
    axes = figure.subplots()
    side = np.linspace(-0.25, 1.25, 200)
    answers = predict(params, np.meshgrid(side, side))
    reach = float(np.abs(answers - 0.5).max())  # colors are even about 0.5, where the answer turns from 0 to 1
    picture = axes.pcolormesh(side, side, answers, cmap="RdBu_r", vmin=0.5 - reach, vmax=0.5 + reach, shading="gouraud")
    axes.contour(side, side, answers, levels=[0.5], colors="black", linestyles="dashed", linewidths=1.0)
    for (x1, x2), target in ROWS:
        axes.plot(x1, x2, "o", markersize=13, markeredgecolor="black", color="white" if target else "black")
        axes.annotate(
            f"wanted {target:.0f}",
            (x1, x2),
            (0, 13),
            textcoords="offset points",
            ha="center",
            bbox={"fc": "white", "ec": "none", "alpha": 0.75, "pad": 1.5},
        )
    figure.colorbar(picture, ax=axes, label="output (dashed line: 0.5)")
    plots.label(axes, "XOR: the network's answer", "first input", "second input")
    axes.grid(visible=False)


def main(argv: Sequence[str] | None = None) -> None:
    """Train, print the losses and the answers, save the pictures."""
    parser = options.make_parser("xor", "XOR by a 2-2-1 tanh network on Python floats.")
    options.add_training(parser, epochs=EPOCHS, plain_rate=0.1, adaptive_rate=0.02)
    given = options.parse_training(parser, argv)
    plots.make_folder(given.out)

    losses, params = train(options.choose_optimizer(given, given.epochs), given.epochs, given.seed, is_compiled=given.jit)

    print(f"XOR, 2-2-1 tanh network, 9 parameters, {given.optimizer}, {counted(given.epochs, 'epoch')}")
    shown = SHOWN if given.epochs == EPOCHS else spread(given.epochs)
    print_table(["epoch", "loss"], [[str(epoch), f"{losses[epoch - 1]:.6f}"] for epoch in shown])
    print_table(
        ["input", "wanted", "answer"],
        [[f"({x1:.0f}, {x2:.0f})", f"{target:.0f}", f"{predict(params, (x1, x2)):.4f}"] for (x1, x2), target in ROWS],
    )
    rises = sum(after > before for before, after in itertools.pairwise(losses))
    print(f"  the loss rose in {rises} of {counted(len(losses) - 1, 'step')}")
    plots.save(
        given.out, {"xor-loss": lambda figure: draw_loss(figure, losses), "xor-answers": lambda figure: draw_answers(figure, params)}
    )


if __name__ == "__main__":
    main()
