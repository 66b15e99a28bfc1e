"""`python -m examples`: the main job, moons and then digits, with their pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from examples import SUMMARIES, digits, moons, options


def main(argv: Sequence[str] | None = None) -> None:
    """Train on moons and on digits."""
    parser = options.make_parser("", "Train networks on moons and on digits and save the pictures.")
    width = max(map(len, SUMMARIES))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter  # a line each
    lines = (f"  {name:{width}}  {text}" for name, text in SUMMARIES.items())
    parser.epilog = "\n".join(["every example, as python -m examples.NAME, with its own --help:", *lines])
    parser.add_argument(
        "--epochs", type=options.positive_int, metavar="N", help="length of both runs (default: 100 steps of moons, 40 epochs of digits)"
    )
    options.add_jit(parser)
    options.add_out(parser)
    given = parser.parse_args(argv)
    passed = ["--out", str(given.out)] + (["--epochs", str(given.epochs)] if given.epochs else []) + ["--jit"] * given.jit
    digits.load_or_exit()  # a file that is missing is not to be found out about after moons
    moons.main(passed)
    print()
    digits.main(passed)


if __name__ == "__main__":
    main()
