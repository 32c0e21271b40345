"""`plink group`: find the groups of hosts that are near each other."""

from __future__ import annotations

from typing import Any

import click

from plink.cli.options import FiniteRange, with_seed_option


@click.command(epilog="Example: plink group cluster.json --truth racks.txt")
@click.argument("file", metavar="CLUSTER")
@click.option(
    "-o", "--output", metavar="FILE", help="Where the cluster with groups goes (default: CLUSTER)."
)
@click.option(
    "--k",
    "groups",
    type=click.IntRange(1, 1 << 16),
    help="How many groups (default: what the distances show; √N with linkage and kmeans).",
)
@click.option(
    "--elasticity",
    type=FiniteRange(1.0, 2.0),
    help="How uneven groups may be, from 1 (balanced) to 2 (default: 2).",
)
@click.option(
    "--method",
    type=click.Choice(["auto", "levels", "linkage", "kmeans"]),
    default="auto",
    show_default=True,
    help="levels: groups as the distances show them. linkage, kmeans: balanced ones.",
)
@click.option(
    "--truth",
    metavar="FILE",
    help="Where hosts really stand, a line row1/rack3: HOSTS each; say how well that was found.",
)
@with_seed_option()
@click.option("--json", "as_json", is_flag=True, help="Print groups and capacities as JSON.")
def command(**options: Any) -> int:
    """Find the groups of hosts that are near each other, and write them into the cluster file.

    Where the distances show no groups it says so and writes none. `-` is standard input or output.
    """
    from plink.cli.group_action import Request, run  # noqa: PLC0415  numpy would slow `--help`

    return run(Request(**options))
