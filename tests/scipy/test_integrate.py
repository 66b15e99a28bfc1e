"""Differential equations and integrals whose solutions are known in closed form."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from funcgrad import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, stop_gradient, tape, vjp
from funcgrad.errors import ConcretizationError, InputTypeError, NoRuleError, TreeError
from funcgrad.testing import check_grads
from tests.runs import each_run

scipy_integrate = pytest.importorskip("scipy.integrate")
from funcgrad.scipy import integrate  # noqa: E402 - it needs SciPy
from funcgrad.scipy.integrate import odeint, quad, solve_ivp  # noqa: E402
from tests.scipy.namespaces import assert_refuses_by_name, without_rule  # noqa: E402

A = np.array
FINE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11}
METHODS = ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"]
TIMES = np.linspace(0.0, 2.0, 5)


def decay(y: Any, t: Any, rate: Any) -> Any:
    return -rate * y


def rotate(t: Any, y: Any, speed: Any) -> Any:
    return speed * np.stack([y[1], -y[0]])


# ------------------------------------------------------------------------------------------------ values


def test_values_of_odeint_are_scipys_bit_for_bit():
    wanted, told = scipy_integrate.odeint(decay, [1.0, 2.0], TIMES, (0.7,), full_output=True)
    np.testing.assert_array_equal(odeint(decay, [1.0, 2.0], TIMES, (0.7,)), wanted)
    np.testing.assert_array_equal(jvp(lambda k: odeint(decay, [1.0, 2.0], TIMES, (k,)), (0.7,), (1.0,))[0], wanted)
    np.testing.assert_array_equal(vjp(lambda y: odeint(decay, y, TIMES, (0.7,)), A([1.0, 2.0]))[0], wanted)
    found, also = odeint(decay, [1.0, 2.0], TIMES, (0.7,), full_output=True)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(also["nfe"], told["nfe"])
    np.testing.assert_array_equal(odeint(lambda t, y: -0.7 * y, [1.0, 2.0], TIMES, tfirst=True), wanted)
    np.testing.assert_array_equal(odeint(decay, [1.0, 2.0], TIMES, (0.7,), None, 0, True)[0], wanted)
    with pytest.raises(TypeError, match="several values for argument 'Dfun'"):
        odeint(decay, [1.0, 2.0], TIMES, (0.7,), None, Dfun=None)
    with pytest.raises(TypeError, match="takes 22 arguments, got 24"):
        odeint(decay, [1.0, 2.0], TIMES, (0.7,), *[None] * 20)


@pytest.mark.parametrize("method", METHODS)
def test_values_of_solve_ivp_are_scipys_bit_for_bit(method: str):
    for t_eval in (None, A([0.5, 1.5])):
        wanted = scipy_integrate.solve_ivp(rotate, (0.0, 2.0), [1.0, 0.0], method, t_eval, args=(0.7,))
        for run in (lambda f: f(0.7), lambda f: jvp(f, (0.7,), (1.0,), has_aux=True)[2], lambda f: grad(f, has_aux=True)(0.7)[1]):

            def f(speed: Any, t_eval: Any = t_eval) -> Any:
                found = solve_ivp(rotate, (0.0, 2.0), [1.0, 0.0], method, t_eval, args=(speed,))
                return np.sum(found.y), (found.t, found.y, found.nfev, found.success)

            result = run(f)
            t, y, nfev, success = result[1] if len(result) == 2 else result
            np.testing.assert_array_equal(t, wanted.t)
            np.testing.assert_array_equal(y, wanted.y)
            assert (nfev, success) == (wanted.nfev, wanted.success)


# ------------------------------------------------------------------------------------------------ closed forms


def end_of_decay(rate: Any, start: Any = 1.0, **options: Any) -> Any:
    return odeint(decay, start, A([0.0, 2.0]), (rate,), **options)[-1, 0]


def test_exponential_decay():
    rate, wanted = 0.5, math.exp(-1.0)
    gradient = grad(end_of_decay, (0, 1))(rate, 1.0)
    assert gradient == pytest.approx((-2.0 * wanted, wanted), rel=1e-6)  # with SciPy's tolerances, 1.5e-8
    assert grad(lambda k: end_of_decay(k, **FINE))(rate) == pytest.approx(-2.0 * wanted, rel=1e-6)
    assert jvp(lambda k: end_of_decay(k, **FINE), (rate,), (1.0,))[1] == pytest.approx(-2.0 * wanted, rel=1e-6)
    assert linearize(lambda k: end_of_decay(k, **FINE), rate)[1](1.0) == pytest.approx(-2.0 * wanted, rel=1e-6)


def test_higher_derivatives_of_the_decay_in_every_nesting():
    rate, wanted = 0.5, 4.0 * math.exp(-1.0)

    def f(k: Any) -> Any:
        return end_of_decay(k, **FINE)

    for nesting in (
        hessian(f), jacfwd(jacfwd(f)), jacrev(jacfwd(f)), jacrev(jacrev(f)), lambda k: hvp(f)(k, 1.0),
        lambda k: jvp(lambda k: jvp(f, (k,), (1.0,))[1], (k,), (1.0,))[1], lambda k: jvp(grad(f), (k,), (1.0,))[1],
        grad(lambda k: jvp(f, (k,), (1.0,))[1]), grad(lambda k: linearize(f, k)[1](1.0)),
    ):  # fmt: skip
        assert nesting(rate) == pytest.approx(wanted, rel=1e-6)
    assert grad(grad(grad(f)))(rate) == pytest.approx(-2.0 * wanted, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_rotation_with_every_method(method: str):
    tolerances = {"rtol": 1e-5, "atol": 1e-7} if method in ("RK23", "Radau", "BDF") else FINE

    def f(speed: Any, angle: Any, end: Any) -> Any:
        start = np.stack([np.cos(angle), -np.sin(angle)])
        return solve_ivp(rotate, (0.0, end), start, method, args=(speed,), **tolerances).y[:, -1]

    speed, angle, end = 1.3, 0.4, 1.7
    turned = speed * end + angle
    ahead = -A([math.sin(turned), math.cos(turned)])
    wanted = np.stack([end * ahead, ahead, speed * ahead])
    np.testing.assert_allclose(jacrev(f, (0, 1, 2))(speed, angle, end), wanted, rtol=30 * tolerances["rtol"])
    np.testing.assert_allclose(jacfwd(f, (0, 1, 2))(speed, angle, end), wanted, rtol=30 * tolerances["rtol"])


def test_a_linear_system_has_the_matrix_exponential():
    linalg = pytest.importorskip("scipy.linalg")
    rng = np.random.default_rng(3)
    matrix, start, weights = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(4, 3))
    ts = A([0.0, 0.3, 0.7, 1.1])

    def f(matrix: Any, start: Any) -> Any:
        return np.sum(weights * odeint(lambda y, t, m: m @ y, start, ts, (matrix,), **FINE))

    dm, ds = grad(f, (0, 1))(matrix, start)
    wanted = sum(linalg.expm(matrix * t).T @ w for t, w in zip(ts, weights, strict=True))
    np.testing.assert_allclose(ds, wanted, rtol=1e-6)
    direction = rng.normal(size=(3, 3))
    along = sum(w @ linalg.expm_frechet(matrix * t, direction * t, compute_expm=False) @ start for t, w in zip(ts, weights, strict=True))
    assert np.sum(dm * direction) == pytest.approx(along, rel=1e-6)
    assert jvp(f, (matrix, start), (direction, 0.0 * start))[1] == pytest.approx(along, rel=1e-6)


def test_times_are_differentiable():
    """y = y0 exp(sin(t) - sin(t0))."""

    def f(ts: Any, start: Any) -> Any:
        return odeint(lambda y, t: np.cos(t) * y, start, ts, **FINE)[:, 0]

    ts = A([0.2, 0.5, 0.5, 1.3])
    values = 2.0 * np.exp(np.sin(ts) - math.sin(0.2))
    wanted = np.diag(np.cos(ts) * values)
    wanted[:, 0] -= math.cos(0.2) * values
    for jacobian in (jacrev, jacfwd):
        np.testing.assert_allclose(jacobian(f)(ts, 2.0), wanted, atol=1e-7)
    np.testing.assert_allclose(
        jacrev(f)(ts[::-1].copy(), 2.0)[-1, 0], -math.cos(1.3) * 2.0 * math.exp(math.sin(0.2) - math.sin(1.3)), rtol=1e-7
    )
    check_grads(f, (A([0.2, 1.3]), 2.0), atol=1e-4, rtol=1e-4)
    check_grads(lambda ts: odeint(lambda y, t: np.cos(t) * y, 1.0, ts, **FINE), (A([1.3, 0.5, 0.2]),), order=1, atol=1e-4, rtol=1e-4)
    np.testing.assert_array_equal(jacrev(f)(A([0.2]), 2.0), [[0.0]])


def test_t_span_and_t_eval_are_differentiable():
    def f(start: Any, end: Any, ts: Any, y0: Any) -> Any:
        return solve_ivp(lambda t, y: np.cos(t) * y, (start, end), y0, "DOP853", t_eval=ts, **FINE).y

    check_grads(f, (0.2, 2.0, A([1.3]), A([1.0, 2.0])), atol=1e-4, rtol=1e-4)
    assert grad(lambda end: np.sum(f(0.2, end, A([0.5]), A([1.0]))))(3.0) == 0.0

    def times(start: Any, end: Any) -> Any:
        return solve_ivp(lambda t, y: np.cos(t) * y, (start, end), [1.0]).t

    first = jvp(times, (0.2, 3.0), (2.0, 5.0))[1]
    assert (first[0], first[-1], np.sum(first)) == (2.0, 5.0, 7.0)


def test_cotangents_of_single_times_and_of_none():
    ts = np.linspace(0.0, 1.0, 6)
    value, pullback = vjp(lambda k: odeint(decay, 1.0, ts, (k,), **FINE), 0.7)
    for n in range(6):
        ct = np.zeros_like(value)
        ct[n] = 1e-14  # absolute tolerances are for numbers about 1: the solver gets it scaled
        assert pullback(ct)[0] == pytest.approx(-ts[n] * math.exp(-0.7 * ts[n]) * 1e-14, rel=1e-6, abs=1e-30)
    assert pullback(np.zeros_like(value))[0] == 0.0
    assert jvp(lambda k: odeint(decay, 1.0, ts, (k,), **FINE)[-1, 0], (0.7,), (1e-14,))[1] == pytest.approx(
        -math.exp(-0.7) * 1e-14, rel=1e-8
    )


def test_stiff_equations():
    """Backwards the state cannot be solved for: it grows by exp(1000). Its interpolant can be followed."""

    def f(rate: Any) -> Any:  # y' = -rate (y - cos t): y = (rate**2 cos t + rate sin t) / (rate**2 + 1), the rest has died
        fun = lambda t, y, rate: -rate * (y - np.cos(t))
        return solve_ivp(fun, (0.0, 1.0), [0.0], "LSODA", args=(rate,), rtol=1e-9, atol=1e-11).y[0, -1]

    def closed(rate: Any) -> Any:
        return (rate**2 * np.cos(1.0) + rate * np.sin(1.0)) / (rate**2 + 1.0)

    assert grad(f)(1e3) == pytest.approx(grad(closed)(1e3), rel=1e-4)
    assert jvp(f, (1e3,), (1.0,))[1] == pytest.approx(grad(closed)(1e3), rel=1e-4)
    assert hessian(f)(100.0) == pytest.approx(hessian(closed)(100.0), rel=1e-3)  # by halving intervals
    assert jacfwd(jacfwd(f))(1e3) == pytest.approx(hessian(closed)(1e3), rel=1e-3)
    with pytest.raises(RuntimeError, match=r"too stiff to be solved backwards.*forward mode twice"):
        hessian(lambda rate: odeint(lambda y, t, rate: -rate * (y - np.cos(t)), 0.0, A([0.0, 1.0]), (rate,))[-1, 0])(1e6)


def test_complex_states():
    """y = exp(i w t) and exp(w t): real-valued functions have the gradient df/dx - i df/dy."""

    def real_end(w: Any) -> Any:
        return np.real(solve_ivp(lambda t, y, w: 1j * w * y, (0.0, 1.0), [1.0 + 0.0j], "DOP853", args=(w,), **FINE).y[0, -1])

    assert grad(real_end)(0.7) == pytest.approx(-math.sin(0.7), rel=1e-7)
    assert jvp(real_end, (0.7,), (1.0,))[1] == pytest.approx(-math.sin(0.7), rel=1e-7)

    def end(w: Any) -> Any:
        return np.real(solve_ivp(lambda t, y, w: w * y, (0.0, 1.0), [1.0 + 0.0j], "DOP853", args=(w,), **FINE).y[0, -1])

    assert grad(end)(0.7 + 0.3j) == pytest.approx(np.exp(0.7 + 0.3j), rel=1e-7)
    assert hessian(lambda x: end(x + 0.3j))(0.7) == pytest.approx(np.real(np.exp(0.7 + 0.3j)), rel=1e-7)


# ------------------------------------------------------------------------------------------------ trees and parameters


class Pendulum(NamedTuple):
    angle: Any
    speed: Any


def swing(state: Any, t: Any, constants: Any, note: str, count: int) -> Any:
    assert (note, count) == ("kept", 3)
    return Pendulum(state.speed, -constants["pull"] * state.angle)


def test_states_are_trees():
    ts = np.linspace(0.0, 2.0, 4)

    def f(angle: Any, pull: Any) -> Any:
        return odeint(swing, Pendulum(angle, 0.0 * angle), ts, ({"pull": pull, "unused": 1.0}, "kept", 3), **FINE)

    angle, pull = A([[1.0, 0.2], [0.3, -0.5]]), 1.7
    found = f(angle, pull)
    assert type(found) is Pendulum
    assert found.angle.shape == (4, 2, 2)
    np.testing.assert_allclose(found.angle, angle * np.cos(math.sqrt(pull) * ts)[:, None, None], atol=1e-7)
    slope = jvp(f, (angle, pull), (0.0 * angle, 1.0))[1]
    wanted = -ts / (2.0 * math.sqrt(pull)) * np.sin(math.sqrt(pull) * ts)
    np.testing.assert_allclose(slope.angle, angle * wanted[:, None, None], atol=1e-7)
    check_grads(f, (angle, pull), order=1, atol=1e-4, rtol=1e-4)

    def g(angle: Any, pull: Any) -> Any:
        fun = lambda t, state, pull: {"a": state["s"], "s": -pull * state["a"]}
        return solve_ivp(fun, (0.0, 2.0), {"a": angle, "s": 0.0 * angle}, "DOP853", ts, args=(pull,), **FINE).y

    assert g(angle, pull)["a"].shape == (2, 2, 4)
    np.testing.assert_allclose(np.moveaxis(g(angle, pull)["a"], -1, 0), found.angle, atol=1e-7)
    check_grads(g, (angle, pull), order=1, atol=1e-4, rtol=1e-4)
    assert odeint(lambda y, t: [y[1], -y[0]], (0.0, 1.0), ts).shape == (4, 2)  # a tuple of numbers is SciPy's vector
    with pytest.raises(TreeError, match="odeint: what the function returns must be a tree like"):
        odeint(lambda y, t: y["a"], {"a": 1.0}, ts)


def test_a_neural_network_as_right_hand_side():
    rng = np.random.default_rng(0)
    params = {"w": [rng.normal(size=(8, 2)) / 2, rng.normal(size=(2, 8)) / 4], "b": rng.normal(size=8) / 4}

    def f(params: Any) -> Any:
        fun = lambda t, y, p: p["w"][1] @ np.tanh(p["w"][0] @ y + p["b"])
        return np.sum(solve_ivp(fun, (0.0, 1.0), A([1.0, -0.5]), args=(params,), rtol=1e-7, atol=1e-9).y[:, -1] ** 2)

    check_grads(f, (params,), order=1)
    v = {"w": [rng.normal(size=(8, 2)), rng.normal(size=(2, 8))], "b": rng.normal(size=8)}
    by_reverse, by_forward = hvp(f)(params, v), jvp(grad(f), (params,), (v,))[1]
    np.testing.assert_allclose(by_reverse["b"], by_forward["b"], rtol=1e-8)
    along = jvp(lambda p: jvp(f, (p,), (v,))[1], (params,), (v,))[1]
    product = sum(np.sum(a * b) for a, b in ((by_reverse["w"][0], v["w"][0]), (by_reverse["w"][1], v["w"][1]), (by_reverse["b"], v["b"])))
    assert product == pytest.approx(along, rel=1e-4)


def test_a_real_state_with_a_complex_parameter():
    """y = exp(-|z|**2 t): the gradient is -2 t (x - i y) exp(-|z|**2 t)."""

    def f(z: Any) -> Any:
        fun = lambda t, y, z: -(np.real(z) ** 2 + np.imag(z) ** 2) * y
        return solve_ivp(fun, (0.0, 1.0), [1.0], "DOP853", args=(z,), **FINE).y[0, -1]

    z = 0.6 + 0.3j
    assert grad(f)(z) == pytest.approx(-2.0 * np.conj(z) * math.exp(-(abs(z) ** 2)), rel=1e-7)
    assert jvp(f, (z,), (1.0j,))[1] == pytest.approx(-2.0 * 0.3 * math.exp(-(abs(z) ** 2)), rel=1e-7)


def test_errors_of_the_users_function_come_through():
    def fun(y: Any, t: Any, k: Any) -> Any:
        return -k * y if type(k) is float and type(y) is np.ndarray else integrate.fixed_quad(k, 0, 1)

    with pytest.raises(NoRuleError, match="fixed_quad has no derivative rule"):
        grad(lambda k: odeint(fun, 1.0, TIMES, (k,))[-1, 0])(0.7)
    with pytest.raises(NoRuleError, match="fixed_quad has no derivative rule"):
        hessian(lambda k: odeint(fun, 1.0, TIMES, (k,))[-1, 0])(0.7)
    with pytest.raises(ZeroDivisionError):
        odeint(lambda y, t: 1 / 0, 1.0, TIMES)


def test_single_precision_stays_it():
    gradient = grad(lambda y: np.sum(odeint(decay, y, TIMES, (0.7,))))(A([1.0, 2.0], np.float32))
    assert gradient.dtype == np.float32
    gradient = grad(lambda k: np.sum(odeint(decay, A([1.0, 2.0]), TIMES, (k,))))(np.float32(0.7))
    assert type(gradient) is np.float32


def test_the_users_function_may_differentiate():
    """Hamilton's equations of H = p**2 / 2 + k q**2 / 2, whose right-hand sides are gradients."""

    def field(y: Any, t: Any, k: Any) -> Any:
        dq, dp = grad(lambda q, p: 0.5 * p * p + 0.5 * k * q * q, (0, 1))(y[0], y[1])
        return np.stack([dp, -dq])

    def f(k: Any) -> Any:
        return odeint(field, A([1.0, 0.0]), A([0.0, 1.0]), (k,), **FINE)[-1, 0]

    assert grad(f)(2.0) == pytest.approx(-math.sin(math.sqrt(2.0)) / (2.0 * math.sqrt(2.0)), rel=1e-6)
    assert jvp(f, (2.0,), (1.0,))[1] == pytest.approx(grad(f)(2.0), rel=1e-6)
    plain = jvp(lambda x: x * odeint(field, A([1.0, 0.0]), A([0.0, 1.0]), (2.0,))[-1, 0], (1.0,), (1.0,))[1]
    assert plain == pytest.approx(math.cos(math.sqrt(2.0)), rel=1e-6)


