"""Trees: structure, order, round trips, key paths, messages."""

import copy
import dataclasses
import pickle
from collections import OrderedDict, defaultdict, namedtuple
from typing import NamedTuple

import numpy as np
import pytest

from funcgrad import tree
from funcgrad.errors import FuncgradError, InputValueError, TreeError


class Point(NamedTuple):
    x: float
    y: float


@tree.register_dataclass
@dataclasses.dataclass
class Linear:
    weight: object
    bias: object


@tree.register_dataclass(data_fields=["scale"], meta_fields=["axis"])
@dataclasses.dataclass
class Norm:
    scale: object
    axis: int


TREES = [
    (1.0, [1.0], "*"),
    (None, [], "None"),
    ([], [], "[]"),
    ((), [], "()"),
    ({}, [], "{}"),
    ((1.0,), [1.0], "(*,)"),
    ([1.0, (2.0, 3.0)], [1.0, 2.0, 3.0], "[*, (*, *)]"),
    ([None, 1.0], [1.0], "[None, *]"),
    ({"w": [1.0, 2.0], "b": 3.0}, [3.0, 1.0, 2.0], "{'b': *, 'w': [*, *]}"),
    ({2: 1.0, 1: 2.0}, [2.0, 1.0], "{1: *, 2: *}"),
    (OrderedDict([("w", 1.0), ("b", 2.0)]), [1.0, 2.0], "OrderedDict({'w': *, 'b': *})"),
    (defaultdict(list, {"w": 1.0, "b": 2.0}), [2.0, 1.0], "defaultdict(list, {'b': *, 'w': *})"),
    (Point(1.0, [2.0]), [1.0, 2.0], "Point(x=*, y=[*])"),
    (Linear(1.0, {"a": 2.0}), [1.0, 2.0], "Linear(weight=*, bias={'a': *})"),
    (Norm((1.0,), -1), [1.0], "Norm(scale=(*,), axis=-1)"),
    ({"a": {"b": {"c": [1.0, {"d": 2.0}]}}, "e": 3.0}, [1.0, 2.0, 3.0], "{'a': {'b': {'c': [*, {'d': *}]}}, 'e': *}"),
]


@pytest.mark.parametrize(("value", "leaves", "text"), TREES, ids=[text for _, _, text in TREES])
class TestRoundTrip:
    def test_flatten(self, value, leaves, text):
        found, treedef = tree.flatten(value)
        assert found == leaves
        assert repr(treedef) == text
        assert treedef.num_leaves == len(leaves)
        assert tree.leaves(value) == leaves
        assert tree.structure(value) == treedef

    def test_unflatten(self, value, leaves, text):
        again = tree.unflatten(tree.structure(value), iter(leaves))
        assert again == value
        assert type(again) is type(value)
        assert tree.structure(value).unflatten(leaves) == value

    def test_map(self, value, leaves, text):
        doubled = tree.map(lambda x: 2 * x, value)
        assert tree.leaves(doubled) == [2 * leaf for leaf in leaves]
        assert tree.structure(doubled) == tree.structure(value)
        assert tree.map(lambda x, y: x - y, doubled, value) == value

    def test_treedef_is_hashable_picklable_and_copied(self, value, leaves, text):
        treedef = tree.structure(value)
        for other in (tree.structure(copy.deepcopy(value)), pickle.loads(pickle.dumps(treedef)), copy.deepcopy(treedef)):
            assert other == treedef
            assert hash(other) == hash(treedef)
            assert other.unflatten(leaves) == value

    def test_with_is_leaf_that_is_never_true(self, value, leaves, text):
        found, treedef = tree.flatten(value, is_leaf=lambda node: False)
        assert (found, treedef) == (leaves, tree.structure(value))
        assert treedef.unflatten(leaves) == value

    def test_one_path_a_leaf(self, value, leaves, text):
        pairs, treedef = tree.flatten_with_path(value)
        assert [leaf for _, leaf in pairs] == leaves
        assert len({path for path, _ in pairs}) == len(leaves)
        assert treedef == tree.structure(value)


def test_all_structures_of_the_table_differ():
    treedefs = [tree.structure(value) for value, _, _ in TREES]
    assert len(set(treedefs)) == len(TREES)
    for i, one in enumerate(treedefs):
        for j, another in enumerate(treedefs):
            assert (one == another) is (i == j)
            assert (one.mismatch(another) is None) is (i == j)
    assert treedefs[0] != "*"
    assert tree.structure([[1], [2]]).mismatch(tree.structure([[3], [4]])) is None


