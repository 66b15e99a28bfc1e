"""Primitives of the user's: right in both modes and to higher order, and told what is wrong with them; funcgrad's own are left alone."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import extend, grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, make_tape, stop_gradient, vjp
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, NoRuleError
from funcgrad.extend import registry
from funcgrad.primitive import OPERATIONS, PRIMITIVES
from funcgrad.testing import check_grads
from funcgrad.tracer import Tracer
from funcgrad.transforms.batching import vmap

A = np.array
X = A([0.5, -1.2, 2.0])
M = A([[3.0, 1.0], [0.5, 2.0]])
B = A([1.0, 2.0])


@pytest.fixture(autouse=True)
def _primitives_are_forgotten():
    before = dict(registry._DEFINED)
    yield
    registry._DEFINED.clear()
    registry._DEFINED.update(before)
    for function in registry._REGISTERED:
        del OPERATIONS[function]
    registry._REGISTERED.clear()


def opaque(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes no tracers, as compiled code does not."""

    @functools.wraps(f)
    def plain(*args: Any, **options: Any) -> Any:
        assert not any(isinstance(one, Tracer) for one in (*args, *options.values()))
        return f(*args, **options)

    return plain


# ------------------------------------------------------------------------------------------------ the kinds


def softsign() -> Any:
    return extend.unary(opaque(lambda x: x / (1.0 + abs(x))), lambda t, x: t / (1.0 + np.abs(x)) ** 2, name="softsign")


def logistic() -> Any:
    return extend.unary(
        opaque(lambda x: 1.0 / (1.0 + np.exp(-x))), lambda t, ans: t * ans * (1.0 - ans), lambda x: 1.0 / (1.0 + math.exp(-x)), "logistic"
    )


def ratio() -> Any:
    return extend.binary(opaque(lambda x, y: x / y), lambda t, y: t / y, lambda t, y, ans: -t * ans / y, name="ratio")


def shifted() -> Any:
    return extend.binary(opaque(lambda x, y: x + y**3), None, lambda t, y: 3.0 * y * y * t, lambda x, y: x + y**3, "shifted")


def blend() -> Any:
    return extend.elementwise(
        opaque(lambda w, x, y: w * x + (1.0 - w) * y),
        lambda t, w, x, y: t * (x - y),
        lambda t, w, x, y: t * w,
        lambda t, w, x, y: t * (1.0 - w),
        name="blend",
    )


def every_other() -> Any:
    def back(ct: Any, shape: Any, step: int) -> Any:
        return np.reshape(np.stack([ct, *[np.zeros(np.shape(ct))] * (step - 1)], axis=-1), shape)

    return extend.linear(opaque(lambda x, step: x[::step]), back, name="every_other")


def bilinear_form() -> Any:
    return extend.multilinear(
        opaque(lambda x, a, y: x @ a @ y),
        lambda ct, x, a, y: ct * (a @ y),
        lambda ct, x, a, y: ct * np.outer(x, y),
        lambda ct, x, a, y: ct * (x @ a),
        name="bilinear_form",
    )


FORTH = [lambda t, x, a, b: -np.linalg.solve(a, t @ x), lambda t, x, a, b: np.linalg.solve(a, t)]
BACK = [lambda ct, x, a, b: -np.outer(np.linalg.solve(a.T, ct), x), lambda ct, x, a, b: np.linalg.solve(a.T, ct)]
SOLVE = opaque(lambda a, b: np.linalg.solve(a, b))


def length() -> Any:
    return extend.composed(opaque(lambda x: math.hypot(*x)), lambda x: np.sqrt(np.sum(x * x)), name="toy_length")


def weighted() -> Any:
    return extend.composed(opaque(lambda x, y, power: (x * y) ** power), lambda x, y, power: x**power * y**power, arrays=2, name="weighted")


def root() -> Any:
    def rules_of(times: Any) -> Any:
        return [lambda t, ans, x: times(t, 0.5 / ans)], [lambda ct, ans, x: times(ct, 0.5 / ans)]

    return extend.products(opaque(lambda x: np.sqrt(x)), rules_of, name="square_root")


