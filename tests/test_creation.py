"""Arrays made of tracers, ranges between traced ends, padding: special points, options, and the same as NumPy on plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jacfwd, jacrev, jvp
from funcgrad.errors import ConcretizationError, InputTypeError, NoRuleError
from funcgrad.ops.arrays import creation, functional, padding, ranges
from funcgrad.tracer import Tracer

A = np.array
each_way = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])

# ------------------------------------------------------------------------------------------------ ranges


@each_way
def test_linspace_by_its_weights(jacobian: Any):
    w = np.arange(5) / 4
    np.testing.assert_allclose(jacobian(lambda a: np.linspace(a, 3.0, 5))(1.0), 1 - w)
    np.testing.assert_allclose(jacobian(lambda b: np.linspace(1.0, b, 5))(3.0), w)
    np.testing.assert_allclose(jacobian(lambda b: np.linspace(1, b, 4, endpoint=False))(3.0), np.arange(4) / 4)
    np.testing.assert_array_equal(jacobian(lambda a: np.linspace(a, 3.0, 1))(1.0), [1.0])
    np.testing.assert_array_equal(jacobian(lambda b: np.linspace(1.0, b, 1))(3.0), [0.0])
    assert jacobian(lambda b: np.linspace(1.0, b, 0))(3.0).shape == (0,)
    ends = A([1.0, 2.0])
    found = jacobian(lambda b: np.linspace(0.0, b, 3, axis=1))(ends)
    np.testing.assert_array_equal(found, np.einsum("k,ij->ikj", [0.0, 0.5, 1.0], np.eye(2)))


@each_way
def test_the_step_of_linspace(jacobian: Any):
    assert jacobian(lambda a: np.linspace(a, 3.0, 5, retstep=True)[1])(1.0) == -0.25
    assert jacobian(lambda b: np.linspace(0.0, b, 5, endpoint=False, retstep=True)[1])(1.0) == 0.2
    _, step = jvp(lambda a: (a, np.linspace(a, 3.0, 1, retstep=True)[1]), (1.0,), (1.0,), has_aux=True)[::2]
    assert math.isnan(step)


def test_whole_numbers_of_a_range_are_constants():
    for call in (
        lambda x: np.linspace(x, 3.0, 5, dtype=int),
        lambda x: np.logspace(x, 3.0, 5, dtype=int),
        lambda x: np.geomspace(x, 3.0, 5, dtype=np.int32),
        lambda x: ranges.arange(x, 5.0, dtype=int),
    ):
        _, found = grad(lambda x: (x, call(x)), has_aux=True)(1.7)  # noqa: B023
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, call(1.7))
        assert found.dtype == call(1.7).dtype


@each_way
def test_logspace_and_geomspace(jacobian: Any):
    w = np.arange(3) / 2
    np.testing.assert_allclose(jacobian(lambda a: np.logspace(a, 1.0, 3))(0.0), (1 - w) * np.log(10) * 10**w, rtol=1e-14)
    np.testing.assert_allclose(jacobian(lambda b: np.logspace(0.0, 2.0, 3, base=b))(3.0), [0.0, 1.0, 6.0], atol=1e-15)
    np.testing.assert_allclose(jacobian(lambda a: np.geomspace(a, 9.0, 3))(1.0), [1.0, 0.5 * 3.0, 0.0], rtol=1e-15)
    np.testing.assert_allclose(jacobian(lambda b: np.geomspace(1.0, b, 3))(9.0), [0.0, 0.5 / 3.0, 1.0], rtol=1e-15)
    assert hessian(lambda a: np.geomspace(a, 9.0, 3)[1])(1.0) == pytest.approx(-0.25 * 3.0)
    np.testing.assert_allclose(jacobian(lambda a: np.geomspace(a, -9.0, 3))(-1.0), [1.0, 1.5, 0.0], rtol=1e-15)
    with pytest.raises(ValueError, match="zero"):
        jacobian(lambda a: np.geomspace(a, 9.0, 3))(0.0)


@each_way
def test_arange(jacobian: Any):
    np.testing.assert_array_equal(jacobian(lambda a: ranges.arange(a, 4.0))(0.5), np.ones(4))
    np.testing.assert_array_equal(jacobian(lambda s: ranges.arange(1.0, 2.0, s))(0.25), np.arange(4))
    np.testing.assert_array_equal(jacobian(lambda b: ranges.arange(b))(2.5), np.zeros(3))
    np.testing.assert_array_equal(ranges.arange(5), np.arange(5))
    np.testing.assert_array_equal(ranges.arange(1, 5, 2, np.float32), np.arange(1, 5, 2, np.float32))


def test_how_many_must_be_plain():
    for call in (
        lambda x: np.linspace(0.0, 1.0, x),
        lambda x: np.linspace(x, 1.0, x),
        lambda x: np.logspace(x, 1.0, x),
        lambda x: np.geomspace(x, 1.0, x),
        lambda x: creation.full(x, 1.0),
        lambda x: np.resize(np.ones(3) * x, x),
    ):
        with pytest.raises(TypeError, match=r"[Tt]racer"):
            grad(lambda x: np.sum(call(x)))(3.0)  # noqa: B023
    with pytest.raises(ValueError, match="non-negative"):
        grad(lambda x: np.sum(np.linspace(x, 1.0, -1)))(3.0)


# ------------------------------------------------------------------------------------------------ arrays

PLAIN: dict[str, Callable[[Any], Any]] = {
    "array": lambda f: f("array")([[1, 2], [3, 4.5]], ndmin=3),
    "array copy": lambda f: f("array")(np.arange(3), np.float32, order="F"),
    "asarray": lambda f: f("asarray")([1, 2], float),
    "asanyarray": lambda f: f("asanyarray")(np.ma.array([1.0, 2.0], mask=[True, False])),
    "asarray_chkfinite": lambda f: f("asarray_chkfinite")([1.0, 2.0]),
    "ascontiguousarray": lambda f: f("ascontiguousarray")(2.0),
    "asfortranarray": lambda f: f("asfortranarray")([[1.0, 2.0]]),
    "require": lambda f: f("require")([[1, 2]], float, ["F", "W"]),
    "full": lambda f: f("full")((2, 3), [1, 2, 3], order="F"),
    "full_like": lambda f: f("full_like")(np.ones((2, 2), np.float32), 2.5, shape=(3,)),
    "r_": lambda f: f("r_")[1, 2:5, 0:1:3j, [2, 3]],
    "r_ directive": lambda f: f("r_")["0,2,0", [1, 2], [3, 4]],
    "c_": lambda f: f("c_")[[1, 2], np.ones((2, 2))],
}


@pytest.mark.parametrize("name", list(PLAIN))
def test_on_plain_numbers_they_are_numpys(name: str):
    got, wanted = PLAIN[name](lambda name: getattr(creation, name)), PLAIN[name](lambda name: getattr(np, name))
    assert type(got) is type(wanted)
    assert got.dtype == wanted.dtype
    assert got.flags.f_contiguous == wanted.flags.f_contiguous
    np.testing.assert_array_equal(got, wanted)


def test_layouts():
    def f(x: Any) -> Any:
        for made, is_c in (
            (creation.asfortranarray(x), False),
            (creation.ascontiguousarray(x.T), True),
            (creation.require(x, None, "F"), False),
            (creation.require(x.T, None, ["C"]), True),
            (creation.asarray(x, order="F"), False),
            (creation.full((2, 3), x[0], order="F"), False),
            (np.copy(x, order="F"), False),
            (np.copy(x.T), False),
        ):
            assert type(made) is Tracer
            assert (made.value.flags.c_contiguous, made.value.flags.f_contiguous) == (is_c, not is_c)
        return np.sum(x)

    grad(f)(np.ones((2, 3)))
    with pytest.raises(ValueError, match="both"):
        grad(lambda x: creation.require(x, None, ["C", "F"]).sum())(np.ones((2, 3)))


def test_types_are_numpys():
    x = np.float32(2.0)
    for call in (
        lambda f, x: f("array")([x, 1.0]),
        lambda f, x: f("array")([x, x]),
        lambda f, x: f("array")([x, 1], np.float32),
        lambda f, x: f("full")(2, x),
        lambda f, x: f("full")(2, x, np.float64),
        lambda f, x: f("full_like")(np.ones(2), x),
        lambda f, x: f("r_")[np.ones(2, np.float32), x],
        lambda f, x: f("r_")[np.ones(2, np.float32) * x, 1.0],
        lambda f, x: f("r_")[np.ones(2, np.float32) * x, np.ones(1)],
        lambda f, x: f("c_")[np.ones(2, np.float32) * x, [1, 2]],
    ):
        wanted = call(lambda name: getattr(np, name), x)
        _, found = grad(lambda x: (x, call(lambda name: getattr(creation, name), x)), has_aux=True)(x)  # noqa: B023
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    _, found = grad(lambda x: (x, creation.array([x, 1.5], int)), has_aux=True)(2.7)
    assert found.tolist() == [2, 1]


def test_what_an_array_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="same shape"):
        grad(lambda x: creation.array([x, [x, x]]).sum())(1.0)
    with pytest.raises(ValueError, match="infs or NaNs"):
        grad(lambda x: creation.asarray_chkfinite([x, np.inf]).sum())(1.0)
    with pytest.raises(InputTypeError, match=r"np\.full_like puts float64 into an array of int64"):
        grad(lambda x: creation.full_like(A([1, 2]), x).sum())(1.0)
    with pytest.raises(NoRuleError, match=r"np\.matrix"):
        grad(lambda x: creation.r_["c", x, x].sum())(A([1.0, 2.0]))
    with pytest.raises(ValueError, match="directive"):
        grad(lambda x: creation.r_["nonsense", x, x].sum())(A([1.0, 2.0]))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.array([x, x]),
        lambda x: np.asarray(x),
        lambda x: np.ascontiguousarray(x),
        lambda x: np.asarray_chkfinite(x),
        lambda x: np.require(x),
        lambda x: np.full(3, x),
        lambda x: np.full(3, x, dtype=float),
        lambda x: np.full_like(np.ones(3), x),
        lambda x: np.arange(x),
        lambda x: np.r_[x, 1.0],
        lambda x: np.c_[x, 1.0],
        lambda x: np.vectorize(lambda v: v * x)(np.ones(3)),
        lambda x: np.piecewise(np.ones(3), [A([True, False, True])], [x, 0.0]),
        lambda x: np.select([A([True, False])], [A([1.0, 2.0])], default=x),
        lambda x: np.pad(np.ones(3), 1, constant_values=x),
        lambda x: np.apply_along_axis(lambda row: row * x, 0, np.ones(3)),
    ],
)
def test_where_numpy_does_not_ask_the_plain_call_raises(call: Callable[[Any], Any]):
    with pytest.raises(ConcretizationError, match=r"funcgrad\.numpy"):
        grad(lambda x: np.sum(call(x)))(1.5)


def test_fromfunction_needs_nothing():
    assert grad(lambda x: np.fromfunction(lambda i, j: x * i + j, (2, 3)).sum())(2.0) == 3.0


# ------------------------------------------------------------------------------------------------ padding


@each_way
def test_pads_by_hand(jacobian: Any):
    x = A([1.0, 5.0, 2.0])
    for mode, before, after in (
        ("maximum", [0, 1, 0], [0, 1, 0]),
        ("minimum", [1, 0, 0], [1, 0, 0]),
        ("mean", [1 / 3] * 3, [1 / 3] * 3),
        ("median", [0, 0, 1], [0, 0, 1]),
        ("edge", [1, 0, 0], [0, 0, 1]),
        ("reflect", [0, 1, 0], [0, 1, 0]),
        ("symmetric", [1, 0, 0], [0, 0, 1]),
        ("wrap", [0, 0, 1], [1, 0, 0]),
        ("linear_ramp", [0, 0, 0], [0, 0, 0]),
        ("constant", [0, 0, 0], [0, 0, 0]),
    ):
        np.testing.assert_allclose(jacobian(lambda x: np.pad(x, 1, mode))(x), [before, *np.eye(3), after], rtol=1e-15)  # noqa: B023
    odd = jacobian(lambda x: np.pad(x, 1, "reflect", reflect_type="odd"))(x)
    np.testing.assert_array_equal(odd, [[2, -1, 0], *np.eye(3), [0, -1, 2]])
    ramp = jacobian(lambda x: np.pad(x, 2, "linear_ramp"))(x)
    np.testing.assert_array_equal(ramp, [[0, 0, 0], [0.5, 0, 0], *np.eye(3), [0, 0, 0.5], [0, 0, 0]])
    ties = jacobian(lambda x: np.pad(x, (1, 0), "maximum"))(A([3.0, 3.0, 1.0]))
    np.testing.assert_array_equal(ties[0], [0.5, 0.5, 0.0])


def test_what_is_put_around_a_plain_array():
    assert grad(lambda v: padding.pad(np.ones((2, 2)), 1, constant_values=v).sum())(3.0) == 12.0
    np.testing.assert_array_equal(grad(lambda v: padding.pad(np.ones(2), (1, 2), constant_values=v).sum())(A([3.0, 4.0])), [1.0, 2.0])
    assert grad(lambda v: padding.pad(np.ones(2), (3, 0), "linear_ramp", end_values=v).sum())(3.0) == pytest.approx(2.0)
    np.testing.assert_array_equal(padding.pad([1, 2], 1), [0, 1, 2, 0])
    np.testing.assert_array_equal(padding.pad([1, 2], 1, lambda part, *_: part.fill(7)), np.pad([1, 2], 1, lambda part, *_: part.fill(7)))


def test_pad_widths_and_options_that_do_not_fit():
    x = np.ones((2, 3))
    for error, arguments, options in (
        (ValueError, (-1,), {}),
        (ValueError, (((1, 2), (3, 4), (5, 6)),), {}),
        (TypeError, (1.5,), {}),
        (ValueError, (1, "nonsense"), {}),
        (ValueError, (1, "edge"), {"constant_values": 1.0}),
        (ValueError, (1, "maximum"), {"stat_length": 0}),
        (NoRuleError, (1, lambda *_: None), {}),
    ):
        with pytest.raises(error):
            grad(lambda x: np.sum(np.pad(x, *arguments, **options)))(x)  # noqa: B023
    with pytest.raises(ValueError, match="empty axis"):
        grad(lambda x: np.sum(np.pad(x, 1, "edge")))(np.ones(0))


def test_a_padded_zero_keeps_its_sign():
    _, found = grad(lambda x: (x.sum(), np.pad(x, 1, constant_values=2.0)), has_aux=True)(A([-0.0]))
    assert np.signbit(found[1])


# ------------------------------------------------------------------------------------------------ functions of functions


def test_vectorize_as_numpys_on_plain_numbers():
    for make in (np.vectorize, functional.vectorize):
        np.testing.assert_array_equal(make(lambda a, b: a + b)([1, 2], [[3], [4]]), [[4, 5], [5, 6]])
        assert make(lambda a: a, otypes=[np.float32])([1, 2]).dtype == np.float32
    assert functional.vectorize(math.sin, doc="The sine.").__doc__ == "The sine."


def test_vectorize_options():
    def f(x: Any) -> Any:
        floats = functional.vectorize(lambda a: a * x, otypes=["f"])(A([1, 2]))
        assert floats.dtype == np.float32
        whole = functional.vectorize(lambda a: int(a), otypes=[int])(A([1.5, 2.5]))
        assert whole.tolist() == [1, 2]
        with pytest.raises(TypeError, match="wrong number"):
            functional.vectorize(lambda a: a, signature="(n)->()")(x, x)
        with pytest.raises(ValueError, match="an element at least"):
            functional.vectorize(lambda a: a * x)(np.ones(0))
        return floats.sum().astype(float) if hasattr(floats, "astype") else floats.sum()

    assert grad(f)(2.0) == 3.0


def test_apply_along_axis_keeps_the_type_of_the_first_result():
    def f(x: Any) -> Any:
        found = np.apply_along_axis(lambda row: row.sum(dtype=None) > 0, 1, x)
        assert found.dtype == bool
        return np.sum(x)

    grad(f)(np.ones((2, 3)))
    with pytest.raises(ValueError, match="iteration dimensions"):
        grad(lambda x: np.apply_along_axis(np.sum, 1, x).sum())(np.ones((0, 3)))
    np.testing.assert_array_equal(functional.apply_along_axis(np.sum, 0, [[1, 2], [3, 4]]), [4, 6])


def test_piecewise_where_conditions_overlap():
    x = A([-1.0, 1.0, 3.0])
    found = grad(lambda x: np.piecewise(x, [x > 0, x > 2], [lambda v: 2.0 * v, lambda v: 5.0 * v]).sum())(x)
    np.testing.assert_array_equal(found, [0.0, 2.0, 5.0])
    with pytest.raises(ValueError, match="functions are expected"):
        grad(lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]).sum())(x)
    with pytest.raises(InputTypeError, match="int64"):
        grad(lambda v: functional.piecewise(A([1, 2]), [[True, False]], [v]).sum())(2.0)
    np.testing.assert_array_equal(functional.piecewise(x, [x > 0], [np.sqrt]), np.piecewise(x, [x > 0], [np.sqrt]))
