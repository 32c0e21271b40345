"""Accuracy of `plink probe --tool uplinks`, in labs whose links are known."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from benchkit.arguments import words
from benchkit.labs import BenchLab, bench_lab
from benchkit.plans import TCP_SHARE
from benchkit.report import Report
from plink.formats import cluster as cluster_file
from plink.formats.groups import Uplink

EXAMPLE = "--shapes even,mixed"
QUICK = "--shapes two --duration 1"

HEADER = (
    "shape",
    "group: hosts",
    "truth, Mbit/s",
    "sends, Mbit/s",
    "receives, Mbit/s",
    "worse error",
    "oversubscribed, truth",
    "oversubscribed, found",
)
HOST_MBIT = 400


@dataclass(frozen=True)
class Shape:
    """Racks: of each its hosts, and what its uplink carries in Mbit/s, frames included."""

    hosts: tuple[int, ...]
    uplinks_mbit: tuple[int, ...]

    def topology(self) -> dict[str, object]:
        """Return the input of `lab up --topology`: a row with its own uplink for each rack."""
        rows = [
            {"racks": [hosts], "uplink_rate": f"{rate}mbit"}
            for hosts, rate in zip(self.hosts, self.uplinks_mbit, strict=True)
        ]
        links = {"host_rate": f"{HOST_MBIT}mbit", "row_uplink_rate": "none"}
        return {**links, "hops": 0, "row_hops": 0, "rows": rows}


SHAPES = {
    "even": Shape((4, 4, 4, 4), (400, 400, 400, 400)),
    "mixed": Shape((4, 4, 4, 4), (400, 200, 400, 200)),
    "unequal": Shape((4, 4, 2, 1), (400, 400, 400, 400)),
    "free": Shape((1, 1, 2, 2), (400, 400, 800, 800)),
    "two": Shape((4, 4), (400, 200)),
    "large": Shape((6, 2), (400, 400)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--duration", default="2", help="of plink probe")
    parser.add_argument("--streams", default="1", help="of plink probe")
    parser.add_argument("--congestion", help="of plink probe")
    parser.add_argument("--shapes", type=words, default=list(SHAPES), help="of the labs")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    options = ["--duration", arguments.duration, "--streams", arguments.streams]
    options += ["--congestion", arguments.congestion] if arguments.congestion else []
    unknown = [name for name in arguments.shapes if name not in SHAPES]
    if unknown:
        raise SystemExit(
            f"error: no shape is called {unknown[0]}\nhint: shapes are {', '.join(SHAPES)}"
        )
    rows = []
    for name in arguments.shapes:
        shape = SHAPES[name]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(shape.topology(), file)
            file.flush()
            with bench_lab("--topology", file.name) as lab:
                found = _measure(lab, options)
        rows += [
            _row(name, rack, hosts, rate_mbit, found[rack])
            for rack, hosts, rate_mbit in zip(
                sorted(found), shape.hosts, shape.uplinks_mbit, strict=True
            )
        ]
    report.table(HEADER, rows)
    known = [float(row[5].split()[0]) for row in rows if "≥" not in row[3] + row[4]]
    if known:
        report.at_most("error of uplinks that are known", 10, max(known), "%")


def _measure(lab: BenchLab, options: list[str]) -> Mapping[str, Uplink]:
    out = lab.probe("--tool", "uplinks", "--groups", lab.write_groups(), *options)
    cluster = cluster_file.read_cluster(str(out))
    uplinks = () if cluster.uplinks is None else cluster.uplinks.uplinks
    return {uplink.group: uplink for uplink in uplinks}


def _row(name: str, rack: str, hosts: int, rate_mbit: int, uplink: Uplink) -> tuple[str, ...]:
    true_mbit = min(rate_mbit, hosts * HOST_MBIT) * TCP_SHARE
    sent, received = (1000 * (rate or 0.0) for rate in (uplink.send_gbit_s, uplink.receive_gbit_s))
    error = max(abs(rate - true_mbit) / true_mbit for rate in (sent, received))
    own_mbit = 1000 * (uplink.hosts_gbit_s or 0.0)
    return (
        name,
        f"{rack}: {hosts}",
        f"{true_mbit:.0f}",
        f"{'≥ ' if uplink.send_is_lower_bound else ''}{sent:.0f}",
        f"{'≥ ' if uplink.receive_is_lower_bound else ''}{received:.0f}",
        f"{100 * error:.1f} %",
        f"{hosts * HOST_MBIT * TCP_SHARE / true_mbit:.2f}",
        f"{own_mbit / min(sent, received):.2f}" if sent and received else "–",
    )
