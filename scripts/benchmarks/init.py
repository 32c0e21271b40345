"""How long `init_process_group` takes, by plink and by Gloo in turn, on hosts of the lab.

The same processes, with PyTorch imported before, make and destroy one group after the other. They
meet before each; a repetition takes as long as on its slowest rank.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from benchkit.arguments import add_lab, add_seed, lab_options, words
from benchkit.labs import bench_lab
from benchkit.processes import answers_of_ranks
from benchkit.report import Report

EXAMPLE = "--congestion-control reno --repetitions 7"
QUICK = "--racks 1 --hosts 2 --repetitions 2"
HEADER = ("backend", "median, s", "least, s", "against the last", "CPU s per rank")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_lab(parser, hops=0, rates=None)
    add_seed(parser)
    parser.add_argument("--backends", type=words, default=["plink", "gloo"], help="in turn")
    parser.add_argument("--repetitions", type=int, default=9, help="of each")
    parser.add_argument("--warmups", type=int, default=2, help="before these, not counted")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
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
