"""A service at one server: its lanes, its workers, and what follows from events. No sockets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plink.base.errors import PlinkError, WrongUseError
from plink.hub import _native
from plink.hub.hyper import OPTIMIZERS, STATES
from plink.hub.manifest import Manifest
from plink.hub.placement import Placement, Sites, place
from plink.hub.service import MODES, WIRES, ServiceOptions


class ServiceError(PlinkError):
    """A service cannot do what a worker or a person asks for."""


@dataclass
class Member:
    """A worker that has joined.

    Args:
        number, incarnation: its own.
        host: from which it called.
        session_key: that its data connections prove.
    """

    number: int
    incarnation: int
    host: str
    session_key: bytes
    lanes: set[int] = field(default_factory=set)


class Tenant:
    """A service.

    Args:
        number: its own at this server.
        options: of the service.
        secret: that its workers prove.
        loops: of the server.
        cores: the loops of each port.
    """

    def __init__(
        self,
        number: int,
        options: ServiceOptions,
        secret: bytes,
        loops: list[_native.Loop],
        cores: list[list[int]],
    ) -> None:
        self.number = number
        self.options = options
        self.secret = secret
        self.manifest: Manifest | None = None
        self.placement: Placement | None = None
        self.members: dict[int, Member] = {}
        self.failure: str | None = None
        self.server = -1
        self.has_values = False
        self._loops = loops
        self._lane_loops = [loop for port in cores for loop in port]
        self._lanes_without_values: set[int] = set()
        self._incarnations = 0
        self._opened: set[int] = set()

    def join(self, manifest: Manifest, wanted: int | None, host: str, key: bytes) -> Member:
        """A worker takes part; of several servers the first gives its number, the others are told.

        Raises:
            ServiceError: it cannot.
        """
        if self.failure is not None:
            raise ServiceError(f"service {self.options.namespace} has failed: {self.failure}")
        if self.manifest is not None and manifest.digest != self.manifest.digest:
            raise ServiceError(
                f"service {self.options.namespace} has other keys than this worker",
                "all workers must have the same parameters, in the same order and groups",
            )
        free = [i for i in range(self.options.workers) if i not in self.members]
        if wanted is not None:
            free = [number for number in free if number == wanted]
        if not free:
            raise ServiceError(
                f"service {self.options.namespace} has its {self.options.workers} workers"
            )
        self._check_bytes(manifest)
        self.manifest = manifest
        self._incarnations = self._incarnations % 0xFFFF + 1
        member = Member(free[0], self._incarnations, host, key)
        self.members[member.number] = member
        return member

    def place(self, sites: Sites, server: int, digest: str) -> None:
        """The lanes of this server, at the first call; later ones must say the same.

        Raises:
            ServiceError: they do not.
        """
        if self.manifest is None or not 0 <= server < len(sites.servers):
            raise ServiceError("a worker places chunks before it has joined")
        if self.placement is None:
            ports = sites.servers[server]
            if sum(port.cores for port in ports) != len(self._lane_loops):
                raise ServiceError("a worker takes this server for another one")
            self._open(sites, server)
        if self.placement is None or self.placement.digest != digest or self.server != server:
            raise ServiceError(
                "workers name the servers of the service differently",
                "all must name the same servers in the same order",
            )

    def adopt(self, member: Member, lane: int, fd: int, line: _native.LineOptions) -> None:
        """A proven data connection."""
        if lane not in self._opened:
            raise ServiceError("a connection for chunks that are not here")
        loop = self._loops[self._lane_loops[lane]]
        loop.adopt(self.number, lane, member.number, member.incarnation, fd, line)
        member.lanes.add(lane)

    def filled(self, lane: int) -> None:
        """All chunks of a lane have their first values."""
        self._lanes_without_values.discard(lane)
        self.has_values = not self._lanes_without_values

    def lost(self, number: int, incarnation: int, why: str) -> None:
        """A worker's connection broke, or it sent what it must not."""
        member = self.members.get(number)
        if member is None or member.incarnation != incarnation:
            return
        self.fail(f"worker {number} ({member.host}) is lost: {why}")

    def fail(self, why: str) -> None:
        """It ends for all workers."""
        if self.failure is not None:
            return
        self.failure = why
        for loop in self._own_loops():
            loop.fail(self.number, why)

    def left(self, member: Member) -> None:
        """A worker is done."""
        if self.members.get(member.number) is not member:
            return
        del self.members[member.number]
        for loop in self._own_loops():
            loop.retire(self.number, member.number, f"worker {member.number} has left")

    def close(self) -> None:
        """Frees what it has."""
        for loop in self._own_loops():
            loop.close(self.number)
        self._opened.clear()

    def status(self) -> dict[str, Any]:
        """For people, as JSON."""
        lanes = [
            self._loops[self._lane_loops[lane]].figures(self.number, lane)
            for lane in sorted(self._opened)
        ]
        links = [link for loop in self._own_loops() for link in loop.links(self.number)]
        return {
            "namespace": self.options.namespace,
            "workers": len(self.members),
            "wanted_workers": self.options.workers,
            "iteration": max((lane.iteration for lane in lanes), default=0),
            "steps": max((lane.steps for lane in lanes), default=0),
            "skipped": max((lane.skipped for lane in lanes), default=0),
            "replays": sum(lane.replays for lane in lanes),
            "bytes_in": sum(link.bytes_in for link in links),
            "bytes_out": sum(link.bytes_out for link in links),
            "failure": self.failure,
        }

    def _own_loops(self) -> list[_native.Loop]:
        return [self._loops[i] for i in sorted({self._lane_loops[lane] for lane in self._opened})]

    def _check_bytes(self, manifest: Manifest) -> None:
        """Before anything is allocated."""
        options = self.options
        arrays = 2 + len(STATES[options.optimizer])
        if options.deterministic:
            arrays += options.workers - 1
        needed = arrays * manifest.size_bytes
        if needed > options.quotas.bytes:
            raise WrongUseError(
                f"service {options.namespace} needs {needed} bytes, "
                f"and its quota is {options.quotas.bytes}"
            )

    def _open(self, sites: Sites, server: int) -> None:
        if self.manifest is None:
            raise ServiceError("there is no manifest")
        options = self.options
        chunks = self.manifest.chunks(options.chunk_bytes, by_key=options.granularity == "key")
        placement = place(chunks, sites, interfaces=options.interfaces)
        first = sum(port.cores for ports in sites.servers[:server] for port in ports)
        for lane in range(len(self._lane_loops)):
            ids = np.flatnonzero(placement.loops == first + lane).astype(np.uint32)
            if not len(ids):
                continue
            self._opened.add(lane)
            self._loops[self._lane_loops[lane]].open(
                self._lane_options(lane),
                ids,
                chunks.items[ids].astype(np.uint32),
                chunks.groups[ids].astype(np.uint32),
                options.weight,
            )
        self._lanes_without_values = set(self._opened)
        self.placement = placement
        self.server = server

    def _lane_options(self, lane: int) -> _native.LaneOptions:
        made = _native.LaneOptions()
        options = self.options
        made.tenant = self.number
        made.lane = lane
        made.workers = options.workers
        made.groups = self.manifest.groups if self.manifest else 1
        made.optimizer = OPTIMIZERS.index(options.optimizer)
        made.mode = MODES.index(options.mode)
        made.staleness = options.staleness
        made.is_by_step = options.commit == "step"
        made.is_in_order = options.deterministic
        made.skips_nonfinite = options.skip_nonfinite
        made.clip = options.clip_norm or 0.0
        made.wire = WIRES.index(options.wire)
        return made
