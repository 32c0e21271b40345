"""`plink order`: find a better rank order, or write one for a launcher."""

from __future__ import annotations

import click

_FORMATS = "hosts, openmpi, openmpi-rankfile, mpich, torchrun or env"


@click.command(
    epilog="Example: plink order cluster.json --algo ring --format openmpi -o hostfile",
)
@click.argument("file", metavar="CLUSTER")
@click.option(
    "--algo",
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
    "--time-limit",
    "time_limit_s",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=2.0,
    show_default=True,
    help="Seconds to search.",
)
@click.option(
    "--seed", type=click.IntRange(0, (1 << 63) - 1), default=0, show_default=True, help="Of chance."
)
@click.option("--json", "as_json", is_flag=True, help="Print order and costs as JSON.")
def command(
    file: str,
    algo: str,
    output: str | None,
    format_name: str | None,
    slots: int | None,
    time_limit_s: float,
    seed: int,
    as_json: bool,
) -> None:
    """Find a better rank order and write the launcher's file.

    Reads a cluster file, or an order file made before (nothing is searched then); `-` is standard
    input or output. Ctrl-C ends the search and keeps the best order so far.
    """
    from plink.cli.order_action import Request, run  # noqa: PLC0415  numpy would slow `--help`

    run(
        Request(
            file=file,
            algorithm=algo,
            output=output,
            format_name=format_name,
            slots=slots,
            time_limit_s=time_limit_s,
            seed=seed,
            as_json=as_json,
        )
    )
