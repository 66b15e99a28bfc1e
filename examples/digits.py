"""Handwritten digits read by a 64-128-10 ReLU network.

`python -m examples.digits` trains it in mini-batches by gradient descent; `--optimizer adamw --schedule cosine` reads a few digits more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples import options, plots
from examples.datasets import DIGITS_FILE, DataFileError, Digits, load_digits
from examples.progress import Progress
from examples.steps import make_step
from examples.tables import counted, print_table, spread
from funcgrad import nn, optim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPOCHS = 40
SHOWN = [1, 10, 20, 30, 40]  # the epochs printed of a run of that length
BATCH = 32
HIDDEN = 128

Params = dict[str, Any]  # W1, b1, W2, b2: float64 arrays of shapes (64, 128), (128,), (128, 10), (10,)


def init(rng: np.random.Generator) -> Params:
    """Draw the parameters: normal weights of variance 2 / inputs, biases 0."""
    return {
        "W1": rng.normal(0.0, np.sqrt(2 / 64), (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "W2": rng.normal(0.0, np.sqrt(2 / HIDDEN), (HIDDEN, 10)),
        "b2": np.zeros(10),
    }


def logits(params: Params, images: Any) -> Any:
    """The network's score of each digit for each image."""
    hidden = nn.relu(images @ params["W1"] + params["b1"])
    return hidden @ params["W2"] + params["b2"]


def loss(params: Params, images: Any, labels: Any) -> Any:
    """The mean softmax cross-entropy of a batch."""
    return nn.softmax_cross_entropy(logits(params, images), labels)


def read(params: Params, images: Any) -> Any:
    """The digit that the network reads in each image."""
    return np.argmax(logits(params, images), axis=1)


class Trained(NamedTuple):
    """What a run leaves.

    Attributes:
        batch_losses: the loss of each batch, before its step.
        last_losses: the loss of each epoch's last batch.
        mean_losses: the mean of each epoch's batch losses.
        accuracies: the share of validation digits read right after each epoch.
        params: the parameters after the last epoch.
        seconds: for an epoch.
    """

    batch_losses: list[float]
    last_losses: list[float]
    mean_losses: list[float]
    accuracies: list[float]
    params: Params
    seconds: float


def accuracy(params: Params, digits: Digits, rows: NDArray[np.int64]) -> float:
    """The share of these rows read right."""
    return float(np.mean(read(params, digits.images[rows]) == digits.labels[rows]))


