"""Writers of launchers' host and rank files, from hosts in rank order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plink.deploy.launchers import (
    address_lists,
    environment,
    hostfiles,
    kubernetes,
    openmpi,
    slurm,
    torchrun,
)
from plink.deploy.launchers.format import Format, check_adjacent, sort_by_rank
from plink.formats.hosts import Group, Host

# Files that fix the rank of every host.
FORMATS: dict[str, Format[Host]] = {
    found.name: found
    for found in (
        hostfiles.NAMES,
        *openmpi.FORMATS,
        hostfiles.MPICH,
        hostfiles.INTEL_MPI,
        slurm.HOSTFILE,
        *torchrun.FORMATS,
        environment.TORCH,
        environment.NCCL,
        hostfiles.HOROVOD,
        hostfiles.DEEPSPEED,
        address_lists.LIGHTGBM,
        environment.JAX,
        address_lists.MLX,
        *kubernetes.FORMATS,
    )
}

# Files that say which hosts are near each other.
TOPOLOGIES: dict[str, Format[Group]] = {found.name: found for found in slurm.TOPOLOGIES}

ALL: dict[str, Format[Any]] = {**FORMATS, **TOPOLOGIES}


def render(
    name: str, ranked: Sequence[Host], groups: Sequence[Group], unused: Sequence[Host] = ()
) -> str:
    """Return the text of a launcher's host file, or of a scheduler's topology file.

    Args:
        name: name of a format or a topology.
        ranked: the hosts in rank order, with as many slots as ranks in a row.
        groups: groups of near hosts; empty where they are not known.
        unused: hosts without a rank, which have their places in a topology all the same.

    Raises:
        KeyError: there is no such format.
        WrongUseError: what reads the file cannot take a host, or there are no groups for it.
    """
    if name in TOPOLOGIES:
        return TOPOLOGIES[name].render(sort_by_rank([*ranked, *unused], groups, "Slurm"))
    check_adjacent(ranked, FORMATS[name])
    return FORMATS[name].render(ranked)
