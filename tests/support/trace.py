"""Tracing as a user does it, and what it should have found."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from plink.formats import cluster as cluster_file
from plink.formats.measurements import RouteMeasurement
from support.lab import Lab
from support.plink_command import Done, plink_here, ssh_options

# The hosts of a lab share this machine's files, and this Python has scapy.
PYTHON = sys.executable

Directions = dict[tuple[str, str], tuple[str | None, ...]]


def trace(lab: Lab, out: Path, *options: object, python: object = PYTHON) -> Done:
    """`plink probe --tool trace` over all hosts of a lab."""
    return plink_here(
        *("probe", lab.hosts_file, *ssh_options(lab), "-o", out),
        *("--tool", "trace", "--remote-python", python, *options),
    )


def measured(path: Path) -> tuple[list[str], RouteMeasurement]:
    """The hosts and the routes in a cluster file."""
    cluster = cluster_file.read_cluster(str(path))
    assert cluster.routes is not None
    return cluster.names, cluster.routes


def found(path: Path) -> Directions:
    """The routers between every two hosts that were traced. Hops and routers agree."""
    names, routes = measured(path)
    ways: Directions = {}
    for i, source in enumerate(names):
        for j, destination in enumerate(names):
            if routes.route_of[i, j] >= 0:
                way = routes.routes[routes.route_of[i, j]]
                assert routes.hops[i, j] == len(way) + 1
                ways[source, destination] = tuple(way)
    return ways


def true_ways(lab: Lab) -> Directions:
    """What should be found in a lab."""
    pairs = ((one, other) for one in lab.names for other in lab.names if one != other)
    return {pair: tuple(lab.route(*pair)) for pair in pairs}


def reasons(path: Path) -> Mapping[tuple[str, str | None], str]:
    """Host or pair to why it failed."""
    _, routes = measured(path)
    return {(item.source, item.destination): item.reason for item in routes.failures}
