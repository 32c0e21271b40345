"""`plink slurm-order`: order a Slurm job's nodes from its script; if that fails, they stay."""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import click

from plink.base.errors import EXIT_FAILED, PlinkError
from plink.base.lazy import lazy_imports
from plink.base.request import option
from plink.base.text import format_count, format_names, rtt_text
from plink.cli.json_output import json_option, print_json_line
from plink.cli.progress import stage_progress
from plink.cli.request_options import with_request
from plink.cli.stderr import note, print_unreached, warn
from plink.formats import document
from plink.optimize.orders.request import OrderRequest
from plink.probes.errors import ProbesError

with lazy_imports():
    from plink.deploy.slurm import allocation as slurm_job
    from plink.deploy.slurm import kept as kept_readings
    from plink.deploy.slurm import ordering
    from plink.formats import cluster as cluster_file
    from plink.formats import outputs
    from plink.optimize.orders import quality

# Above, a step for each node costs more than agents that one step starts (docs/slurm.md).
_MOST_STEPS = 64
_AGENTS_WAIT_S = 30.0
_HOSTFILES = "hostfiles"
_HOW = {
    "kept": "nothing measured: all pairs are kept from earlier jobs",
    "switches": "a few pairs measured: the others are those of their switches",
    "groups": "a few pairs measured: the others are those of their groups",
}


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """Options of `plink slurm-order` on the job, and on readings that earlier jobs kept."""

    tasks_per_node: int | None = option(
        None,
        low=1,
        high=4096,
        metavar="N",
        help="Tasks per node of the srun that follows.  [default: as the job requests]",
    )
    keep: str | None = option(
        None,
        metavar="DIR",
        help="Folder that keeps readings for later jobs.  [default: ~/.cache/plink/slurm]",
    )
    max_age_days: float = option(
        7.0,
        "--max-age",
        low=0.0,
        high=3650.0,
        metavar="DAYS",
        help="Days after which readings are measured again; 0 to measure everything.",
    )
    groups: str | None = option(
        None,
        metavar="CLUSTER",
        help="Cluster file with groups (plink group): nodes of one group stand for one another.  "
        "[default: nodes under one of Slurm's switches do]",
    )
    reach: Literal["steps", "agents"] | None = option(
        None,
        help="Way to reach nodes: by a job step for each, or by agents that one step starts, which "
        "needs plink on the nodes.  [default: agents for more than 64 nodes]",
    )
    within_s: float = option(
        120.0,
        "--within",
        low=1.0,
        high=86_400.0,
        metavar="SECONDS",
        help="Seconds after which to continue with the readings so far.",
    )
    output: str | None = option(
        None,
        short="-o",
        metavar="FILE",
        help="Host file to write, on a shared file system if srun is called on several nodes.  "
        "[default: in the folder of --keep]",
    )
    strict: bool = option(False, help="Exit with a nonzero status on failure.")

    def folder(self, allocation: slurm_job.Allocation) -> Path:
        """Return the folder that keeps readings of the job's Slurm cluster."""
        kept = Path(self.keep) if self.keep else kept_readings.default_folder()
        return kept / allocation.cluster


