"""Sums of exponentials: logsumexp, softmax, log_softmax, with SciPy's values bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from funcgrad.mapped import TRACERS, Mapped, is_any, lined_up, mapping_of
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.elementwise import exp, where
from funcgrad.ops.reductions import expand
from funcgrad.ops.scipy.examples import is_differentiated
from funcgrad.ops.scipy.special.kinds import no_rule
from funcgrad.ops.structural import normalized_axes, shifted
from funcgrad.primitive import Operation
from funcgrad.rules import general, products
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import is_complex, raw, shape_of, unbroadcast
from funcgrad.staged import Staged
from funcgrad.tape import Scope
from funcgrad.tracer import innermost_of

# ------------------------------------------------------------------------------------------------ logsumexp

# The derivative in a is b exp(a) / sum b exp(a), in b without the b. It is divided out anew: the value, rounded, would give as many digits
# less as it is large. Elements that are the same infinity share equally; what has no weight adds nothing, be it infinite or NaN.


def _shares(ans: Any, a: Any, b: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """The derivatives in a and in b."""
    top = expand(raw(ans), np.broadcast_shapes(shape_of(a), shape_of(b)), axis, keepdims)
    is_same = np.isinf(top) & (raw(a) == top)
    powers = exp(where(is_same, 0.0, a - top) if is_any(is_same) else a - top)
    adds_nothing = (raw(b) == 0) & ~np.isfinite(raw(a))
    if is_any(adds_nothing):
        powers = where(adds_nothing, 0.0, powers)
    weighted = b * powers
    total = np.sum(weighted, axis, keepdims=True)
    return weighted / total, powers / total


def _sum(a: Any, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    answer = special.logsumexp(a, axis, keepdims=keepdims, return_sign=return_sign)
    return answer[0] if return_sign else answer


def _weighted_sum(a: Any, b: Any, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    answer = special.logsumexp(a, axis, b, keepdims, return_sign)
    return answer[0] if return_sign else answer


def _rules(multiply: Any, has_weights: bool) -> Any:
    def derivative(n: int, ans: Any, operands: Any, axis: Any, keepdims: bool) -> Any:
        a, b = operands if has_weights else (operands[0], 1.0)
        return _shares(ans, a, b, axis, keepdims)[n]

    def jvp(n: int) -> Any:
        def push(t: Any, ans: Any, *rest: Any) -> Any:
            *operands, axis, keepdims, _ = rest
            return np.sum(multiply(t, derivative(n, ans, operands, axis, keepdims)), axis, keepdims=keepdims)

        return push

    def vjp(n: int) -> Any:
        def pull(ct: Any, ans: Any, *rest: Any) -> Any:
            *operands, axis, keepdims, _ = rest
            part = derivative(n, ans, operands, axis, keepdims)
            return unbroadcast(multiply(expand(ct, shape_of(part), axis, keepdims), part), shape_of(operands[n]))

        return pull

    numbers = range(2 if has_weights else 1)
    return [jvp(n) for n in numbers], [vjp(n) for n in numbers]


def _in_front(operands: Any, axis: Any, keepdims: bool, scope: Scope) -> list[Any]:
    """Operands with the axis of the examples in front, the axes to sum over, and whether to keep them."""
    arrays = lined_up(operands, scope)
    axes = shifted(axis, max(len(shape_of(array)) for array in arrays) - 1)
    # Not over no axes, which SciPy takes for another question where there are no examples.
    return [*arrays, axes, keepdims] if axes else [*(np.expand_dims(array, -1) for array in arrays), (-1,), False]


def _sign(operands: Any, axis: Any, keepdims: bool) -> Any:
    """The sign of the sum, which counts as constant."""
    values = [raw(one) for one in operands]
    mapping = mapping_of(*values)
    if mapping is not None:
        *arrays, axes, keepdims = _in_front(values, axis, keepdims, mapping)
        return Mapped(_sign(arrays, axes, keepdims), mapping)
    a, *weights = values
    given = (a, axis, *(weights or [None]), keepdims, True)
    found = innermost_of(values)
    return (found.recorded(special.logsumexp, given, {}) if type(found) is Staged else special.logsumexp(*given))[1]


def _define(function: Any, name: str, has_weights: bool) -> Any:
    def batch(scope: Scope, *args: Any) -> Any:
        *operands, axis, keepdims, return_sign = args
        if mapping_of(axis, keepdims) is not None:
            return NotImplemented
        return Mapped(operation(*_in_front(operands, axis, keepdims, scope), return_sign), scope)

    operation = products(function, lambda times: _rules(times, has_weights), name=name, batch=batch)
    return operation


_logsumexp = _define(_sum, "scipy_logsumexp", has_weights=False)
_weighted_logsumexp = _define(_weighted_sum, "weighted_logsumexp", has_weights=True)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """scipy.special.logsumexp: equal infinities share the derivative equally; a sign is a constant."""
    a, b = _joined(a), _joined(b)
    if type(a) not in TRACERS and type(b) not in TRACERS:
        return special.logsumexp(a, axis, b, keepdims, return_sign)
    if return_sign and (is_complex(a) or is_complex(b)) and is_differentiated(a, b):
        raise no_rule("logsumexp", "return_sign=True of complex numbers")
    axis = _axes(axis, np.broadcast_shapes(shape_of(a), shape_of(b)))
    operands, operation = ((a,), _logsumexp) if b is None else ((a, b), _weighted_logsumexp)
    answer = operation(*operands, axis, keepdims, return_sign)
    return (answer, _sign(operands, axis, keepdims)) if return_sign else answer


def _joined(value: Any) -> Any:
    """Lists as arrays, with tracers among their elements or not."""
    return asarray(value) if isinstance(value, (list, tuple)) else value


def _axes(axis: Any, shape: tuple[int, ...]) -> Any:
    """The axes as numbers from 0 on; None for all of them."""
    return None if axis is None or not shape else normalized_axes(axis, len(shape))


# ------------------------------------------------------------------------------------------------ softmax


def _softmax_jvp(t: Any, ans: Any, x: Any, axis: Any) -> Any:
    return ans * (t - np.sum(ans * t, axis, keepdims=True))


def _log_softmax_jvp(t: Any, ans: Any, x: Any, axis: Any) -> Any:
    return t - np.sum(exp(ans) * t, axis, keepdims=True)


def _log_softmax_vjp(ct: Any, ans: Any, x: Any, axis: Any) -> Any:
    return ct - exp(ans) * np.sum(ct, axis, keepdims=True)


_softmax: Operation = general(
    special.softmax,
    [_softmax_jvp],
    [_softmax_jvp],
    "ans",
    batch=in_front(lambda x, axis: _softmax(x, shifted(axis, len(shape_of(x)) - 1))),
)
_log_softmax: Operation = general(
    special.log_softmax,
    [_log_softmax_jvp],
    [_log_softmax_vjp],
    "ans",
    batch=in_front(lambda x, axis: _log_softmax(x, shifted(axis, len(shape_of(x)) - 1))),
)


def softmax(x: Any, axis: Any = None) -> Any:
    """scipy.special.softmax."""
    return _softmax(_joined(x), axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """scipy.special.log_softmax."""
    return _log_softmax(_joined(x), axis)
