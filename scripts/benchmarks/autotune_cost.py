"""Cost of tuning to a job: the same iterations with the daemon and without, in turn.

Every rank has two groups, one of which reports to `plink autotune` with the defaults of stride and
window; they reduce the same buckets and compute nothing, for some seconds each in turn. Runs are
links (loopback, or the rate of a lab's), ranks, and buckets: five of large gradients (of `--shaped`
bytes in all in a lab), or three tiny ones. Each pair of turns gives a ratio; the interval holds
their median with 95 %, from 10,000 draws of the pairs.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchkit.arguments import add_seed, words
from benchkit.labs import LOOPBACK, Hosts, hosts_of
from benchkit.plans import plan_over, write_plan
from benchkit.processes import answers_of_ranks, autotuning
from benchkit.report import Report
from plink.plans.regroup import flat

EXAMPLE = "--runs loopback:2:small --seconds 20"
QUICK = "--runs loopback:2:small --seconds 5"
RUNS = "loopback:2:large,loopback:2:small,1gbit:4:large"
DRAWS = 10_000
HEADER = (
    "ranks",
    "links",
    "buckets",
    "an iteration alone",
    "tuned",
    "costs (95 %)",
    "CPU of a rank alone",
    "tuned",
    "pairs",
    "windows",
    "plans",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--runs", type=words, default=words(RUNS), help="links:ranks:buckets")
    parser.add_argument("--large", type=int, default=102_000_000, help="bytes, on loopback")
    parser.add_argument("--small", type=int, default=12_000, help="bytes")
    parser.add_argument("--shaped", type=int, default=25_500_000, help="large bytes, in a lab")
    parser.add_argument("--seconds", type=float, default=50.0, help="of a run")
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    runs = []
    lab = ["--seed", str(arguments.seed), "--uplink-rate", "none"]
    for text in arguments.runs:
        where, ranks, kind = text.split(":")
        large = arguments.large if where == LOOPBACK else arguments.shaped
        sizes = [large // 20 * 4] * 5 if kind == "large" else [arguments.small // 12 * 4] * 3
        with hosts_of(where, int(ranks), lab) as hosts:
            answers, windows = measure(hosts, sizes, arguments.seconds)
        done = {"where": where, "ranks": int(ranks), "sizes": sizes, "windows": windows}
        runs.append({**done, "answers": answers})
    report.measured = runs
    rows = [row(done, arguments.seed) for done in runs]
    report.table(HEADER, rows)
    for done, cells in zip(runs, rows, strict=True):
        # On loopback the machine itself varies by more.
        if done["where"] != LOOPBACK:
            costs = float(cells[5].split()[0])
            report.at_most(f"cost of being tuned, {done['where']}", 1.0, costs, "%")


def measure(
    hosts: Hosts, sizes_bytes: Sequence[int], seconds: float
) -> tuple[list[dict[str, Any]], int]:
    """Return the measurements of every rank, and the number of windows reported to the daemon."""
    names = hosts.in_rack_order()
    master = hosts.addresses[names[0]]
    plan = plan_over(hosts, "flat", flat(len(names)), sum(sizes_bytes))
    with tempfile.TemporaryDirectory(prefix="plink-cost-") as folder:
        path, log = Path(folder, "plan.json"), Path(folder, "autotune.log")
        write_plan(plan, path)
        with autotuning(path, master, log, hosts.command_on(names[0])) as daemon:
            answers = answers_of_ranks(
                hosts,
                names,
                "cost_rank",
                environment=dict(daemon.environment),
                sizes_bytes=sizes_bytes,
                seconds=seconds,
            )
        return answers, len(daemon.entries())


def row(done: dict[str, Any], seed: int) -> list[str]:
    """A row of the table; a turn takes as long as on its slowest rank."""
    by_turn = list(zip(*(answer["turns"] for answer in done["answers"]), strict=True))
    seconds: dict[str, list[float]] = {"plain": [], "tuned": []}
    cpu_s: dict[str, list[float]] = {"plain": [], "tuned": []}
    for of_ranks in by_turn:
        name = of_ranks[0]["group"]
        seconds[name].append(max(one["seconds"] for one in of_ranks))
        cpu_s[name].append(statistics.mean(one["cpu_s"] for one in of_ranks))
    ratios = np.array(seconds["tuned"]) / np.array(seconds["plain"])
    drawn = np.random.default_rng(seed).choice(ratios, (DRAWS, len(ratios)))
    least, most = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    shares = [100.0 * (value - 1.0) for value in (np.median(ratios), least, most)]
    plain_s, tuned_s = (statistics.median(seconds[name]) for name in ("plain", "tuned"))
    plain_cpu_s, tuned_cpu_s = (statistics.median(cpu_s[name]) for name in ("plain", "tuned"))
    return [
        str(done["ranks"]),
        done["where"],
        f"{len(done['sizes'])} of {done['sizes'][0]:,} bytes",
        f"{1e3 * plain_s:.3f} ms",
        f"{1e3 * tuned_s:.3f} ms",
        "{:+.2f} % ({:+.2f} to {:+.2f})".format(*shares),
        f"{1e3 * plain_cpu_s:.3f} ms",
        f"{1e3 * tuned_cpu_s:.3f} ms",
        str(len(ratios)),
        str(done["windows"]),
        str(max(answer["plan"] for answer in done["answers"])),
    ]
