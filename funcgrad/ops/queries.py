"""What is asked of arrays and has nothing to differentiate: kinds, shapes, comparisons as a whole, text."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.rules import nondifferentiable
from funcgrad.rules.batching import broadcasting
from funcgrad.rules.constant import of_shapes


def _of_shapes(function: Any) -> Any:
    return nondifferentiable(function, of_shapes(function))


zeros_like, ones_like, empty_like = map(_of_shapes, (np.zeros_like, np.ones_like, np.empty_like))
shape, ndim, size, result_type, common_type = map(_of_shapes, (np.shape, np.ndim, np.size, np.result_type, np.common_type))
iscomplexobj, isrealobj, shares_memory, may_share_memory = map(
    _of_shapes, (np.iscomplexobj, np.isrealobj, np.shares_memory, np.may_share_memory)
)
allclose, array_equal, array_equiv = map(nondifferentiable, (np.allclose, np.array_equal, np.array_equiv))
isclose, iscomplex, isreal, isneginf, isposinf = (
    nondifferentiable(function, broadcasting(function)) for function in (np.isclose, np.iscomplex, np.isreal, np.isneginf, np.isposinf)
)
array2string, array_repr, array_str = map(nondifferentiable, (np.array2string, np.array_repr, np.array_str))
