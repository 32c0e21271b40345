"""Network interfaces and addresses of this host that a group uses."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plink.base.errors import WrongUseError
from plink.base.text import format_names
from plink.engine.addresses import default_address

# The first is plink's, the second Gloo's own.
INTERFACE_VARIABLES = ("PLINK_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")

_SIOCGIFADDR = 0x8915
_NAME_BYTES = 16
_IPV6_TABLE = Path("/proc/net/if_inet6")
# Any port does: nothing is sent.
_PORT = 9


def group_addresses(store: Any, environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the interfaces that the user named, and the addresses to listen on.

    Args:
        store: PyTorch's, whose host says by which network the ranks reach each other.
        environment: where the user names interfaces, separated by commas.

    Raises:
        WrongUseError: an interface does not exist, or has no address.
    """
    for variable in INTERFACE_VARIABLES:
        names = [name.strip() for name in environment.get(variable, "").split(",") if name.strip()]
        if names:
            return names, [_address_of(name, variable) for name in names]
    return [], [_address_towards(store_host(store))]


def host_addresses() -> dict[str, list[str]]:
    """Return each interface's first IPv4 address, then its IPv6 ones that are not link-local."""
    found: dict[str, list[str]] = {name: [] for _, name in socket.if_nameindex()}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for name, addresses in found.items():
            addresses.extend(_ipv4_addresses(probe, name))
    if _IPV6_TABLE.exists():
        for line in _IPV6_TABLE.read_text(encoding="ascii").splitlines():
            digits, *_, name = line.split()
            address = ipaddress.IPv6Address(int(digits, 16))
            if name in found and not address.is_link_local:
                found[name].append(str(address))
    return found


def _ipv4_addresses(probe: socket.socket, interface: str) -> list[str]:
    """Return an interface's first IPv4 address in a list; empty if it has none.

    Args:
        probe: any socket of IPv4.
        interface: its name.
    """
    request = struct.pack(f"{_NAME_BYTES}s24x", interface.encode()[: _NAME_BYTES - 1])
    try:
        answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
    except OSError:
        return []
    return [socket.inet_ntoa(answer[20:24])]


def store_host(store: Any) -> str | None:
    """Return the host of the TCPStore beneath prefix stores; None beneath another store."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    host: str | None = getattr(store, "host", None)
    return host


def _address_of(name: str, variable: str) -> str:
    # A host may have hundreds of interfaces.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for address in _ipv4_addresses(probe, name):
            return address
    interfaces = host_addresses()
    if not interfaces.get(name):
        usable = format_names([one for one, addresses in interfaces.items() if addresses])
        raise WrongUseError(f"{variable} names {name}, which has no address here; {usable} have")
    return interfaces[name][0]


def _address_towards(host: str | None) -> str:
    if host is None:
        return default_address()
    try:
        family, kind, _, _, target = socket.getaddrinfo(host, _PORT, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(target)
            address: str = probe.getsockname()[0]
    except OSError:
        return default_address()
    # A host may know its own name by a loopback address, at which no other one reaches it.
    if ipaddress.ip_address(address).is_loopback and not _means_loopback(host):
        return default_address()
    return address


def _means_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
