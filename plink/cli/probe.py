"""`plink probe`: measure every pair of hosts."""

from __future__ import annotations

from typing import Any

import click

from plink.base.lazy import lazy_imports
from plink.cli.options import SectionedCommand, given_options
from plink.cli.probe_options import with_probe_options
from plink.cli.progress import StageProgress
from plink.cli.way_options import with_listen_options, with_way_options

with lazy_imports():
    from plink.cli import check, probe_action


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink probe hosts.txt -o cluster.json, or, without a file: "
    "echo 'gpu[01-16]' | plink probe - -o cluster.json; groups and their uplinks, too: "
    "plink probe hosts.txt --all -o cluster.json",
)
@click.argument("hosts", required=False)
@with_probe_options
@with_way_options
@with_listen_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
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
    given = given_options(context)
    if options.pop("check") is not None:
        return check.check_as_probe(given, context.params)
    has_all_stages = options.pop("all_stages")
    with StageProgress() as progress:
        if has_all_stages:
            return probe_action.run_all_stages(options, given, progress)
        return probe_action.run_command(options, given, progress)
