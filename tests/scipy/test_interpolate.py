"""scipy.interpolate at special points: polynomials, cardinal splines, edges, refusals; and the namespace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.interpolate

from funcgrad import grad, hessian, jacfwd, jacrev, jvp
from funcgrad.errors import NoRuleError
from funcgrad.scipy import interpolate
from tests.scipy.namespaces import assert_refuses_by_name, assert_stands_for, with_rule, without_rule

X = np.array([0.0, 0.7, 1.6, 2.2, 3.5, 4.0])
Y = np.array([0.3, -1.0, 0.6, 1.1, -0.4, 0.2])
AT = np.array([0.2, 1.1, 1.9, 3.0, 3.9, -0.5, 4.6])
SPLINES: dict[str, Any] = {
    "not-a-knot": lambda x, y: interpolate.CubicSpline(x, y),
    "natural": lambda x, y: interpolate.CubicSpline(x, y, bc_type="natural"),
    "clamped": lambda x, y: interpolate.CubicSpline(x, y, bc_type="clamped"),
    "values": lambda x, y: interpolate.CubicSpline(x, y, bc_type=((2, 0.0), (1, 0.0))),
    "periodic": lambda x, y: interpolate.CubicSpline(x, np.concatenate([y[:-1], y[:1]]), bc_type="periodic"),
    "pchip": interpolate.PchipInterpolator,
}


@pytest.mark.parametrize("name", without_rule(interpolate, scipy.interpolate))
def test_what_has_no_rule_says_so(name: str):
    assert_refuses_by_name(interpolate, scipy.interpolate, name)


@pytest.mark.parametrize("name", with_rule(interpolate))
def test_what_has_a_rule_stands_for_scipys(name: str):
    assert_stands_for(interpolate, scipy.interpolate, name)


def test_plain_values_are_scipys_with_all_its_methods():
    spline, wanted = interpolate.CubicSpline(X, Y), scipy.interpolate.CubicSpline(X, Y)
    np.testing.assert_array_equal(spline(AT), wanted(AT))
    np.testing.assert_array_equal(spline(AT, 2, extrapolate=False), wanted(AT, 2, extrapolate=False))
    np.testing.assert_array_equal(spline.roots(), wanted.roots())
    np.testing.assert_array_equal(spline.derivative()(AT), wanted.derivative()(AT))
    np.testing.assert_array_equal(spline.antiderivative(2).c, wanted.antiderivative(2).c)
    assert spline.integrate(0.1, 2.0) == wanted.integrate(0.1, 2.0)
    assert (spline.axis, spline.extrapolate, repr(spline)) == (0, True, "<plain CubicSpline>")
    grid = interpolate.RegularGridInterpolator((X,), Y, method="nearest")
    assert grid([0.1]) == 0.3
    assert interpolate.interp1d(X, Y, kind="nearest")(0.1) == 0.3
    assert interpolate.interpn((X,), Y, [0.1], method="nearest") == 0.3


# ------------------------------------------------------------------------------------------------ splines


def test_a_cubic_is_reproduced_with_its_slopes():
    """Of y = x**3 the spline is that cubic, whatever the places of the data."""
    f = lambda x, at: interpolate.CubicSpline(x, x**3)(at)
    np.testing.assert_allclose(np.diag(jacrev(f, 1)(X, AT)), 3 * AT**2, atol=1e-12)
    np.testing.assert_allclose(jacrev(f, 0)(X, AT), 0.0, atol=1e-11)
    np.testing.assert_allclose(np.einsum("iii->i", jacfwd(jacrev(f, 1), 1)(X, AT)), 6 * AT, atol=1e-11)


@pytest.mark.parametrize("name", [name for name in SPLINES if name != "pchip"])
def test_the_derivative_in_a_value_is_the_cardinal_spline(name: str):
    """Splines are linear in the values: SciPy's own through a unit is the derivative."""
    units = np.eye(6)
    for nu in (0, 1, 2):
        wanted = np.stack([SPLINES[name](X, unit)(AT, nu) for unit in units], -1)
        for jacobian in (jacfwd, jacrev):
            np.testing.assert_allclose(jacobian(lambda y: SPLINES[name](X, y)(AT, nu))(Y), wanted, atol=1e-12)  # noqa: B023


@pytest.mark.parametrize("name", SPLINES)
def test_nothing_changes_where_all_places_move_together(name: str):
    by_x, by_at = jacrev(lambda x, at: SPLINES[name](x, Y)(at), (0, 1))(X, AT)
    np.testing.assert_allclose(by_x.sum(1), -by_at.sum(1), atol=1e-10)
    np.testing.assert_allclose(np.diag(by_at), SPLINES[name](X, Y)(AT, 1), atol=1e-12)


