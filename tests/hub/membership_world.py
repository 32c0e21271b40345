"""Workers, chunks and a service's membership, with everything late that can be late.

Each chunk is an event loop of its own that learns of actions when the dice say so. A contribution
is the number of the process that made it, so that what a chunk was stepped with can be looked at.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from plink.hub.membership import actions as to_do
from plink.hub.membership import events as happened
from plink.hub.membership.actions import Action
from plink.hub.membership.events import Event
from plink.hub.membership.machine import Membership
from plink.hub.membership.tally import Tally
from plink.hub.service import ServiceOptions

CHUNKS = 3


@dataclass
class Process:
    """A worker's process.

    Args:
        uid: that no other has.
        is_up: whether its session is.
        is_open: whether its connections for data are.
        tags: of each chunk's values that it holds, the first iteration that they are for.
    """

    uid: int
    worker: int | None = None
    incarnation: int = 0
    is_up: bool = False
    is_open: bool = False
    is_gone: bool = False
    asks: bool = False
    tags: list[int] = field(default_factory=lambda: [-1] * CHUNKS)
    iteration: int | None = None
    has_begun: bool = False
    first: int | None = None
    to_push: set[int] = field(default_factory=set)
    inbox: deque[tuple[str, int, int]] = field(default_factory=deque)

    @property
    def is_between(self) -> bool:
        """Whether it has completed an iteration and not begun the next."""
        is_first = self.first is None or self.iteration is None or self.iteration <= self.first
        return not (is_first or self.has_begun)

    def work(self) -> None:
        """Take what has come, and begin what can begin."""
        while self.inbox:
            what, iteration, chunk = self.inbox.popleft()
            if what == "value":
                self.tags[chunk] = max(self.tags[chunk], iteration)
            elif self.has_begun and iteration == self.iteration:
                self.to_push |= {chunk} if chunk >= 0 else set(range(CHUNKS))
        if self.iteration is None:
            return
        if self.has_begun and min(self.tags) > self.iteration:
            self.iteration += 1
            self.has_begun = False
        if not self.has_begun and min(self.tags) >= self.iteration:
            self.has_begun = True
            self.to_push = set(range(CHUNKS))


@dataclass
class Stepped:
    """What a chunk was stepped with."""

    workers: tuple[int, ...]
    uids: dict[int, int]


class Chunk:
    """One chunk's event loop."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.inbox: deque[Action] = deque()
        self.iteration = 0
        self.sets: dict[int, to_do.Begin] = {}
        self.got: dict[int, int] = {}
        self.wants: dict[int, int] = {}
        self.incarnations: dict[int, int] = {}
        self.log: list[Stepped] = []

    def push(self, process: Process, iteration: int) -> None:
        worker = process.worker
        assert worker is not None
        if self.incarnations.get(worker) != process.incarnation or iteration < self.iteration:
            return
        assert iteration == self.iteration
        if worker in self.got:
            return
        self.got[worker] = process.uid
        self.report([worker])
        self.complete()

    def report(self, workers: list[int]) -> None:
        if self.iteration in self.sets:
            revision = self.sets[self.iteration].revision
            for worker in workers:
                self.world.reported(self.number, worker, self.iteration, revision)

    def tell(self, worker: int, what: str) -> None:
        process = self.world.up(worker)
        if process and process.is_open and self.incarnations.get(worker) == process.incarnation:
            process.inbox.append((what, self.iteration, self.number))

    def act(self, action: Action) -> None:
        if isinstance(action, to_do.Seat):
            self.incarnations[action.worker] = action.incarnation
        elif isinstance(action, to_do.Admit):
            self.wants[action.worker] = action.iteration
            self.send()
        elif isinstance(action, to_do.Drop):
            if self.incarnations.get(action.worker) == action.incarnation:
                self.incarnations.pop(action.worker)
                self.wants.pop(action.worker, None)
        elif isinstance(action, to_do.Begin):
            self.begin(action)
        elif isinstance(action, to_do.Commit):
            told = self.sets[action.iteration]
            assert (action.iteration, action.revision) == (self.iteration, told.revision)
            assert tuple(sorted(self.got)) == told.workers
            self.step()

    def begin(self, action: to_do.Begin) -> None:
        assert action.iteration >= self.iteration
        assert action.iteration == self.iteration or not action.discard
        self.sets[action.iteration] = action
        if action.iteration != self.iteration:
            return
        if self.got.keys() & set(action.discard):
            self.got = {}
            for worker in action.workers:
                self.tell(worker, "again")
        # There may be one of a worker that another chunk has admitted by a later revision already.
        self.report(list(self.got))
        self.complete()

    def complete(self) -> None:
        told = self.sets.get(self.iteration)
        if self.world.options.commit == "stream" and told and set(told.workers) <= self.got.keys():
            self.step()

    def step(self) -> None:
        workers = self.sets.pop(self.iteration).workers
        assert tuple(sorted(self.got)) == workers
        self.log.append(Stepped(workers, self.got))
        self.got = {}
        self.iteration += 1
        self.send()

    def send(self) -> None:
        for worker, wanted in list(self.wants.items()):
            if wanted <= self.iteration:
                self.tell(worker, "value")
                self.wants[worker] = self.iteration + 1


