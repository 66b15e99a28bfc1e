"""Roots and fixed points: closed forms, systems against unrolled iterations, every order and mode."""

from __future__ import annotations

import gc
import math
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import (
    ShapeDtypeStruct,
    checkpoint,
    custom_root,
    eval_shape,
    fixed_point,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    scan,
    tape,
    tree,
    value_and_grad,
    vjp,
    vmap,
)
from funcgrad.errors import ConcretizationError, ConvergenceError, InputTypeError, InputValueError, NoRuleError, TreeError
from funcgrad.testing import check_grads
from funcgrad.transforms.gmres import gmres
from tests.runs import RUNS, each_run
from tests.test_checkpoint import NESTINGS, assert_close


def newton(f: Any, x: Any) -> Any:
    """By the derivative of what it is given."""
    for _ in range(50):
        step = f(x) / grad(f)(x) if np.shape(x) == () else np.linalg.solve(jacfwd(f)(x), f(x))
        x = x - step
        if np.max(np.abs(step)) <= 1e-14 * np.max(np.abs(x)):
            break
    return x


def bisected(f: Any, bounds: Any) -> float:
    """By code that knows Python floats only."""
    low, high = bounds
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if float(f(middle)) > 0.0 else (middle, high)
    return 0.5 * (low + high)


def by_slope(g: Any, y: Any) -> Any:
    return y / g(1.0)


def by_matrix(g: Any, y: Any) -> Any:
    return np.linalg.solve(jacfwd(g)(y), y)


def root_of(a: Any) -> Any:
    """The square root."""
    return custom_root(lambda x: x * x - a, 1.0, newton, by_slope)


# ------------------------------------------------------------------------------------------------ closed forms


@pytest.mark.parametrize("solve", [newton, lambda f, x: bisected(f, (0.0, 100.0))], ids=["newton", "bisection"])
def test_the_square_root(solve: Any):
    f = lambda a: custom_root(lambda x: x * x - a, 1.0, solve, by_slope)
    for a in (0.25, 2.0, 30.0):
        g = f
        for one in [a**0.5, 0.5 * a**-0.5, -0.25 * a**-1.5, 0.375 * a**-2.5, -0.9375 * a**-3.5]:
            assert g(a) == pytest.approx(one, rel=1e-12)
            g = grad(g)
        assert jvp(f, (a,), (2.0,))[1] == pytest.approx(a**-0.5, rel=1e-13)
        assert jvp(grad(f), (a,), (1.0,))[1] == pytest.approx(-0.25 * a**-1.5, rel=1e-13)
        assert linearize(f, a)[1](2.0) == pytest.approx(a**-0.5, rel=1e-13)
        assert type(grad(f)(a)) is float


def kepler(eccentricity: Any, anomaly: Any) -> Any:
    return fixed_point(lambda x, e, m: m + e * np.sin(x), 0.0, eccentricity, anomaly)


def kepler_root(eccentricity: Any, anomaly: Any) -> Any:
    return custom_root(lambda x: x - eccentricity * np.sin(x) - anomaly, 1.0, newton, by_slope)


@pytest.mark.parametrize("solver", [kepler, kepler_root])
def test_keplers_equation(solver: Callable[[Any, Any], Any]):
    for e, m in ((0.1, 0.5), (0.6, 2.0), (0.3, -1.0)):
        x = solver(e, m)
        assert x - e * np.sin(x) == pytest.approx(m, rel=1e-15)
        slope = 1.0 - e * math.cos(x)
        of_e, of_m = math.sin(x) / slope, 1.0 / slope
        assert grad(solver, (0, 1))(e, m) == pytest.approx((of_e, of_m), rel=1e-13)
        assert jacfwd(solver, (0, 1))(e, m) == pytest.approx((of_e, of_m), rel=1e-13)
        # differentiated once more by hand: d slope = e sin(x) dx - cos(x) de
        of_mm = -math.sin(x) * e * of_m / slope**2
        of_em = (math.cos(x) * of_m * slope - math.sin(x) * e * math.sin(x) * of_m) / slope**2
        of_ee = (math.cos(x) * of_e * slope - math.sin(x) * (e * math.sin(x) * of_e - math.cos(x))) / slope**2
        for found in (hessian(solver, (0, 1))(e, m), jacrev(grad(solver, (0, 1)), (0, 1))(e, m)):
            np.testing.assert_allclose(np.array(found, float), [[of_ee, of_em], [of_em, of_mm]], rtol=1e-12)
        h = 1e-5
        third = (hessian(solver)(e + h, m) - hessian(solver)(e - h, m)) / (2 * h)
        assert grad(grad(grad(solver)))(e, m) == pytest.approx(third, rel=1e-8)


