"""Classes that become nodes of trees, and registrations that are refused."""

import dataclasses

import numpy as np
import pytest

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, TreeError


def test_register_node():
    class Pair:
        def __init__(self, left, right, name):
            self.left, self.right, self.name = left, right, name

    before = Pair(1.0, 2.0, "p")
    assert tree.structure(before) is tree.LEAF
    tree.register_node(Pair, lambda p: ((p.left, p.right), p.name), lambda name, parts: Pair(*parts, name))
    value = [Pair(1.0, [2.0], "p"), Pair(3.0, 4.0, "q")]
    again = tree.map(lambda x: -x, value)
    assert (again[0].left, again[0].right, again[0].name) == (-1.0, [-2.0], "p")
    assert repr(tree.structure(value)) == "[Pair['p'](*, [*]), Pair['q'](*, *)]"
    assert tree.structure(value).paths() == ["[0][0]", "[0][1][0]", "[1][0]", "[1][1]"]
    assert tree.structure(Pair(1, 2, "p")) == tree.structure(Pair(3, 4, "p"))
    assert tree.structure(Pair(1, 2, "p")) != tree.structure(Pair(1, 2, "q"))

    with pytest.raises(InputValueError, match="Pair is a tree node already"):
        tree.register_node(Pair, lambda p: ((), None), lambda aux, parts: None)


def test_node_without_aux_from_a_generator():
    class Bag:
        def __init__(self, items):
            self.items = list(items)

    tree.register_node(Bag, lambda bag: ((item for item in bag.items), None), lambda aux, parts: Bag(parts))
    assert tree.map(lambda x, y: x + y, Bag([1, 2]), Bag([3, 4])).items == [4, 6]
    assert tree.map(lambda x, y: y, [Bag([1, 2])], [Bag([3, [4]])])[0].items == [3, [4]]


def test_bad_registrations():
    with pytest.raises(InputTypeError, match="register_node wants a class"):
        tree.register_node("name", None, None)
    with pytest.raises(InputValueError, match="dict is a tree node already"):
        tree.register_node(dict, None, None)
    with pytest.raises(InputTypeError, match="wants a dataclass, got complex"):
        tree.register_dataclass(complex)

    @dataclasses.dataclass
    class Layer:
        w: float
        n: int

    for data, meta in ((["w"], []), (["w", "n"], ["n"]), (["w", "n", "z"], []), (None, ["z"])):
        with pytest.raises(InputValueError, match=r"built from the fields \['w', 'n'\]"):
            tree.register_dataclass(Layer, data, meta)
    assert tree.structure(Layer(1.0, 2)) is tree.LEAF
    assert tree.register_dataclass(Layer) is Layer
    with pytest.raises(InputValueError, match="registered once"):
        tree.register_dataclass(Layer)


def test_static_fields_by_metadata_and_fields_without_init():
    @tree.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Layer:
        w: float
        n: int = dataclasses.field(metadata={"static": True}, default=3)
        size: int = dataclasses.field(init=False, default=5)

    assert tree.map(lambda w: 2 * w, Layer(1.0, 4)) == Layer(2.0, 4)
    assert repr(tree.structure(Layer(1.0))) == "Layer(w=*, n=3)"


def test_unpickling_where_the_class_is_not_registered():
    with pytest.raises(TreeError, match="complex, which is not registered"):
        tree.treedef._restore(complex, None, ())


@pytest.mark.parametrize("cls", [float, int, bool, complex, str, bytes, np.ndarray, np.float32])
def test_leaves_stay_leaves(cls: type):
    with pytest.raises(InputValueError, match=f"register_node: a {cls.__name__} is a leaf wherever it stands"):
        tree.register_node(cls, lambda one: ((), None), lambda aux, parts: None)
    assert tree.leaves([np.ones(2), 1.0])[1] == 1.0
