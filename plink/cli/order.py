"""`plink order`: find a better rank order, or write one for a launcher."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from plink.cli.format_option import CommandWithFormats, with_format_option
from plink.cli.options import FiniteRange, with_seed_option

_OF_THE_SEARCH = {
    "algorithm": "--algo",
    "objective": "--objective",
    "size": "--size",
    "prove_s": "--prove",
    "engine": "--engine",
    "threads": "--threads",
    "ranks": "--ranks",
    "is_interleaved": "--interleave",
    "percentile": "--percentile",
    "time_limit_s": "--time-limit",
    "seed": "--seed",
}


def _list_algorithms(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if not is_asked or context.resilient_parsing:
        return
    from plink.show.terminal.algorithms import print_algorithms  # noqa: PLC0415  as below

    print_algorithms()
    context.exit()


@click.command(
    cls=CommandWithFormats,
    epilog="Example: plink order cluster.json --algo ring --format openmpi -o hostfile",
)
@click.argument("file", metavar="CLUSTER")
@click.option(
    "--algo",
    "algorithm",
    metavar="NAME",
    default="ring",
    show_default=True,
    help="The collective's algorithm that the order is for: ring, halving-doubling, tree, bcube, "
    "gloo-ring, openmpi-rabenseifner, ... (--list-algorithms).",
)
@click.option(
    "--list-algorithms",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_algorithms,
    help="Print every algorithm's name and what it is.",
)
@click.option(
    "--objective",
    type=click.Choice(["latency", "contention", "bandwidth"]),
    help="Sum latencies, predict the time of flows that share links, or widen the bottleneck "
    "(default: contention where the file holds uplinks, else latency; bandwidth where it holds no "
    "round-trip times).",
)
@click.option(
    "--size",
    "size",
    metavar="SIZE",
    default="100MB",
    show_default=True,
    help="Of the buffer, for contention: 20MB, 4KiB, 1024.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the order or the launcher's file goes.")
@with_format_option
@click.option(
    "--ranks",
    metavar="N",
    type=click.IntRange(1, 1 << 24),
    help="How many there are (default: all slots). Of more hosts than are needed, the best are "
    "chosen.",
)
@click.option(
    "--slots", type=click.IntRange(1, 1 << 16), help="Ranks on every host (default: the file's)."
)
@click.option(
    "--interleave",
    "is_interleaved",
    is_flag=True,
    help="Let ranks of a host be apart where that is cheaper; not every launcher can.",
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
@with_seed_option()
@click.option(
    "--prove",
    "prove_s",
    type=FiniteRange(0, 86_400),
    default=0.0,
    metavar="SECONDS",
    help="Let an exact engine look for something strictly better for so long, or prove that there "
    "is nothing.",
)
@click.option(
    "--engine",
    type=click.Choice(["cp-sat", "z3"]),
    default="cp-sat",
    show_default=True,
    help="Which one --prove asks: OR-Tools' CP-SAT, or Z3 as in Luo 2020.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Searches at the same time.",
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