def test_the_golden_ratio_and_the_dottie_number():
    assert fixed_point(lambda x: 1.0 + 1.0 / x, 1.0) == pytest.approx((1.0 + math.sqrt(5.0)) / 2.0, rel=1e-15)
    x = fixed_point(np.cos, 1.0)
    assert x == pytest.approx(0.7390851332151606416553120876738734, rel=1e-15)
    of_scale = grad(lambda a: fixed_point(lambda x: a * np.cos(x), 1.0))(1.0)
    assert of_scale == pytest.approx(math.cos(x) / (1.0 + math.sin(x)), rel=1e-14)
    # Lambert's w solves w exp(w) = z, and dw/dz = w / (z (1 + w))
    w = lambda z: custom_root(lambda w: w * np.exp(w) - z, 0.5, newton, by_slope)
    assert w(1.0) == pytest.approx(0.5671432904097838729999686622, rel=1e-15)
    assert grad(w)(1.0) == pytest.approx(w(1.0) / (1.0 + w(1.0)), rel=1e-14)


def test_a_linear_system_is_its_own_root():
    rng = np.random.default_rng(3)
    matrix, b = np.eye(4) * 3.0 + rng.normal(size=(4, 4)), rng.normal(size=4)
    f = lambda matrix, b: np.sum(custom_root(lambda x: matrix @ x - b, np.zeros(4), newton, by_matrix) ** 3)
    g = lambda matrix, b: np.sum(np.linalg.solve(matrix, b) ** 3)
    for transform in (lambda f: grad(f, (0, 1)), lambda f: hessian(f, (0, 1)), lambda f: jacrev(grad(f, (0, 1)), (0, 1))):
        assert_close(transform(f)(matrix, b), transform(g)(matrix, b), 1e-9)


# ------------------------------------------------------------------------------------------------ against iterations

RNG = np.random.default_rng(11)
M, X, Y = RNG.normal(size=(3, 3)) * 0.25, np.array([0.3, -1.2, 2.0]), np.array([0.5, 0.25, -0.75])


def step(x: Any, m: Any, b: Any) -> Any:
    return np.tanh(m @ x) + 0.5 * np.sin(b)


def implicit(x: Any, y: Any) -> Any:
    return np.sum(fixed_point(step, np.zeros(3), M * y, x) * x)


def with_closures(x: Any, y: Any) -> Any:
    m = M * y
    return np.sum(fixed_point(lambda z: step(z, m, x), np.zeros(3)) * x)


def as_a_root(x: Any, y: Any) -> Any:
    m = M * y
    return np.sum(custom_root(lambda z: z - step(z, m, x), np.zeros(3), newton, by_matrix) * x)


def in_trees(x: Any, y: Any) -> Any:
    def f(state: Any, p: Any, n: Any) -> Any:
        (first,), rest = state["a"], state["b"]
        z = step(np.concatenate([np.reshape(first, (1,)), rest]), p["m"] * n, p["more"][0])
        return {"a": (z[0],), "b": z[1:]}

    found = fixed_point(f, {"a": (0.0,), "b": np.zeros(2)}, {"m": M * y, "more": [x]}, 1)
    return found["a"][0] * x[0] + np.sum(found["b"] * x[1:])


def unrolled(x: Any, y: Any) -> Any:
    z = np.zeros(3)
    for _ in range(60):
        z = step(z, M * y, x)
    return np.sum(z * x)


FORMS = [implicit, with_closures, as_a_root, in_trees]
each_form = pytest.mark.parametrize("f", FORMS)


