"""Comparison of NCCL's rings and trees with an order of hosts, from the logs of all ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import ClassVar

from plink.base.errors import PlinkError, WrongUseError
from plink.base.text import format_names
from plink.deploy.launchers.format import places
from plink.deploy.nccl_log import NcclJob, parse_nccl_log
from plink.deploy.verify import PlacedRank
from plink.formats.hosts import Host
from plink.formats.limits import Text, Whole
from plink.formats.structs import Output
from plink.solvers.collectives.nccl import double_tree

# Format of plink order for which NCCL makes rings.
LAUNCHER = "nccl"
_WANTED = "set NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,GRAPH, and keep what every rank prints"
_SHOWN = 3
# What Docker calls a container that nobody names.
_CONTAINER = re.compile(r"[0-9a-f]{12}|[0-9a-f]{64}")


class Ring(Output, frozen=True):
    """Ring of one NCCL channel, as the sequence of its hosts.

    Attributes:
        channel: number of the channel
        hosts: hosts from that of rank 0 on; a host is listed again where the ring returns
        is_whole: whether all of it is known, as NCCL cuts long ones off
        is_kept: whether it goes from host to host as the order does, in either direction
    """

    channel: Whole
    hosts: Sequence[str]
    is_whole: bool
    is_kept: bool


class NcclVerdict(Output, frozen=True):
    """Comparison of a job's NCCL logs (`--log`) with an order: its ranks, rings and trees.

    Attributes:
        launcher: format of the launcher
        kept: whether all ranks and rings follow the order
        version: version of NCCL
        networks: what NCCL uses between hosts
        ranks: ranks in their order
        rings: ring of every channel
        trees: number of channels that logged a tree
        other_trees: channels whose tree joins other hosts
    """

    IN_MEMORY: ClassVar = frozenset({"library"})

    launcher: Text
    kept: bool
    version: Text | None
    networks: Sequence[str]
    ranks: Sequence[PlacedRank]
    rings: Sequence[Ring]
    trees: Whole
    other_trees: Sequence[Whole]
    # NCCL or RCCL.
    library: str

    @property
    def distinct_rings(self) -> int:
        """Number of different rings in the log, regardless of start and direction."""
        return len({_canonical_ring(ring.hosts) for ring in self.rings if ring.is_whole})


def compare_nccl_order(hosts: Sequence[Host], text: str, source: str) -> NcclVerdict:
    """Compare the ranks, rings and trees in a job's NCCL logs with an order of hosts.

    Args:
        hosts: in rank order.
        text: text of the logs of all ranks.
        source: what errors call them.

    Raises:
        WrongUseError: the logs do not tell of such a job.
        PlinkError: they lack ranks, or name other machines than the order does.
    """
    expected = [place.host.name for place in places(hosts)]
    job = parse_nccl_log(text, len(expected))
    if not job.host_of_rank:
        missing = "lines of NCCL" if "NCCL INFO" not in text else f"job of {len(expected)} ranks"
        raise WrongUseError(f"{source}: the job's NCCL logs have no {missing}", _WANTED)
    if job.missing:
        raise _lacks_ranks(job, source)
    aliases = {alias: host.name for host in hosts for alias in _aliases(host)}
    host_of = {machine: _find_host(machine, job, aliases) for machine in job.host_of_rank.values()}
    found = [host_of[job.host_of_rank[rank]] for rank in range(job.ranks)]
    if not any(found):
        raise _lacks_hosts(job, source)
    if not job.rings:
        raise PlinkError(f"{source}: the logs have no lines about NCCL's rings", _WANTED)
    placed = [
        PlacedRank(rank, name, found[rank] or job.host_of_rank[rank])
        for rank, name in enumerate(expected)
    ]
    wanted = _list_visited_hosts(expected, is_whole=True)
    rings = []
    for channel, ring in sorted(job.rings.items()):
        is_whole = len(ring) == len(expected)
        visits = _list_visited_hosts(
            [placed[rank].found for rank in ring if rank < len(placed)], is_whole=is_whole
        )
        is_kept = _follows_order(visits, wanted, is_whole=is_whole)
        rings.append(Ring(channel, visits, is_whole, is_kept))
    return NcclVerdict(
        launcher=LAUNCHER,
        kept=all(rank.is_kept for rank in placed) and all(ring.is_kept for ring in rings),
        version=job.version,
        networks=sorted(job.networks),
        ranks=placed,
        rings=rings,
        trees=len(job.parents),
        other_trees=_other_trees(job, placed),
        library=job.library,
    )


def _find_host(machine: str, job: NcclJob, aliases: Mapping[str, str]) -> str | None:
    """Return the order's host with a machine's name or logged addresses; None if there is none."""
    if machine in aliases:
        return aliases[machine]
    hosts = {aliases[each] for each in job.addresses.get(machine, ()) if each in aliases}
    return hosts.pop() if len(hosts) == 1 else None


def _lacks_ranks(job: NcclJob, source: str) -> PlinkError:
    if job.aborted or (not job.completed and job.rings):
        aborted = ""
        if job.aborted:
            first = min(job.aborted)
            aborted = f": rank {first} on {job.host_of_rank[first]} gave it up"
        return PlinkError(
            f"{source}: the job failed while NCCL was setting it up{aborted}",
            "lines with NCCL WARN say why; give the log of a job that ran",
        )
    what = "rank" if len(job.missing) == 1 else "ranks"
    some = format_names([str(rank) for rank in job.missing], _SHOWN)
    return PlinkError(f"{source}: the logs have no lines of {what} {some} of {job.ranks}", _WANTED)


def _lacks_hosts(job: NcclJob, source: str) -> PlinkError:
    machine = job.host_of_rank[0]
    if _CONTAINER.fullmatch(machine):
        return PlinkError(
            f"{source}: the ranks ran in containers that are called {machine} and the like, and no "
            "address that NCCL logs is one of the order's hosts",
            "give containers the names of their hosts, or keep the log lines `Bootstrap : Using`",
        )
    return PlinkError(
        f"{source}: the ranks ran on hosts that the order lacks, such as {machine}",
        "name the order's hosts as the machines name themselves (uname -n)",
    )


def _aliases(host: Host) -> set[str]:
    """Return the names under which NCCL may log a host: full, cut at the first dot, and address."""
    return {host.name, host.name.partition(".")[0], host.address}


def _canonical_ring(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return a ring of hosts in canonical form, the same for every start and direction."""
    both = (tuple(hosts), tuple(reversed(hosts)))
    return min(each[place:] + each[:place] for each in both for place in range(len(hosts)))


