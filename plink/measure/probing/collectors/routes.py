"""Gathers routes."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from plink.files.cluster import Cluster, Quantity
from plink.files.measurement import Matrix
from plink.files.routes import NO_ROUTE, Route, RouteMeasurement
from plink.measure.probing.collectors.base import Collector, Run
from probes.samples import RouteReading


class RouteCollector(Collector[RouteReading]):
    """A sink for routes."""

    quantity: ClassVar[Quantity] = "routes"

    def _begin(self) -> None:
        size = len(self._cluster.hosts)
        kept = self._cluster.routes
        # Route to its index: every distinct one is kept once.
        self._routes: dict[Route, int] = {}
        if kept is None:
            self._hops = np.full((size, size), np.nan)
            self._route_of = np.full((size, size), NO_ROUTE, dtype=np.int64)
        else:
            self._hops = kept.hops.copy()
            self._route_of = kept.route_of.copy()
            self._routes = {route: index for index, route in enumerate(kept.routes)}

    def _readings(self) -> Matrix:
        return self._hops

    def _take(self, pair: tuple[int, int], reading: RouteReading) -> None:
        self._hops[pair] = reading.hops
        self._route_of[pair] = self._routes.setdefault(reading.routers, len(self._routes))

    def result(self, run: Run) -> tuple[Cluster, RouteMeasurement]:
        """The cluster with what was gathered so far, and the measurement in it."""
        measurement = RouteMeasurement(
            hops=self._hops,
            route_of=self._route_of,
            routes=list(self._routes),
            failures=self.failures,
            **vars(run),
        )
        return replace(self._cluster, routes=measurement), measurement
