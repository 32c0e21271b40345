"""`plink import`: make a cluster file from CSV or from another program's output."""

from __future__ import annotations

import click

from plink.base.errors import EXIT_PARTIAL
from plink.base.lazy import lazy_imports
from plink.cli.json_output import check_output, json_option, print_json
from plink.cli.request_options import with_request
from plink.cli.stderr import name_some, note
from plink.measure.requests import ImportRequest

with lazy_imports():
    from plink.formats import cluster
    from plink.measure.importing import source as importing_source


@click.command(epilog="Example: plink import nccl.log --size 32MiB -o cluster.json")
@click.argument("measured", metavar="FILE...", nargs=-1, required=True)
@with_request(ImportRequest)
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="Cluster file (default: stdout); .npz for thousands of hosts.",
)
@json_option("Print a summary of the import as JSON.")
def command(
    *, measured: tuple[str, ...], request: ImportRequest, output: str, as_json: bool
) -> int:
    """Make a cluster file from measurements of other programs (`-`: standard input).

    A FILE is a log of nccl-tests, of OSU's benchmarks or of perftest (ib_read_lat, ib_write_bw;
    each run after a line `# pair: A B`), or the output of mpiGraph; or a table (CSV, or separated
    by tabs, semicolons or Markdown's bars): with a row for every pair (source, destination, rtt_ms,
    bandwidth_Gbit_s, bytes), or a matrix of round-trip times, whose first cell names the unit,
    whose first row and column name the hosts (row is source), and whose empty cells were not
    measured. Several logs and lists, or a folder of them, are read as one. A name that ends in
    .toml is a network that you describe (plink predict --network). A host's name becomes its
    address. A cluster file is written in the form that the name after -o asks for: JSON, packed
    (.gz), or NumPy's (.npz).
    """
    check_output(output, "the cluster", as_json=as_json, has_matrices=True)
    files = importing_source.list_files(measured)
    check_output(output, "the cluster", *files, has_matrices=True)
    found, files_left_out = importing_source.import_files(files, request)
    cluster.write_cluster(output, found)
    parts = [part for part in (found.rtt, found.bandwidth) if part is not None]
    name_some([text for part in parts for text in part.notes], "notes in the file", note)
    if as_json:
        print_json(importing_source.describe_import(found, output))
    failures = [failure for part in parts for failure in part.failures]
    name_some(failures, "missing pairs, named in the file")
    return EXIT_PARTIAL if failures or files_left_out else 0
