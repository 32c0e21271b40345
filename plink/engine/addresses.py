"""Addresses and sockets on which a rank listens."""

from __future__ import annotations

import ipaddress
import socket

from plink.base.errors import WrongUseError
from plink.engine.failure import EngineError

_BACKLOG = 4096
# Nothing is sent there: the kernel only says from which address it would be.
_ANYWHERE = ("192.0.2.1", 9)


def default_address() -> str:
    """Return the address from which this host reaches others; 127.0.0.1 where it reaches none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ANYWHERE)
        except OSError:
            return "127.0.0.1"
        address: str = probe.getsockname()[0]
        return address


def listening(address: str, port: int, congestion_control: str | None) -> socket.socket:
    """Return a non-blocking TCP socket that listens on an address and port of this host.

    Args:
        address: a numeric one of this host.
        port: 0 for any that is free.
        congestion_control: of the connections that it accepts; None for the system's.

    Raises:
        WrongUseError: no numeric address, or no such congestion control.
        EngineError: the address is not this host's, or the port is taken.
    """
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        raise WrongUseError(f"{address} is not a numeric address") from None
    listener = socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6)
    if congestion_control is not None:
        try:
            name = congestion_control.encode()
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
        except OSError as error:
            listener.close()
            raise WrongUseError(
                f"no TCP congestion control {congestion_control} here: {error.strerror}",
                "see /proc/sys/net/ipv4/tcp_allowed_congestion_control",
            ) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise EngineError(
            f"cannot listen on {address} port {port}: {error.strerror}",
            hint="give an address of this host, and a port that is free or 0",
        ) from None
    return listener


def listening_locally(address: str, port: int) -> socket.socket | None:
    """Return a Unix socket at which this host's ranks reach the rank at `address` and `port`.

    Its name is abstract: known within this network namespace only, and gone with the socket.

    Returns:
        None where there can be none: they then use TCP.
    """
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(f"\0plink/{address}/{port}".encode())
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        return None
    listener.setblocking(False)
    return listener
