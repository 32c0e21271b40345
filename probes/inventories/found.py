"""Hosts that another program's inventory yields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plink.probes.hosts.host import ListedHost

ReadFile = Callable[[str], bytes]
"""Gives the content of a file; raises whatever its caller expects where there is none."""


@dataclass(frozen=True)
class FoundHosts:
    """Hosts of an inventory, with the default way to reach them.

    Args:
        hosts: in the order of the program.
        via: gives the template of the command that leads into them, in place of SSH; raises
            `HostListError` where only the user can say. None: SSH.
        identity_files: the private keys that the program has for them; none to leave it to the SSH
            configuration.
        content: what the hosts were read from, where that was a file.
        notes: what the program says of the way to its hosts that plink does not follow, a sentence
            each.
    """

    hosts: Sequence[ListedHost]
    via: Callable[[], str] | None = None
    identity_files: Sequence[str] = ()
    content: bytes | None = None
    notes: Sequence[str] = ()


def file_and_part(where: str) -> tuple[str, str]:
    """Split `FILE:PART` at the last colon not followed by a slash; the part may be empty."""
    path, colon, part = where.rpartition(":")
    return (path, part) if colon and path and "/" not in part else (where, "")
