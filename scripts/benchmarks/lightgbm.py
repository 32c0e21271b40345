"""Distributed lambdarank training with LightGBM: plink's order against given and random ones.

4 racks of 4 hosts, whose uplinks carry as much as one host's link. Every tree's histograms are
reduced and scattered once for each of its leaves but one, by recursive halving.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchkit.arguments import add_congestion_control, add_seeds, lab_options
from benchkit.labs import BenchLab, bench_lab
from benchkit.processes import Process, program, start_processes
from benchkit.programs.lightgbm_worker import UNTIMED_TREES
from benchkit.report import Report, spread
from plink.deploy.launchers import FORMATS
from plink.deploy.launchers.address_lists import FIRST_PORT
from plink.formats import cluster as cluster_file
from plink.formats import order as order_file
from plink.formats.hosts import Host

EXAMPLE = "--seeds 1 --rounds 1 --trees 1"
QUICK = EXAMPLE
SHAPE = {"racks": 4, "hosts": 4, "hops": 4}
ALGORITHM = "lightgbm-recursive-halving"

# A bin of a histogram has two sums of doubles (LightGBM, include/LightGBM/bin.h: kHistEntrySize).
BIN_BYTES, BINS = 16, 255
RANDOM_ORDERS = 5

HEADER = (
    "seed",
    "given, s",
    "random, s (least, median, most of the orders' medians)",
    "racks in sequence, s",
    "plink, s (least, median, most)",
    "given / plink",
    "random / plink",
    "racks / plink",
)
TRAFFIC_HEADER = ("rank and rank ^", "sent a tree, kB", "the model's reduce-scatter, kB")


@dataclass(frozen=True)
class Training:
    """Training on every host: its own rows, and trees of so many leaves."""

    rows: int
    features: int
    leaves: int
    trees: int


@dataclass(frozen=True)
class Trained:
    """Seconds that the trees took, and the bytes of a tree from rank to rank."""

    seconds: float
    tree_bytes: Mapping[tuple[int, int], float]


@dataclass
class Workers:
    """A worker on every host, waiting for machine lists."""

    training: Training
    processes: Mapping[str, Process]
    # LightGBM cannot bind a port that it used a moment ago.
    ports: Iterator[int] = field(default_factory=lambda: itertools.count(FIRST_PORT))

    def train(self, order: Sequence[Host]) -> Trained:
        """Train with these hosts as ranks."""
        text = (
            FORMATS["lightgbm"].render(order).replace(f" {FIRST_PORT}\n", f":{next(self.ports)},")
        )
        for host in order:
            _input(self.processes[host.name], text.rstrip(",") + "\n")
        answers = [json.loads(_line(self.processes[host.name], "{")) for host in order]
        rank_of = {host.address: rank for rank, host in enumerate(order)}
        trees = self.training.trees + UNTIMED_TREES
        sent = {
            (rank, rank_of[address]): count / trees
            for rank, answer in enumerate(answers)
            for address, count in answer["sent_bytes"].items()
        }
        return Trained(max(answer["seconds"] for answer in answers), sent)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_seeds(parser)
    parser.add_argument("--rounds", type=int, default=3, help="each order once in each")
    parser.add_argument("--rate", default="400mbit", help="of every host's link and uplink")
    add_congestion_control(parser)
    parser.add_argument("--rows", type=int, default=1000, help="of every host")
    parser.add_argument("--features", type=int, default=136, help="of a row")
    parser.add_argument("--leaves", type=int, default=31, help="of a tree")
    parser.add_argument("--trees", type=int, default=3, help="that are timed")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the tables."""
    training = Training(arguments.rows, arguments.features, arguments.leaves, arguments.trees)
    rates = {"host_rate": arguments.rate, "uplink_rate": arguments.rate}
    rows: list[tuple[str, ...]] = []
    traffic: Sequence[tuple[str, ...]] = []
    for seed in arguments.seeds:
        with bench_lab(*lab_options(arguments, **SHAPE, **rates, seed=seed)) as lab:
            orders = _orders(lab, seed, training)
            trained = _train(lab, orders, training, arguments.rounds)
        seconds = {name: [run.seconds for run in trained[name]] for name in trained}
        rows.append(_row(str(seed), seconds))
        traffic = _traffic_rows(trained["plink"][0], training, len(orders["plink"]))
    report.table(HEADER, rows)
    report.table(TRAFFIC_HEADER, traffic)


