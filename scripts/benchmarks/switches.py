"""Cost of a change of plan to a running job, and a check of every sum.

A job on PyTorch's backend, whose daemon changes its plan after every window: flat, ring, star, two
levels, tree, other weights, other roots. Each iteration reduces four buckets of random whole
numbers and checks every sum; a wrong one ends the benchmark. `--where` is loopback, or the rate of
the links of a lab's hosts in two racks.

An iteration takes as long as on its slowest rank, all included. It is compared with the median of
iterations under its plan that are not near a change; one in which the plan changed with the slower
of the two.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchkit.arguments import add_seed, numbers, words
from benchkit.labs import LOOPBACK, Hosts, hosts_of, rack_numbers
from benchkit.plans import as_json, forests_of_all_shapes, plan_over, write_plan
from benchkit.processes import answers_of_ranks, own_daemon
from benchkit.report import Report

EXAMPLE = "--where loopback --ranks 4 --json switches.json"
QUICK = "--where loopback --ranks 4 --switches 5"
BUCKETS = 4
# Iterations after a change that are not what others are compared with.
NEAR = 2
LIMIT = 2.0

HEADER = (
    "ranks",
    "links",
    "buckets",
    "changes",
    "iteration, ms",
    "with the change: median",
    "worst",
    "the next: median",
    "worst",
    "all others: 99 of 100",
    "worst",
    "over 2 x: at a change",
    "elsewhere",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    where = f"{LOOPBACK},400mbit"
    parser.add_argument("--where", type=words, default=words(where), help="where ranks run")
    parser.add_argument("--ranks", type=numbers, default=[4, 8], help="of each job")
    parser.add_argument("--switches", type=int, default=25, help="of each job and kind of traffic")
    parser.add_argument("--large", type=int, default=2_000_000, help="bytes in an iteration")
    parser.add_argument("--small", type=int, default=16_000, help="bytes in an iteration")
    parser.add_argument("--window-s", type=float, default=0.2, help="between changes")
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    runs = []
    for where in arguments.where:
        for ranks in arguments.ranks:
            with hosts_of(where, ranks, ["--seed", str(arguments.seed)]) as hosts:
                answers = measure(hosts, arguments)
                shapes = forests_of_all_shapes(rack_numbers(hosts), arguments.seed)
            for traffic, measured in answers[0].items():
                of_ranks = [answer[traffic]["seconds"] for answer in answers]
                slowest_s = [max(seconds) for seconds in zip(*of_ranks, strict=True)]
                names = [name for name, _ in shapes]
                run_is = {"ranks": ranks, "where": where, "traffic": traffic, "shapes": names}
                runs.append({**measured, **run_is, "seconds": slowest_s})
    report.measured = runs
    show(runs, arguments, report)


def measure(hosts: Hosts, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the measurements of every rank."""
    names = hosts.in_rack_order()
    master = hosts.addresses[names[0]]
    shapes = forests_of_all_shapes(rack_numbers(hosts), arguments.seed)
    forests = [as_json(forest) for _, forest in shapes]
    secret = secrets.token_hex()
    with tempfile.TemporaryDirectory(prefix="plink-switches-") as folder:
        path = str(write_plan(plan_over(hosts, *shapes[0], 1), Path(folder, "plan.json")))
        served = {"kind": "cycling", "plan": path, "forests": forests}
        own = {**served, "secret": secret, "address": master}
        with own_daemon(own, hosts.command_on(names[0])) as (_, port):
            traffic = {"large": arguments.large, "small": arguments.small}
            return answers_of_ranks(
                hosts,
                names,
                "switch_rank",
                environment={
                    "PLINK_PLAN": path,
                    "PLINK_AUTOTUNE": f"{master}:{port}",
                    "PLINK_AUTOTUNE_SECRET": secret,
                    "PLINK_AUTOTUNE_WINDOW": str(arguments.window_s),
                },
                traffic={name: [size // BUCKETS] * BUCKETS for name, size in traffic.items()},
                switches=arguments.switches,
                seed=arguments.seed,
            )


def show(runs: Sequence[dict[str, Any]], arguments: argparse.Namespace, report: Report) -> None:
    """Print the table."""
    rows = []
    for run in runs:
        costs = costs_of(run["seconds"], run["plans"], run["first"], len(run["shapes"]))
        size = arguments.large if run["traffic"] == "large" else arguments.small
        rows.append(
            (
                run["ranks"],
                run["where"],
                f"{BUCKETS} of {size // BUCKETS:,} bytes",
                len(costs.at),
                f"{1e3 * statistics.median(run['seconds']):.2f}",
                *(f"{value:.2f} x" for value in costs.worst_and_median()),
                costs.over(costs.at + costs.after),
                costs.over(costs.others),
            )
        )
        if run["traffic"] == "large":
            over = sum(value > LIMIT for value in costs.at + costs.after)
            what = f"{run['ranks']} ranks, {run['where']}, large buckets"
            report.at_most(f"{what}: iterations at a change over {LIMIT:g} x", 0, over)
    report.table(HEADER, rows)


@dataclass(frozen=True)
class Costs:
    """Times as multiples of the median.

    Args:
        at: of iterations in which the plan changed.
        after: of those that follow.
        others: of all others.
    """

    at: list[float]
    after: list[float]
    others: list[float]

    def worst_and_median(self) -> list[float]:
        """Median and worst at a change, and after it; 99th percentile and worst of all others."""
        found = []
        for values in (self.at, self.after):
            found += [statistics.median(values), max(values)]
        return [*found, sorted(self.others)[int(0.99 * len(self.others))], max(self.others)]

    def over(self, values: Sequence[float]) -> str:
        """Return how many are over the limit."""
        return f"{sum(value > LIMIT for value in values)} of {len(values)}"


def costs_of(seconds: Sequence[float], plans: Sequence[int], first: int, shapes: int) -> Costs:
    """From what each iteration took.

    Args:
        seconds: of each iteration.
        plans: number of the plan after each.
        first: number of the plan before all.
        shapes: how many there are; plans take them in turn.
    """
    before = [first, *plans[:-1]]
    changes = [index for index, plan in enumerate(plans) if plan != before[index]]
    near = {change + step for change in changes for step in range(NEAR)}
    of_shape: dict[int, list[float]] = {}
    for index, plan in enumerate(plans):
        # The very first one begins a job.
        if index not in near and index > 0:
            of_shape.setdefault(plan % shapes, []).append(seconds[index])
    median_s = {shape: statistics.median(values) for shape, values in of_shape.items()}
    at, after, others = [], [], []
    for index, plan in enumerate(plans):
        both = {plan % shapes, before[index] % shapes}
        if index == 0 or not both <= median_s.keys():
            continue
        slower_s = max(median_s[shape] for shape in both)
        share = seconds[index] / slower_s
        if index in changes:
            at.append(share)
        elif index in near:
            after.append(share)
        else:
            others.append(share)
    return Costs(at, after, others)
