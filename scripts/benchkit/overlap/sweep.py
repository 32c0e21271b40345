"""Whether what lazy all-reduce waits for is chosen well: beside a sweep, in turn."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from benchkit.control.crew import Crew
from benchkit.overlap.iterations import Subject, measure_ways, slowest_s
from benchkit.overlap.ways import AUTO, DDP, PLANNED_LAZY, SWEEP, lazies
from benchkit.report import Report, spread
from plink.training.overlap.schedule import Schedule

WAYS = (DDP, *(f"lazy, 1/{part}" for part in SWEEP), PLANNED_LAZY, AUTO)


def show(crew: Crew, subjects: Sequence[Subject], report: Report) -> None:
    """A table for each network."""
    for subject in subjects:
        found = crew.ask(measure_ways, replace(subject, ways=WAYS))
        ways = lazies(subject.profile, found[0].network)
        seconds = {way: slowest_s([one.ways[way] for one in found]) for way in found[0].ways}
        rows = []
        for way, took_s in seconds.items():
            schedule = ways[way].schedule if way in ways else None
            count = len(schedule.cuts) if isinstance(schedule, Schedule) else ""
            rows.append((way, count, spread(took_s)))
        report.table(("way", "collectives", "an iteration, s"), rows, title=subject.network)
        medians_s = {way: statistics.median(took_s) for way, took_s in seconds.items()}
        best_s = min(medians_s[f"lazy, 1/{part}"] for part in SWEEP)
        name = f"{subject.network}: lazy as planned / the best of the sweep"
        report.at_most(name, 1.03, medians_s[PLANNED_LAZY] / best_s)
