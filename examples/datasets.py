"""The two data sets of the examples: two half circles, made here, and handwritten digits, read from `examples/data/digits.npz`."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from funcgrad.errors import FuncgradError

DIGITS_FILE = Path(__file__).parent / "data" / "digits.npz"

_DIGITS = {  # key: dtype, shape, first value that is too large
    "images": (np.uint8, (1797, 64), 17),
    "labels": (np.uint8, (1797,), 10),
    "train": (np.uint16, (1077,), 1797),
    "val": (np.uint16, (360,), 1797),
    "test": (np.uint16, (360,), 1797),
}


class DataFileError(FuncgradError, OSError):
    """A data file that is missing, damaged or not what it should be."""


class Digits(NamedTuple):
    """Handwritten digits and their split.

    Attributes:
        images: float64 array, shape (1797, 64), ink from 0.0 to 1.0, 8 rows of 8 pixels each.
        labels: integer array, shape (1797,), the digit from 0 to 9.
        train: integer array, shape (1077,), rows to train on.
        validation: integer array, shape (360,), rows to validate on.
        test: integer array, shape (360,), rows to test on.
    """

    images: NDArray[np.float64]
    labels: NDArray[np.int64]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def make_moons(points: int = 100, noise: float = 0.1, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make two interleaving half circles, number for number those of scikit-learn's `make_moons(random_state=seed)`.

    Args:
        points: how many, over both moons.
        noise: standard deviation of the normal noise on each coordinate.
        seed: of the random numbers (the older `RandomState`, which scikit-learn draws from).

    Returns:
        The points, float64 of shape (points, 2), and their labels, float64 of shape (points,): -1.0 the upper moon, 1.0 the lower.
    """
    rng = np.random.RandomState(seed)
    upper = np.linspace(0.0, np.pi, points // 2)
    lower = np.linspace(0.0, np.pi, points - points // 2)
    across = np.concatenate([np.cos(upper), 1.0 - np.cos(lower)])
    up = np.concatenate([np.sin(upper), 1.0 - np.sin(lower) - 0.5])
    labels = np.repeat([-1.0, 1.0], [len(upper), len(lower)])
    order = np.arange(points)
    rng.shuffle(order)
    xy = np.stack([across, up], axis=1)[order]
    return xy + rng.normal(scale=noise, size=xy.shape), labels[order]


def load_digits(file: Path = DIGITS_FILE) -> Digits:
    """Read the digits and check that the file holds what it should.

    Args:
        file: the npz file; its keys are described in `examples/data/README.md`.

    Returns:
        Images scaled to 0.0 ... 1.0, labels and the split.

    Raises:
        DataFileError: if the file is missing, cannot be read, lacks a key, or holds an array of another dtype, shape or range.
    """
    if not file.is_file():
        raise DataFileError(f"the digits file is missing: {file} does not exist or is not a file. {_remedy(file)}")
    arrays = {}
    try:
        with file.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise zipfile.BadZipFile("it is no zip archive")
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as archive:
                for key in _DIGITS:
                    arrays[key] = archive[key]
    except KeyError as error:
        raise DataFileError(
            f"the digits file is damaged: {file} has no array named {key!r}, wanted {', '.join(_DIGITS)}. {_remedy(file)}"
        ) from error
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise DataFileError(f"the digits file is damaged: {file} cannot be read as an npz archive ({error}). {_remedy(file)}") from error
    for key, (dtype, shape, limit) in _DIGITS.items():
        array = arrays[key]
        if array.dtype != dtype or array.shape != shape:
            got, wanted = f"{array.dtype} of shape {array.shape}", f"{np.dtype(dtype)} of shape {shape}"
            raise DataFileError(f"the digits file is damaged: {key!r} in {file} is {got}, wanted {wanted}. {_remedy(file)}")
        if array.max() >= limit:
            raise DataFileError(
                f"the digits file is damaged: {key!r} in {file} holds {array.max()}, wanted at most {limit - 1}. {_remedy(file)}"
            )
    rows = (arrays[key].astype(np.int64) for key in ("labels", "train", "val", "test"))
    return Digits(arrays["images"] / 16.0, *rows)


def _remedy(file: Path) -> str:
    if file == DIGITS_FILE:
        return "Restore it with `git checkout examples/data/digits.npz`, or name another copy with --data."
    return f"Name a whole copy with --data, or leave --data out to use {DIGITS_FILE}."
