"""TCP ports of this host on which programs under test are told to listen."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator, Sequence


@contextlib.contextmanager
def reserved_port(host: str = "127.0.0.1", among: Sequence[int] = (0,)) -> Iterator[int]:
    """Reserve a port on which nobody else listens, and from which nobody calls, within the block.

    A socket stays bound to it and never listens. Whoever sets SO_REUSEADDR, as servers do, can
    listen there nevertheless; the system gives the port to nobody who asks for any.

    Args:
        host: address at which the program will listen; an empty one for all IPv4 addresses.
        among: ports to choose from, at random; 0 for any.

    Raises:
        OSError: all of them are in use.
    """
    with socket.socket() as reserving:
        _bind(reserving, host, among)
        # Not before it is bound: two sockets that both have it can be bound to one port.
        reserving.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield int(reserving.getsockname()[1])


def _bind(reserving: socket.socket, host: str, among: Sequence[int]) -> None:
    for port in random.sample(among, len(among)):
        with contextlib.suppress(OSError):
            return reserving.bind((host, port))
    raise OSError(f"no port is free at {host or 'any address'}")
