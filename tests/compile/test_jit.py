"""`jit` as users meet it: when a program serves and when there is a new one, what is refused, what other transforms and threads get."""

from __future__ import annotations

import collections
import functools
import itertools
import threading
import types
from typing import Any

import numpy as np
import pytest

from funcgrad import checkpoint, grad, hessian, jacfwd, jacrev, jit, jvp, linearize, nn, optim, value_and_grad, vjp, vmap
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError

A = np.array
X = A([0.3, 0.5, 0.9])


class Counted:
    """A function that counts how often it is run: once for each program.

    It counts where `jit` does not see that something has changed: otherwise there would be a new program each time.
    """

    def __init__(self, f: Any) -> None:
        self._f, self._counter = f, itertools.count()

    @property
    def runs(self) -> int:
        return int(repr(self._counter).strip("count()"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        next(self._counter)
        return self._f(*args, **kwargs)


# ------------------------------------------------------------------------------------------------ one program, or another


def test_a_program_serves_other_values():
    f = Counted(lambda x, k: x * k + 1.0)
    program = jit(lambda x, k: f(x, k))
    for k in (2.0, 3.0, -0.0):
        np.testing.assert_array_equal(program(X * k, k), X * k * k + 1.0)
    assert f.runs == 1


@pytest.mark.parametrize(
    "others",
    [
        (np.ones(4), 2.0),
        (np.ones((3, 1)), 2.0),
        (X.astype(np.float32), 2.0),
        (X.astype(complex), 2.0),
        (A([1, 2, 3]), 2.0),
        (X, 2),
        (X, True),
        (X, 2j),
        (X, np.float64(2.0)),
        (X, np.float32(2.0)),
        (X, A(2.0)),
        (np.float64(0.3), 2.0),
        (0.3, 2.0),
    ],
    ids=lambda pair: f"{np.asarray(pair[0]).dtype}{np.shape(pair[0])}-{type(pair[1]).__name__}",
)
def test_other_shapes_dtypes_and_kinds_get_programs_of_their_own(others: Any):
    f = Counted(lambda x, k: x * k)
    program = jit(lambda x, k: f(x, k))
    program(X, 2.0)
    got, wanted = program(*others), others[0] * others[1]
    assert f.runs == 2
    np.testing.assert_array_equal(got, wanted)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    program(X, 2.0)
    assert f.runs == 2


def test_other_structures_get_programs_of_their_own():
    f = Counted(lambda tree: tree["a"] if isinstance(tree, dict) else tree[0])
    program = jit(lambda tree: f(tree))
    for given in ({"a": X}, {"a": X, "b": 1.0}, [X], (X,), [X, None]):
        np.testing.assert_array_equal(program(given), X)
    assert f.runs == 5


def test_static_arguments_are_asked_for_their_value():
    f = Counted(lambda x, n, flag=False: sum(x**k for k in range(n)) if flag else x * n)
    program = jit(lambda x, n, flag=False: f(x, n, flag), static_argnums=1, static_argnames="flag")
    np.testing.assert_array_equal(program(X, 3), X * 3)
    np.testing.assert_array_equal(program(X, 3, flag=True), 1.0 + X + X**2)
    np.testing.assert_array_equal(program(X, 2, flag=True), 1.0 + X)
    np.testing.assert_array_equal(program(X, 3), X * 3)
    assert f.runs == 3
    assert program(X, 1.0).dtype == float  # 1.0 == 1, and yet another program
    assert f.runs == 4


SCALE = 2.0
WEIGHTS = A([1.0, 2.0, 3.0])


def scaled(x: Any) -> Any:
    return x * SCALE


def test_a_global_variable_that_is_another_object(monkeypatch: pytest.MonkeyPatch):
    program = jit(lambda x: scaled(x) + 1.0)
    np.testing.assert_array_equal(program(X), X * 2.0 + 1.0)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    np.testing.assert_array_equal(program(X), X * 5.0 + 1.0)


def test_a_global_function_that_is_defined_anew(monkeypatch: pytest.MonkeyPatch):
    program = jit(lambda x: scaled(x))
    program(X)
    monkeypatch.setitem(globals(), "scaled", lambda x: x - 1.0)
    np.testing.assert_array_equal(program(X), X - 1.0)


def test_a_variable_of_a_closure_that_is_another_object():
    scale = 2.0
    program = jit(lambda x: x * scale)
    program(X)
    scale = 3.0
    np.testing.assert_array_equal(program(X), X * 3.0)


def test_what_is_in_containers_and_objects():
    class Model:
        def __init__(self) -> None:
            self.rate, self.sizes, self.names = 2.0, [1.0, 2.0], {"a": 1.0}

        def step(self, x: Any) -> Any:
            return x * self.rate + self.sizes[1] + self.names["a"]

    model = Model()
    program = jit(model.step)
    np.testing.assert_array_equal(program(X), X * 2.0 + 3.0)
    model.rate = 4.0
    np.testing.assert_array_equal(program(X), X * 4.0 + 3.0)
    model.sizes[1] = 5.0
    np.testing.assert_array_equal(program(X), X * 4.0 + 6.0)
    model.names["a"] = 0.0
    np.testing.assert_array_equal(program(X), X * 4.0 + 5.0)
    model.names = {"a": 2.0}
    np.testing.assert_array_equal(program(X), X * 4.0 + 7.0)


def test_defaults_and_bound_arguments():
    def f(x: Any, k: float = 2.0) -> Any:
        return x * k

    program, bound = jit(f), jit(functools.partial(f, k=3.0))
    np.testing.assert_array_equal(program(X), X * 2.0)
    np.testing.assert_array_equal(bound(X), X * 3.0)
    f.__defaults__ = (5.0,)
    np.testing.assert_array_equal(program(X), X * 5.0)


class Options(types.SimpleNamespace):
    """As people keep options in."""


class Base:
    scale = 2.0

    def apply(self, x: Any) -> Any:
        return x * self.scale

    def __call__(self, x: Any) -> Any:
        return self.apply(x)


class Derived(Base):
    pass


class Slotted:
    __slots__ = ("scale",)


def test_attributes_of_every_kind_of_object(monkeypatch: pytest.MonkeyPatch):
    plain, own, slotted = types.SimpleNamespace(scale=2.0), Options(scale=2.0), Slotted()
    slotted.scale = 2.0  # type: ignore[attr-defined]
    for one in (plain, own, slotted):
        program = jit(lambda x: x * one.scale)  # type: ignore[attr-defined]  # noqa: B023
        program(X)
        one.scale = 3.0  # type: ignore[attr-defined]
        np.testing.assert_array_equal(program(X), X * 3.0)
    derived = Derived()
    programs = [jit(derived), jit(derived.apply), jit(lambda x: x * Derived.scale)]
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 2.0)
    monkeypatch.setattr(Base, "scale", 4.0)
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 4.0)
    derived.scale = 5.0
    np.testing.assert_array_equal(programs[1](X), X * 5.0)
    monkeypatch.setattr(Base, "apply", lambda self, x: -x)
    np.testing.assert_array_equal(programs[0](X), -X)


