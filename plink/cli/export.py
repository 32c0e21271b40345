"""`plink export`: write a measured matrix as CSV, or measured groups as a topology."""

from __future__ import annotations

import click

from plink.base.lazy import lazy_imports
from plink.cli.json_output import check_output, print_json
from plink.cli.options import FiniteRange, given_options

with lazy_imports():
    from plink.deploy import topologies
    from plink.formats import cluster, document, matrix_csv, measurements, outputs, units
    from plink.formats import hosts as file_hosts


@click.command(
    epilog="Example: plink export cluster.json --percentile 50 -o matrix.csv, or "
    "plink export cluster.json --format slurm-topology -o topology.conf"
)
@click.argument("cluster_file", metavar="CLUSTER")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "slurm-topology", "topograph"]),
    default="csv",
    show_default=True,
    help="csv: a matrix. slurm-topology: topology.conf, with groups and wider groups as a tree "
    "of switches. topograph: the same in the format of topograph's graph engine.",
)
@click.option(
    "--quantity",
    type=click.Choice(["rtt", "bandwidth"]),
    default="rtt",
    show_default=True,
    help="Quantity to export: round-trip times, or bandwidths in Gbit/s.",
)
@click.option(
    "--percentile",
    type=FiniteRange(0, 100),
    help="Percentile of the round-trip times (default: the file's reading).",
)
@click.option(
    "--unit",
    type=click.Choice(["ns", "us", "µs", "ms", "s"]),
    help="Unit of the times.  [default: us]",
)
@click.option("-o", "--output", metavar="FILE", help="File to write (default: stdout).")
@click.option("--json", "as_json", is_flag=True, help="Print the matrix, or the switches, as JSON.")
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    cluster_file: str,
    kind: str,
    quantity: str,
    percentile: float | None,
    unit: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Write a measured matrix as CSV, or the groups as a topology (`-`: standard input).

    CSV: the first cell is the unit, the first row and the first column name the hosts, row is
    source, and an empty cell was not measured. A topology is for schedulers, and needs a file with
    groups (plink group).
    """
    if kind != "csv":
        for name, written in given_options(context).items():
            if name in {"quantity", "percentile", "unit"}:
                raise click.UsageError(f"{written} applies to --format csv, not to {kind}.")
    if quantity == "bandwidth" and (percentile is not None or unit is not None):
        raise click.UsageError("--percentile and --unit apply only to round-trip times.")
    if output is None:
        output = None if as_json else document.STANDARD_STREAM
    what = "the CSV" if kind == "csv" else "the topology"
    check_output(output, what, cluster_file, as_json=as_json)
    found = cluster.read_cluster(cluster_file)
    exported: outputs.ExportedMatrix | outputs.ExportedTopology
    if kind != "csv":
        content = topologies.FORMATS[kind](found).encode()
        tiers = [
            [file_hosts.Group(name, list(hosts)) for name, hosts in tier.items()]
            for tier in topologies.list_switches(found)
        ]
        exported = outputs.ExportedTopology(kind, tiers)
    elif quantity == "bandwidth":
        values = cluster.require_bandwidth(found).gbit_s
        content = matrix_csv.render(found.names, values, "Gbit/s")
        exported = outputs.ExportedMatrix("bandwidth", "gbit_s", None, found.names, values)
    else:
        rtt = cluster.require_rtt(found)
        chosen, readings_us = measurements.readings_at(rtt, percentile, found.source)
        named = units.find_time_unit_by_name(unit or "us") or "us"
        content = matrix_csv.render(found.names, readings_us, named)
        values = readings_us * 10.0 ** matrix_csv.UNITS[named]
        exported = outputs.ExportedMatrix("rtt", named, chosen, found.names, values)
    if output is not None:
        document.write_bytes(output, content)
    if as_json:
        print_json(exported)
