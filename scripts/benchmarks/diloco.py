"""DiLoCo at a hub beside a step at a time, and beside torchft's over Gloo: bytes, time, what a lost
worker costs, and what is learnt from equally many examples.

A random network's answers are learnt on hosts of a lab with slow links; the hub is on a host of its
own with a link like the others, which is the price of a server that has one port: with N workers it
takes N shares of a round where a ring takes 2 (N - 1) / N. A sleep stands for computing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchkit.arguments import add_lab, add_seed, lab_options, words
from benchkit.hub_digits import Digits
from benchkit.labs import BenchLab, bench_lab
from benchkit.processes import Process, answer, next_line, program, start_processes, tell
from benchkit.report import Report

EXAMPLE = "--rounds 4 --sync-every 8"
QUICK = "--seeds 1 --digit-steps 60 --rounds 3 --sync-every 5 --hosts 3 --ways sync,diloco,torchft"
WAYS: dict[str, dict[str, Any]] = {
    "sync": {"kind": "sync"},
    "diloco": {"kind": "diloco"},
    "bfloat16": {"kind": "diloco", "wire": "bfloat16"},
    "int8": {"kind": "diloco", "wire": "int8"},
    "streaming": {"kind": "diloco", "fragments": 3, "overlap_steps": 2, "mixing": 0.5},
    "torchft": {"kind": "torchft"},
}
NAMES = {
    "sync": "hub, every step",
    "diloco": "hub, DiLoCo",
    "bfloat16": "hub, DiLoCo, bfloat16",
    "int8": "hub, DiLoCo, int8",
    "streaming": "hub, Streaming DiLoCo",
    "torchft": "torchft, DiLoCo on Gloo",
}
CAN_LOSE = ("diloco", "torchft")
PARTS = WHOLE, LOST, DIGITS = ["whole", "lost", "digits"]
PORT = 7100
LIGHTHOUSE_PORT = 29510
HEADER = (
    "way",
    "sent, KB a worker and step",
    "received",
    "round, s (least, median, most)",
    "loss",
    "accuracy",
)
DIGITS_HEADER = ("trained by", "", "accuracy, mean over seeds")
LOSS_HEADER = (
    "way",
    "steps lost by who is lost",
    "by all others",
    "s to their next round",
    "accuracy",
)


@dataclass
class Told:
    """What one rank said: when its rounds ended, and what all came to; or when it was lost."""

    ends_s: list[float] = field(default_factory=list)
    lost_at_s: float | None = None
    result: dict[str, Any] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--ways", type=words, default=list(WAYS), help=f"of {', '.join(WAYS)}")
    parser.add_argument("--only", type=words, default=PARTS, help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seeds", type=int, default=4, help="of digits")
    parser.add_argument("--digit-steps", type=int, default=300, help="of a worker, on digits")
    parser.add_argument("--rounds", type=int, default=8, help="of so many steps")
    parser.add_argument("--sync-every", type=int, default=16, help="steps a round")
    parser.add_argument("--batch", type=int, default=32, help="examples a worker and step")
    parser.add_argument("--compute-ms", type=float, default=5.0, help="that a step sleeps")
    parser.add_argument("--heartbeat-ms", type=int, default=5000, help="of torchft's lighthouse")
    add_lab(parser, racks=1, hosts="5", hops=0, rates=("50mbit", "none"))
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Train in every way, twice: undisturbed, and with a worker that is lost half-way."""
    if DIGITS in arguments.only:
        _digits(arguments, report)
    if {WHOLE, LOST} & set(arguments.only):
        _in_lab(arguments, report)


