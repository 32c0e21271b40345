"""Lower bound on a collective's time when flows share links, over all rank orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.steps import PeerTable
from plink.solvers.components import components
from plink.solvers.contention.network import Network, make_network
from plink.solvers.contention.stages import (
    Floats,
    Ranks,
    Stages,
    split,
)
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline

# What rounding may have added.
_ROUNDING = 1e-9

# What all eigenvalues of a matrix take at most, for each triple of hosts.
_S_PER_CUBE = 2e-9

# The error of an eigenvalue, as a share of the matrix's trace.
_EIGENVALUE_ERROR = 1e-12

_SUM_ERROR = 1e-12

# A matrix of more slots would be too large.
_MOST_SLOTS = 1024


def lower_bound_s(clock: TableTimer, deadline: Deadline) -> float:
    """Return a proven lower bound in seconds on a collective's time over all rank orders.

    The greater of two sums. Stage by stage: the ranks that send (or receive) most sit on the hosts
    with the fastest links; and a group whose size is not a sum of sizes of the stage's components
    cuts one of them, so that its smallest message crosses the group's uplink. Over all stages: what
    a set of n of N ranks exchanges with the others is at least n (N-n)/N times the second
    eigenvalue of the Laplacian of all messages (Fiedler 1973). To both comes the least latency of
    each stage. Where there are more hosts than positions, a stage with a component that no group
    can hold cuts one, and the uplink of some group is crossed; the second sum is then left out.
    Parts that the time does not suffice for are left out, too, which lowers the bound.
    """
    return _bound_s(clock.loads, clock.waits, clock.positions, clock.network, deadline)


def _bound_s(
    loads: Stages, waits: Stages, positions: int, network: Network, deadline: Deadline
) -> float:
    if positions == 1:
        return 0.0
    by_stage_s = 0.0
    for number, count in enumerate(loads.counts):
        if deadline.is_over:
            break
        by_stage_s += float(count) * _stage_bound_s(loads.stage(number), network, deadline)
    has_time = deadline.left_s > _S_PER_CUBE * network.hosts**3
    together_s = _cut_bound_s(loads, network) if positions == network.hosts and has_time else 0.0
    # A host is at no distance from itself.
    least_s = min(
        float(min(row[:host].min(initial=np.inf), row[host + 1 :].min(initial=np.inf)))
        for host, row in enumerate(network.latency_s)
    )
    waits_s = least_s * float(waits.counts.sum())
    return (max(by_stage_s, together_s) + waits_s) * (1.0 - _ROUNDING)


def _stage_bound_s(stage: Stages, network: Network, deadline: Deadline) -> float:
    hosts = network.hosts
    sent, received = (
        np.bincount(ranks, stage.sizes_bytes, hosts).astype(np.float64)
        for ranks in (stage.sources, stage.destinations)
    )
    matched_s = max(
        _best_match_s(sent, network.send_bytes_s),
        _best_match_s(received, network.receive_bytes_s),
    )
    if deadline.is_over or not network.groups:
        return matched_s
    is_balanced = np.allclose(sent, received, rtol=1e-12)
    return max(matched_s, _component_bound_s(stage, network, is_balanced=is_balanced))


def _best_match_s(loads_bytes: Floats, rates: Floats) -> float:
    return float((np.sort(loads_bytes) / np.sort(rates)).max())


def _component_bound_s(stage: Stages, network: Network, *, is_balanced: bool) -> float:
    """Return the least seconds of some uplink if connected ranks cannot all stay in groups."""
    hosts = network.hosts
    component_of = components(hosts, stage.sources, stage.destinations)
    reachable = _sums(np.bincount(component_of))
    least_bytes = float(stage.sizes_bytes.min())
    # A cut message leaves or enters; where all ranks send what they receive, as much does both.
    cut_s = [
        (members, least_bytes / (min(send, receive) if is_balanced else max(send, receive)))
        for members, send, receive in _groups(network)
    ]
    bound_s = max((each_s for members, each_s in cut_s if not reachable[members]), default=0.0)
    alone = int(np.count_nonzero(network.group_of < 0))
    largest = max([alone, *(members for members, _ in cut_s)])
    if np.bincount(component_of).max() > largest:
        # No group holds the largest component, nor do the hosts without one.
        bound_s = max(bound_s, min(each_s for _, each_s in cut_s))
    return bound_s


def _sums(sizes: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return whether each number from 0 to the total N is a sum of some of the sizes, (N + 1,)."""
    reachable = np.zeros(int(sizes.sum()) + 1, dtype=np.bool_)
    reachable[0] = True
    for size in sizes:
        reachable[size:] |= reachable[:-size].copy()
    return reachable


