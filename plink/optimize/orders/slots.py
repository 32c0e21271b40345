"""From hosts with slots, and a number of ranks, to how ranks fill hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from plink.base.errors import WrongUseError
from plink.base.text import counted
from plink.files.cluster import Host
from plink.files.order import Order
from solvers.collectives.algorithm import Algorithm
from solvers.slots.layout import RankLayout

# What --slots takes.
MAX_SLOTS = 65536


def with_slots(hosts: Sequence[Host], slots: int | None) -> list[Host]:
    """The hosts, each with so many slots; with their own for None."""
    return list(hosts) if slots is None else [replace(host, slots=slots) for host in hosts]


def filling_of(hosts: Sequence[Host], ranks: int | None) -> RankLayout:
    """How so many ranks fill hosts: all their slots for None.

    Raises:
        WrongUseError: there are not enough slots.
    """
    slots = [host.slots for host in hosts]
    if ranks is not None and ranks > sum(slots):
        needed = -(-ranks // len(hosts))
        raise WrongUseError(
            f"{counted(ranks, 'rank')} on {counted(len(hosts), 'host')} with "
            f"{counted(sum(slots), 'slot')} in all: there are not enough",
            f"--slots {needed} gives every host as many as that takes"
            if needed <= MAX_SLOTS
            else None,
        )
    return RankLayout(slots, sum(slots) if ranks is None else ranks)


def slots_of(order: Order, hosts: Sequence[Host]) -> list[int]:
    """How many ranks each of a cluster's hosts could have taken when an order was made of them.

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


def modelled(algorithm: Algorithm, filling: RankLayout) -> RankLayout:
    """The filling that an algorithm's peers are placed by: ranks, or hosts with one peer each.

    Raises:
        WrongUseError: its peers are hosts, and orders differ in how many they use.
    """
    if not algorithm.is_over_hosts:
        return filling
    if not (filling.is_even or filling.takes_all_hosts):
        raise WrongUseError(
            f"{algorithm.name} runs over hosts, and how many those are depends on which of them "
            "are chosen, as they have different numbers of slots",
            "leave out --ranks, or give all hosts as many slots with --slots",
        )
    hosts = filling.hosts if filling.takes_all_hosts else filling.fewest_hosts
    return RankLayout([1] * filling.hosts, hosts)


@dataclass(frozen=True)
class Placed:
    """Hosts and the ranks on them.

    Args:
        hosts: by their first rank, with as many slots as ranks.
        unused: those without a rank, with their own slots.
        host_of_rank: indices into `hosts`; None where the ranks of each host are adjacent.
    """

    hosts: Sequence[Host]
    unused: Sequence[Host]
    host_of_rank: Sequence[int] | None


def placed_on(hosts: Sequence[Host], placement: Sequence[int]) -> Placed:
    """The hosts of a placement (the host of every rank), the others as listed."""
    ranks_on = Counter(placement)
    used = list(ranks_on)
    place = {host: number for number, host in enumerate(used)}
    in_blocks = [host for host in used for _ in range(ranks_on[host])]
    return Placed(
        hosts=[replace(hosts[host], slots=ranks_on[host]) for host in used],
        unused=tuple(given for host, given in enumerate(hosts) if host not in ranks_on),
        host_of_rank=None if in_blocks == placement else [place[host] for host in placement],
    )
