"""What one MPI does differently from another, as data that a client works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plink.deploy.remote.ssh_files import SshFiles
from plink.files.cluster import Host


@dataclass(frozen=True)
class NetworkPlan:
    """What a client must know to keep to the traffic network.

    Args:
        addresses: the hosts' traffic addresses.
        interfaces: the names of the network interfaces that bear them, without repetition; empty
            where a host does not tell.
        local_address: this machine's address that the hosts can reach.
        shares_machines: several hosts are one machine and share its CPU.
    """

    addresses: Sequence[str]
    interfaces: Sequence[str]
    local_address: str
    shares_machines: bool


@dataclass(frozen=True)
class LaunchPlan:
    """All that a launcher's command line depends on.

    Args:
        launcher: the launcher program.
        folder: where host files may be written.
        ssh: how the launcher reaches hosts.
        hosts: the hosts in rank order, one rank each.
        local_address: this machine's address that the hosts can reach.
        settings: the client's switches.
        program: the command that every rank runs.
    """

    launcher: str
    folder: Path
    ssh: SshFiles
    hosts: Sequence[Host]
    local_address: str
    settings: Mapping[str, str]
    program: Sequence[str]


@dataclass(frozen=True)
class Flavour:
    """What differs from one MPI to another.

    Args:
        title: its name as people write it.
        compilers: compiler wrappers to look for.
        launchers: launchers to look for.
        helper: the program that the launcher starts on each host.
        packages: Debian's packages with all of these.
        settings: network and algorithm to the client's switches.
        command: the launcher's command line.
        version_of: the version in the launcher's version text; raises `PlinkError` for a launcher
            that it does not know.
    """

    title: str
    compilers: Sequence[str]
    launchers: Sequence[str]
    helper: str
    packages: str
    settings: Callable[[NetworkPlan, str], dict[str, str]]
    command: Callable[[LaunchPlan], list[str]]
    version_of: Callable[[str], str]
