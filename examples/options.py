"""The command-line options that the examples share, and the optimizer that they name."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path

from funcgrad import optim

OPTIMIZERS = ("sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad")
SCHEDULES = ("constant", "cosine", "exponential")
WEIGHT_DECAY = 1e-2  # of adamw


def make_parser(name: str, summary: str) -> argparse.ArgumentParser:
    """Make the parser of `python -m examples.NAME` (of `python -m examples` where the name is empty)."""
    return argparse.ArgumentParser(prog=f"python -m examples.{name}" if name else "python -m examples", description=summary)


def positive_int(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted a whole number of at least 1")
    return int(text)


def seed(text: str) -> int:
    """Read a seed: a whole number from 0 to 2**32 - 1."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted a whole number from 0 to {2**32 - 1}")
    return int(text)


def positive_float(text: str) -> float:
    """Read a finite number above 0."""
    number = _float(text)
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted a finite number above 0")
    return number


def non_negative_float(text: str) -> float:
    """Read a finite number of at least 0."""
    number = _float(text)
    if not 0.0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted a finite number of at least 0")
    return number


def folder(text: str) -> Path:
    """Read the name of a folder, which need not exist yet."""
    if os.path.exists(text) and not os.path.isdir(text):  # unlike Path.exists, no error below a folder that may not be entered
        raise argparse.ArgumentTypeError(f"got {text!r}, which is a file, wanted a folder")
    return Path(text)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted a number") from None


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add --out, the folder of the pictures."""
    parser.add_argument("--out", type=folder, default=Path("out"), metavar="FOLDER", help="folder for the pictures (default: %(default)s)")


def add_jit(parser: argparse.ArgumentParser) -> None:
    """Add --jit, to run each training step as one compiled program."""
    parser.add_argument(
        "--jit", action="store_true", help="compile the training step: the same numbers in less time, from the second step on"
    )


def add_training(parser: argparse.ArgumentParser, *, epochs: int, plain_rate: float, adaptive_rate: float, unit: str = "epochs") -> None:
    """Add what a training run can be told: length, optimizer, schedule, rate, weight decay, seed and the pictures' folder.

    Args:
        parser: the parser to add to.
        epochs: the default length.
        plain_rate: the default learning rate of sgd and adagrad; a tenth of it with momentum.
        adaptive_rate: the default learning rate of the others, whose steps hardly depend on the gradient's scale.
        unit: what the length counts, for the help text.
    """
    parser.set_defaults(plain_rate=plain_rate, adaptive_rate=adaptive_rate)
    parser.add_argument("--epochs", type=positive_int, default=epochs, metavar="N", help=f"{unit} to train (default: %(default)s)")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="sgd", help="how parameters follow the gradient (default: %(default)s)")
    rates = f"{plain_rate:g} for sgd and adagrad, {plain_rate / 10:g} for momentum and nesterov, {adaptive_rate:g} for the others"
    parser.add_argument("--learning-rate", type=positive_float, metavar="RATE", help=f"step size (default: {rates})")
    parser.add_argument("--schedule", choices=SCHEDULES, default="constant", help="the rate over the run (default: %(default)s)")
    parser.add_argument("--weight-decay", type=non_negative_float, metavar="DECAY", help=f"for adamw only (default: {WEIGHT_DECAY:g})")
    parser.add_argument("--seed", type=seed, default=0, help="of the random numbers (default: %(default)s)")
    add_jit(parser)
    add_out(parser)


def parse_training(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the options of `add_training`, and refuse one that has no effect with the chosen optimizer.

    Args:
        parser: a parser that `add_training` added to.
        argv: the command line without the program's name; None for that of this process.

    Raises:
        SystemExit: with status 2, if an option cannot be read or has no effect.
    """
    given = parser.parse_args(argv)
    if given.weight_decay is not None and given.optimizer != "adamw":
        parser.error(f"argument --weight-decay: has no effect with --optimizer {given.optimizer}; leave it out or take --optimizer adamw")
    return given


def choose_optimizer(given: argparse.Namespace, steps: int) -> optim.Optimizer:
    """Make the optimizer that the options of `add_training` name.

    Args:
        given: the parsed options.
        steps: how many updates the whole run makes; the schedules end there.

    Returns:
        The pair of functions (init, update).
    """
    rate = given.learning_rate
    if rate is None:
        plain, adaptive = given.plain_rate, given.adaptive_rate
        rate = {"sgd": plain, "adagrad": plain, "momentum": plain / 10, "nesterov": plain / 10}.get(given.optimizer, adaptive)
    decay = WEIGHT_DECAY if given.weight_decay is None else given.weight_decay
    return make_optimizer(given.optimizer, rate, schedule=given.schedule, steps=steps, weight_decay=decay)


def make_optimizer(
    name: str, learning_rate: float, *, schedule: str = "constant", steps: int = 1, weight_decay: float = WEIGHT_DECAY
) -> optim.Optimizer:
    """Make the optimizer that --optimizer and --schedule name.

    Args:
        name: one of `OPTIMIZERS`.
        learning_rate: the step size, at the start where a schedule lowers it.
        schedule: one of `SCHEDULES`; cosine falls to 0 over `steps`, exponential to a hundredth.
        steps: how many updates the whole run makes.
        weight_decay: of adamw.

    Returns:
        The pair of functions (init, update).
    """
    rate: float | optim.Schedule = learning_rate
    if schedule == "cosine":
        rate = optim.cosine_decay(learning_rate, steps)
    elif schedule == "exponential":
        rate = optim.exponential_decay(learning_rate, steps, 0.01)
    if name == "momentum":
        return optim.sgd(rate, momentum=0.9)
    if name == "nesterov":
        return optim.sgd(rate, momentum=0.9, nesterov=True)
    if name == "adamw":
        return optim.adamw(rate, weight_decay=weight_decay)
    if name == "adam":
        return optim.adam(rate)
    if name == "rmsprop":
        return optim.rmsprop(rate)
    if name == "adagrad":
        return optim.adagrad(rate)
    return optim.sgd(rate)
