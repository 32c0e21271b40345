"""Placement of each chunk: its server, port and core.

Both ends compute it from the same manifest and sites, so that nothing but those must be agreed.
Chunks go by longest processing time first: the largest that is left to whoever would be done with
it first. For m equal ports the most loaded has at most 4/3 - 1/(3m) of the least possible load
(Graham 1969, "Bounds on multiprocessing timing anomalies"). First ports of all servers, then the
cores of each port (Luo 2020, §3.2.4).
"""

from __future__ import annotations

import functools
import hashlib
import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from plink.base.errors import WrongUseError
from plink.formats.limits import Complete
from plink.formats.structs import check_members
from plink.hub.manifest import Chunks, Integers
from plink.hub.service import INTERFACES

MOST_SERVERS = 1024
MOST_PORTS = 256
MOST_CORES = 1024
MOST_WEIGHT = 1e6


class Port(Complete, frozen=True, forbid_unknown_fields=True):
    """Network interface of a server: its event loops and its share of the traffic.

    Attributes:
        cores: number of event loops that serve it
        weight: share of the traffic that it carries, beside the weights of the other ports

    Raises:
        WrongUseError: one of them is outside its limits.
    """

    cores: Annotated[int, Meta(ge=1, le=MOST_CORES)] = 1
    weight: Annotated[float, Meta(gt=0, le=MOST_WEIGHT)] = 1.0

    def __post_init__(self) -> None:
        check_members(self)


class Sites(Complete, frozen=True, forbid_unknown_fields=True, dict=True):
    """Servers and ports that can hold chunks.

    Attributes:
        servers: ports of each server, in the order of the servers

    Raises:
        WrongUseError: there are none, or too many.
    """

    servers: Annotated[
        tuple[Annotated[tuple[Port, ...], Meta(min_length=1, max_length=MOST_PORTS)], ...],
        Meta(min_length=1, max_length=MOST_SERVERS),
    ]

    def __post_init__(self) -> None:
        check_members(self)

    @functools.cached_property
    def loops(self) -> tuple[Loop, ...]:
        """Every event loop, by server, port and core; a worker has a connection to each."""
        return tuple(
            Loop(server, port, core)
            for server, ports in enumerate(self.servers)
            for port, details in enumerate(ports)
            for core in range(details.cores)
        )


@dataclass(frozen=True)
class Loop:
    """Event loop, by the indices of its server, port and core."""

    server: int
    port: int
    core: int


@dataclass(frozen=True, eq=False)
class Placement:
    """Assignment of a service's chunks to event loops.

    Args:
        sites: where they could.
        loops: of each chunk, the number of its event loop in `sites.loops`. It is the number of the
            connection, too, by which each worker sends it and gets it back.
        chunk_bytes: of each chunk.
        interfaces: key: a worker reaches a loop through the loop's own port. worker, for
            comparison: through the port that the worker has for all chunks of a server.
    """

    sites: Sites
    loops: npt.NDArray[np.int32]
    chunk_bytes: Integers
    interfaces: str = "key"

    def dialled_port(self, worker: int, loop: int) -> int:
        """Return the port of the loop's server through which the worker reaches it."""
        where = self.sites.loops[loop]
        if self.interfaces == "key":
            return where.port
        return worker % len(self.sites.servers[where.server])

    def loop_bytes(self) -> Integers:
        """Return the total size of each event loop's chunks, (loops,) in bytes."""
        found = np.bincount(self.loops, weights=self.chunk_bytes, minlength=len(self.sites.loops))
        return found.astype(np.int64)

    def port_bytes(self, workers: int) -> dict[tuple[int, int], int]:
        """Return how many bytes go through each (server, port) one way in an iteration."""
        found = {
            (server, port): 0
            for server, ports in enumerate(self.sites.servers)
            for port in range(len(ports))
        }
        for loop, size in enumerate(self.loop_bytes().tolist()):
            server = self.sites.loops[loop].server
            if self.interfaces == "key":
                found[server, self.sites.loops[loop].port] += size * workers
                continue
            for worker in range(workers):
                found[server, self.dialled_port(worker, loop)] += size
        return found

    def port_load(self, workers: int = 1) -> float:
        """Return the most loaded port's load per weight, over the mean; 1 is perfect."""
        weights = {
            (server, port): details.weight
            for server, ports in enumerate(self.sites.servers)
            for port, details in enumerate(ports)
        }
        sizes = self.port_bytes(workers)
        most = max(size / weights[place] for place, size in sizes.items())
        return most * sum(weights.values()) / max(1, sum(sizes.values()))

    def core_load(self) -> float:
        """Return the most loaded core's load over the mean of its port, at the worst port."""
        by_port: dict[tuple[int, int], list[int]] = {}
        for loop, size in zip(self.sites.loops, self.loop_bytes().tolist(), strict=True):
            by_port.setdefault((loop.server, loop.port), []).append(size)
        return max(max(sizes) * len(sizes) / max(1, sum(sizes)) for sizes in by_port.values())

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 over the place of every chunk, by which both ends check that they agree."""
        head = f"plink hub placement 1 {self.interfaces} {msgspec.to_builtins(self.sites)} "
        table = self.loops.astype("<i4").tobytes() + self.chunk_bytes.astype("<i8").tobytes()
        return hashlib.sha256(head.encode() + table).hexdigest()


def place(chunks: Chunks, sites: Sites, *, interfaces: str = "key") -> Placement:
    """Assign a manifest's chunks to ports by their weights, then to the cores of each port.

    Raises:
        WrongUseError: `interfaces` is not one of `INTERFACES`.
    """
    if interfaces not in INTERFACES:
        raise WrongUseError(f"interfaces is {interfaces!r}, expected {' or '.join(INTERFACES)}")
    sizes = chunks.items * 4
    ports = [port for server in sites.servers for port in server]
    of_port = lpt(sizes, [port.weight for port in ports])
    loops = np.empty(len(sizes), np.int32)
    firsts = [0, *itertools.accumulate(port.cores for port in ports)]
    for number, port in enumerate(ports):
        there = np.flatnonzero(of_port == number)
        loops[there] = firsts[number] + lpt(sizes[there], [1.0] * port.cores)
    return Placement(sites, loops, sizes, interfaces)


def lpt(sizes: Integers, weights: Sequence[float]) -> npt.NDArray[np.int32]:
    """Assign jobs by longest processing time first and return the machine of each job.

    Args:
        sizes: of the jobs, in any unit.
        weights: how fast each machine is in relation to the others; equal ends go to the first.
    """
    found = np.zeros(len(sizes), np.int32)
    if len(weights) == 1:
        return found
    if len(set(weights)) == 1:
        # Whole numbers compare exactly.
        heap = [(0, machine) for machine in range(len(weights))]
        for job in np.argsort(-sizes, kind="stable").tolist():
            load, machine = heap[0]
            heapq.heapreplace(heap, (load + int(sizes[job]), machine))
            found[job] = machine
        return found
    loads = [0] * len(weights)
    for job in np.argsort(-sizes, kind="stable").tolist():
        size = int(sizes[job])
        ends = [(load + size) / weight for load, weight in zip(loads, weights, strict=True)]
        machine = ends.index(min(ends))
        loads[machine] += size
        found[job] = machine
    return found
