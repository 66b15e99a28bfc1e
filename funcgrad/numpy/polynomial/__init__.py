"""The names of numpy.polynomial, with `polynomial.polyval` and `chebyshev.chebval` that take traced coefficients."""

from __future__ import annotations

from typing import Any

import numpy.polynomial as _polynomial

from funcgrad.numpy.polynomial import chebyshev as chebyshev
from funcgrad.numpy.polynomial import polynomial as polynomial


def __getattr__(name: str) -> Any:
    return getattr(_polynomial, name)


def __dir__() -> list[str]:
    return sorted({*dir(_polynomial), *globals()})
