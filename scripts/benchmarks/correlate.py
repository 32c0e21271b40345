"""Rank correlation of predicted costs and measured times of orders, in an oversubscribed lab."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from typing import Any

from benchkit.arguments import add_keep, add_lab, add_seed, lab_options, words
from benchkit.labs import bench_lab
from benchkit.report import Report

EXAMPLE = "--clients gloo:ring,openmpi:rabenseifner --keep correlations"
QUICK = "--size 1MB --orders spread:4 --rounds 1"
HEADER = (
    "client",
    "algorithm",
    "orders",
    "samples an order",
    "measured, s (least to most)",
    "predicted, s (least to most)",
    "Spearman by latency (95 %)",
    "Spearman by contention (95 %)",
)
# By contention.
ASKED = {
    "gloo:ring": 0.95,
    "openmpi:rabenseifner": 0.9,
    "openmpi:recursive-doubling": 0.9,
    "mpich:reduce-scatter-allgather": 0.9,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--clients", type=words, default=["gloo:ring"], help="client:algorithm,...")
    parser.add_argument("--size", default="10MB", help="of the buffer")
    parser.add_argument("--orders", default="spread:12", help="of plink bench")
    parser.add_argument("--rounds", default="3", help="of plink bench")
    parser.add_argument("--repetitions", default="1", help="of plink bench")
    add_lab(parser)
    add_seed(parser)
    add_keep(parser, "the results and plots")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    with bench_lab(*lab_options(arguments)) as lab:
        cluster = lab.probe()
        lab.plink("probe", "--resume", cluster, "--tool", "uplinks", "--groups", lab.write_groups())
        results: dict[str, dict[str, Any]] = {}
        for pair in arguments.clients:
            client, _, algorithm = pair.partition(":")
            which = ("--client", client, "--algo", algorithm, "--size", arguments.size)
            how = ("--rounds", arguments.rounds, "--repetitions", arguments.repetitions)
            orders = ("--correlate", "--orders", arguments.orders, "--seed", arguments.seed)
            plot = ("--plot", lab.dir / "plot.svg")
            done = lab.plink("bench", cluster, *which, *how, *orders, *plot, "--json")
            results[pair] = json.loads(done.stdout)
            if arguments.keep is not None:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / f"{client}-{algorithm}.json").write_text(done.stdout)
                text = (lab.dir / "plot.svg").read_text()
                (arguments.keep / f"{client}-{algorithm}.svg").write_text(text)
                (arguments.keep / "cluster.json").write_text(cluster.read_text())
    report.table(HEADER, map(_row, results.values()))
    for pair, result in results.items():
        found = result["spearman"]["contention"]
        if pair in ASKED:
            value = math.nan if found is None else found["value"]
            report.at_least(f"{pair}: Spearman by contention", ASKED[pair], value)


def _row(result: Mapping[str, Any]) -> tuple[str, ...]:
    """A row under `HEADER`, of the JSON of `plink bench --correlate`."""
    rows = result["rows"]
    return (
        result["client"],
        result["algorithm"],
        str(len(rows)),
        str(len(rows[0]["samples_s"])),
        _range([row["median_s"] for row in rows]),
        _range([row["predicted_s"] for row in rows]),
        _correlation(result["spearman"]["latency"]),
        _correlation(result["spearman"]["contention"]),
    )


def _range(values_s: list[float]) -> str:
    return f"{min(values_s):.3f} to {max(values_s):.3f}"


def _correlation(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "–"
    return f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
