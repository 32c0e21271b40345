"""`plink import`: a cluster file from a CSV matrix, or from what another program measured."""

from __future__ import annotations

import click

from plink.cli import stderr
from plink.cli.json_output import refuse_json_beside
from plink.cli.options import FiniteRange, size_option

_UNITS = ["ns", "us", "µs", "ms", "s"]


@click.command(epilog="Example: plink import nccl.log --size 32MiB -o cluster.json")
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
@click.option(
    "--size",
    metavar="SIZE",
    help="Size of the messages whose bandwidth counts, as 32MiB (default: the fastest of any).",
)
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="Cluster file (default: stdout); .npz for thousands of hosts.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(
    *,
    measured: str,
    unit: str | None,
    percentile: float,
    size: str | None,
    output: str,
    as_json: bool,
) -> int:
    """Make a cluster file from measurements of other programs (`-`: standard input).

    FILE is a CSV matrix of round-trip times: the first cell names the unit, the first row and the
    first column name the hosts, row is source, and an empty cell was not measured. Or it is the
    output of mpiGraph, or logs of OSU's benchmarks or of perftest (ib_read_lat, ib_write_bw; each
    run after a line `# pair: A B`), or of nccl-tests, of pairs of hosts, or CSV with a row for
    every pair (source, destination, bytes, gbit_s). A name that ends in .toml is a network that you
    describe (plink predict --network). A host's name becomes its address. A cluster
    file is written in the form that the name after -o asks for: JSON, packed (.gz), or NumPy's
    (.npz).
    """
    from plink.base.errors import EXIT_PARTIAL  # noqa: PLC0415  numpy would slow `--help`
    from plink.files import cluster, document  # noqa: PLC0415
    from plink.measure.importing.source import described, import_measurement  # noqa: PLC0415

    refuse_json_beside(output, "the cluster", as_json=as_json)
    document.check_writable(output, has_matrices=True)
    document.refuse_same_file(measured, output)
    content = document.read_content(measured)
    source = document.label(measured)
    size_bytes = None if size is None else size_option(size)
    found = import_measurement(content, source, unit=unit, percentile=percentile, size=size_bytes)
    cluster.write(output, found)
    for part in (found.rtt, found.bandwidth):
        for note in () if part is None else part.notes:
            stderr.note(note)
    if as_json:
        document.write_bytes(
            document.STANDARD_STREAM, document.dump({"output": output, **described(found)})
        )
    failures = () if found.bandwidth is None else found.bandwidth.failures
    for failure in failures:
        stderr.warn(f"{failure.source} and {failure.destination}: {failure.reason}")
    return EXIT_PARTIAL if failures else 0
