"""Exact zeros stay zero, whatever they are multiplied with; and a replay makes no floating-point warnings of its own.

The witness of each masked function is the same function of the elements that its mask picks, where nothing is singular.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import elementwise_grad, extend, grad, hessian, hvp, jacfwd, jacrev, jit, jvp, linearize, nn, value_and_grad, vjp, vmap
from funcgrad.ops.extremes import logsumexp
from funcgrad.replay import Sparse, _pull_carefully
from funcgrad.rule import Rule, accumulate

A = np.array
X = A([-3.0, 0.0, 4.0])

# f(x) as a sum over elements where x > 0; each is singular, infinite or NaN elsewhere
ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "log": np.log,
    "sqrt": np.sqrt,
    "1 / x": lambda x: 1.0 / x,
    "x / x": lambda x: x / x * x,
    "x ** 0.5": lambda x: x**0.5,
    "x ** x": lambda x: x**x,
    "x ** -2": lambda x: x**-2,
    "x log x": lambda x: x * np.log(x),
    "log log": lambda x: np.log(np.log(x + 1.0)),
    "log2": np.log2,
    "log10": np.log10,
    "log1p": lambda x: np.log1p(x - 1.0),
    "cbrt": np.cbrt,
    "arccosh": lambda x: np.arccosh(1.0 + x),
    "arctanh": lambda x: np.arctanh(1.0 / (x + 1.0)),
    "arcsin": lambda x: np.arcsin(x / 5.0 - 1.0),
    "reciprocal": np.reciprocal,
    "overflow": lambda x: np.exp(-1000.0 * x) * x + x,
    "double overflow": lambda x: np.exp(np.exp(-1000.0 * x)) * x,
    "sinh": lambda x: np.sinh(np.minimum(1.0 / x, 700.0)),
    "hypot": lambda x: np.hypot(1.0 / x, x),
    "arctan2": lambda x: np.arctan2(1.0 / x, x),
    "logaddexp": lambda x: np.logaddexp(np.log(x), x),
    "maximum": lambda x: np.maximum(np.log(x), 1.0 / x),
    "clip": lambda x: np.clip(np.log(x), 0.0, 9.0),
    "where": lambda x: np.where(x > 1.0, np.log(x), np.sqrt(x)),
    "sigmoid": lambda x: nn.sigmoid(np.log(x)),
    "tanh": lambda x: np.tanh(1.0 / x) * np.log(x),
    "norm": lambda x: np.sqrt(x * x * x),
}
DIRECTION = A([1.0, -2.0, 0.5])
masked = lambda f: lambda x: np.sum(np.where(x > 0, f(x), 0.0))
each_elementwise = pytest.mark.parametrize("f", list(ELEMENTWISE.values()), ids=list(ELEMENTWISE))


@pytest.fixture(autouse=True)
def _singular_values_are_meant():
    with np.errstate(all="ignore"):
        yield


def at_four(f: Callable[[Any], Any], order: int) -> float:
    for _ in range(order):
        f = elementwise_grad(f)
    return float(f(A([4.0]))[0])


@each_elementwise
def test_the_gradient_of_what_a_mask_hides_is_zero(f: Callable[[Any], Any]):
    wanted = [0.0, 0.0, at_four(f, 1)]
    assert math.isfinite(wanted[2])
    for got in (
        grad(masked(f))(X),
        value_and_grad(masked(f))(X)[1],
        vjp(masked(f), X)[1](np.float64(1.0))[0],
        jacrev(masked(f))(X),
        jacfwd(masked(f))(X),
        [jvp(masked(f), (X,), (unit,))[1] for unit in np.eye(3)],
        [linearize(masked(f), X)[1](unit) for unit in np.eye(3)],
        elementwise_grad(lambda x: np.where(x > 0, f(x), 0.0))(X),
        grad(lambda x: np.sum(f(x)[x.value > 0]))(X),
        grad(lambda x: np.sum(f(x)[2:]))(X),
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)


@each_elementwise
def test_second_derivatives_of_what_a_mask_hides_are_zero(f: Callable[[Any], Any]):
    wanted = np.diag([0.0, 0.0, at_four(f, 2)])
    columns = lambda g: lambda x: np.stack([jvp(g, (x,), (unit,))[1] for unit in np.eye(3)])
    g = masked(f)
    found = {
        "jacfwd of jacrev": hessian(g)(X),
        "jacrev of grad": jacrev(grad(g))(X),
        "jacfwd of columns": jacfwd(columns(g))(X),
        "jacrev of columns": jacrev(columns(g))(X),
        "hvp": A([hvp(g)(X, unit) for unit in np.eye(3)]),
        "grad of product": A([grad(lambda x: np.sum(grad(g)(x) * unit))(X) for unit in np.eye(3)]),  # noqa: B023
    }
    for name, got in found.items():
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14, err_msg=name)


@each_elementwise
def test_python_floats(f: Callable[[Any], Any]):
    wanted = at_four(f, 1)
    for x in (-3.0, 0.0, 4.0):
        picked = lambda x: np.where(x > 0, f(x), x * 0.0)
        for got in (grad(picked)(x), jvp(picked, (x,), (1.0,))[1], elementwise_grad(picked)(x), linearize(picked, x)[1](1.0)):
            assert got == pytest.approx(wanted if x > 0 else 0.0, rel=1e-13)
            assert type(got) is float


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_other_dtypes(dtype: Any):
    for f in (np.log, np.sqrt, lambda x: x / x * x):
        got = grad(masked(f))(X.astype(dtype))
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(float), [0.0, 0.0, at_four(f, 1)], rtol=2e-3)


def test_large_arrays():
    # leaves of 1 MiB and more are walked by another loop, which gives memory free on the way
    x = np.resize(X, 200_000)
    for f in (np.log, np.sqrt, lambda x: x**x, lambda x: np.hypot(1.0 / x, x)):
        wanted = np.resize([0.0, 0.0, at_four(f, 1)], 200_000)
        np.testing.assert_allclose(grad(masked(f))(x), wanted, rtol=1e-13)
        np.testing.assert_allclose(jvp(masked(f), (x,), (x * 0 + 1.0,))[1], np.sum(wanted), rtol=1e-12)
        tree_gradient = grad(lambda p: masked(f)(p["big"]) * p["small"])({"big": x, "small": 2.0})  # noqa: B023
        np.testing.assert_allclose(tree_gradient["big"], 2 * wanted, rtol=1e-13)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(masked(np.log))(x) * x))(x), np.zeros(200_000), atol=1e-14)


CONTRACTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": lambda a, b: a @ b,
    "dot": np.dot,
    "einsum": lambda a, b: np.einsum("ij,jk->ik", a, b),
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "stacked matmul": lambda a, b: (a[None] @ b[None])[0],
    "rows": lambda a, b: np.stack([row @ b for row in a]),
    "columns": lambda a, b: np.stack([a @ b[:, k] for k in range(2)], 1),
}


@pytest.mark.parametrize("product", list(CONTRACTIONS.values()), ids=list(CONTRACTIONS))
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_contractions_with_rows_that_are_not_finite(product: Any, bad: float):
    a, b = A([[1.0, 2.0], [bad, 3.0], [5.0, 6.0]]), A([[7.0, 8.0], [9.0, 10.0]])
    keep = A([[True], [False], [True]])

    def f(a: Any, b: Any) -> Any:
        return np.sum(np.where(keep, product(a, b), 0.0))

    wanted_a, wanted_b = np.where(keep, b.sum(1), 0.0), np.outer(a[0] + a[2], [1.0, 1.0])
    for got_a, got_b in (grad(f, (0, 1))(a, b), vjp(f, a, b)[1](np.float64(1.0)), jacrev(f, (0, 1))(a, b), jacfwd(f, (0, 1))(a, b)):
        np.testing.assert_allclose(got_a, wanted_a, rtol=1e-15)
        np.testing.assert_allclose(got_b, wanted_b, rtol=1e-15)
    np.testing.assert_allclose(grad(lambda b: f(a, b))(b), wanted_b, rtol=1e-15)
    np.testing.assert_allclose(jvp(f, (a, b), (np.ones((3, 2)), np.zeros((2, 2))))[1], np.sum(wanted_a), rtol=1e-15)
    np.testing.assert_allclose(jvp(lambda b: f(a, b), (b,), (np.ones((2, 2)),))[1], np.sum(wanted_b), rtol=1e-15)


@pytest.mark.parametrize("product", list(CONTRACTIONS.values()), ids=list(CONTRACTIONS))
@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_contractions_tell_what_is_not_finite_where_it_counts(product: Any, bad: float):
    a, b = A([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), A([[bad, 8.0], [9.0, 10.0]])
    keep = A([[True], [False], [True]])

    def f(a: Any) -> Any:
        return np.sum(np.where(keep, product(a, b), 0.0))

    wanted = [[bad, 19.0], [0.0, 0.0], [bad, 19.0]]
    for got in (grad(f)(a), jacrev(f)(a), jacfwd(f)(a)):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_products_and_sums_with_masked_rows(bad: float):
    x = A([[bad, 2.0, 0.5], [2.0, 3.0, 0.25]])
    keep = A([False, True])
    rows: dict[str, Callable[[Any], Any]] = {
        "prod": lambda x: np.prod(x, axis=1),
        "logsumexp": lambda x: logsumexp(x, 1, False),
        "mean": lambda x: np.mean(np.log(x), axis=1),
        "var": lambda x: np.var(x, axis=1),
        "std": lambda x: np.std(x, axis=1),
        "max": lambda x: np.max(x * x, axis=1),
        "min": lambda x: np.min(1.0 / x, axis=1),
        "cumsum": lambda x: np.cumsum(x * x, axis=1)[:, 2],
        "softmax_cross_entropy": lambda x: np.stack([nn.softmax_cross_entropy(row[None], A([1])) for row in x]),
        "sum of squares": lambda x: np.sum(x * x, axis=1),
        "outer": lambda x: np.stack([np.sum(np.outer(row, row)) for row in x]),
    }
    for name, f in rows.items():
        g = lambda x: np.sum(np.where(keep, f(x), 0.0))  # noqa: B023
        wanted = A([np.zeros(3), grad(lambda row: f(row[None])[0])(x[1])])  # noqa: B023
        for got in (grad(g)(x), jacfwd(g)(x), vjp(g, x)[1](np.float64(1.0))[0]):
            np.testing.assert_allclose(got, wanted, rtol=1e-13, err_msg=name)


def test_missing_data_masked_by_where():
    data, weights = A([[1.0, np.nan], [np.nan, 4.0], [5.0, 6.0]]), A([2.0, -1.0])

    def loss(w: Any) -> Any:
        residual = np.where(np.isnan(data), 0.0, data * w - 1.0)
        return np.sum(residual**2)

    filled, seen = np.nan_to_num(data), ~np.isnan(data)
    wanted = np.sum(2 * seen * (filled * weights - 1.0) * filled, axis=0)
    for got in (grad(loss)(weights), jacfwd(loss)(weights), jacrev(loss)(weights)):
        np.testing.assert_allclose(got, wanted, rtol=1e-15)
    np.testing.assert_allclose(hessian(loss)(weights), np.diag(np.sum(2 * filled**2, 0)), rtol=1e-15)


def test_nested_transforms_that_are_singular_inside():
    def inner(x: Any, y: Any) -> Any:
        return np.sum(np.where(y > 0, np.log(y) * x, 0.0))

    # d/dx of x . d/dy sum(log(y) x) over y > 0 = d/dx sum(x**2 / y)
    x, y = A([2.0, 3.0, 5.0]), X
    for first, second in itertools.product((grad, jacfwd, jacrev), repeat=2):
        got = second(lambda x: np.sum(x * first(inner, 1)(x, y)))(x)  # noqa: B023
        np.testing.assert_allclose(got, [0.0, 0.0, 2 * 5.0 / 4.0], rtol=1e-15)


def test_zeros_that_are_no_strong_zeros_still_have_derivatives():
    # the cotangent is 0 at this point, but it varies: d/dx of x * 1/y is 1/y at x = 0
    assert grad(grad(lambda y, x: x * np.log(y), 0), 1)(2.0, 0.0) == 0.5
    assert grad(lambda x: vjp(np.log, 4.0)[1](x)[0])(0.0) == 0.25
    assert grad(lambda x: vjp(lambda y: np.sum(np.where(y > 0, np.log(y), 0.0)), X)[1](x)[0][2])(0.0) == 0.25
    assert jvp(lambda t: jvp(np.log, (4.0,), (t,))[1], (0.0,), (1.0,))[1] == 0.25


def test_infinite_and_undefined_derivatives_are_told_where_they_are_meant():
    assert grad(np.sqrt)(0.0) == math.inf
    assert grad(np.log)(0.0) == math.inf
    assert grad(lambda x: np.cbrt(x))(0.0) == math.inf
    assert math.isnan(grad(lambda x: np.log(x) * x)(0.0)) or grad(lambda x: np.log(x) * x)(0.0) == -math.inf
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.sqrt(x)))(A([0.0, 4.0])), [np.inf, 0.25])
    assert math.isnan(grad(lambda x: x * np.nan)(1.0))


# ------------------------------------------------------------------------------------------------ warnings


@pytest.mark.parametrize("mode", ["raise", "warn"])
def test_a_replay_makes_no_floating_point_warnings(mode: str):
    with np.errstate(all=mode):  # warnings are errors in these tests
        assert grad(np.sqrt)(0.0) == math.inf
        assert grad(lambda x: np.sum(np.sqrt(x)))(A([0.0]))[0] == np.inf
        assert jvp(np.sqrt, (A([0.0]),), (A([1.0]),))[1][0] == np.inf
        np.testing.assert_array_equal(grad(lambda x: np.sum(x * 1e200))(A([1.0, 2.0])), [1e200, 1e200])
        np.testing.assert_array_equal(grad(lambda x: np.sum(x * np.float32(1e30)))(np.ones(2, np.float32)), np.full(2, 1e30, np.float32))
        np.testing.assert_allclose(linearize(lambda x: x * 1e200, A([1.0]))[1](A([1e90])), [1e290], rtol=1e-15)
        np.testing.assert_array_equal(vjp(lambda x: x * 1e200, A([1.0]))[1](A([1e200]))[0], [np.inf])
        _, pullback = vjp(lambda x: x * np.float16(6e4), np.ones(2, np.float16))
        np.testing.assert_array_equal(pullback(np.full(2, 9, np.float16))[0], [np.inf, np.inf])
        assert grad(lambda x: x.astype(np.float64) * 1e300)(np.float32(1.0)) == np.inf
        np.testing.assert_array_equal(grad(lambda x: np.sum(x.astype(np.float64)) * 1e300)(np.ones(2, np.float32)), [np.inf, np.inf])
        np.testing.assert_array_equal(jvp(lambda x: x.astype(np.float32), (A([1.0]),), (A([1e300]),))[1], [np.inf])
        assert grad(lambda x: x**0.5)(0.0) == math.inf
        assert grad(lambda x: (x * 1e-200) ** 3)(1.0) == 0.0
        assert grad(grad(np.sqrt))(0.0) == -math.inf
        assert grad(lambda x: np.sum(np.hypot(x, x)))(A([0.0]))[0] == 0.0
        np.testing.assert_array_equal(hessian(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))(A([0.0])), [[0.0]])


def test_warnings_of_the_function_itself_stay():
    warned = 0
    for run in (
        lambda: grad(lambda x: np.sum(np.log(x)))(A([0.0])),
        lambda: grad(np.log)(0.0),
        lambda: jvp(np.log, (A([0.0]),), (A([1.0]),)),
        lambda: vjp(lambda x: x / x, A([0.0])),
        lambda: grad(lambda x: np.sum(grad(lambda y: np.sum(np.log(y)))(x)))(A([0.0])),
        lambda: linearize(np.exp, 1000.0),
    ):
        with np.errstate(all="warn"), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            run()
        assert {one.category for one in seen} == {RuntimeWarning}
        warned += len(seen)
        with np.errstate(all="raise"), pytest.raises((FloatingPointError, ZeroDivisionError)):
            run()
        with np.errstate(all="ignore"):
            run()
    assert warned == 6


def test_error_states_of_numpy_are_as_they_were():
    before = np.geterr()
    grad(np.sqrt)(0.0)
    vjp(np.sqrt, A([0.0]))[1](A([1.0]))
    with pytest.raises(ValueError):
        vjp(np.sqrt, A([0.0]))[1](A([1.0, 2.0]))
    assert np.geterr() == before


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_primitive_that_keeps_no_zeros_is_the_same_under_every_transform():
    """Nothing but zeros comes back to sqrt at 0, where its derivative is infinite."""
    part = lambda t, ans, x: 0.5 * t / ans
    root = extend.general(np.sqrt, jvps=[part], vjps=[part], name="tests.root")
    f = lambda x, k: k * np.sum(root(x)) + np.sum(x)
    x = np.zeros(2)
    for transform in (grad(f), jit(grad(f)), jacrev(f), grad(jit(f))):
        np.testing.assert_array_equal(transform(x, 0.0), [1, 1])
    np.testing.assert_array_equal(vmap(grad(f), (None, 0))(x, np.zeros(3)), np.ones((3, 2)))
    np.testing.assert_array_equal(value_and_grad(lambda k: np.sum(grad(f)(x, k)))(0.0)[0], 2.0)


def test_a_rule_without_strong_zeros_is_asked_once():
    asked = []

    def pull(cotangent: Any, record: Any, cotangents: Any) -> None:
        asked.append(cotangent)
        accumulate(cotangents, record[1], math.nan)

    rule = Rule("makes a NaN", lambda record, tangents: math.nan, pull, lambda record, index, scope: record)
    cotangents: Any = Sparse()
    _pull_carefully(1.0, (rule.key, 0, None), cotangents)
    assert asked == [1.0]
    assert math.isnan(cotangents[0])


NAN, INF = math.nan, math.inf
MASKED_OUT: list[tuple[str, Callable[[Any], Any], list[list[float]]]] = [
    ("det", np.linalg.det, [[INF, 0], [0, 1]]),
    ("inv", np.linalg.inv, [[NAN, 0], [0, 1]]),
    ("solve", lambda a: np.linalg.solve(a, np.ones(2)), [[NAN, 0], [0, 1]]),
    ("eigh", lambda a: np.linalg.eigh(a)[0], [[NAN, 0], [0, 1]]),
    ("qr", lambda a: np.linalg.qr(a)[1], [[NAN, 0], [0, 1]]),
]


@pytest.mark.parametrize(("f", "at"), [row[1:] for row in MASKED_OUT], ids=[row[0] for row in MASKED_OUT])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing_comes_back_through_what_is_masked_out_as_a_whole(f: Any, at: Any):
    gradient = grad(lambda a: np.sum(np.where(False, f(a), 1.0)) + np.sum(a[1]))(A(at, float))
    np.testing.assert_array_equal(gradient, [[0, 0], [1, 1]])
