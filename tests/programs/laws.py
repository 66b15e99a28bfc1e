"""What holds for every program: forward mode, reverse mode, second order and mapping agree with each other and with differences.

A law is a generator function of a `Run`; it yields (what, got, wanted), trees that must be equal to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from funcgrad import grad, jit, jvp, linearize, tree, vjp, vmap
from funcgrad.errors import ConcretizationError, NoRuleError
from tests.programs.generator import Trial
from tests.programs.program import Program
from tests.witnesses import complex_step, inner, like

Comparison = tuple[str, Any, Any]
Law = Callable[["Run"], Iterator[Comparison]]

STEPS = (2.0**-12, 2.0**-16)


class Run:
    """A trial, and what several laws need of it.

    Attributes:
        trial: the trial.
        f, args: the function and the arguments at the first point.
        tangents: a direction in the space of the arguments.
        rng: the source of what laws choose at random.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.f = trial.program.function()
        self.args = tuple(np.array(x, order="K")[()] if type(x) is not float else x for x in trial.points[0])
        self.tangents = like(self.args, trial.seed)
        self.rng = np.random.default_rng(trial.seed)
        self.argnums = tuple(range(len(self.args)))
        narrow = any(np.result_type(x).itemsize < (16 if np.iscomplexobj(x) else 8) for x in self.args)
        self.is_narrow = narrow or "float32" in trial.program.text()
        self.tolerance = 2e-3 if self.is_narrow else 1e-8
        self.is_forward = not trial.program.has("backward")
        self.is_even = trial.seed % 2 == 0  # of the dearest checks one in two programs has the one, the others the other

    @cached_property
    def value(self) -> Any:
        return self.f(*self.args)

    @cached_property
    def ct(self) -> Any:
        return like(self.value, self.trial.seed + 1)

    @cached_property
    def pulled(self) -> Any:
        return vjp(self.f, *self.args)

    @cached_property
    def tangent(self) -> Any:
        """Of the output: by forward mode, where there is one."""
        return self.along(*self.args) if self.is_forward else None

    def along(self, *args: Any) -> Any:
        return jvp(self.f, args, self.tangents)[1]

    def along_another(self, tangents: Any) -> Any:
        return jvp(self.f, self.args, tangents)[1]

    def weighed(self, *args: Any) -> Any:
        return inner(self.ct, self.f(*args))

    def total(self, *batch: Any) -> Any:
        """Over all examples."""
        return np.sum(vmap(self.weighed, self.axes)(*batch))

    def gradient(self, *args: Any) -> Any:
        return grad(self.weighed, self.argnums)(*args)

    @cached_property
    def hessian_product(self) -> Any:
        """Along the tangents, by forward over reverse mode."""
        return jvp(self.gradient, self.args, self.tangents)[1]

    # -------------------------------------------------------------------------------------------- examples

    @cached_property
    def axes(self) -> tuple[int | None, ...]:
        """Over which the arguments are mapped."""
        axes = [int(self.rng.integers(-np.ndim(x) - 1, np.ndim(x) + 1)) for x in self.args]
        return tuple(None if one else axis for axis, one in zip(axes, self.trial.shared, strict=True))

    @cached_property
    def examples(self) -> list[tuple[Any, ...]]:
        """The arguments at all points; numbers that are mapped are NumPy's."""
        shared = self.trial.shared
        return [tuple(x if one else np.asarray(x)[()] for x, one in zip(point, shared, strict=True)) for point in self.trial.points]

    @cached_property
    def batch(self) -> tuple[Any, ...]:
        columns = zip(self.axes, *self.examples, strict=True)
        return tuple(column[0] if axis is None else np.stack(column, axis) for axis, *column in columns)

    @cached_property
    def directions(self) -> list[Any]:
        """One for each example; those of arguments that are not mapped are the same for all."""
        found = [like(point, self.trial.seed + 7 * n) for n, point in enumerate(self.examples)]
        return [tuple(found[0][k] if one else t[k] for k, one in enumerate(self.trial.shared)) for t in found]

    @cached_property
    def direction(self) -> tuple[Any, ...]:
        columns = zip(self.axes, *self.directions, strict=True)
        return tuple(column[0] if axis is None else np.stack(column, axis) for axis, *column in columns)


