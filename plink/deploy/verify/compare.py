"""What an order says against where the ranks were, and why they may differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.errors import PlinkError
from plink.deploy.launchers.format import places
from plink.deploy.verify.program import Report
from plink.files.cluster import Host


@dataclass(frozen=True)
class Rank:
    """Where the order wants a rank, and where it was: names of the order's hosts.

    `found` is the machine's own name where it is none of the order's hosts.
    """

    rank: int
    expected: str
    found: str

    @property
    def is_kept(self) -> bool:
        """Whether it was where the order says."""
        return self.expected == self.found


def compare(hosts: Sequence[Host], reports: Sequence[Report]) -> list[Rank]:
    """Every rank of the order, with where it was.

    Raises:
        PlinkError: a rank did not report, or there are others than the order's.
    """
    expected = [place.host.name for place in places(hosts)]
    found: dict[int, str] = {}
    for report in reports:
        if report.rank in found:
            raise PlinkError(
                f"two processes say that they are rank {report.rank}",
                "the launcher may have started each alone; is it the one that the file is for?",
            )
        found[report.rank] = _host_of(report, hosts)
    missing = [rank for rank in range(len(expected)) if rank not in found]
    if missing:
        some = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise PlinkError(f"no word of rank {some}, of {len(expected)} ranks")
    if len(found) > len(expected):
        raise PlinkError(f"{len(found)} ranks were started, the order has {len(expected)}")
    return [Rank(rank, name, found[rank]) for rank, name in enumerate(expected)]


def reason(ranks: Sequence[Rank], local: str | None) -> str | None:
    """The known trap that explains why ranks are elsewhere, or None.

    Args:
        ranks: some of which are not where the order says.
        local: the host on which the launcher was started, None where it is none of the order's.
    """
    expected = [rank.expected for rank in ranks]
    found = [rank.found for rank in ranks]
    if local is not None and found[0] == local != expected[0]:
        return (
            f"{local}, where the launcher was started, came first: to Open MPI a plain host file "
            "is a set of hosts; --map-by seq keeps its order"
        )
    if Counter(expected) != Counter(found):
        return "other hosts took ranks, or more of them: the launcher counts slots in its own way"
    hosts, seen = list(dict.fromkeys(expected)), list(dict.fromkeys(found))
    if seen == hosts:
        return "ranks were dealt out to the hosts in turns, as --map-by node and cyclic do"
    if seen == sorted(hosts):
        return (
            "the hosts came sorted by name, as torchrun's c10d rendezvous does (only "
            "--rdzv-backend=static keeps --node-rank), and Slurm without --distribution=arbitrary"
        )
    return None


def _host_of(report: Report, hosts: Sequence[Host]) -> str:
    """The host of the order that a report is from, by address, else by name."""
    for host in hosts:
        if host.address in report.addresses:
            return host.name
    own = report.hostname
    for host in hosts:
        if own in (host.name, host.address) or own.partition(".")[0] == host.name:
            return host.name
    return own
