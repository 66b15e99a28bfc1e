"""Forward mode: `jvp` pushes tangents through the records as they come, `linearize` through kept ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.errors import InputTypeError, TreeError
from funcgrad.mapped import across
from funcgrad.replay import end_forward, new_leaves, open_forward, outward
from funcgrad.rules.values import raw
from funcgrad.tape import Label, cut_scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import checked_function, fitting, leaf, looks_like, named, settled
from funcgrad.transforms.recording import Kept, output_leaves, with_aux


def jvp(
    f: Callable[..., Any], primals: Sequence[Any] | None = None, tangents: Sequence[Any] | None = None, *, has_aux: bool = False
) -> Any:
    """f's output together with its directional derivative.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        primals: tuple of f's arguments.
        tangents: tuple of directions, of the structure, shapes and dtypes of the primals.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.

    Returns:
        `(value, tangent)` or `(value, tangent, aux)`; without primals and tangents the function of these two that returns it.

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        TreeError, InputValueError, InputTypeError: the tangents do not fit the primals.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> value, tangent = jvp(lambda x: x**3, (2.0,), (1.0,))
        >>> print(value, tangent)
        8.0 12.0
        >>> jvp(np.multiply)((2.0, 5.0), (1.0, 0.0))
        (10.0, 5.0)
    """
    checked_function(f, "jvp")
    if primals is not None and tangents is not None:
        return _pushed(f, primals, tangents, has_aux)
    if primals is not None or tangents is not None:
        raise InputTypeError("jvp takes primals and tangents together: jvp(f, primals, tangents) or jvp(f)(primals, tangents)")

    @looks_like(f, "Value and directional derivative")
    def derivative(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return _pushed(f, primals, tangents, has_aux)

    del derivative.__wrapped__  # type: ignore[attr-defined]  # its signature is not f's
    return derivative


def _pushed(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool) -> Any:
    name = f"jvp of {named(f)}"
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise InputTypeError(f"{name}: {what} must be a tuple with an entry for each argument, got {type(given).__name__}")
    if len(primals) != len(tangents):
        raise TreeError(f"{name}: {len(primals)} primals go with as many tangents, got {len(tangents)}")
    scope = open_forward(Label(name))
    given = []
    try:
        args = []
        for n, (primal, direction) in enumerate(zip(primals, tangents, strict=True)):
            leaves, treedef = tree.flatten(primal)
            leaves = [leaf(across(scope, value), name, n, primal) for value in leaves]
            directions = fitting(name, f"tangent of argument {n}", direction, treedef, leaves)
            given += directions
            tracers = new_leaves(scope, leaves)
            scope.tangents.update((one._index, tangent) for one, tangent in zip(tracers, directions, strict=True))
            args.append(tree.unflatten(treedef, tracers))
        output = f(*args)
        output, aux = with_aux(name, output) if has_aux else (output, None)
        found, out_tree = output_leaves(name, output)
        pushed = [scope.tangents.get(one._index) if type(one) is Tracer and one._scope is scope else None for one in found]
    finally:
        parent = end_forward(scope, given)
    if parent is None:
        pushed = [raw(one) if type(one) is Tracer and one._scope.mapping is scope.mapping else one for one in pushed]
    value = tree.unflatten(out_tree, [outward(one, scope, parent) for one in found])
    tangent = tree.unflatten(out_tree, settled(pushed, found, given))
    aux = tree.map(lambda one: outward(one, scope, parent), aux) if has_aux else None
    if parent is None:
        cut_scope(scope)
    return (value, tangent, aux) if has_aux else (value, tangent)


def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """f's output, and its derivative at this point as a linear function.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        *primals: f's arguments; all are differentiated.
        has_aux: f returns `(output, aux)`; aux is passed through as plain values.

    Returns:
        `(value, f_jvp)` or `(value, f_jvp, aux)`. `f_jvp(*tangents)` replays the records without running f again, any number of times;
        while it lives, the arrays that it needs are read-only.

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        TreeError, InputValueError, InputTypeError: from f_jvp, if the tangents do not fit the primals.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> import numpy as np
        >>> value, f_jvp = linearize(lambda x, y: x * y, 2.0, 5.0)
        >>> value, f_jvp(1.0, 0.0), f_jvp(0.0, 1.0)
        (10.0, 5.0, 2.0)
    """
    checked_function(f, "linearize")
    kept = Kept(f"linearize of {named(f)}", f, primals, has_aux=has_aux)
    name = f"f_jvp of {named(f)}"

    def f_jvp(*tangents: Any) -> Any:
        """Directional derivative at the point of linearization."""
        return kept.push(name, tangents)

    return (kept.value, f_jvp, kept.aux) if has_aux else (kept.value, f_jvp)
