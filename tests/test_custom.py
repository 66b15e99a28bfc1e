"""Functions with derivatives of one's own: JAX's protocol, in every nesting, and what is said about a rule that is wrong."""

from __future__ import annotations

import contextlib
import math
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, make_tape, stop_gradient, tape, tree, value_and_grad, vjp, vmap
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, NoRuleError, TreeError
from funcgrad.tracer import Tracer
from funcgrad.transforms.checkpoint import checkpoint
from funcgrad.transforms.custom import custom_jvp, custom_vjp
from tests.runs import RUNS, each_run

X, Y = np.array([0.3, -1.2, 2.0]), np.array([1.5, 0.25, -0.75])


def composition(x: Any, y: Any) -> Any:
    """What all custom functions of this file compute, written with differentiable operations."""
    return np.sin(x) * y + x * x * y * y


def outside_numpy(x: Any, y: Any) -> Any:
    """The same by code that no transform can look into."""
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    pairs = zip(np.broadcast_to(x, shape).ravel(), np.broadcast_to(y, shape).ravel(), strict=True)
    values = [math.sin(float(a)) * float(b) + float(a) ** 2 * float(b) ** 2 for a, b in pairs]
    return np.array(values).reshape(shape) if shape else values[0]


def jvp_rule(f: Any) -> Any:
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (t, s) = primals, tangents
        return f(x, y), (np.cos(x) * y + 2.0 * x * y * y) * t + (np.sin(x) + 2.0 * x * x * y) * s

    return rule


def fwd(x: Any, y: Any) -> Any:
    return outside_numpy(x, y) if not isinstance(x, Tracer) and not isinstance(y, Tracer) else composition(x, y), {"x": x, "y": [y]}


def bwd(residuals: Any, ct: Any) -> Any:
    x, y = residuals["x"], residuals["y"][0]
    return (np.cos(x) * y + 2.0 * x * y * y) * ct, (np.sin(x) + 2.0 * x * x * y) * ct


def by_jvp() -> Any:
    f = custom_jvp(outside_numpy)
    f.defjvp(jvp_rule(f))
    return f


def by_vjp() -> Any:
    f = custom_vjp(outside_numpy)
    f.defvjp(fwd, bwd)
    return f


def by_both() -> Any:
    f = custom_vjp(outside_numpy)
    f.defvjp(fwd, bwd)
    f.defjvp(jvp_rule(f))
    return f


def by_partials() -> Any:
    f = custom_jvp(outside_numpy)
    f.defjvps(lambda t, ans, x, y: (np.cos(x) * y + 2.0 * x * y * y) * t, lambda t, ans, x, y: (np.sin(x) + 2.0 * x * x * y) * t)
    return f


MADE = {"jvp": by_jvp, "vjp": by_vjp, "both": by_both, "partials": by_partials}
FORWARD = {name: make for name, make in MADE.items() if name != "vjp"}


def each(made: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("make", list(made.values()), ids=list(made))


def assert_close(got: Any, wanted: Any, rtol: float = 1e-12) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=rtol, atol=1e-12)


# ------------------------------------------------------------------------------------------------ nestings

NESTINGS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(f, (0, 1)),
    "jacrev": lambda f: jacrev(f, (0, 1)),
    "reverse over reverse": lambda f: jacrev(grad(f, 1)),
    "reverse over reverse in one": lambda f: jacrev(grad(f)),
    "forward over reverse": lambda f: jacfwd(grad(f), 1),
    "hessian": lambda f: hessian(f, (0, 1)),
    "hvp": lambda f: lambda x, y: hvp(f)(x, y, Y),
    "jvp of grad": lambda f: lambda x, y: jvp(grad(f, (0, 1)), (x, y), (Y, X))[1],
    "linearize of grad": lambda f: lambda x, y: linearize(grad(f), x, y)[1](Y, X),
    "third order in reverse": lambda f: lambda x, y: jacrev(jacrev(grad(f)), 1)(x, y),
    "forward over reverse over reverse": lambda f: lambda x, y: jacfwd(jacrev(grad(f)), 1)(x, y),
    "arguments of two scopes": lambda f: grad(lambda x, y: np.sum(grad(lambda y: f(x, y) * np.sum(x))(y))),
    "cotangents of an outer scope": lambda f: grad(lambda x, y: np.sum(vjp(lambda u: f(u, Y) * X, X)[1](x * y)[0])),
}
FORWARD_NESTINGS: dict[str, Callable[[Any], Any]] = {
    "jacfwd": lambda f: jacfwd(f, (0, 1)),
    "jvp": lambda f: lambda x, y: jvp(f, (x, y), (Y, X)),
    "linearize": lambda f: lambda x, y: linearize(f, x, y)[1](Y, X),
    "forward over forward": lambda f: jacfwd(jacfwd(f), 1),
    "jvp of jvp": lambda f: lambda x, y: jvp(lambda x: jvp(f, (x, y), (Y, X))[1], (x,), (Y,))[1],
    "reverse over forward": lambda f: jacrev(jacfwd(f, 1)),
    "grad of jvp": lambda f: grad(lambda x, y: jvp(f, (x, y), (Y, X))[1]),
    "third order": lambda f: jacrev(jacfwd(jacrev(f))),
    "tangents of an outer scope": lambda f: grad(lambda x, y: jvp(lambda u: f(u, Y), (X,), (x * y,))[1]),
}


@each(MADE)
@pytest.mark.parametrize("nesting", list(NESTINGS.values()), ids=list(NESTINGS))
def test_every_nesting_is_that_of_the_composition(make: Any, nesting: Any):
    f = make()
    assert_close(nesting(lambda x, y: np.sum(f(x, y) ** 2))(X, Y), nesting(lambda x, y: np.sum(composition(x, y) ** 2))(X, Y))


