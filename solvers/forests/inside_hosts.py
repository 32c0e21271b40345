"""Extra level of trees inside hosts that hold several ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.solvers.forests.routes import Floats, Indices, Parents, Routes, make_routes


def inside_hosts(routes: Routes, host_of: Sequence[int] | Indices) -> Routes:
    """Return routes over ranks from routes over hosts; one rank acts for its host.

    They send to it, and it takes the host's place in the route. Every route is split into as many
    as the fullest host has ranks, and the ranks of a host take turns so that each has about as many
    bytes to add up (`partition`).

    Args:
        routes: over hosts.
        host_of: (P,) the host of each rank.

    Raises:
        ValueError: a host without ranks, or ranks of other hosts.
    """
    hosts = np.asarray(host_of, dtype=np.intp)
    counts = np.bincount(hosts, minlength=routes.members)
    if len(counts) != routes.members or not counts.all():
        raise ValueError("not every host has ranks, or a rank is on none of the hosts")
    ranks_of = [np.flatnonzero(hosts == host) for host in range(routes.members)]
    parts = int(counts.max())
    weights = np.repeat(routes.weights / parts, parts)
    up = np.repeat(routes.reduce_parents, parts, axis=0)
    down = np.repeat(routes.broadcast_parents, parts, axis=0)
    heads = np.empty(up.shape, dtype=np.intp)
    for host, ranks in enumerate(ranks_of):
        work = weights * (_degrees(up, host) + _degrees(down, host) + 2 * (len(ranks) - 1))
        heads[:, host] = ranks[partition(work.tolist(), len(ranks))]
    return make_routes(weights, _with_ranks(up, heads, hosts), _with_ranks(down, heads, hosts))


def _degrees(parents: Parents, host: int) -> Floats:
    """Return the number of neighbours of a host in every tree, (R,)."""
    neighbours: Floats = (parents == host).sum(axis=1) + (parents[:, host] >= 0).astype(np.float64)
    return neighbours


def _with_ranks(parents: Parents, heads: Indices, host_of: Indices) -> Parents:
    """Return (R, P) trees over ranks."""
    every = np.arange(len(parents))[:, None]
    trees = heads[:, host_of].astype(np.int32)
    above = np.where(
        parents >= 0, np.take_along_axis(heads, np.maximum(parents, 0), axis=1), parents
    )
    trees[every, heads] = above
    return trees


def partition(work: Sequence[float], workers: int) -> list[int]:
    """Assign pieces of work to workers, largest first, each to the least loaded.

    Each goes to the worker that has least so far; all work alike. The busiest has at most
    4/3 - 1/(3 m) times what is best with m workers (Graham 1969, as in Luo 2020, §3.2.4 and
    §4.2.2).

    Raises:
        ValueError: no workers.
    """
    if workers < 1:
        raise ValueError(f"workers is {workers}, expected at least 1")
    load = [0.0] * workers
    worker_of = [0] * len(work)
    for piece in sorted(range(len(work)), key=lambda piece: (-work[piece], piece)):
        worker = min(range(workers), key=load.__getitem__)
        worker_of[piece] = worker
        load[worker] += work[piece]
    return worker_of
