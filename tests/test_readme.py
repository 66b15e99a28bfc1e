"""The README's code runs as printed, in order, and shows what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_code_of_the_readme_runs(capsys: pytest.CaptureFixture[str]):
    text = README.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "readme"}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, str(README), "exec"), names)
    printed = capsys.readouterr().out
    table = re.search(r"```\n(name  operation.*?)```", text, re.DOTALL)
    assert table and table.group(1) in printed
    for comment, line in zip(
        re.findall(r"# .*?: (.*)$", text.split("## Transforms")[0], re.MULTILINE), printed.split("\n")[1:], strict=False
    ):
        wanted, got = re.findall(r"[-\d.]+\d", comment), re.findall(r"[-\d.]+\d", line)
        assert [float(one) for one in got[: len(wanted)]] == pytest.approx([float(one) for one in wanted], rel=1e-12), line