@each(FORWARD)
@pytest.mark.parametrize("nesting", list(FORWARD_NESTINGS.values()), ids=list(FORWARD_NESTINGS))
def test_every_nesting_with_forward_mode_is_that_of_the_composition(make: Any, nesting: Any):
    f = make()
    assert_close(nesting(lambda x, y: np.sum(f(x, y) ** 2))(X, Y), nesting(lambda x, y: np.sum(composition(x, y) ** 2))(X, Y))


@each_run
def test_every_run_gives_what_it_gives_of_the_composition(run: Any):
    f = by_both()
    got = run(lambda x: np.sum(f(x, 2.0) ** 2), 0.7)
    wanted = run(lambda x: np.sum(composition(x, 2.0) ** 2), 0.7)
    if run in (RUNS["vjp"], RUNS["linearize"]):
        assert_close((got[0], tree.leaves(got[1](1.0))[0]), (wanted[0], tree.leaves(wanted[1](1.0))[0]))
    elif run is RUNS["make_tape"]:
        assert got.value == pytest.approx(wanted.value)
        assert got.rows[0].gradient == pytest.approx(wanted.rows[0].gradient)
    elif run is not RUNS["count_records"]:
        assert_close(got, wanted)


@each(FORWARD)
def test_python_numbers_in_all_mixes_to_third_order(make: Any):
    f, derivatives = make(), (grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1], jacfwd, jacrev)
    wanted = -math.cos(0.7) * 1.5  # of sin(x) y + x**2 y**2
    for first in derivatives:
        for second in derivatives:
            for third in derivatives:
                assert first(second(third(lambda x: f(x, 1.5))))(0.7) == pytest.approx(wanted, rel=1e-13)


def test_fourth_order_of_a_vjp_rule():
    f = by_vjp()
    assert grad(grad(grad(grad(lambda x: f(x, 1.5)))))(0.7) == pytest.approx(1.5 * math.sin(0.7), rel=1e-13)
    assert grad(jacfwd(grad(grad(lambda x: f(x, 1.5)))))(0.7) == pytest.approx(1.5 * math.sin(0.7), rel=1e-13)


@each(MADE)
def test_the_value_is_fs_own_and_kept_pullbacks_work_later(make: Any):
    f = make()
    value, pullback = vjp(f, X, Y)
    np.testing.assert_array_equal(value, outside_numpy(X, Y))
    wanted = vjp(composition, X, Y)[1](np.ones(3))
    for _ in range(2):
        assert_close(pullback(np.ones(3)), wanted)
    assert grad(lambda c: np.sum(pullback(c * np.ones(3))[0]))(2.0) == pytest.approx(np.sum(wanted[0]))
    value += 1.0  # the user's own
    x = X.copy()
    grad(lambda x: np.sum(f(x, Y)))(x)
    x[0] = 5.0


@each(MADE)
def test_one_value_as_both_arguments(make: Any):
    f = make()
    assert grad(lambda x: f(x, x))(0.5) == pytest.approx(grad(lambda x: composition(x, x))(0.5), rel=1e-14)


