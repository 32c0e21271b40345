"""Gradients under way while the rest is computed: what overlapping is worth on hosts of the lab.

in-flight: collectives of one size posted at once, of which the engine runs one, two or four at a
time, over a flat plan, a ring and two levels.

iterations: the gradients of published networks, scaled down, averaged by DistributedDataParallel
over Gloo and plink, with and without hooks that lose something, and by plink's DataParallel in all
schedules. Computing is slept; how it compares with startups and bytes is as Shi et al. (2021)
measured it on 32 GPUs, where they measured it.

networks: the same of all seven networks in one table, with the ways that a user may choose from.

lazy: a sweep over what lazy all-reduce waits for, and what is planned.

quiet: a job on a network that does not change, planned by "auto": how often it changes anything,
and what planning takes of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchkit.arguments import add_lab, lab_options, numbers, words
from benchkit.control.crew import Crew, crew_on
from benchkit.labs import BenchLab, bench_lab, rack_numbers
from benchkit.overlap import in_flight, iterations, quiet, seven, sweep
from benchkit.overlap.paced import Pace
from benchkit.plans import best_forest, lab_network, limit_s, usual_plan, write_plan
from benchkit.report import Report
from labkit.rates import parse_rate
from plink.plans.forest import Forest

EXAMPLE = "--only in-flight --repetitions 5"
QUICK = "--racks 2 --hosts 2 --sizes 4000,64000 --repetitions 1 --networks vgg16,resnet50"
PLANS = ("flat", "ring", "2lha")
# Seconds forward and backward on 32 GPUs: of the first four as follows from Shi et al. (2021), from
# a, b, and iterations merged into one collective and at their S^max; others in proportion to
# multiply-adds. The share of each tensor's length with which an iteration takes a third of a second
# on links of 400 Mbit/s.
SUBJECTS = {
    "densenet201": (0.073, 0.146, 0.05),
    "resnet152": (0.09, 0.21, 0.03),
    "inception-v4": (0.062, 0.157, 0.04),
    "bert-base": (0.106, 0.21, 0.015),
    "resnet50": (0.035, 0.075, 0.06),
    "vgg16": (0.08, 0.17, 0.0125),
    "gpt2": (0.12, 0.23, 0.014),
}
# Bytes take so much longer here, of a tensor in its whole length, than on the papers' network.
PACE = 23.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--only", nargs="+", choices=list(POINTS), help="some of the points")
    parser.add_argument("--repetitions", type=int, default=7, help="of each size, in turn")
    parser.add_argument("--networks", type=words, default=list(SUBJECTS), help="of iterations")
    parser.add_argument("--scale", type=float, help="of every tensor's length")
    parser.add_argument(
        "--pace", type=float, default=PACE, help="of computing, times the papers' and the scale"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="of quiet")
    sizes = ",".join(map(str, in_flight.SIZES_BYTES))
    parser.add_argument("--sizes", type=numbers, default=numbers(sizes), help="in bytes")
    add_lab(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure the points one after the other, on one lab."""
    with bench_lab(*lab_options(arguments)) as lab:
        for name in arguments.only or ("in-flight", "iterations"):
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


def _iterations(lab: BenchLab, arguments: argparse.Namespace, report: Report) -> None:
    with _planned_crew(lab, arguments) as crew:
        iterations.show(crew, _subjects(arguments), report)


def _networks(lab: BenchLab, arguments: argparse.Namespace, report: Report) -> None:
    with _planned_crew(lab, arguments) as crew:
        seven.show(crew, _subjects(arguments), report)


def _lazy(lab: BenchLab, arguments: argparse.Namespace, report: Report) -> None:
    with _planned_crew(lab, arguments) as crew:
        sweep.show(crew, _subjects(arguments), report)


def _quiet(lab: BenchLab, arguments: argparse.Namespace, report: Report) -> None:
    with _planned_crew(lab, arguments) as crew:
        quiet.show(crew, _subjects(arguments)[0], arguments.seconds, report)


@contextmanager
def _planned_crew(lab: BenchLab, arguments: argparse.Namespace) -> Iterator[Crew]:
    """Ranks with the plan that suits the largest of the networks."""
    rates = parse_rate(arguments.host_rate), parse_rate(arguments.uplink_rate)
    most_bytes = max(subject.profile.total_bytes for subject in _subjects(arguments))
    plan = write_plan(usual_plan(lab, *rates, most_bytes), lab.dir / "plan.json")
    with crew_on(lab, lab.in_rack_order(), plan) as crew:
        yield crew


def _subjects(arguments: argparse.Namespace) -> list[iterations.Subject]:
    found = []
    for name in arguments.networks:
        forward_s, backward_s, scale = SUBJECTS[name]
        scale = arguments.scale or scale
        pace = Pace(arguments.pace * scale * forward_s, arguments.pace * scale * backward_s)
        found.append(iterations.Subject(name, scale, pace, arguments.repetitions))
    return found


POINTS = {
    "in-flight": _in_flight,
    "iterations": _iterations,
    "networks": _networks,
    "lazy": _lazy,
    "quiet": _quiet,
}
