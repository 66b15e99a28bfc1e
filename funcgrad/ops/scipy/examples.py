"""What functions of SciPy's, which know plain arrays only, make of the values that `vmap` maps.

Owns the ways to all examples: a call for each of them, wherever mapped values stand in trees (`over_examples`); one call for all, of a
function whose operands are broadcast (`on_plain`) or of one of matrices (`over_stacks`, `stacking`).
"""

from __future__ import annotations

import copy
import functools
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy

from funcgrad import tree
from funcgrad.errors import ConcretizationError, TreeError
from funcgrad.mapped import OPEN, TRACERS, Mapped, is_mapped, lined_up, mapping_of, taken_apart, traced_in
from funcgrad.rules.batching import BatchRule, call_of_one, inner_mapping, joined
from funcgrad.rules.values import is_numeric, raw, shape_of
from funcgrad.staged import Staged
from funcgrad.tape import Scope
from funcgrad.tracer import Tracer, innermost_of

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


def is_differentiated(*values: Any) -> bool:
    """Whether a tracer is among the values, in lists, tuples and dicts of them, or inside a mapped value, which alone is a constant."""
    for value in traced_in(values):
        while type(value) is Mapped:
            value = value._primal
        if type(value) is Tracer:
            return True
    return False


def on_plain(function: Function, *operands: Any) -> Any:
    """A function of operands that are broadcast, on the values of tracers and mapped ones: its result counts as constant."""
    values = [raw(operand) for operand in operands]
    found = innermost_of(values)
    if type(found) is Staged:
        return found.recorded(function, tuple(values), {})
    mapping = mapping_of(*values)
    return function(*values) if mapping is None else Mapped(on_plain(function, *lined_up(values, mapping)), mapping)


# ------------------------------------------------------------------------------------------------ one example at a time


def over_examples(function: F, needed: dict[str, str] | None = None) -> F:
    """A function that runs once for each example, wherever mapped values are among its arguments, which may be trees of anything.

    Args:
        function: of arguments of one example. It may return trees of arrays, strings, and SciPy's results with named fields.
        needed: fields that are to be arrays, and what else to do where their shapes differ.

    Returns:
        The function. What is a string, or a field that is no array of one shape for all examples, is a list with one entry for each.

    Raises:
        ConcretizationError: another part of the result cannot be one array for all examples.

    Example:
        >>> from funcgrad import vmap
        >>> roots = over_examples(lambda a: {"root": np.roots([1.0, 0.0, -float(a)]).real})
        >>> print(vmap(lambda a: roots(a)["root"])(np.array([1.0, 4.0])).round(9))
        [[-1.  1.]
         [-2.  2.]]
    """

    @functools.wraps(function)
    def each(*args: Any, **options: Any) -> Any:
        if not OPEN:
            return function(*args, **options)
        scope = inner_mapping(*tree.leaves((args, options)))
        if scope is None:
            return function(*args, **options)
        call = call_of_one(each, scope, args, options)
        name = f"{scope.name}: {function.__name__}"
        with taken_apart(scope):
            results = [call(operator.itemgetter(n)) for n in range(scope.size or 0)] or [_of_none(name, call)]
        return _joined(name, results, scope, needed or {})

    return each  # type: ignore[return-value]


def _typical(shape: tuple[int, ...]) -> np.ndarray:
    """The unit matrix, or numbers that increase."""
    if len(shape) > 1 and shape[-1] == shape[-2]:
        return np.eye(shape[-1])
    return np.arange(1.0, 1.0 + shape[-1]) if shape else np.ones(())


_MADE_UP: Sequence[Callable[[tuple[int, ...]], np.ndarray]] = (_typical, np.ones, np.zeros, lambda shape: np.full(shape, 0.5))
"""Arguments to try where there is no example, for the shapes of the results."""