def test_a_kept_pullback_runs_on_several_threads():
    pullback = vjp(by_vjp(), X, Y)[1]
    wanted, found = pullback(np.ones(3)), []

    def work() -> None:
        for _ in range(20):
            found.append(pullback(np.ones(3)))
            found.append(vjp(by_jvp(), X, Y)[1](np.ones(3)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 160
    for one in found:
        assert_close(one, wanted)


# ------------------------------------------------------------------------------------------------ the protocol


def test_the_rule_is_the_derivative_even_where_it_is_not_fs():
    clipped = custom_vjp(lambda x: x)
    clipped.defvjp(lambda x: (x, None), lambda residuals, ct: (np.clip(ct, -0.5, 0.5),))
    assert grad(lambda x: clipped(x) ** 2)(3.0) == 0.5
    assert grad(lambda x: clipped(x) ** 2)(0.125) == 0.25
    straight = custom_jvp(np.round)
    straight.defjvp(lambda primals, tangents: (straight(*primals), tangents[0]))
    np.testing.assert_array_equal(grad(lambda x: np.sum(straight(x) * x))(X), np.round(X) + X)
    reversed_ = custom_vjp(lambda x: x)
    reversed_.defvjp(lambda x: (x, ()), lambda residuals, ct: (-ct,))
    assert value_and_grad(lambda x: reversed_(x) * 3.0)(2.0) == (6.0, -3.0)


def test_a_jvp_rule_may_take_a_shortcut_for_zero_tangents():
    f = custom_jvp(lambda x, y: x * y)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (t, s) = primals, tangents
        parts = [t * y if np.any(stop_gradient(t) != 0.0) else 0.0, s * x if np.any(stop_gradient(s) != 0.0) else 0.0]
        return f(x, y), parts[0] + parts[1]

    assert grad(f, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert hessian(f, (0, 1))(2.0, 3.0) == ((0.0, 1.0), (1.0, 0.0))
    assert jvp(f, (2.0, 3.0), (1.0, 0.0)) == (6.0, 3.0)


def test_trees_go_in_and_out():
    def plain(params: Any, x: Any) -> Any:
        return {"out": [params["w"] * x, np.sum(params["b"]) * 1.0], "count": 3}

    f = custom_vjp(plain)

    def bwd(residuals: Any, ct: Any) -> Any:
        _, x = residuals
        assert ct["count"] == 0
        return {"w": ct["out"][0] * x, "b": np.ones(2) * ct["out"][1]}, None

    f.defvjp(lambda params, x: (plain(params, x), (params, x)), bwd)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (params, x), (ts, t) = primals, tangents
        assert t.shape == (2,)
        return f(params, x), {"out": [ts["w"] * x, np.sum(ts["b"])], "count": 0}

    params, x = {"w": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}, np.array([5.0, 7.0])

    def loss(params: Any, x: Any, f: Any = f) -> Any:
        out = f(params, x)
        assert out["count"] == 3
        return np.sum(out["out"][0] ** 2) * out["out"][1]

    def wanted(params: Any, x: Any) -> Any:
        return loss(params, x, plain)

    assert_close(grad(loss)(params, x), grad(wanted)(params, x))
    assert_close(hessian(loss)(params, x), hessian(wanted)(params, x))
    assert_close(jacfwd(loss)(params, x), jacfwd(wanted)(params, x))
    assert_close(jacfwd(jacfwd(loss))(params, x), hessian(wanted)(params, x))
    assert_close(jacrev(jacfwd(loss))(params, x), hessian(wanted)(params, x))
    assert_close(grad(lambda p: f(p, x)["out"][1])(params), {"w": np.zeros(2), "b": np.ones(2)})  # one output has no cotangent
    assert make_tape(lambda p: loss(p, x))(params).rows[0].gradient == pytest.approx(grad(wanted)(params, x)["b"])


def test_several_outputs_have_their_rule_called_once():
    calls = []
    f = custom_vjp(lambda x: (x * 1.0, x * 2.0, x * 3.0))

    def bwd(residuals: Any, ct: Any) -> Any:
        calls.append(ct)
        return (ct[0] + 2.0 * ct[1] + 3.0 * ct[2],)

    f.defvjp(lambda x: (f(x), None), bwd)

    def g(x: Any) -> Any:
        one, two, _ = f(x)
        return one * two + one

    assert grad(g)(5.0) == 21.0
    assert calls == [(11.0, 5.0, 0.0)]
    assert grad(grad(g))(5.0) == 4.0


def test_none_stands_for_zero_at_any_leaf():
    f = custom_vjp(lambda x, y: x["a"] * x["b"] * y)
    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, ct: ({"a": None, "b": ct * r[0]["a"] * r[1]}, None))
    assert grad(lambda x, y: f(x, y), (0, 1))({"a": 2.0, "b": 3.0}, 5.0) == ({"a": 0.0, "b": 10.0}, 0.0)


def test_nondiff_arguments_are_given_to_rules_first():
    @partial(custom_jvp, nondiff_argnums=(0,))
    def apply(function: Any, x: Any, power: Any) -> Any:
        return function(x) ** power

    seen = []

    @apply.defjvp
    def rule(function: Any, primals: Any, tangents: Any) -> Any:
        seen.append(function)
        (x, power), (t, _) = primals, tangents
        return apply(function, x, power), power * function(x) ** (power - 1) * np.cos(x) * t

    assert grad(lambda x: apply(np.sin, x, 3))(0.5) == pytest.approx(3 * math.sin(0.5) ** 2 * math.cos(0.5))
    assert set(seen) == {np.sin}
    f = custom_vjp(lambda x, k, y, mode: x * y * k, nondiff_argnums=(-1, 1))
    f.defvjp(lambda x, k, y, mode: (x * y * k, (x, y)), lambda mode, k, r, ct: (ct * r[1] * k, ct * r[0] * k if mode == "all" else None))
    assert grad(lambda x, y: f(x, 10, y, "all"), (0, 1))(2.0, 3.0) == (30.0, 20.0)
    assert grad(lambda x, y: f(x, 10, y, mode="x"), (0, 1))(2.0, 3.0) == (30.0, 0.0)


def test_a_traced_nondiff_argument_is_refused():
    f = custom_vjp(lambda scale, x: scale * x, nondiff_argnums=0)
    f.defvjp(lambda scale, x: (scale * x, None), lambda scale, r, ct: (scale * ct,))
    with pytest.raises(ConcretizationError, match="argument 0 is one of nondiff_argnums"):
        grad(lambda a: f(a, 2.0))(3.0)
    with pytest.raises(ConcretizationError, match="nondiff_argnums"):
        grad(lambda a: f([1.0, a], 2.0))(3.0)
    with pytest.raises(InputValueError, match="nondiff_argnums 5 is out of range for a call with 1 argument"):
        custom_vjp(lambda x: x, nondiff_argnums=5)(1.0)
    with pytest.raises(InputValueError, match="use defjvp"):
        f.defjvps(None)


def test_keyword_arguments_are_resolved_and_defaults_filled_in():
    @custom_jvp
    def scaled(x: Any, scale: Any = 2.0, *, checked: bool = True) -> Any:
        """Scale."""
        return x * scale

    @scaled.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, scale), (t, s) = primals, tangents
        return scaled(x, scale), scale * t + x * s

    assert grad(scaled)(3.0) == 2.0
    assert grad(lambda s: scaled(scale=s, x=5.0))(3.0) == 5.0
    assert grad(lambda x: scaled(x, scale=x))(3.0) == 6.0
    assert scaled(3.0) == 6.0
    assert (scaled.__name__, scaled.__doc__, scaled.__wrapped__(1.0)) == ("scaled", "Scale.", 2.0)
    with pytest.raises(InputTypeError, match=r"scaled: .*checked cannot be given so"):
        grad(lambda x: scaled(x, checked=False))(1.0)
    with pytest.raises(TypeError, match="missing a required argument"):
        grad(lambda x: scaled(scale=x))(1.0)
    with pytest.raises(InputTypeError, match="decimals"):
        custom_jvp(np.sin)(1.0, decimals=2)


def test_methods_get_their_object():
    class Model:
        scale = 3.0

        @custom_vjp
        def apply(self, x: Any) -> Any:
            return self.scale * x

        apply.defvjp(lambda self, x: (self.scale * x, self.scale), lambda scale, ct: (None, 10.0 * scale * ct))

    assert grad(Model().apply)(1.0) == 30.0
    assert Model.apply.__name__ == "apply"


def test_untraced_arguments_of_any_kind():
    seen = []
    f = custom_jvp(lambda x, table, text, flag: x * table[0] if flag else x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        seen.append(tangents[1:])
        return f(*primals), tangents[0] * primals[1][0]

    assert grad(lambda x: f(x, [4, np.arange(3)], "text", True))(2.0) == 4.0
    assert seen[0][0][0] == 0 and seen[0][0][1].dtype.kind == "i" and seen[0][2] == 0


def test_complex_and_single_precision():
    f = custom_jvp(lambda x: x * x)
    f.defjvp(lambda primals, tangents: (f(*primals), 2 * primals[0] * tangents[0]))
    g = custom_vjp(lambda x: x * x)
    g.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))
    z = np.array([1.0 + 2.0j, -0.5j])
    for one in (f, g):
        assert_close(grad(lambda z: np.sum(np.abs(one(z))))(z), grad(lambda z: np.sum(np.abs(z * z)))(z))  # noqa: B023
        single = np.array([1.0, 2.0], np.float32)
        found = grad(lambda x: np.sum(one(x)))(single)  # noqa: B023
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, 2 * single)
        # a complex cotangent on its way to a real value is cut before the rule sees it
        assert grad(lambda x: np.real(1j * one(x) * (1.0 - 2.0j)))(3.0) == 12.0  # noqa: B023


