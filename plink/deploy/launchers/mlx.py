"""MLX's host file (mlx.launch --hostfile): a JSON list, whose order is that of the ranks.

`ssh` is how a host is reached and `ips` where its rank listens. The ring backend gives every entry
its own port, so that a host with several ranks is listed several times.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from plink.deploy.launchers.format import Format, places
from plink.deploy.launchers.names import check_names, is_address, refusal
from plink.files.cluster import Host

_LAUNCHER = "MLX"


def render(hosts: Sequence[Host]) -> str:
    """One entry per rank, each on a line of its own."""
    check_names(hosts, _LAUNCHER)
    for host in hosts:
        if not is_address(host.address) or ":" in host.address:
            raise refusal(host, _LAUNCHER, "has no IPv4 address in the cluster file")
    entries = [
        json.dumps({"ssh": place.host.name, "ips": [place.host.address]}) for place in places(hosts)
    ]
    return "[\n" + ",\n".join(entries) + "\n]\n"


FORMAT = Format(
    name="mlx",
    about="MLX: JSON host file of mlx.launch",
    usage="mlx.launch --backend ring --hostfile FILE SCRIPT",
    render=render,
)
