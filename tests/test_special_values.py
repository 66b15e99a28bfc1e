"""Derivatives at special points: zeros, ties, infinities, ends of domains, far out. The right values are closed forms.

Owns the corners of the contract: ties share equally, strong zeros, powers and products at zero, repeated indices accumulate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jacfwd, jvp, nn, tree, vjp
from funcgrad.ops.extremes import logsumexp

INF, NAN = np.inf, np.nan
LN2 = float(np.log(2.0))
A = np.array

# (name, f, points, first derivative, second derivative or None where it is infinite or not asked for)
POINTS: list[tuple[str, Any, list[float], list[float], list[float] | None]] = [
    ("abs", np.abs, [-2, 0, 3, INF, -INF], [-1, 0, 1, 1, -1], [0] * 5),
    ("fabs", np.fabs, [-2, 0, 3], [-1, 0, 1], [0] * 3),
    ("square", np.square, [0, 3, INF], [0, 6, INF], [2, 2, 2]),
    ("reciprocal", np.reciprocal, [0, 2, INF], [-INF, -0.25, 0], None),
    ("one over x", lambda x: 1 / x, [0, 2, INF, 1e-200], [-INF, -0.25, 0, -INF], None),
    ("sqrt", np.sqrt, [0, 4, INF], [INF, 0.25, 0], None),
    ("cbrt", np.cbrt, [0, 8, -8, INF], [INF, 1 / 12, 1 / 12, 0], None),
    ("exp", np.exp, [-INF, 0, 1000, -1000], [0, 1, INF, 0], [0, 1, INF, 0]),
    ("exp2", np.exp2, [-INF, 0, 2000], [0, LN2, INF], [0, LN2**2, INF]),
    ("expm1", np.expm1, [-INF, 0, 1000], [0, 1, INF], [0, 1, INF]),
    ("log", np.log, [0, 2, INF], [INF, 0.5, 0], [-INF, -0.25, 0]),
    ("log1p", np.log1p, [-1, 0, INF], [INF, 1, 0], [-INF, -1, 0]),
    ("log2", np.log2, [0, 2], [INF, 0.5 / LN2], None),
    ("log10", np.log10, [0, 2], [INF, 0.5 / float(np.log(10.0))], None),
    ("tanh", np.tanh, [-INF, -1000, 0, 1000, INF], [0, 0, 1, 0, 0], [0] * 5),
    ("sinh", np.sinh, [0, INF, 1000], [1, INF, INF], None),
    ("cosh", np.cosh, [0, INF, 1000], [0, INF, INF], None),
    ("tan", np.tan, [0, np.pi / 4], [1, 2], [0, 4]),
    ("arctan", np.arctan, [0, INF, -INF, 1e200], [1, 0, 0, 0], None),
    ("arcsin", np.arcsin, [-1, 0, 1], [INF, 1, INF], None),
    ("arccos", np.arccos, [-1, 0, 1], [-INF, -1, -INF], None),
    ("arctanh", np.arctanh, [-1, 0, 1], [INF, 1, INF], None),
    ("arcsinh", np.arcsinh, [0, INF, 1e200], [1, 0, 1e-200], None),
    ("arccosh", np.arccosh, [1, INF, 1e200], [INF, 0, 1e-200], None),
    ("x ** 0", lambda x: x**0, [0, 2, -2], [0] * 3, [0] * 3),
    ("x ** 1", lambda x: x**1, [0, 2, -2], [1] * 3, [0] * 3),
    ("x ** 2", lambda x: x**2, [0, 2, -2], [0, 4, -4], [2] * 3),
    ("x ** 3.0", lambda x: x**3.0, [0, 2, -2], [0, 12, 12], [0, 12, -12]),
    ("x ** -1.0", lambda x: x**-1.0, [0, 2, -2], [-INF, -0.25, -0.25], None),
    ("power(x, 2.0)", lambda x: np.power(x, 2.0), [0, 2, -2], [0, 4, -4], [2] * 3),
    ("float_power(x, 0)", lambda x: np.float_power(x, 0), [0, 2, -2], [0] * 3, [0] * 3),
    ("x ** 0.5", lambda x: x**0.5, [0, 4], [INF, 0.25], None),
    ("x ** 1.5", lambda x: x**1.5, [0, 4], [0, 3], [INF, 0.375]),
    ("0 ** y", lambda y: 0.0**y, [0.5, 1, 2], [0] * 3, [0] * 3),
    ("1 ** y", lambda y: 1.0**y, [0, 2], [0, 0], [0, 0]),
    ("2 ** y", lambda y: 2.0**y, [0, -INF, 3], [LN2, 0, 8 * LN2], [LN2**2, 0, 8 * LN2**2]),
    ("x ** x", lambda x: x**x, [1, 2], [1, 4 * (1 + LN2)], [2, 4 * ((1 + LN2) ** 2 + 0.5)]),
    ("logaddexp(x, 0)", lambda x: np.logaddexp(x, 0.0), [-INF, -1000, 0, 1000, INF], [0, 0, 0.5, 1, 1], [0, 0, 0.25, 0, 0]),
    ("logaddexp(0, x)", lambda x: np.logaddexp(0.0, x), [-INF, -1000, 0, 1000, INF], [0, 0, 0.5, 1, 1], [0, 0, 0.25, 0, 0]),
    ("logaddexp(x, -inf)", lambda x: np.logaddexp(x, -INF), [0, 5], [1, 1], [0, 0]),
    ("logaddexp(x, x)", lambda x: np.logaddexp(x, x), [0, INF, -INF], [1, 1, 1], [0, 0, 0]),
    ("logaddexp2(x, 0)", lambda x: np.logaddexp2(x, 0.0), [-2000, 0, 2000], [0, 0.5, 1], [0, 0.25 * LN2, 0]),
    ("hypot(x, 0)", lambda x: np.hypot(x, 0.0), [-2, 0, 2], [-1, 0, 1], None),
    ("hypot(x, x)", lambda x: np.hypot(x, x), [-2, 0, 2], [-(2**0.5), 0, 2**0.5], None),
    ("hypot far out", lambda x: np.hypot(x, 1e200), [1e200], [0.5**0.5], None),
    ("arctan2(x, 0)", lambda x: np.arctan2(x, 0.0), [1, -1], [0, 0], None),
    ("arctan2(1, x)", lambda x: np.arctan2(1.0, x), [0, -1], [-1, -0.5], None),
    ("arctan2 far out", lambda x: np.arctan2(x, 1e200), [1e200], [0.5e-200], None),
    ("arctan2 near", lambda x: np.arctan2(x, 1e-200), [1e-200], [0.5e200], None),
    ("maximum(x, 1)", lambda x: np.maximum(x, 1.0), [0, 1, 2, INF], [0, 0.5, 1, 1], [0] * 4),
    ("maximum(x, x)", lambda x: np.maximum(x, x), [0, 1], [1, 1], [0, 0]),
    ("minimum(x, 1)", lambda x: np.minimum(x, 1.0), [0, 1, 2, INF, -INF], [1, 0.5, 0, 0, 1], [0] * 5),
    ("minimum(1, x)", lambda x: np.minimum(1.0, x), [0, 1, 2, INF, -INF], [1, 0.5, 0, 0, 1], [0] * 5),
    ("maximum(nan, 0)", lambda x: np.maximum(x, 0.0), [NAN], [1], None),
    ("maximum(x, nan)", lambda x: np.maximum(x, NAN), [1], [0], None),
    ("minimum(x, nan)", lambda x: np.minimum(x, NAN), [1], [0], None),
    ("fmax(x, 0)", lambda x: np.fmax(x, 0.0), [NAN, 1, -1, 0], [0, 1, 0, 0.5], None),
    ("fmax(x, nan)", lambda x: np.fmax(x, NAN), [1], [1], None),
    ("fmin(nan, x)", lambda x: np.fmin(NAN, x), [1], [1], None),
    ("clip", lambda x: np.clip(x, 0.0, 1.0), [-1, 0, 0.5, 1, 2], [0, 0.5, 1, 0.5, 0], [0] * 5),
    ("copysign(x, -1)", lambda x: np.copysign(x, -1.0), [2, -2], [-1, 1], [0, 0]),
    ("copysign(1, x)", lambda x: np.copysign(1.0, x) * x, [2, -2], [1, -1], [0, 0]),
    ("x % 2", lambda x: x % 2.0, [3.5, -3.5], [1, 1], [0, 0]),
    ("7 % y", lambda y: 7.0 % y, [2, -2, 3], [-3, 4, -2], [0] * 3),
    ("fmod(7, y)", lambda y: np.fmod(7.0, y), [2, -2, 3], [-3, 3, -2], [0] * 3),
    ("modf", lambda x: np.modf(x)[0], [3.5, -3.5], [1, 1], [0, 0]),
    ("frexp", lambda x: np.frexp(x)[0], [3.5, 8], [0.25, 1 / 16], [0, 0]),
    ("relu", nn.relu, [-INF, -1, 0, 1, INF], [0, 0, 0, 1, 1], [0] * 5),
    ("sigmoid", nn.sigmoid, [-INF, -1000, -700, 0, 1000, INF], [0, 0, float(np.exp(-700.0)), 0.25, 0, 0],
     [0, 0, float(np.exp(-700.0)), 0, 0, 0]),
]  # fmt: skip

# strong zeros: what was not picked has no part in it, however singular
GUARDED: list[tuple[str, Any, list[float], list[float], list[float] | None]] = [
    ("log", lambda x: np.where(x > 0, np.log(x), 0.0), [0, 2], [0, 0.5], [0, -0.25]),
    ("sqrt", lambda x: np.where(x > 0, np.sqrt(x), 0.0), [0, 4], [0, 0.25], [0, -1 / 32]),
    ("sqrt of a square", lambda x: np.where(x != 0, np.sqrt(x * x), 0.0), [0, -2], [0, -1], [0, 0]),
    ("x / x", lambda x: np.where(x > 0, x / x, 1.0), [0, 2], [0, 0], [0, 0]),
    ("1 / x", lambda x: np.where(x > 0, 1 / x, 1.0), [0, 2], [0, -0.25], [0, 0.25]),
    ("power", lambda x: np.where(x > 0, x**0.5, 0.0), [0, 4], [0, 0.25], [0, -1 / 32]),
    ("x log x", lambda x: np.where(x > 0, x * np.log(x), 0.0), [0, 1], [0, 1], [0, 1]),
    ("arcsin", lambda x: np.where(x < 1, np.arcsin(x), 0.0), [1, 0], [0, 1], [0, 0]),
    ("overflow", lambda x: np.where(x < 10, np.exp(x), 0.0), [1000, 0], [0, 1], [0, 1]),
    ("pole", lambda x: np.where(x < 10, 1.0 / (x - 20.0), 0.0), [20, 19], [0, 0], [0, 0]),
]  # fmt: skip


def assert_equal(got: Any, wanted: Any, what: str) -> None:
    np.testing.assert_allclose(np.array(got, float), np.array(wanted, float), rtol=1e-13, atol=1e-300, err_msg=what)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # f's own, at its poles
@pytest.mark.parametrize(("name", "f", "points", "first", "second"), POINTS + GUARDED, ids=[row[0] for row in POINTS + GUARDED])
def test_elementwise(name: str, f: Any, points: Any, first: Any, second: Any):
    x = np.array(points, float)
    ones = np.ones_like(x)

    def forward(y: Any) -> Any:
        return jvp(f, (y,), (ones,))[1]

    def reverse(y: Any) -> Any:
        return vjp(f, y)[1](ones)[0]

    assert_equal(forward(x), first, "forward")
    assert_equal(reverse(x), first, "reverse")
    floats = [grad(f)(point) for point in x.tolist()] + [jvp(f, (point,), (1.0,))[1] for point in x.tolist()]
    assert_equal(floats, [*first, *first], "on Python floats")
    assert all(type(one) is float for one in floats)
    if second is not None:
        for inner in (forward, reverse):
            assert_equal(jvp(inner, (x,), (ones,))[1], second, f"forward over {inner.__name__}")
            assert_equal(vjp(inner, x)[1](ones)[0], second, f"reverse over {inner.__name__}")
        assert_equal([grad(grad(f))(point) for point in x.tolist()], second, "on Python floats")
        assert_equal([jvp(grad(f), (point,), (1.0,))[1] for point in x.tolist()], second, "on Python floats")


@pytest.mark.parametrize("exponent", [int, float, np.int64, np.float64, np.array])
def test_polynomial_at_zero(exponent: Any):
    assert grad(lambda z: sum(c * z ** exponent(k) for c, k in zip([5.0, 7.0, 2.0], range(3), strict=True)))(0.0) == 7.0


@pytest.mark.parametrize("dtype", [int, float])
def test_polynomial_at_zero_by_an_array_of_exponents(dtype: Any):
    c, k = A([5.0, 7.0, 2.0]), np.arange(3).astype(dtype)
    for f in (lambda z: np.sum(c * z**k), lambda z: np.sum(c * np.power(z, k)), lambda z: np.sum(c * np.float_power(z, k))):
        assert grad(f)(0.0) == 7.0
        assert grad(grad(f))(0.0) == 4.0
        assert jvp(f, (0.0,), (1.0,))[1] == 7.0


# ------------------------------------------------------------------------------------------------ reductions


def test_products_with_zeros_are_exact():
    assert_equal(grad(np.prod)(A([2.0, 0.0, 3.0, 4.0])), [0, 24, 0, 0], "one zero")
    assert_equal(grad(np.prod)(A([2.0, 0.0, 0.0, 4.0])), [0, 0, 0, 0], "two zeros")
    rows = A([[2.0, 0.0, 3.0], [1.0, 2.0, 3.0], [0.0, 0.0, 7.0]])
    assert_equal(grad(lambda x: np.sum(np.prod(x, axis=1)))(rows), [[0, 6, 0], [6, 3, 2], [0, 0, 0]], "rows")
    wanted = np.zeros((3, 3))
    wanted[0, 2] = wanted[2, 0] = 5.0
    assert_equal(hessian(np.prod)(A([0.0, 5.0, 0.0])), wanted, "hessian")
    assert_equal(jacfwd(lambda x: np.prod(x, axis=0))(A([[0.0, 1.0], [0.0, 3.0]])), [[[0, 0], [0, 0]], [[0, 3], [0, 1]]], "forward")


def test_ties_in_max_and_min_share_equally():
    assert_equal(grad(np.max)(A([1.0, 3.0, 3.0, 2.0])), [0, 0.5, 0.5, 0], "max")
    assert_equal(grad(np.min)(A([1.0, 1.0, 1.0, 2.0])), [1 / 3, 1 / 3, 1 / 3, 0], "min")
    x = A([[1.0, 1.0], [2.0, 0.0]])
    assert_equal(grad(lambda x: np.sum(x.max(axis=1)))(x), [[0.5, 0.5], [1, 0]], "rows")
    assert_equal(grad(lambda x: np.sum(x.max(axis=0, keepdims=True)))(x), [[0, 1], [1, 0]], "columns")
    assert jvp(np.max, (A([3.0, 3.0]),), (A([1.0, 2.0]),))[1] == 1.5
    assert_equal(hessian(np.max)(A([3.0, 3.0])), np.zeros((2, 2)), "second order")
    assert_equal(grad(np.max)(A([INF, 1.0, INF])), [0.5, 0, 0.5], "infinite")
    assert_equal(grad(np.max)(A([NAN, 1.0])), [1, 0], "NaN is the largest")


def test_ties_of_two_operands_share_equally():
    for f in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert grad(f, (0, 1))(2.0, 2.0) == (0.5, 0.5)
        ones = np.ones(2)
        for part in vjp(f, A([2.0, 2.0]), A([2.0, 2.0]))[1](ones):
            assert_equal(part, [0.5, 0.5], f.__name__)


def test_spread_of_equal_numbers():
    x = np.full(3, 2.0)
    assert_equal(grad(np.std)(x), [0, 0, 0], "std is as |x| at 0")
    assert_equal(grad(np.var)(x), [0, 0, 0], "var")
    assert jvp(np.std, (x,), (A([1.0, 0.0, 0.0]),))[1] == 0.0
    assert_equal(hessian(np.var)(x), (np.eye(3) - 1 / 3) * 2 / 3, "second order")


def test_logsumexp_far_out():
    def f(x: Any) -> Any:
        return logsumexp(x, None, False)

    assert f(A([1000.0, 1000.0])) == pytest.approx(1000 + LN2, rel=1e-15)
    assert_equal(grad(f)(A([1000.0, 1000.0, -1000.0])), [0.5, 0.5, 0], "large")
    assert_equal(grad(f)(A([-INF, 0.0])), [0, 1], "an empty class")
    assert_equal(grad(f)(A([INF, 0.0])), [1, 0], "infinite")
    assert f(A([-INF, -INF])) == -INF
    assert_equal(hessian(f)(A([0.0, 0.0])), [[0.25, -0.25], [-0.25, 0.25]], "second order")


# ------------------------------------------------------------------------------------------------ indexing and shapes


def test_repeated_indices_accumulate():
    assert_equal(grad(lambda x: np.sum(x[[0, 0, 1]] ** 2))(A([2.0, 3.0])), [8, 6], "list")
    assert_equal(grad(lambda x: np.sum(x[[[0, -2], [0, 1]]]))(A([2.0, 3.0])), [3, 1], "from both ends")
    assert_equal(grad(lambda x: np.sum(A([1.0, 2.0, 3.0]) * np.take(x, [1, 1, 1])))(A([2.0, 3.0])), [0, 6], "take")
    assert_equal(grad(lambda x: np.sum(x[np.array([0, 0]), np.array([1, 1])]))(np.ones((2, 2))), [[0, 2], [0, 0]], "pairs")


def test_where_that_broadcasts():
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.where([[True], [False]], x, y) * A([1.0, 2.0, 3.0]))

    of_x, of_y = grad(f, (0, 1))(2.0, np.ones(3))
    assert of_x == 6.0
    assert type(of_x) is float
    assert_equal(of_y, [1, 2, 3], "y")


def test_einsum_corners():
    x = A([[1.0, 2.0], [3.0, 4.0]])
    assert_equal(grad(lambda x: np.einsum("ii->", x))(x), np.eye(2), "trace")
    y = A([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert_equal(grad(lambda m: np.sum(np.einsum("nd,nn->d", y, m)))(np.ones((2, 2))), np.diag([6.0, 15.0]), "diagonal")
    parts = grad(lambda a, b: np.einsum("i,i", a, b), (0, 1))(A([2.0, 5.0]), A([3.0]))
    assert_equal(parts[0], [3, 3], "against an axis of size 1")
    assert_equal(parts[1], [7], "an axis of size 1")


def test_zeros_meet_infinities_in_contractions():
    """A cotangent of exactly zero passes an infinite operand by."""
    m = A([[INF, 0.0], [0.0, 1.0]])

    def f(x: Any) -> Any:
        return np.where(A([False, True]), m @ x, 0.0).sum()

    with np.errstate(invalid="ignore"):
        assert_equal(grad(f)(A([1.0, 2.0])), [0, 1], "reverse")
        assert jvp(f, (A([1.0, 2.0]),), (A([0.0, 1.0]),))[1] == 1.0


def test_zeros_meet_infinities_in_products():
    x = A([[2.0, 3.0], [INF, 0.0]])

    def f(x: Any) -> Any:
        return np.where(A([True, False]), np.prod(x, axis=1), 0.0).sum()

    with np.errstate(invalid="ignore"):
        assert_equal(grad(f)(x), [[3, 2], [0, 0]], "reverse")
        assert jvp(f, (x,), (A([[1.0, 10.0], [0.0, 0.0]]),))[1] == 23.0


def test_a_row_that_is_not_finite_leaves_the_others_alone():
    with np.errstate(invalid="ignore"):
        got = grad(nn.softmax_cross_entropy)(A([[INF, 0.0], [0.0, 0.0]]), A([0, 1]))
    assert_equal(got[1], [0.25, -0.25], "a softmax of two equal logits, less the target, over two rows")


# ------------------------------------------------------------------------------------------------ dtypes and long programs


def test_float32_gradients():
    x = A([[1.0, 2.0], [0.5, 3.0]], np.float32)
    cases = [
        (lambda x: np.sum(np.max(x, axis=1)), [[0, 1], [0, 1]]),
        (lambda x: np.sum(x**2) * 0.5, x),
        (np.mean, np.full((2, 2), 0.25)),
        (lambda x: np.sum(np.where(x > 1, x, 0)), [[0, 1], [0, 1]]),
        (np.std, (x - x.mean()) / (4 * x.std())),
    ]
    for f, wanted in cases:
        got = grad(f)(x)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_guarded_singularity_with_a_safe_argument():
    def f(x: Any) -> Any:
        s = np.where(x > 0, x, 1.0)
        return np.sum(np.where(x > 0, np.sqrt(s) + np.log(s), 0.0))

    x = A([-3.0, 0.0, 4.0])
    assert_equal(grad(f)(x), [0, 0, 0.5], "gradient")
    assert jvp(f, (x,), (np.ones(3),))[1] == 0.5
    assert_equal(np.diag(hessian(f)(x)), [0, 0, -0.09375], "hessian")


def test_deep_and_wide():
    def deep(x: Any) -> Any:
        for _ in range(5000):
            x = x + 0.001 * np.sin(x)
        return x

    def wide(y: Any) -> Any:
        for _ in range(100):
            y = 0.5 * (y + y)
        return y * y

    assert grad(deep)(0.1) == pytest.approx(2.653236534184312, rel=1e-13)
    assert jvp(deep, (0.1,), (1.0,))[1] == pytest.approx(2.653236534184312, rel=1e-13)
    assert grad(wide)(3.0) == 6.0


def test_unused_leaves_get_zeros():
    params = {"used": A([1.0, 2.0]), "not": A([[1.0]], np.float32), "number": 3.0, "none": None}
    got = grad(lambda p: np.sum(p["used"] ** 2))(params)
    assert tree.structure(got) == tree.structure(params)
    assert_equal(got["used"], [2, 4], "used")
    assert_equal(got["not"], [[0]], "not used")
    assert got["not"].dtype == np.float32
    assert got["number"] == 0.0
    assert type(got["number"]) is float


def test_mixed_derivatives_of_powers_where_the_exponent_is_zero():
    """d/dy d/dx x**y = x**(y - 1) (1 + y log x): 1/x at y = 0, in any order."""
    for x, y in ((0.7, 0.0), (np.float64(0.7), np.float64(0.0)), (np.array(0.7), np.array(0.0)), (0.7, 1.0)):
        right = x ** (y - 1) * (1 + y * np.log(x))
        for power in (np.power, np.float_power, lambda x, y: x**y):
            assert float(grad(grad(power, 0), 1)(x, y)) == pytest.approx(float(right), rel=1e-14)
            assert float(grad(grad(power, 1), 0)(x, y)) == pytest.approx(float(right), rel=1e-14)


def test_softmax_keeps_its_digits_where_the_numbers_are_large():
    for x in ([1000.0, 1000.0], [-1e8, -1e8], [np.inf, np.inf]):
        np.testing.assert_array_equal(grad(lambda x: logsumexp(x, None, False))(np.array(x)), [0.5, 0.5])


def test_exponents_of_small_unsigned_integers():
    np.testing.assert_array_equal(grad(lambda x: np.sum(x ** np.array([0, 1, 2], np.uint8)))(np.array([3.0, 3.0, 3.0])), [0.0, 1.0, 6.0])


def test_forward_mode_within_makes_no_warnings_on_python_floats():
    for second in (
        lambda f, x: jvp(lambda x: jvp(f, (x,), (1.0,))[1], (x,), (1.0,)),
        lambda f, x: grad(lambda x: jvp(f, (x,), (1.0,))[1])(x),
    ):
        second(np.sqrt, 0.0)