def test_an_output_that_is_an_input_is_a_value_of_its_own():
    same = custom_vjp(lambda x: x)
    same.defvjp(lambda x: (x, x), lambda x, ct: (ct,))
    same.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    x = X.copy()
    value, tangent = jvp(same, (x,), (Y,))
    assert not np.shares_memory(value, x) and not np.shares_memory(tangent, Y)
    value[0] = tangent[0] = 5.0
    (pulled,) = vjp(same, x)[1](Y)
    assert not np.shares_memory(pulled, Y)
    pulled[0] = 5.0


def test_rules_cannot_write_into_what_the_tape_holds():
    f = custom_vjp(lambda x: x * 2.0)

    def bwd(residuals: Any, ct: Any) -> Any:
        ct *= 2.0
        return (ct,)

    f.defvjp(lambda x: (x * 2.0, None), bwd)
    with pytest.raises(ValueError, match="read-only"):
        grad(lambda x: np.sum(f(x)))(X)

    def writes(x: Any) -> Any:
        x[0] = 1.0
        return x

    g = custom_jvp(writes)
    g.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    with pytest.raises(ValueError, match="read-only"):
        grad(lambda x: np.sum(g(x * 2.0)))(X)


def test_a_constant_array_changed_afterwards_is_noticed_or_copied():
    table = np.ones(3)

    def g(x: Any) -> Any:
        f = custom_jvp(lambda x, table: x * table)
        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * primals[1]))
        y = f(x, table)
        table[0] = 5.0
        return np.sum(y)

    with pytest.raises(ValueError, match="read-only"):
        grad(g)(X)
    table[0] = 2.0


def test_a_pullback_may_be_the_residual_and_rules_may_use_transforms():
    f = custom_vjp(composition)
    f.defvjp(lambda x, y: vjp(composition, x, y), lambda pullback, ct: pullback(ct))
    f.defjvp(lambda primals, tangents: jvp(composition, primals, tangents))
    g = custom_jvp(composition)
    g.defjvp(lambda primals, tangents: jvp(composition, primals, tangents))
    for one in (f, g):
        for nesting in (*NESTINGS.values(), *FORWARD_NESTINGS.values()):
            got = nesting(lambda x, y, one=one: np.sum(one(x, y) ** 2))(X, Y)
            assert_close(got, nesting(lambda x, y: np.sum(composition(x, y) ** 2))(X, Y))


@each(MADE)
@pytest.mark.parametrize("nesting", list(NESTINGS.values()), ids=list(NESTINGS))
def test_custom_functions_under_checkpoint(make: Any, nesting: Any):
    f = make()
    block = checkpoint(lambda x, y: f(x, y) * x)
    got = nesting(lambda x, y: np.sum(block(x, y) ** 2))(X, Y)
    assert_close(got, nesting(lambda x, y: np.sum((composition(x, y) * x) ** 2))(X, Y), 1e-11)


@each(MADE)
@pytest.mark.parametrize("nesting", list(NESTINGS.values()), ids=list(NESTINGS))
def test_custom_functions_of_custom_functions(make: Any, nesting: Any):
    inner = make()
    f = custom_vjp(lambda x, y: inner(x, y) * x)
    f.defvjp(lambda x, y: vjp(lambda x, y: inner(x, y) * x, x, y), lambda pullback, ct: pullback(ct))
    got = nesting(lambda x, y: np.sum(f(x, y) ** 2))(X, Y)
    assert_close(got, nesting(lambda x, y: np.sum((composition(x, y) * x) ** 2))(X, Y), 1e-11)


def test_a_vjp_rule_alone_under_checkpoint_has_no_forward_mode_either():
    f = by_vjp()
    block = checkpoint(lambda x, y: f(x, y) * x)
    for transform in (jacfwd, lambda f: lambda x, y: jvp(f, (x, y), (x, y)), lambda f: lambda x, y: linearize(f, x, y)[1](x, y)):
        with pytest.raises(NoRuleError, match="outside_numpy is a custom_vjp function without a jvp rule"):
            transform(block)(X, Y)
        assert tape.thread.scope is None