def test_arrays_that_the_function_closes_over_are_held():
    rates = A([0.5, 0.7])
    for loss in (
        lambda x: np.sum(odeint(lambda y, t: -rates * y, x, np.linspace(0.0, 1.0, 3))),
        lambda x: np.sum(x) * quad(lambda t, k: k * t * rates[0], 0.0, 1.0, (x[0],))[0],
    ):
        pullback = vjp(loss, A([1.0, 2.0]))[1]
        with pytest.raises(ValueError, match="read-only"):
            rates[:] = 100.0
        del pullback
        rates[:] = rates.copy()


def test_inputs_stay_as_they_are():
    y0, ts, k = A([1.0, 2.0]), np.linspace(0.0, 1.0, 3), A([0.5, 0.7])
    _, pullback = vjp(lambda y0, ts, k: odeint(lambda y, t, k: -k * y, y0, ts, (k,)), y0, ts, k)
    back = pullback(np.ones((3, 2)))
    assert [one.shape for one in back] == [(2,), (3,), (2,)]
    del pullback
    assert y0.flags.writeable
    assert k.flags.writeable
    constant = A([0.5, 0.7])
    _, pullback = vjp(lambda y0: odeint(lambda y, t, k: -k * y, y0, ts, (constant,)), y0)
    before = pullback(np.ones((3, 2)))[0]
    constant[:] = 100.0
    np.testing.assert_array_equal(pullback(np.ones((3, 2)))[0], before)


