"""NumPy's namespaces, name by name: covered by a case, or declared to have nothing to differentiate; and nothing is declared in vain."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import funcgrad.numpy as fnp
from tests.cases import CONSTANT, DIFFERENTIABLE, METHODS
from tests.compatibility import full_name
from tests.surface import ATTRIBUTES, EMATH, FFT, LINALG, NOTHING_TO_DIFFERENTIATE, NUMPY, UFUNC_METHODS
from tests.test_methods import WAYS
from tests.witnesses import NUMPY as NUMPY_VERSION

CASES = [*DIFFERENTIABLE, *CONSTANT]
KEYS = {id(case.function) for case in CASES}
OWN = {case.name for case in CASES if str(getattr(case.function, "__module__", "")).startswith("funcgrad.")}
NOTHING = {name for names in NOTHING_TO_DIFFERENTIATE.values() for name in names}


def is_covered(module: ModuleType, name: str) -> bool:
    """Whether a function of NumPy, or the one of ours that stands in its place in funcgrad.numpy, has a case."""
    return id(getattr(module, name)) in KEYS or name in OWN


def public(module: ModuleType) -> list[str]:
    names = [name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))]
    return [name for name in names if not (isinstance(getattr(module, name), type) and issubclass(getattr(module, name), Exception))]


MODULES: list[tuple[ModuleType, list[str]]] = [(np, NUMPY), (np.linalg, LINALG), (np.fft, FFT), (np.emath, EMATH)]


@pytest.mark.parametrize(("module", "listed"), MODULES, ids=lambda value: getattr(value, "__name__", ""))
def test_every_listed_name_has_a_case(module: ModuleType, listed: list[str]):
    assert [name for name in listed if hasattr(module, name) and not is_covered(module, name)] == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("module", "listed"), MODULES, ids=lambda value: getattr(value, "__name__", ""))
def test_every_public_name_is_accounted_for(module: ModuleType, listed: list[str]):
    assert [name for name in public(module) if not is_covered(module, name) and name not in NOTHING] == []


def test_what_has_nothing_to_differentiate_is_not_in_the_list():
    assert set(NUMPY) & NOTHING == set()


@pytest.mark.parametrize("name", UFUNC_METHODS)
def test_every_method_of_a_ufunc_has_a_case(name: str):
    ufunc, method = name.split(".")
    assert any(case.key == (getattr(np, ufunc), method) for case in CASES)


def test_every_attribute_of_arrays_is_tried():
    tried = METHODS | {way.split()[0] for way in WAYS} | {"dtype", "ndim", "shape", "size"}
    assert [name for name in ATTRIBUTES if name not in tried] == []


def test_funcgrad_numpy_has_all_of_numpy():
    assert set(dir(np)) - set(dir(fnp)) == set()
    own = [name for name in dir(np) if not name.startswith("__") and getattr(fnp, name) is not getattr(np, name)]
    assert set(own) - {"polynomial"} <= OWN, "a name of funcgrad's own has no case"


@pytest.mark.skipif(NUMPY_VERSION < (2, 4), reason="the table is printed on NumPy 2.4, which has dropped some names")
def test_the_printed_table_has_every_name():
    printed = {line.split("|")[1].strip() for line in Path(__file__).with_name("compatibility.md").read_text().splitlines() if "|" in line}
    named = {full_name(case) for case in CASES} - {None}
    assert named - printed == set(), "print it anew: python -m tests.compatibility > tests/compatibility.md"