def test_large_arrays_whose_records_are_given_free_on_the_way():
    f, x = by_both(), np.linspace(-1.0, 1.0, 140_000)
    g = custom_vjp(lambda x: np.sin(x))
    g.defvjp(lambda x: (np.sin(x), np.cos(x)), lambda cos, ct: (ct * cos,))
    np.testing.assert_allclose(grad(lambda x: np.sum(g(g(x)) ** 2))(x), grad(lambda x: np.sum(np.sin(np.sin(x)) ** 2))(x), rtol=1e-12)
    assert grad(lambda s: np.sum(f(s, 2.0)))(0.5) == pytest.approx(grad(lambda s: composition(s, 2.0))(0.5))


def test_an_output_that_the_function_keeps_for_itself_cannot_be_changed_unseen():
    buffer = np.zeros(3)

    def fill(x: Any) -> Any:
        np.multiply(x, 2.0, out=buffer)
        return buffer

    f = custom_jvp(fill)
    f.defjvp(lambda primals, tangents: (primals[0] * 2.0, tangents[0] * 2.0))
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(X), 2.0 * np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        grad(lambda x: np.sum(f(x) * f(3.0 * x)))(X)
    assert tape.thread.scope is None
    buffer[0] = 5.0


def test_empty_arrays_no_arguments_and_one_output_twice():
    f = by_both()
    assert grad(lambda x: np.sum(f(x, np.zeros(0))))(np.zeros(0)).shape == (0,)
    assert custom_jvp(lambda: 3.0)() == 3.0
    twice = custom_vjp(lambda x: (x * 2.0,) * 2)
    twice.defvjp(lambda x: (twice(x), None), lambda r, ct: (2.0 * ct[0] + 2.0 * ct[1],))
    assert grad(lambda x: twice(x)[0] * twice(x)[1])(3.0) == 24.0


# ------------------------------------------------------------------------------------------------ corners


def test_strong_zeros():
    def log(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.log(x)

    f = custom_jvp(log)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * np.divide(1.0, primals[0])))
    g = custom_vjp(log)
    g.defvjp(lambda x: (log(x), x), lambda x, ct: (ct * np.divide(1.0, x),))
    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] * np.divide(1.0, primals[0])))
    x = np.array([0.0, 2.0])
    for one in (f, g):

        def masked(x: Any, one: Any = one) -> Any:
            return np.sum(np.where(np.array([False, True]), one(x), 0.0))

        np.testing.assert_array_equal(grad(masked)(x), [0.0, 0.5])
        np.testing.assert_array_equal(jvp(one, (x,), (np.array([0.0, 1.0]),))[1], [0.0, 0.5])
        np.testing.assert_array_equal(grad(lambda x: np.sum(grad(masked)(x)))(x), [0.0, -0.25])
        np.testing.assert_array_equal(jvp(grad(masked), (x,), (np.array([0.0, 1.0]),))[1], [0.0, -0.25])
        with np.errstate(all="ignore"):
            assert grad(lambda x: 0.0 * one(x))(0.0) == 0.0  # noqa: B023


def test_strong_zeros_of_several_outputs():
    f = custom_vjp(lambda x: (np.sqrt(x), x * 2.0))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct[0] * np.divide(0.5, np.sqrt(x)) + 2.0 * ct[1],))
    f.defjvp(lambda primals, ts: (f(*primals), (ts[0] * np.divide(0.5, np.sqrt(primals[0])), ts[0] * 2.0)))
    x = np.array([0.0, 4.0])

    def masked(x: Any) -> Any:
        root, double = f(x)
        return np.sum(np.where(np.array([False, True]), root, 0.0) + double)

    np.testing.assert_array_equal(grad(masked)(x), [2.0, 2.25])
    np.testing.assert_array_equal(jvp(f, (x,), (np.array([0.0, 1.0]),))[1][0], [0.0, 0.25])
    np.testing.assert_array_equal(jvp(f, (x,), (np.array([0.0, 1.0]),))[1][1], [0.0, 2.0])


def test_replays_make_no_warnings_and_f_makes_its_own():
    f = custom_vjp(lambda x: np.log(x))
    f.defvjp(lambda x: (np.zeros_like(x), x), lambda x, ct: (ct / x,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(lambda x: f(x) * 1.0)(0.0) == math.inf
    g = custom_jvp(lambda x: np.log(x))
    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] / primals[0]))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        grad(lambda x: g(x))(np.float64(0.0))


def test_an_output_without_derivative_is_a_constant():
    f = custom_jvp(lambda x: int(x))
    f.defjvp(lambda primals, tangents: (f(*primals), 0))
    assert grad(lambda x: x * f(x))(2.5) == 2.0


# ------------------------------------------------------------------------------------------------ closures


def test_a_closure_over_a_traced_value_in_f_is_refused_where_its_derivative_would_be_lost():
    def outer(a: Any) -> Any:
        f = custom_jvp(lambda x: x * a)
        f.defjvp(lambda primals, tangents: (f(*primals), a * tangents[0]))
        return f(a)

    for transform in (grad, jacfwd, hessian):
        with pytest.raises(ConcretizationError, match="uses a traced value of the code around it"):
            transform(outer)(2.0)
        assert tape.thread.scope is None

    def stopped(a: Any) -> Any:
        f = custom_jvp(lambda x: x * stop_gradient(a))
        f.defjvp(lambda primals, tangents: (f(*primals), stop_gradient(a) * tangents[0]))
        return f(a)

    assert grad(stopped)(2.0) == jacfwd(stopped)(2.0) == 2.0


