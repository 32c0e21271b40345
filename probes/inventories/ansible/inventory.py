"""Hosts, groups and variables of an inventory, and what they say of the way to a host. Pure.

Ansible documentation, "How to build your inventory": a group's variables hold for its hosts and
those of its children; a child's win over its parent's, of groups equally deep the alphabetically
last wins, and a host's own win over all. `all` holds every host.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.hostlist import check_host, checked
from plink.probes.hosts.ranges import MAX_NAMES

ALL = "all"
_MOST_DEEP = 100
_OVER_SSH = (None, "ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh")
_KEYS = ("ansible_ssh_private_key_file", "ansible_private_key_file")
_HERE = ("local", "ansible.builtin.local")

# Variables of Ansible's connections over SSH that plink has no use for: none decides which host is
# reached, as whom, or with which key.
_WITHOUT_INFLUENCE = frozenset(
    f"ansible_ssh_{name}"
    for name in [
        *["timeout", "pipelining", "host_key_checking", "transfer_method", "retries", "use_tty"],
        *["verbosity", "reconnection_retries"],
    ]
)
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_PLAIN = ("ansible_ssh_host", "ansible_ssh_port", "ansible_ssh_user", *_KEYS)
_REFUSED = re.compile(
    r"ansible_(ssh_.+|paramiko_.+|pass(word)?|private_key(_passphrase)?|"
    r"sshpass_prompt|proxy_command|socks_proxy)"
)
# `ssh -o` options and flags that change neither the way to a host nor who it is.
_HARMLESS_OPTIONS = frozenset(
    [
        *["controlmaster", "controlpath", "controlpersist", "serveraliveinterval", "loglevel"],
        *["serveralivecountmax", "connecttimeout", "connectionattempts", "compression"],
        *["forwardagent", "tcpkeepalive", "batchmode", "requesttty", "stricthostkeychecking"],
        *["userknownhostsfile", "globalknownhostsfile", "updatehostkeys", "checkhostip"],
        *["gssapiauthentication", "passwordauthentication", "addkeystoagent", "forwardx11"],
    ]
)
_HARMLESS_FLAGS = frozenset(["-C", "-q", "-T", "-t", "-tt", "-A", "-a", "-x", "-v", "-vv", "-vvv"])
_HINT_WAY = (
    "write it into an SSH configuration (Host {host}, in ~/.ssh/config or config_file=FILE) and "
    "list the hosts in a file of names"
)
_HINT_VALUE = "write it as the inventory of a run without templates has it"


@dataclass
class Group:
    """A group: its own hosts, the groups in it, its variables."""

    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, None] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass
class Inventory:
    """Content of an inventory file.

    Args:
        source: names it in errors.
        hosts: by name, in the order of the file, each with its own variables.
        groups: by name.
    """

    source: str
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)

    def add(self, name: str, group: str | None, variables: Mapping[str, Any]) -> None:
        """Take a host into a group, with what is said of it there.

        Raises:
            HostListError: there are too many.
        """
        self.hosts.setdefault(name, {}).update(variables)
        if len(self.hosts) > MAX_NAMES:
            raise HostListError(f"{self.source}: names more than {MAX_NAMES:,} hosts")
        if group is not None:
            self.group(group).hosts[name] = None

    def group(self, name: str) -> Group:
        """The group of that name, made if it was not there."""
        return self.groups.setdefault(name, Group())


def listed_hosts(inventory: Inventory, group: str) -> tuple[list[ListedHost], list[str]]:
    """The hosts of a group, as plink lists them, and the private keys that they name.

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
    hosts: list[ListedHost] = []
    keys: dict[str, None] = {}
    for name in chosen:
        values: dict[str, Any] = {}
        around = [each for each in inventory.groups if each == ALL or name in members[each]]
        for each in sorted(around, key=lambda group: (depths[group], group)):
            values.update(inventory.groups[each].variables)
        values.update(inventory.hosts[name])
        if values.get("ansible_connection") in _HERE:
            continue
        hosts.append(_listed(name, values, source))
        key = _text(values, source, name, *_KEYS) or _key_of_arguments(name, values, source)
        keys.update({} if key is None else {key: None})
    return checked(hosts, source), list(keys)


