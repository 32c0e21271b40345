"""`plink import`: a cluster file from a CSV matrix, or from what another program measured."""

from __future__ import annotations

import click

from plink.cli import talk
from plink.cli.types import FiniteRange

_UNITS = ["ns", "us", "µs", "ms", "s"]


@click.command(epilog="Example: plink import matrix.csv --unit us -o cluster.json")
@click.argument("measured", metavar="FILE")
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
def command(measured: str, unit: str | None, percentile: float, output: str) -> None:
    """Make a cluster file from measurements of other programs (`-`: standard input).

    FILE is a CSV matrix of round-trip times: the first cell names the unit, the first row and the
    first column name the hosts, row is source, and an empty cell was not measured. Or it is the
    output of mpiGraph, or logs of OSU's benchmarks (each run after a line `# pair: A B`) or of
    nccl-tests, of pairs of hosts. A host's name becomes its address.
    """
    from plink.files import cluster, document  # noqa: PLC0415  numpy would slow `--help`
    from plink.importing.source import import_measurement  # noqa: PLC0415

    document.check_writable(output)
    document.refuse_same_file(measured, output)
    content = document.read_bytes(measured)
    source = document.label(measured)
    found = import_measurement(content, source, unit=unit, percentile=percentile)
    cluster.write(output, found)
    if found.rtt is not None:
        for note in found.rtt.notes:
            talk.note(note)
