"""What a host reports of its own addresses: the output of `ip` and of `hostname`. Pure."""

from __future__ import annotations

import ipaddress
import re

from probes.hosts.address import InterfaceAddress

# An address that the kernel does not use yet, or will soon cease to use.
_UNSETTLED = {"tentative", "dadfailed", "deprecated", "temporary"}
_INTERFACE = re.compile(r"[!-~]{1,15}\Z")
_MAX_ADDRESSES = 1024


def parse_ip_addr(text: str) -> list[InterfaceAddress]:
    """The addresses in the output of `ip -o addr show`, in its order.

    Lines of other shapes are passed over, as are addresses that are not settled.
    """
    found = []
    for line in text.splitlines():
        words = line.partition("\\")[0].split()
        if len(words) < 4 or words[2] not in ("inet", "inet6"):
            continue
        interface = words[1].partition("@")[0]
        if not _INTERFACE.match(interface) or not _UNSETTLED.isdisjoint(words):
            continue
        parsed = _parse(interface, words[3])
        if parsed is not None:
            found.append(parsed)
    return found[:_MAX_ADDRESSES]


def parse_hostname(text: str) -> list[InterfaceAddress]:
    """The addresses in the output of `hostname -I`, which names no interfaces."""
    parsed = (_parse("", word) for word in text.split()[:_MAX_ADDRESSES])
    return [found for found in parsed if found is not None]


def _parse(interface: str, text: str) -> InterfaceAddress | None:
    try:
        return InterfaceAddress(interface, str(ipaddress.ip_interface(text).ip))
    except ValueError:
        return None
