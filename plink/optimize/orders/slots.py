"""Layouts of ranks on hosts with slots, and which algorithms run with that many ranks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.base.text import format_count, format_names
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.order import Order
from plink.formats.order_basis import order_basis
from plink.optimize.orders.request import OrderRequest
from plink.solvers.collectives.algorithm import MOST_MESSAGES, Algorithm
from plink.solvers.collectives.registry import ALGORITHMS, find
from plink.solvers.slots.layout import RankLayout

if TYPE_CHECKING:
    from plink.model.distance import BandwidthDistances, Distances

# On a host.
MAX_SLOTS = 65536

ALL_ALGORITHMS = "plink order --list-algorithms names them all"


def with_slots(hosts: Sequence[Host], slots: int | None) -> list[Host]:
    """Return the hosts with `slots` slots each, or unchanged if that is None."""
    return list(hosts) if slots is None else [_with_slots(host, slots) for host in hosts]


def order_with_slots(order: Order, slots: int) -> Order:
    """Return a copy of an order with this many ranks on every host.

    Raises:
        WrongUseError: it was made for other numbers of ranks, and what it costs hinges on them.
    """
    if all(host.slots == slots for host in order.hosts):
        return order
    if not order.is_ring_of_hops or order.unused:
        raise WrongUseError(
            f"the order was made for {format_count(order.ranks, 'rank')}, and {{slots=}} makes "
            f"it {format_count(slots * len(order.hosts), 'rank')}",
            "run plink order CLUSTER with that option to make a new order",
            arguments={"slots": slots},
        )
    return replace(order, hosts=with_slots(order.hosts, slots))


def build_layout(hosts: Sequence[Host], ranks: int | None) -> RankLayout:
    """Return the layout of `ranks` ranks on hosts' slots; None fills all slots.

    Raises:
        WrongUseError: there are not enough slots.
    """
    slots = [host.slots for host in hosts]
    if ranks is not None and ranks > sum(slots):
        needed = -(-ranks // len(hosts))
        raise WrongUseError(
            f"{format_count(ranks, 'rank')} do not fit on {format_count(len(hosts), 'host')} with "
            f"{format_count(sum(slots), 'slot')} in all",
            "{slots=} gives every host as many as that takes" if needed <= MAX_SLOTS else None,
            arguments={"slots": needed},
        )
    return RankLayout(slots, sum(slots) if ranks is None else ranks)


def build_layout_like(cluster: Cluster, order: Order | None) -> RankLayout:
    """Return an order's layout of ranks on a cluster's hosts; without an order, fill all slots."""
    if order is None:
        return build_layout(cluster.hosts, None)
    return RankLayout(recover_slots(order, cluster.hosts), order.ranks)


def recover_slots(order: Order, hosts: Sequence[Host]) -> list[int]:
    """Infer how many slots each of a cluster's hosts had when an order was made.

    An order has ranks in place of the slots of hosts that it uses, which may be fewer; those that
    it left out show whether the cluster's slots counted, or one number for all.
    """
    ranks_on = {host.name: host.slots for host in order.hosts}
    left = {host.name: host.slots for host in order.unused}
    if not left:
        return [ranks_on[host.name] for host in hosts]
    is_own = all(host.slots == left.get(host.name, host.slots) for host in hosts)
    same = max(left.values())
    return [
        max(host.slots if is_own else left.get(host.name, same), ranks_on.get(host.name, 1))
        for host in hosts
    ]


def index_placement(cluster: Cluster, order: Order, source: str) -> list[int]:
    """Return each rank's host as an index into the cluster's; raise if the order has other hosts.

    `source` names the order in errors.

    Raises:
        WrongUseError: the order is not of the cluster's hosts.
    """
    place_of = {name: place for place, name in enumerate(cluster.names)}
    listed = [host.name for host in (*order.hosts, *order.unused)]
    unknown = [name for name in listed if name not in place_of]
    if unknown:
        raise WrongUseError(f"{source}: {unknown[0]} is not a host of {cluster.source}")
    missing = [name for name in cluster.names if name not in set(listed)]
    if missing:
        raise WrongUseError(f"{source}: lacks {format_names(missing)}, hosts of {cluster.source}")
    return [place_of[host.name] for host in order.runs for _ in range(host.slots)]


def build_peer_layout(algorithm: Algorithm, layout: RankLayout) -> RankLayout:
    """Return the layout of what an algorithm runs between: all ranks, or one peer a host.

    Raises:
        WrongUseError: its peers are hosts, and orders differ in how many they use.
    """
    if not algorithm.is_over_hosts:
        return layout
    if not (layout.is_even or layout.takes_all_hosts):
        raise WrongUseError(
            f"{algorithm.name} runs between hosts, whose number depends on the order, since "
            "hosts have different numbers of slots",
            "leave out {ranks=}, or give all hosts as many slots",
            arguments={"ranks": layout.ranks},
        )
    hosts = layout.hosts if layout.takes_all_hosts else layout.fewest_hosts
    return RankLayout([1] * layout.hosts, hosts)


def compose_order(
    cluster: Cluster,
    hosts: Sequence[Host],
    request: OrderRequest,
    placement: Sequence[int],
    gaps: Distances | BandwidthDistances,
    *,
    began_s: float,
    objective: str,
    **figures: Any,
) -> Order:
    """Build the `Order` of a placement, with its cost, its solver and what was requested.

    Args:
        cluster: hosts and what was measured.
        hosts: its hosts, with the slots that count.
        request: what the order is for.
        placement: the host of every rank.
        gaps: which distances were not measured.
        began_s: when the search began, by the monotonic clock.
        objective: name of what was minimised.
        figures: the other members of the order.
    """
    ranks_on = Counter(placement)
    used = list(ranks_on)
    number_of = {host: number for number, host in enumerate(used)}
    in_blocks = [host for host in used for _ in range(ranks_on[host])]
    names = {hosts[host].name for host in used}
    return Order(
        algorithm=request.algorithm,
        hosts=[_with_slots(hosts[host], ranks_on[host]) for host in used],
        unused=tuple(given for host, given in enumerate(hosts) if host not in ranks_on),
        # Where the ranks of each host are adjacent, the hosts say it all.
        host_of_rank=None if in_blocks == placement else [number_of[host] for host in placement],
        listed=cluster.names,
        seconds=time.monotonic() - began_s,
        filled_pairs=gaps.filled_pairs,
        unmeasured_hosts=[name for name in gaps.unmeasured_hosts if name in names],
        groups=tuple(cluster.groups),
        mesh=request.device_mesh,
        way=cluster.way,
        made_from=order_basis(cluster, objective),
        **figures,
    )


def _with_slots(host: Host, slots: int) -> Host:
    return host if host.slots == slots else replace(host, slots=slots)


def find_algorithm(name: str, layout: RankLayout) -> Algorithm:
    """Return the algorithm of a name; raise if there is none, or it does not run on these ranks.

    Raises:
        WrongUseError: no algorithm has it, or its library does not run it with that many ranks.
    """
    try:
        found = find(name)
    except ValueError as error:
        raise WrongUseError(str(error), ALL_ALGORITHMS) from None
    ranks = build_peer_layout(found, layout).ranks
    refusal = found.refusal(ranks)
    if refusal is not None:
        raise WrongUseError(refusal, _alternative(name, ranks))
    return found


def refuse_too_many(algorithm: Algorithm, ranks: int, *, by_table: bool) -> None:
    """Raise WrongUseError if an algorithm has more messages than a search can price in time.

    Args:
        algorithm: which one.
        ranks: its own.
        by_table: every message counts, of a ring too, which else is the sum of its hops.

    Raises:
        WrongUseError: there are too many.
    """
    messages = max(algorithm.messages(ranks), ranks if by_table else 0)
    if messages > MOST_MESSAGES:
        raise WrongUseError(
            f"{algorithm.name} with {format_count(ranks, 'rank')} has {messages:,} messages, and "
            f"orders are searched for up to {MOST_MESSAGES:,}",
            "an order for fewer slots per host, such as 1, mostly suits more slots, too",
        )


def _alternative(name: str, ranks: int) -> str | None:
    """Return a hint that names similar algorithms for this number of ranks; None without any."""
    kind = name.split("-", 1)[-1] if name not in ALGORITHMS else name
    others = [
        other
        for other, algorithm in ALGORITHMS.items()
        if kind in other and other != name and algorithm.refusal(ranks) is None
    ]
    return f"with {ranks} ranks: {format_names(others)}" if others else None
