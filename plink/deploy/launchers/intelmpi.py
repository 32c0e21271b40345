"""Intel MPI's machine file: names with a number of ranks, filled in file order.

`-machinefile` keeps names that come twice; `-f` does not. Within a job of a batch system, Intel
MPI takes the placement from there unless I_MPI_JOB_RESPECT_PROCESS_PLACEMENT is off.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.names import check_names
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """One `host:ranks` a line. An IPv6 address is refused: its colons would count ranks."""
    check_names(hosts, "Intel MPI", ipv6=False)
    return "".join(f"{host.name}:{host.slots}\n" for host in hosts)


FORMAT = Format(
    name="intelmpi",
    about="Intel MPI: machine file with ranks a host",
    usage="I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off mpirun -n RANKS -machinefile FILE PROGRAM",
    render=render,
)
