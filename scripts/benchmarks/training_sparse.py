"""Training that sends a share of its gradients: what it learns, and what a step takes.

Learning: students of random networks whose answers are partly wrong, of one seed each the same
start, batches and task; four ranks in one process with plink's own algebra, beside PyTorch's hooks.

Time: AlexNet's gradients without computing, --scale of every tensor, on hosts of a lab, in turn in
the same processes over plink and over Gloo; and what the engine counts against what was foretold.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore

from benchkit import hooks
from benchkit.arguments import add_lab, add_seed, lab_options, words
from benchkit.hard_task import drawn_task
from benchkit.labs import bench_lab
from benchkit.processes import Process, answer, rank_tasks, ranks_started, tell
from benchkit.report import Report, spread
from benchkit.sparse_learning import Learnt, Way, learnt
from plink.training.sparse.corrections import CORRECTIONS

EXAMPLE = "--only time --rounds 3"
QUICK = "--seeds 1 --steps 40 --rounds 1 --scale 0.01 --racks 1 --hosts 2"
LEARN, TIME = "learning", "time"
# Two-sided, 95 %, of ten seeds.
T_OF_NINE = 2.262
HEADER = ("trained by", "accuracy", "minus dense, points (95 %)", "steps to dense less 1 point")
TIME_HEADER = ("way", "over", "step, s (least, median, most)", "of dense over plink")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--only", type=words, default=[LEARN, TIME], help="which of the two")
    parser.add_argument("--seeds", type=int, default=10, help="how many, from --first-seed on")
    parser.add_argument("--first-seed", type=int, default=200, help="of students and tasks")
    parser.add_argument("--steps", type=int, default=400, help="of a student")
    parser.add_argument("--learning-rate", type=float, default=0.1, help="at first; of all ways")
    parser.add_argument("--scale", type=float, default=0.1, help="of AlexNet's elements")
    parser.add_argument("--rounds", type=int, default=7, help="each way once in each")
    add_lab(parser, racks=1, hosts="4", hops=0, rates=("100mbit", "100mbit"))
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Learn, and measure."""
    if LEARN in arguments.only:
        _learn(arguments, report)
    if TIME in arguments.only:
        _time(arguments, report)


def _learn(arguments: argparse.Namespace, report: Report) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    names = (*hooks.NAMES, *CORRECTIONS)
    found: dict[str, list[Learnt]] = {name: [] for name in names}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        task = drawn_task(seed)
        for name in names:
            way = Way(name, arguments.learning_rate, warmup_steps=arguments.steps // 20)
            found[name].append(learnt(way, task, seed, arguments.steps))
        print(f"seed {seed}", file=sys.stderr)
    dist.destroy_process_group()
    dense = found[hooks.DENSE]
    rows = []
    for name, them in found.items():
        points = _points(them, dense)
        steps = [
            one.steps_to(other.course[-1] - 0.01, arguments.steps)
            for one, other in zip(them, dense, strict=True)
        ]
        reached = [one for one in steps if not math.isnan(one)]
        median = f"{statistics.median(reached):.0f}" if reached else "never"
        rows.append(
            (
                name,
                f"{statistics.mean(one.course[-1] for one in them):.4f}",
                f"{statistics.mean(points):+.2f} ({_half_width(points):.2f})",
                f"{median} ({len(reached)} of {len(steps)})",
            )
        )
    report.table(HEADER, rows)
    for name in CORRECTIONS:
        lost = -statistics.mean(_points(found[name], dense))
        report.at_most(f"accuracy lost, {name}", 0.5, lost, "points")


def _points(them: Sequence[Learnt], dense: Sequence[Learnt]) -> list[float]:
    pairs = zip(them, dense, strict=True)
    return [100 * (one.course[-1] - other.course[-1]) for one, other in pairs]


def _half_width(values: Sequence[float]) -> float:
    """Return half the width of a paired interval."""
    if len(values) < 2:
        return math.nan
    return float(T_OF_NINE * statistics.stdev(values) / len(values) ** 0.5)


def _time(arguments: argparse.Namespace, report: Report) -> None:
    chunk = max(1, round(32_000 * arguments.scale))
    ways = [
        (f"CSC {name}", "plink", {"kind": "csc", "chunk": chunk, "correction": name})
        for name in CORRECTIONS
    ]
    ways += [
        (name, over, {"kind": name, "over": over})
        for over in ("plink", "gloo")
        for name in hooks.NAMES
    ]
    seconds: dict[tuple[str, str], list[float]] = {}
    with bench_lab(*lab_options(arguments)) as lab:
        names = lab.in_rack_order()
        with ranks_started(lab, names, "sparse_rank") as ranks:
            for process, task in zip(ranks, rank_tasks(lab, names), strict=True):
                tell(process, task)
            for process in ranks:
                answer(process)
            for name, over, way in ways:
                key = f"{name} {over}"
                _all(ranks, {"do": "prepare", "name": key, "way": way, "scale": arguments.scale})
            for _ in range(arguments.rounds):
                for name, over, _way in ways:
                    said = _all(ranks, {"do": "time", "name": f"{name} {over}", "steps": 1})
                    slowest = max(float(one["seconds"]) for one in said)
                    seconds.setdefault((name, over), []).append(slowest)
    dense = statistics.median(seconds[hooks.DENSE, "plink"])
    rows = [
        (name, over, spread(took), f"{statistics.median(took) / dense:.3f}")
        for (name, over), took in seconds.items()
    ]
    report.table(TIME_HEADER, rows)
    for name in CORRECTIONS:
        share = statistics.median(seconds[f"CSC {name}", "plink"]) / dense
        report.at_most(f"step with 85 % held back, {name}, of dense", 0.2, share)


def _all(ranks: Sequence[Process], command: dict[str, Any]) -> list[dict[str, Any]]:
    for process in ranks:
        tell(process, command)
    return [answer(process) for process in ranks]
