"""`plink order`: find a better rank order, or write one for a launcher."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from plink.cli.types import FiniteRange

_OF_THE_SEARCH = {
    "algorithm": "--algo",
    "percentile": "--percentile",
    "time_limit_s": "--time-limit",
    "seed": "--seed",
}
_FORMATS = "hosts, openmpi, openmpi-rankfile, mpich, torchrun or env"


@click.command(
    epilog="Example: plink order cluster.json --algo ring --format openmpi -o hostfile",
)
@click.argument("file", metavar="CLUSTER")
@click.option(
    "--algo",
    "algorithm",
    type=click.Choice(["ring"]),
    default="ring",
    show_default=True,
    help="The collective's algorithm that the order is for.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the order or the launcher's file goes.")
@click.option(
    "--format", "format_name", metavar="NAME", help=f"Write a launcher's file: {_FORMATS}."
)
@click.option(
    "--slots", type=click.IntRange(1, 1 << 16), help="Ranks on every host (default: the file's)."
)
@click.option(
    "--percentile",
    type=FiniteRange(0, 100),
    help="Which one stands for a pair (default: the file's reading).",
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=FiniteRange(0, 86_400, min_open=True),
    default=2.0,
    show_default=True,
    help="Seconds to search.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 63) - 1),
    default=0,
    show_default=True,
    help="Seed of the random choices.",
)
@click.option("--json", "as_json", is_flag=True, help="Print order and costs as JSON.")
def command(**options: Any) -> int:
    """Find a better rank order and write the launcher's file.

    Reads a cluster file, or an order file made before (nothing is searched then); `-` is standard
    input or output. Ctrl-C ends the search and keeps the best order so far.
    """
    from plink.cli.order_action import Request, run  # noqa: PLC0415  numpy would slow `--help`

    context = click.get_current_context()
    given = [
        option
        for name, option in _OF_THE_SEARCH.items()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    return run(Request(**options, given_options=given))
