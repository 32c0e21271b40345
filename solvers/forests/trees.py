"""Trees of a plan as arrays, with weights; their path lengths; trees extended inside hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.trees import depths, levels

Parents = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class Routes(NamedTuple):
    """Forest as arrays: each route's weight, reduction tree and broadcast tree.

    Args:
        weights: (R,) positive, with the sum 1: the share of the buffer that each route carries.
        reduce_parents, broadcast_parents: (R, P) of every member, -1 at the root, -2 at members
            that a route does without (`plink.solvers.forests.servers`).
    """

    weights: Floats
    reduce_parents: Parents
    broadcast_parents: Parents

    @property
    def members(self) -> int:
        """Number of members of the trees: hosts or ranks, and servers' ports."""
        return int(self.reduce_parents.shape[1])


def make_routes(
    weights: npt.ArrayLike, up: npt.ArrayLike, down: npt.ArrayLike | None = None
) -> Routes:
    """Return routes with weights that sum to 1; broadcast trees default to the reduction trees."""
    shares = np.array(weights, dtype=np.float64)
    reduction = np.array(up, dtype=np.int32)
    broadcast = reduction.copy() if down is None else np.array(down, dtype=np.int32)
    return Routes(shares / shares.sum(), reduction, broadcast)


def messages_on_the_way(up: Indices, down: Indices) -> Indices:
    """Return how many messages are handled one after another on each route's longest path, (R,).

    A member takes its children's messages one by one and sends them the result one by one.
    """
    each = np.ones(up.shape)
    return seconds_on_the_way(up, each, down, each, sent_s=1.0).astype(np.intp)


def seconds_on_the_way(
    up: Indices, up_s: Floats, down: Indices, down_s: Floats, *, sent_s: float = 0.0
) -> Floats:
    """Return the seconds until a chunk's sum reaches the last member of each route, (R,).

    What a member gets from its children comes over its link one after the other, and so goes what
    it sends them.

    Args:
        up, down: (R, P) parents in the reduction and broadcast trees.
        up_s, down_s: (R, P) what the message between a member and its parent takes; 0 at roots.
        sent_s: seconds that a member needs besides for each message to or from its parent.
    """
    arrived = np.zeros(up.shape)
    taken = _sum_over_children(up, up_s)
    for route, member in reversed(levels(depths(up))):
        arrived[route, member] += taken[route, member]
        above = up[route, member]
        is_sent = above >= 0
        sent = arrived[route, member] + sent_s
        np.maximum.at(arrived, (route[is_sent], above[is_sent]), sent[is_sent])
    delivered = np.where(down < 0, arrived, 0.0)
    given = _sum_over_children(down, down_s)
    for route, member in levels(depths(down))[1:]:
        above = down[route, member]
        delivered[route, member] = delivered[route, above] + given[route, above] + sent_s
    last: Floats = delivered.max(axis=1)
    return last


def _sum_over_children(parents: Indices, edge_s: Floats) -> Floats:
    """Return the sum of the seconds of the edges to each member's children, (R, P)."""
    total = np.zeros(parents.shape)
    route, member = np.nonzero(parents >= 0)
    np.add.at(total, (route, parents[route, member]), edge_s[route, member])
    return total


def expand_to_ranks(routes: Routes, host_of: Sequence[int] | Indices) -> Routes:
    """Convert routes over hosts to routes over ranks, where one rank of a host acts for it.

    They send to it, and it takes the host's place in the route. Every route is split into as many
    as the fullest host has ranks, and the ranks of a host take turns so that each has about as many
    bytes to add up (`partition`).
    """
    hosts = np.asarray(host_of, dtype=np.intp)
    counts = np.bincount(hosts, minlength=routes.members)
    if len(counts) != routes.members or not counts.all():
        raise ValueError("every host must have a rank, and every rank must be on one of the hosts")
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
    """Return the number of neighbours of one host in every tree, (R,)."""
    neighbours: Floats = (parents == host).sum(axis=1) + (parents[:, host] >= 0).astype(np.float64)
    return neighbours


def _with_ranks(parents: Parents, heads: Indices, host_of: Indices) -> Parents:
    """Return trees over hosts extended by the other ranks of each host, (R, P)."""
    every = np.arange(len(parents))[:, None]
    trees = heads[:, host_of].astype(np.int32)
    above = np.where(
        parents >= 0, np.take_along_axis(heads, np.maximum(parents, 0), axis=1), parents
    )
    trees[every, heads] = above
    return trees


def partition(work: Sequence[float], workers: int) -> list[int]:
    """Return the worker of each weighted piece: largest first, each to the least loaded.

    Each goes to the worker that has least so far; all work alike. The busiest has at most
    4/3 - 1/(3 m) times what is best with m workers (Graham 1969, as in Luo 2020, §3.2.4 and
    §4.2.2).
    """
    load = [0.0] * workers
    worker_of = [0] * len(work)
    for piece in sorted(range(len(work)), key=lambda piece: (-work[piece], piece)):
        worker = min(range(workers), key=load.__getitem__)
        worker_of[piece] = worker
        load[worker] += work[piece]
    return worker_of
