"""Products of second derivatives with a vector, beside `hvp`: with value and gradient, and of the Gauss-Newton matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.replay import end_keeping, open_keeping, outward
from funcgrad.tape import Label, cut_scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import Argnums, checked_argnums, checked_function, looks_like, named, positions
from funcgrad.transforms.derivatives import hvp
from funcgrad.transforms.recording import Kept, directions_of, pushed, record
from funcgrad.transforms.reverse import value_and_grad


def _split(name: str, args_and_v: tuple[Any, ...], numbers: tuple[int, ...], is_single: bool) -> tuple[list[Any], tuple[Any, ...]]:
    """The arguments, and the vector as a tuple with an entry for each that is differentiated.

    Raises:
        InputValueError, InputTypeError: the vector is missing, or is no tuple where it must be.
    """
    if len(args_and_v) < 2:
        raise InputValueError(f"{name} takes the function's arguments and then v, got {len(args_and_v)} arguments")
    *args, v = args_and_v
    if not is_single and not isinstance(v, (tuple, list)):
        raise InputTypeError(f"{name}: for argnums {numbers} the vector v must be a tuple of trees, got {type(v).__name__}")
    return args, (v,) if is_single else tuple(v)


_WHAT = "vector v (the last argument)"


def value_grad_and_hvp(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., tuple[Any, Any, Any]]:
    """The function that gives f's value, its gradient, and the product of its Hessian with a vector, from one recording.

    Args:
        f: function whose output is one real number.
        argnums: which positional arguments to differentiate, an integer or a tuple of them.

    Returns:
        `h(*args, v)`: f's arguments, then v, of the structure, shapes and dtypes of the argument (a tuple of such if `argnums` is a tuple).
        It returns `(value, gradient, product)`; gradient and product are of the form of v.

    Raises:
        InputTypeError: an argument that is no real number or array; an output that is not one real number.
        TreeError, InputValueError: v does not fit the argument, or is missing.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> value, gradient, product = value_grad_and_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        >>> print(value, gradient, product)
        9.0 [ 3. 12.] [  6. 120.]

    References:
        Pearlmutter 1994, "Fast exact multiplication by the Hessian".
    """
    checked_function(f, "value_grad_and_hvp")
    inner = value_and_grad(f, argnums)
    numbers, is_single = checked_argnums(argnums)
    name = f"value_grad_and_hvp of {named(f)}"
    label = Label(name)

    @looks_like(f, "Value, gradient and Hessian-vector product")
    def product(*args_and_v: Any, **kwargs: Any) -> Any:
        args, v = _split(name, args_and_v, numbers, is_single)
        places = positions(name, numbers, len(args))
        scope = open_keeping(label)
        try:
            (value, gradient), piece, leaves, treedefs = record(scope, inner, args, kwargs, places)
            directions = directions_of(name, v, treedefs, leaves, _WHAT)
            outputs, out_tree = tree.flatten(gradient)
            traced = [(n, one._index) for n, one in enumerate(outputs) if type(one) is Tracer and one._scope is scope]
            result = pushed(functools.partial(piece.forward, outputs=[index for _, index in traced]), directions, outputs, out_tree, traced)
            parent = piece.scope
            value, gradient = tree.map(lambda one: outward(one, scope, parent), (value, gradient))
            if parent is None and not any(type(one) is Tracer for one in directions):
                cut_scope(scope)
        finally:
            end_keeping(scope)
        return value, gradient, result

    del product.__wrapped__  # type: ignore[attr-defined]  # it takes one argument more than f
    return product


def gnvp(model: Callable[..., Any], loss: Callable[[Any], Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that gives the product of the Gauss-Newton matrix of loss(model(...)) with a vector, without the matrix.

    The matrix is J' H J, with J the Jacobian of the model and H the Hessian of the loss at the model's output: the Hessian of the whole
    without the second derivatives of the model. It is positive semidefinite where the loss is convex.

    Args:
        model: function of numbers, arrays and trees of them, with real outputs likewise.
        loss: function of the model's output whose output is one real number; what else it needs (targets) it closes over.
        argnums: which positional arguments of the model to differentiate, an integer or a tuple of them.

    Returns:
        `h(*args, v)`: the model's arguments, then v, of the structure, shapes and dtypes of the argument (a tuple of such if `argnums` is a
        tuple); the product is of the same form.

    Raises:
        InputTypeError: an argument or an output of the model that is no real number or array; an output of the loss that is not one.
        TreeError, InputValueError: v does not fit the argument, or is missing.
        NoRuleError: an operation of either that has no rule.
        ConcretizationError: either needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: either uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> times = np.array([0.0, 1.0])
        >>> model = lambda w: np.exp(w * times)
        >>> loss = lambda y: 0.5 * np.sum((y - 1.0) ** 2)
        >>> gnvp(model, loss)(0.0, 3.0)  # J is (0, 1), H the identity
        3.0

    References:
        Schraudolph 2002, "Fast curvature matrix-vector products for second-order gradient descent"; Martens 2010, "Deep learning via
        Hessian-free optimization".
    """
    checked_function(model, "gnvp")
    checked_function(loss, "gnvp")
    numbers, is_single = checked_argnums(argnums)
    name = f"gnvp of {named(model)} and {named(loss)}"
    curvature = hvp(loss)

    @looks_like(model, "Gauss-Newton-vector product")
    def product(*args_and_v: Any, **kwargs: Any) -> Any:
        args, v = _split(name, args_and_v, numbers, is_single)
        kept = Kept(name, model, args, kwargs, positions(name, numbers, len(args)))
        directions_of(name, v, kept.treedefs, kept.leaves, _WHAT)
        found = kept.pull(name, curvature(kept.value, kept.push(name, v)))
        return found[0] if is_single else tuple(found)

    del product.__wrapped__  # type: ignore[attr-defined]  # it takes one argument more than the model
    return product
