"""Names to addresses, by the resolver of this machine."""

from __future__ import annotations

import socket

from probes.errors import HostListError

_HINT = "correct the list, or give the name a HostName in the SSH configuration"


def resolve(name: str, place: str) -> str:
    """The address of `name`, IPv4 where it has one; an address is its own.

    Args:
        name: a DNS name or an address.
        place: where it is listed (`hosts.txt:3`), for the error.

    Raises:
        HostListError: the name has no address.
    """
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        reason = (error.strerror or str(error)).lower()
        raise HostListError(f"{place}: {name} cannot be resolved ({reason})", _HINT) from None
    except (OSError, ValueError):
        raise HostListError(f"{place}: {name} cannot be resolved", _HINT) from None
    ipv4 = [entry for entry in found if entry[0] == socket.AF_INET]
    return str((ipv4 or found)[0][4][0])