def test_transforms_in_f_that_close_over_a_traced_value_are_refused():
    def outer(a: Any) -> Any:
        f = custom_vjp(lambda x: grad(lambda y: y * y * a)(x))
        f.defvjp(lambda x: (f(x), None), lambda r, ct: (ct,))
        return f(a)

    with pytest.raises(ConcretizationError, match="uses a traced value"):
        grad(outer)(2.0)


def test_without_traced_arguments_it_is_f_closures_and_all():
    def outer(a: Any) -> Any:
        f = custom_jvp(lambda x: x * a)
        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
        return f(3.0)

    assert grad(outer)(2.0) == jacfwd(outer)(2.0) == 3.0


@pytest.mark.parametrize("outer", [grad, jacfwd], ids=["grad", "jacfwd"])
@pytest.mark.parametrize("inner", [grad, jacfwd, jacrev], ids=["grad", "jacfwd", "jacrev"])
def test_a_closure_in_a_rule_keeps_its_derivative_or_is_refused(outer: Any, inner: Any):
    def scaled(a: Any, depends: bool) -> Any:
        f = custom_vjp(lambda x: x * 1.0)
        f.defvjp(lambda x: (x * 1.0, None), lambda r, ct: (ct * a,))
        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * a))
        return inner(lambda x: f(x) * (a if depends else 1.0))(5.0)

    assert outer(lambda a: scaled(a, True))(3.0) == 6.0  # a**2: the inner replay is recorded for the outer transform
    with pytest.raises(ConcretizationError, match="uses a traced value of the code around it"):
        outer(lambda a: scaled(a, False))(3.0)  # the inner replay is of plain values
    assert tape.thread.scope is None


def test_a_rule_that_closes_over_the_very_scope_is_refused():
    def g(x: Any) -> Any:
        f = custom_vjp(lambda y: y * 1.0)
        f.defvjp(lambda y: (y * 1.0, None), lambda r, ct: (ct * x,))
        f.defjvp(lambda primals, tangents: (primals[0] * 1.0, tangents[0] * x))
        return f(x * 2.0)

    def by_two_scopes(g: Any) -> Any:
        return lambda x: jvp(lambda a: jvp(lambda y: g(y * a), (x,), (1.0,))[1], (x,), (1.0,))

    for transform in (grad, jacfwd, lambda g: lambda x: jvp(g, (x,), (1.0,)), hessian, by_two_scopes):
        with pytest.raises(ConcretizationError, match=r"(bwd|jvp rule) of <lambda> uses a traced value"):
            transform(g)(3.0)
        assert tape.thread.scope is None


def test_residuals_that_close_over_a_traced_value_are_refused():
    def g(x: Any) -> Any:
        f = custom_vjp(lambda y: y * 1.0)
        f.defvjp(lambda y: (y * 1.0, x), lambda r, ct: (ct * r,))
        return f(x)

    with pytest.raises(ConcretizationError, match="fwd of <lambda> uses a traced value"):
        grad(g)(3.0)


# ------------------------------------------------------------------------------------------------ errors


def test_forward_mode_without_a_jvp_rule_is_refused_by_name():
    f = by_vjp()
    for transform in (jacfwd, lambda f: lambda x, y: jvp(f, (x, y), (x, y)), lambda f: lambda x, y: linearize(f, x, y)[1](x, y)):
        with pytest.raises(NoRuleError, match=r"outside_numpy is a custom_vjp function without a jvp rule.*\.defjvp\(rule\)"):
            transform(f)(X, Y)
        assert tape.thread.scope is None


def test_a_function_without_rules_is_refused_when_differentiated():
    f = custom_vjp(outside_numpy)
    assert f(1.0, 2.0) == outside_numpy(1.0, 2.0)
    with pytest.raises(NoRuleError, match=r"outside_numpy has no rule yet.*defjvp.*defvjp"):
        grad(f)(1.0, 2.0)


def test_a_bwd_of_plain_code_cannot_be_transposed():
    f = custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (2.0 * x * float(ct),))
    assert grad(f)(3.0) == 6.0
    assert jacfwd(grad(f))(3.0) == 2.0  # for which the derivative of the value is not needed
    with pytest.raises(NoRuleError, match="cannot be transposed"):
        jacfwd(value_and_grad(f))(3.0)
    assert tape.thread.scope is None


TWO = np.ones(2)
WRONG_BWD: dict[str, tuple[Any, type[Exception], str]] = {
    "no tuple": (lambda ct: ct, TreeError, r"bwd of product must return a tuple with a cotangent for each of 2 arguments, got ndarray"),
    "too short": (lambda ct: (ct,), TreeError, "each of 2 arguments, got 1 of them"),
    "structure": (lambda ct: (ct, [ct]), TreeError, r"bwd of product: the cotangent of argument 1 must have the structure {'a': \*}, got"),
    "shape": (lambda ct: (np.sum(ct), None), InputValueError, r"bwd of product: the cotangent of argument 0 must have shape \(2,\), got"),
    "place": (
        lambda ct: (ct, {"a": np.ones(3)}),
        InputValueError,
        r"cotangent of argument 1 at \['a'\] must have shape \(2,\), got \(3,\)",
    ),
    "dtype": (lambda ct: (np.float32(ct), None), InputTypeError, "cotangent of argument 0 must have dtype float64, got dtype float32"),
    "kind": (lambda ct: ("ct", None), InputTypeError, "cotangent of argument 0 must be a number or an array, got str"),
}