@pytest.mark.parametrize("name", SPLINES)
def test_derivatives_by_nu_by_method_and_by_grad_are_one(name: str):
    def slope(y: Any) -> Any:
        spline = SPLINES[name](X, y)
        by_grad = np.stack([grad(lambda at: spline(at))(at) for at in AT[:4]])
        return np.stack([spline(AT[:4], 1), spline.derivative()(AT[:4]), spline.antiderivative(2).derivative(3)(AT[:4]), by_grad])

    for one in (slope(Y), np.moveaxis(jacrev(slope)(Y), -1, 1), np.moveaxis(jacfwd(slope)(Y), -1, 1)):
        for other in one[1:]:
            np.testing.assert_allclose(other, one[0], atol=1e-12)


def test_the_integral_has_the_value_for_its_derivative():
    f = lambda y, a, b: interpolate.CubicSpline(X, y).integrate(a, b)
    by_y, by_a, by_b = grad(f, (0, 1, 2))(Y, 0.4, 3.3)
    spline = scipy.interpolate.CubicSpline(X, Y)
    np.testing.assert_allclose([by_a, by_b], [-spline(0.4), spline(3.3)], rtol=1e-13)
    np.testing.assert_allclose(by_y, [scipy.interpolate.CubicSpline(X, unit).integrate(0.4, 3.3) for unit in np.eye(6)], atol=1e-14)
    assert hessian(lambda b: f(Y, 0.4, b))(3.3) == pytest.approx(float(spline(3.3, 1)), rel=1e-13)


def test_a_point_at_a_breakpoint_belongs_to_the_piece_behind_it():
    f = lambda at: interpolate.PPoly(np.array([[1.0, 5.0], [0.0, 2.0]]), np.array([0.0, 1.0, 2.0]))(at)
    assert [grad(f)(at) for at in (0.0, 1.0, 2.0)] == [1.0, 5.0, 5.0]


def test_where_there_is_no_value_there_is_no_derivative():
    at = np.array([-1.0, 1.1, 9.0])
    f = lambda y, at: interpolate.CubicSpline(X, y, extrapolate=False)(at)
    value, tangent = jvp(f, (Y, at), (np.ones(6), np.ones(3)))
    np.testing.assert_array_equal(np.isnan(value), [True, False, True])
    assert tangent[0] == tangent[2] == 0.0
    by_y, by_at = jacrev(f, (0, 1))(Y, at)
    np.testing.assert_array_equal(by_y[[0, 2]], 0.0)
    np.testing.assert_array_equal(by_at[[0, 2]], 0.0)
    assert tangent[1] == pytest.approx(by_y[1].sum() + by_at[1, 1])


def test_pchip_is_flat_at_extrema_of_the_data():
    """Fritsch and Butland: the slope at a local extremum is 0, and stays 0 for small changes."""
    jacobian = jacrev(lambda y: interpolate.PchipInterpolator(X, y)(X[1:-1], 1))(Y)
    is_extremum = (np.diff(Y)[:-1] * np.diff(Y)[1:]) < 0
    assert is_extremum.any() and not is_extremum.all()
    np.testing.assert_array_equal(jacobian[is_extremum], 0.0)
    assert (np.abs(jacobian[~is_extremum]).max(1) > 0.01).all()


def test_two_and_three_points():
    line = lambda y: interpolate.CubicSpline(X[:2], y)(0.35)
    np.testing.assert_allclose(grad(line)(Y[:2]), [0.5, 0.5], rtol=1e-14)
    parabola = lambda y: interpolate.CubicSpline(np.array([0.0, 1.0, 2.0]), y)(0.5)
    np.testing.assert_allclose(grad(parabola)(Y[:3]), [0.375, 0.75, -0.125], rtol=1e-14)


# ------------------------------------------------------------------------------------------------ linear interpolation


def test_linear_interpolation_has_the_weights_of_its_neighbors():
    for f in (lambda y, at: interpolate.interp1d(X, y)(at), lambda y, at: interpolate.RegularGridInterpolator((X,), y)(at)[0]):
        by_y, by_at = grad(f, (0, 1))(Y, np.array([1.15])[0])
        np.testing.assert_allclose(by_y, [0, 0.5, 0.5, 0, 0, 0], rtol=1e-14, atol=1e-16)
        assert by_at == pytest.approx(1.6 / 0.9, rel=1e-14)


