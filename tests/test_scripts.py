"""Ten scripts of plain NumPy from ten fields, written without the package in mind, and differentiated as they stand.

Each of `tests/scripts` has `make_data()`, `start()` and `objective(params, data)`. Derivatives are held against differences of the plain
objective, the Hessian-vector product against differences of the gradient. The first drafts, at the end, are what people write first where
plain NumPy cannot be followed: writing into arrays, and making arrays of numbers that are differentiated.
"""

from __future__ import annotations

import ast
import copy
import importlib
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import elementwise_grad, grad, hvp, jvp, tree, value_and_grad
from funcgrad.errors import ConcretizationError
from funcgrad.testing import numerical_grad
from tests.scripts import black_scholes, truss
from tests.witnesses import assert_close, like

FOLDER = Path(__file__).parent / "scripts"
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
each_script = pytest.mark.parametrize("script", [importlib.import_module(f"tests.scripts.{name}") for name in SOURCES], ids=list(SOURCES))

STEP = 1e-4
"""Short, because the scripts have kinks: no difference may reach across one."""
TOLERANCE = 1e-8
"""Of differences in double precision, relative to the largest number of a leaf where that is above 1; they are good to 2e-10."""


def as_arrays(params: Any) -> Any:
    return tree.map(np.asarray, params)


def differences(f: Callable[[Any], Any], params: Any, direction: Any) -> Any:
    """The derivative of a function of a tree along a direction, by central differences of two steps, without their common error term."""

    def central(h: float) -> Any:
        ahead, behind = (f(tree.map(lambda x, t: x + s * h * t, params, direction)) for s in (1, -1))  # noqa: B023
        return tree.map(lambda a, b: (a - b) / (2 * h), ahead, behind)

    return tree.map(lambda fine, coarse: (4 * fine - coarse) / 3, central(STEP / 2), central(STEP))


def test_there_are_ten():
    assert len(SOURCES) == 10


@pytest.mark.parametrize("name", list(SOURCES))
def test_scripts_are_plain_numpy(name: str):
    source = SOURCES[name]
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in imports] == ["import numpy as np"]
    assert "funcgrad" not in source
    assert 30 <= len(source.splitlines()) <= 100


@each_script
def test_values(script: ModuleType):
    """Bit for bit on arrays; on Python floats, which are computed with `math`, to rounding."""
    params, data = as_arrays(script.start()), script.make_data()
    plain = script.objective(params, data)
    for value in (value_and_grad(script.objective)(params, data)[0], jvp(lambda p: script.objective(p, data), (params,), (params,))[0]):
        assert type(value) is type(plain)
        assert value.tobytes() == plain.tobytes()
    value, _ = value_and_grad(script.objective)(script.start(), data)
    np.testing.assert_allclose(value, plain, rtol=1e-13)


@each_script
def test_gradients(script: ModuleType):
    params, data = script.start(), script.make_data()
    before = copy.deepcopy((params, data))
    gradient = grad(script.objective)(params, data)
    np.testing.assert_equal((params, data), before)
    assert tree.flatten(gradient)[1] == tree.flatten(params)[1]
    assert [type(leaf) for leaf in tree.leaves(gradient)] == [type(leaf) for leaf in tree.leaves(params)]
    assert_close(gradient, numerical_grad(script.objective, eps=STEP)(params, data), TOLERANCE)
    assert_close(gradient, grad(script.objective)(as_arrays(params), data), 1e-12)


@each_script
def test_forward_mode(script: ModuleType):
    params, data = script.start(), script.make_data()
    direction = like(params, 1)
    _, slope = jvp(lambda p: script.objective(p, data), (params,), (direction,))
    assert_close(slope, differences(lambda p: script.objective(p, data), params, direction), TOLERANCE)
    gradient = grad(script.objective)(params, data)
    along = sum(np.sum(g * v) for g, v in zip(tree.leaves(gradient), tree.leaves(direction), strict=True))
    np.testing.assert_allclose(slope, along, rtol=1e-11)


@each_script
def test_hessian_vector_products(script: ModuleType):
    params, data = script.start(), script.make_data()
    direction = like(params, 2)
    product = hvp(script.objective)(params, data, direction)
    assert_close(product, differences(lambda p: grad(script.objective)(p, data), params, direction), TOLERANCE)


@each_script
def test_third_order(script: ModuleType):
    params, data = script.start(), script.make_data()
    first, second = like(params, 3), like(params, 4)

    def product(p: Any) -> Any:
        return hvp(script.objective)(p, data, first)

    assert_close(jvp(product, (params,), (second,))[1], differences(product, params, second), TOLERANCE)


# ------------------------------------------------------------------------------------------------ closed forms


def test_greeks_are_the_derivatives_of_the_price():
    """Each price depends on its own market only, so the derivative of all prices is elementwise."""
    strikes = np.array([15.0, 80.0, 95.0, 105.0, 120.0, 300.0])
    is_call = strikes > 100
    spot, maturity, rate, volatility = np.full(6, 98.0), np.full(6, 0.4), np.full(6, 0.03), np.linspace(0.15, 0.4, 6)
    assert np.max(np.abs(black_scholes.d1_d2(spot, strikes, maturity, rate, volatility))) > 7.1
    arguments = (spot, strikes, maturity, rate, volatility, is_call)
    table = black_scholes.greeks(*arguments)
    for name, argnum, sign in ("delta", 0, 1), ("vega", 4, 1), ("theta", 2, -1), ("rho", 3, 1):
        assert_close(sign * elementwise_grad(black_scholes.price, argnum)(*arguments), table[name], 1e-12)
    assert_close(elementwise_grad(elementwise_grad(black_scholes.price))(*arguments), table["gamma"], 1e-12)


