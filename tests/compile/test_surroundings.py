"""What a program was made from changes where it is seen least: behind modules, above in classes, by names in strings."""

from __future__ import annotations

import collections
import functools
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType, ModuleType
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


def test_attributes_that_come_to_be_there(settings: Any):
    class Options:
        pass

    one = Options()
    given = jit(lambda x: x * getattr(one, "rate", 1.0))
    of_module = jit(lambda x: x * getattr(settings, "late", 1.0))
    asked = jit(lambda x: x * 2.0 if hasattr(one, "is_double") else x)
    for program in (given, of_module, asked):
        np.testing.assert_array_equal(program(X), X)
    one.rate, settings.late = 5.0, 3.0  # type: ignore[attr-defined]
    Options.is_double = True  # type: ignore[attr-defined]
    np.testing.assert_array_equal(given(X), X * 5.0)
    np.testing.assert_array_equal(of_module(X), X * 3.0)
    np.testing.assert_array_equal(asked(X), X * 2.0)


def test_modules_that_are_imported_when_the_function_runs(settings: Any):
    def by_module(x: Any) -> Any:
        import funcgrad_settings

        return funcgrad_settings.scaled(x)

    def by_name(x: Any) -> Any:
        from funcgrad_settings import rate

        return x * rate

    programs = [jit(by_module), jit(by_name)]
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 2.0)
    settings.rate = 3.0
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 3.0)


def test_modules_that_are_not_as_others():
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(f"{name} is not loaded")

    lazy, odd = Lazy("lazy"), ModuleType("odd")
    lazy.scale = odd.scale = 2.0  # type: ignore[attr-defined]
    odd.__file__ = b"no string"  # type: ignore[assignment]
    del odd.__dict__["__name__"]
    for module in (lazy, odd):
        np.testing.assert_array_equal(jit(lambda x: x * module.scale)(X), X * 2.0)  # noqa: B023 - called here


def test_methods_that_are_reached_by_super():
    class Base:
        scale = 2.0

        def step(self, x: Any) -> Any:
            return x * self.scale

    class Derived(Base):
        scale = 1.0

        def step(self, x: Any) -> Any:
            return super().step(x) + super().scale

    one = Derived()
    program = jit(lambda x: one.step(x))
    np.testing.assert_array_equal(program(X), X + 2.0)
    Base.scale = 5.0
    np.testing.assert_array_equal(program(X), X + 5.0)
    Base.step = lambda self, x: -x  # type: ignore[method-assign]
    np.testing.assert_array_equal(program(X), -X + 5.0)


def test_objects_of_every_kind():
    class Meta(type):
        rate = 2.0

    class OfMeta(metaclass=Meta):
        pass

    class Config(dict):  # type: ignore[type-arg]
        pass

    class Slotted:
        __slots__ = ("apply",)

    config, user, chain, slotted = Config(), collections.UserDict(a=2.0), collections.ChainMap({"a": 2.0}), Slotted()
    values = {"a": 2.0}
    proxy = MappingProxyType(values)
    config.rate, slotted.apply = 2.0, lambda x: x * RATE  # type: ignore[attr-defined]
    programs = {
        "metaclass": jit(lambda x: x * OfMeta.rate),
        "subclass of dict": jit(lambda x: x * config.rate),  # type: ignore[attr-defined]
        "UserDict": jit(lambda x: x * user["a"]),
        "ChainMap": jit(lambda x: x * chain["a"]),
        "proxy": jit(lambda x: x * proxy["a"]),
        "slot": jit(lambda x: slotted.apply(x)),  # type: ignore[attr-defined]
    }
    for program in programs.values():
        np.testing.assert_array_equal(program(X), X * 2.0)
    Meta.rate = config.rate = user["a"] = chain.maps[0]["a"] = values["a"] = 3.0  # type: ignore[attr-defined]
    slotted.apply = lambda x: x * 3.0  # type: ignore[attr-defined]
    for name, program in programs.items():
        np.testing.assert_array_equal(program(X), X * 3.0, err_msg=name)


def test_code_that_is_exchanged_in_place():
    """As reloading editors do."""

    def before(x: Any) -> Any:
        return x * 2.0

    def after(x: Any) -> Any:
        return x * 3.0

    program = jit(lambda x: before(x))
    np.testing.assert_array_equal(program(X), X * 2.0)
    before.__code__ = after.__code__
    np.testing.assert_array_equal(program(X), X * 3.0)


