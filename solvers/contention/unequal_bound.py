"""Lower bound on a collective's time where hosts take different numbers of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.table import PeerTable
from plink.solvers.contention.bound import bound_loads_s
from plink.solvers.contention.network import Network
from plink.solvers.contention.stages import Floats, Loads, Ranks, Waits, split
from plink.solvers.limits.deadline import Deadline

# What rounding may have added: to a result, and to a sum as a share of all that is summed.
_ROUNDING = 1e-9
_SUM_ERROR = 1e-12

# A matrix of more slots would be too large.
_MOST_SLOTS = 1024


def unequal_bound_s(
    table: PeerTable, network: Network, slots: Sequence[int], deadline: Deadline
) -> float:
    """Return a proven lower bound in seconds over all orders of hosts with slots.

    Ranks fill the hosts of an order from its front, those of a host being adjacent. The greatest of
    three sums for the links, and one for the latencies. Stage by stage, a host with c slots sends
    and receives at least as much as the c adjacent ranks do that exchange least with the others.
    And whatever slots the ranks are on, groups of hosts, and hosts as groups of their slots, have
    uplinks with the bounds of `plink.solvers.contention.bound`. A stage waits for the least latency
    of a host whose ranks, whichever they are, have messages to or from others.

    Args:
        table: table of the ranks.
        network: network of the hosts.
        slots: (H,) how many ranks each host takes; together at least the table's ranks.
        deadline: parts that it does not suffice for are left out, which lowers the bound.
    """
    takes = np.asarray(slots, dtype=np.intp)
    loads, waits = split(table)
    # Where slots are left empty, nothing is known of a host but that the first has its ranks.
    is_full = int(takes.sum()) == table.ranks
    links_s = _windows_s(loads, network, takes, table.ranks, deadline) if is_full else 0.0
    if takes.sum() <= _MOST_SLOTS:
        for grouped in (_slots_of_groups(network, takes), _slots_of_hosts(network, takes)):
            links_s = max(links_s, _by_slots_s(loads, waits, table.ranks, grouped, deadline))
    waits_s = _waits_s(waits, network, takes, table.ranks, deadline)
    return (links_s + waits_s) * (1.0 - _ROUNDING)


@dataclass(frozen=True)
class _Windows:
    """Traffic that each run of adjacent ranks exchanges with other ranks, by first rank.

    Args:
        leaving, entering: (W,) sums of the weights of flows.
    """

    leaving: Floats
    entering: Floats


def _windows(
    sources: Ranks, destinations: Ranks, weights: Floats, size: int, ranks: int
) -> _Windows:
    """Return all runs of `size` adjacent ranks."""
    low, high = np.minimum(sources, destinations), np.maximum(sources, destinations)
    both = _covered_weights(high, low, weights, size, ranks)
    return _Windows(
        _covered_weights(sources, sources, weights, size, ranks) - both,
        _covered_weights(destinations, destinations, weights, size, ranks) - both,
    )


def _covered_weights(last: Ranks, first: Ranks, weights: Floats, size: int, ranks: int) -> Floats:
    """Return the weight of pairs `first` to `last` inside each run of ranks, (W,)."""
    windows = ranks - size + 1
    begin = np.maximum(last - size + 1, 0)
    end = np.minimum(first, windows - 1) + 1
    kept = begin < end
    changes: Floats = np.bincount(begin[kept], weights[kept], windows + 1).astype(np.float64)
    changes -= np.bincount(end[kept], weights[kept], windows + 1)
    sums: Floats = np.cumsum(changes)[:windows]
    return sums


def _windows_s(
    loads: Loads, network: Network, takes: Ranks, ranks: int, deadline: Deadline
) -> float:
    """Return the time that hosts' links need for the ranks with the least traffic."""
    sizes, size_of = np.unique(takes, return_inverse=True)
    total_s = 0.0
    for number, count in enumerate(loads.counts):
        flows = slice(loads.starts[number], loads.starts[number + 1])
        weights = loads.sizes_bytes[flows]
        error = _SUM_ERROR * float(weights.sum())
        least = np.zeros((2, len(sizes)))
        for place, size in enumerate(sizes):
            if deadline.is_over:
                return total_s
            found = _windows(
                loads.sources[flows], loads.destinations[flows], weights, int(size), ranks
            )
            least[:, place] = found.leaving.min() - error, found.entering.min() - error
        sent_s = least[0, size_of] / network.send_bytes_s
        received_s = least[1, size_of] / network.receive_bytes_s
        total_s += float(count) * max(0.0, float(sent_s.max()), float(received_s.max()))
    return total_s


def _waits_s(waits: Waits, network: Network, takes: Ranks, ranks: int, deadline: Deadline) -> float:
    """Return the latency of messages whose ranks cannot all be on one host."""
    sizes, size_of = np.unique(takes, return_inverse=True)
    is_full = int(takes.sum()) == ranks
    nearest_s = _nearest_s(network)
    total_s = 0.0
    for number, count in enumerate(waits.counts):
        messages = slice(waits.starts[number], waits.starts[number + 1])
        sources, destinations = waits.sources[messages], waits.destinations[messages]
        crossing = np.zeros(len(sizes))
        for place, size in enumerate(sizes):
            if deadline.is_over:
                return total_s
            if size >= ranks:
                continue
            found = _windows(sources, destinations, np.ones(len(sources)), int(size), ranks)
            both = np.rint(found.leaving + found.entering)
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
            least_s = float(nearest_s.min()) * between / len(sources)
        total_s += float(count) * least_s
    return total_s


def _nearest_s(network: Network) -> Floats:
    """Return the least latency from or to each host, (H,)."""
    others = network.latency_s + np.diag(np.full(network.hosts, np.inf))
    nearest: Floats = np.minimum(others.min(axis=0), others.min(axis=1))
    return np.where(np.isfinite(nearest), nearest, 0.0)


def _by_slots_s(
    loads: Loads, waits: Waits, ranks: int, grouped: Network, deadline: Deadline
) -> float:
    if grouped.hosts == 1:
        return 0.0
    return bound_loads_s(loads, replace(waits, counts=0.0 * waits.counts), ranks, grouped, deadline)


def _slots_of_groups(network: Network, takes: Ranks) -> Network:
    """Return a network of slots without host links, in the groups of their hosts."""
    return _of_slots(
        np.repeat(network.group_of, takes),
        network.uplink_send_bytes_s,
        network.uplink_receive_bytes_s,
    )


def _slots_of_hosts(network: Network, takes: Ranks) -> Network:
    """Return a network of slots without own links, grouped by host."""
    host_of = np.repeat(np.arange(network.hosts), takes)
    return _of_slots(host_of, network.send_bytes_s, network.receive_bytes_s)


def _of_slots(
    group_of: npt.NDArray[np.intp], send_bytes_s: Floats, receive_bytes_s: Floats
) -> Network:
    slots = len(group_of)
    unlimited = np.full(slots, np.inf)
    return Network(
        latency_s=np.broadcast_to(0.0, (slots, slots)),
        send_bytes_s=unlimited,
        receive_bytes_s=unlimited,
        group_of=group_of,
        uplink_send_bytes_s=send_bytes_s,
        uplink_receive_bytes_s=receive_bytes_s,
    )
