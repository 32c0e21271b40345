"""Slurm job in which plink runs, and how job steps reach its nodes.

sbatch(1), OUTPUT ENVIRONMENT VARIABLES, and srun(1), INPUT ENVIRONMENT VARIABLES. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from plink.base.errors import PlinkError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.hosts.slurm import parse_allocation

_JOB = re.compile(r"[0-9]{1,20}")
_CLUSTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

# What the job asks of its own steps, and steps of a measurement must not ask for, too.
_OF_THE_JOB = (
    "CPUS_PER_GPU",
    "CPUS_PER_TASK",
    "CPU_BIND",
    "DISTRIBUTION",
    "EXACT",
    "EXCLUSIVE",
    "EXPORT_ENV",
    "GPUS",
    "GPUS_PER_NODE",
    "GPUS_PER_SOCKET",
    "GPUS_PER_TASK",
    "GPU_BIND",
    "GRES",
    "GRES_FLAGS",
    "HINT",
    "HOSTFILE",
    "KILL_BAD_EXIT",
    "LABELIO",
    "MEM_BIND",
    "MEM_PER_CPU",
    "MEM_PER_GPU",
    "MEM_PER_NODE",
    "MPI_TYPE",
    "NNODES",
    "NPROCS",
    "NTASKS",
    "NTASKS_PER_CORE",
    "NTASKS_PER_GPU",
    "NTASKS_PER_NODE",
    "NTASKS_PER_SOCKET",
    "NTASKS_PER_TRES",
    "OPEN_MODE",
    "OVERCOMMIT",
    "PROLOG",
    "RELATIVE",
    "REMOTE_CWD",
    "RESV_PORTS",
    "STDERRMODE",
    "STDINMODE",
    "STDOUTMODE",
    "TASK_EPILOG",
    "TASK_PROLOG",
    "THREADS_PER_CORE",
    "TRES_PER_TASK",
    "UNBUFFEREDIO",
)
# Slurm 22.05 and later hand this on to steps under a name of its own.
_VARIABLES = (*(f"SLURM_{name}" for name in _OF_THE_JOB), "SRUN_CPUS_PER_TASK")
_STEP = ("srun", "--overlap", "--export=ALL", "--cpu-bind=none", "--mpi=none")


@dataclass(frozen=True)
class Allocation:
    """Nodes and tasks of a Slurm job.

    Args:
        job: its number.
        cluster: the name of the Slurm cluster.
        hosts: in Slurm's order, with the tasks of each as its slots.
    """

    job: str
    cluster: str
    hosts: Sequence[ListedHost]

    @property
    def names(self) -> list[str]:
        """Names of the nodes, in Slurm's order."""
        return [host.name for host in self.hosts]


def has_one_node(environment: Mapping[str, str]) -> bool:
    """Return whether the job has a single node, so that there is nothing to order."""
    known = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
    return next((environment[name] for name in known if name in environment), None) == "1"


def read_allocation(
    environment: Mapping[str, str], tasks_per_node: int | None = None
) -> Allocation:
    """Return the Slurm job that environment variables describe.

    Args:
        environment: environment of the job's script.
        tasks_per_node: None for what the job asks for.

    Raises:
        HostListError: there is no job, or its description is not understood.
        PlinkError: the job has several components.
    """
    hosts = parse_allocation(environment)
    components = environment.get("SLURM_HET_SIZE", "1")
    if components not in ("", "0", "1"):
        raise PlinkError(
            f"the job has {components[:20]} components (--het-group), but a host file is for one "
            "component",
            "order a component by itself with plink probe and plink order",
        )
    job = environment.get("SLURM_JOB_ID", "")
    cluster = environment.get("SLURM_CLUSTER_NAME", "")
    if tasks_per_node is not None:
        hosts = [replace(host, slots=tasks_per_node) for host in hosts]
    return Allocation(
        job if _JOB.fullmatch(job) else "0",
        cluster if _CLUSTER.fullmatch(cluster) else "cluster",
        hosts,
    )


def step_words(*options: str) -> list[str]:
    """Return the `srun` words that start a step beside the job's own.

    Args:
        options: options of srun: how many tasks, and where.
    """
    unset = [word for name in _VARIABLES for word in ("-u", name)]
    return ["env", *unset, *_STEP, *options]


def step_template() -> str:
    """Return the command template that reaches a node by a step of one task."""
    return f"{shlex.join(step_words('-N1', '-n1', '-w'))} {{host}}"
