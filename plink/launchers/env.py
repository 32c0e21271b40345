"""The environment of `torch.distributed` and Gloo, for every rank."""

from __future__ import annotations

from collections.abc import Sequence

from plink.files.cluster import Host
from plink.launchers.format import Format, places
from plink.launchers.gloo import socket_interface
from plink.launchers.names import MASTER_PORT, check_names, master_address


def render(hosts: Sequence[Host]) -> str:
    """One line per rank: the host's name, then assignments for a shell on that host."""
    check_names(hosts, "a list of environments")
    master = master_address(hosts, "a list of environments")
    world_size = sum(host.slots for host in hosts)
    lines = []
    for place in places(hosts):
        words = [
            place.host.name,
            f"RANK={place.rank}",
            f"WORLD_SIZE={world_size}",
            f"LOCAL_RANK={place.local_rank}",
            f"LOCAL_WORLD_SIZE={place.host.slots}",
            f"MASTER_ADDR={master}",
            f"MASTER_PORT={MASTER_PORT}",
            socket_interface(place.host),
        ]
        lines.append(" ".join(word for word in words if word) + "\n")
    return "".join(lines)


FORMAT = Format(
    name="env",
    usage='while read -r host env; do ssh -n "$host" "$env PROGRAM" & done < FILE; wait',
    render=render,
)