def _orders(lab: BenchLab, seed: int, training: Training) -> Mapping[str, Sequence[Host]]:
    cluster, order = lab.probe_with_uplinks(), lab.dir / "order.json"
    size = ("--size", training.features * BINS * BIN_BYTES)
    what = ("--algo", ALGORITHM, *size, "--seed", seed, "-o", order, "--json")
    lab.plink("order", cluster, *what, over_ssh=False)
    given = list(cluster_file.read_cluster(str(cluster)).hosts)
    by_name = {host.name: host for host in given}
    shuffled = random.Random(seed)
    return {
        "given": given,
        "plink": order_file.read_order(str(order)).hosts,
        "racks": [by_name[name] for name in lab.in_rack_order()],
        **{
            f"random-{number}": shuffled.sample(given, len(given))
            for number in range(RANDOM_ORDERS)
        },
    }


def _train(
    lab: BenchLab, orders: Mapping[str, Sequence[Host]], training: Training, rounds: int
) -> Mapping[str, Sequence[Trained]]:
    """Each order once a round, so that what disturbs the machine meets all of them."""
    trained: dict[str, list[Trained]] = {name: [] for name in orders}
    names = [host.name for host in orders["given"]]
    with workers(lab, names, training) as ready:
        # Not counted: the first training pages everything in.
        ready.train(orders["given"])
        for _ in range(rounds):
            for name, order in orders.items():
                trained[name].append(ready.train(order))
    return trained


def _row(seed: str, seconds: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    median_s = {name: statistics.median(values) for name, values in seconds.items()}
    random_s = [value for name, value in median_s.items() if name.startswith("random-")]
    plink_s = median_s["plink"]
    return (
        seed,
        f"{median_s['given']:.2f}",
        spread(random_s, 2),
        f"{median_s['racks']:.2f}",
        spread(seconds["plink"], 2),
        f"{median_s['given'] / plink_s:.2f}",
        f"{statistics.median(random_s) / plink_s:.2f}",
        f"{median_s['racks'] / plink_s:.2f}",
    )


def _traffic_rows(trained: Trained, training: Training, ranks: int) -> Sequence[tuple[str, ...]]:
    """Return rows of the mean traffic of a rank to its partners in recursive halving."""
    buffer_bytes = training.features * BINS * BIN_BYTES * (training.leaves - 1)
    rows = []
    distance = ranks // 2
    while distance > 0:
        pairs = [(rank, rank ^ distance) for rank in range(ranks)]
        sent_bytes = statistics.mean(trained.tree_bytes[pair] for pair in pairs)
        model_bytes = buffer_bytes * distance / ranks
        rows.append((str(distance), f"{sent_bytes / 1e3:.0f}", f"{model_bytes / 1e3:.0f}"))
        distance //= 2
    others = sum(
        count for (one, other), count in trained.tree_bytes.items() if (one ^ other).bit_count() > 1
    )
    return [*rows, ("all others", f"{others / ranks / 1e3:.0f}", "0")]


@contextmanager
def workers(lab: BenchLab, names: Sequence[str], training: Training) -> Iterator[Workers]:
    """Start a worker on every host, and end all at the end."""
    options = (training.rows, training.features, training.leaves, training.trees)
    login = ("ssh", "-F", str(lab.dir / "ssh_config"))
    commands = [
        [*login, name, *program("lightgbm_worker"), *map(str, (len(names), number, *options))]
        for number, name in enumerate(names)
    ]
    with start_processes(commands) as running:
        for process in running:
            _line(process, "ready")
        yield Workers(training, dict(zip(names, running, strict=True)))


def _input(process: Process, text: str) -> None:
    if process.stdin is not None:
        process.stdin.write(text)
        process.stdin.flush()


def _line(process: Process, start: str) -> str:
    """The next line that begins so; LightGBM says other things in between."""
    for line in process.stdout or ():
        if line.startswith(start):
            return line
    raise RuntimeError("a worker ended; what it said is above")
