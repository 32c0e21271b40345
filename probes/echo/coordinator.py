"""Coordinator of echo agents: installs them on hosts, schedules pairs and collects readings."""

from __future__ import annotations

import platform
import secrets
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plink.probes import samples
from plink.probes.echo import ECHO_AGENT_FILE, protocol
from plink.probes.echo.grants import ConcurrencyController, Grant, Grants, Placement, Schedule
from plink.probes.echo.liveness import PingDeadlines, ReportDeadlines
from plink.probes.echo.readings import DISTURBED, Delivery
from plink.probes.errors import HostError, OptionError
from plink.probes.options import EchoOptions
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import HostPrograms, OutputEnded, RemoteProcess, run_on_all
from plink.probes.remote.upload import EXEC, Program, start_words, upload


@dataclass(frozen=True)
class AgentProgram:
    """Agent program that is uploaded to hosts and speaks `plink.probes.echo.protocol`.

    Args:
        file, hint: the executable as installed here, and what to do where it is not.
        arguments, start: its arguments on a host, and how the shell starts it (`upload.EXEC`).
    """

    name: str
    file: Path
    hint: str
    arguments: Callable[[ReachedHost], Sequence[str]] = lambda _: ()
    start: str = EXEC


def deploy(host: ReachedHost, agent: AgentProgram, cache_folder: str | None) -> str:
    """Upload the echo agent to a host unless it is there; return the command that starts it.

    Raises:
        HostError: another processor, or it cannot be copied there.
        OptionError: the agent is not installed here.
    """
    if host.facts.architecture != platform.machine():
        raise HostError(
            host.session.host,
            f"its processor is {host.facts.architecture}, but the {agent.name} is built for "
            f"{platform.machine()}",
            "use the tool fping",
            ["tool"],
        )
    program = _program(agent)
    upload(host.session, program, cache_folder)
    return shlex.join(start_words(program, cache_folder, agent.arguments(host), agent.start))


@cache
def _program(agent: AgentProgram) -> Program:
    try:
        return Program(agent.file.name, agent.file.read_bytes())
    except OSError:
        raise OptionError(
            f"the {agent.name} is not part of this installation ({agent.file})",
            agent.hint,
            ["tool"],
        ) from None


ECHO_AGENT = AgentProgram(
    name="echo agent",
    file=ECHO_AGENT_FILE,
    hint="reinstall plink, or use the tool fping",
)


class Agents(HostPrograms[protocol.Event]):
    """Running echo agents, one on each host of a run, with which plink exchanges lines."""

    farewell = "stop\n"

    def __init__(
        self, hosts: Sequence[ReachedHost], agent: AgentProgram, cache_folder: str | None
    ) -> None:
        super().__init__([host.session for host in hosts])
        self._hosts = hosts
        self._agent = agent
        self._cache_folder = cache_folder

    def start(self, concurrency: int) -> dict[int, HostError]:
        """Upload and start an agent on every host, `concurrency` at a time; return failures."""
        # All are deployed before the first starts: an agent to which nobody speaks ends, and a slow
        # line may take minutes for the files of many hosts.
        indices = range(len(self._hosts))
        commands, failures = run_on_all(self._deploy, indices, concurrency)
        failures |= self.start_programs(commands, concurrency)
        return dict(sorted(failures.items()))

    def parse(self, line: str) -> protocol.Event:
        """Parse a line of an echo agent's output into a message."""
        return protocol.parse_event(line)

    def explain_end(self, process: RemoteProcess) -> str:
        """Return why an agent has ended by itself, from its standard error."""
        return process.stderr_tail() or "its echo agent ended"

    def _deploy(self, index: int) -> str:
        return deploy(self._hosts[index], self._agent, self._cache_folder)


_BIND_WAIT_S = 20.0
_ASK_EVERY_S = 3.0
# Hosts that share a machine have just started agents on it, and that goes on for a moment.
_SETTLING_S = 0.2
# An agent answers at once, but its host or ours may be very busy.
_ANSWER_WITHIN_S = 10.0
# One whose host is silent to others as well is waited for less, but at least so long.
_DOUBTED_ANSWER_WITHIN_S = 3.0
# An agent whose partner has left a meeting leaves it soon: silence tells it.
_REPORT_WITHIN_S = 60.0
_NO_REPORT = "its echo agent does not say how its meetings end"