def test_containers_of_every_kind():
    values = [collections.OrderedDict(a=2.0), collections.defaultdict(float, a=2.0), collections.deque([2.0]), {2.0}]
    programs = [jit(lambda x, v=v: x * next(iter(v.values() if isinstance(v, dict) else v))) for v in values]
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 2.0)
    values[0]["a"] = values[1]["a"] = values[2][0] = 3.0  # type: ignore[index]
    values[3].clear()  # type: ignore[attr-defined]
    values[3].add(3.0)  # type: ignore[attr-defined]
    for program in programs:
        np.testing.assert_array_equal(program(X), X * 3.0)


def test_zeros_have_signs():
    zero = 0.0
    program = jit(lambda x: x * zero)
    assert not np.signbit(program(X)).any()
    zero = -0.0
    assert np.signbit(program(X)).all()


def test_static_arguments_that_are_equal_but_not_the_same():
    program = jit(lambda x, s: x * (100.0 if isinstance(s[0], bool) else s[0]), static_argnums=1)
    np.testing.assert_array_equal(program(X, (1,)), X)
    np.testing.assert_array_equal(program(X, (True,)), 100.0 * X)
    product = jit(lambda x, s: x * s, static_argnums=1)
    assert not np.signbit(product(X, 0.0)).any()
    assert np.signbit(product(X, -0.0)).all()


