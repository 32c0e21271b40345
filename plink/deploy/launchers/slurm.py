"""Slurm: SLURM_HOSTFILE, one line per task, which only the arbitrary distribution obeys.

srun(1), --distribution=arbitrary. Hosts stand under their node names (NodeName in slurm.conf).
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format, places
from plink.deploy.launchers.names import check_names
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """A node's name once for each of its tasks."""
    check_names(hosts, "Slurm", ipv6=False)
    return "".join(f"{place.host.name}\n" for place in places(hosts))


FORMAT = Format(
    name="slurm",
    about="Slurm: SLURM_HOSTFILE for srun's arbitrary distribution, one line a task",
    usage="SLURM_HOSTFILE=$(realpath FILE) srun --distribution=arbitrary -n RANKS PROGRAM",
    render=render,
)
