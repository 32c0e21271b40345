"""MPICH's host file: names with a number of ranks, which Hydra fills in file order."""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.names import check_names
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """One `host:ranks` a line. An IPv6 address is refused: its colons would count ranks."""
    check_names(hosts, "MPICH", ipv6=False)
    return "".join(f"{host.name}:{host.slots}\n" for host in hosts)


FORMAT = Format(
    name="mpich",
    about="MPICH (Hydra): host file with ranks a host",
    usage="mpiexec -n RANKS -f FILE PROGRAM",
    render=render,
)
