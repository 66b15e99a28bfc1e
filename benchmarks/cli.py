"""The command line of `python -m benchmarks`."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import machine, measure, memory, peers, report, targets
from benchmarks.memory import Case
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS


def _parser() -> argparse.ArgumentParser:
    names = ", ".join([*(workload.name for workload in WORKLOADS), *(case.name for case in memory.CASES)])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Speed and memory of funcgrad beside every peer that is installed, on one thread; results are checked, then timed.",
        epilog=f"Workloads: {names}.",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="run the workloads whose name begins with NAME ('rosen100', 'memory'); may be given again",
    )
    parser.add_argument("--peers", default="", metavar="A,B", help=f"compare these only (and hand-written): {', '.join(peers.NAMES)}")
    parser.add_argument("--quick", action="store_true", help="smoke run: few repeats, peers that are slow to load or run left out")
    parser.add_argument("--markdown", action="store_true", help="print the tables of the README instead")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured into FILE")
    return parser


def _chosen_peers(parser: argparse.ArgumentParser, given: str, *, is_quick: bool) -> list[str]:
    """The installed peers that were asked for, in the order of `PEERS`; the hand-written one always among them."""
    wanted = {name.strip() for name in given.split(",") if name.strip()}
    if unknown := sorted(wanted - set(peers.NAMES)):
        parser.error(f"--peers: got {', '.join(unknown)}; choose from {', '.join(peers.NAMES)}")
    missing = sorted(name for name in wanted if not peers.is_installed(peers.BY_NAME[name]))
    if missing:
        parser.error(f'--peers: {", ".join(missing)} is not installed; pip install -e ".[bench]" installs the peers')
    chosen = []
    for peer in peers.PEERS:
        is_wanted = peer.name in wanted if wanted else not (is_quick and peer.is_heavy)
        if peer.name == peers.HAND_WRITTEN or (is_wanted and peers.is_installed(peer)):
            chosen.append(peer.name)
    return chosen


def _chosen_workloads(parser: argparse.ArgumentParser, only: Sequence[str]) -> tuple[list[Workload], list[Case]]:
    """The workloads and memory cases whose name begins with one of the given names; all if none is given."""
    starts = tuple(only) or ("",)
    names = [*(workload.name for workload in WORKLOADS), *(case.name for case in memory.CASES)]
    for start in starts:
        if not any(name.startswith(start) for name in names):
            parser.error(f"--only: no workload begins with {start!r}; --help lists them")
    return [item for item in WORKLOADS if item.name.startswith(starts)], [item for item in memory.CASES if item.name.startswith(starts)]


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks.

    Args:
        arguments: The command line, without the program's name.

    Returns:
        0 if every peer answered rightly, 1 otherwise; a missed target does not count.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    names = _chosen_peers(parser, options.peers, is_quick=options.quick)
    workloads, cases = _chosen_workloads(parser, options.only)
    settings = measure.QUICK if options.quick else measure.FULL
    say: Callable[[str], None] = (lambda text: None) if options.markdown else (lambda text: print(text, flush=True))

    run = report.Run(machine.describe(names))
    say(report.machine_text(run.machine) + "\n")
    for workload in workloads:
        present = [name for name in names if not (options.quick and not options.peers and name in workload.minor)]
        run.measurements[workload.name] = measure.measure(workload, present, settings)
        say(report.timing_text(run.measurements[workload.name]))
    for case in cases:
        present = [name for name in names if name == peers.FUNCGRAD] if options.quick and not options.peers else names
        run.usages[case.name] = memory.measure(case, present)
        say(report.memory_text(run.usages[case.name]))
    run.verdicts = targets.judge(run.measurements, run.usages)
    measured = [verdict for verdict in run.verdicts if verdict.measured is not None]
    if measured and not options.quick:  # the few repeats of a smoke run say nothing about them
        say(report.targets_text(measured))
    if options.markdown:
        print(report.markdown(run))
    if options.json is not None:
        options.json.write_text(report.as_json(run), encoding="utf-8")
    return 1 if run.has_failures else 0