def test_names_that_are_made_when_the_function_runs():
    class Net:
        def __init__(self) -> None:
            self.kind, self.slope, self.w1, self.w2 = "leaky", 2.0, 1.0, 1.0

        def activated(self, x: Any) -> Any:
            return getattr(self, "_" + self.kind)(x)

        def weighted(self, x: Any) -> Any:
            for n in (1, 2):
                x = x * getattr(self, f"w{n}")
            return x

        def added(self, x: Any) -> Any:
            return x * sum(value for value in vars(self).values() if isinstance(value, float))

        def _leaky(self, x: Any) -> Any:
            return x * self.slope

    net = Net()
    activated, weighted, added = jit(net.activated), jit(net.weighted), jit(net.added)
    np.testing.assert_array_equal(activated(X), X * 2.0)
    np.testing.assert_array_equal(weighted(X), X)
    np.testing.assert_array_equal(added(X), X * 4.0)
    net.slope, net.w1 = 3.0, 5.0
    np.testing.assert_array_equal(activated(X), X * 3.0)
    np.testing.assert_array_equal(weighted(X), X * 5.0)
    np.testing.assert_array_equal(added(X), X * 9.0)


def test_what_is_called_unnamed(monkeypatch: pytest.MonkeyPatch):
    class Scaled:
        def __init__(self, x: Any) -> None:
            self.x = x * RATE

        def again(self) -> Any:
            return type(self)(self.x).x

    class Pair(tuple):  # type: ignore[type-arg]
        def __new__(cls, x: Any) -> Any:
            return super().__new__(cls, (x * RATE, x))

    class Called:
        @staticmethod
        def __call__(x: Any) -> Any:
            return x * RATE

        part = functools.partialmethod(lambda self, k, x: x * k * RATE, 1.0)

    called, first = Called(), Scaled(X)
    programs = {
        "the class of an object": jit(lambda x: Scaled(x).again()),
        "__new__": jit(lambda x: Pair(x)[0]),
        "a static __call__": jit(lambda x: called(x)),
        "a partial method": jit(lambda x: called.part(x)),
    }
    wanted = {name: program(X) for name, program in programs.items()}
    assert first.again() is not None
    monkeypatch.setitem(globals(), "RATE", 3.0)
    for name, program in programs.items():
        power = 2 if name == "the class of an object" else 1
        np.testing.assert_allclose(program(X), wanted[name] * 1.5**power, rtol=1e-15, err_msg=name)


PACKAGE = """
class Kernel:
    def __init__(self, scale):
        self.scale = scale

    def value(self, x):
        return x * self.scale

class Module:
    def __call__(self, x):
        return self.forward(x)

class Pipeline:
    def __init__(self, steps):
        self.steps = steps

    def run(self, x):
        for step in self.steps:
            x = step.apply(x)
        return x

def apply(step, x):
    return step.apply(x)
"""


def test_objects_that_installed_packages_handle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "funcgrad_installed.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    package: Any = importlib.import_module("funcgrad_installed")
    monkeypatch.setitem(sys.modules, "funcgrad_installed", package)

    class Net(package.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.w = 2.0

        def forward(self, x: Any) -> Any:
            return x * self.w

    class Step:
        w = 2.0

        def apply(self, x: Any) -> Any:
            return x * self.w

    kernel, net, step = package.Kernel(2.0), Net(), Step()
    pipeline = package.Pipeline([step])
    programs = {
        "an object": jit(lambda x: kernel.value(x)),
        "a class made from one": jit(lambda x: net(x)),
        "what it is given": jit(lambda x: pipeline.run(x)),
        "an argument": jit(lambda x: package.apply(step, x)),
    }
    for program in programs.values():
        np.testing.assert_array_equal(program(X), X * 2.0)
    kernel.scale = net.w = step.w = 3.0  # type: ignore[misc]
    for name, program in programs.items():
        np.testing.assert_array_equal(program(X), X * 3.0, err_msg=name)


class Trainer:
    def __init__(self) -> None:
        self.epoch, self.losses, self.scale = 0, [], 2.0  # type: ignore[var-annotated]
        self.step = jit(self._step)

    def _step(self, x: Any) -> Any:
        RECORDED.append(1)
        return x * self.scale

    def train(self, x: Any) -> Any:
        self.epoch += 1
        self.losses.append(float(self.epoch))
        return self.step(x)


RECORDED: list[int] = []


def test_what_other_methods_change_makes_no_new_program():
    trainer = Trainer()
    RECORDED.clear()
    trainer.train(X)
    before = len(RECORDED)
    for _ in range(3):
        np.testing.assert_array_equal(trainer.train(X), X * 2.0)
    assert len(RECORDED) <= before + 1  # RECORDED itself changes while the first program is recorded
    trainer.scale = 3.0
    np.testing.assert_array_equal(trainer.train(X), X * 3.0)


def test_bytes_that_can_change():
    flags = bytearray([1, 2])
    program = jit(lambda x: x * float(flags[0]))
    np.testing.assert_array_equal(program(X), X)
    flags[0] = 5
    np.testing.assert_array_equal(program(X), X * 5.0)