KINDS: dict[str, tuple[Callable[[], Any], Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    # how it is defined; the same in NumPy; operands; static arguments
    "unary": (softsign, lambda x: x / (1.0 + np.abs(x)), (X,), ()),
    "unary of a float": (softsign, lambda x: x / (1.0 + np.abs(x)), (-0.7,), ()),
    "unary with its answer": (logistic, lambda x: 1.0 / (1.0 + np.exp(-x)), (X,), ()),
    "unary with a scalar": (logistic, lambda x: 1.0 / (1.0 + np.exp(-x)), (0.3,), ()),
    "binary": (ratio, lambda x, y: x / y, (X, X + 2.0), ()),
    "binary, stretched": (ratio, lambda x, y: x / y, (X, A([[1.5], [2.5]])), ()),
    "binary of floats": (ratio, lambda x, y: x / y, (0.7, 1.3), ()),
    "binary with an identity": (shifted, lambda x, y: x + y**3, (X, 0.4), ()),
    "elementwise": (blend, lambda w, x, y: w * x + (1.0 - w) * y, (0.3, X, A([[0.1], [0.4]])), ()),
    "linear": (every_other, lambda x, step: x[::step], (A([1.0, 2.0, 3.0, 4.0]),), (2,)),
    "multilinear": (bilinear_form, lambda x, a, y: x @ a @ y, (B, M, A([0.3, 0.7])), ()),
    "general": (lambda: extend.general(SOLVE, FORTH, BACK, name="solver"), np.linalg.solve, (M, B), ()),
    "general without vjps": (lambda: extend.general(SOLVE, FORTH, name="solver"), np.linalg.solve, (M, B), ()),
    "general without jvps": (lambda: extend.general(SOLVE, vjps=BACK, name="solver"), np.linalg.solve, (M, B), ()),
    "general, half and half": (
        lambda: extend.general(SOLVE, [FORTH[0], None], [None, BACK[1]], name="solver"),
        np.linalg.solve,
        (M, B),
        (),
    ),
    "general without a jvp, of operands alone": (
        lambda: extend.general(opaque(lambda x: x * x), vjps=[lambda ct, ans, x: 2.0 * ct * x], keeps="x", name="squared"),
        np.square,
        (X,),
        (),
    ),
    "composed": (length, lambda x: np.sqrt(np.sum(x * x)), (X,), ()),
    "composed of two": (weighted, lambda x, y, power: (x * y) ** power, (X, X + 3.0), (2,)),
    "products": (root, np.sqrt, (np.abs(X),), ()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_agree_with_differences(kind: str):
    define, _, operands, static = KINDS[kind]
    made = define()
    check_grads(lambda *operands: made(*operands, *static), operands, order=3 if len(operands) == 1 else 2)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_that_of_the_function_in_numpy(kind: str):
    define, same, operands, static = KINDS[kind]
    made = define()
    places = tuple(range(len(operands)))

    def weighed(f: Any) -> Callable[..., Any]:
        return lambda *operands: np.sum(np.cos(f(*operands, *static)))

    for transform in (
        lambda f: (made if f is made else same)(*operands, *static),
        lambda f: grad(weighed(f), places)(*operands),
        lambda f: jacfwd(lambda *operands: f(*operands, *static), places)(*operands),
        lambda f: jacrev(lambda *operands: f(*operands, *static), places)(*operands),
        lambda f: hessian(weighed(f), places)(*operands),
        lambda f: jacrev(jacfwd(weighed(f), places), places)(*operands),
        lambda f: jvp(weighed(f), operands, operands),
        lambda f: linearize(weighed(f), *operands)[1](*operands),
        lambda f: vjp(weighed(f), *operands)[1](np.float64(1.0)),
        lambda f: grad(lambda c: np.sum(grad(lambda x: weighed(f)(c * x, *operands[1:]))(operands[0])))(2.0),  # in two scopes
    ):
        flat = [np.concatenate([np.ravel(leaf) for leaf in leaves(transform(f))]) for f in (made, same)]
        np.testing.assert_allclose(flat[0], flat[1], rtol=1e-12, atol=1e-13)


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("kind", KINDS)
def test_each_argument_alone(kind: str):
    define, same, operands, static = KINDS[kind]
    made = define()
    for n, operand in enumerate(operands):
        for transform in (jacfwd, jacrev):
            got, wanted = (transform(lambda x: f(*operands[:n], x, *operands[n + 1 :], *static))(operand) for f in (made, same))  # noqa: B023
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-13)


IN_DOUBLE_PRECISION = {"composed", *(kind for kind in KINDS if "general" in kind or "float" in kind or "scalar" in kind)}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in IN_DOUBLE_PRECISION])
def test_dtypes_are_kept(kind: str):
    define, _, operands, static = KINDS[kind]
    made = define()
    narrow = tuple(np.float32(operand) if type(operand) is float else operand.astype(np.float32) for operand in operands)
    value, pullback = vjp(lambda *operands: made(*operands, *static), *narrow)
    assert value.dtype == np.float32
    assert {part.dtype for part in pullback(value)} == {np.dtype(np.float32)}
    assert jvp(lambda *operands: made(*operands, *static), narrow, narrow)[1].dtype == np.float32


EXAMPLES = 3

OF_ONE: dict[str, Callable[..., Any]] = {
    "value": lambda f, n: f,
    "grad": lambda f, n: grad(lambda *operands: np.sum(np.cos(f(*operands))), n),
    "jacfwd": lambda f, n: jacfwd(f, n),
    "hessian": lambda f, n: hessian(lambda *operands: np.sum(np.cos(f(*operands))), n),
}


