"""`plink probe --tool uplinks` where it differs from the tools that measure pairs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.cli.resume_command import resume_command
from plink.cli.stderr import warn
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.groups import Group
from plink.measure.probing.group_list import read_groups
from plink.measure.probing.limits import UPLINKS
from plink.measure.probing.uplinks import UplinkResult
from plink.show.terminal.bandwidth import uplink_lines


def chosen_groups(
    path: str | None, tool: str, earlier: Cluster | None, names: Collection[str], listed_in: str
) -> Sequence[Group]:
    """The groups to measure: those of a file, or else of an earlier run; none for other tools.

    Args:
        path: the file, or None.
        names: of the hosts, which are listed in `listed_in`.

    Raises:
        WrongUseError: the file is wrong, or there are no two groups.
    """
    if tool != UPLINKS:
        return ()
    groups: Sequence[Group] = () if earlier is None else earlier.groups
    if path is not None:
        groups = read_groups(path, names, listed_in)
    if not groups:
        raise WrongUseError(
            "which hosts form groups is not known", "give --groups FILE, a line NAME: HOSTS each"
        )
    if len(groups) == 1:
        raise WrongUseError(
            f"there is one group, {groups[0].name}",
            "an uplink is what a group exchanges with the hosts of other groups",
        )
    return groups


def report_uplinks(result: UplinkResult, output: str, again: str | None = None) -> int:
    """Say what was found, which is written by now; return the exit code.

    Args:
        again: what goes on where it was interrupted; None for the command of the uplinks alone.
    """
    cluster, measurement = result.cluster, result.measurement
    if result.interrupted:
        warn(f"interrupted; go on with: {again or resume_command(UPLINKS, output)}")
    for line in uplink_lines(cluster):
        click.echo(line, err=True)
    where = "" if output == document.STANDARD_STREAM else f" -> {output}"
    whole = [uplink for uplink in measurement.uplinks if uplink.is_whole]
    click.echo(
        f"{len(cluster.hosts)} hosts, {len(whole)} of {len(cluster.groups)} groups, "
        f"{measurement.seconds:.1f} s of probing{where}",
        err=True,
    )
    missing = cluster.unreachable or measurement.failures or len(whole) < len(cluster.groups)
    return EXIT_PARTIAL if missing else 0