@each_form
@pytest.mark.parametrize("nesting", list(NESTINGS.values()), ids=list(NESTINGS))
def test_every_nesting_is_that_of_the_iteration(f: Any, nesting: Any):
    assert_close(nesting(f)(X, Y), nesting(unrolled)(X, Y), 1e-9)


@each_form
def test_derivatives_agree_with_differences(f: Any):
    check_grads(f, (X, Y), order=2)


@each_run
def test_every_run_gives_what_it_gives_of_the_square_root(run: Any):
    if run in (RUNS["vjp"], RUNS["linearize"], RUNS["make_tape"], RUNS["count_records"]):
        assert run(root_of, 2.0) is not None
    else:
        assert_close(run(root_of, 2.0), run(np.sqrt, 2.0))


def of_all(f: Any, x: Any) -> Any:
    """Newton's method without questions to the values."""
    for _ in range(30):
        x = x - f(x) / grad(f)(x)
    return x


VMAPPED: dict[str, Any] = {
    "parameters": lambda e, m: fixed_point(lambda x, e, m: m + e * np.sin(x), 0.0, e, m),
    "closures": lambda e, m: fixed_point(lambda x: m + e * np.sin(x), 0.0),
    "both": lambda e, m: fixed_point(lambda x, e: m + e * np.sin(x), 0.0, e),
    "roots": lambda e, m: custom_root(lambda x: x - e * np.sin(x) - m, 1.0, of_all, by_slope),
}


@pytest.mark.parametrize("f", list(VMAPPED.values()), ids=list(VMAPPED))
@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_under_vmap(f: Any, axes: Any):
    values = np.array([0.1, 0.5, 0.8])
    args = tuple(values if axis == 0 else 0.5 for axis in axes)

    def one_by_one(g: Any, *args: Any) -> Any:
        rows = [g(*(arg[n] if axis == 0 else arg for arg, axis in zip(args, axes, strict=True))) for n in range(3)]
        return tree.map(lambda *columns: np.stack(columns), *rows)

    for g in (f, grad(f, (0, 1)), lambda e, m: jvp(f, (e, m), (m, e)), hessian(f, (0, 1)), lambda e, m: grad(lambda m: grad(f)(e, m))(m)):
        assert_close(vmap(g, axes)(*args), one_by_one(g, *args))
    got = grad(lambda *args: np.sum(vmap(f, axes)(*args) ** 2), (0, 1))(*args)
    assert_close(got, grad(lambda *args: np.sum(one_by_one(f, *args) ** 2), (0, 1))(*args))
    twice = vmap(vmap(grad(f, 1), (0, None)), (None, 0))(values, values)
    assert_close(twice, np.array([[grad(f, 1)(e, m) for e in values] for m in values]))


def test_inside_of_checkpoint():
    for one in (implicit, as_a_root):
        f = checkpoint(one)
        assert_close(grad(f, (0, 1))(X, Y), grad(unrolled, (0, 1))(X, Y), 1e-9)
        assert_close(hessian(f, (0, 1))(X, Y), hessian(unrolled, (0, 1))(X, Y), 1e-9)
        assert_close(jacrev(grad(f), 1)(X, Y), jacrev(grad(unrolled), 1)(X, Y), 1e-9)


def test_inside_of_a_loop():
    f = lambda a: scan(lambda c, x: (custom_root(lambda z: z * z - c * a - x, 1.0, newton, by_slope), c), 1.0, np.ones(3))[0]

    def g(a: Any) -> Any:
        c = 1.0
        for _ in range(3):
            c = np.sqrt(c * a + 1.0)
        return c

    assert value_and_grad(f)(2.0) == pytest.approx(value_and_grad(g)(2.0), rel=1e-13)
    assert hessian(f)(2.0) == pytest.approx(hessian(g)(2.0), rel=1e-12)