@pytest.mark.parametrize("transform", OF_ONE)
@pytest.mark.parametrize("kind", KINDS)
def test_vmap_is_a_loop(kind: str, transform: str):
    define, same, operands, static = KINDS[kind]
    made = define()
    places = tuple(range(len(operands)))
    mapped = tuple(np.stack([np.asarray(operand) * (1.0 + 0.1 * k) for k in range(EXAMPLES)]) for operand in operands)
    of_made, of_same = (OF_ONE[transform](lambda *operands, f=f: f(*operands, *static), places) for f in (made, same))
    columns = zip(*(leaves(of_same(*(operand[k] for operand in mapped))) for k in range(EXAMPLES)), strict=True)
    for got, wanted in zip(leaves(vmap(of_made)(*mapped)), columns, strict=True):
        np.testing.assert_allclose(got, np.stack(wanted), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_vmap(kind: str):
    define, same, operands, static = KINDS[kind]
    made = define()
    places = tuple(range(len(operands)))
    mapped = tuple(np.stack([np.asarray(operand) * (1.0 + 0.1 * k) for k in range(EXAMPLES)]) for operand in operands)

    def at_once(*mapped: Any) -> Any:
        return np.sum(np.cos(vmap(lambda *operands: made(*operands, *static))(*mapped)))

    def one_by_one(*mapped: Any) -> Any:
        return sum(np.sum(np.cos(same(*(operand[k] for operand in mapped), *static))) for k in range(EXAMPLES))

    for got, wanted in zip(grad(at_once, places)(*mapped), grad(one_by_one, places)(*mapped), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-13)


def test_vmap_of_an_elementwise_function_is_one_call():
    calls: list[Any] = []

    def function(x: Any, y: Any) -> Any:
        calls.append((np.shape(x), np.shape(y)))
        return x * y

    made = extend.binary(opaque(function), lambda t, y: t * y, lambda t, x: t * x, name="toy")
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(vmap(made, in_axes=(0, None))(x, A([[1.0], [2.0]])), x[:, None] * A([[1.0], [2.0]]))
    assert calls == [((3, 1, 2), (2, 1))]


def test_batch_goes_to_the_kind():
    def batch(scope: Any, *args: Any) -> Any:
        seen.append(args)
        return NotImplemented

    seen: list[Any] = []
    made = extend.general(lambda x: 2.0 * x, [twice], [twice], name="toy", batch=batch)
    np.testing.assert_array_equal(vmap(made)(X), 2.0 * X)
    assert len(seen) == 1


def test_python_floats_stay_python_floats():
    for made, args in ((softsign(), (0.7,)), (logistic(), (0.7,)), (ratio(), (0.7, 0.3)), (blend(), (0.7, 0.3, 0.2))):
        assert type(made(*args)) is float
        assert {type(part) for part in vjp(made, *args)[1](1.0)} == {float}
        assert type(jvp(made, args, args)[1]) is float


def test_complex_numbers():
    z, w = M + 0.3j * M[::-1], B * (1.0 + 2.0j)
    for jvps, vjps in ((FORTH, BACK), (FORTH, None), (None, BACK)):
        made = extend.general(SOLVE, jvps, vjps, name="solver")
        for args in ((z, w), (z, B), (M, w)):
            check_grads(made, args)
            got, wanted = (
                grad(lambda a, b: np.sum(np.abs(f(a, b)) ** 2), (0, 1))(*args)  # noqa: B023
                for f in (made, np.linalg.solve)
            )
            for one, other in zip(got, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
    modulus = extend.unary(lambda z: np.abs(z), lambda t, x: t * np.conj(x) / np.abs(x), name="modulus", is_real=True)
    np.testing.assert_allclose(grad(lambda z: np.sum(modulus(z)))(w), grad(lambda z: np.sum(np.abs(z)))(w), rtol=1e-14)
    turn = extend.unary(lambda x: np.exp(1j * x), lambda t, x: 1j * t * np.exp(1j * x), name="turn")  # complex where x is real
    check_grads(turn, (X,))
    np.testing.assert_allclose(grad(lambda x: np.sum(turn(x).real))(X), -np.sin(X), rtol=1e-14)
    size = extend.general(lambda z: np.abs(z), jvps=[lambda t, ans, z: np.real(t * np.conj(z)) / ans], name="magnitude")
    check_grads(size, (w,))
    np.testing.assert_allclose(grad(lambda z: np.sum(size(z)))(w), grad(lambda z: np.sum(np.abs(z)))(w), rtol=1e-14)


def test_zeros_are_kept():
    x = A([0.0, 4.0])
    with np.errstate(all="ignore"):
        for made in (
            root(),
            extend.unary(lambda x: np.sqrt(x), lambda t, ans: 0.5 * t / ans, name="root_of_one"),
            extend.elementwise(lambda x, y: np.sqrt(x) + y, lambda t, x, y: 0.5 * t / np.sqrt(x), lambda t, x, y: t, name="root_plus"),
        ):
            rest = [1.0] if made.__name__ == "root_plus" else []
            f = lambda x: np.sum(np.where(x > 0.0, made(x, *rest), 0.0))  # noqa: B023
            np.testing.assert_array_equal(grad(f)(x), [0.0, 0.25])
            np.testing.assert_array_equal(jacfwd(f)(x), [0.0, 0.25])


def test_what_is_not_differentiated():
    steps = extend.nondifferentiable(opaque(lambda x, digits=0: np.round(x, digits)), name="steps")
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * steps(x)))(X), np.round(X))
    assert extend.nondifferentiable(lambda x: (1, "two"), name="pair")(3.0) == (1, "two")
    condition = extend.elementwise(opaque(lambda c, x: np.where(c, x, 0.0)), None, lambda t, c, x: np.where(c, t, 0.0), name="only")
    np.testing.assert_array_equal(grad(lambda x: np.sum(condition(x > 0.0, x)))(X), [1.0, 0.0, 1.0])


def test_keywords_and_static_arguments_are_passed_on():
    def nth_power(x: Any, n: int, *, scale: float = 1.0) -> Any:
        return scale * x**n

    made = extend.general(
        nth_power,
        jvps=[lambda t, ans, x, n, scale=1.0: scale * n * x ** (n - 1) * t],
        vjps=[lambda ct, ans, x, n, scale=1.0: scale * n * x ** (n - 1) * ct],
        keeps="x",
    )
    assert made.__name__ == "nth_power"
    check_grads(lambda x: made(x, 3, scale=2.0), (X,))
    assert grad(lambda x: made(x, 2, scale=0.5))(3.0) == 3.0


def test_residuals_are_what_the_rule_asks_for():
    seen: list[Any] = []

    def rule(t: Any, ans: Any, x: Any) -> Any:
        seen.append((ans, np.ptp(x)))
        return 2.0 * t

    made = extend.general(lambda x: 2.0 * x, [rule], [rule], keeps="", name="twice")
    grad(lambda x: np.sum(made(x)))(X)
    assert seen == [(None, 0.0)]  # a placeholder: shape and dtype only


def test_the_operation_looks_like_the_function():
    def cubed(x: Any) -> Any:
        """The third power."""
        return x**3

    made = extend.unary(cubed, lambda t, x: 3.0 * x * x * t)
    assert (made.__name__, made.__doc__, made.__module__) == ("cubed", "The third power.", __name__)
    assert inspect.unwrap(made) is cubed
    assert "cubed" in str(make_tape(made)(2.0))


# ------------------------------------------------------------------------------------------------ what is wrong is named

Define = Callable[[], Any]


def unary_of(partial: Any, function: Any = lambda x: x * 2.0, **options: Any) -> Any:
    return extend.unary(function, partial, name="toy", **options)


def general_of(jvp_rule: Any = None, vjp_rule: Any = None, function: Any = lambda x: x * 2.0, **options: Any) -> Any:
    return extend.general(function, jvp_rule and [jvp_rule], vjp_rule and [vjp_rule], name="toy", **options)