def _listed(name: str, values: Mapping[str, Any], source: str) -> ListedHost:
    connection = values.get("ansible_connection")
    if connection not in _OVER_SSH:
        raise HostListError(
            f"{source}: {clean(name)} is reached by {clean(str(connection))!r}, not over SSH",
            "name a group without it, as ansible:FILE:GROUP",
        )
    _check_variables(name, values, source)
    port = _text(values, source, name, "ansible_port", "ansible_ssh_port")
    if port is not None and not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise HostListError(f"{source}: the port of {clean(name)} is {clean(port)!r}")
    host = ListedHost(
        name,
        user=_text(values, source, name, "ansible_user", "ansible_ssh_user"),
        port=None if port is None else int(port),
        connect_to=_text(values, source, name, "ansible_host", "ansible_ssh_host"),
        place=source,
    )
    check_host(host)
    return host


def _check_variables(name: str, values: Mapping[str, Any], source: str) -> None:
    """Refuse what says how a host is reached and cannot be used here.

    Raises:
        HostListError: naming the variable.
    """
    for variable, value in values.items():
        if variable in (*_WITHOUT_INFLUENCE, *_PLAIN) or value in (None, "", False):
            continue
        if variable in _ARGUMENTS:
            for option in _way_options(name, variable, values, source):
                if option.lower() != "identityfile":
                    raise HostListError(
                        f"{source}: {variable} of {clean(name)} has {clean(option)}, which plink "
                        "cannot use from an inventory",
                        _HINT_WAY.format(host=clean(name)),
                    )
        elif _REFUSED.fullmatch(variable):
            raise HostListError(
                f"{source}: {clean(variable)} of {clean(name)} cannot be used: plink logs in over "
                "SSH, with a key",
                "give the key with ansible_private_key_file or identity=KEY, and a way to the "
                "host in ~/.ssh/config",
            )


def _key_of_arguments(name: str, values: Mapping[str, Any], source: str) -> str | None:
    """The private key that a host's arguments of `ssh` name, or None."""
    keys = [
        found
        for variable in _ARGUMENTS
        for option, found in _way_options(name, variable, values, source).items()
        if option.lower() == "identityfile"
    ]
    return keys[0] if keys else None


def _way_options(
    name: str, variable: str, values: Mapping[str, Any], source: str
) -> dict[str, str]:
    """The options in arguments of `ssh` that may change the way to a host, with their values."""
    text = _text(values, source, name, variable) or ""
    try:
        words = shlex.split(text)
    except ValueError as error:
        message = f"{source}: {variable} of {clean(name)}: {str(error).lower()}"
        raise HostListError(message, _HINT_VALUE) from None
    found: dict[str, str] = {}
    waiting = iter(words)
    for word in waiting:
        if word in _HARMLESS_FLAGS:
            continue
        if word.startswith("-o"):
            given = (word[2:] or next(waiting, "")).strip()
            option, _, value = given.replace("=", " ", 1).partition(" ")
            if option.lower() not in _HARMLESS_OPTIONS:
                found[option] = value.strip()
        elif word.startswith("-i"):
            found["IdentityFile"] = word[2:] or next(waiting, "")
        else:
            found[word] = ""
    return found


def _text(values: Mapping[str, Any], source: str, host: str, *names: str) -> str | None:
    """The first of these variables that a host has."""
    for name in names:
        value = values.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str | int) or isinstance(value, bool) or "{{" in str(value):
            shown = clean(str(value))
            message = f"{source}: {name} of {clean(host)} is {shown!r}, which plink cannot use"
            raise HostListError(message, _HINT_VALUE)
        return str(value)
    return None


def _members(inventory: Inventory, group: str) -> Iterator[str]:
    """The hosts of a group and of those in it, each once, its own first."""
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
    """How deep each group is below `all`, by the longest way.

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
