"""Derivatives made of reverse and forward mode: Jacobians, Hessians, their products, elementwise derivatives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, TreeError
from funcgrad.mapped import Mapped, is_mapped, mapping_scope
from funcgrad.replay import end_keeping, open_keeping
from funcgrad.rules.values import is_complex, raw, shape_of
from funcgrad.tape import Label, cut_scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import (
    Argnums,
    at,
    checked_argnums,
    checked_function,
    checked_holomorphic,
    looks_like,
    named,
    ones,
    positions,
    settled,
    zeros,
)
from funcgrad.transforms.recording import Kept, directions_of, pushed, rebuilt, record
from funcgrad.transforms.reverse import grad


def _checked_chunk(chunk_size: int | None) -> int | None:
    if chunk_size is None:
        return None
    if isinstance(chunk_size, bool) or not isinstance(chunk_size, (int, np.integer)):
        raise InputTypeError(f"chunk_size must be an integer or None, got {chunk_size!r}")
    if chunk_size < 1:
        raise InputValueError(f"chunk_size must be at least 1, got {chunk_size}")
    return int(chunk_size)


class _Basis:
    """The unit vectors of the space of some leaves, all numbers of all leaves in a row, a part of them at a time."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.leaves = leaves
        self.ends = np.cumsum([0, *(math.prod(shape_of(one)) for one in leaves)]).tolist()

    @property
    def size(self) -> int:
        """How many there are."""
        return self.ends[-1]  # type: ignore[no-any-return]

    def units(self, start: int, stop: int) -> list[np.ndarray | None]:
        """For each leaf what the vectors `start` to `stop` have there, one behind the other; None where all have zeros."""
        found: list[np.ndarray | None] = []
        for leaf, first, last in zip(self.leaves, self.ends, self.ends[1:], strict=False):
            own = np.arange(max(start, first), min(stop, last))
            if not own.size:
                found.append(None)
                continue
            unit = np.zeros((stop - start, last - first), np.asarray(zeros(leaf)).dtype)
            unit[own - start, own - first] = 1
            found.append(unit.reshape(stop - start, *shape_of(leaf)))
        return found


def _replayed(label: Label, basis: _Basis, replay: Callable[[list[Any]], list[Any]], start: int, stop: int) -> list[Any]:
    """What a linear replay makes of some unit vectors: for each of its results the results for all of them, one behind the other."""
    units = basis.units(start, stop)
    if stop - start == 1:
        seeds = [zeros(leaf) if unit is None else settled([unit[0]], [leaf])[0] for unit, leaf in zip(units, basis.leaves, strict=True)]
        return [np.reshape(one, (1, *shape_of(one))) for one in replay(seeds)]
    with mapping_scope(label, stop - start) as scope:
        seeds = [zeros(leaf) if unit is None else Mapped(unit, scope) for unit, leaf in zip(units, basis.leaves, strict=True)]
        return [one._primal if is_mapped(one, scope) else np.broadcast_to(one, (scope.size, *shape_of(one))) for one in replay(seeds)]


def _block(rows: Any, output: Any, primal: Any, by_rows: bool) -> Any:
    """One block of a Jacobian, output axes first, from its rows (each of the input's shape) or columns (each of the output's)."""
    shape = shape_of(output) + shape_of(primal)
    if not shape:
        return settled([rows[0]], [primal if by_rows else output])[0]
    block = np.reshape(rows if by_rows else np.moveaxis(rows, 0, -1), shape)
    return np.array(block) if type(block) is np.ndarray else block


