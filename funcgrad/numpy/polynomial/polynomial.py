"""The names of numpy.polynomial.polynomial, with a `polyval` that takes traced coefficients."""

from __future__ import annotations

from typing import Any

import numpy.polynomial.polynomial as _polynomial

from funcgrad.ops.analysis.series import polyval as polyval


def __getattr__(name: str) -> Any:
    return getattr(_polynomial, name)


def __dir__() -> list[str]:
    return sorted({*dir(_polynomial), *globals()})
