"""The laws that every case of every primitive is held to.

Owns the laws; the table is `tests/cases`. A wrong partial passes the adjoint law, for one rule feeds both directions: only the witness sees
it. A wrong transpose passes the witness of forward mode: only the adjoint law sees it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jacfwd, jacrev, jvp, linearize, tape, tree, vjp
from funcgrad.primitive import OPERATIONS, PRIMITIVES
from funcgrad.replay import end_keeping, new_leaf, open_keeping
from funcgrad.rule import RULES
from funcgrad.tracer import Tracer
from tests.cases import CONSTANT, DIFFERENTIABLE, ELEMENTWISE, METHODS, OPERATORS, Case
from tests.witnesses import DIFFERENCE, assert_close, complex_step, differences, inner, like, widened

CONSTANTS = [
    2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2), np.array(2), np.array([2, 3, 1]), np.array([2, 3, 1], np.uint8), [2.0, 3.0, 1.0],
    True, np.True_, np.array([True, True, True]),
]  # fmt: skip


def each(table: list[Case]) -> Any:
    return pytest.mark.parametrize("case", table, ids=str)


def takes_floats(case: Case) -> bool:
    return any(type(arg) is float for arg in case.args)


WITH_MORE_ARGUMENTS = [case for case in DIFFERENTIABLE if len(case.args) > 1]


# ------------------------------------------------------------------------------------------------ first order


@each(DIFFERENTIABLE)
def test_the_value_is_numpys_bit_for_bit(case: Case):
    plain = case(*case.fresh())
    for value in (jvp(case, case.fresh(), case.fresh())[0], vjp(case, *case.fresh())[0], linearize(case, *case.fresh())[0]):
        assert tree.structure(value) == tree.structure(plain)
        for got, wanted in zip(tree.leaves(value), tree.leaves(plain), strict=True):
            if takes_floats(case):
                np.testing.assert_allclose(got, wanted, rtol=4e-16)  # math and NumPy may differ in the last digit
                continue
            assert type(got) is type(wanted)
            assert got.dtype == wanted.dtype
            if not case.is_exact:
                np.testing.assert_allclose(got, wanted, rtol=1e-15)
            else:
                np.testing.assert_array_equal(got, wanted)


@each(DIFFERENTIABLE)
def test_forward_mode_agrees_with_the_witness(case: Case):
    tangents = like(case.args, 1)
    _, got = jvp(case, case.fresh(), tangents)
    wanted = complex_step(case, case.args, tangents) if case.is_analytic else None
    if wanted is None:
        assert_close(got, differences(case, case.args, tangents, case.is_wide), case.tolerance)
    else:
        assert_close(got, wanted, 1e-12)


@each(DIFFERENTIABLE)
def test_reverse_mode_is_the_adjoint_of_forward_mode(case: Case):
    tangents = like(case.args, 2)
    value, out = jvp(case, case.fresh(), tangents)
    _, pullback = vjp(case, *case.fresh())
    cotangents = like(value, 3)
    back = pullback(cotangents)
    size = max(1.0, float(inner(tree.map(np.abs, cotangents), tree.map(np.abs, out))))
    assert abs(float(inner(cotangents, out) - inner(back, tangents))) <= 1e-12 * size
    assert_close(pullback(cotangents), back, 1e-15)  # the last bit may hang on how memory lies


@each(DIFFERENTIABLE)
def test_linearize_replays_what_jvp_pushes(case: Case):
    tangents = like(case.args, 4)
    _, f_jvp = linearize(case, *case.fresh())
    _, wanted = jvp(case, case.fresh(), tangents)
    for _ in range(2):
        assert_close(f_jvp(*tangents), wanted, 1e-15)


@each(WITH_MORE_ARGUMENTS)
def test_each_argument_alone_gives_its_part(case: Case):
    tangents, args = like(case.args, 5), case.fresh()
    value, pullback = vjp(case, *args)
    cotangents = like(value, 6)
    wanted = pullback(cotangents)
    parts = []
    for n, tangent in enumerate(tangents):
        alone = case.in_argument(n, args)
        assert_close(vjp(alone, args[n])[1](cotangents)[0], wanted[n], 1e-13)
        parts.append(jvp(alone, (args[n],), (tangent,))[1])
    assert_close(tree.map(lambda *each: sum(each), *parts), jvp(case, args, tangents)[1], 1e-13)


def backwards(x: np.ndarray) -> np.ndarray:
    return np.flip(np.flip(x).copy())


@each([case for case in DIFFERENTIABLE if any(np.ndim(arg) for arg in case.args) and not case.note.endswith(("order A", "order K"))])
def test_how_arrays_lie_in_memory_is_of_no_matter(case: Case):
    plain, tangents = case(*case.fresh()), like(case.args, 7)
    cotangents = like(plain, 8)
    pulled, pushed = vjp(case, *case.fresh())[1](cotangents), jvp(case, case.fresh(), tangents)[1]
    for layout in (np.asfortranarray, backwards):
        args, ts, cts = (
            tree.map(lambda one: layout(one) if type(one) is np.ndarray and one.ndim else one, values)  # noqa: B023 - called here
            for values in (case.fresh(), tangents, cotangents)
        )
        value, pullback = vjp(case, *args)
        assert_close(value, plain, 1e-12)
        assert_close(pullback(cts), pulled, 1e-12)
        assert_close(jvp(case, args, ts)[1], pushed, 1e-12)


@each([case for case in DIFFERENTIABLE if sum(np.size(arg) for arg in case.args) <= 24 and not case.is_complex and case.is_real])
def test_jacobians_of_both_modes_are_one(case: Case):
    argnums = tuple(range(len(case.args)))
    by_rows, by_columns = jacrev(case, argnums)(*case.fresh()), jacfwd(case, argnums)(*case.fresh())
    assert tree.structure(by_rows) == tree.structure(by_columns)
    assert_close(by_rows, by_columns, 1e-12)


# ------------------------------------------------------------------------------------------------ higher orders


def second_orders(case: Case, cotangents: Any, first: Any, second: Any) -> dict[str, Callable[..., Any]]:
    """<ct, D2 f [first, second]> by all four nestings, as functions of the arguments."""
    argnums = tuple(range(len(case.args)))

    def weighed(*args: Any) -> Any:
        return inner(cotangents, case(*args))

    def along(*args: Any) -> Any:
        return inner(cotangents, jvp(case, args, first)[1])

    def across(*args: Any) -> Any:
        return inner(grad(weighed, argnums)(*args), first)

    return {
        "forward over forward": lambda *args: jvp(along, args, second)[1],
        "forward over reverse": lambda *args: jvp(across, args, second)[1],
        "reverse over forward": lambda *args: inner(grad(along, argnums)(*args), second),
        "reverse over reverse": lambda *args: inner(grad(across, argnums)(*args), second),
    }


@each(DIFFERENTIABLE)
def test_second_order_agrees_in_all_four_nestings(case: Case):
    args, first, second = case.fresh(), like(case.args, 7), like(case.args, 8)
    cotangents = like(case(*args), 9)
    precise = widened(first) if case.is_wide else first
    wanted = differences(lambda *args: inner(cotangents, jvp(case, args, precise)[1]), case.args, second, case.is_wide)
    scale = max(1.0, abs(float(wanted)))
    for name, nesting in second_orders(case, cotangents, first, second).items():
        got = nesting(*args)
        assert abs(float(got - wanted)) <= 30 * case.tolerance * scale, f"{name}: got {got}, wanted {wanted}"


@each(WITH_MORE_ARGUMENTS)
def test_mixed_derivatives_do_not_depend_on_the_order(case: Case):
    args, tangents = case.fresh(), like(case.args, 10)
    cotangents = like(case(*args), 11)

    def forward(g: Any, n: int) -> Any:
        return jvp(g, (args[n],), (tangents[n],))[1]

    def reverse(g: Any, n: int) -> Any:
        return inner(grad(g)(args[n]), tangents[n])

    def mixed(outer: Any, a: int, within: Any, b: int) -> Any:
        def put(x: Any, y: Any) -> Any:
            full = list(args)
            full[a], full[b] = x, y
            return inner(cotangents, case(*full))

        return outer(lambda x: within(lambda y: put(x, y), b), a)

    last = len(args) - 1
    found = [mixed(one, a, other, last - a) for a in (0, last) for one in (forward, reverse) for other in (forward, reverse)]
    assert_close(found, [found[0]] * 8, 1e-11)


@each([case for case in DIFFERENTIABLE if case.is_elementwise and all(np.shape(arg) == (2, 3) for arg in case.args)])
def test_third_order(case: Case):
    args, directions = case.fresh(), [like(case.args, seed) for seed in (12, 13, 14)]
    cotangents = like(case(*args), 15)
    precise = second_orders(case, cotangents, *widened(directions[:2]))["forward over reverse"]
    wanted = differences(precise, case.args, directions[2])
    argnums = tuple(range(len(args)))
    scale = max(1.0, abs(float(wanted)))
    for name, nesting in second_orders(case, cotangents, *directions[:2]).items():
        for got in (jvp(nesting, args, directions[2])[1], inner(grad(nesting, argnums)(*args), directions[2])):
            assert abs(float(got - wanted)) <= 1e3 * DIFFERENCE * scale, f"{name}: got {got}, wanted {wanted}"


# ------------------------------------------------------------------------------------------------ types and memory


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble], ids=["float32", "float16", "longdouble"])
@each([case for case in DIFFERENTIABLE if not takes_floats(case) and case.name != "astype"])
def test_shape_and_dtype_are_kept(case: Case, dtype: Any):
    args = case.fresh(dtype)
    try:
        plain = case(*args)
    except TypeError as error:
        pytest.skip(f"not computed in {dtype.__name__}: {error}")
    value, out = jvp(case, args, args)
    for one, other, wanted in zip(tree.leaves(value), tree.leaves(out), tree.leaves(plain), strict=True):
        assert one.dtype == other.dtype == wanted.dtype
        assert np.shape(one) == np.shape(other) == np.shape(wanted)
    cotangents = like(plain, 16)
    back = vjp(case, *args)[1](cotangents)
    for one, other in zip(back, args, strict=True):
        assert type(one) is type(other)
        assert one.dtype == other.dtype
        assert one.shape == other.shape
    exact = vjp(case, *case.fresh())[1](
        tree.map(lambda leaf: np.asarray(leaf, np.complex128 if np.iscomplexobj(leaf) else np.float64)[()], cotangents)
    )
    assert_close(back, exact, max(60 * float(np.finfo(dtype).eps), 1e-12))


@each(DIFFERENTIABLE)
def test_inputs_stay_and_results_are_fresh(case: Case):
    args = case.fresh()
    before = copy.deepcopy(args)
    value, pullback = vjp(case, *args)
    cotangents = like(value, 17)
    back = pullback(cotangents)
    _, out = jvp(case, args, like(args, 18))
    del pullback
    for one, other in zip(args, before, strict=True):
        np.testing.assert_array_equal(one, other)
        assert type(one) is float or one.flags.writeable
    arrays = [leaf for leaf in [*back, *tree.leaves(out)] if isinstance(leaf, np.ndarray)]
    for n, one in enumerate(arrays):
        assert one.flags.writeable
        for other in [*arrays[:n], *args, *tree.leaves(cotangents), *tree.leaves(value)]:
            assert not np.shares_memory(one, other)


@each([case for case in ELEMENTWISE if takes_floats(case)])
def test_python_floats_stay_python_floats(case: Case):
    value, out = jvp(case, case.args, tuple(1.0 for _ in case.args))
    gradients = vjp(case, *case.args)[1](tree.map(lambda leaf: 1.0, value))
    second = jvp(lambda *args: jvp(case, args, case.args)[1], case.args, case.args)
    for leaf in tree.leaves((value, out, gradients, second)):
        assert type(leaf) is float


@each([case for case in DIFFERENTIABLE if case.is_elementwise and all(np.shape(arg) == () for arg in case.args) and not takes_floats(case)])
def test_numpy_scalars_stay_numpy_scalars(case: Case):
    for kind in (np.float64, np.float32):
        args = tuple(kind(arg) for arg in case.args)
        value, out = jvp(case, args, args)
        for leaf in tree.leaves((value, out)):
            assert type(leaf) is (np.float64 if case.name == "float_power" else kind)
        for leaf in vjp(case, *args)[1](value):
            assert type(leaf) is kind


@pytest.mark.parametrize("constant", CONSTANTS, ids=repr)
@each([case for case in DIFFERENTIABLE if case.is_elementwise and len(case.args) == 2 and np.shape(case.args[0]) == (2, 3)])
def test_constants_of_every_kind(case: Case, constant: Any):
    x = np.array([[0.7, 5.1, 0.31], [0.42, 0.45, 4.3]])  # 1, 2 and 3 are no multiples
    tangent = like(x, 19)
    for partial in (lambda x: case.function(x, constant), lambda x: case.function(constant, x)):
        plain = partial(x)
        value, out = jvp(partial, (x,), (tangent,))
        for one, other in zip(tree.leaves(value), tree.leaves(plain), strict=True):
            np.testing.assert_array_equal(one, other)
        assert_close(out, differences(partial, (x,), (tangent,)), 1e-8)
        cotangent = like(plain, 20)
        (back,) = vjp(partial, x)[1](cotangent)
        assert float(inner(cotangent, out)) == pytest.approx(float(inner(back, tangent)), rel=1e-12, abs=1e-12)


# ------------------------------------------------------------------------------------------------ other ways to call


def is_method(case: Case) -> bool:
    return case.name in METHODS and getattr(np, case.name) is case.function


@each([case for case in [*DIFFERENTIABLE, *CONSTANT] if case.call is None and (case.key in OPERATORS or is_method(case))])
def test_operators_and_methods_are_the_function(case: Case):
    is_operator = case.key in OPERATORS

    def way(x: Any, *rest: Any) -> Any:
        return OPERATORS[case.key](x, *rest) if is_operator else getattr(x, case.name)(*rest, **case.options)

    args = case.fresh()
    if type(args[0]) is float and not is_operator:
        return  # Python floats have no such methods
    plain = case(*args)
    if PRIMITIVES.get(case.name) == "nondifferentiable":
        _, found = grad(lambda *args: (np.sum(args[0]), way(*args)), has_aux=True)(*args)
        np.testing.assert_array_equal(found, plain)
        return
    tangents, cotangents = like(args, 21), like(plain, 22)
    value, out = jvp(way, args, tangents)
    assert_close(value, plain, 0.0)
    assert_close(out, jvp(case, args, tangents)[1], 1e-15)
    assert_close(vjp(way, *args)[1](cotangents), vjp(case, *args)[1](cotangents), 1e-15)
    for n in range(len(args) if is_operator else 1):  # one operand plain: an operator's reflected form for n = 1
        got = jvp(lambda x, n=n: way(*args[:n], x, *args[n + 1 :]), (args[n],), (tangents[n],))[1]
        assert_close(got, jvp(case.in_argument(n, args), (args[n],), (tangents[n],))[1], 1e-15)


# ------------------------------------------------------------------------------------------------ nothing to differentiate


@each(CONSTANT)
def test_what_has_no_derivative_is_a_constant(case: Case):
    args = case.fresh()
    plain = case(*args)

    def f(*args: Any) -> Any:
        found = case(*args)
        assert not any(type(leaf) is Tracer for leaf in tree.leaves(found))
        return np.sum(args[0] * args[0]), found

    gradients, found = grad(f, tuple(range(len(args))), has_aux=True)(*args)
    assert_close(gradients[0], 2 * args[0], 1e-15)
    assert_close(jvp(f, args, args, has_aux=True)[1], 2 * np.sum(args[0] ** 2), 1e-15)
    for one, other in zip(tree.leaves(found), tree.leaves(plain), strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------------------ coverage


def recorded(case: Case) -> set[str]:
    """The primitives that a case records."""
    scope = open_keeping("coverage")
    try:
        case(*(new_leaf(scope, arg) for arg in case.fresh()))
        return {RULES[record[0]].name for record in scope.records}
    finally:
        tape.close_scope(scope)
        end_keeping(scope)


def test_every_primitive_has_a_case():
    differentiable = {name for name, kind in PRIMITIVES.items() if kind != "nondifferentiable"}
    assert differentiable - set().union(*(recorded(case) for case in DIFFERENTIABLE)) == set()
    assert set(PRIMITIVES) - differentiable - {case.name for case in CONSTANT} == set()


def test_every_numpy_function_has_a_case():
    assert set(OPERATIONS) - {case.key for case in [*DIFFERENTIABLE, *CONSTANT]} == set()


def test_every_case_reaches_the_operation_of_its_function(monkeypatch: pytest.MonkeyPatch):
    for case in [*DIFFERENTIABLE, *CONSTANT]:
        if case.key not in OPERATIONS:  # an operation that NumPy has no name for stands for itself
            continue
        called: list[Any] = []
        operation = OPERATIONS[case.key]

        def spy(*args: Any, operation: Any = operation, called: list[Any] = called, **options: Any) -> Any:
            called.append(operation)
            return operation(*args, **options)

        monkeypatch.setitem(OPERATIONS, case.key, spy)
        recorded(case)
        monkeypatch.undo()
        assert called, f"{case} never called its function on a tracer"


def test_no_two_cases_have_a_name():
    names = [str(case) for case in [*DIFFERENTIABLE, *CONSTANT]]
    assert {name for name in names if names.count(name) > 1} == set()