def batches_an_epoch(digits: Digits) -> int:
    """How many steps an epoch takes; the last batch may be smaller."""
    return -(-len(digits.train) // BATCH)


def train(
    digits: Digits, optimizer: optim.Optimizer | None = None, epochs: int = EPOCHS, seed: int = 0, *, is_compiled: bool = False
) -> Trained:
    """Train the network on the training rows, in a new order each epoch.

    Args:
        digits: images, labels and their split.
        optimizer: plain gradient descent at 0.2 where it is None.
        epochs: how many.
        seed: of the initial parameters and the orders.
        is_compiled: run each step as one program.
    """
    optimizer = optimizer or optim.sgd(0.2)
    rng = np.random.default_rng(seed)
    params = init(rng)
    state = optimizer.init(params)
    step = make_step(loss, optimizer, is_compiled=is_compiled)
    batch_losses, last_losses, mean_losses, accuracies = [], [], [], []
    start = time.perf_counter()
    bar = Progress(range(epochs), "digits")
    for _ in bar:
        order = rng.permutation(digits.train)
        for first in range(0, len(order), BATCH):
            rows = order[first : first + BATCH]
            value, params, state = step(params, state, digits.images[rows], digits.labels[rows])
            batch_losses.append(float(value))
        last_losses.append(batch_losses[-1])
        mean_losses.append(float(np.mean(batch_losses[-batches_an_epoch(digits) :])))
        accuracies.append(accuracy(params, digits, digits.validation))
        bar.note(f"loss {last_losses[-1]:.4f}, validation accuracy {accuracies[-1]:.3f}")
    return Trained(batch_losses, last_losses, mean_losses, accuracies, params, (time.perf_counter() - start) / epochs)


def misread(params: Params, digits: Digits) -> list[tuple[int, int]]:
    """The test rows that the network reads wrongly, each with the digit that it reads."""
    answers = read(params, digits.images[digits.test])
    return [(int(row), int(answer)) for row, answer in zip(digits.test, answers, strict=True) if answer != digits.labels[row]]


def draw_curves(figure: Figure, run: Trained) -> None:
    """Loss of each batch with its mean over each epoch, and validation accuracy."""
    figure.set_size_inches(10.0, 4.2)
    left, right = figure.subplots(1, 2)
    epochs = len(run.accuracies)
    ends = np.arange(1, epochs + 1)
    passed = np.arange(1, len(run.batch_losses) + 1) * epochs / len(run.batch_losses)
    left.semilogy(passed, run.batch_losses, color=plots.BLUE, alpha=0.25, linewidth=0.8, label="each batch")
    # In the middle of its epoch: at the end the mean would lie above the batches that it is the mean of.
    mark = plots.marker(epochs)
    left.semilogy(ends - 0.5, run.mean_losses, marker=mark, color=plots.BLUE, linewidth=2.0, label="mean of an epoch")
    left.legend(frameon=False)
    plots.label(left, "Digits: training loss", "epoch", "softmax cross-entropy (log scale)", is_count=True)
    right.plot(ends, run.accuracies, marker=mark or ".", color=plots.ORANGE)
    plots.label(right, "Digits: validation accuracy", "epoch", "share read right", is_count=True)


def misread_title(shown: int, wrong: int, total: int) -> str:
    """What the picture of misread digits shows: all of them, or the first ones."""
    if shown < wrong:
        return f"Digits: the first {shown} of {wrong} misread digits (of {total})"
    return f"Digits: {wrong} of {total} test digits {'is' if wrong == 1 else 'are'} read wrongly"


def draw_misread(figure: Figure, digits: Digits, wrong: Sequence[tuple[int, int]]) -> None:
    """Up to 24 test digits that were read wrongly, with what they are and what was read."""
    shown = wrong[:24]
    columns = 6
    lines = max(1, -(-len(shown) // columns))
    figure.set_size_inches(9.0, 0.7 + 1.75 * lines)
    figure.suptitle(misread_title(len(shown), len(wrong), len(digits.test)))
    for place, axes in enumerate(figure.subplots(lines, columns, squeeze=False).ravel()):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(linewidth=0.5, color="gray")
        if place >= len(shown):
            axes.axis("off")
        else:
            row, answer = shown[place]
            axes.imshow(digits.images[row].reshape(8, 8), cmap="gray_r", vmin=0.0, vmax=1.0)
            axes.set_title(f"{digits.labels[row]}, read as {answer}", fontsize=10)


def draw_weights(figure: Figure, params: Params) -> None:
    """The first layer's weights, one image for each hidden neuron."""
    figure.set_layout_engine("compressed")
    figure.set_size_inches(10.0, 4.8)
    weights = params["W1"].T.reshape(HIDDEN // 16, 16, 8, 8)
    limit = float(np.abs(weights).max())
    framed = np.pad(weights, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    axes = figure.subplots()
    picture = axes.imshow(
        framed.transpose(0, 2, 1, 3).reshape(9 * (HIDDEN // 16), 9 * 16)[:-1, :-1], cmap="RdBu_r", vmin=-limit, vmax=limit
    )
    axes.axis("off")
    axes.set_title(f"Digits: first-layer weights, an 8 x 8 image for each of the {HIDDEN} hidden neurons")
    figure.colorbar(picture, ax=axes, label="weight", fraction=0.025)


def load_or_exit(file: Path = DIGITS_FILE) -> Digits:
    """The digits.

    Raises:
        SystemExit: if the file is missing or damaged; says what to do.
    """
    try:
        return load_digits(file)
    except DataFileError as error:
        raise SystemExit(f"error: {error}") from error


def main(argv: Sequence[str] | None = None) -> None:
    """Train, print losses and accuracies, save the pictures."""
    parser = options.make_parser("digits", "Handwritten digits read by a 64-128-10 ReLU network.")
    options.add_training(parser, epochs=EPOCHS, plain_rate=0.2, adaptive_rate=3e-3)
    parser.add_argument("--data", type=Path, default=DIGITS_FILE, metavar="FILE", help="the digits (default: the copy beside this module)")
    given = options.parse_training(parser, argv)
    digits = load_or_exit(given.data)
    plots.make_folder(given.out)

    optimizer = options.choose_optimizer(given, given.epochs * batches_an_epoch(digits))
    run = train(digits, optimizer, given.epochs, given.seed, is_compiled=given.jit)
    wrong = misread(run.params, digits)

    length = counted(given.epochs, "epoch")
    print(f"Digits, 64-128-10 ReLU network, {given.optimizer}, batches of {BATCH}, {length}, {1e3 * run.seconds:.0f} ms an epoch")
    shown = SHOWN if given.epochs == EPOCHS else spread(given.epochs)
    by_epoch = list(zip(run.last_losses, run.accuracies, run.mean_losses, strict=True))
    rows = [[str(epoch), f"{last:.4f}", f"{share:.3f}", f"{mean:.4f}"] for epoch in shown for last, share, mean in [by_epoch[epoch - 1]]]
    print_table(["epoch", "last batch's loss", "validation accuracy", "epoch's mean loss"], rows)
    print(f"  test accuracy {accuracy(run.params, digits, digits.test):.3f}")
    plots.save(
        given.out,
        {
            "digits-curves": lambda figure: draw_curves(figure, run),
            "digits-misread": lambda figure: draw_misread(figure, digits, wrong),
            "digits-weights": lambda figure: draw_weights(figure, run.params),
        },
    )


if __name__ == "__main__":
    main()
