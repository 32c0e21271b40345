"""Time of `init_process_group`, by plink and by Gloo in turn, on hosts of the lab.

The same processes, with PyTorch imported before, make and destroy one group after the other. They
meet before each; a repetition takes as long as on its slowest rank.

With `--simulated 1000` there is no lab: one real rank of plink's sets up among 999 peers that a
single process plays over loopback, in PyTorch's store and with the real hand-shake. It is the
first, the middle and the last rank in turn.
"""

from __future__ import annotations

import argparse
import statistics
from random import Random
from typing import Any

from benchkit.arguments import add_lab, add_seed, lab_options, words
from benchkit.labs import bench_lab
from benchkit.processes import answer, answers_of_ranks, next_line, program, start_processes, tell
from benchkit.report import Report

EXAMPLE = "--congestion-control reno --repetitions 7"
QUICK = "--racks 1 --hosts 2 --repetitions 2"
MOST_SIMULATED_S = 5.0
# Below those that the kernel gives to callers.
PORTS = (20_000, 30_000)
HEADER = ("backend", "median, s", "least, s", "against the last", "CPU s per rank")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser, hops=0, rates=None)
    add_seed(parser)
    parser.add_argument("--backends", type=words, default=["plink", "gloo"], help="in turn")
    parser.add_argument("--repetitions", type=int, default=9, help="of each")
    parser.add_argument("--simulated", metavar="RANKS", type=int, help="one rank among so many")
    parser.add_argument("--workers", type=int, default=2, help="of each simulated rank")
    parser.add_argument("--warmups", type=int, default=2, help="before these, not counted")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    if arguments.simulated:
        show_simulated(arguments, report)
        return
    with bench_lab(*lab_options(arguments)) as lab:
        answers = answers_of_ranks(
            lab,
            lab.in_rack_order(),
            "init_rank",
            backends=arguments.backends,
            repetitions=arguments.repetitions,
            warmups=arguments.warmups,
        )
    show(answers, report)


def show(answers: list[dict[str, Any]], report: Report) -> None:
    """Print the table."""
    rows = []
    for name in answers[0]["seconds"]:
        by_repetition = zip(*(answer["seconds"][name] for answer in answers), strict=True)
        seconds = [max(of_ranks) for of_ranks in by_repetition]
        cpu_s = sum(answer["cpu_s"][name] for answer in answers) / len(answers) / len(seconds)
        rows.append((name, statistics.median(seconds), min(seconds), cpu_s))
    last_s = rows[-1][1]
    report.table(
        HEADER,
        [
            (name, f"{median_s:.4f}", f"{least_s:.4f}", f"{median_s / last_s:.2f}", f"{cpu_s:.4f}")
            for name, median_s, least_s, cpu_s in rows
        ],
    )
    by_name = {name: median_s for name, median_s, _, _ in rows}
    if {"plink", "gloo"} <= by_name.keys():
        report.at_most("plink over Gloo", 1.0, by_name["plink"] / by_name["gloo"], "x")


def show_simulated(arguments: argparse.Namespace, report: Report) -> None:
    """Measure one rank among many simulated ones, and print the table."""
    ranks, chance = arguments.simulated, Random(arguments.seed)
    rows = []
    for rank in sorted({0, ranks // 2, ranks - 1}):
        measured = [
            one_among(rank, ranks, arguments.workers, chance.randrange(*PORTS))
            for _ in range(arguments.repetitions)
        ]
        seconds = [said["seconds"] for said in measured]
        cpu_s = statistics.median(said["cpu_s"] for said in measured)
        rows.append((rank, statistics.median(seconds), max(seconds), cpu_s))
    report.table(
        ("real rank", "median, s", "longest, s", "its CPU, s"),
        [
            (str(rank), f"{median_s:.3f}", f"{most_s:.3f}", f"{cpu_s:.3f}")
            for rank, median_s, most_s, cpu_s in rows
        ],
    )
    slowest_s = max(median_s for _, median_s, _, _ in rows)
    report.at_most(f"set-up among {ranks} ranks", MOST_SIMULATED_S, slowest_s, "s")


def one_among(rank: int, ranks: int, workers: int, port: int) -> dict[str, float]:
    """Seconds, and those of the processor, that a real rank takes among simulated ones."""
    task = {"rank": rank, "ranks": ranks, "workers": workers, "port": port}
    with start_processes([program("crowd_peers"), program("crowd_rank")]) as (peers, real):
        tell(peers, task)
        if next_line(peers).strip() != "ready":
            raise SystemExit("error: the simulated ranks cannot begin; what they said is above")
        tell(real, task)
        return answer(real)
