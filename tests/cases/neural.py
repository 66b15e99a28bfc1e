"""Primitives of networks."""

from __future__ import annotations

import numpy as np

from funcgrad.ops import neural
from tests.cases.case import Points, case

points = Points(25)
real = points.real

CLASSES = np.array([2, 0, 1, 2])
CASES = [
    case(neural.softmax_cross_entropy, real(4, 3), call=lambda f, x: f(x, CLASSES), note="classes"),
    case(neural.softmax_cross_entropy, real(4, 3), call=lambda f, x: f(x, np.eye(3)[CLASSES]), note="one-hot"),
    case(neural.softmax_cross_entropy, real(4, 3), call=lambda f, x: f(x, np.full((4, 3), 0.25)), note="weights"),
    case(neural.softmax_cross_entropy, real(2, 2, 3), call=lambda f, x: f(x, CLASSES.reshape(2, 2)), note="two axes"),
    case(neural.softmax_cross_entropy, real(3), call=lambda f, x: f(x, np.array(1)), note="one row"),
]  # fmt: skip