def stacked(results: list[Any]) -> Any:
    return tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *results)


def gathered(run: Run, gradients: list[Any]) -> Any:
    """The gradient with respect to the batch, from those of the examples: a sum for what is not mapped."""
    columns = zip(run.axes, *gradients, strict=True)
    return tuple(sum(column[1:], column[0]) if axis is None else np.stack(column, axis) for axis, *column in columns)


# ------------------------------------------------------------------------------------------------ first order


def values_are_numpys(run: Run) -> Iterator[Comparison]:
    """Bit for bit, but for Python floats, complex numbers, and where arrays may lie otherwise in memory; and arguments stay as they are."""
    before = [np.array(x) for x in run.args]
    found = {"vjp": run.pulled[0]}
    if run.is_forward:
        found["jvp"], found["linearize"] = jvp(run.f, run.args, run.tangents)[0], linearize(run.f, *run.args)[0]
    is_exact = not (run.trial.program.has("own layout") or run.trial.program.has("complex") or any(map(np.iscomplexobj, run.args)))
    is_exact &= float not in map(type, run.args)
    for name, value in found.items():
        yield f"the value of {name}", value, run.value
        if is_exact:
            for one, other in zip(tree.leaves(value), tree.leaves(run.value), strict=True):
                assert np.array_equal(one, other), f"the value of {name}, bit for bit: {one.tolist()} is not {other.tolist()}"
    run.pulled[1](run.ct)
    for x, old in zip(run.args, before, strict=True):
        assert np.array_equal(x, old), "an argument was changed"


def gradients_are_like_arguments(run: Run) -> Iterator[Comparison]:
    for n, (x, ct) in enumerate(zip(run.args, run.pulled[1](run.ct), strict=True)):
        assert type(x) is type(ct), f"the cotangent of argument {n} is {type(ct).__name__}, the argument {type(x).__name__}"
        yield f"the dtype and shape of argument {n}", np.zeros_like(ct), np.zeros_like(x)
    yield "grad, vjp", run.gradient(*run.args), run.pulled[1](run.ct)


def modes_are_adjoint(run: Run) -> Iterator[Comparison]:
    if run.is_forward:
        back = run.pulled[1](run.ct)
        size = max(1.0, float(inner(tree.map(np.abs, run.ct), tree.map(np.abs, run.tangent))))
        yield "<ct, J t> = <J' ct, t>", float(inner(back, run.tangents)) / size, float(inner(run.ct, run.tangent)) / size
        yield "linearize", linearize(run.f, *run.args)[1](*run.tangents), run.tangent


def wide(value: Any) -> Any:
    return tree.map(lambda x: x if type(x) is float else np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)[()], value)


def differences(f: Callable[..., Any], args: Any, tangents: Any, step: float) -> tuple[Any, Any]:
    """Central ones of two steps, without their common error term, and how far the two are apart."""

    def central(h: float) -> Any:
        ahead, behind = (f(*(x + s * h * t for x, t in zip(args, tangents, strict=True))) for s in (1, -1))
        return tree.map(lambda a, b: (a - b) / (2 * h), ahead, behind)

    fine, coarse = central(step / 2), central(step)
    doubt = tree.map(lambda a, b: float(np.max(np.abs(a - b), initial=0.0)), fine, coarse)
    return tree.map(lambda a, b: (4 * a - b) / 3, fine, coarse), doubt


def witnessed(what: str, got: Any, f: Callable[..., Any], args: Any, tangents: Any) -> Iterator[Comparison]:
    """Comparisons with differences: as near as 1e-6, or four times as far as those of two steps are apart.

    That is 7/3 where both step over a jump. Where a program is so steep that they step over several, shorter steps do not.
    """
    for step in STEPS:
        wanted, doubt = differences(f, args, tangents, step)
        found = list(_far(what, got, wanted, doubt))
        if not any(np.size(far) for _, far, _ in found):
            break
    yield from found


