"""Sorting, partial sorting, and sets: results that are elements of the input.

One rule serves them all. Elements that are equal (in the same row, where rows are sorted one by one) form a group; each element of the
result belongs to the group that it equals, and its tangent is the mean of the group's tangents. So the cotangent of a place in the result
goes in equal shares to all elements that are tied for it. NaNs are tied with one another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.mapped import inmost
from funcgrad.ops.elementwise import same
from funcgrad.ops.indexing import scatter
from funcgrad.ops.structural import along, concatenate, in_rows, moveaxis, normalized, ravel
from funcgrad.primitive import register_all
from funcgrad.rules import general, nondifferentiable
from funcgrad.rules.batching import by_examples, in_front, stacked
from funcgrad.rules.values import raw, shape_of

# ------------------------------------------------------------------------------------------------ groups of equal elements


def groups_of(x: np.ndarray) -> np.ndarray:
    """The number of each element's group, as integers of the shape of x.

    Rows are those of the last axis. Numbers go up from row to row and, in a row, with the value, so two arrays whose rows hold the same
    elements in different orders have the same groups.
    """
    order = np.argsort(x, -1)
    groups = np.empty(x.shape, np.intp)
    np.put_along_axis(groups, order, _groups_in_order(np.take_along_axis(x, order, -1)), -1)
    return groups


def _groups_in_order(x: np.ndarray) -> np.ndarray:
    """The same where the rows are sorted."""
    starts = np.ones(x.shape, bool)
    starts[..., 1:] = ~same(x[..., 1:], x[..., :-1])
    return (np.cumsum(starts) - 1).reshape(x.shape)


def _sizes(groups: np.ndarray, like: Any) -> np.ndarray:
    """How many elements each group has, in the precision of the values to be divided by it."""
    return np.bincount(groups.ravel()).astype(raw(like).real.dtype)


def _by_groups(t: Any, source: np.ndarray, target: np.ndarray, sizes: np.ndarray) -> Any:
    """Totals of t over the groups that its elements have in `source`, over the groups' sizes, given to the elements of `target`."""
    return (scatter(ravel(t), sizes.shape, source.ravel()) / sizes)[target]


def _push_groups(t: Any, of_x: np.ndarray, of_answer: np.ndarray) -> Any:
    return _by_groups(t, of_x, of_answer, _sizes(of_x, t))


def _pull_groups(ct: Any, of_x: np.ndarray, of_answer: np.ndarray) -> Any:
    return _by_groups(ct, of_answer, of_x, _sizes(of_x, ct))


# ------------------------------------------------------------------------------------------------ rows in order


def _rearranged(function: Any, groups_of_answer: Any, name: str) -> Any:
    """A primitive that puts the elements of each row of the last axis in another order."""
    primitive: Any = general(
        function,
        jvps=[stacked(lambda t, ans, x, *_: _push_groups(t, groups_of(inmost(x)), groups_of_answer(inmost(ans))), 3)],
        vjps=[stacked(lambda ct, ans, x, *_: _pull_groups(ct, groups_of(inmost(x)), groups_of_answer(inmost(ans))), 3)],
        name=name,
        batch=in_front(lambda x, *static: primitive(x, *static)),
    )
    return primitive


_sort = _rearranged(lambda x, kind, options: np.sort(x, -1, kind, **options), _groups_in_order, "sort")
_partition = _rearranged(lambda x, kth, kind, options: np.partition(x, kth, -1, kind, **options), groups_of, "partition")


def _along(operation: Any, a: Any, axis: int | None, *static: Any) -> Any:
    """An operation on the rows of the last axis along another one; None stands for all elements in one row."""
    if axis is None:
        return operation(ravel(a), *static)
    ndim = len(shape_of(a))
    axis = normalized(axis, ndim)
    if axis == ndim - 1:
        return operation(a, *static)
    return moveaxis(operation(moveaxis(a, axis, -1), *static), -1, axis)


def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:
    """np.sort: tied elements share."""
    return _along(_sort, a, axis, kind, {"order": order, **options})


def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: Any = None) -> Any:
    """np.partition: tied elements share."""
    return _along(_partition, a, axis, raw(kth), kind, {"order": order})


def sort_complex(a: Any) -> Any:
    """np.sort_complex: sorted along the last axis, and of a complex dtype."""
    ordered = sort(a)
    dtype = np.sort_complex(np.empty(0, ordered.dtype)).dtype
    return ordered.astype(dtype, copy=False)


# ------------------------------------------------------------------------------------------------ sets

