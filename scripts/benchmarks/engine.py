"""The engine against Gloo, in turn in the same processes, on hosts of the lab.

Plans are those of `plink plan` for the lab's rates; `flat` is over all ranks, `hosts` flat over
hosts with a level inside each. Ranks are in rack order, a host's one after the other; Gloo runs in
rack order too, and, with several racks, interleaved. The limit is that of the links (docs/plan.md)
for what Ethernet leaves to TCP.
"""

from __future__ import annotations

import argparse
import json
import statistics
from typing import Any

import numpy as np

from benchkit.arguments import add_lab, add_seed, lab_options
from benchkit.labs import BenchLab, bench_lab, rack_numbers
from benchkit.plans import as_json, best_forest, lab_network, limit_s
from benchkit.processes import answers_of_ranks
from benchkit.report import Report
from labkit.rates import parse_rate
from plink.solvers.contention.network import Network

EXAMPLE = "--racks 4 --hosts 4 --host-rate 400mbit --uplink-rate 200mbit --plans auto,ring"
QUICK = "--bytes 1000000 --repetitions 2"
HEADER = (
    "what",
    "median, s",
    "least, s",
    "against the first",
    "share of the limit",
    "GB/s of bus",
    "CPU s per GB and rank",
)
# On one rack without rates, 100 MB, by ranks: Gloo over the engine with reno, and as installed;
# CPU seconds per GB and rank.
ASKED_RENO = {2: 2.0, 4: 1.2, 8: 1.1}
ASKED_INSTALLED = {2: 3.0, 4: 2.2, 8: 1.8}
ASKED_CPU_S = {2: 0.35, 8: 0.65}
ASKED_SHARE = 94


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser, racks=1, hosts="2", hops=0, rates=("none", "none"))
    add_seed(parser)
    parser.add_argument("--ranks-per-host", type=int, default=1, help="one after the other")
    parser.add_argument("--bytes", type=int, default=100_000_000, help="of the buffer")
    parser.add_argument(
        "--plans", default="flat", help="of flat, hosts, ring, tree, 2lha, auto; - for none"
    )
    parser.add_argument("--no-gloo", action="store_true", help="the engine alone")
    parser.add_argument("--repetitions", type=int, default=7, help="of each, in turn")
    parser.add_argument("--warmups", type=int, default=2, help="before these, not counted")
    parser.add_argument("--in-a-row", type=int, default=1, help="collectives per repetition")
    parser.add_argument(
        "--options", action="append", help="of the engine, as JSON; several are compared"
    )


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    with bench_lab(*lab_options(arguments)) as lab:
        rates = parse_rate(arguments.host_rate), parse_rate(arguments.uplink_rate)
        network = lab_network(rack_numbers(lab), *rates)
        answers = measure_network(lab, network, arguments)
    least_s = limit_s(network, arguments.bytes)
    show(answers, arguments.bytes, arguments.in_a_row, least_s, report)
    if rates == (None, None) and arguments.bytes == 100_000_000 and not arguments.no_gloo:
        _set_targets(answers, arguments, report)


def measure_network(
    lab: BenchLab, network: Network, arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return the measurements of every rank."""
    hosts = [host for host in lab.in_rack_order() for _ in range(arguments.ranks_per_host)]
    groups: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        groups.setdefault(lab.racks[host], []).append(rank)
    orders = {"gloo": list(range(len(hosts)))}
    if len(groups) > 1:
        orders["gloo interleaved"] = interleave(list(groups.values()))
    variants = []
    host_of = np.repeat(np.arange(network.hosts), arguments.ranks_per_host)
    for name in [] if arguments.plans == "-" else arguments.plans.split(","):
        kind, forest = best_forest(name, network, host_of, arguments.bytes)
        label = name if kind == name else f"{name} ({kind})"
        for options in arguments.options or ["{}"]:
            text = f"{label} {options}" if arguments.options else label
            variants.append((text, as_json(forest), json.loads(options)))
    task = {
        "items": arguments.bytes // 4,
        "plans": {name: {**plan, "options": options} for name, plan, options in variants},
        "gloo": {} if arguments.no_gloo else orders,
        "warmups": arguments.warmups,
        "repetitions": arguments.repetitions,
        "in_a_row": arguments.in_a_row,
    }
    return answers_of_ranks(lab, hosts, "engine_rank", **task)


def interleave(groups: list[list[int]]) -> list[int]:
    """Return the order with one rank of each group in turn, which crosses most uplinks."""
    longest = max(map(len, groups))
    return [group[i] for i in range(longest) for group in groups if i < len(group)]


def show(
    answers: list[dict[str, Any]], size_bytes: int, in_a_row: int, least_s: float, report: Report
) -> None:
    """Print the table; a repetition takes as long as on its slowest rank."""
    ranks = len(answers)
    rows: list[tuple[str, ...]] = []
    first_s = None
    for name in answers[0]["seconds"]:
        by_repetition = zip(*(answer["seconds"][name] for answer in answers), strict=True)
        seconds = [max(of_ranks) for of_ranks in by_repetition]
        median_s = statistics.median(seconds)
        first_s = first_s or median_s
        cpu_s = sum(answer["cpu_s"][name] for answer in answers) / ranks / len(seconds) / in_a_row
        rows.append(
            (
                name,
                f"{median_s:.5f}",
                f"{min(seconds):.5f}",
                f"{median_s / first_s:.2f}",
                f"{100 * least_s / median_s:.0f} %" if least_s else "",
                f"{2 * (ranks - 1) / ranks * size_bytes / median_s / 1e9:.3f}",
                f"{cpu_s / size_bytes * 1e9:.3f}",
            )
        )
    report.table(HEADER, rows)
    if least_s:
        report.say(f"the limit of the links: {least_s:.4f} s")
        report.at_least("share of the links' limit", ASKED_SHARE, float(rows[0][4].split()[0]), "%")


def _set_targets(
    answers: list[dict[str, Any]], arguments: argparse.Namespace, report: Report
) -> None:
    """On one rack without rates, where no link is the limit."""
    ranks = len(answers)
    names = list(answers[0]["seconds"])
    ours = names[0]
    medians_s = {
        name: statistics.median(
            map(max, zip(*(answer["seconds"][name] for answer in answers), strict=True))
        )
        for name in (ours, "gloo")
    }
    asked = ASKED_RENO if arguments.congestion_control == "reno" else ASKED_INSTALLED
    if ranks in asked:
        ratio = medians_s["gloo"] / medians_s[ours]
        report.at_least(f"{ranks} ranks: Gloo over the engine", asked[ranks], ratio, "x")
    if ranks in ASKED_CPU_S:
        reduced_gb = arguments.bytes * arguments.in_a_row * arguments.repetitions / 1e9
        cpu_s = sum(answer["cpu_s"][ours] for answer in answers) / ranks / reduced_gb
        report.at_most(f"{ranks} ranks: CPU per GB and rank", ASKED_CPU_S[ranks], cpu_s, "s")
