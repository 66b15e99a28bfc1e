"""x log y and its relatives, whose value at x = 0 is 0, and Huber's losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.elementwise import divide, hypot, log, log1p, sign, where
from funcgrad.ops.scipy.special.kinds import own, ufunc, wide
from funcgrad.rules import binary, unary
from funcgrad.rules.values import raw


def _share(x: Any, y: Any) -> Any:
    """x / y, 0 where both are."""
    return np.divide(x, np.where((np.asarray(x) == 0) & (np.asarray(y) == 0), 1.0, y).astype(np.result_type(y), copy=False))


share: Any = own("share", _share, lambda t, x, y: divide(t, y), lambda t, x, y: -share(share(x, y), y) * t)


def _log_ratio(x: Any, y: Any) -> Any:
    """log(x / y): to all digits where both are nearly the same, and where x / y is out of range."""
    x, y = wide(x), wide(y)
    ratio = divide(raw(x), raw(y))
    is_near, is_in_range = (ratio > 0.5) & (ratio < 2.0), (ratio > 0.0) & (ratio < np.inf)
    near, base = where(is_near, x - y, 0.0), where(is_near, y, 1.0)
    far = where(is_in_range, log(where(is_in_range, divide(x, y), 1.0)), log(x) - log(y))
    return where(is_near, log1p(divide(near, base)), far)


xlogy: Any = binary(ufunc("xlogy"), lambda t, y: log(wide(y)) * t, lambda t, x, y: share(x, y) * t)
xlog1py: Any = binary(ufunc("xlog1py"), lambda t, y: log1p(wide(y)) * t, lambda t, x, y: share(x, wide(y) + 1.0) * t)
entr = unary(ufunc("entr"), lambda t, x: (-log(x) - 1.0) * t)
rel_entr = binary(ufunc("rel_entr"), lambda t, x, y: (_log_ratio(x, y) + 1.0) * t, lambda t, x, y: -share(x, y) * t)
kl_div = binary(ufunc("kl_div"), lambda t, x, y: _log_ratio(x, y) * t, lambda t, x, y: (1.0 - share(x, y)) * t)


def _is_inside(delta: Any, r: Any) -> Any:
    return abs(raw(r)) <= raw(delta)


def _pseudo_huber_delta(t: Any, x: Any, y: Any) -> Any:
    """delta (s - 1)**2 / s with s = sqrt(1 + (r / delta)**2), without a difference."""
    length = hypot(x, y)
    some = where(raw(length) == 0, 1.0, length)
    height = y * divide(y, where(raw(length) == 0, 1.0, length + x))
    return divide(height * height, some) * t


huber = binary(
    ufunc("huber"),
    lambda t, x, y: where(_is_inside(x, y), 0.0, abs(y) - x) * t,
    lambda t, x, y: where(_is_inside(x, y), y, x * sign(y)) * t,
)
pseudo_huber = binary(ufunc("pseudo_huber"), _pseudo_huber_delta, lambda t, x, y: (x * share(y, hypot(x, y))) * t)
