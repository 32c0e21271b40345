"""Deadlines for echo agents: to answer pings, and to report that a pair is done. Pure."""

from __future__ import annotations

from plink.probes.echo.grants import Schedule


class PingDeadlines:
    """Deadlines, by a monotonic clock, by which agents must answer a ping.

    Args:
        answer_within_s: an agent answers at once, but its host or ours may be very busy.
        doubted_answer_within_s: the same for a host that was silent to another.
    """

    def __init__(self, answer_within_s: float, doubted_answer_within_s: float) -> None:
        self._answer_within_s = answer_within_s
        self._doubted_answer_within_s = doubted_answer_within_s
        self._asked_at: dict[int, float] = {}
        self._doubted: set[int] = set()

    @property
    def unanswered(self) -> set[int]:
        """Indices of the agents that have not answered their last ping."""
        return set(self._asked_at)

    def ask(self, index: int, now: float, *, doubted: bool = False) -> bool:
        """Record that an agent was pinged; return False if an earlier ping is still unanswered."""
        if doubted:
            self._doubted.add(index)
        return self._asked_at.setdefault(index, now) == now

    def settle(self, index: int) -> None:
        """Record that an agent answered its ping or is lost, so that no answer is due."""
        self._asked_at.pop(index, None)
        self._doubted.discard(index)

    def forget(self) -> None:
        """Drop all pending pings, because the coordinator itself was stopped for a while."""
        self._asked_at.clear()
        self._doubted.clear()

    def doubts_end_at(self) -> float:
        """Return when the first agent that was silent to others has to answer; infinity if none."""
        due = (self._asked_at[index] + self._doubted_answer_within_s for index in self._doubted)
        return min(due, default=float("inf"))

    def overdue(self, now: float) -> list[tuple[int, float]]:
        """Return (index, seconds allowed) of the agents that have not answered a ping in time."""
        return [
            (index, self._limit_s(index))
            for index, asked_at in sorted(self._asked_at.items())
            if now - asked_at > self._limit_s(index)
        ]

    def _limit_s(self, index: int) -> float:
        is_doubted = index in self._doubted
        return self._doubted_answer_within_s if is_doubted else self._answer_within_s


class ReportDeadlines:
    """Deadlines, by a monotonic clock, by which the second agent of a pair must report it is done.

    A host that answers the coordinator, but reports nothing, would else be waited for for ever.

    Args:
        within_s: seconds for which a host may go on with a meeting that its partner has left.
        all_within_s: seconds in which at least one host must end a meeting.
    """

    def __init__(self, schedule: Schedule, within_s: float, all_within_s: float) -> None:
        self._schedule = schedule
        self._within_s = within_s
        self._all_within_s = all_within_s
        # Host and round of the meetings that the host has left.
        self._done: set[tuple[int, int]] = set()
        # Of those that only the partner has left, since when the host owes its report.
        self._due: dict[tuple[int, int], float] = {}
        self._told: set[tuple[int, int]] = set()
        self._heard_at: dict[int, float] = {}
        self._all_heard_at = 0.0
        self._lost: set[int] = set()

    def over(self, host: int, partner: int, number: int, now: float) -> None:
        """Record that a host reported the end of a round's measurement; its partner's is due."""
        if (host, number) in self._done:
            return
        self._done.add((host, number))
        self._heard_at[host] = self._all_heard_at = now
        self._due.pop((host, number), None)
        if partner not in self._lost and (partner, number) not in self._done:
            self._due[partner, number] = now

    def is_owed(self, host: int, number: int) -> bool:
        """Return whether a host owes its report on a round that its partner has reported."""
        return (host, number) in self._due

    def host_lost(self, host: int) -> None:
        """Drop the reports that are due from a lost host."""
        self._lost.add(host)
        self._due = {due: since for due, since in self._due.items() if due[0] != host}

    def begin(self, now: float) -> None:
        """Restart all deadlines, because no report could be received until now."""
        self._all_heard_at = now
        self._due = dict.fromkeys(self._due, now)

    def late(self, now: float, *, in_turn: bool) -> list[tuple[int, int, bool]]:
        """Return (host, partner, whether it is late again) of hosts that overran a deadline.

        A host is to be told first that its partner is gone, and given up the second time.

        Args:
            in_turn: hosts come to their meetings in order of rounds, and so may not have come to
                one that the partner has left; else both ends are sent to a meeting at once.
        """
        late = []
        for (host, number), since in sorted(self._due.items()):
            waited_s = now - max(since, self._heard_at.get(host, since))
            if waited_s > self._within_s and not (in_turn and self._is_earlier(host, number)):
                partner = self._schedule.partners_by_round(host)[number]
                late.append((host, partner, (host, number) in self._told))
                self._told.add((host, number))
                self._due[host, number] = now
        return late

    def is_stalled(self, now: float) -> bool:
        """Return whether no host has reported for longer than any pair's measurement takes."""
        return now - self._all_heard_at > self._all_within_s

    def _is_earlier(self, host: int, number: int) -> bool:
        """Return whether a host has not finished an earlier round, and so is not late."""
        return any(
            earlier < number and (host, earlier) not in self._done and partner not in self._lost
            for earlier, partner in self._schedule.partners_by_round(host).items()
        )
