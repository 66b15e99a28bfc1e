"""Programs in files: what comes back, and what is refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import cond, fori_loop, grad, jit, load, nn, optim, scan, tree, value_and_grad, while_loop
from funcgrad.errors import InputTypeError, InputValueError

X = np.array([0.3, 0.5, 0.9])


def through_a_file(program: Any) -> Any:
    file = io.BytesIO()
    program.save(file)
    file.seek(0)
    return load(file)


def test_a_training_gradient(tmp_path: Path):
    def loss(params: Any, x: Any, y: Any) -> Any:
        return nn.softmax_cross_entropy(nn.relu(x @ params["w"] + params["b"]), y)

    rng = np.random.default_rng(0)
    args = {"w": rng.normal(size=(4, 3)), "b": np.zeros(3)}, rng.normal(size=(8, 4)), rng.integers(0, 3, 8)
    program = jit(value_and_grad(loss))
    value, gradient = program(*args)
    program.save(tmp_path / "step")
    loaded = load(tmp_path / "step")
    for _ in range(2):
        again, same = loaded(*args)
        assert again == value
        for key, one in gradient.items():
            np.testing.assert_array_equal(same[key], one)


def test_every_kind_of_argument_and_result():
    constant = np.array([[1.0, 2.0, 3.0]])

    def f(x: Any, k: Any, options: Any) -> Any:
        shifted = np.where(x > k, x[::-1], constant[0] * np.inf) + x[[0, 2, 1]][..., None][:, 0]
        return {
            "a": (shifted, [k * 2]),
            "b": None,
            "c": np.sum(x, axis=0, keepdims=True),
            "d": x.astype(np.float32),
            "e": 1 + 2j,
            "f": options["n"],
        }

    program = jit(f)
    wanted = program(X, 0.4, {"n": 3})
    found = through_a_file(program)(X, 0.4, {"n": 3})
    assert found.keys() == wanted.keys()
    np.testing.assert_array_equal(found["a"][0], wanted["a"][0])
    assert (found["a"][1], found["b"], found["e"], found["f"]) == ([0.8], None, 1 + 2j, 3)
    np.testing.assert_array_equal(found["c"], wanted["c"])
    assert found["d"].dtype == np.float32


def test_several_programs_and_strong_zeros():
    program = jit(grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0.0))))
    program(X)
    program(X[:2])
    loaded = through_a_file(program)
    np.testing.assert_allclose(loaded(X), 1.0 / X, rtol=1e-15)
    np.testing.assert_array_equal(loaded(np.array([0.0, 2.0])), np.array([0.0, 0.5]))
    np.testing.assert_array_equal(loaded(np.array([0.0, 4.0])), np.array([0.0, 0.25]))


def test_a_whole_training_step():
    optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(1e-2))

    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        gradient = grad(lambda p: np.mean((np.tanh(x @ p["w"] + p["b"]) - y) ** 2))(params)
        updates, state = optimizer.update(gradient, state, params)
        return optim.apply_updates(params, updates), state

    params = {"w": np.array([0.5, -0.5, 0.1]), "b": 0.0}
    state, x, y = optimizer.init(params), np.stack([X, -X, 2.0 * X]), np.array([0.1, 0.2, 0.3])
    program = jit(step)
    wanted, after = program(params, state, x, y)
    loaded = through_a_file(program)
    for _ in range(2):
        found, same = loaded(params, state, x, y)
        assert type(same) is type(after)
        assert type(found["b"]) is float
        assert found["b"] == wanted["b"]
        np.testing.assert_array_equal(found["w"], wanted["w"])


def of_loops(x: Any) -> Any:
    last, ys = scan(lambda c, row: (np.tanh(c * row) + x, np.sum(c)), x, np.arange(6.0).reshape(2, 3), reverse=True)
    grown = while_loop(lambda y: np.sum(y) < 50.0, lambda y: cond(y[0] > 4.0, lambda: y + 9.0, lambda: np.abs(y) + 1.0 + x * x), last)
    return np.sum(grown * ys[0]) + fori_loop(0, 4, lambda i, t: t * x[1] + fori_loop(0, i, lambda j, s: s + x[0], t), 0.5)


@pytest.mark.parametrize("f", [of_loops, grad(of_loops), value_and_grad(lambda x: of_loops(x * x))])
def test_loops_and_branches(f: Any):
    program = jit(f)
    program(X)
    loaded = through_a_file(program)
    for x in (X, X * 3.0, X - 0.7):
        for one, other in zip(tree.leaves(loaded(x)), tree.leaves(program(x)), strict=True):
            np.testing.assert_array_equal(one, other)


def test_loops_with_strong_zeros():
    f = lambda x: np.sum(scan(lambda c, r: (c + np.where(x > 0, np.log(x), 0.0) * r, None), x, np.arange(3.0))[0])
    program = jit(grad(f))
    program(X)
    loaded = through_a_file(program)
    np.testing.assert_array_equal(loaded(np.array([0.0, 2.0, 4.0])), [1.0, 2.5, 1.75])


def test_derivatives_that_made_up_values_do_not_suit():
    """The program with strong zeros is made for ones: a singular matrix, an index out of range, a divisor of 0."""
    matrix = np.array([[2.0, 0.5], [0.5, 3.0]])
    cases: list[Any] = [
        (lambda x: np.sum(np.linalg.inv(x)), (matrix,)),
        (lambda x: np.sum(np.linalg.solve(x, np.ones(2))), (matrix,)),
        (lambda x: np.sum(np.linalg.cholesky(x)), (matrix,)),
        (lambda x, i: fnp.take(x, i, axis=0) ** 2 * np.log(x[0]), (np.array([3.0]), 0)),
        (lambda x, i: np.log(x) * (7 // (i - 1)), (3.0, 4)),
    ]
    for f, args in cases:
        program: Any = jit(grad(f))
        wanted = program(*args)
        np.testing.assert_array_equal(through_a_file(program)(*args), wanted)


def test_numbers_of_steps():
    program = jit(lambda n, x: fori_loop(0, n, lambda i, y: y * x[i], 1.0))
    program(2, X)
    assert through_a_file(program)(3, X) == X[0] * X[1] * X[2]


def test_results_of_linear_algebra():
    program = jit(lambda a: np.linalg.slogdet(a))
    wanted = program(np.eye(3) * 2.0)
    found = through_a_file(program)(np.eye(3) * 2.0)
    assert type(found) is type(wanted)
    assert found.logabsdet == wanted.logabsdet


def test_derivatives_with_respect_to_numbers_of_every_kind():
    for b in (2.0, np.float64(2.0), np.array(2.0), np.float32(2.0)):
        program = jit(grad(lambda b, w: np.sum(w * b)))
        wanted = program(b, X)
        found = through_a_file(program)(b, X)
        assert type(found) is type(wanted)
        assert found == wanted


def test_arguments_without_a_program():
    program = jit(lambda x: x * 2.0)
    program(X)
    loaded = through_a_file(program)
    for wrong in (X[:2], X.astype(np.float32), [X], 2.0):
        with pytest.raises(InputValueError, match=r"no program for such arguments.*float64\[3\]"):
            loaded(wrong)
    with pytest.raises(InputTypeError, match="plain numbers and arrays, got a Tracer"):
        grad(lambda x: np.sum(loaded(x)))(X)


def test_what_cannot_be_saved(tmp_path: Path):
    class Pair(NamedTuple):
        a: Any
        b: Any

    path = tmp_path / "program.npz"
    with_names = jit(lambda pair: pair.a * pair.b)
    with_names(Pair(X, X))
    with pytest.raises(InputValueError, match="a Pair among its arguments"):
        with_names.save(path)
    theirs = jit(lambda x: np.apply_along_axis(np.sort, 0, x))
    theirs(X)
    with pytest.raises(InputValueError, match=r"argument .*sort.* cannot be saved"):
        theirs.save(path)
    with pytest.raises(InputValueError, match="call the function first"):
        jit(lambda x: x).save(path)
    static = jit(lambda x, n: x * n, static_argnums=1)
    static(X, 2)
    with pytest.raises(InputValueError, match="static"):
        static.save(path)
    assert not path.exists()


def file_of(change: Any) -> io.BytesIO:
    """A file of a good program, with its JSON changed."""
    program = jit(lambda x: np.sum(x * 2.0, axis=0))
    program(X)
    file = io.BytesIO()
    program.save(file)
    file.seek(0)
    data = json.loads(bytes(np.load(file)["programs"]).decode())
    change(data)
    changed = io.BytesIO()
    np.savez(changed, programs=np.frombuffer(json.dumps(data).encode(), np.uint8))
    changed.seek(0)
    return changed


def test_a_file_of_something_else(tmp_path: Path):
    path = tmp_path / "code.py"
    path.write_text("x = 1\n")
    with pytest.raises(InputValueError, match="no file of programs") as caught:
        load(path)
    assert "pickle" not in str(caught.value)


def test_another_version():
    with pytest.raises(InputValueError, match=r"another version: 'funcgrad program 0'.*'funcgrad program 1'"):
        load(file_of(lambda data: data.update(format="funcgrad program 0")))


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "numpy:load",
        "numpy:add.__class__",
        "builtins:eval",
        "numpy.linalg:linalg",
        "funcgrad:nothing",
        "numpy",
        "funcgrad:",
        "numpy:memmap",
        "numpy:save",
        "numpy:savetxt",
        "numpy:savez",
    ],
)
def test_no_other_function_is_looked_for(name: str):
    def change(data: Any) -> None:
        data["programs"][0][2]["instructions"][0][0] = name

    with pytest.raises(InputValueError, match="no function"):
        load(file_of(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda program: program["instructions"][0].pop(),
        lambda program: program["instructions"][0][2].append(["axis=print('x'), b", 1]),
        lambda program: program["instructions"][0][1].append({"v": 99}),
        lambda program: program["instructions"][0][1].append({"z": 0}),
        lambda program: program["instructions"][0][1].append({"a": [7, True]}),
        lambda program: program["inputs"][0].__setitem__(3, "O"),
        lambda program: program["inputs"][0].__setitem__(1, "int"),
        lambda program: program.pop("outputs"),
        lambda program: program.update(outputs=[{"v": 77}]),
        lambda program: program["instructions"][0].__setitem__(0, {"loop": [None, None, [0, 0, 0], 0, [0, 1, 1], False]}),
        lambda program: program["instructions"][0].__setitem__(
            0, {"loop": [json.loads(json.dumps(program)), None, ["0", 0, 0], 0, [0, 1, 1], False]}
        ),
        lambda program: program["instructions"][0].__setitem__(
            0, {"loop": [json.loads(json.dumps(program)), None, [0, 0, 0], 0, [0, 1.5], False]}
        ),
        lambda program: program["instructions"][0].__setitem__(0, {"switch": [None]}),
        lambda program: program["instructions"][0].__setitem__(0, {"switch": 1}),
        lambda program: program["instructions"][0].__setitem__(0, {"other": 1}),
        lambda program: program["instructions"][0].__setitem__(0, {}),
    ],
)
def test_damaged_content(change: Any):
    with pytest.raises(InputValueError):
        load(file_of(lambda data: change(data["programs"][0][2])))(X)


def test_damaged_files(tmp_path: Path):
    good = file_of(lambda data: None).getvalue()
    for damaged in (b"", b"nothing", good[: len(good) // 2], good[:-30]):
        with pytest.raises(InputValueError, match="damaged"):
            load(io.BytesIO(damaged))
    flipped = bytearray(good)
    flipped[len(good) // 3] ^= 255
    with pytest.raises(InputValueError):
        load(io.BytesIO(bytes(flipped)))(X)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "text")
    other.seek(0)
    with pytest.raises(InputValueError, match="damaged"):
        load(other)
