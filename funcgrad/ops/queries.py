"""What is asked of arrays and has nothing to differentiate: kinds, shapes, comparisons as a whole, text."""

from __future__ import annotations

import numpy as np

from funcgrad.rules import nondifferentiable

zeros_like, ones_like, empty_like = map(nondifferentiable, (np.zeros_like, np.ones_like, np.empty_like))
shape, ndim, size, result_type, common_type = map(nondifferentiable, (np.shape, np.ndim, np.size, np.result_type, np.common_type))
isclose, allclose, array_equal, array_equiv = map(nondifferentiable, (np.isclose, np.allclose, np.array_equal, np.array_equiv))
iscomplex, isreal, iscomplexobj, isrealobj = map(nondifferentiable, (np.iscomplex, np.isreal, np.iscomplexobj, np.isrealobj))
isneginf, isposinf = map(nondifferentiable, (np.isneginf, np.isposinf))
shares_memory, may_share_memory = map(nondifferentiable, (np.shares_memory, np.may_share_memory))
array2string, array_repr, array_str = map(nondifferentiable, (np.array2string, np.array_repr, np.array_str))
