"""Derivatives from sources that share nothing with the package: the complex step, and differences in extended precision.

Owns also the directions and the products that laws are stated with. Differences are taken with `numpy.longdouble`, so that they are good to
1e-12 or so even for a second derivative; where the platform has no wider type the tolerances widen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import tree

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
"""NumPy's version: what it does has changed here and there."""
IS_EXTENDED = np.finfo(np.longdouble).eps < 1e-18
STEP, DIFFERENCE = (2.0**-12, 1e-10) if IS_EXTENDED else (2.0**-9, 1e-6)
COARSE_STEP, COARSE = 2.0**-9, 1e-7
"""For what NumPy and SciPy compute in double precision only."""


def like(value: Any, seed: int) -> Any:
    """A direction in the space of a value, no entry near zero; the same for the same seed and shapes."""
    rng = np.random.default_rng(seed)

    def draw(leaf: Any) -> Any:
        shape = np.shape(leaf)
        numbers = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
        if np.iscomplexobj(leaf):
            numbers = numbers + 1j * rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
        return float(numbers) if type(leaf) is float else np.asarray(numbers, leaf.dtype)[()]

    return tree.map(draw, value)


def widened(value: Any) -> Any:
    """A tree of numbers and arrays in extended precision."""
    return tree.map(lambda leaf: np.asarray(leaf, np.clongdouble if np.iscomplexobj(leaf) else np.longdouble)[()], value)


def inner(one: Any, other: Any) -> Any:
    """The sum of all products of two trees, the real part where they are complex; works on tracers."""

    def product(x: Any, y: Any) -> Any:
        total = np.sum(x * y)
        return total.real if getattr(total, "dtype", np.dtype(float)).kind == "c" else total

    return sum(product(x, y) for x, y in zip(tree.leaves(one), tree.leaves(other), strict=True))


def assert_close(got: Any, wanted: Any, tolerance: float) -> None:
    """Equal to `tolerance` times the larger of 1 and the largest number in the leaf."""
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert np.shape(one) == np.shape(other)
        scale = max(1.0, float(np.max(np.abs(other), initial=0.0)))
        one, other = widened((one, other))
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * scale)


def complex_step(f: Any, args: Any, tangents: Any) -> Any:
    """The directional derivative to all digits, or None where f refuses complex numbers or drops their imaginary parts."""
    if any(map(np.iscomplexobj, args)):
        return None
    try:
        outputs = tree.map(np.asarray, f(*(x + 1e-20j * t for x, t in zip(args, tangents, strict=True))))
    except (TypeError, ValueError):
        return None
    if not all(leaf.dtype.kind == "c" for leaf in tree.leaves(outputs)):
        return None
    return tree.map(lambda leaf: leaf.imag * 1e20, outputs)


def differences(f: Any, args: Any, tangents: Any, is_wide: bool = True) -> Any:
    """The directional derivative by central differences of two steps, without their common error term.

    Good to DIFFERENCE times the size of things; to COARSE where f cannot be computed in extended precision (`is_wide` is false).
    """
    step = STEP if is_wide else COARSE_STEP
    if is_wide:
        args, tangents = widened(tuple(args)), widened(tuple(tangents))

    def central(h: float) -> Any:
        ahead, behind = (f(*(x + s * h * t for x, t in zip(args, tangents, strict=True))) for s in (1, -1))
        return tree.map(lambda a, b: (a - b) / (2 * h), ahead, behind)

    return tree.map(lambda fine, coarse: (4 * fine - coarse) / 3, central(step), central(2 * step))
