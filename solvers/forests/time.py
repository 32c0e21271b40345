"""Predicted seconds of a collective along a forest, or directly between ranks, on shared links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plink.solvers.collectives.steps import PeerTable, Round
from plink.solvers.collectives.trees import tree_table
from plink.solvers.contention.flows import FlowClock, SoftwareCosts, shared_links
from plink.solvers.contention.network import Network
from plink.solvers.contention.stages import Stages, split
from plink.solvers.contention.time import TableTimer
from plink.solvers.forests.trees import (
    Floats,
    Indices,
    Routes,
    make_routes,
    messages_on_the_way,
    seconds_on_the_way,
)

# How the engine cuts a buffer. Never into smaller pieces than this: messages would take the time
# then, not bytes.
LEAST_CHUNK_BYTES = 8 * 1024
# Into smaller ones than this only where routes would go empty.
_USUAL_LEAST_BYTES = 32 * 1024
_MOST_CHUNK_BYTES = 256 * 1024
_CHUNKS_OF_A_ROUTE = 32

# With more flows it takes too long to tell how they share links.
MOST_SHARED_FLOWS = 4096

# What a processor needs to hand a message to the kernel, or to take one from it: the overhead o of
# LogP (Culler et al. 1993).
MESSAGE_S = 5e-6


class RoutesTimer:
    """Predictor of the seconds of a collective along all routes of a forest at once.

    The sum of five. All chunks are under way together, so that the link that takes longest for all
    bytes that cross it decides. Flows share links evenly, though not all of them have as much to
    send: what is left to do when the short ones have ended may leave links idle (`sharing_s`). The
    first chunk's way up and down adds the greatest latency of each round
    (`plink.solvers.contention.time`). On that way ranks handle messages one after the other: a root
    with many children waits for each of them, which is what the time of a small buffer is made of.
    And the chunk itself has to cross one link after the other, while the busiest link, at the begin
    or the end, has nothing to do: the fill of a pipeline, short where chunks are small.

    Args:
        routes: over ranks, all of them in use. A tree without edges is a direction in which nothing
            goes: a reduce-scatter has only sums, an all-gather only results.
        host_of: (P,) the host of each rank; ranks of one host exchange data for free.
        network: the hosts and links.
        size_bytes: size of all routes together, in bytes.
        chunks_bytes: (R,) the size of a chunk on each route.
    """

    def __init__(
        self,
        routes: Routes,
        host_of: Sequence[int] | Indices,
        network: Network,
        size_bytes: float,
        chunks_bytes: Floats,
    ) -> None:
        self._routes = routes
        self._hosts = np.asarray(host_of, dtype=np.intp)
        self._size_bytes = size_bytes
        self._chunks_bytes = chunks_bytes
        self._up = routes.reduce_parents.astype(np.intp)
        self._down = routes.broadcast_parents.astype(np.intp)
        self._timer = TableTimer(tree_table(*routes, size_bytes), network)
        self.messages = int(messages_on_the_way(self._up, self._down).max())
        """Number of messages that follow one another on the longest path."""

    @property
    def loads(self) -> Stages:
        """Stages of flows that load links."""
        return self._timer.loads

    def time_s(self, network: Network | None = None) -> float:
        """Return the predicted seconds, on another network of the same hosts where one is given.

        Raises:
            ValueError: not a host for each rank.
        """
        timer = self._timer if network is None else self._timer.with_network(network)
        shared_s = sharing_s(self._routes, self._hosts, timer.network, self._size_bytes)
        handled_s = MESSAGE_S * self.messages
        return timer.time_s(self._hosts) + shared_s + handled_s + self.fill_s(timer.network)

    def fill_s(self, network: Network) -> float:
        """Return the seconds that a pipeline takes to fill.

        That is a chunk's way less the time of the busiest link.
        """
        if not self._size_bytes:
            return 0.0
        chunks_bytes, up, down = self._chunks_bytes, self._up, self._down
        up_s, down_s = (
            _edge_s(each, self._hosts, network, chunks_bytes[:, None]) for each in (up, down)
        )
        way_s = float(seconds_on_the_way(up, up_s, down, down_s).max())
        silent = replace(network, latency_s=np.zeros_like(network.latency_s))
        busiest_s = self._timer.with_network(silent).time_s(self._hosts)
        chunks_of_route = max(
            1.0, float((self._routes.weights * self._size_bytes / chunks_bytes).mean())
        )
        return max(0.0, way_s - busiest_s / chunks_of_route)


def direct_s(between_bytes: Floats, host_of: Sequence[int] | Indices, network: Network) -> float:
    """Return the predicted seconds of direct messages between ranks, all sent at once.

    The busiest link, what sharing loses, one latency, and the messages of the rank that handles
    most, one after the other. Nothing passes through a third rank, so that no pipeline fills. Bytes
    are from rank (row) to rank, (P, P); ranks of one host exchange data for free.

    Raises:
        ValueError: not a host for each rank.
    """
    hosts = np.asarray(host_of, dtype=np.intp)
    source, destination = np.nonzero(between_bytes)
    messages = Round(source, destination, between_bytes[source, destination])
    carried_s = TableTimer(PeerTable(len(hosts), [messages]), network).time_s(hosts)
    flows = np.zeros((network.hosts, network.hosts))
    np.add.at(flows, (hosts[source], hosts[destination]), messages.sizes_bytes)
    handled = np.bincount(source, minlength=len(hosts))
    handled += np.bincount(destination, minlength=len(hosts))
    return carried_s + lost_s(flows, network) + MESSAGE_S * int(handled.max())


def sharing_s(routes: Routes, host_of: Indices, network: Network, size_bytes: float) -> float:
    """Return the seconds that fairly shared links add to the busiest link's time along routes."""
    flows = np.zeros((network.hosts, network.hosts))
    sizes_bytes = routes.weights * size_bytes
    for parents, is_down in ((routes.reduce_parents, False), (routes.broadcast_parents, True)):
        route, child = np.nonzero(parents >= 0)
        ends = host_of[child], host_of[parents[route, child]]
        np.add.at(flows, ends[::-1] if is_down else ends, sizes_bytes[route])
    return lost_s(flows, network)


