"""Traffic addresses that can talk to each other: all IPv4, or all IPv6. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.errors import HostError, OptionError
from probes.hosts.address import InterfaceAddress, IPNetwork, choose_address


@dataclass(frozen=True)
class Candidates:
    """The addresses that a host reports, and the one at which SSH reached it."""

    addresses: Sequence[InterfaceAddress]
    ssh_address: str


def choose_addresses(
    hosts: Mapping[str, Candidates],
    network: IPNetwork | None = None,
    interface: str | None = None,
) -> tuple[dict[str, str], list[HostError]]:
    """Every host's traffic address, as `choose_address` finds them, in one address family.

    Where the choices are of both, the family of most of them (IPv4 if equal) is taken, or the
    other, if every host has such an address.

    Returns:
        The addresses by host name, and the reasons for the hosts that have none.

    Raises:
        OptionError: no family serves all hosts that have an address.
    """
    chosen: dict[str, str] = {}
    failures: list[HostError] = []
    for name, host in hosts.items():
        try:
            chosen[name] = _choose(name, host, network, interface)
        except HostError as error:
            failures.append(error)
    by_version = {
        version: [name for name, address in chosen.items() if _version(address) == version]
        for version in (4, 6)
    }
    if not all(by_version.values()):
        return chosen, failures
    for version in sorted(by_version, key=lambda version: -len(by_version[version])):
        try:
            return {
                name: _choose(name, _of_version(hosts[name], version), network, interface)
                for name in chosen
            }, failures
        except HostError:
            continue
    first4, first6 = by_version[4][0], by_version[6][0]
    raise OptionError(
        f"the traffic addresses are of two families: {chosen[first4]} of {first4}, "
        f"{chosen[first6]} of {first6}",
        "choose a network that every host has, as in network=10.0.0.0/16",
    )


def _choose(name: str, host: Candidates, network: IPNetwork | None, interface: str | None) -> str:
    return choose_address(host.addresses, host.ssh_address, network, interface, name).address


def _of_version(host: Candidates, version: int) -> Candidates:
    fitting = [found for found in host.addresses if _version(found.address) == version]
    return Candidates(fitting, host.ssh_address)


def _version(address: str) -> int:
    return ipaddress.ip_address(address).version