def _far(what: str, got: Any, wanted: Any, doubt: Any) -> Iterator[Comparison]:
    for n, (one, other, unsure) in enumerate(zip(*map(tree.leaves, (got, wanted, doubt)), strict=True)):
        assert np.shape(one) == np.shape(other), f"{what}: the shape is {np.shape(one)}, wanted {np.shape(other)}"
        allowed = max(1e-6 * max(1.0, float(np.max(np.abs(other), initial=0.0))), 4.0 * float(unsure))
        far = ~(np.abs(np.asarray(one) - other) <= allowed)
        yield f"{what}, output {n}, but for {allowed:.1e}", np.asarray(one)[far], np.asarray(other)[far]


def forward_mode_is_the_derivative(run: Run) -> Iterator[Comparison]:
    """By the complex step if no step of the program forbids it; of a program without forward mode, reverse mode is."""
    program, args, tangents = run.trial.program, wide(run.args), wide(run.tangents)
    witness = program.witness(args)
    exact = None if program.has("kinked") else complex_step(witness, args, tangents)
    if not run.is_forward:
        got = inner(run.pulled[1](run.ct), run.tangents)
        yield from witnessed("vjp, differences", got, lambda *args: inner(run.ct, witness(*args)), args, tangents)
    elif exact is None:
        yield from witnessed("jvp, differences", run.tangent, witness, args, tangents)
    else:
        yield "jvp, complex step", wide(run.tangent), exact


# ------------------------------------------------------------------------------------------------ second order


def second_order_agrees_in_all_nestings(run: Run) -> Iterator[Comparison]:
    def across(*args: Any) -> Any:
        return inner(run.gradient(*args), run.tangents)

    yield "reverse over reverse, forward over reverse", grad(across, run.argnums)(*run.args), run.hessian_product
    if run.is_forward:

        def along(*args: Any) -> Any:
            return inner(run.ct, run.along(*args))

        yield "reverse over forward, forward over reverse", grad(along, run.argnums)(*run.args), run.hessian_product
        twice = float(jvp(along, run.args, run.tangents)[1])
        yield "forward over forward, forward over reverse", twice, float(inner(run.hessian_product, run.tangents))


def second_order_is_the_derivative_of_the_first(run: Run) -> Iterator[Comparison]:
    args, tangents = wide(run.args), wide(run.tangents)
    witness, ct = run.trial.program.witness(args), wide(run.ct)

    def gradient(*args: Any) -> Any:
        return grad(lambda *args: inner(ct, witness(*args)), run.argnums)(*args)

    yield from witnessed("forward over reverse, differences of the gradient", run.hessian_product, gradient, args, tangents)


# ------------------------------------------------------------------------------------------------ mapping


def mapped_values_are_those_of_a_loop(run: Run) -> Iterator[Comparison]:
    yield "vmap, loop", vmap(run.f, run.axes)(*run.batch), stacked([run.f(*point) for point in run.examples])


def mapped_gradients_are_those_of_a_loop(run: Run) -> Iterator[Comparison]:
    gradients = [run.gradient(*point) for point in run.examples]
    yield "vmap of grad, loop", vmap(run.gradient, run.axes)(*run.batch), stacked(gradients)
    yield "grad of vmap, sum over a loop", grad(run.total, run.argnums)(*run.batch), gathered(run, gradients)


def mapped_tangents_are_those_of_a_loop(run: Run) -> Iterator[Comparison]:
    def pushed(args: Any, tangents: Any) -> Any:
        return jvp(run.f, args, tangents)

    if run.is_forward:
        directions = [like(run.examples[0], run.trial.seed + 3 * n) for n in range(2)]
        wanted = stacked([run.along_another(t) for t in directions])
        yield "jvp, mapped tangents only", vmap(run.along_another)(stacked(directions)), wanted
        wanted = stacked([pushed(point, t) for point, t in zip(run.examples, run.directions, strict=True)])
        if run.is_even:
            yield "vmap of jvp, loop", vmap(pushed, (run.axes, run.axes))(run.batch, run.direction), wanted
        else:
            yield "jvp of vmap, loop", jvp(vmap(run.f, run.axes), run.batch, run.direction), wanted


