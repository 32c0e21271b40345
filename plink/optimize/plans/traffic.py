"""Traffic of one collective call, along a plan's routes or directly between ranks.

The engine does the same with the plan it has (`docs/engine.md`): every segment of a reduce-scatter
or all-gather along the routes of its owner, a large broadcast or reduction over all routes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.plans.forest import NO_PARENT, Forest
from plink.plans.measures import Measures, bytes_between, measure, measure_messages
from plink.plans.names import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    COLLECTIVES,
    DIRECT,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND_RECEIVE,
)
from plink.plans.rooted import find_roots, reroot_routes, select_rooted
from plink.solvers.contention.network import Network
from plink.solvers.forests.lower_bound import ExchangedBytes, LeastExchange, allreduce_exchange
from plink.solvers.forests.time import RoutesTimer, chunk_bytes, deal_chunks, direct_s
from plink.solvers.forests.trees import Routes, make_routes

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

# A barrier is an all-reduce of one number.
BARRIER_BYTES = 8

# The engine sends a broadcast or a reduction of at most so much along few routes: to spread it out
# takes more rounds than it saves time.
SMALL_BYTES = 64 * 1024


@dataclass(frozen=True)
class Demand:
    """Call of a collective by all ranks: its name, bytes and root.

    Args:
        collective: one of `plink.plans.names.COLLECTIVES`.
        size_bytes: size of the whole buffer: what a rank has before a reduce-scatter or an
            all-to-all and after an all-gather, what the root of a gather or scatter has, one
            message of a send-receive. A barrier has none.
        root: root of a broadcast, reduce, gather or scatter.

    Raises:
        ValueError: there is no such collective.
    """

    collective: str
    size_bytes: float
    root: int = 0

    def __post_init__(self) -> None:
        if self.collective not in COLLECTIVES:
            expected = ", ".join(COLLECTIVES)
            raise ValueError(f"there is no collective {self.collective!r}, expected {expected}")


def between_bytes(demand: Demand, ranks: int) -> Floats:
    """Return the bytes that each rank (row) sends each other directly, not by trees, (P, P)."""
    between = np.zeros((ranks, ranks))
    part_bytes = demand.size_bytes / ranks
    if demand.collective == GATHER:
        between[:, demand.root] = part_bytes
    elif demand.collective == SCATTER:
        between[demand.root] = part_bytes
    elif demand.collective == ALL_TO_ALL:
        between[:] = part_bytes
    elif demand.collective == SEND_RECEIVE:
        everyone = np.arange(ranks)
        between[everyone, np.roll(everyone, -1)] = demand.size_bytes
    np.fill_diagonal(between, 0.0)
    return between


def compute_least_exchange(demand: Demand, host_of: Sequence[int] | Indices) -> LeastExchange:
    """Return a function from ranks' parties (hosts or groups) to the least bytes they exchange.

    A segment of a reduce-scatter leaves every party but its owner's once, summed up there, and
    enters the owner's at least once; an all-gather is that turned round (as in Patarasuk and Yuan
    2009, for parties that are groups, too). A broadcast enters every party but the root's. What
    goes straight from rank to rank crosses between parties as it is.
    """
    hosts = np.asarray(host_of, dtype=np.intp)
    if demand.collective in (ALL_REDUCE, BARRIER):
        return allreduce_exchange(
            BARRIER_BYTES if demand.collective == BARRIER else demand.size_bytes
        )
    if demand.collective in (REDUCE_SCATTER, BROADCAST, REDUCE, ALL_GATHER):
        # Turned round, a reduce-scatter is an all-gather, and a reduction a broadcast.
        is_gathered = demand.collective in (ALL_GATHER, BROADCAST)
        return lambda party_of: _least_along_trees(demand, party_of[hosts], is_gathered)
    between = between_bytes(demand, len(hosts))
    return lambda party_of: _least_of_messages(between, party_of[hosts])


def _least_along_trees(demand: Demand, party_of: Indices, is_gathered: bool) -> ExchangedBytes:
    """Return the least bytes between parties (hosts or groups) if owners sum parts or send them."""
    parties = int(party_of.max()) + 1
    ranks = len(party_of)
    if demand.collective in (BROADCAST, REDUCE):
        parts = np.where(np.arange(ranks) == demand.root, demand.size_bytes, 0.0)
    else:
        parts = np.full(ranks, demand.size_bytes / ranks)
    owned: Floats = np.bincount(party_of, parts, parties).astype(np.float64)
    others = float(owned.sum()) - owned
    if parties == 1:
        owned = np.zeros(1)
    sent_and_received = (owned, others) if is_gathered else (others, owned)
    return ExchangedBytes(*sent_and_received, (parties - 1) * float(owned.sum()))


def _least_of_messages(between: Floats, party_of: Indices) -> ExchangedBytes:
    """Return bytes sent and received by parties (hosts or groups) if ranks send (P, P) directly."""
    parties = int(party_of.max()) + 1
    crossing = np.zeros((parties, parties))
    np.add.at(crossing, (party_of[:, None], party_of[None, :]), between)
    np.fill_diagonal(crossing, 0.0)
    return ExchangedBytes(crossing.sum(axis=1), crossing.sum(axis=0), float(crossing.sum()))


@dataclass(frozen=True)
class Traffic:
    """Messages of one call of a collective, along trees or between ranks.

    Args:
        size_bytes: size of all that goes along routes, in bytes.
        routes: that it goes along, where it goes along any. A tree without edges is a direction in
            which nothing goes.
        chunks_bytes: (R,) the size of a chunk on each route.
        direct_bytes: (P, P) what goes straight from rank (row) to rank, where it goes so.
        asks_first: a receiver's request goes before the message.
    """

    size_bytes: float = 0.0
    routes: Routes | None = None
    chunks_bytes: Floats | None = None
    direct_bytes: Floats | None = None
    asks_first: bool = False


def build_traffic(demand: Demand, forest: Forest) -> Traffic:
    """Build the messages of one collective call along a valid forest."""
    collective, size = demand.collective, demand.size_bytes
    if collective in DIRECT:
        between = between_bytes(demand, forest.ranks)
        return Traffic(direct_bytes=between, asks_first=collective == SEND_RECEIVE)
    if collective == ALL_REDUCE:
        return _route_segments([(forest, size)], goes_up=True, goes_down=True)
    if collective == BARRIER:
        return _route_segments([(forest, BARRIER_BYTES)], goes_up=True, goes_down=True)
    if collective in (BROADCAST, REDUCE):
        is_small = size <= SMALL_BYTES
        turned = (select_rooted if is_small else reroot_routes)(forest, demand.root)
        return _route_segments([(turned, size)], goes_up=collective == REDUCE)
    roots = find_roots(forest)
    segments = [
        (select_rooted(forest, owner, roots), size / forest.ranks) for owner in range(forest.ranks)
    ]
    return _route_segments(segments, goes_up=collective == REDUCE_SCATTER)


def traffic_time_s(traffic: Traffic, host_of: Sequence[int] | Indices, network: Network) -> float:
    """Predict the seconds of a call with this traffic, rank r on host `host_of[r]`."""
    if traffic.routes is not None:
        return build_routes_timer(traffic, host_of, network).time_s()
    if traffic.direct_bytes is None or not traffic.direct_bytes.any():
        return 0.0
    hosts = np.asarray(host_of, dtype=np.intp)
    seconds = direct_s(traffic.direct_bytes, hosts, network)
    if traffic.asks_first:
        source, destination = np.nonzero(traffic.direct_bytes)
        seconds += float(network.latency_s[hosts[destination], hosts[source]].max())
    return seconds


def build_routes_timer(
    traffic: Traffic, host_of: Sequence[int] | Indices, network: Network
) -> RoutesTimer:
    """Build the predictor of a call whose messages go along routes.

    Raises:
        ValueError: they do not, or there is not a host for each rank.
    """
    if traffic.routes is None or traffic.chunks_bytes is None:
        raise ValueError("the traffic goes straight between ranks, expected routes")
    size_bytes, chunks_bytes = traffic.size_bytes, traffic.chunks_bytes
    return RoutesTimer(traffic.routes, host_of, network, size_bytes, chunks_bytes)


def traffic_bytes(traffic: Traffic) -> Floats:
    """Return bytes that each rank (row) sends to each other (column) in one call, (P, P).

    At least one rank sends.
    """
    if traffic.routes is not None:
        return bytes_between(Forest(*traffic.routes), traffic.size_bytes)
    if traffic.direct_bytes is None:
        raise ValueError("the traffic has neither routes nor direct messages, expected one of them")
    return traffic.direct_bytes


def measure_traffic(traffic: Traffic, group_of: Sequence[int], host_of: Sequence[int]) -> Measures:
    """Count the rounds and bytes of a call, by each rank's group and host, (P,) each."""
    if traffic.routes is not None:
        forest = Forest(*traffic.routes)
        return measure(forest, traffic.size_bytes, group_of=group_of, host_of=host_of)
    between = traffic.direct_bytes
    if between is None:
        between = np.zeros((len(host_of), len(host_of)))
    return measure_messages(between, 1 + traffic.asks_first, group_of=group_of, host_of=host_of)


