"""All-reduces between regions far apart: the engine against the path and Gloo, and ring orders.

The lab's delay box adds the round trip and loses frames at random; each path is limited to its
rate with a queue of a round trip. First two regions of one host: the limit is what the path lets
through for what Ethernet leaves to TCP, and the share of it also without the way of the last
result. Then regions with paths drawn at random, and rings through them: by the bottleneck
(`plink order`), by an additive objective (the least sum of what a Gbit takes
over every hop, of all rings) and by latency (`plink order`). Last, regions whose paths are all
alike, where no ring is better. All ranks begin at the same moment.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchkit.arguments import add_congestion_control, numbers, words
from benchkit.labs import BenchLab, bench_lab
from benchkit.plans import TCP_SHARE, as_json
from benchkit.processes import answers_of_ranks
from benchkit.report import Report
from benchkit.wide_networks import Order, WideNetwork, draw_network, equal, find_ring, least
from plink.solvers.forests.kinds import flat, ring

EXAMPLE = "--sizes 20 --losses 0.01 --workers 4 --no-rings"
QUICK = "--sizes 4 --losses 0.01 --workers 4 --repetitions 1 --rtt-ms 40 --ring-size 1"
HEADER = (
    "loss",
    "MB",
    "what",
    "median, s",
    "least, s",
    "of the path",
    "without the last way",
    "Gloo over it",
)
RING_HEADER = (
    "seed",
    "ring by",
    "slowest path, Mbit/s",
    "sum, s per Gbit",
    "limit, s",
    "with ways, s",
    "engine, s",
    "of that",
    "Gloo, s",
)
_GLOO = "Gloo"
_ASKED_PERCENT = 90
# For which all agree when to begin: more than the way of the word.
_TOGETHER_S = 0.5
# Of the case without a better ring.
_EQUAL_MBIT, _EQUAL_RTT_MS, _ASKED_SPREAD = 60, 60, 1.05
_EQUAL = "equal"
_BOTTLENECK, _ADDITIVE, _LATENCY = "bottleneck", "additive", "latency"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--sizes", type=numbers, default=[8, 50], help="of the buffer, in MB")
    parser.add_argument("--losses", type=words, default=["0%", "0.01%"], help="of frames")
    parser.add_argument("--rtt-ms", type=float, default=100.0, help="between the two regions")
    parser.add_argument("--wan-rate", type=int, default=100, help="of their path, in Mbit/s")
    parser.add_argument("--workers", type=numbers, default=[2, 1], help="connections of a pair")
    parser.add_argument("--repetitions", type=int, default=3, help="of each, in turn")
    add_congestion_control(parser)
    parser.add_argument("--regions", type=int, default=6, help="that rings go through")
    parser.add_argument("--seeds", type=numbers, default=[20], help="of their paths")
    parser.add_argument("--ring-repetitions", type=int, default=2, help="of each ring")
    parser.add_argument("--ring-size", type=int, default=8, help="of the buffer, in MB")
    parser.add_argument("--ring-loss", default="0%", help="of frames")
    parser.add_argument("--no-rings", action="store_true", help="two regions only")
    parser.add_argument("--no-pairs", action="store_true", help="rings only")
    parser.add_argument("--no-equal", action="store_true", help="no regions that are all alike")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the tables."""
    report.measured = {"pairs": {}, "rings": {}}
    if not arguments.no_pairs:
        report.table(HEADER, _pair_rows(arguments, report), "Two regions")
    if not arguments.no_rings:
        report.table(RING_HEADER, _ring_rows(arguments, report), "Rings")


def _pair_rows(arguments: argparse.Namespace, report: Report) -> Iterator[Sequence[str]]:
    for loss in arguments.losses:
        paths = ("--rtt-ms", arguments.rtt_ms, "--wan-rate", f"{arguments.wan_rate}mbit")
        regions = ("--regions", "2x1", "--host-rate", "none", "--loss", loss)
        with bench_lab(*regions, *paths, *_control(arguments)) as lab:
            for size_mb in arguments.sizes:
                yield from _sizes_rows(lab, loss, size_mb, arguments, report)


def _sizes_rows(
    lab: BenchLab, loss: str, size_mb: int, arguments: argparse.Namespace, report: Report
) -> Iterator[Sequence[str]]:
    forest = as_json(flat(np.ones(2)))
    plans = {
        _format_workers(workers): {**forest, "options": {"workers": workers}}
        for workers in arguments.workers
    }
    seconds = _seconds(lab, plans, {_GLOO: [0, 1]}, size_mb, arguments.repetitions)
    report.measured["pairs"][f"{loss}, {size_mb} MB"] = seconds
    limit_s = size_mb * 8 / arguments.wan_rate / TCP_SHARE
    gloo_s = statistics.median(seconds[_GLOO])
    steady = {}
    for name, took_s in seconds.items():
        median_s = statistics.median(took_s)
        steady[name] = 100 * limit_s / (median_s - arguments.rtt_ms / 2e3)
        yield (
            loss,
            str(size_mb),
            name,
            f"{median_s:.2f}",
            f"{min(took_s):.2f}",
            f"{100 * limit_s / median_s:.0f} %",
            f"{steady[name]:.0f} %",
            f"{gloo_s / median_s:.1f}",
        )
    name = _format_workers(arguments.workers[0])
    report.at_least(
        f"{size_mb} MB, loss {loss}: {name}, of the path without the last way",
        _ASKED_PERCENT,
        steady[name],
        "%",
    )