# ------------------------------------------------------------------------------------------------ refusals


@each_run
def test_traced_values_that_come_in_sideways_are_refused(run: Any):
    message = "uses a traced value of the code around it, whose derivative would be lost: pass it through args"
    for call in (
        lambda k: odeint(lambda y, t: -k * y, 1.0, TIMES)[-1, 0],
        lambda k: odeint(lambda y, t, m: -k * y, 1.0, TIMES, (k,))[-1, 0],
        lambda k: odeint(lambda y, t: {"a": -k * y["a"]}, {"a": 1.0}, TIMES)["a"][-1],
        lambda k: odeint(lambda y, t: grad(lambda z: k * z * z)(y[0]), 1.0, TIMES)[-1, 0],
        lambda k: solve_ivp(lambda t, y: [-k], (0.0, 1.0), [1.0]).y[0, -1],
        lambda k: quad(lambda x: k * x, 0.0, 1.0)[0],
        lambda k: quad(lambda x, m: k * x, 0.0, 1.0, (k,))[0],
    ):
        with pytest.raises(ConcretizationError, match=message):
            run(call, 0.7)
        assert tape.thread.scope is None


def test_a_constant_may_come_in_sideways():
    assert grad(lambda k: k * odeint(lambda y, t: -stop_gradient(k) * y, 1.0, A([0.0, 1.0]))[-1, 0])(0.7) == pytest.approx(math.exp(-0.7))


