"""Slurm job in which plink runs: its nodes, steps within it, and the host file for srun.

sbatch(1), OUTPUT ENVIRONMENT VARIABLES, and srun(1), INPUT ENVIRONMENT VARIABLES. A task prolog's
standard output is not read by a shell: `export NAME=value`, unquoted. So the path of a host file
holds nothing that a shell would take for more than a letter.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from plink.base.errors import PlinkError
from plink.base.text import brief
from plink.deploy.launchers.slurm import render_hostfile
from plink.formats import document
from plink.formats.hosts import Host
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.hosts.slurm import parse_allocation

_JOB = re.compile(r"[0-9]{1,20}")
_CLUSTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

# What the job asks of its own steps, and steps of a measurement must not ask for, too.
_OF_THE_JOB = re.findall(
    r"\w+",
    """
    CPUS_PER_GPU CPUS_PER_TASK CPU_BIND DISTRIBUTION EXACT EXCLUSIVE EXPORT_ENV GPUS
    GPUS_PER_NODE GPUS_PER_SOCKET GPUS_PER_TASK GPU_BIND GRES GRES_FLAGS HINT HOSTFILE
    KILL_BAD_EXIT LABELIO MEM_BIND MEM_PER_CPU MEM_PER_GPU MEM_PER_NODE MPI_TYPE NNODES NPROCS
    NTASKS NTASKS_PER_CORE NTASKS_PER_GPU NTASKS_PER_NODE NTASKS_PER_SOCKET NTASKS_PER_TRES
    OPEN_MODE OVERCOMMIT PROLOG RELATIVE REMOTE_CWD RESV_PORTS STDERRMODE STDINMODE STDOUTMODE
    TASK_EPILOG TASK_PROLOG THREADS_PER_CORE TRES_PER_TASK UNBUFFEREDIO
    """,
)
# Slurm 22.05 and later hand this on to steps under a name of its own.
_VARIABLES = (*(f"SLURM_{name}" for name in _OF_THE_JOB), "SRUN_CPUS_PER_TASK")
_STEP = ("srun", "--overlap", "--export=ALL", "--cpu-bind=none", "--mpi=none")
_PLAIN = re.compile(r"/[A-Za-z0-9_./+@:,=-]+")
_SUFFIX = ".hosts"
# A job is over by then.
_KEPT_S = 60 * 86400.0


@dataclass(frozen=True)
class Allocation:
    """Slurm job: its number, cluster, and nodes with their tasks.

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
    """Return whether the Slurm job has a single node, so that there is nothing to order."""
    known = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
    return next((environment[name] for name in known if name in environment), None) == "1"


def read_allocation(
    environment: Mapping[str, str], tasks_per_node: int | None = None
) -> Allocation:
    """Read the Slurm job from its environment variables, with other tasks per node if given.

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
            f"the Slurm job has {components[:20]} components (--het-group), but an order is for "
            "one component",
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
    """Return the start of an `srun` command for a step that runs beside the job's own.

    Args:
        options: options of srun: how many tasks, and where.
    """
    unset = [word for name in _VARIABLES for word in ("-u", name)]
    return ["env", *unset, *_STEP, *options]


def step_template() -> str:
    """Return the command template that reaches a node by an `srun` step of one task."""
    return f"{shlex.join(step_words('-N1', '-n1', '-w'))} {{host}}"


def write_hostfile(hosts: Sequence[Host], path: str | None, folder: Path, job: str) -> str:
    """Write a host file for srun with a node's name for each task; return its path.

    Args:
        hosts: in rank order.
        path: where the user wants it; None for a file of the job's in `folder`.
        folder: of the files of jobs; where it cannot be written, a temporary one serves.
        job: its number.

    Raises:
        PlinkError: it cannot be written, or has a name that no line can hold.
    """
    content = render_hostfile(hosts).encode()
    if path is not None:
        wanted = str(Path(path).absolute())
        if not _PLAIN.fullmatch(wanted):
            raise PlinkError(
                f"the path {brief(wanted)} has characters that are not safe in a shell assignment",
                "choose a path, current folder included, of letters, digits and . _ + @ : , = - /",
            )
        document.write_bytes(wanted, content)
        return wanted
    own = str((folder / f"{job}{_SUFFIX}").absolute())
    if _PLAIN.fullmatch(own):
        with suppress(OSError, PlinkError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            document.write_bytes(own, content)
            _drop_old(folder)
            return own
    elsewhere = Path("/tmp", f"plink-slurm-{os.urandom(8).hex()}")  # noqa: S108  made anew
    hostfile = str(elsewhere / f"{job}{_SUFFIX}")
    try:
        elsewhere.mkdir(mode=0o700)
        document.write_bytes(hostfile, content)
    except BaseException:
        shutil.rmtree(elsewhere, ignore_errors=True)
        raise
    return hostfile


def shell_lines(hostfile: str) -> str:
    """Return the shell lines that make srun follow a host file (export SLURM_HOSTFILE=...)."""
    return f"export SLURM_HOSTFILE={hostfile}\nexport SLURM_DISTRIBUTION=arbitrary\n"


def _drop_old(folder: Path) -> None:
    for file in folder.glob(f"*{_SUFFIX}"):
        if time.time() - file.stat().st_mtime > _KEPT_S:
            file.unlink(missing_ok=True)