@click.command(
    epilog="Example: plink slurm-order --algo ring prints lines for a job script, which has "
    'before its srun: eval "$(plink slurm-order --algo ring)"'
)
@with_request(
    OrderRequest,
    "algorithm",
    "mesh",
    "traffic",
    "size",
    "time_limit_s",
    "seed",
    helps={
        "algorithm": "Collective algorithm that the order is for (plink order --list-algorithms).",
        "mesh": "Dimensions of a mesh, in place of {algorithm}, as in plink order.",
        "traffic": "Traffic of the mesh's dimensions, as in plink order.",
        "size": "Size of the buffer in each dimension of the mesh.",
        "time_limit_s": "Seconds of the search for the order.",
    },
)
@with_request(JobRequest, passed_as="job")
@json_option("Print JSON instead of shell lines.")
def command(*, request: OrderRequest, job: JobRequest, as_json: bool) -> int:
    """Print shell lines that make srun start this Slurm job's tasks in a better order.

    They set SLURM_HOSTFILE and SLURM_DISTRIBUTION=arbitrary, for a job script (eval) or a task
    prolog. Only what no earlier job has measured is measured. Whatever fails, the job runs: then
    nothing is printed, a warning says why, and the exit status is 0 (without --strict).
    """
    began_s = time.monotonic()
    failed = EXIT_FAILED if job.strict else 0
    if slurm_job.has_one_node(os.environ):
        note("the job has one node: there is nothing to order")
        if as_json:
            print_json_line(outputs.SlurmGivenOrder(ordered=False, reason="one node"))
        return 0
    try:
        allocation = slurm_job.read_allocation(os.environ, job.tasks_per_node)
        found = _order_job(allocation, job, request)
        folder = job.folder(allocation) / _HOSTFILES
        hostfile = slurm_job.write_hostfile(found.hosts, job.output, folder, allocation.job)
    except (PlinkError, ProbesError, KeyboardInterrupt) as error:
        reason = str(error) or f"nothing was known within {job.within_s:g} s"
        warn(f"the job runs in the given order: {reason}", getattr(error, "hint", None))
        if as_json:
            print_json_line(outputs.SlurmGivenOrder(ordered=False, reason=reason))
        return failed
    seconds = time.monotonic() - began_s
    _print_summary(found, seconds)
    if as_json:
        print_json_line(_describe(found, hostfile, seconds))
    else:
        lines = slurm_job.shell_lines(hostfile)
        document.write_bytes(document.STANDARD_STREAM, lines.encode())
    return failed if found.lost else 0


def _order_job(
    allocation: slurm_job.Allocation, job: JobRequest, request: OrderRequest
) -> ordering.Ordered:
    kept = kept_readings.Kept(job.folder(allocation), timedelta(days=job.max_age_days))
    group_of = None
    if job.groups:
        groups = cluster_file.read_cluster(job.groups).groups
        group_of = {name: group.name for group in groups for name in group.hosts}
    default = "agents" if len(allocation.hosts) > _MOST_STEPS else "steps"
    has_agents = (job.reach or default) == "agents"
    wait_s = min(_AGENTS_WAIT_S, job.within_s / 2) if has_agents else None
    with interrupt_after(job.within_s), stage_progress() as progress, print_unreached():
        return ordering.order_allocation(
            allocation, kept, request, progress, agents_wait_s=wait_s, group_of=group_of
        )


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in the block, as Ctrl-C does, after a time limit."""
    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _print_summary(found: ordering.Ordered, seconds: float) -> None:
    how = _HOW.get(found.source, f"{format_count(found.pairs, 'directed pair')} measured")
    order = found.order
    gain = f", {quality.against_random(order)}" if order.gain > 0.0 else ""
    note(
        f"{format_count(len(found.hosts), 'node')} ordered for {order.algorithm}: "
        f"{order.cost_name} {rtt_text(order.cost.cost_us)}, "
        f"{rtt_text(order.cost.listed_us)} as given{gain}; "
        f"{how}; {seconds:.1f} s"
    )
    if found.lost:
        names = format_names(found.lost)
        warn(
            f"there are no readings of {format_count(len(found.lost), 'node')}, which come last: "
            f"{names}"
        )


def _describe(found: ordering.Ordered, hostfile: str, seconds: float) -> outputs.SlurmOrder:
    return outputs.SlurmOrder(
        ordered=True,
        hostfile=hostfile,
        hosts=[outputs.SlurmNode(host.name, host.slots) for host in found.hosts],
        algorithm=found.order.algorithm,
        cost_us=found.order.cost.cost_us,
        cost_given_us=found.order.cost.listed_us,
        source=found.source,
        pairs_measured=found.pairs,
        unknown=found.lost,
        seconds=round(seconds, 3),
    )
