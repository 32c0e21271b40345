"""The environment of every rank, for `torch.distributed` (`env://`), Gloo and NCCL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plink.deploy.launchers.env import environments
from plink.files.cluster import Host


def rank_environments(
    hosts: Sequence[Host],
    interfaces: Mapping[str, str],
    master_port: int,
    extra: Mapping[str, str],
) -> list[dict[str, str]]:
    """What each rank finds in its environment.

    Args:
        hosts: in rank order, with their traffic addresses, and as many slots as ranks in a row.
        interfaces: by a host's name, the network interface with that address; empty where unknown.
        master_port: where rank 0 listens.
        extra: of the user's, which wins.

    Raises:
        WrongUseError: a host's name or address is none.
    """
    found = []
    for place, words in environments(hosts, "plink run"):
        values = dict(word.split("=", 1) for word in words)
        values["MASTER_PORT"] = str(master_port)
        if interface := interfaces[place.host.name]:
            # With `=`, NCCL takes the name as a whole.
            values |= {"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": f"={interface}"}
        found.append({**values, **extra})
    return found
