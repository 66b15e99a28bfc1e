"""numerical_grad against closed forms, by differences and by the complex step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.testing import numerical_grad

A = np.array
X = A([0.5, -1.2, 2.0])


@pytest.mark.parametrize(("method", "tolerance"), [("differences", 1e-10), ("complex", 1e-15)])
def test_closed_forms(method: str, tolerance: float):
    np.testing.assert_allclose(numerical_grad(lambda x: np.sum(np.sin(x)), method=method)(X), np.cos(X), rtol=tolerance)
    assert numerical_grad(np.exp, method=method)(0.7) == pytest.approx(np.exp(0.7), rel=tolerance)
    of_x, of_y = numerical_grad(lambda x, y: np.sum(x) * y**3, (0, 1), method=method)(X, 2.0)
    np.testing.assert_allclose(of_x, [8.0] * 3, rtol=tolerance)
    assert of_y == pytest.approx(12 * np.sum(X), rel=tolerance)
    assert type(of_y) is float


def test_the_second_step_removes_the_error_of_the_first():
    """Exact but for rounding on polynomials of degree 4, even with a step of 1."""
    assert numerical_grad(lambda x: x**4 + x**3, eps=1.0)(2.0) == pytest.approx(44.0, rel=1e-14)
    assert numerical_grad(lambda x: x**5, eps=1.0)(2.0) != pytest.approx(80.0, rel=1e-3)


def test_the_form_is_that_of_grad():
    params = {"w": np.ones((2, 3)), "b": 0.5, "n": None, "s": np.float32(2.0), "h": np.ones(2, np.float16), "z": A(3.0)}

    def f(p: Any) -> Any:
        return np.sum(p["w"]) * p["b"] * p["s"] + np.sum(p["h"]) * p["z"]

    one, other = numerical_grad(f)(params), grad(f)(params)
    assert tree.structure(one) == tree.structure(other)
    for a, b in zip(tree.leaves(one), tree.leaves(other), strict=True):
        assert type(a) is type(b)
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-3)


def test_keywords_negative_argnums_and_empty_arrays():
    assert numerical_grad(lambda x, y, scale: scale * x * y, -1)(2.0, 5.0, scale=3.0) == pytest.approx(6.0, rel=1e-10)
    assert numerical_grad(lambda x: np.sum(x))(np.zeros((0, 2))).shape == (0, 2)


def test_functions_that_are_not_analytic_are_refused():
    with pytest.raises(InputTypeError, match=r'gives float64: it drops the imaginary part .* use method="differences"'):
        numerical_grad(lambda x: np.sum(np.abs(x)), method="complex")(X)


def test_bad_input():
    with pytest.raises(InputTypeError, match=r"whose output is one real number, got ndarray of shape \(3,\)"):
        numerical_grad(np.sin)(X)
    with pytest.raises(InputTypeError, match=r"argument 1 at \['k'\] is 'a' \(str\)"):
        numerical_grad(lambda x, p: x, 1)(1.0, {"k": "a"})
    with pytest.raises(InputValueError, match="argnums 2 is out of range"):
        numerical_grad(np.sin, 2)(1.0)
    with pytest.raises(InputValueError, match="method must be one of 'differences', 'complex', got 'forward'"):
        numerical_grad(np.sin, method="forward")
    with pytest.raises(InputTypeError, match="numerical_grad takes a function, got float"):
        numerical_grad(3.0)  # type: ignore[arg-type]
