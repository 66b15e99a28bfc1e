"""Checkpointed functions: the derivatives of the function itself in every nesting, with less memory."""

from __future__ import annotations

import functools
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, make_tape, tape, tree, value_and_grad, vjp
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError
from funcgrad.transforms.checkpoint import checkpoint, checkpoint_sequential, remat
from funcgrad.transforms.policies import checkpoint_name, everything_saved, nothing_saved, save_only_these_names
from tests.runs import RUNS, each_run

X, Y = np.array([0.3, -1.2, 2.0]), np.array([1.5, 0.25, -0.75])


def block(x: Any, y: Any) -> Any:
    z = np.sin(x) * y
    return np.exp(np.cos(z) * x) + z * z


def plain(x: Any, y: Any) -> Any:
    return np.sum(block(block(x, y), y) * x)


def nested_f(x: Any, y: Any) -> Any:
    one = checkpoint(block)
    return np.sum(checkpoint(lambda x, y: one(one(x, y), y))(x, y) * x)


def in_closures(x: Any, y: Any) -> Any:
    inner = checkpoint(lambda u: block(u, y))
    return np.sum(checkpoint(lambda: inner(inner(x)) * x)())


def in_trees(x: Any, y: Any) -> Any:
    step = checkpoint(lambda state, scale: {"x": block(state["x"], scale), "y": [scale * 1.0, state["y"][0]], "n": 3})
    state = step(step({"x": x, "y": [y, y]}, scale=y), scale=y)
    assert state["n"] == 3
    return np.sum(state["x"] * x)


def in_a_chain(x: Any, y: Any) -> Any:
    return np.sum(checkpoint_sequential([lambda u: block(u, y), lambda u: block(u, y), lambda u: u * x], x, 2))


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "blocks": lambda x, y: np.sum(checkpoint(block)(checkpoint(block)(x, y), y) * x),
    "the whole": checkpoint(plain),
    "nested": nested_f,
    "closures": in_closures,
    "trees": in_trees,
    "chain": in_a_chain,
    "everything saved": checkpoint(plain, policy=everything_saved),
    "names": checkpoint(
        lambda x, y: np.sum(block(checkpoint_name(block(x, y), "h"), y) * checkpoint_name(x, "other")), save_only_these_names("h", "other")
    ),
}
each_form = pytest.mark.parametrize("f", list(FORMS.values()), ids=list(FORMS))

NESTINGS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(f, (0, 1)),
    "value_and_grad": lambda f: value_and_grad(f, 1),
    "jacfwd": lambda f: jacfwd(f, (0, 1)),
    "jvp": lambda f: lambda x, y: jvp(f, (x, y), (y, x)),
    "linearize": lambda f: lambda x, y: linearize(f, x, y)[1](y, x),
    "hessian": lambda f: hessian(f, (0, 1)),
    "hvp": lambda f: lambda x, y: hvp(f)(x, y, y),
    "jvp of grad": lambda f: lambda x, y: jvp(grad(f, (0, 1)), (x, y), (y, x))[1],
    "grad of jvp": lambda f: grad(lambda x, y: jvp(f, (x, y), (Y, X))[1], (0, 1)),
    "jvp of jvp": lambda f: lambda x, y: jvp(lambda x: jvp(f, (x, y), (Y, X))[1], (x,), (Y,))[1],
    "forward over forward": lambda f: jacfwd(jacfwd(f), 1),
    "reverse over forward": lambda f: jacrev(jacfwd(f, 1)),
    "forward over reverse": lambda f: jacfwd(grad(f), 1),
    "reverse over reverse": lambda f: jacrev(grad(f, 1), (0, 1)),
    "third order": lambda f: jacrev(jacfwd(jacrev(f))),
    "third order in reverse": lambda f: jacrev(jacrev(grad(f))),
    "arguments of two scopes": lambda f: grad(lambda x, y: np.sum(grad(lambda y: f(x, y) * np.sum(x))(y))),
    "tangents of an outer scope": lambda f: grad(lambda x, y: jvp(lambda u: f(u, Y), (X,), (x * y,))[1]),
    "cotangents of an outer scope": lambda f: grad(lambda x, y: np.sum(vjp(lambda u: f(u, Y) * X, X)[1](x * y)[0])),
    "one value as two arguments": lambda f: grad(lambda x, y: f(x, x)),
}