@each_run
def test_options_without_a_rule_are_refused_by_name(run: Any):
    for call, message in (
        (lambda k: odeint(decay, 1.0, TIMES, (0.7,), rtol=k)[-1, 0], r"odeint\(rtol=\.\.\.\)"),
        (lambda k: solve_ivp(rotate, (0.0, 1.0), [1.0, 0.0], args=(0.7,), atol=k).y[0, -1], r"solve_ivp\(atol=\.\.\.\)"),
        (lambda k: solve_ivp(rotate, (0.0, 1.0), [1.0, 0.0], args=(k,), dense_output=True).y[0, -1], "dense_output"),
        (lambda k: solve_ivp(rotate, (0.0, 1.0), [1.0, 0.0], args=(k,), events=lambda t, y, k: y[0]).y[0, -1], "events"),
        (lambda k: quad(lambda x, k: k, 0.0, 1.0, (k,), weight="cos", wvar=1.0)[0], "weight"),
        (lambda k: quad(lambda x, k: k * x, 0.0, 1.0, (k,), epsabs=k)[0], "traced options"),
        (lambda k: integrate.romb(k * np.ones(3), show=True), r"romb\(show"),
        (lambda k: integrate.dblquad(lambda x, y: x, 0.0, k, 0.0, 1.0)[0], r"scipy\.integrate\.dblquad has no derivative rule"),
        (lambda k: integrate.fixed_quad(lambda x: x, 0.0, k)[0], r"scipy\.integrate\.fixed_quad has no derivative rule"),
    ):
        with pytest.raises(NoRuleError, match=message):
            run(call, 0.7)
    with pytest.raises(NoRuleError, match="use solve_ivp for complex"):
        grad(lambda z: np.real(odeint(lambda y, t, z: np.real(z) * y, 1.0, TIMES, (z,))[-1, 0]))(0.7 + 0.1j)
    with pytest.raises(InputTypeError, match="odeint: args must be a tuple"):
        odeint(decay, 1.0, TIMES, 0.7)
    with pytest.raises(InputTypeError, match="solve_ivp: args must be a tuple"):
        solve_ivp(rotate, (0.0, 1.0), [1.0, 0.0], args=0.7)


