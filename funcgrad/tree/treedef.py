"""The structure of a tree, and the two functions that everything else on trees is made of: `flatten` and `unflatten`.

Both run once a call of every transform, so they treat the common case, a short container of nothing but leaves, without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from funcgrad.errors import TreeError
from funcgrad.tree.kinds import DICT, KINDS, Kind, sorted_keys

IsLeaf = Callable[[Any], bool]
_MAX_CACHED_DICTS = 1024


class TreeDef:
    """The structure of a tree without its leaves: hashable, comparable, picklable if its classes are.

    Attributes:
        num_leaves: number of leaves, int.

    Example:
        >>> from funcgrad import tree
        >>> tree.structure({"w": [1.0, 2.0], "b": 0.5})
        {'b': *, 'w': [*, *]}
    """

    __slots__ = ("_aux", "_children", "_hash", "_is_flat", "_kind", "num_leaves")

    def __init__(self, kind: Kind | None, aux: Any, children: tuple[TreeDef, ...], num_leaves: int, is_flat: bool = False) -> None:
        self._kind = kind
        self._aux = aux
        self._children = children
        self._is_flat = is_flat
        self._hash: int | None = None
        self.num_leaves = num_leaves

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not TreeDef:
            return NotImplemented
        return (
            self._kind is other._kind
            and self.num_leaves == other.num_leaves
            and bool(self._aux == other._aux)
            and self._children == other._children
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((None if self._kind is None else self._kind.cls, self._aux, self._children))
        return self._hash

    def __repr__(self) -> str:
        return "*" if self._kind is None else self._kind.show(self._aux, [repr(child) for child in self._children])

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (None if self._kind is None else self._kind.cls, self._aux, self._children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with the given leaves; see `funcgrad.tree.unflatten`."""
        return unflatten(self, leaves)

    def flatten_up_to(self, tree: Any, what: str = "the tree") -> list[Any]:
        """Take `tree` apart as far as this structure goes; what stands at its leaves may be trees again.

        Args:
            tree: a tree of which this structure is a prefix.
            what: how a message names the tree.

        Returns:
            The subtrees at the leaves, `num_leaves` of them.

        Raises:
            TreeError: the tree is built otherwise; the message names the place.

        Example:
            >>> from funcgrad import tree
            >>> tree.structure({"a": 0, "b": 0}).flatten_up_to({"a": 1.0, "b": [2.0, 3.0]})
            [1.0, [2.0, 3.0]]
        """
        found, treedef = flatten(tree)
        if treedef is self or treedef == self:
            return found
        subtrees: list[Any] = []
        if not _take(self, tree, subtrees):
            raise TreeError(f"{what} does not fit: {self.mismatch(treedef, prefix=True)}. Give it the structure {self.summary()}.")
        return subtrees

    def summary(self) -> str:
        """The structure as text that is short enough for an error message."""
        return _cut(repr(self))

    def paths(self) -> list[str]:
        """The key path of each leaf, in order; the path of a tree that is one leaf is the empty string.

        Example:
            >>> from funcgrad import tree
            >>> tree.structure({"layers": [0.0, (1.0,)]}).paths()
            ["['layers'][0]", "['layers'][1][0]"]
        """
        return list(_walk(self, ""))

    def mismatch(self, got: TreeDef, *, prefix: bool = False) -> str | None:
        """Where and how `got` differs from this structure, for an error message; None if it does not.

        Args:
            got: the structure to judge.
            prefix: also accept subtrees of `got` where this structure has leaves.

        Example:
            >>> from funcgrad import tree
            >>> tree.structure({"w": [1, 2]}).mismatch(tree.structure({"w": [1, 2, 3]}))
            "at ['w']: wanted [*, *], got [*, *, *]"
        """
        found = _difference(self, got, "", prefix)
        return None if found is None else f"at {found[0] or 'the root'}: wanted {found[1]}, got {found[2]}"


LEAF = TreeDef(None, None, (), 1)


def _restore(cls: type | None, aux: Any, children: tuple[TreeDef, ...]) -> TreeDef:
    if cls is None:
        return LEAF
    kind = KINDS[cls]
    if kind is None:
        raise TreeError(f"a pickled structure has nodes of {cls.__name__}, which is not registered here: register it before unpickling.")
    count = 0
    for child in children:
        count += child.num_leaves
    return TreeDef(kind, aux, children, count, children == (LEAF,) * len(children))


def _walk(treedef: TreeDef, path: str) -> Iterator[str]:
    kind = treedef._kind
    if kind is None:
        yield path
        return
    for key, child in zip(kind.keys(treedef._aux, len(treedef._children)), treedef._children, strict=True):
        yield from _walk(child, path + key)


def _summary(treedef: TreeDef) -> str:
    if treedef._kind is None:
        return "a leaf"
    return _cut(treedef._kind.show(treedef._aux, [("*" if child is LEAF else "...") for child in treedef._children]))


def _cut(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:140]} ... {text[-140:]}"


def _difference(wanted: TreeDef, got: TreeDef, path: str, prefix: bool) -> tuple[str, str, str] | None:
    if wanted is got or (wanted is LEAF and prefix):
        return None
    kind = wanted._kind
    if kind is None or kind is not got._kind or wanted._aux != got._aux or len(wanted._children) != len(got._children):
        return path, _summary(wanted), _summary(got)
    keys = kind.keys(wanted._aux, len(wanted._children))
    for key, one, other in zip(keys, wanted._children, got._children, strict=True):
        found = _difference(one, other, path + key, prefix)
        if found is not None:
            return found
    return None


