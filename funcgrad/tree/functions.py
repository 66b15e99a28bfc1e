"""What one does with trees leaf by leaf: mapping, folding, naming places, turning inside out.

`map`, `all` and `reduce` are named as in JAX; the builtins of those names are not used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from funcgrad.errors import InputValueError, TreeError
from funcgrad.tree.treedef import IsLeaf, TreeDef, flatten, unflatten

_MISSING = object()


def flatten_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[str, Any]], TreeDef]:
    """Like `flatten`, each leaf with its key path.

    Args:
        tree: any tree; an object of another class is a tree of one leaf.
        is_leaf: as in `flatten`.

    Returns:
        The pairs (path, leaf) from left to right, and the structure. A path is what Python would write after the tree to reach the leaf,
        "" for a tree that is one leaf.

    Raises:
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import tree
        >>> tree.flatten_with_path({"layers": [1.0, 2.0]})[0]
        [("['layers'][0]", 1.0), ("['layers'][1]", 2.0)]
    """
    found, treedef = flatten(tree, is_leaf)
    return list(zip(treedef.paths(), found, strict=True)), treedef


def _rows(name: str, found: list[Any], treedef: TreeDef, rest: tuple[Any, ...]) -> Iterable[tuple[Any, ...]]:
    """The leaves side by side with what stands at their places in the other trees."""
    columns = [found]
    for tree in rest:
        others, other_treedef = flatten(tree)
        columns.append(others if other_treedef is treedef else treedef.flatten_up_to(tree, f"{name}: tree {len(columns) + 1}"))
    return zip(*columns, strict=True)


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:  # noqa: A001
    """Apply f leaf by leaf.

    Args:
        f: function of a leaf of `tree` and of what stands at its place in each of `rest`.
        tree: the tree that gives the structure.
        *rest: trees of the same structure, or with subtrees where `tree` has leaves.
        is_leaf: as in `flatten`.

    Returns:
        A tree of the structure of `tree`.

    Raises:
        TreeError: a tree of `rest` does not have the structure of `tree`; the message names the tree (the first is 1) and the place.
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import tree
        >>> tree.map(lambda x, y: x - 0.1 * y, {"w": 1.0, "b": (2.0,)}, {"w": 10.0, "b": (5.0,)})
        {'b': (1.5,), 'w': 0.0}
    """
    found, treedef = flatten(tree, is_leaf)
    if rest:
        return unflatten(treedef, [f(*row) for row in _rows("map", found, treedef, rest)])
    return unflatten(treedef, [f(leaf) for leaf in found])


def map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Like `map`, with the key path of the leaf as first argument of f.

    Args:
        f: function of a path, a leaf of `tree`, and what stands at its place in each of `rest`.
        tree: the tree that gives the structure.
        *rest: trees of the same structure, or with subtrees where `tree` has leaves.
        is_leaf: as in `flatten`.

    Returns:
        A tree of the structure of `tree`.

    Raises:
        TreeError: a tree of `rest` does not have the structure of `tree`; the message names the tree (the first is 1) and the place.
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import tree
        >>> tree.map_with_path(lambda path, x: f"{path} is {x}", {"w": [1.0, 2.0]})
        {'w': ["['w'][0] is 1.0", "['w'][1] is 2.0"]}
    """
    found, treedef = flatten(tree, is_leaf)
    rows = _rows("map_with_path", found, treedef, rest)
    return unflatten(treedef, [f(path, *row) for path, row in zip(treedef.paths(), rows, strict=True)])


def reduce(f: Callable[[Any, Any], Any], tree: Any, initial: Any = _MISSING, is_leaf: IsLeaf | None = None) -> Any:
    """Fold the leaves from left to right: f(f(initial, first), second) and so on.

    Args:
        f: function of what is folded so far and the next leaf.
        tree: any tree.
        initial: where the fold starts; without it, at the first leaf.
        is_leaf: as in `flatten`.

    Returns:
        What the last call of f gives; `initial` (or the one leaf) if there is none.

    Raises:
        InputValueError: a tree without leaves and no `initial`.
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import tree
        >>> tree.reduce(lambda total, x: total + x, {"a": 1.0, "b": [2.0, 3.0]}, 0.0)
        6.0
    """
    found = flatten(tree, is_leaf)[0]
    if initial is _MISSING:
        if not found:
            raise InputValueError("reduce: the tree has no leaves: give an initial value.")
        initial, *found = found
    for leaf in found:
        initial = f(initial, leaf)
    return initial


def all(tree: Any, is_leaf: IsLeaf | None = None) -> bool:  # noqa: A001
    """Whether every leaf is true; each must have one truth value, as a bool or an array of one element has.

    Args:
        tree: any tree.
        is_leaf: as in `flatten`.

    Returns:
        False if a leaf is false, True else: also for a tree without leaves.

    Raises:
        ValueError: (NumPy's) a leaf without one truth value, such as an array of two elements.
        TreeError: a dict whose keys cannot be sorted.

    Example:
        >>> from funcgrad import tree
        >>> tree.all({"a": True, "b": [1.0 < 2.0]}), tree.all([True, False]), tree.all([])
        (True, False, True)
    """
    return not any(not leaf for leaf in flatten(tree, is_leaf)[0])


def transpose(outer_treedef: TreeDef, inner_treedef: TreeDef, tree: Any) -> Any:
    """Turn an outer tree of inner trees inside out.

    Args:
        outer_treedef: structure of the outer tree.
        inner_treedef: structure of each of the trees at its leaves.
        tree: the tree of trees.

    Returns:
        A tree of structure `inner_treedef` with trees of structure `outer_treedef` at its leaves.

    Raises:
        TreeError: `tree` is built otherwise; the message names the place.

    Example:
        >>> from funcgrad import tree
        >>> tree.transpose(tree.structure([0, 0]), tree.structure({"a": 0, "b": 0}), [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
        {'a': [1, 3], 'b': [2, 4]}
    """
    rows = []
    for path, row in zip(outer_treedef.paths(), outer_treedef.flatten_up_to(tree, "transpose: the tree"), strict=True):
        found, treedef = flatten(row)
        if treedef != inner_treedef:
            raise TreeError(
                f"transpose: the inner tree at {path or 'the root'} does not fit {inner_treedef.summary()}: "
                f"{inner_treedef.mismatch(treedef)}."
            )
        rows.append(found)
    return unflatten(inner_treedef, [unflatten(outer_treedef, [row[i] for row in rows]) for i in range(inner_treedef.num_leaves)])
