"""`plink slurm-order`: order the nodes of a Slurm job from its script, and never harm the job."""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from plink.base.errors import EXIT_FAILED, PlinkError
from plink.base.lazy import lazy_imports
from plink.base.text import format_count, format_names, rtt_text
from plink.cli.json_output import print_json_line
from plink.cli.options import FiniteRange
from plink.cli.progress import StageProgress
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


@click.command(
    epilog="Example: plink slurm-order --algo ring prints lines for a job script, which has "
    'before its srun: eval "$(plink slurm-order --algo ring)"',
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
@click.option(
    "--tasks-per-node",
    type=click.IntRange(1, 4096),
    metavar="N",
    help="Tasks per node of the srun that follows.  [default: as the job requests]",
)
@click.option(
    "--keep",
    metavar="DIR",
    help="Folder that keeps readings for later jobs.  [default: ~/.cache/plink/slurm]",
)
@click.option(
    "--max-age",
    "max_age_days",
    type=FiniteRange(0.0, 3650.0),
    default=7.0,
    show_default=True,
    metavar="DAYS",
    help="Days after which readings are measured again; 0 to measure everything.",
)
@click.option(
    "--groups",
    metavar="CLUSTER",
    help="Cluster file with groups (plink group): nodes of one group stand for one another.  "
    "[default: nodes under one of Slurm's switches do]",
)
@click.option(
    "--reach",
    type=click.Choice(["steps", "agents"]),
    help="Way to reach nodes: by a job step for each, or by agents that one step starts, which "
    "needs plink on the nodes.  [default: agents for more than 64 nodes]",
)
@click.option(
    "--within",
    "within_s",
    type=FiniteRange(1.0, 86_400.0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds after which to continue with the readings so far.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Host file to write, on a shared file system if srun is called on several nodes.  "
    "[default: in the folder of --keep]",
)
@click.option("--strict", is_flag=True, help="Exit with a nonzero status on failure.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of shell lines.")
def command(*, request: OrderRequest, **options: Any) -> int:
    """Print shell lines that make srun start this Slurm job's tasks in a better order.

    They set SLURM_HOSTFILE and SLURM_DISTRIBUTION=arbitrary, for a job script (eval) or a task
    prolog. Only what no earlier job has measured is measured. Whatever fails, the job runs: then
    nothing is printed, a warning says why, and the exit status is 0 (without --strict).
    """
    began_s = time.monotonic()
    failed = EXIT_FAILED if options["strict"] else 0
    if slurm_job.has_one_node(os.environ):
        note("the job has one node: there is nothing to order")
        if options["as_json"]:
            print_json_line(outputs.SlurmGivenOrder(ordered=False, reason="one node"))
        return 0
    try:
        found, allocation = _order_job(options, request)
        folder = _folder(options) / allocation.cluster / _HOSTFILES
        hostfile = slurm_job.write_hostfile(found.hosts, options["output"], folder, allocation.job)
    except (PlinkError, ProbesError, KeyboardInterrupt) as error:
        reason = str(error) or f"nothing was known within {options['within_s']:g} s"
        warn(f"the job runs in the given order: {reason}", getattr(error, "hint", None))
        if options["as_json"]:
            print_json_line(outputs.SlurmGivenOrder(ordered=False, reason=reason))
        return failed
    _print_summary(found, time.monotonic() - began_s)
    if options["as_json"]:
        print_json_line(_describe(found, hostfile, time.monotonic() - began_s))
    else:
        lines = slurm_job.shell_lines(hostfile)
        document.write_bytes(document.STANDARD_STREAM, lines.encode())
    return failed if found.lost else 0


def _order_job(
    options: Mapping[str, Any], request: OrderRequest
) -> tuple[ordering.Ordered, slurm_job.Allocation]:
    allocation = slurm_job.read_allocation(os.environ, options["tasks_per_node"])
    default = "agents" if len(allocation.hosts) > _MOST_STEPS else "steps"
    kept = kept_readings.Kept(
        _folder(options) / allocation.cluster, timedelta(days=options["max_age_days"])
    )
    group_of = None
    if options["groups"]:
        groups = cluster_file.read_cluster(options["groups"]).groups
        group_of = {name: group.name for group in groups for name in group.hosts}
    has_agents = (options["reach"] or default) == "agents"
    wait_s = min(_AGENTS_WAIT_S, options["within_s"] / 2) if has_agents else None
    with interrupt_after(options["within_s"]), StageProgress() as progress, print_unreached():
        found = ordering.order_allocation(
            allocation, kept, request, progress, agents_wait_s=wait_s, group_of=group_of
        )
        return found, allocation


def _folder(options: Mapping[str, Any]) -> Path:
    return Path(options["keep"]) if options["keep"] else kept_readings.default_folder()


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