def _cut_bound_s(loads: Stages, network: Network) -> float:
    """Return the least seconds of the busiest uplink, by the traffic Laplacian's 2nd eigenvalue."""
    hosts = network.hosts
    stage = np.repeat(np.arange(len(loads.counts)), np.diff(loads.starts))
    between = np.zeros((hosts, hosts))
    sizes = loads.sizes_bytes * loads.counts[stage]
    np.add.at(between, (loads.sources, loads.destinations), sizes)
    is_balanced = np.allclose(between.sum(axis=0), between.sum(axis=1), rtol=1e-12)
    weights = between + between.T
    laplacian = np.diag(weights.sum(axis=1)) - weights
    error = _EIGENVALUE_ERROR * float(weights.sum())
    second = max(0.0, float(np.linalg.eigvalsh(laplacian)[1]) - error)
    # Where all ranks send what they receive, half of the bytes goes either way.
    return max(
        (
            second
            * (members * (hosts - members) / hosts)
            / (2.0 * min(send, receive) if is_balanced else send + receive)
            for members, send, receive in _groups(network)
        ),
        default=0.0,
    )


def _groups(network: Network) -> list[tuple[int, float, float]]:
    """Return each group's number of hosts and its uplink's send and receive rates in bytes/s."""
    sizes = np.bincount(network.group_of[network.group_of >= 0], minlength=network.groups)
    rates = zip(network.uplink_send_bytes_s, network.uplink_receive_bytes_s, strict=True)
    return [
        (int(size), float(send), float(receive))
        for size, (send, receive) in zip(sizes, rates, strict=True)
        if size
    ]


def unequal_bound_s(
    table: PeerTable, network: Network, slots: Sequence[int], deadline: Deadline
) -> float:
    """Return a lower bound in seconds on a collective's time if hosts have different slot counts.

    Ranks fill the hosts of an order from its front, those of a host being adjacent. The greatest of
    three sums for the links, and one for the latencies. Stage by stage, a host with c slots sends
    and receives at least as much as the c adjacent ranks do that exchange least with the others.
    And whatever slots the ranks are on, groups of hosts, and hosts as groups of their slots, have
    uplinks with the bounds of `plink.solvers.contention.bound`. A stage waits for the least latency
    of a host whose ranks, whichever they are, have messages to or from others. Parts that the time
    does not suffice for are left out. The (H,) slots are together at least the table's ranks.
    """
    takes = np.asarray(slots, dtype=np.intp)
    loads, waits = split(table)
    # Where slots are left empty, nothing is known of a host but that the first has its ranks.
    is_full = int(takes.sum()) == table.ranks
    links_s = _windows_s(loads, network, takes, table.ranks, deadline) if is_full else 0.0
    if takes.sum() <= _MOST_SLOTS:
        no_waits = replace(waits, counts=0.0 * waits.counts)
        slots_of_hosts = np.repeat(np.arange(network.hosts), takes)
        for group_of, send_bytes_s, receive_bytes_s in (
            (
                network.group_of[slots_of_hosts],
                network.uplink_send_bytes_s,
                network.uplink_receive_bytes_s,
            ),
            (slots_of_hosts, network.send_bytes_s, network.receive_bytes_s),
        ):
            # A node for every slot, whose own link is unlimited.
            grouped = make_network(
                len(group_of),
                group_of=group_of,
                uplink_send_bytes_s=send_bytes_s,
                uplink_receive_bytes_s=receive_bytes_s,
            )
            if grouped.hosts > 1:
                bound_s = _bound_s(loads, no_waits, table.ranks, grouped, deadline)
                links_s = max(links_s, bound_s)
    waits_s = _waits_s(waits, network, takes, table.ranks, deadline)
    return (links_s + waits_s) * (1.0 - _ROUNDING)


