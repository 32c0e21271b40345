"""From round-trip times as measured to the distances that hosts are grouped by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.distance import Matrix, distances
from plink.files.cluster import Cluster
from solvers.embedding.embed import Embedding, embed

# With fewer measured partners a host's place is a guess.
_LEAST_PARTNERS = 3


@dataclass(frozen=True)
class Denoised:
    """Distances of the hosts that can be placed.

    Args:
        hosts: their indices, M of the N.
        matrix_us: (M, M) in µs, symmetric, zero diagonal, no gaps.
        is_embedded: whether `matrix_us` is of the embedding, else as measured.
        embedding: of the same hosts; None where there is none.
        why: why the matrix is the one or the other, as half a sentence.
        filled_pairs: unordered pairs that were not measured.
    """

    hosts: Sequence[int]
    matrix_us: Matrix
    is_embedded: bool
    embedding: Embedding | None
    why: str
    filled_pairs: int


def measured_hosts(cluster: Cluster) -> list[int]:
    """Indices of the hosts with enough measured partners to be placed."""
    size = len(cluster.hosts)
    if cluster.rtt is None:
        return []
    readings = cluster.rtt.readings_us
    is_measured = np.isfinite(readings) | np.isfinite(readings.T)
    np.fill_diagonal(is_measured, val=False)
    hosts = np.arange(size)
    least = min(_LEAST_PARTNERS, size - 1)
    # A host that is left out costs the others a partner.
    while True:
        partners = is_measured[np.ix_(hosts, hosts)].sum(axis=1)
        if (partners >= least).all():
            return [int(host) for host in hosts]
        hosts = hosts[partners >= least]


def denoise(
    cluster: Cluster,
    hosts: Sequence[int],
    *,
    needs_points: bool = False,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Denoised:
    """The distances between hosts that grouping should use.

    Complete readings are used as they are: there the groups found on them are no worse than those
    on an embedding (docs/group.md). Where pairs are missing, the embedding stands for all of them,
    unless the raw matrix predicts held-out pairs better.

    Args:
        cluster: with round-trip times.
        hosts: indices of those that `measured_hosts` has; at least two.
        needs_points: make an embedding in any case.
        seed: of the embedding.
        on_progress: told what is being done.
    """
    readings = readings_between(cluster, hosts)
    raw = distances(_only(cluster, hosts))
    if not raw.filled_pairs and not needs_points:
        return Denoised(hosts, raw.matrix_us, False, None, "every pair was measured", 0)
    found: Embedding | None = None
    why = "every pair was measured"
    try:
        found = embed(readings, seed=seed, on_progress=on_progress)
    except ValueError as error:
        why = str(error)
    is_embedded = raw.filled_pairs > 0 and found is not None and found.is_better_than_raw
    if raw.filled_pairs and found is not None:
        compared = (
            f"held-out pairs are missed by {found.held_out_error:.0%}, by "
            f"{found.neighbour_error:.0%} from the raw matrix"
        )
        why = compared.replace("%", " %")
    matrix = found.distance if found is not None and is_embedded else raw.matrix_us
    return Denoised(hosts, matrix, is_embedded, found, why, raw.filled_pairs)


def readings_between(cluster: Cluster, hosts: Sequence[int]) -> Matrix:
    """(M, M) readings in µs as measured between M hosts, given by index; NaN where not measured."""
    if cluster.rtt is None:
        return np.full((len(hosts), len(hosts)), np.nan)
    found: Matrix = cluster.rtt.readings_us[np.ix_(hosts, hosts)]
    return found


def _only(cluster: Cluster, hosts: Sequence[int]) -> Cluster:
    """The cluster of these hosts."""
    rtt = None if cluster.rtt is None else cluster.rtt.for_hosts(list(hosts))
    return Cluster([cluster.hosts[host] for host in hosts], rtt)
