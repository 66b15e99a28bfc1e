"""Minima and roots that are known in closed form."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import grad, hessian, jacfwd, jacrev, jvp, tape
from funcgrad.errors import ConcretizationError, InputTypeError, NoRuleError, TreeError
from funcgrad.testing import check_grads
from tests.runs import each_run

scipy_optimize = pytest.importorskip("scipy.optimize")
from funcgrad.scipy import optimize  # noqa: E402 - it needs SciPy
from funcgrad.scipy.optimize import curve_fit, least_squares, minimize, root, root_scalar  # noqa: E402
from tests.scipy.namespaces import assert_refuses_by_name, without_rule  # noqa: E402

A = np.array
WITH_DERIVATIVES = [None, "BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP", "Newton-CG", "trust-ncg", "trust-krylov", "trust-constr", "dogleg",
                    "trust-exact"]  # fmt: skip


class Point(NamedTuple):
    x: Any
    y: Any


def rosenbrock(p: Any, a: Any = 1.0) -> Any:
    return np.sum(100.0 * (p.y - p.x**2) ** 2 + (a - p.x) ** 2)


# ------------------------------------------------------------------------------------------------ minimize


@pytest.mark.parametrize("method", WITH_DERIVATIVES)
def test_trees_are_minimized_by_every_method(method: str):
    start = Point(np.zeros((2, 1)), A([[0.5], [0.0]]) if method != "dogleg" else np.zeros((2, 1)))
    found = minimize(rosenbrock, start, method=method, tol=1e-8, options={"maxfun": 5000} if method == "TNC" else None)
    assert found.success
    assert type(found.x) is Point
    assert found.x.x.shape == (2, 1)
    np.testing.assert_allclose(found.x.x, 1.0, atol=2e-3)
    np.testing.assert_allclose(found.x.y, 1.0, atol=4e-3)
    np.testing.assert_array_equal(start.x, 0.0)
    gradient = found.grad if method == "trust-constr" else found.jac
    np.testing.assert_allclose(gradient.x, grad(rosenbrock)(found.x).x, atol=1e-3)  # Newton-CG gives that of the step before


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell"])
def test_methods_without_derivatives_differentiate_nothing(method: str):
    def f(p: Any) -> Any:
        assert type(p["x"]) is float
        return math.cosh(p["x"] - 1.0) + float(np.sum((p["y"] - 2.0) ** 2))

    found = minimize(f, {"x": 0.0, "y": np.zeros(1)}, method=method, tol=1e-10)
    assert found.x["x"] == pytest.approx(1.0, abs=1e-4)
    assert found.x["y"] == pytest.approx(A([2.0]), abs=1e-4)


def test_derivatives_that_are_given_are_used():
    called = []

    def gradient(p: Any, a: Any) -> Any:
        called.append("gradient")
        return grad(rosenbrock)(p, a)

    def product(p: Any, v: Any, a: Any) -> Any:
        called.append("product")
        return jvp(lambda p: grad(rosenbrock)(p, a), (p,), (v,))[1]

    def matrix(p: Any, a: Any) -> Any:
        called.append("matrix")
        return np.array([[2.0 - 400.0 * (p.y - 3.0 * p.x**2), -400.0 * p.x], [-400.0 * p.x, 200.0]])

    start, wanted = Point(0.0, 0.0), Point(2.0, 4.0)
    for options in (
        {"jac": gradient},
        {"jac": "2-point"},
        {"jac": gradient, "hessp": product, "method": "Newton-CG"},
        {"hess": matrix, "method": "trust-exact"},
        {"jac": gradient, "hess": matrix, "method": "trust-constr"},
        {"hess": scipy_optimize.BFGS(), "method": "trust-constr"},
    ):
        found = minimize(rosenbrock, start, 2.0 if "hess" in options else (2.0,), **options)
        np.testing.assert_allclose([found.x.x, found.x.y], wanted, rtol=1e-2)
    assert {"gradient", "product", "matrix"} == set(called)

    def both(p: Any) -> Any:
        return rosenbrock(p), grad(rosenbrock)(p)

    assert minimize(both, start, jac=True).x.y == pytest.approx(1.0, rel=1e-4)
    plain = minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(3), jac=lambda x: 2.0 * (x - 1.0))
    np.testing.assert_allclose(plain.x, 1.0, rtol=1e-6)


def test_plain_vectors_are_scipys():
    def f(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2) + np.sum((1.0 - x[:-1]) ** 2)

    ours = minimize(f, np.zeros(4), method="BFGS")
    theirs = scipy_optimize.minimize(f, np.zeros(4), method="BFGS", jac=scipy_optimize.rosen_der)
    assert ours.nfev == theirs.nfev
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-12)
    assert minimize(lambda x: (x[0] - 3.0) ** 2, 0.0).x.shape == (1,)
    assert minimize(lambda x: np.sum((x - 3.0) ** 2), [0, 1]).x == pytest.approx(A([3.0, 3.0]))


def test_bounds_of_trees():
    start = {"x": np.zeros((2, 1)), "y": np.zeros((2, 1))}
    f = lambda p: rosenbrock(Point(p["x"], p["y"]))
    for method in ("L-BFGS-B", "TNC", "SLSQP", "trust-constr"):
        found = minimize(f, start, method=method, bounds={"x": (None, 0.5), "y": (A([[-1.0], [0.0]]), None)}).x
        np.testing.assert_allclose(found["x"], 0.5, atol=1e-3)
        np.testing.assert_allclose(found["y"], 0.25, atol=1e-3)
    found = minimize(f, start, bounds={"x": None, "y": (None, 0.25)}).x
    assert np.all(found["y"] <= 0.25)
    np.testing.assert_allclose(minimize(f, start, bounds=scipy_optimize.Bounds(0.0, 0.5)).x["x"], 0.5, atol=0.25)
    with pytest.raises(TreeError, match="bounds"):
        minimize(f, start, bounds={"x": (0.0, 1.0)})
    np.testing.assert_allclose(minimize(lambda x: np.sum((x - 2.0) ** 2), np.zeros(2), bounds=[(0.0, 1.0), (None, None)]).x, [1.0, 2.0])


def test_constraints_get_their_jacobians():
    """The point of the unit disc that is nearest to (2, 1)."""
    f = lambda p: (p["x"] - 2.0) ** 2 + (p["y"] - 1.0) ** 2
    inside = lambda p: 1.0 - p["x"] ** 2 - p["y"] ** 2
    for constraint, method in (
        ({"type": "ineq", "fun": inside}, "SLSQP"),
        ([{"type": "ineq", "fun": inside, "jac": lambda p: [-2.0 * p["x"], -2.0 * p["y"]]}], "SLSQP"),
        (scipy_optimize.NonlinearConstraint(inside, 0.0, np.inf), "trust-constr"),
        (scipy_optimize.NonlinearConstraint(inside, 0.0, np.inf), "SLSQP"),
    ):
        found = minimize(f, {"x": 0.0, "y": 0.0}, method=method, constraints=constraint, tol=1e-9).x
        np.testing.assert_allclose([found["x"], found["y"]], A([2.0, 1.0]) / math.sqrt(5.0), rtol=1e-4)
    line = scipy_optimize.LinearConstraint([[1.0, 1.0]], 1.0, 1.0)
    found = minimize(f, {"x": 0.0, "y": 0.0}, method="SLSQP", constraints=line).x
    np.testing.assert_allclose([found["x"], found["y"]], [1.0, 0.0], atol=1e-8)


def test_callbacks_see_trees():
    seen: list[Any] = []
    minimize(rosenbrock, Point(0.0, 0.0), callback=lambda p: seen.append(p), method="BFGS")

    def told(intermediate_result: Any) -> None:
        seen.append(intermediate_result.x)

    minimize(rosenbrock, Point(0.0, 0.0), callback=told, method="L-BFGS-B")
    minimize(rosenbrock, Point(0.0, 0.0), callback=lambda p, state: seen.append(p), method="trust-constr")
    assert len(seen) > 30
    assert all(type(one) is Point for one in seen)
    assert rosenbrock(seen[-1]) < 1e-6


def test_minimize_inside_a_transform_is_a_constant_computation():
    def f(a: Any) -> Any:
        return a * minimize(lambda x: np.sum((x - 3.0) ** 2), np.zeros(2)).x[0]

    assert grad(f)(2.0) == pytest.approx(3.0)
    assert jvp(f, (2.0,), (1.0,))[1] == pytest.approx(3.0)


def test_minimize_refuses_what_is_not_one_number():
    with pytest.raises(InputTypeError, match="one real number"):
        minimize(lambda x: x**2, np.ones(2))


# ------------------------------------------------------------------------------------------------ least squares


def test_least_squares_of_a_tree():
    t = np.linspace(0.0, 1.0, 9)
    data = 2.0 * np.exp(-3.0 * t)

    def residuals(p: Any, t: Any, sign: float = 1.0) -> Any:
        return {"all": sign * (p["size"] * np.exp(-p["rate"] * t) - data), "again": p["size"] - 2.0}

    for options in ({}, {"method": "lm"}, {"loss": "soft_l1"}, {"bounds": ({"size": 0.0, "rate": 0.0}, {"size": 5.0, "rate": 9.0})}):
        found = least_squares(residuals, {"size": 1.0, "rate": 1.0}, args=(t,), kwargs={"sign": -1.0}, **options)
        assert (found.x["size"], found.x["rate"]) == pytest.approx((2.0, 3.0), rel=1e-5)
        assert found.jac.shape == (10, 2)
    bounded = least_squares(residuals, {"size": 1.0, "rate": 1.0}, bounds=(0.0, {"size": 1.5, "rate": 9.0}), args=(t,)).x
    assert bounded["size"] == pytest.approx(1.5, rel=1e-4)
    mine = lambda p, *rest, **more: np.ones((10, 2))
    assert least_squares(residuals, {"size": 1.0, "rate": 1.0}, mine, args=(t,), max_nfev=1).jac[0, 0] == 1.0
    plain = least_squares(lambda x: x - A([1.0, 2.0]), np.zeros(2))
    np.testing.assert_allclose(plain.x, [1.0, 2.0])
    np.testing.assert_array_equal(plain.jac, np.eye(2))
    np.testing.assert_allclose(least_squares(lambda x: x - A([1.0, 2.0]), np.zeros(2), "2-point").x, [1.0, 2.0])


def test_curve_fit():
    t = np.linspace(0.0, 1.0, 9)
    f = lambda t, size, rate: size * np.exp(-rate * t)
    data = f(t, 2.0, 3.0) + 0.01 * np.sin(20.0 * t)
    wanted, covariance = scipy_optimize.curve_fit(f, t, data, ftol=1e-14, xtol=1e-14)
    for args, options in (
        ((), {"ftol": 1e-14, "xtol": 1e-14}), (([1.0, 1.0],), {"method": "trf"}), (([1.0, 1.0],), {"bounds": (0.0, 9.0)}),
        ((None, np.ones(9)), {}), (([1.0, 1.0],), {"jac": "2-point", "method": "trf"}),
    ):  # fmt: skip
        found, spread = curve_fit(f, t, data, *args, **options)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        np.testing.assert_allclose(spread, covariance, rtol=1e-3)


# ------------------------------------------------------------------------------------------------ roots


def circle_and_line(x: Any, p: Any, radius: Any) -> Any:
    """x**2 + y**2 = radius**2 and y = slope x: x = radius / sqrt(1 + slope**2)."""
    return np.stack([x[0] ** 2 + x[1] ** 2 - radius**2, x[1] - p["slope"][0] * x[0]])


def closed(slope: Any, radius: Any) -> Any:
    x = radius / np.sqrt(1.0 + slope**2)
    return np.stack([x, slope * x])


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_systems_in_every_nesting(method: str):
    def f(slope: Any, radius: Any) -> Any:
        return root(circle_and_line, [1.0, 1.0], ({"slope": [slope]}, radius), method, tol=1e-13).x

    args, both = (0.7, 2.0), (0, 1)
    np.testing.assert_array_equal(jvp(f, args, args)[0], scipy_root(0.7, 2.0, method))
    for first in (jacfwd, jacrev):
        np.testing.assert_allclose(first(f, both)(*args), first(closed, both)(*args), rtol=1e-8)
        for second in (jacfwd, jacrev):
            np.testing.assert_allclose(second(first(f, both), both)(*args), second(first(closed, both), both)(*args), rtol=1e-7, atol=1e-12)
    third = lambda f: grad(grad(grad(lambda slope: np.sum(f(slope, 2.0)))))(0.7)
    assert third(f) == pytest.approx(third(closed), rel=1e-6)


def scipy_root(slope: float, radius: float, method: str) -> Any:
    return scipy_optimize.root(circle_and_line, [1.0, 1.0], ({"slope": [slope]}, radius), method, tol=1e-13).x


def test_roots_are_trees():
    def equations(p: Any, a: Any) -> Any:
        return {"first": p.x**2 - a, "second": p.y - p.x[0]}

    def f(a: Any) -> Any:
        return root(equations, Point(np.ones(2), 1.0), (a,), tol=1e-13).x

    a = A([2.0, 3.0])
    found = f(a)
    assert type(found) is Point
    assert type(found.y) is float
    np.testing.assert_allclose(found.x, np.sqrt(a), rtol=1e-12)
    tangent = jvp(f, (a,), (A([1.0, 0.0]),))[1]
    np.testing.assert_allclose(tangent.x, [0.5 / math.sqrt(2.0), 0.0], atol=1e-12)
    assert tangent.y == pytest.approx(0.5 / math.sqrt(2.0))
    check_grads(f, (a,))
    jac = lambda p, a: fnp.array([[2.0 * p.x[0], 0.0, 0.0], [0.0, 2.0 * p.x[1], 0.0], [-1.0, 0.0, 1.0]])
    seen: list[Any] = []
    given = root(equations, Point(np.ones(2), 1.0), (a,), jac=jac)
    np.testing.assert_allclose(given.x.x, np.sqrt(a), rtol=1e-8)
    root(equations, Point(np.ones(2), 1.0), (a,), "broyden1", callback=lambda p, f: seen.append(p))
    assert all(type(one) is Point for one in seen)
    with_jac = lambda a: root(lambda p, a: (equations(p, a), jac(p, a)), Point(np.ones(2), 1.0), (a,), jac=True).x.y
    np.testing.assert_allclose(grad(with_jac)(a), [0.5 / math.sqrt(2.0), 0.0], atol=1e-8)


def test_the_start_does_not_matter():
    f = lambda start, a: root(lambda x, a: x**3 - a, start, (a,)).x[0]
    assert grad(f, (0, 1))(1.5, 8.0) == pytest.approx((0.0, 1.0 / 12.0), rel=1e-8)
    np.testing.assert_array_equal(grad(f)(A([1.5]), 8.0), [0.0])
    assert grad(lambda start: optimize.newton(lambda x: x**3 - 8.0, start))(1.5) == 0.0
    assert grad(lambda b: optimize.brentq(lambda x: x**3 - 8.0, 0.0, b))(5.0) == 0.0


@pytest.mark.parametrize("name", ["bisect", "brenth", "brentq", "ridder", "toms748"])
def test_brackets(name: str):
    solver = getattr(optimize, name)
    cube = lambda x, a: x**3 - a
    assert solver(cube, 0.0, 9.0, (8.0,)) == getattr(scipy_optimize, name)(cube, 0.0, 9.0, (8.0,))
    f = lambda a: solver(cube, 0.0, 9.0, args=(a,), xtol=1e-14)
    assert grad(f)(8.0) == pytest.approx(1.0 / 12.0, rel=1e-12)
    assert hessian(f)(8.0) == pytest.approx(-2.0 / 9.0 * 8.0 ** (-5.0 / 3.0), rel=1e-11)
    assert type(grad(f)(8.0)) is float
    told = grad(lambda a: solver(cube, 0.0, 9.0, (a,), full_output=True)[1].root)
    assert told(8.0) == pytest.approx(1.0 / 12.0, rel=1e-9)


def test_newton():
    f = lambda a: optimize.newton(lambda x, a: x**3 - a, 1.5, args=(a,), tol=1e-14)
    check_grads(f, (8.0,))
    many = lambda a: optimize.newton(lambda x, a: x**3 - a, np.full(2, 1.5), fprime=lambda x, a: 3.0 * x**2, args=(a,))
    np.testing.assert_allclose(jacrev(many)(A([8.0, 27.0])), np.diag([1.0 / 12.0, 1.0 / 27.0]), rtol=1e-9)
    np.testing.assert_allclose(jacfwd(many)(A([8.0, 27.0])), np.diag([1.0 / 12.0, 1.0 / 27.0]), rtol=1e-9)
    assert grad(lambda a: optimize.newton(lambda x, a: x**3 - a, 1.5, None, [a]))(8.0) == pytest.approx(1.0 / 12.0, rel=1e-6)
    wanted = scipy_optimize.newton(lambda x, a: x**3 - a, 1.5, args=(8.0,), full_output=True)
    assert optimize.newton(lambda x, a: x**3 - a, 1.5, args=(8.0,), full_output=True)[0] == wanted[0]


def test_root_scalar():
    for options in ({"bracket": (0.0, 9.0)}, {"x0": 1.5}, {"x0": 1.5, "x1": 2.5}, {"x0": 1.5, "fprime": lambda x, a: 3.0 * x**2}):
        f = lambda a, options=options: root_scalar(lambda x, a: x**3 - a, (a,), **options)
        assert f(8.0).root == scipy_optimize.root_scalar(lambda x, a: x**3 - a, (8.0,), **options).root
        assert grad(lambda a, f=f: f(a).root)(8.0) == pytest.approx(1.0 / 12.0, rel=1e-6)
    both = lambda a: root_scalar(lambda x, a: (x**3 - a, 3.0 * x**2), a, x0=1.5, fprime=True).root
    assert grad(both)(8.0) == pytest.approx(1.0 / 12.0, rel=1e-9)
    assert grad(lambda b: root_scalar(lambda x: x**3 - 8.0, bracket=(0.0, b)).root)(9.0) == 0.0


def test_fsolve():
    f = lambda a: optimize.fsolve(lambda x, a: x**3 - a, 1.5, (a,), xtol=1e-13)
    np.testing.assert_array_equal(f(8.0), scipy_optimize.fsolve(lambda x, a: x**3 - a, 1.5, (8.0,), xtol=1e-13))
    check_grads(f, (8.0,))
    x, info, found, _ = optimize.fsolve(lambda x, a: x**3 - a, 1.5, (8.0,), full_output=True)
    assert (found, info["fvec"].shape, x.shape) == (1, (1,), (1,))
    gradient = grad(lambda a: optimize.fsolve(lambda x, a: x**3 - a, [1.5], a, full_output=True)[0][0])
    assert gradient(8.0) == pytest.approx(1.0 / 12.0, rel=1e-9)


def test_keplers_equation():
    kepler = lambda e, eccentricity, anomaly: e - eccentricity * np.sin(e) - anomaly
    f = lambda eccentricity, anomaly: optimize.brentq(kepler, 0.0, 7.0, (eccentricity, anomaly), xtol=1e-14)
    e = f(0.5, 1.0)
    slope = 1.0 - 0.5 * math.cos(e)
    assert grad(f, (0, 1))(0.5, 1.0) == pytest.approx((math.sin(e) / slope, 1.0 / slope), rel=1e-12)


def test_a_singular_root_is_an_error():
    with pytest.raises(np.linalg.LinAlgError):
        grad(lambda a: root(lambda x, a: a * x, [0.0], (a,)).x[0])(0.0)


# ------------------------------------------------------------------------------------------------ refusals


@each_run
def test_traced_values_that_come_in_sideways_are_refused(run: Any):
    message = "uses a traced value of the code around it, whose derivative would be lost: pass it through args"
    for call in (
        lambda a: root(lambda x: x**3 - a, 1.0).x[0],
        lambda a: root(lambda x, b: x**3 - a, 1.0, (a,)).x[0],
        lambda a: root(lambda p: {"x": p["x"] - a}, {"x": 1.0}).x["x"],
        lambda a: optimize.fsolve(lambda x: x**3 - a, 1.0)[0],
        lambda a: optimize.brentq(lambda x: x**3 - a, 0.0, 9.0),
        lambda a: optimize.newton(lambda x: x**3 - a, 1.0),
        lambda a: root_scalar(lambda x: x**3 - a, bracket=(0.0, 9.0)).root,
        lambda a: minimize(lambda x: np.sum((x - a) ** 2), np.ones(2)).fun,
        lambda a: minimize(lambda x: a * a, np.ones(2)).fun,
        lambda a: minimize(lambda x: np.sum((x - a) ** 2), np.ones(2), method="Powell").fun,
        lambda a: least_squares(lambda x: x - a, np.ones(2)).cost,
        lambda a: curve_fit(lambda x, p: p * x - a, np.ones(2), np.ones(2))[0][0],
    ):
        with pytest.raises(ConcretizationError, match=message):
            run(call, 2.0)
        assert tape.thread.scope is None


@each_run
def test_what_has_no_rule_is_refused_by_name(run: Any):
    for call, message in (
        (
            lambda a: minimize(lambda x, a: np.sum((x - a) ** 2), np.ones(2), (a,)).fun,
            r"scipy\.optimize\.minimize of tracers.*root on the gradient",
        ),
        (lambda a: minimize(lambda x: np.sum(x * x), {"x": a}).fun, r"scipy\.optimize\.minimize"),
        (lambda a: least_squares(lambda x, a: x - a, np.ones(2), args=(a,)).cost, r"scipy\.optimize\.least_squares"),
        (lambda a: curve_fit(lambda x, p: p * x, [a, 1.0], np.ones(2))[0][0], r"scipy\.optimize\.curve_fit"),
        (lambda a: optimize.minimize_scalar(lambda x: x * x, (0.0, a)).fun, r"scipy\.optimize\.minimize_scalar has no derivative rule"),
        (lambda a: optimize.linprog([a, 1.0]).fun, r"scipy\.optimize\.linprog has no derivative rule"),
    ):
        with pytest.raises(NoRuleError, match=message):
            run(call, 2.0)
    with pytest.raises(NoRuleError, match="complex"):
        grad(lambda a: np.real(optimize.newton(lambda x, a: x**2 - a, 1.0 + 1.0j, args=(a,))))(2.0 + 1.0j)


def test_fixed_points():
    """Of Heron's iteration, the square root; of a linear map, the solution of a system of equations."""

    def heron(x: Any, a: Any) -> Any:
        return 0.5 * (x + a / x)

    def square_root(a: Any) -> Any:
        return optimize.fixed_point(heron, 1.0, (a,))

    assert grad(square_root)(4.0) == jvp(square_root, (4.0,), (1.0,))[1] == pytest.approx(0.25)
    assert grad(grad(square_root))(4.0) == pytest.approx(-1 / 32)
    matrix = A([[0.1, 0.3], [0.2, -0.1]])
    slopes = jacrev(lambda b: optimize.fixed_point(lambda x, b: matrix @ x + b, np.ones(2), (b,), method="iteration"))(A([1.0, 2.0]))
    np.testing.assert_allclose(slopes, np.linalg.inv(np.eye(2) - matrix), rtol=1e-12)
    assert optimize.fixed_point(heron, 1.0, (4.0,)) == scipy_optimize.fixed_point(heron, 1.0, (4.0,))
    with pytest.raises(ConcretizationError, match="fixed_point"):
        grad(lambda a: optimize.fixed_point(lambda x: heron(x, a), 1.0))(4.0)


