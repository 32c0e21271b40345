"""Statistics and facts about the routes in a cluster file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from plink.base.text import format_count
from plink.files.cluster import Cluster
from plink.files.measurements import Route, RouteMeasurement
from plink.show.terminal.facts import Fact, failures, how, notes


@dataclass(frozen=True)
class RouteSummary:
    """Statistics of the routes between hosts.

    Args:
        measured: directed pairs whose hops are known.
        min_hops, median_hops, max_hops: over those; None without any.
        distinct: different sequences of routers.
        with_silent: how many of those have a router that does not show itself.
        with_repeated: how many pass the same router more than once.
    """

    measured: int
    min_hops: int | None
    median_hops: float | None
    max_hops: int | None
    distinct: int
    with_silent: int
    with_repeated: int


def summarise_routes(routes: RouteMeasurement) -> RouteSummary:
    """Return statistics of the routes; pairs that were traced again count by the latest."""
    hops = routes.hops[np.isfinite(routes.hops)]
    used = [routes.routes[index] for index in np.unique(routes.route_of[routes.route_of >= 0])]
    return RouteSummary(
        measured=hops.size,
        min_hops=int(hops.min()) if hops.size else None,
        median_hops=float(np.median(hops)) if hops.size else None,
        max_hops=int(hops.max()) if hops.size else None,
        distinct=len(used),
        with_silent=sum(None in route for route in used),
        with_repeated=sum(_repeats(route) for route in used),
    )


def route_facts(cluster: Cluster) -> list[Fact]:
    """Return facts on hop counts, number of routes, oddities and failures; empty without routes."""
    routes = cluster.routes
    if routes is None:
        return []
    summary = summarise_routes(routes)
    lines = [how(routes)]
    if summary.median_hops is not None:
        ends = f"{summary.min_hops} to {format_count(summary.max_hops or 0, 'hop')}"
        lines.append(f"{ends}, median {summary.median_hops:g}")
    size = len(cluster.hosts)
    lines.append(f"{summary.measured:,} of {format_count(size * (size - 1), 'direction')} measured")
    distinct = [format_count(summary.distinct, "route")]
    if summary.with_silent:
        distinct.append(f"{summary.with_silent:,} with routers that do not show themselves")
    if summary.with_repeated:
        distinct.append(f"{summary.with_repeated:,} past the same router twice")
    rows: list[Fact] = [("hops", lines), ("routes", distinct)]
    return rows + failures("failed", routes.failures) + notes(routes)


def routes_to_json(cluster: Cluster) -> dict[str, Any]:
    """Return routes for `plink show --json`; empty if unknown."""
    routes = cluster.routes
    if routes is None:
        return {}
    record = {"tool": routes.tool, "options": dict(routes.options)}
    return {"routes": {**record, **asdict(summarise_routes(routes))}}


def _repeats(route: Route) -> bool:
    shown = [router for router in route if router is not None]
    return len(set(shown)) < len(shown)