def _format_workers(workers: int) -> str:
    return f"{workers} worker{'s' * (workers != 1)}"


def _ring_rows(arguments: argparse.Namespace, report: Report) -> Iterator[Sequence[str]]:
    networks = {str(seed): draw_network(arguments.regions, seed) for seed in arguments.seeds}
    if not arguments.no_equal:
        networks[_EQUAL] = equal(arguments.regions, _EQUAL_MBIT, _EQUAL_RTT_MS)
    for name, network in networks.items():
        yield from _network_rows(name, network, arguments, report)


def _network_rows(
    seed: str, network: WideNetwork, arguments: argparse.Namespace, report: Report
) -> Iterator[Sequence[str]]:
    with _wide_lab(network, arguments) as lab:
        orders = _orders(lab, network)
        plans = {
            name: {**as_json(ring(order)), "options": {"workers": arguments.workers[0]}}
            for name, order in orders.items()
        }
        gloo = {f"{_GLOO} {name}": list(order) for name, order in orders.items()}
        seconds = _seconds(lab, plans, gloo, arguments.ring_size, arguments.ring_repetitions)
    report.measured["rings"][seed] = {"orders": orders, "seconds": seconds}
    medians_s = {name: statistics.median(took_s) for name, took_s in seconds.items()}
    size_bytes = arguments.ring_size * 1_000_000
    for name, order in orders.items():
        least_s = network.ring_least_s(order, size_bytes)
        yield (
            seed,
            name,
            f"{network.bottleneck_mbit(order):g}",
            f"{network.sum_s(order):.0f}",
            f"{network.ring_limit_s(order, size_bytes):.2f}",
            f"{least_s:.2f}",
            f"{medians_s[name]:.2f}",
            f"{100 * least_s / medians_s[name]:.0f} %",
            f"{medians_s[f'{_GLOO} {name}']:.2f}",
        )
    if seed == _EQUAL:
        ours_s = [medians_s[name] for name in orders]
        spread = max(ours_s) / min(ours_s)
        report.at_most("equal paths: slowest ring over quickest", _ASKED_SPREAD, spread, "x")
        return
    share = network.ring_least_s(orders[_BOTTLENECK], size_bytes) / medians_s[_BOTTLENECK]
    report.at_least(
        f"seed {seed}: our ring, of the limit with ways", _ASKED_PERCENT, 100 * share, "%"
    )
    over = medians_s[f"{_GLOO} {_BOTTLENECK}"] / medians_s[_BOTTLENECK]
    report.at_least(f"seed {seed}: our ring by Gloo over the engine", 1.0, over, "x")
    _set_ring_targets(seed, orders, network, medians_s, report)


def _set_ring_targets(
    seed: str,
    orders: dict[str, Order],
    network: WideNetwork,
    medians_s: dict[str, float],
    report: Report,
) -> None:
    """No other ring is faster; where its slowest path is slower by a tenth, the ring is, too."""
    ours = medians_s[_BOTTLENECK]
    for name in (_ADDITIVE, _LATENCY):
        gain = network.bottleneck_mbit(orders[_BOTTLENECK]) / network.bottleneck_mbit(orders[name])
        asked = 1.05 if gain >= 1.1 else 0.95
        report.at_least(f"seed {seed}: by {name} over ours", asked, medians_s[name] / ours, "x")


def _orders(lab: BenchLab, network: WideNetwork) -> dict[str, Order]:
    return {
        _BOTTLENECK: find_ring(lab, network, "bandwidth"),
        _ADDITIVE: least(network, network.sum_s),
        _LATENCY: find_ring(lab, network, "latency"),
    }


@contextmanager
def _wide_lab(network: WideNetwork, arguments: argparse.Namespace) -> Iterator[BenchLab]:
    with tempfile.TemporaryDirectory(prefix="plink-wide-") as folder:
        path = Path(folder, "lab.json")
        path.write_text(network.lab_file(arguments.ring_loss))
        with bench_lab("--topology", path, *_control(arguments)) as lab:
            yield lab


def _control(arguments: argparse.Namespace) -> list[str]:
    name = arguments.congestion_control
    return [] if name is None else ["--congestion-control", name]


def _seconds(
    lab: BenchLab,
    plans: dict[str, Any],
    gloo: dict[str, list[int]],
    size_mb: int,
    repetitions: int,
) -> dict[str, list[float]]:
    """Return the slowest rank's seconds by run and repetition, without each first all-reduce."""
    answers = answers_of_ranks(
        lab,
        lab.in_rack_order(),
        "engine_rank",
        items=size_mb * 250_000,
        plans=plans,
        gloo=gloo,
        warmups=1,
        repetitions=repetitions,
        in_a_row=1,
        together_s=_TOGETHER_S,
    )
    return {
        name: [
            max(of_ranks)
            for of_ranks in zip(*(answer["seconds"][name] for answer in answers), strict=True)
        ]
        for name in answers[0]["seconds"]
    }
