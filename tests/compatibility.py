"""The compatibility table: which functions of NumPy and SciPy work, and how far. Made of the table of cases and the laws, no row by hand.

`python -m tests.compatibility > tests/compatibility.md` runs every law on every case, and says what came out.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from funcgrad.primitive import OPERATIONS
from tests import test_laws
from tests.cases import CONSTANT, DIFFERENTIABLE, Case

LAWS: dict[str, Callable[[Case], None]] = {
    "value": test_laws.test_the_value_is_numpys_bit_for_bit,
    "gradient": test_laws.test_reverse_mode_is_the_adjoint_of_forward_mode,
    "forward": test_laws.test_forward_mode_agrees_with_the_witness,
    "second order": test_laws.test_second_order_agrees_in_all_four_nestings,
    "float32": lambda case: test_laws.test_shape_and_dtype_are_kept(case, np.float32),
}


def _namespaces() -> dict[str, Any]:
    """Where users find functions, the first that has one counts."""
    names = ["numpy", "numpy.linalg", "numpy.fft", "numpy.lib.stride_tricks", "funcgrad.numpy", "funcgrad.nn"]
    for name in ("special", "linalg", "signal", "stats", "integrate", "optimize", "interpolate", "ndimage"):
        names += [f"scipy.{name}", f"funcgrad.scipy.{name}"]
    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(name)
        except ImportError:  # SciPy is an extra
            continue
    return found


NAMESPACES = {**_namespaces(), "numpy.emath": np.emath}
HEADS = ("name", *LAWS, "complex", "plain NumPy")


def full_name(case: Case) -> str | None:
    """The name that a user calls: numpy.linalg.inv, numpy.add.reduce, funcgrad.scipy.stats.norm.pdf. None for what is in no namespace."""
    function, name = (case.key[0], f".{case.key[1]}") if type(case.key) is tuple else (case.key, "")
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):  # a method of a distribution
        function, name = owner, f".{function.__name__}"
    for space, module in NAMESPACES.items():
        own = getattr(function, "__name__", None) or getattr(function, "name", "")
        if getattr(module, own, None) is function:
            return f"{space}.{own}{name}"
    return None


def outcome(law: Callable[[Case], None], cases: list[Case]) -> str:
    """What a law says of some cases: yes, no, or - where it does not apply to any."""
    found = set()
    for case in cases:
        try:
            law(case)
            found.add("yes")
        except pytest.skip.Exception:
            found.add("-")
        except Exception:
            found.add("no")
    return "no" if "no" in found else "yes" if "yes" in found else "-"


def is_plain(case: Case) -> str:
    """Whether the plain function takes tracers, or which name does."""
    if case.key in OPERATIONS or type(case.key) is tuple:
        return "yes"
    return "funcgrad's"


def row(name: str, cases: list[Case]) -> tuple[str, ...]:
    """A line of the table."""
    smooth = [case for case in cases if case not in CONSTANT]
    if not smooth:
        return (name, outcome(test_laws.test_what_has_no_derivative_is_a_constant, cases), *["zero"] * 3, "-", "-", is_plain(cases[0]))
    narrow = [case for case in smooth if not case.is_complex and not test_laws.takes_floats(case) and case.name != "astype"]
    found = [outcome(law, narrow if head == "float32" else smooth) for head, law in LAWS.items()]
    of_complex = [case for case in smooth if case.is_complex]
    complex_ = outcome(LAWS["second order"], of_complex) if of_complex else "-"
    return (name, *found, complex_, is_plain(cases[0]))


def table() -> list[tuple[str, ...]]:
    """All lines, by name."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in [*DIFFERENTIABLE, *CONSTANT]:
        name = full_name(case)
        if name is not None:
            groups[name].append(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [row(name, groups[name]) for name in sorted(groups)]


def markdown(rows: list[tuple[str, ...]]) -> str:
    """The table as text."""
    lines = [
        "# What works",
        "",
        f"Printed by `python -m tests.compatibility` on NumPy {np.__version__}: every law of the tests on every case of the table.",
        "`zero`: nothing to differentiate, a constant. `-`: does not apply. `funcgrad's`: NumPy or SciPy cannot hand the call over; the",
        "function of that name in `funcgrad` works.",
        "",
        "| " + " | ".join(HEADS) + " |",
        "|" + "---|" * len(HEADS),
    ]
    return "\n".join([*lines, *("| " + " | ".join(one) + " |" for one in rows)]) + "\n"


def main() -> int:
    """Print the table.

    Returns:
        The number of lines with a "no".
    """
    rows = table()
    sys.stdout.write(markdown(rows))
    return sum("no" in one for one in rows)


if __name__ == "__main__":
    sys.exit(main())
