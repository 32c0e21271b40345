"""Parsing of the list of NICs that hosts dedicate to DPDK. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

from plink.probes.errors import OptionError

HINT = "a line is HOST DEVICE ADDRESS/PREFIX [GATEWAY], as in gpu1 0000:00:06.0 10.0.0.7/24"

_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_VIRTUAL = re.compile(r"net_[a-z_]{1,30}[0-9]{0,3}(,[a-z_]{1,30}=[A-Za-z0-9_.:/-]{1,60}){0,8}")


@dataclass(frozen=True)
class Nic:
    """NIC of a host that only DPDK uses.

    Args:
        device: a PCI address (0000:00:06.0), or a virtual device of DPDK (net_tap0,iface=tap0).
        address: its IPv4 address and the network on its link.
        gateway: the router to other networks, or None without one.
    """

    host: str
    device: str
    address: ipaddress.IPv4Interface
    gateway: ipaddress.IPv4Address | None = None

    def __str__(self) -> str:
        """Return the NIC as a line of the list."""
        words = (self.host, self.device, self.address, self.gateway)
        return " ".join(str(word) for word in words if word is not None)


def parse_nics(lines: Sequence[str], source: str) -> tuple[Nic, ...]:
    """Return the NICs that lines of text list; `source` names the text in errors.

    Raises:
        OptionError: a line is wrong, or a host or an address stands there twice.
    """
    nics: dict[str, Nic] = {}
    taken: set[ipaddress.IPv4Address] = set()
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        nic = _parse(words, f"{source}:{number}")
        if nic.host in nics or nic.address.ip in taken:
            raise OptionError(f"{source}:{number}: lists a host or an address twice", HINT)
        nics[nic.host] = nic
        taken.add(nic.address.ip)
    return tuple(nics.values())


def _parse(words: Sequence[str], place: str) -> Nic:
    if len(words) not in (3, 4):
        raise OptionError(f"{place}: expected 3 or 4 words, found {len(words)}", HINT)
    host, device, address, *gateway = words
    if not (_PCI.fullmatch(device) or _VIRTUAL.fullmatch(device)):
        raise OptionError(f"{place}: {device[:60]!r} is not a PCI address or virtual device", HINT)
    try:
        interface = ipaddress.IPv4Interface(address)
        router = ipaddress.IPv4Address(gateway[0]) if gateway else None
    except ValueError as error:
        raise OptionError(f"{place}: {error}", HINT) from None
    if "/" not in address:
        raise OptionError(f"{place}: {address} lacks the prefix length of its network", HINT)
    if router is not None and router not in interface.network:
        raise OptionError(f"{place}: the gateway {router} is not in {interface.network}", HINT)
    return Nic(host, device, interface, router)