def _digits(arguments: argparse.Namespace, report: Report) -> None:
    ways = {"hub, every step": 0, "hub, DiLoCo every 10": 10}
    alone: list[float] = []
    found: dict[tuple[str, bool], list[float]] = {}
    for seed in range(1, arguments.seeds + 1):
        task = Digits(seed, arguments.digit_steps)
        alone.append(task.alone())
        for way, sync_every in ways.items():
            for lost_at in (0, arguments.digit_steps // 3):
                reached = task.at_hub(sync_every, lost_at)
                found.setdefault((way, lost_at > 0), []).append(reached)
    rows = [("one process", "", f"{statistics.mean(alone):.4f}")]
    rows += [
        (way, "one killed, one joins" if is_broken else "", f"{statistics.mean(reached):.4f}")
        for (way, is_broken), reached in found.items()
    ]
    report.table(DIGITS_HEADER, rows, "Digits, three workers")
    for way in ways:
        whole, broken = (statistics.mean(found[way, is_broken]) for is_broken in (False, True))
        report.at_most(
            f"accuracy lost by a kill and a join, {way}", 0.5, 100 * (whole - broken), "points"
        )


def _in_lab(arguments: argparse.Namespace, report: Report) -> None:
    unknown = set(arguments.ways) - WAYS.keys()
    if unknown:
        raise SystemExit(f"error: --ways: {', '.join(sorted(unknown))} is none of them")
    whole: dict[str, list[Told]] = {}
    broken: dict[str, list[Told]] = {}
    with bench_lab(*lab_options(arguments)) as lab, tempfile.TemporaryDirectory() as folder:
        secret = Path(folder, "secret")
        secret.write_text("of this benchmark alone, on hosts of a lab")
        for way in arguments.ways if WHOLE in arguments.only else []:
            print(f"{NAMES[way]}", file=sys.stderr)
            whole[way] = _train(lab, arguments, way, secret, lost_step=0)
        for way in [way for way in arguments.ways if way in CAN_LOSE and LOST in arguments.only]:
            print(f"{NAMES[way]}, with a worker that is lost", file=sys.stderr)
            # Half-way through the third round, or through the last but one.
            rounds = min(2, arguments.rounds - 2)
            lost_step = rounds * arguments.sync_every + arguments.sync_every // 2
            broken[way] = _train(lab, arguments, way, secret, lost_step=lost_step)
    if whole:
        _show_whole(whole, arguments, report)
    _show_broken(broken, arguments, report)
    report.measured = {
        "whole": {way: [vars(one) for one in told] for way, told in whole.items()},
        "broken": {way: [vars(one) for one in told] for way, told in broken.items()},
    }


def _train(
    lab: BenchLab, arguments: argparse.Namespace, way: str, secret: Path, *, lost_step: int
) -> list[Told]:
    server, *names = lab.in_rack_order()
    task = {
        "way": WAYS[way],
        "ranks": len(names),
        "seed": arguments.seed,
        "rounds": arguments.rounds,
        "sync_every": arguments.sync_every,
        "batch": arguments.batch,
        "compute_ms": arguments.compute_ms,
        "hub": f"{lab.addresses[server]}:{PORT}",
        "lighthouse": f"{lab.addresses[server]}:{LIGHTHOUSE_PORT}",
        "namespace": f"{way}-{lost_step}",
        "secret_file": str(secret),
        "lost_rank": len(names) - 1 if lost_step else -1,
        "lost_step": lost_step,
    }
    with _middle(lab, server, way, secret, arguments) as _:
        commands = [[*lab.command_on(name), *program("diloco_rank")] for name in names]
        with start_processes(commands) as ranks:
            for rank, (name, process) in enumerate(zip(names, ranks, strict=True)):
                tell(process, {**task, "rank": rank, "address": lab.addresses[name]})
            for process in ranks:
                answer(process)
            for process in ranks:
                tell(process, {})
            with ThreadPoolExecutor(len(ranks)) as readers:
                told = list(readers.map(_read_report, ranks))
            if any(not one.result and one.lost_at_s is None for one in told):
                raise SystemExit("error: a rank failed; what it said is above")
            return told


@contextmanager
def _middle(
    lab: BenchLab, host: str, way: str, secret: Path, arguments: argparse.Namespace
) -> Iterator[None]:
    """The hub's server, or torchft's lighthouse."""
    if WAYS[way]["kind"] == "torchft":
        command = [
            str(Path(sys.executable).with_name("torchft_lighthouse")),
            *("--bind", f"{lab.addresses[host]}:{LIGHTHOUSE_PORT}", "--min_replicas", "1"),
            *("--join_timeout_ms", "2000"),
            *("--heartbeat_timeout_ms", str(arguments.heartbeat_ms)),
        ]
        # It tells every quorum.
        quiet = ["sh", "-c", 'exec "$0" "$@" >/dev/null 2>&1', *command]
        with start_processes([[*lab.command_on(host), *quiet]]) as processes:
            yield
            processes[0].kill()
        return
    with start_processes([[*lab.command_on(host), *program("hub_server")]]) as processes:
        task = {"listen": [f"{lab.addresses[host]}:{PORT}"], "secret": secret.read_text()}
        tell(processes[0], task)
        answer(processes[0])
        yield


def _read_report(process: Process) -> Told:
    import json  # noqa: PLC0415

    told = Told()
    while line := next_line(process):
        said = json.loads(line)
        if "round" in said:
            told.ends_s.append(said["at_s"])
        elif "lost_at_s" in said:
            told.lost_at_s = said["lost_at_s"]
        else:
            told.result = said
            break
    return told


def _show_whole(
    whole: dict[str, list[Told]], arguments: argparse.Namespace, report: Report
) -> None:
    steps = arguments.rounds * arguments.sync_every
    sent = {way: _mean(told, "sent_bytes") / steps for way, told in whole.items()}
    rounds = {
        way: [
            max(later) - max(earlier)
            for earlier, later in zip(_by_round(told), _by_round(told)[1:], strict=False)
        ]
        for way, told in whole.items()
    }
    rows = []
    for way, told in whole.items():
        of_round = rounds[way]
        figures = (min(of_round), statistics.median(of_round), max(of_round))
        rows.append(
            (
                NAMES[way],
                f"{sent[way] / 1e3:.1f}",
                f"{_mean(told, 'received_bytes') / steps / 1e3:.1f}",
                " / ".join(f"{value:.3f}" for value in figures),
                f"{_mean(told, 'loss'):.4f}",
                f"{_mean(told, 'accuracy'):.4f}",
            )
        )
    report.table(HEADER, rows, "Undisturbed")
    if {"sync", "diloco"} <= sent.keys():
        share = sent["diloco"] / sent["sync"] * arguments.sync_every
        report.at_most("bytes sent by DiLoCo, times H, of those of every step", 1.05, share)
    if {"int8", "diloco"} <= sent.keys():
        report.at_most(
            "bytes sent in int8 of those in float32", 0.28, sent["int8"] / sent["diloco"]
        )
    if {"torchft", "diloco"} <= sent.keys():
        ring = 2 - 2 / len(whole["diloco"])
        ratio = sent["diloco"] / sent["torchft"] * ring
        report.at_most("bytes sent at the hub of torchft's over 2 (N - 1) / N", 1.05, ratio)
        ours, theirs = (_mean(whole[way], "loss") for way in ("diloco", "torchft"))
        report.at_most("loss at the hub less torchft's", 0.02, ours - theirs)


def _show_broken(
    broken: dict[str, list[Told]], arguments: argparse.Namespace, report: Report
) -> None:
    if not broken:
        return
    rows = []
    lost: dict[str, tuple[int, float]] = {}
    for way, told in broken.items():
        left = [one for one in told if one.lost_at_s is None]
        lost_at = next(one.lost_at_s for one in told if one.lost_at_s is not None)
        wanted = arguments.rounds * arguments.sync_every
        others = sum(one.result["steps"] - wanted for one in left)
        seconds = max(min(end for end in one.ends_s if end > lost_at) for one in left) - lost_at
        lost[way] = others, seconds
        own = arguments.sync_every // 2
        accuracy = _mean(left, "accuracy")
        rows.append((NAMES[way], str(own), str(others), f"{seconds:.2f}", f"{accuracy:.4f}"))
    report.table(LOSS_HEADER, rows, "A worker is killed half-way through a round")
    if "diloco" in lost:
        report.at_most("steps that the others lose at the hub", 0, lost["diloco"][0])
    if {"diloco", "torchft"} <= lost.keys():
        report.at_most(
            "time to the others' next round, of torchft's",
            1.0,
            lost["diloco"][1] / lost["torchft"][1],
        )


def _by_round(told: list[Told]) -> list[list[float]]:
    return [list(ends) for ends in zip(*(one.ends_s for one in told), strict=True)]


def _mean(told: list[Told], name: str) -> float:
    return statistics.mean(float(one.result[name]) for one in told)
