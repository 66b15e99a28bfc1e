"""Branches and loops whose condition `vmap` maps: each example's values and derivatives are those that it has alone; JAX has them too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import (
    ShapeDtypeStruct,
    checkpoint,
    cond,
    eval_shape,
    fori_loop,
    grad,
    hessian,
    jvp,
    scan,
    switch,
    tape,
    tree,
    vmap,
    while_loop,
)
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, TreeError

ROWS = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, -2.0], [0.0, 0.0, 0.0], [4.0, -3.5, 0.25]])
XS = np.array([2.0, 3.0, 10.0, 200.0, 1.5])
NS = np.array([0, 1, 2, 5, -3])
BRANCHES = [lambda x: x * 2.0, lambda x: np.sqrt(x), lambda x: x**3]

# f, the arguments, and which of them has a derivative
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "cond": (lambda w: np.sum(cond(np.sum(w) > 0.0, lambda w: np.sin(w) * w, lambda w: w * w, w)), (ROWS,), 0),
    "cond of a number": (lambda x: cond(x - 3.0, lambda: x * x, lambda: 5.0 * x), (XS,), 0),
    "cond of trees": (lambda x: cond(x > 2.5, lambda: {"a": x * x, "b": [x]}, lambda: {"a": x, "b": [1.0]})["a"], (XS,), 0),
    "where a log is infinite": (lambda w: np.sum(cond(w[0] > 0.5, lambda w: w, lambda w: w * w, w)), (ROWS,), 0),
    "log and root elsewhere": (lambda x: cond(x > 0.0, lambda: np.log(x) + np.sqrt(x), lambda: -x), (np.array([2.0, 0.0, -1.0]),), 0),
    "switch": (lambda n, x: switch(n, BRANCHES, x), (NS, np.abs(XS)), 1),
    "switch of one": (lambda n, x: switch(n, BRANCHES[:1], x), (NS, XS), 1),
    "while_loop": (lambda x: while_loop(lambda y: y < 100.0, lambda y: y * x, x), (XS,), 0),
    "while_loop with a counter": (
        lambda x: while_loop(lambda c: (c[1] < x) & (c[1] < 5), lambda c: (c[0] * x, c[1] + 1), (1.0, 0))[0],
        (XS,),
        0,
    ),
    "while_loop over an unmapped carry": (lambda x, w: while_loop(lambda c: c < 20.0 * x, lambda c: c * w + 1.0, w), (XS, XS), 1),
    "fori_loop": (lambda n, x: fori_loop(0, n, lambda i, c: c * x + i, 1.0), (NS, XS), 1),
    "fori_loop from": (lambda n, x: fori_loop(n, 4, lambda i, c: c * x + i, 1.0), (NS, XS), 1),
    "fori_loop of none": (lambda n, x: fori_loop(0, n - 9, lambda i, c: c * x + i, 1.0 * x), (NS, XS), 1),
    "cond in scan": (
        lambda x: scan(lambda c, a: (cond(c > 2.0, lambda: c * 0.5, lambda: c * x * a), None), x, np.array([1.0, 2.0, 0.5]))[0],
        (XS,),
        0,
    ),
    "while_loop in checkpoint": (lambda x: checkpoint(lambda x: while_loop(lambda y: y < 100.0, lambda y: y * x, x))(x), (XS,), 0),
}


def alone(f: Any, args: Any) -> Any:
    """f of one example after the other, integers as Python's."""
    rows = zip(*args, strict=True)
    return np.stack([np.asarray(f(*(int(one) if isinstance(one, np.integer) else one for one in row))) for row in rows])


@pytest.mark.parametrize(("f", "args", "n"), list(CASES.values()), ids=list(CASES))
def test_every_example_is_as_alone(f: Any, args: Any, n: int):
    close = lambda got, wanted: np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-300)
    close(vmap(f)(*args), alone(f, args))
    slopes = alone(grad(f, n), args)
    close(vmap(grad(f, n))(*args), slopes)
    close(grad(lambda *args: np.sum(vmap(f)(*args)), n)(*args), slopes)
    along = lambda *args: jvp(lambda x: f(*args[:n], x, *args[n + 1 :]), (args[n],), (np.ones_like(args[n]),))[1]
    close(vmap(along)(*args), np.sum(slopes.reshape(len(slopes), -1), 1))
    pushed = jvp(lambda x: vmap(f)(*args[:n], x, *args[n + 1 :]), (args[n],), (np.ones_like(args[n]),))[1]
    close(pushed, np.sum(slopes.reshape(len(slopes), -1), 1))
    close(vmap(hessian(f, n))(*args), alone(hessian(f, n), args))
    assert tape.thread.scope is None


