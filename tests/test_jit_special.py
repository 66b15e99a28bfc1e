"""Programs at special values: zeros, ties, infinities, NaN, ends of domains, what a mask hides.

The tests of these for functions as they stand run again, with transforms whose results are compiled. Each program is made at other values
of the same kinds first: what had been decided by those would show.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import funcgrad
from funcgrad import elementwise_grad, grad, hessian, jacfwd, jacrev, jit, jvp, vjp
from tests import test_faults, test_special_values, test_strong_zeros
from tests.test_strong_zeros import CONTRACTIONS, ELEMENTWISE, X, at_four, masked

A = np.array
NOT_COMPILED = {
    "test_warnings_of_the_function_itself_stay": "programs give no warnings",
    "test_error_states_of_numpy_are_as_they_were": "a test of vjp's errors",
    "test_the_gradient_of_what_a_mask_hides_is_zero": "asks for values; below",
    "test_what_must_raise": "other errors",
    "test_what_must_raise_at_the_edges": "other errors",
    "test_writing_a_tracer_into_one_element_must_raise": "other errors",
    "test_large_arrays": "the same with more elements",
    "test_deep_and_wide": "5000 steps, twice",
    "test_polynomial_at_zero": "the sum of one float and numbers of another kind",
    "test_infinite_and_undefined_derivatives_are_told_where_they_are_meant": "below, in fewer kinds",
}


def elsewhere(value: Any) -> Any:
    """Values of the same kind that are not special."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc":
        moved = np.asarray(np.linspace(0.3, 0.7, value.size).reshape(value.shape), value.dtype)
        return moved if isinstance(value, np.ndarray) else moved[()]
    return 0.45 if type(value) is float else value


def compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    """f by a program that was made at other values."""

    def call(*args: Any) -> Any:
        program = jit(f)
        program(*funcgrad.tree.map(elsewhere, args))
        return program(*args)

    return call


def compiled_vjp(f: Callable[..., Any], *primals: Any) -> Any:
    def pulled(*given: Any) -> Any:
        return vjp(f, *given[:-1])[1](given[-1])

    return compiled(f)(*primals), lambda ct: compiled(pulled)(*primals, ct)


TRANSFORMS: dict[str, Any] = {
    "vjp": compiled_vjp,
    "jvp": lambda f, primals, tangents: compiled(lambda primals, tangents: jvp(f, primals, tangents))(primals, tangents),
    "linearize": lambda f, *primals: (compiled(f)(*primals), lambda *ts: TRANSFORMS["jvp"](f, primals, ts)[1]),
    **{
        name: lambda f, *args, name=name: compiled(getattr(funcgrad, name)(f, *args))
        for name in ("grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "hvp", "elementwise_grad")
    },
}


def calls(module: ModuleType) -> Iterator[Any]:
    """The tests of a module, each with the values of all its parameters."""
    for name, function in vars(module).items():
        if not name.startswith("test_") or name in NOT_COMPILED:
            continue
        rows = []
        for mark in getattr(function, "pytestmark", ()):
            if mark.name == "parametrize":
                names = [one.strip() for one in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])
                rows.append([dict(zip(names, one if len(names) > 1 else (one,), strict=True)) for one in mark.args[1]])
        for n, chosen in enumerate(itertools.product(*rows)):
            values = {key: value for one in chosen for key, value in one.items()}
            if values.get("name") == "frexp":
                continue  # of Python floats its parts are NumPy's scalars in a program
            if set(values) == set(inspect.signature(function).parameters):
                yield pytest.param(module, function, values, id=f"{name.removeprefix('test_')}-{n}")


@pytest.fixture(autouse=True)
def _singular_values_are_meant():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("module", "test", "values"), [*calls(test_special_values), *calls(test_strong_zeros), *calls(test_faults)])
def test_what_holds_for_functions_holds_for_programs(module: Any, test: Any, values: Any, monkeypatch: pytest.MonkeyPatch):
    for name, transform in TRANSFORMS.items():
        if hasattr(module, name):
            monkeypatch.setattr(module, name, transform)
    test(**values)


@pytest.mark.parametrize("f", list(ELEMENTWISE.values()), ids=list(ELEMENTWISE))
@pytest.mark.parametrize("first", [X, A([2.0, 3.0, 5.0])], ids=["special first", "special second"])
def test_what_a_mask_hides(f: Any, first: np.ndarray):
    wanted, second = [0.0, 0.0, at_four(f, 1)], np.diag([0.0, 0.0, at_four(f, 2)])
    ones = np.ones(3)
    for transform, expected in (
        (grad(masked(f)), wanted),
        (jacfwd(masked(f)), wanted),
        (jacrev(masked(f)), wanted),
        (elementwise_grad(lambda x: np.where(x > 0, f(x), 0.0)), wanted),
        (lambda x: jvp(masked(f), (x,), (ones,))[1], wanted[2]),
        (hessian(masked(f)), second),
        (jacrev(grad(masked(f))), second),
        (grad(jit(masked(f))), wanted),
    ):
        program = jit(transform)
        program(first)
        np.testing.assert_allclose(program(X), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(program(A([-1.0, 4.0, 4.0])), transform(A([-1.0, 4.0, 4.0])), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("product", list(CONTRACTIONS.values()), ids=list(CONTRACTIONS))
def test_a_program_is_asked_with_numbers_and_without(product: Any):
    """Finite, infinite, finite again, NaN: each answer is that of the function."""
    b, keep = A([[7.0, 8.0], [9.0, 10.0]]), A([[True], [False], [True]])
    f = grad(lambda a, b: np.sum(np.where(keep, product(a, b), 0.0)), (0, 1))
    program = jit(f)
    for bad in (4.0, np.inf, 3.0, np.nan, -np.inf):
        a = A([[1.0, 2.0], [bad, 3.0], [5.0, 6.0]])
        for got, wanted in zip(program(a, b), f(a, b), strict=True):
            assert np.isfinite(wanted).all()
            np.testing.assert_allclose(got, wanted, rtol=1e-15)


@pytest.mark.parametrize("f", [np.sqrt, np.log, np.cbrt, lambda x: x * np.nan, lambda x: 1.0 / x, lambda x: np.log(x) * x])
def test_infinite_and_undefined_derivatives_are_told(f: Any):
    for kind in (float, np.float64, A, lambda x: A([x, 4.0])):
        of = grad(lambda x: np.sum(f(x)))
        program = jit(of)
        for x in (2.0, 0.0, 3.0, -1.0):
            np.testing.assert_array_equal(program(kind(x)), of(kind(x)))
