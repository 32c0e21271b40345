"""What `plink show` says of routes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plink.base.replacing import replace
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import NO_ROUTE, Failure, RouteMeasurement
from plink.show.facts import route_facts
from plink.show.summary import cluster_to_json, summarise_routes
from support.plink_command import plink_here

NAMES = ["a", "b", "c", "d"]


def cluster() -> Cluster:
    """a and b in a rack, c in another; d cannot be traced."""
    routes = [(), ("10.0.0.1", None, "10.0.0.3"), ("10.0.0.3", "10.0.0.1", "10.0.0.3"), ("gone",)]
    route_of = np.full((4, 4), NO_ROUTE, dtype=np.int64)
    for i, j, route in ((0, 1, 0), (1, 0, 0), (0, 2, 1), (1, 2, 1), (2, 0, 2)):
        route_of[i, j] = route
    hops = np.where(route_of == NO_ROUTE, np.nan, np.where(route_of == 0, 1.0, 4.0))
    measurement = RouteMeasurement(
        hops=hops,
        route_of=route_of,
        routes=routes,
        tool="trace",
        options={"count": 3},
        started="2026-11-20T18:00:00+00:00",
        failures=[Failure("c", "b answers no probe", "b"), Failure("d", "has no scapy")],
    )
    return Cluster([Host(name, f"10.1.0.{i}") for i, name in enumerate(NAMES)], routes=measurement)


def test_counts_routes_that_are_in_use() -> None:
    routes = cluster().routes
    assert routes is not None
    summary = summarise_routes(routes)
    assert (summary.measured, summary.distinct) == (5, 3)
    assert (summary.min_hops, summary.median_hops, summary.max_hops) == (1, 4.0, 4)
    assert (summary.with_silent, summary.with_repeated) == (1, 1)


def test_says_it_in_words() -> None:
    said = dict(route_facts(cluster()))
    assert said["hops"][0].startswith("by trace (count 3)")
    assert said["hops"][1:] == ["1 to 4 hops, median 4", "5 of 12 directions measured"]
    assert said["routes"] == [
        "3 routes",
        "1 with routers that do not show themselves",
        "1 past the same router twice",
    ]
    assert len(said["failed"]) == 2


def test_nothing_was_measured() -> None:
    found = cluster()
    assert found.routes is not None
    nothing = replace(
        found.routes, hops=np.full((4, 4), np.nan), route_of=np.full((4, 4), NO_ROUTE), failures=()
    )
    said = dict(route_facts(replace(found, routes=nothing)))
    assert said["hops"][1:] == ["0 of 12 directions measured"]
    assert said["routes"] == ["0 routes"]
    assert route_facts(replace(found, routes=None)) == []
    assert "routes" not in cluster_to_json(replace(found, routes=None), None)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_show_prints_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = tmp_path / "c.json"
    cluster_file.write_cluster(str(path), cluster())
    done = plink_here("show", path, *options)
    assert done.code == 0, done.stderr
    assert ('"max_hops": 4' if options else "1 to 4 hops, median 4") in done.stdout
