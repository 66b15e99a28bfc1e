"""The table of cases: every primitive and every NumPy function that has an operation, each with the arguments to try it at.

Owns what is called and where, one module a family: its `CASES` are differentiated, its `CONSTANT` has nothing to differentiate. What must
hold there is in `test_laws.py`; values at special points stand in `test_special_values.py`.
"""

from __future__ import annotations

import importlib
import operator
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases.case import Case as Case

FAMILIES = {name: importlib.import_module(f"{__name__}.{name}") for name in sorted(each.name for each in pkgutil.iter_modules(__path__))}
DIFFERENTIABLE: list[Case] = [case for family in FAMILIES.values() for case in getattr(family, "CASES", [])]
CONSTANT: list[Case] = [case for family in FAMILIES.values() for case in getattr(family, "CONSTANT", [])]
ELEMENTWISE = [case for case in DIFFERENTIABLE if case.is_elementwise]
OF_SCIPY = frozenset(
    case
    for name, family in FAMILIES.items()
    if name.startswith("scipy_")
    for case in (*getattr(family, "CASES", []), *getattr(family, "CONSTANT", []))
)

OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv, np.power: operator.pow,
    np.remainder: operator.mod, np.matmul: operator.matmul, np.negative: operator.neg, np.positive: operator.pos, np.absolute: operator.abs,
    np.divmod: divmod,
}  # fmt: skip
"""Operators that are another way to call a function."""

METHODS = {
    "clip", "conjugate", "cumsum", "dot", "max", "mean", "min", "prod", "ravel", "repeat", "squeeze", "std", "sum", "take", "var",
    "argmax", "argmin", "argsort", "any", "all", "round", "argpartition", "cumprod", "diagonal", "nonzero", "searchsorted", "trace",
}  # fmt: skip
"""Methods of arrays with the arguments of the function of that name."""
