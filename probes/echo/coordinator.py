"""Running the echo agents: schedule out, readings in, losses named."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from probes.echo.agents import Agents, Ended
from probes.echo.deploy import ECHO_AGENT, AgentProgram
from probes.echo.grants import Grants, processors_of
from probes.echo.protocol import (
    SILENT,
    Alive,
    Bound,
    EchoOptions,
    Lost,
    Over,
    Rtt,
    opening,
    schedule_text,
)
from probes.echo.schedule import Schedule
from probes.reach import ReachedHost
from probes.samples import HostLoss, PairLoss, Rounds, RttReading, Sink, Wanted
from probes.suspicion import Suspicion

_BIND_WAIT_S = 20.0
_ASK_EVERY_S = 3.0
# An agent answers at once, but its host or ours may be very busy.
_ANSWER_WITHIN_S = 10.0


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: EchoOptions,
    sink: Sink[RttReading],
    *,
    concurrency: int,
    ssh_concurrency: int = 16,
    cache_folder: str | None = None,
    agent: AgentProgram = ECHO_AGENT,
) -> None:
    """Measure the wanted directed pairs of the rounds; results go to `sink` as they come.

    Pairs run freely, each host going through its own schedule, unless `concurrency` is less than
    what the hosts could do: then each pair waits for the coordinator's word.

    Raises:
        OptionError: the agent is not installed here.
    """
    with Agents(hosts, agent, cache_folder) as agents:
        run = _Run(hosts, Schedule(len(hosts), wanted, rounds), options, sink, agents)
        if concurrency < len(hosts) // 2:
            run.grant(concurrency, agent.cores_per_pair)
        for index, error in agents.start(ssh_concurrency):
            run.lose_host(index, str(error))
        run.bind()
        run.conduct()


class _Run:
    def __init__(
        self,
        hosts: Sequence[ReachedHost],
        schedule: Schedule,
        options: EchoOptions,
        sink: Sink[RttReading],
        agents: Agents,
    ) -> None:
        self._hosts = hosts
        self._options = options
        self._sink = sink
        self._agents = agents
        self._alive = set(range(len(hosts)))
        self._schedule = schedule
        self._grants: Grants | None = None
        self._processors = min(host.facts.cores for host in hosts)
        self._cores_per_pair = 1
        self._suspicion = Suspicion()
        self._ports: dict[int, int] = {}
        self._has_peers = False
        # When an agent was asked whether it lives, as long as it has not answered.
        self._asked_at: dict[int, float] = {}

    def grant(self, concurrency: int, cores_per_pair: int) -> None:
        """Let no more than `concurrency` pairs meet at once, each on its own cores."""
        self._grants = Grants(self._schedule.pairs(), concurrency)
        self._cores_per_pair = cores_per_pair

    def bind(self) -> None:
        """Tell every agent who it is, and learn where it listens."""
        secret = secrets.token_hex(16)
        for index in sorted(self._alive):
            address = self._hosts[index].address
            granted = self._grants is not None
            self._agents.tell(
                index, opening(index, address, self._options, secret, granted=granted)
            )
        deadline = time.monotonic() + _BIND_WAIT_S
        while self._alive - set(self._ports) and time.monotonic() < deadline:
            self._take(deadline - time.monotonic())
        for index in sorted(self._alive - set(self._ports)):
            self.lose_host(index, f"its echo agent did not start within {_BIND_WAIT_S:g} s")

    def conduct(self) -> None:
        """Hand out the schedule, see that all have it, and listen until nothing is owed."""
        self._hand_out()
        for index in sorted(self._alive):
            self._agents.tell(index, "start\n")
        ask_at = time.monotonic() + _ASK_EVERY_S
        while self._schedule.pending:
            self._grant_next()
            if self._take(ask_at - time.monotonic()) or time.monotonic() < ask_at:
                continue
            if time.monotonic() - ask_at > _ASK_EVERY_S:
                # This process was stopped for a while, and so could not hear any answer.
                self._asked_at.clear()
            self._ask_all()
            ask_at = time.monotonic() + _ASK_EVERY_S
        for index in self._suspicion.silent_to_all():
            if index in self._alive:
                self._sink.host_lost(HostLoss(index, f"{SILENT} of any host"))

    def _hand_out(self) -> None:
        peers = [
            (index, self._hosts[index].address, self._ports[index]) for index in sorted(self._alive)
        ]
        self._has_peers = True
        for index in sorted(self._alive):
            meetings = [
                meeting
                for meeting in self._schedule.meetings[index]
                if meeting.partner in self._alive
            ]
            self._agents.tell(index, schedule_text(peers, meetings))
        self._ask_all()
        deadline = time.monotonic() + _BIND_WAIT_S
        while self._alive & set(self._asked_at) and time.monotonic() < deadline:
            self._take(deadline - time.monotonic())
        for index in sorted(self._alive & set(self._asked_at)):
            self.lose_host(index, f"did not take its schedule within {_BIND_WAIT_S:g} s")

    def lose_host(self, index: int, reason: str) -> None:
        """Give a host up: its remaining pairs are lost, and nobody waits for it any more."""
        if index not in self._alive:
            return
        self._alive.discard(index)
        self._sink.host_lost(HostLoss(index, reason))
        for source, destination in self._schedule.owed_with(index):
            self._schedule.settle(source, destination)
            self._sink.pair_lost(PairLoss(source, destination, f"{self._name(index)} {reason}"))
        if self._grants is not None:
            self._grants.host_lost(index)
        if self._has_peers:
            for other in self._alive:
                self._agents.tell(other, f"gone {index}\n")

    def _name(self, index: int) -> str:
        return self._hosts[index].name

    def _grant_next(self) -> None:
        for grant in self._grants.next() if self._grants is not None else ():
            processors = processors_of(grant.slot, self._processors, self._cores_per_pair)
            for end, processor in zip((grant.follower, grant.leader), processors, strict=True):
                self._agents.tell(end, f"go {grant.round} {processor}\n")

    def _ask_all(self) -> None:
        now = time.monotonic()
        for index in sorted(self._alive):
            asked_at = self._asked_at.setdefault(index, now)
            if asked_at == now:
                self._agents.tell(index, "alive\n")
            elif now - asked_at > _ANSWER_WITHIN_S:
                self.lose_host(index, f"has not answered over SSH for {_ANSWER_WITHIN_S:g} s")

    def _take(self, timeout_s: float) -> bool:
        said = self._agents.hear(timeout_s)
        if said is None:
            return False
        index, event = said
        if index not in self._alive:
            return True
        if isinstance(event, Ended):
            self.lose_host(index, event.reason)
            return True
        self._asked_at.pop(index, None)
        if isinstance(event, Bound):
            self._ports.setdefault(index, event.port)
        elif not isinstance(event, Alive):
            self._take_meeting(index, event)
        return True

    def _take_meeting(self, index: int, event: Rtt | Lost | Over) -> None:
        if self._schedule.partner(index, event.round) != event.partner:
            self.lose_host(index, "its echo agent reports a pair that it was not given")
        elif isinstance(event, Rtt):
            self._take_reading(index, event)
        elif isinstance(event, Lost):
            self._take_loss(index, event)
        elif self._grants is not None:
            self._grants.over(index, event.round)

    def _take_reading(self, index: int, event: Rtt) -> None:
        if len(event.rtt_us) != len(self._options.percentiles):
            self.lose_host(index, "its echo agent reports other percentiles than asked for")
        elif self._schedule.settle(index, event.partner):
            self._suspicion.reading(index, event.partner)
            rtt_us = dict(zip(self._options.percentiles, event.rtt_us, strict=True))
            reading = RttReading(index, event.partner, event.sent, event.received, rtt_us)
            self._sink.reading(reading)

    def _take_loss(self, index: int, event: Lost) -> None:
        if self._schedule.settle(index, event.partner):
            reason = f"{self._name(event.partner)} {event.reason}"
            self._sink.pair_lost(PairLoss(index, event.partner, reason))
        if event.reason == SILENT:
            if self._grants is not None:
                self._grants.given_up(index, event.round)
            for suspect in self._suspicion.silence(index, event.partner):
                for other in self._alive:
                    self._agents.tell(other, f"suspect {suspect}\n")
