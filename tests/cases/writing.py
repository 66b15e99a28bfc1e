"""What writes into arrays is refused: it gives None on plain arrays, as NumPy's, and an error on tracers."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.errors import ConcretizationError
from tests.cases.case import Points, case

points = Points(35)
real = points.real

M = real(2, 3)
MASK = np.array([[True, False, True], [False, True, False]])


def _written(call: Any) -> Any:
    """Calls `(function, array to write into, x)` on an array of its own."""

    def refused(function: Any, x: Any) -> None:
        target = np.zeros(x.shape)
        try:
            assert call(function, target, x) is None
        except ConcretizationError:
            assert not target.any()

    return refused


CONSTANT = [
    case(np.copyto, M, call=_written(lambda f, target, x: f(target, x))),
    case(np.fill_diagonal, M, call=_written(lambda f, target, x: f(x, 0.0))),
    case(np.place, M, call=_written(lambda f, target, x: f(target, MASK, x))),
    case(np.put, M, call=_written(lambda f, target, x: f(target, [0, 1], x))),
    case(np.put_along_axis, M, call=_written(lambda f, target, x: f(target, np.zeros((1, 3), int), x[:1], 0))),
    case(np.putmask, M, call=_written(lambda f, target, x: f(target, MASK, x))),
]  # fmt: skip
