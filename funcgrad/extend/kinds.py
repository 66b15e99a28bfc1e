"""The kinds of `funcgrad.rules` for primitives of the user's, with everything that they are given checked: all but the elementwise ones.

Owns what the kinds ask for, said for readers who do not know the sources. Keywords that are not named here go to the kind as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import rules
from funcgrad.errors import InputValueError
from funcgrad.extend.checks import Definition, is_stretched
from funcgrad.extend.derived import Rule
from funcgrad.extend.registry import checked_callable
from funcgrad.primitive import Operation
from funcgrad.rules.values import shape_of
from funcgrad.rules.values import unbroadcast as _summed
from funcgrad.transforms.arguments import settled
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.reverse import vjp

# ------------------------------------------------------------------------------------------------ linear


def linear(function: Callable[..., Any], transpose: Rule | None, name: str | None = None, **options: Any) -> Operation:
    """Define a primitive that is linear in its first argument; all its other arguments are constants.

    Args:
        function: gives the value, `(x, *static, **keywords)`; tangents are pushed through it too.
        transpose: `(ct, shape of x, *static, **keywords)` -> the cotangent of x; None if forward mode is all that is wanted.
        name: the primitive's, if not the function's.
        **options: for the kind `funcgrad.rules.linear`.

    Returns:
        The operation.

    Raises:
        InputTypeError: an argument is no function; later, what a function returned.
        InputValueError: there is no name, or it is another primitive's; later, a shape.
        NoRuleError: later, in reverse mode without a transpose; or if another argument than the first is traced.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> def every(x, step):
        ...     return x[::step]
        >>> def spread(ct, shape, step):
        ...     return np.reshape(np.outer(ct, np.eye(step)[0]), shape)  # for lengths that step divides
        >>> every = extend.linear(every, spread, name="example.every")
        >>> print(grad(lambda x: np.sum(every(x, 2) ** 2))(np.arange(4.0)))
        [0. 0. 4. 0.]
    """
    made = Definition("linear", function, name, options)
    value = made.value()
    return made.finished(rules.linear(value, made.transpose(transpose), name=made.name, **options), value)


def multilinear(function: Callable[..., Any], *transposes: Rule | None, name: str | None = None, **options: Any) -> Operation:
    """Define a primitive that is linear in each of its array arguments: a product.

    Args:
        function: gives the value, `(*operands, *static, **keywords)`; it is also called with an operand replaced by its tangent.
        *transposes: for each operand `(ct, *operands, *static, **keywords)` -> its cotangent; None if forward mode is all that is wanted
            in that argument. Of that operand itself use shape and dtype only. Arguments after these are constants.
        name: the primitive's, if not the function's.
        **options: for the kind `funcgrad.rules.multilinear`.

    Returns:
        The operation.

    Raises:
        InputTypeError: an argument is no function; later, what a function returned.
        InputValueError: there is no name, or it is another primitive's; later, a shape.
        NoRuleError: later, in reverse mode without a transpose; or if an argument that is a constant is traced.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> scaled = extend.multilinear(
        ...     lambda a, x: a * x, lambda ct, a, x: np.sum(ct * x), lambda ct, a, x: a * ct, name="example.scaled"
        ... )
        >>> grad(lambda a, x: np.sum(scaled(a, x)), argnums=(0, 1))(2.0, np.array([1.0, 3.0]))
        (4.0, array([2., 2.]))
    """
    made = Definition("multilinear", function, name, options)
    value = made.value()
    checked = [made.transpose(transpose, n) for n, transpose in enumerate(transposes)]
    return made.finished(rules.multilinear(value, *checked, name=made.name, **options), value)


# ------------------------------------------------------------------------------------------------ general


def general(
    function: Callable[..., Any],
    jvps: Sequence[Rule | None] | None = None,
    vjps: Sequence[Rule | None] | None = None,
    keeps: str = "x ans",
    name: str | None = None,
    **options: Any,
) -> Operation:
    """Define a primitive by a jvp, a vjp, or both, for each array argument.

    The direction that is left out is the transpose of the other, where that is made of differentiable operations. Both are faster, and
    needed where a rule calls the primitive itself on the tangent or the cotangent.

    Args:
        function: gives the value, `(*operands, *static, **keywords)`: any code, one array or number.
        jvps: for each operand `(t, ans, *operands, *static, **keywords)` -> the part of the answer's tangent that its tangent t makes;
            None, for one or for all, if it is to follow from the vjp.
        vjps: for each operand `(ct, ans, *operands, *static, **keywords)` -> its cotangent, of its own shape; None likewise.
        keeps: what the rules use the values of: "x" (the operands), "ans" (the answer; None otherwise) or "x ans".
        name: the primitive's, if not the function's.
        **options: for the kind `funcgrad.rules.general`.

    Returns:
        The operation. Arguments after the operands, and keywords, are constants, and may be anything.

    Raises:
        InputTypeError: a rule is no function; later, what a function returned.
        InputValueError: an argument has neither rule; there is no name, or it is another primitive's; later, a shape.
        NoRuleError: later, if a rule that was left out cannot be derived, or if an argument that is a constant is traced.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> def dinv(t, ans, a):
        ...     return -ans @ t @ ans
        >>> inverse = extend.general(lambda a: np.linalg.inv(a), jvps=[dinv], keeps="ans", name="example.inverse")
        >>> grad(lambda a: np.trace(inverse(a)))(np.diag([1.0, 2.0]))
        array([[-1.  ,  0.  ],
               [ 0.  , -0.25]])
    """
    made = Definition("general", function, name, options)
    value = made.value()
    return made.finished(rules.general(value, *made.both(jvps, vjps), made.kept(keeps), name=made.name, **options), value)


def products(
    function: Callable[..., Any],
    rules_of: Callable[[Callable[..., Any]], tuple[Sequence[Rule | None] | None, Sequence[Rule | None] | None]],
    keeps: str = "x ans",
    name: str | None = None,
    **options: Any,
) -> Operation:
    """Define a `general` primitive with derivatives that may be infinite, where an exact zero must stay one.

    In `np.where(x > 0, f(x), 0.0)` the cotangent of f is exactly 0 where x is not positive; a derivative that is infinite there must not
    make NaN of it. The elementwise and linear kinds see to that themselves.

    Args:
        function: gives the value, as for `general`.
        rules_of: `rules_of(times)` -> the jvps and the vjps, as for `general`, in which `times(t, factor)` is to be written for the product
            of a tangent or cotangent with a derivative.
        keeps: as for `general`.
        name: the primitive's, if not the function's.
        **options: for the kind `funcgrad.rules.products`.

    Returns:
        The operation.

    Raises:
        InputTypeError: a rule is no function; later, what a function returned.
        InputValueError: an argument has neither rule; there is no name, or it is another primitive's; later, a shape.
        NoRuleError: later, if a rule that was left out cannot be derived, or if an argument that is a constant is traced.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> def rules_of(times):
        ...     return [lambda t, ans, x: times(t, 0.5 / ans)], [lambda ct, ans, x: times(ct, 0.5 / ans)]
        >>> root = extend.products(lambda x: np.sqrt(x), rules_of, name="example.root")
        >>> print(grad(lambda x: np.sum(np.where(x > 0.0, root(x), 0.0)))(np.array([0.0, 4.0])))
        [0.   0.25]
    """
    made = Definition("products", function, name, options)
    checked_callable(f"{made.name}: rules_of", rules_of)
    value = made.value()
    made.both(*rules_of(lambda t, factor: factor * t))  # for what is to be known before
    kept = made.kept(keeps)
    return made.finished(rules.products(value, lambda times: made.both(*rules_of(times)), kept, name=made.name, **options), value)


def composed(
    function: Callable[..., Any], composition: Callable[..., Any], arrays: int = 1, name: str | None = None, **options: Any
) -> Operation:
    """Define a primitive whose value a function gives, and whose derivatives those of a composition of differentiable operations are.

    Args:
        function: gives the value: a faster or more accurate one than the composition's.
        composition: the same function of the same arguments, in differentiable operations; equal to rounding.
        arrays: how many of the first arguments are operands; the others, and keywords, are constants.
        name: the primitive's, if not the function's.
        **options: for the kind `funcgrad.rules.general`.

    Returns:
        The operation, with derivatives of any order.

    Raises:
        InputTypeError: an argument is no function; later, what a function returned.
        InputValueError: there is no name, or it is another primitive's; later, a shape.
        NoRuleError: later, if an argument that is a constant is traced.

    Example:
        >>> import math
        >>> import numpy as np
        >>> from funcgrad import extend, grad
        >>> length = extend.composed(lambda x: math.hypot(*x), lambda x: np.sqrt(np.sum(x * x)), name="example.length")
        >>> print(grad(length)(np.array([3.0, 4.0])))
        [0.6 0.8]
    """
    made = Definition("composed", function, name, options)
    value = made.value()
    checked_callable(f"{made.name}: the composition", composition)

    def forth(n: int) -> Rule:
        def push(t: Any, ans: Any, *args: Any, **keywords: Any) -> Any:
            return jvp(made.composition(n, composition, ans, args, keywords), (args[n],), (settled([t], [args[n]])[0],))[1]

        return made.rule("jvp", n, push)

    def back(n: int) -> Rule:
        def pull(ct: Any, ans: Any, *args: Any, **keywords: Any) -> Any:
            output, pullback = vjp(made.composition(n, composition, ans, args, keywords), args[n])
            return pullback(settled([ct], [output])[0])[0]

        return made.rule("vjp", n, pull)

    places = range(arrays)
    return made.finished(rules.general(value, [forth(n) for n in places], [back(n) for n in places], name=made.name, **options), value)


# ------------------------------------------------------------------------------------------------ what else there is


def nondifferentiable(function: Callable[..., Any], name: str | None = None, **options: Any) -> Operation:
    """Declare that a function has nothing to differentiate: it sees plain values, and its result is a constant.

    Args:
        function: any function of anything, with any results.
        name: the primitive's, if not the function's.
        **options: for the kind `funcgrad.rules.nondifferentiable`.

    Returns:
        The operation: the function, which takes tracers too.

    Raises:
        InputTypeError: it is no function.
        InputValueError: there is no name, or it is another primitive's.

    Example:
        >>> from funcgrad import extend, grad
        >>> decimals = extend.nondifferentiable(lambda x: len(repr(float(x)).partition(".")[2]), name="example.decimals")
        >>> grad(lambda x: x * decimals(x))(0.125)
        3.0
    """
    made = Definition("nondifferentiable", function, name, options)
    value = made.as_it_is()
    return made.finished(rules.nondifferentiable(value, **options), value)


def unbroadcast(ct: Any, shape: tuple[int, ...]) -> Any:
    """Sum a cotangent over the axes along which an operand was stretched: for rules of operands that NumPy broadcasts.

    Args:
        ct: float array, of a shape that `shape` can be broadcast to.
        shape: the operand's.

    Returns:
        Array of that shape; ct itself if it has it.

    Raises:
        InputValueError: the shape cannot be broadcast to that of ct.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> ct = np.ones((2, 3))
        >>> print(extend.unbroadcast(ct, (3,)), extend.unbroadcast(ct, (2, 1)).tolist())
        [2. 2. 2.] [[3.0], [3.0]]
    """
    if not is_stretched(shape, shape_of(ct)):
        raise InputValueError(f"extend.unbroadcast: an operand of shape {shape} cannot be broadcast to {shape_of(ct)}, the cotangent's")
    return _summed(ct, shape)