DEFINITIONS: dict[str, tuple[Define, type[Exception], str]] = {
    "no name": (lambda: extend.unary(lambda x: x, None), InputValueError, r"extend\.unary: .*name='\.\.\.'"),
    "no function": (lambda: extend.general(3.0, name="toy"), InputTypeError, r"extend\.general: the function must be a function, got 3\.0"),
    "name of funcgrad's": (
        lambda: extend.unary(lambda x: x, None, name="sin"),
        InputValueError,
        "extend.unary: the primitive 'sin' is defined already, in funcgrad.*choose another name",
    ),
    "name of NumPy's": (
        lambda: extend.unary(lambda x: x, None, name="bartlett"),
        InputValueError,
        "'bartlett' is the name of a function of numpy: choose another name",
    ),
    "partial without a function": (lambda: unary_of(2.0), InputTypeError, "toy: the partial of argument 0 must be a function, got 2.0"),
    "names of residuals": (
        lambda: unary_of(lambda t, z: t * z),
        InputTypeError,
        r"toy: the partial of argument 0 takes t and then one of x and ans, by these names; got the parameters \('t', 'z'\)",
    ),
    "too many residuals": (lambda: unary_of(lambda t, x, ans: t * x), InputTypeError, "one of x and ans.*'x', 'ans'"),
    "names of two residuals": (
        lambda: extend.binary(lambda a, b: a * b, lambda t, b: t * b, None, name="toy"),
        InputTypeError,
        "toy: the partial of argument 0 takes t and then some of x, y and ans",
    ),
    "source text": (lambda: extend.binary(lambda x, y: x, "t", None, name="toy"), InputTypeError, "toy: the partial of argument 0"),
    "scalar": (lambda: unary_of(lambda t: t, scalar=1.0), InputTypeError, "toy: scalar must be a function"),
    "no rules": (lambda: general_of(), InputValueError, r"toy: give a jvp or a vjp .*jvps=\[\.\.\.\]"),
    "a rule, no list": (
        lambda: extend.general(lambda x: x, lambda t, ans, x: t, name="toy"),
        InputTypeError,
        "toy: jvps must be a list with a rule for each array argument, got a function",
    ),
    "a rule that is none": (lambda: general_of(1.0), InputTypeError, "toy: the jvp of argument 0 must be a function, got 1.0"),
    "an argument without rules": (
        lambda: extend.general(lambda x, y: x, [lambda t, *_: t, None], name="toy"),
        InputValueError,
        "toy: argument 1 has neither a jvp nor a vjp",
    ),
    "numbers of rules": (
        lambda: extend.general(lambda x, y: x, [lambda t, *_: t], [lambda t, *_: t] * 2, name="toy"),
        InputValueError,
        "toy: jvps and vjps must be for the same arguments, got 1 and 2 of them",
    ),
    "keeps": (lambda: general_of(lambda t, *_: t, keeps="y"), InputValueError, "toy: keeps must be 'x', 'ans' or 'x ans', got 'y'"),
    "transpose": (
        lambda: extend.multilinear(lambda x, y: x, 1.0, 2.0, name="toy"),
        InputTypeError,
        "toy: the transpose in argument 0 must be",
    ),
    "composition": (lambda: extend.composed(lambda x: x, 1.0, name="toy"), InputTypeError, "toy: the composition must be a function"),
    "rules of products": (lambda: extend.products(lambda x: x, None, name="toy"), InputTypeError, "toy: rules_of must be a function"),
    "batch": (lambda: general_of(twice, twice, batch=3), InputTypeError, "toy: batch must be a function, got 3"),
    "unknown keywords": (lambda: unary_of(lambda t: t, colour="red"), TypeError, "colour"),
}


@pytest.mark.parametrize("case", DEFINITIONS)
def test_a_wrong_definition_is_refused(case: str):
    define, error, message = DEFINITIONS[case]
    with pytest.raises(error, match=message):
        define()


SUM = np.ones(3)
twice = lambda t, *_: 2.0 * t

