"""`plink plan`: plan an aggregation that follows the network."""

from __future__ import annotations

from typing import Any

import click

from plink.cli.options import with_seed_option


@click.command(epilog="Example: plink plan cluster.json --size 20MB -o plan.json")
@click.argument("file", metavar="CLUSTER")
@click.option(
    "--kind",
    type=click.Choice(["auto", "2lha", "flat", "ring", "tree"]),
    default="auto",
    show_default=True,
    help="2lha: two levels, by groups. flat: a star for every rank. ring: chunks round a ring. "
    "tree: the double binary tree. auto: what is predicted to be best.",
)
@click.option(
    "--size",
    metavar="SIZE",
    default="100MB",
    show_default=True,
    help="Of the buffer that the plan is for: 20MB, 4KiB, 1024.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the plan goes.")
@click.option(
    "--ranks-per-host",
    type=click.IntRange(1, 1 << 12),
    help="Ranks on every host (default: the file's slots).",
)
@with_seed_option()
@click.option("--json", "as_json", is_flag=True, help="Print all kinds' predictions as JSON.")
def command(**options: Any) -> int:
    """Plan an aggregation that follows the network, and write the plan for plink's engine.

    Reads a cluster file; `-` is standard input or output. Groups of near hosts are the file's
    (plink group), or found then and there.
    """
    from plink.cli.plan_action import Request, run  # noqa: PLC0415  numpy would slow `--help`

    return run(Request(**options))
