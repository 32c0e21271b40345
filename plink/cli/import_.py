"""`plink import`: a cluster file from a CSV matrix."""

from __future__ import annotations

import click

from plink.cli import talk
from plink.cli.types import FiniteRange

_UNITS = ["ns", "us", "µs", "ms", "s"]


@click.command(epilog="Example: plink import matrix.csv --unit us -o cluster.json")
@click.argument("matrix", metavar="MATRIX")
@click.option(
    "--unit", type=click.Choice(_UNITS), help="Unit of the numbers, where the first cell has none."
)
@click.option(
    "--percentile",
    type=FiniteRange(0, 100),
    default=10.0,
    show_default=True,
    help="Which percentile of a pair's samples the numbers are.",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Cluster file (default: stdout).")
def command(matrix: str, unit: str | None, percentile: float, output: str) -> None:
    """Make a cluster file from a CSV matrix of round-trip times (`-`: standard input).

    The first cell names the unit, the first row and the first column name the hosts, row is
    source, and an empty cell was not measured. A host's name becomes its address.
    """
    from plink.files import cluster, document  # noqa: PLC0415  numpy would slow `--help`
    from plink.files.import_matrix import import_matrix  # noqa: PLC0415

    document.check_writable(output)
    document.refuse_same_file(matrix, output)
    content = document.read_bytes(matrix)
    found = import_matrix(content, document.label(matrix), unit=unit, percentile=percentile)
    cluster.write(output, found)
    if found.rtt is not None:
        for note in found.rtt.notes:
            talk.note(note)
