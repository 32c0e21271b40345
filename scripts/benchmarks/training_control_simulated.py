"""Agreement of ranks on the next reduction, simulated up to a whole supercomputer.

Simulated ranks run the machines that real ranks run, and take what these say to each other; only
time is made up (docs/control.md).

latency: on this machine, without root: how long after the last announcement of a tensor ranks have
it released. What waking a thread, sending and so on take is fitted to the releases of 16 real ranks
and predicts those of others.

caching: what a response cache and groups gain with more ranks, calibrated on one gain of Romero et
al. (figure 7), beside their others.

balance: threads that oversleep and four remedies, beside those of Pumma et al. (figure 10).

scale: time and memory of simulating very many ranks.
"""

from __future__ import annotations

import argparse

from benchkit.arguments import add_seed, numbers
from benchkit.control.crew import crew_on
from benchkit.control_simulated import balanced, cached, latency, scale
from benchkit.control_simulated.effort import Effort
from benchkit.labs import Loopback
from benchkit.report import Report

EXAMPLE = "--only balance --ranks 256"
QUICK = "--only balance scale --ranks 64 --iterations 2 --scale-ranks 64 --scale-iterations 2"
POINTS = ("latency", "caching", "balance", "scale")
SIMULATED = {"caching": cached.show, "balance": balanced.show, "scale": scale.show}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--only", nargs="+", choices=POINTS, help="some of the points")
    real = numbers("4,8,16,32,64")
    parser.add_argument("--real-ranks", type=numbers, default=real, help="16 among them")
    parser.add_argument("--repetitions", type=int, default=15, help="of latency, six times")
    parser.add_argument("--ranks", type=int, default=1536, help="of balance")
    parser.add_argument("--iterations", type=int, default=5, help="of caching and balance")
    parser.add_argument("--scale-ranks", type=int, default=27600, help="of scale")
    parser.add_argument("--scale-iterations", type=int, default=5, help="of scale")
    add_seed(parser)


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure the points one after the other."""
    effort = Effort(
        seed=arguments.seed,
        real_ranks=arguments.real_ranks,
        repetitions=arguments.repetitions,
        ranks=arguments.ranks,
        iterations=arguments.iterations,
        scale_ranks=arguments.scale_ranks,
        scale_iterations=arguments.scale_iterations,
    )
    for name in arguments.only or POINTS:
        if name in SIMULATED:
            SIMULATED[name](effort, report)
            continue
        here = Loopback(max(effort.real_ranks))
        with crew_on(here, here.in_rack_order()) as crew:
            latency.show(crew, effort, report)