def lost_s(flows: Floats, network: Network) -> float:
    """Return the seconds of (N, N) bytes on fairly shared links, less what the busiest link needs.

    0 where there are more than `MOST_SHARED_FLOWS`.
    """
    source, destination = np.nonzero(flows - np.diag(np.diagonal(flows)))
    if not 0 < len(source) <= MOST_SHARED_FLOWS:
        return 0.0
    table = PeerTable(network.hosts, [Round(source, destination, flows[source, destination])])
    links, hosts = shared_links(network), range(network.hosts)
    no_latency_s = np.zeros_like(network.latency_s)
    shared_s = FlowClock(table, hosts, no_latency_s, links).time_s(SoftwareCosts())
    return max(0.0, shared_s - links.carried_s(split(table)[0], hosts))


def chunk_bytes(size_bytes: float, routes: int) -> float:
    """Return the bytes of a chunk that the engine uses for a buffer on so many routes."""
    usual = min(
        max(size_bytes / (routes * _CHUNKS_OF_A_ROUTE), _USUAL_LEAST_BYTES), _MOST_CHUNK_BYTES
    )
    return min(usual, max(LEAST_CHUNK_BYTES, size_bytes / routes))


def _edge_s(parents: Indices, host_of: Indices, network: Network, size_bytes: Floats) -> Floats:
    """Return the seconds that a chunk takes from each rank to its parent on idle links, (R, P)."""
    below, above = host_of, host_of[np.maximum(parents, 0)]
    own, theirs = network.group_of[below], network.group_of[above]
    links, uplinks = network.link_bytes_s, np.append(network.uplink_bytes_s, np.inf)
    between = np.where(own == theirs, np.inf, np.minimum(uplinks[own], uplinks[theirs]))
    rate = np.minimum(np.minimum(links[below], links[above]), between)
    seconds: Floats = np.where((parents < 0) | (below == above), 0.0, size_bytes / rate)
    return seconds


def deal_chunks(
    routes: Routes, size_bytes: float, least_chunk_bytes: float = LEAST_CHUNK_BYTES
) -> Routes:
    """Return the routes that get a chunk of a buffer: fewer if it has fewer chunks than routes.

    Chunks go to routes in proportion to weight, by largest remainder, ties to the first. No chunk
    is smaller than `least_chunk_bytes`, but for the last one.
    """
    chunks = max(1, math.ceil(size_bytes / least_chunk_bytes))
    if chunks >= len(routes.weights):
        return routes
    exact = routes.weights * chunks
    share = np.floor(exact)
    left = chunks - int(share.sum())
    share[np.argsort(share - exact, kind="stable")[:left]] += 1.0
    used = np.flatnonzero(share)
    return make_routes(share[used], routes.reduce_parents[used], routes.broadcast_parents[used])
