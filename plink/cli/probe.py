"""`plink probe`: measure every pair of hosts. What it does is in `probe_action`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from plink.cli.options import SectionedCommand
from plink.cli.probe_options import with_probe_options
from plink.cli.progress import StageProgress
from plink.cli.ssh_options import with_ssh_options
from plink.cli.transfer_options import with_transfer_options
from plink.cli.unused_options import given_options, refuse_beside_all, refuse_unused


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink probe hosts.txt -o cluster.json, or, without a file: "
    "echo 'gpu[01-16]' | plink probe - -o cluster.json; groups and their uplinks, too: "
    "plink probe hosts.txt --all -o cluster.json",
)
@click.argument("hosts", required=False)
@with_probe_options
@with_transfer_options
@with_ssh_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
    """Measure the round-trip time of every pair of hosts, in both directions, over SSH.

    HOSTS is a file with a host a line (user@host:port, ranges such as gpu[01-16], `slots=8`, a
    Slurm node list, comments), or - for standard input; also a topology.conf, or what kubectl get
    nodes -o json and the clouds' own tools list as JSON. @slurm stands for the hosts of this Slurm
    job. With --resume it may be left out.

    With --all, groups are found among the hosts, as plink group does, and what their uplinks carry
    is measured, as --tool uplinks does; without groups, uplinks are left out.

    With --check nothing is written, and the exit code is 0 where the file still describes the
    network, 4 where it does not, 3 where that is all that could be measured.
    """
    given = given_options(context)
    if options["check"] is not None:
        return _check(given, options)
    if options["as_json"]:
        raise click.UsageError("--json goes with --check.")
    if options["all_stages"]:
        return _all(given, options)
    refuse_unused(given, options["tool"], f"not {options['tool']}")
    del options["check"], options["as_json"], options["all_stages"]
    from plink.cli.probe_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    with StageProgress() as progress:
        return run_command(options, progress)


def _all(given: Mapping[str, str], options: dict[str, Any]) -> int:
    refuse_beside_all(given)
    del options["check"], options["as_json"], options["all_stages"]
    from plink.cli.probe_all_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    with StageProgress() as progress:
        return run_command(options, progress)


# The file says the rest, such as the tool and the percentile.
_WITH_CHECK = {
    *("check", "as_json", "count", "passes", "precision_percent", "rounds", "seed", "concurrency"),
    *("timeout_s", "network", "interface", "port", "nics", "remote_cache"),
    *("ssh_config", "identity", "user", "accept_new_host_keys", "ssh_concurrency"),
}


def _check(given: Mapping[str, str], options: dict[str, Any]) -> int:
    for name, written in given.items():
        if name not in _WITH_CHECK:
            raise click.UsageError(f"{written} does not go with --check.")
    from plink.cli.check_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    with StageProgress() as progress:
        return run_command(options, given, progress)
