"""`check_vmap` accepts what is right and says where something is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import custom_jvp, grad
from funcgrad.errors import CheckError, InputTypeError, InputValueError
from funcgrad.testing import check_vmap

X = np.random.default_rng(0).normal(size=(4, 3))


def test_right_functions_pass():
    check_vmap(np.sort, (X,))
    check_vmap(grad(lambda w, x: np.sum(np.tanh(w @ x))), (np.eye(3), X), in_axes=(None, 0))
    check_vmap(lambda d, n: {"a": d["x"] * n, "b": [n]}, ({"x": X.T}, np.arange(4)), in_axes=({"x": 1}, 0))
    check_vmap(np.sum, (X.astype(np.float32),), in_axes=1)


def test_wrong_ones_are_told_where():
    wrong = [0.0]

    @custom_jvp
    def counted(x: Any) -> Any:  # not a function: another value in each call
        wrong[0] += 1.0
        return x + wrong[0]

    with pytest.raises(CheckError, match=r"check_vmap of counted: the output, example 0: differs by 1 from f of that example"):
        check_vmap(counted, (X,))


def test_misuse():
    with pytest.raises(InputTypeError, match=r"args must be a tuple.*write \(x,\)"):
        check_vmap(np.sum, X)
    with pytest.raises(InputTypeError, match="no example"):
        check_vmap(np.sum, (X[:0],))
    with pytest.raises(InputValueError, match=r"check_vmap of add: .* of one size, got 4 in argument 0, 2 in argument 1"):
        check_vmap(np.add, (X, X[:2]))