@pytest.mark.parametrize(("answer", "error", "message"), list(WRONG_BWD.values()), ids=list(WRONG_BWD))
def test_a_wrong_answer_of_bwd_is_told_by_name(answer: Any, error: Any, message: str):
    def product(x: Any, y: Any) -> Any:
        return x * y["a"]

    f = custom_vjp(product)
    f.defvjp(lambda x, y: (product(x, y), None), lambda r, ct: answer(ct))
    for transform in (grad, jacrev, hessian):
        with pytest.raises(error, match=message):
            transform(lambda x, y: np.sum(f(x, y)), (0, 1))(TWO, {"a": TWO})
        assert tape.thread.scope is None


WRONG_JVP: dict[str, tuple[Any, type[Exception], str]] = {
    "no pair": (lambda v, t: v, TreeError, r"the jvp rule of product must return \(value, tangent\), got ndarray"),
    "three": (lambda v, t: (v, t, t), TreeError, r"must return \(value, tangent\), got 3 values"),
    "structure": (
        lambda v, t: (v, [t]),
        TreeError,
        r"the jvp rule of product: the tangent must have the structure of the value, \*, got \[\*\]",
    ),
    "shape": (lambda v, t: (v, np.sum(t)), InputValueError, r"the jvp rule of product: the tangent must have shape \(2,\), got \(\)"),
    "dtype": (lambda v, t: (v, t.astype(np.float32)), InputTypeError, "the jvp rule of product: the tangent must have dtype float64"),
    "value": (lambda v, t: ([v], t), TreeError, r"the jvp rule of product: the value must have the structure \*, got \[\*\]"),
    "shape of the value": (lambda v, t: (np.sum(v), t), InputValueError, r"the value must have shape \(2,\), as that of product, got \(\)"),
    "dtype of the value": (lambda v, t: (v.astype(np.float32), t), InputTypeError, "the value must have dtype float64"),
    "not linear": (lambda v, t: (v, np.ones(2)), InputValueError, "not linear in those that it got"),
}


@pytest.mark.parametrize(("answer", "error", "message"), list(WRONG_JVP.values()), ids=list(WRONG_JVP))
def test_a_wrong_answer_of_the_jvp_rule_is_told_by_name(answer: Any, error: Any, message: str):
    def product(x: Any) -> Any:
        return x * 3.0

    f = custom_jvp(product)
    f.defjvp(lambda primals, tangents: answer(product(primals[0]), 3.0 * tangents[0]))
    for transform in (grad, jacfwd) if message[:3] != "not" else (grad,):
        with pytest.raises(error, match=message):
            transform(lambda x: np.sum(f(x)))(TWO)
        assert tape.thread.scope is None


def test_a_wrong_fwd_is_told_by_name():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: x, lambda r, ct: (ct,))
    with pytest.raises(TreeError, match=r"fwd of <lambda> must return \(value, residuals\), got float"):
        grad(f)(1.0)
    with pytest.raises(InputTypeError, match="custom_vjp takes a function"):
        custom_vjp(3.0)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="defvjp takes a function"):
        f.defvjp(lambda x: x, None)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="defjvp takes a function"):
        f.defjvp(None)  # type: ignore[arg-type]
    g = custom_jvp(lambda x, y: x * y)
    g.defjvps(lambda t, ans, x, y: t * y)
    with pytest.raises(InputValueError, match="1 partials for a call with 2 arguments"):
        grad(g)(1.0, 2.0)


WRONG_FWD: dict[str, tuple[Any, type[Exception], str]] = {
    "shape": (np.sum, InputValueError, r"fwd of sin: the value must have shape \(3,\), as that of sin, got \(\)"),
    "dtype": (lambda x: np.sin(x).astype(np.float32), InputTypeError, "fwd of sin: the value must have dtype float64, .*got float32"),
    "structure": (lambda x: (np.sin(x), x), TreeError, r"fwd of sin: the value must have the structure \*, .*got \(\*, \*\)"),
}
ROWS = np.arange(12.0).reshape(4, 3) / 10.0 + 0.1
OVER_EXAMPLES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(f)(ROWS[1]),
    "vmap of grad": lambda f: vmap(grad(f))(ROWS),
    "grad of vmap": lambda f: grad(lambda rows: np.sum(vmap(f)(rows)))(ROWS),
}


@pytest.mark.parametrize("transform", list(OVER_EXAMPLES.values()), ids=list(OVER_EXAMPLES))
@pytest.mark.parametrize(("value", "error", "message"), list(WRONG_FWD.values()), ids=list(WRONG_FWD))
def test_a_value_of_fwd_that_is_not_like_fs_is_told(value: Any, error: Any, message: str, transform: Any):
    f = custom_vjp(np.sin)
    f.defvjp(lambda x: (value(x), x), lambda x, ct: (ct * np.cos(x),))
    for _ in range(2):
        with pytest.raises(error, match=message):
            transform(lambda x: np.sum(f(x)))
    f.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))
    transform(lambda x: np.sum(f(x)))
    assert tape.thread.scope is None


@pytest.mark.parametrize("transform", list(OVER_EXAMPLES.values()), ids=list(OVER_EXAMPLES))
def test_messages_about_mapped_rules_speak_of_one_example(transform: Any):
    f = custom_jvp(np.sin)
    f.defjvp(lambda primals, tangents: (np.sin(primals[0]), np.sum(tangents[0])))
    with pytest.raises(InputValueError, match=r"the jvp rule of sin: the tangent must have shape \(3,\), got \(\)"):
        transform(lambda x: np.sum(f(x)))
    assert tape.thread.scope is None


