"""Value of passes, in the lab: how far the least of a few short meetings of every pair lies
above the least of many, beside one long meeting with as many probes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from benchkit.arguments import add_lab, add_seed, lab_options
from benchkit.labs import bench_lab
from benchkit.readings import TimedSink, both_directions
from benchkit.report import Report
from plink.measure.probing.passes import arrange_rounds
from plink.probes.echo import coordinator
from plink.probes.options import EchoOptions
from plink.probes.reach import ReachedHost
from plink.probes.rounds import round_robin
from plink.probes.samples import MeasuringJob, Rounds

EXAMPLE = "--racks 2 --hosts 4 --passes 6"
QUICK = "--racks 2 --hosts 2 --passes 5"

READING = 10.0
COMPARED = (1, 2, 3, 5)
HEADER = (
    "passes",
    "probes a direction and pass",
    "above the least of all, % (median)",
    "95th percentile",
    "within 2 %",
    "probing, s",
)

Readings = npt.NDArray[np.float64]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser, rates=None)
    add_seed(parser)
    count = EchoOptions().count
    parser.add_argument("--count", type=int, default=count, help="probes a direction and pass")
    parser.add_argument("--passes", type=int, default=12, help="that the truth is drawn from")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    with bench_lab(*lab_options(arguments)) as lab, lab.reach() as reached:
        short = _measure(reached.hosts, arguments.count, arguments.passes, arguments.seed)
        rows = [_long(reached.hosts, arguments.count * most, short) for most in COMPARED]
    truth_us = short.readings_us.min(axis=0)
    first = [
        _row(most, arguments.count, short.readings_us[:most].min(axis=0), truth_us, moment)
        for most, moment in ((most, short.moments_s[most - 1]) for most in COMPARED)
    ]
    report.table(HEADER, [*first, *rows])


@dataclass
class Measured:
    """Result of a run.

    Args:
        readings_us: (passes, directions).
        moments_s: when each pass ended, since the run began.
    """

    readings_us: Readings
    moments_s: Sequence[float]


@dataclass
class Passes:
    """Further rounds, one whole pass after the other, and what each of them read."""

    hosts: int
    left: int
    seed: int
    sink: TimedSink = field(default_factory=TimedSink)
    read_us: list[list[float]] = field(default_factory=list)
    moments_s: list[float] = field(default_factory=list)
    began_s: float = field(default_factory=time.monotonic)

    def more(self) -> Rounds:
        """Keep what the last pass read, and begin the next."""
        last = self.sink.last
        self.read_us.append([last[pair].rtt_us[READING] for pair in sorted(last)])
        self.moments_s.append(time.monotonic() - self.began_s)
        self.left -= 1
        pairs = (pair for pair in last if pair[0] < pair[1])
        return arrange_rounds(self.hosts, pairs, (self.seed, self.left)) if self.left else ()


def _measure(hosts: Sequence[ReachedHost], count: int, passes: int, seed: int) -> Measured:
    run = Passes(len(hosts), passes, seed)
    rounds = round_robin(len(hosts))
    job = MeasuringJob(
        hosts,
        both_directions(rounds),
        rounds,
        EchoOptions(count=count, percentile=READING),
        timeout_s=5.0,
        concurrency=1,
        more=run.more,
    )
    coordinator.measure(job, run.sink)
    return Measured(np.array(run.read_us), run.moments_s)


def _long(hosts: Sequence[ReachedHost], count: int, short: Measured) -> tuple[str, ...]:
    found = _measure(hosts, count, 1, 0)
    truth_us = short.readings_us.min(axis=0)
    return _row(1, count, found.readings_us[0], truth_us, found.moments_s[0])


def _row(
    passes: int, count: int, found_us: Readings, truth_us: Readings, seconds: float
) -> tuple[str, ...]:
    above = 100.0 * (found_us / truth_us - 1.0)
    return (
        f"{passes}",
        f"{count}",
        f"{np.median(above):.1f}",
        f"{np.percentile(above, 95):.1f}",
        f"{np.mean(above <= 2.0):.0%}",
        f"{seconds:.1f}",
    )
