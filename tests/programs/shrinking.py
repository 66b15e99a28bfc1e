"""From a trial that fails to a small one that fails the same way, and the text that shows it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tests.programs.generator import Trial
from tests.programs.laws import LAWS, Run, check, is_refusal
from tests.programs.program import NAME, TRANSFORMS, Block, Program, Step, all_steps

SECONDS = 20.0
"""How long to look for a smaller program."""
PLAIN_CALLS = ("{g}({a})", "checkpoint({g})({a})", "jvp({g}, ({a},), ({a},))[1]", "grad(lambda u: np.sum({g}(u)))({a})", "vmap({g})({a})")
"""Calls of a nested function that are tried in place of others."""


class Fault(NamedTuple):
    """What fails: the law's name, the type of the exception, and what it says."""

    law: str
    kind: str
    message: str


def fault_of(trial: Trial, only: str | None = None, refused: set[int] | None = None) -> Fault | None:
    """The first law that a trial breaks, of the one named `only` if it is given.

    Where the package refuses a program, as it promises to, the seed is added to `refused`.
    """
    try:
        run = Run(trial)
        run.value  # noqa: B018 - computed once, for all laws
    except Exception as error:
        return None if is_refusal(error, trial.program) else Fault("the plain function", type(error).__name__, str(error))
    for law in LAWS:
        if only in (None, law.__name__):
            try:
                check(run, law)
            except Exception as error:
                if not is_refusal(error, trial.program, law):
                    return Fault(law.__name__, type(error).__name__, str(error))
                if refused is not None:
                    refused.add(trial.seed)
    return None


def shrunk(trial: Trial, fault: Fault) -> tuple[Trial, Fault]:
    """The smallest trial found that breaks the same law by the same exception."""
    end = time.monotonic() + SECONDS
    is_smaller = True
    while is_smaller and time.monotonic() < end:
        is_smaller = False
        for candidate in _smaller(trial):
            if time.monotonic() > end:
                break
            if _size(candidate) < _size(trial):
                found = fault_of(candidate, fault.law)
                if found is not None and found[:2] == fault[:2]:
                    trial, fault, is_smaller = candidate, found, True
                    break
    return trial, fault


def _size(trial: Trial) -> tuple[int, ...]:
    program = trial.program
    digits = sum(len(repr(np.asarray(x).tolist())) for point in trial.points for x in point)
    numbers = sum(np.size(x) + np.ndim(x) for x in trial.points[0])
    return (len(list(all_steps(program.steps))), numbers, len(program.inputs), len(trial.points), len(program.text()), digits)


# ------------------------------------------------------------------------------------------------ smaller trials


def _smaller(trial: Trial) -> Iterator[Trial]:
    program = trial.program
    for step in program.steps:
        yield _of(trial, replace(program, outputs=(step.name,)))
    for name in program.outputs if len(program.outputs) > 1 else ():
        yield _of(trial, replace(program, outputs=(name,)))
    for n, step in enumerate(program.steps):
        yield from _cut(trial, n, step)
    for steps in _without_one(program.steps):
        yield _of(trial, replace(program, steps=steps))
    for n in range(len(program.inputs)):
        yield from _without_input(trial, n)
    if len(trial.points) > 2:
        yield replace(trial, points=trial.points[:2])
    for n, value in enumerate(trial.points[0]):
        for axis in range(np.ndim(value)):
            for size in {1, 2} if np.shape(value)[axis] > 1 else ():
                yield _with_values(trial, n, [np.take(point[n], range(min(size, np.shape(value)[axis])), axis) for point in trial.points])
        for digits in (1, 2):
            yield _with_values(trial, n, [_rounded(point[n], digits) for point in trial.points])


def _of(trial: Trial, program: Program) -> Trial:
    return replace(trial, program=_shortened(program.trimmed()))


def _with_values(trial: Trial, n: int, values: list[Any]) -> Trial:
    points = tuple((*point[:n], value, *point[n + 1 :]) for point, value in zip(trial.points, values, strict=True))
    return replace(trial, points=points)


def _rounded(value: Any, digits: int) -> Any:
    return round(value, digits) if type(value) is float else np.round(value, digits)


def _cut(trial: Trial, n: int, step: Step) -> Iterator[Trial]:
    """With what a step computes as an input, or as a constant."""
    program = trial.program
    values = []
    for point in trial.points:
        value = replace(program, outputs=(step.name,)).trimmed()
        try:
            values.append(value.function()(*point))
        except Exception:
            return
    steps = (*program.steps[:n], *program.steps[n + 1 :])
    constant = replace(step, before=f"{step.name} = {literal(values[0])}", blocks=(), after="", traits=frozenset())
    yield _of(trial, replace(program, steps=(*program.steps[:n], constant, *program.steps[n + 1 :])))
    if NAME.fullmatch(step.name) and all(np.result_type(value).kind in "fc" for value in values):
        points = tuple((*point, value) for point, value in zip(trial.points, values, strict=True))
        cut = replace(program, inputs=(*program.inputs, step.name), steps=steps)
        yield _of(replace(trial, points=points, shared=(*trial.shared, False)), cut)