def test_kept_replays_work_later_and_on_several_threads():
    _, pullback = vjp(implicit, X, Y)
    _, f_jvp = linearize(as_a_root, X, Y)
    wanted = grad(unrolled, (0, 1))(X, Y)
    found: list[Any] = []

    def work() -> None:
        found.extend((pullback(np.float64(1.0)), f_jvp(X, Y)) for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 9
    for pulled, pushed in found:
        assert_close(pulled, wanted, 1e-10)
        assert pushed == pytest.approx(np.sum(wanted[0] * X) + np.sum(wanted[1] * Y))


def test_steps_take_no_memory():
    b = np.full(10_000, 0.5)
    gc.collect()
    tracemalloc.start()
    gradient = grad(lambda b: np.sum(fixed_point(lambda x, b: 0.9 * np.sin(x) + b, np.zeros(10_000), b)))(b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    x = fixed_point(lambda x: 0.9 * np.sin(x) + 0.5, 0.0)
    np.testing.assert_allclose(gradient, 1.0 / (1.0 - 0.9 * math.cos(x)), rtol=1e-12)
    assert peak < 100 * b.nbytes  # GMRES holds some vectors, the hundreds of steps none


def test_large_systems_are_solved_without_their_matrix():
    n = 20_000
    weights = np.random.default_rng(1).uniform(-0.4, 0.4, size=n)
    f = lambda w: np.sum(fixed_point(lambda x, w: np.sin(w * np.roll(x, 1)) + 0.5 * np.roll(x, -1) * w + 1.0, np.zeros(n), w))
    direction = np.cos(np.arange(n))
    h = 1e-6
    difference = (f(weights + h * direction) - f(weights - h * direction)) / (2 * h)
    assert np.sum(grad(f)(weights) * direction) == pytest.approx(difference, rel=1e-6)
    assert jvp(f, (weights,), (direction,))[1] == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 61, 300])
def test_gmres(n: int):
    rng = np.random.default_rng(n)
    matrix, b = np.eye(n) - rng.normal(size=(n, n)) * 0.4 / math.sqrt(n), rng.normal(size=n)
    np.testing.assert_allclose(matrix @ gmres("test", lambda v: matrix @ v, b), b, atol=1e-13 * np.max(np.abs(b)))
    assert gmres("test", lambda v: matrix @ v, np.zeros(n)).tolist() == [0.0] * n
    assert np.all(np.isnan(gmres("test", lambda v: matrix @ v, np.full(n, np.nan))))


def test_gmres_of_matrices_that_are_nearly_singular_or_singular():
    hilbert = 1.0 / (np.arange(6)[:, None] + np.arange(6) + 1.0)
    b = hilbert @ np.ones(6)
    found = gmres("test", lambda v: hilbert @ v, b)
    np.testing.assert_allclose(hilbert @ found, b, rtol=1e-12)  # its condition is 1e7
    rotation = np.roll(np.eye(5), 1, axis=0)
    np.testing.assert_allclose(gmres("test", lambda v: rotation @ v, np.arange(5.0)), [1.0, 2.0, 3.0, 4.0, 0.0], atol=1e-14)
    for matrix in (np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, 0.0]])):
        with pytest.raises(ConvergenceError, match="test: the linear system"):
            gmres("test", lambda v, matrix=matrix: matrix @ v, np.ones(2))


# ------------------------------------------------------------------------------------------------ what goes in and out


def test_the_start_has_no_derivative_and_may_be_traced():
    assert grad(lambda x0: fixed_point(np.cos, x0))(1.0) == 0.0
    assert grad(lambda a: custom_root(lambda x: x * x - a, a, newton, by_slope))(4.0) == 0.25
    assert jvp(lambda a: fixed_point(lambda x, a: a * np.cos(x), a, a), (1.0,), (1.0,))[1] == pytest.approx(
        grad(lambda a: fixed_point(lambda x, a: a * np.cos(x), 0.0, a))(1.0)
    )


