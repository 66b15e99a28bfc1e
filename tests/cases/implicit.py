"""Values that a solver finds: the primitive behind roots, flows and integrals, without SciPy."""

from __future__ import annotations

from typing import Any

from funcgrad.rules.values import raw
from funcgrad.transforms.implicit import solution
from tests.cases.case import Points, case

points = Points(79)


def quotient_root(x: Any, y: Any) -> Any:
    """The positive z with y * z**2 = x, by Newton's steps on plain values."""
    square = raw(x) / raw(y)
    z = 0.5 * (square + 1.0)
    for _ in range(12):
        z = 0.5 * (z + square / z)

    def push(tangents: list[Any], ans: Any, operands: list[Any]) -> Any:
        _, y = operands
        dx, dy = (0.0 if one is None else one for one in tangents)
        return (dx - dy * ans**2) / (2.0 * y * ans)

    def pull(ct: Any, ans: Any, operands: list[Any], wanted: list[bool]) -> list[Any]:
        _, y = operands
        back = ct / (2.0 * y * ans)
        return [back, -back * ans**2]

    return solution(z, [x, y], push, pull)


CASES = [case(quotient_root, points.positive(3), points.above_one(3))]
