"""What a topology format is: a pure function from groups of hosts to the text of a file.

Such a file says which hosts are near each other, whatever their ranks; a scheduler then decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.deploy.launchers.format import filled
from plink.files.cluster import Host
from plink.files.groups import Group


@dataclass(frozen=True)
class TopologyFormat:
    """A file that a scheduler reads.

    Args:
        name: what the user calls it.
        about: the scheduler and what is written for it, in a line.
        usage: one command that uses it; FILE is the file.
        render: groups that hold every host once, none empty, to the text of the file. Raises
            `WrongUseError` where the scheduler cannot take a name.
    """

    name: str
    about: str
    usage: str
    render: Callable[[Sequence[Group]], str]

    def usage_of(self, file: str) -> str:
        """The command that uses `file`."""
        return filled(self.usage, {"FILE": file})


def in_rank_order(hosts: Sequence[Host], groups: Sequence[Group], reader: str) -> list[Group]:
    """The groups by their first rank, each with its hosts by rank.

    Raises:
        WrongUseError: there are no groups, or a host is in none; `reader` reads the file.
    """
    if not groups:
        raise WrongUseError(
            f"{reader} needs groups of hosts, and the file has none",
            "plink probe --tool uplinks --groups GROUPS writes them into a cluster file",
        )
    group_of = {name: group.name for group in groups for name in group.hosts}
    members: dict[str, list[str]] = {}
    for host in hosts:
        if host.name not in group_of:
            raise WrongUseError(
                f"{reader} needs every host in a group, and {host.name!r} is in none"
            )
        names = members.setdefault(group_of[host.name], [])
        if host.name not in names:
            names.append(host.name)
    return [Group(name, names) for name, names in members.items()]
