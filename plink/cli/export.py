"""`plink export`: write a measured matrix as CSV, or measured groups as a topology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import given_names, option
from plink.cli.json_output import check_output, json_option, print_json
from plink.cli.request_options import with_request

with lazy_imports():
    from plink.deploy import topologies
    from plink.formats import cluster, document, matrix_csv, measurements, outputs
    from plink.formats import hosts as file_hosts


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """Options of `plink export`: the format, and a matrix's quantity, percentile and unit."""

    kind: Literal["csv", "slurm-topology", "topograph"] = option(
        "csv",
        "--format",
        help="csv: a matrix. slurm-topology: topology.conf, with groups and wider groups as a tree "
        "of switches. topograph: the same in the format of topograph's graph engine.",
    )
    quantity: Literal["rtt", "bandwidth"] = option(
        "rtt", help="Quantity to export: round-trip times, or bandwidths in Gbit/s."
    )
    percentile: float | None = option(
        None,
        low=0,
        high=100,
        help="Percentile of the round-trip times (default: the file's reading).",
    )
    unit: Literal["ns", "us", "µs", "ms", "s"] | None = option(
        None, help="Unit of the times.  [default: us]"
    )

    def validate(self) -> None:
        """Raise if an option does not apply to the format or the quantity."""
        for name in given_names(self):
            if self.kind != "csv" and name != "kind":
                raise WrongUseError(
                    f"{{{name}}} applies to {{kind=csv}}, not to {self.kind}", arguments=vars(self)
                )
            if self.quantity == "bandwidth" and name in ("percentile", "unit"):
                raise WrongUseError(
                    "{percentile} and {unit} apply only to round-trip times", arguments=vars(self)
                )


@click.command(
    epilog="Example: plink export cluster.json --percentile 50 -o matrix.csv, or "
    "plink export cluster.json --format slurm-topology -o topology.conf"
)
@click.argument("cluster_file", metavar="CLUSTER")
@with_request(ExportRequest)
@click.option("-o", "--output", metavar="FILE", help="File to write (default: stdout).")
@json_option("Print the matrix, or the switches, as JSON.")
def command(
    *, cluster_file: str, request: ExportRequest, output: str | None, as_json: bool
) -> None:
    """Write a measured matrix as CSV, or the groups as a topology (`-`: standard input).

    CSV: the first cell is the unit, the first row and the first column name the hosts, row is
    source, and an empty cell was not measured. A topology is for schedulers, and needs a file with
    groups (plink group).
    """
    if output is None and not as_json:
        output = document.STANDARD_STREAM
    is_csv = request.kind == "csv"
    what = "the CSV" if is_csv else "the topology"
    check_output(output, what, cluster_file, as_json=as_json)
    found = cluster.read_cluster(cluster_file)
    exported: outputs.ExportedMatrix | outputs.ExportedTopology
    if not is_csv:
        content = topologies.FORMATS[request.kind](found).encode()
        tiers = [
            [file_hosts.Group(name, list(hosts)) for name, hosts in tier.items()]
            for tier in topologies.list_switches(found)
        ]
        exported = outputs.ExportedTopology(request.kind, tiers)
    elif request.quantity == "bandwidth":
        values = cluster.require_bandwidth(found).gbit_s
        content = matrix_csv.render(found.names, values, "Gbit/s")
        exported = outputs.ExportedMatrix("bandwidth", "gbit_s", None, found.names, values)
    else:
        rtt = cluster.require_rtt(found)
        chosen, readings_us = measurements.readings_at(rtt, request.percentile, found.source)
        unit = "us" if request.unit in (None, "µs") else request.unit
        content = matrix_csv.render(found.names, readings_us, unit)
        values = readings_us * 10.0 ** matrix_csv.UNITS[unit]
        exported = outputs.ExportedMatrix("rtt", unit, chosen, found.names, values)
    if output is not None:
        document.write_bytes(output, content)
    if as_json:
        print_json(exported)