def test_paths_can_be_evaluated():
    value = {"layers": [Linear(1.0, (2.0, Point(3.0, 4.0)))], 7: None, (1, "a"): 5.0}
    value = {"layers": value["layers"], "more": OrderedDict([((1, "a"), 5.0), (7, Norm(6.0, 0))])}
    pairs, _ = tree.flatten_with_path(value)
    assert [path for path, _ in pairs] == [
        "['layers'][0].weight",
        "['layers'][0].bias[0]",
        "['layers'][0].bias[1].x",
        "['layers'][0].bias[1].y",
        "['more'][(1, 'a')]",
        "['more'][7].scale",
    ]
    for path, leaf in pairs:
        assert eval(f"value{path}") == leaf
    assert tree.structure(1.0).paths() == [""]


def test_leaves_are_the_very_objects():
    array = np.arange(3.0)
    assert tree.leaves({"a": array})[0] is array
    assert tree.unflatten(tree.structure([0]), [array])[0] is array


def test_other_classes_are_leaves():
    class Names(dict):
        pass

    for leaf in (np.array([1.0, None], dtype=object), "text", {1, 2}, Names(a=1), np.float64(1.0), 1 + 2j, range(3), object):
        assert tree.leaves([leaf])[0] is leaf
        assert tree.structure(leaf) is tree.LEAF


def test_containers_are_not_shared():
    value = [[1.0], {"a": 2.0}]
    again = tree.map(lambda x: x, value)
    again[0].append(3.0)
    again[1]["b"] = 4.0
    assert value == [[1.0], {"a": 2.0}]


def test_named_tuples_of_the_same_fields_differ():
    other = namedtuple("Point", "x y")
    assert tree.structure(Point(1, 2)) != tree.structure(other(1, 2))
    assert tree.structure(Point(1, 2)) != tree.structure((1, 2))
    assert tree.structure([1, 2]) != tree.structure((1, 2))


def test_dict_order_does_not_matter_but_that_of_ordered_dicts_does():
    assert tree.structure({"a": 1, "b": 2}) == tree.structure({"b": 2, "a": 1})
    assert tree.structure(OrderedDict(a=1, b=2)) != tree.structure(OrderedDict(b=2, a=1))
    assert list(tree.map(lambda x: x, {"b": 1, "a": 2})) == ["a", "b"]


def test_equal_keys_of_different_types_are_kept_apart():
    for key in (1, 1.0, True, "1"):
        (again,) = tree.map(lambda x: x, {key: 0.0})
        assert type(again) is type(key)


def test_many_different_dicts_do_not_fill_the_memory():
    treedefs = [tree.structure({f"key{i}": 0, "other": 0}) for i in range(3000)]
    assert len(set(treedefs)) == 3000
    assert tree.structure({"key0": 0, "other": 0}) == treedefs[0]
    assert len(tree.treedef._DICT_ORDERS) <= tree.treedef._MAX_CACHED_DICTS


def test_keys_that_cannot_be_sorted():
    for value in ({"a": 1, 2: 3}, [{None: 0, "b": 1}], defaultdict(int, {"a": 1, 2: 3})):
        with pytest.raises(TreeError, match=r"cannot be sorted.*OrderedDict"):
            tree.flatten(value)
    with pytest.raises(TreeError, match=r"'a', 2"):
        tree.flatten({"a": 1, 2: 3}, is_leaf=lambda node: False)


def test_is_leaf():
    value = {"a": [1.0, 2.0], "b": None, "c": (3.0,)}
    assert tree.leaves(value, is_leaf=lambda node: isinstance(node, list)) == [[1.0, 2.0], 3.0]
    assert tree.leaves(value, is_leaf=lambda node: node is None) == [1.0, 2.0, None, 3.0]
    assert tree.map(len, [(1, 2), [3]], is_leaf=lambda node: isinstance(node, tuple | list) and isinstance(node[0], int)) == [2, 1]
    assert tree.map(lambda x, y: (x, y), [None], [5], is_leaf=lambda node: node is None) == [(None, 5)]
    assert tree.structure(value, is_leaf=lambda node: True) is tree.LEAF


