"""`plink export`: a measured matrix as CSV."""

from __future__ import annotations

import click

from plink.cli.options import FiniteRange


@click.command(epilog="Example: plink export cluster.json --percentile 50 -o matrix.csv")
@click.argument("cluster_file", metavar="CLUSTER")
@click.option(
    "--quantity",
    type=click.Choice(["rtt", "bandwidth"]),
    default="rtt",
    show_default=True,
    help="Round-trip times, or bandwidths in Gbit/s.",
)
@click.option(
    "--percentile", type=FiniteRange(0, 100), help="Which one (default: the file's reading)."
)
@click.option(
    "--unit",
    type=click.Choice(["ns", "us", "µs", "ms", "s"]),
    help="Unit of the times.  [default: us]",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="CSV file (default: stdout).")
def command(
    cluster_file: str, quantity: str, percentile: float | None, unit: str | None, output: str
) -> None:
    """Write a measured matrix as CSV (`-`: standard input).

    The first cell is the unit, the first row and the first column name the hosts, row is source,
    and an empty cell was not measured.
    """
    from plink.files import cluster, document, matrix_csv  # noqa: PLC0415  numpy slows `--help`
    from plink.files.rtt import readings_at  # noqa: PLC0415

    if quantity == "bandwidth" and (percentile is not None or unit is not None):
        raise click.UsageError("--percentile and --unit are for round-trip times.")
    document.check_writable(output)
    document.refuse_same_file(cluster_file, output)
    found = cluster.read(cluster_file)
    source = document.label(cluster_file)
    if quantity == "bandwidth":
        gbit_s = cluster.measured_bandwidth(found, source).gbit_s
        content = matrix_csv.render_bandwidth(found.names, gbit_s)
    else:
        rtt = cluster.measured_rtt(found, source)
        _, readings_us = readings_at(rtt, percentile, source)
        named = matrix_csv.unit_named(unit or "us") or "us"
        content = matrix_csv.render(found.names, readings_us, named)
    document.write_bytes(output, content)
