"""`python -m examples`: the main job, moons and then digits, with their pictures."""

from __future__ import annotations

from collections.abc import Sequence

from examples import digits, moons, options


def main(argv: Sequence[str] | None = None) -> None:
    """Train on moons and on digits."""
    parser = options.make_parser("", "Train networks on moons and on digits and save the pictures.")
    parser.add_argument(
        "--epochs", type=options.positive_int, help="shorten both runs (default: 100 steps for moons, 40 epochs for digits)"
    )
    options.add_out(parser)
    given = parser.parse_args(argv)
    passed = ["--out", str(given.out)] + (["--epochs", str(given.epochs)] if given.epochs else [])
    moons.main(passed)
    print()
    digits.main(passed)


if __name__ == "__main__":
    main()
