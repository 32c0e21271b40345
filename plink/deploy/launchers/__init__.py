"""Writers of launchers' own files: hosts in rank order in, the text of a file out."""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers import (
    deepspeed,
    env,
    horovod,
    hosts,
    intelmpi,
    jax,
    kubernetes_jobs,
    lightgbm,
    mlx,
    mpich,
    nccl,
    openmpi,
    openmpi5_rankfile,
    openmpi_rankfile,
    slurm,
    slurm_topology,
    torchrun,
    torchrun_script,
)
from plink.deploy.launchers.format import Format, check_adjacent
from plink.deploy.launchers.topology import TopologyFormat, in_rank_order
from plink.files.cluster import Host
from plink.files.groups import Group

_MPI = (openmpi, openmpi_rankfile, openmpi5_rankfile, mpich, intelmpi)
_TRAINING = (torchrun, torchrun_script, env, nccl, horovod, deepspeed, lightgbm, jax, mlx)

# Files that fix the rank of every host.
FORMATS: dict[str, Format] = {
    found.name: found
    for found in (
        *(module.FORMAT for module in (hosts, *_MPI, slurm, *_TRAINING)),
        *kubernetes_jobs.FORMATS,
    )
}

# Files that say which hosts are near each other.
TOPOLOGIES: dict[str, TopologyFormat] = {found.name: found for found in slurm_topology.FORMATS}


def described() -> dict[str, str]:
    """Every format's name, and what it is in a line."""
    orders = {name: found.about for name, found in FORMATS.items()}
    return orders | {name: found.about for name, found in TOPOLOGIES.items()}


def render(
    name: str, ranked: Sequence[Host], groups: Sequence[Group], unused: Sequence[Host] = ()
) -> str:
    """The text of a file in the format `name`.

    Args:
        name: of a format or a topology.
        ranked: the hosts in rank order, with as many slots as ranks in a row.
        groups: of near hosts; empty where they are not known.
        unused: hosts without a rank, which have their places in a topology all the same.

    Raises:
        KeyError: there is no such format.
        WrongUseError: what reads the file cannot take a host, or there are no groups for it.
    """
    if name in TOPOLOGIES:
        return TOPOLOGIES[name].render(in_rank_order([*ranked, *unused], groups, "Slurm"))
    check_adjacent(ranked, FORMATS[name])
    return FORMATS[name].render(ranked)


def usage_of(name: str, file: str, ranks: int | None) -> str:
    """The command that uses `file`, of the format `name`, for so many ranks or for RANKS."""
    if name in TOPOLOGIES:
        return TOPOLOGIES[name].usage_of(file)
    return FORMATS[name].usage_of(file, ranks)
