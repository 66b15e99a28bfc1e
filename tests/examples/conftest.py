"""What the tests of the examples share: running a main function and reading what it prints."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import pytest

Printed = list[str]


def _run(main: Callable[[list[str]], None], argv: list[str]) -> Printed:
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout):
        main(argv)
    return [" ".join(line.split()) for line in stdout.getvalue().splitlines()]


@pytest.fixture(scope="session")
def run() -> Callable[[Callable[[list[str]], None], list[str]], Printed]:
    """Call a main function with arguments; the answer is the lines that it printed, with single spaces between the cells."""
    return _run
