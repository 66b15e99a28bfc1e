"""`quad`: the integral of a function, differentiable in its limits and parameters by Leibniz's rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as _integrate

from funcgrad.errors import NoRuleError
from funcgrad.mapped import is_all
from funcgrad.ops.scipy.examples import over_examples
from funcgrad.rules.values import holds_tracer, is_complex, raw, shape_of
from funcgrad.scipy.signatures import by_name
from funcgrad.transforms.arguments import replaced
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.implicit import Arguments, checked, outside, scale_of, solution
from funcgrad.transforms.reverse import vjp

Integrand = Callable[[Any, list[Any]], Any]
"""`(x, parameters)` -> a number or an array; the parameters are a list of numbers and arrays."""


@over_examples
def quad(func: Any, a: Any, b: Any, args: Any = (), *rest: Any, **options: Any) -> Any:
    """Integrate func from a to b by SciPy's quad, differentiably in the limits and the arguments.

    The derivatives are integrals of derivatives, by the same tolerances (SciPy's quad_vec computes them), and differentiable again.

    Args:
        func: `(x, *args)` -> a number, in plain NumPy. What is traced must come through args.
        a: lower limit; may be infinite.
        b: upper limit; may be infinite.
        args: tuple of further arguments, trees of anything; the floating-point numbers and arrays in them are differentiated.
        *rest: SciPy's further arguments by position.
        **options: SciPy's; weight, wvar and complex_func only where nothing is traced.

    Returns:
        `(integral, estimate of its error)`, and with full_output=1 what SciPy tells beside these.

    Raises:
        ConcretizationError: func uses a traced value that did not come through its arguments.
        NoRuleError: weight, wvar, complex_func or a traced option beside tracers.

    Example:
        >>> import numpy as np
        >>> from funcgrad import grad
        >>> integral = lambda rate: quad(lambda x, rate: np.exp(-rate * x), 0.0, np.inf, (rate,))[0]
        >>> print(round(grad(integral)(2.0), 9))  # of 1 / rate
        -0.25
    """
    arguments = Arguments(args if isinstance(args, tuple) else (args,))
    options = by_name(_integrate.quad, 4, rest, options)
    is_traced = bool(arguments.operands) or holds_tracer(a, b)
    if holds_tracer(options) or (is_traced and any(options.get(name) for name in ("weight", "wvar", "complex_func"))):
        raise NoRuleError("quad with weight, wvar, complex_func or traced options has no derivative rule: put a weight into func")
    with outside("quad"):
        plain = checked(func, "quad") if callable(func) else func
        answer, *told = _integrate.quad(plain, raw(a), raw(b), arguments.plain, **options)
    if is_traced:
        if is_complex(a) or is_complex(b) or any(is_complex(one) for one in arguments.operands):
            raise NoRuleError("quad integrates real functions: it has no derivative rule for complex arguments")
        kept = {key: options[key] for key in ("epsabs", "epsrel", "limit", "points") if options.get(key) is not None}
        answer = _integral(lambda x, operands: func(x, *arguments.filled(operands)), a, b, arguments.operands, kept, answer)
    return (answer, *told)


def _integral(f: Integrand, a: Any, b: Any, parameters: Sequence[Any], options: dict[str, Any], known: Any = None) -> Any:
    """The integral of f; `known` if it was computed already."""
    operands = [a, b, *parameters]
    if known is None:
        known = _integrated(f, *map(raw, operands), options=options)
    return solution(
        known,
        operands,
        lambda tangents, ans, operands: _push(f, tangents, operands, options),
        lambda ct, ans, operands, wanted: _pull(f, ct, operands, wanted, options),
    )


def _integrated(f: Integrand, a: Any, b: Any, *parameters: Any, options: dict[str, Any]) -> Any:
    """The integral of a function of plain numbers, whose values may be arrays.

    Raises:
        RuntimeError: the integrand is not finite.
    """
    given = {"epsabs": 1.49e-8, "epsrel": 1.49e-8, "limit": 50, "norm": "max", **options}
    with outside("quad"):
        found, error, told = _integrate.quad_vec(lambda x: f(x, list(parameters)), float(a), float(b), full_output=True, **given)
    if not is_all(np.isfinite(found)):
        raise RuntimeError("quad: the integral of the derivative is not finite")
    if told.status == 1:
        text = f"quad: the integral of the derivative is known to {error:.1e} only: {told.message}"
        warnings.warn(text, _integrate.IntegrationWarning, stacklevel=2)
    return found


def _at_limit(f: Integrand, limit: Any, parameters: list[Any]) -> Any:
    """f at a limit; 0 at infinity, where an integrand vanishes."""
    return 0.0 if np.isinf(raw(limit)) else f(limit, parameters)


def _push(f: Integrand, tangents: list[Any], operands: list[Any], options: dict[str, Any]) -> Any:
    a, b, *parameters = operands
    da, db, *directions = tangents
    total: Any = 0.0
    if db is not None:
        total = total + _at_limit(f, b, parameters) * db
    if da is not None:
        total = total - _at_limit(f, a, parameters) * da
    moving = [n for n, one in enumerate(directions) if one is not None]
    if not moving:
        return total
    along = [directions[n] for n in moving]
    scale = scale_of(along)

    def derivative(x: Any, q: list[Any]) -> Any:
        fixed, directions = q[: len(parameters)], q[len(parameters) :]
        return jvp(lambda *moved: f(x, replaced(fixed, moving, moved)), tuple(fixed[n] for n in moving), tuple(directions))[1]

    return total + _integral(derivative, a, b, [*parameters, *(one / scale for one in along)], options) * scale


def _pull(f: Integrand, ct: Any, operands: list[Any], wanted: list[bool], options: dict[str, Any]) -> list[Any]:
    a, b, *parameters = operands
    cotangents: list[Any] = [None] * len(operands)
    if wanted[0]:
        cotangents[0] = -np.sum(_at_limit(f, a, parameters) * ct)
    if wanted[1]:
        cotangents[1] = np.sum(_at_limit(f, b, parameters) * ct)
    places = [n for n, is_wanted in enumerate(wanted[2:]) if is_wanted]
    if not places:
        return cotangents
    scale = scale_of([ct])

    def derivative(x: Any, q: list[Any]) -> Any:
        *fixed, weight = q
        _, pullback = vjp(lambda *some: f(x, replaced(fixed, places, some)), *(fixed[n] for n in places))
        return np.concatenate([np.ravel(one) for one in pullback(weight)])

    found = _integral(derivative, a, b, [*parameters, ct / scale], options) * scale
    start = 0
    for n in places:
        size = int(np.prod(shape_of(parameters[n]), dtype=int))
        cotangents[2 + n] = np.reshape(found[start : start + size], shape_of(parameters[n]))
        start += size
    return cotangents
