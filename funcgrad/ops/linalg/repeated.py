"""Eigenvalues and singular values that repeat: the warning where a derivative may lack a part.

The vectors of one value are determined up to a rotation among themselves, so their derivative among themselves is not defined, and the
rules leave it out. For a function of the space that they span that is exact. For V diag(g(w)) V^H it is not: there g'(w) is missing, and no
rule of the factorization can supply it, for it sees cotangents of w and of V, not how they came about.

Owns what can be told from those cotangents. So that an unused part is not taken for one whose cotangent happens to be zero, a packed
factorization ends with a mark for each of its parts: zero in the value, and not zero in a cotangent to which the part has contributed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.errors import DegenerateWarning
from funcgrad.mapped import inmost
from funcgrad.ops.linalg.matrices import Shape, adjoint, pack, part_transpose, row, take_part
from funcgrad.rules import linear
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import shape_of

# ------------------------------------------------------------------------------------------------ marks


def pack_marked(parts: Sequence[Any], cores: Sequence[Shape]) -> Any:
    """`pack`, with a zero for each part at the end."""
    stack = shape_of(parts[0])[: len(shape_of(parts[0])) - len(cores[0])]
    return pack([*parts, np.zeros((*stack, len(cores)), parts[0].dtype)], [*cores, (len(cores),)])


def unpack_marked(packed: Any, cores: Sequence[Shape], reals: Sequence[int] = ()) -> list[Any]:
    """`unpack` for those who use the parts: each marks the cotangents that come through it."""
    sizes = [int(np.prod(core, dtype=int)) for core in cores]
    return [_marked_part(packed, sum(sizes[:n]), core, n in reals, n - len(cores)) for n, core in enumerate(cores)]


def _marked_transpose(ct: Any, shape: Shape, start: int, core: Shape, is_real: bool, place: int) -> Any:
    g = part_transpose(ct, shape, start, core, is_real)
    if type(g) is np.ndarray:
        g[..., place] = 1.0  # an array of its own
        return g
    mark = np.zeros(shape, g.dtype)
    mark[..., place] = 1.0
    return g + mark


_marked_part: Any = linear(
    lambda packed, start, core, is_real, place: take_part(packed, start, core, is_real),
    _marked_transpose,
    name="marked part",
    batch=in_front(lambda *args: _marked_part(*args)),
)


def are_used(ct: Any, count: int) -> list[bool]:
    """Which of a factorization's parts have contributed to its cotangent."""
    marks = inmost(ct)[..., -count:] != 0
    return [bool(used) for used in marks.reshape(-1, count).any(0)]


# ------------------------------------------------------------------------------------------------ what is missing


class Kind(NamedTuple):
    """How the warnings speak of a factorization."""

    name: str
    values: str
    function: str
    remedy: str
    second: str


EIGH = Kind(
    "eigh",
    "eigenvalues",
    "V diag(g(w)) V^H",
    "use funcgrad.scipy.linalg.funm(a, g), or eigvalsh where only eigenvalues count",
    "use funcgrad.scipy.linalg.funm(a, g), whose trace is sum(g(w))",
)
SVD = Kind(
    "svd",
    "singular values",
    "U diag(g(s)) V^H",
    "use a @ funcgrad.scipy.linalg.funm(a.conj().T @ a, h) with h(x) = g(sqrt(x)) / sqrt(x), or svdvals where only singular values count",
    "use funcgrad.scipy.linalg.funm(a.conj().T @ a, h), whose trace is sum(g(s)) for h(x) = g(sqrt(x))",
)


def are_repeated(values: Any, tolerance: Any) -> bool:
    """Whether two values are equal to rounding, in any matrix; the values are in order."""
    plain = inmost(values)
    return bool((np.abs(plain[..., 1:] - plain[..., :-1]) <= inmost(tolerance)).any())