WRONG: dict[str, tuple[Define, Any, str, type[Exception], str]] = {
    # how it is defined, where it is differentiated, the modes that meet it, error, message
    "shape of a partial": (
        lambda: unary_of(lambda t, x: np.sum(t * x)), X, "fwd rev", InputValueError,
        r"toy: the partial of argument 0 must return shape \(3,\), as t times the derivative has, got \(\)",
    ),
    "shape of a partial that grows": (
        lambda: unary_of(lambda t, x: t * np.ones((2, 1))), X, "fwd rev", InputValueError,
        r"toy: the partial of argument 0 must return shape \(3,\).* got \(2, 3\)",
    ),
    "None from a partial": (
        lambda: unary_of(lambda t: None), X, "fwd rev", InputTypeError,
        r"toy: the partial of argument 0 must return a number or an array, got None: for a zero return np\.zeros_like\(x\)",
    ),
    "complex partial": (
        lambda: unary_of(lambda t, x: 2.0j * t), X, "fwd rev", InputTypeError,
        "toy: the partial of argument 0 must return dtype float64, that of what it is given, got complex128: take its real part",
    ),
    "text from a partial": (lambda: unary_of(lambda t: "2"), 0.5, "fwd rev", InputTypeError, "a number or an array, got a str"),
    "partial of a second argument": (
        lambda: (lambda f: lambda x: f(A([[1.0], [2.0]]), x))(extend.binary(lambda x, y: x + y, None, lambda t: t[:1], name="toy")), X,
        "fwd rev",
        InputValueError, r"toy: the partial of argument 1 must return shape .*got \(1",
    ),
    "elementwise partial": (
        lambda: extend.elementwise(lambda x: 2.0 * x, lambda t, x: t[:2], name="toy"), X, "fwd rev", InputValueError,
        r"toy: the partial of argument 0 must return shape \(3,\).*got \(2,\)",
    ),
    "shape of a vjp": (
        lambda: general_of(twice, lambda ct, ans, x: np.ones((2, 3))), X, "rev", InputValueError,
        r"toy: the vjp of argument 0 must return shape \(3,\), that of the argument, got \(2, 3\): .*extend\.unbroadcast",
    ),
    "shape of a vjp, smaller": (
        lambda: general_of(twice, lambda ct, ans, x: np.sum(ct)), X, "rev", InputValueError,
        r"toy: the vjp of argument 0 must return shape \(3,\), that of the argument, got \(\)$",
    ),
    "shape of a jvp": (
        lambda: general_of(lambda t, ans, x: t[:, None], twice), X, "fwd", InputValueError,
        r"toy: the jvp of argument 0 must return shape \(3,\), that of the answer, got \(3, 1\)",
    ),
    "complex vjp": (
        lambda: general_of(twice, lambda ct, ans, x: 2j * ct), X, "rev", InputTypeError,
        "toy: the vjp of argument 0 must return dtype float64, .* got complex128: take its real part",
    ),
    "complex jvp": (lambda: general_of(lambda t, ans, x: 2j * t, twice), X, "fwd", InputTypeError, "jvp of argument 0 .* complex128"),
    "complex jvp of a real answer": (
        lambda: general_of(lambda t, ans, z: t * np.conj(z) / ans, twice, lambda z: np.abs(z)), X + 1j, "fwd", InputTypeError,
        "toy: the jvp of argument 0 must return a real tangent, for the answer is real, got complex128",
    ),
    "wide vjp": (
        lambda: general_of(twice, lambda ct, ans, x: np.float64(2.0) * ct.astype(float)), X.astype(np.float32), "rev", InputTypeError,
        "toy: the vjp of argument 0 must return dtype float32, .* got float64: what it computes with is wider than that",
    ),
    "narrow vjp": (
        lambda: general_of(twice, lambda ct, ans, x: np.float32(2.0) * ct.astype(np.float32)), X, "rev", InputTypeError,
        "vjp of argument 0 must return dtype float64, that of what it is given, got float32, which has fewer digits",
    ),
    "narrow jvp": (
        lambda: general_of(lambda t, ans, x: (2.0 * t).astype(np.float32), twice), X, "fwd", InputTypeError,
        "jvp of argument 0 must return dtype float64, that of what it is given, got float32, which has fewer digits",
    ),
    "narrow partial": (
        lambda: unary_of(lambda t, x: (t * x).astype(np.float32)), X, "fwd rev", InputTypeError,
        "partial of argument 0 must return dtype float64, that of what it is given, got float32, which has fewer digits",
    ),
    "whole numbers": (
        lambda: general_of(twice, lambda ct, ans, x: np.zeros(3, int)), X, "rev", InputTypeError,
        "toy: the vjp of argument 0 must return floating-point numbers, got dtype int64",
    ),
    "None from a vjp": (lambda: general_of(twice, lambda *_: None), X, "rev", InputTypeError, "vjp of argument 0 .* got None: for a zero"),
    "tuple from a vjp": (lambda: general_of(twice, lambda ct, *_: (ct,)), X, "rev", InputTypeError, "the vjp of argument 0 .* got a tuple"),
    "None from a jvp": (lambda: general_of(lambda *_: None, twice), X, "fwd", InputTypeError, "the jvp of argument 0 .* got None"),
    "shape of a transpose": (
        lambda: extend.linear(lambda x: x[:2], lambda ct, shape: ct, name="toy"), X, "rev", InputValueError,
        r"toy: the transpose must return shape \(3,\), that of the argument, got \(2,\)",
    ),
    "shape of a transpose in an argument": (
        lambda: (lambda f: lambda x: f(np.ones(3), x))(extend.multilinear(np.dot, twice, lambda ct, x, y: ct, name="toy")), X, "rev",
        InputValueError, r"toy: the transpose in argument 1 must return shape \(3,\), that of the argument, got \(\)",
    ),
    "a transpose that is left out": (
        lambda: extend.linear(lambda x: 2.0 * x, None, name="toy"), X, "rev", NoRuleError,
        r"toy has no transpose in argument 0, and reverse mode \(grad, vjp, jacrev\) needs one: give it to extend\.linear",
    ),
    "one of two that is left out": (
        lambda: (lambda f: lambda x: f(X, x))(extend.multilinear(np.multiply, twice, None, name="toy")), X, "rev", NoRuleError,
        "toy has no transpose in argument 1, and reverse mode",
    ),
    "shape of a composition": (
        lambda: extend.composed(lambda x: np.sum(x), lambda x: np.sum(x, keepdims=True), name="toy"), X, "fwd rev", InputValueError,
        r"toy: the composition must return shape \(\), that of the function's answer, got \(1,\)",
    ),
    "dtype of a composition": (
        lambda: extend.composed(lambda x: 2.0 * x, lambda x: 2.0 * x.astype(complex), name="toy"), X, "fwd rev", InputTypeError,
        "toy: the composition must return dtype float64, that of the function's answer, got complex128",
    ),
    "tuple from a composition": (
        lambda: extend.composed(lambda x: 2.0 * x, lambda x: (x, x), name="toy"), X, "fwd rev", InputTypeError,
        "toy: the composition must return a number or an array, got a tuple",
    ),
    "a vjp that is not there": (
        lambda: general_of(lambda t, ans, x: stopped(t)), X, "rev", NoRuleError,
        r"toy has no vjp for argument 0, which reverse mode \(grad, vjp, jacrev\) needs, and its jvp cannot be transposed for that: "
        r"give one to extend\.general, in vjps",
    ),
    "a jvp that is not there": (
        lambda: general_of(None, lambda ct, ans, x: stopped(ct)), X, "fwd", NoRuleError,
        r"toy has no jvp for argument 0, which forward mode \(jvp, linearize, jacfwd\) needs, and its vjp cannot be transposed .* in jvps",
    ),
    "a rule that is derived from itself": (lambda: recursive(), X, "rev", NoRuleError, "toy has no vjp for argument 0, which reverse mode"),
    "several outputs": (
        lambda: unary_of(lambda t: t, lambda x: (x, x)), X, "fwd rev", InputTypeError,
        r"the function of toy must return a number or an array, got a tuple; for several outputs .*funcgrad\.custom_vjp",
    ),
    "no output": (lambda: general_of(twice, twice, lambda x: None), X, "fwd rev", InputTypeError, "the function of toy .* got None"),
    "an array of objects": (
        lambda: general_of(twice, twice, lambda x: x.astype(object)), X, "fwd rev", InputTypeError,
        "the function of toy must return numbers, got an array of dtype object",
    ),
    "a masked array": (
        lambda: general_of(twice, twice, np.ma.array), X, "fwd rev", InputTypeError, "the function of toy .* got a MaskedArray",
    ),
    "whole numbers of floats": (
        lambda: general_of(twice, twice, lambda x: np.sign(x).astype(int)), X, "fwd rev", InputTypeError,
        "the function of toy must return floating-point numbers for such operands, got int64: use astype, or extend.nondifferentiable",
    ),
    "another shape, elementwise": (
        lambda: unary_of(lambda t: t, lambda x: x[:2]), X, "fwd rev", InputValueError,
        r"toy is elementwise: for operands of shape \(3,\) its answer must have shape \(3,\), got \(2,\): extend\.general is for other",
    ),
    "a scalar of another kind": (
        lambda: unary_of(lambda t: t, scalar=lambda x: "1"), 0.5, "fwd rev", InputTypeError,
        "toy: scalar must return a Python float, got a str",
    ),
    "a static argument that is traced": (
        lambda: (lambda f: lambda x: f(np.ones(3), x))(general_of(twice, twice, lambda x, y: x * 2.0)), X, "fwd rev", NoRuleError,
        r"toy has no derivative in argument 1, which is traced: give a rule for it, or use funcgrad\.stop_gradient",
    ),
    "a static argument of a linear one": (
        lambda: (lambda f: lambda x: f(x, x))(extend.linear(lambda x, y: x, twice, name="toy")), X, "fwd rev", NoRuleError,
        "toy has no derivative in argument 1, which is traced",
    ),
    "a keyword that is traced": (
        lambda: (lambda f: lambda x: f(x, scale=x))(extend.linear(lambda x, scale: x, twice, name="toy")), X, "fwd rev", NoRuleError,
        "toy has no derivative in the keyword scale, which is traced",
    ),
}  # fmt: skip


