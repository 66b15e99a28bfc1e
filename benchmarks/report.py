"""The results as text, as Markdown for the README, and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks import memory, peers
from benchmarks.measure import Measurement
from benchmarks.memory import Usage
from benchmarks.targets import Verdict, ratio
from benchmarks.workloads import WORKLOADS

_SUMMARIES = {workload.name: workload.summary for workload in WORKLOADS} | {case.name: case.summary for case in memory.CASES}


@dataclass
class Run:
    """What a run measured.

    Attributes:
        machine: What the numbers belong to.
        measurements: Timings by workload.
        usages: Memory by case.
        verdicts: The targets.
    """

    machine: dict[str, str]
    measurements: dict[str, Measurement] = field(default_factory=dict)
    usages: dict[str, Usage] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def has_failures(self) -> bool:
        """Whether any peer raised or answered wrongly."""
        timed, weighed = self.measurements.values(), self.usages.values()
        return any(result.failures for result in timed) or any(usage.failures for usage in weighed)


def number(value: float) -> str:
    """Three significant digits without an exponent, thousands separated.

    Example:
        >>> number(1234.5), number(12.345), number(0.0123)
        ('1,230', '12.3', '0.0123')
    """
    if value == 0.0:
        return "0"
    if abs(value) >= 100.0:
        return f"{float(f'{value:.3g}'):,.0f}"
    digits = 3
    while digits < 12 and abs(value) * 10 ** (digits - 2) < 10.0:
        digits += 1
    return f"{float(f'{value:.3g}'):.{digits}f}".rstrip("0").rstrip(".")


def _ratio_cell(measurement: Measurement, name: str, against: str) -> str:
    value = ratio(measurement, name, (against,))
    return "-" if value is None else number(value)


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns, the first to the left and the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def timing_text(measurement: Measurement) -> str:
    """A workload's timings as a table for a terminal: microseconds, ratios, and the first call."""
    rows = [("peer", "us", "/ hand-written", "/ funcgrad", "first call us")]
    for name in peers.NAMES:
        if name not in measurement.timings:
            continue
        timing = measurement.timings[name]
        ratios = (_ratio_cell(measurement, name, peers.HAND_WRITTEN), _ratio_cell(measurement, name, peers.FUNCGRAD))
        rows.append((peers.BY_NAME[name].title, number(timing.microseconds), *ratios, number(timing.first)))
    return _section(measurement.workload, rows, measurement.failures)


def memory_text(usage: Usage) -> str:
    """A memory case as a table for a terminal."""
    rows = [("peer", "MB"), *((peers.BY_NAME[name].title, number(value)) for name, value in usage.megabytes.items())]
    return _section(usage.case, rows, usage.failures)


def _section(name: str, rows: Sequence[Sequence[str]], failures: Mapping[str, str]) -> str:
    parts = [f"{name}: {_SUMMARIES.get(name, '')}"]
    if len(rows) > 1:
        parts.append(_columns(rows))
    parts += [f"  {peers.BY_NAME[peer].title}: FAILED: {reason}" for peer, reason in failures.items()]
    return "\n".join(parts) + "\n"


def targets_text(verdicts: Sequence[Verdict]) -> str:
    """The targets as a table for a terminal."""
    rows = [("target", "measured", "limit", "outcome")]
    for verdict in verdicts:
        measured = "-" if verdict.measured is None else f"{number(verdict.measured)} {verdict.unit}"
        rows.append((verdict.wording, measured, f"{number(verdict.limit)} {verdict.unit}", verdict.outcome))
    return "targets\n" + _columns(rows) + "\n"


def machine_text(machine: Mapping[str, str]) -> str:
    """The machine in one line."""
    processor, system, *others = machine.items()
    return ", ".join([processor[1], system[1], *(f"{name} {version}" for name, version in others)])


_FIRST_COLUMNS = (peers.HAND_WRITTEN, peers.FUNCGRAD)


def markdown(run: Run) -> str:
    """The tables for the README: a workload a row, a peer a column, in microseconds; memory in MB; and the machine."""
    timed = [name for name in peers.NAMES if any(name in result.timings for result in run.measurements.values())]
    others = [name for name in timed if name not in _FIRST_COLUMNS]
    titles = [peers.BY_NAME[name].title for name in (*_FIRST_COLUMNS, *others)]
    titles.insert(2, "funcgrad / hand-written")
    blocks = []
    if run.measurements:
        rows = []
        for workload, result in run.measurements.items():
            cells = [number(result.timings[name].microseconds) if name in result.timings else "-" for name in (*_FIRST_COLUMNS, *others)]
            cells.insert(2, _ratio_cell(result, peers.FUNCGRAD, peers.HAND_WRITTEN))
            rows.append([f"`{workload}`", *cells])
        table = _markdown_table(["workload", *titles], rows)
        blocks.append(f"Microseconds, the median of interleaved rounds, one thread, float64.\n\n{table}")
    if run.usages:
        names = [name for name in peers.NAMES if any(name in usage.megabytes for usage in run.usages.values())]
        rows = [
            [_SUMMARIES[case], *(number(usage.megabytes[name]) if name in usage.megabytes else "-" for name in names)]
            for case, usage in run.usages.items()
        ]
        header = ["memory", *(peers.BY_NAME[name].title for name in names)]
        blocks.append(f"MB above the start, each in a fresh process.\n\n{_markdown_table(header, rows)}")
    blocks.append(f"Measured on {machine_text(run.machine)}.")
    return "\n\n".join(blocks) + "\n"


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def as_json(run: Run) -> str:
    """Everything that was measured, every round included."""
    document: dict[str, Any] = {
        "machine": run.machine,
        "workloads": {
            name: {
                "microseconds": {peer: timing.microseconds for peer, timing in result.timings.items()},
                "first_call": {peer: timing.first for peer, timing in result.timings.items()},
                "rounds": {peer: list(timing.rounds) for peer, timing in result.timings.items()},
                "calls": {peer: timing.calls for peer, timing in result.timings.items()},
                "failures": dict(result.failures),
            }
            for name, result in run.measurements.items()
        },
        "memory": {name: {"megabytes": usage.megabytes, "failures": usage.failures} for name, usage in run.usages.items()},
        "targets": [
            {"target": verdict.wording, "limit": verdict.limit, "measured": verdict.measured, "outcome": verdict.outcome}
            for verdict in run.verdicts
        ],
    }
    return json.dumps(document, indent=2) + "\n"