def test_what_solve_and_tangent_solve_close_over_counts_as_constant():
    def f(a: Any) -> Any:
        start = 0.5 * a
        solve = lambda g, x: newton(g, float(start.value) if hasattr(start, "value") else start)
        return custom_root(lambda x: x * x - a, None, solve, by_slope)

    assert grad(f)(4.0) == 0.25

    def g(a: Any) -> Any:
        return custom_root(lambda x: x * x - a, 1.0, lambda f, x: np.sqrt(a), lambda g, y: y / (2.0 * np.sqrt(a)))

    assert (g(4.0), grad(g)(4.0), grad(grad(g))(4.0)) == (2.0, 0.25, -0.03125)


def test_aux_of_solve():
    def solve(f: Any, x: Any) -> Any:
        return newton(f, x), {"steps": 7}

    f = lambda a: custom_root(lambda x: x * x - a, 1.0, solve, by_slope, has_aux=True)
    assert f(4.0) == (2.0, {"steps": 7})
    assert grad(f, has_aux=True)(4.0) == (0.25, {"steps": 7})


def test_a_root_that_depends_on_nothing_traced_is_plain():
    assert grad(lambda x: x * custom_root(lambda z: z * z - 4.0, 1.0, newton, by_slope))(3.0) == 2.0
    assert grad(lambda x: x * fixed_point(np.cos, 1.0))(3.0) == fixed_point(np.cos, 1.0)
    assert grad(lambda x: custom_root(lambda z: z * z - 4.0 + 0.0 * x, 1.0, newton, by_slope))(3.0) == 0.0


def test_what_f_closes_over_may_be_its_value():
    assert grad(lambda a: fixed_point(lambda x: a, 0.0))(3.0) == 1.0
    assert grad(grad(lambda a: fixed_point(lambda x: a * a, 0.0)))(3.0) == 2.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_dtypes_stay_what_they_are(dtype: Any):
    a = np.array([0.5, 0.25], dtype)
    f = lambda a: fixed_point(lambda x, a: a * np.cos(x), np.zeros(2, dtype), a)
    x = f(a)
    gradient = grad(lambda a: np.sum(f(a)))(a)
    assert x.dtype == gradient.dtype == dtype
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(x, a * np.cos(x), rtol=4 * eps)
    np.testing.assert_allclose(gradient, np.cos(x) / (1 + a * np.sin(x)), rtol=40 * eps)
    assert fixed_point(lambda x: a[0] * np.cos(x), dtype(0.0)).dtype == dtype


def test_a_python_number_as_the_start_gets_the_dtype_of_f():
    assert type(fixed_point(lambda x: 0.5 * x + 1.0, 0)) is float
    assert fixed_point(lambda x, a: np.asarray(a * x + 1.0, np.float32)[()], 0.0, 0.5).dtype == np.float32


def test_the_tolerance():
    steps = []

    def f(x: Any) -> Any:
        steps.append(x)
        return 0.9 * x + 0.1

    counts = {}
    for tol in (1e-2, 1e-6, None):
        steps.clear()
        assert fixed_point(f, 0.0, tol=tol) == pytest.approx(1.0, abs=2.0 * (tol or 1e-14))
        counts[tol] = len(steps)
    assert counts[1e-2] < 50 < counts[1e-6] < 150 < counts[None] < 400


def test_inputs_are_unchanged_and_results_the_callers():
    x0, b = np.zeros(3), np.ones(3)
    x = fixed_point(lambda x, b: 0.5 * x + b, x0, b)
    x[...] = 7.0
    assert x0.tolist() == [0.0] * 3 and b.tolist() == [1.0] * 3
    found, pullback = vjp(lambda b: fixed_point(lambda x, b: 0.5 * x + b, x0, b), b)
    found[...] = 0.0
    assert pullback(np.ones(3))[0].tolist() == pytest.approx([2.0] * 3)
    del pullback
    gc.collect()
    b[...] = x0[...] = 5.0


# ------------------------------------------------------------------------------------------------ misuse

HIDDEN: dict[str, Any] = {}


def hidden(a: Any, solver: Any) -> Any:
    HIDDEN["a"] = a * 1.0
    return solver(lambda x: 0.5 * x + HIDDEN["a"], a)