def assert_close(got: Any, wanted: Any, rtol: float = 1e-11) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        other = np.asarray(other)
        np.testing.assert_allclose(np.asarray(one), other, rtol=rtol, atol=rtol * np.max(np.abs(other), initial=1.0))


@each_form
@pytest.mark.parametrize("nesting", list(NESTINGS.values()), ids=list(NESTINGS))
def test_every_nesting_is_that_of_the_function(f: Any, nesting: Any):
    assert_close(nesting(f)(X, Y), nesting(plain)(X, Y))


@each_form
def test_the_value_is_bit_for_bit_the_functions(f: Any):
    assert f(X, Y) == plain(X, Y) == vjp(f, X, Y)[0] == jvp(f, (X, Y), (X, Y))[0]


@each_run
def test_every_run_gives_what_it_gives_of_the_function(run: Any):
    def f(x: Any) -> Any:
        return np.sum(checkpoint(lambda x, y: (block(x, y), x * y))(x, 2.0)[0])

    got, wanted = run(f, 0.7), run(lambda x: np.sum(block(x, 2.0)), 0.7)
    if run in (RUNS["vjp"], RUNS["linearize"]):
        assert_close((got[0], tree.leaves(got[1](1.0))[0]), (wanted[0], tree.leaves(wanted[1](1.0))[0]))
    elif run is RUNS["make_tape"]:
        assert got.value == wanted.value
        assert got.rows[0].gradient == pytest.approx(wanted.rows[0].gradient)
    elif run is not RUNS["count_records"]:
        assert_close(got, wanted)


@each_form
def test_kept_replays_work_later_and_on_several_threads(f: Any):
    _, pullback = vjp(f, X, Y)
    _, f_jvp = linearize(f, X, Y)
    wanted = grad(plain, (0, 1))(X, Y)
    found: list[Any] = []

    def work() -> None:
        found.extend((pullback(np.float64(1.0)), f_jvp(X, Y)) for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 30
    for pulled, pushed in found:
        assert_close(pulled, wanted)
        assert pushed == pytest.approx(np.sum(wanted[0] * X) + np.sum(wanted[1] * Y))
    assert grad(lambda c: np.sum(pullback(c)[0]))(2.0) == pytest.approx(np.sum(wanted[0]))


def test_it_looks_like_the_function():
    def scale(x: Any, *, by: float = 2.0) -> Any:
        """Scale it."""
        return x * by

    one = checkpoint(scale)
    assert one.__name__ == "scale" and "Scale it." in str(one.__doc__)
    assert grad(lambda x: one(x, by=5.0))(1.0) == 5.0
    assert grad(lambda s: one(2.0, by=s))(1.0) == 2.0
    assert remat is checkpoint


def test_it_is_run_again_once_a_replay_and_not_in_forward_mode():
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        return np.sin(x) * x

    counts = {}
    for name, call in {
        "alone": lambda: checkpoint(f)(1.0),
        "jvp": lambda: jvp(checkpoint(f), (1.0,), (1.0,)),
        "grad": lambda: grad(checkpoint(f))(1.0),
        "saved": lambda: grad(checkpoint(f, everything_saved))(1.0),
        "nothing saved": lambda: grad(checkpoint(f, nothing_saved))(1.0),
    }.items():
        runs.clear()
        call()
        counts[name] = len(runs)
    assert counts == {"alone": 1, "jvp": 1, "grad": 2, "saved": 1, "nothing saved": 2}


# ------------------------------------------------------------------------------------------------ closures


class Layer:
    """Weights that a bound method closes over, in attributes and slots."""

    __slots__ = ("bias", "weights")

    def __init__(self, weights: Any, bias: Any) -> None:
        self.weights = weights
        self.bias = {"b": [bias]}

    def apply(self, x: Any) -> Any:
        return np.tanh(self.weights @ x + self.bias["b"][0])


class Deeper(Layer):
    """Slots of its own beside those of its parent, one of them empty."""

    __slots__ = "other"


W = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.5], [0.1, 0.2, 0.3]])