def stopped(t: Any) -> Any:
    """What compiled code does with a tracer."""
    return np.asarray(2.0 * t)


def recursive() -> Any:
    made: Any = general_of(lambda t, ans, x: made(t))
    return made


@pytest.mark.parametrize("case", WRONG)
def test_what_a_function_returns_wrongly_is_named(case: str):
    define, x, modes, error, message = WRONG[case]
    made = define()
    transforms = {
        "fwd": [lambda: jvp(made, (x,), (x,)), lambda: linearize(made, x)[1](x)],
        "rev": [lambda: (lambda value, pullback: pullback(value))(*vjp(made, x))],
    }
    for mode, runs in transforms.items():
        for run in runs:
            if mode in modes:
                with pytest.raises(error, match=message):
                    run()
            else:
                run()


def test_errors_are_the_same_inside_another_transform():
    made = general_of(twice, lambda ct, ans, x: np.sum(ct))
    with pytest.raises(InputValueError, match="toy: the vjp of argument 0 must return shape"):
        grad(lambda c: np.sum(grad(lambda x: np.sum(made(c * x)))(X)))(2.0)
    with pytest.raises(InputValueError, match="toy: the vjp of argument 0 must return shape"):
        hvp(lambda x: np.sum(made(x) ** 2))(X, X)


def test_the_cause_of_a_rule_derived_from_itself_is_told():
    with pytest.raises(NoRuleError) as caught:
        grad(lambda x: np.sum(recursive()(x)))(X)
    assert "the jvp of toy in argument 0 uses toy itself" in str(caught.value.__cause__)
    check_grads(recursive(), (X,), modes=("fwd",))


def test_wider_answers_may_have_wider_derivatives():
    made = general_of(
        lambda t, ans, x: 2.0 * t.astype(float), lambda ct, ans, x: 2.0 * ct, lambda x: 2.0 * x.astype(float), keeps="x"
    )  # as LAPACK's
    narrow = X.astype(np.float32)
    assert jvp(made, (narrow,), (narrow,))[1].dtype == np.float64
    assert grad(lambda x: np.sum(made(x)))(narrow).dtype == np.float32


def test_numbers_of_other_kinds():
    step = unary_of(lambda t: 0.0 * t, lambda x: 1 if x > 0.0 else 0)  # a whole number where a float is meant
    assert repr(step(2.0)) == "1.0"
    assert grad(lambda x: x * step(x))(2.0) == 1.0
    doubled = extend.linear(lambda x: x + x, lambda ct, shape: 2 * ct, name="doubled")
    assert doubled(A([1, 2])).dtype == int
    assert repr(doubled(3)) == "6"
    turned = general_of(lambda t, ans, x: 1j * t, function=lambda x: complex(0.0, x))  # Python's complex number
    assert jvp(turned, (2.0,), (1.0,)) == (2j, 1j)
    assert grad(lambda x: np.abs(turned(x)))(2.0) == 1.0
    assert unary_of(lambda t: 3.0 * t, scalar=lambda x: 5)(2.0) == 5.0
    assert grad(general_of(lambda t, ans, x: t, lambda ct, ans, x: 2))(1.0) == 2.0
    with pytest.raises(InputTypeError, match="must return floating-point numbers for such operands, got a bool"):
        unary_of(lambda t: t, lambda x: x > 0.0)(2.0)


def test_a_traced_value_that_is_kept_is_named():
    kept: list[Any] = []
    with pytest.raises(ConcretizationError, match="the partial of argument 0 uses a traced value"):
        grad(lambda c: kept.append(c) or unary_of(lambda t: kept[0])(c))(1.0)
    with pytest.raises(ConcretizationError, match="the function of toy uses a traced value"):
        unary_of(lambda t: t, lambda x: kept[0])(X)


def test_a_traced_value_of_the_code_around_is_named():
    def f(c: Any) -> Any:
        made = extend.unary(lambda x: x * stop_gradient(c), lambda t: t * c, name="toy")
        return grad(lambda x: made(x))(1.0)

    with pytest.raises(ConcretizationError, match="toy: the partial of argument 0 uses a traced value of the code around it"):
        jvp(f, (2.0,), (1.0,))
    with pytest.raises(ConcretizationError, match="the function of toy uses a traced value of the code around it"):
        grad(lambda c: general_of(twice, twice, lambda x: x * c)(1.0))(2.0)


