"""`vmap` as people call it: axes, trees, keyword arguments, sizes 0 and 1, nesting with itself and with the other transforms, misuse."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    elementwise_grad,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    nn,
    stop_gradient,
    tree,
    value_and_grad,
    vjp,
    vmap,
)  # fmt: skip
from funcgrad.errors import ConcretizationError, InputTypeError, InputValueError, NoRuleError, StaleTracerError, TreeError
from funcgrad.tape import thread

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 3))
M = RNG.normal(size=(3, 3))
Point = collections.namedtuple("Point", "x y")


def close(got: Any, wanted: Any) -> None:
    assert tree.structure(got) == tree.structure(wanted)
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def each(f: Callable[..., Any], *columns: Any) -> Any:
    return tree.map(lambda *leaves: np.stack(leaves), *(f(*row) for row in zip(*columns, strict=True)))


# ------------------------------------------------------------------------------------------------ axes


def test_an_axis_for_each_argument():
    close(vmap(np.dot)(A, B), np.sum(A * B, 1))
    close(vmap(np.dot, in_axes=(1, 1))(A, B), np.sum(A * B, 0))
    close(vmap(np.dot, in_axes=(-1, 1))(A, B), np.sum(A * B, 0))
    close(vmap(lambda a, m: m @ a, in_axes=(0, None))(A, M), A @ M.T)
    close(vmap(lambda m, a: m @ a, in_axes=[None, 0])(M, A), A @ M.T)
    close(vmap(lambda a: a * 2, in_axes=1)(A), 2 * A.T)


def test_an_axis_for_each_output():
    close(vmap(lambda a: a * 2, out_axes=1)(A), 2 * A.T)
    close(vmap(lambda a: a * 2, out_axes=-1)(A), 2 * A.T)
    close(vmap(lambda a: (a, {"s": a.sum()}), out_axes=(1, 0))(A), (A.T, {"s": A.sum(1)}))
    close(vmap(lambda a: (a, 2.0), out_axes=(0, None))(A), (A, 2.0))
    close(vmap(lambda a: np.outer(a, a), out_axes=1)(A), np.einsum("bi,bj->ibj", A, A))


def test_trees_of_axes():
    data = {"x": A, "rest": [B.T, M]}
    f = lambda d: d["rest"][1] @ d["x"] + d["rest"][0]
    close(vmap(f, in_axes=({"x": 0, "rest": [1, None]},))(data), A @ M.T + B)
    close(vmap(lambda p: p.x * p.y, in_axes=(Point(0, None),))(Point(A, 2.0)), 2 * A)
    close(vmap(lambda d, s: d["x"] * s, in_axes=({"x": 0, "rest": None}, None))(data, 3.0), 3 * A)


def test_keyword_arguments_are_mapped():
    close(vmap(lambda a, *, scale: a * scale)(A, scale=np.arange(5.0)), A * np.arange(5.0)[:, None])
    close(vmap(lambda a, *, point: a * point["w"], in_axes=(0,))(A, point={"w": B}), A * B)


def test_outputs_that_are_the_same_for_all_are_repeated():
    close(vmap(lambda a: (a, M, 1))(A), (A, np.stack([M] * 5), np.ones(5, int)))


@pytest.mark.parametrize("size", [0, 1])
def test_no_example_and_one(size: int):
    a = A[:size]
    cubes = lambda x: np.sum(x**3)
    for f in (np.sin, np.sum, lambda x: x[::-1], lambda x: np.sort(x), grad(cubes), hessian(cubes), np.convolve):
        wanted = f(A[0], A[0]) if f is np.convolve else f(A[0])
        got = vmap(f)(a, a) if f is np.convolve else vmap(f)(a)
        assert got.shape == (size, *np.shape(wanted))
        assert got.dtype == wanted.dtype
        if size:
            close(got[0], wanted)


def test_integers_booleans_complex_and_narrow_numbers():
    labels = np.array([2, 0, 1, 1, 2])
    close(vmap(lambda a, n: a[n])(A, labels), A[np.arange(5), labels])
    close(vmap(lambda a, n: np.take(a, n))(A, labels), A[np.arange(5), labels])
    close(vmap(lambda n: fnp.take(M, n, axis=0))(labels), M[labels])
    close(vmap(lambda n: fnp.at(M)[n].get())(labels), M[labels])
    close(vmap(lambda n: np.take_along_axis(M, n[None, None], 0))(labels), M[labels][:, None])
    close(vmap(lambda a, yes: np.where(yes, a, 0.0))(A, A > 0), np.maximum(A, 0.0))
    z = A + 1j * B
    close(vmap(np.abs)(z), np.abs(z))
    assert vmap(np.exp)(A.astype(np.float32)).dtype == np.float32
    assert vmap(lambda n: n + 1)(labels).dtype == labels.dtype


def test_python_operators_and_methods_are_numpys():
    x, y = np.abs(A) + 1.0, np.abs(B) + 1.0
    for f in (
        lambda a, b: a + b - a * b / b,
        lambda a, b: a**b + a**2 + 2.0**b,
        lambda a, b: a // b + a % b,
        lambda a, b: divmod(a, b)[1],
        lambda a, b: -a + abs(-b) + (+a),
        lambda a, b: (a < b) * 1.0 + (a >= b) * 2.0 + (a == b) + (a != b),
        lambda a, b: 1.0 - a + (2.0 / b) * M[0],
        lambda a, b: M[0] @ a + a @ M @ b,
        lambda a, b: a.reshape(3, 1).T.sum(axis=0) + b.mean() + a.max() + a.argmax(),
        lambda a, b: fnp.array([a[0], b[1], 2.0]),
        lambda a, b: np.concatenate([a, b[:1], np.zeros(2)]),
        lambda a, b: sum(x for x in a) + len(b),
        lambda a, b: fnp.at(fnp.at(a)[1].set(b[0]))[0].add(2.0),
    ):
        close(vmap(f)(x, y), each(f, x, y))


@pytest.mark.parametrize(
    "index",
    [0, -1, slice(1, None), None, Ellipsis, (slice(None), 1), (None, Ellipsis, 0), (0, slice(None), [0, 1]), ([1, 0], slice(None), [0, 1]),
     np.array([1, 0]), (slice(None), np.array([[1, 0]])), np.array([True, False]), (Ellipsis, np.array([0, 1]), np.array([2, 1]))],
    ids=str,
)  # fmt: skip
def test_every_index(index: Any):
    x = RNG.normal(size=(4, 2, 3, 3))
    close(vmap(lambda a: a[index])(x), each(lambda a: a[index], x))
    weights = RNG.normal(size=np.shape(x[0][index]))
    f = lambda a: np.sum(weights * a[index] ** 2)
    close(vmap(grad(f))(x), each(grad(f), x))


@pytest.mark.parametrize(
    "pick",
    [lambda a, n: a[n], lambda a, n: a[:, n], lambda a, n: a[n, :, n], lambda a, n: a[:, n, 1], lambda a, n: a[..., n],
     lambda a, n: a[:, [1, 0], n], lambda a, n: a[0, :, n], lambda a, n: a[None, n], lambda a, n: fnp.at(a)[n].get()],
)  # fmt: skip
@pytest.mark.parametrize("numbers", [np.array([1, 0, 1]), np.array([[1, 0], [0, 1], [1, 1]])], ids=["number", "numbers"])
def test_mapped_indices(pick: Any, numbers: np.ndarray):
    x = RNG.normal(size=(3, 2, 2, 2))
    if pick(x[0], numbers[0]).size:
        close(vmap(pick)(x, numbers), each(pick, x, numbers))
        f = lambda a, n: np.sum(np.sin(pick(a, n)) * 3)
        close(vmap(grad(f))(x, numbers), each(grad(f), x, numbers))
        g = lambda a: np.sum(vmap(lambda n: f(a, n))(numbers))
        close(grad(g)(x[0]), sum(grad(f)(x[0], n) for n in numbers))


# ------------------------------------------------------------------------------------------------ nesting


def test_vmap_of_vmap():
    close(vmap(vmap(np.dot, (None, 0)), (0, None))(A, B), A @ B.T)
    close(vmap(vmap(lambda a, b: a * b, (0, None)), (None, 0))(A, np.arange(2.0)), A * np.arange(2.0)[:, None, None])
    x = RNG.normal(size=(2, 3, 4))
    close(vmap(vmap(vmap(np.sin)))(x), np.sin(x))
    close(vmap(vmap(np.sum, in_axes=1), in_axes=2)(x), x.sum(0).T)


LOSS = lambda w, x: np.sum(np.tanh(w @ x) ** 2)


def test_gradients_of_each_example():
    close(vmap(grad(LOSS), in_axes=(None, 0))(M, A), each(lambda x: grad(LOSS)(M, x), A))
    close(vmap(value_and_grad(LOSS), in_axes=(None, 0))(M, A), each(lambda x: value_and_grad(LOSS)(M, x), A))
    params = {"w": M, "b": np.zeros(3)}
    network = lambda p, x, n: nn.softmax_cross_entropy(np.tanh(p["w"] @ x) + p["b"], n)
    labels = np.array([0, 2, 1, 1, 0])
    close(vmap(grad(network), (None, 0, 0))(params, A, labels), each(lambda x, n: grad(network)(params, x, n), A, labels))


def test_gradient_of_the_whole():
    total = lambda w: np.sum(vmap(LOSS, (None, 0))(w, A))
    close(grad(total)(M), sum(grad(LOSS)(M, x) for x in A))
    close(hessian(total)(M), sum(hessian(LOSS)(M, x) for x in A))
    close(jvp(total, (M,), (M,))[1], sum(np.sum(grad(LOSS)(M, x) * M) for x in A))


CHAINS: dict[str, Callable[[Any], Any]] = {
    "grad": grad,
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "hessian": hessian,
    "grad of grad": lambda f: grad(lambda x: np.sum(grad(f)(x) ** 2)),
    "jacfwd of grad": lambda f: jacfwd(grad(f)),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x * x,))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](2.0)[0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
    "checkpoint": lambda f: grad(checkpoint(f)),
    "jvp of grad of jvp": lambda f: lambda x: jvp(grad(lambda y: jvp(f, (y,), (x,))[1]), (x,), (x,))[1],
}


@pytest.mark.parametrize("name", CHAINS)
def test_every_transform_inside_and_outside(name: str):
    transform = CHAINS[name]
    f = lambda x: np.sum(np.sin(x) * x[::-1] ** 2) + np.max(x) * np.prod(x)
    close(vmap(transform(f))(A), each(transform(f), A))
    loop = lambda x: sum(f(x * k) for k in (1.0, 0.5))
    mapped = lambda x: np.sum(vmap(lambda k: f(x * k))(np.array([1.0, 0.5])))
    close(transform(mapped)(A[0]), transform(loop)(A[0]))
    inner = lambda x: np.sum(vmap(grad(lambda k: f(x * k)))(np.array([1.0, 0.5])))
    inner_loop = lambda x: sum(grad(lambda k: f(x * k))(k) for k in (1.0, 0.5))
    close(transform(inner)(A[0]), transform(inner_loop)(A[0]))


def test_values_of_transforms_around_may_be_used_inside():
    f = lambda t: np.sum(vmap(lambda a: grad(lambda b: np.sum(np.sin(b * t) * b))(a))(A))
    g = lambda t: sum(np.sum(grad(lambda b: np.sum(np.sin(b * t) * b))(a)) for a in A)
    close(grad(f)(1.3), grad(g)(1.3))
    close(grad(grad(f))(1.3), grad(grad(g))(1.3))
    close(jvp(grad(f), (1.3,), (1.0,)), jvp(grad(g), (1.3,), (1.0,)))
    h = lambda s: np.sum(vmap(lambda a: grad(f)(s) * np.sum(a))(A))
    close(grad(h)(0.7), np.sum(A) * grad(grad(f))(0.7))


def test_custom_rules_are_mapped():
    @custom_jvp
    def f(x: Any, n: Any) -> Any:
        return np.sin(x) * n

    f.defjvp(lambda primals, tangents: (f(*primals), 3.0 * np.cos(primals[0]) * tangents[0] * primals[1]))
    g = custom_vjp(lambda x, y: x * y)
    g.defvjp(lambda x, y: (x * y, (x, y, "text")), lambda kept, ct: (5.0 * ct * kept[1], None))
    for h in (lambda a, b: np.sum(f(a, 2)), lambda a, b: np.sum(g(a, b)), lambda a, b: np.sum(g(f(a, 2), b) ** 2)):
        close(vmap(h)(A, B), each(h, A, B))
        close(vmap(grad(h))(A, B), each(grad(h), A, B))
        mapped = vmap(h, (0, None))
        close(grad(lambda a, mapped=mapped: np.sum(mapped(a, B[0])))(A), each(grad(h), A, [B[0]] * 5))


def test_custom_functions_of_any_code_see_one_example_at_a_time():
    f = custom_jvp(lambda x: float(x) ** 3 if x > 0 else 0.0)
    f.defjvp(lambda primals, tangents: (f(*primals), 3.0 * max(primals[0], 0.0) ** 2 * tangents[0]))
    x = np.array([-1.0, 2.0, 3.0])
    close(vmap(f)(x), np.array([0.0, 8.0, 27.0]))
    close(vmap(grad(f))(x), np.array([0.0, 12.0, 27.0]))


def test_stop_gradient_and_elementwise_grad():
    close(vmap(grad(lambda x: np.sum(stop_gradient(x) * x)))(A), A)
    close(vmap(elementwise_grad(np.sin))(A), np.cos(A))
    close(elementwise_grad(vmap(np.sin))(A), np.cos(A))


def test_strong_zeros_ties_and_nans_are_those_of_each_example():
    x = np.array([[0.0, 1.0], [2.0, 2.0], [np.nan, 1.0], [3.0, 0.0]])
    guarded, larger = lambda v: np.sum(np.where(v > 0, np.log(v), 0.0)), lambda v: np.sum(np.maximum(v, v[::-1]))
    with np.errstate(all="ignore"):
        for f in (guarded, larger, np.max, np.linalg.norm, np.prod):
            np.testing.assert_allclose(vmap(grad(f))(x), np.stack([grad(f)(v) for v in x]))


# ------------------------------------------------------------------------------------------------ Jacobians


def test_jacobians_of_trees():
    f = lambda p, s: {"a": np.outer(p["w"], p["w"]) * s, "b": [np.sum(p["w"]) * p["v"], s * 2.0]}
    p = {"w": A[0], "v": M}
    for argnums in (0, 1, (0, 1)):
        wanted = jacrev(f, argnums)(p, 2.0)
        close(jacfwd(f, argnums)(p, 2.0), wanted)
        close(jacobian(f, argnums)(p, 2.0), wanted)
        for chunk_size in (1, 2, 4, 100):
            for transform in (jacfwd, jacrev, jacobian):
                close(transform(f, argnums, chunk_size=chunk_size)(p, 2.0), wanted)


def test_jacobian_takes_the_cheaper_mode():
    wide, tall = (lambda x: np.sum(x) * np.ones(2)), (lambda x: x * np.ones(50))
    passes = []
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: (passes.append("forward"), (f(*primals), tangents[0]))[1])
    f.defvjp(lambda x: (x, None), lambda kept, ct: (passes.append("reverse"), (ct,))[1])
    jacobian(lambda x: wide(f(x)))(np.ones(50))
    assert set(passes) == {"reverse"}
    passes.clear()
    jacobian(lambda x: tall(f(x)))(2.0)
    assert set(passes) == {"forward"}


@pytest.mark.parametrize(
    ("chunk_size", "error"), [(0, InputValueError), (-1, InputValueError), (1.5, InputTypeError), (True, InputTypeError)]
)
def test_chunk_sizes_that_are_none(chunk_size: Any, error: type[Exception]):
    with pytest.raises(error, match="chunk_size"):
        jacrev(np.sin, chunk_size=chunk_size)


def test_chunks_that_do_not_divide_the_number_of_rows():
    f = lambda x: np.tanh(np.tanh(x * 2.0))
    x = RNG.normal(size=200)
    close(jacrev(f, chunk_size=7)(x), jacfwd(f)(x))


# ------------------------------------------------------------------------------------------------ outputs


def test_outputs_are_fresh():
    x = A.copy()
    one, two = vmap(lambda a: (a, a))(x)
    one[...] = 0.0
    np.testing.assert_array_equal(x, A)
    np.testing.assert_array_equal(two, A)
    assert all(leaf.flags.writeable for leaf in vmap(lambda a: (M, a[::-1], a))(x))
    np.testing.assert_array_equal(x, A)


# ------------------------------------------------------------------------------------------------ misuse


def first(*args: Any) -> Any:
    return args[0]


def some(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vmap(first)(A, M), InputValueError, "vmap of first: .* must be of one size, got 5 in argument 0, 3 in argument 1"),
        (lambda: vmap(first)({"a": A, "b": M}), InputValueError, r"5 in argument 0 at \['a'\], 3 in argument 0 at \['b'\]"),
        (lambda: vmap(some, in_axes=2)(A), InputValueError, r"argument 0 has shape \(5, 3\), there is no axis 2"),
        (lambda: vmap(first)(A, 2.0), InputValueError, r"argument 1 has shape \(\), there is no axis 0 to map over: use None"),
        (lambda: vmap(first, in_axes=(0,))(A, B), TreeError, "in_axes has 1 entries for a call with 2 positional arguments"),
        (lambda: vmap(first, in_axes=(0, {"a": 0}))(A, {"b": B}), TreeError, "the entry of in_axes for argument 1"),
        (lambda: vmap(first, in_axes=(None, None))(A, B), InputTypeError, "nothing is mapped"),
        (lambda: vmap(some)(), InputTypeError, "nothing is mapped"),
        (lambda: vmap(some, in_axes="a"), InputTypeError, "in_axes must be integers, None, or trees of them, got 'a'"),
        (lambda: vmap(some, in_axes=1.0), InputTypeError, "in_axes"),
        (lambda: vmap(some, out_axes=True), InputTypeError, "out_axes"),
        (lambda: vmap(3), InputTypeError, "vmap"),
        (lambda: vmap(some)("text"), InputTypeError, "only arrays of numbers can be mapped"),
        (lambda: vmap(some)(np.array(["a"])), InputTypeError, "only arrays of numbers can be mapped"),
        (lambda: vmap(some, out_axes=3)(A), InputValueError, r"out_axes 3 for the output, whose examples have shape \(3,\): it has 2 axes"),
        (lambda: vmap(some, out_axes=None)(A), InputValueError, "out_axes is None for the output, but it differs between the examples"),
        (lambda: vmap(lambda x: (x, x), out_axes=(0, 1, 0))(A), TreeError, "out_axes"),
        (lambda: vmap(lambda x: "text")(A), InputTypeError, "only numbers and arrays can be returned"),
        (lambda: vmap(lambda x: x if x[0] > 0 else -x)(A), ConcretizationError, "bool().*use np.where"),
        (lambda: vmap(lambda x: x[x > 0])(A), ConcretizationError, "mask.*use np.where"),
        (lambda: vmap(lambda x: float(x[0]))(A), ConcretizationError, "float().*vmap of <lambda> maps"),
        (lambda: vmap(lambda x: int(x[0]))(A), ConcretizationError, "int()"),
        (lambda: vmap(lambda x: np.array([x, x]))(A), ConcretizationError, "funcgrad.numpy.array"),
        (lambda: vmap(lambda x: M[x.argmax()])(A), ConcretizationError, r"funcgrad\.numpy\.take\(array, i, axis=0\)"),
        (lambda: vmap(lambda x: M[: x.argmax()])(A), ConcretizationError, "slice"),
        (lambda: vmap(lambda x: list(range(x.argmax())))(A), ConcretizationError, r"range\(\)"),
        (lambda: vmap(lambda x: np.unique(np.round(x)))(A * 2), ConcretizationError, "another shape for each example"),
        (lambda: vmap(lambda x: x.__setitem__(0, 1.0))(A), ConcretizationError, r"x\.at\[i\]\.set"),
        (lambda: vmap(lambda x: x.value)(A), ConcretizationError, "the value"),
        (lambda: vmap(lambda x: np.add.at(x, 0, 1.0))(A), ConcretizationError, "np.add.at"),
        (lambda: vmap(lambda x: np.packbits(x))(A > 0), NoRuleError, "packbits"),
        (lambda: vmap(lambda x: x + np.ma.masked_array(M[0], M[0] > 0))(A), InputTypeError, "masked"),
    ],
)  # fmt: skip
def test_misuse_says_what_to_do(call: Callable[[], Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        call()
    assert thread.scope is None


def test_a_value_that_is_kept_is_stale():
    kept: list[Any] = []
    vmap(lambda x: (kept.append(x), x)[1])(A)
    with pytest.raises(StaleTracerError, match="vmap of"):
        kept[0] + 1.0
    with pytest.raises(StaleTracerError):
        np.sum(kept[0])
    with pytest.raises(StaleTracerError):
        grad(lambda x: np.sum(x * kept[0]))(A[0])


def test_an_error_inside_leaves_nothing_behind():
    def failing(x: Any) -> Any:
        raise KeyError("mine")

    for f in (vmap(failing), vmap(grad(failing)), grad(lambda x: np.sum(vmap(failing)(x)))):
        with pytest.raises(KeyError, match="mine"):
            f(A)
        assert thread.scope is None
    close(vmap(np.sum)(A), A.sum(1))


def test_name_and_docstring_are_the_functions():
    def f(x: Any) -> Any:
        """What f is for."""
        return x

    assert vmap(f).__name__ == "f"
    assert "What f is for." in (vmap(f).__doc__ or "")