def _route_segments(
    segments: Sequence[tuple[Forest, float]], *, goes_up: bool, goes_down: bool | None = None
) -> Traffic:
    """Join segments of a buffer, each with a forest of its own, to the traffic of one call."""
    goes_down = not goes_up if goes_down is None else goes_down
    size_bytes = sum(size for _, size in segments)
    # One size for the chunks of all segments.
    used_routes = sum(int((forest.weights > 0.0).sum()) for forest, _ in segments)
    whole_chunk = chunk_bytes(size_bytes, used_routes)
    weights, up, down, chunks = [], [], [], []
    for forest, size in segments:
        routes = make_routes(forest.weights, forest.reduce_parents, forest.broadcast_parents)
        used = deal_chunks(routes, size, whole_chunk)
        count = len(used.weights)
        chunk = min(whole_chunk, size)
        nothing = np.full_like(used.reduce_parents, NO_PARENT)
        weights.append(used.weights * size / size_bytes)
        up.append(used.reduce_parents if goes_up else nothing)
        down.append(used.broadcast_parents if goes_down else nothing)
        chunks.append(np.full(count, chunk))
    routes = Routes(np.concatenate(weights), np.concatenate(up), np.concatenate(down))
    return Traffic(size_bytes, routes, np.concatenate(chunks))
