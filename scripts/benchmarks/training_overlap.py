"""Gradients under way while the rest is computed: what overlapping is worth on hosts of the lab.

in-flight: collectives of one size posted at once, of which the engine runs one, two or four at a
time, over a flat plan, a ring and two levels.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchkit.arguments import add_lab, lab_options, numbers
from benchkit.control.crew import crew_on
from benchkit.labs import BenchLab, bench_lab, rack_numbers
from benchkit.overlap import in_flight
from benchkit.plans import best_forest, lab_network, limit_s
from benchkit.report import Report
from labkit.rates import parse_rate
from plink.plans.forest import Forest

EXAMPLE = "--only in-flight --repetitions 5"
QUICK = "--racks 2 --hosts 2 --sizes 4000,64000 --repetitions 1"
PLANS = ("flat", "ring", "2lha")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument("--only", nargs="+", choices=list(POINTS), help="some of the points")
    parser.add_argument("--repetitions", type=int, default=7, help="of each size, in turn")
    sizes = ",".join(map(str, in_flight.SIZES_BYTES))
    parser.add_argument("--sizes", type=numbers, default=numbers(sizes), help="in bytes")
    add_lab(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure the points one after the other, on one lab."""
    with bench_lab(*lab_options(arguments)) as lab:
        for name in arguments.only or POINTS:
            POINTS[name](lab, arguments, report)


def _in_flight(lab: BenchLab, arguments: argparse.Namespace, report: Report) -> None:
    rates = parse_rate(arguments.host_rate), parse_rate(arguments.uplink_rate)
    network = lab_network(rack_numbers(lab), *rates)
    host_of = np.arange(network.hosts)
    most_bytes = max(arguments.sizes)
    plans = {}
    for name in PLANS:
        routes = best_forest(name, network, host_of, most_bytes)[1]
        plans[name] = Forest(routes.weights, routes.reduce_parents, routes.broadcast_parents)
    program = in_flight.Program(plans, arguments.sizes, arguments.repetitions)
    limits_s = {size_bytes: limit_s(network, size_bytes) for size_bytes in arguments.sizes}
    with crew_on(lab, lab.in_rack_order()) as crew:
        in_flight.show(crew, program, limits_s, report)


POINTS = {"in-flight": _in_flight}