def _in_pairs(values: Any, tolerance: Any) -> Any:
    """Which pairs of values are equal to rounding."""
    plain = inmost(values)
    near = np.abs(row(plain) - plain[..., None]) <= row(inmost(tolerance))
    return near & ~np.eye(plain.shape[-1], dtype=bool)


def _margin(x: Any) -> float:
    """What counts as zero beside 1 in cotangents: they are sums of products of numbers that are good to rounding."""
    return 1e4 * float(np.finfo(x.dtype).eps)


def warn_of_vectors(
    kind: Kind, values: Any, tolerance: Any, slopes: Any, columns: Sequence[Any], along: Any, uses_values: bool, uses_vectors: bool
) -> None:
    """Warn where the cotangent of vectors of one value has a part among these, and it is not known to be without effect.

    Args:
        kind: the factorization.
        values: eigenvalues or singular values.
        tolerance: what counts as zero among them.
        slopes: the cotangent of the values.
        columns: those of the vectors, which are columns.
        along: V^H times that of the vectors V (the sum for both sides of a singular value decomposition).
        uses_values: whether a function of the values has contributed to these cotangents.
        uses_vectors: whether a function of the vectors has.

    Of a function of the space that the vectors span, the part among them is Hermitian, and it is without effect: that of V diag(g(w)) V^H
    is Hermitian too, and where g(w) is 0, zero. So with a use of the values beside it a Hermitian one counts as an effect, and where the
    cotangent of the vectors vanishes, slopes that differ do.
    """
    slopes, along = inmost(slopes), inmost(along)
    margin = _margin(along)
    size = np.max([np.max(np.abs(inmost(one)), -2, initial=0.0) for one in columns], 0)
    size = np.maximum(row(size), size[..., None])
    steepness = np.maximum(row(np.abs(slopes)), np.abs(slopes)[..., None])
    skew, even = np.abs(along - adjoint(along)), np.abs(along + adjoint(along))
    seen = (skew > margin * size) | (uses_values & (even > margin * size))
    unseen = uses_vectors & (size == 0) & (np.abs(row(slopes) - slopes[..., None]) > margin * steepness)
    if (_in_pairs(values, tolerance) & (seen | unseen)).any():
        _warn(
            f"{kind.name}: {kind.values} repeat, and the derivative of their vectors among themselves, which is not defined there, was "
            f"left out. That is exact for functions of the spaces that such vectors span (projections), but not for {kind.function}, nor "
            f"for one vector of several: {kind.remedy}"
        )


def warn_of_second_order(kind: Kind, values: Any, tolerance: Any, slopes: Any, turns: Any, is_constant: bool) -> None:
    """Warn where a gradient that is to be differentiated again holds vectors of one value, with coefficients that depend on it.

    Args:
        kind: the factorization.
        values: eigenvalues or singular values.
        tolerance: what counts as zero among them.
        slopes: the cotangent of the values, which is the coefficient of each one's projection.
        turns: the coefficients of the other pairs of vectors; None if there are none.
        is_constant: whether the cotangent does not depend on anything.
    """
    is_touched = _in_pairs(values, tolerance).any(-1)
    slopes = np.abs(inmost(slopes))
    found = False if is_constant else (is_touched & (slopes > 0)).any()
    if turns is not None:
        turns = np.abs(inmost(turns))
        scale = np.maximum(turns.max((-2, -1), initial=0.0), slopes.max(-1, initial=0.0))[..., None]
        found |= (is_touched & (np.maximum(turns.max(-1, initial=0.0), turns.max(-2, initial=0.0)) > _margin(turns) * scale)).any()
    if found:
        _warn(
            f"{kind.values} repeat, and the gradient of a function of them or of their vectors is differentiated again: the derivative "
            f"of these vectors among themselves, which is not defined, was left out, and a part of the second derivative with it: "
            f"{kind.second}"
        )


def _warn(text: str) -> None:
    """Warn, in the name of the first line that is not ours."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "funcgrad":
        frame = frame.f_back
        level += 1
    warnings.warn(text, DegenerateWarning, stacklevel=level)
