"""DeepSpeed's host file (deepspeed/launcher/runner.py): `host slots=N`, ranks in file order.

The rank of a host is its position in the file, whatever --include leaves of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.names import check_names
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """One host a line. An IPv6 address is refused: --include separates names by colons."""
    check_names(hosts, "DeepSpeed", ipv6=False)
    return "".join(f"{host.name} slots={host.slots}\n" for host in hosts)


FORMAT = Format(
    name="deepspeed",
    about="DeepSpeed: host file with slots",
    usage="deepspeed --hostfile FILE SCRIPT",
    render=render,
    adjacent_because="DeepSpeed takes a host once",
)
