"""Order of a job's hosts, from an order file or from what their network is like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.base.text import format_names
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host, with_domains
from plink.formats.mesh import Mesh
from plink.formats.order import Order
from plink.renumber.assignment import (
    Run,
    assign_ranks,
    inserted,
    join_domains,
    kept_and_new,
)
from plink.renumber.members import Member, names_of

if TYPE_CHECKING:
    from plink.optimize.orders.request import Objective

# All processes wait for the search. A ring of 100 hosts takes a tenth of that.
_SEARCH_S = 1.0


@dataclass(frozen=True)
class Basis:
    """Source of the order of hosts: files or a probe.

    Args:
        order: order that ranks follow; None to search for one.
        cluster: what is known of the network; None where nothing is.
        algorithm: collective algorithm that a search is for.
        mesh: dimensions of ranks that a search is for, in place of an algorithm.
    """

    order: Order | None = None
    cluster: Cluster | None = None
    algorithm: str = "ring"
    mesh: Mesh | None = None

    @property
    def hosts(self) -> list[Host]:
        """Hosts of all files, each once."""
        of_order = [] if self.order is None else [*self.order.hosts, *self.order.unused]
        of_cluster = [] if self.cluster is None else self.cluster.hosts
        return list({host.name: host for host in [*of_cluster, *of_order]}.values())


@dataclass(frozen=True)
class Numbering:
    """Numbering of processes in the order of their hosts.

    Args:
        agents: by new rank the number that each process had.
        hosts: name of each process's host, by the number that it had.
        notes: what the user should know, a sentence each.
    """

    agents: Sequence[int]
    hosts: Sequence[str]
    notes: Sequence[str] = ()

    @property
    def new_ranks(self) -> list[int]:
        """New rank of each process, by the number that it had."""
        ranks = [0] * len(self.agents)
        for rank, agent in enumerate(self.agents):
            ranks[agent] = rank
        return ranks


def numbered(members: Sequence[Member], basis: Basis) -> Numbering:
    """Number processes in the order of their hosts; hosts that nothing is known of come last."""
    hosts = names_of(members, basis.hosts)
    runs, notes = order_hosts(list(dict.fromkeys(hosts)), basis)
    return Numbering(assign_ranks(hosts, runs), hosts, notes)


def order_hosts(
    present: Sequence[str],
    basis: Basis,
    *,
    ranks_on: Mapping[str, int] | None = None,
    domain_of: Mapping[str, str] | None = None,
) -> tuple[list[Run], list[str]]:
    """Return the runs of hosts in rank order, and notes for the user.

    Args:
        present: names of the hosts that are there, each once, in the launcher's order.
        basis: what the order is found from.
        ranks_on: number of ranks on each host, which a mesh needs.
        domain_of: NVLink domain of each host that is in one; a domain's hosts stay together.

    Raises:
        WrongUseError: the mesh has another number of ranks than the job.
    """
    domains = {host.name: host.domain for host in basis.hosts if host.domain}
    domains |= domain_of or {}
    runs, notes = _runs(present, basis, ranks_on or {}, domains)
    return join_domains(runs, domains), notes


def _runs(
    present: Sequence[str], basis: Basis, ranks_on: Mapping[str, int], domain_of: Mapping[str, str]
) -> tuple[list[Run], list[str]]:
    order, cluster = basis.order, basis.cluster
    ranked = [] if order is None else [Run(host.name, host.slots) for host in order.runs]
    kept, new = kept_and_new([run.host for run in ranked], present)
    if order is not None and not new and len(kept) == len({run.host for run in ranked}):
        return ranked, []
    known = set() if cluster is None else set(cluster.names)
    unknown = [name for name in new if name not in known]
    rest = [name for name in [*kept, *new] if name not in unknown]
    notes = []
    if unknown:
        source = "what was measured" if order is None else "the order"
        notes.append(f"{format_names(unknown)}: not in {source}, and comes last")
    if cluster is None or not known.issuperset(rest) or len(rest) < 2:
        runs = [Run(name) for name in rest]
    else:
        cluster = _with_ranks(cluster, ranks_on) if basis.mesh is not None else cluster
        runs, more = _search(rest, len(kept), replace(basis, cluster=cluster), domain_of)
        notes += more
    if [run.host for run in runs] == kept:
        # Ranks of a host that were apart stay so.
        runs = [run for run in ranked if run.host in set(kept)]
    return [*runs, *(Run(name) for name in unknown)], notes


def _search(
    hosts: list[str], kept: int, basis: Basis, domain_of: Mapping[str, str]
) -> tuple[list[Run], list[str]]:
    """Search for a cheap order of hosts, starting from `hosts`; return its runs, and notes.

    Args:
        hosts: names, all in the cluster.
        kept: number of the first of them that an order names, in its order.
    """
    # An order that is followed as it is needs none of that.
    from plink.base.size import DEFAULT_SIZE_BYTES  # noqa: PLC0415
    from plink.measure.probing.request import restrict_to_hosts  # noqa: PLC0415
    from plink.model.distance import distances  # noqa: PLC0415
    from plink.optimize.orders.ordering import find_order  # noqa: PLC0415
    from plink.optimize.orders.request import OrderRequest  # noqa: PLC0415

    order, cluster = basis.order, basis.cluster
    assert cluster is not None  # noqa: S101  the caller has looked
    by_name = {host.name: host for host in basis.hosts}
    start = hosts
    # Without an order, the launcher's own stays where it is among the best.
    if order is not None and cluster.rtt is not None:
        known = distances(restrict_to_hosts(cluster, [by_name[name] for name in hosts]))
        ring = inserted(range(kept), range(kept, len(hosts)), known.matrix_us)
        start = [hosts[place] for place in ring]
    if order is not None and order.mesh is not None:
        note = "a mesh's order is for its own hosts: those that are there follow it"
        return [Run(name) for name in start], [note]
    request = OrderRequest(
        algorithm=basis.algorithm if order is None else order.algorithm,
        objective=None if order is None else cast("Objective", order.objective),
        size=(order.cost.size_bytes if order is not None else None) or DEFAULT_SIZE_BYTES,
        time_limit_s=_SEARCH_S,
        mesh=basis.mesh,
    )
    part = restrict_to_hosts(cluster, [by_name[name] for name in start])
    try:
        found = find_order(replace(part, hosts=with_domains(part.hosts, domain_of)), request)
    except WrongUseError as error:
        if basis.mesh is not None:
            raise
        return [Run(name) for name in start], [f"no better order was looked for: {error}"]
    if basis.mesh is not None:
        return [Run(host.name, host.slots) for host in found.runs], []
    names = found.names
    if found.is_ring_of_hops and not domain_of:
        # A ring may begin anywhere, but within a domain: rank 0 stays on its host.
        first = names.index(start[0])
        names = [*names[first:], *names[:first]]
    return [Run(name) for name in names], []


def _with_ranks(cluster: Cluster, ranks_on: Mapping[str, int]) -> Cluster:
    hosts = [replace(host, slots=ranks_on.get(host.name, host.slots)) for host in cluster.hosts]
    return replace(cluster, hosts=hosts)
