"""Calls that find their program at once: whatever differs goes the general way, and gets what it should."""

import dataclasses
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

from funcgrad import grad, jit, tree
from funcgrad.transforms.compile.calls import match_of, whole_of

Point = namedtuple("Point", "x y")
X = np.ones(3)
GIVEN = ((X, {"b": 2.0, "a": [X, None]}, ()), {"key": (1, True)})


def matches(example, given):
    leaves, treedef = tree.flatten(example)
    found = match_of(treedef, leaves)(*given)
    assert found is None or all(one is other for one, other in zip(found, tree.leaves(given), strict=True))
    return found is not None


def test_what_is_alike():
    assert matches(GIVEN, GIVEN)
    assert matches(GIVEN, ((np.zeros(3), {"a": [X, None], "b": 3.0}, ()), {"key": (2, False)}))


@pytest.mark.parametrize(
    "other",
    [
        ((X,), {}),
        ((X, {"b": 2.0, "a": [X, None]}), {"key": (1, True)}),
        ((X, {"b": 2.0, "a": (X, None)}, ()), {"key": (1, True)}),
        ((X, {"b": 2.0, "c": [X, None]}, ()), {"key": (1, True)}),
        ((X, {"b": 2.0, "a": [X, None], "c": 1.0}, ()), {"key": (1, True)}),
        ((X, {"b": 2.0, "a": [X, 0]}, ()), {"key": (1, True)}),
        ((X, {"b": 2, "a": [X, None]}, ()), {"key": (1, True)}),
        ((X, {"b": 2.0, "a": [X, None]}, [1.0]), {"key": (1, True)}),
        ((X, {"b": 2.0, "a": [X, None]}, ()), {"other": (1, True)}),
        ((X, {"b": 2.0, "a": [X, None]}, ()), {"key": (1, 1)}),
        ((np.ones(4), {"b": 2.0, "a": [X, None]}, ()), {"key": (1, True)}),
        ((np.ones((3, 1)), {"b": 2.0, "a": [X, None]}, ()), {"key": (1, True)}),
        ((np.ones(3, np.float32), {"b": 2.0, "a": [X, None]}, ()), {"key": (1, True)}),
        ((np.ma.ones(3), {"b": 2.0, "a": [X, None]}, ()), {"key": (1, True)}),
    ],
)
def test_what_differs(other):
    assert not matches(GIVEN, other)


def test_classes_of_users():
    @dataclasses.dataclass
    class Model:
        weight: object
        name: str

    tree.register_dataclass(Model, meta_fields=["name"])
    assert matches(((Point(1.0, 2.0),), {}), ((Point(3.0, 4.0),), {}))
    assert not matches(((Point(1.0, 2.0),), {}), (((3.0, 4.0),), {}))
    assert matches(((Model(X, "a"),), {}), ((Model(X, "a"),), {}))
    assert not matches(((Model(X, "a"),), {}), ((Model(X, "b"),), {}))
    f = jit(lambda p, m: (Point(p.y * 2.0, p.x), Model(m.weight * 2.0, m.name)))
    for n in range(4):
        point, model = f(Point(1.0, 2.0), Model(X, f"model {n // 2}"))
        assert point == Point(4.0, 1.0) and type(model) is Model and model.name == f"model {n // 2}"
        np.testing.assert_array_equal(model.weight, 2.0)


@pytest.mark.parametrize(
    "made", [(), 1.0, [1.0, (2.0,), {}], {"b": 1.0, "a": (None, [])}, {3: 1.0, 1: 2.0}, Point(1.0, (2.0,)), None, OrderedDict(b=1.0, a=2.0)]
)
def test_trees_are_put_together(made):
    leaves, treedef = tree.flatten(made)
    found = whole_of(treedef)(leaves)
    assert found == made and type(found) is type(made)
    assert repr(found) == repr(tree.unflatten(treedef, leaves))


def test_programs_alternate():
    f = jit(lambda tree, scale: {"sum": tree["w"].sum() * scale, "w": tree["w"] * 2})
    for _ in range(3):
        for n in range(1, 8):
            for scale in (2, 2.5, np.float64(3.0)):
                for dtype in (np.float64, np.float32):
                    found = f({"w": np.arange(n, dtype=dtype)}, scale)
                    assert found["w"].dtype == dtype and found["sum"] == np.arange(n).sum() * scale


def test_a_function_that_changed_is_found():
    scale = 2.0

    def f(x):
        return x * scale

    g = jit(f)
    for scale in (2.0, 3.0, 4.0):
        for _ in range(2):
            assert g(1.5) == 1.5 * scale


def test_tracers_after_plain_calls():
    f = jit(lambda x: x * x)
    for _ in range(2):
        assert f(3.0) == 9.0
        assert grad(f)(3.0) == 6.0


def test_a_cleared_cache_is_empty():
    calls = []

    def f(x):
        calls.append(1)
        return x * 2.0

    g = jit(f)
    g(1.0), g(1.0)
    before = len(calls)
    g.cache_clear()
    g(1.0)
    assert len(calls) > before
