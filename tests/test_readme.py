"""The README's code runs as printed, in order, and shows what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_code_of_the_readme_runs():
    text = README.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    run = subprocess.run(  # apart: it defines a primitive, which the tests of the table of cases would miss a case for
        [sys.executable, "-W", "error", "-c", code], cwd=README.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    table = re.search(r"```\n(name  operation.*?)```", text, re.DOTALL)
    assert table and table.group(1) in run.stdout
    comments = re.findall(r"# .*?: (.*)$", text.split("## Transforms")[0], re.MULTILINE)
    assert len(comments) == 3
    for comment, line in zip(comments, run.stdout.split("\n")[1:], strict=False):
        wanted, got = re.findall(r"-?\d[.\d]*", comment), re.findall(r"-?\d[.\d]*", line)
        assert [float(one) for one in got] == pytest.approx([float(one) for one in wanted], rel=1e-12), line
