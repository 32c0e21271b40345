"""Cost of hosts that fail in the middle of a probe run: by default a tenth of 64, all at once.

With --each every kind of fault alone, for which --racks 2 --hosts 3 are enough.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchkit.arguments import add_lab, lab_options
from benchkit.fault_runs import Outcome, probe_with_faults, seconds_until_clean, spared_pairs
from benchkit.labs import BenchLab, bench_lab
from benchkit.report import Report
from labkit.faults import KINDS, Fault

EXAMPLE = "--each --racks 2 --hosts 3 --tool echo"
QUICK = "--racks 2 --hosts 3 --count 100"

HEADER = ("faults", "exit code", "end to end, s", "healthy = 1", "pairs read", "of those spared")
EACH_HEADER = (*HEADER, "hosts clean after, s")
# What happens to the hosts of a tenth, in turn: (kind, share of the rounds after which).
TENTH = (
    ("kill", 0.1),
    ("freeze", 0.2),
    ("cut", 0.3),
    ("silence", 0.4),
    ("mute", 0.1),
    ("down", 0.5),
    ("blink", 0.6),
)
_TIMEOUT_S = 1800
_CLEAN_WITHIN_S = 75


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser, racks=8, hosts="8", rates=None)
    parser.add_argument("--count", default="300", help="of plink probe")
    parser.add_argument("--runs", type=int, default=1, help="of each, in turn")
    parser.add_argument("--tool", default="echo", help="of plink probe")
    parser.add_argument("--timeout", default="2", help="of plink probe")
    parser.add_argument("--each", action="store_true", help="every kind of fault alone")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    options = ["--tool", arguments.tool, "--timeout", arguments.timeout]
    if arguments.tool != "iperf3":
        options += ("--count", arguments.count)
    with bench_lab(*lab_options(arguments)) as lab:
        if arguments.each:
            _each(lab, options, report)
        else:
            _tenth(lab, options, arguments.runs, report)


def _tenth(lab: BenchLab, options: Sequence[str], runs: int, report: Report) -> None:
    names = lab.given()
    script = script_for(names)
    healthy, failing = [], []
    for _ in range(runs):
        healthy.append(_run(lab, (), options))
        failing.append(_run(lab, script, options))
        _wait_until_clean(lab)
    healthy_s = statistics.median(outcome.seconds for outcome in healthy)
    kinds = ", ".join(fault.kind for fault in script)
    rows = [_row("none", outcome, names, (), healthy_s) for outcome in healthy]
    rows += [
        _row(f"{len(script)} hosts: {kinds}", outcome, names, script, healthy_s)
        for outcome in failing
    ]
    report.table(HEADER, rows)
    failing_s = statistics.median(outcome.seconds for outcome in failing)
    report.at_most("a tenth of the hosts failing: time", 1.5, failing_s / healthy_s, "x")
    _ask_for_the_spared(failing, [(names, script)] * runs, report)


def _ask_for_the_spared(
    outcomes: Sequence[Outcome],
    cases: Sequence[tuple[Sequence[str], Sequence[Fault]]],
    report: Report,
) -> None:
    """All pairs that no fault concerns are read."""
    lost = sum(
        len(spared_pairs(names, script) - outcome.measured)
        for outcome, (names, script) in zip(outcomes, cases, strict=True)
    )
    report.at_most("pairs of healthy hosts not read", 0, lost)


def script_for(names: Sequence[str]) -> list[Fault]:
    """A tenth of the hosts (rounded up), spread over the list, each failing in its own way."""
    number = -(-len(names) // 10)
    step = len(names) // number
    return [
        Fault(names[k * step], round((len(names) - 1) * share), kind)
        for k, (kind, share) in enumerate(TENTH[:number])
    ]


def _each(lab: BenchLab, options: Sequence[str], report: Report) -> None:
    names = lab.given()
    healthy = _run(lab, (), options)
    rows = [(*_row("none", healthy, names, (), healthy.seconds), "0.0")]
    half = tuple(names[: len(names) // 2])
    others = {"one-way": names[-1:], "partition": half[1:]}
    outcomes, cases = [], []
    for kind in KINDS:
        script = [Fault(names[0], 1, kind, tuple(others.get(kind, ())))]
        outcomes.append(_run(lab, script, options))
        cases.append((names, script))
        row = _row(kind, outcomes[-1], names, script, healthy.seconds)
        rows.append((*row, _wait_until_clean(lab)))
    report.table(EACH_HEADER, rows)
    _ask_for_the_spared(outcomes, cases, report)


def _run(lab: BenchLab, script: Sequence[Fault], options: Sequence[str]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "cluster.json")
        return probe_with_faults(lab.dir, script, out, *options, timeout_s=_TIMEOUT_S)


def _wait_until_clean(lab: BenchLab) -> str:
    seconds = seconds_until_clean(lab.dir, _CLEAN_WITHIN_S)
    return f"NOT WITHIN {_CLEAN_WITHIN_S}" if seconds is None else f"{seconds:.1f}"


def _row(
    name: str, outcome: Outcome, names: Sequence[str], script: Sequence[Fault], healthy_s: float
) -> tuple[str, ...]:
    owed = spared_pairs(names, script)
    return (
        name,
        str(outcome.code),
        f"{outcome.seconds:.1f}",
        f"{outcome.seconds / healthy_s:.2f}",
        f"{len(outcome.measured)} of {len(names) * (len(names) - 1)}",
        f"{len(outcome.measured & owed)} of {len(owed)}",
    )
