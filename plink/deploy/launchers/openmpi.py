"""Open MPI's sequential mapper: one line per rank.

A plain hostfile is a set of hosts to Open MPI, which reorders it. Only `--map-by seq` (4.1 and
5; also `--mca rmaps seq` in 4.1) and rankfiles keep the order.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format, places
from plink.deploy.launchers.openmpi_names import check_openmpi_names
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """A host's name once for each of its ranks: the mapper takes nothing else on a line."""
    check_openmpi_names(hosts)
    return "".join(f"{place.host.name}\n" for place in places(hosts))


FORMAT = Format(
    name="openmpi",
    about="Open MPI 4.1 and 5: sequential host file, one line a rank",
    # Without -np the mapper of 4.1 counts the cores of hosts and then lacks lines.
    usage="mpirun -np RANKS --hostfile FILE --map-by seq PROGRAM",
    render=render,
)
