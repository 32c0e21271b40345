"""`plink predict`: what algorithms are predicted to take. What it does is in `predict_action`."""

from __future__ import annotations

from typing import Any

import click

from plink.cli.options import with_seed_option


@click.command(
    epilog="Example: plink predict order.json --cluster cluster.json --size 20MB --algo gloo-ring",
)
@click.argument("file", metavar="ORDER")
@click.option(
    "--size",
    metavar="SIZE",
    required=True,
    help="Bytes of the buffer on each rank: 20M or 20MB (10^6), 4KiB (2^10), 1024.",
)
@click.option("--cluster", metavar="FILE", help="The cluster file that the order was made from.")
@click.option(
    "--algo",
    "algorithms",
    metavar="NAME",
    multiple=True,
    help="An algorithm; may be given more than once (default: all that take so many ranks).",
)
@click.option(
    "--objective",
    type=click.Choice(["latency", "contention"]),
    help="Which cost to compare (default: contention where bandwidths are known).",
)
@with_seed_option("Of the random orders to compare with.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(**options: Any) -> None:
    """Predict what algorithms take in an order, in the given one and in random ones.

    ORDER is an order file, with the cluster file it was made from as --cluster; or a cluster file,
    which stands for its given order. `-` is standard input.
    """
    from plink.cli.predict_action import Request, run  # noqa: PLC0415  numpy would slow `--help`

    run(Request(**options))
