"""Reference evaluation of a peer table, flow by flow, which the fast evaluators must equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from plink.solvers.collectives.steps import PeerTable, Round
from plink.solvers.contention.network import Network

# Its kind, and the index of the host or group.
Link: TypeAlias = tuple[str, int]


def time_s(table: PeerTable, network: Network, order: Sequence[int]) -> float:
    """Return the time in seconds with rank r on host `order[r]` (`contention.time.TableTimer`)."""
    loads = [_link_loads(step, network, order) for step in table.rounds]
    wait_s = sum(_latency_s(place, table, network, order) for place in range(len(table.rounds)))
    if not table.is_pipelined:
        return wait_s + sum(_slowest_s(load, network) for load in loads)
    total: dict[Link, float] = defaultdict(float)
    for load in loads:
        for link, size_bytes in load.items():
            total[link] += size_bytes
    return wait_s + _slowest_s(total, network)


def _link_loads(step: Round, network: Network, order: Sequence[int]) -> Mapping[Link, float]:
    """Return the bytes on every link that the round's flows cross."""
    load: dict[Link, float] = defaultdict(float)
    for source, destination, size_bytes in zip(
        step.sources, step.destinations, step.sizes_bytes, strict=True
    ):
        sender, receiver = order[source], order[destination]
        if sender == receiver:
            continue
        load["send", sender] += size_bytes
        load["receive", receiver] += size_bytes
        group_from, group_to = int(network.group_of[sender]), int(network.group_of[receiver])
        if group_from != group_to:
            load["up", group_from] += size_bytes
            load["down", group_to] += size_bytes
    return load


def _slowest_s(load: Mapping[Link, float], network: Network) -> float:
    rates = {
        "send": network.send_bytes_s,
        "receive": network.receive_bytes_s,
        "up": network.uplink_send_bytes_s,
        "down": network.uplink_receive_bytes_s,
    }
    slowest_s = 0.0
    for (kind, place), size_bytes in load.items():
        if place >= 0:
            slowest_s = max(slowest_s, size_bytes / float(rates[kind][place]))
    return slowest_s


def _latency_s(place: int, table: PeerTable, network: Network, order: Sequence[int]) -> float:
    """Return the latency of one round."""
    step = table.rounds[place]
    latencies_s = [
        float(network.latency_s[order[source], order[destination]])
        for source, destination in zip(step.sources, step.destinations, strict=True)
        if source != destination
    ]
    if not latencies_s:
        return 0.0
    if _goes_round(step, table):
        return sum(latencies_s) / len(latencies_s)
    return max(latencies_s)


def _edges(step: Round) -> list[tuple[int, int]]:
    pairs = zip(step.sources.tolist(), step.destinations.tolist(), strict=True)
    return sorted(pair for pair in pairs if pair[0] != pair[1])


def _goes_round(step: Round, table: PeerTable) -> bool:
    """Return whether a ring round is repeated N-1 times in a row."""
    edges = _edges(step)
    next_of = dict(edges)
    if len(edges) != table.ranks or len(next_of) != table.ranks:
        return False
    passed = [0]
    while (rank := next_of[passed[-1]]) not in passed:
        passed.append(rank)
    if len(passed) != table.ranks or rank != passed[0]:
        return False
    most = in_a_row = 0
    for other in table.rounds:
        in_a_row = in_a_row + 1 if _edges(other) == edges else 0
        most = max(most, in_a_row)
    return most >= table.ranks - 1