def test_attributes_of_static_arguments():
    class Model:
        rate = 1.0

        def step(self, x: Any) -> Any:
            return x * self.rate

    model = Model()
    model.rate = 2.0
    program = jit(Model.step, static_argnums=0)
    np.testing.assert_array_equal(program(model, X), X * 2.0)
    model.rate = 5.0
    np.testing.assert_array_equal(program(model, X), X * 5.0)


def test_static_by_position_is_static_by_keyword():
    def f(x: Any, n: int = 2, *, flag: bool = False) -> Any:
        return x**n if flag else x * n

    for program in (jit(f, static_argnums=1, static_argnames="flag"), jit(f, static_argnames=("n", "flag"))):
        np.testing.assert_array_equal(program(X, 3), X * 3)
        np.testing.assert_array_equal(program(X, n=3, flag=True), X**3)
        np.testing.assert_array_equal(program(X), X * 2)


def test_as_a_decorator_with_options():
    @jit(static_argnames="n")
    def power(x: Any, n: int) -> Any:
        return sum(x**k for k in range(n))

    np.testing.assert_array_equal(power(X, 3), 1.0 + X + X**2)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=3),
        lambda rng: np.random.normal(size=3),
    ],
)
def test_random_numbers_would_be_the_same_at_each_call(draw: Any):
    rng = np.random.default_rng(0)
    with pytest.raises(ConcretizationError, match=r"draws random numbers.*pass the numbers"):
        jit(lambda x: x + draw(rng))(X)
    np.testing.assert_array_equal(
        jit(lambda x: x + np.random.default_rng(0).normal(size=3))(X), X + np.random.default_rng(0).normal(size=3)
    )


def test_an_array_of_a_closure_cannot_be_written_into_while_a_program_has_it():
    weights = A([1.0, 2.0, 3.0])
    program = jit(lambda x: x * weights)
    program(X)
    with pytest.raises(ValueError, match="read-only"):
        weights[0] = 5.0
    program.cache_clear()
    weights[0] = 5.0
    np.testing.assert_array_equal(program(X), X * A([5.0, 2.0, 3.0]))


def test_methods():
    class Model:
        rate = 2.0

        @jit
        def f(self: Any, x: Any) -> Any:
            return x * 2.0

    with pytest.raises(InputTypeError, match=r"args\[0\] is .*Model.*static_argnums"):
        Model().f(X)


# ------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: x if x[0] > 0 else -x, r"bool\(\).*np.where.*static_argnums"),
        (lambda x: x * float(x[0]), r"float\(\)"),
        (lambda x: x[: int(x[0])], r"int\(\)"),
        (lambda x: x[x > 0.4], r"mask.*np.where"),
        (lambda x: np.nonzero(x), "np.nonzero"),
        (lambda x: np.unique(x), "np.unique"),
        (lambda x: [1.0, 2.0][np.argmax(x)], "index"),
        (lambda x: np.asarray(x), "asarray"),
    ],
)
def test_what_depends_on_a_value_is_refused_with_the_line(f: Any, words: str):
    with pytest.raises(ConcretizationError, match=f"(?s){words}") as error:
        jit(f)(X)
    assert "test_jit.py" in str(error.value) or "asarray" in words
    np.testing.assert_array_equal(jit(lambda x: x * 2.0)(X), X * 2.0)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x**2))(X), 2.0 * X)


def test_misuse():
    with pytest.raises(InputTypeError, match="takes a function"):
        jit(3.0)  # type: ignore[type-var]
    with pytest.raises(InputTypeError, match=r"args\[1\]\['name'\] is 'a'.*static"):
        jit(lambda x, options: x)(X, {"name": "a"})
    with pytest.raises(InputTypeError, match="list, which has no hash"):
        jit(lambda x, n: x, static_argnums=1)(X, [1])
    with pytest.raises(InputValueError, match="static_argnums 2 is out of range"):
        jit(lambda x, n: x, static_argnums=2)(X, 1)
    with pytest.raises(InputTypeError, match="an output is 'a'"):
        jit(lambda x: (x, "a"))(X)
    with pytest.raises(InputTypeError, match="object"):
        jit(lambda x: x)(A([None, 1.0]))


def test_errors_of_the_function_leave_nothing_behind():
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        if len(calls) < 2:
            raise KeyError("mine")
        return grad(lambda y: np.sum(y**3))(x)

    program = jit(f)
    with pytest.raises(KeyError, match="mine"):
        program(X)
    np.testing.assert_allclose(program(X), 3.0 * X**2, rtol=1e-15)


