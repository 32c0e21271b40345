"""`plink.group`: groups of near hosts, with their certainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.request import keyword_function
from plink.base.text import format_count, format_names, probability_text
from plink.formats.groups import Grouping
from plink.formats.hosts import Group
from plink.optimize.groups.finding import find_groups, with_groups
from plink.optimize.groups.request import GroupRequest
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.common import PathName, build_warner, report_stages

with lazy_imports():
    from plink.model import network
    from plink.show import groups


@dataclass(frozen=True, repr=False)
class Groups(Sequence[Group]):
    """Result of `plink.group`: groups of near hosts, possibly none, and the cluster with them.

    Args:
        cluster: with these groups, for orders and plans that follow them.
        grouping: how they were found, and how sure each is.
        is_too_sparse: there are groups, and too few pairs were measured to say which.
    """

    cluster: MeasuredCluster
    grouping: Grouping
    is_too_sparse: bool = False

    @overload
    def __getitem__(self, index: int) -> Group: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Group]: ...

    def __getitem__(self, index: int | slice) -> Group | Sequence[Group]:
        return self.cluster.groups[index]

    def __len__(self) -> int:
        return len(self.cluster.groups)

    @property
    def probability(self) -> float | None:
        """Probability that the hosts form groups at all, 0 to 1; None if unknown."""
        return self.grouping.probability

    @property
    def notes(self) -> list[str]:
        """Reasons for caution about the groups, one sentence each."""
        return list(self.grouping.notes)

    def of(self, host: str) -> Group | None:
        """Return the group of a host given by name; None if it is in none."""
        return next((group for group in self if host in group.hosts), None)

    def save(self, path: PathName) -> None:
        """Write a cluster file with these groups atomically, or raise PlinkError."""
        self.cluster.save(path)

    def __repr__(self) -> str:
        sizes = format_names([f"{group.name} ({len(group.hosts)})" for group in self])
        known = "" if self.probability is None else f"; {probability_text(self.probability)} sure"
        return f"<plink.Groups: {sizes or 'none'}{known}>"

    def __str__(self) -> str:
        """Return the text that `plink group` prints."""
        return "\n".join(
            groups.group_lines(self.cluster, network.capacity(self.cluster, self.cluster.groups))
        )


def find_near_groups(cluster: MeasuredCluster, request: GroupRequest) -> Groups:
    """Find groups of hosts that are near each other; none where the distances show none.

    Args:
        cluster: hosts with round-trip times, or with bandwidths alone.
        request: what is asked for.

    Raises:
        WrongUseError: an argument is not allowed, too few hosts were measured, or they cannot form
            that many groups.
    """
    known = checked_cluster(cluster, "group")
    found = find_groups(known, request, on_progress=report_stages(request.progress))
    # The groups make it another cluster than the one in the file.
    grouped = with_groups(replace(known, file_hash=None), found)
    assert isinstance(grouped, MeasuredCluster)  # noqa: S101  for the type checker
    return Groups(grouped, found.grouping, found.is_too_sparse)


def _list_gaps(groups: Groups) -> list[str]:
    unmeasured = groups.grouping.unmeasured
    hosts = format_count(len(unmeasured), "host")
    return [f"{hosts} had too few measurements to be placed in a group"] if unmeasured else []


group = keyword_function("group", find_near_groups, GroupRequest, build_warner(_list_gaps))
