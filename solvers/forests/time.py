"""How long an allreduce over a forest takes where flows share links, and a lower bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plink.solvers.collectives.table import PeerTable, Round
from plink.solvers.contention.fair import ends_s
from plink.solvers.contention.network import Network, with_every_host_grouped
from plink.solvers.contention.time import Clock
from plink.solvers.forests.routes import Floats, ForestLike, Indices, Routes, make_routes
from plink.solvers.forests.trees import depths, heights, messages_on_the_way, seconds_on_the_way

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


def time_s(
    forest: ForestLike, host_of: Sequence[int] | Indices, network: Network, size_bytes: float
) -> float:
    """The time in seconds of one allreduce.

    The sum of five. All chunks are under way together, so that the link that takes longest for all
    bytes that cross it decides. Flows share links evenly, though not all of them have as much to
    send: what is left to do when the short ones have ended may leave links idle (`sharing_s`). The
    first chunk's way up and down adds the greatest latency of each round
    (`plink.solvers.contention.time`). On that way ranks handle messages one after the other: a root
    with many children waits for each of them, which is what the time of a small buffer is made of.
    And the chunk itself has to cross one link after the other, while the busiest link, at the begin
    or the end, has nothing to do: the fill of a pipeline, short where chunks are small.

    Args:
        forest: over ranks.
        host_of: (P,) the host of each rank; ranks of one host exchange data for free.
        network: the hosts and links.
        size_bytes: of the buffer.

    Raises:
        ValueError: not a host for each rank.
    """
    used = dealt(forest, size_bytes)
    hosts = np.asarray(host_of, dtype=np.intp)
    carried_s = Clock(forest_table(used, size_bytes), network).time_s(hosts)
    up, down = used.reduce_parents.astype(np.intp), used.broadcast_parents.astype(np.intp)
    handled_s = MESSAGE_S * int(messages_on_the_way(up, down).max())
    shared_s = sharing_s(used, hosts, network, size_bytes)
    return carried_s + shared_s + handled_s + fill_s(used, hosts, network, size_bytes)


def sharing_s(routes: Routes, host_of: Indices, network: Network, size_bytes: float) -> float:
    """How much longer all flows take that share links evenly than the busiest link has to.

    0 where there are more than `MOST_SHARED_FLOWS` between hosts.

    Args:
        routes: over ranks.
        host_of: (P,) the host of each rank.
        network: the hosts and links.
        size_bytes: of the buffer.
    """
    flows = np.zeros((network.hosts, network.hosts))
    sizes_bytes = routes.weights * size_bytes
    for parents, is_down in ((routes.reduce_parents, False), (routes.broadcast_parents, True)):
        route, child = np.nonzero(parents >= 0)
        ends = host_of[child], host_of[parents[route, child]]
        np.add.at(flows, ends[::-1] if is_down else ends, sizes_bytes[route])
    np.fill_diagonal(flows, 0.0)
    source, destination = np.nonzero(flows)
    if not 0 < len(source) <= MOST_SHARED_FLOWS:
        return 0.0
    hosts, groups = network.hosts, network.groups
    own, theirs = network.group_of[source], network.group_of[destination]
    leaves = (own != theirs) & (own >= 0)
    enters = (own != theirs) & (theirs >= 0)
    crossed = np.stack(
        [
            source,
            hosts + destination,
            np.where(leaves, 2 * hosts + own, -1),
            np.where(enters, 2 * hosts + groups + theirs, -1),
        ],
        axis=1,
    )
    rates = np.concatenate(
        [
            network.send_bytes_s,
            network.receive_bytes_s,
            network.uplink_send_bytes_s,
            network.uplink_receive_bytes_s,
        ]
    )
    sizes = flows[source, destination]
    bytes_of_link = np.zeros(len(rates))
    for column in crossed.T:
        np.add.at(bytes_of_link, column[column >= 0], sizes[column >= 0])
    return max(0.0, float(ends_s(sizes, crossed, rates).max() - (bytes_of_link / rates).max()))


def fill_s(routes: Routes, host_of: Indices, network: Network, size_bytes: float) -> float:
    """How much longer one chunk is on its way than the busiest link needs for its share of it.

    Args:
        routes: over ranks, all of them in use.
        host_of: (P,) the host of each rank.
        network: the hosts and links.
        size_bytes: of the buffer.
    """
    if not size_bytes:
        return 0.0
    count = len(routes.weights)
    size_of_chunk = min(chunk_bytes(size_bytes, count), size_bytes)
    up, down = routes.reduce_parents.astype(np.intp), routes.broadcast_parents.astype(np.intp)
    up_s, down_s = (_edge_s(each, host_of, network, size_of_chunk) for each in (up, down))
    way_s = float(seconds_on_the_way(up, up_s, down, down_s).max())
    silent = replace(network, latency_s=np.zeros_like(network.latency_s))
    busiest_s = Clock(forest_table(routes, size_bytes), silent).time_s(host_of)
    chunks_of_route = max(1.0, size_bytes / (count * size_of_chunk))
    return max(0.0, way_s - busiest_s / chunks_of_route)


def chunk_bytes(size_bytes: float, routes: int) -> float:
    """The chunks into which the engine cuts a buffer for so many routes."""
    usual = min(
        max(size_bytes / (routes * _CHUNKS_OF_A_ROUTE), _USUAL_LEAST_BYTES), _MOST_CHUNK_BYTES
    )
    return min(usual, max(LEAST_CHUNK_BYTES, size_bytes / routes))


def _edge_s(parents: Indices, host_of: Indices, network: Network, size_bytes: float) -> Floats:
    """(R, P) what a chunk takes between a rank and its parent, alone on the slowest link there."""
    below, above = host_of, host_of[np.maximum(parents, 0)]
    own, theirs = network.group_of[below], network.group_of[above]
    rate = np.minimum(
        np.minimum(network.send_bytes_s, network.receive_bytes_s)[below],
        np.minimum(network.send_bytes_s, network.receive_bytes_s)[above],
    )
    if network.groups:
        uplinks = np.append(
            np.minimum(network.uplink_send_bytes_s, network.uplink_receive_bytes_s), np.inf
        )
        between = np.minimum(uplinks[own], uplinks[theirs])
        rate = np.where(own == theirs, rate, np.minimum(rate, between))
    seconds: Floats = np.where((parents < 0) | (below == above), 0.0, size_bytes / rate)
    return seconds


def dealt(forest: ForestLike, size_bytes: float) -> Routes:
    """The routes that a buffer uses, which are not all where it has fewer chunks than there are.

    Chunks go to routes in proportion to weight, by largest remainder, ties to the first.
    """
    routes = make_routes(forest.weights, forest.reduce_parents, forest.broadcast_parents)
    chunks = max(1, math.ceil(size_bytes / LEAST_CHUNK_BYTES))
    if chunks >= len(routes.weights):
        return routes
    exact = routes.weights * chunks
    share = np.floor(exact)
    left = chunks - int(share.sum())
    share[np.argsort(share - exact, kind="stable")[:left]] += 1.0
    used = np.flatnonzero(share)
    return make_routes(share[used], routes.reduce_parents[used], routes.broadcast_parents[used])


def forest_table(routes: Routes, size_bytes: float) -> PeerTable:
    """The forest as a peer table, pipelined: an allreduce over all routes at the same time.

    A member sends up as soon as all below it have, and down as soon as it has the sum: round i has
    the messages of those that are i edges away from their farthest leaf, or from their root.
    """
    sizes_bytes = routes.weights * size_bytes
    up = routes.reduce_parents.astype(np.intp)
    down = routes.broadcast_parents.astype(np.intp)
    towards_root = _rounds(up, heights(up), sizes_bytes)
    fan_out = [
        Round(step.destinations, step.sources, step.sizes_bytes)
        for step in _rounds(down, depths(down) - 1, sizes_bytes)
    ]
    return PeerTable(routes.members, [*towards_root, *fan_out], is_pipelined=True)


def _rounds(parents: Indices, round_of: Indices, sizes_bytes: Floats) -> list[Round]:
    """The messages from every member to its parent, by rounds."""
    routes, members = np.nonzero(parents >= 0)
    if not len(routes):
        return []
    numbers = round_of[routes, members]
    in_turn = np.argsort(numbers, kind="stable")
    return [
        Round(child, parents[route, child], sizes_bytes[route])
        for some in np.split(in_turn, np.cumsum(np.bincount(numbers))[:-1])
        for route, child in [(routes[some], members[some])]
    ]


def lower_bound_s(network: Network, size_bytes: float) -> float:
    """What links need at least for an allreduce among all hosts by any forest, latency left out.

    Each host sends its part of every chunk or the sum, and receives the sum or a part, so that its
    link carries the buffer once at least in either direction; in all N hosts exchange it 2 (N-1)
    times (Patarasuk and Yuan 2009). The same holds of groups as of hosts. So equal links of rate B
    take 2 S (1-1/N) / B, and equal uplinks of R groups 2 S (1-1/R) / B.
    """
    grouped = with_every_host_grouped(network)
    bounds = []
    for links, uplinks in (
        (grouped.send_bytes_s, grouped.uplink_send_bytes_s),
        (grouped.receive_bytes_s, grouped.uplink_receive_bytes_s),
    ):
        of_groups = np.minimum(uplinks, np.bincount(grouped.group_of, links))
        bounds += [_exchange_s(links, size_bytes), _exchange_s(of_groups, size_bytes)]
    return max(bounds)


def _exchange_s(rates: Floats, size_bytes: float) -> float:
    """For parties that exchange the buffer 2 (N-1) times in all, each of them once at least."""
    parties = len(rates)
    if parties == 1:
        return 0.0
    return size_bytes * max(float((1.0 / rates).max()), 2.0 * (parties - 1) / float(rates.sum()))
