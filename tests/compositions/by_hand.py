"""Transforms written by hand, of functions that know nothing of funcgrad: loops over examples, and differences.

A function by hand takes many points at once, each a row of numbers in which those of all its arguments stand one behind the other. So the
many points that differences of differences ask for are one call, and each of them is computed once; at the bottom a loop calls the plain
function with one point at a time.

Differences use six points (Fornberg 1988): they are wrong by STEP**6 / 140 times the seventh derivative. With that, steps may be
long, and each difference multiplies rounding errors by about 2 / STEP only. Points are multiples of powers of two, far longer than the
last bit of a number: those that are reached by two ways are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad import tree

STEP = 2.0**-6
PLACES = np.array([-3, -2, -1, 1, 2, 3]) * STEP
WEIGHTS = np.array([-1, 9, -45, 45, -9, 1]) / (60 * STEP)
EXAMPLES = 2

Shape = tuple[int, ...]
Leaves = list[np.ndarray]


@dataclass(frozen=True)
class Function:
    """A function of many points.

    Attributes:
        places: for each leaf of each argument an array of its shape, of the places of its numbers in a row.
        at: from points, shape (points, numbers), to the leaves of the output, each of shape (points, *its own).
    """

    places: Sequence[Sequence[np.ndarray]]
    at: Callable[[np.ndarray], Leaves]


def in_a_row(shapes: Sequence[Sequence[Shape]]) -> list[list[np.ndarray]]:
    """The places of numbers that stand one behind the other."""
    places, start = [], 0
    for argument in shapes:
        places.append([])
        for shape in argument:
            places[-1].append(np.arange(start, start + math.prod(shape)).reshape(shape))
            start += math.prod(shape)
    return places


def all_of(places: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([place.ravel() for place in places])


def keys(points: np.ndarray) -> list[bytes]:
    """The numbers of each point as one string."""
    return points.ravel().view(f"V{points.shape[-1] * points.itemsize}").tolist()


def plain(f: Callable[..., Any], args: Sequence[Any]) -> Function:
    """A function of arguments like these, called with one point after the other, and once with each."""
    structures = [tree.structure(arg) for arg in args]
    places = in_a_row([[np.shape(leaf) for leaf in tree.leaves(arg)] for arg in args])
    known: dict[bytes, Leaves] = {}

    def at_one(row: np.ndarray) -> Leaves:
        given = [structure.unflatten([row[place] for place in argument]) for structure, argument in zip(structures, places)]
        return tree.leaves(f(*given))

    def at(points: np.ndarray) -> Leaves:
        outputs = []
        for row, key in zip(points, keys(points)):
            if key not in known:
                known[key] = at_one(row)
            outputs.append(known[key])
        return [np.array(column) for column in zip(*outputs)]

    return Function(places, at)


def slopes(f: Function, points: np.ndarray, directions: np.ndarray) -> Leaves:
    """The derivatives along some directions: for each leaf of the output an array of shape (points, directions, *its own)."""
    moved = points[:, None, None] + PLACES[:, None] * directions[:, None]
    distinct: dict[bytes, int] = {}
    which = [distinct.setdefault(key, len(distinct)) for key in keys(moved)]
    leaves = f.at(np.frombuffer(b"".join(distinct)).reshape(len(distinct), -1))
    return [np.tensordot(leaf[np.reshape(which, moved.shape[:3])], WEIGHTS, (2, 0)) for leaf in leaves]


# ------------------------------------------------------------------------------------------------ transforms


def weights(shape: Shape) -> np.ndarray:
    """What an output is multiplied with where a transform needs a number: that is the sum of all its products."""
    return np.cos(np.arange(math.prod(shape))).reshape(shape)


def direction(shape: Shape) -> np.ndarray:
    """The tangent of an input where a transform needs one."""
    return np.resize([1.0, -0.5, 0.75], shape)


def gradient(f: Function, arguments: Sequence[int]) -> Function:
    """The derivatives of one number made of the output."""
    chosen = [place for n in arguments for place in f.places[n]]

    def at(points: np.ndarray) -> Leaves:
        row = 0.0
        for leaf in slopes(f, points, np.eye(points.shape[1])[all_of(chosen)]):
            row = row + np.sum(leaf * weights(leaf.shape[2:]), tuple(range(2, leaf.ndim)))
        parts = np.split(row, np.cumsum([place.size for place in chosen])[:-1], axis=1)
        return [part.reshape(-1, *place.shape) for part, place in zip(parts, chosen)]

    return Function(f.places, at)


def tangent(f: Function) -> Function:
    """The derivative of the output when all arguments move at once."""
    along = np.concatenate([direction(place.shape).ravel() for argument in f.places for place in argument])
    return Function(f.places, lambda points: [leaf[:, 0] for leaf in slopes(f, points, along[None])])


def jacobian(f: Function, argument: int) -> Function:
    """The derivatives of each number of the output by each number of an argument."""
    chosen = f.places[argument]

    def at(points: np.ndarray) -> Leaves:
        blocks = []
        for leaf in slopes(f, points, np.eye(points.shape[1])[all_of(chosen)]):
            parts = np.split(np.moveaxis(leaf, 1, -1), np.cumsum([place.size for place in chosen])[:-1], axis=-1)
            blocks += [part.reshape(*part.shape[:-1], *place.shape) for part, place in zip(parts, chosen)]
        return blocks

    return Function(f.places, at)


def over_examples(f: Function, axes: Sequence[int | None], out_axis: int) -> Function:
    """The outputs for all examples: along an axis of each leaf of some arguments (None: the same for all), one after the other."""
    shapes = [[with_axis(place.shape, axis) for place in argument] for argument, axis in zip(f.places, axes)]
    places = in_a_row(shapes)

    def at(points: np.ndarray) -> Leaves:
        outputs = []
        for n in range(EXAMPLES):
            row = [place if axis is None else place.take(n, axis) for argument, axis in zip(places, axes) for place in argument]
            outputs.append(f.at(points[:, all_of(row)]))
        return [np.stack(column, out_axis if out_axis < 0 else 1 + out_axis) for column in zip(*outputs)]

    return Function(places, at)


def with_axis(shape: Shape, axis: int | None) -> Shape:
    """A shape with one more axis, of the examples."""
    if axis is None:
        return shape
    place = axis % (len(shape) + 1)
    return (*shape[:place], EXAMPLES, *shape[place:])
