"""Gain of tuning on simulated networks that change.

  changes  throttled hosts and uplinks, a slow flow, a busy processor
  quiet    networks that do not change
  ranks    how long a decision takes for 1,000 ranks

Flows share links max-min fairly; readings have noise with heavy tails (plink/simulate). A run is
ten minutes, 120 windows of ten iterations; the change lasts from the tenth to the fortieth.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np

from benchkit.arguments import add_seed_count
from benchkit.report import Report
from plink.autotune.log.records import LogWriter, Start
from plink.autotune.tuner.interface import TunerOptions, Window
from plink.autotune.tuner.masters import Masters, forest_of
from plink.autotune.tuner.tuner import Tuner
from plink.base.replacing import replace
from plink.formats.plan import Plan, PlanRank
from plink.plans.measures import bytes_between
from plink.simulate.jobs import CHANGE, WINDOW_S, Job, Noise, TunedRun, first_forest, while_changed
from plink.simulate.jobs import run as simulate
from plink.simulate.network import State, even

EXAMPLE = "--seeds 6 --only changes"
QUICK = "--seeds 1 --only changes"

WINDOWS = 120
LIFTED = 40
RANKS = 1000
FLAT = even(8)
RACKS = even(16, groups=4, uplink=2.0)

CHANGES = (
    ("8 hosts, flat: a host at 40 %", FLAT, FLAT.with_host(0, 0.4)),
    ("8 hosts, flat: a host at 70 %", FLAT, FLAT.with_host(0, 0.7)),
    ("8 hosts, flat: two hosts at 50 %", FLAT, FLAT.with_host(0, 0.5).with_host(1, 0.5)),
    ("8 hosts, flat: a processor at 40 %", FLAT, replace(FLAT, adding_bytes_s={3: 0.25e9})),
    ("8 hosts, flat: a flow at 80 Mbit/s", FLAT, replace(FLAT, flows_bytes_s={(2, 5): 1e7})),
    ("4 racks of 4: a host at 40 %", RACKS, RACKS.with_host(5, 0.4)),
    ("4 racks of 4: an uplink at 20 %", RACKS, RACKS.with_uplink(2, 0.2)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_seed_count(parser, 10, "runs of each network, with other noise")
    parser.add_argument("--only", choices=["changes", "quiet", "ranks"], help="one of the tables")
    parser.add_argument("--log", help="write the first run with a throttled host, to be replayed")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Print the tables asked for."""
    if arguments.log is not None:
        _write_log(arguments.log)
    for name, show in (("changes", _changes), ("quiet", _quiet), ("ranks", _ranks)):
        if arguments.only in (None, name):
            show(range(arguments.seeds), report)


def _changes(seeds: Sequence[int], report: Report) -> None:
    """Medians over the seeds, and the worst."""
    header = ["network and change", "untouched", "tuned", "gain", "worst", "decisions", "after"]
    rows = []
    for name, usual, changed in CHANGES:
        at = while_changed(usual, changed, LIFTED)
        runs = [simulate(usual, at, WINDOWS, seed=seed) for seed in seeds]
        untouched_s = runs[0].job.iteration_s(runs[0].first, changed)
        tuned = [each.steps[CHANGE + 9].truth_s for each in runs]
        after = [each.steps[-1].truth_s / each.steps[CHANGE - 1].truth_s for each in runs]
        rows.append(
            [
                name,
                f"{untouched_s:.3f} s",
                f"{statistics.median(tuned):.3f} s",
                f"{untouched_s / statistics.median(tuned):.2f} x",
                f"{untouched_s / max(tuned):.2f} x",
                str(max(_decisions(each) for each in runs)),
                f"{max(after):.3f} x",
            ]
        )
    report.table(header, rows)
    gain = next(float(row[3].split()[0]) for row in rows)
    report.at_least("a host at 40 %: untouched over tuned", 1.27, gain, "x")
    worst = max(int(row[5]) for row in rows)
    report.at_most("decisions to within 10 % of the best", 10, worst)
    job = Job()
    slow = FLAT.with_host(0, 0.4)
    report.say(
        f"best static plan for a host at 40 %: {_best_static_s(job, slow):.3f} s an iteration"
    )


