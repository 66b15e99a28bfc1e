"""`check_jit`: it passes what is right, and what is wrong does not pass it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad
from funcgrad.errors import CheckError, ConcretizationError, InputTypeError
from funcgrad.testing import check_jit

X = np.array([0.3, -0.5, 0.9])


def test_what_is_right_passes():
    check_jit(lambda x, k: {"a": np.tanh(x) * k, "b": k}, (X, 2))
    check_jit(grad(lambda x: np.sum(np.abs(x) ** 3)), (X,))
    check_jit(lambda x: np.where(x > 0, np.nan, x), (X,))
    check_jit(lambda x: x * 2.0, (np.float32(1.5),))


def test_a_program_that_has_a_value_in_it_is_found():
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x)
        return x * float(len(seen) == 1)  # the program has the first run in it

    with pytest.raises(CheckError, match=r"check_jit of f: the output, at the arguments: differs by 0.9 from f without jit"):
        check_jit(f, (X,))


def test_another_dtype_is_found():
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x)
        return x.astype(np.float32 if len(seen) == 1 else float)

    with pytest.raises(CheckError, match=r"expected shape .* and dtype float64, got .* and float32"):
        check_jit(f, (X,))


def test_misuse():
    with pytest.raises(InputTypeError, match=r"args must be a tuple.*write \(x,\)"):
        check_jit(lambda x: x, X)
    with pytest.raises(ConcretizationError, match="bool"):
        check_jit(lambda x: x if x[0] > 0 else -x, (X,))
