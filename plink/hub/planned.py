"""What a plan with servers (`plink plan --servers`) says of a service: servers, ports, workers.

A service deals chunks to ports by weight, and every worker sends every chunk to its port: a plan of
stars at ports. How servers of racks aggregate among each other is no such plan.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.text import named
from plink.files.plan import Plan
from plink.files.plan_ranks import SERVER
from plink.plans.forest import ABSENT, NO_PARENT
from plink.transport.addresses import format_address

# Of a server's first port at each of its addresses.
USUAL_PORT = 7100

_HINT = "plink.plan(servers=...) makes a plan whose servers a service can have"


@dataclass(frozen=True)
class PlannedServer:
    """A server of a service.

    Args:
        host: its name.
        addresses: of its ports, without TCP's ports.
        weights: of the ports: the shares of the buffer that the plan has there.
    """

    host: str
    addresses: tuple[str, ...]
    weights: tuple[float, ...]

    def listen(self, port: int = USUAL_PORT) -> list[str]:
        """HOST:PORT of each port; where several have one address, by ports that follow."""
        seen: Counter[str] = Counter()
        found = []
        for address in self.addresses:
            found.append(format_address(address, port + seen[address] if port else 0))
            seen[address] += 1
        return found


@dataclass(frozen=True)
class PlannedService:
    """A service as a plan has it.

    Args:
        servers: in the order in which workers name them.
        workers: how many contribute.
    """

    servers: tuple[PlannedServer, ...]
    workers: int

    def server(self, host: str, source: str) -> PlannedServer:
        """The server on a host; `source` names the plan.

        Raises:
            WrongUseError: it has none there.
        """
        for server in self.servers:
            if server.host == host:
                return server
        raise WrongUseError(
            f"{source}: has no server on {host}",
            f"its servers are on {named([server.host for server in self.servers])}",
        )


def planned_service(plan: Plan, source: str) -> PlannedService:
    """What a plan says of a service; `source` names it.

    Raises:
        WrongUseError: it has no servers, or aggregates otherwise than by stars at their ports.
    """
    if not plan.has_servers:
        raise WrongUseError(f"{source}: this plan has no servers", _HINT)
    parents, is_server = plan.forest.reduce_parents, plan.is_server
    roots = np.argmax(parents == NO_PARENT, axis=1)
    to_root = (parents == roots[:, None]) | is_server[None, :]
    alone = np.sum(is_server[None, :] & (parents != ABSENT), axis=1) == 1
    if not (np.all(to_root) and np.all(alone) and np.all(is_server[roots])):
        raise WrongUseError(
            f"{source}: servers of a plan of kind {plan.kind} aggregate among each other", _HINT
        )
    by = np.zeros(parents.shape, np.int32) if plan.route_ports is None else plan.route_ports
    servers = []
    for number, rank in enumerate(plan.ranks):
        if rank.role != SERVER or number not in roots:
            continue
        addresses = tuple(port.address for port in rank.ports) or (rank.address,)
        shares = np.zeros(len(addresses))
        here = roots == number
        np.add.at(shares, by[here, number], plan.forest.weights[here])
        used = [place for place, share in enumerate(shares) if share > 0.0]
        servers.append(
            PlannedServer(
                rank.host,
                tuple(addresses[place] for place in used),
                tuple(float(shares[place]) for place in used),
            )
        )
    return PlannedService(tuple(servers), plan.contributors)
