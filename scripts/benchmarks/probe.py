"""Accuracy and time of `plink probe`, in the lab, whose racks are known.

A run is a tool with its default options, or a tool and a count, in one pass. The second table is
what a round takes beyond its packets: schedule, greeting, reporting.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchkit.arguments import add_lab, add_seeds, lab_options, words
from benchkit.labs import BenchLab, bench_lab
from benchkit.readings import TimedSink, between, both_directions, triplets_in_order
from benchkit.report import Report, spread
from plink.formats import cluster as cluster_file
from plink.formats.matrices import Matrix
from plink.probes.echo import coordinator
from plink.probes.options import EchoOptions
from plink.probes.reach import ReachedHost
from plink.probes.rounds import round_robin
from plink.probes.samples import MeasuringJob

EXAMPLE = "--racks 8 --hosts 8 --seeds 1 --runs echo"
QUICK = "--racks 2 --hosts 2 --seeds 1 --runs echo"
# Probes of a direction in the runs whose time beyond the packets is measured.
OVERHEAD_COUNT = 100
# Not many more than a machine has processors for: others would wait for those.
FREE_HOSTS = 4
FREE_RUNS = 10
RUNS = "echo,dpdk,echo:1000,dpdk:1000,fping:30"
OVERHEAD_HEADER = ("pace", "meetings", "beyond the packets, ms a meeting")

HEADER = (
    "tool x count",
    "triplets in order",
    "same rack, µs (P10: least, median, most)",
    "other rack, µs",
    "width, % (least, median, most)",
    "end to end, s",
    "of which probing",
)


@dataclass(frozen=True)
class Result:
    """Result of one run: matrices in µs, the rack of every host, and the time it took.

    The 90th percentile is there where a count was asked for.
    """

    p10_us: Matrix
    p90_us: Matrix | None
    racks: list[str]
    seconds: float
    probing_s: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser, rates=None)
    add_seeds(parser)
    parser.add_argument("--runs", type=words, default=words(RUNS), help="tool, or tool:count")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the tables."""
    overheads: list[tuple[str, ...]] = []
    results: dict[str, list[Result]] = {}
    for seed in arguments.seeds:
        with bench_lab(*lab_options(arguments, seed=seed)) as lab:
            for run in arguments.runs:
                results.setdefault(run, []).append(_measure(lab, run))
            overheads += _overhead_rows(lab)
    report.table(HEADER, [_row(run, results[run]) for run in arguments.runs])
    report.table(OVERHEAD_HEADER, overheads)
    for run, found in results.items():
        _set_targets(run, found, report)
    most_ms = max(float(row[2]) for row in overheads)
    report.at_most("a round beyond its packets", 5.0, most_ms, "ms")


def _set_targets(run: str, results: Sequence[Result], report: Report) -> None:
    if not run.startswith("fping"):
        share = min(triplets_in_order(result.p10_us, result.racks) for result in results)
        report.at_least(f"{run}: triplets in order", 99.5, 100 * share, "%")
    if run.startswith("dpdk") and results[0].p90_us is not None:
        report.at_most(f"{run}: width of readings", 15, float(np.median(_widths(results))), "%")
    asked_s = {16: 15, 64: 90}.get(len(results[0].racks))
    if run == "echo" and asked_s is not None:
        slowest_s = max(result.seconds for result in results)
        report.at_most(f"{run}: end to end", asked_s, slowest_s, "s")


def _measure(lab: BenchLab, run: str) -> Result:
    began = time.monotonic()
    tool, _, count = run.partition(":")
    options: tuple[str, ...] = ("--tool", tool)
    if count:
        # The 90th percentile is kept beside the 10th, which is looked at all the same.
        options += ("--count", count, "--percentile", "90", "--passes", "1")
    out = lab.probe(*options)
    seconds = time.monotonic() - began
    cluster = cluster_file.read_cluster(str(out))
    rtt = cluster_file.require_rtt(cluster, str(out))
    racks = [lab.racks[name] for name in cluster.names]
    return Result(rtt.rtt_us[10.0], rtt.rtt_us.get(90.0), racks, seconds, rtt.seconds)


def _row(run: str, results: list[Result]) -> tuple[str, ...]:
    shares = [triplets_in_order(result.p10_us, result.racks) for result in results]
    same, other = (
        np.concatenate([between(result.p10_us, result.racks, same=same) for result in results])
        for same in (True, False)
    )
    widths = _widths(results)
    whole_s = statistics.median(result.seconds for result in results)
    probing_s = statistics.median(result.probing_s for result in results)
    return (
        run.replace(":", " x "),
        ", ".join(f"{100 * share:.2f} %" for share in shares),
        spread(same.tolist(), 1),
        spread(other.tolist(), 1),
        spread(widths.tolist(), 1) if len(widths) else "–",
        f"{whole_s:.1f}",
        f"{probing_s:.1f} s, {100 * probing_s / whole_s:.0f} %",
    )


def _widths(results: Sequence[Result]) -> Matrix:
    """(P90 - P10) / P10 of all directions, in %; none where only the P10 was kept."""
    widths = [
        ((result.p90_us - result.p10_us) / result.p10_us).ravel()
        for result in results
        if result.p90_us is not None
    ]
    found: Matrix = 100 * np.concatenate([np.empty(0), *widths])
    return found[~np.isnan(found)]


def _overhead_rows(lab: BenchLab) -> list[tuple[str, ...]]:
    """Return a row for meetings one after the other, and one for those at the hosts' own pace."""
    with lab.reach() as reached:
        granted = _timed_run(reached.hosts, 1)
        few = reached.hosts[:FREE_HOSTS]
        free = [_timed_run(few, len(few)) for _ in range(FREE_RUNS)]
    of_hosts = [run.of_host(host).beyond_packets_ms() for run in free for host in range(len(few))]
    meetings = sum(len(run.first) // 2 for run in free)
    return [
        ("one after the other", str(len(granted.first) // 2), f"{granted.beyond_packets_ms():.2f}"),
        (f"free, {FREE_HOSTS} hosts", str(meetings), f"{statistics.mean(of_hosts):.2f}"),
    ]


def _timed_run(hosts: Sequence[ReachedHost], concurrency: int) -> TimedSink:
    sink = TimedSink()
    rounds = round_robin(len(hosts))
    job = MeasuringJob(
        hosts,
        both_directions(rounds),
        rounds,
        EchoOptions(count=OVERHEAD_COUNT),
        timeout_s=5.0,
        concurrency=concurrency,
    )
    coordinator.measure(job, sink)
    return sink
