"""Predicted times against measured ones, on labs drawn at random, by client, size and shape.

Each lab is described in a file (rates as they were set), clients are fitted on eight of its hosts
(`plink fit`), and then run on all of them in several orders (`plink bench`); what was predicted for
each case is compared. Labs from seed 5005 on were looked at by nobody who tuned anything.
`--write docs/accuracy.md` puts tables and plot there.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchkit.accuracy_labs import AccuracyLab, draw
from benchkit.accuracy_tables import (
    CASES_HEADER,
    SUMMARY_HEADER,
    Case,
    figures_of,
    plot,
    summary_rows,
    write_page,
)
from benchkit.arguments import add_keep, words
from benchkit.labs import BenchLab, bench_lab
from benchkit.report import Report
from plink.bench.plans import plans_of_kinds
from plink.formats import cluster as cluster_file
from plink.formats.clients import ClientFit, Estimate
from plink.formats.cluster import Cluster
from plink.measure.importing.described import import_network
from plink.optimize.expected import Expected, ExpectedTimes
from plink.optimize.fitting import Costs, Reading, fit_client
from plink.optimize.plans.forecasting import predict_plan_time
from plink.optimize.plans.traffic import Demand, build_traffic
from plink.plans.names import ALL_REDUCE
from plink.solvers.collectives.registry import find

EXAMPLE = "--labs 2 --first 5005 --write docs/accuracy.md"
QUICK = "--labs 1 --first 1 --clients openmpi:rabenseifner --size 1MB,4MB "
QUICK += "--orders given,plink --repetitions 2"
CLIENTS = (
    "gloo:ring;openmpi:ring,rabenseifner,recursive-doubling;"
    "mpich:ring,reduce-scatter-allgather,recursive-doubling;engine:ring,2lha,flat"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the benchmark's options."""
    parser.add_argument("--labs", type=int, default=3, help="how many")
    parser.add_argument("--first", type=int, default=5005, help="seed of the first lab")
    parser.add_argument("--clients", default=CLIENTS, help="client:algorithm,...;client:...")
    parser.add_argument("--size", type=words, default=words("64KB,1MB,20MB"), help="of the buffer")
    parser.add_argument("--orders", default="given,plink", help="of plink bench")
    parser.add_argument("--repetitions", default="2", help="of plink bench")
    parser.add_argument("--python", metavar="PATH", help="the interpreter that has torch")
    parser.add_argument("--again", metavar="DIR", type=Path, help="predict what was kept, anew")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="a page with marks for tables")
    add_keep(parser, "clusters and results")


