"""Aligned tables in plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ROWS = 6
_NUMBER = re.compile(r"[-+]?([\d,]+\.?\d*(e[-+]?\d+)?|inf|nan)")


def format_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table: columns of numbers to the right, columns of words to the left.

    Args:
        headers: the column titles.
        rows: the cells, one sequence a row, each as long as `headers`.

    Returns:
        The lines, indented by two spaces and joined by newlines.

    Example:
        >>> print(format_table(["name", "value"], [["x", "2"], ["y", "-3"]]))
          name  value
          ----  -----
          x         2
          y        -3
    """
    columns = [list(column) for column in zip(headers, *rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    numeric = [all(_NUMBER.fullmatch(cell) for cell in column[1:]) for column in columns]
    lines = [headers, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  " + "  ".join(cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(line, widths, numeric, strict=True)).rstrip()
        for line in lines
    )


def counted(count: int, unit: str) -> str:
    """A count with its unit, in the plural where it is not 1.

    Example:
        >>> counted(1, "epoch"), counted(40, "epoch")
        ('1 epoch', '40 epochs')
    """
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def spread(length: int, first: int = 1) -> list[int]:
    """About six places spread evenly over a run, its first and its last among them; all of them where there are no more than six.

    Args:
        length: how many places the run has.
        first: the number of its first.

    Returns:
        The numbers of the places, rising.

    Example:
        >>> spread(200), spread(1000, first=0)
        ([1, 40, 80, 120, 160, 200], [0, 200, 400, 600, 800, 999])
    """
    last = first + length - 1
    if length <= _ROWS:
        return list(range(first, last + 1))
    marks = (round(length * part / (_ROWS - 1)) for part in range(_ROWS))
    return sorted({min(max(mark, first), last) for mark in marks})


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print `format_table(headers, rows)`."""
    print(format_table(headers, rows))
