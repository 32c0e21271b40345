"""Agreement of ranks on the next reduction, on hosts of the lab: correctness and cost.

Real ranks, of which each is a process on its host, with the machines and drivers that trainings
have (docs/control.md), in all modes in turn in the same processes.

any-order: ResNet-50's tensors, scaled down, announced in another order on each rank and in each
iteration: sums are right, bits equal on all ranks, and nothing hangs. A group without control fails
on the same program.

negotiations: what is said by name, type and shape: all of it in the first iteration, one tensor
where its shape changes, and else nothing.

load: processor time of rank 0's control, and bytes there, with more and more ranks, 1,024 tensors
in each iteration, announced one by one without computing between. Ranks for which there are not
enough hosts share them.

idle: messages and processor time while nothing is announced.

lone: a single tensor from its announcement to its release, beside an all-reduce of 4 KB in the same
processes; then while buckets of 25 MB are under way. With --priority-queues on links that honour
what ranks ask for where they agree.

branches: a model whose branches each rank runs in an order of its own, trained by
DistributedDataParallel on a plain group and by DistributedOptimizer on one that agrees.

groups: ResNet-50's gradients, scaled down, in so many groups of DistributedOptimizer: what they
wait for, and how long they are reduced.

graph-pass: the order that mode graph finds, in a small graph and a large one; on this machine.

oversleep: control threads of which some sleep too long, in modes with cycles and without.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from benchkit.arguments import add_lab, add_seed, lab_options, numbers
from benchkit.control import (
    any_order,
    disorder,
    graph_pass,
    grouping,
    idle,
    load,
    lone,
    negotiations,
    oversleep,
)
from benchkit.control.crew import Crew, crew_on
from benchkit.control.effort import Effort
from benchkit.labs import bench_lab
from benchkit.plans import usual_plan, write_plan
from benchkit.priority_queues import serve_low_delay_first
from benchkit.report import Report
from labkit.rates import parse_rate

Show = Callable[[Crew, Effort, Report], None]

EXAMPLE = "--only any-order --iterations 100"
QUICK = (
    "--racks 2 --hosts 2 --iterations 5 --fewer-iterations 2 --rounds 1 --steps 1 "
    "--late-iterations 3 --ranks 2,4 --load-iterations 1 --repetitions 10"
)
# What the plan is made for, which is also how far small buffers are fused.
BUFFER_BYTES = 1_000_000
POINTS = {
    "any-order": any_order.show,
    "negotiations": negotiations.show,
    "load": load.show,
    "idle": idle.show,
    "lone": lone.show,
}
# Ranks for which the hosts do not suffice are on the same hosts as others.
CROWDED = ("load",)
# Two cores stand for the processors of all hosts: fewer of them, whose slow links let processors
# rest.
TRAININGS = {"branches": disorder.show, "groups": grouping.show, "oversleep": oversleep.show}
# What one machine does by itself.
ALONE = {"graph-pass": graph_pass.show}
MOST_RACKS = 2
TRAINING_RATE, TRAINING_UPLINK_RATE = "200mbit", "400mbit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument(
        "--only", nargs="+", choices=[*ALONE, *POINTS, *TRAININGS], help="some of the points"
    )
    parser.add_argument("--iterations", type=int, default=1000, help="in mode tree")
    parser.add_argument("--fewer-iterations", type=int, default=100, help="in other modes")
    parser.add_argument("--scale", type=float, default=0.001, help="of every tensor's length")
    parser.add_argument("--ranks", type=numbers, default=numbers("4,8,16,32,64"), help="of load")
    parser.add_argument("--load-iterations", type=int, default=5, help="of load, beside two first")
    parser.add_argument("--repetitions", type=int, default=300, help="of a lone tensor")
    parser.add_argument("--rounds", type=int, default=5, help="of trainings, each way in each")
    parser.add_argument("--steps", type=int, default=2, help="of a training, in every round")
    parser.add_argument("--late-iterations", type=int, default=40, help="where threads are late")
    parser.add_argument(
        "--priority-queues", action="store_true", help="links send first what asks for low delay"
    )
    add_lab(parser)
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure the points one after the other."""
    effort = Effort(
        seed=arguments.seed,
        scale=arguments.scale,
        iterations=arguments.iterations,
        fewer_iterations=arguments.fewer_iterations,
        ranks=arguments.ranks,
        load_iterations=arguments.load_iterations,
        repetitions=arguments.repetitions,
        rounds=arguments.rounds,
        steps=arguments.steps,
        late_iterations=arguments.late_iterations,
    )
    wanted = arguments.only or [*ALONE, *POINTS, *TRAININGS]
    for name, show in ALONE.items():
        if name in wanted:
            show(effort, report)
    points = {name: point for name, point in POINTS.items() if name in wanted}
    _measure(points, arguments, effort, report)
    trainings = {name: point for name, point in TRAININGS.items() if name in wanted}
    slower = argparse.Namespace(
        **{
            **vars(arguments),
            "racks": min(MOST_RACKS, arguments.racks),
            "host_rate": TRAINING_RATE,
            "uplink_rate": TRAINING_UPLINK_RATE,
        }
    )
    _measure(trainings, slower, effort, report)


def _measure(
    points: Mapping[str, Show], arguments: argparse.Namespace, effort: Effort, report: Report
) -> None:
    """Measure the given cases on one lab."""
    if not points:
        return
    rates = parse_rate(arguments.host_rate), parse_rate(arguments.uplink_rate)
    with bench_lab(*lab_options(arguments)) as lab:
        if arguments.priority_queues:
            serve_low_delay_first(lab)
        plan = write_plan(usual_plan(lab, *rates, BUFFER_BYTES), lab.dir / "plan.json")
        for name, show in points.items():
            hosts = lab.in_rack_order()
            if name in CROWDED:
                hosts = [hosts[i % len(hosts)] for i in range(max(arguments.ranks))]
            with crew_on(lab, hosts, plan) as crew:
                show(crew, effort, report)
