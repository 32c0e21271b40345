"""Launchers' environment variables: a process's rank, its job's size, and new values. Pure.

Only variables that programs read are changed. Those by which an MPI library finds its own processes
(PMI_RANK, PMIX_RANK) must stay: ranks of MPI cannot be changed from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.formats.limits import Positive, Text, Whole
from plink.formats.structs import Output

MASTER_ADDRESS, MASTER_PORT = "MASTER_ADDR", "MASTER_PORT"
# The new rank, whatever the launcher: what `plink.mpi_key` and `plink_mpi.h` read.
RANK_VARIABLE = "PLINK_RANK"
COORDINATOR = "JAX_COORDINATOR_ADDRESS"
# Set by torchrun where its agents hold the store of the workers, whoever has rank 0.
_AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE"
_MAX_RANKS = 1 << 24
_MAX_PORT = 65_535


@dataclass(frozen=True)
class Launcher:
    """Environment variables of a launcher.

    Args:
        name: what messages call the launcher.
        rank: variable of the process's rank.
        size: variable of the number of ranks.
        local_rank: variable of the process's number on its host.
        host_rank: variable of the number of its host; None if there is none.
        host_count: variable of the number of hosts; None if there is none.
        is_changed: whether the variables are changed with the ranks.
    """

    name: str
    rank: str
    size: str
    local_rank: str
    host_rank: str | None = None
    host_count: str | None = None
    is_changed: bool = True


# The first one whose rank and size are both set says which rank a process has.
LAUNCHERS = (
    Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    Launcher(
        "Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NNODES"
    ),
    Launcher(
        "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"
    ),
    Launcher("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", is_changed=False),
    Launcher("JAX", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_LOCAL_PROCESS_ID"),
)
# Further names of a rank and of a host's number that launchers of PyTorch's kind set.
_RANKS = ("ROLE_RANK",)
_HOST_RANKS = ("NODE_RANK",)


@dataclass(frozen=True)
class Launch:
    """Rank of a process and size of its job, as its launcher told them.

    Args:
        rank: of the process.
        ranks: number of ranks of the job.
        local_rank: number of the process on its host; None where the launcher does not say.
        launcher: which launcher said so.
    """

    rank: int
    ranks: int
    local_rank: int | None
    launcher: str


def read_launch(environment: Mapping[str, str]) -> Launch:
    """Return the rank and the job's size that the launcher told this process.

    Raises:
        WrongUseError: no known launcher did, or what it told cannot be.
    """
    for launcher in LAUNCHERS:
        present = [name for name in (launcher.rank, launcher.size) if environment.get(name)]
        if len(present) == 1 and launcher.name == "torchrun":
            absent = launcher.size if present == [launcher.rank] else launcher.rank
            raise WrongUseError(
                f"{present[0]} is set in this process, but {absent} is not", "set both, or neither"
            )
        if len(present) == 2:
            return _told_by(launcher, environment)
    names = ", ".join(f"{launcher.rank} ({launcher.name})" for launcher in LAUNCHERS)
    raise WrongUseError(
        "this process has no rank: no launcher that plink knows has started it",
        f"set RANK and WORLD_SIZE; plink looks for {names}",
    )


def _told_by(launcher: Launcher, environment: Mapping[str, str]) -> Launch:
    ranks = _whole(environment, launcher.size, _MAX_RANKS)
    rank = _whole(environment, launcher.rank, _MAX_RANKS)
    if rank >= ranks:
        raise WrongUseError(
            f"{launcher.rank}={rank} is no rank of {launcher.size}={ranks}",
            f"ranks go from 0 to {launcher.size} - 1",
        )
    local = None
    if environment.get(launcher.local_rank):
        local = _whole(environment, launcher.local_rank, _MAX_RANKS)
    return Launch(rank, ranks, local, launcher.name)


def read_port(environment: Mapping[str, str], variable: str = MASTER_PORT) -> int:
    """Return the port that an environment variable names.

    Raises:
        WrongUseError: it is not set, or names none.
    """
    port = _whole(environment, variable, _MAX_PORT)
    if port == 0:
        raise WrongUseError(f"{variable}=0 is no port that ranks could find", "name a free one")
    return port


def uses_agent_store(environment: Mapping[str, str]) -> bool:
    """Return whether torchrun's agents hold the workers' store, so that no rank does."""
    return environment.get(_AGENT_STORE) == "True"


def _whole(environment: Mapping[str, str], name: str, most: int) -> int:
    text = environment.get(name, "")
    if not text:
        raise WrongUseError(
            f"{name} is not set", "launchers set it; by hand, set it for every rank"
        )
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= most):
        raise WrongUseError(f"{name}={text!r} is no whole number from 0 to {most:,}")
    return int(text)


class Placement(Output, frozen=True, kw_only=True):
    """Place of a process in its job after ranks were renumbered.

    Attributes:
        rank: new rank
        ranks: number of ranks of the job
        local_rank: number of the process on its host
        local_ranks: number of ranks on its host
        host_rank: number of its host, in the order of their first ranks
        hosts: names of the hosts in that order
        host_of_rank: number of each rank's host
        former_ranks: rank that the launcher gave to each rank
        master_address: address of the host of rank 0
    """

    rank: Whole
    ranks: Positive
    local_rank: Whole
    local_ranks: Positive
    host_rank: Whole
    hosts: Sequence[str]
    host_of_rank: Sequence[Whole]
    former_ranks: Sequence[Whole]
    master_address: Text


class RenumberedProcess(Placement, frozen=True, kw_only=True):
    """Where a process is in an order of the hosts.

    Attributes:
        variables: new values of the variables that change, by name
    """

    variables: Mapping[str, Text]


def renumbered_environment(
    environment: Mapping[str, str], launch: Launch, placement: Placement
) -> dict[str, str]:
    """Return the environment variables that change, with their new values.

    Those of a launcher are changed if it counts the same processes: under torchrun in a Slurm job
    SLURM_PROCID is the number of a node, and stays.

    Args:
        environment: of the process.
        launch: what it told.
        placement: where the process is now.
    """
    rank, host_rank = str(placement.rank), str(placement.host_rank)
    size, hosts = str(placement.ranks), str(len(placement.hosts))
    changes = {
        RANK_VARIABLE: rank,
        "RANK": rank,
        "WORLD_SIZE": size,
        "LOCAL_RANK": str(placement.local_rank),
        "LOCAL_WORLD_SIZE": str(placement.local_ranks),
    }
    # torchrun may run several agents on a host, which it then counts.
    if environment.get("GROUP_WORLD_SIZE", hosts) == hosts:
        changes |= {"GROUP_RANK": host_rank, "GROUP_WORLD_SIZE": hosts}
    for launcher in LAUNCHERS:
        if not launcher.is_changed or environment.get(launcher.size) != size:
            continue
        if environment.get(launcher.rank) == str(launch.rank):
            changes[launcher.rank] = rank
            if launcher.host_rank is not None and environment.get(launcher.host_rank):
                counted = environment.get(launcher.host_count or "", hosts)
                if counted == hosts:
                    changes[launcher.host_rank] = host_rank
    for name in _RANKS:
        if environment.get(name) == str(launch.rank):
            changes[name] = rank
    for name in _HOST_RANKS:
        if environment.get(name):
            changes[name] = host_rank
    if not uses_agent_store(environment):
        if environment.get(MASTER_ADDRESS):
            changes[MASTER_ADDRESS] = placement.master_address
        changes.update(_coordinator(environment, placement.master_address))
    return changes


def _coordinator(environment: Mapping[str, str], address: str) -> dict[str, str]:
    """Return JAX's coordinator on the host of process 0, where JAX would look elsewhere.

    Without JAX_COORDINATOR_ADDRESS it takes the first node of a Slurm step, or the host of mpirun.
    """
    port = environment.get(COORDINATOR, "").rpartition(":")[2] or environment.get(MASTER_PORT, "")
    names = (COORDINATOR, "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
    if not port.isdigit() or not any(environment.get(name) for name in names):
        return {}
    return {COORDINATOR: f"[{address}]:{port}" if ":" in address else f"{address}:{port}"}