def _made_up(array: Any, make: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
    """Integers are zeros always: LAPACK writes where wrong pivots say."""
    shape, dtype = array.shape[1:], array.dtype
    return np.broadcast_to(make(shape) if dtype.kind in "fc" else 0, shape).astype(dtype)[()]


def _of_none(name: str, call: Callable[[Callable[[Any], Any]], Any]) -> Any:
    """The result of an example that is made up.

    Raises:
        ConcretizationError: the function takes none of those.
    """
    failure: Exception | None = None
    for make in _MADE_UP:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return call(functools.partial(_made_up, make=make))
        except (ArithmeticError, RuntimeError, ValueError, np.linalg.LinAlgError) as error:
            failure = error
    raise ConcretizationError(f"{name} of no example: what the shapes of its results are could not be found out") from failure


def _joined(name: str, results: Sequence[Any], scope: Scope, needed: dict[str, str]) -> Any:
    """The results of all examples as one."""
    first = results[0]
    if isinstance(first, dict) and type(first) is not dict:  # SciPy's results with named fields
        shared = [key for key in first if all(key in result for result in results)]
        fields = {key: _field(f"{name}.{key}", [one[key] for one in results], scope, needed.get(key)) for key in shared}
        found = copy.copy(first)
        found.clear()
        found.update(fields)
        return found
    treedef = tree.structure(first)
    if treedef != tree.LEAF:
        columns = zip(*(treedef.flatten_up_to(result) for result in results), strict=True)
        return tree.unflatten(treedef, [_joined(name, column, scope, needed) for column in columns])
    if all(isinstance(one, str) for one in results):
        return list(results)[: scope.size]
    for one in results:
        if not _is_of_numbers(one):
            raise ConcretizationError(f"{name} gives a {type(one).__name__} for each example, which cannot be mapped: call it in a loop")
    return joined(name, results, scope)


def _is_of_numbers(value: Any) -> bool:
    return type(value) in TRACERS or (is_numeric(value) and np.asarray(value).dtype.kind in "biufc")


def _field(name: str, values: Sequence[Any], scope: Scope, advice: str | None) -> Any:
    try:
        return _joined(name, values, scope, {})
    except (ConcretizationError, TreeError) as error:
        if advice is not None:
            raise ConcretizationError(f"{error}, or {advice}") from error
        return list(values)[: scope.size]


# ------------------------------------------------------------------------------------------------ stacks of matrices

_TAKES_STACKS = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 16)


def over_stacks(function: Function, *axes: int, shape: Function | None = None) -> Function:
    """A function of SciPy's on matrices and vectors, also of stacks of them where SciPy's own is not, and of stacks without any.

    Args:
        function: SciPy's, of plain arrays.
        *axes: how many axes each array has beside those of a stack; one of fewer is no stack.
        shape: of the shapes of one of each, that of the result; the last of them by default.

    Returns:
        The function; what it takes after the arrays is the same for all.

    Example:
        >>> import scipy.linalg
        >>> solve = over_stacks(lambda a, b: scipy.linalg.solve(a, b), 2, 2)
        >>> print(solve(np.stack([np.eye(2), 2.0 * np.eye(2)]), np.ones((2, 1)))[..., 0])
        [[1.  1. ]
         [0.5 0.5]]
    """

    def stacked(*args: Any) -> Any:
        arrays, how = args[: len(axes)], args[len(axes) :]
        if all(array.ndim <= count for array, count in zip(arrays, axes, strict=True)):
            return function(*args)
        cores = [array.shape[-min(count, array.ndim) :] for array, count in zip(arrays, axes, strict=True)]
        stack = np.broadcast_shapes(*(array.shape[: array.ndim - len(core)] for array, core in zip(arrays, cores, strict=True)))
        if 0 in stack:
            return np.zeros(stack + (shape(*cores) if shape else cores[-1]), np.result_type(*arrays, np.float32))
        if _TAKES_STACKS:
            return function(*args)
        rows = [np.broadcast_to(array, stack + core).reshape(-1, *core) for array, core in zip(arrays, cores, strict=True)]
        results = np.stack([function(*one, *how) for one in zip(*rows, strict=True)])
        return results.reshape(stack + results.shape[1:])

    return stacked


def stacking(operation: Function, *axes: int) -> BatchRule:
    """The batch rule of an operation on matrices and vectors that takes stacks of them: the axis of the examples is one more of the stack.

    `axes` are as for `over_stacks`; a vector as the last array is a column.
    """

    def batch(scope: Scope, *args: Any) -> Any:
        arrays, how = args[: len(axes)], args[len(axes) :]
        if mapping_of(*how) is not None:
            return NotImplemented
        is_vector = len(shape_of(arrays[-1])) < axes[-1]
        columns = [*arrays[:-1], np.expand_dims(arrays[-1], -1) if is_vector else arrays[-1]]
        stacks = [len(shape_of(array)) - count for array, count in zip(columns, axes, strict=True)]
        found = operation(*(_in_front(array, max(stacks) - own, scope) for array, own in zip(columns, stacks, strict=True)), *how)
        return Mapped(found[..., 0] if is_vector else found, scope)

    return batch


def _in_front(value: Any, more: int, scope: Scope) -> Any:
    """All examples of a mapped value, as many axes more behind theirs."""
    if not is_mapped(value, scope):
        return value
    size, *rest = shape_of(value._primal)
    return np.reshape(value._primal, (size, *(1,) * more, *rest)) if more else value._primal