def _follows_order(hosts: Sequence[str], wanted: Sequence[str], *, is_whole: bool) -> bool:
    """Return whether a ring, or its known part, equals `wanted` from any start, either way."""
    if is_whole and len(hosts) != len(wanted):
        return False
    if hosts[0] not in wanted:
        return False
    begin = list(wanted).index(hosts[0])
    there = [*wanted[begin:], *wanted[:begin]]
    back = [there[0], *reversed(there[1:])]
    known = len(hosts)
    return list(hosts) in (there[:known], back[:known])


def _list_visited_hosts(names: Sequence[str], *, is_whole: bool) -> list[str]:
    """Return the hosts along a ring of ranks, where ranks in a row on one host count once."""
    visits = [name for name, _ in groupby(names)]
    if is_whole and len(visits) > 1 and visits[0] == visits[-1]:
        visits.pop()  # the ring ends on the host on which it began
    return visits


def _other_trees(job: NcclJob, placed: Sequence[PlacedRank]) -> list[int]:
    """Return the channels whose tree over the hosts is neither of NCCL's two for the order."""
    hosts = list(dict.fromkeys(rank.found for rank in placed))
    number = {host: index for index, host in enumerate(hosts)}
    known = [
        {(child, int(parent)) for child, parent in enumerate(tree) if parent >= 0}
        for tree in double_tree(len(hosts))
    ]
    others = []
    for channel, parents in sorted(job.parents.items()):
        edges = {
            (number[placed[child].found], number[placed[parent].found])
            for child, parent in parents.items()
            if 0 <= parent < len(placed) and placed[child].found != placed[parent].found
        }
        if len(parents) == len(placed) and edges not in known:
            others.append(channel)
    return others
