"""`plink probe`: measure every pair of hosts, and write a cluster file."""

from __future__ import annotations

import click

from plink.base.lazy import lazy_imports
from plink.cli.json_output import json_option
from plink.cli.options import SectionedCommand, given_options, make_section_option
from plink.cli.progress import stage_progress
from plink.cli.request_options import with_request
from plink.cli.way_options import CallOptions, with_call_options
from plink.measure.requests import MeasurementRequest

with lazy_imports():
    from plink.cli import probe_action


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink probe hosts.txt -o cluster.json, or, without a file: "
    "echo 'gpu[01-16]' | plink probe - -o cluster.json; groups and their uplinks, too: "
    "plink probe hosts.txt --all -o cluster.json",
)
@click.argument("hosts", required=False)
@click.option("-o", "--output", metavar="FILE", help="Cluster file to write; - for stdout.")
@json_option("Print a summary as JSON.")
@with_request(MeasurementRequest)
@make_section_option("What to measure")(
    "--all",
    "all_stages",
    is_flag=True,
    help="Measure round-trip times, find groups, and measure the groups' uplinks, into one file.",
)
@make_section_option("An earlier file")(
    "--resume",
    metavar="FILE",
    help="Cluster file to continue: measure what it lacks, and again what its passes "
    "disagree about.",
)
@make_section_option("Hosts and their networks")(
    "--expect",
    type=click.IntRange(2, 1 << 16),
    metavar="N",
    help="With --listen and without HOSTS: number of hosts that will connect.",
)
@with_call_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    request: MeasurementRequest,
    hosts: str | None,
    output: str | None,
    resume: str | None,
    expect: int | None,
    all_stages: bool,
    as_json: bool,
    reach: CallOptions,
) -> int:
    """Measure the round-trip time of every pair of hosts, in both directions, over SSH.

    HOSTS is a file with a host a line (user@host:port, ranges such as gpu[01-16], `slots=8`, a
    Slurm node list, comments), or - for standard input; also a topology.conf, or what kubectl get
    nodes -o json and the clouds' own tools list as JSON. Or it names hosts that another program
    knows: slurm:JOB, the nodes of a Slurm job (slurm: for this one), and k8s:NAMESPACE/SELECTOR,
    pods, which srun and kubectl exec lead into; ansible:FILE[:GROUP], terraform:FOLDER[:OUTPUT],
    pcluster:NAME[:QUEUE], sky:CLUSTER, topograph:URL. With --resume it may be left out, and with
    --listen, where hosts call by themselves (plink agent).

    With --all, groups are found among the hosts, as plink group does, and what their uplinks carry
    is measured, as --tool uplinks does; without groups, uplinks are left out.

    plink check says whether a file still describes the network.
    """
    with stage_progress() as progress:
        action = probe_action.ProbeAction(
            request, hosts, output, resume, expect, reach, progress, as_json=as_json
        )
        if all_stages:
            return action.measure_all_stages(given_options(context))
        return action.measure()