@pytest.mark.parametrize(
    "solver",
    [
        lambda f, a: fixed_point(lambda x, b: f(x) + b, 0.0, a),
        lambda f, a: custom_root(lambda x: x - f(x) - a, 0.0, newton, by_slope),
    ],
    ids=["fixed_point", "custom_root"],
)
def test_a_traced_value_in_a_global_is_refused(solver: Any):
    with pytest.raises(ConcretizationError, match="uses a traced value of the code around it"):
        grad(lambda a: hidden(a, solver))(1.0)
    assert tape.thread.scope is None
    HIDDEN.clear()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: custom_root(1.0, 1.0, newton, by_slope), InputTypeError, r"custom_root takes a function"),
        (lambda: custom_root(np.sin, 1.0, 3.0, by_slope), InputTypeError, r"custom_root takes a function"),
        (lambda: fixed_point(1.0, 1.0), InputTypeError, r"fixed_point takes a function"),
        (
            lambda: custom_root(np.sin, 1.0, lambda f, x: np.arange(2), by_slope),
            InputTypeError,
            r"custom_root of sin: the root is dtype int",
        ),
        (lambda: custom_root(np.sin, 1.0, lambda f, x: {"a": 1j}, by_slope), NoRuleError, r"the root\['a'\] is complex"),
        (lambda: custom_root(np.sin, 1.0, lambda f, x: 0.0, by_slope, has_aux=True), InputTypeError, r"has_aux=True needs a function"),
        (
            lambda: grad(lambda a: custom_root(lambda x: (x * a,), 1.0, lambda f, x: 0.0, by_slope))(1.0),
            TreeError,
            r"the value of f must have the structure \*, got \(\*,\)",
        ),
        (
            lambda: grad(lambda a: custom_root(lambda x: x * a, 1.0, lambda f, x: 0.0, lambda g, y: [y]))(1.0),
            TreeError,
            r"the solution of tangent_solve must have the structure",
        ),
        (
            lambda: grad(lambda a: custom_root(lambda x: x * a - 1.0, 1.0, lambda f, x: 1.0, lambda g, y: 3.0 * y))(1.0),
            InputValueError,
            r"what tangent_solve\(g, y\) returned does not solve g\(x\) = y .* it must solve for the g that it is given",
        ),
        (
            lambda: grad(lambda a: custom_root(lambda x: x * x * a, 1.0, lambda f, x: 0.0, lambda g, y: y))(1.0),
            InputValueError,
            r"g must not be singular",
        ),
        (lambda: fixed_point(lambda x: np.stack([x, x]), 0.0), InputValueError, r"the value of f must have shape \(\), got \(2,\)"),
        (lambda: fixed_point(lambda x: {"a": x}, 0.0), TreeError, r"the value of f must have the structure \*, got \{'a': \*\}"),
        (lambda: fixed_point(lambda x: x, np.arange(3)), InputTypeError, r"fixed_point of <lambda>: x0 is dtype int"),
        (lambda: fixed_point(lambda x: x, {"a": "b"}), InputTypeError, r"x0\['a'\] is a str"),
        (lambda: fixed_point(lambda x: x, 1j), NoRuleError, r"x0 is complex"),
        (lambda: fixed_point(lambda x: 2.0 * x + 1.0, 1.0), ConvergenceError, r"leads to infinity or NaN: f is no contraction"),
        (
            lambda: fixed_point(lambda x: 1.0 - x, 0.0),
            ConvergenceError,
            r"not converged after max_steps=10000 steps: .* by 1\. Give it a larger",
        ),
        (lambda: fixed_point(np.sin, 1.0, max_steps=50), ConvergenceError, r"fixed_point of sin: .*max_steps=50"),
    ],
)
def test_misuse_is_named(call: Any, error: Any, message: str):
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(error, match=message):
        call()
    assert tape.thread.scope is None


def test_a_solver_for_one_matrix_only_is_told_apart():
    matrix = np.array([[2.0, 1.0], [0.0, 3.0]])
    f = lambda b: custom_root(lambda x: matrix @ x - b, np.zeros(2), newton, lambda g, y: np.linalg.solve(matrix, y))
    assert_close(jvp(f, (np.ones(2),), (np.ones(2),))[1], np.linalg.solve(matrix, np.ones(2)))
    with pytest.raises(InputValueError, match="in reverse mode a transposed one"):
        grad(lambda b: np.sum(f(b)))(np.ones(2))


