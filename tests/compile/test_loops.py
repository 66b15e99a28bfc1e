"""Loops and branches in programs: one instruction each, with the values and derivatives of the code as it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import (
    cond,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    scan,
    switch,
    tree,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, TreeError

W = np.linspace(-1.0, 1.0, 9).reshape(3, 3)
H = np.array([0.3, -0.2, 0.5])
XS = np.arange(15.0).reshape(5, 3) / 7.0


def assert_same(got: Any, wanted: Any) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert type(one) is type(other) or (type(one) is float and type(other) is np.float64), (type(one), type(other))
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def assert_compiles(f: Callable[..., Any], *args: Any) -> str:
    """It gives what the function gives, at these arguments and at others; the source."""
    program: Any = jit(f)
    others = tree.map(lambda x: x * 0.875 if np.asarray(x).dtype.kind in "fc" else x, args)
    for given in (args, others, args):
        assert_same(program(*given), f(*given))
    source: str = program.source(*args)
    return source


def rnn(w: Any, h: Any, xs: Any) -> Any:
    last, ys = scan(lambda h, x: (np.tanh(w @ h + x), np.sum(h * h)), h, xs)
    return np.sum(last * last) + np.sum(ys * np.arange(5.0))


def backwards(w: Any, h: Any, xs: Any) -> Any:
    (last, n), ys = scan(lambda c, x: ((np.sin(w @ c[0]) * x, c[1] + 1), (c[0], 2 * c[1])), (h, 0), xs, reverse=True)
    return np.sum(last) + np.sum(ys[0] ** 2) + 0.1 * n + 0.01 * np.sum(ys[1])


def numbered(w: Any, h: Any, xs: Any) -> Any:
    return np.sum(fori_loop(1, 6, lambda i, h: np.cos(h * i) + xs[i - 1] * w[0], h) * h)


def of_numbers(w: Any, h: Any, xs: Any) -> Any:
    a, b = w[0, 0], h[1]
    return fori_loop(0, 7, lambda i, c: (c[0] * a + np.sin(c[1]) * i, c[1] - b * c[0]), (0.5, 1.0))[0] * xs[0, 1]


def nested(w: Any, h: Any, xs: Any) -> Any:
    def outer(h: Any, x: Any) -> Any:
        inner = lambda i, k: np.tanh(w @ k + x * i + h)
        return fori_loop(0, 3, inner, x), np.sum(h)

    last, ys = scan(outer, h, xs)
    return np.sum(last * ys[1]) + ys[4]


def unstructured(w: Any, h: Any, xs: Any) -> Any:
    carry, _ = scan(lambda c, x: ({"a": c["b"] * x["p"], "b": [w @ c["a"]][0]}, None), {"a": h, "b": h + 1.0}, {"p": xs, "q": xs[:, 0]})
    return carry["a"] @ carry["b"]


def with_derivatives_inside(w: Any, h: Any, xs: Any) -> Any:
    step = lambda h, x: (h - 0.1 * grad(lambda h: np.sum(np.tanh(w @ h - x) ** 2))(h), None)
    return np.sum(scan(step, h, xs)[0] ** 2)


LOOPS = [rnn, backwards, numbered, of_numbers, nested, unstructured, with_derivatives_inside]
each_loop = pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)


@each_loop
def test_values(f: Any):
    assert_compiles(f, W, H, XS)


@each_loop
def test_gradients(f: Any):
    source = assert_compiles(grad(f, (0, 1, 2)), W, H, XS)
    assert source.count("loop") >= 2


@each_loop
def test_forward_mode(f: Any):
    assert_compiles(lambda w, h, xs: jvp(f, (w, h, xs), (np.cos(w), h, np.ones((5, 3)))), W, H, XS)


@each_loop
def test_second_derivatives(f: Any):
    assert_compiles(lambda w, h, xs: hvp(lambda h: f(w, h, xs))(h, np.ones(3)), W, H, XS)
    assert_compiles(lambda w, h, xs: grad(lambda h: np.sum(grad(f, 1)(w, h, xs) ** 2))(h), W, H, XS)
    assert_compiles(lambda w, h, xs: jvp(lambda w: jvp(lambda h: f(w, h, xs), (h,), (h,))[1], (w,), (w,)), W, H, XS)


@each_loop
def test_of_a_program(f: Any):
    program = jit(f)
    assert_same(grad(program, (0, 1, 2))(W, H, XS), grad(f, (0, 1, 2))(W, H, XS))
    assert_same(jvp(program, (W, H, XS), (W, H, XS)), jvp(f, (W, H, XS), (W, H, XS)))
    many = np.stack([H, 2.0 * H])
    assert_same(vmap(program, (None, 0, None))(W, many, XS), vmap(f, (None, 0, None))(W, many, XS))
    assert_compiles(lambda w, h, xs: vmap(f, (None, 0, None))(w, h, xs), W, many, XS)


def test_jacobians():
    f = lambda w, h: scan(lambda h, x: (np.tanh(w @ h + x), h), h, XS)
    for jacobian in (jacfwd, jacrev):
        assert_compiles(jacobian(f, 1), W, H)
    assert_compiles(hessian(lambda h: rnn(W, h, XS)), H)
    assert_compiles(lambda h: linearize(lambda h: rnn(W, h, XS), h)[1](H), H)
    assert_compiles(lambda h: vjp(lambda h: f(W, h), h)[1]((H, XS)), H)


def test_the_program_does_not_grow_with_the_steps():
    f = value_and_grad(lambda w, h, xs: np.sum(scan(lambda h, x: (np.tanh(w @ h + x), h), h, xs)[0]))
    lengths = {len(jit(f).source(W, H, np.ones((n, 3)))) for n in (5, 50, 500)}
    assert len(lengths) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_a_number_in_the_first_carry_gets_the_dtype_of_the_next(dtype: Any):
    f = lambda xs: scan(lambda c, x: (c + x, c * x), 0.0, xs)
    xs = np.arange(4.0).astype(dtype)
    assert_compiles(f, xs)
    assert_compiles(grad(lambda xs: np.sum(np.abs(f(xs)[1]))), xs)


def test_short_loops():
    for n in (0, 1, 2):
        assert_compiles(value_and_grad(lambda h, xs: np.sum(scan(lambda h, x: (np.sin(h) * x, None), h, xs)[0])), H, np.ones((n, 3)))


def test_strong_zeros_inside():
    def f(x: Any) -> Any:
        return fori_loop(0, 3, lambda i, y: y + np.sum(np.where(x > 0.0, np.log(x), 0.0)) * y, 1.0)

    program = jit(grad(f))
    for x in (np.array([0.5, 2.0]), np.array([0.0, 1.5])):
        with np.errstate(divide="ignore", invalid="ignore"):
            assert_same(program(x), grad(f)(x))

    def g(x: Any) -> Any:
        step = lambda y, x: (y + grad(lambda x: np.where(x > 0.0, np.sqrt(x), 0.0))(x), None)
        return scan(step, 0.0, x)[0]

    program = jit(g)
    for x in (np.array([0.5, 2.0]), np.array([0.0, 4.0])):
        with np.errstate(divide="ignore", invalid="ignore"):
            assert_same(program(x), g(x))


def test_a_step_that_asks_for_values_is_written_out():
    def f(x: Any) -> Any:
        return fori_loop(0, 4, lambda i, y: y * x if i % 2 else np.sin(y), x)

    assert_compiles(f, 0.5)
    assert_compiles(grad(f), 0.5)


def test_a_carry_that_is_no_number_is_written_out():
    def f(x: Any) -> Any:
        (product, mode), before = scan(lambda c, x: ((c[0] * np.sin(x), c[1]), c[0]), (1.0, "plain"), x)
        return np.sum(before) * product if mode == "plain" else 0.0

    assert_compiles(f, H)
    assert_compiles(grad(f), H)
    until = jit(lambda x: while_loop(lambda c: c[0] < 9.0, lambda c: (2.0 * c[0], c[1]), (x, "plain"))[0])
    with pytest.raises(ConcretizationError, match=r"while_loop of <lambda>: an operand is 'plain' \(str\), no number and no array"):
        until(1.0)


@pytest.mark.parametrize("rows", [np.zeros((0, 3)), np.zeros((1, 3))])
def test_no_steps(rows: Any):
    f = lambda x: scan(lambda c, r: (c * r, c * x), x, rows)
    total = lambda x: np.sum(f(x)[0] ** 2) + np.sum(f(x)[1] * x)
    for g in (f, value_and_grad(total), hessian(total), lambda x: jvp(f, (x,), (x * x,))):
        assert_compiles(g, H)
    for g in (vmap(f), vmap(value_and_grad(total))):
        assert_compiles(g, np.stack([H, H * 2.0]))


def test_results_are_fresh():
    program = jit(lambda h, xs: scan(lambda h, x: (h, x), h, xs))
    h, xs = H.copy(), XS.copy()
    last, ys = program(h, xs)
    last[:] = 7.0
    ys[:] = 8.0
    assert_same(program(h, xs), (H, XS))
    assert_same((h, xs), (H, XS))


# ------------------------------------------------------------------------------------------------ while_loop


def halved(x: Any) -> Any:
    return while_loop(lambda y: y > 1.0, lambda y: y / 2.0, x)


def newton(a: Any, x: Any) -> Any:
    step = lambda c: (c[0] - (c[0] ** 3 - a) / (3.0 * c[0] ** 2), c[1] + 1)
    return while_loop(lambda c: (np.max(np.abs(c[0] ** 3 - a)) > 1e-9) & (c[1] < 50), step, (x, 0))


def test_while_loops():
    program = jit(halved)
    for x in (20.0, 0.5, 3.0, 1e6):
        assert_same(program(x), halved(x))
    program = jit(newton)
    for a in (np.array([2.0, 5.0]), np.array([1.0, 900.0])):
        assert_same(program(a, np.ones(2)), newton(a, np.ones(2)))


def test_derivatives_of_while_loops():
    f = lambda a, x: np.sum(newton(a, x)[0] ** 2)
    for derivative in (
        grad(f, (0, 1)),
        value_and_grad(f),
        lambda a, x: jvp(f, (a, x), (a, x)),
        lambda a, x: jvp(lambda a: jvp(lambda x: f(a, x), (x,), (x,))[1], (a,), (a,)),
    ):
        program = jit(derivative)
        for a in (np.array([2.0, 5.0]), np.array([1.0, 900.0]), np.ones(2)):
            assert_same(program(a, np.ones(2)), derivative(a, np.ones(2)))
    program = jit(grad(halved))
    for x in (20.0, 0.5, 3.0):
        assert_same(program(x), grad(halved)(x))
    program = jit(grad(halved))  # recorded where no step is made
    for x in (0.5, 20.0):
        assert_same(program(x), grad(halved)(x))


def test_second_derivatives_of_while_loops_are_refused():
    with pytest.raises(ConcretizationError, match="fori_loop"):
        jit(grad(grad(lambda x: halved(x) ** 2)))(20.0)
    with pytest.raises(ConcretizationError, match="fori_loop"):
        jit(grad(grad(lambda x: while_loop(lambda y: y < 10.0, lambda y: y * y, x))))(2.0)


def test_while_loops_in_loops():
    def f(xs: Any) -> Any:
        return scan(lambda total, x: (total + halved(x * total), x), 1.0, xs)[0]

    xs = np.array([3.0, 0.5, 9.0])
    program = jit(f)
    for scale in (1.0, 10.0, 0.1):
        assert_same(program(xs * scale), f(xs * scale))
    program = jit(grad(f))
    for scale in (1.0, 10.0, 0.1):
        assert_same(program(xs * scale), grad(f)(xs * scale))


# ------------------------------------------------------------------------------------------------ branches


def chosen(x: Any, y: Any) -> Any:
    return cond(np.sum(x) > 1.0, lambda x: (np.sum(x * x) * y, 2), lambda x: (np.sum(np.sin(x)) + y, 5), x)


def scaled(x: Any, y: Any) -> Any:
    value, n = chosen(x, y)
    return value * n


def switched(x: Any, y: Any) -> Any:
    n = np.sum(x > 0.5)
    return switch(n, [lambda x: np.sum(x) * y, lambda x: np.sum(x**3), lambda x: np.exp(y) * x[0]], x)


def in_a_loop(x: Any, y: Any) -> Any:
    step = lambda c, v: (cond(c > 2.0, lambda: c * 0.5 + v * y, lambda: c + np.sin(v)), c)
    return np.sum(scan(step, y, x)[1])


def collatz(x: Any, y: Any) -> Any:
    step = lambda c: (cond(c[0] > 3.0, lambda v: v * 0.5, lambda v: v * 3.0 + y, c[0]), c[1] + 1)
    return while_loop(lambda c: c[1] < 5, step, (np.sum(x), 0))[0]


BRANCHES = [scaled, switched, in_a_loop, collatz]
POINTS = [np.array([0.6, 0.7, -0.2]), np.array([0.1, 0.2, 0.3]), np.array([2.0, 3.0, 4.0]), np.array([0.9, 0.1, 0.2])]


@pytest.mark.parametrize("f", BRANCHES, ids=lambda f: f.__name__)
def test_branches(f: Any):
    derivatives = [
        f,
        grad(f, (0, 1)),
        lambda x, y: jvp(f, (x, y), (np.cos(x), y)),
        lambda x, y: jvp(lambda x: jvp(lambda y: f(x, y), (y,), (y,)), (x,), (x,)),
    ]
    if f is not collatz:
        derivatives += [lambda x, y: hvp(lambda x: f(x, y))(x, x)]
        derivatives += [lambda x, y: grad(lambda y: np.sum(grad(f)(x, y)))(y)]
    for first in POINTS[:2]:
        for derivative in derivatives:
            program = jit(derivative)
            for x in (first, *POINTS):
                assert_same(program(x, 1.5), derivative(x, 1.5))


def test_values_of_branches():
    program = jit(chosen)
    for x in POINTS:
        assert_same(program(x, 2.0), chosen(x, 2.0))
    assert_same(grad(jit(scaled))(POINTS[0], 1.5), grad(scaled)(POINTS[0], 1.5))


def test_branches_of_other_kinds():
    program = jit(lambda x, y: cond(y > 0.0, lambda: np.float32(2.0), lambda: 1.0))
    assert program(1.0, 1.0) == 2.0
    assert program(1.0, -1.0) == 1.0
    with pytest.raises(TreeError, match="branch 1"):
        jit(lambda x: cond(x > 0.0, lambda: (x, x), lambda: x))(1.0)
    with pytest.raises(InputValueError, match="shape"):
        jit(lambda x: cond(x[0] > 0.0, lambda: x, lambda: x[1:]))(H)
    with pytest.raises(InputTypeError, match="dtype"):
        jit(lambda x: cond(x[0] > 0.0, lambda: x, lambda: x > 0.0))(H)
    with pytest.raises(InputTypeError, match="one boolean"):
        jit(lambda x: cond(x > 0.0, lambda: x, lambda: x))(H)
    with pytest.raises(InputTypeError, match="integer"):
        jit(lambda x: switch(x, [lambda: x, lambda: x]))(1.0)


def test_strong_zeros_in_a_branch():
    f = lambda x, y: cond(y > 0.0, lambda x: grad(lambda x: np.where(x > 0.0, np.log(x), 0.0))(x), lambda x: x, x)
    program = jit(f)
    with np.errstate(divide="ignore", invalid="ignore"):
        for x in (2.0, 0.0, -1.0):
            for y in (1.0, -1.0):
                assert program(x, y) == f(x, y)


def test_strong_zeros_around_what_a_branch_closes_over():
    def f(x: Any) -> Any:
        return np.sum(cond(x[1] > 0.5, lambda: np.where(x > 0.0, np.sqrt(x), 0.0) * x[1], lambda: x))

    x = np.array([0.0, 1.0, 4.0])
    for g in (jit(grad(f)), grad(jit(f)), jit(grad(jit(f)))):  # sqrt(x) x1: 0.5 x1 / sqrt(x), and the sum of the square roots for x1
        np.testing.assert_allclose(g(x), [0.0, 3.5, 0.25], rtol=1e-14)
    for h in (jit(hessian(f)), hessian(jit(f))):
        np.testing.assert_allclose(h(x), [[0.0, 0.0, 0.0], [0.0, 0.75, 0.25], [0.0, 0.25, -0.03125]], rtol=1e-14)
    assert jit(lambda x: jvp(f, (x,), (np.ones(3),))[1])(x) == pytest.approx(3.75, rel=1e-14)


def test_only_the_chosen_branch_runs():
    once: Any = jit(lambda x: cond(np.sum(x) > 0.0, lambda y: np.sin(x), lambda y: np.cos(y) + np.sin(x), x))
    often: Any = jit(lambda x: fori_loop(0, 9, lambda i, c: cond(np.sum(x) > c, lambda: np.sum(np.sin(x)), lambda: c), 0.5))
    for program in (once, often):
        source = "\n".join(line for line in program.source(H).splitlines() if not line.lstrip().startswith("#"))
        assert "sin(" in source
        assert "sin(" not in source[source.rindex("def make") :]


# ------------------------------------------------------------------------------------------------ vmap


MANY = np.stack([H, 2.0 * H, np.cos(H), -H])


@each_loop
def test_loops_of_mapped_values(f: Any):
    each = lambda w, h, xs: vmap(lambda h, xs: f(w, h, xs), (0, None))(h, xs)
    both = lambda w, h, xs: vmap(lambda h, x: f(w, h, xs * x))(h, np.arange(1.0, 5.0))
    for g in (each, both):
        assert_compiles(g, W, MANY, XS)
        assert_compiles(grad(lambda w, h, xs, g=g: np.sum(g(w, h, xs) ** 2), (0, 1, 2)), W, MANY, XS)
        assert_compiles(lambda w, h, xs, g=g: jvp(lambda h: g(w, h, xs), (h,), (np.cos(h),)), W, MANY, XS)
    assert_compiles(lambda w, h, xs: vmap(grad(f, 1), (None, 0, None))(w, h, xs), W, MANY, XS)
    assert_compiles(lambda w, h, xs: vmap(grad(f), (None, 0, None))(w, h, xs), W, MANY, XS)
    nested = lambda w, h, xs: vmap(lambda x: vmap(lambda h: f(w, h, xs * x))(h))(np.arange(1.0, 3.0))
    assert_compiles(nested, W, MANY, XS)
    assert_compiles(grad(lambda w, h, xs: np.sum(nested(w, h, xs))), W, MANY, XS)


def test_the_program_of_mapped_loops_does_not_grow():
    f = lambda h, xs: vmap(lambda h: scan(lambda h, x: (np.tanh(W @ h + x), h[0]), h, xs))(h)
    g = grad(lambda h, xs: np.sum(f(h, xs)[0]) + np.sum(f(h, xs)[1]))
    for each in (f, g, lambda h, xs: vmap(grad(lambda h: np.sum(scan(lambda h, x: (np.tanh(W @ h + x), None), h, xs)[0])))(h)):
        program: Any = jit(each)
        assert len({len(program.source(MANY, np.ones((n, 3)))) for n in (5, 50)}) == 1


def test_passes_show_the_programs_inside():
    shown = str(jit(lambda n, x: fori_loop(0, n, lambda i, a: cond(a > 3.0, lambda: a * x, lambda: a + i), 1.0)).passes(3, 2.0))
    for part in (
        "(int, float) = while_loop(",
        "the condition of fori_loop",
        "the step of fori_loop",
        "branch 0 of cond",
        "branch 1 of cond",
    ):
        assert part in shown


def test_forward_mode_of_loops_in_branches():
    twice = lambda x: fori_loop(0, 2, lambda i, c: np.sin(c), x)
    f = lambda x: cond(x >= 0.0, twice, lambda x: x, x)
    g = lambda x: scan(lambda c, _: (f(c), None), x, None, length=2)[0]
    for h in (f, g, lambda x: switch(np.where(x > 0.0, 1, 0), [np.cos, twice], x)):
        for derivative in (jacfwd(h), lambda x, h=h: jvp(h, (x,), (2.0,)), hessian(h), jacfwd(grad(h)), grad(h)):
            assert_compiles(derivative, 0.5)
        assert jvp(jit(h), (0.5,), (1.0,))[1] == pytest.approx(grad(h)(0.5), rel=1e-13)


def test_what_is_not_run_need_not_take_the_first_values():
    empty = np.zeros((2, 2))
    cases: list[Any] = [
        (lambda x: cond(np.trace(x) > 0, np.linalg.inv, lambda x: x, x), (empty,), (np.eye(2) * 2.0,)),
        (lambda x: cond(np.trace(x) > 0, np.linalg.cholesky, lambda x: x, x), (-np.eye(2),), (np.eye(2) * 4.0,)),
        (lambda a, b: cond(b != 0, lambda: a // b, lambda: a), (5, 0), (5, 2)),
        (lambda a, i: cond(i < 3, lambda: fnp.take(a, i, axis=0), lambda: 0.0), (np.ones(3), 7), (np.arange(3.0), 2)),
        (lambda a, i: cond(i < 3, lambda: fnp.at(a)[i].set(2.0), lambda: a), (np.ones(3), 7), (np.ones(3), 2)),
        (lambda x: while_loop(lambda x: np.trace(x) > 0, lambda x: np.linalg.inv(x) - np.eye(2), x), (empty,), (np.eye(2) * 2.0,)),
        (lambda n, x: fori_loop(0, n, lambda i, x: np.linalg.inv(x), x), (0, empty), (3, np.eye(2) * 2.0)),
    ]
    for f, first, second in cases:
        program: Any = jit(f)
        for args in (first, second, first):
            np.testing.assert_allclose(program(*args), f(*args), rtol=1e-14)
    with pytest.raises(np.linalg.LinAlgError):
        jit(cases[0][0])(np.ones((2, 2)))  # the branch is run, and this is its own error