@pytest.mark.parametrize("transform", [lambda f: grad(f, (0, 1, 2)), lambda f: hessian(f, (0, 1, 2)), lambda f: jacfwd(f, (0, 1, 2))])
def test_what_a_function_closes_over_is_differentiated(transform: Any):
    def wanted(w: Any, b: Any, x: Any) -> Any:
        return np.sum(np.tanh(w @ np.tanh(w @ x + b) + b))

    def by_method(w: Any, b: Any, x: Any) -> Any:
        apply = checkpoint(Layer(w, b).apply)
        return np.sum(apply(apply(x)))

    def by_partial(w: Any, b: Any, x: Any) -> Any:
        apply = checkpoint(functools.partial(lambda w, x, b: np.tanh(w @ x + b), w, b=b))
        return np.sum(apply(apply(x)))

    def by_default(w: Any, b: Any, x: Any) -> Any:
        def apply(x: Any, w: Any = w, *, b: Any = b) -> Any:
            return np.tanh(w @ x + b)

        return np.sum(checkpoint(apply)(checkpoint(apply)(x)))

    def by_argument(w: Any, b: Any, x: Any) -> Any:
        apply = checkpoint(lambda layer, x: layer.apply(x))
        return np.sum(apply(Deeper(w, b), apply(Layer(w, b), x)))

    def by_two(w: Any, b: Any, x: Any) -> Any:  # the same tracers as arguments and closed over
        apply = checkpoint(lambda v, c, x: np.tanh(0.5 * (w + v) @ x + 0.5 * (b + c)))
        return np.sum(apply(w, b, apply(w, b, x)))

    right = transform(wanted)(W, Y, X)
    for f in (by_method, by_partial, by_default, by_argument, by_two):
        assert_close(transform(f)(W, Y, X), right)


def test_transforms_inside_and_closed_over_values():
    def f(x: Any, a: Any) -> Any:
        return checkpoint(lambda y: grad(lambda z: z * z * z * a)(y) * a)(x)  # 3 x**2 a**2

    assert grad(f, (0, 1))(2.0, 5.0) == (300.0, 120.0)
    assert hessian(f)(2.0, 5.0) == 150.0
    assert jacfwd(f, 1)(2.0, 5.0) == 120.0


@pytest.mark.parametrize("transform", [grad, jacfwd, lambda f: lambda x: jvp(grad(f), (x,), (1.0,))[1], lambda f: grad(grad(f)), hessian])
def test_inputs_and_closed_over_values_that_are_themselves_the_output(transform: Any):
    def f(a: Any) -> Any:
        x, same, also = checkpoint(lambda x: (x, a, [a, a]))(a * a)
        return x * same + also[0] * also[1] * HIDDEN["id"](lambda x: a)(3.0)  # 2 a**3

    HIDDEN["id"] = checkpoint
    assert transform(f)(2.0) == transform(lambda a: 2.0 * a * a * a)(2.0)
    HIDDEN.clear()


def test_a_global_that_is_the_output_keeps_its_derivative():
    def f(a: Any) -> Any:
        HIDDEN["a"] = a
        x, same = checkpoint(lambda x: (x * x, HIDDEN["a"]))(a * 2.0)
        return same * x  # 4 a**3

    assert grad(f)(3.0) == 108.0
    HIDDEN.clear()


HIDDEN: dict[str, Any] = {}


def test_a_traced_value_in_a_global_is_refused():
    def f(x: Any) -> Any:
        HIDDEN["x"] = x
        return checkpoint(lambda y: y * HIDDEN["x"])(x * 2.0)

    with pytest.raises(ConcretizationError, match=r"checkpoint of <lambda> uses a traced value.*pass it as an argument"):
        grad(f)(1.0)
    assert tape.thread.scope is None
    HIDDEN.clear()


