"""Readings and warnings of `plink probe` beside other work on the machine, in the lab.

Beside nothing it should say nothing: every quiet run is a row, so that false alarms show.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchkit.arguments import add_lab, add_seed, lab_options
from benchkit.labs import BenchLab, bench_lab
from benchkit.other_work import KINDS, QUIET, other_work
from benchkit.readings import between, triplets_in_order
from benchkit.report import Report
from plink.formats import cluster as cluster_file
from plink.probes.echo.readings import DISTURBED

EXAMPLE = "--quiet-runs 3"
QUICK = "--racks 2 --hosts 2 --quiet-runs 1"

HEADER = (
    "other work",
    "directions called disturbed",
    "disturbance (10th, 50th, 90th percentile)",
    "triplets in order",
    "same rack, µs (median P10)",
    "other rack, µs",
    "samples (mean)",
    "end to end, s",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser, rates=None)
    add_seed(parser)
    parser.add_argument("--quiet-runs", type=int, default=10, help="beside nothing")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    kinds = [QUIET] * arguments.quiet_runs + [kind for kind in KINDS if kind != QUIET]
    with bench_lab(*lab_options(arguments)) as lab:
        rows = [_row(lab, kind) for kind in kinds]
    report.table(HEADER, rows)
    alarms = sum(int(row[1].split()[0]) for row in rows if row[0] == QUIET)
    report.at_most("directions called disturbed beside nothing", 0, alarms)


def _row(lab: BenchLab, kind: str) -> tuple[str, ...]:
    with other_work(kind):
        began = time.monotonic()
        out = lab.probe()
        seconds = time.monotonic() - began
    cluster = cluster_file.read_cluster(str(out))
    rtt = cluster_file.require_rtt(cluster, str(out))
    racks = [lab.racks[name] for name in cluster.names]
    if rtt.disturbance is None:
        raise SystemExit("error: this kernel does not tell how long processes wait for a processor")
    shares = rtt.disturbance[~np.isnan(rtt.disturbance)]
    near, far = (between(rtt.readings_us, racks, same=same) for same in (True, False))
    return (
        kind,
        f"{np.count_nonzero(shares >= DISTURBED)} of {len(shares)}",
        " / ".join(f"{value:.2f}" for value in np.percentile(shares, [10, 50, 90])),
        f"{100 * triplets_in_order(rtt.readings_us, racks):.2f} %",
        f"{np.median(near):.1f}",
        f"{np.median(far):.1f}",
        f"{rtt.samples[rtt.samples > 0].mean():.0f}",
        f"{seconds:.1f}",
    )
