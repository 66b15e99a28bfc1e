"""Loops as one record: the values and derivatives of the Python loop in every nesting, with less memory."""

from __future__ import annotations

import gc
import math
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import (
    checkpoint,
    cond,
    custom_vjp,
    everything_saved,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    make_tape,
    nothing_saved,
    save_only_these_names,
    scan,
    stop_gradient,
    switch,
    tape,
    tree,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, StaleTracerError, TreeError
from tests.runs import RUNS, each_run
from tests.test_checkpoint import NESTINGS, X, Y, assert_close

POLICIES = {"budget": None, "nothing saved": nothing_saved, "everything saved": everything_saved}
each_policy = pytest.mark.parametrize("policy", list(POLICIES.values()), ids=list(POLICIES))
ROWS = np.array([[0.2, -0.4, 0.1], [1.0, 0.3, -0.2], [-0.6, 0.8, 0.5], [0.1, 0.9, -1.1], [0.7, -0.3, 0.4]])


def looped(f: Any, init: Any, xs: Any, length: int | None = None, reverse: bool = False, **_: Any) -> Any:
    """What scan is to do, in plain Python."""
    count = length if length is not None else len(tree.leaves(xs)[0])
    ys: list[Any] = [None] * count
    carry = init
    for i in range(count)[:: -1 if reverse else 1]:
        carry, ys[i] = f(carry, tree.map(lambda x, i=i: x[i], xs))
    treedef = tree.structure(ys[0])
    columns = zip(*(tree.leaves(y) for y in ys), strict=True)
    return carry, tree.unflatten(treedef, [np.stack(column) for column in columns])


# ------------------------------------------------------------------------------------------------ every nesting

Loop = Callable[..., Any]


def weights_closed_over(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    w = np.outer(y, x) * 0.3
    carry, ys = loop(lambda c, row: (np.tanh(w @ c + row), np.sum(c * y)), x, ROWS, **how)
    return np.sum(carry) + np.sum(ys * ys)


def rows_traced(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    rows = np.stack([x, x * y, np.sin(y), x + y])
    carry, ys = loop(lambda c, row: (c * row + y, row * c), np.ones(3), rows, reverse=True, **how)
    return np.sum(carry * x) + np.sum(np.sin(ys))


def trees(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        h, (n, c) = state["h"], state["more"]
        h = np.sin(h * row["a"]) + c
        return {"h": h, "more": (n + row["k"], c * 0.9 + np.mean(h))}, [h * n, (c,)]

    init = {"h": x * y, "more": (1, 0.5)}
    rows = {"a": np.stack([y, x, y * y]), "k": np.array([2, 3, 5])}
    state, (one, (two,)) = loop(step, init, rows, **how)
    assert state["more"][0] == 11
    return np.sum(state["h"] * x) + np.sum(one) + state["more"][1] * np.sum(two)


def only_the_carry(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    return np.sum(loop(lambda c, _: (c * np.cos(x * c), None), y, None, length=5, **how)[0])


def only_ys(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    return np.sum(loop(lambda c, row: ((), np.exp(x * row) * y), (), ROWS, **how)[1] ** 2)


def python_floats(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    a, b = np.sum(x), np.sum(y)
    carry, ys = loop(lambda c, _: ((c[0] * 0.5 + np.sin(c[1]), c[1] + 0.1 * a), c[0] * b), (1.0, 0.25), None, length=7, **how)
    return carry[0] * carry[1] + np.sum(ys)


def nested_loops(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    def outer(c: Any, row: Any) -> Any:
        inner, ys = loop(lambda d, r: (np.sin(d * y) + r, d * c), c * row, ROWS[:3], **how)
        return inner, np.sum(ys * ys)

    carry, ys = loop(outer, x, ROWS[:3], **how)
    return np.sum(carry) + np.sum(ys)


def with_other_records(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    block = checkpoint(lambda c: np.sin(c * y) * x)
    carry, ys = loop(lambda c, row: (block(c) + grad(lambda z: np.sum(z * z * c))(row), np.sum(c)), x, ROWS, **how)
    return np.sum(carry) * np.sum(ys)


def checkpointed(loop: Loop, x: Any, y: Any, **how: Any) -> Any:
    return np.sum(checkpoint(lambda x, y: loop(lambda c, row: (np.tanh(c * y + row), c), x, ROWS, **how)[1])(x * y, y) ** 2)


FORMS: dict[str, Any] = {f.__name__: f for f in list(globals().values()) if getattr(f, "__annotations__", {}).get("loop") == "Loop"}
each_form = pytest.mark.parametrize("form", list(FORMS.values()), ids=list(FORMS))


def test_there_are_forms():
    assert len(FORMS) == 9


@each_policy
@each_form
@pytest.mark.parametrize("nesting", list(NESTINGS.values()), ids=list(NESTINGS))
def test_every_nesting_is_that_of_the_python_loop(form: Any, nesting: Any, policy: Any):
    got = nesting(lambda x, y: form(scan, x, y, policy=policy))(X, Y)
    assert_close(got, nesting(lambda x, y: form(looped, x, y))(X, Y), 1e-10)


@each_policy
@each_form
def test_the_value_is_bit_for_bit_that_of_the_python_loop(form: Any, policy: Any):
    wanted = form(looped, X, Y)
    assert form(scan, X, Y, policy=policy) == wanted
    assert vjp(lambda x, y: form(scan, x, y, policy=policy), X, Y)[0] == wanted
    assert jvp(lambda x, y: form(scan, x, y, policy=policy), (X, Y), (X, Y))[0] == wanted


@each_policy
@each_run
def test_every_run_gives_what_it_gives_of_the_python_loop(run: Any, policy: Any):
    def f(loop: Any, x: Any) -> Any:
        carry, ys = loop(lambda c, row: (np.sin(c * x) + row, c * c), x * 2.0, np.array([0.3, 0.1, 0.5]), policy=policy)
        return carry + np.sum(ys)

    got, wanted = run(lambda x: f(scan, x), 0.7), run(lambda x: f(looped, x), 0.7)
    if run in (RUNS["vjp"], RUNS["linearize"]):
        assert_close((got[0], tree.leaves(got[1](1.0))[0]), (wanted[0], tree.leaves(wanted[1](1.0))[0]))
    elif run is RUNS["make_tape"]:
        assert got.value == wanted.value
        assert got.rows[0].gradient == pytest.approx(wanted.rows[0].gradient)
    elif run is not RUNS["count_records"]:
        assert_close(got, wanted)


@each_policy
def test_a_loop_under_vmap_is_that_of_each_example(policy: Any):
    many = np.stack([X, X * 0.5, X - 1.0, Y])
    for form in (weights_closed_over, rows_traced, only_ys):

        def f(x: Any, form: Any = form) -> Any:
            return form(scan, x, Y, policy=policy)

        assert_close(vmap(f)(many), np.stack([form(looped, x, Y) for x in many]))
        wanted = np.stack([grad(lambda x, form=form: form(looped, x, Y))(x) for x in many])
        assert_close(vmap(grad(f))(many), wanted)
        assert_close(grad(lambda many, f=f: np.sum(vmap(f)(many)))(many), wanted)


def test_people_see_the_outputs_of_a_loop_on_the_tape():
    rows = make_tape(lambda x: np.sum(scan(lambda c, _: (c * c, c), x, length=3)[0]))(np.array([1.0, 1.1])).rows
    assert [row.operation for row in rows] == ["leaf", "output", "output", "sum"]


# ------------------------------------------------------------------------------------------------ replays


@each_policy
def test_kept_replays_work_later_and_on_several_threads(policy: Any):
    def f(x: Any, y: Any) -> Any:
        return weights_closed_over(scan, x, y, policy=policy)

    _, pullback = vjp(f, X, Y)
    _, f_jvp = linearize(f, X, Y)
    wanted = grad(lambda x, y: weights_closed_over(looped, x, y), (0, 1))(X, Y)
    found: list[Any] = []

    def work() -> None:
        found.extend((pullback(np.float64(1.0)), f_jvp(X, Y)) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 15
    for pulled, pushed in found:
        assert_close(pulled, wanted)
        assert pushed == pytest.approx(np.sum(wanted[0] * X) + np.sum(wanted[1] * Y))
    assert grad(lambda c: np.sum(pullback(c)[0]))(2.0) == pytest.approx(np.sum(wanted[0]))
    assert jvp(lambda c: pullback(c)[1], (2.0,), (1.0,))[1] == pytest.approx(wanted[1])


def test_how_often_the_function_is_run():
    runs: list[int] = []

    def f(c: Any, x: Any) -> Any:
        runs.append(1)
        return np.sin(c) * x, None

    def loss(c: Any, policy: Any = None) -> Any:
        return scan(f, c, np.ones(100), policy=policy)[0]

    counts = {}
    for name, call in {
        "alone": lambda: loss(1.0),
        "jvp": lambda: jvp(loss, (1.0,), (1.0,)),
        "budget": lambda: grad(loss)(1.0),
        "nothing saved": lambda: grad(lambda c: loss(c, nothing_saved))(1.0),
        "everything saved": lambda: grad(lambda c: loss(c, everything_saved))(1.0),
        "second order": lambda: grad(grad(lambda c: loss(c, nothing_saved)))(1.0),
    }.items():
        runs.clear()
        call()
        counts[name] = len(runs)
    assert {name: counts[name] for name in ("alone", "jvp", "budget", "everything saved")} == dict.fromkeys(
        ("alone", "jvp", "budget", "everything saved"), 100
    )
    assert counts["nothing saved"] == 200
    assert counts["second order"] <= 600


@each_policy
def test_the_budget_is_kept_and_the_rest_computed_again(policy: Any):
    def f(loop: Any, x: Any) -> Any:  # a step keeps 4 MB: the budget holds a few of them
        return loop(
            lambda c, _: (np.mean(np.sin(np.full(250_000, 1.0) * c) * np.cos(c + np.zeros(250_000))), c), x, None, length=12, policy=policy
        )

    got, wanted = (value_and_grad(lambda x, loop=loop: np.sum(f(loop, x)[1]))(0.3) for loop in (scan, looped))
    assert got == (wanted[0], pytest.approx(wanted[1], rel=1e-12))


@pytest.mark.parametrize("unroll", [1, 3, 100, True])
def test_unroll_changes_nothing_but_how_it_is_computed(unroll: Any):
    def f(x: Any, y: Any) -> Any:
        return np.sum(scan(lambda c, row: (np.tanh(c * y + row), c), x, ROWS, unroll=unroll, policy=nothing_saved)[1] ** 2)

    wanted = hessian(lambda x, y: np.sum(looped(lambda c, row: (np.tanh(c * y + row), c), x, ROWS)[1] ** 2), (0, 1))(X, Y)
    assert_close(hessian(f, (0, 1))(X, Y), wanted)


# ------------------------------------------------------------------------------------------------ memory


def peak_of(call: Callable[[], Any]) -> int:
    gc.collect()
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def deep(c: Any, x: Any) -> Any:
    """Five values of the size of the carry inside."""
    return np.sin(np.cos(np.tanh(np.sin(c * 1.1) + x) * 1.2)), np.sum(c)


def of_sum(f: Any, n: int, policy: Any = None) -> Any:
    return lambda c, xs: np.sum(scan(f, c, xs, length=n, policy=policy)[1])


def test_reverse_mode_keeps_one_carry_a_step():
    n = 2000
    c, xs = np.zeros(1000), np.linspace(0.0, 1.0, n)
    carries = n * c.nbytes
    assert peak_of(lambda: grad(of_sum(deep, n, nothing_saved))(c, xs)) < carries + 2_000_000
    assert peak_of(lambda: grad(of_sum(deep, n))(c, xs)) < carries + 20_000_000  # the budget is 16 MB
    assert peak_of(lambda: grad(of_sum(deep, n, everything_saved))(c, xs)) > 4 * carries


def test_so_do_derivatives_of_second_order():
    n = 500
    c, xs = np.zeros(1000), np.linspace(0.0, 1.0, n)
    carries = n * c.nbytes
    f = of_sum(deep, n, nothing_saved)
    assert peak_of(lambda: grad(lambda c: np.sum(grad(f)(c, xs)))(c)) < 6 * carries
    assert peak_of(lambda: hvp(f)(c, xs, c)) < 6 * carries
    assert peak_of(lambda: linearize(f, c, xs)[1](c, xs)) < 6 * carries
    assert peak_of(lambda: grad(lambda c: np.sum(grad(lambda c: np.sum(looped(deep, c, xs)[1]))(c)))(c)) > 15 * carries


def test_forward_mode_keeps_nothing():
    c = np.zeros(10_000)
    peaks = [peak_of(lambda n=n: jvp(lambda c: fori_loop(0, n, lambda i, c: np.sin(c) + i, c), (c,), (c,))) for n in (5, 200)]
    assert peaks[1] - peaks[0] < 200_000


def test_weights_are_not_kept_a_step():
    w, c = np.eye(200) * 0.5, np.ones(200)
    f = of_sum(lambda c, x: (np.tanh(c @ w0[0] + x), np.sum(c)), 100, nothing_saved)
    w0: list[Any] = []

    def loss(w: Any) -> Any:
        w0[:] = [w]
        return f(c, np.zeros(100))

    assert peak_of(lambda: grad(loss)(w)) < 30 * w.nbytes
    assert peak_of(lambda: grad(lambda w: np.sum(grad(loss)(w) * w))(w)) < 60 * w.nbytes


def test_the_gradient_of_rows_takes_no_square_of_their_number():
    xs = np.random.default_rng(0).normal(size=(5000, 50))
    gradient = grad(lambda xs: np.sum(scan(lambda c, x: (0.5 * c + x, None), np.zeros(50), xs)[0]))(xs)
    np.testing.assert_allclose(gradient[-3:], np.outer([0.25, 0.5, 1.0], np.ones(50)))
    assert peak_of(lambda: grad(lambda xs: np.sum(scan(lambda c, x: (0.5 * c + x, None), np.zeros(50), xs)[0]))(xs)) < 8 * xs.nbytes


# ------------------------------------------------------------------------------------------------ kinds of numbers


@each_policy
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64, np.complex128])
def test_dtypes_stay_what_they_are(policy: Any, dtype: Any):
    c, xs = np.array([0.5, 0.25], dtype), np.ones((4, 2), dtype)
    (carry, ys), pullback = vjp(lambda c, xs: scan(lambda c, x: (c * c * x, c), c, xs, policy=policy), c, xs)
    of_c, of_xs = pullback((carry, ys))
    assert carry.dtype == ys.dtype == of_c.dtype == of_xs.dtype == dtype
    wanted, back = vjp(lambda c, xs: looped(lambda c, x: (c * c * x, c), c, xs), c, xs)
    np.testing.assert_array_equal(ys, wanted[1])
    eps = 10 * float(np.finfo(dtype).eps)
    assert_close(pullback((carry, ys)), back((carry, ys)), eps)


def test_complex_carries_of_real_rows():
    def f(loop: Any, x: Any) -> Any:
        return np.sum(np.abs(loop(lambda c, row: (c * np.exp(1j * row), c), np.ones(2, complex), np.stack([x, 2.0 * x]))[1]) * x)

    def g(loop: Any, x: Any) -> Any:
        carry, ys = loop(lambda c, row: (c * (1.0 + 1j * row), c), np.ones(2, complex), np.stack([x, 2.0 * x]))
        return np.sum(np.abs(carry)) + np.sum(ys.imag)

    x = np.array([0.3, 0.7])
    for one in (f, g):
        got = grad(lambda x, one=one: one(scan, x))(x)
        assert got.dtype == float
        np.testing.assert_allclose(got, grad(lambda x, one=one: one(looped, x))(x), rtol=1e-13)


def test_a_python_float_gets_the_dtype_of_the_first_step():
    kind = np.asarray(0.0 + np.float32(1.0)).dtype  # float32, but float64 in NumPy 1
    carry, ys = scan(lambda c, x: (c + x, c), 0.0, np.ones(3, np.float32))
    assert carry.dtype == ys.dtype == kind
    carry, ys = scan(lambda c, x: (np.sum(c + x), c), 0.0, np.ones((3, 2), np.float32))
    assert carry.dtype == ys.dtype == np.float32 and carry == 14.0
    carry, _ = scan(lambda c, x: (c * x, None), 2.0, np.array([1j, 1j]))
    assert carry == -2.0 and carry.dtype == complex
    gradient = grad(lambda c: scan(lambda c, x: (c * x, None), c, np.full(3, 2.0, np.float32))[0])(1.0)
    assert gradient == 8.0 and type(gradient) is float
    assert type(grad(lambda w: scan(lambda c, x: (c + w * x, c), 0.0, np.ones(3, np.float32))[0])(np.float32(1.0))) is np.float32
    assert fori_loop(0, 3, lambda i, n: n + np.int8(i), 0) == 3


def test_integers_and_booleans_in_the_carry_stay_plain():
    seen = []

    def step(c: Any, x: Any) -> Any:
        n, flag, table, value = c
        seen.append((type(n), type(flag), type(table)))
        return (n + 1, not flag, table + 1, value * x[n] if flag else value + float(table[n])), n

    init = (0, True, np.arange(5), 1.0)
    rows = np.arange(1.0, 26.0).reshape(5, 5)
    for policy in POLICIES.values():
        seen.clear()

        def f(rows: Any, policy: Any = policy) -> Any:
            (n, flag, table, value), ns = scan(step, init, rows, policy=policy)
            assert (n, flag) == (5, False) and table.tolist() == [5, 6, 7, 8, 9] and ns.tolist() == [0, 1, 2, 3, 4]
            return value

        gradient = grad(f)(rows)
        np.testing.assert_array_equal(gradient, grad(lambda rows: looped(step, init, rows)[0][3])(rows))
        assert set(seen) == {(int, bool, np.ndarray)}


def test_a_loop_on_traced_values_that_gives_none():
    def f(x: Any) -> Any:
        n, signs = scan(lambda n, row: (n + int(row > 0.0), row > 0.0), 0, x)
        assert n == 2 and signs.tolist() == [True, False, True]
        return x[0] * n

    assert grad(f)(X).tolist() == [2.0, 0.0, 0.0]


def test_ys_of_integers_and_booleans_are_stacked():
    _, ys = scan(lambda c, x: (c + x, {"n": 3, "b": c > 1.0, "m": np.array([1, 2])}), 0.0, np.ones(4))
    assert ys["n"].tolist() == [3] * 4 and ys["b"].tolist() == [False, False, True, True] and ys["m"].shape == (4, 2)
    gradient = grad(lambda c: np.sum(scan(lambda c, x: (c * x, (c > 1.0, c)), c, np.full(3, 2.0))[1][1]))(1.0)
    assert gradient == 7.0


# ------------------------------------------------------------------------------------------------ corners


def test_no_steps():
    carry, ys = scan(lambda c, x: (c + x["u"], {"z": c[:2] * x["u"][:2], "n": 1}), np.ones(3), {"u": np.ones((0, 3))})
    assert carry.tolist() == [1.0] * 3
    assert ys["z"].shape == (0, 2) and ys["z"].dtype == float and ys["n"].shape == (0,) and ys["n"].dtype.kind == "i"
    assert scan(lambda c, _: (c * 2.0, c), 1.0, length=0)[0] == 1.0
    ys = scan(lambda c, x: (c + x, c), 0.0, np.ones(0, np.float32))[1]
    assert ys.shape == (0,) and ys.dtype == np.asarray(0.0 + np.float32(1.0)).dtype

    def f(c: Any, w: Any) -> Any:
        carry, ys = scan(lambda c, x: (c * x * w, c * w), c, np.ones((0, 2)))
        return np.sum(carry) + np.sum(ys)

    assert_close(grad(f, (0, 1))(np.ones(2), 3.0), (np.ones(2), 0.0))
    assert fori_loop(3, 3, lambda i, c: c * 2.0, 5.0) == fori_loop(3, -3, lambda i, c: c * 2.0, 5.0) == 5.0
    assert grad(lambda c: fori_loop(0, 0, lambda i, c: c * 2.0, c))(5.0) == 1.0
    assert grad(lambda c: while_loop(lambda c: c > 9.0, lambda c: c * 2.0, c))(5.0) == 1.0
    with pytest.raises(InputTypeError, match="must keep its dtype int"):
        scan(lambda c, x: (c + x, None), np.arange(2), np.ones((0, 2)))


def test_one_step_and_many_segments():
    for n in (1, 2, 255, 256, 257, 600):
        f = of_sum(lambda c, x: (c * 0.99 + x, c * c), n, nothing_saved)
        g = of_sum(lambda c, x: (c * 0.99 + x, c * c), n)
        xs = np.linspace(0.0, 1.0, n)
        wanted = grad(lambda c, xs: np.sum(looped(lambda c, x: (c * 0.99 + x, c * c), c, xs)[1]), (0, 1))(0.5, xs)
        assert_close(grad(f, (0, 1))(0.5, xs), wanted)
        assert_close(grad(g, (0, 1))(0.5, xs), wanted)
        assert_close(jacrev(grad(f, 1), 1)(0.5, xs), jacfwd(grad(g, 1), 1)(0.5, xs))


def test_nothing_traced_and_nothing_used():
    assert grad(lambda x: x * scan(lambda c, x: (c + x, None), 0.0, np.arange(4.0))[0])(3.0) == 6.0
    assert grad(lambda x: scan(lambda c, x: (c, None), 2.0, x)[0])(np.ones(3)).tolist() == [0.0] * 3
    assert grad(lambda x: scan(lambda c, row: (c * 1.0, None), x, np.ones(3))[0] * 0.0 + x)(2.0) == 1.0
    assert grad(lambda x: scan(lambda c, row: (c * x, None), 1.0, np.ones(3))[0], has_aux=False)(2.0) == 12.0


@each_policy
def test_the_carry_and_what_is_closed_over_are_themselves_returned(policy: Any):
    def f(loop: Any, a: Any, b: Any) -> Any:
        (c, d), ys = loop(lambda c, x: ((b, c[0]), (c[1], x, b)), (a, a * a), np.stack([a, b, a]), policy=policy)
        return c * d + np.sum(ys[0]) * np.sum(ys[1]) * ys[2][1]

    for transform in (lambda f: grad(f, (0, 1)), lambda f: hessian(f, (0, 1)), lambda f: jacfwd(f, (0, 1))):
        got = transform(lambda a, b: f(scan, a, b))(2.0, 3.0)
        assert_close(got, transform(lambda a, b: f(looped, a, b))(2.0, 3.0))


@each_policy
def test_exact_zeros_stay_zero_and_replays_do_not_warn(policy: Any):
    def f(x: Any) -> Any:
        return np.sum(scan(lambda c, row: (c * 0.5, np.where(row > 0.0, np.log(row) * c, 0.0)), 1.0, x, policy=policy)[1])

    x = np.array([1.0, 0.0, 2.0])
    with np.errstate(divide="ignore"):  # f's own
        _, pullback = vjp(f, x)
        _, f_jvp = linearize(f, x)
        assert jvp(f, (x,), (np.ones(3),))[1] == 1.125
        assert grad(lambda x: grad(f)(x)[2])(x).tolist() == [0.0, 0.0, -0.0625]
    assert pullback(1.0)[0].tolist() == [1.0, 0.0, 0.125]
    assert f_jvp(np.ones(3)) == 1.125


@each_policy
def test_a_loop_that_gives_infinity_gives_its_derivatives_too(policy: Any):
    with np.errstate(all="ignore"):
        assert grad(lambda x: scan(lambda c, _: (c / x, None), 1.0, length=2, policy=policy)[0])(0.0) == -math.inf


def test_rules_of_ones_own_inside():
    @custom_vjp
    def clipped(x: Any) -> Any:
        return x

    clipped.defvjp(lambda x: (x, None), lambda residuals, ct: (np.clip(ct, -1.0, 1.0),))
    for policy in POLICIES.values():

        def f(x: Any, policy: Any = policy) -> Any:
            return scan(lambda c, _: (clipped(c * 3.0), None), x, length=3, policy=policy)[0]

        assert grad(f)(1.0) == 3.0  # clipped to 1 before each factor of 3
        assert jvp(grad(f), (1.0,), (1.0,))[1] == 0.0
        with pytest.raises(NotImplementedError, match="forward mode"):
            jvp(f, (1.0,), (1.0,))


def test_control_flow_on_concrete_values():
    def f(loop: Any, x: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            if c > 1.0:
                return c - row * x, c
            return c + x, c * x

        carry, ys = loop(step, x, np.array([0.5, 0.2, 0.9, 0.4]))
        return carry + np.sum(ys)

    for x in (0.3, 0.8, 1.4):
        assert grad(lambda x: f(scan, x))(x) == pytest.approx(grad(lambda x: f(looped, x))(x), rel=1e-14)
        assert hessian(lambda x: f(scan, x))(x) == pytest.approx(hessian(lambda x: f(looped, x))(x), rel=1e-14)


def test_stop_gradient_and_at_inside():
    def f(loop: Any, x: Any) -> Any:
        return np.sum(loop(lambda c, i: (fnp.at(c)[i].multiply(stop_gradient(c[0]) + c[1]), c), x, np.array([0, 1, 2, 0]))[1] ** 2)

    assert_close(grad(lambda x: f(scan, x))(X), grad(lambda x: f(looped, x))(X))


# ------------------------------------------------------------------------------------------------ purity


def test_arrays_that_come_out_are_the_callers():
    init, xs, same = np.ones(2), np.arange(6.0).reshape(3, 2), np.zeros(2)
    for carry, ys in (
        scan(lambda c, x: (c, x), init, xs),
        scan(lambda c, x: (x, c), init, xs),
        vjp(lambda c: scan(lambda c, x: (c, x), c, xs), init)[0],
        scan(lambda c, x: (c + x, same), init, xs),
    ):
        carry[...] = 7.0
        ys[...] = 8.0
    assert init.tolist() == [1.0, 1.0] and xs.ravel().tolist() == [0, 1, 2, 3, 4, 5] and same.tolist() == [0.0, 0.0]
    assert init.flags.writeable and xs.flags.writeable


def test_a_function_that_writes_into_what_it_gets_is_refused():
    def into_carry(c: Any, x: Any) -> Any:
        c += x
        return c, None

    def into_row(c: Any, x: Any) -> Any:
        x += 1.0
        return c + x, None

    init, xs = np.zeros(2), np.ones((3, 2))
    for f in (into_carry, into_row):
        with pytest.raises(ValueError, match="read-only"):
            scan(f, init, xs)
    assert init.tolist() == [0.0, 0.0] and xs.tolist() == [[1.0, 1.0]] * 3


def test_a_buffer_that_is_used_again_is_copied():
    buffer = np.zeros(2)

    def f(c: Any, x: Any) -> Any:
        np.add(stop_gradient(c), x, out=buffer)
        return c * 0.5 + x, buffer

    _, ys = scan(f, np.zeros(2), np.ones((3, 2)))
    np.testing.assert_array_equal(ys[:, 0], [1.0, 2.0, 2.5])


@each_policy
@pytest.mark.parametrize("size", [2, 3000])
def test_changing_what_was_given_before_the_replay_does_not_change_it(policy: Any, size: int):
    xs = np.ones((3, size)) * 2.0
    _, pullback = vjp(lambda c: scan(lambda c, x: (c * x, None), c, xs, policy=policy)[0], np.ones(size))
    if size > 2:  # too large to be copied
        with pytest.raises(ValueError, match="read-only"):
            xs[...] = 0.0
    else:
        xs[...] = 0.0
    assert pullback(np.ones(size))[0].tolist() == [8.0] * size
    del pullback
    gc.collect()
    xs[...] = 0.0


@each_policy
def test_a_step_that_keeps_tracers_elsewhere_is_told(policy: Any):
    kept: list[Any] = []

    def f(c: Any, x: Any) -> Any:
        kept.append(c)
        return c * kept[0] + x, None

    with pytest.raises((ConcretizationError, StaleTracerError)):
        grad(lambda c: scan(f, c, np.ones(300), policy=policy)[0])(1e-3)
    assert tape.thread.scope is None


HIDDEN: dict[str, Any] = {}


@each_policy
def test_a_traced_value_in_a_global_is_refused(policy: Any):
    def f(x: Any, step: Any) -> Any:
        HIDDEN["x"] = x
        return scan(step, x * 2.0, length=3, policy=policy)[0]

    for step in (lambda c, _: (c * HIDDEN["x"], None), lambda c, _: (HIDDEN["x"], None), lambda c, _: (c, HIDDEN["x"] * 2.0)):
        with pytest.raises(ConcretizationError, match=r"scan of <lambda> uses a traced value of the code around it"):
            grad(lambda x, step=step: f(x, step))(1.0)
        assert tape.thread.scope is None
    HIDDEN.clear()


@each_policy
def test_an_error_inside_leaves_nothing_open(policy: Any):
    def f(c: Any, x: Any) -> Any:
        if x > 1.5:
            raise KeyError("mine")
        return c * x, None

    w = 1.0
    for call in (
        lambda: scan(f, 1.0, np.arange(4.0)),
        lambda: grad(lambda c: scan(f, c, np.arange(4.0), policy=policy)[0])(w),
        lambda: grad(lambda w: scan(lambda c, x: f(c * w, x), 1.0, np.arange(4.0), policy=policy)[0])(w),
        lambda: jvp(lambda c: scan(f, c, np.arange(4.0))[0], (w,), (1.0,)),
    ):
        with pytest.raises(KeyError, match="mine"):
            call()
        assert tape.thread.scope is None
    assert grad(lambda c: scan(lambda c, x: (c * x, None), c, np.ones(3), policy=policy)[0])(w) == 1.0


# ------------------------------------------------------------------------------------------------ misuse


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: scan(3, 0.0, length=2), InputTypeError, r"scan takes a function"),
        (
            lambda: scan(lambda c, x: c, 0.0, length=2),
            InputTypeError,
            r"scan of <lambda>: .* pair \(carry, y\), got float.*return \(carry, None\)",
        ),
        (lambda: scan(lambda c, x: [c, x], 0.0, length=2), InputTypeError, r"pair \(carry, y\), got list"),
        (lambda: scan(lambda c, x: (c, x, x), 0.0, length=2), InputTypeError, r"got a tuple of 3"),
        (lambda: scan(lambda c, x: None, 0.0, length=2), InputTypeError, r"pair \(carry, y\), got NoneType"),
        (lambda: scan(lambda c, x: (c, None), 0.0), InputValueError, r"without xs the number of steps must be given as length"),
        (lambda: scan(lambda c, x: (c, None), 0.0, length=-1), InputValueError, r"length must not be negative, got -1"),
        (lambda: scan(lambda c, x: (c, None), 0.0, length=2.0), InputTypeError, r"length must be an integer, got float"),
        (lambda: scan(lambda c, x: (c, None), 0.0, length=2, unroll=1.5), InputTypeError, r"unroll must be an integer, got float"),
        (lambda: scan(lambda c, x: (c, None), 0.0, [1.0, 2.0]), InputTypeError, r"xs\[0\] is a float.* use np.array or np.stack"),
        (lambda: scan(lambda c, x: (c, None), 0.0, {"a": np.float64(1.0)}), InputTypeError, r"xs\['a'\] is an array without axes"),
        (
            lambda: scan(lambda c, x: (c, None), 0.0, {"a": X, "b": np.ones(4)}),
            InputValueError,
            r"one length, got 3 in xs\['a'\], 4 in xs\['b'\]",
        ),
        (
            lambda: scan(lambda c, x: (c, None), 0.0, {"a": X}, 4),
            InputValueError,
            r"length is 4, but the first axis of xs\['a'\] has length 3",
        ),
        (
            lambda: scan(lambda c, x: (c, None), 0.0, X, policy="all"),
            InputTypeError,
            r"policy must be nothing_saved, everything_saved or None",
        ),
        (lambda: scan(lambda c, x: (c, None), 0.0, X, policy=save_only_these_names("a")), InputTypeError, r"policy must be"),
        (
            lambda: scan(lambda c, x: ({"a": c["a"], "b": x}, None), {"a": 1.0}, X),
            TreeError,
            r"scan of <lambda>: the carry must keep its structure, but after step 0 it is another: at the root",
        ),
        (
            lambda: scan(lambda c, x: ({"h": [c["h"][0], c["h"][1] + x]}, None), {"h": [1.0, np.ones(2)]}, np.ones((3, 3, 2))),
            InputValueError,
            r"the carry at \['h'\]\[1\] must keep its shape \(2,\), but after step 0 it is of shape \(3, 2\)",
        ),
        (
            lambda: scan(lambda c, x: (c + x, None), np.zeros(3, np.float32), np.ones((2, 3))),
            InputTypeError,
            r"the carry must keep its dtype float32, but after step 0 it is of shape \(3,\) and dtype float64.*astype",
        ),
        (
            lambda: scan(lambda c, x: (c + x, None), 0, X),
            InputTypeError,
            r"must keep its dtype int\d+, but after step 0 .*0\.0 instead of 0",
        ),
        (lambda: scan(lambda c, x: (c + x, None), True, X), InputTypeError, r"must keep its dtype bool"),
        (lambda: scan(lambda c, x: ("text", None), 0.0, X), InputTypeError, r"must keep its dtype float64, but after step 0 it is str"),
        (
            lambda: scan(lambda c, x: (c + 1.0 if c < 1.5 else np.float32(c), None), 0.0, np.ones(9)),
            InputTypeError,
            r"after step 2 it is of shape \(\) and dtype float32",
        ),
        (
            lambda: scan(lambda c, x: (c + 1.0, c if c < 2.0 else None), 0.0, np.ones(9)),
            TreeError,
            r"y must have one structure .* after step 2",
        ),
        (
            lambda: scan(lambda c, x: (c + 1.0, {"y": c if c < 2.0 else X}), 0.0, np.ones(9)),
            InputValueError,
            r"y\['y'\] is to be stacked .*of shape \(\) and dtype float64, but in step 2 it is of shape \(3,\)",
        ),
        (lambda: scan(lambda c, x: (c + 1.0, 1 if c < 2.0 else 0.5), 0.0, np.ones(9)), InputValueError, r"in step 2 .*dtype float64"),
        (lambda: fori_loop(0.0, 3, lambda i, c: c, 1.0), InputTypeError, r"fori_loop of <lambda>: lower must be an integer, got float"),
        (lambda: fori_loop(0, None, lambda i, c: c, 1.0), InputTypeError, r"upper must be an integer, got NoneType"),
        (lambda: fori_loop(0, 3, 4, 1.0), InputTypeError, r"fori_loop takes a function"),
        (lambda: fori_loop(0, 3, lambda i, c: c + 0.5, 0), InputTypeError, r"fori_loop of <lambda>: the carry must keep its dtype int"),
        (lambda: while_loop(1, lambda c: c, 1.0), InputTypeError, r"while_loop takes a function"),
        (
            lambda: while_loop(lambda c: X > 0.0, lambda c: c, 1.0),
            InputTypeError,
            r"while_loop of <lambda>: cond_fun must give one boolean, got an array of shape \(3,\)",
        ),
        (lambda: while_loop(lambda c: None, lambda c: c, 1.0), InputTypeError, r"cond_fun must give one boolean, got NoneType"),
        (lambda: while_loop(lambda c: True, lambda c: None, 1.0), TreeError, r"the carry must keep its structure"),
        (
            lambda: cond(X > 0.0, np.sin, np.cos, 1.0),
            InputTypeError,
            r"cond: pred must give one boolean, got an array of shape \(3,\): use np.all or np.any",
        ),
        (lambda: cond("yes", np.sin, np.cos, 1.0), InputTypeError, r"cond: pred must give one boolean, got str"),
        (lambda: cond(True, 1.0, np.cos), InputTypeError, r"cond takes a function"),
        (lambda: switch(0.5, [np.sin], 1.0), InputTypeError, r"switch: index must be an integer, got float"),
        (lambda: switch(0, [], 1.0), InputValueError, r"switch needs at least one branch"),
        (lambda: switch(0, [np.sin, 1.0], 1.0), InputTypeError, r"switch takes a function"),
    ],
)
def test_misuse_is_named(call: Any, error: Any, message: str):
    with pytest.raises(error, match=message):
        call()


@each_policy
def test_misuse_is_named_inside_of_transforms_too(policy: Any):
    with pytest.raises(InputValueError, match=r"the carry must keep its shape \(\), but after step 0 it is of shape \(3,\)"):
        grad(lambda c: np.sum(scan(lambda c, x: (c * X, None), c, X, policy=policy)[0]))(1.0)
    with pytest.raises(InputValueError, match=r"in step 2 it is of shape \(3,\)"):
        grad(lambda c: scan(lambda c, x: (c + 1.0, c if c < 2.0 else X), c, np.ones(9), policy=policy)[0])(0.0)
    with pytest.raises(InputTypeError, match=r"must keep its dtype int"):
        grad(lambda w: scan(lambda c, x: (c + w, None), 0, X, policy=policy)[0])(1.0)
    with pytest.raises(InputTypeError, match=r"must be an integer, got float"):
        grad(lambda n: fori_loop(0, n, lambda i, c: c, 1.0))(3.0)
    assert tape.thread.scope is None


# ------------------------------------------------------------------------------------------------ the other loops


def test_fori_loop():
    seen = []

    def body(i: Any, c: Any) -> Any:
        seen.append(i)
        return c * i

    assert fori_loop(2, 6, body, 1.0) == 120.0 and seen == [2, 3, 4, 5] and {type(i) for i in seen} == {int}
    assert fori_loop(np.int64(2), np.int32(4), body, 1.0) == 6.0
    assert grad(lambda x: fori_loop(0, 3, lambda i, s: s + x[i] ** (i + 1), 0.0))(X) == pytest.approx([1.0, 2.0 * X[1], 3.0 * X[2] ** 2])
    power = lambda x: fori_loop(0, 5, lambda i, y: y * x, 1.0)
    assert (power(2.0), grad(power)(2.0), grad(grad(power))(2.0), grad(grad(grad(power)))(2.0)) == (32.0, 80.0, 160.0, 240.0)
    assert jvp(power, (2.0,), (1.0,)) == (32.0, 80.0)


def test_while_loop():
    def newton(a: Any) -> Any:
        def body(state: Any) -> Any:
            x, _, n = state
            return 0.5 * (x + a / x), x, n + 1

        x, _, n = while_loop(lambda s: np.abs(s[0] - s[1]) > 1e-12 * s[0], body, (a, 2.0 * a, 0))
        assert 4 < n < 12
        return x

    assert newton(2.0) == pytest.approx(math.sqrt(2.0), rel=1e-15)
    assert grad(newton)(2.0) == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-12)
    assert jvp(newton, (2.0,), (1.0,))[1] == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-12)
    assert grad(grad(newton))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-8)
    assert vmap(lambda x: while_loop(lambda s: s[1] < 3, lambda s: (s[0] * x, s[1] + 1), (x, 0))[0])(X) == pytest.approx(X**4)
    bound = 50.0
    f = lambda x: while_loop(lambda y: y * x < bound, lambda y: y * x, x)
    assert (f(2.0), grad(f)(2.0), grad(grad(f))(2.0)) == (32.0, 80.0, 160.0)
    g = lambda x: while_loop(lambda y: y < 1e3, lambda y: y * 1.01, x)
    assert grad(g)(1.0) == pytest.approx(1.01 ** math.ceil(math.log(1e3) / math.log(1.01)), rel=1e-12)


def test_branches():
    f = lambda x: cond(x > 1.0, lambda x, y: x * x * y, lambda x, y: -x + y, x, 3.0)
    assert (f(2.0), grad(f)(2.0), grad(f)(0.5), grad(grad(f))(2.0)) == (12.0, 12.0, -1.0, 6.0)
    ran = []
    assert cond(np.bool_(True), lambda: ran.append(1) or 1, lambda: ran.append(2) or 2) == 1 and ran == [1]
    assert cond(np.array(0), lambda: 1, lambda: 2) == 2
    branches = [np.sin, lambda x: x * x, np.exp]
    assert [grad(lambda x, n=n: switch(n, branches, x))(2.0) for n in (-5, 0, 1, np.int64(2), 7)] == pytest.approx(
        [math.cos(2.0), math.cos(2.0), 4.0, math.exp(2.0), math.exp(2.0)]
    )


# ------------------------------------------------------------------------------------------------ JAX


def test_scan_is_that_of_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    rng = np.random.default_rng(7)
    w, c, xs = rng.normal(size=(4, 4)) * 0.4, rng.normal(size=4), rng.normal(size=(9, 4))

    def model(np_: Any, scan_: Any) -> Any:
        def f(w: Any, c: Any, xs: Any) -> Any:
            carry, ys = scan_(lambda c, x: (np_.tanh(w @ c + x), {"s": np_.sum(c * x), "c": c[:2]}), c, xs, reverse=True)
            return np_.sum(carry**2) + np_.sum(ys["s"] * np_.arange(9.0)) + np_.sum(ys["c"] ** 3)

        return f

    with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
        theirs, ours = model(jnp, jax.lax.scan), model(np, scan)
        assert_close(ours(w, c, xs), np.asarray(theirs(w, c, xs))[()])
        assert_close(grad(ours, (0, 1, 2))(w, c, xs), tuple(map(np.asarray, jax.grad(theirs, (0, 1, 2))(w, c, xs))))
        assert_close(hessian(ours, 1)(w, c, xs), np.asarray(jax.hessian(theirs, 1)(w, c, xs)))
        got = fori_loop(1, 6, lambda i, v: v * i + c, c)
        np.testing.assert_allclose(got, jax.lax.fori_loop(1, 6, lambda i, v: v * i + c, jnp.asarray(c)), rtol=1e-14)
        got = while_loop(lambda v: np.sum(v * v) < 1e3, lambda v: v * 1.5 + 1.0, c)
        np.testing.assert_allclose(
            got, jax.lax.while_loop(lambda v: jnp.sum(v * v) < 1e3, lambda v: v * 1.5 + 1.0, jnp.asarray(c)), rtol=1e-14
        )
        for n in (-1, 0, 2, 9):
            branches = (lambda x: x + 1.0, lambda x: x * 5.0, lambda x: -x)
            assert switch(n, branches, 3.0) == float(jax.lax.switch(n, branches, 3.0))