def mapped_cotangents_are_those_of_a_loop(run: Run) -> Iterator[Comparison]:
    pullback = run.pulled[1]
    cts = [like(run.value, run.trial.seed + 3 * n) for n in range(2)]
    yield "pullback, mapped cotangents only", vmap(pullback)(stacked(cts)), stacked([pullback(ct) for ct in cts])


def mapped_second_order_is_that_of_a_loop(run: Run) -> Iterator[Comparison]:
    def product(args: Any, tangents: Any) -> Any:
        return jvp(run.gradient, args, tangents)[1]

    wanted = [product(point, t) for point, t in zip(run.examples, run.directions, strict=True)]
    if run.is_even:
        got = jvp(grad(run.total, run.argnums), run.batch, run.direction)[1]
        yield "forward over reverse of vmap, loop", got, gathered(run, wanted)
    else:
        yield "vmap of forward over reverse, loop", vmap(product, (run.axes, run.axes))(run.batch, run.direction), stacked(wanted)


# ------------------------------------------------------------------------------------------------ programs of jit


def compiled_functions_give_the_same(run: Run) -> Iterator[Comparison]:
    """The value, and one of several derivatives, by a program that was made at another point."""
    elsewhere = tuple(x if type(x) is float else np.array(x, order="K")[()] for x in run.trial.points[-1])

    def at_both(f: Any) -> Any:
        program = jit(f)
        program(*elsewhere)
        return program(*run.args)

    yield "jit", at_both(run.f), run.value
    if run.trial.seed % 3 == 0:
        yield "jit of grad", at_both(run.gradient), run.gradient(*run.args)
    elif run.trial.seed % 3 == 1 and run.is_forward:
        yield "jit of jvp", at_both(run.along), run.tangent
    elif run.is_even:
        yield "grad of jit", vjp(jit(run.f), *run.args)[1](run.ct), run.pulled[1](run.ct)
    else:
        yield "jit of second order", at_both(lambda *args: jvp(run.gradient, args, run.tangents)[1]), run.hessian_product


COMPILED: tuple[Law, ...] = (compiled_functions_give_the_same,)
MAPPED: tuple[Law, ...] = (
    mapped_values_are_those_of_a_loop,
    mapped_gradients_are_those_of_a_loop,
    mapped_tangents_are_those_of_a_loop,
    mapped_cotangents_are_those_of_a_loop,
    mapped_second_order_is_that_of_a_loop,
)
LAWS: tuple[Law, ...] = (
    values_are_numpys,
    gradients_are_like_arguments,
    modes_are_adjoint,
    forward_mode_is_the_derivative,
    second_order_agrees_in_all_nestings,
    second_order_is_the_derivative_of_the_first,
    *MAPPED,
    *COMPILED,
)


def is_refusal(error: Exception, program: Program, law: Law | None = None) -> bool:
    """Whether an error is one that the package promises.

    Python asks for a value of a mapped or a compiled function. Or a derivative, inside of a mapping, of an operation that takes its
    examples one by one, is to be differentiated from outside.
    """
    if isinstance(error, ConcretizationError):
        return law in (*MAPPED, *COMPILED) and program.has("concrete")
    return isinstance(error, NoRuleError) and "takes its examples one by one" in str(error)


def check(run: Run, law: Law) -> None:
    """Raise AssertionError where a law does not hold.

    Shapes and dtypes must be equal, the numbers finite and equal to rounding.
    """
    for what, got, wanted in law(run):
        assert tree.structure(got) == tree.structure(wanted), f"{what}: {tree.structure(got)} is not {tree.structure(wanted)}"
        for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
            a, b = np.asarray(one), np.asarray(other)
            assert a.shape == b.shape, f"{what}: shapes {a.shape}, {b.shape}"
            assert a.dtype == b.dtype or " but for" in what, f"{what}: dtypes {a.dtype}, {b.dtype}"
            assert np.all(np.isfinite(a)) and np.all(np.isfinite(b)), f"{what}: not finite: {a.tolist()}, {b.tolist()}"
            error = float(np.max(np.abs(a - b), initial=0.0))
            scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
            assert error <= run.tolerance * scale, f"{what}: {a.tolist()} is not {b.tolist()} (difference {error:.2g})"
