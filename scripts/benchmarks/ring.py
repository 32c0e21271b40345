"""Quality of ring orders; fast-tsp is a peer where it is installed.

DATA has tsp/ (TSPLIB files, optimal.csv) and latency/ (CSV matrices).
"""

from __future__ import annotations

import argparse
import csv
import importlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchkit import ring_instances
from benchkit.arguments import add_seed
from benchkit.report import Report
from plink.formats.cluster import Cluster
from plink.formats.document import read_bytes
from plink.measure.importing.source import import_matrix
from plink.model.distance import distances
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.show.orders import explain_unproven
from plink.solvers.collectives.cost import ring_cost
from plink.solvers.ring.ring_search import search_ring
from plink.solvers.search import Solution

fast_tsp: Any = None
with suppress(ImportError):
    fast_tsp = importlib.import_module("fast_tsp")

EXAMPLE = "DATA --only tsp"
QUICK = "--only data-centre --known-seconds 1"
Matrix = npt.NDArray[np.float64]

_TSP_SECONDS = 1.0
_DATA_CENTRES = ((16, 1.0), (64, 1.0), (128, 1.0), (256, 1.0), (512, 1.0), (512, 2.0), (1024, 5.0))
_MOST_OF_PEER = 65535
_PLANE_SECONDS = (1.0, 5.0)
_PLANE_KINDS = ("even", "clusters", "drill", "coarse")
_PLANES_PER_KIND = 3
_LATENCY_SECONDS = 2.0
_KNOWN_SEEDS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("data", metavar="DATA", type=Path, help="a folder")
    add_seed(parser)
    parser.add_argument(
        "--known-seconds",
        type=float,
        default=60.0,
        help="per generated data centre, of longer searches to compare with",
    )
    choices = ["tsp", "plane", "data-centre", "latency"]
    parser.add_argument("--only", choices=choices, help="one of the tables")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Print the tables asked for."""
    data, seed = arguments.data, arguments.seed
    if arguments.only in (None, "tsp"):
        report.table(_TSP_HEADING, _tsplib(data / "tsp", seed, report), "TSPLIB")
    if arguments.only in (None, "plane"):
        report.table(_PLANE_HEADING, _planes(seed, report), "Points in the plane")
    if arguments.only in (None, "data-centre"):
        rows = _data_centres(seed, arguments.known_seconds, report)
        report.table(_DATA_CENTRE_HEADING, rows, "Generated data centres")
    if arguments.only in (None, "latency"):
        report.table(_LATENCY_HEADING, _latencies(data / "latency", seed), "Measured matrices")


_TSP_HEADING = (
    "instance", "optimum", "plink", "above", "bound", "below", "ended by", "seconds",
    "fast-tsp above",
)  # fmt: skip


def _tsplib(folder: Path, seed: int, report: Report) -> Iterator[Sequence[str]]:
    with (folder / "optimal.csv").open() as stream:
        known = {row["instance"]: float(row["optimal"]) for row in csv.DictReader(stream)}
    for name, optimum in known.items():
        matrix = ring_instances.tsplib(folder / f"{name}.tsp")
        found, seconds = _time_search(matrix, seed, _TSP_SECONDS)
        above_percent = 100 * (found.cost / optimum - 1)
        report.at_most(f"{name}: above the optimum", 1.0, above_percent, "%")
        yield (
            name,
            f"{optimum:.0f}",
            f"{found.cost:.0f}",
            _percent(found.cost / optimum - 1),
            f"{found.lower_bound:.1f}",
            _percent(1 - found.lower_bound / optimum),
            found.ended_by,
            f"{seconds:.2f}",
            _percent(_peer(matrix, _TSP_SECONDS) / optimum - 1),
        )


_PLANE_HEADING = (
    "kind", "hosts", "cheapest seen in this run", "plink, 1 s", "fast-tsp, 1 s",
    "CPU s of plink / fast-tsp", "plink, 5 s", "fast-tsp, 5 s", "gap, 5 s",
)  # fmt: skip


def _planes(seed: int, report: Report) -> Iterator[Sequence[str]]:
    """Sizes drawn at random, so that nobody can have tuned on them; equal time, one thread."""
    rng = np.random.default_rng(seed)
    for kind in _PLANE_KINDS:
        for _ in range(_PLANES_PER_KIND):
            size = int(rng.integers(500, 1001))
            matrix = ring_instances.plane(kind, size, int(rng.integers(1 << 32)))
            found: list[Solution] = []
            peers: list[float] = []
            processor_s: list[float] = []
            for limit_s in _PLANE_SECONDS:
                began_s = time.process_time()
                found.append(_time_search(matrix, seed, limit_s)[0])
                between_s = time.process_time()
                peers.append(_peer(matrix, limit_s))
                processor_s += [between_s - began_s, time.process_time() - between_s]
            cheapest = min(*(one.cost for one in found), *peers)
            name = f"{kind}, {size} hosts"
            if fast_tsp is not None:
                report.at_most(f"{name}, 1 s: beside fast-tsp", 1.0, found[0].cost / peers[0], "x")
                above_percent = 100 * (found[1].cost / cheapest - 1)
                report.at_most(f"{name}, 5 s: above the cheapest seen", 0.05, above_percent, "%")
            above = [cost / cheapest - 1 for cost in (found[0].cost, peers[0], found[1].cost)]
            yield (
                kind,
                str(size),
                f"{cheapest:.0f}",
                *map(_percent, above[:2]),
                f"{processor_s[0]:.2f} / {processor_s[1]:.2f}",
                _percent(above[2]),
                _percent(peers[1] / cheapest - 1),
                _percent(1 - found[1].lower_bound / found[1].cost),
            )


_DATA_CENTRE_HEADING = (
    "hosts", "limit", "given", "plink", "cheapest seen in this run", "above", "bound", "gap",
    "fast-tsp above",
)  # fmt: skip


@dataclass(frozen=True)
class _DataCentre:
    """Result of a search of plink and of one of the peer in the same time; costs in µs."""

    size: int
    limit_s: float
    given_us: float
    found: Solution
    peer_us: float


def _data_centres(seed: int, known_seconds: float, report: Report) -> Iterator[Sequence[str]]:
    # A later search of the same data centre may find a cheaper ring: first all are run.
    measured = [_data_centre(size, limit_s, seed) for size, limit_s in _DATA_CENTRES]
    cheapest_us: dict[int, float] = {}
    for one in measured:
        known_us = cheapest_us.get(one.size) or _long_search_us(one.size, seed, known_seconds)
        cheapest_us[one.size] = min(known_us, one.found.cost, one.peer_us)
    for one in measured:
        cheapest = cheapest_us[one.size]
        if (one.size, one.limit_s) == (512, 2.0):
            above_percent = 100 * (one.found.cost / cheapest - 1)
            report.at_most("512 hosts, 2 s: above the best known", 1.0, above_percent, "%")
        yield (
            str(one.size),
            f"{one.limit_s:g} s",
            f"{one.given_us / 1e3:.3f} ms",
            f"{one.found.cost / 1e3:.3f} ms",
            f"{cheapest / 1e3:.3f} ms",
            _percent(one.found.cost / cheapest - 1),
            f"{one.found.lower_bound / 1e3:.3f} ms",
            _percent(1 - one.found.lower_bound / one.found.cost),
            _percent(one.peer_us / cheapest - 1),
        )


def _data_centre(size: int, limit_s: float, seed: int) -> _DataCentre:
    matrix = _distances_of_data_centre(size, seed)
    given_us = ring_cost(matrix, range(size))
    found, _ = _time_search(matrix, seed, limit_s)
    return _DataCentre(size, limit_s, given_us, found, _peer(matrix, limit_s))


def _long_search_us(size: int, seed: int, known_seconds: float) -> float:
    """The cheapest of some longer searches with other seeds."""
    matrix = _distances_of_data_centre(size, seed)
    share_s = known_seconds / _KNOWN_SEEDS
    return min(_time_search(matrix, seed + 1 + i, share_s)[0].cost for i in range(_KNOWN_SEEDS))


def _distances_of_data_centre(size: int, seed: int) -> Matrix:
    readings = ring_instances.data_centre(size, seed)
    matrix: Matrix = np.fmax(readings, readings.T)
    np.fill_diagonal(matrix, 0.0)
    return matrix


_LATENCY_HEADING = ("file", "hosts", "filled", "given", "random", "plink", "gap", "confirmed gain")


def _latencies(folder: Path, seed: int) -> Iterator[Sequence[str]]:
    for path in sorted(folder.glob("*.csv")):
        if path.name.startswith("nccl-pairs"):
            continue
        cluster = import_matrix(read_bytes(str(path)), str(path), unit=None, percentile=50.0)
        order = find_order(cluster, OrderRequest(seed=seed, time_limit_s=_LATENCY_SECONDS))
        _check(cluster, order.names, order.cost.cost_us)
        confirmed = order.confirmed_gain
        yield (
            path.stem,
            str(len(order.hosts)),
            str(order.filled_pairs),
            f"{order.cost.listed_us / 1e3:.3f} ms",
            f"{order.cost.random_us / 1e3:.3f} ms",
            f"{order.cost.cost_us / 1e3:.3f} ms ({1 - order.gain:.0%} of random)",
            _percent(order.gap) if explain_unproven(order) is None else "not proven",
            "symmetric file" if confirmed is None else f"{confirmed:.0%} of {order.gain:.0%}",
        )


def _check(cluster: Cluster, names: Sequence[str], cost_us: float) -> None:
    """The cost that a search claims is the cost of the order it gives."""
    order = [cluster.names.index(name) for name in names]
    real = ring_cost(distances(cluster).matrix_us, order)
    if abs(real - cost_us) > 1e-9 * real:
        raise SystemExit(f"claimed {cost_us}, but the order costs {real}")


def _time_search(matrix: Matrix, seed: int, limit_s: float) -> tuple[Solution, float]:
    start = time.monotonic()
    found = search_ring(matrix, seed=seed, time_limit_s=limit_s)
    return found, time.monotonic() - start


def _peer(matrix: Matrix, limit_s: float) -> float:
    """The cost of fast-tsp's ring, given as much time; infinite where it is not installed."""
    if fast_tsp is None:
        return math.inf
    # It takes 16-bit whole numbers, and reads arrays without converting their elements.
    whole = matrix.max() <= _MOST_OF_PEER and (matrix == np.rint(matrix)).all()
    scaled = matrix if whole else np.rint(matrix * (_MOST_OF_PEER / matrix.max()))
    found = fast_tsp.find_tour(scaled.astype(np.uint16), duration_seconds=limit_s)
    return ring_cost(matrix, found)


def _percent(share: float) -> str:
    return f"{100.0 * share:.3f} %" if math.isfinite(share) else "not installed"
