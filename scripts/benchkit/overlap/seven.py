"""Published networks in one table: what a user may choose, beside DistributedDataParallel."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from benchkit.control.crew import Crew
from benchkit.overlap.iterations import Found, Subject, measure_ways, slowest_s
from benchkit.overlap.ways import (
    ASC,
    AUTO,
    DDP,
    DDP_ON_GLOO,
    FP16,
    LAZY,
    MG,
    OPTIMAL,
    OPTIMAL_ONE,
    POWER_SGD,
)
from benchkit.report import Report
from plink.training.overlap.bound import lower_bound_s

WAYS = (DDP_ON_GLOO, DDP, FP16, POWER_SGD, MG, LAZY, ASC, OPTIMAL_ONE, OPTIMAL, AUTO)
# That change nothing but when gradients are sent.
SCHEDULES = (MG, LAZY, ASC, OPTIMAL_ONE, OPTIMAL)


def show(crew: Crew, subjects: Sequence[Subject], report: Report) -> None:
    """One row for each, as its figures come."""
    medians: dict[str, dict[str, float]] = {}

    report.say(
        f"{crew.ranks} ranks. Seconds an iteration takes in the median of the slowest rank, and in "
        "brackets how many times as long DDP on plink takes"
    )
    rows = (
        _row(subject, crew.ask(measure_ways, replace(subject, ways=WAYS)), medians)
        for subject in subjects
    )
    report.table(("network", *WAYS, "auto's collectives, settled after passes", "bound"), rows)
    for name, took_s in medians.items():
        best_s = min(took_s[way] for way in SCHEDULES)
        report.at_least(f"{name}: DDP on plink / auto", 0.98, took_s[DDP] / took_s[AUTO])
        report.at_most(f"{name}: auto / the best schedule", 1.03, took_s[AUTO] / best_s)


def _row(
    subject: Subject, found: Sequence[Found], medians: dict[str, dict[str, float]]
) -> tuple[str, ...]:
    took_s = {
        way: statistics.median(slowest_s([one.ways[way] for one in found])) for way in found[0].ways
    }
    medians[subject.network] = took_s
    computing_s = statistics.median(slowest_s([one.computing for one in found]))
    bound_s = computing_s - subject.pace.backward_s
    bound_s += lower_bound_s(subject.profile, found[0].network)
    cells = [f"{took_s[way]:.3f} ({took_s[DDP] / took_s[way]:.2f})" for way in WAYS]
    first = found[0]
    return (
        subject.network,
        *cells,
        f"{first.auto_cuts}, {first.auto_passes}",
        f"{bound_s:.3f} ({took_s[DDP] / bound_s:.2f})",
    )
