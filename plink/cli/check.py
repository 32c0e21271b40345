"""`plink check`: check whether a cluster file still describes its network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from plink.base.next_command import next_command
from plink.cli.given import WAY, all_words
from plink.cli.listen_options import with_listen_options
from plink.cli.options import SectionedCommand, given_options
from plink.cli.probe_options import with_check_options
from plink.cli.progress import StageProgress
from plink.cli.stderr import note
from plink.cli.way_options import with_way_options


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink check cluster.json && mpirun --hostfile hostfile ./job",
)
@click.argument("cluster")
@with_check_options
@with_way_options
@with_listen_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
    """Measure a small sample of CLUSTER's pairs again, and tell whether it is still valid.

    CLUSTER is a file that plink probe wrote; it says how it was measured, and that is how it is
    measured again. Nothing is written. The exit code is 0 where the file still describes the
    network, 4 where it does not, 3 where that is all that could be measured.
    """
    return _run(options, given_options(context))


# What `plink probe --check` takes: the file says the rest, such as the tool and the percentile.
_WITH_CHECK = {
    *("check", "as_json", "count", "passes", "precision_percent", "rounds", "seed", "concurrency"),
    *("timeout_s", "network", "interface", "port", "nics", "remote_cache"),
    *WAY,
}


def check_as_probe(given: Mapping[str, str], options: Mapping[str, Any]) -> int:
    """Run `plink probe --check FILE`, an old spelling, with a note on the new one.

    Args:
        given: what the command line gives, and how a user writes it.
        options: all of `plink probe`.
    """
    for name, written in given.items():
        if name not in _WITH_CHECK:
            raise click.UsageError(f"{written} cannot be combined with --check.")
    values = {name: value for name, value in options.items() if name in _WITH_CHECK}
    values["cluster"], values["partners"] = values.pop("check"), values.pop("rounds")
    note(f"use the present spelling: {next_command('check', values['cluster'], *all_words())}")
    return _run(values, given)


def _run(options: dict[str, Any], given: Mapping[str, str]) -> int:
    from plink.cli.check_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    with StageProgress() as progress:
        return run_command(options, given, progress)