def measure(
    job: samples.MeasuringJob[EchoOptions],
    sink: samples.Sink[samples.RttReading],
    agent: AgentProgram = ECHO_AGENT,
) -> None:
    """Measure round-trip times of the wanted directed pairs with echo agents; results go to `sink`.

    Pairs run freely, each host going through its own schedule, unless `concurrency` is less than
    what the hosts could do: then each pair waits for the coordinator's word. With `adaptive`, fewer
    pairs meet at once where they disturb each other. In the further rounds that `more` has, any two
    hosts meet at the coordinator's word.

    Raises:
        OptionError: the agent is not installed here.
    """
    with Agents(job.hosts, agent, job.options.remote_cache) as agents:
        run = _EchoRun(job, agents, sink)
        for index, error in agents.start(job.ssh_concurrency).items():
            run.lose_host(index, str(error))
        run.bind()
        try:
            run.conduct()
            run.run_further_rounds(job.more)
        finally:
            run.deliver_rest()


class _EchoRun:
    """State of a run of echo agents: live hosts, pending pairs, and measurements that may start."""

    def __init__(
        self,
        job: samples.MeasuringJob[EchoOptions],
        agents: Agents,
        sink: samples.Sink[samples.RttReading],
    ) -> None:
        self._hosts = job.hosts
        self._options = job.options
        self._silence_s = job.timeout_s
        self._agents = agents
        self._sink = sink
        self._schedule = Schedule(len(job.hosts), job.wanted, job.rounds)
        # Each host goes through its schedule without leave.
        self._is_free = job.concurrency >= len(job.hosts) // 2
        self._placement = Placement(
            [host.facts for host in job.hosts],
            job.options.cores_per_pair,
            is_free=self._is_free,
        )
        self._delivery = Delivery(self._schedule, job.options.percentiles, sink, self._placement)
        self._alive = set(range(len(job.hosts)))
        self._why_lost: dict[int, str] = {}
        # Where each agent listens, of those that have said so.
        self._ports: dict[int, int] = {}
        # Of every agent, the hosts that it was told of.
        self._acquainted: list[set[int]] = [set() for _ in job.hosts]
        self._concurrency = job.concurrency
        self._grants = Grants(() if self._is_free else self._schedule.pairs(), job.concurrency)
        self._pace = (
            ConcurrencyController(job.concurrency) if job.adaptive and not self._is_free else None
        )
        self._suspicion = samples.Suspicion()
        self._liveness = PingDeadlines(
            _ANSWER_WITHIN_S,
            min(_ANSWER_WITHIN_S, max(_DOUBTED_ANSWER_WITHIN_S, 2 * job.timeout_s)),
        )
        # The slowest meeting: every probe is answered, but as late as an answer still counts.
        slowest_s = 2 * job.options.count * job.timeout_s
        self._reports = ReportDeadlines(
            self._schedule, _REPORT_WITHIN_S, _REPORT_WITHIN_S + slowest_s
        )
        self._ask_at = 0.0
        # Further meetings have rounds of their own, after all that are scheduled.
        self._next_round = len(self._schedule)
        self._is_in_further_rounds = False

    def bind(self) -> None:
        """Send every agent its index and address to listen on, and wait for the UDP port it got."""
        secret = secrets.token_hex(16)
        for index in sorted(self._alive):
            address = self._hosts[index].address
            self._agents.send(
                index,
                protocol.opening(
                    index,
                    address,
                    self._options,
                    silence_s=self._silence_s,
                    secret=secret,
                    granted=not self._is_free,
                ),
            )
        self._take_while(lambda: self._alive - set(self._ports), _BIND_WAIT_S)
        for index in sorted(self._alive - set(self._ports)):
            self.lose_host(index, f"its echo agent did not start within {_BIND_WAIT_S:g} s")

    def conduct(self) -> None:
        """Send all agents their schedules and handle their messages until no pair is pending."""
        self._send_schedules()
        for index in sorted(self._alive):
            self._agents.send(index, "start\n")
        if not self._is_free:
            self._take_while(lambda: True, _SETTLING_S)
        self._ask_at = time.monotonic() + _ASK_EVERY_S
        self._reports.begin(time.monotonic())
        while self._schedule.pending:
            self._step()
        for index in self._suspicion.silent_to_all():
            if index in self._alive:
                self._sink.host_lost(samples.HostLoss(index, f"{protocol.SILENT} of any host"))

    def run_further_rounds(self, more: samples.More) -> None:
        """Measure the rounds of pairs that `more` returns, until it returns none."""
        self._is_in_further_rounds = True
        while rounds := more():
            # Agents run further meetings in ascending order of rounds.
            further = self._plan_further_pairs(rounds)
            self._grants = Grants(further, self._concurrency, in_order=True)
            self._reports.begin(time.monotonic())
            while not self._grants.is_idle:
                self._step()

    def _plan_further_pairs(self, rounds: samples.Rounds) -> list[tuple[int, int, int]]:
        """Return (round, host, host) of further pairs with living hosts; record others as lost."""
        meetings = []
        for pairs in rounds:
            for pair in pairs:
                self._schedule.add(self._next_round, *pair)
                gone = [end for end in pair if end not in self._alive]
                if gone:
                    self._lose_pairs([pair, pair[::-1]], self._why_lost[gone[0]])
                else:
                    meetings.append((self._next_round, *pair))
            self._next_round += 1
        return meetings

    def _step(self) -> None:
        self._grant_next()
        until = min(self._ask_at, self._liveness.doubts_end_at())
        # Who seems late may be heard once everything that was said is taken.
        if not self._take(until - time.monotonic()):
            if time.monotonic() - until > _ASK_EVERY_S:
                # This process itself was stopped for a while, so that no deadline holds.
                self._liveness.forget()
                self._reports.begin(time.monotonic())
            self._lose_unresponsive()
        if time.monotonic() >= self._ask_at:
            self._ping_all()
            self._ask_at = time.monotonic() + _ASK_EVERY_S

    def _send_schedules(self) -> None:
        for index in sorted(self._alive):
            meetings = [
                meeting
                for meeting in self._schedule.meetings[index]
                if meeting.partner in self._alive
            ]
            # Only those it meets: N hosts with all others each would be N^2 lines.
            self._acquainted[index] = {meeting.partner for meeting in meetings}
            peers = [self._peer(other) for other in sorted(self._acquainted[index])]
            self._agents.send(index, protocol.schedule_text(peers, meetings))
        self._ping_all()
        self._take_while(lambda: self._liveness.unanswered, _BIND_WAIT_S)
        for index in sorted(self._liveness.unanswered):
            self.lose_host(index, f"did not take its schedule within {_BIND_WAIT_S:g} s")

    def _peer(self, index: int) -> tuple[int, str, int]:
        return index, self._hosts[index].address, self._ports[index]

    def _grant_next(self) -> None:
        for grant in self._grants.next():
            of_leader, of_follower = self._placement.processors(
                grant.slot, grant.leader, grant.follower
            )
            # The follower first: the leader's greeting then finds it there.
            for end, processor in (grant.follower, of_follower), (grant.leader, of_leader):
                self._agents.send(end, self._format_grant(end, grant, processor))

    def _format_grant(self, end: int, grant: Grant, processor: int | None) -> str:
        """Return the lines that tell an agent of a pair to measure, and on which processor."""
        if not self._is_in_further_rounds:
            return protocol.grant_text(grant.round, processor)
        partner = grant.leader if end == grant.follower else grant.follower
        text = protocol.again_text(protocol.Meeting(grant.round, partner, probes=True), processor)
        if partner in self._acquainted[end]:
            return text
        self._acquainted[end].add(partner)
        return protocol.peer_text(*self._peer(partner)) + text

    def _ping_all(self) -> None:
        """Ping all agents, even those that still owe an answer, to show that plink is alive."""
        for index in sorted(self._alive):
            self._liveness.ask(index, time.monotonic())
            self._agents.send(index, "alive\n")

    def _take_while(self, is_waiting: Callable[[], object], at_most_s: float) -> None:
        """Handle agents' messages while `is_waiting` returns true, at most `at_most_s` seconds."""
        deadline = time.monotonic() + at_most_s
        while is_waiting() and (left_s := deadline - time.monotonic()) > 0:
            self._take(left_s)

    def _take(self, timeout_s: float) -> bool:
        """Handle the next message of any agent; return False if none comes within `timeout_s`."""
        message = self._agents.receive(timeout_s)
        if message is None:
            return False
        index, event = message
        if index not in self._alive:
            return True
        if isinstance(event, OutputEnded):
            self.lose_host(index, event.reason)
            return True
        self._liveness.settle(index)
        if isinstance(event, protocol.ListeningPort):
            self._ports.setdefault(index, event.port)
        elif not isinstance(event, protocol.Alive):
            self._take_meeting(index, event)
        return True

    def lose_host(self, index: int, reason: str) -> None:
        """Give up a host: report it and its pending pairs as lost, and tell its partners."""
        if index not in self._alive:
            return
        self._alive.discard(index)
        self._why_lost[index] = f"{self._name(index)}: {reason}"
        self._agents.give_up(index)
        self._liveness.settle(index)
        self._reports.host_lost(index)
        self._sink.host_lost(samples.HostLoss(index, reason))
        self._delivery.host_lost(index)
        self._lose_pairs(self._schedule.owed_with(index), self._why_lost[index])
        self._grants.host_lost(index)
        self._tell_partners(index, f"gone {index}\n")

    def _lose_unresponsive(self) -> None:
        """Give up hosts that do not answer pings, or do not report that a pair is done."""
        now = time.monotonic()
        for index, limit_s in self._liveness.overdue(now):
            self.lose_host(index, f"has not answered over SSH for {limit_s:g} s")
        for host, partner, is_told in self._reports.late(now, in_turn=self._is_free):
            if is_told:
                self.lose_host(host, _NO_REPORT)
            else:
                self._agents.send(host, f"gone {partner}\n")
        if self._reports.is_stalled(now):
            owing = self._grants.busy | {source for source, _ in self._schedule.pending}
            for index in sorted(owing):
                self.lose_host(index, _NO_REPORT)

    def deliver_rest(self) -> None:
        """Deliver the readings of pairs whose end only one agent, or none, has reported."""
        self._delivery.deliver_rest()

    def _take_meeting(
        self, index: int, event: protocol.Rtt | protocol.Lost | protocol.MeetingOver
    ) -> None:
        if self._schedule.partner(index, event.round) != event.partner:
            self.lose_host(index, "its echo agent reports a pair that it was not given")
        elif isinstance(event, protocol.Lost):
            self._take_loss(index, event)
        elif isinstance(event, protocol.MeetingOver):
            self._take_over(index, event)
        elif len(event.rtt_us) != len(self._options.percentiles):
            self.lose_host(index, "its echo agent reports other percentiles than asked for")
        else:
            self._suspicion.reading(index, event.partner)
            self._delivery.reading(index, event)

    def _take_over(self, index: int, event: protocol.MeetingOver) -> None:
        if self._is_under_way(index, event.round):
            self._reports.over(index, event.partner, event.round, time.monotonic())
        share = self._delivery.over(index, event)
        self._grants.over(index, event.round)
        if self._pace is not None and share is not None:
            change = self._pace.meeting(is_disturbed=share >= DISTURBED)
            if change is not None:
                self._concurrency = self._pace.most
                self._grants.limit(self._concurrency)
                self._sink.remark(change)

    def _is_under_way(self, index: int, number: int) -> bool:
        """Return whether a host may be measuring in this round, so that its reports count."""
        if self._is_free and number < len(self._schedule):
            return True
        # Further meetings may begin before the last word of those before is heard.
        return self._grants.is_running(index, number) or self._reports.is_owed(index, number)

    def _take_loss(self, index: int, event: protocol.Lost) -> None:
        self._lose_pairs([(index, event.partner)], f"{self._name(event.partner)} {event.reason}")
        if event.reason == protocol.SILENT:
            self._grants.given_up(index, event.round)
            is_asked = event.partner in self._alive and self._liveness.ask(
                event.partner, time.monotonic(), doubted=True
            )
            if is_asked:
                self._agents.send(event.partner, "alive\n")
            for suspect in self._suspicion.silence(index, event.partner):
                self._tell_partners(suspect, f"suspect {suspect}\n")
                # It may hear others that do not hear it.
                if suspect in self._alive:
                    self._agents.send(suspect, f"suspect {suspect}\n")

    def _lose_pairs(self, directions: Iterable[tuple[int, int]], reason: str) -> None:
        """Report those of these directed pairs as lost that are still pending."""
        for source, destination in directions:
            if self._schedule.settle(source, destination):
                self._sink.pair_lost(samples.PairLoss(source, destination, reason))

    def _tell_partners(self, index: int, text: str) -> None:
        for other in sorted(self._alive):
            if index in self._acquainted[other]:
                self._agents.send(other, text)

    def _name(self, index: int) -> str:
        return self._hosts[index].name
