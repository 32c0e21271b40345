"""`plink export`: a measured matrix as CSV."""

from __future__ import annotations

import click

from plink.cli.types import FiniteRange


@click.command(epilog="Example: plink export cluster.json --percentile 50 -o matrix.csv")
@click.argument("cluster_file", metavar="CLUSTER")
@click.option(
    "--percentile", type=FiniteRange(0, 100), help="Which one (default: the file's reading)."
)
@click.option(
    "--unit",
    type=click.Choice(["ns", "us", "µs", "ms", "s"]),
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
    from plink.files import cluster, document, matrix_csv  # noqa: PLC0415  numpy slows `--help`
    from plink.files.rtt import readings_at  # noqa: PLC0415

    document.check_writable(output)
    document.refuse_same_file(cluster_file, output)
    found, _ = cluster.read(cluster_file)
    source = document.label(cluster_file)
    rtt = cluster.measured_rtt(found, source)
    _, readings_us = readings_at(rtt, percentile, source)
    named = matrix_csv.unit_named(unit) or unit
    document.write_bytes(output, matrix_csv.render(found.names, readings_us, named))