def test_tracers_that_are_stale_may_lie_around():
    old: list[Any] = []

    def first(x: Any) -> Any:
        old.append(x)
        return x

    grad(first)(1.0)
    assert grad(checkpoint(lambda x: x * len(old)))(2.0) == 1.0


def test_a_closed_over_tracer_is_itself_again_afterwards():
    def f(a: Any) -> Any:
        scope, index = a._scope, a._index
        y = checkpoint(lambda x: x * a)(a * 2.0)
        assert (a._scope, a._index) == (scope, index)
        assert grad(lambda u: checkpoint(lambda x: x * a)(u))(3.0).value == 5.0
        assert (a._scope, a._index) == (scope, index)
        return y * a  # 2 a**3

    assert grad(f)(5.0) == 150.0


# ------------------------------------------------------------------------------------------------ names


def test_named_values_stay_what_they_were():
    draws = []

    def noisy(x: Any) -> Any:
        draws.append(float(len(draws) + 1))
        return np.sin(x * checkpoint_name(draws[-1], "noise"))

    assert grad(checkpoint(noisy, save_only_these_names("noise")))(0.0) == 1.0
    assert draws == [1.0, 2.0]
    draws.clear()
    assert grad(checkpoint(noisy, save_only_these_names("other")))(0.0) == 2.0
    draws.clear()
    assert grad(noisy)(0.0) == 1.0  # a name alone does nothing


def test_named_tracers_and_trees():
    factor = iter([3.0, 100.0, 100.0])

    def f(x: Any) -> Any:
        named = checkpoint_name({"a": x * next(factor)}, "a")
        return named["a"] * named["a"]

    # the value that is kept is the first run's, 6; the derivative of the factor is that of the run
    assert grad(checkpoint(f, save_only_these_names("a")))(2.0) == 2 * 6.0 * 100.0


def test_names_in_a_checkpointed_function_inside_are_its_own():
    draws = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])

    def noise(x: Any) -> Any:
        return x * checkpoint_name(next(draws), "noise")

    for policy in (nothing_saved, everything_saved, save_only_these_names("noise")):
        inner = checkpoint(noise, policy)
        outer = checkpoint(lambda x: inner(x) + x * checkpoint_name(next(draws) * 100.0, "noise"), save_only_these_names("noise"))  # noqa: B023
        draws = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
        assert grad(outer)(1.0) // 100.0 == 2.0


def test_a_function_that_does_something_else_the_second_time_is_told():
    shapes = iter([(2,), (3,)])
    f = checkpoint(lambda x: x * np.sum(checkpoint_name(np.ones(next(shapes)), "m")), save_only_these_names("m"))
    with pytest.raises(InputValueError, match="the value named 'm' has another form"):
        grad(f)(1.0)
    counts = iter([2, 1])
    f = checkpoint(lambda x: x * sum(checkpoint_name(1.0, "m") for _ in range(next(counts))), save_only_these_names("m"))
    with pytest.raises(InputValueError, match="named fewer values"):
        grad(f)(1.0)
    values = iter([1.0, 0.0])
    with pytest.raises(InputValueError, match="an output does not depend on the inputs"):
        grad(lambda x: checkpoint(lambda x: x if next(values) else 3.0)(x))(1.0)
    outputs = iter([2, 1])
    with pytest.raises(InputValueError, match="another structure"):
        grad(lambda x: checkpoint(lambda x: [x] * next(outputs))(x)[1])(1.0)
    assert tape.thread.scope is None


