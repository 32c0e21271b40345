"""Record simulated ranks' negotiation as a schedule that other simulators take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.simulate.schedule import COMPUTE, RECEIVE, SEND, Schedule
from plink.training.control.events import Event, Heard

_NS = 1e9


@dataclass(frozen=True)
class Step:
    """Once that a rank's thread reads, steps its machine and sends.

    Args:
        rank: whose.
        begins_s, ends_s: on the clock.
        read_s: when it has read and stepped.
        events: that it read; a message is the object that its sender's `sent` has.
        sent: messages, to whom, and when each is sent.
    """

    rank: int
    begins_s: float
    read_s: float
    ends_s: float
    events: Sequence[Event]
    sent: Sequence[tuple[Heard, int, float]]


class Recording:
    """Steps in the order in which they begin."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        # The longest pause of the schedule that was made.
        self.slept_s = 0.0
        self._reader_of: dict[int, int] = {}

    def note(self, step: Step) -> None:
        """Record a step."""
        self.steps.append(step)

    def schedule(self, ranks: int, begins_s: float, last: Sequence[int]) -> Schedule:
        """Return the steps that others' messages led to, as a schedule.

        A step waits for its rank's step before, and for the messages that it read. Where a rank
        slept before one, it sleeps as long. What was sent before the recording is there already.

        Args:
            ranks: how many there are.
            begins_s: when the recording began.
            last: numbers of these steps.
        """
        steps = self.steps
        before, sender_of = self._before()
        needed = self._needed_steps(last, before, sender_of)
        made = _Operations(ranks)
        tail_of: dict[int, int] = {}
        for number in np.flatnonzero(needed).tolist():
            step, earlier = steps[number], before[number]
            work = made.add(COMPUTE, step.rank, amount=_ns(step.read_s - step.begins_s))
            heard = [
                event
                for event in step.events
                if isinstance(event, Heard) and id(event) in sender_of
            ]
            for message in heard:
                made.edge(made.receive(step.rank, message), work)
            # Else it slept, or did nothing yet.
            is_woken = any(not isinstance(event, Heard) for event in step.events)
            since_s = begins_s if earlier < 0 else steps[earlier].ends_s
            slept_s = step.begins_s - since_s if is_woken or not heard else 0.0
            if slept_s > 0.0:
                self.slept_s = max(self.slept_s, slept_s)
                pause = made.add(COMPUTE, step.rank, amount=_ns(slept_s))
                made.edge(pause, work)
                if earlier >= 0:
                    made.edge(tail_of[earlier], pause)
            elif earlier >= 0:
                made.edge(tail_of[earlier], work)
            at_s, tail = step.read_s, work
            for message, to, sent_s in step.sent:
                busy = made.add(COMPUTE, step.rank, amount=_ns(sent_s - at_s))
                made.edge(tail, busy)
                at_s, tail = sent_s, busy
                if made.is_read(message, needed, self._reader_of):
                    made.edge(busy, made.send(step.rank, to, message))
            tail_of[number] = tail
        return made.schedule()

    def _before(self) -> tuple[list[int], dict[int, int]]:
        """Return each step's predecessor on its rank, and the step that sent each message."""
        latest: dict[int, int] = {}
        before, sender_of = [], {}
        for number, step in enumerate(self.steps):
            before.append(latest.get(step.rank, -1))
            latest[step.rank] = number
            for message, _, _ in step.sent:
                sender_of[id(message)] = number
            for event in step.events:
                if isinstance(event, Heard):
                    self._reader_of[id(event)] = number
        return before, sender_of

    def _needed_steps(
        self, last: Sequence[int], before: Sequence[int], sender_of: dict[int, int]
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        needed = np.zeros(len(self.steps), dtype=bool)
        needed[list(last)] = True
        # Whatever a step waits for began before it.
        for number in range(len(self.steps) - 1, -1, -1):
            if not needed[number]:
                continue
            if before[number] >= 0:
                needed[before[number]] = True
            for event in self.steps[number].events:
                sender = sender_of.get(id(event), -1)
                if sender >= 0:
                    needed[sender] = True
        return needed


class _Operations:
    """Operations, as they are added."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._edges: list[tuple[int, int]] = []
        self._tag_of: dict[int, int] = {}

    def add(self, kind: int, rank: int, peer: int = -1, amount: int = 0, tag: int = 0) -> int:
        self._rows.append((kind, rank, peer, amount, tag))
        return len(self._rows) - 1

    def edge(self, before: int, after: int) -> None:
        self._edges.append((before, after))

    def send(self, rank: int, to: int, message: Heard) -> int:
        return self.add(SEND, rank, to, len(message.message), self._tag(message))

    def receive(self, rank: int, message: Heard) -> int:
        return self.add(RECEIVE, rank, message.rank, len(message.message), self._tag(message))

    def is_read(
        self,
        message: Heard,
        needed: np.ndarray[tuple[int], np.dtype[np.bool_]],
        reader_of: dict[int, int],
    ) -> bool:
        reader = reader_of.get(id(message), -1)
        return reader >= 0 and bool(needed[reader])

    def schedule(self) -> Schedule:
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 5).T
        edges = np.array(self._edges, dtype=np.int64).reshape(-1, 2).T
        return Schedule(self._ranks, *rows, *edges)

    def _tag(self, message: Heard) -> int:
        return self._tag_of.setdefault(id(message), len(self._tag_of))


def _ns(seconds: float) -> int:
    return max(0, round(seconds * _NS))
