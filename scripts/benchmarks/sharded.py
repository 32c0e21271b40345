"""Trainings that shard (FSDP2, ZeRO), route (experts) and pipeline, over Gloo and over plink.

In turn: Gloo with ranks as hosts are given, Gloo with ranks in the order of `plink order --algo
ring`, and plink with that order and the plan of `plink plan --kind auto`. Each has its own
processes, of which those of one at a time work. Computing is little: what is shown is how long the
network keeps a step. Values are checked by the tests, not here.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
from collections.abc import Sequence

from benchkit.arguments import add_lab, add_seed, lab_options, words
from benchkit.labs import BenchLab, bench_lab
from benchkit.processes import Process, answer, rank_tasks, ranks_started, tell
from benchkit.report import Report
from benchkit.training_runs import Prepared, prepare

EXAMPLE = "--racks 4 --hosts 4 --host-rate 200mbit --uplink-rate 200mbit"
QUICK = "--programs FSDP2 --width 256 --rounds 1 --racks 2 --hosts 2"
PROGRAMS = ("FSDP2", "ZeRO", "experts", "pipeline")
GIVEN, ORDERED, PLINK = "Gloo as given", "Gloo in plink's order", "plink"
HEADER = (
    "program",
    "over",
    "step, s (least, median, most)",
    f"{GIVEN} / this",
    f"{ORDERED} / this",
)
FLOAT_BYTES = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--programs", type=words, default=list(PROGRAMS), help="which")
    parser.add_argument("--width", type=int, default=800, help="of a layer; there are four")
    parser.add_argument("--rounds", type=int, default=5, help="each way once in each")
    parser.add_argument("--steps", type=int, default=2, help="in a row, in every round")
    add_lab(parser, rates=("200mbit", "200mbit"))
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure, and print the table."""
    unknown = set(arguments.programs) - set(PROGRAMS)
    if unknown:
        raise SystemExit(
            f"error: no program is called {unknown.pop()}\nhint: {', '.join(PROGRAMS)}"
        )
    with bench_lab(*lab_options(arguments)) as lab:
        prepared = prepare(lab, FLOAT_BYTES * arguments.width**2, None)
        print(f"the plan is {prepared.kind}", file=sys.stderr)
        took_s = _measure_ways(lab, prepared, arguments)
    report.table(HEADER, [row for name in arguments.programs for row in _rows(name, took_s[name])])


def _measure_ways(
    lab: BenchLab, prepared: Prepared, arguments: argparse.Namespace
) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of a step by program and way, round by round."""
    ways = {
        GIVEN: (prepared.given, "gloo", ""),
        ORDERED: (prepared.ordered, "gloo", ""),
        PLINK: (prepared.ordered, "plink", str(prepared.plan)),
    }
    took_s: dict[str, dict[str, list[float]]] = {}
    with contextlib.ExitStack() as stack:
        jobs: dict[str, Sequence[Process]] = {}
        for number, (way, (hosts, backend, plan)) in enumerate(ways.items()):
            jobs[way] = stack.enter_context(ranks_started(lab, hosts, "sharded_rank"))
            tasks = rank_tasks(lab, hosts, backend=backend, plan=plan, job=number + 1)
            for process, task in zip(jobs[way], tasks, strict=True):
                tell(process, task)
            for process in jobs[way]:
                answer(process)
        for name in arguments.programs:
            took_s[name] = {way: [] for way in ways}
            command = {"program": name, "width": arguments.width, "steps": arguments.steps}
            for turn in range(arguments.rounds + 1):
                for way, job in jobs.items():
                    for process in job:
                        tell(process, command)
                    slowest_s = max(float(answer(process)["seconds"]) for process in job)
                    # The first step makes the model, and pages everything in.
                    if turn > 0:
                        took_s[name][way].append(slowest_s)
                print(f"{name}: round {turn} of {arguments.rounds}", file=sys.stderr)
    return took_s


def _rows(name: str, took_s: dict[str, list[float]]) -> list[tuple[str, ...]]:
    medians = {way: statistics.median(seconds) for way, seconds in took_s.items()}
    return [
        (
            name,
            way,
            f"{min(seconds):.3f}, {medians[way]:.3f}, {max(seconds):.3f}",
            f"{medians[GIVEN] / medians[way]:.2f}",
            f"{medians[ORDERED] / medians[way]:.2f}",
        )
        for way, seconds in took_s.items()
    ]
