"""Lower bound on a collective's time under contention over all orders."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.table import PeerTable
from plink.solvers.components import components
from plink.solvers.contention.network import Network
from plink.solvers.contention.stages import Floats, Loads, Ranks, Waits, over_positions, split
from plink.solvers.limits.deadline import Deadline

# What rounding may have added.
_ROUNDING = 1e-9

# What all eigenvalues of a matrix take at most, for each triple of hosts.
_S_PER_CUBE = 2e-9

_NO_LIMIT_S = 1e8

# The error of an eigenvalue, as a share of the matrix's trace.
_EIGENVALUE_ERROR = 1e-12


def lower_bound_s(
    table: PeerTable,
    network: Network,
    position_of: Ranks | None = None,
    deadline: Deadline | None = None,
) -> float:
    """Return a proven lower bound in seconds over all orders and choices of hosts.

    The greater of two sums. Stage by stage: the ranks that send (or receive) most sit on the hosts
    with the fastest links; and a group whose size is not a sum of sizes of the stage's components
    cuts one of them, so that its smallest message crosses the group's uplink. Over all stages: what
    a set of n of N ranks exchanges with the others is at least n (N-n)/N times the second
    eigenvalue of the Laplacian of all messages (Fiedler 1973). To both comes the least latency of
    each stage. Where there are more hosts than positions, a stage with a component that no group
    can hold cuts one, and the uplink of some group is crossed; the second sum is then left out.

    Args:
        table: table of the ranks.
        network: network of the hosts.
        position_of: (R,) which ranks share a host (`plink.solvers.contention.time.TableTimer`);
            None for one rank a host.
        deadline: parts that it does not suffice for are left out, which lowers the bound.

    Raises:
        ValueError: there are fewer hosts than positions.
    """
    positions = table.ranks if position_of is None else int(position_of.max()) + 1
    if positions > network.hosts:
        kind = "ranks" if position_of is None else "blocks of ranks"
        raise ValueError(f"{positions} {kind} on {network.hosts} hosts")
    loads, waits = split(table)
    if position_of is not None:
        loads, waits = over_positions(loads, waits, position_of)
    return bound_loads_s(loads, waits, positions, network, deadline)


def bound_loads_s(
    loads: Loads,
    waits: Waits,
    positions: int,
    network: Network,
    deadline: Deadline | None = None,
) -> float:
    """Return the lower bound in seconds for a table given as loads and waits."""
    if positions == 1:
        return 0.0
    until = deadline or Deadline(_NO_LIMIT_S)
    by_stage_s = 0.0
    for number, count in enumerate(loads.counts):
        if until.is_over:
            break
        by_stage_s += float(count) * _stage_bound_s(_stage(loads, number), network, until)
    has_time = until.left_s > _S_PER_CUBE * network.hosts**3
    together_s = _cut_bound_s(loads, network) if positions == network.hosts and has_time else 0.0
    return (max(by_stage_s, together_s) + _wait_bound_s(waits, network)) * (1.0 - _ROUNDING)


def _stage(loads: Loads, number: int) -> Loads:
    flows = slice(loads.starts[number], loads.starts[number + 1])
    return Loads(
        starts=np.array([0, flows.stop - flows.start], dtype=np.intp),
        sources=loads.sources[flows],
        destinations=loads.destinations[flows],
        sizes_bytes=loads.sizes_bytes[flows],
        counts=np.ones(1),
    )


def _stage_bound_s(stage: Loads, network: Network, deadline: Deadline) -> float:
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


def _component_bound_s(stage: Loads, network: Network, *, is_balanced: bool) -> float:
    """Return the least uplink time of groups that must split a component of the stage."""
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
    """Return which numbers are sums of some of the sizes, (N + 1,)."""
    reachable = np.zeros(int(sizes.sum()) + 1, dtype=np.bool_)
    reachable[0] = True
    for size in sizes:
        reachable[size:] |= reachable[:-size].copy()
    return reachable


def _cut_bound_s(loads: Loads, network: Network) -> float:
    """Return the time that uplinks need for the bytes that all stages send across them."""
    hosts = network.hosts
    stage = np.repeat(np.arange(len(loads.counts)), np.diff(loads.starts))
    between = np.zeros((hosts, hosts))
    sizes = loads.sizes_bytes * loads.counts[stage]
    np.add.at(between, (loads.sources, loads.destinations), sizes)
    is_balanced = np.allclose(between.sum(axis=0), between.sum(axis=1), rtol=1e-12)
    weights = between + between.T
    laplacian = np.diag(weights.sum(axis=1)) - weights
    second = float(np.linalg.eigvalsh(laplacian)[1]) - _EIGENVALUE_ERROR * float(weights.sum())
    second = max(0.0, second)
    bound_s = 0.0
    for members, send, receive in _groups(network):
        both_bytes = second * members * (hosts - members) / hosts
        if is_balanced:
            bound_s = max(bound_s, both_bytes / 2.0 / min(send, receive))
        else:
            bound_s = max(bound_s, both_bytes / (send + receive))
    return bound_s


def _groups(network: Network) -> list[tuple[int, float, float]]:
    """Return each group's size and its uplink's rates in bytes/s."""
    sizes = np.bincount(network.group_of[network.group_of >= 0], minlength=network.groups)
    rates = zip(network.uplink_send_bytes_s, network.uplink_receive_bytes_s, strict=True)
    return [
        (int(size), float(send), float(receive))
        for size, (send, receive) in zip(sizes, rates, strict=True)
        if size
    ]


def _wait_bound_s(waits: Waits, network: Network) -> float:
    # A host is at no distance from itself.
    rows = enumerate(network.latency_s)
    least_s = min(
        float(min(row[:host].min(initial=np.inf), row[host + 1 :].min(initial=np.inf)))
        for host, row in rows
    )
    return least_s * float(waits.counts.sum())