# ------------------------------------------------------------------------------------------------ arrays stay as they are


def write(x: Any) -> Any:
    x *= 2.0
    return x


@pytest.mark.parametrize(
    "define",
    [
        lambda: unary_of(lambda t: 2.0 * t, write),
        lambda: unary_of(lambda t: write(t)),
        lambda: unary_of(lambda t, x: t * write(x)),
        lambda: unary_of(lambda t, ans: t * write(ans)),
        lambda: extend.linear(lambda x: 2.0 * x, lambda ct, shape: write(ct), name="toy"),
        lambda: extend.multilinear(lambda x: 2.0 * x, lambda ct, x: write(ct), name="toy"),
        lambda: general_of(twice, lambda ct, ans, x: write(ct)),
        lambda: general_of(twice, lambda ct, ans, x: ct * write(ans)),
    ],
)
def test_writing_into_what_is_given_raises(define: Define):
    with pytest.raises(ValueError, match="read-only"):
        grad(lambda x: np.sum(define()(x)))(X.copy())


def test_results_are_fresh_and_inputs_stay():
    buffer = np.zeros(3)
    for name, function in {
        "itself": lambda x: x,
        "a view": lambda x: x[:],
        "reversed": lambda x: x[::-1][::-1],
        "a buffer": lambda x: np.multiply(x, 1.0, out=buffer),
        "a part of a buffer": lambda x: np.multiply(x, 1.0, out=buffer)[:],
    }.items():
        made = extend.linear(function, lambda ct, shape: ct, name=f"toy {name}")
        x = X.copy()
        value, pullback = vjp(lambda x: made(x) * made(x + 1.0), x)  # noqa: B023
        np.testing.assert_array_equal(value, X * (X + 1.0))
        (back,) = pullback(value)
        np.testing.assert_array_equal(back, value * (2.0 * X + 1.0))
        del pullback
        assert back.flags.writeable
        assert x.flags.writeable
        assert not np.shares_memory(back, value)
        answer = made(x)
        assert answer.flags.writeable
        assert not np.shares_memory(answer, x)
        assert not np.shares_memory(answer, buffer)
        np.testing.assert_array_equal(x, X)


def test_derivatives_are_no_arrays_of_the_users():
    known = np.ones(3)
    operations = [
        extend.general(lambda x: x * 2.0, jvps=[lambda t, ans, x: known], vjps=[lambda ct, ans, x: known], name="tests.known"),
        extend.unary(lambda x: x * 2.0, lambda t, x: known, name="tests.known unary"),
    ]
    found = [vjp(f, X)[1](X)[0] for f in operations] + [jvp(f, (X,), (X,))[1] for f in operations]
    found.append(vjp(extend.linear(lambda x: x * 2.0, lambda ct, shape: known, name="tests.known linear"), X)[1](X)[0])
    for one in found:
        one += 1.0
    np.testing.assert_array_equal(known, np.ones(3))


