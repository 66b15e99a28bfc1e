"""The checkers accept right derivatives and refuse seeded wrong ones: a partial, a transpose, a missing term of second order, a value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from funcgrad import grad, jvp, stop_gradient, vjp
from funcgrad.errors import CheckError, InputTypeError, InputValueError
from funcgrad.primitive import OPERATIONS, PRIMITIVES
from funcgrad.rules import binary, general, linear, multilinear, unary
from funcgrad.testing import check_grads, check_jvp, check_vjp
from funcgrad.tracer import Tracer

A = np.array
X = A([0.5, -1.2, 2.0])
BOTH = pytest.mark.parametrize("mode", ["fwd", "rev"])


class Params(NamedTuple):
    w: Any
    b: Any


@pytest.fixture(autouse=True)
def _wrong_primitives_are_forgotten():
    before = dict(OPERATIONS), dict(PRIMITIVES)
    yield
    for registry, entries in zip((OPERATIONS, PRIMITIVES), before, strict=True):
        registry.clear()
        registry.update(entries)


# ------------------------------------------------------------------------------------------------ right derivatives


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (np.sin, (0.5,)),
        (np.sin, (X,)),
        (lambda x, y: x * np.exp(y), (X, 0.3)),
        (lambda x: (x**2, {"a": np.cumsum(x), "b": x[0]}), (X,)),
        (lambda p: np.tanh(p["w"] @ p["b"]), ({"w": np.eye(3) + 0.1, "b": X},)),
        (lambda p: Params(p.w * p.b, None), (Params(X, 2.0),)),
        (lambda x: 3.0, (X,)),
        (lambda x: np.zeros((0,)) * x[0], (X,)),
        (lambda x: x, (np.zeros((0, 2)),)),
        (lambda x: x * x, (np.float64(1.5),)),
    ],
    ids=["float", "array", "two arguments", "tree out", "tree in", "namedtuple", "constant", "empty output", "empty input", "NumPy scalar"],
)
def test_right_derivatives_pass(f: Any, args: Any):
    check_grads(f, args)
    check_jvp(f, args)
    check_vjp(f, args)


def test_third_order_passes():
    check_grads(lambda x, y: np.sum(np.sin(x) * y**3), (X, 0.7), order=3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_other_dtypes_pass(dtype: Any):
    check_grads(lambda x, y: np.sum(np.tanh(x) * y), (X.astype(dtype), dtype(0.5)))


def test_a_narrow_dtype_is_checked_as_sharply_as_it_can_be():
    """Differences are taken in float64: an error of 1 % in float32 does not hide in their noise."""
    with pytest.raises(CheckError):
        check_jvp(
            np.sin, lambda primals, tangents: (np.sin(*primals), np.float32(1.01) * np.cos(*primals) * tangents[0]), (np.float32(0.5),)
        )


def test_derivatives_of_ones_own_pass():
    check_jvp(np.sin, lambda primals, tangents: (np.sin(*primals), np.cos(*primals) * tangents[0]), (X,))
    check_vjp(np.multiply, lambda x, y: (x * y, lambda ct: (ct * y, float(np.sum(ct * x)))), (X, 2.0))


def test_the_answer_is_the_same_every_time():
    def message() -> str:
        with pytest.raises(CheckError) as caught:
            check_jvp(np.sin, lambda primals, tangents: (np.sin(*primals), 2.0 * tangents[0]), (X,))
        return str(caught.value)

    assert message() == message()


# ------------------------------------------------------------------------------------------------ wrong rules


@BOTH
def test_a_wrong_partial_fails(mode: str):
    wrong = unary(lambda x: np.sin(x), lambda t, x: t * np.sin(x), name="wrong_sine")
    with pytest.raises(CheckError, match=rf"check_grads of wrong_sine, order 1, mode {mode}: .* argument 0") as caught:
        check_grads(wrong, (X,), order=1, modes=(mode,))
    assert "expected" in str(caught.value)
    assert "difference" in str(caught.value)


@BOTH
def test_a_partial_that_is_wrong_in_one_argument_names_it(mode: str):
    def half(x: Any, y: Any) -> Any:
        return x * y

    wrong = binary(half, lambda t, y: t * y, lambda t, x: t * (1.001 * x), scalar=half)
    with pytest.raises(CheckError) as caught:
        check_grads(lambda p, q: wrong(p["x"], q[0]), ({"x": X}, (X + 3.0, 1.0)), modes=(mode,))
    assert "argument 1 at [0]" in str(caught.value)
    assert "argument 0" not in str(caught.value)
    assert "argument 1 at [1]" not in str(caught.value)


def test_the_worst_entry_is_shown_with_both_numbers():
    def f_jvp(primals: Any, tangents: Any) -> Any:
        return 2.0 * primals[0], 2.0 * tangents[0] + A([0.0, 0.5, 0.0])

    with pytest.raises(CheckError, match=r"output, entry \[1\]: expected .* difference 0\.5, .* 1 of 3 entries are wrong"):
        check_jvp(lambda x: 2.0 * x, f_jvp, (X,))


def test_a_wrong_transpose_passes_forward_and_fails_reverse():
    wrong = linear(lambda x, k: np.roll(x, k), lambda ct, shape, k: np.roll(ct, k), name="wrong_roll")
    check_grads(lambda x: wrong(x, 1) * x, (X,), order=1, modes=("fwd",))
    with pytest.raises(CheckError, match="order 1, mode rev"):
        check_grads(lambda x: wrong(x, 1) * x, (X,), order=1)


def test_a_wrong_transpose_of_one_operand_fails():
    wrong = multilinear(np.dot, lambda ct, x, y: ct @ y.T, lambda ct, x, y: x @ ct, name="wrong_dot")
    m = np.arange(9.0).reshape(3, 3)
    check_grads(lambda x: wrong(x, m), (m + 1.0,))
    check_grads(lambda y: wrong(m, y), (m,), modes=("fwd",), order=1)
    with pytest.raises(CheckError, match="mode rev"):
        check_grads(lambda y: wrong(m, y), (m,), modes=("rev",), order=1)


@BOTH
def test_a_vjp_that_differs_from_its_jvp_fails_in_one_mode(mode: str):
    right, off = (lambda t, ans, x: 2.0 * t), (lambda t, ans, x: 3.0 * t)
    wrong = general(lambda x: 2.0 * x, [off if mode == "fwd" else right], [off if mode == "rev" else right], name="wrong_twice")
    check_grads(wrong, (X,), order=1, modes=("rev" if mode == "fwd" else "fwd",))
    with pytest.raises(CheckError, match=f"order 1, mode {mode}"):
        check_grads(wrong, (X,), order=1, modes=(mode,))


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")], ids="-".join)
def test_a_missing_term_in_second_order_fails(modes: tuple[str, ...]):
    """The partial is right but counts as a constant: the first derivative passes."""
    frozen = unary(lambda x: np.sin(x), lambda t, x: t * np.cos(stop_gradient(x)), name="frozen_sine")
    check_grads(frozen, (X,), order=1, modes=modes)
    with pytest.raises(CheckError, match=f"order 2, mode {modes[0]} over {modes[0]}"):
        check_grads(frozen, (X,), order=2, modes=modes)


def test_the_message_names_the_nesting():
    """Wrong only where reverse mode runs over forward mode: the inner derivative is a constant to a reverse transform."""
    reverse_only = general(
        lambda x: np.sin(x), [lambda t, ans, x: t * np.cos(x)], [lambda ct, ans, x: ct * np.cos(stop_gradient(x))], name="half_frozen_sine"
    )
    check_grads(reverse_only, (X,), order=2, modes=("fwd",))
    with pytest.raises(CheckError, match="order 2, mode fwd over rev"):
        check_grads(reverse_only, (X,), order=2)


def test_a_value_that_changes_under_a_transform_fails():
    with pytest.raises(CheckError, match=r"the value is not that of f: output\['y'\], .*expected .* as f gives it"):
        check_grads(lambda x: {"y": 2.0 * x if type(x) is Tracer else 2.0 * x + 1e-3}, (X,))


# ------------------------------------------------------------------------------------------------ wrong spaces, wrong calls


@pytest.mark.parametrize(
    ("tangent", "message"),
    [
        (lambda t: t[:2], r"has shape \(2,\) .*expected shape \(3,\)"),
        (lambda t: t.astype(np.float32), "dtype float32, expected .*float64"),
        (lambda t: [t], "has the structure"),
        (lambda t: t * np.nan, "got nan"),
    ],
    ids=["shape", "dtype", "structure", "NaN"],
)
def test_a_derivative_of_another_space_fails(tangent: Any, message: str):
    with pytest.raises(CheckError, match=message):
        check_jvp(lambda x: x, lambda primals, tangents: (primals[0], tangent(tangents[0])), (X,))
    with pytest.raises(CheckError, match=message):
        check_vjp(lambda x: x, lambda x: (x, lambda ct: (tangent(ct),)), (X,))


def test_a_point_without_differences_says_so():
    with np.errstate(invalid="ignore"), pytest.raises(CheckError, match="f has no finite derivative there by differences"):
        check_grads(np.sqrt, (1e-5,))
    check_grads(np.sqrt, (1e-5,), eps=1e-8, rtol=1e-4)


def test_a_kink_fails():
    with pytest.raises(CheckError):
        check_grads(lambda x: np.maximum(x, 2.0 * x), (1e-4,))


def test_tolerances_are_those_given():
    def f_jvp(primals: Any, tangents: Any) -> Any:
        return np.sin(*primals), 1.001 * np.cos(*primals) * tangents[0]

    check_jvp(np.sin, f_jvp, (X,), rtol=2e-3)
    check_jvp(np.sin, f_jvp, (X,), atol=1e-2)
    with pytest.raises(CheckError):
        check_jvp(np.sin, f_jvp, (X,), rtol=1e-4, atol=1e-4)


def test_bad_input():
    with pytest.raises(InputTypeError, match=r"args must be a tuple .* got ndarray: write \(x,\)"):
        check_grads(np.sin, X)
    with pytest.raises(InputTypeError, match=r"argument 0 at \['n'\] is an array of dtype int64"):
        check_grads(lambda p: p["n"], ({"n": A([1, 2], np.int64)},))
    with pytest.raises(InputTypeError, match="has no derivative"):
        check_grads(lambda x: x > 0, (X,))
    with pytest.raises(InputValueError, match="modes must be some of"):
        check_grads(np.sin, (X,), modes=("forward",))
    with pytest.raises(InputValueError, match="modes"):
        check_grads(np.sin, (X,), modes=())
    with pytest.raises(InputValueError, match="order must be 1 or more, got 0"):
        check_grads(np.sin, (X,), order=0)


def test_an_exception_in_f_passes_through():
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        check_grads(f, (X,))


def test_a_check_error_is_an_assertion():
    assert issubclass(CheckError, AssertionError)


def test_transforms_of_transforms_pass():
    check_grads(lambda x: grad(lambda y: np.sum(np.sin(y) * x))(x), (X,), order=1)
    check_grads(lambda x: jvp(np.exp, (x,), (x,))[1], (X,), order=1)
    check_grads(lambda x: vjp(np.tanh, x)[1](x)[0], (X,), order=1)
