"""Hosts of a cluster file on which ranks run, each with an open session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from plink.base.replacing import replace
from plink.formats.hosts import Host
from plink.probes.errors import HostError
from plink.probes.hosts.address import is_address
from plink.probes.reach import Reached, ReachedHost
from plink.probes.remote.session import Session, posix_command

Item = TypeVar("Item")
Result = TypeVar("Result")

_SESSIONS_AT_ONCE = 16
_CONGESTION_CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control"


@dataclass(frozen=True)
class RemoteHost:
    """Host, or one slot of a host, on which a rank runs: session, address and TCP settings.

    Args:
        entry: what the cluster file says, with the address that traffic uses and one slot.
        session: an open connection.
        hostname: what it calls itself, which need not be its name in the cluster file.
        congestion_control: the default of its TCP sockets (`cubic`, `bbr`, ...).
        machine: equal for hosts that share one kernel; empty where unknown.
        interface: the network interface with the traffic address; empty where unknown.
    """

    entry: Host
    session: Session
    hostname: str
    congestion_control: str
    machine: str
    interface: str

    @property
    def name(self) -> str:
        """Name of the host in the cluster file."""
        return self.entry.name

    @property
    def address(self) -> str:
        """Address of the host at which other ranks reach it."""
        return self.entry.address


def describe(listed: Sequence[Host], reached: Reached) -> list[RemoteHost]:
    """Return hosts with their open sessions; raise HostError if one lacks the file's address.

    All must have been reached.

    Raises:
        HostError: one is not what the cluster file says.
    """
    by_name = {host.name: host for host in reached.hosts}
    found = [by_name[entry.name] for entry in listed]
    return for_each(found, lambda index, host: _describe(listed[index], host))


def assign_slots(placement: Sequence[int], slots: int) -> tuple[int, ...]:
    """Return each rank's slot, numbered over all hosts: host h has those from h * `slots` on.

    Args:
        placement: the host of every rank, each at most `slots` times.
        slots: number of slots of every host.
    """
    taken: Counter[int] = Counter()
    found = []
    for host in placement:
        found.append(host * slots + taken[host])
        taken[host] += 1
    return tuple(found)


def for_each(items: Sequence[Item], work: Callable[[int, Item], Result]) -> list[Result]:
    """Run `work(i, items[i])` for all items in up to 16 threads; return results in order.

    Raises:
        HostError: the first that `work` raised.
    """
    with ThreadPoolExecutor(max_workers=_SESSIONS_AT_ONCE) as executor:
        return list(executor.map(work, range(len(items)), items))


def _describe(entry: Host, host: ReachedHost) -> RemoteHost:
    address = entry.address if is_address(entry.address) else host.address
    own = {found.address: found.interface for found in host.facts.addresses}
    if address not in own:
        raise HostError(
            host.name,
            f"has no interface with the address {address} that the cluster file gives",
            "probe the hosts again",
        )
    done = host.session.run(posix_command(f"uname -n && cat {_CONGESTION_CONTROL}"))
    lines = done.stdout.decode(errors="replace").split()
    if done.status != 0 or len(lines) != 2:
        reason = done.stderr or "no output"
        raise HostError(
            host.name, f"does not report its name and TCP congestion control ({reason})"
        )
    return RemoteHost(
        entry=replace(entry, address=address, slots=1),
        session=host.session,
        hostname=lines[0],
        congestion_control=lines[1],
        machine=host.facts.machine,
        interface=own[address],
    )
