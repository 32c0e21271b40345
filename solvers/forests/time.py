"""How long an allreduce over a forest takes where flows share links."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from solvers.contention.network import Network
from solvers.contention.time import Clock
from solvers.forests.routes import Indices, Routes, make_routes
from solvers.forests.table import forest_table
from solvers.forests.trees import messages_on_the_way

# A buffer is not cut into smaller pieces than this: messages would take the time then, not bytes.
LEAST_CHUNK_BYTES = 8 * 1024

# What a processor needs to hand a message to the kernel, or to take one from it: the overhead o of
# LogP (Culler et al. 1993).
MESSAGE_S = 5e-6


def time_s(
    routes: Routes, host_of: Sequence[int] | Indices, network: Network, size_bytes: float
) -> float:
    """The time in seconds of one allreduce.

    The sum of three. All chunks are under way together, so that the link that takes longest for all
    bytes that cross it decides. The first chunk's way up and down adds the greatest latency of each
    round (`solvers.contention.time`). And on that way ranks handle messages one after the other: a
    root with many children waits for each of them, which is what the time of a small buffer is made
    of.

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
    up, down = used.reduce_parents.astype(np.intp), used.broadcast_parents.astype(np.intp)
    return carried_s + MESSAGE_S * int(messages_on_the_way(up, down).max())


def dealt(routes: Routes, size_bytes: float) -> Routes:
    """The routes that a buffer uses, which are not all where it has fewer chunks than there are.

    Chunks go to routes in proportion to weight, by largest remainder, ties to the first.
    """
    chunks = max(1, math.ceil(size_bytes / LEAST_CHUNK_BYTES))
    if chunks >= len(routes.weights):
        return routes
    exact = routes.weights * chunks
    share = np.floor(exact)
    left = chunks - int(share.sum())
    share[np.argsort(share - exact, kind="stable")[:left]] += 1.0
    used = np.flatnonzero(share)
    return make_routes(share[used], routes.reduce_parents[used], routes.broadcast_parents[used])
