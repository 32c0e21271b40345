"""Agreement along a tree, without cycles: readiness only grows, so each part of the ranks passes on
what all of it is ready for, once. The root orders and fuses, and tells all. While nothing is
announced nothing is sent and nobody wakes.

Beyond the papers: hierarchical coordinators (Romero et al., section 2.2.3) repeat all names every
step, and the response cache (section 3.1.1) needs a collective every cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from plink.training.control.actions import (
    Action,
    AllJoined,
    Batch,
    FailAll,
    Refuse,
    Release,
    Send,
    SleepUntil,
    Warn,
)
from plink.training.control.digest import digest, mix_bits
from plink.training.control.events import (
    Announced,
    AnswersHeld,
    Done,
    Event,
    Heard,
    Joined,
    Left,
    Lost,
    Ticked,
)
from plink.training.control.own import Own
from plink.training.control.part import Part
from plink.training.control.positions import Positions
from plink.training.control.ranks import Ranks
from plink.training.control.requests import Request
from plink.training.control.root import Root
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.table import Table
from plink.training.control.tree_messages import (
    Downward,
    Upward,
    Version,
    Waiting,
    pack_downward,
    pack_upward,
    parse_downward,
    parse_upward,
)
from plink.training.control.wire import WireError


class Tree:
    """The machine of one rank.

    Args:
        place: in the tree.
        settings: the same on all ranks.
    """

    def __init__(self, place: Place, settings: Settings) -> None:
        self._place = place
        self._settings = settings
        self._table = Table(remembers=bool(place.children))
        self._own = Own()
        self._root = None
        if place.parent is None:
            positions = Positions(self._table, settings.most_positions)
            self._root = Root(place.ranks, positions.member, settings)
        self._part = Part(place, self._table, self._own, settings)
        self._taken = 0
        self._history = 0
        self._child_seen = dict.fromkeys(place.children, 0)
        # By name, the root's message by which it was refused: what was said before it is void.
        self._refused: dict[str, int] = {}
        self._checks: dict[int, int] = {}
        self._failed = ""
        # Stalled names about which the root asks, and which this rank has not answered yet.
        self._asked: list[str] = []
        self._holds_answers = False
        self._up = Upward()
        # By name, the index in `self._up.waiting`.
        self._waiting_at: dict[str, int] = {}
        self._actions: list[Action] = []
        self._wakes_s = math.inf

    @property
    def digest(self) -> int:
        """Digest of the table and of all the root's messages, equal on ranks that took as many."""
        return self._table.digest ^ self._history

    @property
    def messages_taken(self) -> int:
        """Number of the root's messages that were taken."""
        return self._taken

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """Process events in order and return the actions that follow.

        Args:
            events: in the order in which they came; those that came together, together, since what
                follows of them is then said in one message.
            now_s: on a clock that does not go back.
        """
        for event in events:
            self._take(event, now_s)
        if not self._failed:
            self._pass_on(now_s)
        self._sleep()
        actions, self._actions = self._actions, []
        return actions

    def _take(self, event: Event, now_s: float) -> None:
        if isinstance(event, Announced):
            self._announce(event, now_s)
        elif isinstance(event, Joined):
            self._join()
        elif self._failed:
            pass
        elif isinstance(event, Heard):
            self._hear(event, now_s)
        elif isinstance(event, Ticked):
            # The driver has forgotten the time, also where it came a little too soon.
            self._wakes_s = -math.inf
        elif isinstance(event, Lost):
            self._fail(event.text)
        elif isinstance(event, Left):
            self._leave(event, now_s)
        elif isinstance(event, Done) and self._root is not None:
            self._root.done(event.batches)
        elif isinstance(event, AnswersHeld):
            self._holds_answers = event.is_held

    def _announce(self, event: Announced, now_s: float) -> None:
        requests = event.requests
        # Marks are kept in the order of their times.
        can_mark = event.since_s is None and not self._failed and not self._own.has_joined
        if can_mark and self._part.announce(requests, now_s):
            return
        for request in requests:
            self._part.tell_apart(request)
        if refusal := self._own.announce(requests, self._failed):
            self._actions.append(refusal)
            return
        us = Ranks.of([self._place.rank])
        since_s = now_s if event.since_s is None else event.since_s
        for request in requests:
            self._part.add(self._place.rank, (Version(request, us),), since_s)
            if event.since_s is not None:
                # A rank below may have announced it to this one before.
                self._part.backdate(request.name, since_s, now_s)

    def _join(self) -> None:
        if refusal := self._own.join(self._failed):
            self._actions.append(refusal)
            return
        self._part.join(self._place.rank, Ranks.of([self._place.rank]))
        self._up.joined |= Ranks.of([self._place.rank])

    def _leave(self, event: Left, now_s: float) -> None:
        """Handle the loss of a parent or a child, through which others were reached."""
        if event.rank == self._place.parent:
            message = Downward(failed=event.text)
            self._obey(message, pack_downward(message), now_s)
        elif event.rank in self._place.children:
            self._break(event.text)

    def _hear(self, event: Heard, now_s: float) -> None:
        try:
            if event.rank == self._place.parent:
                message = parse_downward(event.message, self._place.ranks)
                self._obey(message, event.message, now_s)
            elif event.rank in self._place.children:
                self._count(event.rank, parse_upward(event.message, self._place.ranks), now_s)
            else:
                raise WireError("it is neither parent nor child")
        except WireError as error:
            self._break(f"rank {event.rank} broke the protocol of control: {error}")

    def _count(self, child: int, message: Upward, now_s: float) -> None:
        """Record a child's message about all ranks below it."""
        if not self._child_seen[child] <= message.seen <= self._taken:
            raise WireError("it has heard what nobody said")
        if message.check is not None and message.check[1] != self._checks.get(message.check[0]):
            self._break(f"rank {child} and rank {self._place.rank} agreed on different collectives")
        if message.failed:
            self._break(message.failed)
        below = self._place.children[child]
        others = self._mark(child, message, now_s)
        said = [(Version(request, below),) for request in others]
        for versions in [*said, *message.versions]:
            if not any(self._is_void(one.request.name, message.seen) for one in versions):
                self._part.add(child, versions, now_s)
        self._part.join(child, message.joined)
        self._up.joined |= message.joined
        for waiting in message.waiting:
            if not self._is_void(waiting.name, message.seen):
                self._pass_on_stall(waiting, now_s)
        self._child_seen[child] = message.seen
        self._forget()

    def _mark(self, child: int, message: Upward, now_s: float) -> list[Request]:
        """Record the positions that a child names; return the requests beyond a mark."""
        highest = max(message.ready, default=0)
        if highest < len(self._table) and self._part.can_mark_all and not self._refused:
            self._part.mark(child, message.ready, now_s)
            return []
        known: list[int] = []
        others: list[Request] = []
        for position in message.ready:
            request = self._table.at(position, message.seen)
            if self._is_void(request.name, message.seen):
                continue
            if self._part.can_mark(position, request):
                known.append(position)
            else:
                others.append(request)
        self._part.mark(child, known, now_s)
        return others

    def _is_void(self, name: str, seen: int) -> bool:
        return seen < self._refused.get(name, 0)

    def _forget(self) -> None:
        seen = min(self._child_seen.values())
        self._table.forget(seen)
        self._refused = {name: at for name, at in self._refused.items() if at > seen}
        self._checks = {at: digest for at, digest in self._checks.items() if at > seen}

    def _pass_on(self, now_s: float) -> None:
        """Send news to the parent, or as the root decisions to all ranks."""
        for position in self._part.complete_marks():
            if self._root is not None:
                self._root.agree(self._table.now_at(position), now_s)
            else:
                self._up.ready.append(position)
        for versions in self._part.complete():
            if self._root is not None:
                self._root.settle(versions, now_s)
            else:
                self._say_complete(versions)
        for waiting in self._part.stalled(now_s):
            self._pass_on_stall(waiting, now_s)
        self._answer(now_s)
        if self._root is not None:
            self._root.join(self._up.joined)
            self._up = Upward()
            while (message := self._root.next_message(now_s)) is not None:
                self._obey(message, pack_downward(message), now_s)
                self._answer(now_s)
        elif self._place.parent is not None and not self._up.is_empty:
            self._up.seen = self._taken
            self._actions.append(Send(self._place.parent, pack_upward(self._up)))
            self._up = Upward()
            self._waiting_at.clear()

    def _say_complete(self, versions: tuple[Version, ...]) -> None:
        position = self._table.position(versions[0].request) if len(versions) == 1 else None
        if position is None:
            self._up.versions.append(versions)
        else:
            self._up.ready.append(position)

    def _pass_on_stall(self, waiting: Waiting, now_s: float) -> None:
        announced = waiting.announced | self._part.announced(waiting.name)
        more = Waiting(waiting.name, waiting.waited_ms, announced, waiting.answered)
        if self._root is not None:
            if self._root.hear_of(more, now_s):
                self._root.ask(more)
            return
        # All ranks of the subtree answer for each name: one entry for all of them.
        waiting_up = self._up.waiting
        at = self._waiting_at.setdefault(more.name, len(waiting_up))
        if at == len(waiting_up):
            waiting_up.append(more)
        else:
            waiting_up[at] = waiting_up[at].merge(more)

    def _obey(self, message: Downward, data: bytes, now_s: float) -> None:
        """Take what the root says, and pass it on."""
        self._actions.extend(Send(child, data) for child in self._place.children)
        self._taken += 1
        self._history = mix_bits(self._history ^ digest(data, self._taken))
        self._release(message)
        self._part.refuse([name for name, _ in message.refused])
        for name, text in message.refused:
            self._refuse(name, text)
        self._actions.extend(Warn(text) for text in message.warnings)
        for name, waited_ms in message.stalled:
            self._part.backdate(name, now_s - waited_ms / 1000.0, now_s)
            self._asked.append(name)
        if message.last is not None:
            self._own.begin_anew()
            self._part.begin_anew()
            self._actions.append(AllJoined(message.last))
        if message.failed:
            self._fail(message.failed)
        if self._taken % self._settings.check_every == 0:
            self._up.check = self._taken, self.digest
            if self._place.children:
                self._checks[self._taken] = self.digest

    def _release(self, message: Downward) -> None:
        batches: list[Batch] = []
        for members in message.batches:
            requests: list[Request] = []
            for member in members:
                if member.request is not None:
                    self._part.unmark(member.position)
                    self._table.put(member.position, member.request, self._taken)
                requests.append(self._table.at(member.position, self._taken))
            batches.append(Batch(tuple(requests), message.joined))
        released = [request for batch in batches for request in batch.requests]
        positions = [member.position for members in message.batches for member in members]
        self._part.release(positions, released)
        if not self._own.is_empty:
            for request in released:
                self._own.forget(request.name)
        if batches:
            self._actions.append(Release(tuple(batches)))

    def _refuse(self, name: str, text: str) -> None:
        if self._place.children:
            self._refused[name] = self._taken
        if self._own.forget(name):
            self._actions.append(Refuse(name, text))

    def _answer(self, now_s: float) -> None:
        """Answer which ranks of the subtree announced a stalled name, also if none is known to.

        The root names a rank as missing only after its answer. So every rank answers for itself,
        and no rank waits for those below it: one of them may be stopped.
        """
        if self._holds_answers:
            return
        asked, self._asked = self._asked, []
        us = Ranks.of([self._place.rank])
        for name in asked:
            self._pass_on_stall(Waiting(name, 0, Ranks(), us), now_s)

    def _break(self, text: str) -> None:
        """Fail everything, on all ranks."""
        if self._root is not None:
            self._root.fail(text)
        elif not self._up.failed:
            self._up.failed = text

    def _fail(self, text: str) -> None:
        if not self._failed:
            self._failed = text
            self._part.clear()
            self._actions.append(FailAll(text))

    def _sleep(self) -> None:
        wakes_s = math.inf if self._failed else self._part.wakes_s
        if self._root is not None and not self._failed:
            wakes_s = min(wakes_s, self._root.wakes_s)
        if wakes_s != self._wakes_s:
            self._wakes_s = wakes_s
            self._actions.append(SleepUntil(wakes_s))