def test_f_is_compared_with_fwd_once_for_each_shape():
    calls: list[Any] = []

    def counted(x: Any) -> Any:
        calls.append(np.shape(x))
        return np.sin(x)

    f = custom_vjp(counted)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))
    for _ in range(3):
        for transform in OVER_EXAMPLES.values():
            transform(lambda x: np.sum(f(x)))
    assert len([shape for shape in calls if shape == (3,)]) == 1 + 3  # vmap of grad has no use for fwd's value


class Box:
    def __init__(self, x: Any) -> None:
        self.x = x


RESIDUALS: dict[str, tuple[Any, Any]] = {
    "a function": (lambda x: lambda ct: ct * np.cos(x), lambda r, ct: (r(ct),)),
    "an object": (Box, lambda r, ct: (ct * np.cos(r.x),)),
    "both": (lambda x: {"a": Box(x), "b": [lambda ct: ct * np.cos(x)]}, lambda r, ct: (r["b"][0](ct) + 0.0 * r["a"].x,)),
}


@pytest.mark.parametrize(("make", "bwd"), list(RESIDUALS.values()), ids=list(RESIDUALS))
def test_residuals_may_be_anything_over_examples(make: Any, bwd: Any):
    f = custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), make(x)), bwd)
    loss = lambda x: np.sum(f(x))
    for transform in (OVER_EXAMPLES["vmap of grad"], OVER_EXAMPLES["grad of vmap"]):
        np.testing.assert_allclose(transform(loss), np.cos(ROWS), rtol=1e-14)
    twice = grad(lambda rows: np.sum(grad(lambda rows: np.sum(vmap(loss)(rows)))(rows) ** 2))(ROWS)
    np.testing.assert_allclose(twice, -2.0 * np.cos(ROWS) * np.sin(ROWS), rtol=1e-14)


def closing_over(where: str, y: Any) -> Any:
    """z * y, by rules that close over y, or f and the rules."""
    if where in ("fwd and bwd", "bwd"):
        f = custom_vjp(lambda z: z * y)
        f.defvjp(lambda z: (z * y, None), lambda r, ct: (ct * y,))
    else:
        f = custom_jvp(lambda z: z * y if where != "rule" else z * 1.0)
        f.defjvp(lambda primals, tangents: (primals[0] * (y if where != "rule" else 1.0), tangents[0] * y))
    return f


class Kept:
    y: Any = None


@pytest.mark.parametrize("where", ["fwd and bwd", "f and rule", "rule"])
def test_rules_over_examples_may_close_over_mapped_values_without_derivatives(where: str):
    loss = lambda x, w: np.sum(closing_over(where, x)(x * w))
    wanted = np.sum(ROWS * ROWS, 1)  # the derivative of z * x by w, at z = x w, with x a constant of the rule
    np.testing.assert_allclose(vmap(grad(loss, 1), (0, None))(ROWS, 2.0), wanted, rtol=1e-14)
    np.testing.assert_allclose(grad(lambda w: np.sum(vmap(lambda x: loss(x, w))(ROWS)))(2.0), np.sum(wanted), rtol=1e-14)
    with pytest.raises(ConcretizationError, match="uses a traced value of the code around it"):
        grad(lambda w: np.sum(vmap(lambda x: np.sum(closing_over(where, x * w)(x * w)))(ROWS)))(2.0)

    def by_attribute(x: Any, w: Any) -> Any:
        Kept.y = x
        f = custom_jvp(lambda z: z * (Kept.y if where != "rule" else 1.0))
        f.defjvp(lambda primals, tangents: (primals[0] * (Kept.y if where != "rule" else 1.0), tangents[0] * Kept.y))
        return np.sum(f(x * w))

    with pytest.raises(ConcretizationError, match="uses a traced value of the code around it"):
        grad(lambda w: np.sum(vmap(lambda x: by_attribute(x, w))(ROWS)))(2.0)
    Kept.y = None
    assert tape.thread.scope is None


def test_derivatives_are_no_arrays_of_the_users():
    known = np.ones(3)
    f, g = custom_vjp(np.sin), custom_jvp(np.sin)
    f.defvjp(lambda x: (np.sin(x), None), lambda r, ct: (known,))
    g.defjvp(lambda primals, tangents: (np.sin(primals[0]), known))
    found = [
        grad(lambda x: np.sum(f(x)))(X),
        vjp(f, X)[1](X)[0],
        vmap(grad(lambda x: np.sum(f(x))))(ROWS),
        grad(lambda rows: np.sum(vmap(f)(rows)))(ROWS),
        jvp(g, (X,), (X,))[1],
        linearize(g, X)[1](X),
        vmap(lambda x: known, out_axes=None)(ROWS),
    ]
    for one in found:
        assert not np.shares_memory(one, known)
        one += 1.0
    np.testing.assert_array_equal(known, np.ones(3))


@each_run
@pytest.mark.parametrize("where", ["f", "fwd", "bwd", "rule"])
def test_an_error_in_f_or_a_rule_leaves_no_scope_open(run: Any, where: str):
    class BrokenError(Exception):
        pass

    def broken(name: str, answer: Any) -> Any:
        if name == where:
            raise BrokenError
        return answer

    f = custom_vjp(lambda x: broken("f", x * 1.0))
    f.defvjp(lambda x: (broken("fwd", x * 1.0), None), lambda r, ct: broken("bwd", (ct,)))
    f.defjvp(lambda primals, tangents: broken("rule", (primals[0] * 1.0, tangents[0])))
    with contextlib.suppress(BrokenError):
        run(lambda x: f(x) * f(x), 2.0)
    assert tape.thread.scope is None
    x = np.ones(3)
    with pytest.raises(BrokenError) if where != "rule" else contextlib.nullcontext():  # f is compared with fwd
        grad(lambda x: np.sum(f(x)))(x)
    x[0] = 2.0
