"""The machine and the software that a run's numbers belong to."""

import os
import platform
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks import peers


def processor() -> str:
    """The processor's model, as the operating system calls it."""
    description = Path("/proc/cpuinfo")
    if description.is_file():
        for line in description.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe(names: Iterable[str]) -> dict[str, str]:
    """What a reader needs to judge the numbers.

    Args:
        names: The peers of the run.

    Returns:
        Processor, operating system, and the versions of Python, NumPy and the peers' libraries.
    """
    return {
        "processor": f"{processor()}, {os.cpu_count()} cores, one thread used",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        **peers.versions(names),
    }