def stiffness_in_place(nodes: Any, bars: Any, areas: Any) -> Any:
    """The assembly of truss.py as most programs have it."""
    lengths, directions = truss.geometry(nodes, bars)
    K = np.zeros((2 * len(nodes), 2 * len(nodes)))
    for e, (i, j) in enumerate(bars):
        b = np.append(-directions[e], directions[e])
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += truss.E_MODULUS * areas[e] / lengths[e] * np.outer(b, b)
    return K


def test_the_truss_is_the_one_assembled_in_place():
    areas, heights = truss.start()
    x, bars, _, _ = truss.make_data()
    nodes = np.column_stack([x, heights])
    assert_close(truss.stiffness(nodes, bars, areas), stiffness_in_place(nodes, bars, areas), 1e-15)
    with pytest.raises(ConcretizationError, match=r"np\.where, np\.stack or np\.concatenate"):
        grad(lambda areas: np.sum(stiffness_in_place(nodes, bars, areas)))(areas)


# ------------------------------------------------------------------------------------------------ first drafts


def filled(x: Any) -> Any:
    table = np.zeros(3)
    for i in range(3):
        table[i] = np.sin(x[i])
    return np.sum(table**2)


def filled_by_rows(x: Any) -> Any:
    table = np.zeros((3, 3))
    for i in range(3):
        table[i] = i * x
    return np.sum(table**2)


def with_noise(x: Any) -> Any:
    K = np.exp(-(np.subtract.outer(x, x) ** 2))
    K[np.diag_indices(3)] += x[0]
    return np.linalg.slogdet(K)[1]


def with_noise_anew(x: Any) -> Any:
    K = np.exp(-(np.subtract.outer(x, x) ** 2))
    return np.linalg.slogdet(K.at[np.diag_indices(3)].add(x[0]))[1]


def cut(x: Any) -> Any:
    y = np.sinh(x)
    y[y > 0.5] = 0.5
    return np.sum(y**2)


def cut_anew(x: Any) -> Any:
    y = np.sinh(x)
    return np.sum(y.at[y > 0.5].set(0.5) ** 2)


FIRST_DRAFTS: dict[str, tuple[Callable[[Any], Any], str, Callable[[Any], Any]]] = {
    "a matrix of numbers": (
        lambda x: np.linalg.det(np.array([[1.0, x[0]], [x[1], x[2]]])),
        r"for np\.array\(\[\.\.\.\]\).* use funcgrad\.numpy\.array",
        lambda x: np.linalg.det(fnp.array([[1.0, x[0]], [x[1], x[2]]])),
    ),
    "a list of states": (
        lambda x: np.sum(np.array([x, x**2, x**3])[-1]),
        r"np\.array\(\[\.\.\.\]\).*np\.stack",
        lambda x: np.sum(np.stack([x, x**2, x**3])[-1]),
    ),
    "a list for a function": (
        lambda x: np.linalg.norm([x[0], x[1]]),
        r"funcgrad\.numpy\.asarray \(or np\.stack\)",
        lambda x: np.linalg.norm(np.stack([x[0], x[1]])),
    ),
    "a table filled number by number": (filled, r"instead of a\[i\] = tracer.*np\.stack", lambda x: np.sum(np.stack(list(np.sin(x))) ** 2)),
    "a table filled by rows": (
        filled_by_rows,
        r"instead of a\[i\] = tracer.*np\.stack",
        lambda x: np.sum(np.stack([i * x for i in range(3)]) ** 2),
    ),
    "noise on the diagonal": (with_noise, r"x\.at\[i\]\.add\(v\) for x\[i\] \+= v", with_noise_anew),
    "some elements replaced": (cut, r"instead of x\[i\] = v write x = x\.at\[i\]\.set\(v\)", cut_anew),
    "a function of math": (lambda x: math.exp(x[0]) * x[1], "NumPy's functions instead of those of math", lambda x: np.exp(x[0]) * x[1]),
}
"""What is written first, what the message says to do, and that done."""


@pytest.mark.parametrize(("draft", "advice", "fixed"), list(FIRST_DRAFTS.values()), ids=list(FIRST_DRAFTS))
def test_first_drafts_are_told_what_to_write(draft: Callable[[Any], Any], advice: str, fixed: Callable[[Any], Any]):
    x = np.array([0.3, 0.2, 0.9])
    with pytest.raises((ConcretizationError, ValueError)) as caught:
        grad(draft)(x)
    error = caught.value.__cause__ or caught.value  # NumPy puts a ValueError before what the tracer says
    with pytest.raises(ConcretizationError, match=advice):
        raise error
    assert_close(grad(fixed)(x), numerical_grad(draft)(x), TOLERANCE)
