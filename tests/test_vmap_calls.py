"""Calls that are one record of the tape, inside of `vmap`, with values of a transform around it: by argument and by closure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import checkpoint, cond, custom_jvp, fixed_point, fori_loop, grad, hessian, jvp, scan, vjp, vmap

A = np.random.default_rng(0).normal(size=(4, 3))


@custom_jvp
def sines(y: Any, s: Any) -> Any:
    return np.sum(np.sin(y * s))


@sines.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (y, s), (dy, ds) = primals, tangents
    return sines(y, s), np.sum(np.cos(y * s) * s * dy) + np.sum(np.cos(y * s) * y) * ds


def plain(x: Any, t: Any) -> Any:
    return np.sum(np.sin(x * t))


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": plain,
    "checkpoint, closure": lambda x, t: checkpoint(lambda y: np.sum(np.sin(y * t)))(x),
    "checkpoint, argument": lambda x, t: checkpoint(lambda y, s: np.sum(np.sin(y * s)))(x, t),
    "checkpoint, closure over both": lambda x, t: checkpoint(lambda: np.sum(np.sin(x * t)))(),
    "custom": sines,
    "scan": lambda x, t: scan(lambda carry, y: (carry + np.sin(y * t), None), 0.0, x)[0],
    "fori_loop": lambda x, t: fori_loop(0, 3, lambda n, carry: carry + np.sin(x[n] * t), 0.0),
    "cond": lambda x, t: cond(True, lambda y: np.sum(np.sin(y * t)), lambda y: 0.0, x),
    "vmap": lambda x, t: np.sum(vmap(lambda y: np.sin(y * t))(x)),
    "vjp": lambda x, t: vjp(lambda y: np.sum(-np.cos(y * t)) / t, x)[1](1.0)[0] @ np.ones(3),
    "fixed_point": lambda x, t: fixed_point(lambda z, y, s: 0.5 * z + 0.5 * np.sum(np.sin(y * s)), 0.0, x, t),
}
INNER: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "grad": grad,
    "jvp": lambda f: lambda x, t: jvp(lambda y: f(y, t), (x,), (x,))[1],
    "hessian": hessian,
}
OUTER: dict[str, Callable[[Any], Any]] = {
    "grad": grad,
    "grad of grad": lambda f: grad(grad(f)),
    "jvp": lambda f: lambda t: jvp(f, (t,), (1.0,))[1],
    "jvp of grad": lambda f: lambda t: jvp(grad(f), (t,), (1.0,))[1],
}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("call", CALLS)
def test_derivatives_through_the_call_are_those_of_the_function(call: str, inner: str, outer: str):
    of_one, of_all = INNER[inner](CALLS[call]), OUTER[outer]
    wanted = of_all(lambda t: sum(np.sum(INNER[inner](plain)(x, t)) for x in A))(0.7)
    got = of_all(lambda t: np.sum(vmap(lambda x: of_one(x, t))(A)))(0.7)
    np.testing.assert_allclose(got, wanted, rtol=1e-9)
