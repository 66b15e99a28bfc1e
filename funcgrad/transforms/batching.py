"""`vmap`: a function of one example as a function of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, TreeError
from funcgrad.mapped import TRACERS, Mapped, inmost, mapping_scope
from funcgrad.rules.values import is_numeric, shape_of
from funcgrad.tape import Holds, Label, Scope, check_open, thread
from funcgrad.tracer import plain_array
from funcgrad.transforms.arguments import at, checked_function, looks_like, named

Axes = Any  # int | None, or a tree of them


def vmap(f: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """The function that maps f over an axis of its arguments: all examples at once, as f is written for one.

    Args:
        f: function of numbers, arrays and trees of them.
        in_axes: the axis of the examples in each positional argument: an integer (negative ones count from the end), None for what is the
            same for all examples, or a tuple or list with an entry for each argument; an entry may be a tree of such in place of the
            argument's tree or of its first levels. Keyword arguments are mapped over axis 0.
        out_axes: where that axis is to be in the outputs; a tree in place of the output's tree or of its first levels, None for an output
            that does not depend on the example.

    Returns:
        A function with f's arguments, those that are mapped with one more axis, of one size n >= 0 for all. Its outputs are fresh arrays
        with an axis of size n more. Inside, f sees values of one example's shape and dtype; where NumPy has no function for many at once
        (`np.convolve`, `scipy.optimize.root`, an index into `x.at` that is mapped), they are computed one by one, to the same result.

    Raises:
        TreeError, InputTypeError: in_axes or out_axes do not fit the arguments or outputs, or nothing is mapped.
        InputValueError: the sizes differ, or there is no such axis.
        ConcretizationError: f needs one plain value where it has one for each example: bool(x), float(x), x[x > 0]. For conditions use
            np.where, `cond`, `switch`, `while_loop`.
        ValueError: (NumPy's) f writes into an array that is mapped.
        StaleTracerError: a value of f's is used after it has returned.

    Example:
        >>> from funcgrad import grad
        >>> loss = lambda w, x, y: (w @ x - y) ** 2
        >>> w, x, y = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 0.0, 1.0])
        >>> print(vmap(grad(loss), in_axes=(None, 0, 0))(w, x, y))
        [[2. 0.]
         [0. 4.]
         [4. 4.]]
    """
    checked_function(f, "vmap")
    name = f"vmap of {named(f)}"
    _check_axes(name, "in_axes", in_axes)
    _check_axes(name, "out_axes", out_axes)
    label = Label(name)

    @looks_like(f, "Mapped function")
    def mapped(*args: Any, **kwargs: Any) -> Any:
        examples, holds = Examples(name, in_axes, args, kwargs), Holds()
        try:
            with mapping_scope(label, examples.size) as scope:
                given, named_ones = examples.mapped(scope, holds)
                output = f(*given, **named_ones)
                leaves, treedef = tree.flatten(output)
                axes = _spread(name, "out_axes", out_axes, output)
                paths = tree.flatten_with_path(output)[0]
                given_ids = {id(inmost(leaf)) for one in examples.arguments for leaf in one.leaves}
                rows = zip(paths, leaves, axes, strict=True)
                results = [_taken_out(name, path, leaf, axis, scope, given_ids) for (path, _), leaf, axis in rows]
        finally:
            holds.release()
        return tree.unflatten(treedef, results)

    return mapped


class Examples:
    """The arguments of a mapped call.

    Attributes:
        arguments: each taken apart, the positional ones first.
        size: the number of examples.
    """

    def __init__(self, name: str, in_axes: Axes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if isinstance(in_axes, (tuple, list)):
            if len(in_axes) != len(args):
                raise TreeError(f"{name}: in_axes has {len(in_axes)} entries for a call with {len(args)} positional arguments")
            entries = [*in_axes, *[0] * len(kwargs)]
        else:
            entries = [*[in_axes] * len(args), *[0] * len(kwargs)]
        places = [*(f"argument {n}" for n in range(len(args))), *(f"argument {key!r}" for key in kwargs)]
        rows = zip(places, [*args, *kwargs.values()], entries, strict=True)
        self.arguments = [_Leaves(name, place, value, entry) for place, value, entry in rows]
        self.size = _common_size(name, self.arguments)
        self._keys = list(kwargs)

    def _together(self, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        count = len(values) - len(self._keys)
        return values[:count], dict(zip(self._keys, values[count:], strict=True))

    def mapped(self, scope: Scope, holds: Holds) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as f is to see them, by position and by keyword; their arrays are held."""
        return self._together(
            [
                one.of(lambda array, axis: Mapped(_in_front(holds.add(array) if type(array) is np.ndarray else array, axis), scope))
                for one in self.arguments
            ]
        )

    def example(self, n: int) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of one example."""
        return self._together([one.of(lambda array, axis: _in_front(array, axis)[n]) for one in self.arguments])


def _in_front(array: Any, axis: int) -> Any:
    return np.moveaxis(array, axis, 0) if axis else array


def _is_axis(value: Any) -> bool:
    return value is None or (isinstance(value, (int, np.integer)) and not isinstance(value, bool))


def _check_axes(name: str, what: str, axes: Axes) -> None:
    for axis in tree.leaves(axes):
        if not _is_axis(axis):
            raise InputTypeError(f"{name}: {what} must be integers, None, or trees of them, got {axis!r}")


def _spread(name: str, what: str, axes: Axes, value: Any) -> list[Any]:
    """An axis for each leaf of a tree, from a tree of axes that may stop at any level above the leaves.

    Raises:
        TreeError: their structures differ.
    """
    if _is_axis(axes):
        return [axes] * len(tree.leaves(value))
    children, treedef = tree.flatten(axes, is_leaf=lambda one: one is not axes)
    try:
        parts = treedef.flatten_up_to(value)
    except TreeError as error:
        raise TreeError(f"{name}: {what} {axes!r} does not fit the structure {tree.structure(value)}") from error
    return [axis for child, part in zip(children, parts, strict=True) for axis in _spread(name, what, child, part)]


class _Leaves:
    """An argument taken apart, with an axis for each leaf."""

    def __init__(self, name: str, place: str, value: Any, axes: Axes) -> None:
        self.leaves, self.treedef = tree.flatten(value)
        self.axes = _spread(name, f"the entry of in_axes for {place}", axes, value)
        self.sizes: list[tuple[str, int]] = []
        if all(axis is None for axis in self.axes):
            return
        for n, (path, leaf) in enumerate(tree.flatten_with_path(value)[0]):
            axis = self.axes[n]
            if axis is None:
                continue
            where = f"{place}{at(path)}"
            self.leaves[n] = leaf = _as_leaf(name, where, leaf)
            ndim = len(shape_of(leaf))
            if not -ndim <= axis < ndim:
                raise InputValueError(
                    f"{name}: {where} has shape {shape_of(leaf)}, there is no axis {axis} to map over: use None for it in in_axes"
                )
            self.sizes.append((where, shape_of(leaf)[axis]))

    def of(self, change: Callable[[Any, int], Any]) -> Any:
        """The argument with the mapped leaves changed: `change(leaf, axis)`."""
        leaves = [leaf if axis is None else change(leaf, axis) for leaf, axis in zip(self.leaves, self.axes, strict=True)]
        return tree.unflatten(self.treedef, leaves)


def _as_leaf(name: str, where: str, leaf: Any) -> Any:
    if type(leaf) in TRACERS:
        check_open(leaf._scope, thread.scope, name)
        return leaf
    if not is_numeric(leaf) or np.asarray(leaf).dtype.kind not in "biufc":
        raise InputTypeError(
            f"{name}: {where} is {leaf!r:.60} ({type(leaf).__name__}), but only arrays of numbers can be mapped: use None for it in in_axes"
        )
    return plain_array(leaf) if isinstance(leaf, np.ndarray) else leaf


def _common_size(name: str, arguments: Sequence[_Leaves]) -> int:
    sizes = [pair for one in arguments for pair in one.sizes]
    if not sizes:
        raise InputTypeError(f"{name}: nothing is mapped, and the number of examples is unknown: in_axes needs an integer for some array")
    if len({size for _, size in sizes}) > 1:
        listed = ", ".join(f"{size} in {where}" for where, size in sizes[:8]) + (", ..." if len(sizes) > 8 else "")
        raise InputValueError(f"{name}: the mapped axes must be of one size, got {listed}")
    return sizes[0][1]


def _taken_out(name: str, path: str, leaf: Any, axis: int | None, scope: Any, given: set[int]) -> Any:
    """An output as the code around is to see it."""
    where = f"the output{at(path)}"
    is_mapped = type(leaf) is Mapped and leaf._scope is scope
    if type(leaf) in TRACERS:
        check_open(leaf._scope, scope, name)
    elif not is_numeric(leaf):
        raise InputTypeError(f"{name}: {where} is {leaf!r:.60} ({type(leaf).__name__}): only numbers and arrays can be returned")
    if axis is None:
        if is_mapped:
            raise InputValueError(f"{name}: out_axes is None for {where}, but it differs between the examples: give it an axis")
        return leaf.copy() if type(leaf) is np.ndarray else leaf  # it may be an array that f closes over
    ndim = len(shape_of(leaf)) + 1
    if not -ndim <= axis < ndim:
        raise InputValueError(f"{name}: out_axes {axis} for {where}, whose examples have shape {shape_of(leaf)}: it has {ndim} axes in all")
    array = leaf._primal if is_mapped else np.broadcast_to(leaf, (scope.size, *shape_of(leaf)))
    return _fresh(np.moveaxis(array, 0, axis) if axis % ndim else array, given)


def _fresh(value: Any, given: set[int]) -> Any:
    if type(value) is np.ndarray:
        if value.base is not None or not value.flags.writeable or id(value) in given:
            value = value.copy()
        given.add(id(value))
    return value