def test_a_fixed_point_that_is_not_isolated_has_no_derivative():
    with pytest.raises(ConvergenceError, match=r"\(I - df/dx\) v = b, is singular"):
        grad(lambda a: fixed_point(lambda x: x + 0.0 * a, 1.0))(1.0)
    swap = lambda x, a: np.stack([x[1], x[0]]) + 0.0 * a
    with pytest.raises(ConvergenceError, match="no isolated fixed point"):
        grad(lambda a: fixed_point(swap, np.ones(2), a)[0])(1.0)


# ------------------------------------------------------------------------------------------------ JAX


def test_custom_root_is_that_of_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def model(np_: Any, root: Any, jac: Any) -> Any:
        def solve(f: Any, x: Any) -> Any:
            for _ in range(30):
                x = x - np_.linalg.solve(jac(f)(x), f(x))
            return x

        def f(m: Any, b: Any) -> Any:
            found = root(lambda x: x + np_.tanh(m @ x) - b, b, solve, lambda g, y: np_.linalg.solve(jac(g)(y), y))
            return np_.sum(found**3)

        return f

    m, b = RNG.normal(size=(3, 3)) * 0.5, RNG.normal(size=3)
    with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
        ours, theirs = model(np, custom_root, jacfwd), model(jnp, jax.lax.custom_root, jax.jacfwd)
        assert_close(grad(ours, (0, 1))(m, b), tuple(map(np.asarray, jax.grad(theirs, (0, 1))(m, b))), 1e-10)
        assert_close(hessian(ours, 1)(m, b), np.asarray(jax.hessian(theirs, 1)(m, b)), 1e-10)
        assert_close(hvp(ours, 1)(m, b, b), np.asarray(jax.jvp(lambda b: jax.grad(theirs, 1)(m, b), (b,), (b,))[1]), 1e-10)


OF_NUMBERS: dict[str, Any] = {
    "fixed_point": lambda a: fixed_point(lambda x, a: 0.1 * x * a + 1.0, 0.0, a),
    "fixed_point by closure": lambda a: fixed_point(lambda x: 0.1 * x * a + 1.0, 0.0),
    "singular where it is made up": lambda a: fixed_point(lambda x, a: x * a, 0.0, a),
    "custom_root": lambda a: custom_root(lambda x: x * x - a, 1.0, lambda f, x: x, lambda g, y: y / g(1.0)),
}


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("f", list(OF_NUMBERS.values()), ids=list(OF_NUMBERS))
def test_no_examples_and_shapes_alone(f: Any, shape: tuple[int, ...]):
    loss = f if not shape else lambda a: f(a[0]) + f(a[1])
    none, one = np.zeros((0, *shape)), ShapeDtypeStruct(shape, float)
    assert vmap(loss)(none).shape == (0,)
    assert vmap(grad(loss))(none).shape == (0, *shape)
    assert vmap(hessian(loss))(none).shape == (0, *shape, *shape)
    assert grad(lambda a: np.sum(vmap(loss)(a)))(none).shape == (0, *shape)
    assert eval_shape(loss, one).shape == ()
    assert eval_shape(grad(loss), one) == one
    assert eval_shape(vmap(loss), ShapeDtypeStruct((3, *shape), float)).shape == (3,)
    vectors = lambda a: fixed_point(lambda x, a: 0.1 * x * a + 1.0, np.zeros(shape), a)
    assert vmap(vectors)(none).shape == none.shape
    assert eval_shape(vectors, one) == one


def test_roots_are_arrays_of_their_own():
    x = np.ones(3)
    for found in (
        fixed_point(lambda y: y, x),
        fixed_point(lambda y: x, np.zeros(3)),
        custom_root(lambda y: y - x, x, lambda f, y: y, lambda g, y: y),
        vmap(lambda y: fixed_point(lambda z: z, y))(np.stack([x, x])),
    ):
        assert not np.shares_memory(found, x)
        found += 1.0
