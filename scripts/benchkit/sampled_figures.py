"""What a sample of a network's pairs is worth: racks found again, and the ring on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchkit.sampled_networks import Network
from plink.files.cluster import Cluster, Host
from plink.files.rtt import RttMeasurement
from plink.model.distance import distances
from probes.rounds import sampled_rounds
from solvers.ring.reference import ring_cost
from solvers.ring.ring_search import search_ring
from solvers.sampling.sampler import next_rounds

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]
Rounds = Sequence[Sequence[tuple[int, int]]]


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
        """Of all pairs."""
        size = len(self.readings_us)
        return float((~np.isnan(self.readings_us)).sum() / (size * (size - 1)))


def followed(
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
    rounds = sampled_rounds(size, count, seed)
    readings = np.full((size, size), np.nan)
    for i, j in _pairs(rounds):
        readings[i, j] = readings[j, i] = network.readings_us[i, j]
    return Sample(readings, count, count, 0.0)


def filled(readings_us: Matrix) -> Matrix:
    """The distances that `plink order` and `plink group` go by."""
    counts = (~np.isnan(readings_us)).astype(np.int64)
    hosts = [Host(f"h{host}", f"h{host}") for host in range(len(readings_us))]
    rtt = RttMeasurement(
        rtt_us={10.0: readings_us},
        reading=10.0,
        samples=counts,
        losses=np.zeros_like(counts),
        tool="simulated",
    )
    return distances(Cluster(hosts, rtt=rtt)).matrix_us


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
    racks = network.rack_of[order]
    return Ring(
        cost_us=ring_cost(network.truth_us, order),
        read_us=ring_cost(network.readings_us, order),
        leaving=int((racks != np.roll(racks, -1)).sum()),
    )


def _pairs(rounds: Rounds) -> Iterator[tuple[int, int]]:
    return (pair for pairs in rounds for pair in pairs)
