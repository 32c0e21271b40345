"""Machines on a clock: their messages take time, and so does all that their threads do."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from typing import Protocol

from plink.simulate.control.costs import Costs, Oversleep, punctual
from plink.simulate.control.processors import Processors, Task
from plink.simulate.control.recording import Recording, Step
from plink.training.control.actions import Action, Send, SleepUntil
from plink.training.control.events import Event, Heard, Ticked

# Of what no rank does.
_NOBODY = -1
_NEVER = -1


class Machine(Protocol):
    """Interface of every mode's machine."""

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """Process events and return the actions that follow."""


class Clocked:
    """Clock of simulated machines, from time 0 to the end of `run`.

    The thread of a rank reads all that has come, steps its machine and sends, one after the other;
    what comes meanwhile waits. It may be asleep, hearing nothing, and sleep for longer than it
    should.

    Args:
        machines: by rank.
        costs: of messages and threads.
        oversleep: by how much a sleep of a rank lasts longer.
        processors: that ranks share; None where each has its own.
        do: what machines want beyond messages and sleep: rank, action, when.
    """

    def __init__(
        self,
        machines: Sequence[Machine],
        costs: Costs | None = None,
        oversleep: Oversleep = punctual,
        *,
        processors: Processors | None = None,
        do: Callable[[int, Action, float], None] | None = None,
    ) -> None:
        ranks = len(machines)
        self.machines = machines
        self.now_s = 0.0
        self._costs = Costs() if costs is None else costs
        self._oversleep = oversleep
        self._processors = processors
        self._do = do
        # When, in which order, for which rank, and what: an event to tell it, the number of a sleep
        # that ends, None for a thread that has time again; or for nobody, a call.
        self._queue: list[tuple[float, int, int, object]] = []
        self._count = 0
        self._is_started = False
        self._is_stopped = False
        self._inbox: list[list[Event]] = [[] for _ in range(ranks)]
        self._is_asleep = [False] * ranks
        # The last sleep that was asked for; what was asked for before is forgotten.
        self._asked = [_NEVER] * ranks
        self._sleeps = [0] * ranks
        self._busy_until_s = [0.0] * ranks
        self._will_look = [False] * ranks
        self._is_held = [False] * ranks
        self._waits_since_s: list[float | None] = [None] * ranks
        self._waited_s = [0.0] * ranks
        # Of each cycle: when the first and the last rank began it, and how many have.
        self._began: dict[int, list[float]] = {}
        self.busy_s = [0.0] * ranks
        self.heard_bytes = [0] * ranks
        self.messages = 0
        self._recording: Recording | None = None

    def record(self, recording: Recording | None) -> None:
        """Note what threads do from now on; None for no longer."""
        self._recording = recording

    def start(self) -> None:
        """Step all machines for the first time, if that has not been."""
        if not self._is_started:
            self._is_started = True
            for rank in range(len(self.machines)):
                self._start(rank)

    def run(self, until_s: float = math.inf) -> None:
        """Let time pass, until nothing more happens at the latest."""
        self.start()
        queue = self._queue
        self._is_stopped = False
        while queue and queue[0][0] <= until_s and not self._is_stopped:
            self.now_s, _, rank, what = heapq.heappop(queue)
            if rank == _NOBODY:
                what()  # type: ignore[operator]
            elif what is None:
                self._look(rank)
            elif isinstance(what, int):
                self._wake(rank, what)
            else:
                self.tell(rank, what)  # type: ignore[arg-type]

    def stop(self) -> None:
        """Let `run` return, after what happens now."""
        self._is_stopped = True

    def at(self, at_s: float, call: Callable[[], None]) -> None:
        """Schedule a call beside the machines."""
        self._push(at_s, _NOBODY, call)

    def tell(self, rank: int, *events: Event) -> None:
        """Deliver events to a rank now."""
        self._inbox[rank].extend(events)
        self._look_soon(rank)

    def work(self, rank: int, duration_s: float, then: Callable[[], None]) -> None:
        """The program of a rank takes a processor for so long."""

        def task() -> float:
            ends_s = self.now_s + duration_s
            self.at(ends_s, end)
            return ends_s

        def end() -> None:
            then()
            self._give_back(rank)

        self._take_processor(rank, task)

    def hold(self, rank: int) -> None:
        """Keep a rank's thread busy after this step, until `let_go`."""
        self._is_held[rank] = True

    def let_go(self, rank: int) -> None:
        """Release a rank that is held."""
        if self._is_held[rank]:
            self._is_held[rank] = False
            self._busy_until_s[rank] = max(self._busy_until_s[rank], self.now_s)
            self._look_soon(rank)

    def waited_s(self, rank: int) -> float:
        """Return how long a rank's thread has been awake in a cycle, waiting for others."""
        since_s = self._waits_since_s[rank]
        waits_s = 0.0 if since_s is None else self.now_s - since_s
        return self._waited_s[rank] + max(0.0, waits_s)

    def spreads_s(self) -> list[float]:
        """Return each complete cycle's spread: from the first rank that begins it to the last."""
        ranks = len(self.machines)
        return [last - first for first, last, count in self._began.values() if count == ranks]

    # A rank's thread.

    def _look_soon(self, rank: int) -> None:
        if self._is_asleep[rank] or self._will_look[rank] or self._is_held[rank]:
            return
        if self.now_s < self._busy_until_s[rank]:
            self._will_look[rank] = True
            self._push(self._busy_until_s[rank], rank, None)
        else:
            self._start(rank)

    def _look(self, rank: int) -> None:
        """Let a rank look at its messages again."""
        self._will_look[rank] = False
        if self._inbox[rank] and not self._is_asleep[rank] and not self._is_held[rank]:
            self._start(rank)

    def _wake(self, rank: int, asked: int) -> None:
        if asked != self._asked[rank]:
            return
        self._is_asleep[rank] = False
        self._asked[rank] = _NEVER
        self._inbox[rank].append(Ticked())
        self._look_soon(rank)

    def _start(self, rank: int) -> None:
        if self._processors is None:
            self._step(rank)
            return
        self._will_look[rank] = True

        def task() -> float:
            ends_s = self._step(rank)
            self.at(ends_s, end)
            return ends_s

        def end() -> None:
            self._look(rank)
            self._give_back(rank)

        self._take_processor(rank, task)

    def _step(self, rank: int) -> float:
        """Read, step, send. Returns when that is done."""
        costs, machine = self._costs, self.machines[rank]
        events, self._inbox[rank] = self._inbox[rank], []
        at_s = self.now_s + costs.step_s
        for event in events:
            if isinstance(event, Heard):
                at_s += costs.in_s + costs.in_s_per_byte * len(event.message)
                self.heard_bytes[rank] += len(event.message)
        before = getattr(machine, "cycles", 0)
        read_s = at_s
        sent: list[tuple[Heard, int, float]] = []
        for action in machine.step(events, at_s):
            if isinstance(action, Send):
                at_s += costs.out_s + costs.out_s_per_byte * len(action.message)
                self.messages += 1
                heard = Heard(rank, action.message)
                if self._recording is not None:
                    sent.append((heard, action.rank, at_s))
                self._push(at_s + costs.latency_s, action.rank, heard)
            elif isinstance(action, SleepUntil):
                self._sleep(rank, action, at_s)
            elif self._do is not None:
                self._do(rank, action, at_s)
        self._note(rank, before, at_s)
        if self._recording is not None:
            self._recording.note(Step(rank, self.now_s, read_s, at_s, events, sent))
        self.busy_s[rank] += at_s - self.now_s
        self._busy_until_s[rank] = at_s
        return at_s

    def _note(self, rank: int, before: int, at_s: float) -> None:
        """Record when cycles began, and which ranks wait within one."""
        cycles = getattr(self.machines[rank], "cycles", 0)
        if cycles > before:
            times = self._began.setdefault(cycles, [self.now_s, self.now_s, 0])
            times[1] = self.now_s
            times[2] += 1
        waits = bool(cycles) and not self._is_asleep[rank]
        since_s = self._waits_since_s[rank]
        if since_s is not None:
            self._waited_s[rank] += max(0.0, self.now_s - since_s)
        self._waits_since_s[rank] = at_s if waits else None

    def _sleep(self, rank: int, action: SleepUntil, at_s: float) -> None:
        self._is_asleep[rank] = not action.wakes_on_message
        self._asked[rank] = _NEVER
        if math.isfinite(action.at_s):
            longer_s = 0.0
            if action.at_s > at_s:
                self._sleeps[rank] += 1
                longer_s = self._oversleep(rank, self._sleeps[rank])
            self._asked[rank] = self._count
            self._push(max(at_s, action.at_s) + longer_s, rank, self._count)

    # Processors and time.

    def _take_processor(self, rank: int, task: Task) -> None:
        if self._processors is None or self._processors.give(rank, task) is not None:
            task()

    def _give_back(self, rank: int) -> None:
        if self._processors is not None:
            following = self._processors.take_back(rank)
            if following is not None:
                following()

    def _push(self, at_s: float, rank: int, what: object) -> None:
        heapq.heappush(self._queue, (at_s, self._count, rank, what))
        self._count += 1