def test_bad_arguments():
    with pytest.raises(InputTypeError, match="checkpoint takes a function"):
        checkpoint(3.0)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="policy must be nothing_saved"):
        checkpoint(np.sin, policy="nothing")  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="takes strings"):
        save_only_these_names(3)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="string as the name"):
        checkpoint_name(1.0, 3)  # type: ignore[arg-type]
    with pytest.raises(InputValueError, match="at least one segment"):
        checkpoint_sequential([np.sin], 1.0, 0)
    with pytest.raises(InputTypeError, match="checkpoint_sequential takes a function"):
        checkpoint_sequential([3.0], 1.0)  # type: ignore[list-item]
    assert checkpoint_sequential([], 1.0) == 1.0
    assert [repr(one) for one in (nothing_saved, everything_saved)] == ["nothing_saved", "everything_saved"]


@each_run
@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_an_error_leaves_no_scope_open_and_inputs_writeable(run: Any, fails_at: int):
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        if len(runs) == fails_at:
            raise ZeroDivisionError
        return np.sin(x)

    x = np.ones(2)
    try:
        run(lambda x: checkpoint(f)(x) * 1.0, 2.0)
        runs.clear()
        grad(lambda x: np.sum(checkpoint(f)(x)))(x)
    except ZeroDivisionError:
        pass
    assert tape.thread.scope is None
    x[0] = 5.0


def test_strong_zeros_and_no_warnings_of_its_own():
    f = checkpoint(lambda x: np.where(x > 0, np.sqrt(x), 0.0))
    x = np.array([0.0, 4.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(x), [0.0, 0.25])
    np.testing.assert_array_equal(jvp(grad(lambda x: np.sum(f(x))), (x,), (np.ones(2),))[1], [0.0, -1 / 32])


# ------------------------------------------------------------------------------------------------ memory


def peak_of(f: Callable[[Any], Any], x: Any) -> float:
    """The most that Python and NumPy hold during f(x), in arrays of the size of x."""
    tracemalloc.start()
    try:
        f(x)
        return tracemalloc.get_traced_memory()[1] / x.nbytes
    finally:
        tracemalloc.stop()


def chain(x: Any, segments: int | None = None) -> Any:
    return np.sum(checkpoint_sequential([np.tanh] * 100, x, segments))


def plain_chain(x: Any) -> Any:
    for _ in range(100):
        x = np.tanh(x)
    return np.sum(x)


def test_memory_is_that_of_the_square_root():
    x = np.linspace(-2.0, 2.0, 40_000)
    np.testing.assert_array_equal(grad(chain)(x), grad(plain_chain)(x))
    assert peak_of(grad(plain_chain), x) > 100
    assert peak_of(grad(chain), x) < 24
    assert peak_of(lambda x: grad(lambda x: chain(x, 5))(x), x) < 30
    assert peak_of(lambda x: vjp(chain, x)[1](np.float64(1.0)), x) < 24
    assert peak_of(lambda x: jvp(chain, (x,), (x,)), x) < 8
    assert peak_of(lambda x: jvp(lambda x: checkpoint(plain_chain)(x), (x,), (x,)), x) < 8


def test_memory_of_a_hessian_vector_product():
    x = np.linspace(-2.0, 2.0, 4_000)
    np.testing.assert_allclose(hvp(chain)(x, x), hvp(plain_chain)(x, x), rtol=1e-10, atol=1e-12)
    for product in (
        hvp,
        lambda f: lambda x, v: jvp(grad(f), (x,), (v,))[1],
        lambda f: lambda x, v: grad(lambda x: np.sum(grad(f)(x) * v))(x),
    ):
        with_chain, with_plain_chain = (peak_of(lambda x: product(f)(x, x), x) for f in (chain, plain_chain))  # noqa: B023
        assert with_chain < 0.25 * with_plain_chain


def test_the_first_run_keeps_nothing_and_names_are_seen_on_the_tape():
    shown = make_tape(lambda x: np.sum(checkpoint(lambda x: np.sin(np.sin(np.sin(x))))(x)))(X)
    assert [row.operation for row in shown.rows] == ["leaf", "checkpoint", "sum"]
    x = np.linspace(-2.0, 2.0, 40_000)
    kept = peak_of(lambda x: vjp(checkpoint(plain_chain), x), x)
    assert kept < 6