def test_pairs_of_two_mappings():
    f = lambda x, y: cond(x * y > 1.0, lambda: x * x * y, lambda: np.sin(x) * y)
    x, y = np.array([0.5, 1.0, 3.0]), np.array([-1.0, 0.2, 2.0, 5.0])
    table = lambda f: vmap(lambda a: vmap(lambda b: f(a, b))(y))(x)
    wanted = np.where(np.outer(x, y) > 1.0, np.outer(x * x, y), np.outer(np.sin(x), y))
    np.testing.assert_allclose(table(f), wanted, rtol=1e-14)
    slopes = np.where(np.outer(x, y) > 1.0, (x * x)[:, None], np.sin(x)[:, None])
    np.testing.assert_allclose(table(grad(f, 1)), slopes, rtol=1e-14)


def test_the_same_as_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    lax, jnp = jax.lax, jax.numpy
    pairs: list[tuple[Any, Any, Any]] = [
        (
            lambda w: np.sum(cond(np.sum(w) > 0.0, lambda w: np.sin(w) * w, lambda w: w * w, w)),
            lambda w: jnp.sum(lax.cond(jnp.sum(w) > 0.0, lambda w: jnp.sin(w) * w, lambda w: w * w, w)),
            ROWS,
        ),
        (
            lambda x: switch(np.floor(x).astype(int) - 2, BRANCHES, x),
            lambda x: lax.switch(jnp.floor(x).astype(int) - 2, [lambda x: x * 2.0, jnp.sqrt, lambda x: x**3], x),
            XS,
        ),
    ]
    for ours, theirs, x in pairs:
        np.testing.assert_allclose(vmap(ours)(x), jax.vmap(theirs)(x), rtol=1e-14)
        np.testing.assert_allclose(vmap(grad(ours))(x), jax.vmap(jax.grad(theirs))(x), rtol=1e-14)
    ours = lambda x: while_loop(lambda y: y < 100.0, lambda y: y * x, x)
    theirs = lambda x: lax.while_loop(lambda y: y < 100.0, lambda y: y * x, x)
    np.testing.assert_allclose(vmap(ours)(XS), jax.vmap(theirs)(XS), rtol=1e-14)
    np.testing.assert_allclose(
        vmap(lambda x: jvp(ours, (x,), (1.0,))[1])(XS), jax.vmap(lambda x: jax.jvp(theirs, (x,), (1.0,))[1])(XS), rtol=1e-14
    )


def test_shapes_without_numbers():
    number = ShapeDtypeStruct((), np.dtype(np.float32))
    assert eval_shape(lambda x: cond(x > 0.0, lambda: x, lambda: 2.0 * x), number) == number
    assert eval_shape(lambda x: while_loop(lambda y: y < x, lambda y: y * x, 0.0), number) == number
    assert eval_shape(lambda n, x: fori_loop(0, n, lambda i, c: c * x, 1.0), ShapeDtypeStruct((), int), number) == number
    assert vmap(lambda x: while_loop(lambda y: y < 100.0, lambda y: y * x, x))(np.zeros(0)).shape == (0,)
    with pytest.raises(InputValueError, match=r"sizes must not be negative, got the shape \(3, -1\)"):
        ShapeDtypeStruct((3, -1), float)
    with pytest.raises(TypeError):
        ShapeDtypeStruct((3.5,), float)  # type: ignore[arg-type]


MISUSE: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "shapes": (lambda x: cond(x > 2.5, lambda: np.ones(2), lambda: 1.0), InputValueError, r"cond: .*one shape, got \(2,\) and \(\)"),
    "structures": (lambda x: switch((x > 2.5) * 1, [lambda: (x,), lambda: [x]]), TreeError, "switch: .* one structure"),
    "strings": (lambda x: cond(x > 2.5, lambda: "a", lambda: "b"), InputTypeError, "numbers or arrays, got 'a' and 'b'"),
    "an array": (lambda x: cond(x > np.ones(3), lambda: x, lambda: x), InputTypeError, r"one boolean, got an array of shape \(3,\)"),
    "a float as index": (lambda x: switch(x, BRANCHES, x), InputTypeError, "switch: index must be an integer, got float64"),
    "a length": (
        lambda x: scan(lambda c, _: (c, None), x, None, length=np.floor(x).astype(int))[0],
        ConcretizationError,
        "length must be one integer, .*use while_loop or fori_loop",
    ),
    "a carry of another shape": (
        lambda x: while_loop(lambda y: np.sum(y) < 9.0, lambda y: y[:1], np.ones(2) * x),
        InputValueError,
        r"must keep its shape \(2,\), but after step 0 it is of shape \(1,\)",
    ),
    "a carry of another dtype": (
        lambda x: while_loop(lambda y: y < 9.0, lambda y: (2.0 * y).astype(np.float32), x),
        InputTypeError,
        "must keep its dtype float64",
    ),
    "a carry of another structure": (lambda x: while_loop(lambda y: y[0] < 9.0, lambda y: [y[0] * 2], (x,)), TreeError, "its structure"),
}


