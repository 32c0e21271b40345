"""plink's hub: a worker process a rank and a server on every server's host for the whole bench."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from plink.bench.clients.client import Launch, Measured
from plink.bench.clients.engine import explain, versions_of
from plink.bench.clients.workers import Message, Relay, Workers, interpreter_command
from plink.deploy.remote.hosts import RemoteHost
from plink.formats.comparison import ClientRecord
from plink.hub.planned import PlannedService
from plink.probes.errors import HostError

_PROGRAM = (
    "import sys; sys.path[:] = [path for path in sys.path if path]; "
    "from plink.bench.workers.hub_rounds import main; main()"
)
_SECRET_BYTES = 32


class HubClient:
    """Iterations of services without an optimiser, along plans of stars at servers' ports.

    Args:
        hosts: the workers' hosts, once for each rank that they may take.
        servers: the servers' hosts, by name.
        python: as of the engine.
        idle_limit_s: the longest that the workers may wait for a launch.
        settings: what is said of the servers.
    """

    def __init__(
        self,
        hosts: Sequence[RemoteHost],
        servers: Mapping[str, RemoteHost],
        python: str | None,
        idle_limit_s: float,
        settings: Mapping[str, str],
    ) -> None:
        self._hosts = [*hosts, *servers.values()]
        self._seat_of = {name: len(hosts) + place for place, name in enumerate(servers)}
        self._python = python
        self._idle_limit_s = idle_limit_s
        self._settings = settings
        self._secret = secrets.token_hex(_SECRET_BYTES)
        self._workers = Workers(self._hosts, "hub", "plink", explain)

    def start(self) -> ClientRecord:
        """Start every worker and server. All must have the version of plink that runs here."""
        command = interpreter_command(self._python, _PROGRAM)
        replies = self._workers.start(command, self._idle_limit_s)
        return ClientRecord(versions_of(replies, self._hosts), self._settings)

    def launch(self, launch: Launch) -> Measured:
        """Run iterations of a new service, on new servers."""
        service = launch.service
        if service is None:
            raise RuntimeError("the hub runs services")
        order, timeout_s = launch.seats, launch.workload.timeout_s
        ask = self._workers.ask
        self._workers.let_wait(launch)
        servers = self._serve(service, timeout_s)
        about: Message = {"servers": servers, "timeout_s": timeout_s}
        racks = [service.rack_of(self._hosts[seat].name) for seat in order] if service.racks else []
        workers = [racks.count(rack) for rack in range(len(servers))] if racks else [len(order)]
        asked = {**about, "do": "create", "secret": self._secret, "workers": workers}
        asked["is_by_rack"] = bool(racks)
        made = ask({order[0]: asked}, timeout_s)[order[0]]
        group = {
            **about,
            "do": "join",
            "secret": str(made.get("secret")),
            "world_size": len(order),
            "elements": launch.workload.elements,
        }
        joining: dict[int, Message] = {
            seat: {**group, "rank": rank} for rank, seat in enumerate(order)
        }
        for seat, rack in zip(order, racks, strict=False):
            joining[seat]["servers"] = [servers[rack]]
        ask(joining, timeout_s, order=order, relay=Relay())
        measured, _ = self._workers.measure(launch)
        leave: Message = {"do": "leave", "timeout_s": timeout_s}
        ask(dict.fromkeys(order, leave), timeout_s, order=order)
        ending = {self._seat_of[server.host]: {"do": "end"} for server in service.servers}
        ask(ending, timeout_s)
        return measured

    def close(self) -> None:
        """End every worker and server."""
        self._workers.close()

    def _serve(self, service: PlannedService, timeout_s: float) -> list[str]:
        """Return the address of each server, which serves now."""
        seats = [self._seat_of[server.host] for server in service.servers]
        commands = {
            seat: {
                "do": "serve",
                "listen": server.listen(0),
                "weights": server.weights,
                "secret": self._secret,
                # Racks' servers have to be alike, whatever processors they have.
                "cores": len(server.addresses) if service.racks else None,
            }
            for seat, server in zip(seats, service.servers, strict=True)
        }
        replies = self._workers.ask(commands, timeout_s)
        found = []
        for seat in seats:
            address = replies[seat].get("address")
            if not isinstance(address, str):
                raise HostError(self._hosts[seat].name, "does not say where it serves")
            found.append(address)
        return found
