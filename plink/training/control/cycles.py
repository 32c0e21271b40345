"""Base of the modes whose ranks agree in cycles: sleep, rounds over a tree, sleep again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plink.training.control.actions import (
    Action,
    AllJoined,
    Batch,
    FailAll,
    Refuse,
    Release,
    SleepUntil,
    Warn,
)
from plink.training.control.coordination import Coordination
from plink.training.control.cycle_messages import (
    REQUESTS,
    SLEEP,
    Response,
    pack_response,
    pack_sleep,
    parse_response,
    parse_sleep,
)
from plink.training.control.events import Announced, Event, Heard, Joined, Left, Lost, Ticked
from plink.training.control.own import Own
from plink.training.control.requests import Request
from plink.training.control.rounds import Round, Rounds
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.tree_messages import Member, pack_upward, parse_upward

_AWAKE = SleepUntil(math.inf)


@dataclass(frozen=True, slots=True)
class Queued:
    """A request that this rank has announced, and of which no coordinator knows.

    Args:
        request: which.
        since_s: when it was announced.
    """

    request: Request
    since_s: float


class Cycles:
    """The machine of one rank; a mode says what a cycle begins with and what follows.

    A cycle ends on all ranks with the same result. Then each sleeps for what is left of the cycle's
    time since it woke (Pumma et al., section III-D), or every so many cycles all sleep for the
    least that one of them would (section IV-A).

    Args:
        place: in the tree over which rounds go.
        settings: the same on all ranks.
    """

    def __init__(self, place: Place, settings: Settings) -> None:
        self._place = place
        self._settings = settings
        self._own = Own()
        self._queue: dict[str, Queued] = {}
        self._coordination = Coordination(place, settings, self._member)
        self._rounds = Rounds(place, self._act, self._fail)
        self._rounds.kinds[REQUESTS] = Round(self._pass_on, self._decide, self._obey)
        self._rounds.kinds[SLEEP] = Round(self._least, bytes, self._sleep_alike)
        self._cycles = 0
        self._now_s = 0.0
        self._woke_s = 0.0
        self._begins_s: float | None = None
        self._sleep_us = 0
        # Why nothing goes on.
        self._failed = ""
        self._actions: list[Action] = []
        self._sleeps = _AWAKE

    @property
    def digest(self) -> int:
        """Digest of all results, equal on ranks that took as many."""
        return self._rounds.digest

    @property
    def messages_taken(self) -> int:
        """Results of rounds."""
        return self._rounds.taken

    @property
    def cycles(self) -> int:
        """Begun by this rank."""
        return self._cycles

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """Process events in order and return the actions that follow.

        Args:
            events: in the order in which they came.
            now_s: on a clock that does not go back.
        """
        self._now_s = now_s
        if self._begins_s is None:
            self._begins_s = now_s
        for event in events:
            self._take(event)
        self._fall_asleep()
        actions, self._actions = self._actions, []
        return actions

    # What a mode adds.

    def _begin(self) -> None:
        """Enter the first round of a cycle."""
        raise NotImplementedError

    def _member(self, request: Request) -> Member:
        """Return how the coordinator names a request to all ranks."""
        raise NotImplementedError

    def _requests_named(self, members: Sequence[Member]) -> list[Request]:
        """Return the requests that the coordinator names by these members.

        Raises:
            WireError: nothing stands there.
        """
        raise NotImplementedError

    def _respond(self, response: Response) -> Response:
        """Extend the response at the root."""
        raise NotImplementedError

    def _learn(self, requests: Sequence[Request], response: Response) -> None:
        """Record requests that the coordinator released."""
        raise NotImplementedError

    def _enqueue(self, queued: Queued) -> None:
        """Queue an announced request for the next cycle."""
        self._queue[queued.request.name] = queued

    @property
    def _awaits_by_waking(self) -> bool:
        """Whether this rank sleeps while the round goes on, and looks only when it wakes."""
        return False

    # Events.

    def _act(self, action: Action) -> None:
        self._actions.append(action)

    def _take(self, event: Event) -> None:
        if isinstance(event, Announced):
            self._announce(event.requests)
        elif isinstance(event, Joined):
            self._join()
        elif self._failed:
            pass
        elif isinstance(event, Heard):
            self._rounds.hear(event)
        elif isinstance(event, Ticked):
            self._wake()
        elif isinstance(event, Lost):
            self._fail(event.text)
        elif isinstance(event, Left):
            self._rounds.leave(event)

    def _announce(self, requests: tuple[Request, ...]) -> None:
        if refusal := self._own.announce(requests, self._failed):
            self._actions.append(refusal)
            return
        for request in requests:
            self._enqueue(Queued(request, self._now_s))

    def _join(self) -> None:
        if refusal := self._own.join(self._failed):
            self._actions.append(refusal)
            return
        self._coordination.join()

    def _wake(self) -> None:
        self._woke_s = self._now_s
        self._sleeps = _AWAKE
        if self._rounds.kind is None:
            self._cycles += 1
            self._begin()

    # The round of requests.

    @property
    def _is_check_due(self) -> bool:
        return self._cycles % self._settings.check_every == 0

    def _pass_on(self, values: dict[int, bytes]) -> bytes:
        said = self._rounds.parsed(values, lambda value: parse_upward(value, self._place.ranks))
        check = self._rounds.taken, self.digest if self._is_check_due else 0
        up = self._coordination.pass_on(said, self._now_s)
        for child, below in said.items():
            if self._is_check_due and below.check != check:
                us = self._place.rank
                self._rounds.broken = f"rank {child} and rank {us} agreed on different collectives"
        up.check = check if self._is_check_due else None
        up.failed = up.failed or self._rounds.broken
        return pack_upward(up)

    def _decide(self, value: bytes) -> bytes:
        up = parse_upward(value, self._place.ranks)
        return pack_response(self._respond(self._coordination.decide(up, self._now_s)))

    def _obey(self, data: bytes) -> None:
        response = parse_response(data, self._place.ranks)
        said = response.said
        batches = [tuple(self._requests_named(members)) for members in said.batches]
        self._learn([request for batch in batches for request in batch], response)
        self._release(batches)
        for name, text in said.refused:
            self._refuse(name, text)
        self._actions.extend(Warn(text) for text in said.warnings)
        self._coordination.tell_of(response.stalled, self._now_s)
        self._coordination.admit(response.joining)
        if said.last is not None:
            self._own.begin_anew()
            self._coordination.begin_anew()
            self._actions.append(AllJoined(said.last))
        if said.failed:
            self._fail(said.failed)
        else:
            self._end()

    def _release(self, batches: Sequence[tuple[Request, ...]]) -> None:
        for batch in batches:
            for request in batch:
                self._forget(request.name)
        joined = bool(self._coordination.joined)
        if batches:
            self._actions.append(Release(tuple(Batch(batch, joined) for batch in batches)))

    def _refuse(self, name: str, text: str) -> None:
        if self._forget(name):
            self._actions.append(Refuse(name, text))

    def _forget(self, name: str) -> bool:
        self._queue.pop(name, None)
        self._coordination.forget(name)
        return self._own.forget(name)

    # The end of a cycle.

    def _end(self) -> None:
        left_s = self._woke_s + self._settings.cycle_s - self._now_s
        self._sleep_us = max(0, round(1e6 * left_s))
        every = self._settings.common_sleep_every
        if every and self._cycles % every == 0:
            self._rounds.enter(SLEEP)
        else:
            self._begins_s = self._now_s + self._sleep_us / 1e6

    def _least(self, values: dict[int, bytes]) -> bytes:
        return pack_sleep(min([self._sleep_us, *self._rounds.parsed(values, parse_sleep).values()]))

    def _sleep_alike(self, data: bytes) -> None:
        self._begins_s = self._now_s + parse_sleep(data) / 1e6

    def _fall_asleep(self) -> None:
        """A thread that sleeps hears nothing; one in a round that blocks awaits messages."""
        sleeps = _AWAKE
        if self._failed:
            pass
        elif self._rounds.kind is None:
            sleeps = SleepUntil(self._begins_s or 0.0, wakes_on_message=False)
        elif self._awaits_by_waking:
            at_s = self._woke_s + self._settings.cycle_s
            sleeps = SleepUntil(max(at_s, self._now_s), wakes_on_message=False)
        if sleeps != self._sleeps:
            self._sleeps = sleeps
            self._actions.append(sleeps)

    def _fail(self, text: str) -> None:
        if not self._failed:
            self._failed = text
            self._rounds.end()
            self._queue.clear()
            self._coordination.clear()
            self._actions.append(FailAll(text))