def test_plain_values_may_use_all_of_scipy():
    found = solve_ivp(rotate, (0.0, 2.0), [1.0, 0.0], events=lambda t, y, k: y[0], dense_output=True, args=(1.0,), rtol=1e-8)
    assert found.t_events[0][0] == pytest.approx(math.pi / 2.0, rel=1e-6)
    assert found.sol(0.5)[0] == pytest.approx(math.cos(0.5), rel=1e-4)
    jac = lambda y, t, rate: [[-rate]]
    assert grad(lambda k: odeint(decay, 1.0, A([0.0, 1.0]), (k,), Dfun=jac, mxstep=500)[-1, 0])(0.7) == pytest.approx(
        -math.exp(-0.7), rel=1e-6
    )
    fun = lambda t, y, k: -k * y
    by_columns = lambda k: solve_ivp(fun, (0.0, 1.0), [1.0], "BDF", vectorized=True, args=(k,), rtol=1e-8, atol=1e-10).y[0, -1]
    assert grad(by_columns)(0.7) == pytest.approx(-math.exp(-0.7), rel=1e-6)
    assert callable(integrate.RK45)
    assert integrate.dblquad(lambda x, y: x * y, 0.0, 1.0, 0.0, 1.0)[0] == pytest.approx(0.25)


# ------------------------------------------------------------------------------------------------ quad


