"""Open MPI's rankfile: every rank with its host and the core it is bound to."""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format, places
from plink.deploy.launchers.openmpi_names import check_openmpi_names
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """One line per rank; local rank i of a host is bound to the host's core i."""
    check_openmpi_names(hosts)
    return "".join(
        f"rank {place.rank}={place.host.name} slot={place.local_rank}\n" for place in places(hosts)
    )


FORMAT = Format(
    name="openmpi-rankfile",
    about="Open MPI 4.1: rankfile, which binds each rank to a core",
    usage="mpirun -np RANKS --rankfile FILE PROGRAM",
    render=render,
)