def _sum_crossing(stage: Stages, weights: Floats, size: int, ranks: int) -> tuple[Floats, Floats]:
    """Return the traffic out of and into each run of `size` adjacent ranks, (W,) by first rank."""
    sources, destinations = stage.sources, stage.destinations
    low, high = np.minimum(sources, destinations), np.maximum(sources, destinations)
    both = _covered_weights(high, low, weights, size, ranks)
    leaving = _covered_weights(sources, sources, weights, size, ranks) - both
    return leaving, _covered_weights(destinations, destinations, weights, size, ranks) - both


def _covered_weights(last: Ranks, first: Ranks, weights: Floats, size: int, ranks: int) -> Floats:
    """Return the traffic within each run of `size` adjacent ranks, (W,) by first rank."""
    windows = ranks - size + 1
    begin = np.maximum(last - size + 1, 0)
    end = np.minimum(first, windows - 1) + 1
    kept = begin < end
    changes: Floats = np.bincount(begin[kept], weights[kept], windows + 1).astype(np.float64)
    changes -= np.bincount(end[kept], weights[kept], windows + 1)
    sums: Floats = np.cumsum(changes)[:windows]
    return sums


def _windows_s(
    loads: Stages, network: Network, takes: Ranks, ranks: int, deadline: Deadline
) -> float:
    """Return the seconds that hosts' links need at least if each host has adjacent ranks."""
    sizes, size_of = np.unique(takes, return_inverse=True)
    total_s = 0.0
    for number, count in enumerate(loads.counts):
        stage = loads.stage(number)
        weights = stage.sizes_bytes
        error = _SUM_ERROR * float(weights.sum())
        least = np.zeros((2, len(sizes)))
        for place, size in enumerate(sizes):
            if deadline.is_over:
                return total_s
            crossing = _sum_crossing(stage, weights, int(size), ranks)
            least[:, place] = np.min(crossing, axis=1) - error
        sent_s = least[0, size_of] / network.send_bytes_s
        received_s = least[1, size_of] / network.receive_bytes_s
        total_s += float(count) * max(0.0, float(sent_s.max()), float(received_s.max()))
    return total_s


def _waits_s(
    waits: Stages, network: Network, takes: Ranks, ranks: int, deadline: Deadline
) -> float:
    """Return the least seconds of latency in stages whose ranks cannot all share a host."""
    sizes, size_of = np.unique(takes, return_inverse=True)
    is_full = int(takes.sum()) == ranks
    others = network.latency_s + np.diag(np.full(network.hosts, np.inf))
    # The least latency between each host and any other.
    nearest_s: Floats = np.minimum(others.min(axis=0), others.min(axis=1))
    nearest_s = np.where(np.isfinite(nearest_s), nearest_s, 0.0)
    total_s = 0.0
    for number, count in enumerate(waits.counts):
        stage = waits.stage(number)
        each = np.ones(len(stage.sources))
        crossing = np.zeros(len(sizes))
        for place, size in enumerate(sizes):
            if deadline.is_over:
                return total_s
            if size >= ranks:
                continue
            both = np.rint(sum(_sum_crossing(stage, each, int(size), ranks)))
            crossing[place] = both.min() if is_full else both[0]
        if is_full:
            # Every message that leaves a host enters another one.
            by_host = crossing[size_of]
            between = float(by_host.sum()) / 2.0
            least_s = float(nearest_s[by_host > 0.0].max(initial=0.0))
        else:
            between = float(crossing.min())
            least_s = float(nearest_s.min()) if between > 0.0 else 0.0
        if waits.goes_round[number]:
            least_s = float(nearest_s.min()) * between / len(each)
        total_s += float(count) * least_s
    return total_s
