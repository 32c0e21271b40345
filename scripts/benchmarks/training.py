"""Training with infinitely fast computing: real networks' gradients over Gloo and over plink.

As Luo 2020, §6.1.4: no network is there, only gradients of its sizes. They come in the reverse
order of the layers, in DistributedDataParallel's buckets; each bucket's all-reduce begins when its
last gradient is there, and an iteration ends with the last all-reduce. --compute-ms is what a
forward and a backward pass take, a third and two thirds, spread over the layers in proportion to
their multiply-adds; the processor sleeps meanwhile. --scale is of every tensor's length and of the
buckets' sizes.

In turn in the same processes: Gloo in the order in which hosts are given, Gloo in the order of
`plink order --algo ring`, and init_process_group("plink") with the plan of `plink plan --kind
auto`. plink probes the lab for both. Every sum is checked.

With --keep, what plink found out and every round are kept in a folder; the same command goes on
where it was ended, and tells what is there. --rounds 0 only probes.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchkit.arguments import add_keep, add_lab, add_seed, lab_options, numbers, words
from benchkit.gradients import BUCKET_CAP_BYTES, Bucket, buckets
from benchkit.labs import BenchLab, bench_lab
from benchkit.networks import NETWORKS
from benchkit.plans import lab_network, limit_s
from benchkit.report import Report
from benchkit.training_rounds import (
    HEADER,
    ITEM_BYTES,
    VARIANTS,
    Rounds,
    hold_to,
    kept_rounds,
    table_rows,
)
from benchkit.training_runs import prepare, training
from labkit.rates import parse_rate

EXAMPLE = "--networks resnet50 --rounds 3 --keep training"
QUICK = "--networks resnet50 --scale 0.01 --rounds 1 --racks 2 --hosts 2"
# Others are measured if they are named.
USUAL = ("alexnet", "vgg16", "resnet50", "bert-base")
# What was measured does not depend on them.
_INDIFFERENT = ("networks", "rounds", "keep", "json", "quick")


@dataclass(frozen=True)
class Subject:
    """A network, and what is measured of it."""

    tensors: int
    buckets: Sequence[Bucket]
    measured: Rounds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--networks", type=words, default=list(USUAL), help="their gradients")
    parser.add_argument("--scale", type=float, default=0.1, help="of every tensor's length")
    parser.add_argument("--compute-ms", type=float, default=0.0, help="of an iteration")
    parser.add_argument("--rounds", type=int, default=7, help="each way once in each")
    parser.add_argument("--iterations", type=int, default=1, help="in a row, in every round")
    add_lab(parser, rates=("400mbit", "200mbit"))
    add_seed(parser)
    add_keep(parser, "rounds, to go on with")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure what is missing, and print the table."""
    if arguments.racks < 2:
        raise SystemExit("error: --racks: two or more, since the uplinks between them are measured")
    for name in arguments.networks:
        if name not in NETWORKS:
            hint = f"networks are {', '.join(NETWORKS)}"
            raise SystemExit(f"error: no network is called {name}\nhint: {hint}")
    if arguments.keep is not None:
        hold_to(arguments.keep, {k: v for k, v in vars(arguments).items() if k not in _INDIFFERENT})
    subjects = [_subject(arguments, name) for name in arguments.networks]
    with contextlib.suppress(KeyboardInterrupt):
        _measure(arguments, subjects)
    report.table(HEADER, [row for subject in subjects for row in _rows(arguments, subject)])


def _subject(arguments: argparse.Namespace, network: str) -> Subject:
    parameters = list(NETWORKS[network]())
    return Subject(
        tensors=len(parameters),
        buckets=buckets(parameters, arguments.scale),
        measured=kept_rounds(network, arguments.keep),
    )


def _measure(arguments: argparse.Namespace, subjects: Sequence[Subject]) -> None:
    missing = [one for one in subjects if len(one.measured.rounds) < arguments.rounds]
    if arguments.rounds and not missing:
        return
    with bench_lab(*lab_options(arguments)) as lab:
        _train(lab, arguments, missing)


def _train(lab: BenchLab, arguments: argparse.Namespace, subjects: Sequence[Subject]) -> None:
    prepared = prepare(lab, int(BUCKET_CAP_BYTES * arguments.scale), arguments.keep)
    print(f"the plan is {prepared.kind}", file=sys.stderr)
    if not subjects:
        return
    with training(lab, prepared) as ranks:
        for subject in subjects:
            ranks.prepare(subject.buckets, arguments.compute_ms / 1e3)
            # Not counted: the first iterations page everything in.
            for name in VARIANTS:
                ranks.train(name, 1)
            while len(subject.measured.rounds) < arguments.rounds:
                # What disturbs the machine meets all of them.
                subject.measured.add(
                    {name: ranks.train(name, arguments.iterations) for name in VARIANTS}
                )
                measured = subject.measured
                done = f"round {len(measured.rounds)} of {arguments.rounds}"
                print(f"{measured.network}: {done}", file=sys.stderr)


def _rows(arguments: argparse.Namespace, subject: Subject) -> list[tuple[str, ...]]:
    if not subject.measured.rounds:
        return []
    items = [bucket.items for bucket in subject.buckets]
    sizes = numbers(arguments.hosts)
    if len(sizes) == 1:
        sizes *= arguments.racks
    network = lab_network(
        [rack for rack, size in enumerate(sizes) for _ in range(size)],
        parse_rate(arguments.host_rate),
        parse_rate(arguments.uplink_rate),
    )
    least_s = limit_s(network, sum(items) * ITEM_BYTES)
    least_s = max(least_s, arguments.compute_ms / 1e3)
    return table_rows(subject.measured, subject.tensors, items, least_s)
