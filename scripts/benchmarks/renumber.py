"""A job whose ranks follow the network by one line: its start, and its all-reduces.

One job makes a group in the launcher's order, in that of a file, and in one that it measures
itself, anew and checked against what it kept. All take as long as on the slowest rank.
"""

from __future__ import annotations

import argparse
import statistics

from benchkit.arguments import add_lab, add_seeds, lab_options
from benchkit.labs import BenchLab, bench_lab
from benchkit.processes import answers_of_ranks
from benchkit.report import Report, spread
from plink.base.size import parse_size

EXAMPLE = "--seeds 31 --size 20MB"
QUICK = "--racks 2 --hosts 2 --seeds 1 --size 1MB --rounds 1 --repetitions 1"
HEADER = ("seed", "ranks", "start, s (least, median, most)", "all-reduce, s", "of the launcher's")

LAUNCHER, FILE, PROBE, KEPT = "as launched", "order file", "probe", "probe, kept"
MOST_START_S = 5.0
MOST_OVER_FILE = 1.02


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser)
    add_seeds(parser, "31,32,33")
    parser.add_argument("--size", default="20MB", help="of the buffer")
    parser.add_argument("--rounds", type=int, default=2, help="turns of every order")
    parser.add_argument("--repetitions", type=int, default=3, help="all-reduces a turn")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    rows, over_file, later_s = [], [], []
    for seed in arguments.seeds:
        with bench_lab(*lab_options(arguments, seed=seed)) as lab:
            starts, seconds = _measure(lab, arguments)
        least_s = {name: min(values) for name, values in seconds.items()}
        for name in starts:
            share = f"{least_s[name] / least_s[LAUNCHER]:.2f}"
            rows.append((str(seed), name, spread(starts[name]), spread(seconds[name]), share))
        over_file.append(least_s[PROBE] / least_s[FILE])
        later_s.append(statistics.median(starts[PROBE]) - statistics.median(starts[LAUNCHER]))
    report.table(HEADER, rows)
    report.at_most("start by probe after the launcher's", MOST_START_S, max(later_s), "s")
    report.at_most("all-reduce by probe over the file's", MOST_OVER_FILE, max(over_file), "x")


def _measure(
    lab: BenchLab, arguments: argparse.Namespace
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return each order's times of starts and all-reduces, each that of the slowest rank."""
    cluster, file = lab.probe(), lab.dir / "order.json"
    lab.plink("order", cluster, "-o", file, over_ssh=False)
    turns = [
        {LAUNCHER: None, FILE: str(file), PROBE: probe, KEPT: probe}
        for probe in (f"probe:{lab.dir / f'kept-{turn}'}" for turn in range(arguments.rounds))
    ]
    names = [name for turn in turns for name in turn]
    answers = answers_of_ranks(
        lab,
        lab.given(),
        "renumber_rank",
        orders=[order for turn in turns for order in turn.values()],
        size_bytes=parse_size(arguments.size),
        repetitions=arguments.repetitions,
    )
    starts: dict[str, list[float]] = {name: [] for name in turns[0]}
    seconds: dict[str, list[float]] = {name: [] for name in turns[0]}
    by_turn = zip(*(answer["turns"] for answer in answers), strict=True)
    for name, of_ranks in zip(names, by_turn, strict=True):
        starts[name].append(max(figures["start_s"] for figures in of_ranks))
        by_repetition = zip(*(figures["seconds"] for figures in of_ranks), strict=True)
        seconds[name] += [max(each) for each in by_repetition]
    return starts, seconds
