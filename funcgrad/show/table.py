"""The tape as a table of plain text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.rule import RULES
from funcgrad.tape import Record

_SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "square": "**2",
    "remainder": "%",
    "matmul": "@",
    "matmul_2d": "@",
    "negative": "neg",
    "absolute": "abs",
}
_HEADS = ("name", "operation", "parents", "value", "gradient")


class Row(NamedTuple):
    """One record, as a person reads it.

    Attributes:
        name: of the argument for a leaf, n and the position for any other record.
        operation: "leaf", an operator, or the name of a primitive.
        parents: the names of the operands that are on the tape.
        value: what came out, a number or an array.
        gradient: derivative of the function's output (of the sum of its outputs) with respect to it.
    """

    name: str
    operation: str
    parents: tuple[str, ...]
    value: Any
    gradient: Any


class Tape:
    """The records of one run of a function, in order. `print(tape)` shows them as a table.

    Attributes:
        rows: a `Row` for each record.
        value: the function's output.
    """

    def __init__(self, rows: list[Row], value: Any) -> None:
        self.rows = rows
        self.value = value

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return table(self)

    def __repr__(self) -> str:
        return f"<Tape of {len(self.rows)} records>"


def operation_text(record: Record) -> str:
    """The operation of a record, with a constant operand where the record keeps one: "*", "**2", "1 /"."""
    rule = RULES[record[0]]
    symbol: str = _SYMBOLS.get(rule.name, rule.name) if rule.named is None else rule.named(record)
    if rule.constant is None:
        return symbol
    side, operand = rule.constant
    constant = operand(record)
    if np.ndim(constant):
        return symbol
    return f"{symbol}{constant:g}" if side == "y" else f"{constant:g} {symbol}"


def _number_text(value: Any) -> str:
    if np.ndim(value) == 0:
        return f"{complex(value) if np.iscomplexobj(value) else float(value):.6g}"
    if np.size(value) > 6:
        return f"{value.dtype}{value.shape}"
    return np.array2string(value, precision=4, separator=", ").replace("\n", "")


def table(tape: Tape) -> str:
    """The rows of a tape, aligned.

    Args:
        tape: what `funcgrad.make_tape(f)(*args)` returns.

    Returns:
        A line for the heads and one for each record.

    Example:
        >>> from funcgrad import make_tape
        >>> print(table(make_tape(lambda x: 3.0 * x)(2.0)))
        name  operation  parents  value  gradient
        x     leaf                    2         3
        n1    3 *        x            6         1
    """
    cells = [_HEADS] + [
        (row.name, row.operation, " ".join(row.parents), _number_text(row.value), _number_text(row.gradient)) for row in tape.rows
    ]
    widths = [max(len(line[n]) for line in cells) for n in range(len(_HEADS))]
    lines = []
    for line in cells:
        left = [text.ljust(width) for text, width in zip(line[:3], widths[:3], strict=True)]
        right = [text.rjust(width) for text, width in zip(line[3:], widths[3:], strict=True)]
        lines.append("  ".join(left + right).rstrip())
    return "\n".join(lines)
