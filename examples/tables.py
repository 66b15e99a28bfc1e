"""Aligned tables in plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print `format_table(headers, rows)`."""
    print(format_table(headers, rows))
