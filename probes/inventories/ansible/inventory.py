"""Hosts, groups and variables of an Ansible inventory. Pure.

Ansible documentation, "How to build your inventory": a group's variables hold for its hosts and
those of its children; a child's win over its parent's, of groups equally deep the alphabetically
last wins, and a host's own win over all. `all` holds every host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.hostlist import check_hosts
from plink.probes.hosts.ranges import MAX_NAMES
from plink.probes.inventories.ansible.connection import Connection, is_local, read_connection

ALL = "all"
_MOST_DEEP = 100


@dataclass
class AnsibleGroup:
    """Group with its hosts, child groups and variables."""

    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, None] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass
class Inventory:
    """Parsed content of an inventory file.

    Args:
        source: names it in errors.
        hosts: by name, in the order of the file, each with its own variables.
        groups: by name.
    """

    source: str
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, AnsibleGroup] = field(default_factory=dict)

    def add(self, name: str, group: str | None, variables: Mapping[str, Any]) -> None:
        """Add a host to a group, with the variables that it is given there.

        Raises:
            HostListError: there are too many.
        """
        self.hosts.setdefault(name, {}).update(variables)
        if len(self.hosts) > MAX_NAMES:
            raise HostListError(f"{self.source}: names more than {MAX_NAMES:,} hosts")
        if group is not None:
            self.group(group).hosts[name] = None

    def group(self, name: str) -> AnsibleGroup:
        """Return the group called `name`, created if it does not exist."""
        return self.groups.setdefault(name, AnsibleGroup())


def find_connections(inventory: Inventory, group: str) -> list[Connection]:
    """Return the connection settings of each host of a group.

    Hosts that Ansible does not leave this machine for are left out.

    Raises:
        HostListError: there is no such group, a host is not reached over SSH, a value cannot be
            used, or there are fewer than two hosts.
    """
    source = inventory.source
    if group != ALL and group not in inventory.groups:
        known = ", ".join(sorted(inventory.groups)[:3]) or "none"
        raise HostListError(f"{source}: has no group {clean(group)!r}", f"its groups: {known}")
    depths = _depths(inventory)
    members = {name: set(_members(inventory, name)) for name in inventory.groups}
    chosen = inventory.hosts if group == ALL else _members(inventory, group)
    connections: list[Connection] = []
    for name in chosen:
        values: dict[str, Any] = {}
        around = [each for each in inventory.groups if each == ALL or name in members[each]]
        for each in sorted(around, key=lambda group: (depths[group], group)):
            values.update(inventory.groups[each].variables)
        values.update(inventory.hosts[name])
        if not is_local(values):
            connections.append(read_connection(name, values, source))
    check_hosts([found.host for found in connections], source)
    return connections


def _members(inventory: Inventory, group: str) -> Iterator[str]:
    """Yield the hosts of a group and of its descendants, each once, its own first."""
    seen_groups: set[str] = set()
    seen: set[str] = set()
    waiting = [group]
    while waiting:
        name = waiting.pop(0)
        if name in seen_groups or name not in inventory.groups:
            continue
        seen_groups.add(name)
        for host in inventory.groups[name].hosts:
            if host not in seen:
                seen.add(host)
                yield host
        waiting += inventory.groups[name].children


def _depths(inventory: Inventory) -> dict[str, int]:
    """Return each group's greatest depth below `all`.

    Raises:
        HostListError: groups that contain each other.
    """
    depths = {name: 0 if name == ALL else 1 for name in inventory.groups}
    changed = True
    while changed:
        changed = False
        for name, group in inventory.groups.items():
            for child in group.children:
                if child in depths and child != ALL and depths[child] <= depths[name]:
                    depths[child] = depths[name] + 1
                    changed = True
                    if depths[child] > _MOST_DEEP:
                        message = f"{inventory.source}: the group {clean(child)!r} contains itself"
                        raise HostListError(message)
    return depths