def test_unflatten_wants_the_right_number():
    for leaves in ([], [1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(TreeError, match=rf"takes 2 leaves, got {len(leaves)}"):
            tree.unflatten(tree.structure({"a": 0, "b": 0}), leaves)
    with pytest.raises(TreeError, match="takes 1 leaves, got 2"):
        tree.unflatten(tree.LEAF, [1.0, 2.0])


def test_map_takes_trees_that_go_deeper():
    assert tree.map(lambda x, y: (x, y), [1, {"a": 2}], [(3, 4), {"a": None}]) == [(1, (3, 4)), {"a": (2, None)}]


@pytest.mark.parametrize(
    ("wanted", "got", "message"),
    [
        ([1, 2], [1, 2, 3], r"at the root: wanted \[\*, \*\], got \[\*, \*, \*\]"),
        ({"a": [1]}, {"a": (1,)}, r"at \['a'\]: wanted \[\*\], got \(\*,\)"),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, r"at \['a'\]: wanted {'b': \*}, got {'c': \*}"),
        ([0, Linear([1], 2)], [0, Linear(1, 2)], r"at \[1\]\.weight: wanted \[\*\], got a leaf"),
        ([Norm(1, 0)], [Norm(1, 1)], r"at \[0\]: wanted Norm\(scale=\*, axis=0\), got Norm\(scale=\*, axis=1\)"),
        (Point(None, 1), Point(2, 1), r"at \.x: wanted None, got a leaf"),
        ([{"a": [1, 2]}, 3], [{"a": [1, 2]}], r"at the root: wanted \[\.\.\., \*\], got \[\.\.\.\]"),
    ],
)
def test_mismatch_says_where_and_what(wanted, got, message):
    with pytest.raises(TreeError, match=f"map: tree 2 does not fit: {message}") as error:
        tree.map(lambda x, y: x, wanted, got)
    assert isinstance(error.value, FuncgradError | ValueError)
    with pytest.raises(TreeError, match=f"map_with_path: tree 3 does not fit: {message}"):
        tree.map_with_path(lambda path, x, y, z: x, wanted, wanted, got)
    assert tree.structure(wanted).mismatch(tree.structure(got)) is not None


def test_long_mismatch_is_cut():
    with pytest.raises(TreeError) as error:
        tree.map(max, [0] * 10000, [0] * 9999 + [1, 2])
    assert tree.structure([0] * 10000).mismatch(tree.structure([0] * 10001)) in str(error.value)
    assert len(str(error.value)) < 1200


def test_mismatch_of_a_leaf_with_a_subtree():
    leaf, node = tree.structure(1), tree.structure([1])
    assert leaf.mismatch(node) == "at the root: wanted a leaf, got [*]"
    assert leaf.mismatch(node, prefix=True) is None
    assert node.mismatch(leaf, prefix=True) == "at the root: wanted [*], got a leaf"


def test_map_with_path():
    assert tree.map_with_path(lambda path, x, y: (path, x + y), {"a": [1, 2]}, {"a": [10, 20]}) == {
        "a": [("['a'][0]", 11), ("['a'][1]", 22)]
    }


def test_reduce():
    assert tree.reduce(lambda total, x: total - x, [1, (2, {"a": 3})]) == -4
    assert tree.reduce(lambda total, x: total - x, [1, (2, {"a": 3})], 10) == 4
    assert tree.reduce(lambda total, x: total - x, [None], 10) == 10
    assert tree.reduce(lambda total, x: total + 1, [[1, 2], [3]], 0, is_leaf=lambda node: node == [3]) == 3
    with pytest.raises(InputValueError, match="no leaves"):
        tree.reduce(lambda total, x: total, [None])


def test_all():
    assert tree.all([True, {"a": 1}]) is True
    assert tree.all([True, {"a": np.bool_(False)}]) is False
    assert tree.all([]) is True


def test_transpose():
    outer, inner = tree.structure({"a": 0, "b": 0}), tree.structure((0, [0]))
    assert tree.transpose(outer, inner, {"a": (1, [2]), "b": (3, [4])}) == ({"a": 1, "b": 3}, [{"a": 2, "b": 4}])
    assert tree.transpose(inner, outer, ({"a": 1, "b": 3}, [{"a": 2, "b": 4}])) == {"a": (1, [2]), "b": (3, [4])}
    assert tree.transpose(tree.structure([]), inner, []) == ([], [[]])
    with pytest.raises(TreeError, match=r"inner tree at \['b'\] does not fit \(\*, \[\*\]\): at \[1\]: wanted \[\*\], got a leaf"):
        tree.transpose(outer, inner, {"a": (1, [2]), "b": (3, 4)})
    with pytest.raises(TreeError, match="transpose: the tree does not fit"):
        tree.transpose(outer, inner, [(1, [2]), (3, [4])])


def test_deep_trees():
    value = 1.0
    for _ in range(200):
        value = [value]
    assert tree.leaves(value) == [1.0]
    assert tree.leaves(tree.map(lambda x: x + 1, value)) == [2.0]
    assert tree.structure(value).paths() == ["[0]" * 200]


def test_public_names():
    for name in tree.__all__:
        assert hasattr(tree, name), name
