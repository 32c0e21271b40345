"""A lone tensor's release on ranks that share this machine: measured, and predicted from one point.

What waking a thread, sending and so on take is fitted to the releases of 16 ranks; those of other
numbers of ranks, which share the same processors, follow from that.
"""

from __future__ import annotations

import os

import numpy as np

from benchkit.control.crew import Crew
from benchkit.control_simulated.effort import Effort
from benchkit.control_simulated.predicted import Floats, fit_processing, releases_s
from benchkit.control_simulated.released import Releases, measure_releases
from benchkit.report import Report

CALIBRATED = 16
ROUNDS = 6
MISS = 0.15
HEADER = (
    "ranks",
    "quarter, median, three quarters, ms",
    "predicted, ms",
    "",
    "mean of ranks, ms",
    "predicted, ms",
    "",
)


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """Measure all numbers of ranks, fit one, and predict the others."""
    # In turn, since the machine is faster in one minute than in another.
    rounds: dict[int, list[Floats]] = {ranks: [] for ranks in effort.real_ranks}
    for turn in range(ROUNDS):
        for ranks, times in rounds.items():
            releases = crew.ask(measure_releases, ranks, turn, effort.repetitions)
            times.append(_after_the_last(releases[:ranks]))
    found = {ranks: np.concatenate(times) for ranks, times in rounds.items()}
    processors = len(os.sched_getaffinity(0))
    processing = fit_processing(np.median(found[CALIBRATED], axis=0), processors)
    report.say(
        f"{processors} processors; fitted to {CALIBRATED} ranks, in µs: "
        + ", ".join(f"{name} {1e6 * each:.0f}" for name, each in vars(processing).items())
    )
    rows = []
    for ranks, times_s in found.items():
        simulated_s = np.median(releases_s(ranks, processing, processors), axis=0)
        last_s, mean_s = times_s[:, -1], float(np.median(times_s.mean(axis=1)))
        off = float(simulated_s[-1] / np.median(last_s)) - 1.0
        off_mean = float(simulated_s.mean()) / mean_s - 1.0
        quarters = ", ".join(f"{1e3 * one:.2f}" for one in np.percentile(last_s, [25, 50, 75]))
        rows.append(
            (
                f"{ranks} (fitted)" if ranks == CALIBRATED else str(ranks),
                quarters,
                f"{1e3 * simulated_s[-1]:.2f}",
                f"{100 * off:+.0f} %",
                f"{1e3 * mean_s:.2f}",
                f"{1e3 * simulated_s.mean():.2f}",
                f"{100 * off_mean:+.0f} %",
            )
        )
        if ranks != CALIBRATED:
            report.at_most(f"{ranks} ranks: predicted release, off by", MISS, abs(off))
    report.table(HEADER, rows, title="Released on all ranks, measured and predicted")


def _after_the_last(found: list[Releases]) -> Floats:
    """(R, P) of each repetition, ascending, from the last announcement on."""
    called = np.array([one.called for one in found])
    released = np.array([one.released for one in found])
    after_s: Floats = np.sort((released - called.max(axis=0)).T, axis=1)
    return after_s
