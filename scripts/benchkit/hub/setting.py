"""Workers and servers of one shape, on which services, engines and Gloo are compared."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchkit.hub.crowd import Crowd, HubServer, crowd_in, servers_in
from benchkit.plans import as_json
from labkit.ported import PortedHost, PortedRack, ported_racks
from plink.plans.forest import Forest
from plink.solvers.forests.trees import Routes

MBIT = 1_000_000
# The worker's link unless a comparison says otherwise.
RATE_MBIT = 400
SIZE_BYTES = 20_000_000
_GLOO_PORT = 29_400

_SECRET = "a secret of the benchmark alone"  # noqa: S105  nobody else is in these networks


@dataclass(frozen=True)
class Rack:
    """A rack of the benchmark.

    Args:
        workers: how many hosts with one interface.
        servers: of each server the rates of its ports, Mbit/s.
        rate_mbit: of a worker's link.
        uplink_mbit: of the rack; None where nothing limits it.
    """

    workers: int
    servers: Sequence[Sequence[int | None]] = ()
    rate_mbit: int | None = RATE_MBIT
    uplink_mbit: int | None = None


class Setting:
    """What stands while a comparison runs.

    Args:
        crowd: all workers, rack by rack.
        workers: their hosts.
        servers: running ones, by the names they were given.
        folder: for stores and secrets.
    """

    def __init__(
        self,
        crowd: Crowd,
        workers: Sequence[PortedHost],
        servers: Mapping[str, HubServer],
        folder: Path,
    ) -> None:
        self.crowd = crowd
        self._hosts = workers
        self._servers = servers
        self._folder = folder
        self._ports = itertools.count(_GLOO_PORT)

    def open_hub(
        self,
        name: str,
        servers: Sequence[str],
        keys: Sequence[int],
        *,
        crowd: Crowd | None = None,
        worker: Mapping[str, Any] | None = None,
        way: str = "hub",
        **service: Any,
    ) -> None:
        """A service, and workers in it.

        Args:
            name: of this way, and of the service.
            servers: which hold it.
            keys: lengths of the parameters.
            crowd: who takes part; all by default.
            worker: options of each worker.
            way: `flood` for workers of bad faith.
            service: options of the service.
        """
        crowd = crowd or self.crowd
        addresses = [self._servers[one].address for one in servers]
        options = {"namespace": name, "workers": crowd.workers, "optimizer": "none", **service}
        made = self._servers[servers[0]].ask("create", servers=addresses, options=options)
        spec = {
            "servers": addresses,
            "namespace": name,
            "secret": made["secret"],
            "keys": list(keys),
            "optimizer": options["optimizer"],
            "options": dict(worker or {}),
        }
        crowd.open(name, way, [spec] * crowd.workers)

    def open_hub_of_racks(
        self, name: str, servers: Sequence[str], keys: Sequence[int], workers: int
    ) -> None:
        """A service with a server for each rack, which the rack's workers call.

        Args:
            name: of this way, and of the service.
            servers: of the racks.
            keys: lengths of the parameters.
            workers: of each rack.
        """
        addresses = [self._servers[one].address for one in servers]
        options = {"namespace": name, "workers": workers, "optimizer": "none"}
        made = self._servers[servers[0]].ask("create_racks", servers=addresses, options=options)
        spec = {"namespace": name, "secret": made["secret"], "keys": list(keys)}
        specs = [
            {**spec, "servers": [addresses[rank // workers]], "optimizer": "none"}
            for rank in range(self.crowd.workers)
        ]
        self.crowd.open(name, "hub", specs)

    def open_engine(self, name: str, forest: Forest | Routes, items: int) -> None:
        """An engine of all workers along a plan."""
        specs = [
            {
                "address": host.addresses[0],
                "store": str(self._folder / f"store-{name}"),
                "plan": as_json(forest),
                "items": items,
            }
            for host in self._hosts
        ]
        self.crowd.open(name, "engine", specs)

    def open_gloo(self, name: str, items: int) -> None:
        """A group of Gloo of all workers."""
        master, port = self._hosts[0].addresses[0], next(self._ports)
        specs = [
            {"address": host.addresses[0], "master": master, "port": port, "items": items}
            for host in self._hosts
        ]
        self.crowd.open(name, "gloo", specs)

    def delete_hub(self, name: str, servers: Sequence[str]) -> None:
        """Delete a service whose workers are gone."""
        addresses = [self._servers[one].address for one in servers]
        self._servers[servers[0]].ask("delete", servers=addresses, namespace=name)

    def status(self, server: str, names: Sequence[str]) -> dict[str, Any]:
        """What a server says of these services, and when: `at_s`, `services`."""
        return self._servers[server].ask("status", namespaces=list(names))

    def checkpoint(self, server: str, name: str) -> None:
        """Let it write a snapshot."""
        addresses = [self._servers[server].address]
        self._servers[server].ask("checkpoint", servers=addresses, namespace=name)


@contextmanager
def setting(
    racks: Sequence[Rack],
    *,
    colocated: bool = False,
    cores: int = 2,
    congestion_control: str | None = "reno",
    snapshots: Path | None = None,
) -> Iterator[Setting]:
    """Build it; take it down at the end.

    Servers are called `r0s0`, `r0s1` by rack and number; those beside workers `w0`, `w1`.

    Args:
        racks: of the network; a single one has no uplink.
        colocated: every worker's host runs a server, too, with the worker's own link.
        cores: event loops of each server.
        congestion_control: TCP's on every host; None leaves the machine's.
        snapshots: a folder for them.
    """
    built = [_to_ported_rack(rack) for rack in racks]
    with (
        tempfile.TemporaryDirectory(prefix="plink-bench-") as name,
        ported_racks(built, congestion_control) as hosts,
    ):
        folder = Path(name)
        workers: list[PortedHost] = []
        places: dict[str, PortedHost] = {}
        left = iter(hosts)
        for number, rack in enumerate(racks):
            workers += itertools.islice(left, rack.workers)
            for server, host in zip(
                range(len(rack.servers)), itertools.islice(left, len(rack.servers)), strict=True
            ):
                places[f"r{number}s{server}"] = host
        if colocated:
            places |= {f"w{number}": host for number, host in enumerate(workers)}
        with (
            servers_in(
                [(host.namespace, host.addresses) for host in places.values()],
                cores,
                _SECRET,
                snapshots,
            ) as servers,
            crowd_in([host.namespace for host in workers]) as crowd,
        ):
            yield Setting(crowd, workers, dict(zip(places, servers, strict=True)), folder)


def _to_ported_rack(rack: Rack) -> PortedRack:
    rates = [[_bits(rack.rate_mbit)]] * rack.workers
    rates = rates + [[_bits(rate) for rate in ports] for ports in rack.servers]
    return PortedRack(rates, _bits(rack.uplink_mbit))


def _bits(rate_mbit: int | None) -> int | None:
    return None if rate_mbit is None else rate_mbit * MBIT