@pytest.mark.parametrize(("f", "error", "message"), list(MISUSE.values()), ids=list(MISUSE))
def test_misuse_is_named(f: Any, error: Any, message: str):
    with pytest.raises(error, match=message):
        vmap(f)(XS)
    assert tape.thread.scope is None


# ------------------------------------------------------------------------------------------------ carries that change on the way

CHANGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "shape": (lambda c: c[:2], r"the carry must keep its shape \(3,\), but after step 2 it is of shape \(2,\)"),
    "dtype": (lambda c: c.astype(np.float32), r"the carry must keep its dtype float64, but after step 2 .*float32"),
}
LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "scan": lambda change, x: scan(lambda c, a: (c * x if a < 2 else change(c * x), None), x, np.arange(4))[0],
    "scan of a tree": lambda change, x: scan(lambda c, a: ([c[0], c[1] if a < 2 else change(c[1])], None), [x, x], np.arange(4))[0][1],
    "fori_loop": lambda change, x: fori_loop(0, 4, lambda i, c: c * x if i < 2 else change(c * x), x),
}
AROUND: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: vmap(f)(ROWS),
    "vmap of grad": lambda f: vmap(grad(lambda x: np.sum(f(x))))(ROWS),
    "grad of vmap": lambda f: grad(lambda rows: np.sum(vmap(f)(rows)))(ROWS),
    "eval_shape": lambda f: eval_shape(f, ROWS[0]),
    "jvp of jvp": lambda f: jvp(lambda x: jvp(f, (x,), (x,))[1], (ROWS[0],), (ROWS[0],)),
}


@pytest.mark.parametrize("around", list(AROUND.values()), ids=list(AROUND))
@pytest.mark.parametrize("loop", list(LOOPS.values()), ids=list(LOOPS))
@pytest.mark.parametrize(("change", "message"), list(CHANGES.values()), ids=list(CHANGES))
def test_a_carry_that_changes_after_some_steps_is_refused(change: Any, message: str, loop: Any, around: Any):
    error = InputValueError if "shape" in message[:35] else InputTypeError
    with pytest.raises(error, match=message.replace("the carry", "the carry.*")):
        around(lambda x: loop(change, x))
    assert tape.thread.scope is None


def test_a_y_that_changes_after_some_steps_is_refused():
    for around in AROUND.values():
        with pytest.raises(InputValueError, match=r"y is to be stacked .*of shape \(3,\) and dtype float64, but in step 2 it is of shape"):
            around(lambda x: scan(lambda c, a: (c * x, c if a < 2 else c[:2]), x, np.arange(4))[1])


def test_results_of_loops_are_arrays_of_their_own():
    x = np.ones(3)
    for found in (
        fori_loop(0, 0, lambda i, c: c, {"a": x}),
        fori_loop(0, 2, lambda i, c: c, x),
        scan(lambda c, _: (c, None), x, None, length=0)[0],
        scan(lambda c, _: (c, None), [x], None, length=2)[0],
        while_loop(lambda c: False, lambda c: c, x),
    ):
        for one in tree.leaves(found):
            assert not np.shares_memory(one, x)
            one += 1.0


def test_options_of_scan():
    run = lambda **options: scan(lambda c, _: (2.0 * c, None), 1.0, None, length=3, **options)[0]
    assert run(unroll=0) == run(unroll=True) == run(unroll=2) == 8.0
    with pytest.raises(InputValueError, match="unroll must not be negative, got -3"):
        run(unroll=-3)
    with pytest.raises(InputTypeError, match="reverse must be True or False, got 'no'"):
        run(reverse="no")
    with pytest.raises(InputTypeError, match=r"scan of <lambda>: y\['a'\] must be a number or an array, got str"):
        scan(lambda c, _: (c, {"a": "text"}), 1.0, None, length=3)
