"""Derive a service from a plan with servers (`plink plan --servers`): servers, ports, workers.

A service deals chunks to ports by weight, and every worker sends every chunk to its port: a plan of
stars at ports. Where racks have a server each, a worker sends every chunk to its rack's, and a
chunk's root is one of these, to which the others send: a plan of stars of stars. A service's roots
take turns, whatever shares the plan has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.base.text import format_names
from plink.formats.plan import Plan
from plink.plans.forest import ABSENT, NO_PARENT
from plink.transport.addresses import format_address

# Of a server's first port at each of its addresses.
USUAL_PORT = 7100

_HINT = "plink plan --servers HOST --kind ps makes a plan whose servers a service can have"
_SAME = 1e-6


@dataclass(frozen=True)
class PlannedServer:
    """Server of a service derived from a plan: its host, port addresses and weights.

    Args:
        host: its name.
        addresses: of its ports, without TCP's ports.
        weights: of the ports: the shares of the buffer that the plan has there.
    """

    host: str
    addresses: tuple[str, ...]
    weights: tuple[float, ...]

    def listen(self, port: int = USUAL_PORT) -> list[str]:
        """Return HOST:PORT of each port; ports on one address get consecutive TCP ports.

        Args:
            port: TCP port of the first port on each address; 0 for any, for all ports.
        """
        seen: Counter[str] = Counter()
        found = []
        for address in self.addresses:
            found.append(format_address(address, port + seen[address] if port else 0))
            seen[address] += 1
        return found


@dataclass(frozen=True)
class PlannedService:
    """Service derived from a plan: its servers, number of workers, and racks.

    Args:
        servers: in the order in which workers name them; where racks have a server each, a worker
            calls that of its rack alone.
        workers: how many contribute.
        racks: of each server the hosts of its rack's workers, once for each; empty where all
            workers call all servers.
    """

    servers: tuple[PlannedServer, ...]
    workers: int
    racks: tuple[tuple[str, ...], ...] = ()

    def rack_of(self, host: str) -> int:
        """Return the index of the rack that has a worker's host.

        Raises:
            WrongUseError: there are no racks, or none has that host.
        """
        for rack, hosts in enumerate(self.racks):
            if host in hosts:
                return rack
        raise WrongUseError(f"no rack of the plan has the host {host}")

    def server(self, host: str, source: str) -> PlannedServer:
        """Return the server on a host; `source` names the plan in errors.

        Raises:
            WrongUseError: it has none there.
        """
        for server in self.servers:
            if server.host == host:
                return server
        raise WrongUseError(
            f"{source}: has no server on {host}",
            f"its servers are on {format_names([server.host for server in self.servers])}",
        )


def planned_service(plan: Plan, source: str) -> PlannedService:
    """Derive a service from a plan; `source` names the plan in errors.

    Raises:
        WrongUseError: it has no servers, or aggregates otherwise than a service does.
    """
    if not plan.has_servers:
        raise WrongUseError(f"{source}: this plan has no servers", _HINT)
    parents, is_server = plan.forest.reduce_parents, plan.is_server
    roots = np.argmax(parents == NO_PARENT, axis=1)
    of_workers = parents[:, ~is_server]
    if np.any(~is_server[of_workers[of_workers >= 0]]) and np.all(is_server[roots]):
        raise WrongUseError(
            f"{source}: ranks of a host add up before they send to a server, and workers of a "
            "service each send all that they have",
            "plan with one rank per host, and make the service for as many workers as there are",
        )
    if not np.all(is_server[roots]):
        raise WrongUseError(f"{source}: not all that is aggregated is so at a server", _HINT)
    is_alone = bool(np.all(np.sum(is_server[None, :] & (parents != ABSENT), axis=1) == 1))
    if is_alone and np.all((parents == roots[:, None]) | is_server[None, :]):
        servers = tuple(_server(plan, number) for number in np.unique(roots))
        return PlannedService(servers, plan.contributors)
    return _of_racks(plan, source, roots)


def _of_racks(plan: Plan, source: str, roots: npt.NDArray[np.intp]) -> PlannedService:
    """Derive a service with a server in each rack; refuse plans that aggregate otherwise."""
    parents, is_server = plan.forest.reduce_parents, plan.is_server
    of_workers = parents[:, ~is_server]
    of_servers = np.where(parents == NO_PARENT, roots[:, None], parents)[:, is_server]
    own = of_workers[0]
    if np.all(of_workers >= 0) and np.any(of_workers != own):
        several = int(np.argmax(np.any(of_workers != own, axis=0)))
        host = plan.ranks[int(np.flatnonzero(~is_server)[several])].host
        raise WrongUseError(
            f"{source}: {host} sends to several servers, where those of a service in racks send to "
            "one",
            "name one server in each group of hosts; " + _HINT,
        )
    # A server without a rack is part of no route, or of all that reach it.
    used = np.unique(own)
    is_there = np.isin(np.flatnonzero(is_server), used)
    is_as_wanted = (
        np.array_equal(parents, plan.forest.broadcast_parents)
        and bool(np.all(of_workers == own))
        and bool(np.all(is_server[used]))
        and bool(np.all(of_servers[:, is_there] == roots[:, None]))
        and bool(np.all(of_servers[:, ~is_there] == ABSENT))
    )
    if not is_as_wanted:
        raise WrongUseError(
            f"{source}: servers of a plan of kind {plan.kind} aggregate among each other along "
            "chains or rings, where those of a service send to roots among them",
            "plink plan --servers HOST,HOST --kind hub makes a plan whose servers do",
        )
    servers = tuple(_server(plan, number) for number in used)
    hosts = [rank.host for rank, serves in zip(plan.ranks, is_server, strict=True) if not serves]
    racks = tuple(
        tuple(host for host, its in zip(hosts, own, strict=True) if its == number)
        for number in used
    )
    first = np.array(servers[0].weights)
    for server in servers[1:]:
        its = np.array(server.weights)
        if its.shape != first.shape or not np.allclose(
            its / its.sum(), first / first.sum(), atol=_SAME
        ):
            raise WrongUseError(
                f"{source}: the servers on {servers[0].host} and {server.host} have other ports, "
                "or ports of other rates",
                "a service in racks needs servers that are alike: name as many ports at each; "
                + _HINT,
            )
    return PlannedService(servers, plan.contributors, racks)


def _server(plan: Plan, number: int) -> PlannedServer:
    """Derive the server at a rank, with the ports that its routes use."""
    rank, forest = plan.ranks[number], plan.forest
    addresses = tuple(port.address for port in rank.ports) or (rank.address,)
    ports = np.zeros(forest.routes, np.int32)
    if plan.route_ports is not None:
        ports = plan.route_ports[:, number]
    here = forest.reduce_parents[:, number] != ABSENT
    shares = np.zeros(len(addresses))
    np.add.at(shares, ports[here], forest.weights[here])
    used = [place for place, share in enumerate(shares) if share > 0.0]
    return PlannedServer(
        rank.host,
        tuple(addresses[place] for place in used),
        tuple(float(shares[place]) for place in used),
    )
