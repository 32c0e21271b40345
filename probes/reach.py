"""Reaching the hosts of a run: connected, asked what they are, and given a traffic address."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from plink.probes import facts
from plink.probes.errors import HostError, HostListError, OptionError
from plink.probes.facts import HostFacts
from plink.probes.hosts.address import Candidates, IPNetwork, choose_addresses
from plink.probes.hosts.host import ListedHost
from plink.probes.ssh import parallel
from plink.probes.ssh.config import SshConfig, Target
from plink.probes.ssh.connect import Connector, connect_all
from plink.probes.ssh.options import SshOptions
from plink.probes.ssh.session import Session

_HINT = "correct the list, or give the name a HostName in the SSH configuration"


@dataclass(frozen=True)
class ReachedHost:
    """A host with an open connection.

    Args:
        address: the address that traffic to it uses.
        target: how SSH reached it.
    """

    listed: ListedHost
    target: Target
    session: Session
    facts: HostFacts
    address: str

    @property
    def name(self) -> str:
        """Its name in the host list."""
        return self.listed.name


@dataclass
class Reached:
    """The hosts that were reached and those that were not, both in list order.

    A context manager: leaving it closes every connection.
    """

    connector: Connector
    hosts: list[ReachedHost] = field(default_factory=list)
    failures: list[HostError] = field(default_factory=list)

    def __enter__(self) -> Reached:
        return self

    def __exit__(self, *_: object) -> None:
        self.connector.close()


def find_targets(listed: Sequence[ListedHost], options: SshOptions) -> list[Target]:
    """How SSH reaches each host; nothing is sent but name look-ups.

    Raises:
        HostListError: a name that cannot be resolved or is not one, with its line.
        OptionError: the SSH configuration cannot be used.
    """
    config = SshConfig(options)
    return [_resolvable(host, config.target(host)) for host in listed]


def _resolvable(host: ListedHost, target: Target) -> Target:
    """The target, at the address known from before where its name says nothing."""
    if target.jumps or target.proxy_command is not None:
        return target
    try:
        check_resolvable(target.hostname, host.place)
    except HostListError:
        if host.ssh_address is None:
            raise
        return replace(target, hostname=host.ssh_address)
    return target


def reach(
    listed: Sequence[ListedHost],
    options: SshOptions,
    *,
    network: IPNetwork | None = None,
    interface: str | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> Reached:
    """Connect to every host and find out what it is. A host that fails is named, and left out.

    Raises:
        HostListError, OptionError: as `find_targets`, or two names that are the same machine, or
            addresses of two families.
    """
    targets = find_targets(listed, options)
    by_name = {host.name: (host, target) for host, target in zip(listed, targets, strict=True)}
    reached = Reached(Connector(options))
    try:
        sessions, reached.failures = connect_all(
            reached.connector, targets, options.concurrency, on_done
        )
        known: dict[str, HostFacts] = {}
        for session, outcome in parallel.each(
            facts.ask, list(sessions.values()), options.concurrency
        ):
            if isinstance(outcome, HostError):
                reached.failures.append(outcome)
            else:
                known[session.host] = outcome
        candidates = {
            name: Candidates(known[name].addresses, session.address)
            for name, session in sessions.items()
            if name in known
        }
        addresses, unfit = choose_addresses(candidates, network, interface)
        reached.failures += unfit
        for name, session in sessions.items():
            if name in addresses:
                host = ReachedHost(*by_name[name], session, known[name], addresses[name])
                reached.hosts.append(host)
            else:
                session.close()
        _refuse_shared_addresses(reached.hosts)
    except BaseException:
        reached.connector.close()
        raise
    order = [host.name for host in listed]
    reached.failures.sort(key=lambda error: order.index(error.host))
    return reached


def _refuse_shared_addresses(hosts: Sequence[ReachedHost]) -> None:
    seen: dict[str, ReachedHost] = {}
    for host in hosts:
        other = seen.setdefault(host.address, host)
        if other is not host:
            raise OptionError(
                f"{_with_place(other)} and {_with_place(host)} both have the traffic address "
                f"{host.address}",
                "list a machine once, or choose other addresses with network=NETWORK or "
                "interface=NAME",
            )


def _with_place(host: ReachedHost) -> str:
    return f"{host.name} ({host.listed.place})" if host.listed.place else host.name


def check_resolvable(name: str, place: str) -> None:
    """Return if `name` has an address.

    Args:
        name: a DNS name or an address.
        place: where it is listed (`hosts.txt:3`), for the error.

    Raises:
        HostListError: the name has no address.
    """
    try:
        socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        reason = (error.strerror or str(error)).lower()
        raise HostListError(f"{place}: {name} cannot be resolved ({reason})", _HINT) from None
    except (OSError, ValueError):
        raise HostListError(f"{place}: {name} cannot be resolved", _HINT) from None
