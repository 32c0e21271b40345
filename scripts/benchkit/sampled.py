"""Generated networks, and what a sample of their pairs is worth: racks found again, and rings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchkit.datacenters import FAMILIES
from benchkit.readings import cluster_of, edges_leaving
from plink.model.distance import distances
from plink.probes.rounds import sample_rounds
from plink.solvers.collectives.cost import ring_cost
from plink.solvers.ring.ring_search import search_ring
from plink.solvers.sampling.sampler import next_rounds

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]
Rounds = Sequence[Sequence[tuple[int, int]]]

# Single readings of 128 hosts in 8 racks of the lab are 21 to 29 µs within a rack and 34 to 45
# between racks (10th to 90th percentile): the truth, and an exponential above it. Further levels
# are as far from each other.
_TRUTH_US = (20.6, 33.5, 46.4, 59.3)
_ABOVE = (3.64 / 20.6, 5.0 / 33.5, 5.0 / 33.5, 5.0 / 33.5)
# Pairs that something disturbs whenever they meet.
_DISTURBED_SHARE = 0.01
_DISTURBANCE = (1.3, 3.0)

# The middle of the ranges from which pairs of a data centre's levels are drawn.
_LEVELS_US = (25.0, 57.5, 110.0)


@dataclass(frozen=True)
class Network:
    """A generated network.

    Args:
        truth_us: (N, N) by the places of both hosts alone.
        readings_us: (N, N) what is read where a pair meets.
        rack_of: (N,) each host's rack.
    """

    truth_us: Matrix
    readings_us: Matrix
    rack_of: npt.NDArray[np.intp]


def racks(sizes: Sequence[int], seed: int, *, row: int = 0, hall: int = 0) -> Network:
    """Racks of these sizes, so many of them to a row, and rows to a hall; 0 for no such level."""
    rack = np.repeat(np.arange(len(sizes)), sizes)
    levels = [rack]
    if row:
        levels.append(rack // row)
    if hall:
        levels.append(rack // row // hall)
    rng = np.random.default_rng([seed, 0x1AB])
    place = np.stack(levels)[:, rng.permutation(len(rack))]
    # How many levels it takes to get from the one to the other.
    steps = (place[:, :, None] != place[:, None, :]).sum(axis=0)
    truth = np.take(_TRUTH_US, steps)
    np.fill_diagonal(truth, 0.0)
    return Network(truth, _read(truth, np.take(_ABOVE, steps), rng), place[0])


def plane(hosts: int, seed: int) -> Network:
    """Hosts anywhere on a plane, in no groups; each is its own rack."""
    rng = np.random.default_rng([seed, 0x9A7])
    points = rng.random((hosts, 2))
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    truth = 20.0 + 40.0 * apart
    np.fill_diagonal(truth, 0.0)
    return Network(truth, _read(truth, np.full(truth.shape, 0.15), rng), np.arange(hosts))


def data_center(family: str, hosts: int, seed: int) -> Network:
    """One of `benchkit.datacenters`, with noise of 15 % on every pair, and detours."""
    center = FAMILIES[family](hosts, seed)
    steps = (center.rack_of[:, None] != center.rack_of).astype(np.intp)
    steps += center.row_of[:, None] != center.row_of
    truth = np.take(_LEVELS_US, steps)
    np.fill_diagonal(truth, 0.0)
    return Network(truth, center.distance, center.rack_of)


def _read(truth: Matrix, above: Matrix, rng: np.random.Generator) -> Matrix:
    """Readings: noise only adds."""
    readings = truth * (1.0 + rng.exponential(above))
    is_disturbed = rng.random(truth.shape) < _DISTURBED_SHARE
    readings *= np.where(is_disturbed, rng.uniform(*_DISTURBANCE, truth.shape), 1.0)
    above_diagonal = np.triu(readings, 1)
    return above_diagonal + above_diagonal.T


@dataclass(frozen=True)
class Sample:
    """What was read.

    Args:
        readings_us: (N, N), symmetric, NaN where not read.
        rounds: how many there were.
        most: meetings of the host that had most.
        cpu_s: to choose them.
        labels: (N,) the groups that choosing them found; None if it found no near pairs.
    """

    readings_us: Matrix
    rounds: int
    most: int
    cpu_s: float
    labels: npt.NDArray[np.int64] | None = None

    @property
    def share(self) -> float:
        """The share of all pairs that was read."""
        size = len(self.readings_us)
        return float((~np.isnan(self.readings_us)).sum() / (size * (size - 1)))


def draw_following(
    network: Network, share: float, seed: int, is_lost: Callable[[int, int], bool] | None = None
) -> Sample:
    """A sample that follows the question; pairs that are lost have no reading."""
    size = len(network.rack_of)
    readings = np.full((size, size), np.nan)
    tried = np.zeros((size, size), dtype=bool)
    rounds, cpu_s = 0, 0.0
    while True:
        began = time.process_time()
        step = next_rounds(readings, tried=tried, share=share, seed=seed)
        cpu_s += time.process_time() - began
        if not step.rounds:
            break
        rounds += len(step.rounds)
        for i, j in _pairs(step.rounds):
            tried[i, j] = tried[j, i] = True
            if is_lost is None or not is_lost(i, j):
                readings[i, j] = readings[j, i] = network.readings_us[i, j]
    labels = None if step.found is None else step.found.labels
    return Sample(readings, rounds, int(tried.sum(axis=1).max()), cpu_s, labels)


def by_chance(network: Network, share: float, seed: int) -> Sample:
    """So many rounds of the tournament as are the share of all pairs, or just more."""
    size = len(network.rack_of)
    count = max(2, int(np.ceil(share * (size - 1))))
    rounds = sample_rounds(size, count, seed)
    readings = np.full((size, size), np.nan)
    for i, j in _pairs(rounds):
        readings[i, j] = readings[j, i] = network.readings_us[i, j]
    return Sample(readings, count, count, 0.0)


def fill_distances(readings_us: Matrix) -> Matrix:
    """The distances that `plink order` and `plink group` go by."""
    return distances(cluster_of(readings_us)).matrix_us


def agreement(matrix_us: Matrix, rack_of: Labels) -> float:
    """Adjusted mutual information of the racks with average linkage cut at their number."""
    from scipy.cluster.hierarchy import fcluster, linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415
    from sklearn.metrics import adjusted_mutual_info_score  # noqa: PLC0415

    tree = linkage(squareform(matrix_us, checks=False), method="average")
    cut = fcluster(tree, len(set(rack_of.tolist())), criterion="maxclust")
    return float(adjusted_mutual_info_score(rack_of, cut))


@dataclass(frozen=True)
class Ring:
    """A ring, as it is in truth.

    Args:
        cost_us: sum of the distances along it, by the places of the hosts.
        read_us: the same, as they are read, noise and all.
        leaving: edges that leave a rack.
    """

    cost_us: float
    read_us: float
    leaving: int


def ring_on(matrix_us: Matrix, network: Network, seconds: float) -> Ring:
    """The ring that is searched on distances."""
    order = search_ring(matrix_us, seed=0, time_limit_s=seconds).order
    return Ring(
        cost_us=ring_cost(network.truth_us, order),
        read_us=ring_cost(network.readings_us, order),
        leaving=edges_leaving(network.rack_of[order]),
    )


def _pairs(rounds: Rounds) -> Iterator[tuple[int, int]]:
    return (pair for pairs in rounds for pair in pairs)
