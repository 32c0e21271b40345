"""Value of samples that follow the question, beside as many random pairs, on known racks.

Times are generated. AMI is that of the racks with average linkage on the filled distances, cut at
the racks' number; exact are networks where it is 1. A ring's cost is by the places of its hosts,
in shares of that of a ring from all pairs; the cost by the very readings of all pairs, noise and
all, is beside it. With several networks the largest of these is shown, and the median of the edges
that leave a rack.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchkit.arguments import add_seed_count, words
from benchkit.report import Report
from benchkit.sampled import (
    Network,
    Sample,
    agreement,
    by_chance,
    data_center,
    draw_following,
    fill_distances,
    plane,
    racks,
    ring_on,
)

EXAMPLE = "--only flat-8x16,plane-128 --seeds 1"
QUICK = "--only flat-8x16,pairs-32x2 --seeds 1 --seconds 0.5"

HEADER = (
    "network",
    "pairs",
    "rounds",
    "most meetings",
    "exact",
    "AMI (least)",
    "ring",
    "by readings",
    "leave (all pairs)",
    "CPU",
    "by chance: AMI",
    "ring",
    "leave",
)

_ALL_BUT_ROUNDING = 1.0 - 1e-9


def _mixed_racks(seed: int) -> Network:
    sizes = np.random.default_rng([seed, 0x512E]).integers(1, 41, 12)
    return racks(sizes.tolist(), seed)


SHAPES: Mapping[str, tuple[float, Callable[[int], Network]]] = {
    "flat-8x16": (0.2, lambda seed: racks([16] * 8, seed)),
    "rows-63x16": (0.05, lambda seed: racks([16] * 62 + [8], seed, row=4)),
    "generated-128": (0.2, lambda seed: data_center("uniform", 128, seed)),
    "generated-1000": (0.05, lambda seed: data_center("uniform", 1000, seed)),
    "unequal-1000": (0.05, lambda seed: data_center("unequal", 1000, seed)),
    "flat-63x16": (0.1, lambda seed: racks([16] * 62 + [8], seed)),
    "flat-2x32": (0.3, lambda seed: racks([32] * 2, seed)),
    "flat-12x1..40": (0.2, _mixed_racks),
    "flat-200x5": (0.25, lambda seed: racks([5] * 200, seed)),
    "rows-200x5": (0.08, lambda seed: racks([5] * 200, seed, row=10)),
    "halls-64x8": (0.1, lambda seed: racks([8] * 64, seed, row=4, hall=4)),
    "pairs-32x2": (0.6, lambda seed: racks([2] * 32, seed)),
    "one-rack-128": (0.2, lambda seed: racks([128], seed)),
    "all-apart-128": (0.2, lambda seed: racks([1] * 128, seed)),
    "plane-128": (0.2, lambda seed: plane(128, seed)),
    "plane-1000": (0.05, lambda seed: plane(1000, seed)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_seed_count(parser, 3, "networks of each kind")
    parser.add_argument("--first-seed", type=int, default=1000, help="of the networks")
    parser.add_argument("--only", type=words, default=list(SHAPES), help="names of networks")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each ring")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    report.table(HEADER, (_row(name, seeds, arguments.seconds) for name in arguments.only))


def _row(name: str, seeds: range, seconds: float) -> tuple[object, ...]:
    share, generate = SHAPES[name]
    ours: list[list[float]] = []
    chance: list[list[float]] = []
    of_all: list[int] = []
    samples: list[Sample] = []
    count: list[int] = []
    for seed in seeds:
        network = generate(seed)
        best = ring_on(network.readings_us, network, seconds)
        sample = draw_following(network, share, seed)
        samples.append(sample)
        of_all.append(best.leaving)
        count.append(len(set(network.rack_of.tolist())))
        for found, values in (
            (sample, ours),
            (by_chance(network, sample.share, seed), chance),
        ):
            matrix = fill_distances(found.readings_us)
            ring = ring_on(matrix, network, seconds)
            values.append(
                [
                    agreement(matrix, network.rack_of),
                    ring.cost_us / best.cost_us,
                    ring.read_us / best.read_us,
                    ring.leaving,
                ]
            )
    ami, cost, read, leaving = (list(values) for values in zip(*ours, strict=True))
    their_ami, their_cost, _, their_leaving = (list(values) for values in zip(*chance, strict=True))
    right = sum(value > _ALL_BUT_ROUNDING for value in ami)
    middle = statistics.median
    # Otherwise there is nothing to find, and nothing must be claimed.
    are_racks = 1 < max(count) < len(samples[0].readings_us)
    return (
        name,
        f"{100 * max(sample.share for sample in samples):.1f} %",
        max(sample.rounds for sample in samples),
        max(sample.most for sample in samples),
        f"{right} of {len(samples)}" if are_racks else _none_claimed(samples),
        f"{statistics.mean(ami):.3f} ({min(ami):.3f})" if are_racks else "",
        f"{max(cost):.3f}",
        f"{max(read):.3f}",
        f"{middle(leaving):.0f} ({middle(of_all):.0f})",
        f"{max(sample.cpu_s for sample in samples):.1f} s",
        f"{statistics.mean(their_ami):.3f}" if are_racks else "",
        f"{middle(their_cost):.2f}",
        f"{middle(their_leaving):.0f}",
    )


def _none_claimed(samples: Sequence[Sample]) -> str:
    claimed = sum(sample.labels is not None for sample in samples)
    return f"{claimed} of {len(samples)} claimed"