def test_a_rule_may_go_to_the_dtype_of_its_operand():
    widened = extend.general(
        lambda x: np.asarray(x, float),
        [lambda t, ans, x: np.asarray(t, float)],
        [lambda ct, ans, x: ct.astype(x.dtype)],
        name="tests.widened",
    )
    found = grad(lambda x: np.sum(widened(x) ** 2))(np.float32([1.0, 2.0]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [2.0, 4.0])


def test_a_read_only_answer_is_copied():
    mean = extend.linear(
        lambda x: np.broadcast_to(np.mean(x), (3,)), lambda ct, shape: np.full(shape, np.sum(ct) / 3.0), name="mean of all"
    )
    assert mean(X).flags.writeable
    assert vjp(mean, X)[0].flags.writeable


def test_fresh_answers_are_not_copied():
    made: list[np.ndarray] = []

    def doubled(x: Any) -> Any:
        answer = np.multiply(x, 2.0)
        made.append(answer.__array_interface__["data"][0])
        return answer

    for function in (doubled, lambda x: doubled(x).reshape(-1)):
        operation = general_of(twice, twice, function)
        found = operation(np.arange(1000.0))
        assert found.__array_interface__["data"][0] == made[-1]


# ------------------------------------------------------------------------------------------------ names and functions of NumPy's


def test_funcgrads_own_are_left_alone():
    operations, primitives = dict(OPERATIONS), dict(PRIMITIVES)
    for define, *_ in KINDS.values():
        define()
    extend.nondifferentiable(np.floor, name="my floor")
    extend.unary(np.sin, lambda t, x: t * np.cos(x), name="my sine")
    assert operations == OPERATIONS
    assert primitives == PRIMITIVES
    assert grad(np.sin)(0.0) == 1.0


def test_a_name_does_not_get_into_the_way_of_a_family_that_is_imported_later():
    code = (
        "import numpy as np; from funcgrad import extend, grad\n"
        "f = extend.unary(lambda x: 2.0 * x, lambda t: 2.0 * t, name='overlapping_windows')\n"
        "g = grad(lambda x: np.sum(f(np.lib.stride_tricks.sliding_window_view(x, 2)) * np.sort(x)[:2, None]))\n"
        "print(g(np.array([1.0, 2.0, 3.0])))\n"
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    # of 2 [(x0 + x1) x0 + (x1 + x2) x1]
    assert ran.stdout.split() == ["[", "8.", "16.", "4.]"], ran.stderr


def test_a_name_belongs_to_the_module_that_took_it():
    assert unary_of(lambda t: t)(1.0) == 2.0
    assert unary_of(lambda t: t, lambda x: x * 3.0)(1.0) == 3.0  # a cell of a notebook runs again

    def other(x: Any) -> Any:
        return x

    other.__module__ = "another"
    with pytest.raises(InputValueError, match=f"the primitive 'toy' is defined already, in {__name__}: choose another name"):
        unary_of(lambda t: t, other)


@pytest.mark.parametrize("name", ["sin", "sort", "overlap", "svd", "fft", "bartlett", "astype"])
def test_names_of_numpys_functions_are_refused_whatever_is_imported(name: str):
    code = f"from funcgrad import extend; extend.unary(lambda x: x, lambda t: t, name={name!r})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    wanted = "" if name == "overlap" else "choose another name"
    assert ran.stderr.strip().endswith(wanted)
    assert (ran.returncode == 0) == (name == "overlap")


def test_register_a_ufunc():
    ufunc: Any = np.frompyfunc(lambda x: x**3, 1, 1)
    f = lambda x: np.sum(ufunc(x) * x)
    with pytest.raises(NoRuleError, match="has no derivative rule yet"):
        grad(f)(X)
    rule = extend.unary(lambda x: np.asarray(ufunc(x), float), lambda t, x: 3.0 * x * x * t, name="third power")
    assert extend.register(ufunc, rule) is rule
    np.testing.assert_allclose(grad(f)(X), 4.0 * X**3, rtol=1e-14)
    np.testing.assert_allclose(jacfwd(jacrev(f))(X), np.diag(12.0 * X**2), rtol=1e-14)
    assert extend.register(ufunc, rule) is rule  # again
    product = np.frompyfunc(lambda x, y: x * y, 2, 1)
    extend.register((product, "reduce"), lambda x, axis=0: np.prod(x, axis=axis))
    np.testing.assert_allclose(grad(lambda x: product.reduce(x))(X), np.prod(X) / X, rtol=1e-14)


def test_register_a_function_of_numpys():
    f = lambda x: np.unravel_index(x, (2, 2))
    with pytest.raises(NoRuleError, match="unravel_index"):
        grad(f)(1.0)
    extend.register(np.unravel_index, lambda x, shape: 5.0 * x)
    assert grad(f)(1.0) == 5.0


@pytest.mark.parametrize(
    ("function", "operation", "error", "message"),
    [
        (np.sin, np.cos, InputValueError, "register: sin has a derivative rule of funcgrad's already"),
        (np.sort, np.sort, InputValueError, "register: sort has a derivative rule"),  # of a family that is imported when asked
        (np.linalg.svd, np.sort, InputValueError, "register: svd has a derivative rule"),
        ((np.add, "reduce"), np.sum, InputValueError, r"register: add\.reduce has a derivative rule"),
        (math.sin, np.sin, InputTypeError, "register: sin is no ufunc and no function of NumPy's .*call the operation itself"),
        (np.ndarray.sum, np.sum, InputTypeError, "register: sum is no ufunc"),
        (("add", "reduce"), np.sum, InputTypeError, "is no ufunc"),
        (np.unravel_index, 3.0, InputTypeError, "register: the operation must be a function, got 3.0"),
    ],
)
def test_what_cannot_be_registered(function: Any, operation: Any, error: type[Exception], message: str):
    before = dict(OPERATIONS)
    with pytest.raises(error, match=message):
        extend.register(function, operation)
    assert {key: value for key, value in OPERATIONS.items() if key in before} == before


def test_unbroadcast():
    ct = np.arange(24.0).reshape(2, 3, 4)
    for shape, axes in (((2, 3, 4), ()), ((3, 4), 0), ((4,), (0, 1)), ((), None), ((1, 3, 1), (0, 2)), ((2, 1, 4), 1), ((1, 1), None)):
        np.testing.assert_array_equal(extend.unbroadcast(ct, shape), np.sum(ct, axis=axes).reshape(shape))
    assert extend.unbroadcast(ct, ct.shape) is ct
    np.testing.assert_array_equal(grad(lambda x: np.sum(extend.unbroadcast(x, (3,)) ** 2))(np.ones((2, 3))), np.full((2, 3), 4.0))
    for shape in ((5,), (2, 2, 3, 4), (3, 3)):
        with pytest.raises(InputValueError, match=r"unbroadcast: an operand of shape .* cannot be broadcast to \(2, 3, 4\)"):
            extend.unbroadcast(ct, shape)


# ------------------------------------------------------------------------------------------------ the rest


def test_threads_derive_rules_at_once():
    made = extend.general(SOLVE, FORTH, name="solver")
    wanted = grad(lambda b: np.sum(np.linalg.solve(M, b) ** 2))(B)
    found: list[Any] = []

    def work() -> None:
        found.extend(grad(lambda b: np.sum(made(M, b) ** 2))(B) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    for one in found:
        np.testing.assert_allclose(one, wanted, rtol=1e-13)


def test_an_error_in_a_rule_leaves_nothing_behind():
    def broken(t: Any, ans: Any, x: Any) -> Any:
        raise OSError("broken")

    made = general_of(broken)
    for _ in range(2):
        for transform in (grad, jacfwd):
            with pytest.raises(OSError, match="broken"):
                transform(lambda x: np.sum(made(x)))(X)


def test_rules_may_use_transforms():
    f = lambda x: x**4 + 1.0
    rule = lambda t, x: t * np.reshape(np.stack([grad(f)(one) for one in np.ravel(x)]), np.shape(x))
    made = extend.unary(opaque(f), rule, name="fourth")
    check_grads(made, (X,))
    np.testing.assert_allclose(grad(lambda c: np.sum(grad(lambda x: np.sum(made(c * x)))(X)))(2.0), np.sum(4 * 4 * 2.0**3 * X**3))


def test_it_is_imported_when_asked_for():
    code = "import funcgrad, sys; print('funcgrad.extend' in sys.modules); funcgrad.extend.unary; print('extend' in dir(funcgrad))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


def test_the_module_says_what_it_has():
    module = importlib.import_module("funcgrad.extend")
    kinds = {"unary", "binary", "elementwise", "linear", "multilinear", "general", "products", "composed", "nondifferentiable"}
    assert set(module.__all__) == kinds | {"register", "unbroadcast"}
    assert all(f"`{kind}`" in str(module.__doc__) for kind in kinds)