def test_errors_of_a_step_are_numpys():
    program = jit(lambda a, b: np.linalg.solve(a, b))
    program(np.eye(3), X)
    with pytest.raises(np.linalg.LinAlgError):
        program(np.zeros((3, 3)), X)
    np.testing.assert_array_equal(program(2.0 * np.eye(3), X), X / 2.0)


# ------------------------------------------------------------------------------------------------ results


def test_results_are_fresh():
    constant = A([1.0, 2.0, 3.0])
    program = jit(lambda x: (x, x, x.T, constant, x.reshape(3, 1), x + 1.0, (x + 1.0)[::-1], np.sin(x), 3, 2.0))
    first = program(X)
    kept = [np.copy(one) for one in first]
    for one in first:
        if isinstance(one, np.ndarray):
            one[...] = -7.0
    for one, before in zip(program(X), kept, strict=True):
        np.testing.assert_array_equal(one, before)
    np.testing.assert_array_equal(X, A([0.3, 0.5, 0.9]))
    np.testing.assert_array_equal(constant, A([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("size", [3, 100_000])
def test_constants_are_as_they_were_when_they_were_used(size: int):
    def f(x: Any) -> Any:
        a = np.zeros(size)
        before = x + a
        try:
            a[0] = 5.0
        except ValueError as error:
            assert "read-only" in str(error)
            a = np.array(a)
            a[0] = 5.0
        return before, x * a

    program, x = jit(f), np.ones(size)
    for k in (1.0, 2.0):
        before, after = program(k * x)
        np.testing.assert_array_equal(before, k * x)
        assert (after[0], after[1]) == (5.0 * k, 0.0)


def test_results_of_one_call_outlive_the_next():
    program = jit(lambda x: np.tanh(x * 2.0) + x)
    first = program(X)
    kept = first.copy()
    program(-X)
    np.testing.assert_array_equal(first, kept)


def test_python_numbers_stay_python_numbers():
    value, gradient = jit(value_and_grad(lambda x: x * x + 1.0))(3.0)
    assert (value, gradient) == (10.0, 6.0)
    assert type(value) is float
    assert type(gradient) is float
    assert jit(lambda x, n: (x**n, x // n, x > n, -n))(3.0, 2) == (9.0, 1.0, True, -2)


def test_integers_are_pythons():
    assert jit(lambda a: 1 << a)(70) == 1 << 70
    assert jit(lambda a, b: a**b)(10, 30) == 10**30
    assert jit(lambda a: ~a)(5) == -6
    assert jit(lambda a: divmod(a, 2))(7) == (3, 1)
    assert jit(lambda a, b: a == b)(2**53 + 1, float(2**53)) is False
    assert jit(lambda a, b: (a < b, a & b, a | b, a % b, a // b))(5, 3) == (False, 1, 7, 2, 1)
    with pytest.raises(ZeroDivisionError):
        jit(lambda a: 1 // a)(0)


def test_layouts_and_views():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jit(lambda a: np.reshape(np.reshape(a, (3, 2), order="F"), 6))(x), x.reshape((3, 2), order="F").ravel())
    assert jit(lambda a: np.transpose(a, None))(x).shape == (3, 2)

    def f(x: Any) -> Any:
        buffer = np.zeros(3)
        view = np.broadcast_to(buffer, (2, 3))
        before = x + view
        buffer[:] = 5.0
        return before, x + view

    program = jit(f)
    for k in (1.0, 2.0):
        for got, wanted in zip(program(k * x), f(k * x), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_what_python_raises_for_numpy_answers():
    with np.errstate(all="ignore"):
        assert jit(grad(lambda x: x * x / x))(3.0) == 1.0
        assert np.isinf(jit(lambda x: 1.0 / x)(0.0))
        assert np.isnan(jit(np.log)(-1.0))


def test_exact_zeros_stay_zeros_in_programs_too():
    f = jit(grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0.0))))
    np.testing.assert_array_equal(f(A([2.0, 1.0])), A([0.5, 1.0]))
    np.testing.assert_array_equal(f(A([0.0, 1.0])), A([0.0, 1.0]))  # recorded where there was no NaN
    np.testing.assert_array_equal(f(A([4.0, 1.0])), A([0.25, 1.0]))
    pushed = jit(lambda x, t: jvp(lambda y: np.where(y > 0, np.sqrt(y), 0.0), (x,), (t,))[1])
    np.testing.assert_array_equal(pushed(A([4.0]), A([1.0])), A([0.25]))
    np.testing.assert_array_equal(pushed(A([0.0]), A([0.0])), A([0.0]))


def test_the_source_names_the_lines():
    text = jit(lambda x: np.sin(x) * 2.0).source(X)
    assert "# test_jit.py:" in text
    assert "sin(x0" in text


# ------------------------------------------------------------------------------------------------ other transforms


def cubes(x: Any, k: Any) -> Any:
    return np.sum(np.sin(x) * x**2) * k


COMPILED = jit(cubes)
EACH = [
    ("grad", lambda f: grad(f, argnums=(0, 1))(X, 2.0)),
    ("value_and_grad", lambda f: value_and_grad(f)(X, 2.0)),
    ("jvp", lambda f: jvp(f, (X, 2.0), (X, 1.0))),
    ("linearize", lambda f: linearize(lambda x: f(x, 2.0), X)[1](X)),
    ("vjp", lambda f: vjp(f, X, 2.0)[1](1.5)),
    ("hessian", lambda f: hessian(f)(X, 2.0)),
    ("jacfwd of grad", lambda f: jacfwd(grad(f))(X, 2.0)),
    ("jacrev of grad", lambda f: jacrev(grad(f))(X, 2.0)),
    ("third", lambda f: jacfwd(hessian(f))(X, 2.0)),
    ("vmap", lambda f: vmap(f, (0, None))(np.stack([X, 2.0 * X]), 2.0)),
    ("vmap of grad", lambda f: vmap(grad(f), (0, None))(np.stack([X, 2.0 * X]), 2.0)),
    ("grad of vmap", lambda f: grad(lambda x: np.sum(vmap(f, (0, None))(x, 2.0)))(np.stack([X, 2.0 * X]))),
    ("jit", lambda f: jit(f)(X, 2.0)),
    ("jit of grad", lambda f: jit(grad(f))(X, 2.0)),
    ("jit of hessian", lambda f: jit(hessian(f))(X, 2.0)),
]


@pytest.mark.parametrize(("name", "apply"), EACH, ids=[name for name, _ in EACH])
def test_under_every_transform(name: str, apply: Any):
    def leaves(value: Any) -> list[Any]:
        return [one for part in value for one in leaves(part)] if isinstance(value, tuple) else [value]

    for got, wanted in zip(leaves(apply(COMPILED)), leaves(apply(cubes)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)
    for got, wanted in zip(leaves(apply(COMPILED)), leaves(apply(cubes)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)


def test_derivatives_have_programs_that_are_found_again():
    f = Counted(lambda x: np.sum(np.sin(x) ** 2))
    program = jit(lambda x: f(x))
    for _ in range(3):
        np.testing.assert_allclose(grad(program)(X), np.sin(2.0 * X), rtol=1e-14)
    runs = f.runs
    grad(program)(-X)
    assert f.runs == runs


def test_a_program_that_is_replaced_takes_its_derivatives_along():
    scale = 1.0
    gradient = grad(jit(lambda x: np.sum(np.sin(x) * scale)))
    for n in range(1, 300):  # so many that memory of one that was replaced is used again
        scale = float(n)
        np.testing.assert_allclose(gradient(X), n * np.cos(X), rtol=1e-14)
    _, pullback = vjp(jit(lambda x: np.sum(np.sin(x) * scale)), X)
    scale = 5.0
    np.testing.assert_allclose(pullback(1.0)[0], 299.0 * np.cos(X), rtol=1e-14)


def test_under_checkpoint_again():
    gradient = grad(checkpoint(jit(lambda x: np.sum(np.sin(x) * x))))
    for x in (X, -2.0 * X, X):
        np.testing.assert_allclose(gradient(x), np.cos(x) * x + np.sin(x), rtol=1e-14)


def test_outputs_without_derivatives_and_integer_arguments():
    f = jit(lambda x, places: (np.sum(x[places] ** 2), np.argmax(x), places * 2))
    places = A([0, 2, 0])
    value, best, doubled = f(X, places)
    np.testing.assert_allclose(value, 2 * 0.3**2 + 0.9**2, rtol=1e-15)
    assert best == 2
    np.testing.assert_array_equal(doubled, 2 * places)
    for _ in range(2):
        np.testing.assert_allclose(grad(lambda x: f(x, places)[0])(X), A([4 * 0.3, 0.0, 2 * 0.9]), rtol=1e-15)
        (value,), aux = jvp(lambda x: ((f(x, places)[0],), f(x, places)[1:]), (X,), (np.ones(3),), has_aux=True)[1:]
        np.testing.assert_allclose(value, 4 * 0.3 + 2 * 0.9, rtol=1e-15)
        assert aux[0] == 2


def test_strong_zeros_of_derivatives_of_programs():
    f = jit(lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)))
    np.testing.assert_array_equal(grad(f)(A([2.0, 1.0])), A([0.5, 1.0]))
    np.testing.assert_array_equal(grad(f)(A([0.0, 1.0])), A([0.0, 1.0]))


def test_a_tracer_of_the_code_around_in_a_closure():
    assert grad(lambda w: jit(lambda x: np.sum(x * w))(X))(2.0) == pytest.approx(X.sum(), rel=1e-15)


def test_powers_of_integers():
    power = jit(lambda x, n: x * 10**n)
    assert power(1.0, 1) == 10.0
    assert power(1.0, 3) == 1000.0
    with pytest.raises(ConcretizationError, match="an integer to a negative power is a float"):
        power(1.0, -3)
    assert jit(lambda x, n: x * 10.0**n)(1.0, -3) == pytest.approx(1e-3, rel=1e-15)
    assert jit(lambda x, n: x * 10**n)(1.0, -3) == pytest.approx(1e-3, rel=1e-15)


def test_a_training_step_with_its_optimizer():
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(4, 3)), "b": np.zeros(3)}
    x, y = rng.normal(size=(8, 4)), rng.integers(0, 3, 8)
    optimizer = optim.adam(1e-2)

    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, gradient = value_and_grad(lambda p: nn.softmax_cross_entropy(x @ p["w"] + p["b"], y))(params)
        updates, state = optimizer.update(gradient, state, params)
        return optim.apply_updates(params, updates), state, value

    eager, compiled = (params, optimizer.init(params)), (params, optimizer.init(params))
    program = jit(step)
    for _ in range(5):
        *eager, value = step(*eager, x, y)
        *compiled, same = program(*compiled, x, y)
        np.testing.assert_allclose(same, value, rtol=1e-13)
    np.testing.assert_allclose(compiled[0]["w"], eager[0]["w"], rtol=1e-12)


def test_clipping_and_one_hot_rows():
    clip = optim.clip_by_global_norm(1.0)

    def clipped(gradient: Any) -> Any:
        return clip.update(gradient, clip.init(gradient), gradient)[0]

    program = jit(clipped)
    for size in (5.0, 0.0, 0.1, np.inf):
        gradient = {"a": np.full(3, size, np.float32), "b": 2.0}
        got, wanted = program(gradient), clipped(gradient)
        assert got["a"].dtype == np.float32
        assert type(got["b"]) is float
        for key in "ab":
            np.testing.assert_allclose(got[key], wanted[key], rtol=1e-6)
    labels = A([0, 2])
    np.testing.assert_array_equal(jit(lambda n: nn.one_hot(n, 3))(labels), nn.one_hot(labels, 3))
    np.testing.assert_array_equal(vmap(lambda n: nn.one_hot(n, 3))(labels), nn.one_hot(labels, 3))


def test_adding_to_an_array_in_place():
    def f(x: Any) -> Any:
        total = np.zeros(3)
        total += x
        total *= 2.0
        return total

    program = jit(f)
    for x in (X, -X):
        np.testing.assert_array_equal(program(x), 2.0 * x)


# ------------------------------------------------------------------------------------------------ threads


def test_threads_share_a_program():
    program = jit(value_and_grad(lambda x, k: np.sum(np.tanh(x * k) ** 2)))
    points = [np.linspace(0.1, 1.0, 50) * (n + 1) for n in range(8)]
    wanted = [program(x, 1.5) for x in points]
    found: list[Any] = [None] * 8

    def run(n: int) -> None:
        for _ in range(200):
            found[n] = program(points[n], 1.5)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for got, same in zip(found, wanted, strict=True):
        assert got[0] == same[0]
        np.testing.assert_array_equal(got[1], same[1])
