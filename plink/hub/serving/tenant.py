"""A service at one server: its lanes, its workers, and its reactions to events. No sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import numpy as np

from plink.formats.outputs import HubService
from plink.hub import _native
from plink.hub.hyper import unpack
from plink.hub.manifest import Manifest
from plink.hub.placement import Placement, place
from plink.hub.serving.crew import Crew
from plink.hub.serving.errands import Errands
from plink.hub.serving.errors import ServiceError
from plink.hub.serving.followers import Follower
from plink.hub.serving.following import Following
from plink.hub.serving.keeping import Keeping, no_values
from plink.hub.serving.lanes import Lanes, LaneStatus, needed_bytes
from plink.hub.serving.leading import Everywhere
from plink.hub.serving.member import Member
from plink.hub.serving.peers import Peers
from plink.hub.session.data import DataHello, Nonces, Opened
from plink.hub.session.messages import Create, Join, Joined, Lost, Obeyed, Order
from plink.hub.snapshot import Part, Snapshot

# Between two looks for what a worker that leaves has sent.
_SHORTEST_LOOK_S = 0.001
_LONGEST_LOOK_S = 0.05
# Seconds after which what has not come of it never will.
_LONGEST_ARRIVAL_S = 60.0


class Tenant:
    """Service at this server: its members, its lanes, and how it reacts when one is lost.

    Args:
        create: what the maker of the service asked for.
        secret: what its workers prove to have.
        lanes: the lanes of this server, none open yet.
        peers: the servers of other racks; None where there are no racks.
        followers: the other servers, where this is the first one.
    """

    def __init__(
        self,
        create: Create,
        secret: bytes,
        lanes: Lanes,
        peers: Peers | None = None,
        followers: Sequence[Follower] = (),
    ) -> None:
        self.options = create.options
        self.secret = secret
        self.failure: str | None = None
        self.peers = peers
        self.keeping = Keeping(create.options.namespace, lanes)
        self._create = create
        self._lanes = lanes
        self._manifest: Manifest | None = None
        self._placement: Placement | None = None
        self._members: dict[int, Member] = {}
        self._everywhere = Everywhere(lanes, followers, self._hear_of, self.fail)
        self._crew = Crew(create.options, self._everywhere, self.fail)
        self._following: Following | None = None
        if create.server:
            self._following = Following(lanes, self._forget, self.fail)
        self._errands = Errands()

    @property
    def number(self) -> int:
        """Number of the service at this server."""
        return self._lanes.tenant

    @property
    def workers(self) -> int:
        """Number of workers that are members."""
        return len(self._members)

    @property
    def iteration(self) -> int:
        """Latest iteration that has begun; 0 before the first."""
        return self._lanes.iteration

    @property
    def is_connected(self) -> bool:
        """Whether workers have connections for data."""
        return self._lanes.is_connected

    def lanes_now(self) -> list[LaneStatus]:
        """Return the current status of each lane that has chunks."""
        return self._lanes.lanes_now()

    def knows_manifest(self, digest: str) -> bool:
        """Return whether the service has its manifest, so that a worker need not send it.

        Raises:
            ServiceError: the service has other keys.
        """
        if self._manifest is not None and digest != self._manifest.digest:
            raise ServiceError(
                f"service {self.options.namespace} has other keys than this worker",
                "all workers need the same parameters, in the same order and groups",
            )
        return self._manifest is not None

    async def join(self, join: Join, host: str, data_key: bytes) -> tuple[Member, Joined]:
        """Let a worker join; a service's first server gives its number, the others are told it.

        Raises:
            ServiceError: it cannot.
        """
        self._check()
        if not self.knows_manifest(join.digest):
            if join.manifest is None or join.manifest.digest != join.digest:
                raise ServiceError("a worker's keys are not those that it speaks of")
            self._open(join.manifest)
        if join.worker is None and self._create.server:
            raise ServiceError(
                f"this is server {self._create.server + 1} of service {self.options.namespace}, "
                "and the first of those that the worker names",
                "name all of them, in the order in which the service was made",
            )
        if self._following is not None:
            seat = self._following.seat(join)
        else:
            await self._everywhere.call(self._known_manifest())
            seat = await self._crew.seat(join)
            self._check()
        member = Member(seat.number, seat.incarnation, host, Opened(data_key, Nonces()))
        self._members[seat.number] = member
        return member, self._build_joined(member, seat.iteration)

    def opened(self, number: int, incarnation: int) -> Opened | None:
        """Return the session that a worker's data connections must prove; None if it is gone."""
        member = self._members.get(number)
        return member.opened if member and member.incarnation == incarnation else None

    def adopt(self, hello: DataHello, fd: int, line: _native.LineOptions) -> None:
        """Hand a lane a worker's authenticated data connection.

        Raises:
            ServiceError: it is for another server's chunks, or the worker is gone by now.
        """
        number, loop = hello.number, hello.connection
        if self.opened(number, hello.incarnation) is None:
            raise ServiceError(f"worker {number} is gone")
        first, end = self._own_loops()
        if not first <= loop < end or not self._lanes.is_open(loop - first):
            raise ServiceError("a connection for chunks that are not here")
        self._lanes.adopt(loop - first, number, hello.incarnation, fd, line)

    def hear(self, event: _native.Event) -> None:
        """React to an event of an event loop."""
        what = event.what
        if what in (_native.LOST, _native.FAULT):
            self.lost(event.worker, event.incarnation, event.text)
        elif what == _native.FILLED:
            self._lanes.filled(event.lane)
        elif what == _native.MISSED:
            self.fail(event.text)
        elif what == _native.PEER_LOST:
            self.fail(f"the server of rack {event.worker} is lost: {event.text}")
        elif what == _native.COPIED:
            self.keeping.copied(event.lane, event.iteration)

    def lost(self, number: int, incarnation: int, why: str) -> None:
        """Remove a worker whose connection broke or that broke the protocol."""
        member = self._members.get(number)
        if member is None or member.incarnation != incarnation or self.failure is not None:
            return
        del self._members[number]
        if self._following is not None:
            self._following.lost(number, incarnation, why)
        else:
            self._errands.begin(
                self._lose(member, f"worker {number} ({member.host}) is lost: {why}")
            )

    async def _lose(self, member: Member, sentence: str) -> None:
        failure = await self._crew.lost(member.number, member.incarnation, sentence)
        if failure is not None:
            self.fail(failure)

    def _hear_of(self, lost: Lost) -> None:
        self.lost(lost.worker, lost.incarnation, lost.sentence)

    async def left(self, member: Member, iteration: int) -> None:
        """Remove a worker that leaves, once its pushes up to an iteration have arrived."""
        if self._following is None:
            await self._await_arrival(member, iteration)
        if self._members.get(member.number) is member:
            del self._members[member.number]
            if self._following is None:
                await self._crew.left(member.number, member.incarnation)

    async def _await_arrival(self, member: Member, iteration: int) -> None:
        """Wait until all lanes have what a worker contributed, unless it is lost before."""
        wait_s, end_s = _SHORTEST_LOOK_S, time.monotonic() + _LONGEST_ARRIVAL_S
        while (
            self._members.get(member.number) is member
            and self.failure is None
            and time.monotonic() < end_s
        ):
            if await self._everywhere.has_all_of(member.number, iteration):
                return
            await asyncio.sleep(wait_s)
            wait_s = min(2.0 * wait_s, _LONGEST_LOOK_S)

    def _forget(self, number: int) -> None:
        self._members.pop(number, None)

    def lead(self, manifest: Manifest) -> None:
        """Accept the service's first server as the leader of this one.

        Raises:
            ServiceError: it cannot.
        """
        self._check()
        self._its_following()
        if not self.knows_manifest(manifest.digest):
            self._open(manifest)

    def obey(self, order: Order) -> Obeyed:
        """Carry out an order of the first server and return the answer to it."""
        return self._its_following().obey(order)

    async def report(self) -> Lost | None:
        """Return the next lost worker for the first server; None if there is none for a while.

        Raises:
            ServiceError: the service has failed.
        """
        return await self._its_following().report()

    def _its_following(self) -> Following:
        if self._following is None:
            raise ServiceError(f"service {self.options.namespace} has its first server here")
        return self._following

    def _check(self) -> None:
        if self.failure is not None:
            raise ServiceError(f"service {self.options.namespace} has failed: {self.failure}")

    def fail(self, why: str) -> None:
        """Mark the service as failed and tell all workers and servers why."""
        if self.failure is None:
            self.failure = why
            self._lanes.fail(why)
            if self._following is not None:
                self._following.failed(why)
            else:
                self._errands.begin(self._everywhere.fail(why))
            self.keeping.fail(why)

    async def part(self, iteration: int | None) -> Part:
        """Return this server's part of the state at an iteration's end, while workers go on.

        Args:
            iteration: None for the earliest that is possible.

        Raises:
            PastIterationError: the service is past that iteration.
            ServiceError: it has no values, is being saved already, or has failed meanwhile.
        """
        manifest, create = self._known_manifest(), self._create
        done, hypers, pieces = await self.keeping.pieces(iteration)
        servers = len(create.sites.servers)
        groups = tuple(unpack(hypers))
        return Part(self.options, manifest, create.server, servers, done, groups, tuple(pieces))

    def restore(self, snapshot: Snapshot) -> None:
        """Start from a snapshot, before any worker has joined.

        Raises:
            WrongUseError: it is of another service.
            ServiceError: workers are there.
        """
        if self._manifest is not None:
            raise ServiceError(
                f"service {self.options.namespace} has begun already",
                "a snapshot is for a new one, before its workers come: plink hub delete, then "
                "create and restore",
            )
        snapshot.check(self.options, snapshot.manifest)
        self._open(snapshot.manifest)
        self._lanes.load(snapshot)
        self._crew.begin_after(snapshot.iteration)

    def close(self) -> None:
        """Close the service's connections to other servers and free its lanes."""
        if self.peers is not None:
            self.peers.close()
        self._errands.begin(self._everywhere.end())
        self._lanes.close()

    def hang_up(self) -> None:
        """Close the connections to other servers at once, as this server ends."""
        self._errands.stop()
        if self.peers is not None:
            self.peers.close()
        self._everywhere.close()

    def carried_bytes(self) -> list[tuple[int, int]]:
        """Return the bytes received and sent so far, by port of this server."""
        return self._lanes.carried_bytes()

    def status(self) -> HubService:
        """Return the service's status."""
        return HubService(
            namespace=self.options.namespace,
            workers=self.workers,
            wanted_workers=self.options.workers,
            failure=self.failure,
            **self._lanes.status(),
        )

    def _own_loops(self) -> tuple[int, int]:
        """Return the range of this server's loops in the sites: the first, one past the last."""
        counts = [sum(port.cores for port in ports) for ports in self._create.sites.servers]
        first = sum(counts[: self._create.server])
        return first, first + counts[self._create.server]

    def _open(self, manifest: Manifest) -> None:
        options = self.options
        needed = needed_bytes(options, manifest.size_bytes)
        if needed > options.quotas.bytes:
            raise ServiceError(
                f"service {options.namespace} needs {needed} bytes, "
                f"and its quota is {options.quotas.bytes} bytes"
            )
        chunks = manifest.chunks(options.chunk_bytes, by_key=options.granularity == "key")
        placement = place(chunks, self._create.sites, interfaces=options.interfaces)
        self._crew.connections = len(np.unique(placement.loops))
        self._crew.check_quotas(options.workers)
        self._lanes.open(chunks, placement.loops, self._own_loops()[0], manifest.groups)
        self._manifest, self._placement = manifest, placement
        if self.peers is not None:
            self.peers.open(placement.digest, self.fail)

    def _known_manifest(self) -> Manifest:
        if self._manifest is None:
            raise ServiceError(*no_values(self.options.namespace))
        return self._manifest

    def _build_joined(self, member: Member, iteration: int) -> Joined:
        if self._placement is None:
            raise ServiceError("there is no manifest")
        return Joined(
            worker=member.number,
            incarnation=member.incarnation,
            workers=self._crew.workers if self._following is None else self.options.workers,
            iteration=iteration,
            source=member.number == 0 and self._create.rack == 0 and not self._lanes.has_values,
            options=self.options,
            sites=self._create.sites,
            addresses=self._create.addresses,
            placement=self._placement.digest,
        )
