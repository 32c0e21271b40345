"""Whether names have addresses, by the resolver of this machine."""

from __future__ import annotations

import socket

from probes.errors import HostListError

_HINT = "correct the list, or give the name a HostName in the SSH configuration"


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
