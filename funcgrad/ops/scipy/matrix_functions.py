"""SciPy's functions of matrices: exponential, logarithm, square root and their like.

The Frechet derivative of an analytic f at A in direction E is the upper right block of f([[A, E], [0, A]]) (Mathias, 1996; Higham 2008,
section 3.2). So the derivative of any order is the function again, and one definition serves all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from funcgrad.mapped import TRACERS
from funcgrad.ops.linalg.matrices import transposed
from funcgrad.ops.scipy.linalg import solve_sylvester
from funcgrad.primitive import Operation
from funcgrad.rules import composed, general
from funcgrad.rules.values import raw, shape_of


def _scale_of(a: Any, direction: Any) -> float:
    """How much larger a direction is than the matrix: the block form is computed for both of a size."""
    sizes = [float(np.max(np.abs(raw(x)), initial=0.0)) for x in (direction, a)]
    return sizes[0] / (sizes[1] or 1.0) if 0.0 < sizes[0] < np.inf else 1.0


def _frechet(function: Callable[..., Any], a: Any, direction: Any, *static: Any) -> Any:
    size, scale = shape_of(a)[-1], _scale_of(a, direction)
    upper = np.concatenate([a, direction / scale], -1)
    lower = np.concatenate([np.zeros_like(raw(a)), a], -1)
    return function(np.concatenate([upper, lower], -2), *static)[..., :size, size:] * scale


def _analytic(function: Callable[..., Any], derivative: Callable[..., Any] | None = None) -> Operation:
    """The primitive of an analytic function of matrices.

    Args:
        function: SciPy's.
        derivative: `(a, direction)` -> the Frechet derivative at a plain matrix, where there is a faster way to it.
    """

    def along(t: Any, ans: Any, a: Any, *static: Any) -> Any:
        if derivative is not None and type(t) not in TRACERS and type(a) not in TRACERS and np.ndim(a) == 2:
            return derivative(a, t)
        return _frechet(operation, a, t, *static)

    def back(ct: Any, ans: Any, a: Any, *static: Any) -> Any:
        return along(ct, ans, transposed(a), *static)

    operation = general(function, [along], [back], keeps="x", name=f"scipy.linalg.{function.__name__}")
    return operation


expm = _analytic(scipy.linalg.expm, lambda a, t: scipy.linalg.expm_frechet(a, t, compute_expm=False, check_finite=False))
cosm, sinm, tanm = _analytic(scipy.linalg.cosm), _analytic(scipy.linalg.sinm), _analytic(scipy.linalg.tanm)
coshm, sinhm, tanhm = _analytic(scipy.linalg.coshm), _analytic(scipy.linalg.sinhm), _analytic(scipy.linalg.tanhm)


def _logm_along(t: Any, log: Any) -> Any:
    """The Frechet derivative by way of two square roots, whose eigenvalues lie far from the branch cut: log(A) = 4 log(A^(1/4))."""
    half, quarter = expm(log / 2), expm(log / 4)
    return 4 * _frechet(logm, quarter, solve_sylvester(quarter, quarter, solve_sylvester(half, half, t)))


logm: Any = general(
    scipy.linalg.logm,
    [lambda t, ans, a: _logm_along(t, ans)],
    [lambda ct, ans, a: _logm_along(ct, transposed(ans))],
    keeps="ans",
    name="scipy.linalg.logm",
)


def _power(a: Any, t: float) -> Any:
    if t == int(t):
        return np.linalg.matrix_power(a, int(t))
    return expm(t * logm(a.astype(np.result_type(raw(a).dtype, np.float64))))  # SciPy warns of every logarithm in single precision


fractional_matrix_power = composed(scipy.linalg.fractional_matrix_power, _power, name="scipy.linalg.fractional_matrix_power")

expm_frechet = composed(
    lambda a, direction, method: scipy.linalg.expm_frechet(a, direction, method, compute_expm=False, check_finite=False),
    lambda a, direction, method: _frechet(expm, a, direction),
    arrays=2,
    name="scipy.linalg.expm_frechet",
)

expm_beside = composed(
    lambda a, direction, method: scipy.linalg.expm_frechet(a, direction, method, check_finite=False)[0],
    lambda a, direction, method: expm(a),
    arrays=2,
    name="scipy.linalg.expm_frechet expm",
)
"""The exponential as scipy.linalg.expm_frechet computes it, to other last bits than expm."""

sqrtm = general(
    scipy.linalg.sqrtm,
    [lambda t, ans, a: solve_sylvester(ans, ans, t)],
    [lambda ct, ans, a: solve_sylvester(transposed(ans), transposed(ans), ct)],
    keeps="ans",
    name="scipy.linalg.sqrtm",
)
"""X with X X = A: a tangent of X solves X' X + X X' = A'."""
