"""Coordinator of the echo agents: sends the schedule, collects readings, names losses."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence

from plink.probes.echo.agents import Agents
from plink.probes.echo.deploy import ECHO_AGENT, AgentProgram
from plink.probes.echo.grants import Grant, Placement
from plink.probes.echo.protocol import (
    EchoSettings,
    Meeting,
    again_text,
    grant_text,
    opening,
    peer_text,
    schedule_text,
)
from plink.probes.echo.run_state import RunState
from plink.probes.echo.schedule import Schedule
from plink.probes.reach import ReachedHost
from plink.probes.samples import More, RemarkableSink, Rounds, RttReading, Wanted, no_more

_BIND_WAIT_S = 20.0
_ASK_EVERY_S = 3.0
# Hosts that share a machine have just started agents on it, and that goes on for a moment.
_SETTLING_S = 0.2


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: EchoSettings,
    sink: RemarkableSink[RttReading],
    *,
    concurrency: int,
    adaptive: bool = False,
    ssh_concurrency: int = 16,
    cache_folder: str | None = None,
    agent: AgentProgram = ECHO_AGENT,
    more: More = no_more,
) -> None:
    """Measure the wanted directed pairs of the rounds; results go to `sink` as they come.

    Pairs run freely, each host going through its own schedule, unless `concurrency` is less than
    what the hosts could do: then each pair waits for the coordinator's word. With `adaptive`, fewer
    pairs meet at once where they disturb each other. In the further rounds that `more` has, any two
    hosts meet at the coordinator's word.

    Raises:
        OptionError: the agent is not installed here.
    """
    with Agents(hosts, agent, cache_folder) as agents:
        schedule = Schedule(len(hosts), wanted, rounds)
        is_free = concurrency >= len(hosts) // 2
        facts = [host.facts for host in hosts]
        placement = Placement(facts, agent.cores_per_pair, is_free=is_free)
        state = RunState(
            hosts,
            schedule,
            options,
            sink,
            agents,
            placement=placement,
            concurrency=concurrency,
            is_free=is_free,
            adaptive=adaptive,
        )
        for index, error in agents.start(ssh_concurrency):
            state.lose_host(index, str(error))
        run = _EchoRun(
            hosts, schedule, options, agents, placement=placement, state=state, is_free=is_free
        )
        run.bind()
        try:
            run.conduct()
            run.go_on(more)
        finally:
            state.deliver_rest()


def _leave_to_meet(_: int, grant: Grant, processor: int | None) -> str:
    return grant_text(grant.round, processor)


class _EchoRun:
    """Coordinator of one run: opening, schedule and grants."""

    def __init__(
        self,
        hosts: Sequence[ReachedHost],
        schedule: Schedule,
        options: EchoSettings,
        agents: Agents,
        *,
        placement: Placement,
        state: RunState,
        is_free: bool,
    ) -> None:
        self._hosts = hosts
        self._schedule = schedule
        self._options = options
        self._agents = agents
        self._placement = placement
        self._state = state
        self._is_free = is_free
        # What is said to the two ends of a meeting that was granted.
        self._leave: Callable[[int, Grant, int | None], str] = _leave_to_meet
        self._ask_at = 0.0
        # Further meetings have rounds of their own, after all that are scheduled.
        self._next_round = len(schedule)

    def bind(self) -> None:
        """Send every agent its index and address, and learn the port that it listens on."""
        secret = secrets.token_hex(16)
        for index in sorted(self._state.alive):
            address = self._hosts[index].address
            self._agents.tell(
                index,
                opening(index, address, self._options, secret, granted=not self._is_free),
            )
        self._state.take_while(lambda: self._state.alive - set(self._state.ports), _BIND_WAIT_S)
        for index in sorted(self._state.alive - set(self._state.ports)):
            self._state.lose_host(index, f"its echo agent did not start within {_BIND_WAIT_S:g} s")

    def conduct(self) -> None:
        """Send the schedule to all agents and listen until no reading is pending."""
        self._hand_out()
        for index in sorted(self._state.alive):
            self._agents.tell(index, "start\n")
        if not self._is_free:
            self._state.take_while(lambda: True, _SETTLING_S)
        self._ask_at = time.monotonic() + _ASK_EVERY_S
        self._state.begin()
        while self._schedule.pending:
            self._step()
        self._state.lose_the_silent()

    def go_on(self, more: More) -> None:
        """Run further rounds as long as `more` returns any."""
        self._leave = self._leave_to_meet_again
        while rounds := more():
            self._state.grant(self._further(rounds))
            while not self._state.grants.is_idle:
                self._step()

    def _further(self, rounds: Rounds) -> list[tuple[int, int, int]]:
        """Return the meetings of these rounds whose hosts are both alive; the others are lost."""
        meetings = []
        for pairs in rounds:
            for pair in pairs:
                self._schedule.add(self._next_round, *pair)
                gone = [end for end in pair if end not in self._state.alive]
                if gone:
                    self._state.lose_pairs_with(gone[0], pair)
                else:
                    meetings.append((self._next_round, *pair))
            self._next_round += 1
        return meetings

    def _step(self) -> None:
        self._grant_next()
        until = min(self._ask_at, self._state.doubts_end_at())
        # Who seems late may be heard once everything that was said is taken.
        if not self._state.take(until - time.monotonic()):
            if time.monotonic() - until > _ASK_EVERY_S:
                self._state.forget()
            self._state.lose_the_mute()
        if time.monotonic() >= self._ask_at:
            self._ask_all()
            self._ask_at = time.monotonic() + _ASK_EVERY_S

    def _hand_out(self) -> None:
        for index in sorted(self._state.alive):
            meetings = [
                meeting
                for meeting in self._schedule.meetings[index]
                if meeting.partner in self._state.alive
            ]
            # Only those it meets: N hosts with all others each would be N^2 lines.
            self._state.acquainted[index] = {meeting.partner for meeting in meetings}
            peers = [self._peer(other) for other in sorted(self._state.acquainted[index])]
            self._agents.tell(index, schedule_text(peers, meetings))
        self._ask_all()
        self._state.take_while(lambda: self._state.unanswered, _BIND_WAIT_S)
        for index in sorted(self._state.unanswered):
            self._state.lose_host(index, f"did not take its schedule within {_BIND_WAIT_S:g} s")

    def _peer(self, index: int) -> tuple[int, str, int]:
        return index, self._hosts[index].address, self._state.ports[index]

    def _grant_next(self) -> None:
        for grant in self._state.grants.next():
            of_leader, of_follower = self._placement.processors(
                grant.slot, grant.leader, grant.follower
            )
            # The follower first: the leader's greeting then finds it there.
            for end, processor in (grant.follower, of_follower), (grant.leader, of_leader):
                self._agents.tell(end, self._leave(end, grant, processor))

    def _leave_to_meet_again(self, end: int, grant: Grant, processor: int | None) -> str:
        partner = grant.leader if end == grant.follower else grant.follower
        text = again_text(Meeting(grant.round, partner, probes=True), processor)
        if partner in self._state.acquainted[end]:
            return text
        self._state.acquainted[end].add(partner)
        return peer_text(*self._peer(partner)) + text

    def _ask_all(self) -> None:
        for index in sorted(self._state.alive):
            self._state.ask(index)
