"""Faults that a differential search over NumPy's functions found: each stands for its kind. What is right is what NumPy says of arrays."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp, vjp
from funcgrad.errors import NoRuleError

A = np.array
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]
VECTOR = [0.5, -1.0, 2.0]

WITH_LISTS: dict[str, tuple[Callable[[Any, Any], Any], Any, np.ndarray]] = {
    "dot": (np.dot, ROWS, A(VECTOR)),
    "inner": (np.inner, VECTOR, A(VECTOR)),
    "inner_matrices": (np.inner, ROWS, A(ROWS)),
    "tensordot": (lambda a, x: np.tensordot(a, x, 1), ROWS, A(VECTOR)),
    "kron": (np.kron, ROWS, A(VECTOR)),
    "multiply.outer": (np.multiply.outer, ROWS, A(VECTOR)),
    "maximum.outer": (np.maximum.outer, [1.0], A(VECTOR)),
    "lstsq": (lambda a, x: np.linalg.lstsq(a, x, rcond=None)[0], [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], A(VECTOR)),
}
if hasattr(np.linalg, "cross"):  # NumPy 2
    WITH_LISTS["linalg.cross"] = (np.linalg.cross, ROWS, A(VECTOR))
    WITH_LISTS["linalg.outer"] = (np.linalg.outer, VECTOR, A(VECTOR))


@pytest.mark.parametrize("name", WITH_LISTS)
def test_a_list_beside_a_tracer_is_an_array(name: str):
    function, constant, x = WITH_LISTS[name]
    for call in (lambda a, x: function(a, x), lambda a, x: function(x, a)):
        try:
            want = call(A(constant), x)
        except (ValueError, np.linalg.LinAlgError):
            continue  # this order of the arguments does not fit
        value, pullback = vjp(lambda x: call(constant, x), x)  # noqa: B023
        np.testing.assert_array_equal(value, want)
        again, pullback_of_arrays = vjp(lambda x: call(A(constant), x), x)  # noqa: B023
        np.testing.assert_array_equal(again, want)
        np.testing.assert_array_equal(pullback(want)[0], pullback_of_arrays(want)[0])


def test_a_number_is_of_double_precision_to_dot_and_outer():
    x = A([1.25, 3.0], np.float32)
    for function in (np.dot, np.multiply.outer):
        for number in (1.1, 1.1 + 0.3j):
            value, _ = vjp(lambda x: function(x, number), x)  # noqa: B023
            want = function(x, number)
            assert value.dtype == want.dtype
            np.testing.assert_array_equal(value, want)
        value, pullback = vjp(function, x, 1.1)
        np.testing.assert_array_equal(value, function(x, 1.1))
        by_x, by_number = pullback(np.ones(2, value.dtype))
        assert by_x.dtype == np.float32
        assert (type(by_number), by_number) == (float, 4.25)


def test_choices_meet_in_the_dtype_of_all_of_them():
    low, high = A([0.5, 0.25], np.float16), A([2.0, 3.0])
    conditions, default = [A([False, True]), A([False, False])], -1.1302778086035636
    value, pullback = vjp(lambda low, high: np.select(conditions, [low, high], default), low, high)
    np.testing.assert_array_equal(value, np.select(conditions, [low, high], default))
    assert value[0] == default
    np.testing.assert_array_equal(pullback(np.ones(2))[0], A([0, 1], np.float16))


def test_insert_of_values_with_axes_of_size_one_in_front():
    x, values = A([1.0, 2.0]), A([[5.0, 6.0]])
    value, pullback = vjp(lambda x, values: np.insert(x, [0, 1], values), x, values)
    np.testing.assert_array_equal(value, [5.0, 1.0, 6.0, 2.0])
    by_x, by_values = pullback(A([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(by_x, [2.0, 4.0])
    np.testing.assert_array_equal(by_values, [[1.0, 3.0]])


def test_arrays_by_keyword():
    x = A([[2.0, 1.0], [1.0, 3.0]])
    assert grad(lambda x: np.linalg.det(a=x))(x).tolist() == pytest.approx(A([[3.0, -1.0], [-1.0, 2.0]]))
    np.testing.assert_array_equal(grad(lambda x: np.linalg.inv(a=x).sum())(x), grad(lambda x: np.linalg.inv(x).sum())(x))
    np.testing.assert_array_equal(grad(lambda x: np.linalg.solve(a=np.eye(2), b=x).sum())(x), np.ones((2, 2)))
    np.testing.assert_array_equal(grad(lambda x: np.tile(A=x, reps=3).sum())(x), np.full((2, 2), 3.0))
    for ufunc in (np.add, np.hypot):
        np.testing.assert_array_equal(
            grad(lambda x: ufunc.reduceat(x, indices=[0, 1], axis=1).sum())(x),  # noqa: B023
            grad(lambda x: ufunc.reduceat(x, [0, 1], axis=1).sum())(x),  # noqa: B023
        )


@pytest.mark.parametrize("function", [np.sum, np.mean, np.var, np.std, np.prod, np.nansum, np.nanmean, np.nanvar, np.nanstd])
def test_a_mask_that_changes_afterwards(function: Any):
    x = A([1.0, 2.0, 4.0])

    def masked(x: Any, is_changed: bool) -> Any:
        mask = A([True, False, True])
        result = function(x, where=mask)
        if is_changed:
            try:
                mask[:] = A([False, True, True])
            except ValueError:
                assert not mask.flags.writeable  # protected: as good
        return result

    np.testing.assert_array_equal(grad(masked)(x, True), grad(masked)(x, False))


def test_places_that_change_afterwards():
    def segments(x: Any) -> Any:
        places = A([0, 2])
        result = np.add.reduceat(x, places)
        places[:] = 0
        return np.sum(result * A([1.0, 5.0]))

    np.testing.assert_array_equal(grad(segments)(np.ones(3)), [1.0, 1.0, 5.0])


def test_too_few_degrees_of_freedom_warn_as_without_a_transform():
    for function in (np.var, np.std):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"), np.errstate(all="ignore"):
            value, _ = vjp(lambda x: function(x, ddof=1), A([2.0]))  # noqa: B023
        assert np.isnan(value)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            vjp(lambda x: function(x, ddof=1), A([2.0, 3.0]))  # noqa: B023


def test_condition_numbers_of_single_precision_are_numpys():
    points = np.random.default_rng(0)
    for p in (1, np.inf, "fro"):
        for _ in range(20):
            x = points.normal(size=(3, 3)).astype(np.float32)
            value, pullback = vjp(lambda x: np.linalg.cond(x, p), x)  # noqa: B023
            assert value == np.linalg.cond(x, p)
            assert pullback(value)[0].dtype == np.float32


@pytest.mark.parametrize("join", [np.stack, np.concatenate])
def test_joined_in_a_real_dtype_imaginary_parts_have_no_effect_in_any_order(join: Any):
    x, z = A([1.0, 2.0]), A([3.0 + 1.0j, 1.0 - 2.0j])

    def squares(z: Any) -> Any:
        return np.sum(join([x, z], dtype=np.float64, casting="unsafe") ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        np.testing.assert_array_equal(grad(squares)(z), 2 * z.real)
        for direction, want in ((np.ones(2, complex), 2.0), (np.full(2, 1j), 0.0)):
            np.testing.assert_array_equal(jvp(grad(squares), (z,), (direction,))[1], np.full(2, want))
            twice = jvp(lambda z: jvp(squares, (z,), (direction,))[1], (z,), (direction,))[1]  # noqa: B023
            assert twice == 2 * want


def test_the_average_of_a_number_with_a_traced_weight():
    assert grad(lambda weight: np.average(3.0, weights=weight))(2.0) == 0.0


def test_what_einsum_has_no_rule_for_is_named():
    with pytest.raises(NoRuleError, match="einsum with dtype"):
        grad(lambda x: np.einsum("i->", x, dtype=np.float64))(np.ones(2))


def test_norms_of_matrices_without_rows():
    x = np.zeros((4, 0, 4))
    for order in (2, -2, "nuc"):
        try:
            want = np.linalg.norm(x, order, (0, 1))
        except ValueError:
            continue  # the least of no singular values
        value, pullback = vjp(lambda x: np.linalg.norm(x, order, (0, 1)), x)  # noqa: B023
        np.testing.assert_array_equal(value, want)
        assert pullback(value)[0].shape == x.shape


@pytest.mark.parametrize("order", [None, 1, 3, np.inf])
def test_a_row_that_is_left_out_has_no_effect_on_norms_be_it_nan(order: Any):
    x = A([[np.nan, 1.0], [3.0, 4.0]])

    def guarded(x: Any) -> Any:
        return np.sum(np.where([False, True], np.linalg.norm(x, order, axis=-1), 0.0))

    def plain(row: Any) -> Any:
        return np.linalg.norm(row, order)

    np.testing.assert_array_equal(grad(guarded)(x), [[0.0, 0.0], grad(plain)(x[1])])
    ones = np.ones((2, 2))
    assert jvp(guarded, (x,), (ones,))[1] == jvp(plain, (x[1],), (ones[1],))[1]
    np.testing.assert_array_equal(jvp(grad(guarded), (x,), (ones,))[1][0], [0.0, 0.0])


@pytest.mark.parametrize("function", [np.arctan, np.arcsinh])
def test_second_derivatives_of_what_is_left_out_at_infinity(function: Any):
    def guarded(x: Any) -> Any:
        return np.sum(np.where([False, True], function(x), 0.0))

    x, ones = A([np.inf, 1.0]), np.ones(2)
    want = {np.arctan: -0.5, np.arcsinh: -(2.0**-1.5)}[function]
    np.testing.assert_allclose(jvp(grad(guarded), (x,), (ones,))[1], [0.0, want], rtol=1e-15)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(guarded)(x)))(x), [0.0, want], rtol=1e-15)


OF_OBJECTS: list[Callable[[Any], Any]] = [
    lambda x: x.astype(object),
    lambda x: np.sum(x, dtype=object),
    lambda x: np.mean(x, dtype=object),
    lambda x: np.prod(x, dtype=object),
    lambda x: np.cumsum(x, dtype=object),
    lambda x: np.cumprod(x, dtype=object),
    lambda x: np.nansum(x, dtype=object),
    lambda x: np.add(x, 1.0, dtype=object),
    lambda x: np.add.reduce(x, dtype=object),
    lambda x: np.stack([x, x], dtype=object),
    lambda x: np.concatenate([x, x], dtype=object),
    lambda x: np.linspace(x, 1.0, 3, dtype=object),
    lambda x: np.select([A([True, False])], [x], A([1, 2], object)),
    lambda x: np.trace(np.outer(x, x), dtype=object),
]


@pytest.mark.parametrize("function", OF_OBJECTS)
def test_arrays_of_objects_never_drop_a_derivative(function: Any):
    with pytest.raises(NoRuleError, match="dtype object"):
        grad(lambda x: np.sum(function(x)) * 1.0)(np.ones(2))
    with pytest.raises(NoRuleError, match="dtype object"):
        jvp(lambda x: np.sum(function(x)) * 1.0, (np.ones(2),), (np.ones(2),))


_LATE_FAMILIES = """
import importlib
from funcgrad.ops import register
from funcgrad.primitive import LATE, OPERATIONS, _home

homes = {}
for module, family in LATE:
    if module.startswith("numpy"):
        homes.setdefault(family, set()).add(module)
for family in homes:
    before = set(OPERATIONS)
    importlib.import_module(family)
    for key in set(OPERATIONS) - before:
        home = _home(key[0] if type(key) is tuple else key)
        if home is not None and home not in homes[family]:
            print(family, "is not looked for in", home, "which", key, "belongs to")
"""


def test_each_late_family_is_found_by_each_of_its_functions():
    found = subprocess.run([sys.executable, "-c", _LATE_FAMILIES], capture_output=True, text=True, check=True)
    assert found.stdout == ""


def test_real_if_close_first_of_all():
    program = "import numpy as np; from funcgrad import grad; print(grad(lambda x: np.real_if_close(x * (1 + 0j)) * 2.0)(1.0))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "2.0\n"
