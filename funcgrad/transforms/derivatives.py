"""Derivatives made of reverse and forward mode: Jacobians, Hessians, their products, elementwise derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, TreeError
from funcgrad.replay import end_keeping, open_keeping
from funcgrad.rules.values import is_complex, raw, shape_of
from funcgrad.tape import Label, cut_scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import (
    Argnums,
    checked_argnums,
    checked_function,
    checked_holomorphic,
    looks_like,
    named,
    ones,
    positions,
    zeros,
)
from funcgrad.transforms.recording import Kept, directions_of, pushed, rebuilt, record
from funcgrad.transforms.reverse import grad


def _basis(leaves: Sequence[Any]) -> list[tuple[int, Any]]:
    """For each number in the leaves, (which leaf, that leaf's space with a 1 there and else zeros)."""
    result = []
    for n, value in enumerate(leaves):
        for k in range(int(np.prod(shape_of(value), dtype=int))):
            unit = np.asarray(zeros(value))
            unit.reshape(-1)[k] = 1
            result.append((n, unit if isinstance(raw(value), np.ndarray) else unit.item() if type(raw(value)) is float else unit[()]))
    return result


def _block(parts: list[Any], output: Any, primal: Any, by_rows: bool) -> Any:
    """One block of a Jacobian, output axes first, from its rows (each of the input's shape) or columns (each of the output's)."""
    shape = shape_of(output) + shape_of(primal)
    if not parts:
        return np.zeros(shape, (raw(output) if by_rows else raw(primal)).dtype)
    if not shape:
        return parts[0]
    stacked = np.stack(parts)
    return np.reshape(stacked if by_rows else np.moveaxis(stacked, 0, -1), shape)


def _jacobian(f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool, transform: str) -> Callable[..., Any]:
    checked_function(f, transform)
    numbers, is_single = checked_argnums(argnums)
    by_rows = transform == "jacrev"
    name = f"{transform} of {named(f)}"

    @looks_like(f, "Jacobian")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        places = positions(name, numbers, len(args))
        kept = Kept(name, f, args, kwargs, places, has_aux)
        seeded = kept.outputs if by_rows else kept.leaves
        if holomorphic:
            checked_holomorphic(name, "argument", kept.leaves)
            checked_holomorphic(name, "output", kept.outputs)
        elif any(is_complex(raw(one)) for one in seeded):
            raise InputTypeError(
                f"{name}: {'an output' if by_rows else 'an argument'} is complex, and there is no one Jacobian: use "
                f"{'jacfwd' if by_rows else 'jacrev'}, or holomorphic=True where f is holomorphic"
            )
        parts: dict[tuple[int, int], list[Any]] = {(n, m): [] for n in range(len(kept.outputs)) for m in range(len(kept.leaves))}
        for n, unit in _basis(seeded):
            seeds = [unit if m == n else zeros(one) for m, one in enumerate(seeded)]
            found = kept.pull(name, tree.unflatten(kept.out_tree, seeds)) if by_rows else kept.push(name, rebuilt(seeds, kept.treedefs))
            for m, one in enumerate(tree.leaves(found)):
                parts[(n, m) if by_rows else (m, n)].append(one)
        blocks = []
        for n, output in enumerate(kept.outputs):
            row = rebuilt([_block(parts[n, m], output, primal, by_rows) for m, primal in enumerate(kept.leaves)], kept.treedefs)
            blocks.append(row[0] if is_single else tuple(row))
        jacobian = tree.unflatten(kept.out_tree, blocks)
        return (jacobian, kept.aux) if has_aux else jacobian

    return jacobian_of


def jacrev(f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False) -> Callable[..., Any]:
    """The function that gives f's Jacobian by reverse mode: one recording, a pass for each number of the output.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        argnums: which positional arguments to differentiate, an integer or a tuple of them.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its outputs are complex.

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
    return _jacobian(f, argnums, has_aux, holomorphic, "jacrev")


def jacfwd(f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False) -> Callable[..., Any]:
    """The function that gives f's Jacobian by forward mode: one recording, a pass for each number of the input.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        argnums: which positional arguments to differentiate, an integer or a tuple of them.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its outputs are complex.

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
    return _jacobian(f, argnums, has_aux, holomorphic, "jacfwd")


def hessian(f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False) -> Callable[..., Any]:
    """The function that gives f's Hessian: forward mode over reverse.

    Args:
        f: function whose output is one real number (or a tree of arrays, whose axes then come first).
        argnums: which positional arguments to differentiate, an integer or a tuple of them.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its outputs are complex.

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
    inner = jacrev(f, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return looks_like(f, "Hessian")(jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic))


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
            result = pushed(piece, directions, outputs, out_tree, traced)
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
                where = f" at {path}" if path else ""
                raise InputValueError(
                    f"{name}: the output{where} has shape {shape_of(out)}, the argument {shape_of(inside)}: not elementwise, use jacrev"
                )
        if any(is_complex(raw(out)) and not is_complex(raw(inside)) for out, inside in zip(kept.outputs, kept.leaves, strict=True)):
            raise InputTypeError(f"{name}: a complex output of a real argument: take its real and imaginary parts one by one, or use jvp")
        seeds = [np.ones_like(raw(one)) if shape_of(one) else ones(one) for one in kept.outputs]
        return kept.pull(name, tree.unflatten(kept.out_tree, seeds))[0]

    return derivative
