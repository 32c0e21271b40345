"""Hop counts and routes between the hosts of a cluster file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plink.base.errors import WrongUseError
from plink.files.document import brief
from plink.files.fields import Fields, is_word
from plink.files.measurement import (
    Counts,
    Matrix,
    Measurement,
    parse_record,
    record_to_json,
    replaced,
)

MAX_HOPS = 255
# In the matrix of routes: not known.
NO_ROUTE = -1

# Addresses of the routers on the way, None for one that does not show itself.
Route = tuple[str | None, ...]


@dataclass(frozen=True)
class RouteMeasurement(Measurement):
    """The way from every host to every other, [source][destination].

    Args:
        hops: (N, N) as traceroute counts, 1 within a segment; NaN where not measured.
        route_of: (N, N) index into `routes`, or `NO_ROUTE`.
        routes: every distinct sequence of routers, once.
    """

    hops: Matrix
    route_of: Counts
    routes: Sequence[Route]

    def for_hosts(self, places: Sequence[int | None]) -> RouteMeasurement:
        """The same for other hosts; `places` has the index of each here, None for a new one."""
        return replace(
            self,
            hops=replaced(self.hops, places, np.nan),
            route_of=replaced(self.route_of, places, NO_ROUTE),
        )


def to_data(routes: RouteMeasurement) -> dict[str, Any]:
    """`routes` as a JSON object whose matrices are arrays, of whole numbers or -1."""
    return {
        **record_to_json(routes),
        "hops": np.where(np.isnan(routes.hops), -1.0, routes.hops).astype(np.int64),
        "route_of": routes.route_of,
        "routes": [list(route) for route in routes.routes],
    }


def parse(fields: Fields, size: int) -> RouteMeasurement:
    """The routes between `size` hosts.

    Raises:
        WrongUseError: invalid values.
    """
    routes = _parse_routes(fields)
    index = fields.matrix("route_of", size, high=float(size * size))
    if (index >= len(routes)).any():
        raise WrongUseError(f"{fields.place}: route_of has numbers that point to no route")
    hops = fields.matrix("hops", size, high=MAX_HOPS)
    for name, matrix in (("hops", hops), ("route_of", index)):
        if (matrix % 1 > 0).any():
            raise WrongUseError(f"{fields.place}: {name} has numbers that are not whole")
    return RouteMeasurement(
        hops=hops,
        route_of=np.where(np.isnan(index), NO_ROUTE, index).astype(np.int64),
        routes=routes,
        **parse_record(fields),
    )


def _parse_routes(fields: Fields) -> list[Route]:
    value = fields.values.get("routes")
    if not isinstance(value, list):
        raise fields.error("routes", "a list of routes")
    return [_parse_route(item, f"{fields.place}: routes[{i}]") for i, item in enumerate(value)]


def _parse_route(value: Any, place: str) -> Route:
    if not isinstance(value, list) or len(value) > MAX_HOPS or not all(map(_is_router, value)):
        raise WrongUseError(f"{place} is {brief(value)}, expected a list of addresses and nulls")
    return tuple(value)


def _is_router(value: Any) -> bool:
    return value is None or (isinstance(value, str) and is_word(value))
