"""Reverse mode: `vjp`, `grad`, `value_and_grad` replay the slice backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError
from funcgrad.replay import end_keeping, is_large, open_keeping, outward
from funcgrad.rules.values import is_array, is_complex, raw, shape_of
from funcgrad.tape import Label, cut_scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import (
    Argnums,
    checked_argnums,
    checked_function,
    checked_holomorphic,
    kind_of,
    looks_like,
    named,
    ones,
    positions,
    settled,
)
from funcgrad.transforms.recording import Kept, rebuilt, record, with_aux

P = ParamSpec("P")


def _checked_scalar(name: str, output: Any, leaves: list[Any], holomorphic: bool) -> None:
    value = raw(output)
    if (type(value) is np.float64 or type(value) is float) and not holomorphic:
        return
    shape = shape_of(output)
    is_number = shape == () and (is_array(value) or type(value) is complex)
    if holomorphic:
        checked_holomorphic(name, "argument", leaves)
        if is_number:
            checked_holomorphic(name, "output", [value])
            return
    if (is_number and not is_complex(value) and value.dtype.kind == "f") or type(value) is int:
        return
    if is_number and is_complex(value):
        raise InputTypeError(
            f"{name} needs a real output, got {kind_of(value)}: take np.abs, np.real or np.imag of it; holomorphic=True gives the complex "
            "derivative of a holomorphic function, vjp and jvp work for any"
        )
    got = f"shape {shape} and dtype {value.dtype}" if is_array(value) else f"a {type(value).__name__} ({tree.structure(value)})"
    raise InputTypeError(
        f"{name} needs a function whose output is one real number, got {got}: reduce it (np.sum, np.mean), or use jacrev for all its "
        "derivatives, vjp for a weighted sum of them, elementwise_grad where each output depends on one input"
        + ("; has_aux=True lets f return (output, aux)" if type(value) is tuple else "")
    )


def value_and_grad(
    f: Callable[P, Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, tuple[Any, Any]]:
    """The function that gives f's value together with its gradient.

    Args:
        f: function of numbers, arrays and trees of them; its output is one real number, shape ().
        argnums: which positional arguments to differentiate, an integer or a tuple of them; negative ones count from the end.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its output one complex number.

    Returns:
        A function with f's arguments that returns `(value, gradient)`, or `((value, aux), gradient)`. The gradient has the structure,
        shapes and dtypes of the argument (a tuple of such if `argnums` is a tuple), in fresh arrays; zeros for what f does not use. Keyword
        arguments are passed on undifferentiated. At a complex z = x + iy the gradient is df/dx - i df/dy, as in JAX; of a
        holomorphic function it is the complex derivative.

    Raises:
        InputTypeError: an argument that is no floating-point number or array; an output that is not one real number.
        InputValueError: `argnums` out of range.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> loss = lambda w: np.sum(w * w)
        >>> value, gradient = value_and_grad(loss)(np.array([1.0, -2.0]))
        >>> print(value, gradient)
        5.0 [ 2. -4.]
    """
    return _gradient_of(f, argnums, has_aux, holomorphic, "value_and_grad", lambda value, gradient: (value, gradient))


def grad(f: Callable[P, Any], argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False) -> Callable[P, Any]:
    """The function that gives f's gradient.

    Args:
        f: function of numbers, arrays and trees of them; its output is one real number, shape ().
        argnums: which positional arguments to differentiate, an integer or a tuple of them; negative ones count from the end.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.
        holomorphic: f is a holomorphic function of complex arguments, and its output one complex number.

    Returns:
        A function with f's arguments that returns the gradient, or `(gradient, aux)`. It has the structure, shapes and dtypes of the
        argument (a tuple of such if `argnums` is a tuple), in fresh arrays; zeros for what f does not use. Keyword arguments are passed on
        undifferentiated. At a complex z = x + iy it is df/dx - i df/dy, as in JAX; of a holomorphic function it is the complex derivative.

    Raises:
        InputTypeError: an argument that is no floating-point number or array; an output that is not one real number.
        InputValueError: `argnums` out of range.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> grad(lambda x: 3 * x**2 - 4 * x + 5)(3.0)
        14.0
        >>> print(grad(lambda params: np.sum(params["w"]) * params["b"])({"w": np.ones(2), "b": 3.0}))
        {'b': 2.0, 'w': array([3., 3.])}
        >>> bool(grad(grad(np.sin))(0.5) == -np.sin(0.5))
        True
    """
    pick = (lambda value, gradient: (gradient, value[1])) if has_aux else (lambda value, gradient: gradient)
    return _gradient_of(f, argnums, has_aux, holomorphic, "grad", pick)


def _gradient_of(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool, transform: str, pick: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    checked_function(f, transform)
    numbers, is_single = checked_argnums(argnums)
    name = f"{transform} of {named(f)}"
    label = Label(name)

    @looks_like(f, "Gradient" if transform == "grad" else "Value and gradient")
    def gradient_of(*args: Any, **kwargs: Any) -> Any:
        places = positions(name, numbers, len(args))
        scope = open_keeping(label)
        try:
            output, piece, leaves, treedefs = record(scope, f, list(args), kwargs, places)
            aux = None
            if has_aux:
                output, aux = with_aux(name, output)
            _checked_scalar(name, output, leaves, holomorphic)
            parent = piece.scope
            if type(output) is Tracer and output._scope is scope:
                seed = ones(output)
                found = piece.backward([(output._index, seed)], scope.parent is None and is_large(leaves))
            else:
                found = [None] * len(leaves)
            gradients = rebuilt(settled(found, leaves), treedefs)
            value = outward(output, scope, parent)
            if has_aux:
                value = (value, tree.map(lambda one: outward(one, scope, parent), aux))
            if parent is None:
                cut_scope(scope)
        finally:
            end_keeping(scope)
        return pick(value, gradients[0] if is_single else tuple(gradients))

    return gradient_of


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """f's output, and the function that pulls cotangents of it back to cotangents of the inputs.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        *primals: f's arguments; all are differentiated.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.

    Returns:
        `(output, pullback)` or `(output, pullback, aux)`. `pullback(ct)`, with ct of the structure, shapes and dtypes of the output,
        returns a tuple with a cotangent for each argument. It may be called any number of times, also inside other transforms; while it
        lives, the arrays that it needs are read-only.

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        TreeError, InputValueError, InputTypeError: from the pullback, if the cotangent does not fit the output.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> y, pullback = vjp(np.multiply, np.array([1.0, 2.0]), 3.0)
        >>> pullback(np.array([1.0, 10.0]))
        (array([ 3., 30.]), 21.0)
    """
    checked_function(f, "vjp")
    kept = Kept(f"vjp of {named(f)}", f, primals, has_aux=has_aux)
    name = f"pullback of {named(f)}"

    def pullback(ct: Any) -> tuple[Any, ...]:
        """Cotangents of the arguments for a cotangent of the output."""
        return tuple(kept.pull(name, ct))

    return (kept.value, pullback, kept.aux) if has_aux else (kept.value, pullback)
