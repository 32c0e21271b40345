"""The hosts of a cluster file as a host list would name them, to be reached again."""

from __future__ import annotations

from plink.files.cluster import Host
from probes.hosts.host import ListedHost


def as_listed(host: Host, place: str) -> ListedHost:
    """How `place`, the file that has it, lists a host."""
    return ListedHost(
        host.name,
        user=host.user,
        port=host.port,
        slots=host.slots,
        ssh_address=host.ssh_address,
        place=place,
    )
