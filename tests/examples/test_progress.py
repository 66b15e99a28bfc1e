"""The progress bar goes to a terminal only, with or without tqdm."""

import io
import sys

import pytest

from examples import progress
from examples.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def loop(stream):
    bar = Progress(range(4), "training", stream)
    seen = []
    for step in bar:
        seen.append(step)
        bar.note(f"loss {step}")
    return seen


def test_nothing_where_the_output_is_no_terminal():
    stream = io.StringIO()
    assert loop(stream) == [0, 1, 2, 3]
    assert stream.getvalue() == ""


def test_plain_lines_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(progress, "_REFRESH", 0.0)
    stream = Terminal()
    assert loop(stream) == [0, 1, 2, 3]
    *shown, cleared, end = stream.getvalue().split("\r")[1:]
    assert [line.rstrip() for line in shown] == [
        "training: 0 of 4",
        "training: 1 of 4 loss 0",
        "training: 2 of 4 loss 1",
        "training: 3 of 4 loss 2",
    ]
    assert cleared.strip() == end == ""


def test_plain_lines_come_a_few_times_a_second_at_most(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    seconds = iter([100.0, 100.0, 100.1, 100.2, 100.35, 100.35])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    stream = Terminal()
    loop(stream)
    assert stream.getvalue().count("training:") == 2


def test_plain_line_is_cleared_when_the_loop_is_left_early(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    stream = Terminal()
    steps = iter(Progress(range(4), "training", stream))
    next(steps)
    steps.close()
    assert stream.getvalue().endswith("\r")


def test_bar_by_tqdm():
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    stream = Terminal()
    assert loop(stream) == [0, 1, 2, 3]
    assert "training: " in stream.getvalue()
    assert "/4" in stream.getvalue()