def test_values_of_one_element_are_numbers():
    """As for SciPy, which gives functions a vector of one for a number."""
    for method in ("BFGS", "Newton-CG", "trust-exact", "Nelder-Mead"):
        np.testing.assert_allclose(minimize(lambda x: (x - 2.0) ** 2, 0.5, method=method).x, [2.0], atol=1e-4)


@pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "trust-exact"])
def test_functions_that_give_their_gradient_get_products_with_the_hessian(method: str):
    def both(p: Any) -> Any:
        return np.sum((p["a"] - 2.0) ** 2), {"a": 2.0 * (p["a"] - 2.0)}

    np.testing.assert_allclose(minimize(both, {"a": np.ones(2)}, method=method, jac=True).x["a"], [2.0, 2.0])
    vector = minimize(lambda x: (np.sum((x - 2.0) ** 2), 2.0 * (x - 2.0)), np.ones(2), method=method, jac=True)
    np.testing.assert_allclose(vector.x, [2.0, 2.0])


def test_options_of_minimize_drop_no_derivative():
    for call in (
        lambda a: minimize(lambda x: np.sum(x * x), np.ones(2), tol=a).fun,
        lambda a: minimize(lambda x: np.sum(x * x), np.ones(2), bounds=[(a, 2.0)] * 2).fun,
        lambda a: minimize(lambda x: np.sum(x * x), np.ones(2), options={"gtol": a}).fun,
    ):
        with pytest.raises(NoRuleError, match=r"scipy\.optimize\.minimize of tracers"):
            grad(call)(0.5)


def test_complex_variables_are_refused():
    with pytest.raises(InputTypeError, match="real and imaginary parts"):
        minimize(lambda z: np.sum(np.abs(z) ** 2), A([1.0j, 1.0]))


def test_tnc_gives_its_callback_the_variables_alone():
    seen: list[Any] = []

    def keep(intermediate_result: Any) -> None:
        seen.append(intermediate_result)

    minimize(lambda p: np.sum((p["a"] - 2.0) ** 2), {"a": np.ones(2)}, method="TNC", callback=keep)
    np.testing.assert_allclose(seen[-1]["a"], [2.0, 2.0])


def test_all_else_is_scipys():
    assert optimize.minimize_scalar(lambda x: (x - 1.0) ** 2).x == pytest.approx(1.0)
    assert optimize.rosen([1.0, 1.0]) == 0.0
    assert optimize.Bounds is not None
    assert "minimize" in dir(optimize)


@pytest.mark.parametrize("name", without_rule(optimize, scipy_optimize))
def test_what_else_scipy_has_refuses_tracers_by_name(name: str):
    assert_refuses_by_name(optimize, scipy_optimize, name)
