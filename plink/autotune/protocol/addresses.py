"""Addresses as `HOST:PORT`, and the one at which ranks reach a daemon that listens on all."""

from __future__ import annotations

import ipaddress
import socket
from collections import Counter

from plink.base.errors import WrongUseError
from plink.files.plan import Plan


def parse_address(text: str, source: str) -> tuple[str, int]:
    """Host and port of `host:port`; a numeric IPv6 host may stand in brackets.

    Raises:
        WrongUseError: it is not such an address; `source` is what the message calls it.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isdecimal() and len(port) <= 5 and int(port) < 1 << 16):
        raise WrongUseError(f"{source} is {text!r}, expected HOST:PORT")
    try:
        # As whoever looks it up will.
        host.encode("idna")
    except UnicodeError:
        raise WrongUseError(f"{source} is {text!r}, and {host!r} cannot be a host's name") from None
    return host, int(port)


def format_address(host: str, port: int) -> str:
    """`HOST:PORT`; an IPv6 address stands in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_wildcard(address: str) -> bool:
    """Whether a socket bound there listens on all addresses, of which ranks can call none so."""
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def address_for(plan: Plan, bound: str) -> str | None:
    """This host's own address on the way to most of the plan's; None where no way is known.

    Args:
        plan: whose ranks are to call.
        bound: where the daemon listens: all addresses of one family.
    """
    family = socket.AF_INET6 if ":" in bound else socket.AF_INET
    addresses = dict.fromkeys(rank.address for rank in plan.ranks)
    found = Counter(own for address in addresses if (own := own_address(address, family)))
    return found.most_common(1)[0][0] if found else None


def own_address(towards: str, family: socket.AddressFamily) -> str | None:
    """The address from which this host would send to that one; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # A name could have to be asked for on the network.
            numeric = socket.getaddrinfo(
                towards, 1, family, socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
            )
            probe.connect(numeric[0][4])
            own: str = probe.getsockname()[0]
    except OSError:
        return None
    return None if is_wildcard(own) else own
