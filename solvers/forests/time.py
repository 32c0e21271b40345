"""How long an allreduce over a forest takes where flows share links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.collectives.trees import depths
from solvers.contention.network import Network
from solvers.contention.time import Clock
from solvers.forests.routes import Indices, Routes, make_routes
from solvers.forests.table import forest_table

# A buffer is not cut into smaller pieces than this: it would be messages that take the time then.
LEAST_CHUNK_BYTES = 16 * 1024

# What a processor needs to hand a message to the kernel, or to take one from it: the overhead o of
# LogP (Culler et al. 1993).
MESSAGE_S = 5e-6


def time_s(
    routes: Routes, host_of: Sequence[int] | Indices, network: Network, size_bytes: float
) -> float:
    """The time in seconds of one allreduce.

    Three sums. All chunks are under way together, so that the link that takes longest for all bytes
    that cross it decides. The first chunk's way up and down adds the greatest latency of each
    round. And on that way ranks handle messages one after the other: a root with many children
    waits for each of them, which is what the time of a small buffer is made of.

    Args:
        routes: over ranks.
        host_of: (P,) the host of each rank; ranks of one host exchange data for free.
        network: the hosts and links.
        size_bytes: of the buffer.

    Raises:
        ValueError: not a host for each rank.
    """
    used = dealt(routes, size_bytes)
    carried_s = Clock(forest_table(used, size_bytes), network).time_s(np.asarray(host_of))
    return carried_s + MESSAGE_S * max(map(messages_on_the_way, *_trees(used)))


def dealt(routes: Routes, size_bytes: float) -> Routes:
    """The routes that a buffer uses: of one with fewer chunks than routes the heaviest, evenly."""
    chunks = max(1, int(size_bytes // LEAST_CHUNK_BYTES))
    if chunks >= len(routes.weights):
        return routes
    heaviest = np.sort(np.argsort(-routes.weights, kind="stable")[:chunks])
    return make_routes(
        np.ones(chunks), routes.reduce_parents[heaviest], routes.broadcast_parents[heaviest]
    )


def messages_on_the_way(up: Indices, down: Indices) -> int:
    """Messages that ranks handle one after the other, from the first one sent to the last result.

    Args:
        up, down: (P,) parents in a route's trees.
    """
    ranks = len(up)
    children = np.bincount(up[up >= 0], minlength=ranks).tolist()
    arrived = [0] * ranks
    for rank in np.argsort(-depths(up), kind="stable").tolist():
        arrived[rank] += children[rank]
        above = int(up[rank])
        if above >= 0:
            arrived[above] = max(arrived[above], arrived[rank] + 1)
    root = int(np.flatnonzero(up < 0)[0])
    children = np.bincount(down[down >= 0], minlength=ranks).tolist()
    delivered = [arrived[root]] * ranks
    for rank in np.argsort(depths(down), kind="stable").tolist():
        above = int(down[rank])
        if above >= 0:
            delivered[rank] = delivered[above] + children[above] + 1
    return max(delivered)


def _trees(routes: Routes) -> tuple[Indices, Indices]:
    return routes.reduce_parents.astype(np.intp), routes.broadcast_parents.astype(np.intp)
