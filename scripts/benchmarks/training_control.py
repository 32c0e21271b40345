"""How ranks agree on what is reduced next, on hosts of the lab: that it is right, and its cost.

Real ranks, of which each is a process on its host, with the machines and drivers that trainings
have (docs/control.md), in all modes in turn in the same processes.

any-order: ResNet-50's tensors, scaled down, announced in another order on each rank and in each
iteration: sums are right, bits equal on all ranks, and nothing hangs. A group without control fails
on the same program.
"""

from __future__ import annotations

import argparse

from benchkit.arguments import add_lab, add_seed, lab_options
from benchkit.control import any_order
from benchkit.control.crew import crew_on
from benchkit.control.effort import Effort
from benchkit.labs import bench_lab
from benchkit.plans import usual_plan, write_plan
from benchkit.report import Report
from labkit.rates import parse_rate

EXAMPLE = "--only any-order --iterations 100"
QUICK = "--racks 2 --hosts 2 --iterations 5 --fewer-iterations 2"
# What the plan is made for, which is also how far small buffers are fused.
BUFFER_BYTES = 1_000_000
POINTS = {"any-order": any_order.show}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument("--only", nargs="+", choices=POINTS, help="some of the points")
    parser.add_argument("--iterations", type=int, default=1000, help="in mode tree")
    parser.add_argument("--fewer-iterations", type=int, default=100, help="in other modes")
    parser.add_argument("--scale", type=float, default=0.001, help="of every tensor's length")
    add_lab(parser)
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure the points one after the other."""
    effort = Effort(
        seed=arguments.seed,
        scale=arguments.scale,
        iterations=arguments.iterations,
        fewer_iterations=arguments.fewer_iterations,
    )
    rates = parse_rate(arguments.host_rate), parse_rate(arguments.uplink_rate)
    with bench_lab(*lab_options(arguments)) as lab:
        plan = write_plan(usual_plan(lab, *rates, BUFFER_BYTES), lab.dir / "plan.json")
        for name in arguments.only or POINTS:
            with crew_on(lab, lab.in_rack_order(), plan) as crew:
                POINTS[name](crew, effort, report)
