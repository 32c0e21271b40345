"""The parameter service beside all-reduces by Gloo and plink, on the same wires.

placements: one server with k ports, servers on the workers' hosts, all-reduces of the same workers,
and of workers with twice the rate.

chunks: chunks beside whole keys, sizes of chunks, and two ways to deal them to ports.

racks: a server in each of two racks, which adds up in its rack first or serves all workers, beside
the engine's two levels; by the uplinks' rate.

tenants: services that share a port, also beside one that floods it and one that is killed.

kinds: steps as chunks come or after the whole model, a slow worker, snapshots, sums in order.

Hosts are network namespaces, with TCP's congestion control as --congestion-control says.
"""

from __future__ import annotations

import argparse

from benchkit.hub import across_racks, chunks, kinds, placements, tenants
from benchkit.report import Report

EXAMPLE = "--only placements --rounds 5"
QUICK = "--rounds 1 --seconds 2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--only", nargs="+", choices=list(POINTS), help="some of the points")
    parser.add_argument("--rounds", type=int, default=7, help="all ways once in each, in turn")
    parser.add_argument("--seconds", type=float, default=10.0, help="of what runs for a time")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure the points one after the other."""
    for name in arguments.only or POINTS:
        POINTS[name](arguments, report)


POINTS = {
    "placements": lambda arguments, report: placements.run(arguments.rounds, report),
    "chunks": lambda arguments, report: chunks.run(arguments.rounds, report),
    "racks": lambda arguments, report: across_racks.run(arguments.rounds, report),
    "tenants": lambda arguments, report: tenants.run(arguments.seconds, report),
    "kinds": lambda arguments, report: kinds.run(arguments.rounds, arguments.seconds, report),
}
