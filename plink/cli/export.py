"""`plink export`: a measured matrix as CSV."""

from __future__ import annotations

import click


@click.command(epilog="Example: plink export cluster.json --percentile 50 -o matrix.csv")
@click.argument("cluster_file", metavar="CLUSTER.json")
@click.option(
    "--percentile", type=click.FloatRange(0, 100), help="Which one (default: the file's reading)."
)
@click.option(
    "--unit",
    type=click.Choice(["ns", "us", "ms", "s"]),
    default="us",
    show_default=True,
    help="Unit of the numbers.",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="CSV file (default: stdout).")
def command(cluster_file: str, percentile: float | None, unit: str, output: str) -> None:
    """Write a measured matrix as CSV (`-`: standard input).

    The first cell is the unit, the first row and the first column name the hosts, row is source,
    and an empty cell was not measured.
    """
    from plink.errors import WrongUseError  # noqa: PLC0415  numpy would slow `--help`
    from plink.files import cluster, document, matrix_csv  # noqa: PLC0415

    found, _ = cluster.read(cluster_file)
    if found.rtt is None:
        raise WrongUseError(f"{document.label(cluster_file)}: holds no round-trip times")
    _, readings_us = cluster.readings_at(found.rtt, percentile, document.label(cluster_file))
    document.write_bytes(output, matrix_csv.render(found.names, readings_us, unit))
