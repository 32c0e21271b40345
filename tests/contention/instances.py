"""Peer tables and networks whose times are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from plink.solvers.collectives.steps import PeerTable, Round
from plink.solvers.contention.contention_search import search_by_contention
from plink.solvers.contention.network import Network, make_network
from plink.solvers.contention.stages import Floats, Ranks
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline
from plink.solvers.search import OnProgress, SearchOptions, Solution


def search(
    table: PeerTable,
    network: Network,
    starts: Sequence[Sequence[int]] = (),
    *,
    position_of: Ranks | None = None,
    seed: int = 0,
    time_limit_s: float = 2.0,
    tie_distance: Floats | None = None,
    on_progress: OnProgress | None = None,
) -> Solution:
    """What a search by contention finds, from the listed order unless others are given."""
    clock = TableTimer(table, network, position_of)
    options = SearchOptions(Deadline(time_limit_s), seed, on_progress=on_progress)
    return search_by_contention(clock, starts or [range(network.hosts)], options, tie_distance)


def flows(edges: list[tuple[int, int]], size_bytes: float) -> Round:
    """A round in which every edge carries as much."""
    pairs = np.array(edges, dtype=np.intp).reshape(-1, 2)
    return Round(pairs[:, 0], pairs[:, 1], np.full(len(pairs), float(size_bytes)))


def ring_table(ranks: int, size_bytes: float, step: int = 1) -> PeerTable:
    """A ring allreduce: 2 (N-1) rounds in which each rank sends a part of N to the next."""
    edges = [(rank, (rank + step) % ranks) for rank in range(ranks)]
    return PeerTable(ranks, [flows(edges, size_bytes / ranks)] * (2 * (ranks - 1)))


def halving_doubling_table(ranks: int, size_bytes: float) -> PeerTable:
    """Halving to ranks 1, 2, 4, ... away, and back; `ranks` is a power of two."""
    halving = []
    distance = 1
    while distance < ranks:
        size_bytes /= 2
        halving.append(flows([(rank, rank ^ distance) for rank in range(ranks)], size_bytes))
        distance *= 2
    return PeerTable(ranks, [*halving, *reversed(halving)])


def racks_network(
    racks: int, hosts: int, *, link_bytes_s: float = 50e6, shuffled: int | None = None
) -> Network:
    """Racks of as many hosts, all links and uplinks alike: 20 µs in a rack, 50 beyond."""
    group_of = np.repeat(np.arange(racks), hosts)
    if shuffled is not None:
        group_of = np.random.default_rng(shuffled).permutation(group_of)
    latency_s = np.where(group_of[:, None] == group_of[None, :], 20e-6, 50e-6)
    np.fill_diagonal(latency_s, 0.0)
    return make_network(
        racks * hosts,
        latency_s=latency_s,
        send_bytes_s=link_bytes_s,
        receive_bytes_s=link_bytes_s,
        group_of=group_of,
        uplink_send_bytes_s=link_bytes_s,
        uplink_receive_bytes_s=link_bytes_s,
    )


_RATES = st.sampled_from([1.0, 2.0, 3.5, 10.0, np.inf])
_SIZES = st.sampled_from([0.0, 1.0, 4.0, 9.0, 25.0])


@st.composite
def networks(draw: st.DrawFn, hosts: int) -> Network:
    """Any network of so many hosts, some of them in none of up to three groups."""
    groups = draw(st.integers(0, 3))
    latencies = draw(st.lists(st.floats(0, 5), min_size=hosts * hosts, max_size=hosts * hosts))
    latency_s = np.array(latencies).reshape(hosts, hosts)
    np.fill_diagonal(latency_s, 0.0)

    def rates(count: int) -> list[float]:
        return draw(st.lists(_RATES, min_size=count, max_size=count))

    return make_network(
        hosts,
        latency_s=latency_s,
        send_bytes_s=rates(hosts),
        receive_bytes_s=rates(hosts),
        group_of=draw(st.lists(st.integers(-1, groups - 1), min_size=hosts, max_size=hosts)),
        uplink_send_bytes_s=rates(groups),
        uplink_receive_bytes_s=rates(groups),
    )


@st.composite
def tables(draw: st.DrawFn, ranks: int) -> PeerTable:
    """Any table of so many ranks: rounds that come again, rings, messages to oneself."""
    rank = st.integers(0, ranks - 1)
    kinds = []
    for _ in range(draw(st.integers(1, 3))):
        edges = draw(st.lists(st.tuples(rank, rank), max_size=6))
        sizes = draw(st.lists(_SIZES, min_size=len(edges), max_size=len(edges)))
        pairs = np.array(edges, dtype=np.intp).reshape(-1, 2)
        kinds.append(Round(pairs[:, 0], pairs[:, 1], np.array(sizes)))
    kinds.append(ring_table(ranks, 8.0 * ranks).rounds[0] if ranks > 1 else kinds[0])
    places = draw(st.lists(st.integers(0, len(kinds) - 1), max_size=12))
    rounds = [kinds[place] for place in places]
    rounds += [kinds[-1]] * draw(st.sampled_from([0, ranks - 1, ranks]))
    return PeerTable(ranks, rounds, is_pipelined=draw(st.booleans()))