class World:
    """A service and its workers.

    Args:
        options: of the service.
        seed: of the dice.
    """

    def __init__(self, options: ServiceOptions, seed: int) -> None:
        self.options = options
        self.dice = random.Random(seed)
        self.membership = Membership(options)
        self.events: deque[Event] = deque()
        self.chunks = [Chunk(self, number) for number in range(CHUNKS)]
        self.processes: list[Process] = []
        self.tally = Tally(CHUNKS)
        self.seated: list[tuple[Process, int]] = []
        self.waits: dict[int, float] = {}
        self.failed = ""
        self.now_s = 0.0
        self.kills = self.joins = 0

    def add(self) -> Process:
        """A new process that asks for a place."""
        process = Process(len(self.processes))
        self.processes.append(process)
        self.ask(process)
        self.joins += 1
        return process

    def ask(self, process: Process) -> None:
        began = process.iteration if process.has_begun else None
        process.asks = True
        self.events.append(
            happened.Request(process.uid, process.worker, process.incarnation, began)
        )

    def kill(self, process: Process, *, is_cut: bool) -> Process:
        """A worker's connections end; its process too, and a new one comes, unless it is a cut."""
        assert process.worker is not None
        self.kills += 1
        process.is_up = process.is_open = False
        process.inbox.clear()
        for chunk in self.chunks:
            if chunk.incarnations.get(process.worker) == process.incarnation:
                chunk.incarnations[process.worker] = -1
        self.seated = [seat for seat in self.seated if seat[0] is not process]
        self.events.append(happened.Lost(process.worker, process.incarnation, self.now_s))
        if is_cut:
            self.ask(process)
            return process
        process.is_gone = True
        again = Process(len(self.processes), worker=process.worker, incarnation=process.incarnation)
        if self.options.on_loss != "wait":
            again.worker = None
        self.processes.append(again)
        self.ask(again)
        return again

    def leave(self, process: Process) -> None:
        """A worker that has begun nothing goes for good."""
        assert process.worker is not None
        assert process.iteration is not None
        process.is_gone = True
        process.is_up = process.is_open = False
        self.events.append(happened.Left(process.worker, process.iteration))

    def reported(self, chunk: int, worker: int, iteration: int, revision: int) -> None:
        report = happened.Pushed(worker, iteration, revision)
        if self.tally.pushed(chunk, report):
            self.events.append(report)
        self.tally.forget_before(self.membership.iteration)

    def up(self, worker: int) -> Process | None:
        there = [one for one in self.processes if one.worker == worker and one.is_up]
        assert len(there) <= 1
        return there[0] if there else None

    def do(self, action: Action) -> None:
        """What sessions do at once; the chunks do theirs when they come to it."""
        if isinstance(action, to_do.Seat):
            process = self.processes[action.token]
            process.asks = False
            process.worker, process.incarnation = action.worker, action.incarnation
            process.is_up = not process.is_gone
            self.seated.append((process, action.incarnation))
        elif isinstance(action, to_do.Refuse):
            self.refused(self.processes[action.token])
        elif isinstance(action, to_do.Source):
            there = self.up(action.worker)
            if there is not None:
                self.seated.append((there, there.incarnation))
        elif isinstance(action, to_do.Admit):
            there = self.up(action.worker)
            if there is not None and not there.has_begun:
                there.iteration = there.first = action.iteration
        elif isinstance(action, to_do.PushAgain):
            there = self.up(action.worker)
            if there is not None:
                there.inbox.append(("again", action.iteration, -1))
        elif isinstance(action, to_do.WaitUntil):
            self.waits[action.worker] = action.until_s
        elif isinstance(action, to_do.Fail):
            self.failed = action.sentence
        for chunk in self.chunks:
            chunk.inbox.append(action)

    def refused(self, process: Process) -> None:
        process.asks = False
        if not process.is_gone and not self.failed:
            if not process.has_begun:
                process.worker = None
            process.has_begun = False
            self.ask(process)

    def tick(self) -> None:
        """One thing happens."""
        self.now_s += 0.001
        busy = [chunk for chunk in self.chunks if chunk.inbox]
        pushers = [one for one in self.processes if one.is_open and one.to_push]
        ways = (
            ["event"] * 2 * bool(self.events)
            + ["act"] * 2 * bool(busy)
            + ["push"] * 3 * bool(pushers)
            + ["work"] * 2
            + ["open"] * bool(self.seated)
        )
        way = self.dice.choice(ways)
        if way == "event":
            for action in self.membership.handle(self.events.popleft()):
                self.do(action)
        elif way == "act":
            chunk = self.dice.choice(busy)
            chunk.act(chunk.inbox.popleft())
        elif way == "push":
            process = self.dice.choice(pushers)
            place = self.dice.choice(sorted(process.to_push))
            process.to_push.discard(place)
            assert process.iteration is not None
            self.chunks[place].push(process, process.iteration)
        elif way == "open":
            self.open(self.seated.pop(self.dice.randrange(len(self.seated))))
        else:
            ups = [one for one in self.processes if one.is_up]
            if ups:
                self.dice.choice(ups).work()

    def open(self, seat: tuple[Process, int]) -> None:
        """A worker has its connections once every chunk has heard of it."""
        process, incarnation = seat
        assert process.worker is not None
        if not process.is_up or process.incarnation != incarnation:
            return
        if all(chunk.incarnations.get(process.worker) == incarnation for chunk in self.chunks):
            process.is_open = True
            self.events.append(happened.Initialised(process.worker))
        else:
            self.seated.append(seat)

    def running(self) -> list[Process]:
        """Those that contribute."""
        return [one for one in self.processes if one.is_up and one.iteration is not None]

    def check(self) -> None:
        """All chunks were stepped with the same, and with everyone who was there."""
        done = min(len(chunk.log) for chunk in self.chunks)
        for iteration in range(done):
            steps = [chunk.log[iteration] for chunk in self.chunks]
            assert len({step.workers for step in steps}) == 1
            for step in steps:
                assert tuple(sorted(step.uids)) == step.workers
                assert len(set(step.uids.values())) == len(step.uids)
            if self.options.commit == "step":
                assert len({tuple(sorted(step.uids.items())) for step in steps}) == 1
        for process in self.processes:
            if process.worker is None or process.first is None or process.iteration is None:
                continue
            if process.is_up:
                for iteration in range(process.first, min(process.iteration, done)):
                    assert process.worker in self.chunks[0].log[iteration].workers
