"""Agreement in cycles on positions of a cache (Romero et al., section 3.1, algorithms 1 and 2).

In each cycle all ranks AND a bit for each position that they are ready for; what all are ready for
is released without a coordinator. Status bits travel with it, inverted, since under AND a single 0
is heard by all. Only a rank that is ready for something else makes all ask the coordinator; and one
that contradicts what stands in the cache makes all OR positions first, and erase these everywhere.

The coordinator only looks the cached up; all ranks, itself too, `put` what it answers. With
`is_blocking=False` ranks sleep on while bits are combined (Pumma et al., section IV-B): these are
as they were when the rank began, and a rank looks for the result once each time it wakes.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.training.control.alarms import Alarms
from plink.training.control.cache import Cache
from plink.training.control.cycle_messages import (
    AND,
    INVALID,
    OR,
    REQUESTS,
    SHUTDOWN,
    STATUS,
    STATUS_BITS,
    UNCACHED,
    Response,
    pack_bits,
    parse_bits,
    positions,
)
from plink.training.control.cycles import Cycles, Queued
from plink.training.control.fusion import fuse_requests
from plink.training.control.growth import Growth
from plink.training.control.requests import Request
from plink.training.control.root import join_problem
from plink.training.control.rounds import Round
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.tree_messages import Member


class BitVector(Cycles):
    """The machine of one rank; see `Cycles`."""

    def __init__(self, place: Place, settings: Settings) -> None:
        super().__init__(place, settings)
        self._rounds.kinds[AND] = Round(self._intersect, bytes, self._take_bits)
        self._rounds.kinds[OR] = Round(self._unite, bytes, self._erase)
        self._cache = Cache(min(settings.cache, settings.most_positions))
        self._growth = Growth(settings.most_positions)
        self._alarms = Alarms(settings.stall_warning_s, settings.stall_error_s)
        # What is ready and at which positions; what the coordinator is to be asked for.
        self._hits = 0
        self._own_bits = 0
        self._unseen: list[Queued] = []
        self._misses: list[Queued] = []
        self._changes = 0
        # Of this cycle.
        self._invalid = 0
        self._common: list[Request] = []

    @property
    def digest(self) -> int:
        """Digest of the cache and of all results, equal on ranks that took as many."""
        return super().digest ^ self._cache.digest

    @property
    def _awaits_by_waking(self) -> bool:
        return self._rounds.kind == AND and not self._settings.is_blocking

    def _enqueue(self, queued: Queued) -> None:
        super()._enqueue(queued)
        self._unseen.append(queued)
        self._alarms.add(queued.request.name, queued.since_s)

    def _forget(self, name: str) -> bool:
        if name in self._queue:
            self._alarms.remove(name)
        return super()._forget(name)

    # Bits.

    def _begin(self) -> None:
        self._invalid = 0
        unseen, self._unseen = self._unseen, []
        self._sort(list(self._queue.values()) if self._changes != self._cache.changes else unseen)
        has_joined = self._place.rank in self._coordination.joined
        ready = (1 << len(self._cache)) - 1 if has_joined else self._hits
        if self._coordination.have_all_joined:
            # Nobody else would say for which collectives a rank still waits.
            self._invalid |= self._hits
            ready = 0
        for name in self._alarms.due(self._now_s):
            queued = self._queue[name]
            if (position := self._cache.position(queued.request)) is not None:
                self._invalid |= 1 << position
                self._coordination.wait(name, self._now_s - queued.since_s)
        said = INVALID if self._invalid else 0
        if self._misses or self._coordination.has_news(self._now_s):
            said |= UNCACHED
        self._own_bits = (ready & ~self._invalid) << STATUS_BITS | self._status(said)
        self._rounds.enter(AND)

    def _sort(self, announced: Sequence[Queued]) -> None:
        """Look up what is announced: all where positions mean something else now."""
        if self._changes != self._cache.changes:
            self._changes = self._cache.changes
            self._hits = 0
            self._misses = []
        for queued in announced:
            if self._queue.get(queued.request.name) is not queued:
                continue
            position = self._cache.position(queued.request)
            if position is not None:
                self._hits |= 1 << position
                continue
            self._misses.append(queued)
            for contradicted in self._cache.contradicted(queued.request):
                self._invalid |= 1 << contradicted

    def _status(self, said: int) -> int:
        """Inverted: what one rank says is heard by all."""
        return ~said & STATUS

    def _invert_status(self, status: int) -> int:
        return ~status & STATUS

    def _intersect(self, values: dict[int, bytes]) -> bytes:
        count = len(self._cache) + STATUS_BITS
        bits = self._own_bits
        for value in self._rounds.parsed(values, lambda value: parse_bits(value, count)).values():
            bits &= value
        if self._rounds.broken:
            # Nobody knows what a rank is ready for that is not heard.
            bits = self._status(SHUTDOWN) & bits
        return pack_bits(bits)

    def _take_bits(self, data: bytes) -> None:
        bits = parse_bits(data, len(self._cache) + STATUS_BITS)
        heard = self._invert_status(bits & STATUS)
        # Before anything is erased: then positions mean something else.
        self._common = [self._cache.at(position) for position in positions(bits >> STATUS_BITS)]
        if heard & INVALID:
            self._rounds.enter(OR)
        elif heard or self._is_check_due:
            self._ask()
        else:
            self._take_common()

    def _take_common(self) -> None:
        """Release the cached requests that all ranks are ready for, without the coordinator."""
        released: list[Request] = []
        joined = self._coordination.joined
        for request in self._common:
            if problem := join_problem(request, joined):
                self._refuse(request.name, problem)
            else:
                released.append(request)
        batches = fuse_requests(released, self._settings.fusion_bytes)
        for batch in batches:
            for request in batch:
                self._cache.put(request)
        self._release(batches)
        self._end()

    def _release(self, batches: Sequence[tuple[Request, ...]]) -> None:
        for batch in batches:
            for request in batch:
                self._unready(request)
        super()._release(batches)

    def _refuse(self, name: str, text: str) -> None:
        queued = self._queue.get(name)
        if queued is not None:
            self._unready(queued.request)
        super()._refuse(name, text)

    def _unready(self, request: Request) -> None:
        position = self._cache.position(request)
        if position is not None:
            self._hits &= ~(1 << position)

    def _unite(self, values: dict[int, bytes]) -> bytes:
        count = len(self._cache)
        bits = self._invalid
        for value in self._rounds.parsed(values, lambda value: parse_bits(value, count)).values():
            bits |= value
        return pack_bits(bits)

    def _erase(self, data: bytes) -> None:
        self._cache.erase(positions(parse_bits(data, len(self._cache))))
        self._ask()

    # The coordinator.

    def _ask(self) -> None:
        if self._changes != self._cache.changes:
            # What was announced since this cycle began waits for the next one.
            late = {queued.request.name for queued in self._unseen}
            self._sort([one for name, one in self._queue.items() if name not in late])
        self._misses, misses = [], self._misses
        for queued in misses:
            request = queued.request
            if self._queue.get(request.name) is not queued:
                continue
            del self._queue[request.name]
            self._alarms.remove(request.name)
            self._coordination.announce(request, queued.since_s, self._now_s)
        for request in self._common:
            self._coordination.settle(request, self._now_s)
        self._rounds.enter(REQUESTS)

    def _member(self, request: Request) -> Member:
        position = self._cache.position(request)
        return Member(0, request) if position is None else Member(position, None)

    def _requests_named(self, members: Sequence[Member]) -> list[Request]:
        return [
            self._cache.at(member.position) if member.request is None else member.request
            for member in members
        ]

    def _respond(self, response: Response) -> Response:
        news = [
            member.request.name
            for batch in response.said.batches
            for member in batch
            if member.request is not None
        ]
        response.bound = self._growth.bound(self._cache.bound, news)
        return response

    def _learn(self, requests: Sequence[Request], response: Response) -> None:
        """Fused ones one by one: in the next iteration others may be ready together."""
        self._cache.bound = max(self._cache.bound, response.bound)
        for request in requests:
            evicted = self._cache.put(request)
            if evicted is not None and self._place.parent is None:
                self._growth.evicted(evicted, self._cache.bound)
