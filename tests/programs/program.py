"""A program as data: steps that are lines of NumPy code, which can be shown, run, taken apart and put together again.

What is printed is what runs: a program is rendered to the text of one function, and compiled. A step defines one variable; its lines may
hold blocks (loops, branches, nested functions) of further steps. Names say what they are: x are inputs, v variables, u parameters of nested
functions, g the functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import funcgrad
import funcgrad.numpy as fnp

NAME = re.compile(r"\b[xvug]\d+\b")
TRANSFORMS = (
    "checkpoint", "custom_jvp", "custom_vjp", "elementwise_grad", "grad", "hessian", "hvp", "jacfwd", "jacrev", "jvp", "linear_transpose",
    "linearize", "nn", "stop_gradient", "tree", "value_and_grad", "vjp", "vmap",
)  # fmt: skip
NAMESPACE = {"np": np, "at": fnp.at, "float32": np.float32, **{name: getattr(funcgrad, name) for name in TRANSFORMS}}


@dataclass(frozen=True)
class Block:
    """Lines under a head, `for k in range(2):` say, with a last one after its steps."""

    head: str
    steps: tuple[Step, ...]
    tail: str


@dataclass(frozen=True)
class Step:
    """What defines one variable.

    Attributes:
        name: the variable.
        before: lines in front of the blocks; all there is of most steps.
        blocks: what is inside.
        after: lines behind them.
        traits: what checks have to know. "kinked": complex numbers do not go through it as an analytic function would take them.
            "concrete": Python asks for a value, so that it cannot be mapped. "backward": a rule for reverse mode alone.
            "complex": it makes complex numbers of real ones.
            "own layout": arrays may lie otherwise in memory than without a transform around, so that NumPy adds them up in another order.
    """

    name: str
    before: str = ""
    blocks: tuple[Block, ...] = ()
    after: str = ""
    traits: frozenset[str] = frozenset()

    def lines(self, is_witness: bool) -> Iterator[str]:
        """The text. That of a witness has constants where gradients are stopped: differences would see what is stopped move."""
        for block_lines in (self.before.splitlines(), *(block_text(block, is_witness) for block in self.blocks), self.after.splitlines()):
            for line in block_lines:
                yield line.replace("stop_gradient(", f'held("{self.name}", ') if is_witness else line

    def names(self) -> set[str]:
        """All names in it."""
        return set(NAME.findall("\n".join(self.lines(False))))

    def renamed(self, new: dict[str, str]) -> Step:
        """The step with other names for what it uses."""

        def text(line: str) -> str:
            return NAME.sub(lambda match: new.get(match[0], match[0]), line)

        blocks = tuple(Block(text(one.head), tuple(step.renamed(new) for step in one.steps), text(one.tail)) for one in self.blocks)
        return replace(self, name=text(self.name), before=text(self.before), blocks=blocks, after=text(self.after))


def block_text(block: Block, is_witness: bool) -> Iterator[str]:
    yield block.head
    for step in block.steps:
        yield from ("    " + line for line in step.lines(is_witness))
    yield "    " + block.tail


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Steps and those inside of them."""
    for step in steps:
        yield step
        for block in step.blocks:
            yield from all_steps(block.steps)


def needed(steps: Sequence[Step], wanted: set[str]) -> tuple[Step, ...]:
    """The steps without those that nothing depends on, inside of blocks too."""
    kept: list[Step] = []
    wanted = set(wanted)
    for step in reversed(steps):
        if step.name in wanted:
            blocks = tuple(replace(one, steps=needed(one.steps, set(NAME.findall(one.tail)))) for one in step.blocks)
            step = replace(step, blocks=blocks)
            wanted |= step.names()
            kept.append(step)
    return tuple(reversed(kept))


@dataclass(frozen=True)
class Program:
    """A function of some inputs: its steps, and the variables that it returns (a tuple if they are several)."""

    inputs: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]

    def text(self, is_witness: bool = False) -> str:
        """The code of a function f."""
        lines = [f"def f({', '.join(self.inputs)}):"]
        for step in self.steps:
            lines += ["    " + line for line in step.lines(is_witness)]
        return "\n".join([*lines, f"    return {', '.join(self.outputs)}", ""])

    def function(self) -> Callable[..., Any]:
        """The function, made of the text."""
        return _made(self.text(), NAMESPACE)

    def witness(self, args: Sequence[Any]) -> Callable[..., Any]:
        """The function without roundings to float32, and with the values for these arguments where gradients are stopped."""
        found: dict[str, Any] = {}
        namespace = {**NAMESPACE, "float32": np.float64}
        _made(self.text(is_witness=True), namespace | {"held": lambda name, x: found.setdefault(name, x)})(*args)
        return _made(self.text(is_witness=True), namespace | {"held": lambda name, _: found[name]})

    def has(self, trait: str) -> bool:
        """Whether a step has a trait."""
        return any(trait in step.traits for step in all_steps(self.steps))

    def trimmed(self) -> Program:
        """Without the steps that no output depends on."""
        return replace(self, steps=needed(self.steps, set(self.outputs)))


def _made(text: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    scope = dict(namespace)
    exec(compile(text, "<random program>", "exec"), scope)
    return scope["f"]
