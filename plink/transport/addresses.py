"""Addresses as `HOST:PORT`."""

from __future__ import annotations

import ipaddress

from plink.base.errors import WrongUseError


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
