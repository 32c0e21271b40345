"""Agreement by the graph of the computation: as in `tree` while it is learnt, and then without
messages, in the order that follows from it.

At the end of an iteration each rank offers the order that it has learnt, as a collective of `tree`:
so all hear at the same place of what is released that all have learnt the same, and from there on
the order holds. Or they hear that they have not, and go on as in `tree`.

Where the order does not hold any more (something else is announced, or something is missing) all
ranks leave it behind the same buffer, go on as in `tree`, which knows what to do about all that can
go wrong, and learn again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from plink.training.control.actions import (
    Action,
    Batch,
    FailAll,
    Refuse,
    RefuseHere,
    Release,
    Send,
    SleepUntil,
    Warn,
)
from plink.training.control.course import Course, Phase
from plink.training.control.events import (
    Announced,
    AnswersHeld,
    Awaited,
    Done,
    Event,
    Heard,
    IterationEnded,
    Joined,
    Left,
    Lost,
)
from plink.training.control.graph import Order
from plink.training.control.graph_messages import (
    Fail,
    Go,
    Message,
    Talk,
    pack,
    parse,
)
from plink.training.control.halts import Halts
from plink.training.control.offers import NOTHING_LEARNT, Offers, is_offer, offer, unlike
from plink.training.control.own import Own
from plink.training.control.requests import Request
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.talks import Inner, Talks
from plink.training.control.waits import OF_GRAPH, Waits
from plink.training.control.wire import WireError

_NO_JOIN = "a rank cannot join where the graph decides what is reduced"
_UNTIL_THEN = "ranks agree as in mode 'tree' until they have learnt a graph again"


class Graphed:
    """The machine of one rank.

    Args:
        place: in the tree along which ranks agree while no graph holds.
        settings: the same on all ranks.
        inner: makes a machine of `tree` for this place.
    """

    def __init__(self, place: Place, settings: Settings, inner: Callable[[], Inner]) -> None:
        self._place = place
        self.fusion_bytes = settings.fusion_bytes
        self._talks = Talks(inner)
        self._offers = Offers()
        self._halts = Halts(place, settings, self._send)
        self._waits = Waits(settings)
        self._own = Own()
        self._course = Course(self._waits)
        self._iterations = 0
        self._offered: Order | None = None
        # Announced since the offer.
        self._held: list[Request] = []
        self._failed = ""
        self._actions: list[Action] = []
        self._wakes_s = math.inf

    @property
    def digest(self) -> int:
        """Digest of the orders that ranks have followed and where they left them."""
        return self._offers.history

    @property
    def messages_taken(self) -> int:
        """Number of times that ranks began to follow an order, or were told to leave it."""
        return self._offers.switches

    @property
    def offers_at(self) -> int:
        """Return after how many iterations the order learnt in the last of them is offered."""
        return self._offers.next_at

    @property
    def is_following(self) -> bool:
        """Whether the graph decides."""
        return self._course.phase is Phase.FOLLOWING

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """Process events in order and return the actions that follow.

        Args:
            events: in the order in which they came.
            now_s: on a clock that does not go back.
        """
        for event in events:
            self._take(event, now_s)
        self._talk(now_s)
        while self._talks.has_news:
            self._talk(now_s)
        if not self._failed:
            self._look_at_time(now_s)
        wakes_s = math.inf if self._failed else min(self._talks.wakes_s, self._due_s)
        # What is due still is named again: it has been forgotten.
        if wakes_s != self._wakes_s or wakes_s <= now_s:
            self._wakes_s = wakes_s
            self._actions.append(SleepUntil(wakes_s))
        actions, self._actions = self._actions, []
        return actions

    def _take(self, event: Event, now_s: float) -> None:
        if isinstance(event, Announced):
            self._announce(event.requests, now_s)
        elif isinstance(event, Joined):
            self._actions.append(RefuseHere((), self._failed or _NO_JOIN))
        elif self._failed:
            pass
        elif isinstance(event, Heard):
            self._hear(event, now_s)
        elif isinstance(event, IterationEnded):
            self._end_iteration(event.order, now_s)
        elif isinstance(event, Awaited):
            self._await(event.name, now_s)
        elif isinstance(event, Done):
            for _ in range(event.batches):
                if self._waits.end() == self._talks.number:
                    self._talks.tell(Done())
        elif not self._course.has_graph:
            self._talks.tell(event)
        elif isinstance(event, Left):
            self._fail_all(event.text, but=event.rank)
        elif isinstance(event, Lost):
            self._fail(event.text)

    # What the program does.

    def _announce(self, requests: tuple[Request, ...], now_s: float) -> None:
        if refusal := self._own.announce(requests, self._failed):
            self._actions.append(refusal)
            return
        self._waits.announce(requests, now_s)
        if self._course.phase is Phase.TALKING:
            self._talks.tell(Announced(requests))
        elif self._course.phase is Phase.OFFERING:
            self._held += requests
        else:
            self._course.add(request.name for request in requests)
            self._go_on(now_s)

    def _end_iteration(self, order: Order | None, now_s: float) -> None:
        self._iterations += 1
        if self._course.phase is Phase.TALKING and self._offers.is_due(self._iterations):
            self._course.phase = Phase.OFFERING
            self._offered = order if order is not None and order.buffers else None
            self._talks.tell(Announced((offer(self._offered, self._iterations),)))
        elif self.is_following and not self._course.slots.is_between_iterations:
            name = next(iter(self._course.slots.missing(1)))
            self._call(f"'{name}' was not announced in an iteration", now_s)

    def _await(self, name: str, now_s: float) -> None:
        if self.is_following and (lacking := self._course.slots.lacks_before(name)):
            text = f"'{name}' is waited for, and '{lacking}', which comes before it, is missing"
            self._call(text, now_s)

    # While no graph holds.

    def _talk(self, now_s: float) -> None:
        number = self._talks.number
        for action in self._talks.run(now_s):
            if not self._talks.is_on or self._talks.number != number:
                # What the root says after it has let an order hold is void on all ranks.
                return
            if isinstance(action, Release):
                self._release(action.batches, now_s)
            elif isinstance(action, FailAll):
                self._fail(action.text)
            elif isinstance(action, Refuse):
                self._refuse(action)
            else:
                self._actions.append(action)

    def _release(self, batches: tuple[Batch, ...], now_s: float) -> None:
        for i, batch in enumerate(batches):
            if is_offer(batch.requests[0]):
                self._talks.tell(Done())
                if self._offered is not None:
                    self._follow(self._offered, now_s)
                    return
                self._actions.append(Warn(NOTHING_LEARNT))
                self._talk_on()
                self._release(batches[i + 1 :], now_s)
                return
            self._begin(batch, self._talks.number)

    def _refuse(self, action: Refuse) -> None:
        if self._own.forget(action.name):
            self._waits.refuse(action.name)
            self._actions.append(action)
        else:
            self._actions.append(Warn(unlike(action.text)))
            self._talk_on()

    def _talk_on(self) -> None:
        """Go on without an order."""
        self._offers.refused(self._iterations)
        self._course.phase = Phase.TALKING
        for request in self._held:
            self._talks.tell(Announced((request,)))
        self._held = []

    def _begin(self, batch: Batch, number: int) -> None:
        for request in batch.requests:
            self._own.forget(request.name)
        self._waits.release(batch, number)
        self._actions.append(Release((batch,)))

    # Following the graph.

    def _follow(self, order: Order, now_s: float) -> None:
        """All ranks have learnt this. What they announced and did not get is for it."""
        self._talks.end()
        self._offers.taken(self._iterations, order)
        self._held = []
        self._course.follow(order)
        self._halts.begin(self._talks.number, self._course.slots.buffers)
        self._go_on(now_s)

    def _go_on(self, now_s: float) -> None:
        """Begin what is there."""
        batches, problem = self._course.begun()
        for batch in batches:
            self._begin(batch, OF_GRAPH)
        if problem:
            self._call(problem, now_s)

    # Leaving it.

    def _hear(self, event: Heard, now_s: float) -> None:
        try:
            if event.rank != self._place.parent and event.rank not in self._place.children:
                raise WireError("it is neither parent nor child")
            self._obey(event.rank, parse(event.message, self._place.ranks), now_s)
        except WireError as error:
            self._fail_all(f"rank {event.rank} broke the protocol of control: {error}")

    def _obey(self, rank: int, message: Message, now_s: float) -> None:
        if isinstance(message, Talk):
            self._talks.hear(rank, message)
            return
        # What came before this may change what it means.
        self._talk(now_s)
        if isinstance(message, Fail):
            self._fail_all(message.text, but=rank)
        else:
            self._go(self._halts.hear(rank, message), now_s)
            self._report(now_s)

    def _call(self, reason: str, now_s: float) -> None:
        """The graph does not hold, or something waits for long: the root is to ask all."""
        if not (reason and self._course.reason):
            self._course.reason = self._course.reason or reason
            self._halts.ask()
            self._report(now_s)

    def _report(self, now_s: float) -> None:
        """Report how far this rank and all below it are, if all are asked."""
        if self._halts.is_asked:
            own = self._course.report(self._halts.graph, self._place.rank, now_s)
            self._go(self._halts.settle(own), now_s)

    def _go(self, go: Go | None, now_s: float) -> None:
        """Apply the root's decision, if there is one."""
        if go is None:
            return
        if go.warnings or now_s >= self._due_s:
            # It is told, or nobody keeps the others waiting.
            self._waits.asked(now_s)
        self._actions.extend(Warn(text) for text in go.warnings)
        if go.reason:
            self._actions.append(Warn(f"{go.reason}: {_UNTIL_THEN}"))
        if go.failed:
            self._fail(go.failed)
        elif self._course.go(go):
            self._offers.left(go.begun, self._course.slots.buffers)
            self._talks.begin()
        if not self._failed:
            self._go_on(now_s)

    def _leave(self, now_s: float) -> None:
        """Hand what is pending to a `tree` machine, as announced when the program announced it."""
        self._course.leave()
        for request, since_s in self._waits.pending:
            self._talks.tell(Announced((request,), since_s))
        # Only now: the root may have asked whether this rank has announced a name.
        self._talks.tell(AnswersHeld(is_held=False))
        self._talk(now_s)

    # Time, and what goes wrong.

    @property
    def _due_s(self) -> float:
        return math.inf if self._halts.is_asked else self._waits.due_s(self._course.since_s)

    def _look_at_time(self, now_s: float) -> None:
        if self._course.is_over:
            self._leave(now_s)
        if now_s >= self._due_s:
            self._waits.asked(now_s)
            self._call("", now_s)

    def _send(self, ranks: Iterable[int], message: Message) -> None:
        data = pack(message)
        self._actions.extend(Send(rank, data) for rank in ranks)

    def _fail_all(self, text: str, but: int | None = None) -> None:
        """Fail everything, and tell all ranks but the one that told this one."""
        if not self._failed:
            near = (*self._place.children, self._place.parent)
            self._send([one for one in near if one is not None and one != but], Fail(text))
            self._fail(text)

    def _fail(self, text: str) -> None:
        if not self._failed:
            self._failed = text
            self._actions.append(FailAll(text))
