"""Random programs under all laws; and that the laws find faults that are planted, and show them small.

FUNCGRAD_PROGRAMS in the environment is how many programs there are (2,000 if it is not set), FUNCGRAD_PROGRAMS_FROM the first seed.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from funcgrad import Tracer, custom_jvp, nn, stop_gradient
from funcgrad.mapped import Mapped
from tests.programs.draft import HAS_NARROW
from tests.programs.elementwise import table
from tests.programs.generator import Trial, trial
from tests.programs.program import NAMESPACE, all_steps
from tests.programs.shrinking import Fault, fault_of, literal, report, shrunk
from tests.witnesses import NUMPY

FIRST, COUNT = int(os.environ.get("FUNCGRAD_PROGRAMS_FROM", "0")), int(os.environ.get("FUNCGRAD_PROGRAMS", "2000"))
CHUNKS = 40
SHOWN = 3
"""How many faults of a chunk are shown."""


@pytest.mark.skipif(NUMPY < (2, 0), reason="NumPy 1 gives scalars of single precision another dtype by their value")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int):
    found = []
    seeds, refused = range(FIRST + chunk, FIRST + COUNT, CHUNKS), set[int]()
    for one in map(trial, seeds):
        fault = fault_of(one, refused=refused)
        if fault is not None:
            found.append((one, fault))
    shown = [report(*shrunk(*pair)) for pair in found[:SHOWN]]
    broken = ", ".join(str(one.seed) for one, _ in found)
    assert not found, "\n\n".join([f"{len(found)} programs break a law: seeds {broken}", *shown])
    assert len(refused) <= max(2, len(seeds) // 5)


# ------------------------------------------------------------------------------------------------ the generator


def test_a_seed_always_gives_the_same_trial():
    for seed in range(20):
        one, other = trial(seed), trial(seed)
        assert one.program == other.program
        assert [list(map(literal, point)) for point in one.points] == [list(map(literal, point)) for point in other.points]


def test_programs_are_of_all_kinds():
    trials = [trial(seed) for seed in range(400)]
    text = "\n".join(one.program.text() for one in trials)
    wanted = table("""
        for k in range(;     if ; while ; stop_gradient(; checkpoint(; = custom_jvp(; = custom_vjp(; .defvjp(; vmap(; vmap(grad(; = grad(;
        vjp(; jvp(; linearize(; hvp(; jacrev(; jacfwd(; hessian(; linear_transpose(; value_and_grad(; keepdims=True; np.reshape(;
        np.transpose(; np.take(; np.concatenate(; np.stack(; np.where(; @; np.einsum(; np.dot(; np.cumsum(; np.sort(; np.argsort(;
        np.linalg.norm(; nn.softmax(; .set(; .add(; np.linalg.solve(; 1j; np.fft.; np.convolve(
    """)
    assert [one for one in wanted if one not in text] == []
    arguments = [x for one in trials for x in one.points[0]]
    assert {np.ndim(x) for x in arguments} == {0, 1, 2, 3}
    assert {float, np.float64, np.ndarray} <= {type(x) for x in arguments}
    narrow = ("float32", "complex64") if HAS_NARROW else ()
    assert {np.dtype(dtype) for dtype in ("float64", "complex128", *narrow)} == {np.result_type(x) for x in arguments}
    assert any(np.size(x) == 0 for x in arguments)
    assert any(any(one.shared) for one in trials)
    assert np.mean([len(list(all_steps(one.program.steps))) for one in trials]) > 8


# ------------------------------------------------------------------------------------------------ planted faults


def softplus(partial: Callable[[Any], Any], vjp: Callable[[Any, Any], Any] | None = None) -> Any:
    """A softplus whose derivative is another one, in reverse mode by a rule of its own if there is one."""
    f = custom_jvp(nn.softplus)
    f.defjvp(lambda primals, tangents: (f(*primals), partial(primals[0]) * tangents[0]))
    if vjp is not None:
        f.defvjp(lambda x: (f(x), x), lambda x, ct: (vjp(x, ct),))
    return f


def of_first_example(x: Any) -> Any:
    """A softplus that is that of the first example for all, where it is mapped."""
    y = nn.softplus(x)
    return Mapped(np.broadcast_to(y._primal[:1], y._primal.shape), y._scope) if type(y) is Mapped else y


def in_other_dtype(x: Any) -> Any:
    """A softplus that gives its derivative in float64 always: it adds a zero that the plain function has not."""
    return nn.softplus(x) if isinstance(x, np.ndarray | float) else nn.softplus(x) + np.float64(0.0)


PLANTED = {
    "partial": (softplus(lambda x: nn.sigmoid(x) * 1.001), "forward_mode_is_the_derivative", "jvp, differences"),
    "transpose": (softplus(nn.sigmoid, lambda x, ct: nn.sigmoid(x) * ct * 1.001), "modes_are_adjoint", "<ct, J t>"),
    "second order": (softplus(lambda x: nn.sigmoid(stop_gradient(x))), "second_order_is_the_derivative_of_the_first", "differences of the"),
    "mapping": (of_first_example, "mapped_values_are_those_of_a_loop", "vmap, loop"),
    "dtype": (in_other_dtype, "values_are_numpys", "dtypes float64, float32"),
    "value": (lambda x: nn.softplus(x) * (1.0 if type(x) is not Tracer else 1.0 + 1e-15), "values_are_numpys", "bit for bit"),
}


@pytest.mark.parametrize("kind", [kind for kind in PLANTED if HAS_NARROW or kind != "dtype"])
def test_planted_faults_are_found_and_shown_small(kind: str, monkeypatch: pytest.MonkeyPatch):
    function, law, message = PLANTED[kind]
    functions = {name: getattr(nn, name) for name in nn.__all__} | {"softplus": function}
    monkeypatch.setitem(NAMESPACE, "nn", types.SimpleNamespace(**functions))
    found = (pair for pair in with_faults("nn.softplus(", range(2000)) if pair[1].law == law and message in pair[1].message)
    one, fault = next(found)
    small, fault = shrunk(one, fault)
    assert fault.law == law
    (step,) = all_steps(small.program.steps)
    assert "nn.softplus(" in step.before
    assert all(np.size(x) <= 2 for x in small.points[0])
    text = report(small, fault)
    assert f"seed {one.seed} breaks the law {law!r}" in text
    scope: dict[str, Any] = {}
    exec(text, scope)
    scope["f"](*scope["args"])


def test_a_gradient_that_does_not_stop_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(NAMESPACE, "stop_gradient", lambda x: x)
    one, fault = next(with_faults("stop_gradient(", range(200)))
    assert fault.law == "forward_mode_is_the_derivative"
    small, _ = shrunk(one, fault)
    (step,) = all_steps(small.program.steps)
    assert "stop_gradient(" in step.before


def with_faults(text: str, seeds: range) -> Iterator[tuple[Trial, Fault]]:
    """The trials whose programs have that text and which break a law."""
    for one in map(trial, seeds):
        if text in one.program.text():
            fault = fault_of(one)
            if fault is not None:
                yield one, fault
