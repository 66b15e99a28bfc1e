"""Bad input: the message says what was got, what was wanted, where, and what to do; nothing is left behind.

That no scope stays open is asserted by the fixture of `conftest.py`; `test_scopes.py` has tracers that leak.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import (
    elementwise_grad,
    errors,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    make_tape,
    nn,
    optim,
    tape,
    value_and_grad,
    vjp,
)
from funcgrad.errors import FuncgradError, InputTypeError, InputValueError, TreeError
from tests.runs import TRANSFORMS, each_transform

A = np.array


def loss(x: Any, *rest: Any) -> Any:
    return np.sum(x)


def test_errors_are_the_builtins_that_one_expects():
    parents = {
        "InputTypeError": TypeError,
        "InputValueError": ValueError,
        "TreeError": ValueError,
        "StaleTracerError": RuntimeError,
        "ConcretizationError": TypeError,
        "NoRuleError": NotImplementedError,
        "CheckError": AssertionError,
    }
    for name, parent in parents.items():
        assert issubclass(getattr(errors, name), FuncgradError)
        assert issubclass(getattr(errors, name), parent)


# ------------------------------------------------------------------------------------------------ functions

NO_FUNCTIONS = [3.0, None, "f", A([1.0]), [np.sin]]


EVERY = [grad, value_and_grad, jacfwd, jacrev, hessian, hvp, elementwise_grad, make_tape, jvp, vjp, linearize]


@pytest.mark.parametrize("transform", EVERY)
def test_what_is_no_function(transform: Any):
    name = transform.__name__
    for value in NO_FUNCTIONS:
        with pytest.raises(InputTypeError, match=rf"{name}.*{type(value).__name__}") as caught:
            transform(value, 1.0) if transform in (vjp, linearize) else transform(value)
        assert f"{name}(f" in str(caught.value), "it says how to write it"


# ------------------------------------------------------------------------------------------------ inputs

BAD_LEAVES: list[tuple[Any, str]] = [
    (A([1, 2]), r"shape \(2,\) and dtype int64"),
    (A([1, 2], np.uint8), r"shape \(2,\) and dtype uint8"),
    (np.int32(3), "dtype int32"),
    (A([True, False]), r"shape \(2,\) and dtype bool"),
    (True, r"True \(bool\)"),
    (np.bool_(True), "bool"),
    ("text", r"'text' \(str\)"),
    (b"bytes", r"\(bytes\)"),
    (A(["a", "b"]), "dtype <U1"),
    (A([1.0, None], object), "dtype object"),
    (np.array(["2020-01-01"], "datetime64[D]"), "datetime64"),
    (datetime.date(2020, 1, 1), r"\(date\)"),
    (np.zeros(2, [("a", float)]), "dtype"),
    (object(), r"\(object\)"),
    ({1.0, 2.0}, r"\(set\)"),
    (np.sin, r"\(ufunc\)"),
    (np.random.default_rng(0), r"\(Generator\)"),
    (range(3), r"\(range\)"),
    (np.ma.array([1.0, 2.0], mask=[True, False]), "MaskedArray"),
]


@each_transform
@pytest.mark.parametrize(("value", "got"), BAD_LEAVES, ids=[got for _, got in BAD_LEAVES])
def test_leaves_that_cannot_be_differentiated(run: Any, value: Any, got: str):
    with pytest.raises(InputTypeError, match=rf"argument 0 is .*{got}.*only floating-point") as caught:
        run(loss, value)
    assert isinstance(caught.value, TypeError)
    assert "of loss" in str(caught.value)
    with pytest.raises(InputTypeError, match=rf"argument 0 at \['layers'\]\[1\] is .*{got}"):
        run(lambda p: np.sum(p["layers"][0]), {"layers": [np.ones(2), value]})


@each_transform
def test_matrices_are_refused(run: Any):
    matrix = A([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
    with pytest.raises(InputTypeError, match="matrix"):
        run(loss, matrix)


def test_the_argument_is_named_by_its_number():
    for derivative in (grad(loss, 2), grad(loss, -1), grad(loss, (0, 2)), jacrev(loss, 2), jacfwd(loss, 2)):
        with pytest.raises(InputTypeError, match="int"):
            derivative(1.0, 2, A([1, 2]))
    with pytest.raises(InputTypeError, match="argument 2 is"):
        grad(loss, 2)(1.0, 2, A([1, 2]))
    with pytest.raises(InputTypeError, match="argument 1 is"):
        vjp(loss, 1.0, A([1, 2]))
    with pytest.raises(InputTypeError, match="argument 1 is"):
        jvp(loss, (1.0, A([1, 2])), (1.0, A([1, 2])))


def test_a_dict_whose_keys_cannot_be_sorted():
    with pytest.raises(TreeError, match=r"'a', 3"):
        grad(lambda p: p["a"])({"a": 1.0, 3: 2.0})


# ------------------------------------------------------------------------------------------------ argnums


@pytest.mark.parametrize("transform", [grad, value_and_grad, jacfwd, jacrev, hessian])
def test_argnums_out_of_range_or_of_the_wrong_kind(transform: Any):
    for argnums, got in ((2, "2"), (-3, "-3"), ((0, 5), "5"), (7, "7")):
        with pytest.raises(InputValueError, match=rf"of loss: argnums {got} is out of range .* 2 positional arguments"):
            transform(loss, argnums)(1.0, 2.0)
    for argnums in ((0, 0), (0, -2), (1, -1)):
        with pytest.raises(InputValueError, match="twice"):
            transform(loss, argnums)(1.0, 2.0)
    for argnums in ("x", 0.0, True, None, (0, "y"), 1j, {0}):
        with pytest.raises(InputTypeError, match="argnums must be an integer or a tuple of integers"):
            transform(loss, argnums)(1.0, 2.0)
    for call in (lambda: transform(loss)(), lambda: transform(loss)(x=1.0)):
        with pytest.raises(InputValueError, match=r"0 positional arguments.*by position"):
            call()


def test_argnums_of_the_others():
    with pytest.raises(InputValueError, match="argnums 3 is out of range"):
        hvp(loss, 3)(1.0, 1.0)
    with pytest.raises(InputValueError, match="argnums 3 is out of range"):
        elementwise_grad(loss, 3)(1.0)
    with pytest.raises(InputTypeError, match="argnum"):
        elementwise_grad(loss, (0, 1))(1.0, 2.0)


def test_calls_with_wrong_arguments_are_pythons_own_errors():
    with pytest.raises(TypeError, match="positional argument"):
        grad(lambda x: x)(1.0, 2.0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        grad(lambda x: x)(1.0, y=2.0)
    with pytest.raises(TypeError, match=r"required keyword|missing"):
        grad(lambda x, *, k: x)(1.0)


# ------------------------------------------------------------------------------------------------ outputs


def test_an_output_of_grad_that_is_no_single_number():
    x = np.ones(3)
    bad: list[tuple[Callable[[Any], Any], str]] = [
        (lambda x: x, r"shape \(3,\)"),
        (lambda x: x[:1], r"shape \(1,\)"),
        (lambda x: x[:, None] * x, r"shape \(3, 3\)"),
        (lambda x: (np.sum(x), x), "tuple"),
        (lambda x: [np.sum(x)], "list"),
        (lambda x: {"loss": np.sum(x)}, r"dict.*'loss'"),
        (lambda x: None, "NoneType"),
        (lambda x: "text", "str"),
        (lambda x: np.sum(x) > 0, "bool"),
        (lambda x: np.argmax(x), "int64"),
        (np.ones, r"shape|type"),
    ]
    for transform in (grad, value_and_grad):
        for f, got in bad[:-1]:
            with pytest.raises(InputTypeError, match=rf"{transform.__name__} of <lambda> .*one real number.*got .*{got}.*jacrev.*vjp"):
                transform(f)(x)
    for f, got in bad[:-1]:
        with pytest.raises(InputTypeError, match=got):
            hvp(f)(x, x)
    with pytest.raises(InputTypeError, match="has_aux=True"):
        grad(lambda x: (np.sum(x), x))(x)


@pytest.mark.parametrize("transform", [grad, value_and_grad, jacfwd, jacrev, hessian])
def test_has_aux_without_aux(transform: Any):
    for f, got in (
        (np.sum, "Tracer|float64|ndarray"),
        (lambda x: [np.sum(x), x], "list"),
        (lambda x: (np.sum(x), x, x), "a tuple of 3"),
        (lambda x: None, "None"),
    ):
        with pytest.raises(InputTypeError, match=rf"has_aux=True needs a function that returns \(output, aux\), got ({got})"):
            transform(f, has_aux=True)(np.ones(2))


@pytest.mark.parametrize("name", ["vjp", "jvp", "linearize", "jacfwd", "jacrev", "make_tape"])
def test_outputs_without_derivatives_are_named_by_their_path(name: str):
    run, x = TRANSFORMS[name], np.ones(2)
    outputs = (("text", "str"), (A([1, 2]), "int64"), (True, "bool"), (A(["a"]), "<U1"), (object(), "object"))
    for bad, got in outputs:
        with pytest.raises(InputTypeError, match=rf"of <lambda>: the output at \['a'\]\[1\] is .*{got}.*has_aux=True"):
            run(lambda x: {"a": [x, bad]}, x)  # noqa: B023
        with pytest.raises(InputTypeError, match=rf"the output is .*{got}"):
            run(lambda x: bad, x)  # noqa: B023


def test_a_function_that_is_not_elementwise():
    with pytest.raises(InputValueError, match=r"shape \(\).*\(3,\).*jacrev"):
        elementwise_grad(np.sum)(np.ones(3))
    with pytest.raises(FuncgradError, match=r"structure|elementwise"):
        elementwise_grad(lambda x: (x, x))(np.ones(3))


# ------------------------------------------------------------------------------------------------ tangents and cotangents

PRIMAL = {"w": [np.ones((2, 3)), np.ones(2, np.float32)], "b": 1.0}
GOOD = {"w": [np.ones((2, 3)), np.ones(2, np.float32)], "b": 1.0}
BAD_DIRECTIONS: list[tuple[Any, type[Exception], str]] = [
    ({**GOOD, "b": np.ones(2)}, InputValueError, r"at \['b'\] must have shape \(\), got \(2,\)"),
    ({**GOOD, "w": [np.ones(3), GOOD["w"][1]]}, InputValueError, r"at \['w'\]\[0\] must have shape \(2, 3\), got \(3,\)"),
    ({**GOOD, "w": [np.ones((3, 2)), GOOD["w"][1]]}, InputValueError, r"at \['w'\]\[0\] must have shape \(2, 3\), got \(3, 2\)"),
    ({**GOOD, "w": [1.0, GOOD["w"][1]]}, InputValueError, r"at \['w'\]\[0\] must have shape \(2, 3\), got \(\)"),
    ({**GOOD, "w": [GOOD["w"][0], np.ones(2)]}, InputTypeError, r"at \['w'\]\[1\] must have dtype float32, got dtype float64.*astype"),
    ({**GOOD, "w": [np.ones((2, 3), int), GOOD["w"][1]]}, InputTypeError, r"at \['w'\]\[0\] must have dtype float64, got dtype int64"),
    (
        {**GOOD, "w": [np.ones((2, 3), complex), GOOD["w"][1]]},
        InputTypeError,
        r"at \['w'\]\[0\] must have dtype float64, got dtype complex",
    ),
    ({**GOOD, "w": [np.ones((2, 3), object), GOOD["w"][1]]}, InputTypeError, r"at \['w'\]\[0\] .*object"),
    ({**GOOD, "b": "text"}, InputTypeError, r"at \['b'\] must be a number or an array, got str"),
    ({**GOOD, "b": True}, InputTypeError, r"at \['b'\] must be a number or an array, got bool"),
    ({**GOOD, "b": 1j}, InputTypeError, r"at \['b'\] .*complex"),
    ({**GOOD, "b": None}, TreeError, r"structure .*'b': \*.* got .*'b': None"),
    ({"w": GOOD["w"]}, TreeError, "structure"),
    ({**GOOD, "c": 1.0}, TreeError, "structure"),
    ({**GOOD, "w": tuple(GOOD["w"])}, TreeError, "structure"),
    ([GOOD["w"], 1.0], TreeError, "structure"),
    (None, TreeError, "structure"),
    (1.0, TreeError, "structure"),
    ({**GOOD, "w": [np.ma.array(np.ones((2, 3))), GOOD["w"][1]]}, InputTypeError, "MaskedArray"),
    ({**GOOD, "w": [np.ones((2, 3)).view(np.matrix), GOOD["w"][1]]}, InputTypeError, "matrix"),
]


@pytest.mark.parametrize(("direction", "error", "message"), BAD_DIRECTIONS, ids=range(len(BAD_DIRECTIONS)))
def test_tangents_and_cotangents_that_do_not_fit(direction: Any, error: type[Exception], message: str):
    def identity(p: Any) -> Any:
        return p

    _, pullback = vjp(identity, PRIMAL)
    _, linear = linearize(lambda x, p: p, 1.0, PRIMAL)
    for what, call in (
        ("tangent of argument 1", lambda: jvp(lambda x, p: p, (1.0, PRIMAL), (1.0, direction))),
        ("tangent of argument 0", lambda: jvp(identity)((PRIMAL,), (direction,))),
        ("pullback of identity: the cotangent", lambda: pullback(direction)),
        ("tangent", lambda: linear(1.0, direction)),
        ("hvp|tangent", lambda: hvp(lambda p: np.sum(p["w"][0]) * p["b"])(PRIMAL, direction)),
    ):
        with pytest.raises(error, match=message) as caught:
            call()
        assert any(one in str(caught.value) for one in what.split("|"))
        assert tape.thread.scope is None
    assert pullback(GOOD)[0]["b"] == 1.0  # a refused call spoils nothing
    assert linear(0.0, GOOD)["b"] == 1.0


def test_numbers_of_tangents():
    with pytest.raises(InputTypeError, match=r"primals must be a tuple.*got float"):
        jvp(np.sin, 1.0, 1.0)
    with pytest.raises(InputTypeError, match=r"tangents must be a tuple.*got ndarray"):
        jvp(np.sin, (np.ones(1),), np.ones(1))
    with pytest.raises(InputTypeError, match="together"):
        jvp(np.sin, (1.0,))
    with pytest.raises(TreeError, match=r"2 primals.*got 1"):
        jvp(np.multiply, (1.0, 2.0), (1.0,))
    with pytest.raises(InputValueError, match="takes 2 tangents, got 1"):
        linearize(np.multiply, 1.0, 2.0)[1](1.0)
    with pytest.raises(InputValueError, match="and then v"):
        hvp(np.sum)(np.ones(2))
    with pytest.raises(InputValueError, match=r"takes a vector v \(the last argument\) of 2 parts, got 1"):
        hvp(lambda x, y: np.sum(x * y), (0, 1))(np.ones(2), np.ones(2), (np.ones(2),))


# ------------------------------------------------------------------------------------------------ beyond the transforms


def test_holomorphic_takes_complex_arguments_and_outputs():
    for transform in (grad, value_and_grad, jacfwd, jacrev, hessian):
        with pytest.raises(InputTypeError, match=r"holomorphic=True takes a complex argument, got .*float.*astype\(complex\)"):
            transform(np.sin, holomorphic=True)(1.0)
        with pytest.raises(InputTypeError, match="complex output"):
            transform(np.abs, holomorphic=True)(1.0 + 2.0j)


def test_a_complex_output_needs_to_be_told_how():
    for transform in (grad, value_and_grad):
        with pytest.raises(InputTypeError, match=r"real output, got dtype complex128.*np.abs.*holomorphic=True.*vjp"):
            transform(np.sin)(1.0 + 2.0j)
    with pytest.raises(InputTypeError, match=r"an output is complex.*jacfwd.*holomorphic"):
        jacrev(lambda x: x * 1j)(np.ones(2))
    with pytest.raises(InputTypeError, match=r"an argument is complex.*jacrev.*holomorphic"):
        jacfwd(np.abs)(np.ones(2) * 1j)
    with pytest.raises(InputTypeError, match=r"complex output of a real argument"):
        elementwise_grad(lambda x: x * 1j)(np.ones(2))


def test_an_optimizer_fed_gradients_of_another_structure():
    params = {"w": np.ones((2, 3)), "b": 1.0}
    for optimizer in (optim.sgd(0.1), optim.sgd(0.1, momentum=0.9), optim.adam(0.1), optim.rmsprop(0.1)):
        state = optimizer.init(params)
        for gradients in ({"w": np.ones((2, 3))}, [np.ones((2, 3)), 1.0], {"w": np.ones((2, 3)), "b": None}, None):
            with pytest.raises(FuncgradError):
                updates, _ = optimizer.update(gradients, state, params)
                optim.apply_updates(params, updates)


def test_losses_that_are_fed_labels_that_do_not_fit():
    logits = np.ones((2, 3))
    for labels, error, message in (
        (A([0, 3]), InputValueError, r"0\.\.2"),
        (A([-1, 0]), InputValueError, r"0\.\.2"),
        (A([0.0, 1.0]), InputTypeError, "integers"),
        (A([0, 1, 2]), InputValueError, r"\(2, 3\)"),
        (np.ones((3, 2)), InputValueError, r"\(2, 3\)"),
    ):
        with pytest.raises(error, match=message):
            grad(nn.softmax_cross_entropy)(logits, labels)


def test_hvp_of_several_arguments_takes_a_tuple_of_vectors():
    product = hvp(lambda x, y: np.sum(x * y), (0, 1))
    with pytest.raises(InputTypeError, match=r"argnums \(0, 1\) the vector v must be a tuple.*got float"):
        product(1.0, 2.0, 3.0)
    assert product(1.0, 2.0, (3.0, 4.0)) == (4.0, 3.0)
