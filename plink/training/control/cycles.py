"""What modes have in common whose ranks agree in cycles: sleep, rounds over a tree, sleep again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from plink.training.control.actions import (
    Action,
    AllJoined,
    Batch,
    FailAll,
    Refuse,
    RefuseHere,
    Release,
    Send,
    SleepUntil,
    Warn,
)
from plink.training.control.coordination import Coordination
from plink.training.control.cycle_messages import (
    FAIL,
    REQUESTS,
    SLEEP,
    Response,
    pack_response,
    pack_sleep,
    parse_response,
    parse_sleep,
)
from plink.training.control.digest import digest, mixed
from plink.training.control.events import Announced, Event, Heard, Joined, Left, Lost, Ticked
from plink.training.control.own import Own
from plink.training.control.requests import Request
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.sweeps import OutOfStepError, Sweeps
from plink.training.control.tree_messages import Member, pack_upward, parse_upward
from plink.training.control.wire import WireError

Value = TypeVar("Value")

_AWAKE = SleepUntil(math.inf)


@dataclass(frozen=True)
class Round:
    """What one kind of round does with values, which are bytes.

    Args:
        combine: those of children, by rank, with this rank's own.
        conclude: at the root, the result from the value of all.
        apply: on every rank, the result.
    """

    combine: Callable[[dict[int, bytes]], bytes]
    conclude: Callable[[bytes], bytes]
    apply: Callable[[bytes], None]


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
        self._sweeps = Sweeps(place.children)
        self._rounds = {
            REQUESTS: Round(self._pass_on, self._decide, self._obey),
            SLEEP: Round(self._least, bytes, self._sleep_alike),
        }
        self._cycles = 0
        self._taken = 0
        self._history = 0
        self._now_s = 0.0
        self._woke_s = 0.0
        self._begins_s: float | None = None
        self._sleep_us = 0
        # Why nothing can go on, which all ranks are to hear; and why nothing does.
        self._broken = ""
        self._failed = ""
        self._actions: list[Action] = []
        self._sleeps = _AWAKE

    @property
    def digest(self) -> int:
        """Of all results, equal on ranks that took as many."""
        return self._history

    @property
    def messages_taken(self) -> int:
        """Results of rounds."""
        return self._taken

    @property
    def cycles(self) -> int:
        """Begun by this rank."""
        return self._cycles

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """What is to be done after these events, in this order.

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
        """How the coordinator names a request to all ranks."""
        raise NotImplementedError

    def _named(self, members: Sequence[Member]) -> list[Request]:
        """What the coordinator has named so.

        Raises:
            IndexError: nothing stands there.
        """
        raise NotImplementedError

    def _respond(self, response: Response) -> Response:
        """At the root, what is added to what all ranks are told."""
        raise NotImplementedError

    def _learn(self, requests: Sequence[Request], response: Response) -> None:
        """These are released by the coordinator."""
        raise NotImplementedError

    @property
    def _awaits_by_waking(self) -> bool:
        """Whether this rank sleeps while the round goes on, and looks only when it wakes."""
        return False

    # Events.

    def _take(self, event: Event) -> None:
        if isinstance(event, Announced):
            self._announce(event.requests)
        elif self._failed:
            if isinstance(event, Joined):
                self._actions.append(RefuseHere((), self._failed))
        elif isinstance(event, Heard):
            self._hear(event)
        elif isinstance(event, Ticked):
            self._wake()
        elif isinstance(event, Joined):
            if problem := self._own.join():
                self._actions.append(RefuseHere((), problem))
            else:
                self._coordination.join()
        elif isinstance(event, Lost):
            self._fail(event.text)
        elif isinstance(event, Left):
            self._leave(event)

    def _announce(self, requests: tuple[Request, ...]) -> None:
        problem = self._failed or self._own.problem(requests)
        if problem:
            names = tuple(request.name for request in requests)
            self._actions.append(RefuseHere(names, problem))
            return
        self._own.add(requests)
        for request in requests:
            self._queue[request.name] = Queued(request, self._now_s)

    def _leave(self, event: Left) -> None:
        """What a parent or a child carried to others is carried no more."""
        if event.rank == self._place.parent:
            self._fail_below(event.text)
        elif event.rank in self._place.children:
            self._lose(event.rank, event.text)

    def _hear(self, event: Heard) -> None:
        message = event.message or b"\xff"
        try:
            if event.rank == self._place.parent:
                self._come_down(message)
            elif event.rank in self._place.children:
                if message[0] == FAIL:
                    self._lose(event.rank, message[1:].decode(errors="replace"))
                else:
                    self._sweeps.hear(event.rank, message)
                    self._gather()
            else:
                raise WireError("it is neither parent nor child")
        except (WireError, IndexError) as error:
            text = _protocol(event.rank, error)
            if self._place.parent is not None:
                self._actions.append(Send(self._place.parent, bytes([FAIL]) + text.encode()))
            self._fail_below(text)

    def _wake(self) -> None:
        self._woke_s = self._now_s
        self._sleeps = _AWAKE
        if self._sweeps.kind is None:
            self._cycles += 1
            self._begin()

    # Rounds.

    def _enter(self, kind: int) -> None:
        self._sweeps.begin(kind)
        self._gather()

    def _gather(self) -> None:
        """Pass on the values of all below, when they have come."""
        try:
            values = self._sweeps.take()
        except OutOfStepError as error:
            self._lose(error.child, _protocol(error.child, error))
            return
        kind = self._sweeps.kind
        if values is None or kind is None:
            return
        value = self._rounds[kind].combine(values)
        if self._place.parent is None:
            self._come_down(bytes([kind]) + self._rounds[kind].conclude(value))
        else:
            self._actions.append(Send(self._place.parent, bytes([kind]) + value))

    def _come_down(self, message: bytes) -> None:
        """Take a round's result, and pass it on."""
        if message[0] == FAIL:
            self._fail_below(message[1:].decode(errors="replace"))
            return
        if not self._sweeps.expects(message[0]):
            raise WireError("it takes part in another round")
        self._actions.extend(Send(child, message) for child in self._place.children)
        self._sweeps.end()
        self._taken += 1
        self._history = mixed(self._history ^ digest(message, self._taken))
        self._rounds[message[0]].apply(message[1:])

    def _parsed(
        self, values: Mapping[int, bytes], parse: Callable[[bytes], Value]
    ) -> dict[int, Value]:
        """What children said; those that broke the protocol are left out."""
        parsed: dict[int, Value] = {}
        for child, value in values.items():
            try:
                parsed[child] = parse(value)
            except WireError as error:
                self._lose(child, _protocol(child, error))
        return parsed

    def _lose(self, child: int, text: str) -> None:
        """Nothing can go on: said at the next chance, so that it ends alike everywhere."""
        self._broken = self._broken or text
        self._sweeps.lose(child)
        self._gather()

    # The round of requests.

    @property
    def _is_check_due(self) -> bool:
        return self._cycles % self._settings.check_every == 0

    def _pass_on(self, values: dict[int, bytes]) -> bytes:
        said = self._parsed(values, lambda value: parse_upward(value, self._place.ranks))
        check = self._taken, self.digest if self._is_check_due else 0
        up = self._coordination.pass_on(said, self._now_s)
        for child, below in said.items():
            if self._is_check_due and below.check != check:
                us = self._place.rank
                self._broken = f"rank {child} and rank {us} agreed on different collectives"
        up.check = check if self._is_check_due else None
        up.failed = up.failed or self._broken
        return pack_upward(up)

    def _decide(self, value: bytes) -> bytes:
        up = parse_upward(value, self._place.ranks)
        return pack_response(self._respond(self._coordination.decide(up, self._now_s)))

    def _obey(self, data: bytes) -> None:
        response = parse_response(data, self._place.ranks)
        said = response.said
        batches = [tuple(self._named(members)) for members in said.batches]
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
            self._enter(SLEEP)
        else:
            self._begins_s = self._now_s + self._sleep_us / 1e6

    def _least(self, values: dict[int, bytes]) -> bytes:
        return pack_sleep(min([self._sleep_us, *self._parsed(values, parse_sleep).values()]))

    def _sleep_alike(self, data: bytes) -> None:
        self._begins_s = self._now_s + parse_sleep(data) / 1e6

    def _fall_asleep(self) -> None:
        """A thread that sleeps hears nothing; one in a round that blocks awaits messages."""
        sleeps = _AWAKE
        if self._failed:
            pass
        elif self._sweeps.kind is None:
            sleeps = SleepUntil(self._begins_s or 0.0, wakes_on_message=False)
        elif self._awaits_by_waking:
            at_s = self._woke_s + self._settings.cycle_s
            sleeps = SleepUntil(max(at_s, self._now_s), wakes_on_message=False)
        if sleeps != self._sleeps:
            self._sleeps = sleeps
            self._actions.append(sleeps)

    def _fail_below(self, text: str) -> None:
        """Here, and for all who hear of others through this rank."""
        message = bytes([FAIL]) + text.encode()
        self._actions.extend(Send(child, message) for child in self._place.children)
        self._fail(text)

    def _fail(self, text: str) -> None:
        if not self._failed:
            self._failed = text
            self._sweeps.end()
            self._queue.clear()
            self._coordination.clear()
            self._actions.append(FailAll(text))


def _protocol(rank: int, error: Exception) -> str:
    return f"rank {rank} broke the protocol of control: {error}"
