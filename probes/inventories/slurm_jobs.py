"""Nodes of a running Slurm job, named `slurm:JOB`, or `slurm:` for the job that plink runs in.

scontrol(1), `show job`: records of `Key=Value`, each with its JobId, JobState, NumNodes, NumTasks
and NodeList at fixed places of a line; `show hostnames` expands a node list. A job that is an array
or has components of different kinds has a record for each. srun(1), `--jobid` and `--overlap`: a
step in an allocation of which other steps use all.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.hostlist import MAX_SLOTS, ListedHost, check_hosts
from plink.probes.hosts.slurm import parse_allocation
from plink.probes.inventories.inventory import InventoryHosts, ReadFile, run_program

FORM = "slurm:JOB"
_HINT = "squeue --me lists your jobs; slurm: alone is the job that plink runs in"
_RUNNING = "RUNNING"
_JOB_VARIABLE = "SLURM_JOB_ID"

# What squeue prints of a job, of one of an array, and of a component.
_JOB = re.compile(r"[0-9]{1,10}([_+][0-9]{1,10})?")
_RECORD = re.compile(r"^(?=JobId=)", re.MULTILINE)
_ID = re.compile(r"JobId=([0-9]{1,10})\b")
# A line begins with them: names and comments of users stand elsewhere.
_STATE = re.compile(r"^[ \t]*JobState=([A-Z_]+)", re.MULTILINE)
_NODES = re.compile(r"^[ \t]*NodeList=(\S+)[ \t]*$", re.MULTILINE)
_TASKS = re.compile(r"^[ \t]*NumNodes=([0-9]{1,9}) .*\bNumTasks=([0-9]{1,9})\b", re.MULTILINE)


@dataclass(frozen=True)
class SlurmJob:
    """Running Slurm job (or component of one): its number, node list and slots per node."""

    number: str
    nodes: str
    slots: int


def read(job: str, read_file: ReadFile) -> InventoryHosts:  # noqa: ARG001
    """Return the nodes of a Slurm job, with the `srun` template that reaches them."""
    if not job:
        number = os.environ.get(_JOB_VARIABLE, "")
        hosts = parse_allocation(os.environ)
        if not _JOB.fullmatch(number):
            raise HostListError(
                f"slurm: {_JOB_VARIABLE} is not set to the number of a Slurm job", _HINT
            )
        return InventoryHosts(hosts, _via(number))
    place = f"slurm:{job}"
    if not _JOB.fullmatch(job):
        raise HostListError(
            f"{clean(place)}: {clean(job)!r} is not the number of a Slurm job", _HINT
        )
    output = run_program(["scontrol", "show", "job", job], place, _HINT)
    running_job = parse_job(output.decode(errors="replace"), place)
    names = run_program(["scontrol", "show", "hostnames", running_job.nodes], place, _HINT)
    return InventoryHosts(
        list_job_hosts(running_job, names.decode(errors="replace"), place), _via(running_job.number)
    )


def parse_job(text: str, place: str) -> SlurmJob:
    """Parse the output of `scontrol show job`; raise unless exactly one record is running. Pure."""
    records = [record for record in _RECORD.split(text) if _ID.match(record)]
    running = [record for record in records if _find_first(_STATE, record) == _RUNNING]
    if len(running) > 1:
        parts = ", ".join(f"slurm:{_find_first(_ID, record)}" for record in running[:3])
        raise HostListError(
            f"{place}: {len(running)} components or array tasks of the job are running",
            f"choose one of {parts}",
        )
    if not running:
        states = sorted({_find_first(_STATE, record).lower() or "unknown" for record in records})
        job_state = f"the job is {' and '.join(states)}" if states else "Slurm describes no job"
        raise HostListError(f"{place}: {job_state}, and only a running job has nodes", _HINT)
    (record,) = running
    nodes = _find_first(_NODES, record)
    if not nodes or nodes.startswith("("):
        raise HostListError(f"{place}: Slurm reports no nodes of the job", _HINT)
    return SlurmJob(_find_first(_ID, record), nodes, _slots(record))


def list_job_hosts(job: SlurmJob, names: str, place: str) -> list[ListedHost]:
    """Return a job's hosts, with slots, by the output of `scontrol show hostnames`. Pure."""
    hosts = (ListedHost(name, slots=job.slots, place=place) for name in names.split())
    return check_hosts(hosts, place)


def _via(number: str) -> Callable[[], str]:
    return lambda: f"srun --overlap --jobid {number} -N1 -n1 -w {{host}}"


def _slots(record: str) -> int:
    match = _TASKS.search(record)
    nodes, tasks = (int(match[1]), int(match[2])) if match else (0, 0)
    is_even = nodes > 0 and tasks % nodes == 0
    return tasks // nodes if is_even and nodes <= tasks <= nodes * MAX_SLOTS else 1


def _find_first(pattern: re.Pattern[str], record: str) -> str:
    match = pattern.search(record)
    return "" if match is None else match[1]