def _jacobian(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool, chunk_size: int | None, transform: str
) -> Callable[..., Any]:
    checked_function(f, transform)
    numbers, is_single = checked_argnums(argnums)
    most = _checked_chunk(chunk_size)
    name = f"{transform} of {named(f)}"
    label = Label(name)

    @looks_like(f, "Jacobian")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        places = positions(name, numbers, len(args))
        kept = Kept(name, f, args, kwargs, places, has_aux)
        outputs, leaves = _Basis(kept.outputs), _Basis(kept.leaves)
        by_rows = transform == "jacrev" or (transform == "jacobian" and outputs.size <= leaves.size)
        if holomorphic:
            checked_holomorphic(name, "argument", kept.leaves)
            checked_holomorphic(name, "output", kept.outputs)
        elif any(is_complex(raw(one)) for one in (kept.outputs if by_rows else kept.leaves)):
            raise InputTypeError(
                f"{name}: {'an output' if by_rows else 'an argument'} is complex, and there is no one Jacobian: use "
                f"{'jacfwd' if by_rows else 'jacrev'}, or holomorphic=True where f is holomorphic"
            )

        def replay(seeds: list[Any]) -> list[Any]:
            if by_rows:
                return tree.leaves(kept.pull(name, tree.unflatten(kept.out_tree, seeds)))
            return tree.leaves(kept.push(name, rebuilt(seeds, kept.treedefs)))

        basis, others = (outputs, kept.leaves) if by_rows else (leaves, kept.outputs)
        step = most or basis.size or 1
        chunks = [_replayed(label, basis, replay, k, min(k + step, basis.size)) for k in range(0, basis.size, step)]
        if not chunks:
            chunks = [[np.zeros((0, *shape_of(one)), np.asarray(zeros(one)).dtype) for one in others]]
        columns = [found[0] if len(found) == 1 else np.concatenate(found) for found in zip(*chunks, strict=True)]
        blocks = []
        for n, output in enumerate(kept.outputs):
            row = []
            for m, primal in enumerate(kept.leaves):
                k, found = (n, columns[m]) if by_rows else (m, columns[n])
                part = found if len(basis.leaves) == 1 else found[basis.ends[k] : basis.ends[k + 1]]
                row.append(_block(part, output, primal, by_rows))
            trees = rebuilt(row, kept.treedefs)
            blocks.append(trees[0] if is_single else tuple(trees))
        result = tree.unflatten(kept.out_tree, blocks)
        return (result, kept.aux) if has_aux else result

    return jacobian_of


def jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that gives f's Jacobian, by forward or by reverse mode: whichever takes fewer directions.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        argnums: which positional arguments to differentiate, an integer or a tuple of them.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its outputs are complex.
        chunk_size: how many directions go through f's records at once; None for all of them. Memory grows with it.

    Returns:
        As of `jacrev`.

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array, or is complex without `holomorphic`.
        InputValueError: `argnums` out of range, `chunk_size` below 1.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> print(jacobian(lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) @ x)(np.ones(2)))
        [[1. 2.]
         [3. 4.]]
    """
    return _jacobian(f, argnums, has_aux, holomorphic, chunk_size, "jacobian")


def jacrev(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that gives f's Jacobian by reverse mode: one recording, and one pass for all numbers of the output at once.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        argnums: which positional arguments to differentiate, an integer or a tuple of them.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its outputs are complex.
        chunk_size: how many directions go through f's records at once; None for all of them. Memory grows with it.

    Returns:
        A function with f's arguments that returns the output's tree, at each leaf the argument's tree, of arrays of shape
        `output.shape + input.shape` (and `(jacobian, aux)` with has_aux).

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        InputValueError: `argnums` out of range.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> print(jacrev(lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) @ x)(np.ones(2)))
        [[1. 2.]
         [3. 4.]]
    """
    return _jacobian(f, argnums, has_aux, holomorphic, chunk_size, "jacrev")


def jacfwd(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that gives f's Jacobian by forward mode: one recording, and one pass for all numbers of the input at once.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        argnums: which positional arguments to differentiate, an integer or a tuple of them.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its outputs are complex.
        chunk_size: how many directions go through f's records at once; None for all of them. Memory grows with it.

    Returns:
        As of `jacrev`.

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        InputValueError: `argnums` out of range.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> print(jacfwd(lambda x: x**2)(np.array([1.0, 3.0])))
        [[2. 0.]
         [0. 6.]]
    """
    return _jacobian(f, argnums, has_aux, holomorphic, chunk_size, "jacfwd")


def hessian(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that gives f's Hessian: forward mode over reverse.

    Args:
        f: function whose output is one real number (or a tree of arrays, whose axes then come first).
        argnums: which positional arguments to differentiate, an integer or a tuple of them.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its outputs are complex.
        chunk_size: how many directions go through f's records at once; None for all of them. Memory grows with it.

    Returns:
        A function with f's arguments that returns, for each pair of leaves of the arguments, the second derivatives, shape
        `output.shape + first.shape + second.shape` (and `(hessian, aux)` with has_aux).

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        InputValueError: `argnums` out of range.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> print(hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0])))
        [[10.  6.]
         [ 6.  0.]]
    """
    checked_function(f, "hessian")
    inner = jacrev(f, argnums, has_aux=has_aux, holomorphic=holomorphic, chunk_size=chunk_size)
    return looks_like(f, "Hessian")(jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic, chunk_size=chunk_size))


