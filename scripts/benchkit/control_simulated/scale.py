"""How long it takes, and how much memory, to simulate very many ranks."""

from __future__ import annotations

import multiprocessing
import resource
import time

from benchkit.control_simulated.effort import Effort
from benchkit.control_simulated.resnet import overlapped_workload
from benchkit.control_simulated.trainings import FIRST_ITERATIONS, training_of
from benchkit.report import Report
from plink.simulate.control.data import DataPlane
from plink.training.control.settings import Settings

COMPUTE_S = 0.18
DATA = DataPlane(latency_s=1e-3, bytes_s=5e9)
# As Pumma et al. have it, with as many ranks.
SETTINGS = Settings(cycle_s=0.005)
# As Romero et al. have it at that scale.
GROUPS = 5
MODES = ("tree", "bitvector")
MOST_S = 600.0
HEADER = (
    "mode",
    "ranks",
    "iterations",
    "an iteration, ms",
    "messages",
    "took, s",
    "processor, s",
    "GB",
)


def show(effort: Effort, report: Report) -> None:
    """Each in a process of its own, whose memory is known at its end."""
    context = multiprocessing.get_context("spawn")
    rows = []
    for mode in MODES:
        with context.Pool(1) as pool:
            row, took_s = pool.apply(simulate_scale, (mode, effort))
        rows.append(row)
        name = f"{effort.scale_ranks} ranks x {effort.scale_iterations} iterations"
        report.at_most(f"{name}, {mode}", MOST_S, took_s, "s")
    report.table(HEADER, rows, title="Simulated at scale")


def simulate_scale(mode: str, effort: Effort) -> tuple[tuple[str, ...], float]:
    """A row of the table, and how long it took."""
    began_s, used_s = time.perf_counter(), time.process_time()
    training = training_of(
        mode,
        effort.scale_ranks,
        overlapped_workload(COMPUTE_S, GROUPS),
        data=DATA,
        settings=SETTINGS,
        seed=effort.seed,
    )
    training.run(FIRST_ITERATIONS)
    iterations = training.run(effort.scale_iterations - FIRST_ITERATIONS)
    took_s, used_s = time.perf_counter() - began_s, time.process_time() - used_s
    row = (
        mode,
        str(effort.scale_ranks),
        str(effort.scale_iterations),
        f"{1e3 * sum(one.took_s for one in iterations) / len(iterations):.1f}",
        str(training.messages),
        f"{took_s:.0f}",
        f"{used_s:.0f}",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f}",
    )
    return row, took_s