_chosen = general(
    lambda x, values, of_x, of_values: values,
    jvps=[lambda t, ans, x, values, of_x, of_values: _push_groups(t, of_x, of_values)],
    vjps=[lambda ct, ans, x, values, of_x, of_values: _pull_groups(ct, of_x, of_values)],
    keeps="",
    name="chosen",
)
_chosen_rows = general(
    lambda x, values, of_x: values,
    jvps=[lambda t, ans, x, values, of_x: _per_row(scatter(t, shape_of(values), of_x), _sizes(of_x, t))],
    vjps=[lambda ct, ans, x, values, of_x: _per_row(ct, _sizes(of_x, ct))[of_x]],
    keeps="",
    name="chosen_rows",
)


def _per_row(totals: Any, sizes: np.ndarray) -> Any:
    return totals / sizes.reshape(-1, *(1,) * (len(shape_of(totals)) - 1))


def _choose(x: Any, values: np.ndarray) -> Any:
    """Some elements of a vector, or values that equal some: how many they are depends on the values of x, so no replay finds them anew."""
    groups = groups_of(np.concatenate([raw(x), values]))
    return _chosen(x, values, groups[: raw(x).size], groups[raw(x).size :])


def _unique_values(ar: Any, values: np.ndarray, axis: int | None) -> Any:
    if axis is None:
        return _choose(ravel(ar), values)
    axis = normalized(axis, len(shape_of(ar)))
    inverse = np.unique(raw(ar), return_inverse=True, axis=axis)[1].ravel()
    return moveaxis(_chosen_rows(moveaxis(ar, axis, 0), np.moveaxis(values, axis, 0), inverse), 0, axis)


@by_examples
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None, **options: Any
) -> Any:
    """np.unique: equal elements share."""
    found: Any = np.unique(raw(ar), return_index, return_inverse, return_counts, axis, **options)  # type: ignore[call-overload]
    if not (return_index or return_inverse or return_counts):
        return _unique_values(ar, found, axis)
    return (_unique_values(ar, found[0], axis), *found[1:])


def _unique_with(function: Any) -> Any:
    """One of the functions that give unique values in a named tuple with integers."""

    def operation(x: Any, /) -> Any:
        found = function(raw(x))
        return found._replace(values=_choose(ravel(x), found.values))

    return by_examples(operation)


def _flat(*arrays: Any) -> Any:
    return concatenate([ravel(np.asarray(array) if isinstance(array, (list, tuple, int, float)) else array) for array in arrays])


@by_examples
def union1d(ar1: Any, ar2: Any) -> Any:
    """np.union1d: equal elements of both share."""
    return _choose(_flat(ar1, ar2), np.union1d(raw(ar1), raw(ar2)))


@by_examples
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """np.intersect1d: equal elements of both share."""
    found: Any = np.intersect1d(raw(ar1), raw(ar2), assume_unique, return_indices)  # type: ignore[call-overload]
    values = found[0] if return_indices else found
    chosen = _choose(_flat(ar1, ar2), values)
    return (chosen, *found[1:]) if return_indices else chosen


@by_examples
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """np.setxor1d: equal elements share."""
    return _choose(_flat(ar1, ar2), np.setxor1d(raw(ar1), raw(ar2), assume_unique))


@by_examples
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """np.setdiff1d: equal elements of the first share, the second has nothing to differentiate."""
    return _choose(_flat(ar1), np.setdiff1d(raw(ar1), raw(ar2), assume_unique))


# ------------------------------------------------------------------------------------------------ places


def _parted(x: Any, kth: Any, axis: Any = -1, *args: Any, **options: Any) -> Any:
    if axis is None:
        x, axis = in_rows(x), 0
    return np.argpartition(x, kth, along(axis, x.ndim - 1), *args, **options)


argpartition = nondifferentiable(np.argpartition, in_front(_parted))
isin = nondifferentiable(np.isin, in_front(np.isin))
_lexsort = nondifferentiable(np.lexsort)


def lexsort(keys: Any, axis: int = -1) -> Any:
    """np.lexsort."""
    return _lexsort(tuple(map(raw, keys)) if isinstance(keys, (list, tuple)) else keys, axis)


_OPERATIONS: dict[Any, Any] = {
    np.sort: sort,
    np.partition: partition,
    np.sort_complex: sort_complex,
    np.unique: unique,
    np.union1d: union1d,
    np.intersect1d: intersect1d,
    np.setxor1d: setxor1d,
    np.setdiff1d: setdiff1d,
    np.lexsort: lexsort,
    **{function: _unique_with(function) for function in (getattr(np, f"unique_{what}", None) for what in ("all", "counts", "inverse"))},
    getattr(np, "unique_values", None): by_examples(lambda x, /: _choose(ravel(x), np.unique_values(raw(x)))),
}
if hasattr(np, "in1d"):  # until NumPy 2.3
    nondifferentiable(np.in1d)
register_all(_OPERATIONS)
