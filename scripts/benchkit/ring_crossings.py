"""Crossings between racks of rings, by what stands for a pair's distance in their search."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchkit.drawn_labs import NO_RACKS, read_labs
from benchkit.drawn_networks import GROUPED, UNGROUPED, Matrix, draw
from benchkit.readings import cluster_of
from benchkit.report import Report
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.measurements import Halves
from plink.model.denoising import denoise
from plink.model.distance import distances
from plink.solvers.ring.ring_search import search_ring

RECORDED_LABS = [
    Path(__file__).resolve().parents[2] / "tests" / "groups" / f"recorded_{name}_labs.npz"
    for name in ("quiet", "busy", "loaded")
]
SOURCES = ("readings", "embedding", "estimate", "true racks")
_LARGEST_SEED = 10**9
_WORKERS = 2
_SEARCH_S = 0.3
# Costs of rings on noisy readings differ by so much by chance.
_NOISE = 0.02


@dataclass(frozen=True)
class Rings:
    """Rings of one network.

    Args:
        beyond: crossings beyond the fewest that there can be, by source.
        cost_ratio: true cost of the ring on the estimate, in shares of that on readings; 1 where
            the truth is not known.
    """

    beyond: dict[str, int]
    cost_ratio: float


def report_crossings(networks: int, first_seed: int | None, report: Report) -> None:
    """Print crossings of rings on recorded labs and drawn networks, and costs without groups.

    Args:
        networks: of each kind.
        first_seed: of each kind; None to draw it.
        report: where it is printed.
    """
    first = secrets.randbelow(_LARGEST_SEED) if first_seed is None else first_seed
    report.say(f"seeds {first} to {first + networks - 1}")
    seeds = range(first, first + networks)
    with ProcessPoolExecutor(_WORKERS) as workers:
        rows, every = [], []
        for path in RECORDED_LABS:
            found = list(workers.map(rings_of_lab, *zip(*_recorded_labs(path), strict=True)))
            rows.append(_row(path.stem.replace("_", " "), found))
        for kind in GROUPED:
            found = list(workers.map(partial(_of_network, kind), seeds))
            rows.append(_row(kind, found))
            every += found
        rows.append(_row("all drawn", every))
        heading = ("rings with the fewest crossings", "of", *SOURCES, "more crossings: readings")
        report.table((*heading, "estimate"), rows, "crossings")
        plain = [(kind, list(workers.map(partial(_of_network, kind), seeds))) for kind in UNGROUPED]
    costs = [
        (kind, f"{np.mean(ratios):.3f}", f"{max(ratios):.3f}")
        for kind, found in plain
        for ratios in ([rings.cost_ratio for rings in found],)
    ]
    titles = ("true cost on the estimate, of that on readings", "mean", "most")
    report.table(titles, costs, "costs without groups")
    share = np.mean([rings.beyond["estimate"] == 0 for rings in every])
    report.at_least("rings with the fewest crossings", 95, 100 * float(share), "%")
    worst = max(float(np.mean([rings.cost_ratio for rings in found])) for _, found in plain)
    report.at_most("true cost without groups, of a kind", 1.0 + _NOISE, worst)


def _row(name: str, found: Sequence[Rings]) -> list[object]:
    right = [sum(rings.beyond[source] == 0 for rings in found) for source in SOURCES]
    more = [sum(rings.beyond[source] for rings in found) for source in ("readings", "estimate")]
    return [name, len(found), *right, *more]


def _recorded_labs(path: Path) -> Iterator[tuple[Matrix, Sequence[str]]]:
    for lab in read_labs(path):
        if lab.kind != NO_RACKS:
            yield lab.halves_us, lab.racks


def rings_of_lab(halves_us: Matrix, racks: Sequence[str]) -> Rings:
    """Compare rings on a lab's readings; its true distances are not known.

    Args:
        halves_us: (2, N, N) the least readings of the odd and the even passes.
        racks: each host's.
    """
    return _rings(halves_us, [sorted(set(racks)).index(rack) for rack in racks], None)


def _of_network(kind: str, seed: int) -> Rings:
    network = draw(kind, seed)
    racks = network.levels[0].tolist() if network.levels else [0] * len(network.readings_us)
    return _rings(network.halves_us, racks, network.truth_us)


def _rings(halves_us: Matrix, racks: Sequence[int], truth_us: Matrix | None) -> Rings:
    """Compare rings on the distances of each source.

    Args:
        halves_us: (2, N, N) the least readings of the odd and the even passes.
        racks: each host's.
        truth_us: (N, N) true distances; None if they are not known.
    """
    cluster = _cluster(halves_us)
    true_groups = [
        Group(
            f"rack{rack}", [cluster.names[host] for host in np.flatnonzero(np.equal(racks, rack))]
        )
        for rack in sorted(set(racks))
    ]
    matrices = {
        "readings": distances(replace(cluster, uses_readings=True)).matrix_us,
        "embedding": _embedded_distances(cluster),
        "estimate": distances(cluster).matrix_us,
        "true racks": distances(replace(cluster, groups=true_groups)).matrix_us,
    }
    given = np.random.default_rng(len(racks)).permutation(len(racks)).tolist()
    orders = {
        source: search_ring(matrix, given, seed=1, time_limit_s=_SEARCH_S).order
        for source, matrix in matrices.items()
    }
    fewest = len(true_groups) if len(true_groups) > 1 else 0
    beyond = {source: _crossings(order, racks) - fewest for source, order in orders.items()}
    if truth_us is None:
        return Rings(beyond, 1.0)
    costs = [_cost(orders[source], truth_us) for source in ("estimate", "readings")]
    return Rings(beyond, costs[0] / costs[1])


def _cluster(halves_us: Matrix) -> Cluster:
    plain = cluster_of(np.fmin(*halves_us))
    if plain.rtt is None or np.isnan(halves_us[1]).all():
        return plain
    passes = np.isfinite(halves_us).sum(axis=0)
    return replace(plain, rtt=replace(plain.rtt, passes=passes, halves_us=Halves(*halves_us)))


def _embedded_distances(cluster: Cluster) -> Matrix:
    found = denoise(cluster, range(len(cluster.hosts)), needs_points=True)
    return found.matrix if found.embedding is None else found.embedding.distance


def _crossings(order: Iterable[int], racks: Sequence[int]) -> int:
    ring = [racks[host] for host in order]
    return sum(one != other for one, other in zip(ring, [*ring[1:], ring[0]], strict=True))


def _cost(order: Sequence[int], truth_us: Matrix) -> float:
    return float(truth_us[list(order), np.roll(order, -1)].sum())
