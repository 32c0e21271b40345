"""`plink slurm-order`: order the nodes of a Slurm job from its script."""

from __future__ import annotations

from typing import Any

import click

from plink.base.size import DEFAULT_SIZE
from plink.cli.options import FiniteRange, SizeType, with_seed_option, with_time_limit_option
from plink.cli.order_options import parse_mesh_options


@click.command(
    epilog="Example: plink slurm-order --algo ring prints lines for a job script, which has "
    'before its srun: eval "$(plink slurm-order --algo ring)"',
)
@click.option(
    "--algo",
    "algorithm",
    metavar="NAME",
    default="ring",
    show_default=True,
    help="Collective algorithm that the order is for (plink order --list-algorithms).",
)
@click.option(
    "--mesh",
    "mesh_text",
    metavar="SIZES",
    help="Dimensions of a mesh, in place of --algo, as in plink order.",
)
@click.option(
    "--traffic", metavar="BYTES", help="Traffic of the mesh's dimensions, as in plink order."
)
@click.option(
    "--size",
    "size_bytes",
    type=SizeType(),
    default=DEFAULT_SIZE,
    show_default=True,
    help="Size of the buffer in each dimension of the mesh.",
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
@with_time_limit_option("Seconds of the search for the order.")
@with_seed_option()
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Host file to write, on a shared file system if srun is called on several nodes.  "
    "[default: in the folder of --keep]",
)
@click.option("--strict", is_flag=True, help="Exit with a nonzero status on failure.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of shell lines.")
def command(mesh_text: str | None, traffic: str | None, **options: Any) -> int:
    """Print shell lines that make srun start this Slurm job's tasks in a better order.

    They set SLURM_HOSTFILE and SLURM_DISTRIBUTION=arbitrary, for a job script (eval) or a task
    prolog. Only what no earlier job has measured is measured. Whatever fails, the job runs: then
    nothing is printed, a warning says why, and the exit status is 0 (without --strict).
    """
    mesh = parse_mesh_options(mesh_text, traffic, options.pop("size_bytes"))
    from plink.cli.slurm_action import run_command  # noqa: PLC0415  imports numpy

    return run_command(options, mesh)
