"""Entry point of `python -m benchmarks`: restarts Python with one thread for every library, then runs the command line."""

import os
import subprocess
import sys

from benchmarks.cli import main
from benchmarks.threads import one_thread_environment


def run() -> int:
    """Run the benchmarks in a process whose environment allows each library one thread.

    Returns:
        The exit status: 0 if every result was right, 1 otherwise.
    """
    environment = one_thread_environment(os.environ)
    if environment == dict(os.environ):
        return main(sys.argv[1:])
    return subprocess.call([sys.executable, "-m", "benchmarks", *sys.argv[1:]], env=environment)


if __name__ == "__main__":
    sys.exit(run())
