"""The environment of `torch.distributed` with NCCL, for every rank.

NCCL numbers hosts as they first come in rank order, and its rings and trees follow that number:
a host's ranks stay together, and the order is in RANK alone. NCCL_SOCKET_IFNAME keeps it on the
network that was measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers import env
from plink.deploy.launchers.format import Format
from plink.deploy.launchers.names import is_address
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """One line per rank: the host's name, then assignments for a shell on that host."""
    rows = env.environments(hosts, "NCCL")
    # As PyTorch's master address, so NCCL's first meeting is at rank 0.
    family = ["NCCL_SOCKET_FAMILY=AF_INET6"] if ":" in hosts[0].address else []
    return "".join(
        env.line(place, [*words, *family, _socket_interface(place.host)]) for place, words in rows
    )


def _socket_interface(host: Host) -> str:
    """As `gloo.socket_interface`; without `=` in front NCCL would take `eth1` for `eth10` too."""
    if not is_address(host.address):
        return ""
    return f"NCCL_SOCKET_IFNAME=$(ip -o addr show to {host.address} | cut -d' ' -f2 | sed 's/^/=/')"


FORMAT = Format(
    name="nccl",
    about="one environment a rank for torch.distributed with NCCL",
    usage=env.USAGE,
    render=render,
    adjacent_because="NCCL takes hosts as they come, with all their ranks together",
)
