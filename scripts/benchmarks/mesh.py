"""Iterations of a training with several dimensions, in the order given and in plink's orders.

The ranks are real sub-groups of Gloo, made by PyTorch's DeviceMesh. Orders take turns in the same
processes; an iteration takes as long as on its slowest rank.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchkit import simulated_meshes
from benchkit.arguments import add_lab, add_seeds, lab_options
from benchkit.labs import BenchLab, bench_lab
from benchkit.processes import answers_of_ranks
from benchkit.report import Report, spread
from plink.formats import order as order_file
from plink.formats.mesh import Mesh, parse_mesh
from plink.formats.structs import encode

EXAMPLE = "--seeds 21 --mesh dp=2,pp=2,tp=4"
QUICK = "--racks 2 --hosts 2 --seeds 1 --mesh dp=2,tp=2 --traffic tp=400KB,dp=100KB --rounds 1"
HEADER = ("seed", "order", "iteration, s (least, median, most)", "of given", "predicted of given")

OURS, GIVEN = "plink, whole mesh", "given"
ASKED_OF_GIVEN = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser)
    add_seeds(parser, "21,22,23")
    parser.add_argument("--mesh", default="dp=4,tp=2,pp=2", help="of plink order")
    parser.add_argument("--traffic", default="tp=8MB,dp=4MB,pp=2MB", help="of plink order")
    parser.add_argument("--rounds", type=int, default=2, help="turns of every order")
    parser.add_argument("--repetitions", type=int, default=3, help="iterations a turn")
    parser.add_argument("--random", type=int, default=3, help="how many random orders")
    parser.add_argument(
        "--simulated", action="store_true", help="costs by latency on generated data centres"
    )
    parser.add_argument("--latency", action="store_true", help="order by latency, not contention")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    if arguments.simulated:
        report.table(simulated_meshes.HEADER, simulated_meshes.rows(arguments.seeds))
        return
    mesh = parse_mesh(arguments.mesh, arguments.traffic, 1)
    rows, shares, over_one = [], [], []
    for seed in arguments.seeds:
        with bench_lab(*lab_options(arguments, seed=seed)) as lab:
            orders, predicted = _orders(lab, mesh, seed, arguments)
            seconds = _measure_orders(lab, mesh, orders, arguments)
        median_s = {name: statistics.median(values) for name, values in seconds.items()}
        for name, values in seconds.items():
            share = f"{median_s[name] / median_s[GIVEN]:.2f}"
            told = f"{predicted[name]:.2f}" if name in predicted else "-"
            rows.append((str(seed), name, spread(values), share, told))
        shares.append(median_s[OURS] / median_s[GIVEN])
        others = [median_s[name] for name in seconds if name.startswith("plink") and name != OURS]
        over_one.append(median_s[OURS] / min(others))
    report.table(HEADER, rows)
    report.at_most("the mesh's order over the given one", ASKED_OF_GIVEN, max(shares), "x")
    report.at_most(
        "over the best one by one dimension (median)", 1.0, float(np.median(over_one)), "x"
    )


def _orders(
    lab: BenchLab, mesh: Mesh, seed: int, arguments: argparse.Namespace
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Return orders by name, and predicted times of some as a share of the given order's."""
    cluster = lab.probe() if arguments.latency else lab.probe_with_uplinks()
    hosts = lab.given()
    rng = np.random.default_rng(seed)
    orders = {GIVEN: hosts}
    for number in range(arguments.random):
        orders[f"random {number + 1}"] = [hosts[place] for place in rng.permutation(len(hosts))]
    wanted: dict[str, tuple[str, ...]] = {"plink, one ring": ("--algo", "ring")}
    for one in mesh.dimensions:
        if one.size > 1 and one.size_bytes:
            traffic = f"{one.name}={one.algorithm}:{one.size_bytes}"
            wanted[f"plink, {one.name} only"] = ("--mesh", mesh.text, "--traffic", traffic)
    wanted[OURS] = ("--mesh", mesh.text, "--traffic", arguments.traffic)
    predicted = {GIVEN: 1.0}
    for name, options in wanted.items():
        file = lab.dir / "order.json"
        lab.plink("order", cluster, *options, "--seed", seed, "-o", file, over_ssh=False)
        found = order_file.read_order(str(file))
        orders[name] = found.names
        if name == OURS:
            predicted[name] = found.cost.cost_us / found.cost.listed_us
    return orders, predicted


def _measure_orders(
    lab: BenchLab, mesh: Mesh, orders: Mapping[str, Sequence[str]], arguments: argparse.Namespace
) -> dict[str, list[float]]:
    """Return each order's iteration times, each that of the slowest rank."""
    hosts = lab.given()
    rank_of = {name: [list(order).index(host) for host in hosts] for name, order in orders.items()}
    answers: list[dict[str, Any]] = answers_of_ranks(
        lab,
        hosts,
        "mesh_rank",
        orders=rank_of,
        dimensions=encode(mesh.dimensions),
        rounds=arguments.rounds,
        repetitions=arguments.repetitions,
    )
    return {
        name: [max(times) for times in zip(*(answer[name] for answer in answers), strict=True)]
        for name in orders
    }