def _take(treedef: TreeDef, tree: Any, out: list[Any]) -> bool:
    kind = treedef._kind
    if kind is None:
        out.append(tree)
        return True
    if KINDS[type(tree)] is not kind:
        return False
    children, aux = kind.split(tree)
    children = list(children)
    if len(children) != len(treedef._children) or aux != treedef._aux:
        return False
    return all(_take(child, part, out) for child, part in zip(treedef._children, children, strict=True))


_DICT_ORDERS: dict[tuple[Any, ...], tuple[tuple[Any, ...], TreeDef | None]] = {}


def _order_keys(keys: tuple[Any, ...]) -> tuple[tuple[Any, ...], TreeDef | None]:
    """The keys of a dict sorted, and the definition of a dict of leaves with them where it may be shared."""
    order = sorted_keys(keys)
    if {type(key) for key in keys} != {str}:
        return order, None  # 1, 1.0 and True are equal as keys of a cache, and must not be exchanged for one another
    if len(_DICT_ORDERS) >= _MAX_CACHED_DICTS:
        _DICT_ORDERS.clear()
    known = _DICT_ORDERS[keys] = (order, TreeDef(DICT, order, (LEAF,) * len(order), len(order), True))
    return known


def _descend(tree: Any, kind: Kind, out: list[Any]) -> TreeDef:
    """Append the leaves of a node to `out`; nodes of nothing but leaves get an interned definition, so that comparing is `is`."""
    shared: TreeDef | None = None
    aux: Any = None
    if kind is DICT:
        keys = tuple(tree)
        aux, shared = _DICT_ORDERS.get(keys) or _order_keys(keys)
        children: Any = [tree[key] for key in aux]
    elif kind.is_sequence:
        children = tree
    else:
        children, aux = kind.split(tree)
    start = len(out)
    below: list[TreeDef] | None = None
    for child in children:
        child_kind = KINDS[type(child)]
        if child_kind is None:
            out.append(child)
            if below is not None:
                below.append(LEAF)
        else:
            if below is None:
                below = [LEAF] * (len(out) - start)
            below.append(_descend(child, child_kind, out))
    count = len(out) - start
    if below is not None:
        return TreeDef(kind, aux, tuple(below), count)
    return _flat(kind, aux, count) if shared is None else shared


def _flat(kind: Kind, aux: Any, count: int) -> TreeDef:
    if aux is not None:
        return TreeDef(kind, aux, (LEAF,) * count, count, True)
    found: TreeDef | None = kind.flats.get(count)
    if found is None:
        found = kind.flats[count] = TreeDef(kind, None, (LEAF,) * count, count, True)
    return found


def _descend_unless(is_leaf: IsLeaf, tree: Any, out: list[Any]) -> TreeDef:
    kind = KINDS[type(tree)]
    if kind is None or is_leaf(tree):
        out.append(tree)
        return LEAF
    start = len(out)
    children, aux = kind.split(tree)
    below = tuple([_descend_unless(is_leaf, child, out) for child in children])
    return TreeDef(kind, aux, below, len(out) - start, below == (LEAF,) * len(below))


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeDef]:
    """Take a tree apart.

    Args:
        tree: any tree; an object of another class is a tree of one leaf.
        is_leaf: node -> bool; nodes for which it is true are leaves and not looked into.

    Returns:
        The leaves from left to right (dicts in the order of their sorted keys) and the structure.

    Raises:
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import tree
        >>> tree.flatten({"w": [1.0, 2.0], "b": None, "a": 3.0})
        ([3.0, 1.0, 2.0], {'a': *, 'b': None, 'w': [*, *]})
    """
    if is_leaf is None:
        kind = KINDS[type(tree)]
        if kind is None:
            return [tree], LEAF
        found: list[Any] = []
        return found, _descend(tree, kind, found)
    found = []
    return found, _descend_unless(is_leaf, tree, found)


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """Put a tree together, the inverse of `flatten`.

    Args:
        treedef: the structure.
        leaves: its leaves in order; they may be anything.

    Returns:
        A new tree; its dicts have their keys in sorted order.

    Raises:
        TreeError: not as many leaves as the structure has.

    Example:
        >>> from funcgrad import tree
        >>> tree.unflatten(tree.structure({"w": [0, 0]}), [1.0, 2.0])
        {'w': [1.0, 2.0]}
    """
    if type(leaves) is not list:
        leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise TreeError(f"unflatten: the structure {treedef.summary()} takes {treedef.num_leaves} leaves, got {len(leaves)}.")
    kind = treedef._kind
    if kind is None:
        return leaves[0]
    return kind.build(treedef._aux, leaves) if treedef._is_flat else _build(treedef, kind, iter(leaves))


def _build(treedef: TreeDef, kind: Kind, rest: Iterator[Any]) -> Any:
    parts = [next(rest) if child._kind is None else _build(child, child._kind, rest) for child in treedef._children]
    return kind.build(treedef._aux, parts)


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree from left to right.

    Args:
        tree: any tree; an object of another class is a tree of one leaf.
        is_leaf: as in `flatten`.

    Returns:
        The list of leaves, dicts in the order of their sorted keys.

    Raises:
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import tree
        >>> tree.leaves((1.0, {"b": 2.0, "a": [3.0]}))
        [1.0, 3.0, 2.0]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> TreeDef:
    """The structure of a tree without its leaves.

    Args:
        tree: any tree; an object of another class is a tree of one leaf.
        is_leaf: as in `flatten`.

    Returns:
        Its `TreeDef`, equal for trees that differ in leaves alone.

    Raises:
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import tree
        >>> tree.structure((1.0, {"b": 2.0, "a": [3.0]}))
        (*, {'a': [*], 'b': *})
    """
    return flatten(tree, is_leaf)[1]
