"""Code generation for loops: the program of a step, written inside of a loop of Python's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.instructions import Variable, type_of
from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.writer import Writer


class LoopCode(Code):
    """The generated function of a loop.

    It takes what all steps are given, the first carry, xs, where ys and the carries before the steps are to be put, the numbers of the
    steps, what says whether to go on and what that is given; and gives the last carry and the sums.

    Args:
        step: the program of a step. Its inputs are what all steps are given, the carry, and a row of xs; its outputs the carry, ys and
            addends of sums.
        counts: how many leaves of the carry, ys and sums there are.
        rows: how many xs there are.
        has_carries: whether the carries before the steps are asked for.
        is_open: whether the loop ends itself: the carries are appended to lists then.
    """

    def __init__(
        self, step: Program, counts: tuple[int, int, int], rows: int, has_carries: bool, is_open: bool, is_checked: bool = False
    ) -> None:
        n_carry, n_ys, _ = counts
        self._step, self._counts, self._rows, self._has_carries, self._is_open = step, counts, rows, has_carries, is_open
        self._ys, self._addends = step.outputs[n_carry : n_carry + n_ys], step.outputs[n_carry + n_ys :]
        others = [one for one in (*self._ys, *self._addends) if type(one) is Variable]  # they need no memory of their own
        super().__init__(Program(step.name, step.inputs, step.instructions, step.outputs[:n_carry], [*step.watched, *others]), is_checked)

    def _again(self, *inputs: Any) -> Any:
        if self._checked is None:
            self._checked = LoopCode(self._step, self._counts, self._rows, self._has_carries, self._is_open, is_checked=True)
        return self._checked._function()(*inputs)

    def _places(self, inputs: list[str]) -> tuple[list[str], list[str], list[str]]:
        """The inputs of a step: what all are given, the carry, the row."""
        stop = len(inputs) - self._rows
        return inputs[: stop - self._counts[0]], inputs[stop - self._counts[0] : stop], inputs[stop:]

    def _parameters(self, inputs: list[str]) -> list[str]:
        n_carry, n_ys, _ = self._counts
        around, carry, rows = self._places(inputs)
        kept = [f"kept{n}" for n in range(n_carry if self._has_carries else 0)]
        return [*around, *carry, *(f"xs{n}" for n in range(len(rows))), *(f"ys{n}" for n in range(n_ys)), *kept, "order", "go_on", "given"]

    def _lines(self, writer: Writer, program: Program, inputs: list[str]) -> list[str]:
        _, carry, rows = self._places(inputs)
        start = [f"total{n} = None" for n in range(len(self._addends))]
        if self._is_open and self._has_carries:
            start += [f"kept{n}.clear()" for n in range(len(carry))]
        lines = [f"if not go_on(*given, {', '.join(carry)})[0]:", "    break"] if self._is_open else []
        lines += [f"{one} = xs{n}[i]" for n, one in enumerate(rows)]
        lines += [*writer.lines(program.instructions), *self._look(writer, self._step.watched)]
        if self._has_carries:
            lines += [f"kept{n}.append({one})" if self._is_open else f"kept{n}[i] = {one}" for n, one in enumerate(carry)]
        lines += [f"ys{n}[i] = {writer.text(one)}" for n, one in enumerate(self._ys)]
        for n, one in enumerate(self._addends):
            lines += self._added(f"total{n}", writer.text(one), one, writer.text(np.add))
        lines += self._handed_on(writer, program.outputs, carry)
        passed_on = [f"copy({one})" if self._is_array(output) else one for one, output in zip(carry, program.outputs, strict=True)]
        totals = [f"total{n}" for n in range(len(self._addends))]
        results = "".join(f"{one}, " for one in (*passed_on, *totals))
        return [*start, "for i in order:", *(f"    {line}" for line in lines or ["pass"]), f"return ({results})"]

    def _is_array(self, output: Any) -> bool:
        """Whether the last carry may be the first one, or what the code around goes on using."""
        return type_of(output) is np.ndarray

    def _added(self, total: str, addend: str, output: Any, add: str) -> list[str]:
        is_array = self._is_array(output)
        added = f"{add}({total}, {addend}, {total})" if is_array and np.shape(output) else f"{total} + {addend}"
        return [f"{total} = {f'copy({addend})' if is_array else addend} if {total} is None else {added}"]

    def _handed_on(self, writer: Writer, outputs: Sequence[Any], carry: Sequence[str]) -> list[str]:
        """The carry of the next step. An array among it has memory of its own, unless the step leaves it as it is."""
        returned = set[Any]()
        pairs = [(one, self._output(writer, output, returned)) for one, output in zip(carry, outputs, strict=True)]
        pairs = [(one, text) for one, text in pairs if text not in (one, f"copy({one})")]
        return [f"{', '.join(one for one, _ in pairs)} = {', '.join(text for _, text in pairs)}"] if pairs else []
