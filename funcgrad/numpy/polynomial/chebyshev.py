"""The names of numpy.polynomial.chebyshev, with a `chebval` that takes traced coefficients."""

from __future__ import annotations

from typing import Any

import numpy.polynomial.chebyshev as _polynomial

from funcgrad.ops.analysis.series import chebval as chebval


def __getattr__(name: str) -> Any:
    return getattr(_polynomial, name)


def __dir__() -> list[str]:
    return sorted({*dir(_polynomial), *globals()})
