"""Distances by which hosts are grouped: lesser of both directions, gaps filled in or embedded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.matrices import Matrix
from plink.model.distance import bandwidth_distances, has_only_bandwidth, split_directions
from plink.solvers.distances import fill_gaps
from plink.solvers.embedding.embed import Embedding, embed

Mask = npt.NDArray[np.bool_]

# With fewer measured partners a host's place is a guess.
LEAST_PARTNERS = 3
# Halves of the passes are compared where they share so many of the pairs.
_LEAST_TWICE = 0.9


@dataclass(frozen=True)
class Denoised:
    """Distances between the hosts with enough readings, gaps filled in, and their embedding.

    Args:
        hosts: their indices, M of the N.
        matrix: (M, M) the least of both directions' readings, symmetric, zero diagonal, gaps filled
            in; round-trip times in µs, or where only bandwidths are known, seconds a Gbit.
        is_measured: (M, M) which pairs were measured; false on the diagonal.
        is_time: whether they are round-trip times.
        embedding: of the same hosts, where pairs are missing or it was asked for; None where there
            cannot be one.
        why: why the embedding is used or not, as half a sentence.
    """

    hosts: Sequence[int]
    matrix: Matrix
    is_measured: Mask
    is_time: bool
    embedding: Embedding | None
    why: str

    @property
    def filled_pairs(self) -> int:
        """Number of unordered pairs of hosts that were not measured."""
        size = len(self.hosts)
        return (size * (size - 1) - int(self.is_measured.sum())) // 2

    @property
    def is_embedded(self) -> bool:
        """Whether pairs are missing, and the embedding's distances beat the filled-in readings."""
        return (
            self.filled_pairs > 0
            and self.embedding is not None
            and self.embedding.is_better_than_raw
        )

    @property
    def best(self) -> Matrix:
        """Distances to use, (M, M): the embedding's where they are better, else `matrix`."""
        if self.is_embedded and self.embedding is not None:
            return self.embedding.distance
        return self.matrix


def find_measured_hosts(cluster: Cluster) -> list[int]:
    """Return the indices of the hosts that have readings with at least 3 others of these hosts."""
    size = len(cluster.hosts)
    is_measured = np.isfinite(min_over_directions(cluster))
    np.fill_diagonal(is_measured, val=False)
    hosts = np.arange(size)
    least = min(LEAST_PARTNERS, size - 1)
    # A host that is left out costs the others a partner.
    while True:
        partners = is_measured[np.ix_(hosts, hosts)].sum(axis=1)
        if (partners >= least).all():
            return [int(host) for host in hosts]
        hosts = hosts[partners >= least]


def min_over_directions(cluster: Cluster) -> Matrix:
    """Return each pair's lesser round trip in µs, (N, N); s per Gbit if only bandwidths are known.

    What disturbs a round trip makes it longer, and both directions of a pair take the same way
    there and back. Where only bandwidths are known, `bandwidth_distances` in seconds a Gbit.
    """
    if has_only_bandwidth(cluster):
        return bandwidth_distances(cluster)
    size = len(cluster.hosts)
    if cluster.rtt is None:
        return np.where(np.eye(size, dtype=bool), 0.0, np.nan)
    readings = cluster.rtt.readings_us
    least: Matrix = np.fmin(readings, readings.T)
    np.fill_diagonal(least, 0.0)
    return least


def denoise(
    cluster: Cluster,
    hosts: Sequence[int],
    *,
    needs_points: bool = False,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Denoised:
    """Compute the distances by which hosts are grouped, with an embedding if pairs are missing.

    Args:
        cluster: with round-trip times or bandwidths.
        hosts: indices of those that `find_measured_hosts` returns; at least two.
        needs_points: make an embedding in any case.
        seed: seed of the embedding.
        on_progress: told what is being done.
    """
    readings = min_over_directions(cluster)[np.ix_(hosts, hosts)]
    is_measured = np.isfinite(readings)
    np.fill_diagonal(is_measured, val=False)
    matrix, missing = fill_gaps(np.where(is_measured, readings, np.nan))
    embedding, why = None, "every pair was measured"
    if missing.any() or needs_points:
        try:
            embedding = embed(
                np.where(is_measured, readings, np.nan),
                halves=_halves(cluster, hosts),
                seed=seed,
                on_progress=on_progress,
            )
            why = _describe_errors(embedding)
        except ValueError as error:
            why = str(error)
    return Denoised(
        hosts=hosts,
        matrix=matrix,
        is_measured=is_measured,
        is_time=not has_only_bandwidth(cluster),
        embedding=embedding,
        why=why,
    )


def select_readings(cluster: Cluster, hosts: Sequence[int]) -> Matrix:
    """Return readings in µs between hosts given by index, (M, M); NaN where not measured."""
    if cluster.rtt is None:
        return np.full((len(hosts), len(hosts)), np.nan)
    found: Matrix = cluster.rtt.readings_us[np.ix_(hosts, hosts)]
    return found


def split_halves(cluster: Cluster) -> tuple[Cluster, Cluster] | None:
    """Return two clusters, each with one of a pair's readings (by passes or direction), or None.

    None where there is only one measurement of most pairs.
    """
    rtt = cluster.rtt
    if rtt is None:
        return None
    halves = rtt.halves_us or split_directions(cluster)
    if halves is None:
        return None
    one, other = (
        replace(cluster, rtt=replace(rtt, rtt_us={rtt.reading: half}, passes=None, halves_us=None))
        for half in halves
    )
    return one, other


def _halves(cluster: Cluster, hosts: Sequence[int]) -> tuple[Matrix, Matrix] | None:
    halves = split_halves(cluster)
    if halves is None or cluster.rtt is None or cluster.rtt.halves_us is None:
        return None
    odd, even = (min_over_directions(half)[np.ix_(hosts, hosts)] for half in halves)
    measured = np.isfinite(np.fmin(odd, even)).sum()
    # A run of one pass, or one that ended in its second, says nothing of most pairs twice.
    is_twice = np.isfinite(odd + even).sum() >= _LEAST_TWICE * measured
    return (odd, even) if is_twice else None


def _describe_errors(embedding: Embedding) -> str:
    text = (
        f"held-out pairs are missed by {embedding.held_out_error:.0%}, by "
        f"{embedding.neighbour_error:.0%} from the raw matrix"
    )
    return text.replace("%", " %")