def _decisions(done: TunedRun) -> int:
    """From the change to within 10 % of the best time that the run came to."""
    times_s = [step.truth_s for step in done.steps[CHANGE:LIFTED]]
    return next(at for at, took_s in enumerate(times_s, 1) if took_s <= 1.1 * min(times_s))


def _best_static_s(job: Job, state: State) -> float:
    """Return the least time over shares of the first host, with equal shares for all others."""
    layout = Tuner(first_forest(FLAT), range(8), [0] * 8, 1.0).layout
    times_s = []
    for share in np.linspace(0.0, 0.25, 101):
        of_hosts = np.full(8, (1.0 - share) / 7)
        of_hosts[0] = share
        times_s.append(job.iteration_s(forest_of(Masters(np.ones(1), of_hosts), layout), state))
    return min(times_s)


def _quiet(seeds: Sequence[int], report: Report) -> None:
    rows = []
    for name, state in (("8 hosts, flat", FLAT), ("4 racks of 4", RACKS), ("4 hosts", even(4))):
        for busy in (0.05, 0.15, 0.3):
            noise = Noise(busy=busy)
            at = while_changed(state, state, 0)
            runs = [simulate(state, at, WINDOWS, seed=seed, noise=noise) for seed in seeds]
            changes = sum(len(each.changes()) for each in runs)
            rows.append([name, f"{busy:.0%}", str(len(runs)), str(changes)])
    report.table(["network", "noise of flows", "runs", "plan changes"], rows)


def _ranks(_: Sequence[int], report: Report) -> None:
    """The slowest decisions of a job in which a host is throttled, in seconds of processor."""
    state = even(RANKS)
    forest = first_forest(state)
    random = np.random.default_rng(0)
    tuner = Tuner(forest, range(RANKS), [0] * RANKS, 102e6)
    slowest_s = {"none": 0.0, "a new plan": 0.0}
    for number in range(30):
        sent = bytes_between(forest, 102e6)
        busy_s = np.where(sent > 0.0, 0.3, 0.0) * random.lognormal(0.0, 0.15, sent.shape)
        slow = 2.5 if number >= 20 and tuner.plan == 0 else 1.0
        busy_s[7] *= slow
        busy_s[:, 7] *= slow
        iteration_s = (0.1 + 0.3 * slow) * random.lognormal(0.0, 0.05, 10)
        nothing = np.zeros_like(sent)
        window = Window(tuner.plan, iteration_s, sent, busy_s, nothing, np.full(RANKS, 1e-4))
        begin_s = time.process_time()
        decision = tuner.decide(WINDOW_S * number, window)
        took_s = time.process_time() - begin_s
        kind = "none" if decision.forest is None else "a new plan"
        slowest_s[kind] = max(slowest_s[kind], took_s)
        forest = decision.forest or forest
    rows = [[name, f"{took_s:.2f} s"] for name, took_s in slowest_s.items()]
    report.table([f"decision, {RANKS} ranks", "slowest, seconds of processor"], rows)


def _write_log(path: str) -> None:
    forest = first_forest(FLAT)
    ranks = [PlanRank(f"n{rank}", f"10.0.0.{rank + 1}") for rank in range(8)]
    job, tuned = Job(noise=Noise()), TunerOptions()
    plan = Plan("flat", ranks, forest, round(job.size_bytes))
    tuner = Tuner(forest, plan.host_by_rank, plan.group_by_rank, plan.size_bytes, tuned)
    log = LogWriter(path, Start(plan, tuned))
    at = while_changed(FLAT, FLAT.with_host(0, 0.4), LIFTED)
    for number in range(WINDOWS):
        window = job.window(tuner.plan, forest, at(number))
        decision = tuner.decide(WINDOW_S * number, window)
        log.write(WINDOW_S * number, window, decision)
        forest = decision.forest or forest