@dataclass(frozen=True)
class _Way:
    client: str
    algorithms: str


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the tables."""
    ways = [_Way(*part.split(":")) for part in arguments.clients.split(";")]
    kept = arguments.again or arguments.keep
    cases: list[Case] = []
    labs = [draw(arguments.first + number) for number in range(arguments.labs)]
    # Of what was kept nobody knows any more.
    load = "not known" if arguments.again else f"{os.getloadavg()[0]:.1f}"
    with tempfile.TemporaryDirectory() as scratch:
        for lab in labs:
            folder = (kept or Path(scratch)) / f"lab-{lab.seed}"
            folder.mkdir(parents=True, exist_ok=True)
            if arguments.again is None:
                _measure(lab, ways, arguments, folder)
            cases += _compare(lab, folder, is_again=arguments.again is not None)
    report.say("Labs: " + "; ".join(f"{lab.seed}: {lab.hosts} hosts, {lab}" for lab in labs))
    report.say(f"The load of other work was {load} when it began.")
    report.table(SUMMARY_HEADER, summary_rows(cases), "By client and size")
    report.table(CASES_HEADER, [case.row() for case in cases], "Every case")
    report.measured = [case.to_json() for case in cases]
    found = figures_of(cases)
    report.at_most("median absolute error", 10.0, found.median_percent, "%")
    report.at_most("95th percentile of it", 25.0, found.p95_percent, "%")
    report.at_least("times within the stated 90 % intervals", 90.0, found.within_percent, "%")
    report.at_least("least Spearman of a client and size", 0.95, found.least_spearman)
    report.at_most("cases for which no time is told", 0.0, found.refused_percent, "%")
    if arguments.write is not None:
        write_page(arguments.write, labs, cases, load)
        arguments.write.with_suffix(".svg").write_text(plot(cases))


def _measure(
    lab: AccuracyLab, ways: Sequence[_Way], arguments: argparse.Namespace, folder: Path
) -> None:
    """Fit and run all clients on the lab; the cluster and the results are left in the folder."""
    with bench_lab(*lab.options(folder)) as standing:
        described = folder / "network.toml"
        described.write_text(lab.description(standing.racks, standing.given()))
        cluster = folder / "cluster.json"
        cluster_file.write_cluster(
            str(cluster), import_network(described.read_bytes(), str(described))
        )
        for way in ways:
            python = () if way.client != "gloo" else _python(arguments)
            standing.plink("fit", cluster, "--client", way.client, *python)
        for way in ways:
            done = _bench(standing, cluster, way, arguments)
            (folder / f"{way.client}.json").write_text(done)


def _bench(lab: BenchLab, cluster: Path, way: _Way, arguments: argparse.Namespace) -> str:
    python = () if way.client != "gloo" else _python(arguments)
    what = ("--client", way.client, "--algo", way.algorithms, "--size", ",".join(arguments.size))
    # A list of several makes it a comparison; one of each would compare orders alone.
    several = what if "," in way.algorithms + what[-1] else (*what[:-1], f"{what[-1]},128KB")
    orders = () if way.client == "engine" else ("--orders", arguments.orders)
    how = ("--rounds", "1", "--repetitions", arguments.repetitions, "--json")
    return lab.plink("bench", cluster, *several, *orders, *how, *python).stdout


def _python(arguments: argparse.Namespace) -> tuple[str, ...]:
    return () if arguments.python is None else ("--python", arguments.python)


def _compare(lab: AccuracyLab, folder: Path, *, is_again: bool) -> list[Case]:
    """Compare measured and predicted times case by case, also with new fits."""
    cluster = cluster_file.read_cluster(str(folder / "cluster.json"))
    cases = []
    for kept in cluster.clients:
        fit = _refit(cluster, kept) if is_again else kept
        path = folder / f"{fit.client}.json"
        if not path.exists():
            continue
        times = ExpectedTimes(cluster, fit)
        for row in json.loads(path.read_text())["rows"]:
            expected = _predict(cluster, times, row)
            cases.append(
                Case(
                    lab=lab.seed,
                    client=fit.client,
                    algorithm=row["algorithm"],
                    order=row["order"] or "",
                    size_bytes=row["size_bytes"],
                    samples_s=row["samples_s"],
                    expected=expected,
                )
            )
    return cases


def _refit(cluster: Cluster, kept: ClientFit) -> ClientFit:
    """Return a new fit of the samples that the file holds; the engine's lack its plans."""
    if kept.client == "engine":
        return kept
    names = cluster.names
    readings = [
        Reading(sample, [names.index(host) for host in sample.hosts]) for sample in kept.samples
    ]
    # The ends of what was measured say as much as all of it.
    costs = Costs(*(_ends(each) for each in (kept.reduction_s_per_gb, kept.processor_s_per_gb)))
    return fit_client(cluster, kept.client, readings, costs, shared_cores=kept.shared_cores)


def _ends(estimate: Estimate | None) -> tuple[float, ...]:
    return () if estimate is None else (estimate.low, estimate.value, estimate.high)


def _predict(cluster: Cluster, times: ExpectedTimes, row: dict[str, Any]) -> Expected:
    names = cluster.names
    hosts = [names.index(host) for host in row["hosts"]]
    size_bytes = row["size_bytes"]
    if times.fit.client != "engine":
        algorithm = find(f"{times.fit.client}-{row['algorithm']}")
        return times.of_algorithm(algorithm, len(hosts), size_bytes, hosts)
    demand = Demand(ALL_REDUCE, size_bytes)
    plan = plans_of_kinds([row["algorithm"]], cluster, slots=1, demand=demand, seed=0)[0]
    traffic = build_traffic(demand, plan.forest)
    return predict_plan_time(times, traffic, size_bytes, list(plan.hosts))