def _without_input(trial: Trial, n: int) -> Iterator[Trial]:
    program = trial.program
    if len(program.inputs) == 1:
        return
    points = tuple((*point[:n], *point[n + 1 :]) for point in trial.points)
    shared = (*trial.shared[:n], *trial.shared[n + 1 :])
    if all(shared):
        return
    name = program.inputs[n]
    constant = Step(name, f"{name} = {literal(trial.points[0][n])}")
    inputs = (*program.inputs[:n], *program.inputs[n + 1 :])
    yield _of(replace(trial, points=points, shared=shared), replace(program, inputs=inputs, steps=(constant, *program.steps)))


def _without_one(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Steps without one of them, with what it uses in its place; those inside of it in its place; a loop run once."""
    for n, step in enumerate(steps):
        rest = steps[n + 1 :]
        for name in sorted(step.names() - {step.name}):
            if not name.startswith("g"):
                yield (*steps[:n], *(one.renamed({step.name: name}) for one in rest))
                yield (*steps[:n], replace(step, before=f"{step.name} = {name} * 1.0", blocks=(), after="", traits=frozenset()), *rest)
        for k, block in enumerate(step.blocks):
            yield (*steps[:n], *_inlined(step, block), *rest)
            for within in _without_one(block.steps):
                blocks = (*step.blocks[:k], replace(block, steps=within), *step.blocks[k + 1 :])
                yield (*steps[:n], replace(step, blocks=blocks), *rest)
            for one in block.steps if block.tail.startswith("return") else ():
                blocks = (*step.blocks[:k], replace(block, tail=f"return {one.name}"), *step.blocks[k + 1 :])
                yield (*steps[:n], replace(step, blocks=blocks), *rest)
            if block.steps and block.tail.startswith("return"):
                parameters = [name for name in NAME.findall(block.head) if name.startswith("u")]
                for name in parameters:
                    blocks = (*step.blocks[:k], replace(block, steps=(), tail=f"return {name} * 1.0"), *step.blocks[k + 1 :])
                    yield (*steps[:n], replace(step, blocks=blocks), *rest)
        if step.after:
            for text in _plainer(step):
                yield (*steps[:n], replace(step, after=text), *rest)


def _plainer(step: Step) -> Iterator[str]:
    """Simpler last lines of a step that calls a nested function."""
    functions = [name for name in NAME.findall(step.blocks[0].head) if name.startswith("g")] if step.blocks else []
    operands = [name for name in dict.fromkeys(NAME.findall(step.after)) if name[0] in "xvu" and name != step.name]
    if functions and operands:
        parameters = len([name for name in NAME.findall(step.blocks[0].head) if name.startswith("u")])
        arguments = ", ".join(operands[:1] * parameters if len(operands) < parameters else operands[:parameters])
        for text in PLAIN_CALLS:
            yield f"{step.name} = {text.format(g=functions[0], a=arguments)}"


def _inlined(step: Step, block: Block) -> tuple[Step, ...]:
    """The steps of a block in place of the step."""
    operands = [name for name in dict.fromkeys(NAME.findall(step.after)) if name[0] in "xvu" and name != step.name]
    parameters = [name for name in NAME.findall(block.head) if name.startswith("u")]
    bound = [Step(p, f"{p} = {operands[min(n, len(operands) - 1)]}") for n, p in enumerate(parameters)] if operands else []
    tail = Step(step.name, block.tail.replace("return", f"{step.name} ="), traits=step.traits)
    before = [replace(step, blocks=(), after="", traits=frozenset())] if step.before else []
    return (*before, *bound, *block.steps, tail)


def _shortened(program: Program) -> Program:
    """With x0 instead of `v1 = x0`."""
    for n, step in enumerate(program.steps):
        left, _, right = step.before.partition(" = ")
        if not step.blocks and not step.after and left == step.name and NAME.fullmatch(right):
            new = {step.name: right}
            outputs = tuple(new.get(name, name) for name in program.outputs)
            steps = (*program.steps[:n], *(one.renamed(new) for one in program.steps[n + 1 :]))
            return _shortened(replace(program, outputs=outputs, steps=steps))
    return program


# ------------------------------------------------------------------------------------------------ text


def literal(value: Any) -> str:
    """The code of a number or an array."""
    if type(value) is float:
        return repr(value)
    array = np.asarray(value)
    text = repr(array.tolist())
    if array.ndim == 0:
        return f"np.{array.dtype}({text})"
    if array.size == 0:
        return f"np.zeros({array.shape}, np.{array.dtype})"
    return f"np.array({text})" if array.dtype in (np.float64, np.complex128) else f"np.array({text}, np.{array.dtype})"


def report(trial: Trial, fault: Fault) -> str:
    """A program that can be run, and what is wrong with it."""
    text = trial.program.text()
    used = [name for name in TRANSFORMS if f"{name}(" in text or f"{name}." in text]
    points = [f"({', '.join(map(literal, point))},)" for point in trial.points]
    return "\n".join([
        f"# seed {trial.seed} breaks the law {fault.law!r}", *(f"# {line}" for line in f"{fault.kind}: {fault.message}".splitlines()),
        "import numpy as np",
        *([f"from funcgrad import {', '.join(used)}"] if used else []), *(["from funcgrad.numpy import at"] if "at(" in text else []),
        *(["from numpy import float32"] if "float32(" in text or "(float32" in text else []), "", text,
        *(f"{'args' if not n else f'example_{n}'} = {point}" for n, point in enumerate(points)),
        f"# mapped: {', '.join(name for name, one in zip(trial.program.inputs, trial.shared, strict=True) if not one)}", "",
    ])  # fmt: skip
