"""Schedules: a hyperparameter as a function of the number of steps done.

A schedule takes a count (an int, or an array of counts to plot it) and gives a Python float (or an array). Written with NumPy functions and
without branches on the count, so that a tracer may stand for it or for a value of the schedule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import InputValueError
from funcgrad.optim.base import Schedule
from funcgrad.optim.leaves import plain


def constant(value: Any) -> Schedule:
    """The same value at every step.

    Args:
        value: the value, a number.

    Returns:
        The schedule: count -> `value`, whatever the count.

    Example:
        >>> from funcgrad import optim
        >>> optim.constant(0.1)(100)
        0.1
    """
    return lambda count: value


def linear(init_value: Any, end_value: Any, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """A straight line from one value to another, and constant before and after.

    Args:
        init_value: value until `transition_begin`.
        end_value: value from `transition_begin + transition_steps` on.
        transition_steps: length of the way; if it is not positive, the value stays `init_value`.
        transition_begin: number of steps before it.

    Returns:
        The schedule: count (an int, or an integer array of any shape) -> float (or an array of that shape, unless it is constant).

    Example:
        >>> from funcgrad import optim
        >>> [optim.linear(1.0, 0.0, 4)(count) for count in (0, 1, 4, 9)]
        [1.0, 0.75, 0.0, 0.0]
    """
    if transition_steps <= 0:
        return constant(init_value)
    begin = max(transition_begin, 0)

    def schedule(count: Any) -> Any:
        rest = 1.0 - np.clip(count - begin, 0, transition_steps) / transition_steps
        return plain((init_value - end_value) * plain(rest) + end_value)

    return schedule


def exponential_decay(
    init_value: Any,
    transition_steps: int,
    decay_rate: Any,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Any = None,
) -> Schedule:
    """Multiply by a rate every so many steps: `init_value * decay_rate ** ((count - transition_begin) / transition_steps)`.

    Args:
        init_value: value until `transition_begin`.
        transition_steps: steps for one factor of `decay_rate`; if it is not positive, the value stays `init_value`.
        decay_rate: the factor; 0 for none.
        transition_begin: number of steps before the decay starts.
        staircase: whether the exponent is rounded down.
        end_value: lower bound of the value if `decay_rate < 1`, upper bound otherwise.

    Returns:
        The schedule: count (an int, or an integer array of any shape) -> float (or an array of that shape, unless it is constant).

    Example:
        >>> from funcgrad import optim
        >>> [optim.exponential_decay(8.0, 10, 0.5)(count) for count in (0, 10, 20)]
        [8.0, 4.0, 2.0]
    """
    if transition_steps <= 0 or decay_rate == 0:
        return constant(init_value)
    begin = max(transition_begin, 0)
    bound = np.maximum if decay_rate < 1.0 else np.minimum

    def schedule(count: Any) -> Any:
        exponent = plain(np.maximum(count - begin, 0) / transition_steps)
        if staircase:
            exponent = plain(np.floor(exponent))
        value = init_value * decay_rate**exponent
        return plain(value if end_value is None else bound(value, end_value))

    return schedule


def cosine_decay(init_value: Any, decay_steps: int, alpha: Any = 0.0, exponent: Any = 1.0) -> Schedule:
    """Half a cosine from `init_value` down to `alpha * init_value`.

    `init_value * ((1 - alpha) * (0.5 * (1 + cos(pi * count / decay_steps))) ** exponent + alpha)`, constant after `decay_steps`.

    Args:
        init_value: value at the start.
        decay_steps: length of the decay, positive.
        alpha: what is left of the value at the end, as a part of it.
        exponent: shape of the curve.

    Returns:
        The schedule: count (an int, or an integer array of any shape) -> float (or an array of that shape).

    Raises:
        InputValueError: `decay_steps` is not positive.

    Example:
        >>> from funcgrad import optim
        >>> [round(optim.cosine_decay(1.0, 100)(count), 6) for count in (0, 50, 100)]
        [1.0, 0.5, 0.0]

    References:
        Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts, 2017.
    """
    if not decay_steps > 0:
        raise InputValueError(f"cosine_decay: decay_steps must be positive, got {decay_steps}.")

    def schedule(count: Any) -> Any:
        half = plain(0.5 * (1.0 + np.cos(math.pi * np.minimum(count, decay_steps) / decay_steps)))
        return plain(init_value * ((1 - alpha) * half**exponent + alpha))

    return schedule


def warmup_cosine_decay(
    init_value: Any, peak_value: Any, warmup_steps: int, decay_steps: int, end_value: Any = 0.0, exponent: Any = 1.0
) -> Schedule:
    """A straight line up to a peak, then half a cosine down.

    Args:
        init_value: value at the start.
        peak_value: value after the warm-up.
        warmup_steps: length of the warm-up.
        decay_steps: length of warm-up and decay together, more than `warmup_steps`.
        end_value: value at the end.
        exponent: shape of the decay, as in `cosine_decay`.

    Returns:
        The schedule: count (an int, or an integer array of any shape) -> float (or an array of that shape).

    Raises:
        InputValueError: `decay_steps` is not more than `warmup_steps`.

    Example:
        >>> from funcgrad import optim
        >>> schedule = optim.warmup_cosine_decay(0.0, 1.0, warmup_steps=10, decay_steps=110)
        >>> [round(schedule(count), 6) for count in (0, 5, 10, 60, 110)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if decay_steps <= warmup_steps:
        raise InputValueError(
            f"warmup_cosine_decay: decay_steps counts the warm-up in and must be more than warmup_steps={warmup_steps}, got {decay_steps}."
        )
    alpha = 0.0 if type(peak_value) in (int, float) and peak_value == 0.0 else end_value / peak_value
    return join(
        [linear(init_value, peak_value, warmup_steps), cosine_decay(peak_value, decay_steps - warmup_steps, alpha, exponent)],
        [warmup_steps],
    )


def piecewise(init_value: Any, boundaries_and_scales: Mapping[int, Any] | None = None) -> Schedule:
    """A constant that is multiplied by a factor whenever a boundary is reached.

    Args:
        init_value: value at the start.
        boundaries_and_scales: count -> factor from that count on, at least 0.

    Returns:
        The schedule: count (an int, or an integer array of any shape) -> float (or an array of that shape, unless it is constant).

    Raises:
        InputValueError: a negative factor.

    Example:
        >>> from funcgrad import optim
        >>> schedule = optim.piecewise(1.0, {10: 0.5, 20: 0.5})
        >>> [schedule(count) for count in (9, 10, 20)]
        [1.0, 0.5, 0.25]
    """
    steps = sorted((boundaries_and_scales or {}).items())
    for boundary, factor in steps:
        if not factor >= 0.0:
            raise InputValueError(f"piecewise: the factor from step {boundary} on must be at least 0, got {factor}.")

    def schedule(count: Any) -> Any:
        value = init_value
        for boundary, factor in steps:
            value = plain(np.where(count < boundary, value, value * factor))
        return value

    return schedule


def join(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Schedules one after the other, each of which counts from its own start.

    Args:
        schedules: the schedules.
        boundaries: the counts at which the second, the third, ... take over.

    Returns:
        The schedule: count (an int, or an integer array of any shape) -> float (or an array of that shape, unless it is constant).

    Raises:
        InputValueError: not one boundary less than schedules.

    Example:
        >>> from funcgrad import optim
        >>> schedule = optim.join([optim.constant(1.0), optim.linear(1.0, 0.0, 10)], [100])
        >>> [schedule(count) for count in (0, 99, 105, 110)]
        [1.0, 1.0, 0.5, 0.0]
    """
    if len(boundaries) != len(schedules) - 1:
        raise InputValueError(
            f"join: wanted one boundary less than schedules, got {len(schedules)} schedules and {len(boundaries)} boundaries."
        )
    first, *others = schedules

    def schedule(count: Any) -> Any:
        value = first(count)
        for boundary, other in zip(boundaries, others, strict=True):
            value = plain(np.where(count < boundary, value, other(count - boundary)))
        return value

    return schedule