def hvp(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that gives the product of f's Hessian with a vector, without the Hessian: forward mode over reverse.

    Args:
        f: function whose output is one real number.
        argnums: which positional arguments to differentiate, an integer or a tuple of them.

    Returns:
        `h(*args, v)`: f's arguments, then v, of the structure, shapes and dtypes of the argument (a tuple of such if `argnums` is a tuple);
        the product is of the same form.

    Raises:
        InputTypeError: an argument that is no real number or array; an output that is not one real number.
        TreeError, InputValueError: v does not fit the argument, or is missing.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> print(hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 10.0])))
        [  6. 120.]
    """
    checked_function(f, "hvp")
    gradient = grad(f, argnums)
    numbers, is_single = checked_argnums(argnums)
    name = f"hvp of {named(f)}"
    label = Label(name)

    @looks_like(f, "Hessian-vector product")
    def product(*args_and_v: Any, **kwargs: Any) -> Any:
        if len(args_and_v) < 2:
            raise InputValueError(f"{name} takes the function's arguments and then v, got {len(args_and_v)} arguments")
        *args, v = args_and_v
        if not is_single and not isinstance(v, (tuple, list)):
            raise InputTypeError(f"{name}: for argnums {numbers} the vector v must be a tuple of trees, got {type(v).__name__}")
        # As linearize(gradient, ...)(v), not jvp: the gradient keeps its records anyway. And nothing is kept beyond this call.
        places = positions(name, numbers, len(args))
        scope = open_keeping(label)
        try:
            output, piece, leaves, treedefs = record(scope, gradient, args, kwargs, places)
            directions = directions_of(name, (v,) if is_single else tuple(v), treedefs, leaves, "vector v (the last argument)")
            outputs, out_tree = tree.flatten(output)
            traced = [(n, one._index) for n, one in enumerate(outputs) if type(one) is Tracer and one._scope is scope]
            result = pushed(functools.partial(piece.forward, outputs=[index for _, index in traced]), directions, outputs, out_tree, traced)
            if piece.scope is None and not any(type(one) is Tracer for one in directions):
                cut_scope(scope)
        finally:
            end_keeping(scope)
        return result

    del product.__wrapped__  # type: ignore[attr-defined]  # it takes one argument more than f
    return product


def elementwise_grad(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The function that gives the derivative of an elementwise f at each element.

    Args:
        f: function whose output has the shape of the argument, each element of it depending on that element alone.
        argnums: which positional argument to differentiate.

    Returns:
        A function with f's arguments; its result has the shape of the argument.

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        TreeError, InputValueError: the output is not of the argument's structure or shape.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> print(elementwise_grad(np.square)(np.array([1.0, 2.0, 5.0])))
        [ 2.  4. 10.]
    """
    checked_function(f, "elementwise_grad")
    numbers, is_single = checked_argnums(argnums)
    if not is_single:
        raise InputTypeError(f"elementwise_grad differentiates one argument: argnums must be an integer, got {argnums!r}")
    name = f"elementwise_grad of {named(f)}"

    @looks_like(f, "Elementwise derivative")
    def derivative(*args: Any, **kwargs: Any) -> Any:
        places = positions(name, numbers, len(args))
        kept = Kept(name, f, args, kwargs, places)
        chosen = args[places[0]]
        if tree.structure(kept.value) != tree.structure(chosen):
            wanted, got = tree.structure(chosen), tree.structure(kept.value)
            raise TreeError(f"{name}: the output must have the argument's structure, {wanted}, got {got}")
        for (path, _), out, inside in zip(tree.flatten_with_path(kept.value)[0], kept.outputs, kept.leaves, strict=True):
            if shape_of(out) != shape_of(inside):
                raise InputValueError(
                    f"{name}: the output{at(path)} has shape {shape_of(out)}, the argument {shape_of(inside)}: not elementwise, use jacrev"
                )
        if any(is_complex(raw(out)) and not is_complex(raw(inside)) for out, inside in zip(kept.outputs, kept.leaves, strict=True)):
            raise InputTypeError(f"{name}: a complex output of a real argument: take its real and imaginary parts one by one, or use jvp")
        seeds = [np.ones_like(raw(one)) if shape_of(one) else ones(one) for one in kept.outputs]
        return kept.pull(name, tree.unflatten(kept.out_tree, seeds))[0]

    return derivative
