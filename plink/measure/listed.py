"""Readers of the hosts to measure: from a host list, an inventory or a cluster file.

Hosts that no host list could name raise `HostListError`.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from plink.base.errors import WrongUseError
from plink.base.given_way import GivenWay
from plink.base.replacing import replace
from plink.formats import document
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.hosts import Host
from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost, check_host
from plink.probes.hosts.slurm import parse_allocation
from plink.probes.inventories.inventory import InventoryHosts
from plink.probes.inventories.kinds import KINDS, find_hosts, parse_hosts
from plink.probes.options import SshOptions, ViaOptions

if TYPE_CHECKING:
    from plink.probes.reach import Outgoing

# In place of a host list: the hosts of the Slurm job that plink runs in.
_ALLOCATION = "@slurm"


@dataclass(frozen=True)
class HostList(InventoryHosts):
    """Hosts of a host list or inventory, with the hash of its file."""

    made_from: str | None = None

    def way(self, given: Outgoing, *, is_ssh_said: bool = False) -> Outgoing:
        """Return the options to reach the hosts: the user's, or else the list's own command or key.

        Options of SSH that are all the default say nothing, unless the user wants SSH as it is
        (`is_ssh_said`). Raises HostListError where only the user can say.
        """
        if is_ssh_said or not isinstance(given, SshOptions):
            return given
        if self.via is not None:
            is_silent = given == SshOptions(concurrency=given.concurrency)
            return ViaOptions(self.via(), given.concurrency) if is_silent else given
        keys = self.identity_files
        if len(keys) > 1 and given.identity_file is None:
            place = self.hosts[0].place
            raise HostListError(
                f"{place}: its hosts have {len(keys)} private keys, but plink uses one for all",
                "name a group of hosts with one key, give a key, or reach the hosts by the command "
                "`ssh`, which takes keys from ~/.ssh/config",
                ["identity_file", "via"],
            )
        return given if given.identity_file or not keys else replace(given, identity_file=keys[0])


def read_hosts(path: str) -> HostList:
    """Return the hosts of a host list, an inventory (`KIND:WHERE`), or this Slurm job (`@slurm`).

    Raises:
        WrongUseError: the file cannot be read, or is one that plink wrote.
        HostListError: it is no host list, or the program knows no such hosts.
    """
    if path == _ALLOCATION:
        return HostList(parse_allocation(os.environ))
    inventory = find_hosts(path, _read_list)
    if inventory is not None:
        made_from = None if inventory.content is None else document.digest(inventory.content)
        return HostList(**vars(inventory), made_from=made_from)
    kind, colon, _ = path.partition(":")
    if colon and kind.isalnum() and not os.path.lexists(path):
        forms = ", ".join(f"{known.form} ({known.about})" for known in KINDS.values())
        raise WrongUseError(
            f"{path}: there is no such file, and {kind} is not a kind of inventory",
            f"kinds of host lists: {forms}",
        )
    content = _read_list(path)
    source = document.label(path)
    if content.lstrip().startswith(b"{") and b'"plink.' in content:
        raise WrongUseError(
            f"{source}: is a file that plink wrote, not a host list",
            "plink probe resumes a cluster file, and plink check compares with one",
        )
    return HostList(parse_hosts(content, source), made_from=document.digest(content))


def _read_list(path: str) -> bytes:
    return document.read_bytes(path, document.MOST_LIST_BYTES)


def to_listed_host(host: Host, place: str) -> ListedHost:
    """Convert a host of a cluster file to one of a host list; `place` names the file in errors."""
    listed = ListedHost(
        host.name,
        user=host.user,
        port=host.port,
        slots=host.slots,
        ssh_address=host.ssh_address,
        place=place,
    )
    check_host(listed)
    return listed


def list_again(cluster: Cluster, source: str) -> list[ListedHost]:
    """Return the hosts of an earlier run's file in list order, with those that were not reached."""
    listed = [to_listed_host(host, source) for host in cluster.hosts]
    missed = {host.source: host for host in cluster.unreachable if host.source not in cluster.names}
    # Ascending, so that the hosts listed before are there already; those without a place come last.
    for host in sorted(missed.values(), key=_list_position):
        named = Host(host.source, host.source, None, host.user, host.port, host.slots)
        again = to_listed_host(named, source)
        listed.insert(_list_position(host), again)
    if len(listed) < 2:
        hint = "give a host list with at least two hosts"
        raise WrongUseError(f"{source}: has fewer than two hosts, which probing needs", hint)
    return listed


def _list_position(host: Unreachable) -> int:
    return sys.maxsize if host.position is None else host.position


_Way = TypeVar("_Way")

_GIVE_IT = "give the SSH configuration with -F FILE"


def apply_recorded_way(way: _Way, recorded: GivenWay | None, source: str) -> _Way | SshOptions:
    """Fill in the SSH options that a cluster file records and the user did not give.

    A command in place of SSH (`via`) is never taken from a file. An SSH configuration can name
    commands, too, so that one is taken only if nobody else can have written it.

    Args:
        way: how the hosts are to be reached, as it was given; returned as it is unless it is SSH.
        recorded: what the cluster or order file says of the run that measured the hosts.

    Raises:
        WrongUseError: the file names an SSH configuration that is missing or not to be trusted.
    """
    if recorded is None or not isinstance(way, SshOptions):
        return way
    config = way.config_file
    if config is None and recorded.config is not None:
        config = recorded.config
        _refuse_untrusted(config, source)
    identity = way.identity_file
    if identity is None and recorded.identity is not None:
        identity = recorded.identity
        if not os.path.isfile(identity):  # noqa: PTH113  Path's own can fail
            raise WrongUseError(
                f"{source}: names the private key {identity}, which does not exist",
                "give the key with -i KEY",
            )
    return replace(
        way,
        config_file=config,
        identity_file=identity,
        user=way.user or recorded.user,
    )


def _refuse_untrusted(config: str, source: str) -> None:
    names_config = f"{source}: names the SSH configuration {config}"
    if not Path(config).is_absolute():
        raise WrongUseError(
            f"{names_config}, which is a relative path, so it depends on the working folder",
            _GIVE_IT,
        )
    try:
        status = os.stat(config)  # noqa: PTH116  Path's own hides some failures
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WrongUseError(f"{names_config}, which cannot be read: {reason}", _GIVE_IT) from None
    if status.st_uid not in (0, os.geteuid()):
        raise WrongUseError(f"{names_config}, which belongs to another user", _GIVE_IT)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise WrongUseError(f"{names_config}, which other users can write", _GIVE_IT)
