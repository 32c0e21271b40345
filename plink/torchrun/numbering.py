"""How the agents of a round are numbered: by the order, and by what is known of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.base.text import named
from plink.files.cluster import Cluster
from plink.files.hosts import Group, Host
from plink.files.order import Order
from plink.torchrun.members import Member, names_of
from plink.torchrun.seats import agents_in_order, inserted, kept_and_new
from plink.torchrun.settings import Settings

# All agents wait for it. A ring of 100 hosts takes a tenth of that.
_SEARCH_S = 1.0


@dataclass(frozen=True)
class Numbering:
    """The agents of a round in order.

    Args:
        agents: by new rank the number that PyTorch gave.
        hosts: the names of their hosts, by the number that PyTorch gave.
        notes: what the user should know, a sentence each.
    """

    agents: Sequence[int]
    hosts: Sequence[str]
    notes: Sequence[str] = ()

    @property
    def new_ranks(self) -> list[int]:
        """By the number that PyTorch gave the new one."""
        ranks = [0] * len(self.agents)
        for rank, agent in enumerate(self.agents):
            ranks[agent] = rank
        return ranks


def numbered(members: Sequence[Member], settings: Settings) -> Numbering:
    """Agents in the order of their hosts.

    Args:
        members: of the round, by the number that PyTorch gave.
        settings: of the agent that decides; its cluster is what is known now.
    """
    order, cluster = settings.order, settings.cluster
    hosts = names_of(members, known_hosts(order, cluster))
    seats, notes = _seats(list(dict.fromkeys(hosts)), order, cluster, settings.algorithm)
    others = [member.name for member in members if member.digest != members[0].digest]
    if others and not settings.is_probed:
        notes.append(
            f"{named(others)}: the files there say something else than those of "
            f"{members[0].name}, which count"
        )
    return Numbering(agents_in_order(hosts, seats), hosts, notes)


def known_hosts(order: Order | None, cluster: Cluster | None) -> list[Host]:
    """The hosts of the files, each once."""
    of_order = [] if order is None else [*order.hosts, *order.unused]
    of_cluster = [] if cluster is None else cluster.hosts
    return list({host.name: host for host in [*of_cluster, *of_order]}.values())


def _seats(
    present: list[str], order: Order | None, cluster: Cluster | None, algorithm: str
) -> tuple[list[str], list[str]]:
    """The names of the hosts that are there in rank order, and notes."""
    ranked = [host.name for host in order.runs] if order is not None else []
    kept, new = kept_and_new(ranked, present)
    if order is not None and not new and len(kept) == len(set(ranked)):
        return ranked, []
    known = set() if cluster is None else set(cluster.names)
    strange = [name for name in new if name not in known]
    rest = [name for name in [*kept, *new] if name not in strange]
    notes = []
    if strange:
        source = "what was measured" if order is None else "the order"
        notes.append(f"{named(strange)}: not in {source}, and comes last")
    if cluster is None or not known.issuperset(rest) or len(rest) < 2:
        seats = rest
    else:
        seats, more = _found(rest, len(kept), order, cluster, algorithm)
        notes += more
    if seats == kept:
        # Ranks of a host that were apart stay so.
        seats = [name for name in ranked if name in set(kept)]
    return [*seats, *strange], notes


def _found(
    hosts: list[str], kept: int, order: Order | None, cluster: Cluster, algorithm: str
) -> tuple[list[str], list[str]]:
    """The hosts in an order as cheap as a search finds it, from that of those that were kept.

    Args:
        hosts: names, all in the cluster.
        kept: how many of the first of them are in order.
    """
    # An order that is followed as it is needs none of that.
    from plink.base.size import DEFAULT_SIZE_BYTES  # noqa: PLC0415
    from plink.model.distance import distances  # noqa: PLC0415
    from plink.optimize.orders.ordering import find_order  # noqa: PLC0415
    from plink.optimize.orders.request import OrderRequest  # noqa: PLC0415

    by_name = {host.name: host for host in known_hosts(order, cluster)}
    start = hosts
    if cluster.rtt is not None:
        known = distances(_part(cluster, [by_name[name] for name in hosts]))
        ring = inserted(range(kept), range(kept, len(hosts)), known.matrix_us)
        start = [hosts[place] for place in ring]
    if order is not None and order.mesh is not None:
        return start, ["a mesh's order is for its own hosts: those that are there follow it"]
    request = OrderRequest(
        algorithm=algorithm if order is None else order.algorithm,
        objective=None if order is None else order.objective,
        size_bytes=(order.cost.size_bytes if order is not None else None) or DEFAULT_SIZE_BYTES,
        time_limit_s=_SEARCH_S,
    )
    try:
        found = find_order(_part(cluster, [by_name[name] for name in start]), request)
    except WrongUseError as error:
        return start, [f"no better order was looked for: {error}"]
    if not found.is_ring_of_hops:
        return found.names, []
    first = found.names.index(start[0])
    return [*found.names[first:], *found.names[:first]], []


def _part(cluster: Cluster, hosts: Sequence[Host]) -> Cluster:
    """These hosts of a cluster only, in this order."""
    from plink.measure.probing.resume import carried_over  # noqa: PLC0415

    names = {host.name for host in hosts}
    groups = [
        Group(group.name, [name for name in group.hosts if name in names])
        for group in cluster.groups
    ]
    trimmed = replace(cluster, groups=[group for group in groups if group.hosts])
    return carried_over(hosts, trimmed, moved=())
