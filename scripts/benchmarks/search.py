"""Cost of the orders that plink finds on generated data centres.

  orders  cost over the median of random orders, by algorithm and size
  rings   against the best known ring and the Held-Karp bound
  paper   against annealing as in Luo 2020, with ten times the time

Figures are medians over the seeds, and the mean of both families of data centres. One thread.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from benchkit import datacenters
from benchkit.arguments import add_seeds
from benchkit.peers import paper_annealing
from benchkit.report import Report
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import Form, RoundsForm
from plink.solvers.collectives.registry import find
from plink.solvers.orders.latency_search import search_by_latency

EXAMPLE = "--only orders --seeds 1"
QUICK = "--only rings --seeds 1 --known-seconds 1"

Matrix = npt.NDArray[np.float64]
_Measured = TypeVar("_Measured")

_RANDOM_ORDERS = 201
# By algorithm and ranks: what was asked for.
_ORDERS = {
    "halving-doubling": {64: 0.36, 256: 0.23, 512: 0.26, 1024: 0.31},
    "bcube": {64: 0.30, 256: 0.22, 1024: 0.31},
    "tree": {64: 0.37, 256: 0.27, 512: 0.26},
}
_ORDER_SECONDS = 1.0
_RINGS = ((64, 0.1), (256, 1.0), (512, 1.0), (1024, 5.0))
# 512 is no power of 4.
_PAPER = (("halving-doubling", 256), ("halving-doubling", 512), ("bcube", 256), ("bcube:8", 512))
_PAPER_TIMES = 10.0

# By hosts: the mean above the best known ring or above the Held-Karp bound, in percent.
_ASKED_OF_RINGS = {
    (64, "best known"): 0.0,
    (256, "best known"): 0.3,
    (512, "best known"): 0.3,
    (1024, "Held-Karp bound"): 0.5,
}
_ASKED_OF_PAPER = 1.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_seeds(parser, "1,2,3,4,5")
    parser.add_argument("--only", choices=["orders", "rings", "paper"], help="one of the tables")
    parser.add_argument(
        "--known-seconds", type=float, default=10.0, help="of searches for the best known ring"
    )


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Print the tables asked for."""
    if arguments.only in (None, "orders"):
        _orders(arguments.seeds, report)
    if arguments.only in (None, "rings"):
        _rings(arguments.seeds, arguments.known_seconds, report)
    if arguments.only in (None, "paper"):
        _paper(arguments.seeds, report)


def _orders(seeds: Sequence[int], report: Report) -> None:
    rows = []
    for algorithm, targets in _ORDERS.items():
        for ranks, target in targets.items():
            form = find(algorithm).form(ranks)
            shares = _by_family(ranks, seeds, partial(_share, form))
            figures = _figures(shares, "{:.3f}")
            rows.append((algorithm, ranks, *figures))
            what = f"{algorithm}, {ranks} ranks: cost over random orders"
            report.at_most(what, target, float(figures[-1]))
    report.table(("algorithm", "ranks", *datacenters.FAMILIES, "mean"), rows)


def _share(form: Form, distance: Matrix, seed: int) -> float:
    """Cost over the median of random orders."""
    rng = np.random.default_rng(seed)
    hosts = form.ranks
    random = [
        latency_cost(form, distance, rng.permutation(hosts).tolist()) for _ in range(_RANDOM_ORDERS)
    ]
    found = search_by_latency(form, distance, seed=seed, time_limit_s=_ORDER_SECONDS)
    return found.cost / statistics.median(random)


def _rings(seeds: Sequence[int], known_seconds: float, report: Report) -> None:
    rows = []
    for hosts, seconds in _RINGS:
        form = find("ring").form(hosts)

        def above(
            distance: Matrix, seed: int, ring: Form = form, limit_s: float = seconds
        ) -> tuple[float, float]:
            found = search_by_latency(ring, distance, seed=seed, time_limit_s=limit_s)
            known = search_by_latency(
                ring, distance, found.order, seed=seed + 1, time_limit_s=known_seconds
            )
            bound = max(found.lower_bound, known.lower_bound)
            return 100.0 * (found.cost / known.cost - 1.0), 100.0 * (found.cost / bound - 1.0)

        both = _by_family(hosts, seeds, above)
        for what, column in (("best known", 0), ("Held-Karp bound", 1)):
            values = {family: [pair[column] for pair in each] for family, each in both.items()}
            worst = max(max(each) for each in values.values())
            figures = _figures(values, "{:.3f} %")
            rows.append((hosts, f"{seconds:g} s", what, *figures, f"{worst:.3f} %"))
            if (hosts, what) in _ASKED_OF_RINGS:
                asked, mean = _ASKED_OF_RINGS[hosts, what], float(figures[-1].split()[0])
                report.at_most(
                    f"ring, {hosts} hosts, {seconds:g} s: above {what}", asked, mean, "%"
                )
    report.table(("hosts", "limit", "above", *datacenters.FAMILIES, "mean", "worst"), rows)


def _paper(seeds: Sequence[int], report: Report) -> None:
    rows = []
    for algorithm, ranks in _PAPER:
        form = cast(RoundsForm, find(algorithm).form(ranks))

        def gain(distance: Matrix, seed: int, of: RoundsForm = form) -> float:
            found = search_by_latency(of, distance, seed=seed, time_limit_s=_ORDER_SECONDS)
            peer_s = _PAPER_TIMES * _ORDER_SECONDS
            return paper_annealing(of, distance, seed, peer_s) / found.cost

        figures = _figures(_by_family(ranks, seeds, gain), "{:.2f}x")
        rows.append((algorithm, ranks, *figures))
        what = f"{algorithm}, {ranks} ranks: the paper's annealing over plink"
        report.at_least(what, _ASKED_OF_PAPER, float(figures[-1].rstrip("x")), "x")
    report.table(("algorithm", "ranks", *datacenters.FAMILIES, "mean"), rows)


def _by_family(
    hosts: int, seeds: Sequence[int], measure: Callable[[Matrix, int], _Measured]
) -> dict[str, list[_Measured]]:
    return {
        family: [measure(make(hosts, seed).distance, seed) for seed in seeds]
        for family, make in datacenters.FAMILIES.items()
    }


def _figures(values: dict[str, list[float]], style: str) -> list[str]:
    medians = [statistics.median(each) for each in values.values()]
    return [style.format(value) for value in (*medians, statistics.mean(medians))]
