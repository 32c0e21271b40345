"""Value of an order: a real client in given, random, plink's and the true rack order.

With --uplinks the groups are found and their uplinks measured, so that plink's order is by time.
--ranks and --slots are those of plink bench; of more hosts than are needed, orders choose some.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping
from typing import Any

from benchkit.arguments import add_lab, add_seeds, lab_options
from benchkit.labs import BenchLab, bench_lab
from benchkit.plans import TCP_SHARE
from benchkit.report import Report, spread
from labkit.rates import parse_rate

EXAMPLE = "--seeds 1 --client openmpi --rounds 2"
QUICK = "--seeds 1 --size 1MB --rounds 1 --random 2"
HEADER = (
    "seed",
    "given, s",
    "random, s (least, median, most of the orders' medians)",
    "plink, s (least, median, most)",
    "samples an order",
    "racks in sequence, s",
    "physical limit, s",
    "random / plink",
    "plink / racks",
    "Spearman",
)
# Rings, by client: the median random order over plink's.
ASKED = {"gloo": 3.0, "openmpi": 1.5, "mpich": 1.5}
ASKED_OF_RACKS = 1.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_lab(parser)
    add_seeds(parser, "1,2,3,4,5")
    parser.add_argument("--client", default="gloo", help="of plink bench")
    parser.add_argument("--algo", default="ring", help="of plink bench")
    parser.add_argument("--size", default="20MB", help="of the buffer")
    parser.add_argument("--rounds", default="3", help="of plink bench")
    parser.add_argument("--repetitions", default="1", help="of plink bench")
    parser.add_argument("--uplinks", action="store_true", help="measure them, too")
    parser.add_argument("--ranks", type=int, help="of plink bench")
    parser.add_argument("--slots", type=int, default=1, help="of plink bench")
    parser.add_argument("--random", default="5", help="how many random orders")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    rate_bits = parse_rate(arguments.host_rate)
    if rate_bits is None:
        raise SystemExit("error: links have to be limited: give --host-rate")
    rows = []
    for seed in arguments.seeds:
        with bench_lab(*lab_options(arguments, seed=seed)) as lab:
            result = _bench(lab, seed, arguments)
        rows.append(order_row(str(seed), result, rate_bits / 1e6))
    report.table(HEADER, rows)
    if arguments.algo == "ring" and arguments.client in ASKED:
        asked, least = ASKED[arguments.client], min(float(row[7]) for row in rows)
        report.at_least(f"{arguments.client} ring: random over plink's order", asked, least, "x")
        most = max(float(row[8]) for row in rows)
        report.at_most("plink's order over racks in sequence", ASKED_OF_RACKS, most, "x")


def _bench(lab: BenchLab, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """The JSON of `plink bench` over the orders."""
    in_racks, racks = lab.in_rack_order(), lab.dir / "racks.txt"
    ranks = arguments.ranks or arguments.slots * len(in_racks)
    needed = -(-ranks // arguments.slots)
    racks.write_text("\n".join(in_racks[:needed]) + "\n")
    cluster = lab.probe_with_uplinks() if arguments.uplinks else lab.probe()
    client = ("--client", arguments.client, "--algo", arguments.algo, "--size", arguments.size)
    orders = f"given,plink,random:{arguments.random},file:{racks}"
    rounds = ("--rounds", arguments.rounds, "--repetitions", arguments.repetitions)
    which = ("--orders", orders, "--seed", seed, "--ranks", ranks, "--slots", arguments.slots)
    done = lab.plink("bench", cluster, *client, *rounds, *which, "--json")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def ring_limit_s(host_count: int, size_bytes: int, link_mbit: float) -> float:
    """The least that a ring allreduce can take: each host sends 2 (N - 1) / N of the buffer.

    Source: Patarasuk and Yuan 2009. `link_mbit` is what the shaper counts, frames included.
    """
    sent_bytes = 2 * (host_count - 1) / host_count * size_bytes
    return sent_bytes * 8 / (link_mbit * 1e6 * TCP_SHARE)


def order_row(seed: str, result: Mapping[str, Any], link_mbit: float) -> tuple[str, ...]:
    """A row under `HEADER`.

    Args:
        seed: of the lab.
        result: the JSON of `plink bench` with the orders given, plink, random and `racks`.
        link_mbit: of every link of the lab.
    """
    rows = {row["order"]: row for row in result["rows"]}
    median_s = {name: float(row["median_s"]) for name, row in rows.items()}
    random_s = [value for name, value in median_s.items() if name.startswith("random-")]
    middle_s = statistics.median(random_s)
    samples_s = rows["plink"]["samples_s"]
    limit_s = ring_limit_s(len(rows["plink"]["hosts"]), int(result["size_bytes"]), link_mbit)
    by_latency = result["spearman"]["latency"]
    return (
        seed,
        f"{median_s['given']:.3f}",
        spread(random_s),
        spread(samples_s),
        str(len(samples_s)),
        f"{median_s['racks']:.3f}",
        f"{limit_s:.3f}",
        f"{middle_s / median_s['plink']:.2f}",
        f"{median_s['plink'] / median_s['racks']:.3f}",
        "-" if by_latency is None else f"{by_latency['value']:.2f}",
    )