def test_leibniz_rule():
    """Of w**-1 (cos(a w) - cos(b w)) + c (b**3 - a**3) / 3."""

    def f(a: Any, b: Any, p: Any) -> Any:
        return quad(lambda x, p, power: np.sin(p["w"] * x) + p["c"][0] * x**power, a, b, (p, 2))[0]

    def closed(a: Any, b: Any, p: Any) -> Any:
        return (np.cos(a * p["w"]) - np.cos(b * p["w"])) / p["w"] + p["c"][0] * (b**3 - a**3) / 3.0

    args = (0.2, 1.1, {"w": 1.3, "c": A([0.5, 2.0])})
    for transform in (grad, hessian, lambda f, n: jacrev(jacrev(f, n), n), lambda f, n: jacfwd(jacfwd(f, n), n)):
        got, wanted = transform(f, (0, 1))(*args), transform(closed, (0, 1))(*args)
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)
        got, wanted = transform(f, 2)(*args), transform(closed, 2)(*args)
        assert_trees_close(got, wanted)


def assert_trees_close(got: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        for key in wanted:
            assert_trees_close(got[key], wanted[key])
    else:
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def test_infinite_limits():
    f = lambda rate: quad(lambda x, rate: np.exp(-rate * x), 0.0, np.inf, (rate,))[0]
    assert grad(f)(2.0) == pytest.approx(-0.25, rel=1e-7)
    assert hessian(f)(2.0) == pytest.approx(0.25, rel=1e-6)
    assert grad(grad(grad(f)))(2.0) == pytest.approx(-6.0 / 16.0, rel=1e-6)
    g = lambda m, s: quad(lambda x, m, s: np.exp(-0.5 * ((x - m) / s) ** 2), -np.inf, np.inf, (m, s))[0]
    np.testing.assert_allclose(grad(g, (0, 1))(0.3, 2.0), [0.0, math.sqrt(2.0 * math.pi)], atol=1e-8)
    assert grad(lambda b: quad(lambda x: np.exp(-x), 0.0, b)[0])(np.inf) == 0.0
    assert jvp(lambda rate: f(rate), (2.0,), (1e-14,))[1] == pytest.approx(-0.25e-14, rel=1e-6)


def test_quad_returns_what_scipy_returns():
    wanted = scipy_integrate.quad(lambda x, k: k * x, 0.0, 1.0, (2.0,), full_output=1)
    _, _, found = vjp(
        lambda k: (quad(lambda x, k: k * x, 0.0, 1.0, k, full_output=1)[0], quad(lambda x, k: k * x, 0.0, 1.0, (k,))[1]), 2.0, has_aux=True
    )
    assert found == wanted[1]
    assert quad(lambda x, k: k * x, 0.0, 1.0, (2.0,), full_output=1)[:2] == wanted[:2]
    assert type(grad(lambda b: quad(lambda x: x, 0.0, b)[0])(2.0)) is float
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert quad(lambda x: np.cos(x), 0.0, 1.0, weight="cos", wvar=1.0)[0] > 0.0
    with pytest.raises(RuntimeError, match="not finite"):
        grad(lambda k: quad(lambda x, k: np.where(x < 0.5, 1.0, np.sqrt(k)), 0.0, 1.0, (k,))[0])(0.0)


# ------------------------------------------------------------------------------------------------ samples


def test_integrals_of_samples_take_scipys_arguments():
    y, x = A([1.0, 4.0, 9.0, 16.0, 25.0]), A([1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(grad(integrate.trapezoid)(y), [0.5, 1.0, 1.0, 1.0, 0.5], rtol=1e-15)
    np.testing.assert_allclose(grad(integrate.simpson)(y, x), A([1.0, 4.0, 2.0, 4.0, 1.0]) / 3.0, rtol=1e-14)
    np.testing.assert_allclose(grad(integrate.romb)(y), A([14.0, 64.0, 24.0, 64.0, 14.0]) / 45.0, rtol=1e-14)  # Boole's rule
    assert grad(lambda dx: integrate.simpson(y, dx=dx))(1.0) == pytest.approx(124.0 / 3.0, rel=1e-14)
    np.testing.assert_array_equal(
        jacrev(lambda y: integrate.cumulative_trapezoid(y, initial=0))(y[:3]), [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 1.0, 0.5]]
    )
    np.testing.assert_allclose(
        jacrev(lambda y: integrate.cumulative_simpson(y, initial=2.0))(y[:3])[-1], A([1.0, 4.0, 1.0]) / 3.0, rtol=1e-14
    )
    np.testing.assert_allclose(grad(lambda a: integrate.trapezoid([a, 2.0, 3.0 * a], [0.0, a, 3.0]))(1.0), 2.5)
    with pytest.raises(ValueError, match="initial"):
        grad(lambda y: integrate.cumulative_trapezoid(y, initial=1.0)[0])(y)
    with pytest.raises(ValueError, match="strictly increasing"):
        grad(lambda y: integrate.cumulative_simpson(y, x=x[::-1])[0])(y)


def test_abscissae_that_are_the_same():
    """Simpson's weights there, of SciPy's rule: two terms of each parabola that has no width on one side, halves of its width."""
    for x, wanted in (
        ([0.0, 1.0, 1.0, 2.0, 3.0], [1 / 3, 0.0, 2 / 3, 4 / 3, 1 / 3]),
        ([0.0, 0.0, 1.0, 2.0, 3.0], [1 / 3, 0.0, 2 / 3, 4 / 3, 1 / 3]),
        ([0.0, 1.0, 2.0, 2.0], [1 / 3, 4 / 3, 1 / 3, 0.0]),
    ):
        y = np.arange(1.0, len(x) + 1.0)
        weights = grad(lambda y, x=x: integrate.simpson(y, x=x))(y)
        np.testing.assert_allclose(weights, wanted, atol=1e-15)
        assert weights @ y == pytest.approx(scipy_integrate.simpson(y, x=x))


def test_arguments_of_solve_ivp_may_be_a_list():
    end = grad(lambda rate: solve_ivp(lambda t, y, rate: -rate * y, (0.0, 1.0), [1.0], args=[rate], **FINE).y[0, -1])
    assert end(2.0) == pytest.approx(-math.exp(-2.0))


def test_no_module_hides_a_class_of_scipys():
    solver = integrate.ode(lambda t, y: -y).set_initial_value(1.0)
    assert solver.integrate(1.0)[0] == pytest.approx(math.exp(-1.0), rel=1e-5)


@pytest.mark.parametrize("name", without_rule(integrate, scipy_integrate))
def test_what_else_scipy_has_refuses_tracers_by_name(name: str):
    assert_refuses_by_name(integrate, scipy_integrate, name)