def test_values_beyond_the_grid_have_no_derivative():
    at = np.array([[-1.0], [1.15]])
    for fill in (0.5, np.nan):
        f = lambda y, fill=fill: interpolate.RegularGridInterpolator((X,), y, bounds_error=False, fill_value=fill)(at)
        np.testing.assert_array_equal(jacrev(f)(Y)[0], 0.0)
        g = lambda y, fill=fill: interpolate.interp1d(X, y, bounds_error=False, fill_value=(fill, 2.0))(at[:, 0])
        np.testing.assert_array_equal(jacrev(g)(Y)[0], 0.0)


# ------------------------------------------------------------------------------------------------ refusals


def test_what_has_no_rule_is_refused_by_name():
    decreasing = interpolate.PPoly(np.ones((2, 2)), np.array([2.0, 1.0, 0.0]))
    for call, words in (
        (lambda x: interpolate.CubicSpline(X, x * Y).roots(), "CubicSpline.roots"),
        (lambda x: interpolate.CubicSpline(X, Y, bc_type=((1, x), (1, 0.0))), "CubicSpline has no derivative rule .* bc_type"),
        (lambda x: interpolate.interp1d(X, Y, kind="cubic")(x), "interp1d of kind 'cubic'"),
        (lambda x: interpolate.RegularGridInterpolator((X,), x * Y, method="cubic")([1.0]), "RegularGridInterpolator by"),
        (lambda x: interpolate.CubicSpline(X, x * Y).integrate(0, 1, "periodic"), "PPoly.integrate with periodic"),
        (lambda x: decreasing(x), "PPoly with decreasing breakpoints"),
    ):
        with pytest.raises(NoRuleError, match=rf"^scipy\.interpolate\.{words}"):
            grad(call)(1.0)


def test_scipys_own_errors_come_out():
    with pytest.raises(ValueError, match="strictly increasing"):
        jacrev(lambda y: interpolate.CubicSpline(X[::-1], y).c)(Y)
    with pytest.raises(ValueError, match="bc_type"):
        jacrev(lambda y: interpolate.CubicSpline(X, y, bc_type="nothing").c)(Y)
    with pytest.raises(ValueError, match="out of bounds"):
        grad(lambda at: interpolate.RegularGridInterpolator((X,), Y)(at)[0])(9.0)
    with pytest.raises(ValueError, match="above the interpolation range"):
        grad(lambda at: interpolate.interp1d(X, Y)(at))(9.0)


def test_interpolants_of_tracers_say_so():
    seen: list[str] = []
    grad(lambda x: (seen.append(repr(interpolate.CubicSpline(X, x * Y))), x)[1])(1.0)
    assert seen == ["<traced CubicSpline>"]
    with pytest.raises(AttributeError):
        _ = interpolate.CubicSpline(X, Y).nothing


def test_places_that_are_given_twice():
    """At a jump the derivative belongs to the value that SciPy gives there: the one behind it, but on several lines the one before it."""
    y = np.array([1.0, 2.0, 5.0, 3.0])
    for x, at, wanted in (([0.0, 1.0, 1.0, 2.0], 1.0, 2), ([0.0, 0.0, 1.0, 2.0], 0.0, 1), ([0.0, 1.0, 2.0, 2.0], 2.0, 3)):
        np.testing.assert_array_equal(jacrev(lambda y, x=x, at=at: interpolate.interp1d(x, y)(at))(y), np.eye(4)[wanted])
        assert scipy.interpolate.interp1d(x, y)(at) == y[wanted]
    lines = jacrev(lambda y: interpolate.interp1d([0.0, 1.0, 1.0, 2.0], y[None])(1.0))(y)
    np.testing.assert_array_equal(lines, np.eye(4)[1:2])
    assert scipy.interpolate.interp1d([0.0, 1.0, 1.0, 2.0], y[None])(1.0) == y[1]


def test_classes_have_what_scipys_have():
    spline = interpolate.PPoly.from_spline(scipy.interpolate.make_interp_spline(X, Y))
    np.testing.assert_array_equal(spline(AT), scipy.interpolate.PPoly.from_spline(scipy.interpolate.make_interp_spline(X, Y))(AT))
    with pytest.raises(NoRuleError, match=r"scipy\.interpolate\.PPoly\.from_bernstein_basis"):
        grad(lambda x: interpolate.PPoly.from_bernstein_basis([x]))(1.0)
    assert isinstance(scipy.interpolate.CubicSpline(X, Y), interpolate.CubicSpline)
    assert isinstance(interpolate.CubicSpline(X, Y), interpolate.PPoly)
    assert not isinstance(1.0, interpolate.CubicSpline)
    with pytest.raises(AttributeError):
        _ = interpolate.CubicSpline.nothing
