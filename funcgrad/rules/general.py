"""The kinds of primitives that are given by a jvp and a vjp for each argument: `general`, and `products`, which keep exact zeros zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.primitive import Operation, declare
from funcgrad.rules.batching import BatchRule
from funcgrad.rules.nary import Directional, parts_of, recorded, rule_of
from funcgrad.rules.values import keep_zeros, raw


def general(
    function: Any,
    jvps: Sequence[Directional],
    vjps: Sequence[Directional],
    keeps: str = "x ans",
    name: str | None = None,
    strong: tuple[Sequence[Directional], Sequence[Directional]] | None = None,
    batch: BatchRule | None = None,
) -> Operation:
    """Define a primitive by a jvp and a vjp for each array argument.

    Args:
        function: gives the value.
        jvps: `(t, ans, *operands, *static, **options)` -> the part of the answer's tangent that is due to that argument.
        vjps: `(ct, ans, *operands, *static, **options)` -> the cotangent of that argument.
        keeps: what the rules use the values of: "x" (the operands), "ans" (the answer; None otherwise), or both.
        name: the primitive's, if not the function's.
        strong: jvps and vjps that keep exact zeros zero whatever they are multiplied with; without them only a tangent or cotangent of
            nothing but zeros stays zero.
        batch: how it takes mapped values (`funcgrad.rules.batching`); without it they are gone through one by one, in its rules too.

    Returns:
        The operation.

    Raises:
        InputValueError: another module has a primitive of that name.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> shares = [lambda t, ans, x, y: t * np.exp(x - ans), lambda t, ans, x, y: t * np.exp(y - ans)]
        >>> logaddexp = general(np.logaddexp, jvps=shares, vjps=shares)  # of operands of one shape: nothing is summed back
        >>> gradient = grad(lambda x, y: np.sum(logaddexp(x, y)))(np.zeros(2), np.array([0.0, np.log(3.0)]))
        >>> print(gradient.round(9))
        [0.5  0.25]
    """
    name = name or function.__name__
    sees_mapped = batch is not None
    push, pull = parts_of(jvps, vjps)
    rule = rule_of(name, push, pull, sees_mapped)
    push, pull = (_as_a_whole(push), _as_a_whole(pull)) if strong is None else parts_of(*strong)
    rule.strong = rule_of(name, push, pull, sees_mapped)
    kept = keeps.split()
    operation = recorded(name, function, rule, len(jvps), lambda n, traced: "x" in kept, "ans" in kept, batch)
    declare(name, "general", function)
    return operation


def _as_a_whole(part: Directional) -> Directional:
    """A part that makes no NaN of nothing but zeros."""

    def strong(n: int, t: Any, *given: Any) -> Any:
        return keep_zeros(np.any(raw(t)), part(n, t, *given))

    return strong


def products(
    function: Any,
    rules: Callable[[Any], tuple[Sequence[Directional], Sequence[Directional]]],
    keeps: str = "x ans",
    name: str | None = None,
    batch: BatchRule | None = None,
) -> Operation:
    """Define a `general` primitive whose rules are products: zero where the tangent or cotangent is, whatever the factor.

    Args:
        function: gives the value.
        rules: `rules(times)` gives the jvps and the vjps, as for `general`, written with `times(t, factor)` for such products.
        keeps: as for `general`.
        name: the primitive's, if not the function's.
        batch: as for `general`.

    Returns:
        The operation.

    Raises:
        InputValueError: another module has a primitive of that name.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> def rules(times):
        ...     return [lambda t, ans, x: times(t, 1.0 / x)], [lambda ct, ans, x: times(ct, 1.0 / x)]
        >>> grad(products(lambda x: np.log(x), rules, keeps="x", name="ln"))(np.array(4.0))
        array(0.25)
    """
    return general(function, *rules(lambda t, factor: factor * t), keeps, name, rules(lambda t, factor: keep_zeros(t, factor * t)), batch)
