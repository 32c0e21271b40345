"""State of an echo run: which agents are alive, which readings are pending, which are lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from plink.probes.echo.agents import Agents
from plink.probes.echo.grants import Grants, Pace, Placement
from plink.probes.echo.liveness import Liveness, Reports
from plink.probes.echo.protocol import (
    SILENT,
    Alive,
    EchoSettings,
    ListeningPort,
    Lost,
    MeetingOver,
    Rtt,
)
from plink.probes.echo.readings import DISTURBED, Delivery
from plink.probes.echo.schedule import Schedule
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import OutputEnded
from plink.probes.samples import HostLoss, PairLoss, RemarkableSink, RttReading
from plink.probes.suspicion import Suspicion

# An agent answers at once, but its host or ours may be very busy.
_ANSWER_WITHIN_S = 10.0
# One whose host is silent to others as well is waited for less, but at least so long.
_DOUBTED_ANSWER_WITHIN_S = 3.0
# An agent whose partner has left a meeting leaves it soon: silence tells it.
_REPORT_WITHIN_S = 60.0
_NO_REPORT = "its echo agent does not say how its meetings end"


class RunState:
    """State of a run, updated by the agents' messages.

    Args:
        hosts: hosts of the run, in index order.
        schedule: whom each of them meets, and what is still owed.
        options: how the agents measure.
        sink: where readings and losses go.
        agents: on these hosts.
        placement: where two hosts meet.
        concurrency: how many pairs meet at once where they need leave.
        is_free: each host goes through its schedule without leave.
        adaptive: fewer pairs meet at once where they disturb each other.
    """

    def __init__(
        self,
        hosts: Sequence[ReachedHost],
        schedule: Schedule,
        options: EchoSettings,
        sink: RemarkableSink[RttReading],
        agents: Agents,
        *,
        placement: Placement,
        concurrency: int,
        is_free: bool,
        adaptive: bool,
    ) -> None:
        self.alive = set(range(len(hosts)))
        # Where each agent listens, of those that have said so.
        self.ports: dict[int, int] = {}
        # Of every agent, the hosts that it was told of.
        self.acquainted: list[set[int]] = [set() for _ in hosts]
        # Hosts that go freely need no leave.
        self.grants = Grants(() if is_free else schedule.pairs(), concurrency)
        self._hosts = hosts
        self._options = options
        self._sink = sink
        self._agents = agents
        self._why_lost: dict[int, str] = {}
        self._schedule = schedule
        self._delivery = Delivery(schedule, options.percentiles, sink, placement)
        self._is_free = is_free
        self._pace = Pace(concurrency) if adaptive and not is_free else None
        self._concurrency = concurrency
        self._suspicion = Suspicion()
        self._liveness = Liveness(
            _ANSWER_WITHIN_S,
            min(_ANSWER_WITHIN_S, max(_DOUBTED_ANSWER_WITHIN_S, 2 * options.silence_s)),
        )
        # The slowest meeting: every probe is answered, but as late as an answer still counts.
        slowest_s = 2 * options.count * options.silence_s
        self._reports = Reports(schedule, _REPORT_WITHIN_S, _REPORT_WITHIN_S + slowest_s)

    @property
    def unanswered(self) -> set[int]:
        """Agents that owe an answer to a ping."""
        return self._liveness.unanswered

    def begin(self) -> None:
        """Start the deadlines for the reports of meetings."""
        self._reports.begin(time.monotonic())

    def grant(self, meetings: Iterable[tuple[int, int, int]]) -> None:
        """Schedule further meetings, which agents take in ascending order of rounds."""
        self.grants = Grants(meetings, self._concurrency, in_order=True)
        self.begin()

    def forget(self) -> None:
        """Drop deadlines, because this process was stopped for a while."""
        self._liveness.forget()
        self.begin()

    def ask(self, index: int) -> None:
        """Ping an agent, even one that owes an answer, since the ping shows that we are alive."""
        self._liveness.ask(index, time.monotonic())
        self._agents.tell(index, "alive\n")

    def doubts_end_at(self) -> float:
        """Return the next deadline of an unanswered ping; infinite if there is none."""
        return self._liveness.doubts_end_at()

    def lose_the_silent(self) -> None:
        """Report hosts that are alive but could not be reached by any other."""
        for index in self._suspicion.silent_to_all():
            if index in self.alive:
                self._sink.host_lost(HostLoss(index, f"{SILENT} of any host"))

    def take_while(self, is_waiting: Callable[[], object], at_most_s: float) -> None:
        """Handle agents' messages while a condition holds, at most until a time limit."""
        deadline = time.monotonic() + at_most_s
        while is_waiting() and (left_s := deadline - time.monotonic()) > 0:
            self.take(left_s)

    def take(self, timeout_s: float) -> bool:
        """Handle the next message of an agent; return False if none comes in time."""
        said = self._agents.hear(timeout_s)
        if said is None:
            return False
        index, event = said
        if index not in self.alive:
            return True
        if isinstance(event, OutputEnded):
            self.lose_host(index, event.reason)
            return True
        self._liveness.settle(index)
        if isinstance(event, ListeningPort):
            self.ports.setdefault(index, event.port)
        elif not isinstance(event, Alive):
            self._take_meeting(index, event)
        return True

    def lose_host(self, index: int, reason: str) -> None:
        """Give up a host: its remaining pairs are lost, and no deadline waits for it."""
        if index not in self.alive:
            return
        self.alive.discard(index)
        self._why_lost[index] = f"{self._name(index)} {reason}"
        self._agents.give_up(index)
        self._liveness.settle(index)
        self._reports.host_lost(index)
        self._sink.host_lost(HostLoss(index, reason))
        self._delivery.host_lost(index)
        self._lose_pairs(self._schedule.owed_with(index), self._why_lost[index])
        self.grants.host_lost(index)
        self._tell_partners(index, f"gone {index}\n")

    def lose_pairs_with(self, gone: int, pair: tuple[int, int]) -> None:
        """Give up both directions of a pair of which one host is lost."""
        self._lose_pairs([pair, pair[::-1]], self._why_lost[gone])

    def lose_the_mute(self) -> None:
        """Give up hosts that do not answer, or do not report how their meetings end."""
        now = time.monotonic()
        for index, limit_s in self._liveness.overdue(now):
            self.lose_host(index, f"has not answered over SSH for {limit_s:g} s")
        for late in self._reports.late(now, in_turn=self._is_free):
            if late.is_told:
                self.lose_host(late.host, _NO_REPORT)
            else:
                self._agents.tell(late.host, f"gone {late.partner}\n")
        if self._reports.is_stalled(now):
            for index in sorted(self._owing()):
                self.lose_host(index, _NO_REPORT)

    def deliver_rest(self) -> None:
        """Deliver all readings that were measured but not delivered."""
        self._delivery.deliver_rest()

    def _take_meeting(self, index: int, event: Rtt | Lost | MeetingOver) -> None:
        if self._schedule.partner(index, event.round) != event.partner:
            self.lose_host(index, "its echo agent reports a pair that it was not given")
        elif isinstance(event, Rtt):
            self._take_reading(index, event)
        elif isinstance(event, Lost):
            self._take_loss(index, event)
        else:
            self._take_over(index, event)

    def _take_reading(self, index: int, event: Rtt) -> None:
        if len(event.rtt_us) != len(self._options.percentiles):
            self.lose_host(index, "its echo agent reports other percentiles than asked for")
        else:
            self._suspicion.reading(index, event.partner)
            self._delivery.reading(index, event)

    def _take_over(self, index: int, event: MeetingOver) -> None:
        if self._is_under_way(index, event.round):
            self._reports.over(index, event.partner, event.round, time.monotonic())
        share = self._delivery.over(index, event)
        self.grants.over(index, event.round)
        if self._pace is not None and share is not None:
            change = self._pace.meeting(is_disturbed=share >= DISTURBED)
            if change is not None:
                self._concurrency = self._pace.most
                self.grants.limit(self._concurrency)
                self._sink.remark(change)

    def _is_under_way(self, index: int, number: int) -> bool:
        """Return whether a host may be in that meeting; a host that claims it early lies."""
        if self._is_free and number < len(self._schedule):
            return True
        # Further meetings may begin before the last word of those before is heard.
        return self.grants.is_running(index, number) or self._reports.is_owed(index, number)

    def _take_loss(self, index: int, event: Lost) -> None:
        self._lose_pairs([(index, event.partner)], f"{self._name(event.partner)} {event.reason}")
        if event.reason == SILENT:
            self.grants.given_up(index, event.round)
            if event.partner in self.alive:
                self._doubt(event.partner)
            for suspect in self._suspicion.silence(index, event.partner):
                self._tell_partners(suspect, f"suspect {suspect}\n")
                # It may hear others that do not hear it.
                if suspect in self.alive:
                    self._agents.tell(suspect, f"suspect {suspect}\n")

    def _doubt(self, index: int) -> None:
        if self._liveness.ask(index, time.monotonic(), doubted=True):
            self._agents.tell(index, "alive\n")

    def _owing(self) -> set[int]:
        return self.grants.busy | {source for source, _ in self._schedule.pending}

    def _lose_pairs(self, directions: Iterable[tuple[int, int]], reason: str) -> None:
        """Give up those of these directions that are pending."""
        for source, destination in directions:
            if self._schedule.settle(source, destination):
                self._sink.pair_lost(PairLoss(source, destination, reason))

    def _tell_partners(self, index: int, text: str) -> None:
        for other in sorted(self.alive):
            if index in self.acquainted[other]:
                self._agents.tell(other, text)

    def _name(self, index: int) -> str:
        return self._hosts[index].name
