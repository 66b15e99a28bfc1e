"""What a program was made from changes where it is seen least: behind modules, above in classes, by names in strings."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from funcgrad import jit

X = np.array([1.0, -2.0, 0.5])
SETTINGS = """
import funcgrad_settings_inner as inner

rate = 2.0
unused = 1.0

def scaled(x):
    return x * rate

def both(x):
    return inner.shifted(scaled(x))

class Model:
    scale = 3.0

    def __call__(self, x):
        return x * self.scale
"""
INNER = """
shift = 1.0

def shifted(x):
    return x + shift
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user's, which reads another one."""
    (tmp_path / "funcgrad_settings.py").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "funcgrad_settings_inner.py").write_text(INNER, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("funcgrad_settings")
    for name in ("funcgrad_settings", "funcgrad_settings_inner"):
        sys.modules.pop(name, None)


def test_functions_that_are_reached_as_attributes_of_modules(settings: Any):
    direct, deeper, called = jit(lambda x: settings.scaled(x)), jit(lambda x: settings.both(x)), jit(lambda x: settings.Model()(x))
    np.testing.assert_array_equal(direct(X), X * 2.0)
    np.testing.assert_array_equal(deeper(X), X * 2.0 + 1.0)
    np.testing.assert_array_equal(called(X), X * 3.0)
    settings.rate, settings.inner.shift, settings.Model.scale = 4.0, -1.0, 5.0
    np.testing.assert_array_equal(direct(X), X * 4.0)
    np.testing.assert_array_equal(deeper(X), X * 4.0 - 1.0)
    np.testing.assert_array_equal(called(X), X * 5.0)


def test_what_a_function_does_not_name_makes_no_new_program(settings: Any):
    runs = 0

    def f(x: Any) -> Any:
        nonlocal runs
        runs += 1
        return settings.scaled(x)

    program = jit(lambda x: f(x))
    program(X)
    program(X)
    before = runs
    settings.unused = 2.0
    program(X)
    assert runs == before


def test_an_attribute_that_comes_to_hide_an_inherited_one():
    class Base:
        scale = 2.0

    class Between(Base):
        pass

    class Derived(Between):
        pass

    one = Derived()
    programs = [jit(lambda x: x * one.scale), jit(lambda x: x * Derived.scale)]
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 2.0)
    Between.scale = 3.0
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 3.0)
    Derived.scale = 4.0
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 4.0)


RATE = 2.0


def test_names_in_strings(settings: Any, monkeypatch: pytest.MonkeyPatch):
    for program in (
        jit(lambda x: x * getattr(settings, "rate")),  # noqa: B009 - that is what is looked at
        jit(lambda x: x * vars(settings)["rate"]),
        jit(lambda x: x * settings.__dict__["rate"]),
    ):
        settings.rate = 2.0
        np.testing.assert_array_equal(program(X), X * 2.0)
        settings.rate = 3.0
        np.testing.assert_array_equal(program(X), X * 3.0)
    program = jit(lambda x: x * globals()["RATE"])
    np.testing.assert_array_equal(program(X), X * 2.0)
    monkeypatch.setitem(globals(), "RATE", 5.0)
    np.testing.assert_array_equal(program(X), X * 5.0)


def test_bytes_that_can_change():
    flags = bytearray([1, 2])
    program = jit(lambda x: x * float(flags[0]))
    np.testing.assert_array_equal(program(X), X)
    flags[0] = 5
    np.testing.assert_array_equal(program(X), X * 5.0)
