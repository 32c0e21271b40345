"""`plink show`: look at a cluster, an order, a plan, a comparison or a log of autotune's."""

from __future__ import annotations

import click

from plink.cli.types import FiniteRange


@click.command(epilog="Example: plink show cluster.json --percentile 50")
@click.argument("file", metavar="FILE")
@click.option("--percentile", type=FiniteRange(0, 100), help="Which percentile to show.")
@click.option(
    "--width", type=click.IntRange(40, 500), help="Columns to use (default: the terminal's)."
)
@click.option("--json", "as_json", is_flag=True, help="Print summary statistics as JSON.")
def command(file: str, percentile: float | None, width: int | None, as_json: bool) -> None:
    """Look at a cluster, order, plan or comparison file, or autotune's log (`-`: standard input).

    A cluster's hosts are sorted so that near ones stand together. In its picture a row is a
    source, a column a destination, and bright is near.
    """
    from plink.show.terminal.show import show  # noqa: PLC0415  rich and numpy would slow `--help`

    show(file, percentile=percentile, width=width, as_json=as_json)
